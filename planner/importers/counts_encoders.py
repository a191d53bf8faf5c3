"""Models that are no decoder stacks: BERT and its kin, T5, Whisper."""

from __future__ import annotations

from planner.importers.counts_parts import (
    Counts,
    attention,
    feed_forward,
    hidden,
    layers,
    linear,
    norm,
)
from planner.importers.hf_config import HfConfig


def bert(config: HfConfig) -> Counts:
    """Encoder with learned places and a pooler (``other``); every projection has a bias."""
    size = hidden(config)
    rows = config.whole("vocab_size") + config.whole("max_position_embeddings")
    rows += config.whole_or("type_vocab_size", 2)
    layer = Counts(
        attention=attention(size, size, size, size, size, bias=True, out_bias=True),
        mlp=feed_forward(size, config.whole("intermediate_size"), gated=False, bias=True),
        norm=2 * norm(size, True),
    )
    once = Counts(
        embedding=rows * size, norm=norm(size, True), other=linear(size, size, True),
        notes=("other: the pooler; embedding: tokens, places and token types",),
    )  # fmt: skip
    return once + layer * layers(config)


def t5(config: HfConfig) -> Counts:
    """Encoder and decoder with a table of relative places in each stack."""
    size, heads = hidden(config), config.whole("num_attention_heads")
    inside = heads * config.whole("d_kv")
    one = attention(size, inside, inside, inside, inside)
    gated = str(config.get("feed_forward_proj") or "relu").startswith("gated")
    inner = feed_forward(size, config.whole("d_ff"), gated=gated)
    encoder = Counts(attention=one, mlp=inner, norm=2 * norm(size))
    decoder = Counts(attention=2 * one, mlp=inner, norm=3 * norm(size))
    table = config.whole("vocab_size") * size
    places = 2 * config.whole_or("relative_attention_num_buckets", 32) * heads
    head = 0 if config.get("tie_word_embeddings") is not False else table
    once = Counts(embedding=table, lm_head=head, attention=places, norm=2 * norm(size))
    below = layers(config)
    return once + encoder * below + decoder * config.whole_or("num_decoder_layers", below)


def whisper(config: HfConfig) -> Counts:
    """Encoder over spectra and decoder over text; keys have no bias, the head is the embedding."""
    size = config.whole("d_model")
    one = attention(size, size, size, size, size, bias=True, out_bias=True) - size
    encoder = Counts(
        attention=one, mlp=_two_layers(config, "encoder_ffn_dim"), norm=2 * norm(size, True)
    )
    decoder = Counts(
        attention=2 * one, mlp=_two_layers(config, "decoder_ffn_dim"), norm=3 * norm(size, True)
    )
    taps = 3
    convolutions = linear(taps * config.whole("num_mel_bins"), size, True)
    convolutions += linear(taps * size, size, True)
    places = config.whole("max_source_positions") + config.whole("max_target_positions")
    once = Counts(
        embedding=config.whole("vocab_size") * size, norm=2 * norm(size, True),
        other=convolutions + places * size,
        notes=("other: convolutions over the spectrum, and tables of places",),
    )  # fmt: skip
    return (
        once + encoder * config.whole("encoder_layers") + decoder * config.whole("decoder_layers")
    )


def _two_layers(config: HfConfig, inner: str) -> int:
    return feed_forward(config.whole("d_model"), config.whole(inner), gated=False, bias=True)
