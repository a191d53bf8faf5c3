"""A review for people: trends, what moved them, measurements and decisions, in display units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.diff import DEFAULT_TOLERANCE, Diff
from planner.diff_restate import catalog_hash, formula_hash
from planner.review import Issue, Review, Trend
from planner.review_decisions import Carried
from reports import numbers
from reports.charts import Line, LineChart
from reports.view_diff import case_labels, diff_view, owner_of, row_of
from reports.view_diff_parts import MARK_WORDS, Bridge, DiffRow, DiffView, Share, ShareGroup
from reports.view_grid import Kind, Value, text_of
from reports.view_layout import CHART_LINES
from reports.view_units import clean, column_decimals, metric_display
from reports.words import called, say, say_parts, term

MOST_PARTS = 3
"""Causes that a line about one change names; the rest is counted."""

_NONE = numbers.NOT_APPLICABLE
_PLAIN: dict[Kind, numbers.Kind] = {"share": "share", "ratio": "ratio"}
FRESH, GONE = term("new"), term("gone")
"""What stands for a mark where the first or the newest plan has no such case."""


@dataclass(frozen=True, slots=True)
class IssueRow:
    """One plan of the review; ``label`` tells it apart from the others."""

    label: str
    file: str
    name: str
    title: str
    as_of: str
    owner: str
    cases: int
    formulas: str
    catalog: str


@dataclass(frozen=True, slots=True)
class TrendRow:
    """One case, or the whole plan, over all plans.

    Attributes:
        texts, raw: a value a plan in the display unit; a dash and None where there is no case.
        there: whether the plan has the case.
        ends: first and newest plan as a comparison.
        key, mark: how it fares from the first plan to the newest; ``key`` is the English word.
    """

    label: str
    texts: tuple[str, ...]
    raw: tuple[Value, ...]
    there: tuple[bool, ...]
    ends: DiffRow
    key: str
    mark: str

    @property
    def word(self) -> str:
        """How it fares as a reader sees it."""
        return say(self.key)


@dataclass(frozen=True, slots=True)
class TrendView:
    """One figure over all plans, with its chart if anything of it is known."""

    name: str
    label: str
    unit: str
    why: str
    better: str
    kind: Kind
    decimals: int
    rows: tuple[TrendRow, ...]
    chart: LineChart | None
    drawn: int


@dataclass(frozen=True, slots=True)
class Moved:
    """One divided change with the causes that weigh most; ``others`` counts the rest."""

    bridge: Bridge
    parts: tuple[tuple[str, str], ...]
    others: int

    @property
    def told(self) -> str:
        """The causes in words."""
        if self.bridge.refused:
            return say(f"not divided: {self.bridge.refused}")
        words = say(", ").join(f"{label} {text}" for label, text in self.parts)
        more = say(f" and {self.others} smaller") if self.others else ""
        return (words or say("no cause on record")) + more

    @property
    def sentence(self) -> str:
        """The change and its causes in one sentence."""
        one = self.bridge
        change = "" if one.percent == _NONE else f" ({one.percent})"
        values = f"{one.old} → {one.new} {one.unit}".rstrip()
        figure = f"{one.label}{say(', ')}{one.case}"
        return f"{figure}{say(': ')}{values}{change}{say(': ')}{self.told}{say('.')}"


@dataclass(frozen=True, slots=True)
class StepView:
    """What happened between two consecutive plans."""

    label: str
    view: DiffView
    moved: tuple[Moved, ...]
    opened: tuple[str, ...]
    closed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """One measured figure beside the planned one."""

    issue: str
    case: str
    log: str
    engine: str
    label: str
    unit: str
    kind: Kind
    decimals: int
    planned: str
    measured: str
    error: str
    planned_raw: float | None
    measured_raw: float
    error_raw: float | None
    note: str


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One decision; ``opened`` and ``closed`` name the first plan that knows of it."""

    id: str
    title: str
    owner: str
    date: str
    status: str
    closed_on: str
    note: str
    opened: str
    closed: str
    open_at_last: bool


@dataclass(frozen=True, slots=True)
class ReviewView:
    """A review, the same in every output.

    Attributes:
        name: of the newest plan, for headings.
        as_of: the day of the newest plan.
        summary: the answer in a few sentences.
        decisions_read: whether the folder has a list of decisions.
    """

    name: str
    title: str
    as_of: str
    summary: tuple[str, ...]
    issues: tuple[IssueRow, ...]
    trends: tuple[TrendView, ...]
    steps: tuple[StepView, ...]
    measured: tuple[MeasuredRow, ...]
    decisions: tuple[DecisionRow, ...]
    decisions_read: bool
    tolerance: float


def review_view(review: Review, *, decisions_read: bool = False) -> ReviewView:
    """The view of a review."""
    return _Viewing(review, decisions_read).view()


class _Viewing:
    def __init__(self, review: Review, decisions_read: bool) -> None:
        self.review, self.decisions_read = review, decisions_read
        self.labels = _labels(review.issues)
        self.cases = [case_labels(issue.plan) for issue in review.issues]

    def view(self) -> ReviewView:
        review = self.review
        first, last = review.issues[0], review.issues[-1]
        steps = tuple(self.step(n, found) for n, found in enumerate(review.steps))
        decisions = tuple(self.decision(one) for one in review.decisions)
        span = first.as_of if first is last else first.as_of + say(" to ") + last.as_of
        tolerance = review.steps[0].options.tolerance if review.steps else DEFAULT_TOLERANCE
        return ReviewView(
            clean(last.plan.name), say(f"Review of {clean(last.plan.name)}, {span}"), last.as_of,
            tuple(self.summary(steps, decisions)), tuple(self.issues()),
            tuple(self.trend(t) for t in review.trends), steps, tuple(self.measured()), decisions,
            self.decisions_read, tolerance,
        )  # fmt: skip

    def summary(self, steps: Sequence[StepView], decisions: Sequence[DecisionRow]) -> Iterator[str]:
        """How many plans, the newest step, and what waits for a decision."""
        count = len(self.review.issues)
        if steps:
            yield f"{steps[-1].label}{say(': ')}{_verdict(steps[-1].view)}"
            named = [
                m for m in steps[-1].moved if m.bridge.label not in steps[-1].view.verdict_line
            ]
            yield from (one.sentence for one in named[:1])
        else:
            yield say("One plan: there is nothing to compare it with yet.")
        waiting = [one for one in decisions if one.open_at_last]
        if decisions:
            told = say(f"{len(waiting)} of {len(decisions)} decisions open")
            if steps:
                told += say(f", {len(steps[-1].closed)} closed since the plan before")
            yield told + say(".")
        if self.review.measured:
            errors = [abs(m.error) for m in self.review.measured if m.error is not None]
            worst = numbers.show(max(errors), "share") if errors else say(numbers.UNKNOWN)
            seen = len(self.review.measured)
            yield say(f"{seen} measured figures, the plan off by {worst} at most.")
        if count > 2:
            yield say(f"{count} plans in {count - 1} steps.")

    def issues(self) -> Iterator[IssueRow]:
        for label, issue in zip(self.labels, self.review.issues, strict=True):
            plan = issue.plan
            yield IssueRow(
                label, clean(issue.file), clean(plan.name), clean(plan.title), issue.as_of,
                owner_of(plan), len(plan.cases), formula_hash(plan.metrics),
                catalog_hash(plan),
            )  # fmt: skip

    # ---- trends --------------------------------------------------------------------------------

    def trend(self, trend: Trend) -> TrendView:
        metric = trend.ends.metric
        factor, unit, _, kind = metric_display(metric)
        raw = [
            [v / factor if isinstance(v, float) else v for v in values] for values in trend.values
        ]
        places = column_decimals([v for values in raw for v in values], kind)
        rows = tuple(
            self.trend_row(trend, number, tuple(values), kind, places)
            for number, values in enumerate(raw)
        )
        label = called(clean(metric.label))
        chart = self.chart(label, unit, kind, rows)
        drawn = len(chart.lines) if chart else 0
        return TrendView(
            trend.name, label, unit, called(clean(metric.entry.why)), metric.entry.better,
            kind, places, rows, chart, drawn,
        )  # fmt: skip

    def trend_row(
        self, trend: Trend, number: int, raw: tuple[Value, ...], kind: Kind, places: int
    ) -> TrendRow:
        there = trend.there[number]
        texts = tuple(
            clean(text_of(v, kind, places)) if ok else _NONE
            for v, ok in zip(raw, there, strict=True)
        )
        ends = row_of(trend.ends, number)
        key, mark = MARK_WORDS[ends.mark], ends.mark
        if not (there[0] and there[-1]):
            key, mark = (GONE if there[0] else FRESH if there[-1] else _NONE), "changed"
        label = say("The whole plan") if trend.of_plan else self.label(number)
        return TrendRow(label, texts, raw, there, ends, key, mark)

    def label(self, number: int) -> str:
        """A case as the newest plan that has it calls it."""
        thread = self.review.threads[number]
        issue = max(place for place, at in enumerate(thread) if at is not None)
        at = thread[issue]
        return self.cases[issue][at if at is not None else 0]

    def chart(
        self, label: str, unit: str, kind: Kind, rows: Sequence[TrendRow]
    ) -> LineChart | None:
        """The rows that moved most, each a line; rows that are nowhere known are left out."""
        known = [r for r in rows if sum(isinstance(v, float) for v in r.raw) > 1]
        kept = sorted(known, key=lambda r: (-_size(r.ends), rows.index(r)))[:CHART_LINES]
        if not kept:
            return None
        lines = tuple(
            Line(r.label, tuple((float(x), v if isinstance(v, float) else None)
                                for x, v in enumerate(r.raw)))
            for r in rows if r in kept
        )  # fmt: skip
        ticks = tuple((float(x), text) for x, text in enumerate(self.labels))
        told = say("; ").join(
            f"{r.label}{say(': ')}{', '.join(r.texts)}" for r in rows if r in kept
        )
        plans = f"{say(', plans ')}{', '.join(self.labels)}{say('.')}"
        return LineChart(
            say(f"How did {label} move?"), say("plan"), unit or label, lines, x_ticks=ticks,
            kind=_PLAIN.get(kind, "figure"),
            description=f"{label} {unit}{plans} {told}{say('.')}",
        )  # fmt: skip

    # ---- steps ---------------------------------------------------------------------------------

    def step(self, number: int, found: Diff) -> StepView:
        view = diff_view(found)
        known = self.review.decisions
        opened = [c for c in known if c.opened == number + 1]
        closed = [c for c in known if c.closed == number + 1]
        return StepView(
            f"{self.labels[number]} → {self.labels[number + 1]}", view,
            tuple(_moved(b) for b in view.bridges if b.refused or b.total_raw),
            tuple(_named(c) for c in opened), tuple(_named(c) for c in closed),
        )  # fmt: skip

    # ---- evidence ------------------------------------------------------------------------------

    def measured(self) -> Iterator[MeasuredRow]:
        for one in self.review.measured:
            plan = self.review.issues[one.issue].plan
            factor, unit, _, kind = metric_display(plan.metrics.metrics[one.name])
            planned = None if one.planned is None else one.planned / factor
            seen = one.measured / factor
            places = column_decimals([planned, seen], kind)
            yield MeasuredRow(
                self.labels[one.issue], self.cases[one.issue][one.case], clean(one.actual.log),
                clean(one.actual.engine), called(clean(plan.metrics.label_of(one.name))), unit,
                kind, places, text_of(planned, kind, places), text_of(seen, kind, places),
                numbers.show(one.error, "change_share", unknown=say(numbers.UNKNOWN)), planned,
                seen, one.error, say_parts(clean(one.actual.notes.get(one.name, ""))),
            )  # fmt: skip

    def decision(self, one: Carried) -> DecisionRow:
        found = one.decision
        return DecisionRow(
            clean(found.id), clean(found.title), clean(found.owner), found.date, found.status,
            found.closed or "", clean(found.note), self.when(one.opened),
            _NONE if one.closed is None else self.when(one.closed), one.open_at_last,
        )  # fmt: skip

    def when(self, place: int) -> str:
        """The first plan that knows of it."""
        return self.labels[place] if place < len(self.labels) else say("after the last plan")


def _labels(issues: Sequence[Issue]) -> list[str]:
    """Each plan by its date; where two are of one day, with the name."""
    dates = [issue.as_of for issue in issues]
    return [
        day if dates.count(day) == 1 else f"{day} {clean(issue.plan.name)}"
        for day, issue in zip(dates, issues, strict=True)
    ]


def _verdict(view: DiffView) -> str:
    if view.unmoved:
        return say(f"no change over the tolerance of {view.tolerance}") + say(".")
    return view.verdict_line


def _size(ends: DiffRow) -> float:
    """How far a row moved, relative to its greater end."""
    if ends.delta_raw is None:
        return 0.0
    sizes = [abs(v) for v in (ends.old_raw, ends.new_raw) if isinstance(v, float)]
    return abs(ends.delta_raw) / max([*sizes, 1e-300])


def _moved(bridge: Bridge) -> Moved:
    """The change with its causes, the weightiest first; causes without a share are not named."""
    leaves: list[Share | ShareGroup] = []
    for group in bridge.groups:
        leaves += group.shares or [group]
    weighty = sorted((one for one in leaves if one.raw), key=lambda one: -abs(one.raw))
    parts = tuple((one.label, one.text) for one in weighty[:MOST_PARTS])
    return Moved(bridge, parts, max(0, len(weighty) - MOST_PARTS))


def _named(one: Carried) -> str:
    return clean(f"{one.decision.title} ({one.decision.owner})")
