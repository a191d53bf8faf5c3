"""The workbook of a comparison: formulas agree with the engine, bridges add up after edits."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from support.diffs import compared, fleet_diff, many_inputs
from support.recalc import recalculate_formualizer, recalculate_libreoffice
from support.workbook import fresh_path
from support.xlsx import Cells, Value, is_error, read_formulas, read_values
from test_diff_outputs import example_steps, hostile_book

from planner.diff import Diff
from planner.diff_json import document
from planner.saved import dumps
from reports.view_diff import book_of
from reports.workbook.diff_book import write
from reports.workbook.package import Package, extract, sheet_parts, splice
from reports.workbook.rows import cell_xml


def made(steps: list[Diff], cards: tuple[str, ...] = ()) -> Path:
    path = fresh_path("diff")
    write(book_of(steps, cards=cards), path, "2026-11-29", dumps(document(steps)))
    return path


@cache
def fleet_book(method: str = "owen", order: tuple[str, ...] = ()) -> Path:
    return made([fleet_diff(method=method, order=order)])


@cache
def line_book() -> Path:
    return made(list(example_steps()), ("H100", "H200", "B200"))


def agree(stored: Cells, found: Cells, formulas: dict[tuple[str, str], str]) -> None:
    assert formulas
    for place in formulas:
        value = found.get(place)
        assert not is_error(value), (place, formulas[place], value)
        told = (place, formulas[place], value, stored[place])
        if isinstance(value, float | int) and not isinstance(value, bool):
            # shares are sums of large and small terms, so 0 may be a trace of the largest
            assert value == pytest.approx(stored[place], rel=1e-9, abs=1e-6), told
        else:
            assert value == stored[place], told


@pytest.mark.parametrize(
    ("method", "order"),
    [("owen", ()), ("shapley", ()), ("sequential", ("precision", "memory_bandwidth"))],
)
def test_stored_values_are_those_of_the_formulas(method: str, order: tuple[str, ...]) -> None:
    path = fleet_book(method, order)
    agree(read_values(path), recalculate_formualizer(path), read_formulas(path))


def test_a_line_of_cards_recalculates() -> None:
    path = line_book()
    agree(read_values(path), recalculate_formualizer(path), read_formulas(path))


def test_libreoffice_agrees() -> None:
    path = fleet_book()
    agree(read_values(path), recalculate_libreoffice(path), read_formulas(path))


def rows_of(path: Path, sheet: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for (name, address), value in read_values(path).items():
        if name == sheet and address.startswith("A") and isinstance(value, str):
            found.setdefault(value.strip(), []).append(int(address[1:]))
    return found


def test_the_bridge_holds_the_shares() -> None:
    path = fleet_book()
    values, formulas = read_values(path), read_formulas(path)
    rows = rows_of(path, "Bridge")
    start = rows["GPUs of the fleet, Llama-3.1-70B-Instruct (GPUs)"][0]
    row = next(r for r in rows["GPU memory"] if r > start)
    assert values["Bridge", f"B{row}"] == pytest.approx(-21)
    assert formulas["Bridge", f"B{row}"].startswith("SUMPRODUCT(Mixtures!")
    checks = [values["Bridge", f"B{r}"] for r in rows["Check: old and all steps give new"]]
    assert checks == ["ok"] * 4
    cover = {v for (sheet, _), v in values.items() if sheet == "Cover"}
    assert "all of them" in cover


def edited(path: Path, sheet: str, address: str, value: Value) -> Path:
    package = Package.read(path)
    part = sheet_parts(package)[sheet]
    data = package.get(part)
    style = re.search(rf'<c r="{address}"[^>]* s="(\d+)"', data.decode())
    new = cell_xml(address, value, int(style[1]) if style else 0)
    package.set(part, splice(data, {address: new}))
    target = fresh_path("edited")
    package.write(target)
    return target


def test_an_edit_moves_changes_shares_and_keeps_the_check() -> None:
    path = fleet_book()
    rows = {(read_values(path).get(("Figures", f"B{r}"))): r for r in range(8, 40)}
    row = rows["GPUs of the fleet"]
    found = recalculate_formualizer(edited(path, "Figures", f"F{row}", 20.0))
    assert found["Figures", f"G{row}"] == -88
    assert found["Figures", f"H{row}"] == pytest.approx(-88 / 108)
    bridge = rows_of(path, "Bridge")
    checks = bridge["Check: old and all steps give new"]
    assert {found["Bridge", f"B{r}"] for r in checks} == {"ok"}
    start = bridge["GPUs of the fleet, Llama-3.1-70B-Instruct (GPUs)"][0]
    place = next(r for r in bridge["GPU memory"] if r > start)
    share = found["Bridge", f"B{place}"]
    assert isinstance(share, float) and share > -21  # less was saved


def test_more_than_six_drivers_are_divided_by_group(tmp_path: Path) -> None:
    found = compared(*many_inputs(tmp_path, 9), why=("own_sum",))
    path = fresh_path("many")
    write(book_of([found]), path, "2026-11-29", "{}")
    formulas = read_formulas(path)
    agree(read_values(path), recalculate_formualizer(path), formulas)
    live = [a for (sheet, a), text in formulas.items()
            if sheet == "Bridge" and text.startswith("SUMPRODUCT")]  # fmt: skip
    assert len(live) == 4  # one a group


def test_the_comparison_rides_inside_and_bytes_repeat(tmp_path: Path) -> None:
    path, again = fleet_book(), made([fleet_diff()])
    assert path.read_bytes() == again.read_bytes()
    assert b'"kind": "plan-diff"' in extract(Package.read(path), "diff")


def test_foreign_text_becomes_no_formula(tmp_path: Path) -> None:
    path = fresh_path("hostile")
    write(hostile_book(tmp_path), path, "2026-11-29", "{}")
    for place, text in read_formulas(path).items():
        assert "HYPERLINK" not in text and "cmd" not in text, place
    agree(read_values(path), recalculate_formualizer(path), read_formulas(path))
