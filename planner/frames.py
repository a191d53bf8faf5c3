"""Tables of a plan as pandas DataFrames: the one module that needs pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from planner.engine import by_input
from planner.expr.check import CASE, GROUP, PLAN, STAGE, STAGE_GROUP
from planner.metrics import SLOTS, Metric
from planner.planning import Plan, plain

STAGE_GROUPS = "stage_groups"
"""The table of what every stage holds of every layer group, whatever table declares the metric."""

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
    if name == STAGE_GROUPS:
        metrics = [m for t in plan.metrics.tables for m in plan.metrics.of_table(t)]
        return _finer(plan, [m for m in metrics if m.type.grain == STAGE_GROUP], STAGE_GROUP)
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
        return _finer(plan, [m for m in metrics if m.type.grain == GROUP], GROUP)
    if any(m.type.grain == STAGE for m in metrics):
        return _finer(plan, [m for m in metrics if m.type.grain in (CASE, STAGE)], STAGE)
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


def _finer(plan: Plan, metrics: Sequence[Metric], grain: int) -> pd.DataFrame:
    """A row per layer group of the model, per pipeline stage in use, or per group of a stage."""
    rows: list[dict[str, Any]] = []
    index = ["stage"] * (grain != GROUP) + ["group"] * (grain != STAGE)
    for number, case in enumerate(plan.cases):
        groups = plan.inputs.groups[case.model][:SLOTS] if grain != STAGE else ()
        for stage in range(int(case.inputs.get("pp", 1)) if grain != GROUP else 1):
            for slot in range(max(1, len(groups))):
                row: dict[str, Any] = {"case": case.id, "stage": stage + 1, "group": slot + 1}
                row = {name: row[name] for name in ("case", *index)}
                if groups:
                    row["kind"] = groups[slot].label
                for metric in metrics:
                    value = plan.value(metric.name, number, slot, stage)
                    row[column_name(metric.name, base_unit(metric))] = value
                rows.append(row)
    return pd.DataFrame(rows).set_index(["case", *index])


def _variants(plan: Plan, name: str) -> pd.DataFrame:
    variant = plan.metrics.variants[name]
    child = plan.columns.variants(name)
    values = by_input(variant, plan.columns.variant_values[name])
    names = plan.inputs.rungs.get(name, ())
    rows = []
    for index, case in enumerate(plan.cases):
        for rung in range(len(values[variant.first])):
            row: dict[str, Any] = {"case": case.id}
            if names:
                row["rung"] = names[rung]
            for one in values:
                unit = plan.metrics.unit_of(one)
                row[column_name(one, unit)] = float(child[one][rung * len(plan.cases) + index])
            for shown in variant.shows:
                metric = plan.metrics.metrics[shown]
                position = rung * len(plan.cases) + index
                key = column_name(shown, base_unit(metric))
                row[key] = plain(child[shown], metric.type, position)
            rows.append(row)
    return pd.DataFrame(rows).set_index("case")
