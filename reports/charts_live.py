"""What the shapes of a chart stand for, so that a page can draw them again from its own figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.numbers import Kind


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric or input in one case, or the lowest and the highest of several."""

    name: str
    cases: tuple[int, ...]

    def declared(self) -> list[str | int]:
        """The figure as a page reads it."""
        return [self.name, *self.cases]


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric of one case over a set of variants, against a name that moves with them."""

    name: str
    across: str
    variants: str
    case: int

    def declared(self) -> list[str | int]:
        """The curve as a page reads it."""
        return [self.name, self.across, self.variants, self.case]


@dataclass(frozen=True, slots=True)
class Note:
    """Words beside a bar.

    Attributes:
        words: the words; ``{}`` is where the figure goes.
        of: the figure; None where the words hold none.
        kind: how the figure is printed.
        longest: what stands in place of the words at the longest bar under one label.
    """

    words: str
    of: Figure | None = None
    kind: Kind = "figure"
    longest: str = ""


Declared = dict[str, object]


def figures(of: Sequence[Figure | Curve | None]) -> bool:
    """True where there are values and each says what it stands for."""
    return bool(of) and None not in of
