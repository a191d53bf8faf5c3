"""Cell looks by role: the workbook's half of ``palette``."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec
from weakref import WeakKeyDictionary

from openpyxl import Workbook
from openpyxl.cell import Cell
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.worksheet.hyperlink import Hyperlink

from reports.palette import argb

__all__ = [
    "Role",
    "argb",
    "body",
    "fill",
    "font",
    "heading",
    "link",
    "plain",
    "rule_fill",
    "sentence",
    "title",
    "unit",
]

FONT = "Calibri"
Role = Literal["key", "input", "catalog", "derived", "threshold", "linked", "note", "check"]

# Text colour of a body cell, fill, and the line above the heading that marks the column group.
_INK = {
    "key": "ink", "input": "input", "catalog": "linked", "derived": "ink", "threshold": "ink",
    "linked": "linked", "note": "muted", "check": "ink",
}  # fmt: skip
_GROUP_LINE = {
    "key": "ink", "input": "input", "catalog": "muted", "derived": "ink", "threshold": "accent",
    "linked": "linked", "note": "line", "check": "accent",
}  # fmt: skip
TAB = {
    "front": "accent", "inputs": "input", "catalog": "muted", "calculation": "ink",
    "checks": "good", "back": "line",
}  # fmt: skip


P = ParamSpec("P")
Look = Callable[Concatenate[Cell, P], None]

_LOOKS: WeakKeyDictionary[Workbook, dict[Any, Any]] = WeakKeyDictionary()


def _remembered(look: Look[P]) -> Look[P]:
    """A look that each book makes once: openpyxl hashes every part of every cell's style anew.

    A look follows from its arguments, from how the cell looked before, and from whether the cell
    stands in the first column.
    """

    @wraps(look)
    def put(cell: Cell, /, *args: P.args, **named: P.kwargs) -> None:
        styled: Any = cell
        known = _LOOKS.setdefault(styled.parent.parent, {})
        how = tuple(sorted(named.items()))
        before = styled._style.tobytes() if styled._style else b""
        key = look.__name__, args, how, before, styled.column > 1
        if key in known:
            styled._style = copy(known[key])
        else:
            look(cell, *args, **named)
            known[key] = copy(styled._style)

    return put


def font(role: str = "ink", **how: Any) -> Font:
    """The one font of the book in the colour of a role."""
    return Font(name=FONT, size=how.pop("size", 10), color=argb(role), **how)


def fill(role: str) -> PatternFill:
    """A solid fill in the colour of a role."""
    return PatternFill("solid", fgColor=argb(role))


def rule_fill(role: str) -> PatternFill:
    """The fill of a conditional format; ``page`` takes a fill away."""
    return PatternFill(bgColor=argb(role if role == "page" else f"{role}-surface"))


@_remembered
def plain(cell: Cell) -> None:
    """The font of the book, and nothing else."""
    cell.font = font()


def title(cell: Cell) -> None:
    """A sheet title."""
    cell.font = font(size=16, bold=True)


@_remembered
def sentence(cell: Cell) -> None:
    """The sentence under a title."""
    cell.font = font("muted")


def link(cell: Cell, target: str) -> None:
    """A link inside the book; ``target`` is ``'Sheet name'!A1``."""
    # As a location: a plain text would become a relation to something outside the book.
    cell.hyperlink = Hyperlink(ref=cell.coordinate, location=target)
    cell.font = font("accent", underline="single")


@_remembered
def heading(cell: Cell, role: Role) -> None:
    """A column heading with the line of its group."""
    cell.font = font(bold=True)
    cell.fill = fill("surface")
    cell.alignment = Alignment(wrap_text=True, vertical="bottom", horizontal=_side(role))
    cell.border = Border(top=Side("medium", color=argb(_GROUP_LINE[role])))


@_remembered
def unit(cell: Cell, role: Role) -> None:
    """The unit under a heading."""
    cell.font = font("muted", italic=True)
    cell.fill = fill("surface")
    cell.alignment = Alignment(horizontal=_side(role), vertical="top", shrink_to_fit=True)
    cell.border = Border(bottom=Side("thin", color=argb("line")))


@_remembered
def body(cell: Cell, role: Role, number_format: str, text: bool, wrap: bool = False) -> None:
    """A body cell; only cells that a person may change carry the input look."""
    cell.font = font(_INK[role])
    cell.number_format = number_format
    horizontal = "left" if text or role == "key" else "right"
    # Text keeps clear of the number before it.
    indent = 1 if text and cell.column > 1 else 0
    cell.alignment = Alignment(
        horizontal=horizontal, vertical="center", wrap_text=wrap, indent=indent
    )
    if role == "input":
        cell.fill = fill("input-surface")
    if text:
        cell.quotePrefix = True


def _side(role: Role) -> str:
    return "left" if role in ("key", "note") else "center"
