"""The parts of a view: frozen, in display units, with the words that a reader sees.

A value is a number, a flag, a word, or None where it is unknown; what does not apply to a row is
listed in ``absent``. The two never look alike: the word ``unknown`` and a dash.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from reports import numbers
from reports.charts import Chart

Value = float | bool | str | None
Kind = Literal["figure", "count", "bytes", "ratio", "share", "word", "flag"]
Tone = Literal["", "good", "warn", "bad", "muted"]

WORD_TONES: dict[str, Tone] = {"fits": "good", "does not fit": "bad", "unknown": "warn"}
"""Words that are verdicts; every other word is plain."""


def text_of(value: Value, kind: Kind, decimals: int | None = None, *, plain: bool = False) -> str:
    """One value as people read it; ``decimals`` None shows it on its own, without a column."""
    if value is None:
        return numbers.UNKNOWN
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or kind in ("word", "flag"):
        return "yes" if value else "no"
    if decimals is None:
        return numbers.show(value, kind, plain=plain)
    return numbers.fixed(value, decimals, kind=kind, plain=plain)


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
    """

    key: tuple[str, ...]
    cases: tuple[int, ...]
    extra: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The key as one text."""
        return " · ".join(self.key)


@dataclass(frozen=True, slots=True)
class Table:
    """A table to read: key columns, then a column per metric (or per rung of a ladder).

    ``same`` holds the columns that have one value in all rows; they are said once, above the table.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    key_label: str = "Case"
    extra_labels: tuple[str, ...] = ()
    note: str = ""
    same: tuple[Column, ...] = ()

    def all_columns(self) -> list[Column]:
        """Every column in reading order, those with one value in all rows included."""
        return sorted([*self.columns, *self.same], key=lambda column: column.priority)


@dataclass(frozen=True, slots=True)
class Ladder:
    """One set of variants: a grid per metric, a row per case (as far as told apart), rungs across.

    Attributes:
        name: the name of the set of variants.
        replaces: the input that the rungs replace.
        rungs: its values in display units; ``rung_unit`` and ``machine_unit`` are their units.
        grids: tables called ``ladder.metric`` whose columns are the rungs.
    """

    name: str
    label: str
    meaning: str
    replaces: str
    rung_label: str
    rung_unit: str
    machine_unit: str
    rungs: tuple[float, ...]
    grids: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the whole plan."""

    name: str
    label: str
    text: str
    unit: str
    why: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the plan as a section: what it answers, and its tables, figures and charts."""

    name: str
    label: str
    answers: str
    tables: tuple[Table, ...]
    ladders: tuple[Ladder, ...] = ()
    figures: tuple[Figure, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, slots=True)
class Tile:
    """One headline figure: its number, unit, name, and what bounds or explains it.

    ``metric`` and ``case`` say where it stands, so that a workbook can link the cell; ``case`` is
    None for a count over all cases.
    """

    text: str
    unit: str
    label: str
    bound: str
    metric: str
    case: int | None = None
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class CaseName:
    """A case for people: the parts that vary, its full id, all axes, and machine keys."""

    id: str
    anchor: str
    parts: tuple[str, ...]
    details: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, Value], ...]

    @property
    def label(self) -> str:
        """The parts that vary as one text."""
        return " · ".join(self.parts)


@dataclass(frozen=True, slots=True)
class Assumption:
    """One input of the plan: its value, where it came from, and how sure it is."""

    name: str
    label: str
    text: str
    unit: str
    origin: str
    place: str
    sources: tuple[int, ...]
    confidence: str
    note: str
    meaning: str


@dataclass(frozen=True, slots=True)
class FactCell:
    """One catalog figure: its text, numbers of its sources, confidence and note."""

    text: str
    sources: tuple[int, ...] = ()
    confidence: str = ""
    note: str = ""
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class FactColumn:
    """A catalog field over all entries of one kind."""

    name: str
    label: str
    unit: str
    meaning: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class FactTable:
    """Catalog facts of one kind: a row per entry, a column per field."""

    kind: str
    label: str
    columns: tuple[FactColumn, ...]
    entries: tuple[tuple[str, str], ...]
    cells: tuple[tuple[FactCell, ...], ...]


@dataclass(frozen=True, slots=True)
class SourceItem:
    """A numbered source, and what it stands behind."""

    number: int
    title: str
    url: str
    read: str
    used_for: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A glossary entry of a metric: meaning, formula as text and as MathML, source, marks."""

    name: str
    label: str
    unit: str
    why: str
    formula: str
    mathml: str
    source: int
    section: str
    limit: str = ""
    replaced_by: str = ""
    because: str = ""
    origin: str = ""
    worked: str = ""


@dataclass(frozen=True, slots=True)
class InputTerm:
    """A glossary entry of an input or constant that formulas name."""

    name: str
    label: str
    unit: str
    meaning: str
    value: str = ""


State = Literal["ok", "attention", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: integrity may fail; policy only asks for attention."""

    name: str
    label: str
    kind: Literal["integrity", "policy"]
    state: State
    value: str
    limit: str
    why: str

    @property
    def tone(self) -> Tone:
        """A broken policy is no error, hence never bad."""
        tones: dict[State, Tone] = {
            "ok": "good", "attention": "warn", "failed": "bad", "unknown": "warn",
        }  # fmt: skip
        return tones[self.state]


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the plan was computed from and by."""

    version: str
    scenario: str
    name: str
    as_of: str
    owner: str
    hashes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class View:
    """A plan as people see it, the same in page, terminal and workbook.

    Attributes:
        verdict_line: the answer in one sentence.
        verdict_tone: its colour, beside the words.
        tiles: at most five headline figures.
        summary: the main table, a row a case.
        shared: what all cases have in common.
        chart: the chart of the first screen.
        sections: the tables of the plan in reading order.
        dropped: reason and count of the combinations that were left out.
        section_labels: the label of every table, for the glossary.
    """

    name: str
    title: str
    as_of: str
    owner: str
    note: str
    verdict_line: str
    verdict_tone: Tone
    cases: tuple[CaseName, ...]
    tiles: tuple[Tile, ...]
    shared: tuple[tuple[str, str], ...]
    summary: Table
    chart: Chart | None
    sections: tuple[Section, ...]
    assumptions: tuple[Assumption, ...]
    facts: tuple[FactTable, ...]
    sources: tuple[SourceItem, ...]
    glossary: tuple[Term, ...]
    inputs: tuple[InputTerm, ...]
    constants: tuple[InputTerm, ...]
    checks: tuple[Check, ...]
    dropped: tuple[tuple[str, int], ...]
    provenance: Provenance
    section_labels: dict[str, str]
