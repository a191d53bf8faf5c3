"""Horizontal bars with their values printed, tick marks per bar and lines across all bars."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from reports import numbers
from reports.charts_axes import Axis, known
from reports.charts_live import Declared, Figure, Note, figures
from reports.charts_svg import LEADING, WIDTH, Canvas
from reports.charts_text import BODY, SMALL, Tag, clean, cut, place, text_width, wrap
from reports.numbers import Kind, Number
from reports.words import say

_LABEL_WIDTH, _NOTE_WIDTH, _LEAST_PLOT = 190.0, 120.0, 60.0
_BAR, _GAP = 14.0, 10.0
_FAR = 3.0  # a mark further out than this many times the longest bar is named at the edge


@dataclass(frozen=True, slots=True)
class Mark:
    """A value that a bar is read against: a threshold, or the planned point (in the accent).

    A ``quiet`` one is drawn without its name, for a value that the bar's note already says, and
    only inside the bar: what lies beyond it is out of reach. ``of`` is what the value stands for.
    """

    label: str
    value: Number
    planned: bool = False
    quiet: bool = False
    of: Figure | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Attributes:
        label: what it is; wraps to two lines.
        value: its length, printed at its end; may be negative. What is not known has no bar.
        note: a few words after the value, such as the limit that binds.
        marks: ticks on this bar, named below it.
        start: where the bar begins, for the steps of a bridge.
        strong: set the label in bold, for the chosen one.
        of: what the value stands for, in a page that draws it again.
        told: the same for the note.
    """

    label: str
    value: Number
    note: str = ""
    marks: tuple[Mark, ...] = ()
    start: float = 0.0
    strong: bool = False
    of: Figure | None = None
    told: Note | None = None


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars on one linear scale that contains zero.

    Attributes:
        title: the question that the chart answers.
        unit: the unit of all values, printed once.
        bars: from top to bottom.
        kind: how values are printed.
        thresholds: lines across all bars, named above them.
        description: for readers that do not see the chart; written from the data when empty.
        unknown: the word for a value that is not known.
    """

    title: str
    unit: str
    bars: tuple[Bar, ...]
    kind: Kind = "figure"
    thresholds: tuple[Mark, ...] = ()
    description: str = ""
    unknown: str = field(default_factory=lambda: say(numbers.UNKNOWN))


def label_column(labels: list[str], *, bold: bool = False) -> float:
    """The width that row labels take, with the space after them; nothing without labels."""
    widest = max((text_width(clean(label), bold=bold) for label in labels), default=0.0)
    return min(math.ceil(widest), _LABEL_WIDTH) + _GAP if widest else 0.0


def row_label(canvas: Canvas, label: str, column: float, middle: float, *, bold: bool) -> None:
    """A row label of one or two lines, flush right in its column, centred on ``middle``."""
    if column <= _GAP:  # labels that take no width, such as a soft hyphen, have no column
        return
    lines = wrap(clean(label), column - _GAP, bold=bold)
    top = middle + BODY * 0.36 - (len(lines) - 1) * BODY * LEADING / 2
    for number, line in enumerate(lines):
        y = top + number * BODY * LEADING
        canvas.text(column - _GAP, y, line, anchor="end", bold=bold)


def draw(chart: BarChart, prefix: str) -> str:
    """The chart as SVG text."""
    description = chart.description or describe(chart)
    chart = _with_shared_marks(chart)
    declared = _declared(chart)
    chart = _with_reached_marks(chart)
    canvas = Canvas()
    top = canvas.heading(chart.title, chart.unit)
    column = label_column([bar.label for bar in chart.bars], bold=any(b.strong for b in chart.bars))
    chart = _with_short_notes(chart, WIDTH - column)
    scale = _scale(chart, column)
    top += 30 if chart.thresholds else 8
    pitches = [_pitch(bar, column) for bar in chart.bars]
    bottom = top + sum(pitches)
    middles = _middles(chart.bars, pitches, top)
    for bar, middle in zip(chart.bars, middles, strict=True):
        row_label(canvas, bar.label, column, middle, bold=bar.strong)
    start = len(canvas.shapes)
    for bar, middle in zip(chart.bars, middles, strict=True):
        _bar(canvas, bar, scale, middle)
    if chart.bars:
        zero = scale.at(0.0)
        canvas.polyline([(zero, top), (zero, bottom - 4)], "muted")
    lines = _thresholds(canvas, chart, scale, top, bottom - 4)
    for bar, middle in zip(chart.bars, middles, strict=True):
        ticks = _marks(canvas, bar, chart, scale, middle)
        _value(canvas, bar, chart, scale, middle, [*lines, *ticks])
    places = {"left": column, "top": top, "bottom": bottom - 4, "middles": middles}
    canvas.live(start, declared and declared | places)
    return canvas.svg(prefix, chart.title, description, bottom + 4)


def _declared(chart: BarChart) -> Declared:
    """What every bar, note and mark stands for; nothing where that is not known of all."""
    marks = [*chart.thresholds, *(mark for bar in chart.bars for mark in bar.marks)]
    if not figures([*(bar.of for bar in chart.bars), *(mark.of for mark in marks)]):
        return {}
    return {
        "draw": "bars",
        "kind": chart.kind,
        "lines": _declared_marks(chart.thresholds),
        "bars": [_declared_bar(bar) for bar in chart.bars],
    }


def _declared_bar(bar: Bar) -> Declared:
    note = bar.told or Note(bar.note)
    declared = {
        "of": bar.of and bar.of.declared(),
        "first": bool(bar.label),
        "words": clean(note.words),
        "span": note.of and note.of.declared(),
        "kind": note.of and note.kind,
        "longest": clean(note.longest),
        "marks": _declared_marks(bar.marks, note.of),
    }
    return {key: value for key, value in declared.items() if value}


def _declared_marks(marks: tuple[Mark, ...], told: Figure | None = None) -> list[object]:
    """Each mark once: a figure of several cases has two, at its lowest and at its highest.

    That of a figure that the note tells does not repeat it.
    """
    kinds = {mark.of: [clean(mark.label), _tone(mark)] for mark in marks if mark.of}
    return [[*kind, None if of == told else of.declared()] for of, kind in kinds.items()]


def _tone(mark: Mark) -> str:
    return "" if mark.quiet else "accent" if mark.planned else "ink"


def _with_reached_marks(chart: BarChart) -> BarChart:
    """Without quiet marks beyond their bar."""
    bars = tuple(
        replace(bar, marks=tuple(m for m in bar.marks if not m.quiet or _inside(m, bar)))
        for bar in chart.bars
    )
    return replace(chart, bars=bars)


def _inside(mark: Mark, bar: Bar) -> bool:
    value, end = known(mark.value), known(bar.value)
    return value is not None and end is not None and value < end


def _with_shared_marks(chart: BarChart) -> BarChart:
    """A mark that all bars have in common becomes one line across: same content, less ink."""
    if len(chart.bars) < 2:
        return chart
    first = [mark for mark in chart.bars[0].marks if not mark.quiet]
    shared = [m for m in first if all(m in bar.marks for bar in chart.bars)]
    bars = tuple(
        replace(bar, marks=tuple(mark for mark in bar.marks if mark not in shared))
        for bar in chart.bars
    )
    return replace(chart, bars=bars, thresholds=(*chart.thresholds, *shared))


def describe(chart: BarChart) -> str:
    """The chart in words: unit, every bar with its marks, the lines across."""
    chart = _with_reached_marks(_with_shared_marks(chart))
    parts = []
    for bar in chart.bars:
        marks = "".join(f", {_marked(mark, chart)}" for mark in bar.marks)
        note = f" ({bar.note})" if bar.note else ""
        parts.append(f"{bar.label}: {_shown(bar.value, chart)}{note}{marks}")
    parts += [_marked(mark, chart) for mark in chart.thresholds]
    return f"{chart.unit}. " + "; ".join(parts) + "."


def _shown(value: Number, chart: BarChart) -> str:
    return numbers.show(value, chart.kind, unknown=chart.unknown)


def _marked(mark: Mark, chart: BarChart) -> str:
    return f"{mark.label} {_shown(mark.value, chart)}"


def _with_short_notes(chart: BarChart, room: float) -> BarChart:
    """Notes cut to what the widest values and a short plot leave free on either side."""
    widths = [text_width(_shown(bar.value, chart)) for bar in chart.bars]
    sides = 2 if any((known(bar.value) or 0) < 0 for bar in chart.bars) else 1
    free = (room - _LEAST_PLOT - 20) / sides - max(widths, default=0.0) - 6
    free = max(0.0, min(free, _NOTE_WIDTH))
    bars = tuple(replace(bar, note=cut(clean(bar.note), free, SMALL)) for bar in chart.bars)
    return replace(chart, bars=bars)


def _printed_width(bar: Bar, chart: BarChart) -> float:
    note = text_width(bar.note, SMALL) + 6 if bar.note else 0.0
    return text_width(_shown(bar.value, chart)) + note


def _scale(chart: BarChart, column: float) -> Axis:
    ends = [0.0]
    for bar in chart.bars:
        ends += _span(bar) or ()
    marks = [*chart.thresholds, *(mark for bar in chart.bars for mark in bar.marks)]
    reach = max(ends) * _FAR or float("inf")
    values = [value for mark in marks if (value := known(mark.value)) is not None]
    ends += [value for value in values if 0 <= value <= reach]
    low, high = min(ends), max(ends)
    if low == high:
        high = low + 1.0
    rights = [_printed_width(bar, chart) for bar in chart.bars if (known(bar.value) or 0) >= 0]
    lefts = [_printed_width(bar, chart) for bar in chart.bars if (known(bar.value) or 0) < 0]
    left = column + (max(lefts) + 8 if lefts else 0.0)
    right = WIDTH - (max(rights) + 10 if rights else 0.0) - 2
    return Axis(low, high, left, max(right, left + _LEAST_PLOT / 2))


def _pitch(bar: Bar, column: float) -> float:
    lines = len(wrap(clean(bar.label), column - _GAP, bold=bar.strong)) if column else 1
    return max(_BAR + _GAP, lines * BODY * LEADING + 6) + (SMALL * LEADING if _named(bar) else 0.0)


def _named(bar: Bar) -> bool:
    return any(not mark.quiet for mark in bar.marks)


def _middles(bars: tuple[Bar, ...], pitches: list[float], top: float) -> list[float]:
    middles = []
    for bar, pitch in zip(bars, pitches, strict=True):
        below = SMALL * LEADING if _named(bar) else 0.0
        middles.append(top + (pitch - below) / 2)
        top += pitch
    return middles


def _span(bar: Bar) -> tuple[float, float] | None:
    start, value = known(bar.start), known(bar.value)
    return None if start is None or value is None else (start, start + value)


def _bar(canvas: Canvas, bar: Bar, scale: Axis, middle: float) -> None:
    span = _span(bar)
    if span is None or span[0] == span[1]:
        return
    left, right = sorted(scale.at(end) for end in span)
    # A value that is there but too small to see still leaves a trace.
    canvas.rect(left, middle - _BAR / 2, max(right - left, 1.5), _BAR, "series-1")


def _thresholds(
    canvas: Canvas, chart: BarChart, scale: Axis, top: float, bottom: float
) -> list[float]:
    tags = [_tag(mark, chart, scale) for mark in chart.thresholds]
    for centre, tag in place(tags, 0, WIDTH, SMALL):
        width = text_width(tag.text, SMALL)
        canvas.text(
            centre - width / 2, top - 16, tag.text, size=SMALL, tone=tag.tone, italic=tag.italic
        )
        if not tag.drawn:
            continue
        # The label stands over its line, or a short elbow leads from one to the other.
        near = min(max(tag.at, centre - width / 2 + 3), centre + width / 2 - 3)
        dash = "" if tag.tone == "accent" else "4 3"
        path = [(near, top - 12), (tag.at, top - 4), (tag.at, bottom)]
        canvas.polyline(path, tag.tone, 1.5, dash=dash, casing=True)
    return [tag.at for tag in tags if tag.drawn]


def _tag(mark: Mark, chart: BarChart, scale: Axis) -> Tag:
    value = known(mark.value)
    text = _shown(mark.value, chart)
    if value is None:
        return Tag(scale.begin, clean(mark.label), text, "muted", italic=True, drawn=False)
    tone = "accent" if mark.planned else "ink"
    if value > scale.high:
        return Tag(WIDTH, clean(mark.label), text + " →", tone, drawn=False)
    if value < scale.low:
        return Tag(scale.begin, clean(mark.label), "← " + text, tone, drawn=False)
    return Tag(scale.at(value), clean(mark.label), text, tone)


def _marks(canvas: Canvas, bar: Bar, chart: BarChart, scale: Axis, middle: float) -> list[float]:
    tags = [_tag(mark, chart, scale) for mark in bar.marks]
    named = [tag for tag, mark in zip(tags, bar.marks, strict=True) if not mark.quiet]
    base = middle + _BAR / 2 + SMALL + 2
    for centre, tag in place(named, scale.begin, WIDTH, SMALL):
        tone = tag.tone if tag.tone == "accent" else "muted"
        width = text_width(tag.text, SMALL)
        # A plate instead of a halo: a line across would show through the spaces of the name.
        canvas.rect(centre - width / 2, base - SMALL + 1, width, SMALL + 2, "page")
        canvas.text(
            centre, base, tag.text, size=SMALL, tone=tone, anchor="middle", italic=tag.italic
        )
    for tag in tags:
        if tag.drawn:
            path = [(tag.at, middle - _BAR / 2 - 3), (tag.at, middle + _BAR / 2 + 3)]
            canvas.polyline(path, tag.tone, 2, casing=True)
    return [tag.at for tag in tags if tag.drawn]


def _value(
    canvas: Canvas, bar: Bar, chart: BarChart, scale: Axis, middle: float, lines: list[float]
) -> None:
    text = _shown(bar.value, chart)
    value = known(bar.value)
    width = _printed_width(bar, chart)
    base = middle + BODY * 0.36
    span = _span(bar)
    end = scale.at(span[1] if span else 0.0)
    if value is not None and value < 0:
        x = end - 5 - width
        x_note = x + text_width(text) + 6
    else:
        # Step over ticks and lines that would run through the digits, while there is room.
        x = _beside(end + 5, text_width(text), width, lines)
        note = text_width(bar.note, SMALL)
        x_note = _beside(x + text_width(text) + 6, note, note, lines)
    unknown = value is None
    tone = "muted" if unknown else "ink"
    canvas.text(x, base, text, tone=tone, italic=unknown, halo=True)
    canvas.text(x_note, base, bar.note, size=SMALL, tone="muted", halo=True)


def _beside(x: float, width: float, room: float, lines: list[float]) -> float:
    """The first place from ``x`` on where a text crosses no line and ``room`` is left after it."""
    for line in sorted(lines):
        if x - 4 < line < x + width + 3 and line + 5 + room <= WIDTH:
            x = line + 5
    return x
