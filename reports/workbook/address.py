"""Where every name of the formulas lies in the book, and how a formula refers to it.

A figure takes one cell of a case's row, or a block of neighbouring ones: six for layer groups, one
for each pipeline stage, six for each stage where it is both. ``Spot`` names a cell of the block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from openpyxl.utils import get_column_letter

from planner.engine import Array
from planner.expr.check import GROUP, STAGE, STAGE_GROUP
from planner.expr.to_cells import Ref
from planner.metrics import SLOTS
from reports.workbook.tables import FIRST, quote

ANY = -1
"""Stands in a spot for "not divided by this"."""


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """Which stage and which layer-group slot, from 0; ``ANY`` where the figure has none."""

    stage: int = ANY
    slot: int = ANY

    @property
    def label(self) -> str:
        """What a heading adds: ``[2]`` for the second slot, ``[stage 1: 2]`` within a stage."""
        if self.stage == ANY:
            return "" if self.slot == ANY else f" [{self.slot + 1}]"
        inner = "" if self.slot == ANY else f": {self.slot + 1}"
        return f" [stage {self.stage + 1}{inner}]"


def spots(grain: int, stages: int) -> list[Spot]:
    """The cells that a figure of this grain takes, in order."""
    if grain == GROUP:
        return [Spot(slot=g) for g in range(SLOTS)]
    if grain == STAGE:
        return [Spot(stage=s) for s in range(stages)]
    if grain == STAGE_GROUP:
        return [Spot(s, g) for s in range(stages) for g in range(SLOTS)]
    return [Spot()]


def at_spot(values: Array, spot: Spot, cases: int) -> Array:
    """The values ``(cases,)`` of one cell of the block, out of a column as the engine holds it."""
    if values.ndim == 3:
        values = values[max(spot.stage, 0), max(spot.slot, 0) if values.shape[1] > 1 else 0]
    elif values.ndim == 2:
        values = values[max(spot.slot, 0)]
    return np.broadcast_to(values, (cases,))


Block = dict[Spot, str]


def block(grain: int, stages: int, first: int) -> Block:
    """Letters of a figure whose first cell is in column number ``first``."""
    return {spot: get_column_letter(first + k) for k, spot in enumerate(spots(grain, stages))}


class SheetNames:
    """Names of sheets that are called after labels: legal, and each once whatever its case."""

    def __init__(self, fixed: Iterable[str] = (), labels: Mapping[str, str] | None = None) -> None:
        """``fixed``: names that no label gets. Excel keeps ``History`` for itself.

        ``labels``: by key, what goes before any other label: a book in another language has
        the sheet names, and so the formulas, of the English one.
        """
        self._labels = labels or {}
        self._taken = {name.lower() for name in (*fixed, "History")}
        self._given: dict[str, str] = {}

    def name(self, key: str, label: str) -> str:
        """The name for ``key``, at most 31 characters of the label; a taken one gets a number."""
        if key not in self._given:
            label = self._labels.get(key, label)
            plain = "".join(c for c in label if c.isprintable() and c not in "[]:*?/\\'").strip()
            name, number = plain[:31].strip() or "Table", 1
            while name.lower() in self._taken:
                number += 1
                name = f"{plain[: 30 - len(str(number))].strip()} {number}"
            self._taken.add(name.lower())
            self._given[key] = name
        return self._given[key]


@dataclass(slots=True)
class Addresses:
    """Cells of plan values by name, and blocks of case rows by name and sheet."""

    cases: int
    stages: int
    sheets: SheetNames = field(default_factory=SheetNames)
    fixed: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, tuple[str, Block]] = field(default_factory=dict)

    def place(self, name: str, sheet: str, letter: str) -> None:
        """A figure with one cell a case."""
        self.blocks[name] = (sheet, {Spot(): letter})

    def letter(self, name: str) -> str:
        """Column of a figure with one cell a case."""
        return self.blocks[name][1][Spot()]

    def ref(self, here: str, spot: Spot = Spot(), row: str = "{r}") -> Ref:
        """References as seen from a row of sheet ``here``, for one spot of the figure."""

        def find(name: str) -> str:
            if name in self.fixed:
                return self.fixed[name]
            sheet, letters = self.blocks[name]
            return _cell(sheet, pick(letters, spot), here, row)

        return find

    def span(self, here: str, spot: Spot = Spot(), row: str = "{r}") -> Ref:
        """What a reduction runs over: the slots (of the stage), or the stages of a row."""

        def find(name: str) -> str:
            sheet, letters = self.blocks[name]
            found = [f"{letter}{row}" for letter in run(letters, spot)]
            prefix = "" if sheet == here else f"{quote(sheet)}!"
            return prefix + (found[0] if len(found) == 1 else f"{found[0]}:{found[-1]}")

        return find

    def plan_span(self, name: str) -> str:
        """What a reduction of a plan formula runs over: a whole case column."""
        sheet, letter = self.blocks[name][0], self.letter(name)
        return f"{quote(sheet)}!${letter}${FIRST}:${letter}${FIRST + self.cases - 1}"


def pick(letters: Block, spot: Spot) -> str:
    """The letter for a spot; a figure that is not divided by stage or slot has one for all."""
    first = next(iter(letters))
    stage = ANY if first.stage == ANY else max(spot.stage, 0)
    slot = ANY if first.slot == ANY else max(spot.slot, 0)
    return letters[Spot(stage, slot)]


def run(letters: Block, spot: Spot) -> list[str]:
    """The neighbouring letters of a reduction."""
    first = next(iter(letters))
    if first.slot != ANY and first.stage != ANY:
        return [letters[Spot(max(spot.stage, 0), g)] for g in range(SLOTS)]
    return list(letters.values())


def own_ref(own: Mapping[str, Block], spot: Spot, outside: Ref) -> Ref:
    """References from a row that has some figures itself and takes the others from elsewhere."""

    def find(name: str) -> str:
        return f"{pick(own[name], spot)}{{r}}" if name in own else outside(name)

    return find


def own_span(own: Mapping[str, Block], spot: Spot, outside: Ref) -> Ref:
    """What a reduction runs over in such a row."""

    def find(name: str) -> str:
        if name not in own:
            return outside(name)
        letters = run(own[name], spot)
        first, last = f"{letters[0]}{{r}}", f"{letters[-1]}{{r}}"
        return first if first == last else f"{first}:{last}"

    return find


def _cell(sheet: str, letter: str, here: str, row: str) -> str:
    return f"{letter}{row}" if sheet == here else f"{quote(sheet)}!{letter}{row}"
