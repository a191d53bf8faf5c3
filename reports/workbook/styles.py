"""Cell looks by role: the workbook's half of ``palette``."""

from __future__ import annotations

from typing import Any, Literal

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


def font(role: str = "ink", **how: Any) -> Font:
    """The one font of the book in the colour of a role."""
    return Font(name=FONT, size=how.pop("size", 10), color=argb(role), **how)


def fill(role: str) -> PatternFill:
    """A solid fill in the colour of a role."""
    return PatternFill("solid", fgColor=argb(role))


def rule_fill(role: str) -> PatternFill:
    """The fill of a conditional format."""
    return PatternFill(bgColor=argb(f"{role}-surface"))


def title(cell: Cell) -> None:
    """A sheet title."""
    cell.font = font(size=16, bold=True)


def sentence(cell: Cell) -> None:
    """The sentence under a title."""
    cell.font = font("muted")


def link(cell: Cell, target: str) -> None:
    """A link inside the book; ``target`` is ``'Sheet name'!A1``."""
    # As a location: a plain text would become a relation to something outside the book.
    cell.hyperlink = Hyperlink(ref=cell.coordinate, location=target)
    cell.font = font("accent", underline="single")


def heading(cell: Cell, role: Role) -> None:
    """A column heading with the line of its group."""
    cell.font = font(bold=True)
    cell.fill = fill("surface")
    cell.alignment = Alignment(wrap_text=True, vertical="bottom", horizontal=_side(role))
    cell.border = Border(top=Side("medium", color=argb(_GROUP_LINE[role])))


def unit(cell: Cell, role: Role) -> None:
    """The unit under a heading."""
    cell.font = font("muted", italic=True)
    cell.fill = fill("surface")
    cell.alignment = Alignment(horizontal=_side(role), vertical="top", shrink_to_fit=True)
    cell.border = Border(bottom=Side("thin", color=argb("line")))


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
