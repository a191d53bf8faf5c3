"""Inputs and constants: every assumption with unit, source and owner, each a named cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openpyxl.worksheet.datavalidation import DataValidation

from planner.engine import by_input
from planner.inputs import Origin
from planner.metric_files import OWN, FieldEntry, VariantEntry
from planner.metrics import MetricSet
from planner.planning import Plan, Value
from reports.words import called, say
from reports.workbook.address import Addresses
from reports.workbook.case_columns import base_unit
from reports.workbook.rows_text import Scalar
from reports.workbook.styles import Role
from reports.workbook.tables import FIRST, Book, Table, TableColumn, quote

INPUTS, CONSTANTS = "Inputs", "Constants"
STAGE_ROOM = "stage columns"  # no name of the formula language
_NUMBER = "[>=1000]#,##0;General"


@dataclass(frozen=True, slots=True)
class _Row:
    key: str
    label: str
    value: Scalar
    unit: str
    meaning: str
    origin: Origin | None = None
    entry: FieldEntry | None = None
    rung: bool = False


def inputs_sheet(book: Book, plan: Plan, at: Addresses) -> Table:
    """One row an assumption; a person may change the blue cells and everything follows."""
    ws = book.sheet(
        INPUTS, "Inputs",
        "Which assumptions stand behind the plan, who made them, and from where?", "inputs",
    )  # fmt: skip
    rows = [*_assumptions(plan), *_engine(plan), *_ladders(plan)]
    owner = str(plan.inputs.scenario["owner"])
    values = [row.value for row in rows]
    origins = [row.origin or Origin("default", say("metrics file")) for row in rows]
    spans = [row.entry.range if row.entry and not row.rung else None for row in rows]
    columns = [
        *_common(rows, "input"),
        TableColumn(
            "low", "From", [s[0] if s else None for s in spans], role="note", number_format=_NUMBER
        ),
        TableColumn(
            "high", "To", [s[1] if s else None for s in spans], role="note", number_format=_NUMBER
        ),
        TableColumn("origin", "Origin", [called(o.kind) for o in origins], role="key"),
        TableColumn(
            "where", "Where", [called(o.where) for o in origins], role="note", width=30, wrap=True
        ),
        TableColumn(
            "source",
            "Source or reason",
            [_reason(plan, o) for o in origins],
            role="note",
            width=45,
            wrap=True,
        ),
        TableColumn("owner", "Owner", [owner] * len(rows), role="note", width=24),
        TableColumn(
            "meaning", "What it means", [r.meaning for r in rows], role="note", width=45, wrap=True
        ),
        TableColumn("issued", "As issued", values, role="note", number_format=_NUMBER),
        TableColumn(
            "#changed",
            "Changed since issue",
            [False] * len(rows),
            role="note",
            formula="C{r}<>L{r}",
        ),
        # A comparison, and MIN or MAX, would take the word for a number or pass it over.
        TableColumn(
            "used", "As formulas take it", [_used(value) for value in values],
            role="note", number_format=_NUMBER,
            formula='IF(OR(C{r}="unknown",C{r}=""),NA(),IF(ISNUMBER(C{r}+0),C{r}+0,C{r}))',
        ),
    ]  # fmt: skip
    table = book.table(ws, columns, len(rows), 1)
    _place(book, rows, INPUTS, at, named=True)
    for number, row in enumerate(rows, FIRST):
        rule = _rule(row)
        if rule is not None:
            rule.add(f"C{number}")
            ws.add_data_validation(rule)
    return table


def constants_sheet(
    book: Book, metrics: MetricSet, at: Addresses, units: Mapping[str, float], name: str = CONSTANTS
) -> Table:
    """Constants of the formulas and factors of the display units; nobody should change these."""
    ws = book.sheet(
        name, "Constants",
        "Which fixed numbers do formulas use, and how many base units has a display unit?", "back",
    )  # fmt: skip
    rows = [
        _Row(word, called(word.replace("_", " ")), float(c.value), c.unit, c.meaning)
        for word, c in metrics.constants.items()
    ]
    rows += [
        _Row(
            f"unit {text}",
            f"1 {text}",
            factor,
            say("base units"),
            say("Divides a figure for display"),
        )
        for text, factor in units.items()
    ]
    rows.append(
        _Row(STAGE_ROOM, say("stage columns"), float(at.stages), "1",
             say("Pipeline stages that the workings have columns for; a case with more is unknown"))
    )  # fmt: skip
    columns = [
        *_common(rows, "derived"),
        TableColumn(
            "meaning", "What it means", [r.meaning for r in rows], role="note", width=45, wrap=True
        ),
    ]
    table = book.table(ws, columns, len(rows), 1)
    _place(book, rows, name, at, named=False)
    return table


def _common(rows: Sequence[_Row], role: Role) -> list[TableColumn]:
    return [
        TableColumn("label", "What", [r.label for r in rows], role="key"),
        TableColumn("name", "Name in formulas", [r.key for r in rows], role="note"),
        TableColumn("value", "Value", [r.value for r in rows], role=role, width=18,
                    number_format=_NUMBER),
        TableColumn("unit", "Unit", ["" if r.unit == "1" else r.unit for r in rows], role="key"),
    ]  # fmt: skip


def _place(book: Book, rows: Sequence[_Row], sheet: str, at: Addresses, named: bool) -> None:
    for number, row in enumerate(rows, FIRST):
        # A rung is no name of the formula language: a metric may be called so.
        key = f"#{row.key}" if row.rung else row.key
        at.fixed[key] = f"{quote(sheet)}!${_letter(row)}${number}"
        if row.rung:
            at.fixed[f"{key} issued"] = f"{sheet}!$L${number}"
        if named:
            book.name(f"in_{row.key}", f"{sheet}!$C${number}")


def _used(value: Scalar) -> Scalar:
    """A number (a flag as 1 or 0) or a word; None where it is unknown."""
    if value == "unknown":
        return None
    return float(value) if isinstance(value, bool | int | float) else value


def _letter(row: _Row) -> str:
    """The column that formulas read: of what may be unknown, the one where that is no word."""
    entry = row.entry
    if entry is None or row.rung or entry.kind not in ("number", "count"):
        return "C"
    return "N" if entry.optional or row.value == "unknown" else "C"


def _reason(plan: Plan, origin: Origin) -> str:
    titles = [
        sources[word].title
        for word in origin.sources
        for sources in plan.inputs.sources.values()
        if word in sources
    ]
    parts = [*dict.fromkeys(titles), called(origin.confidence), say(origin.note)]
    return "; ".join(part for part in parts if part)


def _rule(row: _Row) -> DataValidation | None:
    if row.rung:
        return _rung_rule(row)
    return entry_rule(row.entry) if row.entry else None


def entry_rule(entry: FieldEntry) -> DataValidation | None:
    """What an input takes, by its declaration."""
    if entry.words:
        return DataValidation("list", formula1=f'"{",".join(entry.words)}"')
    if entry.kind == "flag":
        return DataValidation("list", formula1='"TRUE,FALSE"')
    if entry.range is None:
        return None
    low, high = entry.range
    return DataValidation(
        "decimal", operator="between", formula1=f"{low:g}", formula2=f"{high:.0f}"
    )


def _rung_rule(row: _Row) -> DataValidation | None:
    """Any number of the kind that the input takes; a rung may keep the case's own as a word."""
    if row.value == OWN or row.entry is None:
        return None
    whole = row.entry.kind == "count"
    low = "1" if whole and row.value else "0"
    return DataValidation(
        "whole" if whole else "decimal", operator="between", formula1=low, formula2="100000000"
    )


def _assumptions(plan: Plan) -> list[_Row]:
    return [
        _Row(name, plan.metrics.fields[name].label, _cell(plan.value(name)),
             base_unit(plan.metrics, name), plan.metrics.fields[name].meaning,
             plan.inputs.origins.get(name), plan.metrics.fields[name])
        for name in plan.inputs.plan
    ]  # fmt: skip


def _cell(value: Value) -> Scalar:
    """An assumption as its cell holds it."""
    return "unknown" if value is None else value


def _engine(plan: Plan) -> list[_Row]:
    engine = next(word for kind, word in plan.inputs.facts if kind == "engine")
    rows = []
    for name, fact in plan.inputs.facts["engine", engine].items():
        entry = plan.metrics.fields[name]
        value: Scalar = fact.value
        if isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        origin = Origin("catalog", f"engine {engine}", fact.source, fact.confidence, fact.note)
        rows.append(
            _Row(name, entry.label, "unknown" if value is None else value, entry.unit,
                 entry.meaning, origin, entry)
        )  # fmt: skip
    return rows


def _ladders(plan: Plan) -> list[_Row]:
    """A row for each rung and input; ``own`` keeps what the case has."""
    rows = []
    for name, values in plan.columns.variant_values.items():
        variant, columns = (
            plan.metrics.variants[name],
            by_input(plan.metrics.variants[name], values),
        )
        names = plan.inputs.rungs.get(name) or [say(f"rung {k + 1}") for k in range(len(values))]
        for number, word in enumerate(names, 1):
            for one, rungs in columns.items():
                entry, value = plan.metrics.fields[one], float(rungs[number - 1])
                of = f": {_inside(entry.label)}" if len(columns) > 1 else ""
                rows.append(
                    _Row(rung_key(variant, name, number, one), f"{variant.label}, {word}{of}",
                         OWN if value != value else value, entry.unit, variant.meaning,
                         plan.inputs.origins.get(name), entry, True)
                )  # fmt: skip
    return rows


def _inside(label: str) -> str:
    """A label within a phrase; abbreviations keep their capitals."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def rung_key(variant: VariantEntry, name: str, number: int, replaced: str) -> str:
    """What the cell of a rung is called: the set and the rung, and the input if there are more."""
    end = f"_{replaced}" if len(variant.replaces) > 1 else ""
    return f"{name}_{number}{end}"
