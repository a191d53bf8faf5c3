"""Both plans and their mixtures as columns of rows, for a workbook that computes them anew.

A workbook writes the formulas; the values beside them are these, from the same compiled graph.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from planner.diff_drivers import Driver
from planner.diff_shares import all_masks
from planner.diff_values import Mixtures
from planner.diff_why import Sides
from planner.engine import Array, Columns
from planner.expr.check import PLAN
from planner.metrics import Metric, MetricSet
from planner.planning import Value, plain


def computable(metrics: MetricSet, names: Collection[str], pooled: bool) -> frozenset[str]:
    """Those of ``names`` that rows of a case can compute.

    What rests on variants needs rows of its own, and so does what a case takes from the whole plan.
    ``pooled``: the rows are all cases of the plan, so that its own figures can be computed, too.
    """
    pools = metrics.pooling
    resting = {
        n for n, m in metrics.metrics.items()
        if m.variant or (not metrics.reach[n].isdisjoint(pools) and m.type.grain != PLAN)
    }  # fmt: skip
    if not pooled:
        resting |= pools
    return frozenset(n for n in names if metrics.reach[n].isdisjoint(resting))


class Rows:
    """Rows of the paired cases of two plans: a block for each set of bits that is new.

    Args:
        sides: both plans, restated.
        metrics: their formulas, cut as cells need them.
        positions: the pairs.
        bits: the inputs that each bit makes new.
        names: the figures asked for.
        masks: the blocks; every mixture of the bits where none are given.
    """

    def __init__(
        self, sides: Sides, metrics: MetricSet, positions: Sequence[int],
        bits: Sequence[Collection[str]], names: Collection[str],
        masks: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self.metrics, self.positions, self.names = metrics, tuple(positions), tuple(names)
        self.bits = tuple(tuple(fields) for fields in bits)
        self.masks = all_masks(len(self.bits)) if masks is None else np.asarray(masks)
        drivers = [Driver(str(i), "", "", fields) for i, fields in enumerate(self.bits)]
        pairs = [sides.pairs[p] for p in positions]
        self._mixtures = Mixtures(
            metrics, sides.old_now.inputs, sides.new_now.inputs, pairs, drivers
        )
        self._passes = self._columns()

    def _columns(self) -> list[Columns]:
        """One pass for a single pair; one a mask where figures run over the pairs."""
        single = len(self.positions) == 1 and not any(map(self.pools, self.names))
        passes = [self.masks] if single else [self.masks[[k]] for k in range(len(self.masks))]
        return [self._mixtures.evaluated(self.names, masks) for masks in passes]

    def pools(self, name: str) -> bool:
        """Whether a figure runs over all pairs, or follows from one that does."""
        return not self.metrics.reach[name].isdisjoint(self.metrics.pooling)

    @property
    def stages(self) -> int:
        """Pipeline stages that the rows have room for."""
        return self._mixtures.stages

    def reached(self, moved: bool) -> list[Metric]:
        """The figures and all they rest on, as declared; ``moved``: only what follows a bit."""
        reach = frozenset[str]().union(*(self.metrics.reach[n] for n in self.names))
        fields = {name for some in self.bits for name in some}
        return [
            m for m in self.metrics.in_order()
            if m.name in reach
            and not (moved and self.metrics.reach[m.name].isdisjoint(fields))
        ]  # fmt: skip

    def fields(self) -> list[str]:
        """The inputs that the figures rest on."""
        reach = frozenset[str]().union(*(self.metrics.reach[n] for n in self.names))
        return [name for name in self.metrics.fields if name in reach]

    def value(self, name: str, position: int, block: int) -> Value:
        """One figure of a case, or of the plan, in one block."""
        values = self.values(name)[..., block]
        return plain(values, self.metrics.type_of(name), self.positions.index(position))

    def values(self, name: str) -> Array:
        """An input or metric, ``(..., pairs, masks)``."""
        count, blocks = len(self.positions), len(self.masks)
        found = [columns[name] for columns in self._passes]
        if len(found) == 1:
            flat = _wide(found[0], blocks * count)
            return np.asarray(flat.reshape(*flat.shape[:-1], blocks, count).swapaxes(-1, -2))
        return np.asarray(np.stack([_wide(one, count) for one in found], axis=-1))


def _wide(column: Array, rows: int) -> Array:
    """A column over all its rows; of a figure of the whole plan each row has the same."""
    return np.broadcast_to(column, (*column.shape[:-1], rows))


def ends(
    sides: Sides, metrics: MetricSet, positions: Sequence[int], drivers: Sequence[Driver],
    names: Collection[str],
) -> Rows:  # fmt: skip
    """Both plans, restated: the first mask is the old one, the second the new one."""
    bits = [tuple(name for driver in drivers for name in driver.fields)]
    return Rows(sides, metrics, positions, bits, names, (0, 1))


def correction(now: Value, issued: Value) -> float | None:
    """What a figure of the formulas and the catalog of today has over the issued one.

    None where no difference leads from one to the other.
    """
    if isinstance(now, float) and isinstance(issued, float):
        return now - issued
    return 0.0 if now == issued else None
