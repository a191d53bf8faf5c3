"""What an import reads of rotated parts of a key and of visual features for several layers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.importers.hf_config import parse_config
from planner.importers.hf_layers import layer_groups
from planner.importers.hf_rotary import deepstack_levels, rotary_width

PLAIN: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 512, "vocab_size": 1000,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128,
    "intermediate_size": 1024, "max_position_embeddings": 4096,
}  # fmt: skip


def width(**keys: Any) -> int | bool | str | None:
    config = parse_config(json.dumps({**PLAIN, **keys}))
    found = rotary_width(config, layer_groups(config))
    return None if found is None else found.value


@pytest.mark.parametrize(
    ("keys", "elements"),
    [
        ({}, None),
        ({"rotary_dim": 64}, 64),
        ({"partial_rotary_factor": 0.25}, 32),
        ({"partial_rotary_factor": 1.0}, None),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, 64),
        ({"rope_scaling": {"mrope_section": [24, 20, 20]}}, 4 * 128),
        ({"rope_parameters": {"mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25}}, 256),
        # What is no such figure is left alone.
        ({"rotary_dim": "64"}, None),
        ({"partial_rotary_factor": -3.0}, None),
        ({"rope_scaling": {"mrope_section": "all"}}, None),
        ({"rope_scaling": [1, 2]}, None),
    ],
)
def test_width_of_the_tables(keys: dict[str, Any], elements: int | None) -> None:
    assert width(**keys) == elements


@pytest.mark.parametrize(
    ("tower", "levels"),
    [({"deepstack_visual_indexes": [8, 16, 24]}, 3), ({"deepstack_visual_indexes": []}, None),
     ({"deepstack_visual_indexes": 3}, None), ({"depth": 27}, None), (None, None)],
)  # fmt: skip
def test_levels_of_visual_features(tower: dict[str, Any] | None, levels: int | None) -> None:
    found = deepstack_levels(parse_config(json.dumps({**PLAIN, "vision_config": tower})))
    assert (None if found is None else found.value) == levels
