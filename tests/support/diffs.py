"""Comparisons for tests: the worked example of two fleets, and what an output says as numbers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import planner
from planner.diff import Diff, Options, diff
from planner.diff_why import Why
from planner.planning import Plan
from support.tools import REPOSITORY

FOLDER = REPOSITORY / "tests" / "diff"
OLD, NEW, METRICS = FOLDER / "h100.yaml", FOLDER / "b200.yaml", FOLDER / "fleet.yaml"


@cache
def fleets(*settings: str) -> tuple[Plan, Plan]:
    """Both plans of the worked example; ``settings`` are put over both."""
    one, other = (planner.plan(p, metrics=[METRICS], settings=settings) for p in (OLD, NEW))
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
