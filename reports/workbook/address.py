"""Where every name of the formulas lies in the book, and how a formula refers to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from planner.metrics import SLOTS
from reports.workbook.tables import FIRST, quote


class SheetNames:
    """Names of sheets that are called after labels: legal, and each once whatever its case."""

    def __init__(self, fixed: Iterable[str] = ()) -> None:
        """``fixed``: names that no label gets. Excel keeps ``History`` for itself."""
        self._taken = {name.lower() for name in (*fixed, "History")}
        self._given: dict[str, str] = {}

    def name(self, key: str, label: str) -> str:
        """The name for ``key``, at most 31 characters of the label; a taken one gets a number."""
        if key not in self._given:
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
    """Cells of plan values, case columns and layer-group slots by name."""

    cases: int
    sheets: SheetNames = field(default_factory=SheetNames)
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
