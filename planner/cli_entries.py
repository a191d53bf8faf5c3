"""Catalog entries as plain data and as text for the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from planner import cli_prices
from planner.catalog import KINDS, Catalog
from planner.errors import InputError, Problem, Span, nearest
from planner.figures import Figure, figures
from planner.records import Engine, Entry, Format, Gpu, Model, Record, aliases
from planner.yamlfile import Key, path_text
from reports.numbers import cut, display_width, pad, show
from reports.text_explain import wrapped

Row = dict[str, Any]
_FOLDERS = {"models": "model", "gpus": "gpu", "engines": "engine", "formats": "weight_format"}


# ---- list --------------------------------------------------------------------------------------


def listing(
    catalog: Catalog, folders: Iterable[str], filters: Mapping[str, str]
) -> dict[str, list[Row]]:
    """Rows by folder; a filter keeps entries that have the key and hold the text, case aside.

    ``generation`` must be equal. ``kind`` looks at the layer kinds of a model, the form factor of a
    GPU and the kind of a price; prices are filtered by their GPUs otherwise.
    """
    found: dict[str, list[Row]] = {}
    for folder in folders:
        if folder == "prices":
            found[folder] = list(cli_prices.rows(catalog, filters))
        else:
            found[folder] = [
                _ROWS[folder](entry)
                for entry in _entries(catalog, folder)
                if _passes(entry.record, filters)
            ]
    return found


def _entries(catalog: Catalog, folder: str) -> list[Entry]:
    kinds = [name for name, kind in KINDS.items() if kind.folder == folder]
    words = {word: kind for kind in reversed(kinds) for word in catalog.ids(kind)}
    return [catalog.entry(kind, word) for word, kind in sorted(words.items())]


def _passes(record: Record, filters: Mapping[str, str]) -> bool:
    return all(
        text == _text_of(record, name)
        if name == "generation"
        else text.lower() in _text_of(record, name).lower()
        for name, text in filters.items()
    )


def _text_of(record: Record, name: str) -> str:
    if name != "kind":
        return str(getattr(record, name, ""))
    if isinstance(record, Model):
        return " ".join(group.kind for group in record.layer_groups)
    return record.form_factor if isinstance(record, Gpu) else ""


def _written(entry: Entry, *key: str) -> str:
    """A figure as its file writes it."""
    data: Any = entry.file.data
    for part in key:
        data = data.get(part) if isinstance(data, dict) else None
    value = data.get("value") if isinstance(data, dict) else data
    return "unknown" if value is None else str(value)


def _model(entry: Entry) -> Row:
    record = entry.record
    assert isinstance(record, Model)
    total = record.params.total.value
    billions = "unknown" if total is None else show(float(total) / 1e9, plain=True)
    kinds = list(dict.fromkeys(group.kind for group in record.layer_groups))
    return {
        "id": record.id, "billion params": billions, "weights": record.weight_format,
        "context": _written(entry, "max_context"), "layers": " + ".join(kinds),
        "vendor": record.vendor, "family": record.family, "label": record.label,
    }  # fmt: skip


def _gpu(entry: Entry) -> Row:
    record = entry.record
    assert isinstance(record, Gpu)
    return {
        "id": record.id, "memory": _written(entry, "memory", "marketed"),
        "bandwidth": _written(entry, "memory_bandwidth"),
        "dense bf16": _written(entry, "peak_dense", "bf16") if record.peak_dense.bf16 else "none",
        "vendor": record.vendor,
        "status": record.status, "line": record.line, "generation": record.generation,
        "form": record.form_factor, "label": record.label,
    }  # fmt: skip


def _engine(entry: Entry) -> Row:
    record = entry.record
    assert isinstance(record, Engine)
    return {
        "id": record.id, "memory basis": _written(entry, "memory_basis"),
        "block": _written(entry, "block_size"), "label": record.label,
    }  # fmt: skip


def _format(entry: Entry) -> Row:
    record = entry.record
    assert isinstance(record, Format)
    return {
        "id": record.id,
        "weight": _written(entry, "weight", "linear") if record.weight else "-",
        "KV element": _written(entry, "kv", "element") if record.kv else "-",
        "label": record.label,
    }  # fmt: skip


_ROWS: dict[str, Callable[[Entry], Row]] = {
    "models": _model, "gpus": _gpu, "engines": _engine, "formats": _format,
}  # fmt: skip


def table(found: Mapping[str, Sequence[Row]]) -> str:
    """Aligned columns, a block for each folder; what does not fit the terminal is left out."""
    width = shutil.get_terminal_size((80, 24)).columns
    blocks = []
    for folder, rows in found.items():
        if rows:
            title = f"{folder}\n" if len(found) > 1 else ""
            blocks.append(title + _aligned(rows, width))
    return "\n".join(blocks)


def _aligned(rows: Sequence[Row], width: int) -> str:
    lines = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    widths = [max(display_width(line[i]) for line in lines) for i in range(len(lines[0]))]
    while len(widths) > 2 and sum(widths) + 2 * (len(widths) - 1) > width:
        widths.pop()
    text = ""
    for line in lines:
        cells = [pad(cell, size) for cell, size in zip(line, widths, strict=False)]
        text += cut("  ".join(cells).rstrip(), width) + "\n"
    return text


# ---- show --------------------------------------------------------------------------------------


def found(catalog: Catalog, word: str) -> tuple[str, Entry]:
    """The entry of an id or alias, whatever its kind.

    Raises:
        InputError: no kind has it, or its file is bad.
    """
    for kind in KINDS:
        if word in catalog.ids(kind):
            return kind, catalog.entry(kind, word)
    for kind in KINDS:
        try:
            return kind, catalog.entry(kind, word)
        except InputError as error:
            if any(problem.span.line for problem in error.problems):
                raise
    known = sorted({name for kind in KINDS for name in catalog.ids(kind)})
    hint = nearest(word.lower(), known) or "capsheet catalog list shows all of them"
    raise InputError(Problem(Span("catalogs"), "", "the id of an entry", f"'{word}'", hint))


def described(kind: str, entry: Entry, prices: str = "") -> Row:
    """One entry as plain data: texts, figures in base units and as written, sources, their age."""
    record = entry.record
    groups = record.layer_groups if isinstance(record, Model) else ()
    kinds = ", ".join(f"[{index}] {group.kind}" for index, group in enumerate(groups))
    texts = {
        name: value
        for name in type(record).model_fields
        if isinstance(value := getattr(record, name), str | int) and value != ""
    }
    return {
        "kind": KINDS[kind].folder.rstrip("s"),
        **texts,
        "aliases": list(aliases(record)),
        **({"layer kinds": kinds} if kinds else {}),
        **({"prices": prices} if prices else {}),
        **_age(record),
        "figures": [_figure(entry, key, figure) for key, figure in figures(record)],
        "sources": {
            name: source.model_dump(exclude_none=True) for name, source in record.sources.items()
        },
    }


def _age(record: Record) -> Row:
    """When the sources were read, the oldest and the newest."""
    days = sorted({source.read for source in record.sources.values() if source.read})
    return {"sources read": " to ".join(dict.fromkeys((days[0], days[-1])))} if days else {}


def _figure(entry: Entry, key: Key, figure: Figure) -> Row:
    data: Any = entry.file.data
    for part in key:
        known = isinstance(data, list) or (isinstance(data, dict) and part in data)
        data = data[part] if known else None
    written = data.get("value") if isinstance(data, dict) else data
    written = str(written).lower() if isinstance(written, bool) else written
    row: Row = {
        "name": path_text(key), "value": figure.value, "unit": figure.unit,
        "written": "unknown" if written is None else str(written),
        "confidence": figure.confidence or "", "source": list(figure.source), "note": figure.note,
    }  # fmt: skip
    return {name: value for name, value in row.items() if name == "value" or value not in ("", [])}


def text(data: Row) -> str:
    """The description for people: what it is, its figures, and their sources with dates."""
    width = shutil.get_terminal_size((80, 24)).columns
    skipped = ("figures", "sources", "aliases", "kind", "id", "label", "note")
    lines = [f"{data['kind']} {data['id']} - {data['label']}"]
    if data["aliases"]:
        lines.append("also known as " + ", ".join(data["aliases"]))
    lines += wrapped(str(data.get("note", "")), width) if "note" in data else []
    lines += [f"{name}: {value}" for name, value in data.items() if name not in skipped]
    cited = [name for row in data["figures"] for name in row.get("source", ())]
    numbers = {name: index for index, name in enumerate(dict.fromkeys(cited), 1)}
    lines += ["", *_figure_lines(data["figures"], numbers, width)]
    lines += ["", "sources"] if numbers else []
    for name, index in numbers.items():
        line = f"  [{index}] {cli_prices.source_words(data['sources'], name)}"
        lines += wrapped(line, width, " " * 6)
    return "\n".join(lines) + "\n"


def _figure_lines(rows: Sequence[Row], numbers: Mapping[str, int], width: int) -> Iterable[str]:
    """A figure a line: name, value as written, confidence with sources, note."""
    names = max((display_width(row["name"]) for row in rows), default=0)
    values = min(24, max((display_width(row["written"]) for row in rows), default=0))
    for row in rows:
        marks = [f"[{numbers[name]}]" for name in row.get("source", ())]
        origin = " ".join([row.get("confidence", ""), *marks]).strip()
        note = "; ".join(part for part in (origin, row.get("note", "")) if part)
        line = f"{pad(row['name'], names)}  {pad(row['written'], values)}  {note}"
        yield from wrapped(line.rstrip(), width, " " * (names + values + 4))
