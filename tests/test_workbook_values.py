"""Every number of shipped workbooks: the engine's, and what two spreadsheet engines calculate."""

from __future__ import annotations

import math
import re
from pathlib import Path

import openpyxl
import pandas
import pytest
import yaml
from python_calamine import CalamineSheet, CalamineWorkbook
from support.recalc import (
    convert,
    differences,
    falsified,
    recalculate_formualizer,
    recalculate_libreoffice,
)
from support.tools import in_ci
from support.workbook import (
    FIRST,
    SCENARIOS,
    SHIPPED,
    Made,
    edited,
    engine_value,
    holds,
    make,
    places,
    recalculated,
    shipped,
    write_yaml,
)
from support.xlsx import Cells, Value, is_error, position, read_values

import planner
from planner.engine import by_input

# Metrics that are the difference of nearly equal numbers. Spreadsheets snap such a difference to 0,
# the engine keeps the last bits; both say "no gap" within the tolerance of the check that reads it.
CANCELLING = {"ledger_gap": "memory_total"}


def without_residues(made: Made, found: Cells) -> Cells:
    """``found`` with stored residues put in where both are nothing beside what was subtracted."""
    place_of, plan, calm = places(made), made.plan, dict(found)
    for name, scale in CANCELLING.items():
        for case, row in enumerate(place_of[name]):
            limit = 1e-9 * abs(float(plan.value(scale, case) or 0.0))
            residues = [cells[row[0]] for cells in (made.stored, found)]
            if all(isinstance(v, float) and abs(v) <= limit for v in residues):
                calm[row[0]] = made.stored[row[0]]
    return calm


@pytest.mark.parametrize("name", SHIPPED)
def test_formulas_give_the_stored_values_in_formualizer(name: str) -> None:
    made = shipped(name)
    assert made.stored.keys() == made.formulas.keys()
    assert len(made.formulas) > 1000
    assert differences(made.stored, recalculated(name)) == []


# A minute and more for the larger ones, so those wait for CI.
@pytest.mark.parametrize("name", SHIPPED if in_ci() else ["example"])
def test_formulas_give_the_stored_values_in_libreoffice(name: str) -> None:
    made = shipped(name)
    found = recalculate_libreoffice(made.path)
    assert differences(made.stored, without_residues(made, found)) == []


@pytest.mark.parametrize("name", SHIPPED)
def test_counts_words_and_flags_are_exact(name: str) -> None:
    """Whole numbers come back to the last digit, and each cell as the type of its metric."""
    made, found = shipped(name), recalculated(name)
    kinds = {"number": float, "flag": bool, "choice": str}
    for metric, rows in places(made).items():
        kind = made.plan.metrics.type_of(metric)
        for row in rows:
            for place in row:
                value = found[place]
                if is_error(value):
                    continue
                assert type(value) is kinds[kind.kind], (metric, place, value)
                if kind.kind != "number" or kind.whole:
                    assert value == made.stored[place], (metric, place)


@pytest.mark.parametrize("name", SHIPPED)
def test_stored_values_are_the_engines(name: str) -> None:
    """The glossary says where each metric stands; there stands the engine's value, all digits."""
    made = shipped(name)
    found = places(made)
    declared = {m.name for m in made.plan.metrics.in_order() if not m.part_of and not m.variant}
    assert found.keys() == declared
    wrong = []
    for metric, rows in found.items():
        assert rows, f"{metric} stands nowhere"
        for case, row in enumerate(rows):
            for slot, place in enumerate(row):
                expected = engine_value(made.plan, metric, case, slot)
                stored = made.values[place]
                if not holds(stored, expected):
                    wrong.append(f"{metric} at {place}: {stored!r}, the engine says {expected!r}")
    assert wrong == []


@pytest.mark.parametrize("name", SHIPPED)
def test_ladder_values_are_the_engines(name: str) -> None:
    """The matrix has a block of columns a figure, a column a rung, in the unit of its heading."""
    made = shipped(name)
    plan, count = made.plan, len(made.plan.cases)
    for variant, entry in plan.metrics.variants.items():
        child = plan.columns.variants(variant)
        rungs = plan.columns.variant_values[variant]
        sheet = entry.label
        names = plan.inputs.rungs.get(variant)
        heads = list(names or by_input(entry, rungs)[entry.first].tolist())
        letters = _letters_of_rungs(made, sheet, heads)
        assert len(letters) == len(rungs) * len(entry.shows)
        for block, metric in enumerate(entry.shows):
            kind = plan.metrics.type_of(metric)
            factor = plan.metrics.metrics[metric].display.factor if kind.kind == "number" else 1
            for rung in range(len(rungs)):
                letter = letters[block * len(rungs) + rung]
                assert made.values[sheet, f"{letter}6"] == heads[rung]
                for case in range(count):
                    value = float(child[metric][rung * count + case])
                    stored = made.values[sheet, f"{letter}{FIRST + case}"]
                    if math.isnan(value):
                        assert is_error(stored)
                    elif kind.kind == "choice":
                        assert stored == kind.words[int(value)]
                    else:
                        assert math.isclose(float(stored), value / float(factor), rel_tol=1e-15)


def _letters_of_rungs(made: Made, sheet: str, heads: list[Value]) -> list[str]:
    found = [
        address[:-1]
        for (name, address), value in made.values.items()
        if name == sheet and re.fullmatch(r"[A-Z]+6", address) and value in heads
    ]
    return sorted(found, key=lambda letters: (len(letters), letters))


# ---- the checker itself ------------------------------------------------------------------------


def test_a_recalculation_is_no_echo(tmp_path: Path) -> None:
    """With 999 stored beside every formula both engines still give the right values."""
    made = shipped()
    wrong = falsified(made.path, tmp_path / "falsified.xlsx", 999.0)
    assert set(map(str, Made(made.plan, wrong).stored.values())) == {"999.0"}
    assert differences(made.stored, recalculate_formualizer(wrong)) == []


def test_a_wrong_constant_is_seen() -> None:
    """A mutant of one typed cell changes what is calculated, so the comparison bites."""
    made = shipped()
    row = made.row_of("Constants", "state_accesses", "B")
    wrong = edited(made, {("Constants", f"C{row}"): 3.0})
    lines = differences(made.stored, recalculate_formualizer(wrong))
    assert lines
    assert {line.partition("!")[0] for line in lines} >= {"Access", "Results", "Thresholds"}


# ---- readers that do not calculate -------------------------------------------------------------


def test_libreoffice_shows_the_stored_numbers(tmp_path: Path) -> None:
    """A default profile trusts what the file says; 999 in a second file proves that it does."""
    made = shipped()
    shown = read_values(convert(made.path, "xlsx", _folder(tmp_path, "a"), recalculate=False))
    assert differences(made.stored, shown) == []
    wrong = falsified(made.path, tmp_path / "wrong.xlsx", 999.0)
    shown = read_values(convert(wrong, "xlsx", _folder(tmp_path, "b"), recalculate=False))
    assert {shown[place] for place in made.formulas} == {999.0}


def _folder(root: Path, name: str) -> Path:
    (root / name).mkdir()
    return root / name


def test_openpyxl_reads_a_value_beside_every_formula() -> None:
    made = shipped()
    book = openpyxl.load_workbook(made.path, data_only=True)
    found = {(sheet, ref): book[sheet][ref].value for sheet, ref in made.formulas}
    assert differences(made.stored, _plain(found), 0.0) == []


@pytest.mark.parametrize("name", SHIPPED)
def test_calamine_reads_a_value_beside_every_formula(name: str) -> None:
    made = shipped(name)
    book = CalamineWorkbook.from_path(str(made.path))
    names = dict.fromkeys(sheet for sheet, _ in made.formulas)
    sheets = {sheet: _grid(book.get_sheet_by_name(sheet)) for sheet in names}
    found = {(sheet, ref): sheets[sheet].get(position(ref)) for sheet, ref in made.formulas}
    # This reader gives nothing for an error; the cell is there for all others.
    expected = {place: v for place, v in made.stored.items() if not is_error(v)}
    assert len(expected) > 0.9 * len(made.stored)
    assert differences(expected, _plain(found), 0.0) == []


def _grid(sheet: CalamineSheet) -> dict[tuple[int, int], object]:
    rows = sheet.to_python(skip_empty_area=False)
    return {
        (row, column): value
        for row, cells in enumerate(rows, 1)
        for column, value in enumerate(cells, 1)
    }


def test_pandas_reads_numbers_under_the_headings() -> None:
    made = shipped()
    frame = pandas.read_excel(made.path, sheet_name="Results", header=5, skiprows=[6],
                              engine="openpyxl")  # fmt: skip
    assert len(frame) == len(made.plan.cases)
    for heading, metric in (("Max concurrency", "max_concurrency"), ("B* KV reads", "b_star_kv")):
        assert frame[heading].tolist() == made.plan.column(metric).tolist()
    verdicts = [made.plan.value("verdict", case) for case in range(len(made.plan.cases))]
    assert frame["Verdict"].tolist() == verdicts
    assert not frame.drop(columns="Unnamed: 6").isna().any().any()


def _plain(found: dict[tuple[str, str], object]) -> Cells:
    """Other readers give whole numbers as int."""
    return {
        place: float(value) if type(value) is int else value  # type: ignore[misc]
        for place, value in found.items()
        if value is not None
    }


# ---- figures that nobody knows -----------------------------------------------------------------


@pytest.fixture(scope="module")
def mystery(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two cards beside a known one: of one no memory is known, of the other no bandwidth."""
    folder = tmp_path_factory.mktemp("mystery")
    text = (SCENARIOS.parent / "gpus" / "l4.yaml").read_text("utf-8")
    data = yaml.safe_load(text)
    for word, blank in (("no-memory", "memory"), ("no-bandwidth", "memory_bandwidth")):
        card = {**data, "id": word, "label": word}
        unknown = {"value": None}
        card[blank] = {"marketed": unknown, "device": unknown} if blank == "memory" else unknown
        write_yaml(folder / "gpus" / f"{word}.yaml", card)
    plan = planner.plan(
        SCENARIOS / "example.yaml",
        catalogs=[folder],
        settings=["gpus=[no-memory, l4, no-bandwidth]", "models=[qwen3-8b, gpt-oss-20b]"],
    )
    return make(plan, bare=True)


def test_unknown_figures_stay_unknown_in_every_engine(mystery: Made) -> None:
    assert differences(mystery.stored, recalculate_formualizer(mystery.path)) == []
    found = recalculate_libreoffice(mystery.path)
    assert differences(mystery.stored, without_residues(mystery, found)) == []


def test_unknown_is_a_word_to_readers_and_an_error_in_workings(mystery: Made) -> None:
    cards = mystery.column("Results", "GPU")
    verdicts = mystery.column("Results", "Verdict")
    for card, verdict, threshold, slots in zip(
        cards, verdicts, mystery.column("Results", "B* compute"),
        mystery.column("Results", "Max concurrency"), strict=True,
    ):  # fmt: skip
        assert (verdict == "unknown") == (card == "no-memory")
        assert (slots == "unknown") == (card == "no-memory")
        assert (threshold == "unknown") == (card == "no-bandwidth")
    assert not [v for (sheet, _), v in mystery.values.items()
                if sheet in ("Results", "Summary", "Cover", "Checks") and is_error(v)]  # fmt: skip
    letters = mystery.headings("Cases")["Memory basis, one GPU"]
    assert is_error(mystery.values["Cases", f"{letters}{FIRST}"])


def test_unknown_figures_are_counted_and_break_no_integrity(mystery: Made) -> None:
    label = mystery.plan.metrics.metrics["cases_without_verdict"].label
    row = mystery.row_of("Checks", label)
    assert mystery.values["Checks", f"C{row}"] == 4
    assert mystery.values["Checks", f"E{row}"] == "attention"
    assert mystery.values[mystery.named("chk_all")] is True
