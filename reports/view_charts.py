"""Charts of a view: which values are drawn, with which marks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from planner.planning import Plan
from reports import numbers
from reports.charts import (
    Bar,
    BarChart,
    Chart,
    Curve,
    Figure,
    Level,
    Line,
    LineChart,
    Mark,
    Note,
    Point,
    Segment,
    StackChart,
    StackRow,
    describe,
)
from reports.view_axes import Axes
from reports.view_grid import (
    Row,
)
from reports.view_layout import CHART_LINES, CHART_POINTS, CHART_ROWS, LIMIT_ROWS, STACK_ROWS
from reports.view_parts import (
    Section,
)
from reports.view_units import clean, input_display, metric_display
from reports.words import say, term

_PLACE = "{}"  # of the figure in the words of a note
_LEDGER = ("weights_gpu", "engine_overhead", "memory_left", "memory_outside")
_LIMITS = {
    "time_weights": term("weight reads"),
    "time_kv": term("KV reads"),
    "time_compute": term("compute"),
}
_LEDGER_LABELS = (term("Weights"), term("Overhead"), term("Left for KV"), term("Outside"))


class Charts:
    """Describes the charts of one plan; ``reports.charts`` draws them."""

    def __init__(self, plan: Plan, axes: Axes) -> None:
        self.plan, self.axes = plan, axes
        self.metrics = plan.metrics

    def placed(self, section: Section) -> Section:
        """The section with the charts that belong to it."""
        makers = {
            "memory": [(self.ledgers, "memory")],
            "thresholds": [
                (self.limits, "thresholds"),
                (self.thresholds, "prompt_ladder.b_star_kv"),
                (self.compute, "thresholds"),
            ],
            "ladder": [(self.requests, "context_ladder.kv_per_request")],
        }  # fmt: skip
        made = [(maker(), table) for maker, table in makers.get(section.name, [])]
        kept = [(chart, table) for chart, table in made if chart is not None]
        return replace(
            section, charts=tuple(c for c, _ in kept), chart_tables=tuple(t for _, t in kept)
        )

    def _has(self, *names: str) -> bool:
        return all(n in self.metrics.metrics or n in self.metrics.fields for n in names)

    def _value(self, name: str, case: int) -> float | None:
        """A number in its display unit."""
        value = self.plan.value(name, case)
        if not isinstance(value, float):
            return None
        known = self.metrics.metrics.get(name)
        factor = metric_display(known)[0] if known else input_display(self.metrics, name)[0]
        return value / factor

    def _of(self, figure: Figure) -> float | None:
        """The value of a figure of one case."""
        return self._value(figure.name, figure.cases[0])

    def _told(self, note: Note) -> str:
        """A note with its figure put in, from the lowest case to the highest."""
        if note.of is None:
            return note.words
        ends = self._ends(note.of)
        words = say(" to ").join(numbers.show(value, note.kind) for value in ends)
        return note.words.replace(_PLACE, words or say(numbers.UNKNOWN))

    def _ends(self, figure: Figure) -> list[float]:
        """The lowest and the highest value over the cases; one where they are the same."""
        found = {self._value(figure.name, case) for case in figure.cases}
        values = sorted(value for value in found if value is not None)
        return list(dict.fromkeys([*values[:1], *values[-1:]]))

    def _batches(self, cases: Iterable[int]) -> dict[float | None, Figure]:
        """The planned batches of some cases, each with the first case that has it."""
        found: dict[float | None, Figure] = {}
        for case in cases:
            found.setdefault(self._value("batch", case), Figure("batch", (case,)))
        return found

    def _planned_marks(self, row: Row) -> tuple[Mark, ...]:
        label = say("planned batch")
        batches = self._batches(row.cases).items()
        return tuple(Mark(label, value, planned=True, of=figure) for value, figure in batches)

    # ---- concurrency ---------------------------------------------------------------------------

    def concurrency(self) -> Chart | None:
        """Requests that one replica holds, with the planned batch and both thresholds."""
        if not self._has("max_concurrency", "b_star_kv", "b_star_compute"):
            return None
        rows = self.axes.rows(["max_concurrency"])
        shown = rows if len(rows) <= CHART_ROWS else _spread(self._best(rows), CHART_ROWS)
        one = all(case.inputs["tp"] == 1 for case in self.plan.cases)
        labels, common = _apart(shown)
        unit = "; ".join(["requests", say("B*: KV reads overtake"), *_noted(common)])
        holder = say("GPU") if one else say("replica")
        chart = BarChart(
            say(f"How many requests does one {holder} hold at the context limit?"),
            _counted(unit, rows, shown, say(", best per model and GPU")),
            tuple(self._bar(row) for row in shown),
            kind="count",
        )
        bars = tuple(replace(b, label=t) for b, t in zip(chart.bars, labels, strict=True))
        return replace(chart, bars=bars, description=describe(chart))

    def _best(self, rows: list[Row]) -> list[Row]:
        """The row that holds most per GPU of each first two parts of the key."""
        best: dict[tuple[str, ...], Row] = {}
        for row in rows:
            held = self._value("concurrency_per_gpu", row.cases[0]) or 0.0
            other = best.get(row.key[:2])
            if other is None or held > (self._value("concurrency_per_gpu", other.cases[0]) or 0.0):
                best[row.key[:2]] = row
        return [row for row in rows if best[row.key[:2]] is row]

    def _bar(self, row: Row) -> Bar:
        """A bar with the planned batch and the thresholds of its workloads."""
        held = Figure("max_concurrency", row.cases[:1])
        reads = Figure("b_star_kv", row.cases)
        note = Note(f"B* {_PLACE}", reads)
        ticks = tuple(Mark("B*", value, quiet=True, of=reads) for value in self._ends(reads))
        marks = (*self._planned_marks(row), *ticks)
        return Bar(row.label, self._of(held), self._told(note), marks, of=held, told=note)

    # ---- ledgers -------------------------------------------------------------------------------

    def ledgers(self) -> Chart | None:
        """What the memory of one GPU is made of."""
        if not self._has(*_LEDGER, "memory_total"):
            return None
        rows = self.axes.rows([*_LEDGER, "memory_total"])
        shown = rows
        if len(rows) > STACK_ROWS:  # those with room for KV say more than those without
            roomy = [r for r in rows if (self._value("memory_left", r.cases[0]) or 0.0) > 0]
            shown = _spread(roomy or rows, STACK_ROWS)
        labels, common = _apart(shown)
        unit = "; ".join([say("GiB per GPU"), *_noted(common)])
        stacks = tuple(self._stack(row) for row in shown)
        chart = StackChart(
            say("What takes the memory of one GPU?"),
            _counted(unit, rows, shown, say(" with room for KV")),
            stacks,
        )
        short = tuple(replace(s, label=t) for s, t in zip(stacks, labels, strict=True))
        return replace(chart, rows=short, description=describe(chart))

    def _stack(self, row: Row) -> StackRow:
        case = row.cases[0]
        parts = tuple(
            Segment(
                say(label), self._value(name, case), name == "memory_outside", Figure(name, (case,))
            )
            for name, label in zip(_LEDGER, _LEDGER_LABELS, strict=True)
        )
        whole = Figure("memory_total", (case,))
        # The whole is marked where the parts run over it; elsewhere they end at it.
        limit = Mark(say("all memory"), self._of(whole), of=whole)
        return StackRow(row.label, parts, limit, if_over=True)

    # ---- limits ----------------------------------------------------------------------------------

    def limits(self) -> Chart | None:
        """How long each limit takes in one step at the planned batch; the longest binds."""
        if not self._has(*_LIMITS):
            return None
        rows = self.axes.rows(_LIMITS)
        shown = rows if len(rows) <= LIMIT_ROWS else _spread(rows, LIMIT_ROWS)
        labels, common = _apart(shown)
        unit = "; ".join(
            [say("ideal ms at the planned batch, the longest is marked max"), *_noted(common)]
        )
        return BarChart(
            say("Which limit sets the time of one decode step?"), _counted(unit, rows, shown),
            tuple(
                bar
                for row, label in zip(shown, labels, strict=True)
                for bar in self._limit_bars(row, label)
            ),
        )  # fmt: skip

    def _limit_bars(self, row: Row, label: str) -> list[Bar]:
        values = {name: self._value(name, row.cases[0]) for name in _LIMITS}
        known = [value for value in values.values() if value is not None]
        longest = max(known) if len(known) == len(values) else None
        bars: list[Bar] = []
        for name, words in _LIMITS.items():
            note = Note(say(words), longest=say(f"{say(words)}, max"))
            is_longest = values[name] == longest is not None
            bars.append(
                Bar(
                    "" if bars else label, values[name],
                    note.longest if is_longest else note.words,
                    of=Figure(name, row.cases[:1]), told=note,
                )
            )  # fmt: skip
        return bars

    def compute(self) -> Chart | None:
        """B* of compute against the planned batch, and what memory holds."""
        if not self._has("b_star_compute", "max_concurrency"):
            return None
        rows = self.axes.rows(["b_star_compute"])
        shown = rows if len(rows) <= CHART_ROWS else _spread(rows, CHART_ROWS)
        labels, common = _apart(shown)
        unit = "; ".join(["requests", *_noted(common)])
        return BarChart(
            say("From which batch does compute exceed weight reads?"), _counted(unit, rows, shown),
            tuple(self._compute_bar(r, label) for r, label in zip(shown, labels, strict=True)),
        )  # fmt: skip

    def _compute_bar(self, row: Row, label: str) -> Bar:
        exceeds = Figure("b_star_compute", row.cases[:1])
        note = Note(say(f"memory holds {_PLACE}"), Figure("max_concurrency", row.cases), "count")
        return Bar(
            label, self._of(exceeds), self._told(note), self._planned_marks(row),
            of=exceeds, told=note,
        )  # fmt: skip

    # ---- curves --------------------------------------------------------------------------------

    def thresholds(self) -> Chart | None:
        """B* of KV reads over the context, against the planned batch."""
        if "prompt_ladder" not in self.metrics.variants or not self._has("b_star_kv"):
            return None
        batches = self._batches(range(len(self.plan.cases)))
        label = say("planned batch")
        levels = tuple(Level(label, value, of) for value, of in list(batches.items())[:3])
        lines, common = self._lines("prompt_ladder", "b_star_kv", "context_start")
        return LineChart(
            say("From which batch do KV reads exceed weight reads?"),
            say("context before decode, tokens"),
            "requests" + common,
            lines,
            levels,
            self._planned(),
            log_x=True,
            log_y=True,
        )

    def _planned(self) -> tuple[Point, ...]:
        """Where the plan stands: context and batch of each workload, as far as there is room."""
        points: dict[tuple[float | None, float | None], int] = {}
        for index in range(len(self.plan.cases)):
            place = (self._value("context_start", index), self._value("batch", index))
            points.setdefault(place, index)
        if len(points) > CHART_POINTS:
            return ()
        return tuple(
            Point(
                clean(self.plan.cases[index].workload), x, y,
                of=(Figure("context_start", (index,)), Figure("batch", (index,))),
            )
            for (x, y), index in points.items()
        )  # fmt: skip

    def requests(self) -> Chart | None:
        """KV of one request over the context ladder."""
        if "context_ladder" not in self.metrics.variants or not self._has("kv_per_request"):
            return None
        lines, common = self._lines("context_ladder", "kv_per_request", "context")
        return LineChart(
            say("How much does one request keep?"), say("context limit, tokens"),
            say("GiB per request") + common, lines, log_x=True, log_y=True,
        )  # fmt: skip

    def _lines(self, ladder: str, name: str, across: str) -> tuple[tuple[Line, ...], str]:
        """A line per row, up to what its model was published for; and what all have in common."""
        rows = self.axes.rows([name], self.metrics.variants[ladder].moved)
        first_parts = len({row.key[0] for row in rows})
        shown = rows
        if len(rows) > CHART_LINES:
            shown = _spread(rows, min(CHART_LINES, first_parts))
        labels, common = _apart(shown, in_groups=False)
        lines = [
            Line(label, points, of=Curve(name, across, ladder, row.cases[0]))
            for label, row in zip(labels, shown, strict=True)
            if (points := self._points(ladder, name, across, row.cases[0]))
        ]
        return tuple(lines), _counted("".join(f"; {c}" for c in _noted(common)), rows, shown)

    def _points(
        self, ladder: str, name: str, across: str, case: int
    ) -> tuple[tuple[float, float | None], ...]:
        child = self.plan.columns.variants(ladder)
        factor = metric_display(self.metrics.metrics[name])[0]
        count = len(self.plan.cases)
        longest = self.plan.value("max_context", case)
        points: list[tuple[float, float | None]] = []
        for rung in range(len(self.plan.columns.variant_values[ladder])):
            at = rung * count + case
            x, y = float(child[across][at]), float(child[name][at])
            if not isinstance(longest, float) or x <= longest:
                points.append((x, None if np.isnan(y) else y / factor))
        return tuple(points)


def _apart(rows: list[Row], *, in_groups: bool = True) -> tuple[list[str], str]:
    """Row names without the parts that all have in common, and those parts.

    ``in_groups``: leading parts that repeat the row above are left out as well.
    """
    shared = [len({row.key[i] for row in rows}) == 1 for i in range(len(rows[0].key))]
    if all(shared):
        return [row.label for row in rows], ""
    keys = [
        tuple(part for part, same in zip(row.key, shared, strict=True) if not same) for row in rows
    ]
    labels: list[str] = []
    above: tuple[str, ...] = ()
    for key in keys:
        same = 0
        while in_groups and same < len(key) - 1 and above[same : same + 1] == (key[same],):
            same += 1
        labels.append(" · ".join(key[same:]))
        above = key
    common = " · ".join(part for part, same in zip(rows[0].key, shared, strict=True) if same)
    return labels, common


def _noted(common: str) -> list[str]:
    return [common] if common else []


def _counted(unit: str, rows: list[Row], shown: list[Row], which: str = "") -> str:
    """The unit line of a chart, which says when it does not show every row."""
    if len(shown) == len(rows):
        return unit
    return unit + say(f"; {len(shown)} of {len(rows)} rows{which}")


def _spread(rows: list[Row], limit: int) -> list[Row]:
    """At most ``limit`` rows, taken in turn from each first part of the key, in their order."""
    turns: dict[str, int] = {}
    ranked = []
    for index, row in enumerate(rows):
        turn = turns.get(row.key[0], 0)
        turns[row.key[0]] = turn + 1
        ranked.append((turn, index))
    return [rows[index] for index in sorted(index for _, index in sorted(ranked)[:limit])]
