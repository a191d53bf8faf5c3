"""Checks of price observations: a GPU of the catalog, and amounts that somebody could ask."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from planner.errors import Problem, nearest
from planner.records import Entry
from planner.records_price import PER_HOUR, Price, Prices

# Per GPU: a marketplace lets an old card for 0.1 an hour, a cloud a new one for 20.
_RANGES = {PER_HOUR: (0.02, 60.0), "usd/gpu": (200.0, 150_000.0)}


def prices(entries: Sequence[Entry], gpus: Collection[str]) -> Iterator[Problem]:
    """Every problem of price files that single files cannot see; ``gpus`` are the known ids."""
    for entry in entries:
        record = entry.record
        if not isinstance(record, Prices):
            continue
        if record.id not in gpus:
            yield entry.file.problem(
                ("id",), "the id of a GPU", f"'{record.id}'", nearest(record.id, gpus)
            )
        for index, price in enumerate(record.prices):
            yield from _range(entry, index, price)


def _range(entry: Entry, index: int, price: Price) -> Iterator[Problem]:
    unit = price.written_unit
    low, high = _RANGES[unit]
    if not low <= price.amount <= high:
        key = ("prices", index, "value")
        hint = "" if price.amount < low else "a superchip, a node or a rack counts as its GPUs"
        yield entry.file.problem(key, f"{low:g} to {high:g} {unit}", f"{price.amount:.4g}", hint)
