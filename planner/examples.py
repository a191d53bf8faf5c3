"""Worked examples of metrics: given values in, the declared result out."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine import Array, Columns
from planner.expr.check import GROUP, PLAN, STAGE, STAGE_GROUP, Type
from planner.metric_files import ExampleEntry
from planner.metrics import SLOTS, Metric, MetricSet
from planner.places import NOWHERE
from planner.units import UnitError, dimension_text, parse_quantity

Scalar = float | bool | str | None
Code = float | str | None  # places of layers are texts, and None where they are unknown


def run_example(metrics: MetricSet, metric: Metric, example: ExampleEntry) -> tuple[Scalar, Scalar]:
    """What the metric gives for the example, and what the example says it should."""
    given = {}
    variant_values = {}
    for name, value in example.given.items():
        if name in metrics.variants:
            replaces = metrics.variants[name].replaces
            units = [metrics.unit_of(one) for one in replaces]
            rows = [rung if isinstance(rung, list) else [rung] for rung in value]
            found = [[_number(v, u) for v, u in zip(row, units, strict=True)] for row in rows]
            rungs = np.asarray(found)
            variant_values[name] = rungs if len(replaces) > 1 else rungs[:, 0]
        else:
            given[name] = _column(value, metrics.type_of(name), metrics.written_unit(name))
    columns = Columns(metrics, given, variant_values)
    result = np.asarray(columns[metric.name], dtype=np.float64)
    wanted = _column(example.gives, metric.type, metric.entry.unit)
    return _scalar(result.ravel()[0], metric.type), _scalar(wanted.ravel()[0], metric.type)


def _column(value: Any, kind: Type, written: str) -> Array:
    """A value, a list of cases, of slots (or of cases of slots), or of pipeline stages."""
    if kind.grain == STAGE:
        stages = value if isinstance(value, list) else [value]
        return np.asarray([[[_code(v, kind, written)]] for v in stages])
    if kind.grain == STAGE_GROUP:
        return _slots(value, kind, written)[None, :, None]
    if kind.grain == GROUP:
        cases = value if _nested(value) else [value]
        return np.column_stack([_slots(case, kind, written) for case in cases])
    if kind.grain == PLAN:
        return np.asarray(_code(value, kind, written))
    return np.asarray(
        [_code(v, kind, written) for v in (value if isinstance(value, list) else [value])]
    )


def _nested(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(v, list) for v in value)


def _slots(value: Any, kind: Type, written: str) -> Array:
    given = value if isinstance(value, list) else [value]
    full = [_code(v, kind, written) for v in given]
    empty: Code = NOWHERE if kind.kind == "places" else 0.0
    return np.asarray(full + [empty] * (SLOTS - len(full)))


def _code(value: Any, kind: Type, written: str) -> Code:
    if kind.kind == "places":
        return None if value == "unknown" else str(value)
    if kind.kind == "choice" and value in kind.words:
        return float(kind.words.index(value))
    if value == "unknown":
        return float("nan")
    if kind.kind == "flag":
        return float(bool(value))
    return _number(value, dimension_text(kind.dimension), written)


def _number(value: Any, unit: str, written: str = "") -> float:
    if value == 0:  # a 0 needs no unit: it is the same in all of them
        return 0.0
    try:
        return parse_quantity(str(value), unit)
    except UnitError:
        return parse_quantity(str(value), written or unit)


def _scalar(value: float, kind: Type) -> Scalar:
    if np.isnan(value):
        return None
    if kind.kind == "choice":
        return kind.words[int(value)]
    return bool(value) if kind.kind == "flag" else float(value)
