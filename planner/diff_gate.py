"""What makes two plans incomparable, and what only has to be said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from planner.errors import InputError, Problem, Span
from planner.planning import Plan

_CHOICES = {
    "time_model": "one plan is an ideal bound, the other a calibrated time",
    "currency": "amounts of two currencies do not subtract",
    "period": "amounts of two periods do not subtract",
}


@dataclass(frozen=True, slots=True)
class Barrier:
    """A basis on which the plans differ."""

    field: str
    old: str
    new: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field}: old {self.old}, new {self.new}: {self.reason}"


class NotComparable(InputError):  # noqa: N818  (it names a state of two plans, like its exit code)
    """Two plans that only ``--force`` compares; carries a problem for every field."""

    def __init__(self, barriers: Sequence[Barrier], old: str, new: str) -> None:
        hint = "--force compares them all the same, under a banner"
        super().__init__(
            Problem(Span(f"{old} -> {new}"), b.field, f"the {b.old} of the old plan", b.new,
                    f"{b.reason}; {hint}")
            for b in barriers
        )  # fmt: skip
        self.barriers = tuple(barriers)


def barriers(old: Plan, new: Plan) -> tuple[Barrier, ...]:
    """Every basis on which the plans differ.

    Dense and sparse peaks cannot be mixed: the catalog takes dense ones only.
    """
    return tuple([*_basis(old, new), *_scenario(old, new), *_units(old, new)])


def _engine(plan: Plan) -> Any:
    facts = next(f for (kind, _), f in plan.inputs.facts.items() if kind == "engine")
    return facts["engine_memory_basis"].value


def _basis(old: Plan, new: Plan) -> Iterable[Barrier]:
    before, after = _engine(old), _engine(new)
    if before != after:
        reason = "the utilisation multiplies another figure of the card"
        yield Barrier("engine_memory_basis", str(before), str(after), reason)


def _scenario(old: Plan, new: Plan) -> Iterable[Barrier]:
    for key, reason in _CHOICES.items():
        before, after = old.inputs.scenario.get(key), new.inputs.scenario.get(key)
        if before != after and before is not None and after is not None:
            yield Barrier(f"scenario.{key}", str(before), str(after), reason)


def _units(old: Plan, new: Plan) -> Iterable[Barrier]:
    """A metric or an input of one name in two units, two kinds, or two currencies."""
    for block in ("metrics", "fields"):
        mine, theirs = getattr(old.metrics, block), getattr(new.metrics, block)
        for name in mine:
            if name not in theirs:
                continue
            before, after = old.metrics.type_of(name), new.metrics.type_of(name)
            if (before.kind, before.dimension) != (after.kind, after.dimension):
                one, other = (
                    f"{p.metrics.unit_of(name)} ({p.metrics.type_of(name).kind})"
                    for p in (old, new)
                )
                yield Barrier(f"{block}.{name}.unit", one, other, "the two values do not subtract")


def warnings(old: Plan, new: Plan, pairs: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """What readers must know of a comparison that may be made."""
    found = []
    name = "memory_basis"
    if all(name in p.metrics.metrics for p in (old, new)):
        words = [(old.value(name, i), new.value(name, j)) for i, j in pairs]
        for before, after in dict.fromkeys((a, b) for a, b in words if a != b):
            count = words.count((before, after))
            found.append(
                f"memory basis {before} beside {after} in {count} of {len(pairs)} pairs: the "
                "reading that the engine names is unknown for one of the cards"
            )
    engines = [next(w for kind, w in p.inputs.facts if kind == "engine") for p in (old, new)]
    if engines[0] != engines[1]:
        found.append(f"engine {engines[0]} beside {engines[1]}")
    return tuple(found)
