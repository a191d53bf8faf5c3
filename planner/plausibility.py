"""Checks that no single entry can make: names unique, references alive, figures plausible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.errors import Problem
from planner.plausibility_gpus import gpu_figures, gpus
from planner.plausibility_models import formats, models
from planner.plausibility_prices import prices
from planner.records import Entry, aliases

__all__ = ["formats", "gpu_figures", "gpus", "models", "prices", "unique_names"]


def unique_names(entries: Sequence[Entry], label: str) -> Iterator[Problem]:
    """Aliases that are the id or alias of another entry too."""
    owner = {entry.record.id: entry.record.id for entry in entries}
    for entry in entries:
        for index, word in enumerate(entry.record.aliases):
            if word in entry.record.aliases[:index]:
                yield entry.file.problem(("aliases", index), "each alias once", f"'{word}' again")
        for word in aliases(entry.record):
            first = owner.setdefault(word, entry.record.id)
            if first != entry.record.id:
                key = ("hf_id",) if word not in entry.record.aliases else ("aliases",)
                yield entry.file.problem(
                    key, f"a name of {label} that is free", f"'{word}' of {first}"
                )
