"""Feed-forward blocks: plain, gated, and mixtures of experts with all that stands beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.importers.counts_parts import (
    Counts,
    Switch,
    at_layer,
    feed_forward,
    hidden,
    linear,
    norm,
    on,
)
from planner.importers.hf_config import HfConfig


@dataclass(frozen=True, slots=True)
class Mlp:
    """One feed-forward network. ``inner`` is a key, or a rule for the width of a layer."""

    inner: str | Callable[[HfConfig, int], int] = "intermediate_size"
    gated: bool = True
    bias: Switch = False

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        width = (
            at_layer(config, self.inner, layer)
            if isinstance(self.inner, str)
            else self.inner(config, layer)
        )
        bias = on(config, self.bias)
        return Counts(mlp=feed_forward(hidden(config), width, gated=self.gated, bias=bias))


@dataclass(frozen=True, slots=True)
class Moe:
    """Experts, their router, and shared experts that see every token.

    ``inner``: key of the width of one expert. Shared experts are as wide as the key
    ``shared_inner`` says, or ``shared`` of them as wide as an expert each. ``router_bias``: a
    correction for each expert. ``router_scales``: a scale for each channel and each expert.
    ``latent``: key of the narrow size that routed experts work in, with a matrix down and one up
    (both counted as ``shared``, since every token uses them).
    """

    inner: str = "moe_intermediate_size"
    shared: str = ""
    shared_inner: str = ""
    shared_gate: bool = False
    gated: bool = True
    bias: Switch = False
    router_bias: Switch | Callable[[HfConfig, int], bool] = False
    router_linear_bias: Switch = False
    router_scales: bool = False
    latent: str = ""
    latent_norm: Switch = False

    def __call__(self, config: HfConfig, layer: int) -> Counts:
        """Parameters of one layer."""
        size, experts = hidden(config), config.whole("num_experts")
        width = at_layer(config, self.inner, layer)
        narrow = config.whole_or(self.latent, 0) if self.latent else 0
        one = feed_forward(narrow or size, width, gated=self.gated, bias=on(config, self.bias))
        through = 2 * linear(size, narrow) if narrow else 0
        return Counts(
            experts=experts * one,
            shared=self._shared(config, layer, width) + through,
            router=self._router(config, layer, experts),
            norm=norm(narrow) if narrow and on(config, self.latent_norm) else 0,
        )

    def _shared(self, config: HfConfig, layer: int, width: int) -> int:
        total = 0
        if self.shared_inner:
            total = config.whole_or(self.shared_inner, 0)
        elif self.shared and config.get(self.shared) is not None:
            total = at_layer(config, self.shared, layer) * width
        if not total:
            return 0
        size, bias = hidden(config), on(config, self.bias)
        gate = linear(size, 1) if self.shared_gate else 0
        return feed_forward(size, total, gated=self.gated, bias=bias) + gate

    def _router(self, config: HfConfig, layer: int, experts: int) -> int:
        size, count = hidden(config), linear(hidden(config), experts)
        rule = self.router_bias
        corrected = rule(config, layer) if callable(rule) else on(config, rule)
        count += experts if corrected else 0
        count += experts if on(config, self.router_linear_bias) else 0
        return count + (size + experts if self.router_scales else 0)
