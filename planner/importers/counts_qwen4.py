"""What only Qwen4-Exp has: streams mixed through a narrow middle, n-gram tables, its indexer."""

from __future__ import annotations

from itertools import count as numbers
from itertools import islice
from math import isqrt

from planner.importers.counts_parts import Counts, hidden, linear, norm
from planner.importers.hf_config import HfConfig

_MAX_HEADS, _MAX_ROWS = 256, 10**9


def _mixer(config: HfConfig) -> int:
    """Streams to one through a narrow middle, behind a norm over all of them."""
    wide = config.whole("hc_count") * hidden(config)
    return norm(wide) + 2 * linear(wide, config.whole("hc_lowrank"))


def hyper_connections(config: HfConfig, layer: int) -> Counts:
    """Mixing before attention and before the experts, and a weight for each stream behind them."""
    streams = config.whole("hc_count")
    one = _mixer(config) + linear(streams * hidden(config), streams)
    return Counts(other=2 * one, notes=("other: hyper-connections between parallel streams",))


def hyper_head(config: HfConfig) -> Counts:
    """Mixing of the streams into one before the head."""
    return Counts(other=_mixer(config))


def indexer(config: HfConfig, layer: int) -> Counts:
    """Queries and one key from the hidden state, both normed, where there are indexer heads."""
    heads, dim = config.whole_or("indexer_n_heads", 0), config.whole_or("indexer_head_dim", 0)
    if not heads:
        return Counts()
    return Counts(indexer=linear(hidden(config), (heads + 1) * dim) + 2 * norm(dim))


def ngrams(config: HfConfig, layer: int) -> Counts:
    """A table of hashed n-grams in the layers that ``ple_layer_ids`` lists (from 1).

    The table is read by row, as the embedding, and counted with it.
    """
    listed = config.get("ple_layer_ids")
    ids = sorted({one for one in listed if type(one) is int}) if isinstance(listed, list) else []
    if layer + 1 not in ids:
        return Counts()
    heads = (config.whole("ngram_size") - 1) * config.whole("heads_per_ngram")
    size, narrow = hidden(config), config.whole_or("ple_embed_dim", hidden(config))
    if not 0 < heads <= _MAX_HEADS or narrow % heads:
        config.refuse("heads_per_ngram", f"a divisor of the {narrow} channels", f"{heads} heads")
    wide = config.whole("hc_count") * size
    taps = config.whole("ple_conv_kernel_size") * wide
    return Counts(
        embedding=_rows(config, ids.index(layer + 1), heads) * (narrow // heads),
        other=linear(narrow, wide) + linear(narrow, size) + taps,
        norm=3 * norm(wide),
        notes=("embedding: with tables of hashed n-grams, which are read by row",),
    )


def _rows(config: HfConfig, index: int, heads: int) -> int:
    """Rows of the table of the ``index``-th such layer: a prime for each head, then padding."""
    base = config.whole("ngram_vocab_size_base")
    unit = max(1, config.whole_or("make_ngram_vocab_size_divisible_by", 1))
    if not 1 < base <= _MAX_ROWS:
        config.refuse("ngram_vocab_size_base", f"2 to {_MAX_ROWS} rows", f"{base}")
    if (index + 1) * heads > _MAX_HEADS:
        config.refuse("ple_layer_ids", f"at most {_MAX_HEADS} tables", "more")
    primes = (number for number in numbers(base) if _is_prime(number))
    total = sum(islice(primes, index * heads, (index + 1) * heads))
    return -(-total // unit) * unit


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, isqrt(number) + 1))
