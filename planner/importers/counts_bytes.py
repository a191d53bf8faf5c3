"""Bytes of weights by component, with the scales that decode them, for any mix of widths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Protocol

from planner.errors import nearest, one_of
from planner.importers.counts_parts import Counts


@dataclass(frozen=True, slots=True)
class Width:
    """Bytes of one stored weight, and of its share of a scale. Exact, as fractions."""

    weight: Fraction
    scales: Fraction = Fraction(0)

    @property
    def both(self) -> Fraction:
        """Bytes of a weight with its share of a scale."""
        return self.weight + self.scales


def blocked(bits: int, block: int, scale_bytes: int) -> Width:
    """Weights of so many bits with one scale for each block of them."""
    return Width(Fraction(bits, 8), Fraction(scale_bytes, block))


# One scale for a tensor or a channel is too small to count: its share is 0.
WIDTHS: Mapping[str, Width] = {
    "fp32": Width(Fraction(4)),
    "bf16": Width(Fraction(2)),
    "fp16": Width(Fraction(2)),
    "fp8": Width(Fraction(1)),
    "fp8-block": blocked(8, 128 * 128, 4),
    "int8": Width(Fraction(1)),
    "mxfp8": blocked(8, 32, 1),
    "mxfp4": blocked(4, 32, 1),
    "nvfp4": blocked(4, 16, 1),
    "int4-channel": Width(Fraction(1, 2)),
}
_GROUPED = re.compile(r"int4-g([1-9]\d{0,3})")


def width(word: str) -> Width:
    """The width that a word names, such as ``fp8-block`` or ``int4-g128``.

    Raises:
        ValueError: no width has this name.
    """
    grouped = _GROUPED.fullmatch(word)
    if grouped:
        return blocked(4, int(grouped[1]), 2)
    if word not in WIDTHS:
        known = [*WIDTHS, "int4-g128"]
        raise ValueError(
            f"expected {one_of(known, 20)}, found '{word}' {nearest(word, known)}".rstrip()
        )
    return WIDTHS[word]


class Stores(Protocol):
    """What a quantisation says: the width of each component that it may narrow."""

    @property
    def stored(self) -> Mapping[str, str]:
        """Words of widths by component; those left out stay wide."""


@dataclass(frozen=True, slots=True)
class StoredPart:
    """One component as it is stored: its width, and bytes of weights and of scales, rounded up."""

    params: int
    word: str
    weights: int
    scales: int

    @property
    def bytes(self) -> int:
        """All bytes of the component."""
        return self.weights + self.scales


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """All components of a model as they are stored. Modules beside the model are not among them."""

    parts: Mapping[str, StoredPart]

    @property
    def total(self) -> int:
        """All bytes of the model."""
        return sum(part.bytes for part in self.parts.values())

    @property
    def scales(self) -> int:
        """Bytes of all scales."""
        return sum(part.scales for part in self.parts.values())


def bytes_of(counts: Counts, quantisation: Stores, wide: str = "bf16") -> StoredBytes:
    """Bytes of every component that a model has.

    Args:
        counts: parameters by component.
        quantisation: the width of what is quantised.
        wide: the width of everything else: embedding, norms, routers, towers and what else it does
            not name.

    Raises:
        ValueError: no width has the name that was given.
    """
    parts = {}
    for name, params in counts.parts().items():
        if params:
            word = quantisation.stored.get(name, wide)
            one = width(word)
            weights, scales = ceil(params * one.weight), ceil(params * one.scales)
            parts[name] = StoredPart(params, word, weights, scales)
    return StoredBytes(parts)
