"""Exact numbers of parameters by component, computed from the shape that a configuration gives."""

from __future__ import annotations

from planner.errors import nearest, one_of
from planner.importers.counts_families import STACKS, TOWERS, WHOLE
from planner.importers.counts_parts import Counts
from planner.importers.counts_stacks import Beside
from planner.importers.hf_config import HfConfig

__all__ = ["Counts", "count", "draft_layers", "feed_forward"]

MAX_PARAMS = 10**16


def count(config: HfConfig) -> Counts:
    """Parameters of the model that a configuration describes.

    Raises:
        InputError: a type of model that no row covers, a figure that its blocks need is absent, or
            figures that no model has.
    """
    counts = _counted(config)
    if counts.total + (counts.mtp or 0) >= MAX_PARAMS:
        config.refuse("hidden_size", f"a model of less than {MAX_PARAMS:.0e} parameters", "more")
    return counts


def feed_forward(config: HfConfig) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Numbers of the layers with routed experts and of those with a dense feed-forward network.

    None for a model that is counted as a whole. Raises as :func:`count`.
    """
    kind = _type(config)
    if kind not in STACKS:
        return None
    layers = STACKS[kind].layers(config)
    experts = tuple(index for index, one in enumerate(layers) if one.experts)
    return experts, tuple(index for index, one in enumerate(layers) if one.mlp)


def draft_layers(config: HfConfig) -> dict[str, int]:
    """Layers of the MTP modules that keep a cache, by kind; none where there is no module."""
    stack = STACKS.get(_type(config))
    if stack is None or not isinstance(stack.mtp, Beside):
        return {}
    number = stack.modules(config)
    return dict.fromkeys(stack.mtp.keeps, number) if number else {}


def _counted(config: HfConfig) -> Counts:
    kind = _type(config)
    if kind in WHOLE:
        return WHOLE[kind](config)
    if kind not in STACKS:
        known = [*STACKS, *WHOLE]
        config.refuse("model_type", one_of(known, 20), f"'{kind}'", nearest(kind, known))
    return STACKS[kind].count(config) + _tower(config)


def _type(config: HfConfig) -> str:
    """Type of the text tower; of the family, where a configuration names none."""
    types = config.family.model_types
    return config.model_type or (types[0] if types else "")


def _tower(config: HfConfig) -> Counts:
    """The tower beside the text, by the type of the whole model."""
    outer = config.file.data.get("model_type") or _type(config)
    if outer in TOWERS:
        return TOWERS[outer](config)
    named = [name for name in ("vision_config", "audio_config") if config.section(name)]
    if not named and outer in config.family.wrappers:
        named = ["vision_config"]
    return Counts(uncounted=tuple(f"the tower of {name}" for name in named))
