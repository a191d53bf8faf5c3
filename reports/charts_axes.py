"""Axes of charts: where a value stands, where an axis ends, which places it names."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from reports import numbers
from reports.numbers import Kind, Number

_HUGE = 1e150


def known(value: Number) -> float | None:
    """The value as a float that can be placed, or None for what is not known.

    Sizes beyond 1e150 stand at 1e150 and those below 1e-150 at 0, so that no scale overflows.
    """
    if value is None or not numbers.is_known(value):
        return None
    number = float(min(max(value, -_HUGE), _HUGE))
    return number if abs(number) > 1 / _HUGE else 0.0


@dataclass(frozen=True, slots=True)
class Axis:
    """Values ``low..high`` onto units ``begin..end``, linear or by their logarithm."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a value; one outside the axis stays at its end."""
        low, high = self._place(self.low), self._place(self.high)
        share = (self._place(value) - low) / (high - low)
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)

    def _place(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def takes(self, value: Number) -> float | None:
        """The value as a float where the axis can show it."""
        number = known(value)
        return None if number is None or (self.log and number <= 0) else number


def domain(
    values: Iterable[Number], *, log: bool, from_zero: bool = False, round_out: bool = True
) -> tuple[float, float]:
    """The ends of an axis that holds all values; 1 to 10 where there are none.

    Args:
        values: what the axis must hold; what it cannot show is passed over.
        log: a logarithmic axis, which shows positive values only.
        from_zero: a linear axis that contains zero.
        round_out: end on round numbers.
    """
    kept = [number for value in values if (number := known(value)) is not None]
    kept = [number for number in kept if number > 0 or not log]
    low, high = (min(kept), max(kept)) if kept else (1.0, 10.0)
    if log:
        if high / low < 1.5:
            low, high = low / 2, high * 2
        return (_log_step(low, up=False), _log_step(high, up=True)) if round_out else (low, high)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        margin = max(0.5, abs(low) / 10)
        low, high = low - margin, high + margin
    if round_out:
        step = _step(high - low)
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    return low, high


def _log_step(value: float, *, up: bool) -> float:
    """The next 1, 2 or 5 times a power of ten at or beyond ``value``."""
    power = math.floor(math.log10(value))
    steps = [float(f"{digit}e{power + extra}") for extra in (0, 1) for digit in (1, 2, 5)]
    if up:
        return next((step for step in steps if step >= value * (1 - 1e-12)), steps[-1])
    return max((step for step in steps if step <= value * (1 + 1e-12)), default=steps[0])


def _step(span: float) -> float:
    """A tick distance of 1, 2 or 5 times a power of ten for about five ticks."""
    power = math.floor(math.log10(span / 5))
    steps = [float(f"{digit}e{power}") for digit in (1, 2, 5, 10)]
    return next((step for step in steps if span / step <= 5.5), steps[-1])


def ticks(axis: Axis) -> list[float]:
    """Round places to name on an axis, rising."""
    if not axis.log:
        step = _step(axis.high - axis.low)
        first = math.ceil(axis.low / step - 1e-9)
        last = math.floor(axis.high / step + 1e-9)
        # Rounding to the digits of the step keeps 0.30000000000000004 off the axis.
        return [float(f"{number * step:.12g}") for number in range(first, last + 1)]
    low, high = math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high))
    digits = (1, 2, 5) if high - low <= 3 else (1,)
    every = [float(f"{d}e{power}") for power in range(low, high + 1) for d in digits]
    inside = [t for t in every if axis.low * (1 - 1e-12) <= t <= axis.high * (1 + 1e-12)]
    return inside if len(inside) > 1 else [axis.low, axis.high]


def thinned(places: list[float], axis: Axis, apart: float) -> list[float]:
    """Every place, or every second, third, ... where they would stand nearer than ``apart``."""
    for every in range(1, len(places) + 1):
        kept = places[::every]
        if all(abs(axis.at(a) - axis.at(b)) >= apart for a, b in pairwise(kept)):
            return kept
    return places[:1]


def tick_texts(places: list[float], kind: Kind, *, log: bool) -> list[str]:
    """The texts of ticks with as few digits as they need; linear ones share their decimals."""
    needed = [_decimals(place, kind) for place in places]
    if not log:
        needed = [max(needed, default=0)] * len(places)
    return [
        numbers.fixed(place, decimals, kind=kind) if decimals <= 4 else numbers.show(place, kind)
        for place, decimals in zip(places, needed, strict=True)
    ]


def _decimals(value: float, kind: Kind) -> int:
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    percent = 2 if kind in ("share", "change_share") else 0
    return max(0, -int(exponent) - percent)
