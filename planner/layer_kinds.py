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
    "group_prefill_score_dim": "1",
    "group_prefill_mix_dim": "1",
    "group_conv_taps": "1/request",
    "group_conv_channels": "1",
    "group_conv_element_bytes": "byte",
    "group_state_heads": "1/request",
    "group_state_rows": "1",
    "group_state_columns": "1",
    "group_state_element_bytes": "byte",
    "group_state_ops": "flop*request/token",
    "group_cache_layers": "1",
    "group_fixed_tokens": "token/request",
    "group_tokens_per_state": "1",
    "group_places": "1",
    "group_kv_params": "param",
    "group_replicated_params": "param",
    "group_window_slides": "1",
    "group_state_groups": "1",
    "group_block": "token/block",
    "group_draft_layers": "1",
    "group_scale_sets": "1",
}

# What every kind may write beside its own names, and what is taken where it is absent (None:
# nothing). The layers stand at `first`, then `run` of every `period` layers.
COMMON: dict[str, float | None] = {
    "shared_layers": 0,
    "mtp_layers": 0,
    "block": 0,
    "first": None,
    "period": None,
    "run": None,
}
# Names of the model that rules may use, and the layer count of the group itself.
OUTER = ("hidden_size", "layers")
_COMMON_RULES = {
    "group_cache_layers": "layers - shared_layers",
    "group_block": "block",
    "group_tokens_per_state": "1",
    "group_scale_sets": "1",
}
# Kinds that stand in layers of other kinds: what an indexer or a compressor keeps beside them.
BESIDE = frozenset({"index_key", "compressed_index_key", "compressor_state", "pool_tail"})

DTYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}


@dataclass(frozen=True, slots=True)
class LayerKind:
    """One kind of layer: its label, the names it takes, and the rule of each field.

    ``may_take`` gives what stands for an absent name; None keeps the fields that use it unknown.
    """

    label: str
    takes: tuple[str, ...]
    rules: Mapping[str, str]
    may_take: Mapping[str, float | None] = field(default_factory=dict)
    note: str = ""
    stands_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def complete(self, shape: Mapping[str, float]) -> dict[str, float]:
        """The shape with short names spread out (``head_dim``) and optional ones filled in."""
        full = dict(shape)
        for short, names in self.stands_for.items():
            if short in full:
                value = full.pop(short)
                full |= {name: value for name in names if name not in full}
        optional = COMMON | dict(self.may_take)
        return {name: value for name, value in optional.items() if value is not None} | full

    def rule(self, name: str) -> str:
        """The rule of one ``group_*`` field; empty where a layer of this kind has no such part."""
        return self.rules.get(name, _COMMON_RULES.get(name, ""))

    def value(self, name: str, shape: Mapping[str, float]) -> float:
        """Value of one ``group_*`` field for a completed shape."""
        rule = self.rule(name)
        return evaluate(rule, shape) if rule else 0.0


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
    "group_prefill_score_dim": "key_dim",
    "group_prefill_mix_dim": "value_dim",
    "group_kv_params": (
        "hidden_size * kv_heads * key_dim + v_projection * hidden_size * kv_heads * value_dim"
        " + kv_bias * kv_heads * key_dim + kv_bias * kv_heads * value_dim"
    ),
}
# A layer without a value projection stores its keys as values; a bias is rare.
_ATTENTION_MAY: dict[str, float | None] = {"v_projection": 1, "kv_bias": 0}
_LATENT = {
    "group_q_heads": "q_heads",
    "group_kv_heads": "1",
    "group_key_dim": "kv_lora_rank + qk_rope_head_dim",
    "group_score_dim": "kv_lora_rank + qk_rope_head_dim",
    "group_mix_dim": "kv_lora_rank",
    "group_prefill_score_dim": "qk_nope_head_dim + qk_rope_head_dim",
    "group_prefill_mix_dim": "v_head_dim",
    "group_replicated_params": (
        "hidden_size * q_lora_rank + hidden_size * kv_lora_rank + hidden_size * qk_rope_head_dim"
    ),
}
# One vector of the head size is key and value at once (DeepSeek-V4).
_SHARED_VECTOR = {
    "group_q_heads": "q_heads",
    "group_kv_heads": "1",
    "group_key_dim": "head_dim",
    "group_score_dim": "head_dim",
    "group_mix_dim": "head_dim",
    "group_prefill_score_dim": "head_dim",
    "group_prefill_mix_dim": "head_dim",
}
_CONV = {"group_conv_taps": "conv_kernel - 1", "group_conv_element_bytes": "conv_dtype"}
_STATE = {"group_state_element_bytes": "state_dtype"}

KINDS: dict[str, LayerKind] = {
    "full_attention": LayerKind(
        "Full attention",
        ("q_heads", "kv_heads", "key_dim", "value_dim"),
        _ATTENTION | {
            "group_read_limit": "read_limit",
            "group_replicated_params": "hidden_size * q_lora_rank",
            "group_scale_sets": "scale_sets",
        },
        may_take=_ATTENTION_MAY | {"read_limit": 0, "q_lora_rank": 0, "scale_sets": 1},
        stands_for=_HEAD,
    ),
    "sliding_window": LayerKind(
        "Sliding window",
        ("q_heads", "kv_heads", "key_dim", "value_dim", "window"),
        _ATTENTION | {"group_window": "window", "group_window_slides": "1"},
        may_take=_ATTENTION_MAY,
        stands_for=_HEAD,
    ),
    "chunked_local": LayerKind(
        "Chunked local attention",
        ("q_heads", "kv_heads", "key_dim", "value_dim", "chunk"),
        _ATTENTION | {"group_window": "chunk"},
        may_take=_ATTENTION_MAY,
        stands_for=_HEAD,
        note="the chunk is taken as a window of the same length, which is its upper bound",
    ),
    "cross_attention": LayerKind(
        "Cross attention",
        ("q_heads", "kv_heads", "key_dim", "value_dim", "tokens"),
        _ATTENTION | {"group_fixed_tokens": "tokens"},
        may_take=_ATTENTION_MAY,
        stands_for=_HEAD,
        note="keys and values of the encoder's tokens are written once per request",
    ),
    "encoder_only": LayerKind(
        "Encoder attention",
        ("q_heads", "key_dim", "value_dim"),
        {
            "group_q_heads": "q_heads",
            "group_score_dim": "key_dim",
            "group_mix_dim": "value_dim",
            "group_prefill_score_dim": "key_dim",
            "group_prefill_mix_dim": "value_dim",
            "group_cache_layers": "0",
        },
        stands_for=_HEAD,
        note="every token sees every other one, in one pass that keeps no cache",
    ),
    "mla": LayerKind(
        "Multi-head latent attention",
        ("q_heads", "kv_lora_rank", "qk_rope_head_dim"),
        _LATENT | {"group_read_limit": "index_topk"},
        may_take={
            "index_topk": 0, "q_lora_rank": None, "qk_nope_head_dim": None, "v_head_dim": None,
        },
        note="one latent serves all heads and holds keys and values together; decode is absorbed",
    ),
    "index_key": LayerKind(
        "Index keys",
        ("index_heads", "index_head_dim", "key_bytes"),
        {
            "group_q_heads": "index_heads",
            "group_fixed_bytes": "key_bytes",
            "group_score_dim": "index_head_dim",
            "group_prefill_score_dim": "index_head_dim",
            "group_replicated_params": (
                "index_query_size * index_heads * index_head_dim + hidden_size * index_head_dim"
                " + index_weights * hidden_size * index_heads + 2 * index_head_dim"
            ),
        },
        may_take={"index_query_size": None, "index_weights": 1},
        note="the index reads every token and does not follow the KV format",
    ),
    "compressed_mla": LayerKind(
        "Compressed latents",
        ("q_heads", "head_dim", "tokens_per_state"),
        _SHARED_VECTOR | {
            "group_tokens_per_state": "tokens_per_state",
            "group_read_limit": "index_topk * tokens_per_state",
        },
        may_take={"index_topk": 0},
        note="one vector stands for several tokens and is key and value of all heads; its "
        "projections belong to the compressor state",
    ),
    "sliding_window_mla": LayerKind(
        "Latents in a sliding window",
        ("q_heads", "head_dim", "window"),
        _SHARED_VECTOR | {
            "group_window": "window",
            "group_window_slides": "1",
            "group_replicated_params": "hidden_size * q_lora_rank + hidden_size * head_dim",
        },
        may_take={"q_lora_rank": None},
        note="one vector per token is key and value of all heads",
    ),
    "compressed_index_key": LayerKind(
        "Index keys of compressed latents",
        ("index_heads", "index_head_dim", "key_bytes", "tokens_per_state"),
        {
            "group_q_heads": "index_heads",
            "group_fixed_bytes": "key_bytes",
            "group_score_dim": "index_head_dim",
            "group_prefill_score_dim": "index_head_dim",
            "group_tokens_per_state": "tokens_per_state",
            "group_replicated_params": (
                "index_query_size * index_heads * index_head_dim + hidden_size * index_heads"
            ),
        },
        may_take={"index_query_size": None},
        note="one key stands for several tokens and does not follow the KV format",
    ),
    "compressor_state": LayerKind(
        "Compressor state",
        ("elements", "window", "state_dtype"),
        {
            "group_fixed_bytes": "elements * state_dtype",
            "group_window": "window",
            "group_window_slides": "1",
            "group_replicated_params": "hidden_size * elements",
        },
        note="what the compressor keeps of the last tokens; it does not follow the KV format",
    ),
    "pool_tail": LayerKind(
        "Ring of an open pool",
        ("tokens",),
        {"group_fixed_tokens": "tokens"},
        note="the last tokens of a pool that is not yet full: one block of every request",
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
            "group_replicated_params": "hidden_size * gate_rank",
        },
        may_take={"gate_rank": None},
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
            "group_state_groups": "groups",
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
