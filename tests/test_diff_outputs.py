"""What readers see of a comparison: printed parts add up, widths, limits, foreign text, JSON."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.command import EXAMPLE, SMALL
from support.diffs import compared, fleet_diff, plan_of
from support.plans import HOSTILE, OWN_METRICS

import planner
from planner.diff import Diff
from planner.diff_json import FORMAT_VERSION, KIND, SHAPE, document
from planner.diff_policy import breaches, rules_of
from planner.saved import dumps
from reports import numbers
from reports.text_diff import render
from reports.text_diff_markdown import LIMIT, markdown
from reports.view_diff import DiffBook, book_of, diff_view
from reports.view_diff_parts import Bridge


@cache
def example_steps() -> tuple[Diff, ...]:
    plans = [planner.plan(EXAMPLE, settings=(f"gpus=[{g}]",))
             for g in ("h100-sxm", "h200-sxm", "b200")]  # fmt: skip
    return tuple(compared(a, b, top=None) for a, b in itertools.pairwise(plans))


@cache
def books() -> tuple[DiffBook, ...]:
    return (book_of([fleet_diff()]), book_of(example_steps(), cards=("H100", "H200", "B200")))


def bridges() -> Iterator[Bridge]:
    for book in books():
        for view in book.steps:
            yield from view.bridges


def number(text: str) -> float:
    return float(text.replace(numbers.MINUS, "-").replace(",", "").replace("%", ""))


def test_printed_parts_add_to_the_printed_total() -> None:
    found = list(bridges())
    assert len(found) > 20
    for bridge in found:
        assert not bridge.refused
        unit = 10.0**-bridge.decimals
        total = number(bridge.total)
        assert sum(number(g.text) for g in bridge.groups) == pytest.approx(total, abs=unit / 1e3)
        for group in bridge.groups:
            parts = sum(number(s.text) for s in group.shares)
            assert not group.shares or parts == pytest.approx(number(group.text), abs=unit / 1e3)


def test_shares_keep_the_digits_of_a_reader() -> None:
    bridge = next(b for b in diff_view(fleet_diff()).bridges if b.metric == "slo_concurrency")
    texts = {s.id: s.text for g in bridge.groups for s in g.shares}
    assert (texts["memory"], texts["kv_format"], texts["compute"]) == ("+53.5", "+68.0", "0")
    assert (bridge.total, bridge.residual) == ("+198", "0")
    money = next(b for b in diff_view(fleet_diff()).bridges if b.metric == "fleet_cost")
    groups = {g.id: g.text for g in money.groups}
    assert groups == {"hardware": "−146,219", "precision": "−127,232", "price": "+122,487"}


@pytest.mark.parametrize("width", [80, 60, 132])
@pytest.mark.parametrize("every", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, every: bool) -> None:
    for book in books():
        text = render(book, width, every=every)
        assert max(numbers.display_width(line) for line in text.splitlines()) <= width
        assert not re.search(r"[−→]", text)


def test_the_terminal_says_the_answer_first() -> None:
    lines = render(books()[0], 80).splitlines()
    assert lines[0] == "plan diff  h100-fleet -> b200-fleet"
    assert "108 -> 14 GPUs (-87.0 %)" in " ".join(lines[1:4])
    text = "\n".join(lines)
    for block in ("Lines crossed", "Why Concurrency in the target +198", "Like for like",
                  "How sure", "Inputs changed"):  # fmt: skip
        assert block in text


def test_a_line_of_cards_has_its_own_table() -> None:
    text = render(books()[1], 80)
    assert text.startswith("example: H100 -> H200 -> B200\n")
    first = next(r for r in books()[1].along if r.label == "Max concurrency")
    assert first.values == ("23", "47", "63")


def test_markdown_has_marker_table_and_folds() -> None:
    text = markdown(books()[0])
    first, second, *_ = text.splitlines()
    assert first == "<!-- capsheet-diff:h100-fleet-b200-fleet -->"
    assert second.startswith("**h100-fleet → b200-fleet**: 1 case: 1 better")
    assert text.count("<details>") == text.count("</details>") > 8
    assert "| Cost of a month (USD) | 212,080 | 61,116 | −150,964 | −71.2 % | better |" in text


@pytest.mark.parametrize("limit", [65_000, 20_000, 6_000])
def test_markdown_keeps_its_limit_and_counts_what_is_left_out(limit: int) -> None:
    text = markdown(books()[1], limit)
    assert len(text) <= limit <= LIMIT
    assert text.startswith("<!-- capsheet-diff:example -->\n")
    assert text.count("<details>") == text.count("</details>")
    if limit < 20_001:
        assert "left out" in text


def test_an_unmoved_comparison_is_one_line() -> None:
    found = compared(fleet_diff().sides.old, fleet_diff().sides.old)
    assert len(render(book_of([found]), 80).splitlines()) == 2
    text = markdown(book_of([found]))
    assert len(text.splitlines()) == 2 and "no change over the tolerance of 0.1 %" in text


def hostile_book(folder: Path) -> DiffBook:
    quoted = HOSTILE.replace("\u202e", "\\u202e")
    text = SMALL.replace("title: A small plan", f'title: "{quoted} @everyone #1"')
    text += f'owner: "{quoted}"\nnote: "{quoted}"\n'
    own = folder / "own.yaml"
    own.write_text(OWN_METRICS, "utf-8")
    old = plan_of(folder, text, metrics=[own])
    new = plan_of(folder, text.replace("h100-sxm", "b200"), "new.yaml", metrics=[own])
    found = compared(old, new, why=("own_share", "max_concurrency"))
    rules = rules_of(["max_concurrency > 0"], found)
    return book_of([found], [breaches(found, rules)])


def test_foreign_text_stays_text(tmp_path: Path) -> None:
    book = hostile_book(tmp_path)
    text = markdown(book)
    for tag in re.findall(r"<[^>]*>", text):
        assert tag in ("<details>", "</details>", "<summary>", "</summary>") or tag.startswith(
            "<!-- capsheet-diff:"
        )
    assert "\u202e" not in text and "@everyone" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    widths = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    for above, row, width in zip(rows, rows[1:], widths[1:], strict=False):
        if set(row) <= set("|-: "):
            assert len(re.findall(r"(?<!\\)\|", above)) == width
    assert "\u202e" not in render(book, 80)


# ---- JSON --------------------------------------------------------------------------------------


def flat(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from flat(inner, f"{path}[]")
    else:
        yield path


def test_json_is_versioned_and_has_the_documented_shape() -> None:
    found = fleet_diff()
    data = json.loads(dumps(document([found])))
    assert (data["kind"], data["format_version"]) == (KIND, FORMAT_VERSION)
    assert re.fullmatch(r"\d+\.\d+", FORMAT_VERSION)
    step = data["steps"][0]
    described = {k.split(".")[1].strip("[] ") for k in SHAPE if k.startswith("steps[].")}
    assert set(step) - {"new", "only_old", "only_new"} == {w.split(",")[0] for w in described}
    assert set(data) == {k for k in SHAPE if "." not in k and "[" not in k} | {"steps"}
    count = len(step["pairing"]["pairs"])
    for metric in step["metrics"].values():
        assert {len(metric[k]) for k in ("old", "new", "delta", "mark")} == {count}


def test_json_parts_add_to_the_total_unrounded() -> None:
    data = json.loads(dumps(document(example_steps())))
    for step in data["steps"]:
        for why in step["attribution"]:
            parts = sum(m["value"] for g in why["groups"] for m in g["members"])
            parts += sum(why["corrections"].values()) + why["cases_changed"]
            assert parts == pytest.approx(why["total"], rel=1e-9, abs=1e-9)
            assert all(m["range"][0] <= m["value"] <= m["range"][1]
                       for g in why["groups"] for m in g["members"])  # fmt: skip


def test_same_plans_same_bytes() -> None:
    again = book_of([fleet_diff()])
    assert markdown(again) == markdown(books()[0])
    assert render(again, 80) == render(books()[0], 80)
    assert dumps(document([fleet_diff()])) == dumps(document([fleet_diff()]))
