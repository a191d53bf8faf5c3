"""The workbook of a comparison: formulas agree with the engine, bridges add up after edits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from support.diffs import OWN, TWO, compared, fleet_diff, fleets, many_inputs, own, plan_of
from support.recalc import recalculate_formualizer, recalculate_libreoffice
from support.workbook import fresh_path
from support.xlsx import Cells, Value, is_error, read_formulas, read_values
from test_diff_outputs import example_steps, hostile_book

from planner.diff import Diff, Options, diff
from planner.diff_json import document
from planner.planning import Plan, compute
from planner.saved import dumps
from reports.view_diff import book_of, diff_view
from reports.view_diff_parts import Bridge
from reports.workbook import diff_live
from reports.workbook.diff_book import write
from reports.workbook.diff_mixtures import NOT_DIVIDED
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


ROWS = ("Plans", "Workings")


def agree(stored: Cells, found: Cells, formulas: dict[tuple[str, str], str]) -> None:
    assert formulas
    for place in formulas:
        value = found.get(place)
        told = (place, formulas[place], value, stored[place])
        if is_error(value):  # what is unknown in a plan is so in its row, and on no front sheet
            assert is_error(stored[place]) and place[0].startswith(ROWS), told
            continue
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


def light(path: Path) -> str:
    """The cell of the cover that says whether every bridge adds up."""
    return f"B{rows_of(path, 'Cover')['Bridges add up'][0]}"


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
    start = rows["GPUs of the fleet, Llama-3.1-70B, rounded (GPUs)"][0]
    row = next(r for r in rows["GPU memory"] if r > start)
    assert values["Bridge", f"B{row}"] == pytest.approx(-21)
    assert "SUMPRODUCT(Mixtures!" in formulas["Bridge", f"B{row}"]
    checks = [values["Bridge", f"B{r}"] for r in rows["Check: old and all steps give new"]]
    assert checks == ["ok"] * len(fleet_diff().explained)
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


def input_cell(path: Path, label: str, side: str) -> str:
    """The cell of an input; ``side`` is its column."""
    values = read_values(path)
    rows = [a[1:] for (sheet, a), v in values.items() if sheet == "Inputs" and v == label
            and re.fullmatch(r"A\d+", a)]  # fmt: skip
    assert len(rows) == 1, (label, rows)
    return side + rows[0]


def with_fact(plan: Plan, kind: str, word: str, name: str, value: float) -> Plan:
    """The plan with another catalog figure."""
    entry = dict(plan.inputs.facts[kind, word])
    entry[name] = replace(entry[name], value=value)
    facts = {**plan.inputs.facts, (kind, word): entry}
    return compute(replace(plan.inputs, facts=facts), plan.metrics)


def with_assumption(plan: Plan, name: str, value: float) -> Plan:
    return compute(replace(plan.inputs, plan={**plan.inputs.plan, name: value}), plan.metrics)


def shown(cells: Cells, path: Path, bridge: Bridge) -> dict[str, Value]:
    """Ends, groups and drivers of one bridge as the sheet has them."""
    return {name: cells["Bridge", f"B{r}"] for name, r in bridge_rows(path, bridge).items()}


def bridge_rows(path: Path, bridge: Bridge) -> dict[str, int]:
    """Where the parts of one bridge stand, by what they are called."""
    names = {int(a[1:]): str(v).strip() for (sheet, a), v in read_values(path).items()
             if sheet == "Bridge" and re.fullmatch(r"A\d+", a)}  # fmt: skip
    unit = f" ({bridge.unit})" if bridge.unit else ""
    start = next(r for r, name in names.items() if name == f"{bridge.label}, {bridge.case}{unit}")
    stop = next(r for r in sorted(names) if r > start and names[r].startswith("Check:"))
    return {names[r]: r for r in sorted(names) if start < r < stop}


def expected(bridge: Bridge) -> dict[str, Value]:
    parts = {g.label: g.raw for g in bridge.groups}
    parts |= {s.label: s.raw for g in bridge.groups for s in g.shares}
    return {"old": bridge.old_raw, **parts, "new": bridge.new_raw}  # type: ignore[dict-item]


def same_bridges(cells: Cells, path: Path, found: Diff) -> None:
    """The sheet has the shares of the engine to 1e-9, and they add up."""
    bridges = diff_view(found).bridges
    assert bridges and not any(b.refused for b in bridges)
    for bridge in bridges:
        wanted, told = expected(bridge), shown(cells, path, bridge)
        assert told.keys() == wanted.keys()
        size = max(abs(float(v or 0)) for v in wanted.values())
        for name, value in wanted.items():
            assert told[name] == pytest.approx(value, rel=1e-9, abs=1e-9 * size), (bridge, name)
    rows = rows_of(path, "Bridge")["Check: old and all steps give new"]
    assert {cells["Bridge", f"B{r}"] for r in rows} == {"ok"}


EDITS: dict[str, tuple[str, str, float, Callable[[Plan, Plan], tuple[Plan, Plan]]]] = {
    "memory of the new card": (
        "Device memory", "F", 150e9,
        lambda old, new: (old, with_fact(new, "gpu", "b200", "memory_device", 150e9)),
    ),
    "memory of the old card": (
        "Device memory", "E", 120e9,
        lambda old, new: (with_fact(old, "gpu", "h100-sxm", "memory_device", 120e9), new),
    ),
    "key element of the new cache": (
        "Key element", "F", 0.5,
        lambda old, new: (old, with_fact(new, "kv_format", "fp8", "kv_key_bytes", 0.5)),
    ),
    "what both plans share": (
        "Requests at peak", "E", 900.0,
        lambda old, new: (with_assumption(old, "peak_requests", 900.0),
                          with_assumption(new, "peak_requests", 900.0)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("what", "engine"),
    [*((what, recalculate_formualizer) for what in EDITS),
     ("memory of the new card", recalculate_libreoffice)],
)  # fmt: skip
def test_an_edited_input_gives_the_attribution_of_the_edited_plans(
    what: str, engine: Callable[[Path], Cells]
) -> None:
    label, side, value, change = EDITS[what]
    path = fleet_book()
    found = engine(edited(path, "Inputs", input_cell(path, label, side), value))
    same_bridges(found, path, compared(*change(*fleets())))
    note = found["Bridge", "A4"]
    assert isinstance(note, str) and note.startswith("inputs were edited")


PRINTED = {
    "slo_concurrency": (0.005, {
        "old": 23, "Hardware": 109.5, "GPU memory": 53.5, "Memory bandwidth": 56, "Dense peak": 0,
        "Precision & engine": 88.5, "Weight format": 20.5, "KV format": 68, "new": 221,
    }),
    "fleet_cost": (0.5, {
        "old": 212_080, "Hardware": -146_219, "GPU memory": -62_052, "Memory bandwidth": -84_167,
        "Precision & engine": -127_232, "Weight format": -49_576, "KV format": -77_656,
        "Price": 122_487, "new": 61_116,
    }),
}  # fmt: skip
RANGES = {"GPU memory": (0, 143), "Memory bandwidth": (1, 151), "Dense peak": (0, 0),
          "Weight format": (12, 31), "KV format": (23, 111)}  # fmt: skip


def test_the_worked_example_is_live_to_the_printed_digit() -> None:
    """Figures of ``test_diff_example.py``, by hand, out of cells without stored values."""
    path = fleet_book()
    found = recalculate_libreoffice(path)
    for bridge in diff_view(fleet_diff()).bridges:
        if bridge.metric in PRINTED:
            within, wanted = PRINTED[bridge.metric]
            told = shown(found, path, bridge)
            assert {n: told[n] for n in wanted} == pytest.approx(wanted, abs=within)
    requests = next(b for b in diff_view(fleet_diff()).bridges if b.metric == "slo_concurrency")
    for name, (least, most) in RANGES.items():
        place = bridge_rows(path, requests)[name]
        assert (found["Bridge", f"C{place}"], found["Bridge", f"D{place}"]) == (least, most)


def test_a_mixture_without_a_figure_makes_no_share() -> None:
    """The new card has room for less than one request: the cost of no fleet is no figure."""
    path = fleet_book()
    cell = input_cell(path, "Device memory", "F")
    found = recalculate_formualizer(edited(path, "Inputs", cell, 27.2e9))
    cost = next(b for b in diff_view(fleet_diff()).bridges if b.metric == "fleet_cost")
    told = shown(found, path, cost)
    assert told["old"] == pytest.approx(212_079.6) and told["new"] == "unknown"
    assert {v for name, v in told.items() if name not in ("old", "new")} == {NOT_DIVIDED}
    checks = rows_of(path, "Bridge")["Check: old and all steps give new"]
    said = {found["Bridge", f"B{r}"]: found["Bridge", f"C{r}"] for r in checks}
    assert str(said["not divided"]).startswith("a mixture gives no figure")
    assert "gap" not in said and found["Cover", light(path)] == "all of them"


def divided(path: Path) -> list[str]:
    """The cells of the bridge whose shares are products over mixtures."""
    return [a for (sheet, a), text in read_formulas(path).items()
            if sheet == "Bridge" and a.startswith("B") and ",SUMPRODUCT(" in text]  # fmt: skip


@pytest.mark.parametrize(("count", "mixtures", "shares"), [(9, 112, 9), (12, 16, 4)])
def test_many_drivers(count: int, mixtures: int, shares: int, tmp_path: Path) -> None:
    """Above six only the mixtures that the shares need; above 128 of those whole groups."""
    old, new = many_inputs(tmp_path, count)
    path = made([compared(old, new, why=("own_sum",))])
    formulas, stored = read_formulas(path), read_values(path)
    agree(stored, recalculate_formualizer(path), formulas)
    assert len(divided(path)) == shares
    assert sum(sheet == "Mixtures" and a.startswith("B") for sheet, a in formulas) == mixtures
    found = recalculate_formualizer(edited(path, "Inputs", input_cell(path, "Own 1", "F"), 4.75))
    new = with_assumption(new, "own_b", 4.75)
    wanted = diff_view(compared(old, new, why=("own_sum",))).bridges[0]
    told, parts = shown(found, path, wanted), expected(wanted)
    names = [g.label for g in wanted.groups] if shares < count else list(parts)
    for name in names:
        assert told[name] == pytest.approx(parts[name], rel=1e-9), name


POOLED = """\
  many_cases:
    label: Cases of many
    unit: "1"
    better: up
    why: Counts over the cases of a mixture.
    source: {title: Own rule}
    formula: count_of(max_concurrency > least)
constants:
  least: {value: 40, unit: request, meaning: Requests}
"""
WHOLE = ("pool_of_plan", "many_cases", "max_concurrency")


def pooled_plans(folder: Path) -> tuple[Plan, Plan]:
    """Two plans of several cases, some of them without a counterpart, with figures of the whole."""
    files = own(folder)
    files[0].write_text(OWN.replace("constants:\n", POOLED), "utf-8")
    old = plan_of(folder, TWO, metrics=files)
    text = TWO.replace("h100-sxm", "b200").replace("tp: [1, 2]", "tp: [2]")
    text += "assumptions: {reserve: 0.05}\n"
    return old, plan_of(folder, text, "new.yaml", metrics=files)


def test_figures_of_the_whole_plan_are_live(tmp_path: Path) -> None:
    old, new = pooled_plans(tmp_path)
    path = made([compared(old, new, why=WHOLE)])
    agree(read_values(path), recalculate_libreoffice(path), read_formulas(path))
    cell = input_cell(path, "Framework memory", "F")
    found = recalculate_formualizer(edited(path, "Inputs", cell, 40e9))
    again = compared(old, with_fact(new, "gpu", "b200", "memory_framework", 40e9), why=WHOLE)
    same_bridges(found, path, again)
    assert {w.pair for w in again.whys} == {None, 0, 1}


def test_a_restated_plan_keeps_its_corrections_after_an_edit(tmp_path: Path) -> None:
    """A saved plan took another bandwidth: that is a correction, the same before and after."""
    old, new = fleets()
    saved_plan = with_fact(old, "gpu", "h100-sxm", "memory_bandwidth", 3.0e12)
    found = diff(saved_plan, new, Options(), saved=(True, False))
    path = made([found])
    formulas = read_formulas(path)
    agree(read_values(path), recalculate_formualizer(path), formulas)
    edit = edited(path, "Inputs", input_cell(path, "Device memory", "F"), 150e9)
    told = recalculate_formualizer(edit)
    rows = rows_of(path, "Bridge")
    checks = {told["Bridge", f"B{r}"] for r in rows["Check: old and all steps give new"]}
    assert checks == {"ok"} and "Method & data corrections" in rows


def test_what_has_no_room_keeps_the_engines_mixtures_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(diff_live, "LIVE_ROWS", 63)
    path = made([fleet_diff()])
    formulas, stored = read_formulas(path), read_values(path)
    agree(stored, recalculate_formualizer(path), formulas)
    assert {"Inputs", *ROWS}.isdisjoint(sheet for sheet, _ in stored)
    notes = [
        v
        for (sheet, _), v in stored.items()
        if sheet == "Bridge"
        and str(v).endswith("The mixtures are the engine's: an edit of an input moves none.")
    ]
    assert len(notes) >= 1
    froms = {v for (sheet, a), v in stored.items() if sheet == "Figures" and a.startswith("J")}
    assert "engine" in froms and "inputs" not in froms


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
