"""Layers with a cache that grows: attention in all its forms, and what stands beside it.

Each rule takes a configuration and the index of a layer, and gives what that layer keeps.
"""

from __future__ import annotations

from typing import Any

from planner.importers import counts_layers as which
from planner.importers.counts_older import falcon_kv_heads
from planner.importers.hf_config import HfConfig
from planner.importers.hf_patterns import CHUNKED, FULL, SLIDING
from planner.importers.hf_shapes import (
    DERIVED,
    ENGINE,
    Given,
    Layer,
    attention_shape,
    given,
    head_dim,
    kv_heads,
    q_heads,
    whole,
)

Layers = tuple[Layer, ...]
_OVERLAPPING = 4  # DeepSeek-V4: this ratio keeps two halves and has an indexer


def attention(config: HfConfig, layer: int) -> Layers:
    """One attention of the kind that ``layer_types`` says."""
    return (attention_of(config, layer, attention_shape(config)),)


def attention_of(config: HfConfig, layer: int, shape: dict[str, Given]) -> Layer:
    """Attention with these heads: full, with a window, or in chunks."""
    word = str(which.entry(config, "layer_types", layer))
    owns = not which.shares_kv(config, layer)
    if word in (FULL, "attention"):
        return Layer("full_attention", shape, owns)
    if word == SLIDING:
        return _windowed(config, layer, shape, owns)
    if word == CHUNKED:
        return Layer(
            "chunked_local", shape | {"chunk": whole(config, "attention_chunk_size")}, owns
        )
    known = f"{FULL}, {SLIDING} or {CHUNKED}"
    return config.refuse("layer_types", known, f"'{word}' for layer {layer}")


def _windowed(config: HfConfig, layer: int, shape: dict[str, Given], owns: bool) -> Layer:
    windows = config.get("interleaved_sliding_window")
    if isinstance(windows, list) and windows:
        size = windows[layer % len(windows)]
        window = given(config, "interleaved_sliding_window", size)
    else:
        window = whole(config, "sliding_window")
    longest = config.get("max_position_embeddings")
    size = window.value
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        config.refuse("sliding_window", "a whole number of tokens", f"{size}")
    if isinstance(longest, int) and size > longest:
        note = f"the window of {size} tokens is longer than the context, so it is no window"
        return Layer("full_attention", shape, owns, (note,))
    return Layer("sliding_window", shape | {"window": window}, owns)


# ---- heads that differ ------------------------------------------------------------------------


def gemma4(config: HfConfig, layer: int) -> Layers:
    """Full layers have heads of their own size; they may use keys as values."""
    shape = attention_shape(config)
    if which.entry(config, "layer_types", layer) == SLIDING:
        return (attention_of(config, layer, shape),)
    shape["head_dim"] = Given(512, "transformers", "global_head_dim, default of transformers")
    if config.get("global_head_dim") is not None:
        shape["head_dim"] = whole(config, "global_head_dim")
    if config.flag("attention_k_eq_v"):
        if config.get("num_global_key_value_heads") is not None:
            shape["kv_heads"] = whole(config, "num_global_key_value_heads")
        shape["v_projection"] = given(config, "attention_k_eq_v", False)
    return (attention_of(config, layer, shape),)


def mimo_v2(config: HfConfig, layer: int) -> Layers:
    """Keys and values of different size; other heads in layers with a window."""
    word = str(which.entry(config, "layer_types", layer))
    prefix = "swa_" if word == SLIDING else ""
    shape = attention_shape(
        config,
        q_heads=whole(config, f"{prefix}num_attention_heads"),
        kv_heads=whole(config, f"{prefix}num_key_value_heads"),
        key_dim=whole(config, f"{prefix}head_dim"),
        value_dim=whole(config, f"{prefix}v_head_dim"),
    )
    return (attention_of(config, layer, shape),)


def step3(config: HfConfig, layer: int) -> Layers:
    """Few shared heads for keys and values, queries through a narrow middle on every rank."""
    groups = Given(1, DERIVED, "one shared head, as the architecture has it")
    if config.get("num_attention_groups") is not None:
        groups = whole(config, "num_attention_groups")
    shape = attention_shape(config, kv_heads=groups, q_lora_rank=whole(config, "share_q_dim"))
    return (Layer("full_attention", shape),)


def step3p7(config: HfConfig, layer: int) -> Layers:
    """Layers with a window may have a number of query heads of their own."""
    shape = attention_shape(config)
    if which.entry(config, "layer_types", layer) == SLIDING:
        other = config.section("attention_other_setting")
        if other is not None and other.get("num_attention_heads") is not None:
            shape["q_heads"] = whole(other, "num_attention_heads")
        elif config.get("num_sliding_attention_heads") is not None:
            shape["q_heads"] = whole(config, "num_sliding_attention_heads")
    return (attention_of(config, layer, shape),)


def searched(config: HfConfig, layer: int) -> Layers:
    """Nemotron NAS: each layer says its own heads, or has no attention at all."""
    block = which.entry(config, "block_configs", layer)
    part = block.get("attention") if isinstance(block, dict) else None
    if not isinstance(part, dict):
        config.refuse("block_configs", f"'attention' for layer {layer}", "something else")
    if part.get("no_op") or part.get("replace_with_linear"):
        return ()
    place = f"block_configs[{layer}].attention"
    _nothing_else(config, part, place)
    queries, group = config.whole("num_attention_heads"), part.get("n_heads_in_group")
    if isinstance(group, bool) or not isinstance(group, int) or group < 1 or queries % group:
        config.refuse("block_configs", f"n_heads_in_group that divides {queries}", f"{group}")
    why = f"num_attention_heads / {place}.n_heads_in_group"
    shape = attention_shape(config, kv_heads=Given(queries // group, DERIVED, why))
    if part.get("window_length") is None:
        return (Layer("full_attention", shape),)
    window = Given(int(part["window_length"]), "config", f"{place}.window_length")
    return (Layer("sliding_window", shape | {"window": window}),)


def _nothing_else(config: HfConfig, part: dict[str, Any], place: str) -> None:
    known = {"no_op", "replace_with_linear", "n_heads_in_group", "window_length"}
    other = sorted(name for name, value in part.items() if name not in known and value)
    if other:
        config.refuse("block_configs", "heads and windows only", f"'{other[0]}' in {place}")


def openelm(config: HfConfig, layer: int) -> Layers:
    """OpenELM: numbers of query and KV heads are listed by layer."""
    shape = {
        "q_heads": _listed(config, "num_query_heads", layer),
        "kv_heads": _listed(config, "num_kv_heads", layer),
        "head_dim": whole(config, "head_dim"),
    }
    return (Layer("full_attention", shape),)


def falcon(config: HfConfig, layer: int) -> Layers:
    """Falcon: the newer architecture writes its KV heads; a flag of the older one says them."""
    heads = Given(falcon_kv_heads(config), DERIVED, "multi_query: one head for all queries")
    if config.flag("new_decoder_architecture"):
        heads = whole(config, "num_kv_heads")
    elif not config.flag("multi_query"):
        heads = Given(heads.value, DERIVED, "as many as query heads")
    return (Layer("full_attention", attention_shape(config, kv_heads=heads)),)


def _listed(config: HfConfig, key: str, layer: int) -> Given:
    value = which.entry(config, key, layer)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        config.refuse(key, f"a number of heads for layer {layer}", f"{value}")
    return given(config, key, value)


# ---- latents and indexers ---------------------------------------------------------------------


def mla(config: HfConfig, layer: int) -> Layers:
    """One latent for all heads, with or without a narrow middle for queries."""
    return (Layer("mla", latent_shape(config), which.own_latent(config, layer)),)


def latent_shape(config: HfConfig) -> dict[str, Given]:
    """Ranks of the latents; 0 where queries have none."""
    middle = Given(0, DERIVED, "queries have no latent")
    if config.whole_or("q_lora_rank", 0):
        middle = whole(config, "q_lora_rank")
    return {
        "q_heads": q_heads(config),
        "q_lora_rank": middle,
        "kv_lora_rank": whole(config, "kv_lora_rank"),
        "qk_rope_head_dim": whole(config, "qk_rope_head_dim"),
        "qk_nope_head_dim": whole(config, "qk_nope_head_dim"),
        "v_head_dim": whole(config, "v_head_dim"),
    }


def dsa(config: HfConfig, layer: int) -> Layers:
    """Latent attention to chosen tokens, and the indexer that some layers own."""
    shape = latent_shape(config) | {"index_topk": whole(config, "index_topk")}
    if not which.rotates(config, layer):
        shape["qk_rope_head_dim"] = given(config, "no_rope_layers", 0)
    latent = Layer("mla", shape, which.own_latent(config, layer))
    if not which.owns_indexer(config, layer):
        return (latent,)
    queries = shape["q_lora_rank"]
    if not queries.value:
        queries = whole(config, "hidden_size")
    index = {**index_shape(config), "index_query_size": queries}
    return latent, Layer("index_key", index)


def index_shape(config: HfConfig) -> dict[str, Given]:
    """Heads of an indexer, and the bytes of one of its keys."""
    dim = config.whole("index_head_dim")
    why = "one byte an element and an fp32 scale for each 128 of them"
    return {
        "index_heads": whole(config, "index_n_heads"),
        "index_head_dim": whole(config, "index_head_dim"),
        "key_bytes": Given(dim + -(-dim // 128) * 4, ENGINE, why),
    }


def compressed(config: HfConfig, layer: int) -> Layers:
    """DeepSeek-V4: a window of latents in every layer; compressed ones by ``compress_ratios``."""
    ratio = which.entry(config, "compress_ratios", layer)
    queries, dim = q_heads(config), head_dim(config)
    middle = whole(config, "q_lora_rank")
    window = {"window": whole(config, "sliding_window"), "q_lora_rank": middle}
    near = Layer("sliding_window_mla", {"q_heads": queries, "head_dim": dim} | window)
    if ratio == 0:
        return (near,)
    if isinstance(ratio, bool) or not isinstance(ratio, int) or ratio < _OVERLAPPING:
        config.refuse("compress_ratios", "0, or 4 and more", f"{ratio} for layer {layer}")
    states = given(config, "compress_ratios", ratio)
    far = {"q_heads": queries, "head_dim": dim, "tokens_per_state": states}
    if ratio != _OVERLAPPING:
        return near, Layer("compressed_mla", far), _compressor(config, ratio, 0)
    far["index_topk"] = whole(config, "index_topk")
    small = config.whole("index_head_dim")
    index = index_shape(config) | {"tokens_per_state": states, "index_query_size": middle}
    return (
        near,
        Layer("compressed_mla", far),
        Layer("compressed_index_key", index),
        _compressor(config, ratio, small),
    )


def _compressor(config: HfConfig, ratio: int, index_dim: int) -> Layer:
    """What the compressor keeps: values and gates of the tokens of one state, or of two halves."""
    halves = 2 if ratio == _OVERLAPPING else 1
    elements = 2 * halves * (int(head_dim(config).value or 0) + index_dim)
    why = "values and gates of every compressed channel"
    shape = {
        "elements": Given(elements, DERIVED, why),
        "window": Given(halves * ratio, DERIVED, "the tokens that one state is made of"),
        "state_dtype": Given("fp32", ENGINE, "compressors work in fp32"),
    }
    return Layer("compressor_state", shape)


def blocks(config: HfConfig, layer: int) -> Layers:
    """MiniMax-M3: some layers read chosen blocks of tokens, and keep a key to choose them by."""
    shape = attention_shape(config)
    sparse = config.section("sparse_attention_config")
    if sparse is None or not which.indexes_blocks(config, layer):
        return (Layer("full_attention", shape),)
    read = sparse.whole("sparse_topk_blocks") * sparse.whole("sparse_block_size")
    limit = Given(read, DERIVED, "sparse_topk_blocks * sparse_block_size")
    dim = sparse.whole("sparse_index_dim")
    index = {
        "index_heads": whole(sparse, "sparse_num_index_heads"),
        "index_head_dim": whole(sparse, "sparse_index_dim"),
        "key_bytes": Given(2 * dim, ENGINE, "one key in bf16 for all heads"),
        "index_query_size": whole(config, "hidden_size"),
        "index_weights": Given(False, DERIVED, "heads are not weighted"),
    }
    return Layer("full_attention", shape | {"read_limit": limit}), Layer("index_key", index)


# ---- encoders, and attention across to them ---------------------------------------------------


def encoder(config: HfConfig, layer: int) -> Layers:
    """Attention of every token to every other, without a cache."""
    if config.flag("is_decoder"):
        config.refuse("is_decoder", "an encoder", "a decoder")
    return (Layer("encoder_only", {"q_heads": q_heads(config), "head_dim": head_dim(config)}),)


def t5(config: HfConfig, layer: int) -> Layers:
    """Decoder layers: attention to what was said, and across to the encoder."""
    dim = whole(config, "d_kv")
    shape = {"q_heads": q_heads(config), "kv_heads": kv_heads(config), "head_dim": dim}
    tokens = Given(None, DERIVED, "as long as the prompt: T5 sets no limit")
    if config.get("max_position_embeddings") is not None:
        tokens = whole(config, "max_position_embeddings")
    return Layer("full_attention", shape), Layer("cross_attention", shape | {"tokens": tokens})


def whisper(config: HfConfig, layer: int) -> Layers:
    """Decoder layers: attention to what was said, and across to the sound."""
    shape = {
        "q_heads": q_heads(config),
        "kv_heads": Given(q_heads(config).value, DERIVED, "as many as query heads"),
        "head_dim": head_dim(config),
    }
    tokens = whole(config, "max_source_positions")
    return Layer("full_attention", shape), Layer("cross_attention", shape | {"tokens": tokens})


def mllama(config: HfConfig, layer: int) -> Layers:
    """Llama 3.2 Vision: some layers attend to the picture instead of the text."""
    shape = attention_shape(config)
    if not which.cross_attention(config, layer):
        return (Layer("full_attention", shape),)
    return (Layer("cross_attention", shape | {"tokens": _picture(config)}),)


def _picture(config: HfConfig) -> Given:
    """Tokens of one picture in all its tiles, each with a class token."""
    tower = config.section("vision_config")
    if tower is None:
        return Given(None, DERIVED, "no vision_config tells how many tokens a picture has")
    patches = (tower.whole("image_size") // max(1, tower.whole("patch_size"))) ** 2
    tiles = tower.whole_or("max_num_tiles", 4)
    said = "max_num_tiles" if "max_num_tiles" in tower.readings else "4, default of transformers"
    why = f"one picture: (image_size / patch_size)^2 + 1 tokens in each of its tiles ({said})"
    return Given((patches + 1) * tiles, DERIVED, why)
