"""The one table of colours; nothing else in the code base names a colour.

A role has a light and a dark value. Roles that carry text reach 4.5:1 on every surface they are
used on, graphics reach 3:1; ``tests/test_palette.py`` computes it from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Colour:
    """One role in both modes, each as ``#RRGGBB``."""

    light: str
    dark: str

    def value(self, mode: Mode = "light") -> str:
        """The colour of one mode."""
        return self.light if mode == "light" else self.dark


@dataclass(frozen=True, slots=True)
class Series:
    """A chart colour: what fills an area, and what draws its edge or a line.

    The fills are the same in both modes, so that a printed page and a dark screen can be talked
    about with the same words. Where a fill is too faint on the page the edge carries the contrast.
    """

    fill: Colour
    edge: Colour


ROLES: dict[str, Colour] = {
    "page": Colour("#FFFFFF", "#12171C"),
    "surface": Colour("#F4F6F8", "#1B2229"),
    "ink": Colour("#1F2933", "#E6EAEE"),
    "muted": Colour("#5B6672", "#A3ADB8"),
    "line": Colour("#D5DBE1", "#36404A"),
    "accent": Colour("#0F766E", "#2DD4BF"),
    "input": Colour("#1D4ED8", "#93B4FF"),
    "input-surface": Colour("#FFFBE6", "#2B2814"),
    "linked": Colour("#15803D", "#4ADE80"),
    "good": Colour("#166534", "#86EFAC"),
    "good-surface": Colour("#DCFCE7", "#12301F"),
    "warn": Colour("#92400E", "#FCD34D"),
    "warn-surface": Colour("#FEF3C7", "#3A2A0A"),
    "bad": Colour("#991B1B", "#FCA5A5"),
    "bad-surface": Colour("#FEE2E2", "#421A1A"),
}

# The text roles and the surfaces each may stand on. Verdicts and inputs also stand on plain paper.
TEXT_ON: dict[str, tuple[str, ...]] = {
    "ink": ("page", "surface", "good-surface", "warn-surface", "bad-surface"),
    "muted": ("page", "surface"),
    "accent": ("page", "surface"),
    "input": ("page", "surface", "input-surface"),
    "linked": ("page", "surface"),
    "good": ("page", "surface", "good-surface"),
    "warn": ("page", "surface", "warn-surface"),
    "bad": ("page", "surface", "bad-surface"),
}


def _series(fill: str, light_edge: str = "", dark_edge: str = "") -> Series:
    return Series(Colour(fill, fill), Colour(light_edge or fill, dark_edge or fill))


# Safe for colour-blind readers; the order is fixed, so a thing keeps its colour between issues.
SERIES: tuple[Series, ...] = (
    _series("#0072B2"),
    _series("#E69F00", light_edge="#B97F00"),
    _series("#009E73"),
    _series("#D55E00"),
    _series("#CC79A7", light_edge="#C2649A"),
    _series("#56B4E9", light_edge="#2F93CE"),
    _series("#F0E442", light_edge="#958D00"),
    _series("#000000", dark_edge="#E6EAEE"),
)

# A terminal owns its colours; these are names of the eight that every one has.
TERMINAL: dict[str, str] = {
    "muted": "dim",
    "accent": "cyan",
    "input": "blue",
    "linked": "green",
    "good": "green",
    "warn": "yellow",
    "bad": "red",
}

# System fonts only; the CJK names come before the generic family, so Latin text keeps its face.
FONT_STACK = (
    "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', "
    "'Liberation Sans', Arial, 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
)


def colour(role: str, mode: Mode = "light") -> str:
    """The ``#RRGGBB`` of a role.

    Raises:
        KeyError: a role that the table does not have.
    """
    return ROLES[role].value(mode)


def series(index: int) -> Series:
    """The series colour at ``index``, counted from 0; it starts again after the last."""
    return SERIES[index % len(SERIES)]


def argb(role: str) -> str:
    """The light value as a spreadsheet writes it, ``FFRRGGBB``."""
    return "FF" + colour(role)[1:]


def luminance(value: str) -> float:
    """Relative luminance of ``#RRGGBB`` after WCAG 2.2, from 0 (black) to 1 (white)."""
    parts = [int(value[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two ``#RRGGBB`` colours after WCAG 2.2, from 1 to 21."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def text_on(fill: str) -> str:
    """Black or white, whichever reads better on ``fill``; the better of the two is over 4.5:1."""
    return max("#FFFFFF", "#000000", key=lambda ink: contrast(ink, fill))


def _variables() -> dict[str, Colour]:
    every = dict(ROLES)
    for number, entry in enumerate(SERIES, 1):
        every[f"series-{number}"] = entry.fill
        every[f"edge-{number}"] = entry.edge
    return every


# Every colour by the name of its CSS variable: the roles, then series-1, edge-1, series-2, ...
VARIABLES: dict[str, Colour] = _variables()


def declarations(mode: Mode) -> str:
    """The CSS variables of one mode, one ``--name:value;`` each, without a selector."""
    return "".join(f"--{name}:{entry.value(mode)};" for name, entry in VARIABLES.items())


def css_variables() -> str:
    """The style text that defines every colour: light, and dark on screens that ask for it.

    Paper always gets the light values, because the dark ones are bound to screens.
    """
    return (
        f":root{{color-scheme:light dark;{declarations('light')}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{declarations('dark')}}}}}\n"
        "@media print{:root{color-scheme:light}}\n"
    )
