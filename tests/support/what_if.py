"""A plan with some inputs replaced in every case, computed by the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planner.offers import CHOSEN, Offer
from planner.planning import Plan, compute


def replaced(plan: Plan, offered: dict[str, list[Offer]], over: dict[str, Any]) -> Plan:
    """The same plan from the engine."""
    known = {(o.kind, o.id): o.facts for entries in offered.values() for o in entries}
    kinds = {name: value for name, value in over.items() if name in CHOSEN}
    fields = plan.metrics.fields
    assumptions = {
        n: fields[n].words.index(over[n]) if over.get(n) in fields[n].words else over.get(n, v)
        for n, v in plan.inputs.plan.items()
    }
    cases = tuple(
        replace(case, **kinds, inputs={n: over.get(n, v) for n, v in case.inputs.items()})
        for case in plan.cases
    )
    facts = {**known, **plan.inputs.facts}
    return compute(replace(plan.inputs, cases=cases, plan=assumptions, facts=facts), plan.metrics)
