"""What a single family has and no other: searched layers, hyper-connections, uneven heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.importers.counts_attention import Heads, head_dim, plain_heads
from planner.importers.counts_layers import entry, sliding
from planner.importers.counts_parts import (
    Counts,
    at_layer,
    attention,
    feed_forward,
    hidden,
    linear,
    norm,
)
from planner.importers.hf_config import HfConfig

# ---- DeepSeek-V4 ------------------------------------------------------------------------------


def corrected(config: HfConfig, layer: int) -> bool:
    """Layers whose router has a correction: all but the first, which choose experts by token."""
    return layer >= config.whole_or("num_hash_layers", 3)


def hyper_connections(config: HfConfig, layer: int) -> Counts:
    """Mixing of parallel streams before attention and before the experts."""
    streams = config.whole("hc_mult")
    mixes = (2 + streams) * streams
    one = linear(streams * hidden(config), mixes, bias=True) + 3
    return Counts(other=2 * one, notes=("other: hyper-connections between parallel streams",))


def hyper_head(config: HfConfig) -> Counts:
    """Mixing of the streams into one before the head."""
    streams = config.whole("hc_mult")
    return Counts(other=linear(streams * hidden(config), streams, bias=True) + 1)


def hyper_ending(config: HfConfig, layer: int) -> Counts:
    """The same at the end of a module beside the model."""
    return hyper_head(config)


# ---- uneven heads -----------------------------------------------------------------------------


def mimo_heads(config: HfConfig, layer: int) -> Heads:
    """MiMo-V2: keys and values of different size, other heads in layers with a window."""
    prefix = "swa_" if sliding(config, layer) else ""
    return Heads(
        config.whole(f"{prefix}num_attention_heads"),
        config.whole(f"{prefix}num_key_value_heads"),
        config.whole(f"{prefix}head_dim"),
        config.whole(f"{prefix}v_head_dim"),
    )


def mimo_sinks(config: HfConfig, layer: int) -> bool:
    """MiMo-V2: learned sinks in layers with a window, and in the others if asked."""
    if sliding(config, layer):
        return config.get("add_swa_attention_sink_bias") is None or config.flag(
            "add_swa_attention_sink_bias"
        )
    return config.flag("add_full_attention_sink_bias")


def step_heads(config: HfConfig, layer: int) -> Heads:
    """Step-3.7: layers with a window may have a number of query heads of their own."""
    heads = plain_heads(config, layer)
    if not sliding(config, layer):
        return heads
    other = config.section("attention_other_setting")
    queries = config.whole_or("num_sliding_attention_heads", heads.queries)
    queries = queries if other is None else other.whole_or("num_attention_heads", queries)
    return Heads(queries, heads.kv, heads.key_dim, heads.value_dim)


def elm_heads(config: HfConfig, layer: int) -> Heads:
    """OpenELM: a number of heads for each layer."""
    size = config.whole("head_dim")
    queries = at_layer(config, "num_query_heads", layer)
    return Heads(queries, at_layer(config, "num_kv_heads", layer), size, size)


def elm_width(config: HfConfig, layer: int) -> int:
    """OpenELM: a width for each layer, a multiple of the hidden size rounded to a divisor."""
    factor = _number(config, "ffn_multipliers", entry(config, "ffn_multipliers", layer))
    step = max(1, config.whole_or("ffn_dim_divisor", 256))
    width = factor * hidden(config)
    rounded = max(step, int(width + step / 2) // step * step)
    return rounded + step if rounded < 0.9 * width else rounded


def lfm_width(config: HfConfig, layer: int) -> int:
    """LFM2: two thirds of the written width, rounded up, unless it says not to adjust."""
    width = config.whole_or("block_ff_dim", 0) or config.whole("intermediate_size")
    if config.get("block_auto_adjust_ff_dim") is not None and not config.flag(
        "block_auto_adjust_ff_dim"
    ):
        return width
    factor = config.get("block_ffn_dim_multiplier")
    width = 2 * width // 3
    width = (
        width
        if factor is None
        else int(_number(config, "block_ffn_dim_multiplier", factor) * width)
    )
    step = max(1, config.whole_or("block_multiple_of", 256))
    return -(-width // step) * step


def _number(config: HfConfig, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e6:
        config.refuse(key, "positive numbers", "something else")
    return float(value)


# ---- layers found by search -------------------------------------------------------------------

_STEP = 256  # widths of searched networks are rounded up to it


def searched_layer(config: HfConfig, layer: int) -> Counts:
    """Nemotron NAS: each layer says its own attention and feed-forward network, or none."""
    block = entry(config, "block_configs", layer)
    mixer, network = _part(config, block, "attention"), _part(config, block, "ffn")
    size, queries, dim = hidden(config), config.whole("num_attention_heads"), head_dim(config)
    result = Counts()
    if not mixer.get("no_op"):
        if mixer.get("replace_with_linear"):
            matrices = linear(size, size)
        else:
            group = _number(config, "block_configs", mixer.get("n_heads_in_group"))
            kv = queries // max(1, int(group)) * dim
            matrices = attention(size, queries * dim, kv, kv, queries * dim)
        result = result + Counts(attention=matrices, norm=norm(size))
    if not network.get("no_op"):
        if network.get("replace_with_linear"):
            matrices = linear(size, size)
        else:
            width = int(2 * _number(config, "block_configs", network.get("ffn_mult")) * size / 3)
            matrices = feed_forward(size, -(-width // _STEP) * _STEP)
        result = result + Counts(mlp=matrices, norm=norm(size))
    return result


def _part(config: HfConfig, block: Any, name: str) -> Mapping[str, Any]:
    part = block.get(name) if isinstance(block, dict) else None
    if not isinstance(part, dict):
        config.refuse("block_configs", f"a mapping with '{name}' for each layer", "something else")
    return part


# ---- others -----------------------------------------------------------------------------------


def rotation_scales(config: HfConfig) -> Counts:
    """Mistral Large 4: a learned exponent for each pair of rotated channels."""
    count = config.whole("qk_rope_head_dim") // 2
    return Counts(other=count, notes=("other: learned scaling of rotary frequencies",))


def cross_gates(config: HfConfig, layer: int) -> Counts:
    """Llama 3.2 Vision: two numbers that let cross attention in."""
    return Counts(other=2, notes=("other: gates of cross attention",))


def residual_attention(config: HfConfig, layer: int) -> Counts:
    """Kimi-K3: attention over the residuals of earlier blocks, before each half of a layer."""
    return residual_attention_once(config) * 2


def residual_attention_once(config: HfConfig) -> Counts:
    """One attention over residuals: a learned query and a norm."""
    if config.get("attn_res_block_size") is None:
        return Counts()
    size = hidden(config)
    note = "other: learned queries of attention over residuals"
    return Counts(other=linear(size, 1), norm=norm(size), notes=(note,))
