"""A start-up log as what was measured of a case: the figures that the plan has metrics for."""

from __future__ import annotations

from planner.actual import Actual
from planner.importers.startup_log import Observation
from planner.observation import compare
from planner.planning import Plan

# What a log states, and the metrics that plan it; the first that the plan knows stands beside it.
MEASURES: dict[str, tuple[str, ...]] = {
    "device_total": ("memory_total",),
    "requested": ("memory_requested",),
    "weights": ("weights_gpu",),
    "overhead": ("engine_overhead",),
    "activation": ("activation_peak",),
    "non_torch": ("runtime_gpu",),
    "cuda_graph_estimated": ("graphs_gpu",),
    "kv_pool": ("kv_pool",),
    "token_bytes": ("kv_per_token_gpu",),
    "kv_tokens": ("pool_tokens", "token_capacity"),
    "gpu_blocks": ("pool_blocks",),
    "max_concurrency": ("pool_concurrency", "concurrency_quotient"),
}


def actual_of(seen: Observation, plan: Plan, case: int, log: str) -> Actual:
    """What a log measured of one case of a plan.

    Args:
        seen: one engine start.
        plan: the plan.
        case: position of the case.
        log: the name of the log, for readers.
    """
    values: dict[str, float] = {}
    notes: dict[str, str] = {}
    for row in compare(seen, plan, case):
        metric = next(
            (m for m in MEASURES.get(row.quantity, ())
             if m in plan.metrics.metrics and plan.value(m, case) is not None), None,
        )  # fmt: skip
        if metric is None or not isinstance(row.measured, float) or row.planned is None:
            continue
        values[metric] = row.measured
        if note := "; ".join(part for part in (row.cause, row.note) if part):
            notes[metric] = note
    return Actual(plan.cases[case].id, log, seen.name, values, notes)
