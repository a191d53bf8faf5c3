"""What only Gemma 3n and Gemma 4 have: shared keys and values, inputs for each layer."""

from __future__ import annotations

from planner.importers.counts_attention import Heads, Stored, head_dim, plain_heads
from planner.importers.counts_layers import shares_kv, sliding
from planner.importers.counts_parts import Counts, at_layer, hidden, layers, linear, norm
from planner.importers.hf_config import HfConfig


def gemma3n_heads(config: HfConfig, layer: int) -> Heads:
    """The same heads everywhere; the last layers use keys and values of earlier ones."""
    heads = plain_heads(config, layer)
    stored: Stored = "none" if shares_kv(config, layer) else "kv"
    return Heads(heads.queries, heads.kv, heads.key_dim, heads.value_dim, stored)


def gemma4_heads(config: HfConfig, layer: int) -> Heads:
    """Full layers have wider heads, fewer of them for keys, and may use keys as values."""
    queries, few = config.whole("num_attention_heads"), config.whole("num_key_value_heads")
    if sliding(config, layer):
        dim, same = head_dim(config), False
    else:
        dim, same = config.whole_or("global_head_dim", 512), config.flag("attention_k_eq_v")
        few = config.whole_or("num_global_key_value_heads", 0) or few
    alone: Stored = "k" if same else "kv"
    return Heads(queries, few, dim, dim, "none" if shares_kv(config, layer) else alone)


def gemma4_width(config: HfConfig, layer: int) -> int:
    """Width of the feed-forward network: doubled in layers without keys of their own, if asked."""
    twice = config.flag("use_double_wide_mlp") and shares_kv(config, layer)
    return at_layer(config, "intermediate_size", layer) * (2 if twice else 1)


def per_layer_tables(config: HfConfig) -> Counts:
    """A second embedding with a row of inputs for each layer, and a projection beside it."""
    narrow = config.whole_or("hidden_size_per_layer_input", 0)
    wide = layers(config) * narrow
    if not wide:
        return Counts()
    rows = config.whole_or("vocab_size_per_layer_input", 0) or config.whole("vocab_size")
    return Counts(
        other=linear(rows, wide) + linear(hidden(config), wide), norm=norm(narrow),
        notes=("other: inputs for each layer, a second embedding that is read by row",),
    )  # fmt: skip


def per_layer_gate(config: HfConfig, layer: int) -> Counts:
    """A gate down to the layer's own input and a projection back."""
    narrow = config.whole_or("hidden_size_per_layer_input", 0)
    return Counts(other=2 * linear(hidden(config), narrow)) if narrow else Counts()


def per_layer_norm(config: HfConfig, layer: int) -> Counts:
    """The norm after the layer's own input."""
    narrow = config.whole_or("hidden_size_per_layer_input", 0)
    return Counts(norm=norm(hidden(config))) if narrow else Counts()


def alternating_updates(config: HfConfig, layer: int) -> Counts:
    """Gemma 3n: mixing of parallel streams, a low-rank detour, and three norms, as ``other``."""
    size, streams = hidden(config), config.whole_or("altup_num_inputs", 4)
    mixing = linear(streams, streams) + linear(streams, streams**2) + linear(size, streams) + size
    detour = 2 * linear(size, config.whole_or("laurel_rank", 64))
    note = "other: mixing of parallel streams and low-rank detours, with their norms"
    return Counts(other=mixing + detour + 3 * norm(size), notes=(note,))


def stream_projections(config: HfConfig) -> Counts:
    """Gemma 3n: a matrix into and one out of every stream but the first."""
    streams = config.whole_or("altup_num_inputs", 4)
    return Counts(other=2 * max(0, streams - 1) * linear(hidden(config), hidden(config)))


def unused_projections(config: HfConfig) -> Counts:
    """What checkpoints hold and no layer uses: a note, and no parameters."""
    note = "keys and values that a checkpoint stores for layers without a cache do not count"
    return Counts(notes=(note,) if config.whole_or("num_kv_shared_layers", 0) else ())


def scalar(config: HfConfig, layer: int) -> Counts:
    """Gemma 4: one number that scales the output of the layer."""
    return Counts(other=1, notes=("other: one scale for each layer",))
