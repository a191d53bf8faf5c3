"""Tables of a view: columns in display units, rows with their keys, ladders of variants.

A value is a number, a flag, a word, or None where it is unknown; what does not apply to a row is
listed in ``absent``. The two never look alike: the word ``unknown`` and a dash.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from reports import numbers
from reports.words import called, say, term

Value = float | bool | str | None
Kind = Literal["figure", "count", "bytes", "ratio", "share", "word", "flag"]
Tone = Literal["", "good", "warn", "bad", "muted"]

WORD_TONES: dict[str, Tone] = {"fits": "good", "does not fit": "bad", "unknown": "warn"}
"""Words that are verdicts; every other word is plain."""

_LONG, _GROUPS = 100, 0.2
"""Above so many rows a table groups deeper, into groups of five rows or more on average."""
_FLIP_UP_TO = 3


def text_of(value: Value, kind: Kind, decimals: int | None = None, *, plain: bool = False) -> str:
    """One value as people read it; ``decimals`` None shows it on its own, without a column."""
    if value is None:
        return say(numbers.UNKNOWN)
    if isinstance(value, str):
        return called(value)
    if isinstance(value, bool) or kind == "word" or kind == "flag":
        return say("yes") if value else say("no")
    if decimals is None:
        return numbers.show(value, kind, plain=plain, unknown=say(numbers.UNKNOWN))
    return numbers.fixed(value, decimals, kind=kind, plain=plain, unknown=say(numbers.UNKNOWN))


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: a metric, with its unit said once.

    Attributes:
        name: the metric's name, the same in every output.
        label: the heading.
        unit: the unit for people, such as ``GiB/GPU``; empty for words and pure numbers.
        machine_unit: the unit as the unit table spells it; ``1`` for pure numbers.
        kind: how values are shown.
        decimals: digits after the point of every value.
        better: ``up``, ``down`` or ``none``.
        values: a value per row of the table.
        absent: rows to which the metric does not apply.
        why: what it says, in one sentence.
        origin: the user's file that declared it, empty for a built-in metric.
        priority: what is dropped first where there is no room: the highest number.
    """

    name: str
    label: str
    unit: str
    machine_unit: str
    kind: Kind
    decimals: int
    better: str
    values: tuple[Value, ...] = field(repr=False)
    absent: frozenset[int] = frozenset()
    why: str = ""
    origin: str = ""
    priority: int = 0

    @property
    def align(self) -> Literal["left", "right"]:
        """Words stand left, numbers right."""
        return "left" if self.kind in ("word", "flag") else "right"

    def text(self, row: int, *, plain: bool = False) -> str:
        """The cell as people read it."""
        if row in self.absent:
            return numbers.NOT_APPLICABLE
        return text_of(self.values[row], self.kind, self.decimals, plain=plain)

    def tone(self, row: int) -> Tone:
        """How the cell is set: a verdict, muted for what is unknown or does not apply, or plain."""
        value = self.values[row]
        if row in self.absent or (value is None and self.kind != "word"):
            return "muted"
        return WORD_TONES.get(value, "") if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the parts of its key, and the cases that it stands for.

    Attributes:
        key: words that tell the row from the others, such as model, GPU and workload.
        cases: positions in ``View.cases``; several where the table does not tell them apart.
        extra: further key cells with a column of their own, such as the layer group.
        place: pipeline stage and layer group of the figures, where the row has one of its own.
    """

    key: tuple[str, ...]
    cases: tuple[int, ...]
    extra: tuple[str, ...] = ()
    place: tuple[int, int] = (0, 0)

    @property
    def label(self) -> str:
        """The key as one text."""
        return " · ".join(self.key)


@dataclass(frozen=True, slots=True)
class Table:
    """A table to read: key columns, then a column per metric (or per rung of a ladder).

    Not every column is drawn. ``same`` holds those that have one value in all rows; ``equal`` those
    whose numbers are those of another column, with its label. Both are said once, beside the table.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    key_label: str = term("Case")
    extra_labels: tuple[str, ...] = ()
    note: str = ""
    same: tuple[Column, ...] = ()
    equal: tuple[tuple[Column, str], ...] = ()

    @property
    def is_grouped(self) -> bool:
        """Whether rows read better below the first part of their key, said once for several."""
        if any(len(row.key) < 2 for row in self.rows):
            return False
        starts = sum(self.starts_group(row) for row in range(len(self.rows)))
        return starts > 1 and 2 * starts <= len(self.rows)

    @property
    def depth(self) -> int:
        """How many first parts of the keys are said once for several rows: more in a long table."""
        if not self.is_grouped or len(self.rows) <= _LONG:
            return int(self.is_grouped)
        deepest = min(len(row.key) for row in self.rows) - 1
        return max(d for d in range(1, deepest + 1) if d == 1 or self._groups(d) <= _GROUPS)

    def _groups(self, depth: int) -> float:
        """Groups over rows."""
        starts = sum(self.starts_group(row, depth) for row in range(len(self.rows)))
        return starts / len(self.rows)

    @property
    def is_flipped(self) -> bool:
        """Whether few rows read better as columns: a line per figure, as in a statement."""
        return len(self.rows) <= _FLIP_UP_TO and len(self.columns) > 2 * len(self.rows)

    def starts_group(self, row: int, depth: int = 1) -> bool:
        """Whether a row is the first of those with these first parts of their key."""
        return row == 0 or self.rows[row].key[:depth] != self.rows[row - 1].key[:depth]

    def all_columns(self) -> list[Column]:
        """Every column in reading order, those with one value in all rows included."""
        every = [*self.columns, *self.same, *(column for column, _ in self.equal)]
        return sorted(every, key=lambda column: column.priority)

    def remarks(self) -> list[str]:
        """What is said beside the table: merged rows, folded columns."""
        found = [self.note] if self.note else []
        if self.same:
            words = (f"{c.label} {c.text(0)} {c.unit}".rstrip() for c in self.same)
            found.append(say(f"In every row: {say('; ').join(words)}."))
        if self.equal:
            words = (say(f"{column.label} is that of {other}") for column, other in self.equal)
            found.append(say(f"The same numbers: {say('; ').join(words)}."))
        return found


@dataclass(frozen=True, slots=True)
class RungInput:
    """An input that rungs replace: its values in display units, None for the case's own."""

    name: str
    machine_unit: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Ladder:
    """One set of variants: a grid per metric, a row per case (as far as told apart), rungs across.

    Attributes:
        name: the name of the set of variants.
        rung_label: what the headings of the grids are, with ``rung_unit`` as their unit.
        inputs: what the rungs replace, each with its values.
        grids: tables called ``ladder.metric`` whose columns are the rungs.
        names: short names of the rungs, where they have any.
    """

    name: str
    label: str
    meaning: str
    rung_label: str
    rung_unit: str
    inputs: tuple[RungInput, ...]
    grids: tuple[Table, ...]
    names: tuple[str, ...] = ()

    @property
    def rungs(self) -> tuple[float | None, ...]:
        """The values of the first input."""
        return self.inputs[0].values

    @property
    def across(self) -> str:
        """What the columns of the grids stand for."""
        if self.names:
            return say(f"by rung of the {self.label}")
        return say(f"by {self.rung_label.lower()} ({self.rung_unit})")

    def distinct(self) -> list[tuple[Table, str]]:
        """The grids that differ, each with a remark on those that show the same numbers."""
        kept: list[tuple[Table, list[str]]] = []
        for grid in self.grids:
            values = [column.values for column in grid.columns]
            for other, also in kept:
                keys = [row.key for row in other.rows] == [row.key for row in grid.rows]
                if keys and values == [column.values for column in other.columns]:
                    also.append(grid.caption)
                    break
            else:
                kept.append((grid, []))
        return [(g, say(f"The same numbers: {say('; ').join(a)}.") if a else "") for g, a in kept]
