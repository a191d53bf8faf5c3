"""Attention blocks: grouped queries with all their variants, latent attention, indexers.

A block is called with a configuration and the index of a layer, and gives what that layer holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from planner.importers.counts_parts import Counts, Switch, attention, hidden, linear, norm, on
from planner.importers.hf_config import HfConfig

Stored = Literal["kv", "k", "none"]


@dataclass(frozen=True, slots=True)
class Heads:
    """Shape of one layer: heads, sizes of a key and of a value, and which of the two are stored.

    ``stored``: "k" where values are the keys, "none" where an earlier layer's are used.
    """

    queries: int
    kv: int
    key_dim: int
    value_dim: int
    stored: Stored = "kv"

    @property
    def keys(self) -> int:
        """Outputs of the key projection."""
        return 0 if self.stored == "none" else self.kv * self.key_dim

    @property
    def values(self) -> int:
        """Outputs of the value projection."""
        return self.kv * self.value_dim if self.stored == "kv" else 0


HeadsOf = Callable[[HfConfig, int], Heads]
Rule = Callable[[HfConfig, int], bool]


def head_dim(config: HfConfig) -> int:
    """Size of a head: as written, or the hidden size shared out among the query heads."""
    heads = config.whole("num_attention_heads")
    return config.whole_or("head_dim", 0) or hidden(config) // max(1, heads)


def plain_heads(config: HfConfig, layer: int) -> Heads:
    """The same heads in every layer."""
    queries, size = config.whole("num_attention_heads"), head_dim(config)
    return Heads(queries, config.whole_or("num_key_value_heads", 0) or queries, size, size)


@dataclass(frozen=True, slots=True)
class Gqa:
    """Attention with query heads in groups that share keys and values.

    ``qk_norm``: "head" has a scale for each channel of one head, "all" for each channel of all.
    ``gated``: a second projection as wide as the queries, whose output gates the result.
    ``head_gates``: a gate for each head. ``sinks``: a learned logit for each head.
    """

    heads: HeadsOf = plain_heads
    bias: Switch = False
    out_bias: Switch = False
    qk_norm: Literal["no", "head", "all"] = "no"
    qk_norm_if: Switch = True
    gated: bool = False
    head_gates: bool = False
    sinks: Rule | None = None

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        heads, size = self.heads(config, layer), hidden(config)
        mixed = heads.queries * heads.value_dim
        queries = heads.queries * heads.key_dim * (2 if self.gated else 1)
        matrices = attention(
            size, queries, heads.keys, heads.values, mixed,
            bias=on(config, self.bias), out_bias=on(config, self.out_bias),
        )  # fmt: skip
        gates = linear(size, heads.queries) if self.head_gates else 0
        sinks = heads.queries if self.sinks and self.sinks(config, layer) else 0
        return Counts(attention=matrices + gates + sinks, norm=self._norms(config, heads))

    def _norms(self, config: HfConfig, heads: Heads) -> int:
        if self.qk_norm == "no" or not on(config, self.qk_norm_if):
            return 0
        if self.qk_norm == "all":
            return norm(heads.queries * heads.key_dim) + norm(heads.keys)
        return norm(heads.key_dim) * (2 if heads.keys else 1)


@dataclass(frozen=True, slots=True)
class LowRankQueries:
    """One key and value head and queries through a narrow middle (Step-3)."""

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        size, middle = hidden(config), config.whole("share_q_dim")
        dim, queries = head_dim(config), config.whole("num_attention_heads")
        shared = config.whole_or("num_attention_groups", 1) * dim
        return Counts(
            attention=attention(size, middle, shared, shared, queries * dim)
            + linear(middle, queries * dim),
            norm=norm(middle),
        )


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention, with a narrow middle for queries where ``q_lora_rank`` is given.

    ``gate``: "full" gates every value channel, "head" every head. ``rotates``: layers without
    rotation have no shared rotated key. ``owns``: the others read the latent of an earlier layer.
    ``scaled``: a learned slope and offset for each head.
    """

    bias: Switch = "attention_bias"
    gate: Literal["no", "full", "head"] = "no"
    gate_if: Switch = True
    rotates: Rule | None = None
    owns: Rule | None = None
    scaled: bool = False

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        size, heads = hidden(config), config.whole("num_attention_heads")
        rank, value = config.whole("kv_lora_rank"), config.whole("v_head_dim")
        key = config.whole("qk_nope_head_dim") + config.whole("qk_rope_head_dim")
        plain = key - self._rotated(config, layer)
        middle, own = config.whole_or("q_lora_rank", 0), self._owns(config, layer)
        count = linear(middle or size, heads * key) + linear(rank, heads * (plain + value))
        count += linear(heads * value, size, on(config, self.bias))
        count += self._down(config, layer) + (2 * heads if self.scaled else 0)
        if self.gate != "no" and on(config, self.gate_if):
            count += linear(size, heads * (value if self.gate == "full" else 1))
        return Counts(attention=count, norm=norm(middle) + (norm(rank) if own else 0))

    def _rotated(self, config: HfConfig, layer: int) -> int:
        rotates = self.rotates is None or self.rotates(config, layer)
        return config.whole("qk_rope_head_dim") if rotates else 0

    def _owns(self, config: HfConfig, layer: int) -> bool:
        return self.owns is None or self.owns(config, layer)

    def _down(self, config: HfConfig, layer: int) -> int:
        """Matrices down to the latents, with their biases."""
        size, bias = hidden(config), on(config, self.bias)
        narrow = config.whole("kv_lora_rank") + self._rotated(config, layer)
        middle = config.whole_or("q_lora_rank", 0)
        down = linear(size, narrow, bias) if self._owns(config, layer) else 0
        return down + (linear(size, middle, bias) if middle else 0)


@dataclass(frozen=True, slots=True)
class Indexer:
    """Chooses the tokens that latent attention reads; ``owns`` says in which layers one stands.

    ``from_hidden``: its queries come from normed hidden states, not from the query latent, and
    each of its heads has a learned slope and offset. ``pooled``: key of the number of tokens that
    share a key, with a gate for each channel and an offset for each place in a pool.
    """

    owns: Rule
    from_hidden: bool = False
    pooled: str = ""

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        return self.always(config, layer) if self.owns(config, layer) else Counts()

    def always(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of a layer that owns an indexer."""
        size, heads = hidden(config), config.whole("index_n_heads")
        dim = config.whole("index_head_dim")
        source = size if self.from_hidden else config.whole("q_lora_rank")
        count = linear(source, heads * dim) + linear(size, dim) + linear(size, heads)
        count += norm(dim, bias=True)
        if self.pooled:
            count += linear(size, dim) + config.whole(self.pooled) * dim
        return Counts(
            indexer=count + (norm(size, bias=True) + 2 * heads if self.from_hidden else 0)
        )


@dataclass(frozen=True, slots=True)
class BlockIndexer:
    """Scores blocks of keys with a few heads of its own and one shared key (MiniMax-M3)."""

    owns: Rule

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        if not self.owns(config, layer):
            return Counts()
        sparse = config.section("sparse_attention_config") or config
        dim, heads = sparse.whole("sparse_index_dim"), sparse.whole("sparse_num_index_heads")
        return Counts(indexer=linear(hidden(config), heads * dim + dim) + 2 * norm(dim))


@dataclass(frozen=True, slots=True)
class Compressed:
    """DeepSeek-V4: latent queries, one key that is also the value, grouped output, compressors.

    What compresses and selects is counted as ``indexer``. Ratio 4 has an indexer and keeps two
    overlapping halves, any larger ratio keeps one; ratio 0 has neither.
    """

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        size, heads, dim = hidden(config), config.whole("num_attention_heads"), head_dim(config)
        middle, groups = config.whole("q_lora_rank"), config.whole("o_groups")
        narrow = groups * config.whole("o_lora_rank")
        matrices = linear(size, middle) + linear(middle, heads * dim) + linear(size, dim)
        matrices += linear(heads * dim // max(1, groups), narrow) + linear(narrow, size)
        ratio = _ratio(config, layer)
        index = self._compressor(config, dim, ratio)
        if ratio == OVERLAPPING:
            small, scorers = config.whole("index_head_dim"), config.whole("index_n_heads")
            index += self._compressor(config, small, ratio)
            index += linear(middle, scorers * small) + linear(size, scorers)
        return Counts(attention=matrices + heads, norm=norm(middle) + norm(dim), indexer=index)

    @staticmethod
    def _compressor(config: HfConfig, dim: int, ratio: int) -> int:
        if not ratio:
            return 0
        width = dim * (2 if ratio == OVERLAPPING else 1)
        return 2 * linear(hidden(config), width) + ratio * width + norm(dim)


OVERLAPPING = 4


def _ratio(config: HfConfig, layer: int) -> int:
    ratios = config.items("compress_ratios")
    if (
        layer >= len(ratios)
        or isinstance(ratios[layer], bool)
        or not isinstance(ratios[layer], int)
    ):
        config.refuse("compress_ratios", f"a whole number for layer {layer}", "another list")
    return int(ratios[layer])
