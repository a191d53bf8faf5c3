"""Metrics times inputs: every column of a plan, and variants of it, from one compiled graph.

Shapes: plan values are 0-d, case columns ``(cases,)``, layer-group columns ``(6, cases)``, stage
columns ``(stages, 1, cases)``, layer groups of stages ``(stages, 6, cases)``. Numbers
are float64 in base units with NaN for a failure; flags bool (0, 1, NaN where something failed);
choices are codes into their words; places of layers are texts, None where unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.metric_files import VariantEntry
from planner.metrics import Metric, MetricSet

Array = NDArray[Any]


class Columns:
    """Evaluates metrics on demand over given input columns; each is computed once."""

    def __init__(
        self,
        metrics: MetricSet,
        given: Mapping[str, Array],
        variant_values: Mapping[str, Array] | None = None,
        computed: Mapping[str, Array] | None = None,
    ) -> None:
        """``given``: inputs (or metrics, which are then not computed) by name.

        ``variant_values``: the values of each set of variants, ``(variants,)`` or, for several
        inputs, ``(variants, inputs)``; base units, NaN for the case's own.
        ``computed``: columns that are known already; unlike given ones, variants compute theirs.
        """
        self.metrics = metrics
        self.variant_values = dict(variant_values or {})
        known = {**given, **(computed or {})}
        self._values: dict[str, Array] = {
            n: _given(np.asarray(v), metrics.type_of(n).kind) for n, v in known.items()
        }
        self._failed: dict[str, bool] = {n: _has_failures(v) for n, v in self._values.items()}
        self._given = frozenset(given)
        self._children: dict[str, Columns] = {}

    def __getitem__(self, name: str) -> Array:
        """The column of an input, constant or metric.

        Raises:
            KeyError: an input that was not given.
        """
        if name not in self._values:
            self._compute(name)
        return self._values[name]

    def failed(self, name: str) -> bool:
        """Whether the column holds failures."""
        if name not in self._values:
            self._compute(name)
        return self._failed[name]

    def _compute(self, name: str) -> None:
        metric = self.metrics.metrics.get(name)
        if metric is not None and metric.variant:
            values, failed = self._from_variants(metric)
        elif metric is not None:
            values, failed = metric.arrays.run(self.__getitem__, self.failed)
        elif name in self.metrics.constants:
            values, failed = np.asarray(np.float64(self.metrics.constants[name].value)), False
        else:
            raise KeyError(name)
        self._values[name], self._failed[name] = values, failed

    def _from_variants(self, metric: Metric) -> tuple[Array, bool]:
        """One row a variant: shape ``(variants, cases)``, for the reduction that needs it."""
        child = self.variants(metric.variant)
        values, failed = metric.arrays.run(child.__getitem__, child.failed)
        count = len(self.variant_values[metric.variant])
        cases = max(1, self.cases)
        return np.broadcast_to(values, (count * cases,)).reshape(count, cases), failed

    def variants(self, name: str) -> Columns:
        """The child cases of one set of variants, variant-major.

        The same columns with some inputs replaced; what does not follow from them is the parent's.
        """
        if name not in self._children:
            entry, values = self.metrics.variants[name], self.variant_values[name]
            self._children[name] = _Child(
                self,
                {one: self._replaced(one, rungs) for one, rungs in by_input(entry, values).items()},
                entry.follows,
                len(values),
            )
        return self._children[name]

    def _replaced(self, name: str, rungs: Array) -> Array:
        """One value a child case; the parent's where a rung has none."""
        cases = max(1, self.cases)
        column = np.repeat(rungs, cases)
        own = np.isnan(column)
        if not own.any():
            return column
        return np.where(own, np.tile(np.broadcast_to(self[name], (cases,)), len(rungs)), column)

    @cached_property
    def cases(self) -> int:
        """Number of cases, from the given case columns."""
        for name, values in self._values.items():
            if values.ndim > 1:
                return int(values.shape[-1])
            if values.ndim == 1 and name in self.metrics.fields:
                return len(values)
        return max((v.shape[0] for v in self._values.values() if v.ndim), default=1)


class _Child(Columns):
    """Columns in which some inputs are replaced; the rest repeats the parent's.

    ``follows``: inputs that take the value of a metric, computed here.
    """

    def __init__(
        self,
        parent: Columns,
        replaced: Mapping[str, Array],
        follows: Mapping[str, str],
        times: int,
    ) -> None:
        super().__init__(parent.metrics, replaced, parent.variant_values)
        self._parent, self._follows, self._times = parent, follows, times
        self._moved = (*replaced, *follows)

    def _compute(self, name: str) -> None:
        if name in self._follows:
            metric = self._follows[name]
            self._values[name], self._failed[name] = self[metric], self.failed(metric)
            return
        follows = any(self.metrics.depends(name, on) for on in self._moved)
        if follows and name not in self._parent._given:
            super()._compute(name)
            return
        column = self._parent[name]
        if column.ndim == 1:
            column = np.tile(column, self._times)
        elif column.ndim:
            column = np.tile(column, (1,) * (column.ndim - 1) + (self._times,))
        self._values[name], self._failed[name] = column, self._parent.failed(name)


def by_input(entry: VariantEntry, values: Array) -> dict[str, Array]:
    """The rungs of each replaced input, ``(variants,)``; NaN keeps the case's own value.

    ``values``: ``(variants,)``, which all inputs take, or ``(variants, inputs)``.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 1:
        return dict.fromkeys(entry.replaces, values)
    return {name: values[:, index] for index, name in enumerate(entry.replaces)}


def _given(values: Array, kind: str) -> Array:
    """A given flag as true and false where it is known: ``and`` and ``or`` take no floats.

    Places of layers are objects, since a text has no code; what is no text is unknown.
    """
    if kind == "places":
        held = values.astype(object)
        if all(v is None or isinstance(v, str) for v in set(held.ravel().tolist())):
            return held
        return np.asarray(np.frompyfunc(lambda v: v if isinstance(v, str) else None, 1, 1)(held))
    return values if kind != "flag" or _has_failures(values) else values != 0


def _has_failures(values: Array) -> bool:
    if values.dtype.kind == "O":
        return None in values.ravel().tolist()
    # A minimum keeps NaN, and takes one pass without a temporary array.
    return values.dtype.kind == "f" and bool(values.size) and bool(np.isnan(values.min()))


def evaluate(
    metrics: MetricSet,
    given: Mapping[str, Array],
    variant_values: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """Every metric of the set as whole columns; ``given``: every field, as for ``Columns``.

    Whole columns beat blocks that fit the cache: the results have to be kept, and writing them to
    fresh memory is what costs (``benchmarks/evaluate.py``).
    """
    columns = Columns(metrics, given, variant_values)
    return {m.name: columns[m.name] for m in metrics.metrics.values() if not m.variant}
