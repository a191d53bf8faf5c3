"""From a configuration to layer groups: equal layers together, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from planner.errors import InputError
from planner.importers import counts_layers, hf_mixers, hf_states
from planner.importers.hf_config import HfConfig
from planner.importers.hf_mixers import Layers
from planner.importers.hf_shapes import Layer, Shape

Rule = Callable[[HfConfig, int], Layers]
MAX_GROUPS = 6

RULES: Mapping[str, Rule] = {
    "attention": hf_mixers.attention,
    "gemma4": hf_mixers.gemma4,
    "mimo_v2": hf_mixers.mimo_v2,
    "step3": hf_mixers.step3,
    "step3p7": hf_mixers.step3p7,
    "searched": hf_mixers.searched,
    "openelm": hf_mixers.openelm,
    "falcon": hf_mixers.falcon,
    "mla": hf_mixers.mla,
    "dsa": hf_mixers.dsa,
    "compressed": hf_mixers.compressed,
    "blocks": hf_mixers.blocks,
    "encoder": hf_mixers.encoder,
    "t5": hf_mixers.t5,
    "whisper": hf_mixers.whisper,
    "mllama": hf_mixers.mllama,
    "gdn": hf_states.gdn,
    "qsa": hf_states.qsa,
    "kda": hf_states.kda,
    "kda_dsa": hf_states.kda_dsa,
    "mamba1": hf_states.mamba1,
    "mamba1_only": hf_states.mamba1_only,
    "mamba2": hf_states.mamba2,
    "nemotron_h": hf_states.nemotron_h,
    "parallel": hf_states.parallel,
    "lightning": hf_states.lightning,
    "short_conv": hf_states.short_conv,
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the layers of a group stand: from ``first`` on, ``run`` of every ``period`` layers."""

    first: int
    period: int
    run: int


@dataclass(frozen=True, slots=True)
class Group:
    """Equal layers: how many, how many of them read another layer's cache, where they stand.

    ``indices``: their numbers from 0; ``place``: the same as a pattern, where they follow one.
    """

    kind: str
    layers: int
    shared: int
    shape: Shape
    place: Place | None
    notes: tuple[str, ...] = ()
    indices: tuple[int, ...] = ()


def depth(config: HfConfig) -> int:
    """Number of layers of the decoder (of the encoder, where there is nothing else).

    Raises:
        InputError: the configuration names none.
    """
    if config.family.name == "t5":
        return config.whole_or("num_decoder_layers", config.whole("num_hidden_layers"))
    if config.family.name == "nemotron_h":
        return counts_layers.pattern_length(config)
    return config.whole("num_hidden_layers")


# Kinds that keep a state of fixed size instead of a cache that grows.
STATES = frozenset({"gdn", "kda", "mamba1", "mamba2", "lightning", "short_conv"})


def layers_at(config: HfConfig, index: int) -> Layers:
    """What one layer of the model keeps."""
    return RULES[config.family.layers](config, index)


def layer_groups(config: HfConfig) -> tuple[Group, ...]:
    """The layer groups of a model, in the order in which they first appear.

    Raises:
        InputError: a figure that the family needs is absent, or more kinds of layers than fit.
    """
    layers = depth(config)
    found: dict[tuple[object, ...], list[tuple[int, Layer]]] = {}
    for index in range(layers):
        for layer in layers_at(config, index):
            key = (layer.kind, *((name, one.value) for name, one in layer.shape.items()))
            found.setdefault(key, []).append((index, layer))
    if len(found) > MAX_GROUPS or not found:
        expected = f"1 to {MAX_GROUPS} sorts of layers that keep something"
        raise InputError(config.file.problem((), expected, f"{len(found)} of them"))
    return tuple(_group(members, layers) for members in found.values())


def _group(members: Sequence[tuple[int, Layer]], layers: int) -> Group:
    first = members[0][1]
    shared = sum(not layer.owns for _, layer in members)
    indices = tuple(index for index, _ in members)
    place = place_of(indices, layers)
    return Group(first.kind, len(members), shared, first.shape, place, first.notes, indices)


def place_of(indices: Sequence[int], layers: int) -> Place | None:
    """The place of layers by their indices, ascending; None where they follow no pattern."""
    first = indices[0]
    run = next((i for i, index in enumerate(indices) if index != first + i), len(indices))
    if run < len(indices):
        period = indices[run] - first
    elif first + run == layers:
        run, period = 1, 1
    else:
        period = layers - first
    expected = [i for i in range(first, layers) if (i - first) % period < run]
    return Place(first, period, run) if expected == list(indices) else None
