"""Drivers of a difference: inputs that change together, by the group that people argue in.

Inputs that make no sense apart are one driver: the three readings of a card's memory, a compute
dtype with the peaks (the figure that counts is the peak of the chosen dtype, so no mixture asks an
H100 for its FP4 peak), the widths of a format, the sizes of a layout, the shape of a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from planner.engine import Array
from planner.inputs import Case
from planner.metric_files import FieldEntry
from planner.metrics import MetricSet
from planner.planning import Plan, Value
from planner.scenario import layout_id
from planner.scenario_file import LayoutEntry

GROUPS: dict[str, str] = {
    "hardware": "Hardware", "precision": "Precision & engine", "workload": "Workload",
    "model": "Model", "policy": "Policy", "price": "Price",
}  # fmt: skip
"""Groups in the order of the default sequence."""

_BY_ENTITY = {
    "gpu": "hardware", "model": "model", "group": "model", "engine": "precision",
    "weight_format": "precision", "kv_format": "precision",
}  # fmt: skip
_BY_NAME = {
    "memory_utilization": "precision", "overhead": "precision", "hot_experts": "workload",
    "hot_traffic": "workload", "compute_dtype": "precision",
    **dict.fromkeys(LayoutEntry.model_fields, "precision"),
}  # fmt: skip

# Driver id of fields that move together: by name, else by entity.
_WITH = {
    "memory_marketed": "memory", "memory_device": "memory", "memory_framework": "memory",
    "compute_dtype": "compute", "gpu_capability": "compute",  # kernels come with the tensor cores
    **dict.fromkeys(LayoutEntry.model_fields, "layout"),
}  # fmt: skip
_WITH_ENTITY = {
    "weight_format": "weight_format", "kv_format": "kv_format", "model": "model", "group": "model"
}  # fmt: skip
_LABELS = {
    "memory": "GPU memory", "compute": "Dense peak", "layout": "Parallel layout",
    "weight_format": "Weight format", "kv_format": "KV format", "model": "Model shape",
}  # fmt: skip
# What a reader sees of a driver that is more than one input: a metric, or a word of the case.
_SHOWN_METRIC = {"memory": "memory_total", "compute": "peak_compute"}


@dataclass(frozen=True, slots=True)
class Driver:
    """Inputs that change together."""

    id: str
    label: str
    group: str
    fields: tuple[str, ...]


def group_of(name: str, entry: FieldEntry) -> str:
    """The group of an input: as declared, else by what it belongs to."""
    if entry.driver:
        return entry.driver
    if name in _BY_NAME:
        return _BY_NAME[name]
    if entry.entity == "plan":
        return "price" if "usd" in entry.unit.lower() else "policy"
    return _BY_ENTITY.get(entry.entity, "workload")


def driver_id(name: str, entry: FieldEntry) -> str:
    """The driver that an input belongs to."""
    if entry.entity == "gpu" and name.startswith("peak_"):
        return "compute"
    return _WITH.get(name) or _WITH_ENTITY.get(entry.entity) or name


def drivers_of(metrics: MetricSet, changed: Iterable[str]) -> tuple[Driver, ...]:
    """The drivers behind the changed inputs, by group and in the order of the declarations."""
    differing = set(changed)
    members: dict[str, list[str]] = {}
    for name, entry in metrics.fields.items():
        if entry.entity != "stage":
            members.setdefault(driver_id(name, entry), []).append(name)
    found = [
        _driver(metrics, word, names, differing)
        for word, names in members.items()
        if differing & set(names)
    ]
    order = list(GROUPS)
    return tuple(sorted(found, key=lambda driver: order.index(driver.group)))


def _driver(metrics: MetricSet, word: str, names: list[str], differing: set[str]) -> Driver:
    # The peak of a new card is hardware, whatever the dtype; a new dtype alone is precision.
    lead = next((n for n in names if n in differing and metrics.fields[n].entity == "gpu"), "")
    lead = lead or next(n for n in names if n in differing)
    label = _LABELS.get(word) or metrics.label_of(word)
    return Driver(word, label, group_of(lead, metrics.fields[lead]), tuple(names))


def changed_fields(
    metrics: MetricSet,
    columns: tuple[Mapping[str, Array], Mapping[str, Array]],
    rows: tuple[Array, Array],
) -> list[str]:
    """Inputs that differ in any of the paired rows; two unknowns are the same."""
    found = []
    for name, entry in metrics.fields.items():
        if entry.entity == "stage":
            continue
        one, other = _rows(columns[0][name], rows[0]), _rows(columns[1][name], rows[1])
        if one.shape != other.shape or differing(one, other).any():
            found.append(name)
    return found


def differing(one: Array, other: Array) -> Array:
    """Where two columns differ: numbers of which two unknowns are the same, or texts of places."""
    if one.dtype == object:
        return np.asarray(one != other)
    left, right = one.astype(float), other.astype(float)
    return np.asarray(~((left == right) | (np.isnan(left) & np.isnan(right))))


def _rows(column: Array, rows: Array) -> Array:
    return column if column.ndim == 0 else np.asarray(column[..., rows])


def shown_value(plan: Plan, driver: Driver, index: int) -> tuple[Value, str]:
    """What a reader sees of a driver in one case: a value, and the name that gives its unit."""
    case = plan.cases[index]
    words = _words(case)
    if driver.id in words:
        return words[driver.id], ""
    name = _SHOWN_METRIC.get(driver.id, driver.fields[0])
    if name not in plan.metrics.metrics and name not in plan.metrics.fields:
        return None, ""
    return plan.value(name, index), name


def _words(case: Case) -> dict[str, str]:
    sizes = {n: float(case.inputs.get(n, 1.0)) for n in LayoutEntry.model_fields}
    return {
        "layout": layout_id(sizes), "weight_format": case.weight_format,
        "kv_format": case.kv_format, "model": case.model,
    }  # fmt: skip
