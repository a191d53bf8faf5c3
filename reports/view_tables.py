"""Sections of a view: tables over cases, layer groups and variants, in reading order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.engine import Array, by_input
from planner.expr.check import CASE, GROUP, PLAN, STAGE, STAGE_GROUP, Type
from planner.facts import GroupFacts
from planner.metric_files import OWN
from planner.metrics import SLOTS, Metric
from planner.planning import Plan
from reports import numbers
from reports.view_axes import Axes
from reports.view_grid import (
    Column,
    Kind,
    Ladder,
    Row,
    RungInput,
    Table,
    Value,
    text_of,
)
from reports.view_layout import (
    APPLIES_NOT,
    LAYOUT,
    LEFT_OUT,
    NEVER_SHOWN,
    ON_TILES,
    RUNG_APPLIES,
    STEPS,
    SUMMARY,
    TARGET,
)
from reports.view_parts import (
    Figure,
    Section,
)
from reports.view_units import (
    clean,
    column_decimals,
    input_display,
    metric_display,
)
from reports.words import called, say, term

_KEEP = frozenset(SUMMARY[:3])  # the answer stays a column even where it is the same in all rows
_FOLD_FROM = 3
_BEYOND = term("A dash stands where the model was not published for such a context.")


Place = tuple[int, int, int]
"""Where a row's figures stand: case, pipeline stage, layer group."""

_FINER = (
    (GROUP, "groups", term(": groups")),
    (STAGE, "stages", term(": stages")),
    (STAGE_GROUP, "stage-groups", term(": stage groups")),
)
_GROUP_HEADS = (term("Layer group"), term("Layers"))


def _group_words(group: GroupFacts) -> tuple[str, str]:
    return called(clean(group.label)), text_of(group.facts["group_layers"].value, "count")


def plain_values(values: Array, kind: Type, factor: float, shown: Kind) -> tuple[Value, ...]:
    """A column as plain values in display units; unknown is None."""
    if kind.kind == "choice":
        return tuple(None if np.isnan(v) else kind.words[int(v)] for v in values.astype(float))
    if kind.kind == "flag":
        return tuple(None if np.isnan(v) else bool(v) for v in values.astype(float))
    scaled = values.astype(float) / (1.0 if shown == "share" else factor)
    return tuple(None if np.isnan(v) else v + 0.0 for v in scaled.tolist())


class Tables:
    """Builds the tables of one plan."""

    def __init__(self, plan: Plan, axes: Axes) -> None:
        self.plan, self.axes = plan, axes
        self.metrics = plan.metrics

    # ---- columns -------------------------------------------------------------------------------

    def column(self, name: str, places: Sequence[Place], priority: int = 0) -> Column:
        """A metric over rows, each a case and, where it has one per stage or group, its slot."""
        taken = self._taken(name, places)
        return self._made(self.metrics.metrics[name], taken, self._absent(name, places), priority)

    def _taken(self, name: str, places: Sequence[Place]) -> Array:
        """The values of a metric or input in these places."""
        array = self.plan.column(name)
        cases, stages, slots = (np.asarray(index, dtype=int) for index in zip(*places, strict=True))
        if array.ndim == 3:
            return np.asarray(array[stages, slots if array.shape[1] > 1 else 0, cases])
        return np.asarray(array[slots, cases] if array.ndim == 2 else array[cases])

    def _made(self, metric: Metric, taken: Array, absent: frozenset[int], priority: int) -> Column:
        factor, unit, machine, kind = metric_display(metric)
        values = plain_values(taken, metric.type, factor, kind)
        shown = [v for i, v in enumerate(values) if i not in absent]
        return Column(
            metric.name, clean(metric.label), unit, machine, kind, column_decimals(shown, kind),
            metric.entry.better, values, absent, clean(metric.entry.why), clean(metric.origin),
            priority,
        )  # fmt: skip

    def _absent(self, name: str, places: Sequence[Place]) -> frozenset[int]:
        """Rows in which the metric does not apply, by its own value or another column."""
        found = self._without_bound(name, places)
        if name not in APPLIES_NOT:
            return found
        other, at = APPLIES_NOT[name]
        if other not in self.metrics.metrics and other not in self.metrics.fields:
            return found
        kind = self.metrics.type_of(other)
        wanted = kind.words.index(at) if isinstance(at, str) and at in kind.words else at
        values = self._taken(other, places).astype(float)
        return found | frozenset(np.flatnonzero(values == wanted).tolist())

    def _without_bound(self, name: str, places: Sequence[Place]) -> frozenset[int]:
        metric, bound = self.metrics.metrics[name], self.metrics.constants.get(NEVER_SHOWN)
        if bound is None or metric.type.grain != STAGE:
            return frozenset()
        if metric.type.dimension != self.metrics.type_of(NEVER_SHOWN).dimension:
            return frozenset()
        return frozenset(np.flatnonzero(self._taken(name, places) >= bound.value).tolist())

    def _applies(self, metric: Metric) -> bool:
        """Whether a figure of stages or ranks says something of any case."""
        if APPLIES_NOT.get(metric.name, ("",))[0] not in LEFT_OUT:
            return True
        every = [(case, 0, 0) for case in range(len(self.plan.cases))]
        return len(self._absent(metric.name, every)) < len(every)

    def _without_target(self, name: str) -> bool:
        """Whether a figure rests on a target that the plan does not set: unknown in every case."""
        rests = self.metrics.depends(name, TARGET)
        return rests and bool(np.isnan(self.plan.columns[TARGET]).all())

    # ---- tables --------------------------------------------------------------------------------

    def summary(self) -> Table:
        """The main table: a row a case."""
        places = [(case, 0, 0) for case in range(len(self.plan.cases))]
        names = [n for n in SUMMARY if n in self.metrics.metrics and not self._without_target(n)]
        rows = tuple(Row(name.parts, (index,)) for index, name in enumerate(self.axes.names))
        columns = [self.column(n, places, i) for i, n in enumerate(names)]
        return _folded(
            Table("summary", say("Which cases fit, and what binds"), tuple(columns), rows)
        )

    def cases(self, name: str, label: str, metrics: Sequence[Metric]) -> Table:
        """A table of case metrics; cases that none of them tells apart share a row."""
        rows = self.axes.rows(m.name for m in metrics)
        places = [(row.cases[0], 0, 0) for row in rows]
        columns = [self.column(m.name, places, i) for i, m in enumerate(metrics)]
        table = Table(name, label, tuple(columns), tuple(rows), note=self._merged(rows))
        return _folded(table)

    def slots(self, name: str, label: str, metrics: Sequence[Metric], grain: int) -> Table:
        """A table of metrics per layer group, pipeline stage, or both: a row per used slot."""
        rows: list[Row] = []
        places: list[Place] = []
        numbered = grain != GROUP and self.plan.inputs.stages > 1
        merged = self.axes.rows(m.name for m in metrics)
        for row in merged:
            case = self.plan.cases[row.cases[0]]
            stages = int(case.inputs.get("pp", 1)) if grain != GROUP else 1
            groups = self.plan.inputs.groups[case.model][:SLOTS] if grain != STAGE else ()
            for stage in range(stages):
                staged = (numbers.show(stage + 1, "count"),) if numbered else ()
                for slot, group in enumerate(groups or (None,)):
                    extra = (*staged, *_group_words(group)) if group else staged
                    rows.append(Row(row.key, row.cases, extra, (stage, slot)))
                    places.append((row.cases[0], stage, slot))
        columns = [self.column(m.name, places, i) for i, m in enumerate(metrics)]
        heads = (*[say("Stage")] * numbered, *(map(say, _GROUP_HEADS) if grain != STAGE else ()))
        table = Table(
            name, label, tuple(columns), tuple(rows), extra_labels=heads, note=self._merged(merged)
        )
        return _folded(table)

    def _merged(self, rows: Sequence[Row]) -> str:
        if len(rows) == len(self.plan.cases):
            return ""
        return say(
            f"{len(self.plan.cases)} cases in {len(rows)} rows: cases that these figures do not "
            "tell apart share a row."
        )

    def ladder(self, name: str) -> Ladder:
        """A set of variants as one grid per metric."""
        variant = self.metrics.variants[name]
        values = by_input(variant, self.plan.columns.variant_values[name])
        names = tuple(clean(one) for one in self.plan.inputs.rungs.get(name, ()))
        inputs = tuple(self._rungs(one, rungs) for one, rungs in values.items())
        heads = names or tuple(_rung(value) for value in inputs[0].values)
        label = variant.label if names else self.metrics.label_of(variant.first)
        return Ladder(
            name, clean(variant.label), clean(variant.meaning), clean(label),
            input_display(self.metrics, variant.first)[1], inputs,
            tuple(self._grid(name, shown, heads) for shown in variant.shows), names,
        )  # fmt: skip

    def _rungs(self, name: str, values: Array) -> RungInput:
        factor, _, machine, _ = input_display(self.metrics, name)
        shown = (values / factor).tolist()
        return RungInput(name, machine, tuple(None if v != v else v for v in shown))

    def _grid(self, ladder: str, shown: str, rungs: Sequence[str]) -> Table:
        metric = self.metrics.metrics[shown]
        variant = self.metrics.variants[ladder]
        tests = self._tests(ladder)
        used = [n for n in (*tests, *variant.follows.values()) if n in self.metrics.metrics]
        rows = self.axes.rows([shown, "max_context", *used], self._replaced(ladder))
        picks = np.asarray([row.cases[0] for row in rows])
        grid = self._child(ladder, shown, picks)
        beyond, unfit = self._beyond(ladder, picks), self._unfit(ladder, picks)
        absent = beyond | unfit
        columns = [
            self._made(metric, grid[i], frozenset(np.flatnonzero(absent[i]).tolist()), i)
            for i in range(len(rungs))
        ]
        every = [v for c in columns for i, v in enumerate(c.values) if i not in c.absent]
        decimals = column_decimals(every, columns[0].kind)
        named = tuple(
            replace(column, label=rung, decimals=decimals)
            for column, rung in zip(columns, rungs, strict=True)
        )
        notes = [_BEYOND] * bool(beyond.any()) + list(tests.values()) * bool(unfit.any())
        note = " ".join(say(one) for one in notes)
        return Table(f"{ladder}.{shown}", clean(metric.label), named, tuple(rows), note=note)

    def _replaced(self, ladder: str) -> frozenset[str]:
        """Inputs that every rung replaces, so that they tell no rows apart."""
        variant = self.metrics.variants[ladder]
        values = by_input(variant, self.plan.columns.variant_values[ladder])
        whole = {name for name, rungs in values.items() if not np.isnan(rungs).any()}
        return frozenset({*whole, *variant.follows} if len(whole) == len(values) else whole)

    def _child(self, ladder: str, name: str, picks: Array) -> Array:
        """A column of the variants as ``(rungs, rows)``."""
        child = self.plan.columns.variants(ladder)[name]
        rungs = len(self.plan.columns.variant_values[ladder])
        count = max(1, len(self.plan.cases))
        return np.broadcast_to(child, (rungs * count,)).reshape(rungs, count)[:, picks]

    def _beyond(self, ladder: str, picks: Array) -> Array:
        """Where a variant's context passes what the model was published for."""
        variant = self.metrics.variants[ladder]
        across = "context" if "context" in variant.moved else "context_start"
        if across not in self.metrics.metrics and across not in self.metrics.fields:
            return np.zeros((len(self.plan.columns.variant_values[ladder]), len(picks)), bool)
        at = self._child(ladder, across, picks).astype(float)
        return at > self._child(ladder, "max_context", picks).astype(float)

    def _unfit(self, ladder: str, picks: Array) -> Array:
        """Where a rung makes no sense for the case."""
        found = np.zeros((len(self.plan.columns.variant_values[ladder]), len(picks)), bool)
        for test in self._tests(ladder):
            found |= self._child(ladder, test, picks).astype(float) == 0
        return found

    def _tests(self, ladder: str) -> dict[str, str]:
        """Metrics that are false where a rung makes no sense, each with what is then said."""
        replaces = self.metrics.variants[ladder].replaces
        found = dict(RUNG_APPLIES[n] for n in replaces if n in RUNG_APPLIES)
        return {test: note for test, note in found.items() if test in self.metrics.metrics}

    # ---- sections ------------------------------------------------------------------------------

    def ordered(self, table: str) -> list[Metric]:
        """The metrics of a table in reading order."""
        metrics = {m.name: m for m in self.metrics.of_table(table)}
        first = [metrics.pop(n) for n in LAYOUT.get(table, ()) if n in metrics]
        return [*first, *metrics.values()]

    def sections(self) -> list[Section]:
        """Every table that has something to show; the checks have a place of their own."""
        order = [*LAYOUT, *(t for t in self.metrics.tables if t not in LAYOUT)]
        found = [self.section(t) for t in order if t in self.metrics.tables and t != "checks"]
        return [s for s in found if s.tables or s.figures or s.ladders]

    def section(self, table: str) -> Section:
        """One table of the plan."""
        entry = self.metrics.tables[table]
        metrics = [m for m in self.ordered(table) if self._has_place(m)]
        label = clean(entry.label)
        of_cases = [m for m in metrics if m.type.grain == CASE]
        tables = []
        for grain, suffix, tail in _FINER:
            found = [m for m in metrics if m.type.grain == grain]
            if found:
                alone = not of_cases and len(found) == len(metrics)
                caption = label if alone else label + say(tail)
                name = table if alone else f"{table}-{suffix}"
                tables.append(self.slots(name, caption, found, grain))
        if of_cases:
            tables.insert(0, self.cases(table, label, of_cases))
        ladders = [n for n, v in self.metrics.variants.items() if v.table == table]
        return Section(
            table, label, clean(entry.answers), tuple(tables),
            tuple(self.ladder(n) for n in sorted(ladders)),
            tuple(self.figure(m) for m in metrics if m.type.grain == PLAN),
        )  # fmt: skip

    def _has_place(self, metric: Metric) -> bool:
        aside = metric.entry.check or metric.name in ON_TILES or metric.name in STEPS
        return not aside and self._applies(metric)

    def figure(self, metric: Metric) -> Figure:
        """A metric of the whole plan."""
        column = self._made(metric, np.asarray([self.plan.columns[metric.name]]), frozenset(), 0)
        text = text_of(column.values[0], column.kind)
        return Figure(metric.name, column.label, text, column.unit, column.why, column.tone(0))


def _folded(table: Table) -> Table:
    """Columns with one known value in all rows, or with the numbers of another, stand aside."""
    if len(table.rows) < _FOLD_FROM:
        return table
    same = [c for c in table.columns if c.name not in _KEEP and _is_constant(c)]
    if len(same) == len(table.columns):
        return table
    kept: list[Column] = []
    equal: list[tuple[Column, str]] = []
    for column in table.columns:
        if column in same:
            continue
        twin = next((k for k in kept if _is_twin(column, k)), None)
        if twin is None or column.name in _KEEP:
            kept.append(column)
        else:
            equal.append((column, twin.label))
    return replace(table, columns=tuple(kept), same=tuple(same), equal=tuple(equal))


def _is_twin(column: Column, other: Column) -> bool:
    """The same numbers of the same unit, apart from what they are counted per."""
    heads = [
        (c.machine_unit.partition("/")[0], c.kind in ("ratio", "share"), c.values, c.absent)
        for c in (column, other)
    ]
    return column.align == other.align == "right" and heads[0] == heads[1]


def _is_constant(column: Column) -> bool:
    return not column.absent and None not in column.values and len(set(column.values)) == 1


def rows_of_cases(table: Table) -> Mapping[int, list[int]]:
    """For each case the rows that it stands in."""
    found: dict[int, list[int]] = {}
    for number, row in enumerate(table.rows):
        for case in row.cases:
            found.setdefault(case, []).append(number)
    return found


def _rung(value: float | None) -> str:
    """A value that somebody wrote, as it was written: a fraction keeps its digits."""
    if value is None:
        return OWN
    return numbers.show(value, "count") if value == int(value) else f"{value:g}"
