"""Tables of rotations and buffers of visual features, as far as a configuration tells of them."""

from __future__ import annotations

from planner.importers.hf_config import HfConfig
from planner.importers.hf_layers import Group
from planner.importers.hf_shapes import DERIVED, Given, given

_SPANS = 4  # positions of images and videos: vLLM's table has four times the context


def rotary_width(config: HfConfig, groups: tuple[Group, ...]) -> Given | None:
    """Elements of the tables for each position, where that is not one table of the whole key."""
    rules = [r for n in ("rope_parameters", "rope_scaling") if isinstance(r := config.get(n), dict)]
    heads = [int(g.shape["head_dim"].value or 0) for g in groups if "head_dim" in g.shape]
    for rule in rules:
        parts = rule.get("mrope_section")
        if isinstance(parts, list) and parts and all(type(one) is int for one in parts):
            return Given(_SPANS * 2 * sum(parts), DERIVED, "mrope_section: 4 x 2 x its sum")
    if type(dim := config.get("rotary_dim")) is int and dim > 0:
        return given(config, "rotary_dim", dim)
    shares = [config.get("partial_rotary_factor"), *(r.get("partial_rotary_factor") for r in rules)]
    share = next((s for s in shares if isinstance(s, float) and 0 < s < 1), None)
    if share is None or not heads:
        return None
    return Given(int(max(heads) * share), DERIVED, f"partial_rotary_factor: {share} of a key")


def deepstack_levels(config: HfConfig) -> Given | None:
    """Layers of the decoder that take visual features of their own."""
    tower = config.section("vision_config")
    levels = tower.get("deepstack_visual_indexes") if tower is not None else None
    if tower is None or not isinstance(levels, list) or not levels:
        return None
    return given(tower, "deepstack_visual_indexes", len(levels))
