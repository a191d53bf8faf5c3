"""What a decoder stack consists of, and the sum over its layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from planner.importers.counts_parts import (
    Counts,
    LayerBlock,
    ModelBlock,
    Switch,
    hidden,
    layers,
    linear,
    norm,
    on,
    total_of,
)
from planner.importers.hf_config import HfConfig

MAX_LAYERS = 10_000


@dataclass(frozen=True, slots=True)
class Beside:
    """A module that predicts further tokens: one layer, a matrix that joins two streams, norms.

    ``layer``: its blocks. ``norms``: vectors of the hidden size, those of its layer included.
    ``published``: modules in the checkpoints of the family where the configuration names none.
    ``keeps``: kinds of layers that keep a cache in each module.
    """

    layer: tuple[LayerBlock, ...]
    norms: int = 5
    published: int = 0
    keeps: tuple[str, ...] = ("full_attention",)


@dataclass(frozen=True, slots=True)
class Stack:
    """A decoder stack.

    ``layer``: blocks of a layer. ``norms``: vectors of the hidden size in each and one behind all,
    with a shift beside each where ``shifts`` is on, none where ``weighted`` is off. ``tied``: the
    key that says whether the head is the embedding; "" where it always is. ``head_bias``: whether
    the head has a bias. ``further_rows``: rows of the
    embedding beyond the vocabulary. ``once``: what stands once. ``mtp``: the module beside;
    "unknown" where its shape is not known here, "unpublished" where checkpoints hold none of those
    that the configuration names. ``depth``: number of layers.
    """

    layer: tuple[LayerBlock, ...]
    norms: int = 2
    shifts: bool = False
    weighted: bool = True
    tied: str = "tie_word_embeddings"
    head_bias: Switch = False
    further_rows: int = 0
    once: tuple[ModelBlock, ...] = ()
    mtp: Beside | Literal["unknown", "unpublished"] = "unknown"
    depth: Callable[[HfConfig], int] = layers

    def count(self, config: HfConfig) -> Counts:
        """Parameters of the stack and of the modules beside it, by component.

        Raises:
            InputError: a figure that a block needs is absent, or is none.
        """
        size, depth = hidden(config), self.depth(config)
        if depth > MAX_LAYERS:
            config.refuse("num_hidden_layers", f"at most {MAX_LAYERS}", str(depth))
        vector = Counts(norm=norm(size, self.shifts) if self.weighted else 0)
        total = self._ends(config) + vector + total_of(part(config) for part in self.once)
        total = total + total_of(self.layers(config)) + vector * self.norms * depth
        return total + self._beside(config)

    def layers(self, config: HfConfig) -> list[Counts]:
        """Parameters of each layer by component, norms of the hidden size left out."""
        return [
            total_of(block(config, layer) for block in self.layer)
            for layer in range(self.depth(config))
        ]

    def _ends(self, config: HfConfig) -> Counts:
        """Embedding and head."""
        size, words = hidden(config), config.whole("vocab_size")
        head = linear(size, words, on(config, self.head_bias))
        return Counts(
            embedding=(words + self.further_rows) * size,
            lm_head=0 if self.is_tied(config) else head,
        )

    def is_tied(self, config: HfConfig) -> bool:
        """Whether the output head is the embedding table."""
        return not self.tied or config.flag(self.tied)

    def modules(self, config: HfConfig) -> int:
        """Modules beside the model that its checkpoints hold and whose shape is known here."""
        if not isinstance(self.mtp, Beside):
            return 0
        named = config.get("num_mtp") is not None
        return config.whole_or("num_mtp", 0) if named else self.mtp.published

    def _beside(self, config: HfConfig) -> Counts:
        module = self.mtp
        if isinstance(module, Beside):
            number = self.modules(config)
            notes = ("the checkpoints hold an MTP module that the configuration does not name",)
            return Counts(
                mtp=number * self._module(config, module) if number else 0,
                notes=notes if number and config.get("num_mtp") is None else (),
            )
        number = config.whole_or("num_mtp", 0)
        if not number:
            return Counts()
        if module == "unpublished":
            return Counts(notes=(f"{number} MTP modules are named, the checkpoints hold none",))
        return Counts(mtp=None, notes=(f"{number} MTP modules, whose shape is not known here",))

    def _module(self, config: HfConfig, module: Beside) -> int:
        size, after = hidden(config), self.depth(config)
        layer = total_of(block(config, after) for block in module.layer)
        return layer.total + linear(2 * size, size) + module.norms * norm(size)


def vectors(number: int) -> LayerBlock:
    """Further vectors of the hidden size in a layer."""
    return lambda config, layer: Counts(norm=number * norm(hidden(config)))


def together(*blocks: LayerBlock) -> LayerBlock:
    """Several blocks as one."""
    return lambda config, layer: total_of(block(config, layer) for block in blocks)
