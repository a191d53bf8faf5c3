"""Mixers that keep a state of fixed size. All they hold, vectors too, is counted as ``state``."""

from __future__ import annotations

from dataclasses import dataclass

from planner.importers.counts_attention import head_dim
from planner.importers.counts_parts import Counts, Switch, hidden, linear, norm, on
from planner.importers.hf_config import HfConfig


def gated_delta_net(config: HfConfig, layer: int) -> Counts:
    """Gated delta net: projections to q, k, v, output gate and two gates a head; convolution."""
    heads = config.whole("linear_num_value_heads")
    keys = config.whole("linear_num_key_heads") * config.whole("linear_key_head_dim")
    dim, size = config.whole("linear_value_head_dim"), hidden(config)
    values, channels = heads * dim, 2 * keys + heads * dim
    projections = linear(size, channels + values) + linear(size, 2 * heads) + linear(values, size)
    taps = config.whole("linear_conv_kernel_dim") * channels
    return Counts(state=projections + taps + 2 * heads + norm(dim))


@dataclass(frozen=True, slots=True)
class KimiDelta:
    """Kimi delta attention; each of its two gates goes through a narrow middle or does not."""

    wide_decay: bool = False
    wide_gate: Switch = False

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        part = config.section("linear_attn_config") or config
        heads, dim, taps = delta_shape(config)
        size, width = hidden(config), heads * dim
        projections = 3 * linear(size, width) + linear(size, heads) + linear(width, size)
        narrow, wide = linear(size, dim) + linear(dim, width), linear(size, width)
        gates = wide if self.wide_decay else narrow
        gates += wide if on(part, self.wide_gate) else narrow
        return Counts(state=projections + gates + 3 * width * taps + width + heads + norm(dim))


def delta_shape(config: HfConfig) -> tuple[int, int, int]:
    """Heads, size of a head and taps of Kimi delta attention, in any of their spellings."""
    part = config.section("linear_attn_config")
    if part is not None:
        return (
            part.whole("num_heads"), part.whole("head_dim"), part.whole("short_conv_kernel_size")
        )  # fmt: skip
    if config.get("linear_num_heads") is not None:
        taps = config.whole("linear_conv_kernel_dim")
        return config.whole("linear_num_heads"), config.whole("linear_head_dim"), taps
    heads = config.whole("num_attention_heads")
    return heads, config.whole("head_dim"), config.whole("short_conv_kernel_size")


@dataclass(frozen=True, slots=True)
class Mamba2:
    """Mamba 2: one projection to gate, channels and step sizes, a convolution, a gated norm.

    The names are keys of the configuration. ``inner`` may be absent: heads times head size.
    """

    heads: str = "mamba_n_heads"
    dim: str = "mamba_d_head"
    state: str = "mamba_d_state"
    groups: str = "mamba_n_groups"
    taps: str = "mamba_d_conv"
    inner: str = ""
    bias: Switch = "mamba_proj_bias"
    out_bias: Switch = "mamba_proj_bias"
    conv_bias: str = "mamba_conv_bias"
    normed: Switch = True

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        heads, size = config.whole(self.heads), hidden(config)
        inner = heads * config.whole(self.dim)
        inner = (config.whole_or(self.inner, 0) or inner) if self.inner else inner
        channels = inner + 2 * config.whole(self.groups) * config.whole(self.state)
        count = linear(size, inner + channels + heads, on(config, self.bias))
        count += linear(config.whole(self.taps), channels, on_by_default(config, self.conv_bias))
        count += 3 * heads + (norm(inner) if on(config, self.normed) else 0)
        return Counts(state=count + linear(inner, size, on(config, self.out_bias)))


@dataclass(frozen=True, slots=True)
class Mamba1:
    """Mamba 1: every inner channel has a state row; step sizes go through a narrow middle.

    ``inner``: key of the number of channels; else ``expand`` times the hidden size.
    """

    state: str = "mamba_d_state"
    taps: str = "mamba_d_conv"
    rank: str = "mamba_dt_rank"
    expand: str = "mamba_expand"
    inner: str = ""
    bias: Switch = "mamba_proj_bias"
    conv_bias: str = "mamba_conv_bias"
    inner_norms: bool = True

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        size, state = hidden(config), config.whole(self.state)
        written = config.whole_or(self.inner, 0) if self.inner else 0
        inner, rank = written or config.whole(self.expand) * size, self._rank(config, size)
        count = linear(size, 2 * inner, on(config, self.bias))
        count += linear(config.whole(self.taps), inner, on_by_default(config, self.conv_bias))
        count += linear(inner, rank + 2 * state) + linear(rank, inner, bias=True)
        count += inner * state + inner + linear(inner, size, on(config, self.bias))
        return Counts(state=count + (norm(rank) + 2 * norm(state) if self.inner_norms else 0))

    def _rank(self, config: HfConfig, size: int) -> int:
        """Width of the middle; "auto" is a sixteenth of the hidden size."""
        return -(-size // 16) if config.get(self.rank) == "auto" else config.whole(self.rank)


def lightning(config: HfConfig, layer: int) -> Counts:
    """Lightning attention: q, k, v and an output gate of equal width, a norm over all heads."""
    width = config.whole("num_attention_heads") * head_dim(config)
    return Counts(
        state=linear(hidden(config), 4 * width) + linear(width, hidden(config)) + norm(width)
    )


def short_conv(config: HfConfig, layer: int) -> Counts:
    """Gated short convolution: projection to two gates and channels, taps, projection back."""
    size, bias = hidden(config), config.flag("conv_bias")
    taps = linear(config.whole("conv_L_cache"), size, bias)
    return Counts(state=linear(size, 3 * size, bias) + taps + linear(size, size, bias))


def on_by_default(config: HfConfig, key: str) -> bool:
    """A switch that is on unless the configuration says otherwise."""
    return config.get(key) is None or config.flag(key)
