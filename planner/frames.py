"""Tables of a plan as pandas DataFrames: the one module that needs pandas."""

from __future__ import annotations

from typing import Any

import pandas as pd

from planner.expr.check import GROUP, PLAN
from planner.metrics import SLOTS, Metric
from planner.planning import Plan, plain

CASE_COLUMNS = ("model", "gpu", "weight_format", "kv_format", "workload")


def column_name(name: str, unit: str) -> str:
    """``kv_per_token`` in byte/token as ``kv_per_token_byte_per_token``; pure numbers stay bare."""
    if unit == "1":
        return name
    return name + "_" + unit.replace("/", "_per_").replace("*", "_").replace("^", "")


def base_unit(metric: Metric) -> str:
    """The base unit of a metric, spelled as it is declared."""
    return metric.entry.unit if metric.unit.factor == 1 else metric.unit.base.text


def table(plan: Plan, name: str) -> pd.DataFrame:
    """See ``Plan.table``: ``cases``, a table of the metrics, or a set of variants."""
    if name in plan.metrics.variants:
        return _variants(plan, name)
    if name != "cases" and name not in plan.metrics.tables:
        raise KeyError(name)
    rows = [_key(plan, index) for index in range(len(plan.cases))]
    metrics = [m for m in plan.metrics.of_table(name) if m.type.grain != PLAN]
    plan_metrics = [m for m in plan.metrics.of_table(name) if m.type.grain == PLAN]
    if plan_metrics and not metrics:
        return pd.DataFrame(
            [{"metric": m.name, "value": plan.value(m.name), "unit": m.unit.text}
             for m in plan_metrics]
        )  # fmt: skip
    if any(m.type.grain == GROUP for m in metrics):
        return _groups(plan, rows)
    for metric in metrics:
        for index, row in enumerate(rows):
            row[column_name(metric.name, base_unit(metric))] = plan.value(metric.name, index)
    return pd.DataFrame(rows).set_index("case")


def _key(plan: Plan, index: int) -> dict[str, Any]:
    case = plan.cases[index]
    row: dict[str, Any] = {"case": case.id}
    row |= {name: getattr(case, name) for name in CASE_COLUMNS}
    for name, value in case.inputs.items():
        row[column_name(name, plan.metrics.unit_of(name))] = value
    return row


def _groups(plan: Plan, keys: list[dict[str, Any]]) -> pd.DataFrame:
    metrics = [m for m in plan.metrics.of_table("groups") if m.type.grain == GROUP]
    rows = []
    for index, key in enumerate(keys):
        groups = plan.inputs.groups[plan.cases[index].model]
        for slot in range(min(len(groups), SLOTS)):
            row = {"case": key["case"], "group": slot + 1, "kind": groups[slot].label}
            for metric in metrics:
                name = column_name(metric.name, base_unit(metric))
                row[name] = plan.value(metric.name, index, slot)
            rows.append(row)
    return pd.DataFrame(rows).set_index(["case", "group"])


def _variants(plan: Plan, name: str) -> pd.DataFrame:
    variant = plan.metrics.variants[name]
    child = plan.columns.variants(name)
    values = plan.columns.variant_values[name]
    unit = plan.metrics.unit_of(variant.replaces)
    rows = []
    for index, case in enumerate(plan.cases):
        for rung, value in enumerate(values):
            row: dict[str, Any] = {"case": case.id, column_name(variant.replaces, unit): value}
            for shown in variant.shows:
                metric = plan.metrics.metrics[shown]
                position = rung * len(plan.cases) + index
                key = column_name(shown, base_unit(metric))
                row[key] = plain(child[shown], metric.type, position)
            rows.append(row)
    return pd.DataFrame(rows).set_index("case")
