"""Decoders of 2019 to 2023 and what they alone have: learned positions, few KV heads, sub-norms."""

from __future__ import annotations

from planner.importers.counts_attention import Heads, head_dim
from planner.importers.counts_parts import Counts, ModelBlock, hidden, norm
from planner.importers.hf_config import HfConfig

# ---- learned positions ------------------------------------------------------------------------


def positions(offset: int) -> ModelBlock:
    """A learned row for each place and ``offset`` rows before the first, counted as embedding."""

    def block(config: HfConfig) -> Counts:
        rows = config.whole("max_position_embeddings") + offset
        return Counts(embedding=rows * hidden(config))

    return block


def opt_positions(config: HfConfig) -> Counts:
    """OPT: places are counted from the third row on.

    Raises:
        InputError: embeddings of another size than the layers, or norms behind the blocks
            (OPT-350M alone), which other matrices and vectors go with.
    """
    size, narrow = hidden(config), config.get("word_embed_proj_dim")
    if narrow is not None and narrow != size:
        config.refuse("word_embed_proj_dim", f"the hidden size {size}", f"{narrow}")
    if config.get("do_layer_norm_before") is not None and not config.flag("do_layer_norm_before"):
        config.refuse("do_layer_norm_before", "true", "false")
    return positions(2)(config)


def gpt2_width(config: HfConfig, layer: int) -> int:
    """GPT-2 and BLOOM: four times the hidden size unless it says otherwise."""
    return config.whole_or("n_inner", 4 * hidden(config))


def embedding_norm(config: HfConfig) -> Counts:
    """BLOOM: a norm between the embedding and the first layer."""
    return Counts(norm=norm(hidden(config), bias=True))


# ---- Falcon -----------------------------------------------------------------------------------


def falcon_kv_heads(config: HfConfig) -> int:
    """As written in the newer architecture; else one, or as many as query heads."""
    queries = config.whole("num_attention_heads")
    if config.flag("new_decoder_architecture"):
        return config.whole_or("num_kv_heads", queries)
    return 1 if config.flag("multi_query") else queries


def falcon_heads(config: HfConfig, layer: int) -> Heads:
    """The same heads in every layer."""
    size = head_dim(config)
    return Heads(config.whole("num_attention_heads"), falcon_kv_heads(config), size, size)


def falcon_width(config: HfConfig, layer: int) -> int:
    """Four times the hidden size unless it says otherwise."""
    return config.whole_or("ffn_hidden_size", 4 * hidden(config))


def falcon_norms(config: HfConfig, layer: int) -> Counts:
    """One norm before both blocks where they run side by side on one input, two otherwise."""
    newer = config.flag("new_decoder_architecture")
    shared = config.flag("parallel_attn") and not newer
    number = config.whole_or("num_ln_in_parallel_attn", 2) if newer else 1 if shared else 2
    return Counts(norm=number * norm(hidden(config), bias=True))


# ---- BitNet -----------------------------------------------------------------------------------


def sub_norms(config: HfConfig, layer: int) -> Counts:
    """Norms inside the two blocks: before the output projection, and before the down projection."""
    return Counts(norm=norm(hidden(config)) + norm(config.whole("intermediate_size")))
