"""Small configurations of our own, and what their layer groups amount to in plain numbers."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from planner import layer_kinds
from planner.errors import InputError
from planner.importers.hf_config import HfConfig, parse_config
from planner.importers.hf_layers import Group, layer_groups

# What nearly every decoder says; small, and no published model.
SIZES: dict[str, Any] = {
    "num_hidden_layers": 8,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "intermediate_size": 96,
    "max_position_embeddings": 1000,
    "torch_dtype": "bfloat16",
}
_BF16 = 2


def text_of(model_type: str, **keys: Any) -> str:
    """A ``config.json`` with these keys over ``SIZES``; ``...`` leaves a key out."""
    merged = {"model_type": model_type} | SIZES | keys
    return json.dumps({k: v for k, v in merged.items() if v is not ...}, indent=1)


def config_of(model_type: str, **keys: Any) -> HfConfig:
    """The same, read."""
    return parse_config(text_of(model_type, **keys))


def refusal(text: str) -> str:
    """The first line of the message that reading and grouping a text ends in, and its hint."""
    try:
        layer_groups(parse_config(text))
    except InputError as error:
        (problem,) = error.problems
        return f"{problem.where}: expected {problem.expected}, found {problem.found}" + (
            f" | {problem.hint}" if problem.hint else ""
        )
    raise AssertionError("it was not refused")


def value(group: Group, name: str, hidden: int) -> float:
    """One ``group_*`` field of a group, by the rules that catalog entries go by."""
    kind = layer_kinds.KINDS[group.kind]
    shape = {
        key: float(layer_kinds.DTYPE_BYTES[v]) if isinstance(v, str) else float(v)
        for key, one in group.shape.items()
        if (v := one.value) is not None
    }
    outer = {"layers": group.layers, "shared_layers": group.shared, "hidden_size": hidden}
    return kind.value(f"group_{name}", kind.complete(shape) | outer)


def per_token(group: Group, hidden: int) -> int:
    """Bytes of one layer and token in BF16."""
    heads = value(group, "kv_heads", hidden)
    widths = value(group, "key_dim", hidden) + value(group, "value_dim", hidden)
    return int(heads * widths * _BF16 + value(group, "fixed_bytes", hidden))


def state(group: Group, hidden: int) -> int:
    """Bytes of the state of one layer and request."""
    conv = ("conv_taps", "conv_channels", "conv_element_bytes")
    rows = ("state_heads", "state_rows", "state_columns", "state_element_bytes")
    total = 0.0
    for names in (conv, rows):
        product = 1.0
        for name in names:
            product *= value(group, name, hidden)
        total += product
    return int(total)


def summary(config: HfConfig) -> Counter[tuple[Any, ...]]:
    """Layers by kind, bytes, window and tokens per state; states by kind and bytes."""
    hidden, found = config.whole("hidden_size"), Counter[tuple[Any, ...]]()
    for group in layer_groups(config):
        if group.kind in ("encoder_only",):
            continue
        size = state(group, hidden)
        if size:
            found[group.kind, size] += group.layers
            continue
        window = 0 if group.kind == "chunked_local" else int(value(group, "window", hidden))
        ratio = int(value(group, "tokens_per_state", hidden))
        kept = int(value(group, "cache_layers", hidden))
        found[group.kind, per_token(group, hidden), window, ratio] += kept
    return found
