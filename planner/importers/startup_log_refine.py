"""What follows from several lines together: sums over pools, drafts, devices and cache kinds.

Each function takes the readings of one engine start and gives readings to add or to put instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from planner.importers.startup_log_types import Reading

Readings = list[Reading]


def refined(engine: str, readings: Sequence[Reading]) -> Readings:
    """The readings of one start with all that follows from them."""
    found = _drafts(readings)
    for rule in _RULES.get(engine, ()):
        found += rule(found)
    return found


def _of(readings: Iterable[Reading], *quantities: str) -> Readings:
    return [reading for reading in readings if reading.quantity in quantities]


def _ranks(readings: Readings) -> dict[str, Readings]:
    ranks: dict[str, Readings] = {}
    for reading in readings:
        ranks.setdefault(reading.rank, []).append(reading)
    return ranks


def _sum(quantity: str, parts: Sequence[Reading], rank: str = "") -> Readings:
    if not parts:
        return []
    total = sum(part.number for part in parts)
    return [replace(parts[0], quantity=quantity, value=total, rank=rank, row=-1, derived=True)]


def _drafts(readings: Sequence[Reading]) -> Readings:
    """A second load of weights by the same line and rank is that of a draft model."""
    seen: dict[tuple[int, str], float] = {}
    found = []
    for one in readings:
        key = (one.row, one.rank)
        if one.quantity == "weights" and seen.setdefault(key, one.number) != one.number:
            one = replace(one, quantity="weights_draft")
        found.append(one)
    return found


# ---- vLLM --------------------------------------------------------------------------------------


def _vllm_tokens(readings: Readings) -> Readings:
    """Releases without a token line: blocks times the block, where both are stated."""
    size = _of(readings, "block_size")[-1:]
    if _of(readings, "kv_tokens"):
        return []
    return [
        replace(one, quantity="kv_tokens", value=one.number * block.number, row=-1, derived=True)
        for block in size
        for one in _of(readings, "gpu_blocks")
    ]


# ---- SGLang ------------------------------------------------------------------------------------


def _sglang_pool(readings: Readings) -> Readings:
    """The pool of a rank is the sum of what it allocated, a draft's cache included."""
    if _of(readings, "kv_pool"):
        return []
    ranks = _ranks(_of(readings, "kv_size", "k_size", "v_size"))
    return [one for rank, parts in ranks.items() for one in _sum("kv_pool", parts, rank)]


def _sglang_tokens(readings: Readings) -> Readings:
    """Where the closing line is missing, the first pool says how many tokens fit."""
    if _of(readings, "kv_tokens"):
        return []
    return [
        replace(parts[0], quantity="kv_tokens")
        for parts in _ranks(_of(readings, "pool_tokens")).values()
    ]


def _sglang_requested(readings: Readings) -> Readings:
    """The static share is taken of what was free before the weights were loaded."""
    fraction = _of(readings, "mem_fraction")[:1]
    first = [parts[0] for parts in _ranks(_of(readings, "free_at_start")).values()]
    return [
        replace(one, quantity="requested", value=one.number * share.number, row=-1, derived=True)
        for share in fraction
        for one in first
    ]


# ---- llama.cpp ---------------------------------------------------------------------------------


def _on_host(reading: Reading) -> bool:
    return reading.rank.startswith("CPU") or reading.rank.endswith("_Host")


def _llamacpp_weights(readings: Readings) -> Readings:
    """Model buffers by device: those of GPUs are weights, the others lie in host memory."""
    buffers = _of(readings, "model_buffer")
    devices = [one for one in buffers if not _on_host(one)]
    host = [one for one in buffers if _on_host(one)]
    return _sum("weights", devices or host) + (_sum("weights_host", host) if devices else [])


def _caches(readings: Readings) -> Readings:
    """One reading a cache: a build of ik_llama.cpp printed a latent cache twice in a row."""
    caches = _of(readings, "kv_self")
    return [
        one
        for index, one in enumerate(caches)
        if not index or one.value != caches[index - 1].value or one.row == caches[index - 1].row
    ]


def _llamacpp_pool(readings: Readings) -> Readings:
    return _sum("kv_pool", _caches(readings))


def _llamacpp_kinds(readings: Readings) -> Readings:
    """Each announced kind of cache with the size that is printed after it."""
    found = []
    for kind in _of(readings, "kv_kind"):
        name = "kv_window" if kind.value == "SWA" else "kv_full"
        after = [one for one in _of(readings, "kv_self") if one.line >= kind.line]
        found += [replace(one, quantity=name) for one in after[:1]]
    return found


def _llamacpp_tokens(readings: Readings) -> Readings:
    """Cells of the first cache over all streams; without a line of cells the context stands in."""
    if not _of(readings, "kv_self"):
        return []
    cells = _of(readings, "cells")[-1:] if not _of(readings, "kv_kind") else _full(readings)
    cells = cells or _of(readings, "max_model_len")[:1]
    streams = [
        one.number for one in _of(readings, "streams") if cells and one.line == cells[0].line
    ]
    return [
        replace(one, quantity="kv_tokens", value=one.number * (streams or [1.0])[0], derived=True)
        for one in cells
    ]


def _full(readings: Readings) -> Readings:
    """Cells of the cache that keeps the whole context, which is announced before it."""
    kinds = [one for one in _of(readings, "kv_kind") if one.value == "non-SWA"]
    after = [one for one in _of(readings, "cells") if kinds and one.line >= kinds[0].line]
    return after[:1]


def _llamacpp_format(readings: Readings) -> Readings:
    keys, values = _of(readings, "k_type")[:1], _of(readings, "v_type")[:1]
    text = f"K {keys[0].value} / V {values[0].value if values else '-'}" if keys else ""
    return [replace(one, quantity="kv_dtype", value=text, derived=True) for one in keys]


Rule = Callable[[Readings], Readings]
_RULES: dict[str, tuple[Rule, ...]] = {
    "vllm": (_vllm_tokens,),
    "sglang": (_sglang_pool, _sglang_tokens, _sglang_requested),
    "llama.cpp": (
        _llamacpp_weights, _llamacpp_pool, _llamacpp_kinds, _llamacpp_tokens, _llamacpp_format,
    ),
}  # fmt: skip
