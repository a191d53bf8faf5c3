"""Horizontal stacks: what a whole is made of, with each part named at the part."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from reports import numbers, palette
from reports.charts_axes import Axis, known
from reports.charts_bars import Mark, label_column, row_label
from reports.charts_live import Declared, Figure, figures
from reports.charts_svg import LEADING, WIDTH, Canvas
from reports.charts_text import (
    BODY,
    LEADER_ROOM,
    SMALL,
    Tag,
    clean,
    is_crowded,
    ladder,
    place,
    text_width,
    wrap,
)
from reports.numbers import Kind, Number
from reports.words import say

_BAR = 24.0
_LEADER, _LANE = 9.0, SMALL * LEADING
_PER_LINE = 4


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a whole; ``quiet`` is for what is left over, drawn as an empty frame.

    A part that is not known or is negative is named below the stack and takes no length. ``of`` is
    what the value stands for, in a page that draws it again.
    """

    label: str
    value: Number
    quiet: bool = False
    of: Figure | None = None


@dataclass(frozen=True, slots=True)
class StackRow:
    """One whole: its parts from left to right, and a limit that it is read against.

    ``if_over``: the limit is drawn only where a part is negative, so that others run over it.
    """

    label: str
    segments: tuple[Segment, ...]
    limit: Mark | None = None
    strong: bool = False
    if_over: bool = False


@dataclass(frozen=True, slots=True)
class StackChart:
    """Stacks on one linear scale from zero.

    Attributes:
        title: the question that the chart answers.
        unit: the unit of all values, printed once.
        rows: from top to bottom; parts of the same name have the same colour in all rows.
        kind: how values are printed.
        description: for readers that do not see the chart; written from the data when empty.
        unknown: the word for a value that is not known.
    """

    title: str
    unit: str
    rows: tuple[StackRow, ...]
    kind: Kind = "figure"
    description: str = ""
    unknown: str = field(default_factory=lambda: say(numbers.UNKNOWN))


def draw(chart: StackChart, prefix: str) -> str:
    """The chart as SVG text."""
    declared = _declared(chart)
    chart = _with_drawn_limits(chart)
    canvas, live = Canvas(), Canvas()
    top = canvas.heading(chart.title, chart.unit) + 10
    column = label_column([row.label for row in chart.rows], bold=any(r.strong for r in chart.rows))
    scale = Axis(0.0, _reach(chart) or 1.0, column, WIDTH - 2)
    colours = _colours(chart)
    middles, depths = [], []
    for row in chart.rows:
        lines = wrap(clean(row.label), column, bold=row.strong) if column else [""]
        extra = max(0.0, len(lines) * BODY * LEADING - _BAR)
        middle = top + (_BAR + extra) / 2
        start = len(canvas.shapes)
        row_label(canvas, row.label, column, middle, bold=row.strong)
        if declared:
            canvas.group(start)
        depth = _row(live, row, chart, scale, middle, colours)
        middles.append(middle)
        depths.append(depth)
        top += _BAR + extra + depth + 14
    start = len(canvas.shapes)
    canvas.shapes += live.shapes
    places = {"left": column, "middles": middles, "depths": depths}
    canvas.live(start, declared and declared | places)
    return canvas.svg(prefix, chart.title, chart.description or describe(chart), top - 6)


def _declared(chart: StackChart) -> Declared:
    """What every part and limit stands for; nothing where that is not known of all."""
    limits = [row.limit for row in chart.rows if row.limit is not None]
    parts = [part for row in chart.rows for part in row.segments]
    if not figures([part.of for part in parts] + [limit.of for limit in limits]):
        return {}
    colours = _colours(chart)
    names = list(dict.fromkeys(part.label for part in parts))
    rows = [
        {
            "parts": [
                [names.index(part.label), part.of and part.of.declared()] for part in row.segments
            ],
            "limit": row.limit and _tagged(row.limit),
        }
        for row in chart.rows
    ]
    return {
        "draw": "stacks",
        "kind": chart.kind,
        "digits": _decimals(chart),
        "names": [[clean(n), *map(_as_style, _paint(colours.get(n)))] for n in names],
        "rows": rows,
    }


def _as_style(name: str) -> str:
    return f"var(--{name})" if name in palette.VARIABLES else name


def _tagged(limit: Mark) -> list[object]:
    return [clean(limit.label), limit.of and limit.of.declared()]


def _with_drawn_limits(chart: StackChart) -> StackChart:
    """Without the limits of rows whose parts end at it."""
    rows = tuple(
        replace(row, limit=None)
        if row.if_over and all((known(part.value) or 0.0) >= 0 for part in row.segments)
        else row
        for row in chart.rows
    )
    return replace(chart, rows=rows)


def describe(chart: StackChart) -> str:
    """The chart in words: unit, then every row with its parts and its limit."""
    chart = _with_drawn_limits(chart)
    rows = []
    for row in chart.rows:
        parts = [f"{part.label} {_shown(part.value, chart)}" for part in row.segments]
        if row.limit is not None:
            parts.append(f"{row.limit.label} {_shown(row.limit.value, chart)}")
        rows.append(f"{row.label}: " + ", ".join(parts) if row.label else ", ".join(parts))
    return f"{chart.unit}. " + "; ".join(rows) + "."


def _shown(value: Number, chart: StackChart) -> str:
    """A value with the decimals that all values share, so that the parts add up on paper."""
    return numbers.fixed(value, _decimals(chart), kind=chart.kind, unknown=chart.unknown)


def _decimals(chart: StackChart) -> int:
    parts = [part.value for row in chart.rows for part in row.segments]
    limits = [row.limit.value for row in chart.rows if row.limit is not None]
    return numbers.decimals_for([*parts, *limits], chart.kind)


def _length(segment: Segment) -> float:
    return max(0.0, known(segment.value) or 0.0)


def _reach(chart: StackChart) -> float:
    ends = [sum(_length(part) for part in row.segments) for row in chart.rows]
    limits = [known(row.limit.value) or 0.0 for row in chart.rows if row.limit is not None]
    return max([*ends, *limits], default=0.0)


def _colours(chart: StackChart) -> dict[str, int]:
    """Series numbers by part name, in the order in which the names appear."""
    names = [part.label for row in chart.rows for part in row.segments if not part.quiet]
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _row(
    canvas: Canvas,
    row: StackRow,
    chart: StackChart,
    scale: Axis,
    middle: float,
    colours: dict[str, int],
) -> float:
    """Draw one row; gives the height of the labels below it."""
    below: list[Tag] = []
    begin, end = 0.0, scale.begin
    for part in row.segments:
        length = _length(part)
        left, end = scale.at(begin), scale.at(begin + length)
        begin += length
        tag = Tag((left + end) / 2, clean(part.label), _shown(part.value, chart))
        if length:
            number = colours.get(part.label)
            inside = _area(canvas, tag, left, end, middle, number)
            if not inside:
                below.append(tag)
        else:
            unknown = known(part.value) is None
            below.append(replace(tag, at=end, tone="muted", italic=unknown, drawn=False))
    if row.limit is not None:
        below += _limit(canvas, row.limit, chart, scale, middle)
    return _names(canvas, below, scale.begin, middle + _BAR / 2)


def _area(
    canvas: Canvas, tag: Tag, left: float, right: float, middle: float, number: int | None
) -> bool:
    """Draw one part; true when its name and value fit inside."""
    width = max(right - left, 1.0)
    fill, edge, ink = _paint(number)
    # One unit of page between neighbours keeps them apart without a frame.
    canvas.rect(left, middle - _BAR / 2, max(width - 1, 1.0), _BAR, fill, edge)
    fits = text_width(tag.text) + 10 <= width
    if fits:
        canvas.text(left + 6, middle + BODY * 0.36, tag.text, tone=ink)
    return fits


def _paint(number: int | None) -> tuple[str, str, str]:
    """Fill, edge and ink of a part by the number of its series; what is left over has none."""
    if number is None:
        return "surface", "muted", "ink"
    slot = number % len(palette.SERIES) + 1
    fill, edge = f"series-{slot}", f"edge-{slot}"
    same = palette.VARIABLES[fill] == palette.VARIABLES[edge]
    return fill, "none" if same else edge, palette.text_on(palette.VARIABLES[fill].light)


def _limit(canvas: Canvas, limit: Mark, chart: StackChart, scale: Axis, middle: float) -> list[Tag]:
    value = known(limit.value)
    text = _shown(limit.value, chart)
    if value is None:
        return [Tag(scale.end, clean(limit.label), text, "muted", italic=True, drawn=False)]
    x = scale.at(value)
    tone = "accent" if limit.planned else "ink"
    canvas.polyline([(x, middle - _BAR / 2 - 4), (x, middle + _BAR / 2 + 4)], tone, 2, casing=True)
    return [Tag(x, clean(limit.label), text, tone)]


def _names(canvas: Canvas, tags: list[Tag], left: float, under: float) -> float:
    """Names below a row, those that lead to a part first; gives their height."""
    drawn = [tag for tag in tags if tag.drawn]
    rest = [tag for tag in tags if not tag.drawn]
    if len(tags) <= _PER_LINE and not is_crowded(place(tags, left, WIDTH, SMALL), SMALL):
        drawn, rest = tags, []
    depth = 0.0
    placed = place(drawn, left, WIDTH, SMALL)
    lanes = ladder(drawn, left, WIDTH, SMALL) if is_crowded(placed, SMALL) else None
    if lanes is not None:
        depth = _ladder_of_names(canvas, *lanes, under) - _LEADER + 4
    elif placed:
        _line_of_names(canvas, placed, under)
        depth = _LANE
    for start in range(0, len(rest), _PER_LINE):
        line = place(rest[start : start + _PER_LINE], left, WIDTH, SMALL)
        _line_of_names(canvas, line, under + depth)
        depth += _LANE
    return depth + _LEADER if tags else 0.0


def _ladder_of_names(
    canvas: Canvas, side: int, lanes: list[tuple[int, Tag]], under: float
) -> float:
    for lane, tag in lanes:
        base = under + _LANE * (lane + 1) + 2
        corner = tag.at + side * 4
        canvas.polyline([(tag.at, under + 1), (tag.at, base - 4), (corner, base - 4)], "muted")
        x, anchor = tag.at + side * LEADER_ROOM, "start" if side > 0 else "end"
        canvas.text(x, base, tag.text, size=SMALL, tone=_tone(tag), anchor=anchor)
    return _LANE * (max(lane for lane, _ in lanes) + 1)


def _line_of_names(canvas: Canvas, placed: list[tuple[float, Tag]], under: float) -> None:
    for centre, tag in placed:
        canvas.text(
            centre,
            under + _LEADER + SMALL,
            tag.text,
            size=SMALL,
            tone=_tone(tag),
            anchor="middle",
            italic=tag.italic,
        )
        if tag.drawn:
            half = text_width(tag.text, SMALL) / 2 - 3
            near = min(max(tag.at, centre - half), centre + half)
            canvas.polyline([(tag.at, under + 1), (near, under + _LEADER)], "muted")


def _tone(tag: Tag) -> str:
    return "muted" if tag.tone == "ink" else tag.tone
