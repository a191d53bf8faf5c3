"""Lines that are known to say something else than they seem to, named by engine and release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from planner.importers.startup_log_types import Doubt, Observation

GIB = 2**30
DERIVED_LINE = (0, 21)
"""The vLLM release since which the token line is concurrency times the context limit."""

BLOCKS, GROUPS, DERIVED = "blocks_x_block_size", "blocks_over_groups", "concurrency_x_max_model_len"
_ROUNDING = 0.005  # half of the last digit of a concurrency
_BLOCK = 0.02  # a last block that is not full, as a share of the context limit
_SHOWN = 0.01 * GIB  # the last digit of an amount in GiB
_DSA = ("DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM")


def doubts(seen: Observation) -> tuple[Doubt, ...]:
    """Every doubt about an observation, in the order of the log."""
    found = [doubt for rule in _RULES for doubt in rule(seen)]
    return tuple(sorted(found, key=lambda doubt: (doubt.line, doubt.quantity, doubt.text)))


def _about(seen: Observation, quantity: str, text: str) -> Iterator[Doubt]:
    reading = seen.reading(quantity)
    if reading is not None:
        yield Doubt(quantity, reading.line, text)


# ---- vLLM --------------------------------------------------------------------------------------


def token_report(seen: Observation) -> str:
    """How vLLM computed its token line: one of BLOCKS, GROUPS and DERIVED, or "" where unknown.

    BLOCKS is blocks times block size, true for one group of layers. GROUPS divides that by the
    number of groups (releases 0.9 to 0.20), so it shows less than what concurrency counts with.
    DERIVED is concurrency times the context limit. The release decides, where the log states it;
    figures that fit both stay unknown without it.
    """
    tokens = seen.value("kv_tokens")
    if seen.engine != "vllm" or tokens is None:
        return ""
    if seen.release is not None and seen.release >= DERIVED_LINE:
        return DERIVED
    times, length = seen.value("max_concurrency"), seen.value("concurrency_at")
    if times is not None and length and times - tokens / length > _ROUNDING + _BLOCK * times:
        return GROUPS
    between = seen.release is not None and seen.release[:2] == (0, 20)
    built = "dev" in (seen.word("engine_version") or "")
    return "" if seen.release is None or (between and built) else BLOCKS


def _groups(seen: Observation) -> Iterator[Doubt]:
    if token_report(seen) == GROUPS:
        times, length = seen.value("max_concurrency"), seen.value("concurrency_at")
        total = f"{(times or 0) * (length or 0):,.0f}"
        yield from _about(
            seen, "kv_tokens",
            "blocks divided by the number of layer groups (vLLM 0.9 to 0.20), so too small: "
            f"concurrency times length is about {total} tokens",
        )  # fmt: skip


def _derived(seen: Observation) -> Iterator[Doubt]:
    if token_report(seen) == DERIVED:
        yield from _about(
            seen, "kv_tokens",
            "concurrency times the context limit (vLLM since 0.21): it moves with the limit, and "
            "for hybrid or windowed models pool by tokens is no rate",
        )  # fmt: skip


def _other_processes(seen: Observation) -> Iterator[Doubt]:
    pool = seen.value("kv_pool")
    if pool is not None and pool < 0:
        yield from _about(
            seen, "kv_pool",
            "negative: more was taken than requested, often memory of another process that was "
            "counted as non-torch",
        )  # fmt: skip


def _negative_graphs(seen: Observation) -> Iterator[Doubt]:
    graphs = seen.value("cuda_graph")
    if graphs is not None and graphs < 0:
        yield from _about(
            seen, "cuda_graph",
            "negative: memory was freed while graphs were captured, so it is no measurement",
        )  # fmt: skip


def _peak_with_weights(seen: Observation) -> Iterator[Doubt]:
    yield from _about(
        seen, "torch_peak",
        "the peak of all that torch holds, weights included (vLLM 0.6.3 and 0.6.4), so it is no "
        "activation peak",
    )  # fmt: skip


def _graphs_taken(seen: Observation) -> Iterator[Doubt]:
    """Whether the estimate was taken out of the pool, as far as the figures show it."""
    requested, pool = seen.value("requested"), seen.value("kv_pool")
    graphs, peak = seen.value("cuda_graph_estimated"), seen.value("activation")
    rest = seen.value("consumed")
    if rest is None:
        parts = (seen.value("weights"), seen.value("non_torch"))
        rest = None if None in parts else sum(part or 0 for part in parts)
    if requested is None or pool is None or graphs is None or peak is None or rest is None:
        return
    left = requested - rest - peak - pool
    if graphs > 4 * _SHOWN and min(abs(left), abs(left - graphs)) <= 2 * _SHOWN:
        taken = abs(left - graphs) < abs(left)
        words = "was taken out of" if taken else "was not taken out of"
        yield from _about(seen, "cuda_graph_estimated", f"the estimate {words} the KV pool")


def _one_of_many(seen: Observation) -> Iterator[Doubt]:
    """In vLLM one rank prints its pool, and the blocks follow the smallest one."""
    ranks = (seen.value("tp") or 1) * (seen.value("pp") or 1)
    if seen.engine == "vllm" and ranks > 1 and len(seen.by_rank("kv_pool")) == 1:
        yield from _about(
            seen, "kv_pool",
            f"printed by one rank of {ranks:.0f}; the blocks follow the smallest pool of all",
        )  # fmt: skip


# ---- SGLang ------------------------------------------------------------------------------------


def _no_indexer(seen: Observation) -> Iterator[Doubt]:
    if seen.engine == "sglang" and seen.word("architecture") in _DSA:
        yield from _about(
            seen, "kv_pool",
            "releases up to about 0.5.3 leave the keys of the indexer out of this size: 132 bytes "
            "per layer and token more",
        )  # fmt: skip


# ---- TensorRT-LLM ------------------------------------------------------------------------------


def _profiling_pool(seen: Observation) -> Iterator[Doubt]:
    if seen.engine != "tensorrt-llm":
        return
    ranks: dict[str, list[float]] = {}
    for reading in seen.all("kv_pool"):
        ranks.setdefault(reading.rank, []).append(reading.number)
    if any(len(set(found)) > 1 for found in ranks.values()):
        first = seen.all("kv_pool")[0]
        yield Doubt(
            "kv_pool", first.line,
            "a small pool for profiling, replaced later; the last one counts",
        )  # fmt: skip


def _before_rounding(seen: Observation) -> Iterator[Doubt]:
    if seen.engine == "tensorrt-llm" and seen.value("block_size") is None:
        yield from _about(
            seen, "kv_tokens", "printed before it is rounded up to whole blocks (releases to 0.8)"
        )


# ---- llama.cpp ---------------------------------------------------------------------------------


def _printed_twice(seen: Observation) -> Iterator[Doubt]:
    caches = seen.all("kv_self")
    for before, after in pairwise(caches):
        if before.value == after.value and before.row != after.row:
            yield Doubt("kv_self", after.line, "the same cache printed a second time, counted once")


def _state_layers(seen: Observation) -> Iterator[Doubt]:
    yield from _about(
        seen, "state_layers", "all layers of the model; only some of them hold a state"
    )


def _cells_of_a_slot(seen: Observation) -> Iterator[Doubt]:
    streams = seen.value("streams")
    if streams is not None and streams > 1:
        yield from _about(
            seen, "cells", f"cells of one of {streams:.0f} streams; the pool holds them that often"
        )


# ---- all ---------------------------------------------------------------------------------------


def _means_gib(seen: Observation) -> Iterator[Doubt]:
    """The first line that prints GB and means GiB."""
    for reading in seen.readings:
        if reading.printed and not reading.derived:
            yield Doubt(
                reading.quantity, reading.line,
                f"printed as {reading.printed}, meant as {reading.unit} (here and in like lines)",
            )  # fmt: skip
            return


Rule = Callable[[Observation], Iterator[Doubt]]
_RULES: tuple[Rule, ...] = (
    _groups, _derived, _other_processes, _negative_graphs, _peak_with_weights, _graphs_taken,
    _one_of_many, _no_indexer, _profiling_pool, _before_rounding, _printed_twice, _state_layers,
    _cells_of_a_slot, _means_gib,
)  # fmt: skip
