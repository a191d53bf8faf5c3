"""Start-up logs of serving engines: what one states, as figures with the lines they stand in.

Lines may be mixed with other output, coloured, stamped with times and ranks, and in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import IO

from planner.importers import (
    startup_log_llamacpp,
    startup_log_sglang,
    startup_log_tensorrt,
    startup_log_vllm,
)
from planner.importers.startup_log_doubts import BLOCKS, DERIVED, GROUPS, doubts, token_report
from planner.importers.startup_log_quantities import QUANTITIES, Quantity
from planner.importers.startup_log_refine import refined
from planner.importers.startup_log_rows import UNIT, Row
from planner.importers.startup_log_text import Line, lines
from planner.importers.startup_log_types import NAMES, Doubt, Observation, Reading
from planner.units import parse_unit

__all__ = [
    "BLOCKS", "DERIVED", "GROUPS", "NAMES", "QUANTITIES", "ROWS", "Doubt", "Observation",
    "Quantity", "Reading", "Row", "read_log", "token_report",
]  # fmt: skip

ROWS: tuple[Row, ...] = (
    *startup_log_vllm.ROWS,
    *startup_log_sglang.ROWS,
    *startup_log_tensorrt.ROWS,
    *startup_log_llamacpp.ROWS,
)
"""Every line that is known, in one table."""

MOST_READINGS = 20_000
"""Statements that are kept of one log: a start of 64 ranks makes 1,000."""

# A marker that comes again begins a new start only after one of these: many processes of one
# start print the same banner.
_LATE = {"weights", "kv_pool", "kv_self", "kv_tokens", "gpu_blocks", "request_memory"}

_BY_NEEDLE: dict[str, list[tuple[int, Row]]] = {}
for _index, _one in enumerate(ROWS):
    _BY_NEEDLE.setdefault(_one.needle, []).append((_index, _one))


@dataclass
class _Start:
    """One engine start while it is being read."""

    readings: list[Reading] = field(default_factory=list)
    markers: set[tuple[int, str]] = field(default_factory=set)
    date: str = ""
    late: bool = False

    def add(self, line: Line, readings: list[Reading]) -> None:
        self.readings += readings
        self.date = self.date or line.date
        self.late = self.late or any(one.quantity in _LATE for one in readings)


def read_log(source: str | bytes | IO[str] | IO[bytes]) -> tuple[Observation, ...]:
    """Every engine start in a log, in the order of the log; none where no line is known.

    Args:
        source: the log, or a stream of it. Memory stays bounded however long it is.
    """
    open_starts: dict[str, _Start] = {}
    done: list[tuple[str, _Start]] = []
    count = 0
    for line in lines(source):
        for engine, found in _statements(line).items():
            start = open_starts.setdefault(engine, _Start())
            markers = {(index, line.rank) for index in found if ROWS[index].starts}
            if start.late and markers & start.markers:
                done.append((engine, start))
                start = open_starts[engine] = _Start()
            start.markers |= markers
            readings = [reading for group in found.values() for reading in group]
            start.add(line, readings)
            count += len(readings) + len(markers)
        if count >= MOST_READINGS:
            break
    done += open_starts.items()
    seen = [_observed(engine, start) for engine, start in done if _has_figures(start)]
    return tuple(sorted(seen, key=lambda one: one.first_line))


def _has_figures(start: _Start) -> bool:
    """A banner alone is no observation."""
    return any(QUANTITIES[one.quantity].kind != "words" for one in start.readings)


def _observed(engine: str, start: _Start) -> Observation:
    raw = Observation(engine, tuple(refined(engine, start.readings)), start.date)
    return replace(raw, doubts=doubts(raw))


def _statements(line: Line) -> dict[str, dict[int, list[Reading]]]:
    """By engine and row: what a line states. A row without a figure may still mark a start."""
    found: dict[str, dict[int, list[Reading]]] = {}
    for needle, rows in _BY_NEEDLE.items():
        if needle in line.text:
            for index, row in rows:
                if (match := row.pattern.search(line.text)) is not None:
                    rank = match.groupdict().get("rank") or line.rank
                    readings = list(_readings(index, match.groupdict(), line.number, rank))
                    found.setdefault(row.engine, {})[index] = readings
    return found


def _readings(
    index: int, groups: dict[str, str | None], number: int, rank: str
) -> Iterator[Reading]:
    row = ROWS[index]
    for name, word in row.says.items():
        yield Reading(name, word, number, rank, row=index)
    for name in row.quantities:
        text = groups.get(name)
        if text is None:
            continue
        given = groups.get(name + UNIT) or row.printed or row.unit
        unit = _meant(given, row)
        value = _value(QUANTITIES[name], text, unit)
        if QUANTITIES[name].kind == "bytes":
            yield Reading(name, value, number, rank, unit, given if given != unit else "", index)
        else:
            yield Reading(name, value, number, rank, QUANTITIES[name].unit, row=index)


def _meant(unit: str, row: Row) -> str:
    """GB as GiB in the lines where an engine means that."""
    return unit.replace("B", "iB") if row.printed and "i" not in unit and unit != "B" else unit


def _value(quantity: Quantity, text: str, unit: str) -> float | str:
    if quantity.kind == "words":
        return text.strip()[:200]
    number = Fraction(text.replace(",", ""))
    if quantity.kind == "bytes":
        number *= parse_unit(unit).factor
    if quantity.kind == "ratio" and unit == "%":
        number /= 100
    return float(number)
