"""Price observations as plain data and as text for the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from planner.catalog import Catalog
from planner.records import Gpu
from planner.records_price import Price, Prices
from reports.numbers import display_width, pad
from reports.text_explain import wrapped

Row = dict[str, Any]
NO_DATE = "no date"


def observations(catalog: Catalog, gpu: str) -> Row:
    """The observations of one GPU, the newest first, with their sources.

    Raises:
        InputError: no such GPU, or a bad file.
    """
    word = catalog.entry("gpu", gpu).record.id
    found = catalog.prices(word)
    record = catalog.entry("price", word).record if found else None
    sources = record.sources if isinstance(record, Prices) else {}
    return {
        "gpu": word,
        "label": catalog.gpu(word).label,
        "prices": [_plain(price) for price in found],
        "sources": {name: s.model_dump(exclude_none=True) for name, s in sources.items()},
    }


def _plain(price: Price) -> Row:
    rows: Row = {
        "id": price.id, "kind": price.kind, "value": price.amount, "unit": price.written_unit,
        **{
            name: value / price.value * price.amount
            for name in ("low", "high")
            if (value := getattr(price, name)) is not None
        },
        **{
            name: value
            for name in ("term", "provider", "instance", "region", "date", "note")
            if (value := getattr(price, name))
        },
        "confidence": price.confidence, "source": list(price.source),
    }  # fmt: skip
    return rows


def summary(catalog: Catalog, gpu: str) -> str:
    """How many observations there are of a GPU, and from when; empty when there is none."""
    found = catalog.prices(gpu)
    if not found:
        return ""
    dates = [price.date for price in found if price.date]
    span = f", {dates[-1]} to {dates[0]}" if len(dates) > 1 else f", {dates[0]}" if dates else ""
    count = f"{len(found)} observation{'s' if len(found) > 1 else ''}"
    return f"{count}{span}; capsheet catalog prices {gpu} lists them"


def rows(catalog: Catalog, filters: Mapping[str, str]) -> Iterator[Row]:
    """One row an observation; ``kind`` filters observations, any other filter their GPUs."""
    kind = filters.get("kind", "").lower()
    for word in catalog.ids("price"):
        gpu = catalog.entry("gpu", word).record
        assert isinstance(gpu, Gpu)
        if not all(_holds(gpu, name, text) for name, text in filters.items() if name != "kind"):
            continue
        for price in catalog.prices(word):
            if kind in price.kind:
                yield {
                    "gpu": word, "price": f"{price.amount:.6g} {price.written_unit}",
                    "kind": " ".join(part for part in (price.kind, price.term) if part),
                    "provider": price.provider, "date": price.date or NO_DATE, "id": price.id,
                }  # fmt: skip


def _holds(gpu: Gpu, name: str, text: str) -> bool:
    value = str(getattr(gpu, name, ""))
    return text == value if name == "generation" else text.lower() in value.lower()


def text(data: Row) -> str:
    """The observations for people: date, price, kind, who asks it, and the numbered sources."""
    width = shutil.get_terminal_size((80, 24)).columns
    lines = [f"prices of {data['gpu']} - {data['label']}"]
    cited = dict.fromkeys(name for price in data["prices"] for name in price["source"])
    numbers = {name: index for index, name in enumerate(cited, 1)}
    cells = [(_date(price), _amount(price), price) for price in data["prices"]]
    dates = max((display_width(date) for date, _, _ in cells), default=0)
    amounts = max((display_width(amount) for _, amount, _ in cells), default=0)
    for date, amount, price in cells:
        line = f"{pad(date, dates)}  {pad(amount, amounts)}  {_words(price, numbers)}"
        lines += wrapped(line, width, " " * (dates + amounts + 4))
    lines += ["", "sources"] if numbers else ["none recorded"]
    for name, index in numbers.items():
        lines += wrapped(f"  [{index}] {source_words(data['sources'], name)}", width, " " * 6)
    return "\n".join(lines) + "\n"


def _date(price: Row) -> str:
    return str(price.get("date", NO_DATE))


def _amount(price: Row) -> str:
    return f"{price['value']:.6g} {price['unit']}"


def _words(price: Row, numbers: Mapping[str, int]) -> str:
    band = f"{price['low']:.6g} to {price['high']:.6g}" if {"low", "high"} <= set(price) else ""
    kind = " ".join(part for part in (price["kind"], price.get("term", "")) if part)
    where = [str(price.get(name, "")) for name in ("provider", "instance", "region")]
    parts = [kind, *where, band, str(price.get("note", "")), f"id {price['id']}"]
    marks = " ".join(f"[{numbers[name]}]" for name in price["source"])
    return "; ".join(part for part in parts if part) + f"; {price['confidence']} {marks}"


def source_words(sources: Mapping[str, Row], name: str) -> str:
    """A source in one line: title, address, in which other one it was quoted, when it was read."""
    source = sources[name]
    words = _titled(source)
    if "via" in source:
        words += f", quoted in {_titled(sources[source['via']])}"
    return f"{words} (read {source['read']})" if "read" in source else words


def _titled(source: Row) -> str:
    return ", ".join(part for part in (source["title"], source.get("url", "")) if part)
