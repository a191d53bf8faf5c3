"""A folder of saved plans over three quarters, with decisions, for tests of the review."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from planner import saved
from planner.actual import Actual, with_actual
from planner.planning import Plan
from support.diffs import TWO, plan_of
from support.tools import REPOSITORY

QUARTERS = {
    "2027Q1": TWO.replace("2026-11-29", "2027-03-31").replace("tp: [1, 2]\n", ""),
}
QUARTERS["2027Q2"] = (
    QUARTERS["2027Q1"].replace("2027-03-31", "2027-06-30").replace("kv: bf16", "kv: fp8")
)
QUARTERS["2027Q3"] = (
    QUARTERS["2027Q2"].replace("2027-06-30", "2027-09-30").replace("h100-sxm", "b200")
    .replace("qwen3-8b, llama-3.1-8b", "qwen3-8b, qwen3-30b-a3b")
)  # fmt: skip
DECISIONS = (REPOSITORY / "tests" / "decisions" / "decisions.yaml").read_text("utf-8")


def quarter(folder: Path, name: str) -> Plan:
    """The plan of one quarter; an engine start was measured of the second."""
    plan = plan_of(folder, QUARTERS[name], f"{name}.yaml")
    if name != "2027Q2":
        return plan
    return with_actual(plan, (measured(plan),))


def measured(plan: Plan) -> Actual:
    """What a start of the first case might state: 5 % less memory for KV, one figure unknown."""
    pool = plan.value("kv_pool", 0)
    assert isinstance(pool, float)
    values = {"kv_pool": pool * 0.95, "pool_tokens": 1000.0}
    notes = {"kv_pool": "The engine took more for its graphs."}
    return Actual(plan.cases[0].id, "start.log", "vLLM 0.33.0", values, notes)


def keep(folder: Path, name: str, plan: Plan) -> Path:
    """A saved plan in a folder."""
    path = folder / f"{name}.plan.json"
    path.write_text(saved.dumps(saved.document(plan)), "utf-8")
    return path


def quarters(folder: Path) -> Path:
    """The folder ``plans`` with three plans and the decisions."""
    plans = folder / "plans"
    plans.mkdir()
    for name in QUARTERS:
        keep(plans, name, quarter(folder, name))
    (plans / "decisions.yaml").write_text(DECISIONS, "utf-8")
    return plans


def renamed(plan: Plan, **scenario: str) -> Plan:
    """The plan with other words of its scenario."""
    return replace(plan, inputs=replace(plan.inputs, scenario={**plan.inputs.scenario, **scenario}))
