"""Catalog sheets: models, layer groups, GPUs, engines and formats, each figure with its source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.facts import Fact
from planner.inputs import Source
from planner.metric_files import FieldEntry
from planner.metrics import SLOTS, MetricSet
from planner.offers import Offer
from planner.places import NOWHERE
from reports.numbers import decimals_for, excel_format
from reports.words import called
from reports.workbook.rows_text import Scalar
from reports.workbook.tables import Book, Table, TableColumn, spacer


@dataclass(slots=True)
class SourceList:
    """Numbers sources in the order in which sheets first need them."""

    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    read: dict[int, str] = field(default_factory=dict)
    used_by: dict[int, list[str]] = field(default_factory=dict)

    def number(self, source: Source, user: str) -> int:
        """The number of a source; a new one gets the next."""
        found = self.numbers.setdefault((source.title, source.url), len(self.numbers) + 1)
        self.read.setdefault(found, source.read)
        users = self.used_by.setdefault(found, [])
        if user not in users:
            users.append(user)
        return found


@dataclass(frozen=True, slots=True)
class CatalogSheet:
    """What one catalog sheet is called and says."""

    kind: str
    name: str
    title: str
    answers: str


SHEETS = (
    CatalogSheet("model", "Models", "Models", "Which figures of each model does the plan use?"),
    CatalogSheet("gpu", "GPUs", "GPUs", "What does each card hold, read per second and compute?"),
    CatalogSheet("engine", "Engines", "Engines", "By which rules does the engine take memory?"),
    CatalogSheet(
        "weight_format", "Weight formats", "Weight formats",
        "How many bytes does one weight take, scales included?",
    ),
    CatalogSheet(
        "kv_format", "KV formats", "KV cache formats", "How many bytes does one KV element take?"
    ),
)  # fmt: skip


def catalog_sheet(
    book: Book, spec: CatalogSheet, offers: Sequence[Offer], metrics: MetricSet, sources: SourceList
) -> Table:
    """One row an entry, one column a figure in base units, and where the figures come from."""
    ws = book.sheet(spec.name, spec.title, spec.answers, "catalog")
    fields = {n: f for n, f in metrics.fields.items() if f.entity == spec.kind}
    columns = [
        TableColumn("id", "Id", [o.id for o in offers], role="key"),
        TableColumn("label", "Name", [o.label for o in offers], role="key"),
        spacer(),
    ]
    columns += [
        fact_column(name, entry, [o.facts[name] for o in offers]) for name, entry in fields.items()
    ]
    if spec.kind == "model":
        first = [float(1 + SLOTS * i) for i in range(len(offers))]
        columns.append(
            TableColumn(
                "first_group", "First layer-group row", first, role="note", number_format="0"
            )
        )
    columns.append(spacer())
    columns.append(_source_column(offers, [o.facts for o in offers], sources, fields))
    table = book.table(ws, columns, len(offers), 2)
    table.order = [o.id for o in offers]
    return table


def groups_sheet(
    book: Book, models: Sequence[Offer], metrics: MetricSet, sources: SourceList
) -> Table:
    """Six rows a model.

    Unused slots hold zeros and no places: a drop-down can change a dense model into a hybrid.
    """
    ws = book.sheet(
        "Layer groups", "Layer groups",
        "Which layers does each model have, and what does each kind keep per token and request?",
        "catalog",
    )  # fmt: skip
    fields = {n: f for n, f in metrics.fields.items() if f.entity == "group"}
    rows = [
        (model, slot, model.groups[slot] if slot < len(model.groups) else None)
        for model in models
        for slot in range(SLOTS)
    ]
    blank = Fact(0.0, "", (), "", "", next(iter(models[0].facts.values())).span)
    nowhere = replace(blank, value=NOWHERE)
    columns = [
        TableColumn("model", "Model", [m.id for m, _, _ in rows], role="key"),
        TableColumn("slot", "Slot", [float(s + 1) for _, s, _ in rows], role="key"),
        TableColumn(
            "kind",
            "Kind of layers",
            [called(g.label) if g else "–" for _, _, g in rows],
            role="key",
        ),
        spacer(),
    ]
    columns += [
        fact_column(name, entry, [g.facts[name] if g else empty for _, _, g in rows])
        for name, entry in fields.items()
        for empty in [nowhere if entry.kind == "places" else blank]
    ]
    facts = [g.facts if g else {} for _, _, g in rows]
    columns += [
        spacer(),
        _source_column([m for m, _, _ in rows], facts, sources, fields),
        TableColumn(
            "basis",
            "How the widths follow",
            [g.basis if g else "" for _, _, g in rows],
            role="note",
            width=45,
            wrap=True,
        ),
    ]
    return book.table(ws, columns, len(rows), 3)


PLACES_WIDTH = 16.0
"""Of a column of places: a text has as many characters as the model has layers."""


def fact_column(name: str, entry: FieldEntry, facts: Sequence[Fact]) -> TableColumn:
    """A column of catalog figures; what is unknown says so."""
    values: list[Scalar] = [
        "unknown" if f.value is None else f.value if isinstance(f.value, bool | str) else
        float(f.value)
        for f in facts
    ]  # fmt: skip
    return TableColumn(
        name, entry.label, values, unit="" if entry.unit == "1" else entry.unit, role="input",
        number_format=number_format(values, entry.kind == "count"), note=entry.meaning,
        width=PLACES_WIDTH if entry.kind == "places" else 0.0,
    )  # fmt: skip


def number_format(values: Sequence[Scalar], whole: bool) -> str:
    """A format with the decimals that the column needs."""
    numbers = [v for v in values if isinstance(v, float)]
    if whole or all(v == int(v) for v in numbers):
        return excel_format("count")
    return excel_format("figure", decimals_for(numbers))


def _source_column(
    offers: Sequence[Offer],
    facts: Sequence[Mapping[str, Fact]],
    sources: SourceList,
    fields: Mapping[str, FieldEntry],
) -> TableColumn:
    texts = [
        sources_text(entries, offer.sources, f"{offer.kind} {offer.id}", sources, fields)
        for offer, entries in zip(offers, facts, strict=True)
    ]
    return TableColumn("sources", "Sources and confidence", texts, role="note", width=45, wrap=True)


def sources_text(
    facts: Mapping[str, Fact],
    known: Mapping[str, Source],
    user: str,
    sources: SourceList,
    fields: Mapping[str, FieldEntry],
) -> str:
    """``[3] datasheet; Device memory [7] log``: the commonest origin first, then exceptions."""
    origins = {
        name: " ".join(
            [*(f"[{sources.number(known[s], user)}]" for s in fact.source if s in known),
             called(fact.confidence)]
        ).strip()
        for name, fact in facts.items()
        if fact.value is not None
    }  # fmt: skip
    origins = {name: origin for name, origin in origins.items() if origin}
    if not origins:
        return ""
    common = Counter(origins.values()).most_common(1)[0][0]
    rest: dict[str, list[str]] = {}
    for name, origin in origins.items():
        if origin != common:
            rest.setdefault(origin, []).append(fields[name].label if name in fields else name)
    return "; ".join([common, *(f"{', '.join(names)} {origin}" for origin, names in rest.items())])
