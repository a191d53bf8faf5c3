"""The block rule of the product for one model: its layer groups, a pool, and what follows."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

from planner import layer_kinds
from planner.engine import Array, Columns
from planner.metrics import MetricSet
from support.tools import REPOSITORY

sys.path.append(str(REPOSITORY / "benchmarks"))

from accuracy_reference import answers, catalog_slots, inputs, printed_tokens

__all__ = ["Slot", "catalog", "changed", "printed_tokens", "run", "slot"]

Slot = Mapping[str, float]


def slot(kind: str, layers: int, **shape: float) -> Slot:
    """A layer group as a catalog entry of this kind and shape gives it."""
    rule = layer_kinds.KINDS[kind]
    full = rule.complete({"hidden_size": 1, "layers": layers, "q_heads": 64, **shape})
    known = {"group_layers": float(layers)}
    for name in layer_kinds.FIELDS:
        if name not in known and all(n in full for n in layer_kinds.names_in(rule.rule(name))):
            known[name] = rule.value(name, full)
    return known


def run(
    slots: tuple[Slot, ...], context: int, kv: str = "bf16", gib: int = 40, mode: str = "none",
    tp: int = 1, in_flight: int = 16384,
) -> Columns:  # fmt: skip
    """The planning functions of the product for one model."""
    row = {
        "model": "", "kv_dtype": kv, "tp": f"{tp}", "max_model_len": f"{context}",
        "in_flight_tokens": f"{in_flight}", "mamba_cache_mode": mode, "kv_memory_gib": f"{gib}",
    }  # fmt: skip
    return answers([row], [slots])


def catalog(word: str) -> tuple[Slot, ...]:
    slots = catalog_slots(word)
    assert slots is not None
    return slots


def changed(
    slots: tuple[Slot, ...], context: int, kv: str = "bf16", **given: float | list[float] | Array
) -> Columns:
    """The same with some inputs replaced; the tokens in flight follow from them."""
    row = {
        "model": "", "kv_dtype": kv, "tp": "8", "max_model_len": f"{context}",
        "in_flight_tokens": "0", "mamba_cache_mode": "none", "kv_memory_gib": "40",
    }  # fmt: skip
    metrics = MetricSet.load()
    columns = inputs(metrics, [row], [slots])
    del columns["tokens_in_flight"]
    columns |= {"step_tokens": np.asarray([8192.0])}
    return Columns(metrics, columns | {n: np.asarray(v) for n, v in given.items()})
