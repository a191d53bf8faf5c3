"""Layers that keep a state of fixed size, alone or beside attention."""

from __future__ import annotations

from dataclasses import dataclass

from planner.importers import counts_layers as which
from planner.importers.hf_config import HfConfig
from planner.importers.hf_mixers import Layers, index_shape, latent_shape
from planner.importers.hf_patterns import CONV, FULL, LINEAR
from planner.importers.hf_shapes import (
    DERIVED,
    Given,
    Layer,
    attention_shape,
    conv_dtype,
    head_dim,
    q_heads,
    state_dtype,
    whole,
)

_ATTENTION = (FULL, "attention")
_MAMBA = (LINEAR, "mamba", "mamba2")


def _word(config: HfConfig, layer: int, *known: str) -> str:
    word = str(which.entry(config, "layer_types", layer))
    if word not in known:
        config.refuse("layer_types", " or ".join(known), f"'{word}' for layer {layer}")
    return word


def gdn(config: HfConfig, layer: int) -> Layers:
    """Gated delta nets, and full attention in some layers."""
    if _word(config, layer, LINEAR, FULL) == FULL:
        return (Layer("full_attention", attention_shape(config)),)
    return (_gated_delta(config),)


def _gated_delta(config: HfConfig) -> Layer:
    shape = {
        "k_heads": whole(config, "linear_num_key_heads"),
        "v_heads": whole(config, "linear_num_value_heads"),
        "k_head_dim": whole(config, "linear_key_head_dim"),
        "v_head_dim": whole(config, "linear_value_head_dim"),
        "conv_kernel": whole(config, "linear_conv_kernel_dim"),
        "conv_dtype": conv_dtype(config),
        "state_dtype": state_dtype(config, "mamba_ssm_dtype"),
    }
    return Layer("gdn", shape)


def qsa(config: HfConfig, layer: int) -> Layers:
    """Qwen4-Exp: gated delta nets; in some layers attention to tokens chosen by pooled keys."""
    if which.linear_attention(config, layer):
        return (_gated_delta(config),)
    shape = attention_shape(config)
    if not config.whole_or("indexer_n_heads", 0):
        return (Layer("full_attention", shape),)
    why = "one key in bf16 for all heads; no engine's cache was seen"
    index = {
        "index_heads": whole(config, "indexer_n_heads"),
        "index_head_dim": whole(config, "indexer_head_dim"),
        "key_bytes": Given(2 * config.whole("indexer_head_dim"), DERIVED, why),
        "tokens_per_state": whole(config, "indexer_compress_ratio"),
        "index_query_size": whole(config, "hidden_size"),
    }
    chosen = shape | {"read_limit": whole(config, "indexer_budget")}
    return Layer("full_attention", chosen), Layer("compressed_index_key", index)


def kda(config: HfConfig, layer: int) -> Layers:
    """Kimi delta attention, and latent attention in some layers."""
    if not which.listed_linear(config, layer):
        return (Layer("mla", latent_shape(config)),)
    return (_delta_layer(config),)


def kda_dsa(config: HfConfig, layer: int) -> Layers:
    """GLM-5.3-Flash: Kimi delta attention; in some layers latent attention to chosen tokens.

    The indexer keeps one key for a pool of tokens, and a ring of the tokens of a pool that is not
    yet full.
    """
    if which.linear_attention(config, layer):
        return (_delta_layer(config),)
    if not which.owns_indexer(config, layer):
        config.refuse("indexer_types", "an indexer in every layer of latent attention", "'shared'")
    latent = latent_shape(config) | {"index_topk": whole(config, "index_topk")}
    pooled = index_shape(config) | {
        "tokens_per_state": whole(config, "index_kpool"),
        "index_query_size": latent["q_lora_rank"],
    }
    ring = {"tokens": pooled["tokens_per_state"], "block": pooled["tokens_per_state"]}
    return Layer("mla", latent), Layer("compressed_index_key", pooled), Layer("pool_tail", ring)


def _delta_layer(config: HfConfig) -> Layer:
    heads, dim, taps = _delta(config)
    shape = {
        "k_heads": heads,
        "v_heads": heads,
        "k_head_dim": dim,
        "v_head_dim": dim,
        "conv_kernel": taps,
        "conv_dtype": conv_dtype(config),
        "state_dtype": state_dtype(config, otherwise="fp32"),
        "gate_rank": _gates(config, dim),
    }
    return Layer("kda", shape)


def _delta(config: HfConfig) -> tuple[Given, Given, Given]:
    """Heads, their size, taps: in a section of their own, or in one of two spellings beside."""
    part = config.section("linear_attn_config")
    if part is not None:
        taps = whole(part, "short_conv_kernel_size")
        return whole(part, "num_heads"), whole(part, "head_dim"), taps
    if config.get("linear_num_heads") is not None:
        taps = whole(config, "linear_conv_kernel_dim")
        return whole(config, "linear_num_heads"), whole(config, "linear_head_dim"), taps
    return q_heads(config), whole(config, "head_dim"), whole(config, "short_conv_kernel_size")


def _gates(config: HfConfig, dim: Given) -> Given:
    """Width of the narrow gate projections: of the decay and of the output, where they are."""
    if config.family.name == "bailing_hybrid":
        return Given(0, DERIVED, "both gates are full matrices, as the architecture has it")
    part = config.section("linear_attn_config")
    wide = part is not None and part.flag("use_full_rank_gate")
    why = "head size, for the decay alone" if wide else "twice the head size: decay and output"
    return Given(int(dim.value or 0) * (1 if wide else 2), DERIVED, why)


# ---- Mamba ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mamba2Keys:
    """Under which keys a family writes the shape of its Mamba 2 layers."""

    heads: str = "mamba_n_heads"
    dim: str = "mamba_d_head"
    groups: str = "mamba_n_groups"
    state: str = "mamba_d_state"
    taps: str = "mamba_d_conv"
    inner: str = ""
    dtype: str = ""
    otherwise: str = ""


GRANITE = Mamba2Keys()
FALCON = Mamba2Keys(inner="mamba_d_ssm")
NEMOTRON = Mamba2Keys(
    "mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel",
    dtype="mamba_ssm_cache_dtype", otherwise="fp32",
)  # fmt: skip


def mamba2_layer(config: HfConfig, keys: Mamba2Keys) -> Layer:
    """One Mamba 2 layer."""
    shape = {
        "heads": whole(config, keys.heads),
        "head_dim": _mamba_head(config, keys),
        "groups": whole(config, keys.groups),
        "state_size": whole(config, keys.state),
        "conv_kernel": whole(config, keys.taps),
        "conv_dtype": conv_dtype(config),
        "state_dtype": state_dtype(config, keys.dtype, keys.otherwise),
    }
    return Layer("mamba2", shape)


def _mamba_head(config: HfConfig, keys: Mamba2Keys) -> Given:
    if config.get(keys.dim) not in (None, "auto"):
        return whole(config, keys.dim)
    heads = config.whole(keys.heads)
    if keys.inner and config.get(keys.inner) is not None:
        inner, why = config.whole(keys.inner), keys.inner
    else:
        inner = config.whole("mamba_expand") * config.whole("hidden_size")
        why = "mamba_expand * hidden_size"
    if not heads or inner % heads:
        config.refuse(keys.heads, f"a divisor of the inner size {inner}", f"{heads}")
    return Given(inner // heads, DERIVED, f"{why} / {keys.heads}")


def mamba2(config: HfConfig, layer: int) -> Layers:
    """Mamba 2, and full attention in some layers."""
    if _word(config, layer, *_MAMBA, *_ATTENTION) in _ATTENTION:
        return (Layer("full_attention", attention_shape(config)),)
    return (mamba2_layer(config, GRANITE),)


def parallel(config: HfConfig, layer: int) -> Layers:
    """Falcon-H1: attention and Mamba 2 beside each other in every layer."""
    attention = Layer("full_attention", attention_shape(config))
    return attention, mamba2_layer(config, FALCON)


def nemotron_h(config: HfConfig, layer: int) -> Layers:
    """Nemotron-H: each layer is one block: Mamba 2, attention, or a network without a state."""
    word = which.patterned(config, layer)
    if word in _ATTENTION:
        return (Layer("full_attention", attention_shape(config)),)
    if word in _MAMBA:
        return (mamba2_layer(config, NEMOTRON),)
    if word not in ("moe", "mlp"):
        config.refuse("layers_block_type", "mamba, attention, moe or mlp", f"'{word}'")
    return ()


def mamba1(config: HfConfig, layer: int) -> Layers:
    """Jamba: Mamba 1, and full attention in some layers."""
    if _word(config, layer, LINEAR, FULL) == FULL:
        return (Layer("full_attention", attention_shape(config)),)
    inner = config.whole("mamba_expand") * config.whole("hidden_size")
    shape = {
        "inner_size": Given(inner, DERIVED, "mamba_expand * hidden_size"),
        "state_size": whole(config, "mamba_d_state"),
        "conv_kernel": whole(config, "mamba_d_conv"),
        "conv_dtype": conv_dtype(config),
        "state_dtype": state_dtype(config),
    }
    return (Layer("mamba1", shape),)


def mamba1_only(config: HfConfig, layer: int) -> Layers:
    """Mamba 1 in every layer."""
    inner = config.whole("expand") * config.whole("hidden_size")
    size = Given(inner, DERIVED, "expand * hidden_size")
    if config.whole_or("intermediate_size", 0):
        size = whole(config, "intermediate_size")
    shape = {
        "inner_size": size,
        "state_size": whole(config, "state_size"),
        "conv_kernel": whole(config, "conv_kernel"),
        "conv_dtype": conv_dtype(config),
        "state_dtype": state_dtype(config),
    }
    return (Layer("mamba1", shape),)


# ---- others -----------------------------------------------------------------------------------


def lightning(config: HfConfig, layer: int) -> Layers:
    """MiniMax: lightning attention, and full attention in some layers."""
    if _word(config, layer, LINEAR, FULL) == FULL:
        return (Layer("full_attention", attention_shape(config)),)
    shape = {
        "heads": q_heads(config),
        "head_dim": head_dim(config),
        "state_dtype": state_dtype(config),
    }
    return (Layer("lightning", shape),)


def short_conv(config: HfConfig, layer: int) -> Layers:
    """LFM2: short convolutions, and full attention in some layers."""
    if _word(config, layer, CONV, FULL) == FULL:
        return (Layer("full_attention", attention_shape(config)),)
    shape = {
        "channels": whole(config, "hidden_size"),
        "conv_kernel": whole(config, "conv_L_cache"),
        "conv_dtype": conv_dtype(config),
    }
    return (Layer("short_conv", shape),)
