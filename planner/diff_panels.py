"""Two panels that keep a comparison honest: like for like, and how sure the figures behind it are.

A new card is usually bought together with a smaller number format. The first panel takes the two
apart; the second names facts that nobody measured, and moves those whose range is on record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.diff_drivers import Driver
from planner.diff_inputs import Stand, stand
from planner.diff_values import Mixtures, is_pooled
from planner.diff_why import Sides
from planner.engine import Array, Columns
from planner.expr.check import PLAN
from planner.metrics import MetricSet
from planner.planning import Plan, Value

NAMEPLATE = ("datasheet", "vendor page", "announced")
UNSURE = ("assumed", "recalled", "third party", "announced")

_READINGS = ("memory_framework", "memory_device", "memory_marketed")


@dataclass(frozen=True, slots=True)
class PanelRow:
    """One mixture by name, with the value of every metric of the panel."""

    label: str
    values: tuple[float | None, ...]
    infeasible: bool = False


@dataclass(frozen=True, slots=True)
class LikeForLike:
    """Hardware and precision taken apart for one pair; ``note`` says why there are no rows."""

    pair: int
    metrics: tuple[str, ...]
    rows: tuple[PanelRow, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A fact that a result rests on: how sure it is, and how far the result moves over its range.

    ``low`` and ``high`` are of the metric; None where no range of the fact is on record.
    """

    side: str
    kind: str
    owner: str
    name: str
    label: str
    stand: Stand
    metric: str
    result: Value = None
    low: float | None = None
    high: float | None = None
    readings: tuple[tuple[str, float], ...] = ()


# ---- like for like ----------------------------------------------------------------------------


def like_for_like(
    sides: Sides, drivers: Sequence[Driver], names: Sequence[str], position: int
) -> LikeForLike:
    """The panel of one pair. Price moves with the hardware, since it is the price of the card."""
    pair = sides.pairs[position]
    groups = {d.group for d in drivers}
    names = [
        n for n in names
        if sides.metrics.type_of(n).grain != PLAN and not is_pooled(sides.metrics, n)
    ]  # fmt: skip
    if not {"hardware", "precision"} <= groups or not names:
        lacking = "precision and engine" if "precision" not in groups else "hardware"
        note = f"{lacking} are the same on both sides" if lacking != "hardware" else (
            "the hardware is the same on both sides")  # fmt: skip
        return LikeForLike(position, tuple(names), (), note if names else "no figure to compare")
    mixtures = Mixtures(sides.metrics, sides.old_now.inputs, sides.new_now.inputs, [pair], drivers)
    labels, masks = zip(*_rows(drivers), strict=True)
    wanted = np.asarray(masks)
    values = mixtures.of_cases(names, wanted) if names else {}
    bad = mixtures.infeasible(wanted)[:, 0]
    rows = tuple(
        PanelRow(label, tuple(_known(values[n][row, 0]) for n in names), bool(bad[row]))
        for row, label in enumerate(labels)
    )
    return LikeForLike(position, tuple(names), rows)


def _rows(drivers: Sequence[Driver]) -> list[tuple[str, int]]:
    precise = [i for i, d in enumerate(drivers) if d.group == "precision"]
    hard = [i for i, d in enumerate(drivers) if d.group in ("hardware", "price")]
    rows = [("old plan", 0)]
    if len(precise) > 1:
        rows += [(f"old hardware, only new {drivers[i].label}", 1 << i) for i in precise]
    rows += [
        ("old hardware at new precision", sum(1 << i for i in precise)),
        ("new hardware at old precision", sum(1 << i for i in hard)),
    ]
    if len(precise) + len(hard) < len(drivers):
        both = sum(1 << i for i in [*precise, *hard])
        rows.append(("new hardware at new precision, the rest old", both))
    return [*rows, ("new plan", 2 ** len(drivers) - 1)]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


# ---- uncertainty ------------------------------------------------------------------------------


def doubts(sides: Sides, metrics: Sequence[str], position: int) -> tuple[Doubt, ...]:
    """Facts of one pair that the metrics rest on and that are not measured, both sides.

    A fact whose range is on record has a row for each metric that it moves.
    """
    i, j = sides.pairs[position]
    both = (("old", sides.old_now, i), ("new", sides.new_now, j))
    ranged = [d for m in metrics for side, plan, case in both for d in _memory(plan, side, m, case)]
    plain = [d for m in metrics for side, plan, case in both for d in _facts(plan, side, m, case)]
    return (*ranged, *_once(plain))


def _once(found: Sequence[Doubt]) -> list[Doubt]:
    """A fact that both plans or several metrics share is one row."""
    kept: dict[tuple[str, str, str], Doubt] = {}
    for one in found:
        kept.setdefault((one.kind, one.owner, one.name), one)
    return list(kept.values())


def _memory(plan: Plan, side: str, metric: str, case: int) -> list[Doubt]:
    """The three readings of a card's memory are its recorded range."""
    if not any(plan.metrics.depends(metric, n) for n in _READINGS):
        return []
    stands = {n: stand(plan, n, case) for n in _READINGS}
    readings = [(n, float(s.value)) for n, s in stands.items() if isinstance(s.value, float)]
    used = plan.value("memory_total", case) if "memory_total" in plan.metrics.metrics else None
    name = next((n for n, v in readings if v == used), _READINGS[0])
    columns = _one_case(plan, case, len(readings))
    replaced = {n: np.asarray([v for _, v in readings]) for n in _READINGS}
    ladders = {n: np.asarray(v) for n, v in plan.inputs.ladders.items()}
    given = Columns(plan.metrics, {**columns, **replaced}, ladders)
    values = np.broadcast_to(given[metric], (len(readings),)).astype(float)
    known = [float(v) for v in values if not np.isnan(v)]
    low, high = (min(known), max(known)) if known else (None, None)
    owner = plan.cases[case].gpu
    return [
        Doubt(side, "gpu", owner, name, "Memory, three readings", stands[name], metric,
              plan.value(metric, case), low, high, tuple(readings))
    ]  # fmt: skip


def _one_case(plan: Plan, case: int, times: int) -> dict[str, Array]:
    """The inputs of one case, so many times."""
    given = plan.inputs.columns(plan.metrics)
    return {
        n: c if c.ndim == 0 else np.repeat(c[..., case : case + 1], times, axis=-1)
        for n, c in given.items()
    }


def _facts(plan: Plan, side: str, metric: str, case: int) -> list[Doubt]:
    metrics: MetricSet = plan.metrics
    dtype = plan.cases[case].inputs["compute_dtype"]
    found = []
    for name, entry in metrics.fields.items():
        if entry.entity in ("group", "stage", "case") or not metrics.depends(metric, name):
            continue
        if name in _READINGS or (name.startswith("peak_") and name != f"peak_{dtype}"):
            continue
        one = stand(plan, name, case)
        if one.value is None or one.confidence not in (*NAMEPLATE, *UNSURE):
            continue
        found.append(
            Doubt(side, entry.entity, one.owner, name, entry.label, one, metric,
                  plan.value(metric, case))
        )  # fmt: skip
    return found
