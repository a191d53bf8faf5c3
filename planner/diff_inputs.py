"""Inputs that differ between the paired cases, each with its group and where both values stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from planner.diff_drivers import Driver, differing
from planner.diff_why import Sides
from planner.facts import Fact
from planner.inputs import Source
from planner.planning import Plan, Value, plain

_WORDS = {
    "model": "model",
    "group": "model",
    "gpu": "gpu",
    "weight_format": "weight_format",
    "kv_format": "kv_format",
}


@dataclass(frozen=True, slots=True)
class Stand:
    """One value of an input: what it belongs to, and where it comes from."""

    value: Value
    owner: str
    confidence: str
    note: str
    place: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class InputChange:
    """One input with its value in either plan; ``pairs`` have exactly these two."""

    group: str
    driver: str
    name: str
    label: str
    old: Stand
    new: Stand
    pairs: int


def changes(sides: Sides, drivers: Iterable[Driver]) -> tuple[InputChange, ...]:
    """Every changed input, by driver; the shape of a model is one line a pair of models."""
    found: list[InputChange] = []
    for driver in drivers:
        if driver.id == "model":
            found += _models(sides, driver)
            continue
        dtypes = {f"peak_{c.inputs['compute_dtype']}" for c in sides.old.cases + sides.new.cases}
        for name in driver.fields:
            if driver.id != "compute" or not name.startswith("peak_") or name in dtypes:
                found += _field(sides, driver, name)
    return tuple(found)


def _models(sides: Sides, driver: Driver) -> list[InputChange]:
    counts: dict[tuple[str, str], int] = {}
    for i, j in sides.pairs:
        key = sides.old.cases[i].model, sides.new.cases[j].model
        counts[key] = counts.get(key, 0) + 1
    return [
        InputChange(driver.group, driver.id, "model", driver.label,
                    Stand(old, "", "", "", "", ()), Stand(new, "", "", "", "", ()), count)
        for (old, new), count in counts.items()
        if old != new
    ]  # fmt: skip


def _field(sides: Sides, driver: Driver, name: str) -> list[InputChange]:
    old, new = sides.old_now, sides.new_now
    columns = old.columns[name], new.columns[name]
    rows = np.asarray(sides.pairs)
    one, other = (
        np.broadcast_to(c, (len(rows),)) if c.ndim == 0 else c[rows[:, side]]
        for side, c in enumerate(columns)
    )
    differ = differing(one, other)
    found: dict[tuple[object, ...], tuple[int, int, int]] = {}
    for row in np.flatnonzero(differ).tolist():
        i, j = sides.pairs[row]
        key = (_owner(old, name, i), _owner(new, name, j), str(one[row]), str(other[row]))
        first = found.get(key, (i, j, 0))
        found[key] = (first[0], first[1], first[2] + 1)
    label = new.metrics.label_of(name)
    return [
        InputChange(
            driver.group, driver.id, name, label, stand(old, name, i), stand(new, name, j), count
        )
        for i, j, count in found.values()
    ]


def _owner(plan: Plan, name: str, case: int) -> str:
    entity = plan.metrics.fields[name].entity
    if entity in _WORDS:
        return str(getattr(plan.cases[case], _WORDS[entity]))
    if entity == "engine":
        return next(word for kind, word in plan.inputs.facts if kind == "engine")
    return plan.cases[case].workload if name.endswith("_tokens") else ""


def stand(plan: Plan, name: str, case: int, slot: int = 0) -> Stand:
    """An input of one case, or of one of its layer groups, with its origin."""
    entity = plan.metrics.fields[name].entity
    value = plain(plan.columns[name], plan.metrics.type_of(name), case, slot)
    owner = _owner(plan, name, case)
    inputs = plan.inputs
    if entity in ("case", "plan"):
        origin = inputs.origins.get(name)
        if origin is None:
            return Stand(value, owner, "", "", "", ())
        engine = next(word for kind, word in inputs.facts if kind == "engine")
        known = inputs.sources.get(("engine", engine), {})
        sources = tuple(known[s] for s in origin.sources if s in known)
        return Stand(value, owner, origin.confidence or origin.kind, origin.note, origin.where,
                     sources)  # fmt: skip
    kind = "model" if entity == "group" else entity
    fact = _facts(plan, entity, owner, slot).get(name)
    if fact is None:
        return Stand(value, owner, "", "", "", ())
    known = inputs.sources.get((kind, owner), {})
    sources = tuple(known[s] for s in fact.source if s in known)
    return Stand(value, owner, fact.confidence, fact.note, str(fact.span), sources)


def _facts(plan: Plan, entity: str, owner: str, slot: int) -> Mapping[str, Fact]:
    """The catalog figures of an entry, or of one layer group of a model; an empty slot has none."""
    if entity != "group":
        return plan.inputs.facts[entity, owner]
    groups = plan.inputs.groups[owner]
    return groups[slot].facts if slot < len(groups) else {}
