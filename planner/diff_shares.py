"""Shares of a difference among its drivers: Owen, Shapley and sequential, exact for any figure.

A set of drivers is a bit mask: bit ``i`` says that driver ``i`` has its new value. The figure is
known for every mask that is asked for, with floors, minima and verdicts inside, so the shares add
up to the whole difference without a remainder.

Sources: Shapley 1953, A value for n-person games; Owen 1977, Values of games with a priori unions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import factorial

import numpy as np

from planner.engine import Array

EXACT_UP_TO = 12
"""Drivers up to which every mixture is evaluated: 4,096 of them."""

Groups = Sequence[Sequence[int]]
"""Drivers by group; every driver stands in exactly one."""


def all_masks(count: int) -> Array:
    """Every mask of ``count`` drivers."""
    return np.arange(2**count)


def grouped_masks(groups: Groups) -> Array:
    """The masks that Owen values need: some whole groups, and any members of one more."""
    whole = [sum(1 << i for i in group) for group in groups]
    found: set[int] = set()
    for place, group in enumerate(groups):
        others = [mask for i, mask in enumerate(whole) if i != place]
        inner = [sum(1 << i for i in some) for some in _subsets(group)]
        found |= {sum(outer) + some for outer in _subsets(others) for some in inner}
    return np.asarray(sorted(found or {0}))


def prefix_masks(order: Sequence[int]) -> list[int]:
    """The masks that appear when the drivers change one after the other."""
    masks = [0]
    for driver in order:
        masks.append(masks[-1] | 1 << driver)
    return masks


def _subsets(items: Sequence[int]) -> list[tuple[int, ...]]:
    return [some for size in range(len(items) + 1) for some in combinations(items, size)]


@dataclass(frozen=True)
class Game:
    """A figure over mixtures: ``masks`` sorted, ``values`` of shape ``(masks, cases)``."""

    groups: tuple[tuple[int, ...], ...]
    masks: Array
    values: Array

    @cached_property
    def count(self) -> int:
        """Number of drivers."""
        return sum(len(group) for group in self.groups)

    @cached_property
    def exact(self) -> bool:
        """Whether every mixture is known."""
        return bool(len(self.masks) == 2**self.count)

    def at(self, masks: Array | Sequence[int]) -> Array:
        """The figure at each mask, ``(len(masks), cases)``.

        Raises:
            KeyError: a mask that was not evaluated.
        """
        wanted = np.asarray(masks)
        places = np.minimum(np.searchsorted(self.masks, wanted), len(self.masks) - 1)
        if not np.array_equal(self.masks[places], wanted):
            raise KeyError("a mixture that was not evaluated")
        return np.asarray(self.values[places])

    def total(self) -> Array:
        """New less old, ``(cases,)``."""
        first, last = self.at([0, 2**self.count - 1])
        return np.asarray(last - first)

    def owen(self) -> Array:
        """Owen values, ``(drivers, cases)``: only orders count that keep a group together."""
        shares = np.zeros((self.count, self.values.shape[1]))
        for driver, steps in owen_steps(self.groups).items():
            shares[driver] = self._weighted(driver, list(steps), list(steps.values()))
        return shares

    def shapley(self) -> Array:
        """Shapley values, ``(drivers, cases)``: every order counts the same."""
        return Game(tuple((i,) for i in range(self.count)), self.masks, self.values).owen()

    def sequential(self, order: Sequence[int]) -> Array:
        """Shares when the drivers change one after the other, ``(drivers, cases)``."""
        steps = np.diff(self.at(prefix_masks(order)), axis=0)
        shares = np.zeros_like(steps)
        shares[list(order)] = steps
        return shares

    def alone(self) -> Array:
        """What each driver does by itself from the old plan, ``(drivers, cases)``."""
        return self.at([1 << i for i in range(self.count)]) - self.at([0])

    def ranges(self) -> tuple[Array, Array]:
        """Least and most that each driver adds over the orders, ``(drivers, cases)`` each.

        Over all orders where every mixture is known, else over those that keep groups together.
        """
        lows, highs = [], []
        known = set(self.masks.tolist())
        for driver in range(self.count):
            bit = 1 << driver
            without = [m for m in known if not m & bit and m | bit in known]
            steps = self.at([m | bit for m in without]) - self.at(without)
            lows.append(steps.min(axis=0))
            highs.append(steps.max(axis=0))
        shape = (self.count, self.values.shape[1])
        return np.reshape(lows, shape), np.reshape(highs, shape)

    def _weighted(self, driver: int, masks: list[int], weights: list[float]) -> Array:
        steps = self.at([m | 1 << driver for m in masks]) - self.at(masks)
        return np.asarray(np.asarray(weights) @ steps)


def owen_steps(groups: Groups) -> dict[int, dict[int, float]]:
    """For each driver the mixtures that it joins, with the share of the orders in which it does."""
    whole = [sum(1 << i for i in group) for group in groups]
    found: dict[int, dict[int, float]] = {}
    for place, group in enumerate(groups):
        others = [mask for i, mask in enumerate(whole) if i != place]
        for driver in group:
            rest = [i for i in group if i != driver]
            found[driver] = {
                sum(outer) + sum(1 << i for i in inner): _weight(len(outer), len(others))
                * _weight(len(inner), len(rest))
                for outer in _subsets(others)
                for inner in _subsets(rest)
            }
    return found


def weights_of(groups: Groups, method: str, order: Sequence[int]) -> Array:
    """Shares as a linear form, ``(drivers, 2^drivers)``: its product with the figures of all masks.

    ``method`` is one of ``METHODS``; ``order`` is for ``sequential``.
    """
    count = sum(len(group) for group in groups)
    weights = np.zeros((count, 2**count))
    if method == "sequential":
        steps = {d: {before: 1.0} for d, before in zip(order, prefix_masks(order), strict=False)}
    else:
        alone = tuple((i,) for i in range(count))
        steps = owen_steps(groups if method == "owen" else alone)
    for driver, joined in steps.items():
        for mask, share in joined.items():
            weights[driver, mask | 1 << driver] += share
            weights[driver, mask] -= share
    return weights


def _weight(before: int, others: int) -> float:
    """The share of all orders in which exactly these ``before`` of ``others`` come earlier."""
    return factorial(before) * factorial(others - before) / factorial(others + 1)


METHODS = ("owen", "shapley", "sequential")


def shares_of(game: Game, method: str, order: Sequence[int]) -> Array:
    """Shares by one of ``METHODS``, ``(drivers, cases)``; ``order`` is for ``sequential``."""
    if method == "sequential":
        return game.sequential(order)
    return game.owen() if method == "owen" else game.shapley()
