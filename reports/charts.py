"""Charts as inline SVG: a frozen description goes in, text comes out, the same for the same data.

Nothing here computes a figure; values come from the view. What is not known is drawn as the word.
"""

from __future__ import annotations

import re

from reports import charts_bars, charts_lines, charts_stack, charts_waterfall
from reports.charts_bars import Bar, BarChart, Mark
from reports.charts_lines import Level, Line, LineChart, Point
from reports.charts_live import Curve, Figure, Note
from reports.charts_stack import Segment, StackChart, StackRow
from reports.charts_svg import css
from reports.charts_waterfall import Part, Step, WaterfallChart

__all__ = [
    "Bar",
    "BarChart",
    "Chart",
    "Curve",
    "Figure",
    "Level",
    "Line",
    "LineChart",
    "Mark",
    "Note",
    "Part",
    "Point",
    "Segment",
    "StackChart",
    "StackRow",
    "Step",
    "WaterfallChart",
    "css",
    "describe",
    "render",
]

Chart = BarChart | StackChart | LineChart | WaterfallChart


def render(spec: Chart, prefix: str) -> str:
    """One chart as an ``<svg>`` element.

    Args:
        spec: what to draw.
        prefix: begins every id in the element; must differ between the charts of one page.

    Raises:
        ValueError: a prefix that is not a plain id.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", prefix):
        raise ValueError(f"expected a plain id such as chart-1, found '{prefix}'")
    if isinstance(spec, BarChart):
        return charts_bars.draw(spec, prefix)
    if isinstance(spec, StackChart):
        return charts_stack.draw(spec, prefix)
    if isinstance(spec, WaterfallChart):
        return charts_waterfall.draw(spec, prefix)
    return charts_lines.draw(spec, prefix)


def describe(spec: Chart) -> str:
    """What the chart shows in words, as its ``<desc>`` has it."""
    if spec.description:
        return spec.description
    if isinstance(spec, BarChart):
        return charts_bars.describe(spec)
    if isinstance(spec, StackChart):
        return charts_stack.describe(spec)
    if isinstance(spec, WaterfallChart):
        return charts_waterfall.describe(spec)
    return charts_lines.describe(spec)
