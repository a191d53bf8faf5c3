"""A figure over every mixture of two plans, from one compiled graph in one vectorised pass.

A mixture takes the new value of some drivers and the old value of the others. Rows are mixtures
times cases, mixture-major. No number comes from a stand-in: where a mixture gives none, or gives
the constant that means "no bound", the value is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from planner.diff_drivers import Driver
from planner.engine import Array, Columns
from planner.facts import Fact
from planner.inputs import DROPS, Case, Inputs
from planner.metrics import MetricSet

NO_BOUND = "no_threshold"
"""The constant that stands for "no bound" inside formulas."""

ROWS = 200_000
"""Rows of one pass; more are cut by cases, so that memory stays flat."""

Pairs = Sequence[tuple[int, int]]


class Mixtures:
    """Evaluates metrics over mixtures of the paired cases of two plans of one metric set."""

    def __init__(
        self, metrics: MetricSet, old: Inputs, new: Inputs, pairs: Pairs, drivers: Sequence[Driver]
    ) -> None:
        self.metrics, self.pairs, self.drivers = metrics, tuple(pairs), tuple(drivers)
        self.inputs = (old, new)
        self.stages = max(old.stages, new.stages)
        self.columns = tuple(one.columns(metrics) for one in self.inputs)
        self.ladders = {n: np.asarray(v) for n, v in new.ladders.items()}
        self.driver_of = {name: i for i, d in enumerate(drivers) for name in d.fields}

    def of_cases(self, names: Sequence[str], masks: Array) -> dict[str, Array]:
        """Metrics by name, ``(masks, pairs)`` each."""
        step = max(1, ROWS // max(1, len(masks)))
        blocks = [
            self._block(names, masks, self.pairs[at : at + step])
            for at in range(0, len(self.pairs), step)
        ]
        return {n: np.concatenate([block[n] for block in blocks], axis=1) for n in names}

    def evaluated(self, names: Sequence[str], masks: Array, pairs: Pairs | None = None) -> Columns:
        """What the metrics rest on and are, over masks times pairs, mask-major."""
        given = self._given(names, masks, self.pairs if pairs is None else pairs)
        return Columns(self.metrics, given, self.ladders)

    def _block(self, names: Sequence[str], masks: Array, pairs: Pairs) -> dict[str, Array]:
        columns = self.evaluated(names, masks, pairs)
        shape = (len(masks), len(pairs))
        size = shape[0] * shape[1]
        return {
            n: self._known(n, np.broadcast_to(columns[n], (size,)).reshape(shape)) for n in names
        }

    def of_plan(self, names: Sequence[str], masks: Array) -> dict[str, Array]:
        """Figures of the whole plan over the paired cases, ``(masks, 1)`` each."""
        found: dict[str, list[float]] = {n: [] for n in names}
        for mask in masks:
            columns = self.evaluated(names, np.asarray([mask]))
            for name in names:
                value = np.asarray(columns[name], dtype=float).reshape(-1)
                found[name].append(float(self._known(name, value)[0]))
        return {n: np.asarray(values)[:, None] for n, values in found.items()}

    def _known(self, name: str, values: Array) -> Array:
        """The values with every stand-in taken out."""
        values = np.asarray(values, dtype=float)
        bound = self.metrics.constants.get(NO_BOUND)
        if bound is None or not self.metrics.depends(name, NO_BOUND):
            return values
        return np.where(np.abs(values) >= bound.value, np.nan, values)

    def _given(self, names: Sequence[str], masks: Array, pairs: Pairs) -> dict[str, Array]:
        reached = frozenset[str]().union(*(self.metrics.reach[n] for n in names)) | {"batch"}
        for variant in self.metrics.variants.values():
            reached |= set(variant.moved)
            for follower in variant.follows.values():
                reached |= self.metrics.reach.get(follower, frozenset())
        rows = np.asarray(pairs).reshape(-1, 2)
        return {
            name: self._mixed(name, masks, rows) for name in self.metrics.fields if name in reached
        }

    def _mixed(self, name: str, masks: Array, rows: Array) -> Array:
        """One input over all mixtures of some pairs."""
        entity = self.metrics.fields[name].entity
        times, count = len(masks), len(rows)
        if entity == "stage":
            shape = (self.stages, 1, times * count)
            return np.broadcast_to(np.arange(self.stages, dtype=float)[:, None, None], shape)
        old, new = self.columns[0][name], self.columns[1][name]
        driver = self.driver_of.get(name)
        if driver is None:
            column = old if old.ndim == 0 else old[..., rows[:, 0]]
            return column if old.ndim == 0 else _tiled(column, times)
        bits = (masks >> driver & 1).astype(bool)
        if old.ndim == 0:
            return np.repeat(np.where(bits, new, old), count)
        one, other = old[..., None, rows[:, 0]], new[..., None, rows[:, 1]]
        mixed = np.where(bits[:, None], other, one)
        return mixed.reshape(*mixed.shape[:-2], times * count)

    # ---- what the catalog forbids --------------------------------------------------------------

    def infeasible(self, masks: Array) -> Array:
        """Whether a mixture makes no sense as a case of a scenario, ``(masks, pairs)``."""
        found = np.zeros((len(masks), len(self.pairs)), dtype=bool)
        for place, (i, j) in enumerate(self.pairs):
            known: dict[tuple[bool, ...], bool] = {}
            for row, mask in enumerate(masks.tolist()):
                bits = tuple(bool(mask >> d & 1) for d in self._deciding)
                if bits not in known:
                    known[bits] = self._dropped(i, j, mask)
                found[row, place] = known[bits]
        return found

    @cached_property
    def _deciding(self) -> tuple[int, ...]:
        """Drivers that the rules for dropped combinations look at."""
        words = {"model", "compute", "layout", "max_domain", "context",
                 "cached_tokens", "prompt_tokens", "output_tokens"}  # fmt: skip
        return tuple(i for i, d in enumerate(self.drivers) if d.id in words)

    def _dropped(self, i: int, j: int, mask: int) -> bool:
        old, new = self.inputs[0].cases[i], self.inputs[1].cases[j]

        def is_new(name: str) -> bool:
            driver = self.driver_of.get(name)
            return driver is not None and bool(mask >> driver & 1)

        inputs = {n: (new if is_new(n) else old).inputs[n] for n in old.inputs}
        model = int(is_new("layers"))
        facts: dict[tuple[str, str], Mapping[str, Fact]] = {
            ("model", "mixed"): self.inputs[model].facts["model", (old, new)[model].model],
            ("gpu", "mixed"): {
                n: self.inputs[1].facts["gpu", new.gpu][n] if is_new(n) else fact
                for n, fact in self.inputs[0].facts["gpu", old.gpu].items()
            },
        }
        case: Case = replace(old, model="mixed", gpu="mixed", inputs=inputs)
        groups = {"mixed": self.inputs[model].groups[(old, new)[model].model]}
        return any(test(case, facts, groups) for test in DROPS.values())


def is_pooled(metrics: MetricSet, name: str) -> bool:
    """Whether a figure of the whole plan, reduced over its cases, takes part in the metric."""
    return not metrics.reach[name].isdisjoint(metrics.pooling)


def _tiled(column: Array, times: int) -> Array:
    return np.tile(column, (1,) * (column.ndim - 1) + (times,))
