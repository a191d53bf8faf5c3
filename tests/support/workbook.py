"""Workbooks of plans for tests: written once, changed by splicing, read by names and headings."""

from __future__ import annotations

import atexit
import functools
import itertools
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import yaml

import planner
from planner.catalog import Catalog
from planner.inputs import Case
from planner.metrics import SLOTS
from planner.planning import Plan, compute, plain
from planner.scenario import layout_id
from reports.workbook.book import write
from reports.workbook.package import Package, cells, sheet_parts, splice
from reports.workbook.rows import cell_xml
from support.recalc import recalculate_formualizer
from support.tools import REPOSITORY
from support.xlsx import Cells, Value, is_error, position, read_formulas, read_values

SCENARIOS = REPOSITORY / "catalogs" / "scenarios"
SHIPPED = tuple(sorted(path.stem for path in SCENARIOS.glob("*.yaml")))
HEADING, FIRST = 6, 8  # rows of a table sheet
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
PICKS = ("model", "gpu", "weight_format", "kv_format")

_FOLDER = Path(tempfile.mkdtemp(prefix="workbooks-"))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
_NUMBERS = itertools.count(1)

Place = tuple[str, str]
"""A sheet and an address."""


@dataclass(frozen=True, eq=False)
class Made:
    """A workbook with the plan that it was written from."""

    plan: Plan
    path: Path

    @cached_property
    def values(self) -> Cells:
        return read_values(self.path)

    @cached_property
    def formulas(self) -> dict[Place, str]:
        return read_formulas(self.path)

    @cached_property
    def stored(self) -> Cells:
        """What the file says beside each formula."""
        return {place: self.values[place] for place in self.formulas if place in self.values}

    @cached_property
    def names(self) -> dict[str, str]:
        """Defined names of the whole book with their targets; those of one sheet are left out."""
        with ZipFile(self.path) as archive:
            root = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        return {
            node.attrib["name"]: node.text or ""
            for node in root.iter(f"{MAIN}definedName")
            if "localSheetId" not in node.attrib
        }

    def named(self, name: str) -> Place:
        """The one cell of a defined name."""
        found = re.fullmatch(r"'?([^'!]+)'?!\$([A-Z]+)\$(\d+)", self.names[name])
        assert found, f"{name} is no single cell: {self.names[name]}"
        return found[1], found[2] + found[3]

    @cached_property
    def _headings(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for (sheet, address), value in self.values.items():
            letters = address.removesuffix(str(HEADING))
            if letters.isalpha():
                found.setdefault(sheet, {}).setdefault(str(value), letters)
        return found

    def headings(self, sheet: str) -> dict[str, str]:
        """Heading to column letter; of columns with one heading the first."""
        return self._headings.get(sheet, {})

    def heading_of(self, place: Place) -> str:
        """The heading above a cell of a table, without the stage and slot of the figure."""
        letters = re.sub(r"\d", "", place[1])
        heading = str(self.values.get((place[0], f"{letters}{HEADING}"), ""))
        return re.sub(r"^Part of | \[[^\]]*\d\]$", "", heading)

    def column(self, sheet: str, heading: str, count: int | None = None) -> list[Value | None]:
        """Values under a heading, a row a case unless told otherwise."""
        letters = self.headings(sheet)[heading]
        rows = range(FIRST, FIRST + (len(self.plan.cases) if count is None else count))
        return [self.values.get((sheet, f"{letters}{row}")) for row in rows]

    def case_cell(self, heading: str, case: int) -> Place:
        """A cell of the case table."""
        return "Cases", f"{self.headings('Cases')[heading]}{FIRST + case}"

    def row_of(self, sheet: str, key: str, letter: str = "A") -> int:
        """The row of a table whose key column holds a text."""
        rows = [
            position(address)[0]
            for (name, address), value in self.values.items()
            if name == sheet and value == key and re.fullmatch(rf"{letter}\d+", address)
        ]
        assert len(rows) == 1, f"{sheet}: {key!r} stands in rows {rows}"
        return rows[0]


def fresh_path(stem: str) -> Path:
    """A path in a folder that lives as long as the test run."""
    folder = _FOLDER / str(next(_NUMBERS))
    folder.mkdir()
    return folder / f"{stem}.xlsx"


@functools.cache
def catalog() -> Catalog:
    return Catalog.open()


def make(plan: Plan, *, bare: bool = False, offers: Catalog | None = None) -> Made:
    """The workbook of a plan; a bare one offers only the plan's own entries, and is made faster."""
    path = fresh_path(plan.name)
    write(plan, path, None if bare else offers or catalog())
    return Made(plan, path)


@functools.cache
def few() -> Catalog:
    """Some shipped entries of each kind: a book that offers them all is a third of the size."""
    folder = fresh_path("few").parent
    for kind, words in _FEW.items():
        (folder / kind).mkdir()
        for word in words or (path.stem for path in (SCENARIOS.parent / kind).glob("*.yaml")):
            shutil.copy(SCENARIOS.parent / kind / f"{word}.yaml", folder / kind)
    return Catalog([("catalogs", folder)])


_FEW = {
    "models": ("qwen3-8b", "qwen3-next-80b", "deepseek-v3", "gemma-3-27b", "gpt-oss-20b",
               "llama-3.1-8b"),
    "gpus": ("h100-sxm", "h200-sxm", "b200", "mi300x", "l4"), "engines": (), "formats": (),
}  # fmt: skip


@functools.cache
def shipped(name: str = "example") -> Made:
    """The workbook of a shipped scenario, written once for all tests."""
    return make(planner.plan(SCENARIOS / f"{name}.yaml"))


@functools.cache
def recalculated(name: str) -> Cells:
    """Every cell of a shipped scenario's workbook, calculated by formualizer."""
    return recalculate_formualizer(shipped(name).path)


def engine_plan(name: str = "example", *settings: str, **how: Any) -> Plan:
    """What the engine says of a shipped scenario with settings."""
    return planner.plan(SCENARIOS / f"{name}.yaml", settings=settings, **how)


class _Plain(yaml.SafeDumper):
    """Every text in quotes, and no anchors: the product refuses them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Plain.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def write_yaml(path: Path, data: Any) -> Path:
    """A YAML file as the product reads it, folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.dump(data, Dumper=_Plain, allow_unicode=True, sort_keys=False), "utf-8")
    return path


# ---- changes -----------------------------------------------------------------------------------


def edited(made: Made, changes: Mapping[Place, Value]) -> Path:
    """A copy in which a person has typed other values over cells; nothing is recalculated."""
    package = Package.read(made.path)
    parts = sheet_parts(package)
    styles = {
        (cell.sheet, cell.ref): cell.style
        for sheet in dict.fromkeys(sheet for sheet, _ in changes)
        for cell in cells(package, sheet)
    }
    for sheet in dict.fromkeys(sheet for sheet, _ in changes):
        new = {
            ref: cell_xml(ref, value, styles[sheet, ref])
            for (name, ref), value in changes.items()
            if name == sheet
        }
        package.set(parts[sheet], splice(package.get(parts[sheet]), new))
    path = fresh_path(made.path.stem)
    package.write(path)
    return path


def other_cases(plan: Plan, changes: Mapping[int, Mapping[str, Any]], *known: Plan) -> Plan:
    """The engine's plan with some cases changed: catalog choices by kind, inputs by field name.

    ``known`` are plans whose catalog entries may be chosen.
    """
    inputs = plan.inputs
    cases = list(inputs.cases)
    for index, change in changes.items():
        old = cases[index]
        picks = {kind: change.get(kind, getattr(old, kind)) for kind in PICKS}
        rest = {**old.inputs, **{k: v for k, v in change.items() if k not in PICKS}}
        cases[index] = Case(_case_id(picks, rest, old.workload), **picks, workload=old.workload,
                            inputs=rest)  # fmt: skip
    merged = {
        part: {k: v for p in (*known, plan) for k, v in getattr(p.inputs, part).items()}
        for part in ("facts", "groups", "labels", "sources")
    }
    return compute(replace(inputs, cases=tuple(cases), **merged), plan.metrics)


def _case_id(picks: Mapping[str, str], rest: Mapping[str, Any], workload: str) -> str:
    layout = {name: rest[name] for name in ("tp", "pp", "dp", "ep", "dcp")}
    formats = f"{picks['weight_format']}+{picks['kv_format']}+{rest['compute_dtype']}"
    return "/".join(
        (picks["model"], picks["gpu"], layout_id(layout), formats, f"{rest['context']:.0f}",
         workload, f"b{rest['batch']:.0f}")
    )  # fmt: skip


# ---- where a figure stands ---------------------------------------------------------------------


def places(made: Made) -> dict[str, list[list[Place]]]:
    """Metric to its cells by the glossary: rows of cases, in each the slots of a layer group."""
    labels = made.headings("Glossary")
    found = {}
    row = FIRST
    while ("Glossary", f"{labels['Name']}{row}") in made.values:
        name = str(made.values["Glossary", f"{labels['Name']}{row}"])
        where = str(made.values.get(("Glossary", f"{labels['Where']}{row}"), ""))
        found[name] = _cells_of(where, len(made.plan.cases))
        row += 1
    return found


def _cells_of(where: str, count: int) -> list[list[Place]]:
    sheet, _, cell = where.partition("!")
    if re.fullmatch(r"[A-Z]+\d+", cell):
        return [[(sheet, cell)]]
    first = cell.partition(":")[0]
    width = SLOTS if ":" in cell else 1
    letters = [_letters(position(f"{first}1")[1] + k) for k in range(width)]
    return [
        [(sheet, f"{letter}{row}") for letter in letters] for row in range(FIRST, FIRST + count)
    ]


def _letters(number: int) -> str:
    text = ""
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(65 + rest) + text
    return text


def engine_value(plan: Plan, name: str, case: int, slot: int) -> Value | None:
    """The engine's value as a cell would hold it."""
    kind = plan.metrics.type_of(name)
    return plain(plan.columns[name], kind, case, slot)


def holds(stored: Value | None, expected: Value | None) -> bool:
    """Whether a cell holds exactly the engine's value; unknown is an error cell."""
    if expected is None:
        return is_error(stored)
    return type(stored) is type(expected) and stored == expected
