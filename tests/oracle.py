"""A second, plain route to the sizes of a model: loops over layers and steps, no shared code.

It reads catalog entries as plain YAML and knows each kind of layer by what its papers say is kept.
Nothing here is imported from the product, and nothing is fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}


def read(path: Path) -> dict[str, Any]:
    """A catalog entry as it is written, quantities as texts."""
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def number(figure: Any) -> float:
    """``8190735360 params``, ``{value: 1024 tokens, source: x}`` or 8 as a number; absent is 0."""
    if isinstance(figure, dict):
        figure = figure.get("value")
    if figure is None:
        return 0.0
    if isinstance(figure, bool | int | float):
        return float(figure)
    return float(str(figure).split()[0].replace(",", ""))


def width(group: dict[str, Any], name: str) -> float:
    """A head size that may be written once for keys and values."""
    return number(group[name] if name in group else group.get("head_dim"))


def dtype(figure: Any) -> int:
    return BYTES[figure["value"] if isinstance(figure, dict) else figure]


# ---- one layer ----------------------------------------------------------------------------------


def elements_per_token(group: dict[str, Any]) -> float:
    """Elements in the KV format that one layer keeps for one token, whole model."""
    kind = group["kind"]
    if kind in ("full_attention", "sliding_window", "chunked_local", "cross_attention"):
        kept = 0.0
        for _head in range(int(number(group["kv_heads"]))):
            kept += width(group, "key_dim")
            kept += width(group, "value_dim")
        return kept
    if kind == "mla":
        return number(group["kv_lora_rank"]) + number(group["qk_rope_head_dim"])
    if kind in ("compressed_mla", "sliding_window_mla"):
        return number(group["head_dim"])
    return 0.0


def fixed_bytes_per_token(group: dict[str, Any]) -> float:
    """Bytes per token that follow no KV format: index keys and what a compressor keeps."""
    if group["kind"] in ("index_key", "compressed_index_key"):
        return number(group["key_bytes"])
    if group["kind"] == "compressor_state":
        return number(group["elements"]) * dtype(group["state_dtype"])
    return 0.0


def state_bytes(group: dict[str, Any]) -> float:
    """Bytes of the recurrent state of one layer and request."""
    kind = group["kind"]
    conv = recurrent = 0.0
    if kind in ("gdn", "kda"):
        keys = number(group["k_heads"]) * number(group["k_head_dim"])
        values = number(group["v_heads"]) * number(group["v_head_dim"])
        conv = 2 * keys + values
        rows = group["v_head_dim"]
        columns = group["k_head_dim"] if kind == "gdn" else group["v_head_dim"]
        recurrent = number(group["v_heads"]) * number(rows) * number(columns)
    elif kind == "mamba1":
        conv = number(group["inner_size"])
        recurrent = number(group["inner_size"]) * number(group["state_size"])
    elif kind == "mamba2":
        inner = number(group["heads"]) * number(group["head_dim"])
        conv = inner + 2 * number(group["groups"]) * number(group["state_size"])
        recurrent = inner * number(group["state_size"])
    elif kind == "lightning":
        recurrent = number(group["heads"]) * number(group["head_dim"]) ** 2
    elif kind == "short_conv":
        conv = number(group["channels"])
    total = 0.0
    if conv:
        total += (number(group["conv_kernel"]) - 1) * conv * dtype(group["conv_dtype"])
    if recurrent:
        total += recurrent * dtype(group["state_dtype"])
    return total


def tokens_kept(group: dict[str, Any], context: int) -> int:
    """Tokens of which one layer still holds something at this context."""
    if group["kind"] == "cross_attention":
        return int(number(group["tokens"]))
    window = number(group.get("window", group.get("chunk")))
    return min(context, int(window)) if window else context


def tokens_read(group: dict[str, Any], context: int) -> int:
    """Tokens whose kept bytes one decode step reads in one layer."""
    kept = tokens_kept(group, context)
    limit = number(group.get("index_topk", group.get("read_limit")))
    limit *= number(group.get("tokens_per_state", 1))
    return min(kept, int(limit)) if limit else kept


# ---- a model ------------------------------------------------------------------------------------


def bytes_per_token(group: dict[str, Any], element: float) -> float:
    """Bytes that one layer keeps per token of context."""
    kept = elements_per_token(group) * element + fixed_bytes_per_token(group)
    return kept / number(group.get("tokens_per_state", 1))


def owning_layers(group: dict[str, Any]) -> range:
    """The layers of a group that have a cache of their own."""
    return range(int(number(group["layers"]) - number(group.get("shared_layers"))))


def is_known(model: dict[str, Any]) -> bool:
    """Whether the tokens that an encoder leaves to cross attention are known."""
    crossed = (g for g in model["layer_groups"] if g["kind"] == "cross_attention")
    return all(number(group["tokens"]) > 0 for group in crossed)


def kv_per_token(model: dict[str, Any], element: float) -> float:
    """Bytes that one more token adds while every window is open."""
    total = 0.0
    for group in model["layer_groups"]:
        if group["kind"] in ("cross_attention", "encoder_only"):
            continue
        for _layer in owning_layers(group):
            total += bytes_per_token(group, element)
    return total


def kv_per_request(model: dict[str, Any], element: float, context: int) -> float:
    """Bytes that one request holds at a context: caches and states."""
    total = 0.0
    for group in model["layer_groups"]:
        if group["kind"] == "encoder_only":
            continue
        for _layer in owning_layers(group):
            total += bytes_per_token(group, element) * tokens_kept(group, context)
            total += state_bytes(group)
    return total


def read_by_generation(model: dict[str, Any], element: float, prompt: int, output: int) -> float:
    """Bytes that the decode steps of one request read, and write where a state is rewritten.

    The first token comes from prefill; the step for each further one reads all that is there. A
    layer that shares the cache of another one reads it, too.
    """
    total = 0.0
    there = prompt
    for _step in range(output - 1):
        for group in model["layer_groups"]:
            if group["kind"] == "encoder_only":
                continue
            layer = bytes_per_token(group, element) * tokens_read(group, there)
            layer += 2 * state_bytes(group)
            total += layer * number(group["layers"])
        there += 1
    return total


def weight_bytes(model: dict[str, Any], weight: dict[str, Any]) -> float:
    """Bytes of all weights in a format: linear layers, experts, and what stays wide."""
    kinds = {
        "attention": "linear", "mlp": "linear", "shared": "linear", "state": "linear",
        "experts": "expert", "embedding": "kept", "lm_head": "kept", "norm": "kept",
        "router": "kept", "vision": "kept", "other": "kept", "indexer": "linear",
    }  # fmt: skip
    total = 0.0
    for component, kind in kinds.items():
        total += number(model["params"].get(component)) * number(weight[kind])
    return total
