"""What was read from a log: readings with their lines, one observation per engine start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from planner.importers.startup_log_quantities import QUANTITIES

# Of "0.6.4.post1", "0.20.1rc1.dev16+g0f" and "1.0.0" the digits; of "0.2x" or "0.1.dev7" nothing.
_RELEASE = re.compile(
    r"(?!0\.1\.dev)(?>[0-9]{1,6}(?:\.[0-9]{1,6}){0,3})(?=$|[.+-]|rc|post|dev|[ab][0-9])"
)
_CHOICES = {"smallest": min, "largest": max}
NAMES = {
    "vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM", "llama.cpp": "llama.cpp",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """One statement of a log: a number in base units or a word, and the line that states it.

    ``unit`` is the unit in which the engine means it, ``printed`` the one that it prints where that
    is another, ``row`` the pattern that matched; ``derived`` marks a sum of readings.
    """

    quantity: str
    value: float | str
    line: int
    rank: str = ""
    unit: str = ""
    printed: str = ""
    row: int = -1
    derived: bool = False

    @property
    def number(self) -> float:
        """The value of a quantity that is no word."""
        if isinstance(self.value, str):
            raise TypeError(f"{self.quantity} is a word")
        return self.value


@dataclass(frozen=True, slots=True)
class Doubt:
    """A line that does not say what it seems to say."""

    quantity: str
    line: int
    text: str


@dataclass(frozen=True)
class Observation:
    """Everything that one engine start states. ``date`` is the first time in it, as written."""

    engine: str
    readings: tuple[Reading, ...]
    date: str = ""
    doubts: tuple[Doubt, ...] = ()

    @cached_property
    def quantities(self) -> tuple[str, ...]:
        """What is stated, in reading order."""
        given = {reading.quantity for reading in self.readings}
        return tuple(name for name in QUANTITIES if name in given)

    @property
    def first_line(self) -> int:
        """The line at which the start begins."""
        return min(reading.line for reading in self.readings)

    @cached_property
    def name(self) -> str:
        """The engine, its platform and release in words."""
        name, platform = NAMES[self.engine], self.word("platform")
        name = platform if platform and "." in platform else name
        on = f" on {platform}" if platform and platform != name else ""
        return " ".join(part for part in (name + on, self.word("engine_version")) if part)

    @cached_property
    def release(self) -> tuple[int, ...] | None:
        """The release as numbers, such as ``(0, 19, 0)``; a build without tags has none."""
        word = self.word("engine_version") or ""
        found = _RELEASE.match(word)
        return tuple(int(part) for part in found[0].split(".")) if found else None

    def all(self, quantity: str) -> tuple[Reading, ...]:
        """Every reading of a quantity, in the order of the log."""
        return tuple(one for one in self.readings if one.quantity == quantity)

    def by_rank(self, quantity: str) -> dict[str, Reading]:
        """The reading that counts for each rank."""
        ranks: dict[str, list[Reading]] = {}
        for reading in self.all(quantity):
            ranks.setdefault(reading.rank, []).append(reading)
        return {rank: _within(found) for rank, found in ranks.items()}

    def reading(self, quantity: str) -> Reading | None:
        """The reading that counts, ranks merged; None where the log states nothing."""
        found = self.by_rank(quantity)
        if not found:
            return None
        rule = QUANTITIES[quantity].across
        every = list(found.values())
        if rule == "limit":
            return found.get(self.limit_rank) or max(every, key=lambda one: one.number)
        if rule == "sum":
            return _summed(every)
        if rule == "first":
            told = [one for one in every if one.value != "auto"] or every
            return min(told, key=lambda one: one.line)
        return _CHOICES[rule](every, key=lambda one: one.number)

    @cached_property
    def limit_rank(self) -> str:
        """The rank with the smallest KV pool; the engine goes by it."""
        pool = self.reading("kv_pool")
        return pool.rank if pool else ""

    def value(self, quantity: str) -> float | None:
        """A number in base units, or None where the log states nothing."""
        found = self.reading(quantity)
        return None if found is None else found.number

    def word(self, quantity: str) -> str | None:
        """A word, or None where the log states nothing."""
        found = self.reading(quantity)
        return None if found is None else str(found.value)

    def ranks(self) -> Iterator[str]:
        """Every rank that states something, in order of appearance."""
        yield from dict.fromkeys(reading.rank for reading in self.readings if reading.rank)


def _within(found: list[Reading]) -> Reading:
    rule = QUANTITIES[found[0].quantity].within
    if rule == "sum":
        return _summed(found)
    told = [one for one in found if one.value != "auto"] or found
    return told[-1] if rule == "last" else told[0]


def _summed(found: list[Reading]) -> Reading:
    if len(found) == 1:
        return found[0]
    return replace(found[0], value=sum(one.number for one in found), derived=True)
