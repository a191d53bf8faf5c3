"""Rules that a comparison must keep: ``METRIC OP VALUE[%]``, as in ``fleet_cost > 5%``.

A rule names what must not happen. It looks at the change of a metric (new less old): in per cent of
the old value, or in the unit that the metric is shown in. For a metric that gives a word the rule
looks at the new word where it changed: ``verdict == does not fit``.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.diff import UNKNOWN, Delta, Diff
from planner.errors import InputError, Problem, Span, nearest, one_of
from planner.units import UnitError, parse_quantity

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_RULE = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|>=|==|!=|<|>)\s*(.+?)\s*")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: ``share`` says that ``value`` is a share of the old value, else base units."""

    text: str
    metric: str
    sign: str
    value: float | str
    share: bool = False


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that was broken: by which pair (None for the whole plan), and in which words."""

    rule: Rule
    pair: int | None
    reason: str


def rules_of(texts: Sequence[str], found: Diff) -> tuple[Rule, ...]:
    """Read rules against the metrics of a comparison.

    Raises:
        InputError: every rule of another form, with an unknown metric, or with a bad value.
    """
    rules, problems = [], []
    for text in texts:
        try:
            rules.append(_rule(text, found))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return tuple(rules)


def _rule(text: str, found: Diff) -> Rule:
    span = Span(f"--fail-on {text}")
    match = _RULE.fullmatch(text)
    if match is None:
        example = "such as 'max_concurrency < -5%' or 'verdict == does not fit'"
        raise InputError(Problem(span, "", "METRIC OP VALUE[%]", f"'{text}'", example))
    name, sign, value = match.groups()
    delta = found.deltas.get(name) or found.totals.get(name)
    if delta is None:
        known = [*found.deltas, *found.totals]
        hint = nearest(name, known)
        raise InputError(Problem(span, "", "a metric that both plans have", f"'{name}'", hint))
    kind = delta.metric.type
    if kind.kind == "choice":
        return _word_rule(span, text, name, sign, value, kind.words)
    if kind.kind == "flag":
        return _word_rule(span, text, name, sign, value, ("true", "false"))
    if value.endswith("%"):
        return Rule(text, name, sign, _number(span, value[:-1]) / 100, True)
    return Rule(text, name, sign, _amount(span, delta, value))


def _word_rule(
    span: Span, text: str, name: str, sign: str, value: str, words: Sequence[str]
) -> Rule:
    if sign not in ("==", "!="):
        raise InputError(Problem(span, "", "== or != for a metric of words", f"'{sign}'"))
    word = value.strip("\"'")
    if word not in words:
        raise InputError(Problem(span, "", one_of(words), f"'{word}'", nearest(word, words)))
    return Rule(text, name, sign, word)


def _number(span: Span, text: str) -> float:
    try:
        number = float(text.strip().replace(",", ""))
    except ValueError:
        number = float("nan")
    if number != number or abs(number) == float("inf"):
        raise InputError(Problem(span, "", "a number", f"'{text.strip()}'"))
    return number


def _amount(span: Span, delta: Delta, text: str) -> float:
    """A bare number is in the unit that the metric is shown in."""
    if re.fullmatch(r"[-+]?[\d.,]+(e[-+]?\d+)?", text, re.IGNORECASE):
        return _number(span, text) * float(delta.metric.display.factor)
    sign = -1.0 if text.startswith("-") else 1.0
    try:
        return sign * parse_quantity(text.lstrip("+-"), delta.metric.unit.base.text)
    except UnitError as error:
        raise InputError(Problem(span, "", error.expected, error.found, error.hint)) from None


def breaches(found: Diff, rules: Sequence[Rule]) -> tuple[Breach, ...]:
    """Every place where a rule is broken. A change that is not known cannot keep a rule."""
    broken: list[Breach] = []
    for rule in rules:
        delta = found.deltas.get(rule.metric)
        pairs: list[int | None] = list(range(len(found.sides.pairs)))
        if delta is None:
            delta, pairs = found.totals[rule.metric], [None]
        for place, position in enumerate(pairs):
            reason = _broken(rule, delta, place)
            if reason:
                broken.append(Breach(rule, position, reason))
    return tuple(broken)


def _broken(rule: Rule, delta: Delta, place: int) -> str:
    old, new, change = delta.old[place], delta.new[place], delta.changes[place]
    if isinstance(rule.value, str):
        word = str(new).lower() if isinstance(new, bool) else new
        holds = (word == rule.value) == (rule.sign == "==")
        return f"{old} -> {new}" if holds and old != new else ""
    if delta.marks[place] == UNKNOWN:
        return "the change is not known"
    if change is None:
        return ""
    if not rule.share:
        return "the change" if _OPERATORS[rule.sign](change, rule.value) else ""
    base = abs(float(old or 0.0))
    ratio = change / base if base else math.copysign(math.inf, change) if change else 0.0
    return "the change" if _OPERATORS[rule.sign](ratio, rule.value) else ""
