"""The same plan gives the same file; what stands behind its figures is inside it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
from support.recalc import differences, recalculate_formualizer
from support.tools import REPOSITORY
from support.workbook import FIRST, MAIN, SHIPPED, Made, engine_plan, fresh_path, make, shipped

from planner.planning import Plan
from planner.saved import document, dumps, load
from reports.workbook.book import write
from reports.workbook.package import Package, extract

_PROGRAM = """
import hashlib, locale, sys, time
from pathlib import Path
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    pass
import planner
from planner.catalog import Catalog
from reports.workbook.book import write
write(planner.plan(sys.argv[1]), Path(sys.argv[2]), Catalog.open())
print(hashlib.sha256(Path(sys.argv[2]).read_bytes()).hexdigest())
"""
# A locale that is not installed is refused by setlocale and leaves the C locale, which is fine.
_SURROUNDINGS: dict[str, dict[str, str]] = {
    "plain": {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
    "far": {"PYTHONHASHSEED": "4711", "TZ": "Pacific/Kiritimati", "LC_ALL": "de_DE.UTF-8",
            "USER": "somebody", "HOSTNAME": "elsewhere"},
    "west": {"PYTHONHASHSEED": "random", "TZ": "America/Los_Angeles", "LC_ALL": "C.UTF-8"},
}  # fmt: skip


@pytest.mark.parametrize("around", ["far", "west"])
def test_the_same_bytes_anywhere(around: str, tmp_path: Path) -> None:
    scenario = REPOSITORY / "catalogs" / "scenarios" / "example.yaml"
    here = _written("plain", str(scenario), REPOSITORY, tmp_path / "a.xlsx")
    (tmp_path / "other").mkdir()
    there = _written(around, os.path.relpath(scenario, tmp_path / "other"), tmp_path / "other",
                     tmp_path / "b.xlsx")  # fmt: skip
    assert here == there == hashlib.sha256(shipped().path.read_bytes()).hexdigest()


def _written(around: str, scenario: str, folder: Path, target: Path) -> str:
    environment = os.environ | _SURROUNDINGS[around] | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, scenario, str(target)],
        cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return done.stdout.strip()


def test_another_plan_gives_other_bytes() -> None:
    """The mutant of the test above: a hash that never moves would prove nothing."""
    other = make(engine_plan("example", "overhead=3.1 GiB"))
    assert other.path.read_bytes() != shipped().path.read_bytes()


@pytest.mark.parametrize("name", SHIPPED)
def test_the_file_bears_the_plans_date_and_no_other(name: str) -> None:
    made = shipped(name)
    date = made.plan.inputs.scenario["as_of"]
    with ZipFile(made.path) as archive:
        core = archive.read("docProps/core.xml").decode()
        stamps = {entry.date_time for entry in archive.infolist()}
        everything = b"".join(archive.read(n) for n in archive.namelist())
    assert set(re.findall(r"\d{4}-\d\d-\d\dT[\d:]+Z", core)) == {f"{date}T00:00:00Z"}
    assert len(stamps) == 1
    assert str(REPOSITORY).encode() not in everything
    assert str(made.path.parent).encode() not in everything
    assert b"openpyxl" not in everything


@pytest.mark.parametrize("name", SHIPPED)
def test_the_plan_rides_inside(name: str, tmp_path: Path) -> None:
    made = shipped(name)
    inside = extract(Package.read(made.path), "plan").decode()
    assert inside == dumps(document(made.plan))
    (tmp_path / "plan.json").write_text(inside, "utf-8")
    again = load(tmp_path / "plan.json")
    assert dumps(document(again)) == inside


def test_a_plan_from_its_file_gives_a_book_that_calculates(tmp_path: Path) -> None:
    """Years later, without a catalog: drop-downs offer what the plan itself uses."""
    path = tmp_path / "x.plan.json"
    path.write_text(dumps(document(engine_plan("quarterly-review"))), "utf-8")
    plan = load(path)
    target = fresh_path("loaded")
    write(plan, target)
    made = Made(plan, target)
    assert differences(made.stored, recalculate_formualizer(target)) == []
    fresh = shipped("quarterly-review")
    for heading in ("Max concurrency", "Verdict", "Longest context that fits"):
        assert made.column("Results", heading) == fresh.column("Results", heading)
    used = {case.model for case in plan.cases}
    assert {v for v in made.column("Models", "Id", len(used) + 1) if v} == used


# ---- sources and glossary ----------------------------------------------------------------------


def sources(made: Made) -> dict[tuple[str, str], int]:
    """Title and address on Sources to the number there."""
    letters, found, row = made.headings("Sources"), {}, FIRST
    while ("Sources", f"{letters['No.']}{row}") in made.values:
        title = str(made.values["Sources", f"{letters['Title']}{row}"])
        url = str(made.values["Sources", f"{letters['Address']}{row}"])
        number = made.values["Sources", f"{letters['No.']}{row}"]
        found[title, "" if url == "not recorded" else url] = int(float(number))
        row += 1
    assert sorted(found.values()) == list(range(1, len(found) + 1))
    return found


SHEET_OF = {"model": "Models", "gpu": "GPUs", "engine": "Engines",
            "weight_format": "Weight formats", "kv_format": "KV formats"}  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_every_source_of_a_used_figure_is_listed_and_named(name: str) -> None:
    made = shipped(name)
    listed, plan = sources(made), made.plan
    checked = 0
    for (kind, word), facts in plan.inputs.facts.items():
        said = _sources_beside(made, SHEET_OF[kind], word)
        checked += _check_named(plan, kind, word, facts, said, listed)
    for model, groups in plan.inputs.groups.items():
        said = _sources_beside(made, "Layer groups", model)
        for group in groups:
            checked += _check_named(plan, "model", model, group.facts, said, listed)
    assert checked > 50


def _check_named(plan: Plan, kind: str, word: str, facts: object, said: str,
                 listed: dict[tuple[str, str], int]) -> int:  # fmt: skip
    known = plan.inputs.sources[kind, word]
    checked = 0
    for field, fact in facts.items():  # type: ignore[attr-defined]
        for source in fact.source if fact.value is not None else ():
            number = listed[known[source].title, known[source].url]
            assert f"[{number}]" in said, (kind, word, field, source)
            checked += 1
    return checked


def _sources_beside(made: Made, sheet: str, word: str) -> str:
    """The text of the sources column in all rows of an entry."""
    letters = made.headings(sheet)
    key, source = letters.get("Id") or letters["Model"], letters["Sources and confidence"]
    rows = [ref[len(key):] for (s, ref), v in made.values.items()
            if s == sheet and v == word and re.fullmatch(rf"{key}\d+", ref)]  # fmt: skip
    assert rows, f"{word} is not on {sheet}"
    return " ".join(str(made.values.get((sheet, f"{source}{row}"), "")) for row in rows)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_listed_source_is_referred_to(name: str) -> None:
    made = shipped(name)
    said = {
        int(number)
        for (sheet, _), value in made.values.items()
        if sheet != "Sources" and isinstance(value, str)
        for number in re.findall(r"\[(\d+)\]", value)
    }
    assert set(sources(made).values()) <= said


@pytest.mark.parametrize("name", SHIPPED)
def test_inputs_name_their_sources(name: str) -> None:
    """A default of the engine bears its confidence and note, a given one its place."""
    made = shipped(name)
    letters = made.headings("Inputs")
    for field, origin in made.plan.inputs.origins.items():
        if field not in made.plan.inputs.plan:
            continue
        row = made.row_of("Inputs", field, "B")
        assert made.values["Inputs", f"{letters['Origin']}{row}"] == origin.kind
        assert made.values["Inputs", f"{letters['Where']}{row}"] == origin.where
        reason = made.values.get(("Inputs", f"{letters['Source or reason']}{row}"), "")
        assert origin.note in str(reason) and origin.confidence in str(reason)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_glossary_has_every_metric_with_its_formula(name: str) -> None:
    made = shipped(name)
    letters, listed = made.headings("Glossary"), sources(made)
    metrics = [m for m in made.plan.metrics.in_order() if not m.part_of]
    for row, metric in enumerate(metrics, FIRST):

        def cell(heading: str, row: int = row) -> str:
            return str(made.values.get(("Glossary", f"{letters[heading]}{row}"), ""))

        assert cell("Name") == metric.name
        assert cell("Metric") == metric.label
        assert cell("Formula") == metric.text
        assert cell("What it means") == metric.entry.why
        source = metric.entry.source
        assert cell("Source") == f"[{listed[source.title, source.url or '']}]"
        assert cell("Where"), f"{metric.name} stands nowhere"
    assert ("Glossary", f"{letters['Name']}{FIRST + len(metrics)}") not in made.values


def test_the_plans_hash_stands_on_the_cover() -> None:
    made = shipped()
    inside = json.loads(extract(Package.read(made.path), "plan"))
    cover = {v for (sheet, _), v in made.values.items() if sheet == "Cover"}
    assert {inside["hashes"]["values"], made.plan.title, made.plan.name} <= cover


def test_spreadsheet_programs_calculate_the_book_when_it_is_opened() -> None:
    """Typed-over inputs of a file that another tool changed must not meet stale numbers."""
    with ZipFile(shipped().path) as archive:
        root = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    (setting,) = root.iter(f"{MAIN}calcPr")
    assert setting.attrib["fullCalcOnLoad"] == "1"
    assert setting.attrib.get("calcMode", "auto") == "auto"
    assert "iterate" not in setting.attrib
