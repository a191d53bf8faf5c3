"""Checked units: dimensions as exponents, exact factors, parsed and shown at the edge.

Inside the engine every number is in base units (byte, s, flop/s, byte/s); a unit is looked at when
a quantity is read and when it is shown, never in between.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from planner.errors import nearest

BASES = (
    "byte", "s", "token", "request", "gpu", "flop", "param", "block", "J", "usd",
)  # fmt: skip

Dimension = tuple[int, ...]
NO_DIMENSION: Dimension = (0,) * len(BASES)


class UnitError(ValueError):
    """A unit or quantity text that cannot be read; the message says what was expected."""

    def __init__(self, expected: str, found: str, hint: str = "") -> None:
        self.expected, self.found, self.hint = expected, found, hint
        super().__init__(f"expected {expected}, found {found}")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit text with its exact factor to base units and its dimension."""

    text: str
    factor: Fraction
    dimension: Dimension

    def __mul__(self, other: Unit) -> Unit:
        return _derived(
            self.factor * other.factor,
            tuple(a + b for a, b in zip(self.dimension, other.dimension, strict=True)),
        )

    def __truediv__(self, other: Unit) -> Unit:
        return self * other.power(-1)

    def power(self, exponent: int) -> Unit:
        """This unit multiplied by itself ``exponent`` times."""
        return _derived(self.factor**exponent, tuple(a * exponent for a in self.dimension))

    @property
    def is_plain(self) -> bool:
        """True for a pure number without prefix, the unit ``1``."""
        return self.dimension == NO_DIMENSION and self.factor == 1

    @property
    def base(self) -> Unit:
        """The base unit of the same dimension."""
        return _derived(Fraction(1), self.dimension)


def _derived(factor: Fraction, dimension: Dimension) -> Unit:
    text = dimension_text(dimension)
    return Unit(text if factor == 1 else f"{factor} {text}", factor, dimension)


def dimension_text(dimension: Dimension) -> str:
    """The dimension as a unit text in base units, such as ``byte/token``."""

    def part(sign: int) -> list[str]:
        return [
            name if sign * power == 1 else f"{name}^{sign * power}"
            for name, power in zip(BASES, dimension, strict=True)
            if sign * power > 0
        ]

    above, below = part(1), part(-1)
    return "/".join(["*".join(above) or "1", *below])


def _base(name: str) -> Dimension:
    return tuple(int(name == base) for base in BASES)


# One row a unit: factor to the base unit, base unit. Prefixes are written out so that every
# accepted spelling stands here, and every refused one (KB, Gb, K) gets a hint.
_ROWS: dict[str, tuple[Fraction, str]] = {
    "1": (Fraction(1), ""),
    "%": (Fraction(1, 100), ""),
    "B": (Fraction(1), "byte"), "byte": (Fraction(1), "byte"),
    "bit": (Fraction(1, 8), "byte"), "Gbit": (Fraction(10**9, 8), "byte"),
    "s": (Fraction(1), "s"), "ms": (Fraction(1, 1000), "s"), "us": (Fraction(1, 10**6), "s"),
    "min": (Fraction(60), "s"), "h": (Fraction(3600), "s"), "day": (Fraction(86400), "s"),
    "month": (Fraction(365 * 86400, 12), "s"), "year": (Fraction(365 * 86400), "s"),
    "token": (Fraction(1), "token"), "tokens": (Fraction(1), "token"),
    "ktoken": (Fraction(1000), "token"), "Mtoken": (Fraction(10**6), "token"),
    "request": (Fraction(1), "request"), "requests": (Fraction(1), "request"),
    "gpu": (Fraction(1), "gpu"), "GPU": (Fraction(1), "gpu"),
    "block": (Fraction(1), "block"), "blocks": (Fraction(1), "block"),
    "param": (Fraction(1), "param"), "params": (Fraction(1), "param"),
    "Mparam": (Fraction(10**6), "param"), "Gparam": (Fraction(10**9), "param"),
    "J": (Fraction(1), "J"), "kWh": (Fraction(3_600_000), "J"),
    "usd": (Fraction(1), "usd"), "USD": (Fraction(1), "usd"),
}  # fmt: skip
_ROWS |= {f"{p}B": (Fraction(1000) ** n, "byte") for n, p in enumerate("kMGTP", 1)}
_ROWS |= {f"{p}iB": (Fraction(1024) ** n, "byte") for n, p in enumerate("KMGTP", 1)}
_ROWS |= {
    name: (Fraction(1000) ** n, "flop")
    for n, p in enumerate(["", "k", "M", "G", "T", "P", "E"])
    for name in (f"{p}flop", f"{p}FLOP")
}


_HINTS = {
    "KB": "write kB for 1,000 bytes or KiB for 1,024 bytes",
    "K": "write kB, KiB or the full number",
    "G": "write GB for 1e9 bytes or GiB for 2^30 bytes",
    "S": "write s",
    "hour": "write h",
    "hours": "write h",
    "Gb": "write GB for bytes or Gbit for bits",
    "Mb": "write MB for bytes",
    "gb": "write GB for 1e9 bytes or GiB for 2^30 bytes",
    "gib": "write GiB",
    "mb": "write MB for 1e6 bytes or MiB for 2^20 bytes",
    "TFLOPS": "write TFLOP/s",
    "GFLOPS": "write GFLOP/s",
    "PFLOPS": "write PFLOP/s",
    "FLOPS": "write FLOP/s",
    "tok": "write token",
    "$": "write usd",
}


def _atom(text: str) -> Unit:
    name, power, exponent = text.partition("^")
    if name in ("W", "kW"):
        unit = Unit(name, Fraction(1 if name == "W" else 1000), (_sub(_base("J"), _base("s"))))
    elif name in _ROWS:
        factor, base = _ROWS[name]
        unit = Unit(name, factor, _base(base))
    else:
        hint = _HINTS.get(name) or nearest(name, [*_ROWS, "W", "kW"])
        raise UnitError("a known unit", f"'{name}'", hint)
    if not power:
        return unit
    if not re.fullmatch(r"-?[0-9]{1,2}", exponent):
        raise UnitError("a whole exponent", f"'^{exponent}'")
    return unit.power(int(exponent))


def _sub(a: Dimension, b: Dimension) -> Dimension:
    return tuple(x - y for x, y in zip(a, b, strict=True))


@cache
def parse_unit(text: str) -> Unit:
    """Read a unit text such as ``byte/token``, ``GiB`` or ``usd/gpu/h``.

    Raises:
        UnitError: an unknown name, or a text that is not products and quotients of names.
    """
    parts = re.split(r"([*/])", re.sub(r" *([*/^]) *", r"\1", text.strip()))
    if any(" " in part for part in parts):
        raise UnitError("a unit such as byte/token", f"'{text}'", "write byte/token for 'per'")
    if not text.strip() or any(not part for part in parts):
        raise UnitError("a unit such as byte/token", f"'{text}'")
    unit = _atom(parts[0])
    for operator, name in zip(parts[1::2], parts[2::2], strict=True):
        unit = unit * _atom(name) if operator == "*" else unit / _atom(name)
    return Unit(text.strip(), unit.factor, unit.dimension)


_MOST = Fraction(10) ** 100
# Commas only between groups of three: "1,5 GB" is 1.5 to some readers and must not become 15.
_NUMBER = re.compile(
    r"[-+]?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]+)*)(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:[eE][-+]?[0-9]{1,3})?(?![0-9_,.])"
)
_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+(?![0-9,])")
_LONGEST = 100


@lru_cache(maxsize=4096)
def parse_quantity(text: str, wanted: str) -> float:
    """Read ``80 GB`` and give it in base units; ``wanted`` names a unit of the right dimension.

    A bare number is accepted only where the unit is ``1``.

    Raises:
        UnitError: no number, no unit where one is needed, or a unit of another dimension.
    """
    unit = parse_unit(wanted)
    match = _NUMBER.match(text.strip())
    if not match:
        comma = _COMMA.match(text.strip())
        hint = f"write {comma[0].replace(',', '.')}, with a point" if comma else ""
        raise UnitError(quantity_words(wanted), f"'{text[:_LONGEST]}'", hint)
    if len(match.group()) > _LONGEST:
        raise UnitError(f"a number of at most {_LONGEST} digits", f"{match.group()[:20]}...")
    number = Fraction(match.group().replace("_", "").replace(",", ""))
    if abs(number) > _MOST:
        raise UnitError("a number below 1e100", f"{match.group()[:20]}")
    rest = text.strip()[match.end() :].strip()
    if not rest:
        if unit.dimension != NO_DIMENSION:
            raise UnitError(
                quantity_words(wanted),
                f"the bare number {match.group()}",
                f"add the unit: '{match.group()} {example(wanted).split(' ', 1)[1]}'",
            )
        return float(number)
    given = parse_unit(rest)
    if given.dimension != unit.dimension:
        raise UnitError(
            f"a unit of {dimension_text(unit.dimension)}",
            f"{rest} ({dimension_text(given.dimension)})",
        )
    return float(number * given.factor)


# The unit a person would write, by base dimension: it makes the hint readable.
_EXAMPLES = {
    "byte": "80 GB", "byte/gpu": "80 GB/gpu", "byte/s": "3.35 TB/s", "flop/s": "989 TFLOP/s",
    "byte/s/gpu": "3.35 TB/s/gpu", "flop/s/gpu": "989 TFLOP/s/gpu", "s": "20 ms",
    "token": "8192 tokens", "J/s": "700 W", "usd/s/gpu": "2.5 usd/gpu/h",
}  # fmt: skip


def example(unit_text: str) -> str:
    """A quantity a person would write for this unit."""
    unit = parse_unit(unit_text)
    return _EXAMPLES.get(dimension_text(unit.dimension), f"1 {unit_text}")


def quantity_words(unit_text: str) -> str:
    """What a message expects where a quantity of this unit must stand."""
    if parse_unit(unit_text).dimension == NO_DIMENSION:
        return "a number"
    return f"a number with a unit such as {example(unit_text)}"


def names() -> list[str]:
    """Every unit name that is understood, for the reference page and the round-trip test."""
    return [*_ROWS, "W", "kW"]
