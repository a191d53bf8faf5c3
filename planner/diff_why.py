"""Why a figure moved: its difference divided among the drivers, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.diff_drivers import GROUPS, Driver, shown_value
from planner.diff_shares import (
    EXACT_UP_TO,
    METHODS,
    Game,
    all_masks,
    grouped_masks,
    prefix_masks,
    shares_of,
)
from planner.diff_values import Mixtures, is_pooled
from planner.engine import Array
from planner.errors import InputError, Problem, Span, nearest, one_of
from planner.expr.check import PLAN
from planner.metrics import MetricSet
from planner.planning import Plan, Value

MOST_MEMBERS = 10
"""Drivers of one group; more are taken together, or their mixtures would be too many."""

_RESTING = "it rests on a figure of the whole plan, which has no mixture of one case"

MOST_POOLED = 8
"""Drivers up to which every mixture of a figure of the whole plan is evaluated."""


@dataclass(frozen=True, slots=True)
class Part:
    """One driver: its share, what it adds at least and at most over the orders, and by itself."""

    driver: Driver
    share: float
    low: float
    high: float
    alone: float
    old: Value
    new: Value
    shown: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """One group of drivers with its share."""

    id: str
    label: str
    share: float
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """The difference of one metric in one pair of cases, or of the whole plan.

    ``old + corrections + cases + the shares = new``; values are in base units.

    Attributes:
        metric: its name.
        pair: position among the pairs; None for a figure of the whole plan.
        corrections: method and data, of the old and of the new plan.
        cases: what added and removed cases do to a figure of the whole plan.
        residual: the difference less all its parts; only rounding.
        mixtures: how many were evaluated.
        infeasible: how many of them a scenario would have left out.
        exact: every mixture is known, so ranges are over all orders.
        refused: why there are no shares; empty where there are.
        active: ids of the drivers that take part; bit ``i`` of a mask is the ``i``-th of them.
        masks: the mixtures that were evaluated, ascending.
        values: the figure in each mixture.
    """

    metric: str
    pair: int | None
    method: str
    order: tuple[str, ...]
    old: Value
    new: Value
    bundles: tuple[Bundle, ...] = ()
    corrections: tuple[float, float] = (0.0, 0.0)
    cases: float = 0.0
    residual: float = 0.0
    mixtures: int = 0
    infeasible: int = 0
    exact: bool = True
    note: str = ""
    refused: str = ""
    active: tuple[str, ...] = ()
    masks: tuple[int, ...] = ()
    values: tuple[float, ...] = ()

    @property
    def total(self) -> float | None:
        """New less old."""
        if isinstance(self.old, str | bool | None) or isinstance(self.new, str | bool | None):
            return None
        return self.new - self.old


@dataclass(frozen=True)
class Sides:
    """Both plans, as issued and restated, and the paired cases."""

    old: Plan
    new: Plan
    old_now: Plan
    new_now: Plan
    pairs: tuple[tuple[int, int], ...]

    @property
    def metrics(self) -> MetricSet:
        """The formulas that both restated plans share."""
        return self.new_now.metrics


def explainable(metrics: MetricSet) -> list[str]:
    """Metrics that can be divided: one number a case, or one for the plan."""
    return [
        m.name
        for m in metrics.in_order()
        if not m.part_of and not m.variant and m.type.kind == "number" and m.type.grain <= 1
        and m.entry.check is None
    ]  # fmt: skip


def merged(drivers: Sequence[Driver]) -> tuple[Driver, ...]:
    """The drivers, with the last of an overfull group taken together."""
    kept: list[Driver] = []
    for group in GROUPS:
        mine = [d for d in drivers if d.group == group]
        rest = mine[MOST_MEMBERS - 1 :] if len(mine) > MOST_MEMBERS else []
        kept += mine[: len(mine) - len(rest)]
        if rest:
            fields = tuple(f for d in rest for f in d.fields)
            kept.append(Driver(f"{group}_others", f"{len(rest)} other inputs", group, fields))
    return tuple(kept)


def ordered(drivers: Sequence[Driver], words: Sequence[str]) -> list[int]:
    """Positions of the drivers in the order of group and driver ids; the others follow.

    Raises:
        InputError: a word that is neither a group nor a driver.
    """
    known = [*GROUPS, *(d.id for d in drivers)]
    for word in words:
        if word not in known:
            hint = nearest(word, known)
            raise InputError(Problem(Span("--order"), "", one_of(known), f"'{word}'", hint))
    found: list[int] = []
    for word in [*words, *GROUPS]:
        found += [i for i, d in enumerate(drivers) if word in (d.id, d.group) and i not in found]
    return found


class Explaining:
    """Divides differences of many metrics and cases over one set of drivers."""

    def __init__(
        self, sides: Sides, drivers: Sequence[Driver], method: str, order: Sequence[str]
    ) -> None:
        if method not in METHODS:
            raise InputError(Problem(Span("--method"), "", one_of(METHODS), f"'{method}'"))
        self.sides, self.method = sides, method
        self.drivers = merged(drivers)
        self.order = ordered(self.drivers, order)

    def run(self, names: Sequence[str], positions: Sequence[int]) -> list[Why]:
        """The shares of metrics ``names``: of the pairs at ``positions``, or of the plan."""
        metrics = self.sides.metrics
        pairs = [self.sides.pairs[p] for p in positions]
        found: list[Why] = []
        of_cases = [n for n in names if metrics.type_of(n).grain != PLAN]
        resting = [n for n in of_cases if is_pooled(metrics, n)]
        of_cases = [n for n in of_cases if n not in resting]
        found += [self._plain(n, p, _RESTING) for p in positions for n in resting]
        pooled = [n for n in names if metrics.type_of(n).grain == PLAN]
        if of_cases and pairs:
            games = self._games(of_cases, pairs, False)
            for place, position in enumerate(positions):
                found += [self._why(games, n, place, position) for n in of_cases]
        if pooled and self.sides.pairs:
            games = self._games(pooled, self.sides.pairs, True)
            found += [self._why(games, n, 0, None) for n in pooled]
        return found

    def _games(
        self, names: Sequence[str], pairs: Sequence[tuple[int, int]], pooled: bool
    ) -> _Games:
        metrics = self.sides.metrics
        active = [
            d for d in self.drivers if any(metrics.depends(n, f) for n in names for f in d.fields)
        ]
        mixtures = Mixtures(
            metrics, self.sides.old_now.inputs, self.sides.new_now.inputs, pairs, active
        )
        order = [active.index(self.drivers[i]) for i in self.order if self.drivers[i] in active]
        groups = tuple(
            members
            for g in GROUPS
            if (members := tuple(i for i, d in enumerate(active) if d.group == g))
        )
        masks = self._masks(groups, order, MOST_POOLED if pooled else EXACT_UP_TO)
        values = mixtures.of_plan(names, masks) if pooled else mixtures.of_cases(names, masks)
        return _Games(mixtures, active, groups, order, masks, values, pooled)

    def _masks(self, groups: tuple[tuple[int, ...], ...], order: list[int], limit: int) -> Array:
        count = len(order)
        if count <= limit:
            return all_masks(count)
        if self.method == "shapley":
            raise InputError(
                Problem(Span("--method"), "", f"owen, for more than {limit} drivers",
                        f"shapley for {count}", "shapley needs every mixture of them")
            )  # fmt: skip
        return np.union1d(grouped_masks(groups), prefix_masks(order))

    # ---- one difference ------------------------------------------------------------------------

    def _why(self, games: _Games, name: str, place: int, position: int | None) -> Why:
        base = self._plain(name, position)
        values = games.values[name][:, place]
        refused = self._refusal(base, games, values, place)
        if refused:
            return replace(base, refused=refused, mixtures=len(values))
        return self._divided(base, games, values, place)

    def _plain(self, name: str, position: int | None, refused: str = "") -> Why:
        """Both values, not divided."""
        sides = self.sides
        i, j = sides.pairs[position] if position is not None else (0, 0)
        order = tuple(self.drivers[d].id for d in self.order)
        return Why(
            name, position, self.method, order if self.method == "sequential" else (),
            _value(sides.old, name, i), _value(sides.new, name, j), refused=refused,
        )  # fmt: skip

    def _refusal(self, base: Why, games: _Games, values: Array, place: int) -> str:
        if base.old is None or base.new is None:
            both = base.old is None and base.new is None
            return f"unknown in {'both plans' if both else _side(base.old is None)}"
        gone = np.isnan(values)
        if not gone.any():
            return ""
        if gone[0] or gone[-1]:
            return f"unknown in {_side(bool(gone[0]))} under today's formulas and catalog"
        sizes = np.asarray([int(m).bit_count() for m in games.masks])
        row = int(np.lexsort((games.masks, sizes, ~gone))[0])
        mask = int(games.masks[row])
        parts = ", ".join(d.label for i, d in enumerate(games.active) if mask >> i & 1)
        reason = "nothing fits" if self._holds_none(games, mask, place) else "it is unknown"
        return (
            f"{int(gone.sum())} of {len(values)} mixtures give no figure: with the new {parts} "
            f"and the rest old {reason}; no share is made from that"
        )

    def _holds_none(self, games: _Games, mask: int, place: int) -> bool:
        if games.pooled or "max_concurrency" not in self.sides.metrics.metrics:
            return False
        values = games.mixtures.of_cases(["max_concurrency"], np.asarray([mask]))
        return bool(values["max_concurrency"][0, place] == 0)

    def _divided(self, base: Why, games: _Games, values: Array, place: int) -> Why:
        game = Game(games.groups, games.masks, values[:, None])
        shares = shares_of(game, self.method, games.order)[:, 0]
        alone = game.alone()[:, 0]
        low, high = (one[:, 0] for one in game.ranges()) if games.active else (alone, alone)
        table = {
            d.id: (float(shares[i]), float(low[i]), float(high[i]), float(alone[i]))
            for i, d in enumerate(games.active)
        }
        now = float(values[0]), float(values[-1])
        old, new = float(base.old or 0.0), float(base.new or 0.0)
        corrections, cases = self._corrections(base, old, new, now)
        bundles = self._bundles(table, base.pair)
        given = sum(b.share for b in bundles) + sum(corrections) + cases
        bad = 0 if games.pooled else int(games.infeasible[:, place].sum())
        return replace(
            base, bundles=bundles, corrections=corrections, cases=cases,
            residual=(new - old) - given, mixtures=len(values), infeasible=bad, exact=game.exact,
            active=tuple(d.id for d in games.active), masks=tuple(games.masks.tolist()),
            values=tuple(values.tolist()),
            note=_interaction(alone.tolist(), now[1] - now[0]),
        )  # fmt: skip

    def _corrections(
        self, base: Why, old: float, new: float, now: tuple[float, float]
    ) -> tuple[tuple[float, float], float]:
        """Corrections of each plan, and the effect of cases that only one plan has."""
        if base.pair is not None:
            return (now[0] - old, new - now[1]), 0.0
        whole = [_value(p, base.metric, 0) for p in (self.sides.old_now, self.sides.new_now)]
        all_old, all_new = (float(v) if isinstance(v, float) else n for v, n in zip(
            whole, now, strict=True))  # fmt: skip
        return (all_old - old, new - all_new), (now[0] - all_old) + (all_new - now[1])

    def _bundles(
        self, table: Mapping[str, tuple[float, float, float, float]], pair: int | None
    ) -> tuple[Bundle, ...]:
        bundles = []
        for group, label in GROUPS.items():
            parts = [
                self._part(d, table.get(d.id, (0.0, 0.0, 0.0, 0.0)), pair)
                for d in self.drivers
                if d.group == group
            ]
            if parts:
                bundles.append(Bundle(group, label, sum(p.share for p in parts), tuple(parts)))
        return tuple(bundles)

    def _part(
        self, driver: Driver, row: tuple[float, float, float, float], pair: int | None
    ) -> Part:
        i, j = self.sides.pairs[pair if pair is not None else 0]
        old, shown = shown_value(self.sides.old_now, driver, i)
        new, _ = shown_value(self.sides.new_now, driver, j)
        return Part(driver, *row, old, new, shown)


class _Games:
    """One evaluation: which drivers take part, every mixture, and what was found there."""

    def __init__(
        self, mixtures: Mixtures, active: list[Driver], groups: tuple[tuple[int, ...], ...],
        order: list[int], masks: Array, values: Mapping[str, Array], pooled: bool,
    ) -> None:  # fmt: skip
        self.mixtures, self.active, self.groups = mixtures, active, groups
        self.order, self.masks, self.values, self.pooled = order, masks, values, pooled
        self.infeasible = np.zeros((0, 0)) if pooled else mixtures.infeasible(masks)


def _value(plan: Plan, name: str, case: int) -> Value:
    return plan.value(name, case) if name in plan.metrics.metrics else None


def _side(is_old: bool) -> str:
    return "the old plan" if is_old else "the new plan"


def _interaction(alone: Sequence[float], total: float) -> str:
    """How far the drivers act together: what they do one at a time, against the whole."""
    working = [a for a in alone if a]
    if len(alone) < 2 or not total or (len(working) < 2 and sum(alone) == total):
        return ""
    ratio = sum(alone) / total
    if 0.5 <= ratio <= 1.5:
        return ""
    how = "overlap" if ratio > 1.5 else "reinforce each other" if ratio >= 0 else "act together"
    return f"drivers {how}: one at a time they would give {ratio * 100:.0f} % of the change"
