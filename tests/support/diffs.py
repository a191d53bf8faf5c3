"""Comparisons for tests: the worked example of two fleets, and what an output says as numbers."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import planner
from planner import saved
from planner.diff import Diff, Options, diff
from planner.diff_why import Why
from planner.planning import Plan
from support.command import SMALL
from support.tools import REPOSITORY

TWO = """\
name: two
title: Two models
as_of: "2026-11-29"
models: [qwen3-8b, llama-3.1-8b]
gpus: [h100-sxm]
tp: [1, 2]
precisions: [{weights: bf16, kv: bf16, compute: bf16}]
contexts: [16384 tokens]
workloads: [{name: chat, prompt: 8192 tokens, output: 1025 tokens}]
batches: [16]
"""
OWN = """\
metrics:
  cards_for_many:
    label: Cards for a thousand
    unit: gpu
    better: down
    why: Replicas for a thousand requests.
    source: {title: Own rule}
    formula: many * gpus_per_replica / max_concurrency
  pool_of_plan:
    label: Requests of all cases
    unit: request
    better: up
    why: A figure of the whole plan.
    source: {title: Own rule}
    formula: sum_of(max_concurrency)
  share_of_plan:
    label: Share of all requests
    unit: "1"
    better: up
    why: A figure of a case that rests on the whole plan.
    source: {title: Own rule}
    formula: max_concurrency / pool_of_plan
constants:
  many: {value: 1000, unit: request, meaning: Requests}
"""

FOLDER = REPOSITORY / "tests" / "diff"
OLD, NEW, METRICS = FOLDER / "h100.yaml", FOLDER / "b200.yaml", FOLDER / "fleet.yaml"
CATALOG = FOLDER / "catalog"


@cache
def fleets(*settings: str) -> tuple[Plan, Plan]:
    """Both plans of the worked example; ``settings`` are put over both."""
    one, other = (
        planner.plan(path, metrics=[METRICS], catalogs=[CATALOG], settings=settings)
        for path in (OLD, NEW)
    )
    return one, other


def compared(old: Plan, new: Plan, **options: object) -> Diff:
    """Two plans that were planned just now."""
    return diff(old, new, Options(**options), saved=(False, False))  # type: ignore[arg-type]


def fleet_diff(*settings: str, **options: object) -> Diff:
    """The worked example compared."""
    return compared(*fleets(*settings), **options)


def why_of(found: Diff, metric: str, pair: int | None = 0) -> Why:
    """The divided difference of one metric."""
    return next(w for w in found.whys if w.metric == metric and w.pair == pair)


def shares(why: Why) -> dict[str, float]:
    """Shares by driver and by group."""
    parts = {p.driver.id: p.share for b in why.bundles for p in b.parts}
    return parts | {b.id: b.share for b in why.bundles}


def ranges(why: Why) -> dict[str, tuple[float, float]]:
    """The range of each driver."""
    return {p.driver.id: (p.low, p.high) for b in why.bundles for p in b.parts}


def plan_of(folder: Path, text: str, name: str = "plan.yaml", **options: object) -> Plan:
    """A plan of a scenario text."""
    path = folder / name
    path.write_text(text, "utf-8")
    return planner.plan(path, **options)  # type: ignore[arg-type]


def own(folder: Path) -> list[Path]:
    path = folder / "own.yaml"
    path.write_text(OWN, "utf-8")
    return [path]


def many_inputs(folder: Path, count: int) -> tuple[Plan, Plan]:
    """Two plans that differ in so many own inputs, in four groups, and in nothing else."""
    groups = ("workload", "policy", "price", "hardware")
    fields = "".join(
        f"  own_{'abcdefghijklmnopqrstuvwxyz'[i]}: {{entity: plan, unit: '1', "
        f"driver: {groups[i % 4]}, label: Own {i}, meaning: Own}}\n"
        for i in range(count)
    )
    letters = "abcdefghijklmnopqrstuvwxyz"[:count]
    terms = " + ".join(f"own_{one} * own_{other}" for one, other in itertools.pairwise(letters))
    path = folder / "many.yaml"
    path.write_text(
        f"fields:\n{fields}metrics:\n  own_sum:\n    label: Own sum\n    unit: request\n"
        f"    better: up\n    why: Own.\n    source: {{title: Own}}\n"
        f"    formula: floor(({terms}) * batch)\n",
        "utf-8",
    )
    plans = []
    for name, base in (("old", 1.5), ("new", 2.25)):
        given = "".join(f"  own_{one}: {base + i / 8}\n" for i, one in enumerate(letters))
        text = SMALL.replace("name: small", f"name: {name}") + f"assumptions:\n{given}"
        plans.append(plan_of(folder, text, f"{name}.yaml", metrics=[path]))
    return plans[0], plans[1]


def resaved(plan: Plan) -> Plan:
    """What comes back from the file of a plan."""
    return saved.loads(saved.dumps(saved.document(plan)), "plan.json")
