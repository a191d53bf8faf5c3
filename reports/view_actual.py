"""Plan against actual in the view: a row for each figure that an engine start measured."""

from __future__ import annotations

from planner.actual import Actual, error_of
from planner.planning import Plan
from reports.view_grid import Column, Kind, Row, Table, Value, text_of
from reports.view_parts import Section
from reports.view_units import clean, column_decimals, metric_display, with_unit
from reports.words import say, say_parts, term

ACTUAL = "actual"
_ANSWERS = term("What did engines measure at their start, and how far off was the plan?")


def actual_section(plan: Plan) -> Section | None:
    """What was measured of the plan's cases beside the plan; None where nothing was."""
    if not plan.actual:
        return None
    tables = tuple(_table(plan, one, number) for number, one in enumerate(plan.actual, 1))
    return Section(ACTUAL, say("Plan against actual"), say(_ANSWERS), tables)


def _table(plan: Plan, one: Actual, number: int) -> Table:
    """One engine start: its figures down, planned, measured and the error across."""
    case = next(n for n, found in enumerate(plan.cases) if found.id == one.case)
    planned: list[Value] = []
    measured: list[Value] = []
    errors: list[Value] = []
    for name, seen in one.values.items():
        value = plan.value(name, case)
        known = float(value) if isinstance(value, float) else None
        planned.append(_shown(plan, name, known))
        measured.append(_shown(plan, name, seen))
        errors.append(error_of(known, seen))
    columns = (
        _column("planned", say("Planned"), planned, "word", 0),
        _column("measured", say("Measured"), measured, "word", 1),
        _column("error", say("Error"), errors, "share", 2),
    )
    # The unit says that it is per GPU; a terminal has no room to say it twice.
    labels = {
        name: clean(plan.metrics.label_of(name)).removesuffix(say(", one GPU"))
        for name in one.values
    }
    notes = say("; ").join(
        f"{labels[name]}{say(': ')}{say_parts(clean(text))}" for name, text in one.notes.items()
    )
    return Table(
        ACTUAL if number == 1 else f"{ACTUAL}-{number}",
        say(f"Case {case + 1}, {clean(one.log)} ({clean(one.engine)})"), columns,
        tuple(Row((label,), (case,)) for label in labels.values()), key_label=say("Figure"),
        note=say(f"What explains a difference: {notes}.") if notes else "",
    )  # fmt: skip


def _shown(plan: Plan, name: str, value: float | None) -> str:
    """The figure with its unit, for units differ from row to row."""
    factor, unit, _, kind = metric_display(plan.metrics.metrics[name])
    text = text_of(None if value is None else value / factor, kind)
    return text if value is None else with_unit(text, unit)


def _column(name: str, label: str, values: list[Value], kind: Kind, place: int) -> Column:
    decimals = 2 if kind == "share" else column_decimals(values, kind)
    return Column(name, label, "", "1", kind, decimals, "none", tuple(values), priority=place)
