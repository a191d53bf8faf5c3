"""Which layers have a window: every spelling of it, as one list of words.

A configuration class of transformers computes ``layer_types`` where the file has none; these rules
give the same list from the same keys. Each takes a configuration and gives one word per layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"
LINEAR, CONV = "linear_attention", "conv"


class Keys(Protocol):
    """What the rules need of a configuration."""

    def get(self, key: str) -> Any:
        """The value of a key, or None."""

    def whole(self, key: str) -> int:
        """A whole number that must be there."""

    def whole_or(self, key: str, instead: int) -> int:
        """A whole number, or ``instead``."""

    def flag(self, key: str) -> bool:
        """True or false; false where absent."""

    def items(self, key: str, length: int | None = None) -> list[Any]:
        """A list that must be there."""

    def refuse(self, key: str, expected: str, found: str, hint: str = "") -> NoReturn:
        """Refuse the value of a key."""


Pattern = Callable[[Keys], list[str]]


def _each(config: Keys, sliding: Callable[[int], bool]) -> list[str]:
    layers = config.whole("num_hidden_layers")
    return [SLIDING if sliding(layer) else FULL for layer in range(layers)]


def full(config: Keys) -> list[str]:
    """No layer has a window."""
    return _each(config, lambda layer: False)


def everywhere(config: Keys) -> list[str]:
    """Every layer has the window that ``sliding_window`` names; none where it is null.

    ``interleaved_sliding_window`` repeats a list of windows over the layers, null for none.
    """
    windows = config.get("interleaved_sliding_window")
    if isinstance(windows, list) and windows:
        return _each(config, lambda layer: windows[layer % len(windows)] is not None)
    return _each(config, lambda layer: config.get("sliding_window") is not None)


def from_layer(config: Keys) -> list[str]:
    """The layers from ``max_window_layers`` on, if ``use_sliding_window`` is set."""
    used = config.flag("use_sliding_window") and config.get("sliding_window") is not None
    first = config.whole("max_window_layers") if used else 0
    return _each(config, lambda layer: used and layer >= first)


def if_used(config: Keys) -> list[str]:
    """Every layer, if ``use_sliding_window`` is set (Qwen3-MoE)."""
    used = config.flag("use_sliding_window") and config.get("sliding_window") is not None
    return _each(config, lambda layer: used)


def alternating_before(config: Keys) -> list[str]:
    """Every other layer before ``max_window_layers``, if ``use_sliding_window`` is set."""
    used = config.flag("use_sliding_window")
    end = config.whole("max_window_layers") if used else 0
    return _each(config, lambda layer: layer % 2 == 0 and layer < end)


def alternating(config: Keys) -> list[str]:
    """Every other layer, from the first."""
    return _each(config, lambda layer: layer % 2 == 0)


def all_but_every(period: int) -> Pattern:
    """All but every so many, which ``sliding_window_pattern`` may say otherwise."""

    def rule(config: Keys) -> list[str]:
        if config.get("sliding_window") is None:
            return full(config)
        pattern = config.get("sliding_window_pattern")
        if isinstance(pattern, str):
            return _lettered(config, pattern)
        every = config.whole_or("sliding_window_pattern", period)
        return _each(config, lambda layer: every > 0 and (layer + 1) % every != 0)

    return rule


def _lettered(config: Keys, letters: str) -> list[str]:
    """A pattern such as ``LLLG``, repeated: L looks back over the window, G over everything."""
    if not letters or set(letters) - {"L", "G"}:
        config.refuse("sliding_window_pattern", "letters L and G, or a number", f"'{letters}'")
    return _each(config, lambda layer: letters[layer % len(letters)] == "L")


def last_is_full(config: Keys) -> list[str]:
    """All but every sixth layer, and never the last one (Gemma 4)."""
    words = all_but_every(6)(config)
    return [*words[:-1], FULL]


def without_rotation(config: Keys) -> list[str]:
    """The layers without rotary positions, if ``use_sliding_window`` is set (SmolLM3)."""
    if not config.flag("use_sliding_window") or config.get("sliding_window") is None:
        return full(config)
    rotated = _rotated(config)
    return _each(config, lambda layer: not rotated[layer])


def chunked(config: Keys) -> list[str]:
    """Chunks in the layers with rotary positions, everything in the others (Llama 4)."""
    if config.get("attention_chunk_size") is None:
        return full(config)
    return [CHUNKED if rotated else FULL for rotated in _rotated(config)]


def _rotated(config: Keys) -> list[bool]:
    """1 in ``no_rope_layers`` (its name says the reverse), or all but every fourth layer."""
    layers = config.whole("num_hidden_layers")
    if config.get("no_rope_layers"):
        return [bool(one) for one in config.items("no_rope_layers", layers)]
    every = max(1, config.whole_or("no_rope_layer_interval", 4))
    return [(layer + 1) % every != 0 for layer in range(layers)]


def marked(config: Keys) -> list[str]:
    """1 in ``hybrid_layer_pattern`` (MiMo-V2)."""
    marks = config.items("hybrid_layer_pattern", config.whole("num_hidden_layers"))
    return _each(config, lambda layer: bool(marks[layer]))


def linear_but_every(key: str, period: int) -> Pattern:
    """Linear attention in all layers but every so many, which ``key`` says; "" for no such key."""

    def rule(config: Keys) -> list[str]:
        every = max(1, config.whole_or(key, period) if key else period)
        layers = range(config.whole("num_hidden_layers"))
        return [LINEAR if (layer + 1) % every else FULL for layer in layers]

    return rule


def listed(config: Keys) -> list[str]:
    """0 in ``attn_type_list`` is lightning attention, 1 is full attention (MiniMax)."""
    marks = config.items("attn_type_list", config.whole("num_hidden_layers"))
    return [FULL if mark else LINEAR for mark in marks]


def convolutions(config: Keys) -> list[str]:
    """Short convolutions in all layers but those of ``full_attn_idxs`` (LFM2)."""
    chosen = config.items("full_attn_idxs")
    return [FULL if i in chosen else CONV for i in range(config.whole("num_hidden_layers"))]


def by_index(config: Keys) -> list[str]:
    """Attention in the layers of ``attn_layer_indices``, Mamba 2 in the others (Bamba)."""
    chosen = config.items("attn_layer_indices")
    return [FULL if i in chosen else LINEAR for i in range(config.whole("num_hidden_layers"))]


def by_period(config: Keys) -> list[str]:
    """Attention in one layer of ``attn_layer_period``, from ``attn_layer_offset`` (Jamba)."""
    period, offset = config.whole("attn_layer_period"), config.whole("attn_layer_offset")
    layers = range(config.whole("num_hidden_layers"))
    return [FULL if layer % max(1, period) == offset else LINEAR for layer in layers]
