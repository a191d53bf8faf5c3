"""The plan inside a page: packed columns, the same plan when it is taken out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from support.browser import open_page
from support.plans import example, small

import planner
from planner import saved
from planner.errors import InputError
from reports import html
from reports.html_data import CODES, DATA, embedded, extract_plan, packed
from reports.workbook import book

VALUES = (
    some.none()
    | some.booleans()
    | some.integers(-3, 3)
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.sampled_from(["fits", "</script>", "\u202e"])
)


def document(columns: dict[str, Any], cases: list[dict[str, Any]]) -> str:
    return saved.dumps({"format": "capsheet plan", "cases": cases, "values": columns})


def inside(text: str) -> str:
    return f"{DATA}\n{embedded(packed(text))}</script>"


@given(some.dictionaries(some.sampled_from("abc"), some.lists(VALUES, max_size=40)))
def test_any_column_comes_back_as_it_was(columns: dict[str, Any]) -> None:
    nested = {f"deep_{name}": [column, column] for name, column in columns.items()}
    text = document({**columns, **nested, "whole": 3}, [{"id": "x", "inputs": {}}])
    assert extract_plan(inside(text)) == text


@pytest.mark.parametrize("count", [1, 7, 8, 90, len(CODES), len(CODES) + 1, 5000, 9000])
def test_columns_of_many_values_come_back(count: int) -> None:
    numbers = [n * 1.5 for n in range(count)]
    cases = [
        {"id": f"c{n}", "model": "m", "inputs": {"tp": n % 2, "word": "w"}} for n in range(count)
    ]
    text = document({"once": numbers, "twice": numbers * 2, "often": numbers * 6}, cases)
    assert extract_plan(inside(text)) == text


def test_cases_of_different_shapes_stay_as_they_are() -> None:
    cases = [{"id": f"c{n}", "inputs": {"tp": 1} if n else {}} for n in range(20)]
    text = document({}, cases)
    assert json.loads(packed(text))["cases"] == cases
    assert extract_plan(inside(text)) == text


def test_what_repeats_is_written_once() -> None:
    same, few = [12345.678] * 1000, ["does not fit", "fits"] * 500
    made = json.loads(packed(document({"same": same, "few": few}, [])))["values"]
    assert made["same"] == {"all": 12345.678, "n": 1000}
    assert len(made["few"]["at"]) == 1000 and made["few"]["of"] == ["does not fit", "fits"]


def test_a_page_of_an_older_release_is_read() -> None:
    plan, _ = example()
    text = saved.dumps(saved.document(plan))
    assert extract_plan(f"{DATA}\n{embedded(text)}</script>") == text


@pytest.mark.parametrize(
    "text",
    ["{", '{"cases":{},"values":{}}', '{"cases":3,"values":[]}', "[]",
     '{"cases":[],"values":{"a":{"all":1,"n":1000000000000}}}',
     '{"cases":[],"values":{"a":{"all":1,"n":-1.5}}}',
     '{"cases":[],"values":{"a":{"of":[1],"at":"~~"}}}'],
)  # fmt: skip
def test_what_is_no_plan_is_left_to_its_reader(text: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(f"{DATA}\n{text}</script>", "utf-8")
    with pytest.raises(InputError, match="plan"):
        planner.load(path)


def test_load_takes_a_plan_from_every_file_that_holds_one(tmp_path: Path) -> None:
    plan, view = small(tmp_path)
    text = saved.dumps(saved.document(plan))
    (tmp_path / "x.plan.json").write_text(text, "utf-8")
    (tmp_path / "x.html").write_text(html.render(view, text), "utf-8")
    book.write(plan, tmp_path / "x.xlsx")
    for name in ("x.plan.json", "x.html", "x.xlsx"):
        for path in (tmp_path / name, str(tmp_path / name)):
            assert saved.dumps(saved.document(planner.load(path))) == text
    with pytest.raises(InputError, match="a readable file"):
        planner.load(tmp_path / "none.html")


def test_blocks_of_a_wide_table_keep_one_order(tmp_path: Path) -> None:
    names = "\n".join(
        f"  - {{name: a-workload-with-a-long-name-{n}, prompt: {n}000 tokens, output: 9 tokens}}"
        for n in (3, 1, 2)
    )
    scenario = f"""\
name: blocks
title: Blocks
as_of: "2026-11-29"
models: [qwen3-8b, qwen3-14b]
gpus: [h100-sxm, h200-sxm]
layouts: [{{tp: 1}}, {{tp: 2, pp: 2}}]
contexts: [4096 tokens, 8192 tokens]
workloads:
{names}
batches: [8, 16]
"""
    plan, view = small(tmp_path, scenario)
    path = tmp_path / "page.html"
    path.write_text(html.render(view, saved.dumps(saved.document(plan))), "utf-8")
    with open_page(path) as page:
        assert page.evaluate("document.querySelectorAll('#cases table').length") == 2
        page.evaluate(
            """(()=>{globalThis.kept=[];navigator.clipboard.writeText=async t=>{kept.push(t)};
            document.querySelector("#cases [aria-label='Sort by B* KV reads']").click();
            [...document.querySelectorAll('.tools button')]
              .find(b=>b.textContent.includes('Copy')).click()})()"""
        )
        orders = page.evaluate(
            """[...document.querySelectorAll('#cases table')].map(t=>[...t.tBodies[0].rows]
              .filter(r=>!r.hidden).map(r=>r.dataset.c).join())"""
        )
        assert orders[0] == orders[1]
        case = [plan.value("b_star_kv", int(c)) for c in orders[0].split(",")]
        assert case == sorted(case) and len(case) == len(plan.cases)  # type: ignore[type-var]
        [table] = page.evaluate("kept")
        head = [cell.strip() for cell in table.splitlines()[0].strip("| ").split(" | ")]
        assert len(head) == 1 + len(view.summary.columns)
        assert page.errors == []
