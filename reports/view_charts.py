"""Charts of a view: which values are drawn, with which marks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.planning import Plan
from reports import numbers
from reports.charts import (
    Bar,
    BarChart,
    Chart,
    Level,
    Line,
    LineChart,
    Mark,
    Segment,
    StackChart,
    StackRow,
    describe,
)
from reports.view_axes import Axes
from reports.view_grid import (
    Row,
)
from reports.view_layout import CHART_LINES, CHART_ROWS
from reports.view_parts import (
    Section,
)
from reports.view_units import input_display, metric_display

_LEDGER = ("weights_gpu", "overhead", "kv_pool", "memory_outside")
_LEDGER_LABELS = ("Weights", "Overhead", "KV pool", "Outside")


class Charts:
    """Describes the charts of one plan; ``reports.charts`` draws them."""

    def __init__(self, plan: Plan, axes: Axes) -> None:
        self.plan, self.axes = plan, axes
        self.metrics = plan.metrics

    def placed(self, section: Section) -> Section:
        """The section with the charts that belong to it."""
        makers = {
            "memory": [self.ledgers], "thresholds": [self.thresholds], "ladder": [self.requests],
        }  # fmt: skip
        charts = [maker() for maker in makers.get(section.name, [])]
        return replace(section, charts=tuple(c for c in charts if c is not None))

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

    # ---- concurrency ---------------------------------------------------------------------------

    def concurrency(self) -> Chart | None:
        """Requests that one replica holds, with the planned batch and both thresholds."""
        if not self._has("max_concurrency", "b_star_kv", "b_star_compute"):
            return None
        rows = self.axes.rows(["max_concurrency"])
        shown = _spread(rows, CHART_ROWS)
        one = all(case.inputs["tp"] == 1 for case in self.plan.cases)
        chart = BarChart(
            f"How many requests does one {'GPU' if one else 'replica'} hold at the context limit?",
            _counted("requests; B*: KV reads exceed weight reads", rows),
            tuple(self._bar(row) for row in shown),
            kind="count",
        )
        bars = tuple(
            replace(b, label=t) for b, t in zip(chart.bars, _short_labels(shown), strict=True)
        )
        return replace(chart, bars=bars, description=describe(chart))

    def _bar(self, row: Row) -> Bar:
        """A bar with the planned batch and the thresholds of its workloads."""
        batches = dict.fromkeys(self._value("batch", case) for case in row.cases)
        marks = [Mark("planned batch", value, planned=True) for value in batches]
        reads = list(dict.fromkeys(self._value("b_star_kv", case) for case in row.cases))
        note = ", ".join(numbers.show(value) for value in reads[:2])
        held = self._value("max_concurrency", row.cases[0])
        # A threshold beyond what memory holds is out of reach: the note names it, no tick shows it.
        within = [v for v in reads[:2] if v is not None and held is not None and v < held]
        marks += [Mark("B*", value, quiet=True) for value in within]
        return Bar(row.label, held, f"B* {note}", tuple(marks))

    # ---- ledgers -------------------------------------------------------------------------------

    def ledgers(self) -> Chart | None:
        """What the memory of one GPU is made of."""
        if not self._has(*_LEDGER, "memory_total", "memory_left"):
            return None
        rows = self.axes.rows([*_LEDGER, "memory_total"])
        shown = _spread(rows, CHART_ROWS)
        stacks = tuple(self._stack(row) for row in shown)
        chart = StackChart(
            "What takes the memory of one GPU?", _counted("GiB per GPU", rows), stacks
        )
        short = tuple(
            replace(s, label=t) for s, t in zip(stacks, _short_labels(shown), strict=True)
        )
        return replace(chart, rows=short, description=describe(chart))

    def _stack(self, row: Row) -> StackRow:
        case = row.cases[0]
        parts = tuple(
            Segment(label, self._value(name, case), quiet=name == "memory_outside")
            for name, label in zip(_LEDGER, _LEDGER_LABELS, strict=True)
        )
        # The whole is marked where the parts run over it; elsewhere they end at it.
        left = self.plan.value("memory_left", case)
        short = isinstance(left, float) and left < 0
        limit = Mark("all memory", self._value("memory_total", case)) if short else None
        return StackRow(row.label, parts, limit)

    # ---- curves --------------------------------------------------------------------------------

    def thresholds(self) -> Chart | None:
        """B* of KV reads over the context, against the planned batch."""
        if "prompt_ladder" not in self.metrics.variants or not self._has("b_star_kv"):
            return None
        lines = self._lines("prompt_ladder", "b_star_kv", "context_start")
        batches = dict.fromkeys(self._value("batch", i) for i in range(len(self.plan.cases)))
        levels = tuple(Level("planned batch", b) for b in list(batches)[:3])
        return LineChart(
            "From which batch do KV reads exceed weight reads?", "context before decode, tokens",
            "requests", lines, levels, log_x=True, log_y=True,
        )  # fmt: skip

    def requests(self) -> Chart | None:
        """KV of one request over the context ladder."""
        if "context_ladder" not in self.metrics.variants or not self._has("kv_per_request"):
            return None
        lines = self._lines("context_ladder", "kv_per_request", "context")
        return LineChart(
            "How much does one request keep?", "context limit, tokens", "GiB per request", lines,
            log_x=True, log_y=True,
        )  # fmt: skip

    def _lines(self, ladder: str, name: str, across: str) -> tuple[Line, ...]:
        """A line per row that the metric tells apart, up to what its model was published for."""
        rows = self.axes.rows([name], without=self.metrics.variants[ladder].replaces)
        child = self.plan.columns.variants(ladder)
        factor = metric_display(self.metrics.metrics[name])[0]
        count = len(self.plan.cases)
        lines = []
        for row in _spread(rows, CHART_LINES):
            case = row.cases[0]
            longest = self.plan.value("max_context", case)
            points: list[tuple[float, float | None]] = []
            for rung in range(len(self.plan.columns.variant_values[ladder])):
                at = rung * count + case
                x, y = float(child[across][at]), float(child[name][at])
                if not isinstance(longest, float) or x <= longest:
                    points.append((x, None if np.isnan(y) else y / factor))
            if points:
                lines.append(Line(row.label, tuple(points)))
        return tuple(lines)


def _counted(unit: str, rows: list[Row]) -> str:
    """The unit line of a chart, which says when it does not show every row."""
    return unit if len(rows) <= CHART_ROWS else f"{unit}; {CHART_ROWS} of {len(rows)} rows"


def _spread(rows: list[Row], limit: int) -> list[Row]:
    """At most ``limit`` rows, taken in turn from each first part of the key, in their order."""
    turns: dict[str, int] = {}
    ranked = []
    for index, row in enumerate(rows):
        turn = turns.get(row.key[0], 0)
        turns[row.key[0]] = turn + 1
        ranked.append((turn, index))
    return [rows[index] for index in sorted(index for _, index in sorted(ranked)[:limit])]


def _short_labels(rows: list[Row]) -> list[str]:
    """Row names without the leading parts that repeat the row above."""
    labels: list[str] = []
    above: tuple[str, ...] = ()
    for row in rows:
        same = 0
        while same < len(row.key) - 1 and above[same : same + 1] == (row.key[same],):
            same += 1
        labels.append(" · ".join(row.key[same:]))
        above = row.key
    return labels
