"""The plans of a folder in the order of their dates: what moved from each to the next, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from planner.actual import Actual, error_of
from planner.catalog import Catalog
from planner.diff import Delta, Diff, Options, change_of, diff, mark_of
from planner.diff_why import explainable
from planner.errors import InputError, Problem, Span, nearest, one_of
from planner.expr.check import CASE
from planner.metrics import MetricSet
from planner.planning import Plan, Value
from planner.review_decisions import Carried, Decision, carried
from planner.saved import digest, document

MOST_TRENDS = 6
"""Figures of a case, and of the whole plan, that are followed when nobody names any."""

_USUAL = ("max_concurrency", "memory_spare")

Thread = tuple[int | None, ...]
"""One case through all plans: its position in each, None in a plan that has no such case."""


@dataclass(frozen=True)
class Issue:
    """One saved plan of the folder; ``file`` is its name there."""

    file: str
    plan: Plan

    @property
    def as_of(self) -> str:
        """The day that the plan is of."""
        return str(self.plan.inputs.scenario["as_of"])


@dataclass(frozen=True)
class Trend:
    """One metric over all plans, in base units.

    Attributes:
        of_plan: a figure of the whole plan; then there is one row, else one a thread.
        values: a row a thread, a value a plan; None where it is unknown or there is no such case.
        there: whether the plan has the case and the metric, in the same shape.
        ends: first and last plan, a value a row.
    """

    name: str
    of_plan: bool
    values: tuple[tuple[Value, ...], ...]
    there: tuple[tuple[bool, ...], ...]
    ends: Delta


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure that an engine start measured, beside what the plan said, in base units."""

    issue: int
    case: int
    actual: Actual
    name: str
    planned: float | None
    measured: float
    error: float | None


@dataclass(frozen=True)
class Review:
    """Consecutive plans: figures over time, what moved them, measurements and decisions."""

    issues: tuple[Issue, ...]
    steps: tuple[Diff, ...]
    threads: tuple[Thread, ...]
    trends: tuple[Trend, ...]
    measured: tuple[Measured, ...]
    decisions: tuple[Carried, ...]

    @property
    def metrics(self) -> MetricSet:
        """The metrics of the newest plan."""
        return self.issues[-1].plan.metrics


def ordered(found: Sequence[tuple[str, Plan]]) -> tuple[Issue, ...]:
    """Plans by date, then name; the same plan in several files counts once, as the first of them.

    Raises:
        InputError: no plan, or two different plans of one name and date.
    """
    known: dict[str, str] = {}
    taken: dict[tuple[str, str], Issue] = {}
    problems = []
    for file, plan in found:
        issue = Issue(file, plan)
        content = digest(document(plan))
        if content in known:
            continue
        known[content] = file
        other = taken.setdefault((issue.as_of, plan.name), issue)
        if other is not issue:
            hint = "give the later one its own as_of or name, or take one of them away"
            found_words = f"'{plan.name}' of {issue.as_of}, which {other.file} is too"
            expected = "a name and date that no other plan of the folder has"
            problems.append(Problem(Span(file), "", expected, found_words, hint))
    if problems:
        raise InputError(problems)
    return tuple(taken[key] for key in sorted(taken))


def review(
    issues: Sequence[Issue],
    decisions: tuple[Decision, ...] = (),
    options: Options | None = None,
    *,
    catalog: Catalog | None = None,
    metric_files: Sequence[Path] = (),
) -> Review:
    """Compare each plan with the next one and follow its figures.

    Args:
        issues: plans in order, one at least; see :func:`ordered`.
        decisions: of the folder.
        options: how to compare; ``why`` names the figures to follow and to explain.
        catalog: today's; the shipped one without.
        metric_files: metric files of the user, beside those that the plans carry.

    Raises:
        NotComparable: two neighbours with bases that differ, unless forced; or without a pair.
        InputError: options that name what is not there.
    """
    chosen = options or Options(top=3)
    names = _followed(issues[-1].plan, chosen.why)
    today = catalog or Catalog.open()
    steps = tuple(
        diff(one.plan, other.plan, chosen, catalog=today, metric_files=metric_files)
        for one, other in pairwise(issues)
    )
    threads = _threads(issues, steps)
    trends = tuple(_trend(name, issues, threads, chosen.tolerance) for name in names)
    dates = [issue.as_of for issue in issues]
    return Review(tuple(issues), steps, threads, trends, tuple(_measured(issues)),
                  carried(decisions, dates))  # fmt: skip


def _followed(plan: Plan, named: Sequence[str]) -> list[str]:
    """The figures to follow: those named, else headlines, room and own ones, cases before plan."""
    known = explainable(plan.metrics)
    for word in named:
        if word not in known:
            expected = "a number of a case or of the plan that the newest plan has"
            hint = nearest(word, known) or one_of(known)
            raise InputError(Problem(Span("--why"), "", expected, f"'{word}'", hint))
    if named:
        return list(dict.fromkeys(named))
    entries = plan.metrics.metrics
    judged = [n for n in known if entries[n].entry.better != "none"]
    first = [n for n in known if entries[n].entry.headline or n in _USUAL]
    chosen = list(dict.fromkeys([*first, *(n for n in judged if entries[n].origin)]))
    totals = [n for n in (*first, *judged) if entries[n].type.grain != CASE]
    of_case = [n for n in chosen if entries[n].type.grain == CASE]
    return of_case[:MOST_TRENDS] + list(dict.fromkeys(totals))[:MOST_TRENDS]


def _threads(issues: Sequence[Issue], steps: Sequence[Diff]) -> tuple[Thread, ...]:
    """Cases followed through the pairs of every step; those of the newest plan come first."""
    running: list[list[int | None]] = [[i] for i in range(len(issues[0].plan.cases))]
    for number, step in enumerate(steps, 1):
        after = dict(step.sides.pairs)
        for thread in running:
            last = thread[-1]
            thread.append(None if last is None else after.get(last))
        met = {thread[-1] for thread in running}
        fresh = [j for j in range(len(issues[number].plan.cases)) if j not in met]
        running += [[None] * number + [j] for j in fresh]
    size = len(running)
    place = {id(t): (size if t[-1] is None else t[-1]) for t in running}
    return tuple(tuple(t) for t in sorted(running, key=lambda t: place[id(t)]))


def _trend(
    name: str, issues: Sequence[Issue], threads: Sequence[Thread], tolerance: float
) -> Trend:
    metric = issues[-1].plan.metrics.metrics[name]
    of_plan = metric.type.grain != CASE
    rows: Sequence[Thread] = [(0,) * len(issues)] if of_plan else threads
    there = tuple(
        tuple(at is not None and _has(issue.plan, name, metric.type.grain)
              for issue, at in zip(issues, row, strict=True)) for row in rows
    )  # fmt: skip
    values = tuple(
        tuple(issue.plan.value(name, at) if ok and at is not None else None
              for issue, at, ok in zip(issues, row, known, strict=True))
        for row, known in zip(rows, there, strict=True)
    )  # fmt: skip
    old, new = tuple(v[0] for v in values), tuple(v[-1] for v in values)
    pairs = list(zip(old, new, strict=True))
    ends = Delta(
        name, metric, old, new, tuple(change_of(a, b) for a, b in pairs),
        tuple(mark_of(metric, a, b, tolerance) for a, b in pairs),
    )  # fmt: skip
    return Trend(name, of_plan, values, there, ends)


def _has(plan: Plan, name: str, grain: int) -> bool:
    return name in plan.metrics.metrics and plan.metrics.type_of(name).grain == grain


def _measured(issues: Sequence[Issue]) -> list[Measured]:
    rows = []
    for number, issue in enumerate(issues):
        places = {case.id: place for place, case in enumerate(issue.plan.cases)}
        for one in issue.plan.actual:
            case = places[one.case]
            for name, seen in one.values.items():
                value = issue.plan.value(name, case)
                planned = value if isinstance(value, float) else None
                rows.append(
                    Measured(number, case, one, name, planned, seen, error_of(planned, seen))
                )
    return rows
