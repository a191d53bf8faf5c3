"""The SVG canvas that every chart draws on.

Coordinates are user units of a view box 640 wide. Every shape carries its colours as presentation
attributes, so a chart is right where styles are blocked; a class on top lets dark mode change them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from reports import palette
from reports.charts_text import BODY, TITLE, clean, cut, wrap

WIDTH = 640.0
LEADING = 1.3


def coordinate(value: float) -> str:
    """A number for an SVG attribute: two decimals at most, never an exponent or a lone sign.

    Raises:
        ValueError: a value that is not finite.
    """
    if not math.isfinite(value):
        raise ValueError("expected a finite coordinate")
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _paint(kind: str, name: str) -> tuple[str, str]:
    """The presentation attribute and the class for a colour name, a ``#RRGGBB`` or ``none``."""
    if not name or name == "none" or name.startswith("#"):
        return f' {kind}="{name or "none"}"', ""
    colour = palette.VARIABLES[name]
    same = colour.light == colour.dark
    return f' {kind}="{colour.light}"', "" if same else f"{kind[0]}-{name}"


def css() -> str:
    """The style text for charts, once a page: size, tabular digits, colours as variables."""
    rules = [
        "svg.chart{display:block;width:100%;min-width:30rem;max-width:48rem;height:auto}",
        "svg.chart text{font-variant-numeric:tabular-nums}",
    ]
    for name, colour in palette.VARIABLES.items():
        if colour.light != colour.dark:
            rules.append(f".chart .f-{name}{{fill:var(--{name})}}")
            rules.append(f".chart .s-{name}{{stroke:var(--{name})}}")
    return "\n".join(rules) + "\n"


@dataclass(slots=True)
class Canvas:
    """Collects shapes from back to front and writes them as one SVG element."""

    shapes: list[str] = field(default_factory=list)

    def _add(self, tag: str, attributes: str, fill: str, stroke: str, width: float) -> None:
        fill_text, fill_class = _paint("fill", fill)
        stroke_text, stroke_class = _paint("stroke", stroke)
        if stroke != "none":
            stroke_text += f' stroke-width="{coordinate(width)}"'
        names = " ".join(name for name in (fill_class, stroke_class) if name)
        class_text = f' class="{names}"' if names else ""
        self.shapes.append(f"<{tag}{class_text}{attributes}{fill_text}{stroke_text}/>")

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "none"
    ) -> None:
        """A filled area; an edge, where there is one, is drawn inside it."""
        inset = 0.5 if stroke != "none" else 0.0
        numbers = (x + inset, y + inset, max(0.0, width - 2 * inset), height - 2 * inset)
        names = ("x", "y", "width", "height")
        pairs = zip(names, numbers, strict=True)
        attributes = "".join(f' {name}="{coordinate(number)}"' for name, number in pairs)
        self._add("rect", attributes, fill, stroke, 1)

    def polyline(
        self,
        points: Sequence[tuple[float, float]],
        stroke: str,
        width: float = 1.0,
        *,
        dash: str = "",
        casing: bool = False,
    ) -> None:
        """A line through points; ``casing`` keeps it apart from the shapes it crosses."""
        path = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)
        attributes = f' points="{path}" stroke-linejoin="round"'
        if casing:
            self._add("polyline", attributes, "none", "page", width + 2.5)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self._add("polyline", attributes + dashed, "none", stroke, width)

    def dot(self, x: float, y: float, radius: float, fill: str, stroke: str = "page") -> None:
        """A marked point with a ring that keeps it apart from the lines below."""
        attributes = f' cx="{coordinate(x)}" cy="{coordinate(y)}" r="{coordinate(radius)}"'
        self._add("circle", attributes, fill, stroke, 1.5)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = BODY,
        tone: str = "ink",
        anchor: str = "start",
        bold: bool = False,
        italic: bool = False,
        halo: bool = False,
    ) -> None:
        """One line of text with its base line at ``y``; ``halo`` clears what lies behind it."""
        if not text:
            return
        if halo:
            stroke, stroke_class = _paint("stroke", "page")
            extra = f'{stroke} stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
        else:
            extra, stroke_class = "", ""
        fill, fill_class = _paint("fill", tone)
        names = " ".join(name for name in (fill_class, stroke_class) if name)
        class_text = f' class="{names}"' if names else ""
        attributes = f' x="{coordinate(x)}" y="{coordinate(y)}" font-size="{coordinate(size)}"'
        attributes += f' text-anchor="{anchor}"' if anchor != "start" else ""
        attributes += ' font-weight="600"' if bold else ""
        attributes += ' font-style="italic"' if italic else ""
        self.shapes.append(f"<text{class_text}{attributes}{fill}{extra}>{escape(text)}</text>")

    def heading(self, title: str, unit: str) -> float:
        """Title and unit line at the top; gives the ``y`` below them."""
        y = TITLE + 2
        for line in wrap(clean(title), WIDTH - 4, TITLE, lines=2, bold=True):
            self.text(0, y, line, size=TITLE, bold=True)
            y += TITLE * LEADING
        if unit:
            self.text(0, y, cut(clean(unit), WIDTH - 4), tone="muted")
            y += BODY * LEADING
        return y - 4

    def group(self, start: int, attributes: str = "") -> None:
        """Put all shapes from ``start`` on into one group."""
        self.shapes[start:] = [f"<g{attributes}>", *self.shapes[start:], "</g>"]

    def live(self, start: int, declared: Mapping[str, object]) -> None:
        """Say of all shapes from ``start`` on what they stand for, if that is known."""
        if declared:
            text = json.dumps(declared, ensure_ascii=False, separators=(",", ":"))
            # Quotes are most of the text and stay as they are.
            text = escape(text, quote=False).replace("'", "&#39;")
            self.group(start, f" data-live='{text}'")

    def svg(self, prefix: str, title: str, description: str, height: float) -> str:
        """The whole element, with names for readers that do not see it."""
        head = (
            f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {coordinate(WIDTH)} {coordinate(height)}" width="100%" role="img" '
            f'aria-labelledby="{prefix}-title {prefix}-desc" '
            f'font-family="{palette.FONT_STACK}">'
        )
        names = (
            f'<title id="{prefix}-title">{escape(clean(title))}</title>'
            f'<desc id="{prefix}-desc">{escape(clean(description))}</desc>'
        )
        return "\n".join([head, names, *self.shapes, "</svg>"]) + "\n"
