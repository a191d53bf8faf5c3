"""What a start-up log can state: every quantity with its label, its kind, and how it is merged.

``within`` says which reading counts when one rank states a quantity more than once, ``across``
which rank counts when several state it. ``limit`` is the rank with the smallest KV pool, which is
the one that the engine goes by; where it says nothing, the fullest one stands in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["bytes", "tokens", "blocks", "count", "ratio", "times", "words"]
Within = Literal["first", "last", "sum"]
Across = Literal["first", "smallest", "largest", "limit", "sum"]

BASE_UNITS: dict[Kind, str] = {
    "bytes": "byte", "tokens": "token", "blocks": "block", "count": "1", "ratio": "1",
    "times": "request", "words": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """One quantity: how people call it, what its values are, which of its readings counts."""

    label: str
    kind: Kind
    within: Within = "first"
    across: Across = "first"

    @property
    def unit(self) -> str:
        """The base unit of its values; empty for words."""
        return BASE_UNITS[self.kind]


def _settings() -> dict[str, Quantity]:
    return {
        "engine_version": Quantity("Engine release", "words"),
        "core": Quantity("Engine core", "words"),
        "platform": Quantity("Platform", "words", "last"),
        "model": Quantity("Model", "words"),
        "architecture": Quantity("Architecture", "words"),
        "dtype": Quantity("Data type", "words"),
        "quantization": Quantity("Quantisation", "words"),
        "kv_dtype": Quantity("KV format", "words"),
        "k_type": Quantity("Key format", "words"),
        "v_type": Quantity("Value format", "words"),
        "speculative": Quantity("Speculation", "words"),
        "kv_unified": Quantity("One KV cache for all slots", "words"),
        "tp": Quantity("Tensor parallel", "count"),
        "pp": Quantity("Pipeline parallel", "count"),
        "dp": Quantity("Data parallel", "count"),
        "dcp": Quantity("Decode context parallel", "count"),
        "world_size": Quantity("Ranks", "count"),
        "max_model_len": Quantity("Context limit", "tokens"),
        "slot_context": Quantity("Context of one slot", "tokens", "last"),
        "utilization": Quantity("Memory utilization", "ratio"),
        "mem_fraction": Quantity("Static memory fraction", "ratio"),
        "kv_fraction": Quantity("Share of free memory for KV", "ratio", "last"),
        "graph_share": Quantity("Share kept for graphs", "ratio"),
        "block_size": Quantity("KV block", "tokens", "last", "largest"),
        "max_num_seqs": Quantity("Most sequences at once", "count", "last", "smallest"),
        "batched_tokens": Quantity("Tokens of a step at most", "tokens"),
        "blocks_override": Quantity("Blocks set by hand", "blocks", "last"),
    }


def _memory() -> dict[str, Quantity]:
    return {
        "device_total": Quantity("Memory of the device", "bytes", "first", "limit"),
        "free_at_start": Quantity("Free before loading", "bytes", "first", "limit"),
        "requested": Quantity("Memory requested", "bytes", "last", "limit"),
        "weights": Quantity("Weights", "bytes", "first", "limit"),
        "weights_draft": Quantity("Weights of the draft model", "bytes", "first", "limit"),
        "weights_host": Quantity("Weights in host memory", "bytes", "sum", "sum"),
        "consumed": Quantity("Weights and non-torch memory", "bytes", "last", "limit"),
        "activation": Quantity("Activation peak", "bytes", "last", "limit"),
        "torch_peak": Quantity("Peak of torch, weights included", "bytes", "last", "limit"),
        "non_torch": Quantity("Non-torch memory", "bytes", "last", "limit"),
        "non_kv": Quantity("All but KV", "bytes", "last", "limit"),
        "cuda_graph": Quantity("Graphs, as captured", "bytes", "last", "limit"),
        "cuda_graph_estimated": Quantity("Graphs, estimated", "bytes", "last", "limit"),
        "context_memory": Quantity("Execution context", "bytes", "last", "limit"),
        "runtime_buffers": Quantity("Runtime buffers", "bytes", "last", "limit"),
        "decoder_buffers": Quantity("Decoder buffers", "bytes", "last", "limit"),
        "profile_peak": Quantity("Peak while profiling", "bytes", "last", "limit"),
        "free_after_weights": Quantity("Free after loading", "bytes", "last", "limit"),
        "free_before_pool": Quantity("Free before the pool", "bytes", "last", "limit"),
        "free_after_pool": Quantity("Free after the pool", "bytes", "last", "limit"),
        "free_at_end": Quantity("Free when ready", "bytes", "last", "limit"),
        "usable": Quantity("Free memory that may be used", "bytes", "last", "limit"),
        "graph_reserved": Quantity("Kept for graphs", "bytes", "last", "limit"),
        "model_buffer": Quantity("Model buffer", "bytes", "sum", "sum"),
        "compute_buffer": Quantity("Compute buffer", "bytes", "last", "largest"),
        "output_buffer": Quantity("Output buffer", "bytes", "last", "largest"),
    }


def _cache() -> dict[str, Quantity]:
    return {
        "kv_pool": Quantity("KV pool", "bytes", "last", "smallest"),
        "kv_size": Quantity("KV cache as allocated", "bytes", "sum", "smallest"),
        "k_size": Quantity("Keys", "bytes", "sum", "smallest"),
        "v_size": Quantity("Values", "bytes", "sum", "smallest"),
        "kv_self": Quantity("KV cache of one kind", "bytes", "sum", "sum"),
        "kv_full": Quantity("KV cache of the whole context", "bytes", "sum", "sum"),
        "kv_window": Quantity("KV cache of windows", "bytes", "sum", "sum"),
        "kv_buffer": Quantity("KV buffer", "bytes", "sum", "sum"),
        "kv_memory_fit": Quantity("KV memory that would fit", "bytes", "last", "smallest"),
        "conv_state": Quantity("Convolution states", "bytes", "last", "largest"),
        "ssm_state": Quantity("Recurrent states", "bytes", "last", "largest"),
        "state_size": Quantity("States", "bytes", "sum", "sum"),
        "state_buffer": Quantity("State buffer", "bytes", "sum", "sum"),
        "state_slots": Quantity("State slots", "count", "last", "smallest"),
        "state_layers": Quantity("Layers beside the states", "count", "last"),
        "gpu_blocks": Quantity("Blocks of the pool", "blocks", "last", "smallest"),
        "cpu_blocks": Quantity("Blocks in host memory", "blocks", "last", "smallest"),
        "mamba_blocks": Quantity("State blocks", "blocks", "last", "smallest"),
        "request_blocks": Quantity("Blocks of one request", "blocks", "last"),
        "kv_tokens": Quantity("Tokens in the pool", "tokens", "last", "smallest"),
        "pool_tokens": Quantity("Tokens of one pool", "tokens", "first", "smallest"),
        "full_tokens": Quantity("Tokens of the full pool", "tokens", "last", "smallest"),
        "window_tokens": Quantity("Tokens of the window pool", "tokens", "last", "smallest"),
        "token_bytes": Quantity("KV per token", "bytes", "last", "largest"),
        "cells": Quantity("Cells", "tokens", "first"),
        "kv_kind": Quantity("Kind of KV cache", "words"),
        "streams": Quantity("KV streams", "count", "first"),
        "kv_layers": Quantity("Layers with a cache", "count", "sum"),
        "max_concurrency": Quantity("Concurrency", "times", "last", "smallest"),
        "concurrency_at": Quantity("Concurrency is at", "tokens", "last"),
        "request_memory": Quantity("KV of one request at the limit", "bytes", "last", "largest"),
        "request_length": Quantity("Length of that request", "tokens", "last"),
        "longest_len": Quantity("Longest context, estimated", "tokens", "last", "smallest"),
        "page_padding": Quantity("State page padding", "ratio", "last"),
        "padding_layers": Quantity("Padding layers", "count", "sum"),
        "padding_waste": Quantity("Padding of one kind at most", "ratio", "last"),
    }


QUANTITIES: dict[str, Quantity] = _settings() | _memory() | _cache()
"""Every quantity by name, in the order in which people read them."""
