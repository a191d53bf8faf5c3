"""Where layers stand: how layer groups and models say it, and what cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import StrictStr, model_validator

from planner import layer_kinds
from planner.figures import Count, Part, refusal
from planner.places import Places, repeated, written
from planner.yamlfile import Key


class GroupPlaces(Part):
    """Equal layers, and where they are: ``run`` of every ``period`` from ``first``, or a list."""

    kind: StrictStr
    layers: Count
    shared_layers: Count | None = None
    mtp_layers: Count | None = None
    first: Count | None = None
    period: Count | None = None
    run: Count | None = None
    places: Places | None = None

    def taken(self, depth: int) -> tuple[int, ...] | None:
        """Numbers of the layers in a model of ``depth`` layers, from 0; None where unknown."""
        if self.places is not None:
            return self.places.layers
        if self.first is not None:
            return pattern(self.first, self.period, self.run, depth)
        return tuple(range(depth)) if self.layers.value == depth else None

    @model_validator(mode="after")
    def _once(self) -> GroupPlaces:
        given = [name for name in ("first", "period", "run") if getattr(self, name) is not None]
        if given and len(given) < 3:
            raise refusal("first, period and run together", f"only {given[0]}")
        if given and self.places is not None:
            raise refusal("places, or first, period and run", "both", "", ("places",))
        shared = self.shared_layers.value if self.shared_layers is not None else None
        layers = self.layers.value
        if shared is not None and layers is not None and shared > layers:
            raise refusal(
                f"at most the {layers:.0f} layers of the group", f"{shared:.0f}", "",
                ("shared_layers",),
            )  # fmt: skip
        return self


def pattern(
    first: Count | None, period: Count | None, run: Count | None, depth: int
) -> tuple[int, ...] | None:
    """The layers of a repeating pattern in a model of so many; None where a figure is unknown."""
    a, b, c = (one.value if one is not None else None for one in (first, period, run))
    if a is None or b is None or c is None:
        return None
    return repeated(int(a), int(b), int(c), depth)


def check_places(
    depth: int, groups: Sequence[GroupPlaces], lists: Mapping[str, Places | None]
) -> None:
    """Places lie inside the model, are as many as layers, and no layer has two mixers.

    A group of every layer may have others beside it, and so may caches that belong to another kind.

    Raises:
        PydanticCustomError: the first that does not.
    """
    for name, places in lists.items():
        _inside(places.layers if places is not None else None, depth, (name,))
    owner: dict[int, int] = {}
    for index, group in enumerate(groups):
        key = ("layer_groups", index)
        taken, count = group.taken(depth), group.layers.value
        listed = group.places is not None
        _inside(taken if listed else None, depth, (*key, "places"))
        if taken is None or count is None:
            continue
        if len(taken) != count:
            at = (*key, "places" if listed else "layers")
            found = f"{len(taken)} by their places" if listed else f"{count:.0f}"
            wanted = f"{count:.0f} layers" if listed else f"{len(taken)} layers, as they repeat"
            raise refusal(wanted, found, "", at)
        if len(taken) == depth or group.kind in layer_kinds.BESIDE:
            continue
        both = [layer for layer in taken if layer in owner]
        if both:
            other = f"layer_groups[{owner[both[0]]}] has"
            raise refusal("layers of no other group", f"{written(both)}, which {other}", "", key)
        owner |= dict.fromkeys(taken, index)


def _inside(layers: Sequence[int] | None, depth: int, key: Key) -> None:
    if layers and layers[-1] >= depth:
        raise refusal(f"layers 0 to {depth - 1} of the model", f"layer {layers[-1]}", "", key)
