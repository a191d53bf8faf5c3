"""The parts of a view: frozen, in display units, with the words that a reader sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reports.charts import Chart
from reports.view_grid import Ladder, Table, Tone, Value
from reports.view_live import Live


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
    """One table of the plan as a section: what it answers, and its tables, figures and charts.

    ``chart_tables`` names for each chart the table that holds its numbers.
    """

    name: str
    label: str
    answers: str
    tables: tuple[Table, ...]
    ladders: tuple[Ladder, ...] = ()
    figures: tuple[Figure, ...] = ()
    charts: tuple[Chart, ...] = ()
    chart_tables: tuple[str, ...] = ()


Pick = Literal["", "high", "low", "low-fitting", "fits"]


@dataclass(frozen=True, slots=True)
class Tile:
    """One headline figure: its number, unit, name, and what bounds or explains it.

    ``metric`` and ``case`` say where it stands, so that a workbook can link the cell; ``case`` is
    None for a count over all cases. ``pick`` says which case it is of: the highest or lowest of
    all, the lowest of those that fit, a count of those that fit, or (empty) always the same one.
    """

    text: str
    unit: str
    label: str
    bound: str
    metric: str
    case: int | None = None
    tone: Tone = ""
    pick: Pick = ""


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
    """A glossary entry of a metric: meaning, formula as text and as MathML, source, marks.

    ``width`` is about the characters that the set formula is wide: browsers do not break formulas.
    """

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
    width: int = 0


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
        live: the formulas that a page computes with.
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
    live: Live
