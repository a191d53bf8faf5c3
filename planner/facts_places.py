"""Where the layers of a model stand, as texts that formulas count (see ``places``)."""

from __future__ import annotations

from dataclasses import dataclass

from planner.figures import Count, Figure
from planner.places import marks
from planner.records import LayerGroup, Model
from planner.records_places import pattern


@dataclass(frozen=True, slots=True)
class Placed:
    """The text of some layers (None where they are unknown), how they follow, and from what."""

    text: str | None
    used: tuple[Figure, ...]
    how: str
    key: str = ""


def placed_group(model: Model, group: LayerGroup) -> Placed:
    """The layers of one group."""
    depth = model.layers.value
    taken = group.taken(int(depth)) if depth is not None else None
    repeats = [one for one in (group.first, group.period, group.run) if one is not None]
    if group.places is not None:
        return _placed(model, taken, (group.places,), group.places.note, "places")
    if repeats:
        return _placed(model, taken, tuple(repeats), "from first on, run of every period", "first")
    used = (group.layers, model.layers)
    return _placed(model, taken, used if taken else (), "the group takes every layer of the model")


def placed_experts(model: Model) -> Placed:
    """The layers with routed or shared experts; none of a model without any."""
    if model.params.experts is None and model.params.shared is not None:
        how = "no routed experts: the shared ones stand in every layer"
        depth = int(model.layers.value or 0)
        return _placed(model, tuple(range(depth)), (model.layers,), how)
    if model.params.experts is None:
        return _placed(model, (), (model.params.total,), "a model without experts")
    if model.moe_places is not None:
        places = model.moe_places
        return _placed(model, places.layers, (places,), places.note, "moe_places")
    if model.moe_first is None or model.moe_period is None or model.layers.value is None:
        return Placed(None, (), "")
    figures = (model.moe_first, model.moe_period)
    one = Count(value=1)
    taken = pattern(*figures, one, int(model.layers.value))
    return _placed(model, taken, figures, "every moe_period layers from moe_first on", "moe_first")


def placed_dense(model: Model) -> Placed:
    """The layers with dense feed-forward weights."""
    depth = model.layers.value
    if model.dense_places is not None:
        places = model.dense_places
        return _placed(model, places.layers, (places,), places.note, "dense_places")
    if model.params.mlp is None:
        return _placed(model, (), (model.params.total,), "a model without dense feed-forward")
    experts = placed_experts(model)
    if experts.text is None or depth is None:
        return Placed(None, experts.used, "")
    rest = tuple(layer for layer in range(int(depth)) if experts.text[layer] == ".")
    how = "the layers without experts" if rest else "every layer, beside the experts"
    return _placed(model, rest or tuple(range(int(depth))), (model.layers, *experts.used), how)


def _placed(
    model: Model,
    taken: tuple[int, ...] | None,
    used: tuple[Figure, ...],
    how: str,
    key: str = "",
) -> Placed:
    depth = model.layers.value
    if taken is None or depth is None:
        return Placed(None, used, "", key)
    return Placed(marks(taken, int(depth)), used, how, key)
