"""What a formula must give, by a second route: intervals that hold every engine's rounding.

Shares no code with the compilers: it walks the tree and knows each function by its meaning. Where
rounding may decide (a comparison of two computed numbers that are equal but for the last digits, a
floor at a whole number's edge) it says so, and the formula is not compared at that input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner.expr.tree import Call, Name, Node, Number, Text


class UndecidedError(Exception):
    """Rounding decides this result."""


class Failure:
    """No value."""

    def __repr__(self) -> str:
        return "FAILURE"


FAILURE = Failure()

# LibreOffice sets a sum or difference to 0, and calls two numbers equal, within 2^-48.
NEAR = 4e-15
# Whole numbers are exact below this in every form; the language promises no more.
WHOLE = 1e14
GUARD = 1e-14
# LibreOffice calls an underflow of a power an error, the others 0.
TINY = 1e-290


@dataclass(frozen=True)
class Span:
    """All values that a right engine may give."""

    low: float
    high: float

    @property
    def whole(self) -> bool:
        return self.low == self.high and self.low.is_integer() and abs(self.low) < WHOLE

    def size(self) -> float:
        return max(abs(self.low), abs(self.high))


Result = Span | bool | str | Failure
Given = Mapping[str, "float | bool | str | list[float | bool | None] | None"]


def evaluate(node: Node, given: Given) -> Result:
    """The result for one case; ``None`` among the inputs is an unknown value.

    Raises:
        UndecidedError: engines may rightly differ here.
    """
    match node:
        case Number(value=value):
            return Span(value, value)
        case Text(value=word):
            return word
        case Name(name=name):
            return _given(given[name])
        case Call(function="if", args=(test, yes, no)):
            chosen = evaluate(test, given)
            return chosen if chosen is FAILURE else evaluate(yes if chosen else no, given)
        case Call(function="known", args=(inner,)):
            return evaluate(inner, given) is not FAILURE
        case Call(function="first_known", args=args):
            for inner in args:
                value = evaluate(inner, given)
                if value is not FAILURE:
                    return value
            return FAILURE
        case Call(function=function, args=args) if function.endswith(("_of", "_over")):
            return _reduced(function.partition("_")[0], args[-1], given)
        case Call(function=function, args=args):
            values = [evaluate(inner, given) for inner in args]
            return FAILURE if FAILURE in values else _PLAIN[function](*values)
    raise AssertionError(node)


def _given(value: object) -> Result:
    if value is None:
        return FAILURE
    return value if isinstance(value, (bool, str)) else Span(float(value), float(value))  # type: ignore[arg-type]


def _reduced(how: str, body: Node, given: Given) -> Result:
    assert isinstance(body, Name), "reductions are drawn over one name"
    column = given[body.name]
    assert isinstance(column, list)
    values = [_given(value) for value in column]
    if how == "first":
        return values[0]
    if FAILURE in values:
        return FAILURE
    reduced: dict[str, Callable[..., Result]] = {
        "sum": _sum,
        "min": _min,
        "max": _max,
        "all": lambda *flags: all(flags),
        "any": lambda *flags: any(flags),
        "count": lambda *flags: Span(float(sum(flags)), float(sum(flags))),
    }
    return reduced[how](*values)


def _finite(low: float, high: float) -> Result:
    """An interval, a failure where it lies beyond the doubles, undecided at their edges."""
    if math.isnan(low) or math.isnan(high):
        raise UndecidedError
    if math.isinf(low) and math.isinf(high):
        return FAILURE
    if math.isinf(low) or math.isinf(high) or 0 < max(abs(low), abs(high)) < TINY:
        raise UndecidedError
    return Span(low, high)


def _wide(values: list[float], slack: float) -> Result:
    return _finite(min(values) - slack, max(values) + slack)


def _exact(*spans: Span) -> bool:
    return all(span.whole for span in spans)


def _add(a: Span, b: Span) -> Result:
    total = a.low + b.low
    if _exact(a, b):
        return Span(total, total)
    return _wide([total, a.high + b.high], NEAR * max(a.size(), b.size()))


def _mul(a: Span, b: Span) -> Result:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    if _exact(a, b) or a.size() == 0 or b.size() == 0:
        return Span(corners[0], corners[0])
    if min(map(abs, corners)) < TINY:
        raise UndecidedError
    return _wide(corners, 1e-15 * max(map(abs, corners)))


def _div(a: Span, b: Span) -> Result:
    if b.low == b.high == 0:
        return FAILURE
    if b.low <= 0 <= b.high:
        raise UndecidedError
    corners = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _wide(corners, 1e-15 * max(map(abs, corners)))


def _power(x: float, y: float) -> float:
    try:
        found = x**y
    except OverflowError:
        return math.inf
    return found if isinstance(found, float) else math.nan


def _pow(a: Span, b: Span) -> Result:
    if b.low == b.high == 0:
        return Span(1.0, 1.0)
    if b.low <= 0 <= b.high:
        raise UndecidedError
    if a.low == a.high == 0:
        return FAILURE if b.high < 0 else Span(0.0, 0.0)
    if a.low <= 0 <= a.high:
        raise UndecidedError
    if a.low < 0 and not b.low.is_integer() and math.floor(b.low) == math.floor(b.high):
        return FAILURE
    if a.low < 0 and b.low != b.high:
        raise UndecidedError
    corners = [_power(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    if _exact(a, b) and b.low > 0 and abs(corners[0]) < WHOLE:
        return Span(corners[0], corners[0])
    if min(map(abs, corners)) < TINY:
        raise UndecidedError
    # The relative error grows with the exponent, as the logarithm's does.
    slack = 1e-15 * (4 + b.size()) * max(map(abs, corners))
    return _wide(corners, slack if math.isfinite(slack) else 0)


def _less(a: Span, b: Span, equal: bool) -> bool:
    if a.low == a.high == b.low == b.high:
        return equal
    margin = 0 if _exact(a, b) else NEAR * max(a.size(), b.size())
    if a.high + margin < b.low:
        return True
    if b.high + margin < a.low:
        return False
    raise UndecidedError


def _same(a: Result, b: Result) -> bool:
    if not isinstance(a, Span) or not isinstance(b, Span):
        return a == b
    if not _exact(a, b):
        raise UndecidedError
    return a.low == b.low


def _min(*spans: Span) -> Result:
    return Span(min(s.low for s in spans), min(s.high for s in spans))


def _max(*spans: Span) -> Result:
    return Span(max(s.low for s in spans), max(s.high for s in spans))


def _sum(*spans: Span) -> Result:
    low, high = math.fsum(s.low for s in spans), math.fsum(s.high for s in spans)
    if _exact(*spans):
        return Span(low, low)
    return _wide([low, high], NEAR * math.fsum(s.size() for s in spans))


def _abs(a: Span) -> Result:
    low = 0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return Span(low, a.size())


def _monotone(function: Callable[[float], float], lowest: float) -> Callable[[Span], Result]:
    """A rising function that fails below ``lowest``."""

    def applied(a: Span) -> Result:
        if a.high < lowest:
            return FAILURE
        if a.low < lowest:
            raise UndecidedError
        ends = []
        for x in (a.low, a.high):
            try:
                ends.append(function(x))
            except OverflowError:
                ends.append(math.inf)
        if function is math.exp and min(ends) < TINY:
            raise UndecidedError
        slack = 2e-15 * max(map(abs, ends)) + (1e-15 if function is math.log else 0)
        return _wide(ends, slack if math.isfinite(slack) else 0)

    return applied


def _ln(a: Span) -> Result:
    if a.low == a.high == 0:
        return FAILURE
    if a.low <= 0 <= a.high:
        raise UndecidedError
    return _monotone(math.log, 0)(a)


def _guarded(sign: int) -> Callable[[Span], Result]:
    """Floor (1) or ceil (-1) that forgives one part in 1e12."""

    def applied(a: Span) -> Result:
        found = set()
        for x in (sign * a.low, sign * a.high):
            slack = abs(x) * NEAR
            found |= {math.floor(x + abs(x) * GUARD + s) for s in (-slack, slack)}
        if len(found) > 1:
            raise UndecidedError
        whole = float(sign * found.pop())
        return Span(whole, whole)

    return applied


def _whole_quotient(finish: Callable[[int, int], int]) -> Callable[[Span, Span], Result]:
    def applied(a: Span, b: Span) -> Result:
        if not _exact(a, b):
            raise UndecidedError
        if b.low == 0:
            return FAILURE
        found = float(finish(int(a.low), int(b.low)))
        return Span(found, found)

    return applied


def _divides(a: Span, b: Span) -> Result:
    if not _exact(a, b):
        raise UndecidedError
    return FAILURE if a.low == 0 else int(b.low) % int(a.low) == 0


def _count_places(text: str, layers: Span) -> Result:
    if layers.low != layers.high:
        raise UndecidedError
    if layers.low < 0:
        return FAILURE
    found = float(sum(mark != "." for mark in text[: int(layers.low)]))
    return Span(found, found)


_PLAIN: dict[str, Callable[..., Result]] = {
    "count_places": _count_places,
    "add": _add,
    "sub": lambda a, b: _add(a, Span(-b.high, -b.low)),
    "mul": _mul,
    "div": _div,
    "neg": lambda a: Span(-a.high, -a.low),
    "pow": _pow,
    "lt": lambda a, b: _less(a, b, False),
    "le": lambda a, b: _less(a, b, True),
    "gt": lambda a, b: _less(b, a, False),
    "ge": lambda a, b: _less(b, a, True),
    "eq": _same,
    "ne": lambda a, b: not _same(a, b),
    "and": lambda *flags: all(flags),
    "or": lambda *flags: any(flags),
    "not": lambda flag: not flag,
    "min": _min,
    "max": _max,
    "abs": _abs,
    "sqrt": _monotone(math.sqrt, 0),
    "exp": _monotone(math.exp, -math.inf),
    "ln": _ln,
    "floor": _guarded(1),
    "ceil": _guarded(-1),
    "whole_down": _guarded(1),
    "whole_up": _guarded(-1),
    "floordiv": _whole_quotient(lambda a, b: a // b),
    "ceildiv": _whole_quotient(lambda a, b: -(-a // b)),
    "round_up_to": _whole_quotient(lambda a, b: -(-a // b) * b),
    "divides": _divides,
    "unknown": lambda: FAILURE,
}


def agrees(expected: Result, found: float | bool | str | Failure) -> bool:
    """Whether an engine's value lies in the interval, give or take one part in 1e9."""
    if isinstance(expected, Span):
        if isinstance(found, (bool, str, Failure)):
            return False
        slack = 0.0 if expected.whole else 1e-9 * expected.size()
        return expected.low - slack <= found <= expected.high + slack
    return type(expected) is type(found) and (expected is found or expected == found)


def sharp(expected: Result) -> bool:
    """False when rounding alone can move the value by more than one part in 1e9."""
    if not isinstance(expected, Span):
        return True
    return expected.high - expected.low <= 1e-9 * expected.size()
