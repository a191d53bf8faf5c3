"""How published layer shapes become stored elements: the only place that names architectures.

Each kind lists the shape names that its entries write and, for each ``group_*`` field, how it
follows from them. A rule is a sum of products of names and whole numbers, so that the same text
computes the value and explains it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

# Unit and neutral value of what a layer group holds; a rule that is absent below means 0.
FIELDS: dict[str, str] = {
    "group_layers": "1",
    "group_q_heads": "1",
    "group_kv_heads": "1",
    "group_key_dim": "1/token",
    "group_value_dim": "1/token",
    "group_fixed_bytes": "byte/token",
    "group_window": "token/request",
    "group_read_limit": "token/request",
    "group_score_dim": "1",
    "group_mix_dim": "1",
    "group_conv_taps": "1/request",
    "group_conv_channels": "1",
    "group_conv_element_bytes": "byte",
    "group_state_heads": "1/request",
    "group_state_rows": "1",
    "group_state_columns": "1",
    "group_state_element_bytes": "byte",
    "group_state_ops": "flop*request/token",
}

DTYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}


@dataclass(frozen=True, slots=True)
class LayerKind:
    """One kind of layer: its label, the names it takes, and the rule of each field."""

    label: str
    takes: tuple[str, ...]
    rules: Mapping[str, str]
    may_take: tuple[str, ...] = ()
    note: str = ""
    stands_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def complete(self, shape: Mapping[str, float]) -> dict[str, float]:
        """The shape with short names spread out (``head_dim``) and 0 for optional ones."""
        full = dict(shape)
        for short, names in self.stands_for.items():
            if short in full:
                value = full.pop(short)
                full |= {name: value for name in names if name not in full}
        return dict.fromkeys(self.may_take, 0.0) | full

    def value(self, name: str, shape: Mapping[str, float]) -> float:
        """Value of one ``group_*`` field for a completed shape."""
        return evaluate(self.rules[name], shape) if name in self.rules else 0.0


def names_in(rule: str) -> tuple[str, ...]:
    """The shape names that a rule reads, in order, each once."""
    return tuple(dict.fromkeys(re.findall(r"[a-z_]+", rule)))


def evaluate(rule: str, shape: Mapping[str, float]) -> float:
    """Value of a sum of products such as ``2 * k_heads * k_head_dim + 1``."""
    total = 0.0
    for sign, term in re.findall(r"([+-]?)\s*([^+-]+)", rule):
        product = 1.0
        for factor in term.split("*"):
            word = factor.strip()
            product *= float(word) if word.isdigit() else shape[word]
        total += -product if sign == "-" else product
    return total


_HEAD = {"head_dim": ("key_dim", "value_dim")}
_ATTENTION = {
    "group_q_heads": "q_heads",
    "group_kv_heads": "kv_heads",
    "group_key_dim": "key_dim",
    "group_value_dim": "value_dim",
    "group_score_dim": "key_dim",
    "group_mix_dim": "value_dim",
}
_LATENT = {
    "group_q_heads": "q_heads",
    "group_kv_heads": "1",
    "group_key_dim": "kv_lora_rank + qk_rope_head_dim",
    "group_score_dim": "kv_lora_rank + qk_rope_head_dim",
    "group_mix_dim": "kv_lora_rank",
}
_CONV = {"group_conv_taps": "conv_kernel - 1", "group_conv_element_bytes": "conv_dtype"}
_STATE = {"group_state_element_bytes": "state_dtype"}

KINDS: dict[str, LayerKind] = {
    "full_attention": LayerKind(
        "Full attention",
        ("q_heads", "kv_heads", "key_dim", "value_dim"),
        _ATTENTION,
        stands_for=_HEAD,
    ),
    "sliding_window": LayerKind(
        "Sliding window",
        ("q_heads", "kv_heads", "key_dim", "value_dim", "window"),
        _ATTENTION | {"group_window": "window"},
        stands_for=_HEAD,
    ),
    "chunked_local": LayerKind(
        "Chunked local attention",
        ("q_heads", "kv_heads", "key_dim", "value_dim", "chunk"),
        _ATTENTION | {"group_window": "chunk"},
        stands_for=_HEAD,
        note="the chunk is taken as a window of the same length, which is its upper bound",
    ),
    "mla": LayerKind(
        "Multi-head latent attention",
        ("q_heads", "kv_lora_rank", "qk_rope_head_dim"),
        _LATENT | {"group_read_limit": "index_topk"},
        may_take=("index_topk",),
        note="one latent serves all heads and holds keys and values together; decode is absorbed",
    ),
    "index_key": LayerKind(
        "Index keys",
        ("index_heads", "index_head_dim", "key_bytes"),
        {
            "group_q_heads": "index_heads",
            "group_fixed_bytes": "key_bytes",
            "group_score_dim": "index_head_dim",
        },
        note="the index reads every token and does not follow the KV format",
    ),
    "gdn": LayerKind(
        "Gated delta net",
        ("k_heads", "v_heads", "k_head_dim", "v_head_dim", "conv_kernel", "conv_dtype",
         "state_dtype"),
        _CONV | _STATE | {
            "group_conv_channels": "2 * k_heads * k_head_dim + v_heads * v_head_dim",
            "group_state_heads": "v_heads",
            "group_state_rows": "v_head_dim",
            "group_state_columns": "k_head_dim",
            "group_state_ops": "7",
        },
        note="operations per state element: three multiply-adds and the decay",
    ),
    "kda": LayerKind(
        "Kimi delta attention",
        ("k_heads", "v_heads", "k_head_dim", "v_head_dim", "conv_kernel", "conv_dtype",
         "state_dtype"),
        _CONV | _STATE | {
            "group_conv_channels": "2 * k_heads * k_head_dim + v_heads * v_head_dim",
            "group_state_heads": "v_heads",
            "group_state_rows": "v_head_dim",
            "group_state_columns": "v_head_dim",
            "group_state_ops": "7",
        },
        note="operations per state element: three multiply-adds and the decay",
    ),
    "mamba1": LayerKind(
        "Mamba 1",
        ("inner_size", "state_size", "conv_kernel", "conv_dtype", "state_dtype"),
        _CONV | _STATE | {
            "group_conv_channels": "inner_size",
            "group_state_heads": "inner_size",
            "group_state_rows": "1",
            "group_state_columns": "state_size",
            "group_state_ops": "9",
        },
        note="every inner channel is a head of its own, since each has its own state row",
    ),
    "mamba2": LayerKind(
        "Mamba 2",
        ("heads", "head_dim", "groups", "state_size", "conv_kernel", "conv_dtype", "state_dtype"),
        _CONV | _STATE | {
            "group_conv_channels": "heads * head_dim + 2 * groups * state_size",
            "group_state_heads": "heads",
            "group_state_rows": "head_dim",
            "group_state_columns": "state_size",
            "group_state_ops": "6",
        },
        note="operations per state element: three multiply-adds",
    ),
    "lightning": LayerKind(
        "Lightning attention",
        ("heads", "head_dim", "state_dtype"),
        _STATE | {
            "group_state_heads": "heads",
            "group_state_rows": "head_dim",
            "group_state_columns": "head_dim",
            "group_state_ops": "5",
        },
    ),
    "short_conv": LayerKind(
        "Short convolution",
        ("channels", "conv_kernel", "conv_dtype"),
        _CONV | {"group_conv_channels": "channels"},
    ),
}  # fmt: skip


def basis(kind: LayerKind) -> str:
    """One line on what does not stand in the published shape under its own name."""
    rules = (
        f"{name.removeprefix('group_').replace('_', ' ')} = {rule}"
        for name, rule in kind.rules.items()
        if not rule.isidentifier()
    )
    return "; ".join([*rules, *([kind.note] if kind.note else [])])
