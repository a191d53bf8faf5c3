"""The parts of a comparison as people see it: frozen, in display units, texts beside raw values.

Raw values stand beside the texts so that a page can sort, a workbook can write live formulas, and
a chart can draw; nobody downstream rounds or adds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from planner.diff_drivers import Driver
from planner.diff_why import Sides
from reports.view_grid import Kind, Tone, Value
from reports.words import say, term

MARK_TONES: dict[str, Tone] = {
    "better": "good", "worse": "bad", "changed": "", "unknown": "warn", "same": "muted",
}  # fmt: skip
MARK_WORDS = {
    "better": term("better"), "worse": term("worse"), "changed": term("changed"),
    "unknown": term("unknown"), "same": "~",
}  # fmt: skip
MARK_ORDER = {mark: place for place, mark in enumerate(MARK_WORDS)}
"""How marks follow each other in a list."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One metric with both values; raw numbers in the display unit (words and flags as they are).

    Attributes:
        name: the metric's name, the same in every output.
        decimals: digits after the point of both values and of the change.
        old_raw, new_raw, delta_raw, percent_raw: the same as numbers (the relative change as a
            fraction); None where unknown or a word.
        mark: better, worse, changed, unknown or same; ``word`` is what a reader sees of it.
        better: the declared direction: up, down or none.
    """

    name: str
    label: str
    unit: str
    kind: Kind
    decimals: int
    old: str
    new: str
    delta: str
    percent: str
    mark: str
    old_raw: Value
    new_raw: Value
    delta_raw: float | None
    percent_raw: float | None
    why: str = ""
    better: str = "none"

    @property
    def word(self) -> str:
        """The mark as a word, a tilde within the tolerance."""
        return say(MARK_WORDS[self.mark])

    @property
    def tone(self) -> Tone:
        """The colour of the mark, beside its word."""
        return MARK_TONES[self.mark]


@dataclass(frozen=True)
class DiffCase:
    """One pair of cases: its name, how it fares, its figures in reading order.

    ``judged`` is the figure that decides. The other rows are written when they are first asked
    for: of a thousand cases an output shows the figures of a few.
    """

    pair: int
    label: str
    old_id: str
    new_id: str
    mark: str
    judged: DiffRow | None
    written: Callable[[], tuple[DiffRow, ...]]

    @cached_property
    def rows(self) -> tuple[DiffRow, ...]:
        """Every figure of the pair."""
        return self.written()

    @property
    def word(self) -> str:
        """The mark as a word."""
        return say(MARK_WORDS[self.mark])

    @cached_property
    def moved(self) -> tuple[DiffRow, ...]:
        """Figures beyond the tolerance."""
        return tuple(row for row in self.rows if row.mark != "same")


@dataclass(frozen=True, slots=True)
class Share:
    """One driver of a bridge: its share, the range over all orders, and what changed."""

    id: str
    label: str
    text: str
    raw: float
    low: str
    high: str
    change: str
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """A group of drivers; its text is the sum of the texts of its shares."""

    id: str
    label: str
    text: str
    raw: float
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Mixing:
    """The mixtures behind a bridge, for a workbook that divides the change by itself.

    Attributes:
        drivers: id, label and group of each driver; bit ``i`` of a mask is the ``i``-th.
        bits: the inputs that each of them makes new.
        groups: positions of the drivers by group; single ones where groups play no part.
        order: positions in the order of a sequential division; empty otherwise.
        masks: the mixtures, ascending; the first is the old plan, the last the new one.
        values: the figure in each of them in the display unit.
        weights: a row a driver: its share is the product with ``values``.
        steps: a row a driver: what it adds to each mixture, None where it is new already. No rows
            where only those mixtures are here that the shares need.
        by_group: the drivers are whole groups, since there are too many single ones.
        shift: what corrections (and cases of one plan alone) put between each plan as issued and
            its mixture: the first less the old figure, the last less the new one.
    """

    drivers: tuple[tuple[str, str, str], ...]
    bits: tuple[tuple[str, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    masks: tuple[int, ...]
    values: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    steps: tuple[tuple[float | None, ...], ...]
    by_group: bool
    shift: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bridge:
    """A difference divided among its drivers, from the old value to the new one.

    The printed parts add up to the printed total: they are rounded together, and so are the shares
    of a group. ``refused`` says why there are no parts; then ``groups`` is empty.
    """

    metric: str
    label: str
    unit: str
    case: str
    pair: int | None
    method: str
    old: str
    new: str
    total: str
    percent: str
    decimals: int
    old_raw: Value
    new_raw: Value
    total_raw: float | None
    percent_raw: float | None
    groups: tuple[ShareGroup, ...]
    residual: str
    footing: str
    note: str
    refused: str
    kind: Kind = "figure"
    better: str = "none"
    mixing: Mixing | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was crossed, with how many cases crossed it the same way."""

    label: str
    old: str
    new: str
    mark: str
    where: str
    detail: str
    count: int

    @property
    def word(self) -> str:
        """The mark as a word."""
        return say(MARK_WORDS[self.mark])


@dataclass(frozen=True, slots=True)
class InputRow:
    """One changed input with both values, their sources and how sure they are.

    ``brief`` names one source of each value, ``basis`` all of them.
    """

    group: str
    label: str
    unit: str
    old: str
    new: str
    old_raw: Value
    new_raw: Value
    owner: str
    basis: str
    brief: str
    count: int
    name: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Like for like of one pair: a row a mixture, a column a figure.

    ``raw`` are the cells as numbers in the display unit, ``formats`` kind and digits of a column.
    """

    case: str
    heads: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    note: str
    formats: tuple[tuple[Kind, int], ...] = ()
    raw: tuple[tuple[float | None, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class DoubtRow:
    """An uncertain fact, and how far the result moves over its recorded range."""

    side: str
    owner: str
    label: str
    value: str
    confidence: str
    reach: str
    basis: str


@dataclass(frozen=True, slots=True)
class RankRow:
    """The rank of one case in each plan, among the answers to one question."""

    question: str
    label: str
    old: str
    new: str
    old_raw: int | None
    new_raw: int | None


@dataclass(frozen=True, slots=True)
class DiffView:
    """Two plans as people compare them, the same in every output.

    Attributes:
        name: of the comparison, for file names and for the marker of a comment.
        head: label, old and new of what identifies the plans.
        banner: what must be read first: forced comparisons and other bases.
        verdict_line: the answer in one sentence.
        unmoved: nothing is beyond the tolerance.
        paired: how cases were paired, in words.
        by: the metric that cases are judged by, as a label with its unit.
        cases: every pair; those that moved most come first.
        totals: figures of the whole plan.
        lines: lines crossed, the gravest first.
        bridges: divided differences: figures of the plan, then of pairs.
        corrections: what today's catalog and formulas change in a saved plan.
        sides: both plans, from which a workbook computes its figures anew.
        drivers: what differs, in groups.
        breaches: rules that were broken, in words.
    """

    name: str
    title: str
    head: tuple[tuple[str, str, str], ...]
    banner: tuple[str, ...]
    verdict_line: str
    verdict_tone: Tone
    unmoved: bool
    paired: tuple[str, ...]
    by: str
    tolerance: str
    cases: tuple[DiffCase, ...]
    totals: tuple[DiffRow, ...]
    lines: tuple[Line, ...]
    bridges: tuple[Bridge, ...]
    panels: tuple[Panel, ...]
    doubts: tuple[DoubtRow, ...]
    doubted: str
    ranks: tuple[RankRow, ...]
    ranked: str
    inputs: tuple[InputRow, ...]
    corrections: tuple[InputRow, ...]
    formulas: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    sides: Sides
    drivers: tuple[Driver, ...]
    breaches: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        """What has come of it, in one sentence."""
        nothing = say(f"No change over the tolerance of {self.tolerance}.")
        return nothing if self.unmoved else self.verdict_line


@dataclass(frozen=True, slots=True)
class GenerationRow:
    """One figure along a line of cards."""

    case: str
    label: str
    unit: str
    values: tuple[str, ...]
    raw: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class DiffBook:
    """One comparison or several in a row, as one document.

    ``cards`` and ``along`` are empty for a single comparison.
    """

    name: str
    steps: tuple[DiffView, ...]
    cards: tuple[str, ...] = ()
    along: tuple[GenerationRow, ...] = ()
