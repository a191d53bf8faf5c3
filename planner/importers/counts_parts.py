"""Parameter counts by component, and the arithmetic that every building block is made of.

All figures are numbers of parameters: elements of weight tensors, in whatever dtype they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from planner.importers.hf_config import HfConfig

# True or false, or the key of the configuration that says which.
Switch = bool | str


@dataclass(frozen=True, slots=True)
class Counts:
    """Parameters of a model by component.

    ``norm`` holds vectors beside matrices: norms, and what is folded into them. Vectors inside a
    state mixer, an indexer, a router or a tower stay there; so do biases of projections. ``other``
    is named in a note. ``mtp`` is a module beside the model and no part of ``total``; None where
    the configuration names modules whose shape is not known here. ``uncounted`` names other parts
    of that sort; they are in no figure.
    """

    COMPONENTS: ClassVar[tuple[str, ...]] = (
        "embedding", "lm_head", "attention", "mlp", "shared", "experts", "router", "norm", "state",
        "vision", "indexer", "other",
    )  # fmt: skip

    embedding: int = 0
    lm_head: int = 0
    attention: int = 0
    mlp: int = 0
    shared: int = 0
    experts: int = 0
    router: int = 0
    norm: int = 0
    state: int = 0
    vision: int = 0
    indexer: int = 0
    other: int = 0
    mtp: int | None = 0
    uncounted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """All parameters of the model, without the modules beside it."""
        return sum(self.parts().values())

    def parts(self) -> dict[str, int]:
        """Component names and their parameters, in a fixed order; zeros included."""
        return {name: getattr(self, name) for name in self.COMPONENTS}

    def __add__(self, other: Counts) -> Counts:
        known = self.mtp is not None and other.mtp is not None
        added = {name: getattr(self, name) + getattr(other, name) for name in self.COMPONENTS}
        return Counts(
            **added,
            mtp=(self.mtp or 0) + (other.mtp or 0) if known else None,
            uncounted=tuple(dict.fromkeys([*self.uncounted, *other.uncounted])),
            notes=tuple(dict.fromkeys([*self.notes, *other.notes])),
        )

    def __mul__(self, times: int) -> Counts:
        scaled = {name: value * times for name, value in self.parts().items()}
        beside = None if self.mtp is None else self.mtp * times
        return Counts(**scaled, mtp=beside, uncounted=self.uncounted, notes=self.notes)

    def without_head(self) -> Counts:
        """The same model without an output head, as embedding checkpoints are published."""
        return replace(self, lm_head=0)


# What one layer holds, and what a model holds once.
LayerBlock = Callable[[HfConfig, int], Counts]
ModelBlock = Callable[[HfConfig], Counts]


def total_of(parts: Iterable[Counts]) -> Counts:
    """The sum of counts; zero of none."""
    result = Counts()
    for part in parts:
        result = result + part
    return result


def on(config: HfConfig, switch: Switch) -> bool:
    """Whether a switch is on; an absent key is off."""
    return config.flag(switch) if isinstance(switch, str) else switch


def at_layer(config: HfConfig, key: str, layer: int) -> int:
    """A figure that is written once for all layers, or in a list with one for each.

    Raises:
        InputError: neither of the two, or a list that is too short.
    """
    value = config.require(key)
    if not isinstance(value, list):
        return config.whole(key)
    if layer >= len(value) or isinstance(value[layer], bool) or not isinstance(value[layer], int):
        config.refuse(key, f"a whole number for layer {layer}", "another list")
    return int(value[layer])


def linear(inputs: int, outputs: int, bias: bool = False) -> int:
    """A matrix, with a bias for each output."""
    return inputs * outputs + (outputs if bias else 0)


def attention(
    hidden: int, queries: int, keys: int, values: int, mixed: int, *, bias: bool = False,
    out_bias: bool = False,
) -> int:  # fmt: skip
    """Projections to queries, keys and values, and of ``mixed`` values back to the hidden size."""
    return linear(hidden, queries + keys + values, bias) + linear(mixed, hidden, out_bias)


def feed_forward(
    hidden: int, inner: int, *, gated: bool = True, bias: bool = False, out_bias: bool | None = None
) -> int:
    """Up and down projection, and a gate beside the first; ``out_bias`` follows ``bias``."""
    ways = 2 if gated else 1
    down = linear(inner, hidden, bias if out_bias is None else out_bias)
    return ways * linear(hidden, inner, bias) + down


def norm(size: int, bias: bool = False) -> int:
    """A scale for each channel, and a shift where there is one."""
    return 2 * size if bias else size


def hidden(config: HfConfig) -> int:
    """The hidden size."""
    return config.whole("hidden_size")


def layers(config: HfConfig) -> int:
    """Number of decoder layers."""
    return config.whole("num_hidden_layers")
