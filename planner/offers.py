"""The catalog entries that workbook and page offer to choose from: the plan's own and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.catalog import Catalog
from planner.facts import Fact, GroupFacts
from planner.inputs import Source, sources_of
from planner.planning import Plan

CHOSEN = ("gpu", "weight_format", "kv_format")
"""What a page lets its reader change: the layers of another model would need other rows."""

OFFERED = ("model", "gpu", "engine", "weight_format", "kv_format")


@dataclass(frozen=True, slots=True)
class Offer:
    """One catalog entry with everything that cells need of it."""

    kind: str
    id: str
    label: str
    facts: Mapping[str, Fact]
    sources: Mapping[str, Source]
    groups: tuple[GroupFacts, ...] = ()
    used: bool = False


def offers(
    plan: Plan, catalog: Catalog | None = None, kinds: Sequence[str] = OFFERED
) -> dict[str, list[Offer]]:
    """Entries of these kinds, sorted by id. The plan's own facts win over the catalog's.

    Without a catalog (a plan read from a file) only the plan's own entries are offered.
    """
    found: dict[str, dict[str, Offer]] = {kind: {} for kind in kinds}
    if catalog is not None:
        for kind in kinds:
            for word in catalog.ids(kind):
                found[kind][word] = _from_catalog(catalog, kind, word)
    inputs = plan.inputs
    for (kind, word), facts in inputs.facts.items():
        if kind not in found:
            continue
        found[kind][word] = Offer(
            kind, word, inputs.labels[kind, word], facts, inputs.sources.get((kind, word), {}),
            inputs.groups.get(word, ()) if kind == "model" else (), True,
        )  # fmt: skip
    return {kind: [entries[word] for word in sorted(entries)] for kind, entries in found.items()}


def _from_catalog(catalog: Catalog, kind: str, word: str) -> Offer:
    record = catalog.entry(kind, word).record
    groups = catalog.groups(word) if kind == "model" else ()
    return Offer(kind, word, record.label, catalog.facts(kind, word), sources_of(record), groups)
