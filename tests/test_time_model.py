"""The time model `bound`: its figures by a second route, its limits, where it stands and rides."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.command import SMALL
from support.diffs import compared, plan_of
from support.recalc import differences, recalculate_formualizer, recalculate_libreoffice
from support.reviews import renamed
from support.workbook import Made, edited, engine_plan, make, places, shipped

from planner import saved
from planner.diff_gate import NotComparable
from planner.errors import InputError
from planner.planning import Plan, compute
from reports.text import render
from reports.text_markdown import markdown
from reports.view import view_of
from reports.view_diff import diff_view

NAME = "token-target"
BOUND = SMALL + "time_model: bound\n"
TARGET = BOUND + "assumptions: {slo_tpot: 20 ms, bandwidth_efficiency: 0.8, overhead: 3 GiB}\n"


def changed(plan: Plan, **inputs: Any) -> Plan:
    """The plan of one case with other inputs of the case, or of the plan."""
    [case] = plan.inputs.cases
    mine = {n: v for n, v in inputs.items() if n in case.inputs}
    rest = {n: v for n, v in inputs.items() if n not in mine}
    cases = (replace(case, inputs={**case.inputs, **mine}),)
    assert rest.keys() <= plan.inputs.plan.keys()
    return compute(
        replace(plan.inputs, cases=cases, plan={**plan.inputs.plan, **rest}), plan.metrics
    )


def number(plan: Plan, name: str) -> float:
    value = plan.value(name)
    assert isinstance(value, float), name
    return value


# ---- figures by a second route -------------------------------------------------------------------


def test_a_dense_model_by_hand(tmp_path: Path) -> None:
    """Qwen3-8B in BF16 on one H100: sums over the steps, and no formula of the product."""
    plan = plan_of(tmp_path, TARGET)
    weights = (8_190_735_360 - 622_329_856) * 2
    contexts = [8192 + step for step in range(1024)]
    kv = sum(147_456 * context for context in contexts) / 1024
    flops = sum(2 * 7_568_097_280 + 589_824 * context for context in contexts) / 1024
    bandwidth, peak = 0.8 * 3.35e12, 989.5e12
    memory, work = (weights + 8 * kv) / bandwidth, 8 * flops / peak
    assert number(plan, "tpot_bound") == pytest.approx(max(memory, work), rel=1e-12)
    assert number(plan, "step_compute_time") == pytest.approx(work, rel=1e-12)
    assert number(plan, "output_rate") == pytest.approx(8 / max(memory, work), rel=1e-12)
    # the prompt: each weight but the head for each token, the head once, every pair of tokens
    prompt = 8192 * 2 * (7_568_097_280 - 622_329_856) + 2 * 622_329_856
    prompt += sum(589_824 * (before + 1) for before in range(8192))
    first = max(weights / bandwidth, prompt / peak)
    assert number(plan, "ttft_bound") == pytest.approx(first, rel=1e-12)
    assert number(plan, "slo_bandwidth") == pytest.approx((0.020 * bandwidth - weights) / kv)
    assert number(plan, "slo_compute") == pytest.approx(0.020 * peak / flops)
    assert (number(plan, "slo_concurrency"), plan.value("slo_limit")) == (23, "memory")


def test_a_prompt_reads_the_experts_that_its_tokens_visit(tmp_path: Path) -> None:
    """Qwen3-30B-A3B: 128 experts of which a token takes 8; dense weights are read in any case."""
    text = BOUND.replace("qwen3-8b", "qwen3-30b-a3b").replace("h100-sxm", "b200")
    for tokens in (1, 10, 4000):
        short = text.replace("prompt: 8192", f"prompt: {tokens}")
        plan = plan_of(tmp_path, short, f"prompt-{tokens}.yaml")
        visited = 128 * (1 - (120 / 128) ** tokens)
        planned = 128 * (1 - (120 / 128) ** 8)
        expert = float(plan.value("params_experts") or 0) / 128 * 2
        reads = number(plan, "weights_read_gpu") + (visited - planned) * expert
        seconds = reads / number(plan, "memory_bandwidth")
        assert number(plan, "prefill_memory_time") == pytest.approx(seconds, rel=1e-9)


@pytest.mark.parametrize(
    "layout", ["{tp: 2}", "{tp: 2, pp: 2}", "{tp: 1, dp: 4}", "{tp: 2, dp: 2, pp: 2}"]
)
def test_the_limits_are_where_the_time_passes_the_target(tmp_path: Path, layout: str) -> None:
    """The closed forms against the time of a step at the batches around them."""
    plan = plan_of(tmp_path, TARGET + f"layouts: [{layout}]\n")
    target = 0.020
    limit = number(plan, "slo_bandwidth")
    lanes = int(number(plan, "dp") * number(plan, "pp"))
    most = math.floor(limit / lanes + 1e-9) * lanes
    at, above = (
        number(changed(plan, batch=float(b)), "step_memory_time") for b in (most, most + 1)
    )
    assert at <= target * (1 + 1e-12) < above
    limit = number(plan, "slo_compute")
    below, over = (
        number(changed(plan, batch=float(b)), "step_compute_time")
        for b in (math.floor(limit), math.ceil(limit))
    )
    assert below <= target * (1 + 1e-12) and over >= target * (1 - 1e-12)
    whole = number(plan, "slo_concurrency")
    assert whole % number(plan, "dp") == 0
    assert whole <= min(number(plan, "max_concurrency"), number(plan, "slo_bandwidth"))


def test_experts_make_the_ladder_count_and_not_the_closed_form(tmp_path: Path) -> None:
    """At one planned request few experts are read; at the limit that follows from it nearly all."""
    text = TARGET.replace("qwen3-8b", "qwen3-30b-a3b").replace("batches: [8]", "batches: [1]")
    text = text.replace("h100-sxm", "b200").replace("20 ms", "12 ms")
    text = text.replace("prompt: 8192", "prompt: 2000")
    plan = plan_of(tmp_path, text)
    assert number(plan, "slo_bandwidth") > 128
    assert number(plan, "slo_batch") == 32
    for rung, in_target in ((32, True), (64, False)):
        assert (number(changed(plan, batch=float(rung)), "tpot_bound") <= 0.012) is in_target


def test_no_efficiency_is_faster_than_the_ideal(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, BOUND)
    assert plan.inputs.plan["bandwidth_efficiency"] == plan.inputs.plan["compute_efficiency"] == 1
    ideal = number(plan, "tpot_bound")
    assert number(changed(plan, bandwidth_efficiency=0.5), "tpot_bound") == pytest.approx(2 * ideal)
    assert number(changed(plan, compute_efficiency=0.5), "tpot_bound") >= ideal


# ---- unknown -------------------------------------------------------------------------------------


def test_what_rests_on_no_target_is_unknown(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, BOUND)
    for name in ("slo_bandwidth", "slo_compute", "slo_concurrency", "slo_limit", "slo_batch"):
        assert plan.value(name) is None, name
    assert plan.value("tpot_bound") is not None
    assert "slo_concurrency" not in compared(plan, changed(plan, batch=16.0)).explained
    heads = {column.name for column in view_of(plan).summary.all_columns()}
    assert "tpot_bound" in heads and "slo_concurrency" not in heads
    with_target = view_of(plan_of(tmp_path, TARGET)).summary.all_columns()
    assert {"tpot_bound", "slo_concurrency"} <= {column.name for column in with_target}


def test_a_batch_that_does_not_fit_has_no_rate(tmp_path: Path) -> None:
    plan = changed(plan_of(tmp_path, TARGET), batch=24.0)
    assert plan.value("verdict") == "does not fit"
    assert plan.value("output_rate") is None
    view = view_of(plan)
    section = next(s for s in view.sections if s.name == "time")
    ladder = next(one for one in section.ladders if one.name == "batch_ladder")
    dashes = [c.text(0) in ("–", "—") for c in ladder.grids[0].columns]
    assert dashes == [False] * 4 + [True] * 4  # 16 fit, 32 do not
    assert "the batch does not fit" in ladder.grids[0].note


def test_one_token_of_output_has_no_decode_step(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TARGET.replace("output: 1025", "output: 1"))
    assert plan.value("tpot_bound") is None and plan.value("slo_concurrency") is None
    assert plan.value("ttft_bound") is not None


# ---- chosen, shown, saved ------------------------------------------------------------------------


def test_without_the_key_a_plan_is_as_before(tmp_path: Path) -> None:
    document = saved.document(plan_of(tmp_path, SMALL))
    assert "time_model" not in document["scenario"]
    assert "time" not in document["declarations"]["tables"]
    assert not {"tpot_bound", "slo_concurrency"} & document["values"].keys()
    assert not {"slo_tpot", "bandwidth_efficiency"} & document["assumptions"].keys()


def test_the_choice_is_shown_and_saved(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TARGET)
    view = view_of(plan)
    assert ("Time model", "bound") in view.shared
    assert "Time model bound" in " ".join(render(view, 80).split())
    assert "Time model bound" in markdown(view)
    told = {a.name: (a.text, a.unit, a.origin) for a in view.assumptions}
    assert told["slo_tpot"] == ("20", "ms", "given")
    assert told["compute_efficiency"] == ("1", "", "default")
    text = saved.dumps(saved.document(plan))
    again = saved.loads(text, "small.plan.json")
    assert saved.dumps(saved.document(again)) == text
    assert again.inputs.scenario["time_model"] == "bound"
    damaged = json.loads(text)
    damaged["scenario"]["time_model"] = ["bound"]
    with pytest.raises(InputError, match="time_model is no text"):
        saved.loads(json.dumps(damaged), "small.plan.json")


def test_two_time_models_are_not_compared(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TARGET)
    with pytest.raises(NotComparable, match=r"scenario\.time_model.*\n.*an ideal bound"):
        compared(plan, renamed(plan, time_model="form_e"))
    assert compared(plan, renamed(plan, time_model="form_e"), force=True).sides.pairs


def test_a_plan_without_a_time_model_is_compared_by_the_rest(tmp_path: Path) -> None:
    found = compared(plan_of(tmp_path, SMALL, "old.yaml"), plan_of(tmp_path, BOUND, "new.yaml"))
    assert "tpot_bound" in found.only[1] and "tpot_bound" not in found.deltas
    assert set(found.statuses) == {"same"} and found.inputs == ()
    assert ("Time model", "none", "bound") in diff_view(found).head


# ---- live in cells -------------------------------------------------------------------------------


def test_the_cover_names_the_time_model() -> None:
    made = shipped(NAME)
    row = made.row_of("Cover", "Time model")
    assert made.values["Cover", f"B{row}"] == "bound"


def test_libreoffice_agrees(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TARGET.replace("models: [qwen3-8b]", "models: [qwen3-30b-a3b]"))
    made = make(plan, bare=True)
    assert differences(made.stored, recalculate_libreoffice(made.path)) == []


@cache
def book() -> Made:
    return make(engine_plan(NAME, "gpus=[h100-sxm]"), bare=True)


@pytest.mark.parametrize(
    ("change", "settings"),
    [
        ({"in_slo_tpot": 0.05}, ["slo_tpot=50 ms"]),
        ({"in_slo_tpot": "unknown"}, ["slo_tpot=unknown"]),
        ({"in_bandwidth_efficiency": 0.5, "in_compute_efficiency": 0.02},
         ["bandwidth_efficiency=0.5", "compute_efficiency=0.02"]),
    ],
)  # fmt: skip
def test_another_target_or_efficiency_gives_the_engines_figures(
    change: dict[str, Any], settings: list[str]
) -> None:
    made = book()
    cells = recalculate_formualizer(edited(made, {made.named(n): v for n, v in change.items()}))
    other = engine_plan(NAME, "gpus=[h100-sxm]", *settings)
    place_of = places(made)
    moved = 0
    for metric in other.metrics.of_table("time"):
        for case in range(len(other.cases)):
            [place] = place_of[metric.name][case]
            found, wanted = cells[place], other.value(metric.name, case)
            moved += wanted != made.plan.value(metric.name, case)
            if isinstance(wanted, float):
                assert found == pytest.approx(wanted, rel=1e-9), (metric.name, case)
            elif wanted is not None:
                assert found == wanted, (metric.name, case)
            else:
                assert str(found).startswith("#"), (metric.name, case, found)
    assert moved > 4
