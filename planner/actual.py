"""What engine starts measured of cases of a plan: kept with it, shown beside what was planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.planning import Plan


@dataclass(frozen=True, slots=True)
class Actual:
    """One engine start: the case that it is of, and what it measured.

    Attributes:
        case: the id of the case.
        log: the name of the log file, without its folder.
        engine: engine and release, as the log states them.
        values: metric to the measured figure in base units.
        notes: metric to what explains a difference, or what is known of the line itself.
    """

    case: str
    log: str
    engine: str
    values: Mapping[str, float]
    notes: Mapping[str, str]


def with_actual(plan: Plan, found: tuple[Actual, ...]) -> Plan:
    """The plan with what was measured of it."""
    return replace(plan, actual=(*plan.actual, *found))


def error_of(planned: float | None, measured: float) -> float | None:
    """How far off the plan was, as a share of what was measured; None where it is not known."""
    return planned / measured - 1 if planned is not None and measured else None


def data(actual: Actual) -> dict[str, Any]:
    """Plain data for a saved plan."""
    return {
        "case": actual.case, "log": actual.log, "engine": actual.engine,
        "values": dict(actual.values), "notes": dict(actual.notes),
    }  # fmt: skip


def read(found: Mapping[str, Any], plan: Plan) -> Actual:
    """The same from a saved plan.

    Raises:
        ValueError: a case or a metric that the plan does not have, or no number.
    """
    if found["case"] not in {case.id for case in plan.cases}:
        raise ValueError(f"actual: no case {found['case']}")
    values = {}
    for name, value in found["values"].items():
        if name not in plan.metrics.metrics or isinstance(value, bool):
            raise ValueError(f"actual: no metric {name}")
        values[str(name)] = float(value)
    notes = {str(name): str(text) for name, text in found["notes"].items()}
    return Actual(found["case"], str(found["log"]), str(found["engine"]), values, notes)
