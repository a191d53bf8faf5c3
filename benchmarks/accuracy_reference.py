"""Answers of an engine's own planning functions, beside those of the product's formulas.

A reference file has a row for each run of the planning functions of vLLM 0.33.0: model, KV format,
layout, context limit, tokens in flight and memory for KV, then what the engine answered.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from planner.catalog import Catalog
from planner.engine import Array, Columns
from planner.errors import InputError
from planner.metrics import SLOTS, MetricSet
from planner.places import NOWHERE

PLACES = "group_places"
"""The one field of a layer group that is a text: where its layers are."""
Row = Mapping[str, str]
Slots = Sequence[Mapping[str, Any]]
"""The layer groups of a model: every ``group_*`` field in base units."""

ENGINE = "vllm-0.33"
# Metric, column of the answers, and how far apart they may be: the files print six decimals of the
# concurrency, all others are whole numbers. The token line stands apart, see ``printed_tokens``.
ANSWERS = (
    ("block_tokens", "block_size", 0.0),
    ("groups_in_pool", "groups", 0.0),
    ("block_bytes", "bytes_per_block", 0.0),
    ("pool_blocks", "num_blocks", 0.0),
    ("request_blocks", "blocks_per_request", 0.0),
    ("pool_concurrency", "max_concurrency", 1e-6),
)
TOKEN_LINE = "kv_cache_size_tokens"
NEEDED = ("model", "kv_dtype", "tp", "max_model_len", "in_flight_tokens", "mamba_cache_mode",
          "kv_memory_gib", TOKEN_LINE, *(answer for _, answer, _ in ANSWERS))  # fmt: skip


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a reference file.

    Raises:
        ValueError: the file has no rows, or lacks a column.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    missing = [name for name in NEEDED if not rows or name not in rows[0]]
    if missing:
        raise ValueError(f"no column {missing[0]}" if rows else "no rows")
    return rows


@cache
def catalog() -> Catalog:
    return Catalog.open()


@cache
def catalog_slots(word: str) -> tuple[Mapping[str, Any], ...] | None:
    """The layer groups of a model by id, alias or hub id; None where the catalog has none."""
    try:
        groups = catalog().groups(word)
    except InputError:
        return None
    unknown = float("nan")
    return tuple(
        {n: f.value if n == PLACES else unknown if f.value is None else float(f.value)
         for n, f in group.facts.items()}
        for group in groups
    )  # fmt: skip


@cache
def catalog_kinds(word: str) -> str:
    """The kinds of layer of a catalog model, in words."""
    return " + ".join(sorted({group.kind for group in catalog().groups(word)}))


def inputs(metrics: MetricSet, rows: Sequence[Row], models: Sequence[Slots]) -> dict[str, Array]:
    """The input columns of the rows; ``models`` has the layer groups of each row's model.

    The pool and the tokens in flight are given by the rows, so weights and overhead play no part.
    """

    def of(name: str) -> Array:
        return np.asarray([float(row[name]) for row in rows])

    ones = np.ones(len(rows))
    given: dict[str, Array] = {
        "tp": of("tp"), "pp": ones, "dp": ones, "dcp": ones, "context": of("max_model_len"),
        "tokens_in_flight": of("in_flight_tokens"),
        "prefix_caching": np.asarray([row["mamba_cache_mode"] == "align" for row in rows]),
        "speculative_tokens": np.zeros(len(rows)), "checkpoint_copies": np.zeros(len(rows)),
        "stage_index": np.zeros((1, 1, len(rows))),
        "stage_pool": np.floor(of("kv_memory_gib") * 2.0**30)[None, None, :],
        "layers": np.asarray([sum(s["group_layers"] for s in slots) for slots in models]),
    }  # fmt: skip
    for name, fact in catalog().facts("engine", ENGINE).items():
        words = metrics.fields[name].words
        value = float(words.index(str(fact.value))) if words else float(fact.value or 0)
        given[name] = value * ones
    formats = {word: catalog().facts("kv_format", word) for word in {r["kv_dtype"] for r in rows}}
    for name in next(iter(formats.values())):
        given[name] = np.asarray([float(formats[r["kv_dtype"]][name].value or 0) for r in rows])
    return given | group_columns(metrics, models)


def group_columns(metrics: MetricSet, models: Sequence[Slots]) -> dict[str, Array]:
    """Every layer-group field, ``(6, cases)``; empty slots and absent parts are 0."""

    def value(slots: Slots, slot: int, name: str) -> float:
        return float(slots[slot].get(name, 0.0)) if slot < len(slots) else 0.0

    found = {
        name: np.asarray([[value(slots, s, name) for slots in models] for s in range(SLOTS)])
        for name, field in metrics.fields.items()
        if field.entity == "group" and name != PLACES
    }
    places = np.full((SLOTS, len(models)), NOWHERE, dtype=object)
    for case, slots in enumerate(models):
        for s, slot in enumerate(slots):
            places[s, case] = slot.get(PLACES)
    return found | {PLACES: places}


def answers(rows: Sequence[Row], models: Sequence[Slots]) -> Columns:
    """The product's columns for the rows."""
    metrics = MetricSet.load()
    return Columns(metrics, inputs(metrics, rows, models))


def printed_tokens(blocks: float, per_request: float, context: int) -> int:
    """The token line as the engine prints it: two products of doubles, in this order, cut.

    It is no formula: where the exact product is a whole number the doubles may fall short of it.
    """
    return int(int(blocks) / int(per_request) * context)


def differences(rows: Sequence[Row], columns: Columns) -> Iterator[tuple[int, str, Any, Any]]:
    """Index of the row, answer, what the product says and what the engine said, where unequal."""
    for metric, answer, slack in ANSWERS:
        expected = np.asarray([float(row[answer]) for row in rows])
        found = np.broadcast_to(columns[metric].astype(float), expected.shape)
        for i in np.flatnonzero(~(np.abs(found - expected) <= slack)):
            yield int(i), answer, found[i], expected[i]
    blocks, per_request = columns["pool_blocks"], columns["request_blocks"]
    for number, row in enumerate(rows):
        known = not np.isnan(blocks[number]) and per_request[number] > 0
        context = int(row["max_model_len"])
        line = printed_tokens(blocks[number], per_request[number], context) if known else None
        if line != int(row[TOKEN_LINE]):
            yield number, TOKEN_LINE, line, row[TOKEN_LINE]


def main(path: Path) -> bool:
    """Answer every row, print a line for each kind of model; whether all are exact."""
    rows = read_rows(path)
    known = {word for word in {row["model"] for row in rows} if catalog_slots(word) is not None}
    absent = Counter(row["model"] for row in rows if row["model"] not in known)
    mine = [row for row in rows if row["model"] in known]
    wrong: dict[int, list[str]] = {}
    if mine:
        columns = answers(mine, [catalog_slots(row["model"]) or () for row in mine])
        for i, answer, found, expected in differences(mine, columns):
            wrong.setdefault(i, []).append(f"{answer} {found}, engine {expected}")
    exact = len(mine) - len(wrong)
    totals = Counter(catalog_kinds(row["model"]) for row in mine)
    good = Counter(catalog_kinds(r["model"]) for i, r in enumerate(mine) if i not in wrong)
    for kind, total in sorted(totals.items()):
        print(f"{kind}: rows {total}, exact {good[kind]}")
    for model, count in sorted(absent.items()):
        print(f"not in the catalog: {model}, rows {count}")
    for i in list(wrong)[:20]:
        print(f"{mine[i]['model']} tp {mine[i]['tp']} {mine[i]['kv_dtype']}: {'; '.join(wrong[i])}")
    print(f"rows {len(rows)}, exact {exact}")
    return exact == len(rows)
