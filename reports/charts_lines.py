"""Lines over an axis, levels across it, and marked points; linear or logarithmic axes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

from reports import numbers, palette
from reports.charts_axes import Axis, domain, known, thinned, tick_texts, ticks
from reports.charts_live import Curve, Declared, Figure, figures
from reports.charts_svg import WIDTH, Canvas
from reports.charts_text import BODY, SMALL, clean, cut, spread, text_width
from reports.numbers import Kind, Number
from reports.words import say

_HEIGHT = 320.0
_LABEL_WIDTH = 190.0


@dataclass(frozen=True, slots=True)
class Line:
    """One line: points in rising ``x``; a value that is not known leaves a gap.

    ``of`` is what the points stand for, in a page that draws them again.
    """

    label: str
    points: tuple[tuple[float, Number], ...]
    step: bool = False
    of: Curve | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """A value that holds over the whole axis, drawn dashed and named at its end."""

    label: str
    value: Number
    of: Figure | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """A marked place, such as the planned point; ``note`` stands under its label.

    Without a note the two values stand there, as ``y at x``.
    """

    label: str
    x: Number
    y: Number
    note: str = ""
    of: tuple[Figure, Figure] | None = None


@dataclass(frozen=True, slots=True)
class LineChart:
    """Lines in one plot.

    Attributes:
        title: the question that the chart answers.
        x_unit: name and unit of the axis below.
        unit: name and unit of the values, set above the axis and never turned.
        lines: each named at its end.
        levels: horizontal lines across the plot.
        points: marked in the accent.
        log_x: logarithmic axis below; what is not positive is left out.
        log_y: the same for the values.
        x_ticks: places to name on the axis below, each with its text; chosen when empty.
        x_kind: how places on the axis below are printed.
        kind: how values are printed.
        description: for readers that do not see the chart; written from the data when empty.
        unknown: the word for a value that is not known.
    """

    title: str
    x_unit: str
    unit: str
    lines: tuple[Line, ...]
    levels: tuple[Level, ...] = ()
    points: tuple[Point, ...] = ()
    log_x: bool = False
    log_y: bool = False
    x_ticks: tuple[tuple[float, str], ...] = ()
    x_kind: Kind = "count"
    kind: Kind = "figure"
    description: str = ""
    unknown: str = field(default_factory=lambda: say(numbers.UNKNOWN))


@dataclass(frozen=True, slots=True)
class _Name:
    """What stands at the right of the plot: a label and the place it belongs to."""

    x: float
    y: float
    text: str
    tone: str
    italic: bool = False


def draw(chart: LineChart, prefix: str) -> str:
    """The chart as SVG text."""
    canvas = Canvas()
    top = canvas.heading(chart.title, chart.unit) + 12
    any_known = any(known(value) is not None for value in _y_values(chart))
    y_low, y_high = domain(_y_values(chart), log=chart.log_y, from_zero=True)
    y_axis = Axis(y_low, y_high, _HEIGHT - 40, top, chart.log_y)
    y_ticks = thinned(ticks(y_axis), y_axis, 17) if any_known else []
    texts = tick_texts(y_ticks, chart.kind, log=chart.log_y)
    left = max((text_width(text, SMALL) for text in texts), default=0.0) + 8
    widest = max((text_width(name, SMALL) for name in _names_at_end(chart)), default=0.0)
    right = WIDTH - (min(widest, _LABEL_WIDTH) + 20 if widest else 8)
    x_low, x_high = domain(_x_values(chart), log=chart.log_x, from_zero=False, round_out=False)
    x_axis = Axis(x_low, x_high, left, right, chart.log_x)
    _x_title(canvas, chart, x_axis, y_axis)
    start = len(canvas.shapes)
    for tick, text in zip(y_ticks, texts, strict=True):
        y = y_axis.at(tick)
        canvas.polyline([(left, y), (right, y)], "line")
        canvas.text(left - 6, y + 4, text, size=SMALL, tone="muted", anchor="end")
    if not any_known:
        middle = (y_axis.begin + y_axis.end) / 2
        canvas.text(left, middle, chart.unknown, tone="muted", italic=True)
    _x_axis(canvas, chart, x_axis, y_axis)
    names = _levels(canvas, chart, x_axis, y_axis)
    paths, line_names = _lines(canvas, chart, x_axis, y_axis)
    _end_names(canvas, [*names, *line_names], right, y_axis)
    taken = [spot for path in paths for spot in _samples(path)]
    taken += [(x, name.y) for name in names for x in range(int(left), int(right), 6)]
    _points(canvas, chart, x_axis, y_axis, taken)
    places = {"left": left, "right": right, "top": top, "base": y_axis.begin}
    declared = _declared(chart)
    canvas.live(start, declared and declared | places)
    return canvas.svg(prefix, chart.title, chart.description or describe(chart), _HEIGHT)


def _declared(chart: LineChart) -> Declared:
    """What every line, level and point stands for; nothing where that is not known of all.

    A page draws logarithmic axes only, with ticks of its own choice.
    """
    ends = [of for point in chart.points for of in point.of or (None,)]
    known_all = figures([*(o.of for o in chart.lines), *(o.of for o in chart.levels), *ends])
    plain = not any(line.step for line in chart.lines) and not any(p.note for p in chart.points)
    if not (known_all and plain and chart.log_x and chart.log_y) or chart.x_ticks:
        return {}
    return {
        "draw": "curves",
        "kind": chart.kind,
        "across": chart.x_kind,
        "lines": [[clean(one.label), one.of and one.of.declared()] for one in chart.lines],
        "levels": [[clean(one.label), one.of and one.of.declared()] for one in chart.levels],
        "points": [
            [clean(one.label), *(of.declared() for of in one.of or ())] for one in chart.points
        ],
    }


def describe(chart: LineChart) -> str:
    """The chart in words: axes, the ends of every line, levels and points."""
    parts = []
    for line in chart.lines:
        ends = [line.points[0], line.points[-1]] if len(line.points) > 1 else line.points
        texts = [say(f"{_shown(y, chart)} at {numbers.show(x, chart.x_kind)}") for x, y in ends]
        parts.append(f"{line.label}: " + say(" to ").join(texts))
    parts += [f"{level.label}: {_shown(level.value, chart)}" for level in chart.levels]
    for point in chart.points:
        parts.append(f"{point.label}: {point.note or _place_text(point, chart)}")
    return say(f"{chart.unit} over {chart.x_unit}. ") + "; ".join(parts) + "."


def _shown(value: Number, chart: LineChart) -> str:
    return numbers.show(value, chart.kind, unknown=chart.unknown)


def _place_text(point: Point, chart: LineChart) -> str:
    return say(f"{_shown(point.y, chart)} at {numbers.show(point.x, chart.x_kind)}")


def _y_values(chart: LineChart) -> list[Number]:
    values = [y for line in chart.lines for _, y in line.points]
    return [*values, *(item.value for item in chart.levels), *(item.y for item in chart.points)]


def _x_values(chart: LineChart) -> list[Number]:
    values: list[Number] = [x for line in chart.lines for x, _ in line.points]
    return [*values, *(point.x for point in chart.points)]


def _x_axis(canvas: Canvas, chart: LineChart, x_axis: Axis, y_axis: Axis) -> None:
    base = y_axis.begin
    canvas.polyline([(x_axis.begin, base), (x_axis.end, base)], "muted")
    used = -math.inf
    for tick, text in _x_ticks(chart, x_axis):
        x, width = x_axis.at(tick), text_width(text, SMALL)
        x_text = min(max(x, width / 2), WIDTH - width / 2)
        canvas.polyline([(x, base), (x, base + 4)], "muted")
        if x_text - width / 2 < used + 8:
            continue
        used = x_text + width / 2
        canvas.text(x_text, base + 16, text, size=SMALL, tone="muted", anchor="middle")


def _x_title(canvas: Canvas, chart: LineChart, x_axis: Axis, y_axis: Axis) -> None:
    middle = (x_axis.begin + x_axis.end) / 2
    title = cut(clean(chart.x_unit), WIDTH - 4)
    half = text_width(title) / 2
    middle = min(max(middle, half), WIDTH - half)
    canvas.text(middle, y_axis.begin + 34, title, tone="muted", anchor="middle")


def _x_ticks(chart: LineChart, axis: Axis) -> list[tuple[float, str]]:
    if chart.x_ticks:
        kept = [(t, clean(text)) for t, text in chart.x_ticks if axis.takes(t) is not None]
        return [(t, text) for t, text in kept if axis.low <= t <= axis.high]
    places = sorted({x for line in chart.lines for x, _ in line.points if axis.takes(x)})
    # The places that the lines were computed at say more than round numbers, if they are few.
    if not axis.log or not 1 < len(places) <= 9:
        places = ticks(axis)
    texts = tick_texts(places, chart.x_kind, log=axis.log)
    return list(zip(places, texts, strict=True))


def _levels(canvas: Canvas, chart: LineChart, x_axis: Axis, y_axis: Axis) -> list[_Name]:
    names = []
    for level, text in zip(chart.levels, _level_names(chart), strict=True):
        value = y_axis.takes(level.value)
        if value is None:
            names.append(_Name(x_axis.end, y_axis.begin, text, "muted", italic=True))
            continue
        y = y_axis.at(value)
        canvas.polyline([(x_axis.begin, y), (x_axis.end, y)], "ink", 1.5, dash="5 4")
        names.append(_Name(x_axis.end, y, text, "ink"))
    return names


def _level_names(chart: LineChart) -> list[str]:
    return [f"{clean(level.label)} {_shown(level.value, chart)}" for level in chart.levels]


def _names_at_end(chart: LineChart) -> list[str]:
    unknown = [chart.unknown] if any(_empty(line) for line in chart.lines) else []
    names = [
        f"{clean(line.label)} {chart.unknown}" if unknown and _empty(line) else clean(line.label)
        for line in chart.lines
    ]
    return [*names, *_level_names(chart)]


def _empty(line: Line) -> bool:
    return all(known(y) is None for _, y in line.points)


def _lines(
    canvas: Canvas, chart: LineChart, x_axis: Axis, y_axis: Axis
) -> tuple[list[list[tuple[float, float]]], list[_Name]]:
    paths, names = [], []
    for number, line in enumerate(chart.lines):
        tone = f"edge-{number % len(palette.SERIES) + 1}"
        runs = _runs(line, x_axis, y_axis)
        for run in runs:
            if len(run) > 1:
                canvas.polyline(run, tone, 2)
            else:
                canvas.dot(*run[0], 3, tone)
        paths += runs
        if runs:
            names.append(_Name(*runs[-1][-1], clean(line.label), tone))
        else:
            text = f"{clean(line.label)} {chart.unknown}"
            names.append(_Name(x_axis.end, y_axis.begin, text, "muted", italic=True))
    return paths, names


def _runs(line: Line, x_axis: Axis, y_axis: Axis) -> list[list[tuple[float, float]]]:
    runs: list[list[tuple[float, float]]] = [[]]
    for x_value, y_value in line.points:
        x, y = x_axis.takes(x_value), y_axis.takes(y_value)
        if x is None or y is None:
            runs.append([])
            continue
        spot = (x_axis.at(x), y_axis.at(y))
        if line.step and runs[-1]:
            runs[-1].append((spot[0], runs[-1][-1][1]))
        runs[-1].append(spot)
    return [run for run in runs if run]


def _end_names(canvas: Canvas, names: list[_Name], right: float, y_axis: Axis) -> None:
    ordered = sorted(names, key=lambda name: name.y)
    sizes = [SMALL * 1.1] * len(ordered)
    wanted = [name.y for name in ordered]
    for y, name in zip(
        spread(wanted, sizes, y_axis.end - 8, y_axis.begin, 3), ordered, strict=True
    ):
        is_line = name.tone not in ("ink", "muted")
        if not name.italic:
            edge = max(name.x, right + 3)
            if is_line and name.x < right - 3:
                # A line that ends early must not look as if it went on.
                canvas.polyline([(name.x, name.y), (edge, name.y)], "muted", 1, dash="1 4")
            path = [(edge if name.x < right - 3 and is_line else name.x, name.y)]
            path += [(edge, name.y), (right + 13, y)]
            canvas.polyline(path, name.tone, 2 if is_line else 1.5, dash="" if is_line else "5 4")
        text = cut(name.text, WIDTH - right - 18, SMALL)
        tone = "muted" if name.italic else "ink"
        canvas.text(right + 17, y + 4, text, size=SMALL, tone=tone, italic=name.italic)


def _samples(path: list[tuple[float, float]]) -> list[tuple[float, float]]:
    spots = list(path)
    for (x1, y1), (x2, y2) in pairwise(path):
        count = int(math.hypot(x2 - x1, y2 - y1) // 4)
        spots += [(x1 + (x2 - x1) * i / count, y1 + (y2 - y1) * i / count) for i in range(count)]
    return spots


_Box = tuple[float, float, float, float]

# Where a label may stand, in boxes to the right of and below its point; the best places first.
_AROUND = (
    *((1, 0), (-1, 0), (1, -1), (-1, -1), (1, 1), (-1, 1), (0, -1), (0, 1)),
    *((side, rise) for rise in (-2, 2, -4, 4, -6, 6) for side in (1, -1)),
)


def _points(
    canvas: Canvas,
    chart: LineChart,
    x_axis: Axis,
    y_axis: Axis,
    taken: list[tuple[float, float]],
) -> None:
    spots = []
    for point in chart.points:
        x_value, y_value = x_axis.takes(point.x), y_axis.takes(point.y)
        if x_value is not None and y_value is not None:
            spots.append((point, x_axis.at(x_value), y_axis.at(y_value)))
    boxes: list[_Box] = [(x - 6, y - 6, x + 6, y + 6) for _, x, y in spots]
    for point, x, y in spots:
        canvas.dot(x, y, 5, "accent")
        title = cut(clean(point.label), 180, BODY, bold=True)
        values = cut(clean(point.note or _place_text(point, chart)), 180, SMALL)
        width = max(text_width(title, BODY, bold=True), text_width(values, SMALL))
        box = _free_box(x, y, width, 28.0, x_axis, y_axis, taken, boxes)
        boxes.append(box)
        middle = (box[0] + box[2]) / 2
        canvas.text(
            middle, box[1] + 11, title, tone="accent", anchor="middle", bold=True, halo=True
        )
        canvas.text(
            middle, box[1] + 25, values, size=SMALL, tone="muted", anchor="middle", halo=True
        )


def _free_box(
    x: float,
    y: float,
    width: float,
    height: float,
    x_axis: Axis,
    y_axis: Axis,
    taken: list[tuple[float, float]],
    boxes: list[_Box],
) -> _Box:
    """The box beside a point that covers least of what is drawn already."""

    def box(side: int, rise: int) -> _Box:
        left = x - width / 2 + side * (width / 2 + 10)
        top = y - height / 2 + rise * (height / 2 + (10 if side == 0 else 2))
        left = min(max(left, x_axis.begin), max(x_axis.end - width, x_axis.begin))
        top = min(max(top, y_axis.end), y_axis.begin - height - 2)
        return left, top, left + width, top + height

    def cost(candidate: tuple[_Box, int]) -> float:
        place, rise = candidate
        covered = sum(_holds(place, spot) for spot in taken)
        return covered + 100 * sum(_overlap(place, other) for other in boxes) + 4 * abs(rise)

    return min(((box(side, rise), rise) for side, rise in _AROUND), key=cost)[0]


def _holds(box: _Box, spot: tuple[float, float]) -> bool:
    return box[0] - 2 <= spot[0] <= box[2] + 2 and box[1] - 2 <= spot[1] <= box[3] + 2


def _overlap(one: _Box, two: _Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]
