"""Lines that a plan crossed, and ranks that changed: what a reader must see before any per cent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.checks import checks
from planner.diff_pairs import axes_of
from planner.diff_why import Sides
from planner.errors import InputError, Problem, Span, nearest, one_of
from planner.expr.check import CASE
from planner.metrics import Metric
from planner.planning import Plan, Value

SEVERITY = {"verdict": 0, "check": 1, "known": 1, "flag": 2, "layout": 2, "word": 3, "batch": 4}
"""Kinds of lines, the gravest first."""

_THRESHOLDS = ("b_star_kv", "b_star_compute")


@dataclass(frozen=True, slots=True)
class Crossing:
    """A line that one case (or the plan) crossed.

    ``detail`` names a further metric whose new value says by how much.
    """

    kind: str
    metric: str
    label: str
    pair: int | None
    old: Value
    new: Value
    mark: str = "changed"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Rank:
    """Where one case stands among the answers to its question, in each plan; ties share a rank."""

    pair: int
    question: str
    old: int | None
    new: int | None
    old_tied: bool
    new_tied: bool


def crossings(sides: Sides, names: Sequence[str]) -> tuple[Crossing, ...]:
    """Every line crossed, the gravest first; ``names``: metrics that both plans have."""
    found = [*_of_cases(sides, names), *_of_batches(sides), *_of_layouts(sides), *_of_checks(sides)]
    return tuple(sorted(found, key=lambda c: (SEVERITY[c.kind], c.metric, c.pair or 0)))


def _of_cases(sides: Sides, names: Sequence[str]) -> Iterable[Crossing]:
    for name in names:
        metric = sides.new.metrics.metrics[name]
        kind = _kind(metric)
        for place, (i, j) in enumerate(sides.pairs) if kind else ():
            old, new = sides.old.value(name, i), sides.new.value(name, j)
            known = old is None or new is None
            if old == new or (kind == "known" and not known):
                continue
            what = "known" if known else kind
            detail = "memory_spare" if name == "verdict" and _has(sides.new, "memory_spare") else ""
            mark = "unknown" if known else word_mark(metric, old, new)
            yield Crossing(what, name, metric.label, place, old, new, mark, detail)


def _has(plan: Plan, name: str) -> bool:
    return name in plan.metrics.metrics


def _kind(metric: Metric) -> str:
    if metric.type.grain != CASE:
        return ""
    if metric.name == "verdict":
        return "verdict"
    kinds = {"choice": "word", "flag": "flag"}
    return kinds.get(metric.type.kind, "known" if metric.entry.better != "none" else "")


def word_mark(metric: Metric, old: Value, new: Value) -> str:
    """Better or worse, where a word or a flag has a direction."""
    good: Value = "fits" if metric.name == "verdict" else True
    if metric.name == "verdict" or (metric.type.kind == "flag" and metric.entry.better == "up"):
        return "better" if new == good else "worse" if old == good else "changed"
    if metric.type.kind == "flag" and metric.entry.better == "down":
        return "worse" if new else "better"
    return "changed"


def _of_batches(sides: Sides) -> Iterable[Crossing]:
    """The planned batch passed a threshold, or came back below it."""
    for name in _THRESHOLDS:
        if not (_has(sides.old, name) and _has(sides.new, name)):
            continue
        label = sides.new.metrics.label_of(name)
        for place, (i, j) in enumerate(sides.pairs):
            above = [
                None if (star := plan.value(name, c)) is None else
                float(plan.cases[c].inputs["batch"]) > float(star)
                for plan, c in ((sides.old, i), (sides.new, j))
            ]  # fmt: skip
            if None not in above and above[0] != above[1]:
                was, now = ("above" if one else "below" for one in above)
                yield Crossing("batch", name, f"Planned batch against {label}", place, was, now)


def _of_layouts(sides: Sides) -> Iterable[Crossing]:
    """The smallest layout that fits is another one."""
    if not all(_has(p, n) for p in (sides.old, sides.new) for n in ("verdict", "gpus_per_replica")):
        return
    best: dict[tuple[str, ...], list[tuple[float, str, int] | None]] = {}
    for place, (i, j) in enumerate(sides.pairs):
        axes = axes_of(sides.new.cases[j])
        key = tuple(v for n, v in axes.items() if n != "layout")
        entry = best.setdefault(key, [None, None])
        for side, (plan, case) in enumerate(((sides.old, i), (sides.new, j))):
            size = plan.value("gpus_per_replica", case)
            if plan.value("verdict", case) != "fits" or not isinstance(size, float):
                continue
            one = (size, axes_of(plan.cases[case])["layout"], place)
            entry[side] = one if entry[side] is None else min(entry[side], one)  # type: ignore[type-var]
    for old, new in best.values():
        if old and new and old[1] != new[1]:
            mark = "better" if new[0] < old[0] else "worse" if new[0] > old[0] else "changed"
            label = "Smallest layout that fits"
            yield Crossing("layout", "gpus_per_replica", label, new[2], old[1], new[1], mark)


def _of_checks(sides: Sides) -> Iterable[Crossing]:
    before = {c.name: c for c in checks(sides.old)}
    for check in checks(sides.new):
        old = before.get(check.name)
        if old is not None and old.passed != check.passed:
            was, now = ("holds" if c.passed else "does not hold" for c in (old, check))
            mark = "better" if check.passed else "worse"
            yield Crossing("check", check.name, check.label, None, was, now, mark)


# ---- ranks ------------------------------------------------------------------------------------


def objective(sides: Sides, by: str, names: Sequence[str]) -> str:
    """The metric that cases are ranked and judged by.

    Raises:
        InputError: ``by`` is no metric of both plans that has a direction.
    """
    metrics = sides.metrics.metrics
    fit = [n for n in names if n in metrics and metrics[n].entry.better != "none"
           and metrics[n].type.kind == "number"]  # fmt: skip
    if by:
        if by not in fit:
            expected = "a metric of both plans with a direction"
            hint = nearest(by, fit) or one_of(fit)
            raise InputError(Problem(Span("--by"), "", expected, f"'{by}'", hint))
        return by
    headlines = [n for n in fit if metrics[n].entry.headline]
    usual = [n for n in ("concurrency_per_gpu", "max_concurrency") if n in fit]
    return next(iter([*headlines, *usual, *fit]), "")


def ranking(sides: Sides, name: str) -> tuple[Rank, ...]:
    """Ranks by one metric among the cases that answer the same question, where one changed."""
    if not name:
        return ()
    up = sides.metrics.metrics[name].entry.better == "up"
    questions: dict[str, list[int]] = {}
    for place, (_, j) in enumerate(sides.pairs):
        axes = axes_of(sides.new.cases[j])
        key = " / ".join(axes[n] for n in ("model", "context", "workload", "batch"))
        questions.setdefault(key, []).append(place)
    found: list[Rank] = []
    for question, places in questions.items():
        if len(places) < 2:
            continue
        old = _ranks([_number(sides.old, name, sides.pairs[p][0]) for p in places], up)
        new = _ranks([_number(sides.new, name, sides.pairs[p][1]) for p in places], up)
        if old != new:
            found += [
                Rank(p, question, a[0], b[0], a[1], b[1])
                for p, a, b in sorted(zip(places, old, new, strict=True), key=_by_new)
            ]
    return tuple(found)


def _by_new(row: tuple[int, tuple[int | None, bool], tuple[int | None, bool]]) -> tuple[int, int]:
    return (row[2][0] or 10**9, row[0])


def _number(plan: Plan, name: str, case: int) -> float | None:
    value = plan.value(name, case)
    return value if isinstance(value, float) else None


def _ranks(values: Sequence[float | None], up: bool) -> list[tuple[int | None, bool]]:
    """Rank and whether it is shared; what is unknown has none."""
    known = [v for v in values if v is not None]
    return [
        (None, False) if v is None else
        (1 + sum((k > v) if up else (k < v) for k in known), known.count(v) > 1)
        for v in values
    ]  # fmt: skip
