"""Where every name of the formulas lies in the book, and how a formula refers to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from planner.metrics import SLOTS
from reports.workbook.tables import FIRST, quote


@dataclass(slots=True)
class Addresses:
    """Cells of plan values, case columns and layer-group slots by name."""

    cases: int
    fixed: dict[str, str] = field(default_factory=dict)
    columns: dict[str, tuple[str, str]] = field(default_factory=dict)
    slots: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)

    def place(self, name: str, sheet: str, letter: str) -> None:
        """A case column."""
        self.columns[name] = (sheet, letter)

    def place_slots(self, name: str, sheet: str, letters: tuple[str, ...]) -> None:
        """Six neighbouring columns, one a layer-group slot."""
        if len(letters) != SLOTS:
            raise ValueError(f"{name}: expected {SLOTS} slot columns")
        self.slots[name] = (sheet, letters)

    def ref(self, here: str, slot: int = 0, row: str = "{r}") -> Callable[[str], str]:
        """References as seen from a row of sheet ``here``; group names mean the given slot."""

        def find(name: str) -> str:
            if name in self.fixed:
                return self.fixed[name]
            if name in self.slots:
                sheet, letters = self.slots[name]
                return _cell(sheet, letters[slot], here, row)
            sheet, letter = self.columns[name]
            return _cell(sheet, letter, here, row)

        return find

    def span(self, here: str, row: str = "{r}") -> Callable[[str], str]:
        """What a reduction of a case formula runs over: the six slots of a row."""

        def find(name: str) -> str:
            sheet, letters = self.slots[name]
            prefix = "" if sheet == here else f"{quote(sheet)}!"
            return f"{prefix}{letters[0]}{row}:{letters[-1]}{row}"

        return find

    def plan_span(self, name: str) -> str:
        """What a reduction of a plan formula runs over: a whole case column."""
        sheet, letter = self.columns[name]
        return f"{quote(sheet)}!${letter}${FIRST}:${letter}${FIRST + self.cases - 1}"


def _cell(sheet: str, letter: str, here: str, row: str) -> str:
    return f"{letter}{row}" if sheet == here else f"{quote(sheet)}!{letter}{row}"
