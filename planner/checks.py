"""The checks of a plan: integrity (true for any legitimate input) and policy."""

from __future__ import annotations

from dataclasses import dataclass

from planner.planning import Plan, Value


@dataclass(frozen=True, slots=True)
class Check:
    """One check with its result; an unknown result is no pass."""

    name: str
    label: str
    kind: str
    value: Value
    limit: float | None
    passed: bool

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return f"{self.kind} check: {self.label}: {'true' if self.value else 'false'}"
        value = "unknown" if self.value is None else f"{self.value:,g}"
        limit = "" if self.limit is None else f" (limit {self.limit:,g})"
        return f"{self.kind} check: {self.label}: {value}{limit}"


def checks(plan: Plan) -> tuple[Check, ...]:
    """Every metric that is declared as a check, integrity first."""
    found = []
    for metric in plan.metrics.metrics.values():
        kind = metric.entry.check
        if kind is None:
            continue
        value = plan.value(metric.name)
        limit = metric.entry.limit
        passed = _passed(value, limit, metric.entry.better == "up")
        found.append(Check(metric.name, metric.label, kind, value, limit, passed))
    return tuple(sorted(found, key=lambda check: check.kind != "integrity"))


def broken(plan: Plan) -> tuple[Check, ...]:
    """The checks that do not pass."""
    return tuple(check for check in checks(plan) if not check.passed)


def _passed(value: Value, limit: float | None, at_least: bool) -> bool:
    if value is None or isinstance(value, bool | str):
        return value is True
    bound = limit or 0.0
    return value >= bound if at_least else value <= bound
