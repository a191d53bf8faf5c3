"""Every source of every used figure stands in the workbook and in the page; a count proves it."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from support.command import EXAMPLE

import planner
from planner import saved
from planner.catalog import Catalog
from planner.planning import Plan
from reports import html
from reports.view import view_of
from reports.workbook import book

Source = tuple[str, str]  # title and address
# Cards whose figures have many kinds of origin: logs, derived peaks, packages, recalled ones.
WIDE = """\
name: wide
title: Sources of many kinds
as_of: "2026-11-29"
models: [qwen3-8b, deepseek-v3, gpt-oss-20b, gemma-3-27b, qwen3-next-80b]
gpus: [h100-sxm, rtx-pro-6000-server, mi250x, h20-141, tpu-v5e, ascend-910c, trainium2, rubin]
precisions:
  - {weights: bf16, kv: bf16, compute: bf16}
contexts: [8192 tokens]
workloads:
  - {name: chat, prompt: 2048 tokens, output: 512 tokens}
batches: [8]
"""


@cache
def plan_of(name: str, folder: Path) -> Plan:
    if name == "example":
        return planner.plan(EXAMPLE)
    path = folder / "wide.yaml"
    path.write_text(WIDE, "utf-8")
    return planner.plan(path)


@pytest.fixture(scope="module", params=["example", "wide"])
def plan(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_of(request.param, tmp_path_factory.mktemp("sources"))


def used(plan: Plan) -> dict[Source, set[str]]:
    """Sources of all facts that columns are made of, and of metrics, with who uses them.

    Read from the catalog files themselves, not from what the plan says of them.
    """
    catalog = Catalog.open()
    found: dict[Source, set[str]] = {}

    def note(kind: str, word: str, ids: tuple[str, ...]) -> None:
        sources = catalog.entry(kind, word).record.sources
        for one in ids:
            source = sources[one]
            quoted = f", quoted in {sources[source.via].title}" if source.via else ""
            key = (source.title + quoted, source.url or "")
            found.setdefault(key, set()).add(word)

    for (kind, word), facts in plan.inputs.facts.items():
        for fact in facts.values():
            note(kind, word, fact.source)
    for word, groups in plan.inputs.groups.items():
        for group in groups:
            for fact in group.facts.values():
                note("model", word, fact.source)
    for metric in plan.metrics.in_order():
        if not metric.part_of:
            source = metric.entry.source
            found.setdefault((source.title, source.url or ""), set()).add(metric.name)
    return found


def test_there_is_something_to_count(plan: Plan) -> None:
    assert len(used(plan)) > 30


# ---- workbook ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workbook(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("book") / "plan.xlsx"
    book.write(plan, path)
    return openpyxl.load_workbook(path)


def listed(workbook: Any) -> list[Source]:
    """Rows of the sheet of sources: title and address."""
    sheet = workbook["Sources"]
    rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    head = next(row for row in rows if "Title" in row)
    title, address = head.index("Title"), head.index("Address")
    body = [row for row in rows[rows.index(head) + 1 :] if row[title]]
    return [(r[title], "" if r[address] == "not recorded" else r[address]) for r in body]


def test_every_used_source_is_a_row_of_the_workbook(plan: Plan, workbook: Any) -> None:
    found = listed(workbook)
    assert set(used(plan)) - set(found) == set()
    assert {source for source, count in Counter(found).items() if count > 1} == set()


def test_the_workbook_lists_no_more_than_is_used(plan: Plan, workbook: Any) -> None:
    """Without a catalog only the plan's own entries are offered, so the counts are equal."""
    assert len(listed(workbook)) == len(used(plan))


# ---- page --------------------------------------------------------------------------------------


class Texts(HTMLParser):
    """Text and link targets, without the plan that is embedded as JSON."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.links: set[str] = set()
        self.skipping = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.skipping = tag in ("script", "style")
        if tag == "a":
            self.links.add(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        self.skipping = False

    def handle_data(self, data: str) -> None:
        if not self.skipping:
            self.words.append(data)


@pytest.fixture(scope="module")
def page(plan: Plan) -> Texts:
    return Texts(html.render(view_of(plan), saved.dumps(saved.document(plan))))


def test_every_used_source_stands_in_the_page(plan: Plan, page: Texts) -> None:
    text = " ".join(" ".join(page.words).split())
    missing = [title for title, _ in used(plan) if " ".join(title.split()) not in text]
    assert missing == []
    addresses = {url for _, url in used(plan) if url}
    assert addresses - page.links == set()


def test_the_page_lists_each_source_once(plan: Plan) -> None:
    items = [(item.title, item.url) for item in view_of(plan).sources]
    assert {source for source, count in Counter(items).items() if count > 1} == set()
    assert set(used(plan)) - set(items) == set()


# ---- what is recalled says so everywhere -------------------------------------------------------


def test_recalled_carries_through(tmp_path: Path) -> None:
    plan = plan_of("wide", tmp_path)
    recalled = [
        (word, name)
        for (_, word), facts in plan.inputs.facts.items()
        for name, fact in facts.items()
        if fact.confidence == "recalled" and fact.value is not None
    ]
    assert ("rtx-pro-6000-server", "memory_bandwidth") in recalled
    assert ("h20-141", "memory_bandwidth") in recalled
    document = json.loads(saved.dumps(saved.document(plan)))
    fact = document["facts"]["gpu"]["h20-141"]["memory_bandwidth"]
    assert fact["confidence"] == "recalled"
    texts = Texts(html.render(view_of(plan), saved.dumps(saved.document(plan))))
    assert "recalled" in " ".join(texts.words)
    path = tmp_path / "plan.xlsx"
    book.write(plan, path)
    sheet = openpyxl.load_workbook(path)["GPUs"]
    rows = [[str(cell.value) for cell in row] for row in sheet.iter_rows()]
    (row,) = [row for row in rows if "h20-141" in row]
    assert any("recalled" in cell for cell in row)
