"""A bridge from one value to another: both ends from zero, every part from level to level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from reports.charts_axes import Axis, domain, known
from reports.charts_bars import label_column, row_label
from reports.charts_svg import LEADING, WIDTH, Canvas
from reports.charts_text import BODY, SMALL, clean, cut, text_width, wrap
from reports.numbers import Number

_BAR, _THIN, _PITCH = 16.0, 10.0, 24.0
_TEXT_WIDTH = 190.0  # of what stands right of a bar

Tone = Literal["better", "worse", "plain"]
_FILLS: dict[Tone, str] = {"better": "series-3", "worse": "series-4", "plain": "series-1"}


@dataclass(frozen=True, slots=True)
class Part:
    """What one cause adds: its length, and the text that the table beside the chart has for it."""

    label: str
    value: Number
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Step:
    """A group of causes, or one that stands alone: then ``parts`` is empty."""

    label: str
    value: Number
    text: str
    tone: Tone = "plain"
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class WaterfallChart:
    """Steps from an old value to a new one, from top to bottom, on one scale that contains zero.

    Attributes:
        title: the question that the chart answers.
        unit: the unit of all values, printed once.
        old, new: label, value and text of both ends.
        steps: groups in frames, their parts below them as bars; together they lead to the new end.
        description: for readers that do not see the chart; written from the data when empty.
    """

    title: str
    unit: str
    old: tuple[str, Number, str]
    new: tuple[str, Number, str]
    steps: tuple[Step, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    start: float
    end: float | None
    text: str
    fill: str
    strong: bool
    framed: bool = False


def draw(chart: WaterfallChart, prefix: str) -> str:
    """The chart as SVG text."""
    canvas = Canvas()
    top = canvas.heading(chart.title, chart.unit) + 10
    rows = list(_rows(chart))
    column = label_column([row.label for row in rows], bold=True)
    texts = [cut(clean(row.text), _TEXT_WIDTH) for row in rows]
    ends = [place for row in rows for place in (row.start, row.end)]
    low, high = domain([0.0, *ends], log=False, from_zero=True, round_out=False)
    room = max((text_width(text, bold=True) for text in texts), default=0.0) + 10
    scale = Axis(low, high, column + 2, WIDTH - room)
    middles, bottom = _middles(rows, column, top)
    zero = scale.at(0.0)
    canvas.polyline([(zero, top - 2), (zero, bottom)], "muted")
    for row, text, middle in zip(rows, texts, middles, strict=True):
        _draw_row(canvas, row, text, scale, middle, column)
    _connectors(canvas, rows, scale, middles)
    return canvas.svg(prefix, chart.title, chart.description or describe(chart), bottom + 6)


def describe(chart: WaterfallChart) -> str:
    """The chart in words: both ends, then every group with its parts."""
    told = []
    for step in chart.steps:
        parts = ", ".join(f"{part.label} {part.text}" for part in step.parts)
        told.append(f"{step.label} {step.text}" + (f" ({parts})" if parts else ""))
    ends = f"{chart.old[0]} {chart.old[2]}, {chart.new[0]} {chart.new[2]}"
    return f"{chart.unit}. {ends}. " + ("; ".join(told) + "." if told else "")


def _rows(chart: WaterfallChart) -> Iterator[_Row]:
    """Every bar with both its levels; a part that is not known moves nothing."""
    yield _end(chart.old)
    level = known(chart.old[1]) or 0.0
    for step in chart.steps:
        moved = known(step.value)
        stop = None if moved is None else level + moved
        fill = _FILLS[step.tone]
        yield _Row(step.label, level, stop, step.text, fill, True, bool(step.parts))
        at = level
        for part in step.parts:
            size = known(part.value)
            end = None if size is None else at + size
            yield _Row(part.label, at, end, part.text, _FILLS[part.tone], False)
            at = at if end is None else end
        level = level if stop is None else stop
    yield _end(chart.new)


def _end(end: tuple[str, Number, str]) -> _Row:
    return _Row(end[0], 0.0, known(end[1]), end[2], "muted", True)


def _middles(rows: list[_Row], column: float, top: float) -> tuple[list[float], float]:
    middles = []
    for row in rows:
        lines = len(wrap(clean(row.label), column, bold=row.strong)) if row.label else 1
        pitch = _PITCH + max(0, lines - 1) * BODY * LEADING
        middles.append(top + pitch / 2)
        top += pitch
    return middles, top


def _draw_row(
    canvas: Canvas, row: _Row, text: str, scale: Axis, middle: float, column: float
) -> None:
    row_label(canvas, row.label, column, middle, bold=row.strong)
    size, base = (BODY if row.strong else SMALL), middle + BODY * 0.36
    if row.end is None:
        canvas.text(scale.at(row.start) + 6, base, text, size=size, tone="muted", italic=True)
        return
    left, right = sorted((scale.at(row.start), scale.at(row.end)))
    thick = _BAR if row.strong else _THIN
    fill, edge = ("none", row.fill) if row.framed else (row.fill, "none")
    canvas.rect(left, middle - thick / 2, max(right - left, 1.0), thick, fill, edge)
    tone = "ink" if row.strong else "muted"
    canvas.text(right + 6, base, text, size=size, tone=tone, bold=row.strong, halo=True)


def _connectors(canvas: Canvas, rows: list[_Row], scale: Axis, middles: list[float]) -> None:
    """From each bar down to where the next one begins, or to where the new end stops."""
    last = len(rows) - 1
    for number, row in enumerate(rows[1:], 1):
        level = row.end if number == last else row.start
        if level is not None:
            x = scale.at(level)
            above, below = middles[number - 1] + _THIN / 2, middles[number] - _THIN / 2
            canvas.polyline([(x, above), (x, below)], "muted")
