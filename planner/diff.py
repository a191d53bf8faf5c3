"""Two plans side by side: what differs, which lines were crossed, why, and how sure it is.

``diff(old, new)`` gives one ``Diff`` in base units and in full precision. Every output (terminal,
Markdown, JSON, page, workbook) is drawn from it and computes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from planner.catalog import Catalog
from planner.diff_drivers import Driver, changed_fields, drivers_of
from planner.diff_gate import Barrier, NotComparable, barriers, warnings
from planner.diff_inputs import InputChange, changes
from planner.diff_lines import Crossing, Rank, crossings, objective, ranking, word_mark
from planner.diff_pairs import Pairing, pair
from planner.diff_panels import Doubt, LikeForLike, doubts, like_for_like
from planner.diff_restate import FactChange, Restated, common_metrics, restated
from planner.diff_why import Explaining, Sides, Why, explainable
from planner.errors import InputError, Problem, Span, nearest, one_of
from planner.expr.check import CASE, PLAN
from planner.metrics import Metric
from planner.planning import Plan, Value

SAME, BETTER, WORSE, CHANGED, UNKNOWN = "same", "better", "worse", "changed", "unknown"
MARKS = (BETTER, WORSE, CHANGED, UNKNOWN, SAME)

DEFAULT_TOLERANCE = 1e-3
"""Relative change below which a figure counts as the same."""

_USUAL = ("max_concurrency", "slo_concurrency")
MOST_EXPLAINED = 6
"""Metrics that are divided when nobody names any."""


@dataclass(frozen=True)
class Options:
    """How to compare; see the options of ``capsheet diff``.

    Attributes:
        tolerance: relative change below which a figure counts as the same.
        top: how many pairs are explained, those that moved most; None for all.
    """

    method: str = "owen"
    order: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    by: str = ""
    tolerance: float = DEFAULT_TOLERANCE
    pair: tuple[str, ...] = ()
    top: int | None = 5
    force: bool = False


@dataclass(frozen=True, slots=True)
class Delta:
    """One metric over all pairs, or of the whole plan (then one value each).

    ``changes`` are new less old in base units, None where one is unknown or a word.
    """

    name: str
    metric: Metric
    old: tuple[Value, ...]
    new: tuple[Value, ...]
    changes: tuple[float | None, ...]
    marks: tuple[str, ...]


@dataclass(frozen=True)
class Diff:
    """A comparison of two plans.

    Attributes:
        sides: both plans as issued, restated, and the positions of the paired cases.
        pairing: what was paired, added, removed, and the reasons in words.
        barriers: bases that differ, compared by force.
        warnings: what readers must know first.
        restated: corrections of each plan by today's formulas and catalog.
        by: the metric that cases are judged and ranked by.
        explained: metrics that were divided.
        deltas: metrics of a case that both plans have, by name.
        totals: figures of the whole plan that both plans have, by name.
        only: metrics of one plan alone: of the old, of the new.
        statuses: a mark for every pair.
        crossings: lines crossed, the gravest first.
        drivers: what differs, in groups.
        whys: divided differences: of pairs, then of the whole plan.
        inputs: changed inputs with their sources.
        panels: like for like, a panel for each explained pair.
        doubts: uncertain facts behind the first explained pair.
    """

    sides: Sides
    pairing: Pairing
    barriers: tuple[Barrier, ...]
    warnings: tuple[str, ...]
    restated: tuple[Restated, Restated]
    options: Options
    by: str
    explained: tuple[str, ...]
    deltas: Mapping[str, Delta]
    totals: Mapping[str, Delta]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    statuses: tuple[str, ...]
    crossings: tuple[Crossing, ...]
    ranks: tuple[Rank, ...]
    drivers: tuple[Driver, ...]
    whys: tuple[Why, ...]
    inputs: tuple[InputChange, ...]
    panels: tuple[LikeForLike, ...]
    doubts: tuple[Doubt, ...]
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def facts(self) -> tuple[FactChange, ...]:
        """Catalog figures that today's catalog gives otherwise than a saved plan."""
        return (*self.restated[0].facts, *self.restated[1].facts)

    @property
    def formulas(self) -> tuple[str, ...]:
        """Metrics that today's formulas compute otherwise than a saved plan."""
        return tuple(dict.fromkeys([*self.restated[0].formulas, *self.restated[1].formulas]))

    @property
    def moved(self) -> bool:
        """Whether anything is beyond the tolerance: a figure, a case, or the set of metrics."""
        every = (*self.deltas.values(), *self.totals.values())
        figures = any(mark != SAME for delta in every for mark in delta.marks)
        return bool(figures or self.pairing.added or self.pairing.removed or any(self.only))

    @property
    def main(self) -> int | None:
        """The pair that is explained first: the one that moved most."""
        return next((w.pair for w in self.whys if w.pair is not None), None)


def diff(
    old: Plan,
    new: Plan,
    options: Options | None = None,
    *,
    catalog: Catalog | None = None,
    metric_files: Sequence[Path] = (),
    saved: tuple[bool, bool] = (True, True),
) -> Diff:
    """Compare two plans.

    Args:
        old: the plan before.
        new: the plan after.
        options: how; the default without.
        catalog: today's catalog; the shipped one without.
        metric_files: metric files of the user, beside those that the plans carry.
        saved: for each plan whether it was saved: then it is restated under today's catalog.

    Raises:
        NotComparable: bases that differ, unless forced; or no case that pairs.
        InputError: options that name what is not there.
    """
    chosen = options or Options()
    walls = barriers(old, new)
    if walls and not chosen.force:
        raise NotComparable(walls, old.name, new.name)
    pairing = pair(old.cases, new.cases, chosen.pair)
    if not pairing.pairs:
        reason = "no case of one plan pairs with a case of the other. " + " ".join(pairing.lines)
        raise NotComparable([Barrier("cases", "some cases", "no counterpart", reason)], old.name,
                            new.name)  # fmt: skip
    return _Diffing(old, new, chosen, walls, pairing).run(
        catalog or Catalog.open(), metric_files, saved
    )


class _Diffing:
    def __init__(
        self, old: Plan, new: Plan, options: Options, walls: tuple[Barrier, ...], pairing: Pairing
    ) -> None:
        self.old, self.new, self.options = old, new, options
        self.walls, self.pairing = walls, pairing

    def run(self, catalog: Catalog, metric_files: Sequence[Path], saved: tuple[bool, bool]) -> Diff:
        restated_pair = self._restated(catalog, metric_files, saved)
        now = (restated_pair[0].plan, restated_pair[1].plan)
        self.sides = Sides(self.old, self.new, *now, self.pairing.pairs)
        names = self._names(CASE)
        self.deltas = {n: self._delta(n, self.pairing.pairs) for n in names}
        totals = {n: self._delta(n, ((0, 0),)) for n in self._names(PLAN)}
        by = objective(self.sides, self.options.by, names)
        statuses = self._statuses(by)
        drivers = self._drivers()
        explained = self._explained(by)
        places = self._places(by, statuses)
        explaining = Explaining(self.sides, drivers, self.options.method, self.options.order)
        whys = explaining.run(explained, places)
        drivers = explaining.drivers
        return Diff(
            self.sides, self.pairing, self.walls,
            (*warnings(self.old, self.new, self.pairing.pairs), *self._notes(restated_pair)),
            restated_pair, self.options, by, explained, self.deltas, totals, self._only(),
            statuses, crossings(self.sides, names), ranking(self.sides, by), drivers,
            tuple(whys), changes(self.sides, drivers),
            tuple(like_for_like(self.sides, drivers, explained, p) for p in places),
            doubts(self.sides, self._of_cases(explained), places[0]) if places else (),
            Counter(statuses),
        )  # fmt: skip

    # ---- restating -----------------------------------------------------------------------------

    def _restated(
        self, catalog: Catalog, files: Sequence[Path], saved: tuple[bool, bool]
    ) -> tuple[Restated, Restated]:
        try:
            metrics = common_metrics((self.old, self.new), files)
            found = [
                restated(plan, metrics, catalog if was else None, side)
                for plan, was, side in zip((self.old, self.new), saved, ("old", "new"), strict=True)
            ]
        except InputError as error:
            first = error.problems[0]
            reason = f"{first.where}: expected {first.expected}, found {first.found}".strip(": ")
            wall = Barrier(
                "formulas", "formulas of its own", "others",
                f"no set of formulas holds for both plans today ({reason})",
            )  # fmt: skip
            raise NotComparable([wall], self.old.name, self.new.name) from None
        return found[0], found[1]

    @staticmethod
    def _notes(found: tuple[Restated, Restated]) -> list[str]:
        return list(dict.fromkeys([*found[0].notes, *found[1].notes]))

    # ---- figures -------------------------------------------------------------------------------

    def _names(self, grain: int) -> list[str]:
        """Metrics of one grain that both plans have."""
        return [
            m.name
            for m in self.new.metrics.in_order()
            if not m.part_of and not m.variant and m.type.grain == grain
            and m.entry.check is None and m.name in self.old.metrics.metrics
            and self.old.metrics.type_of(m.name).grain == grain
        ]  # fmt: skip

    def _only(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        sets = [
            [m.name for m in p.metrics.in_order() if not m.part_of and not m.variant]
            for p in (self.old, self.new)
        ]
        return (
            tuple(n for n in sets[0] if n not in self.new.metrics.metrics),
            tuple(n for n in sets[1] if n not in self.old.metrics.metrics),
        )

    def _delta(self, name: str, pairs: Sequence[tuple[int, int]]) -> Delta:
        metric = self.new.metrics.metrics[name]
        old = tuple(self.old.value(name, i) for i, _ in pairs)
        new = tuple(self.new.value(name, j) for _, j in pairs)
        moved = tuple(change_of(a, b) for a, b in zip(old, new, strict=True))
        tolerance = self.options.tolerance
        marks = tuple(mark_of(metric, a, b, tolerance) for a, b in zip(old, new, strict=True))
        return Delta(name, metric, old, new, moved, marks)

    def _statuses(self, by: str) -> tuple[str, ...]:
        """How each pair fares: by the verdict, else by the objective, else whether it moved."""
        found = []
        decisive = [self.deltas[n].marks for n in ("verdict", by) if n in self.deltas]
        judged = [d for d in self.deltas.values() if d.metric.entry.better != "none"]
        for place in range(len(self.pairing.pairs)):
            mark = next((m[place] for m in decisive if m[place] != SAME), SAME)
            if mark == SAME and any(d.marks[place] != SAME for d in judged):
                mark = CHANGED
            found.append(mark)
        return tuple(found)

    # ---- what to explain -----------------------------------------------------------------------

    def _drivers(self) -> tuple[Driver, ...]:
        old, new = self.sides.old_now, self.sides.new_now
        rows = np.asarray(self.pairing.pairs)
        metrics = self.sides.metrics
        columns = old.inputs.columns(metrics), new.inputs.columns(metrics)
        names = changed_fields(metrics, columns, (rows[:, 0], rows[:, 1]))
        return drivers_of(self.sides.metrics, names)

    def _explained(self, by: str) -> tuple[str, ...]:
        """The metrics to divide: those named, else headlines, concurrency and own metrics."""
        metrics = self.sides.metrics
        known = [n for n in explainable(metrics) if n in self.old.metrics.metrics
                 and n in self.new.metrics.metrics]  # fmt: skip
        for word in self.options.why:
            if word not in known:
                hint = nearest(word, known) or one_of(known)
                expected = "a number of a case or of the plan that both plans have"
                raise InputError(Problem(Span("--why"), "", expected, f"'{word}'", hint))
        if self.options.why:
            return tuple(dict.fromkeys(self.options.why))
        entries = {n: metrics.metrics[n] for n in known}
        usual = [n for n in _USUAL if n in known and self._is_known(n)]
        own = [n for n in known if entries[n].origin and entries[n].entry.better != "none"]
        headlines = [n for n in known if entries[n].entry.headline]
        found = dict.fromkeys([*headlines, *usual, *own]) or dict.fromkeys([by] if by else [])
        return tuple(found)[:MOST_EXPLAINED]

    def _is_known(self, name: str) -> bool:
        """Whether a figure of a case is known anywhere: a target that nobody set leaves none."""
        delta = self.deltas[name]
        return any(value is not None for value in (*delta.old, *delta.new))

    def _places(self, by: str, statuses: Sequence[str]) -> list[int]:
        """The pairs to explain: those that moved, by how far the objective did."""
        moved = [p for p, mark in enumerate(statuses) if mark != SAME]
        sizes = {p: self._size(by, p) for p in moved}
        moved.sort(key=lambda p: (-sizes[p], p))
        return moved if self.options.top is None else moved[: self.options.top]

    def _size(self, by: str, place: int) -> float:
        delta = self.deltas.get(by)
        change = delta.changes[place] if delta else None
        if delta is None or change is None:
            return 0.0
        old, new = (abs(float(v)) for v in (delta.old[place] or 0.0, delta.new[place] or 0.0))
        return abs(change) / max(old, new, 1e-300)

    def _of_cases(self, explained: Sequence[str]) -> list[str]:
        """The figures of a case, whose certainty is looked at."""
        return [n for n in explained if self.sides.metrics.type_of(n).grain == CASE]


def change_of(old: Value, new: Value) -> float | None:
    """New less old; None where one is unknown or a word."""
    if isinstance(old, float) and isinstance(new, float):
        return new - old
    return None


def mark_of(metric: Metric, old: Value, new: Value, tolerance: float) -> str:
    """How a figure fares: better, worse, changed, unknown, or the same within the tolerance."""
    if old == new:
        return SAME
    if old is None or new is None:
        return UNKNOWN
    change = change_of(old, new)
    if change is None:
        return word_mark(metric, old, new)
    if abs(change) <= tolerance * max(abs(float(old)), abs(float(new))):
        return SAME
    better = metric.entry.better
    if better == "none":
        return CHANGED
    return BETTER if (change > 0) == (better == "up") else WORSE
