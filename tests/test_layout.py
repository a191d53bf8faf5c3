"""Parallel layouts: stages, ranks and copies, each against plain loops that share no code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.layouts import planned, stages

import planner
from planner.catalog import Catalog
from planner.engine import Columns
from planner.metrics import SLOTS, MetricSet
from planner.places import NOWHERE
from planner.planning import Plan, compute

METRICS = MetricSet.load()
CATALOG = Catalog.open()


MODELS = CATALOG.ids("model")


def column(name: str, **given: Any) -> list[float]:
    """A metric over given columns of cases."""
    columns = Columns(METRICS, {n: np.asarray(v) for n, v in given.items()})
    return [float(v) for v in np.ravel(columns[name])]


def split(layers: int, pp: int) -> list[int]:
    """An even division; what is left over is dealt from the last stage but one to the front."""
    sizes = [layers // pp] * pp
    for one in range(layers % pp):
        sizes[-2 - one] += 1
    return sizes


# ---- layers -------------------------------------------------------------------------------------


def test_the_rest_of_the_layers_goes_before_the_last_stage() -> None:
    assert split(61, 4) == [15, 15, 16, 15]
    for layers, pp in itertools.product((1, 7, 24, 36, 61, 62, 80), range(1, 9)):
        index = np.arange(8.0)[:, None, None]
        found = column("stage_layers", layers=[layers], pp=[pp], stage_index=index)
        starts = column("stage_start", layers=[layers], pp=[pp], stage_index=index)
        wanted = split(layers, pp)
        assert found == [*wanted, *[0] * (8 - pp)], (layers, pp)
        assert starts == [sum(wanted[:k]) for k in range(8)], (layers, pp)


def members(text: str) -> list[bool]:
    """Which layers belong to a group."""
    return [mark != "." for mark in text]


@pytest.mark.parametrize("model", MODELS)
def test_layers_of_a_group_in_a_stage_are_those_of_its_pattern(model: str) -> None:
    layers = int(CATALOG.facts("model", model)["layers"].value or 0)
    groups = [{n: f.value for n, f in g.facts.items()} for g in CATALOG.groups(model)]
    names = [n for n in groups[0] if n in METRICS.fields]
    empty = {n: NOWHERE if METRICS.fields[n].kind == "places" else 0.0 for n in names}
    slots = {n: [g[n] for g in groups] + [empty[n]] * (SLOTS - len(groups)) for n in names}
    for pp in range(1, 9):
        given = {n: np.asarray(v)[:, None] for n, v in slots.items()}
        columns = Columns(METRICS, {
            **given, "layers": np.asarray([layers]), "pp": np.asarray([pp]),
            "stage_index": np.arange(float(pp))[:, None, None],
        })  # fmt: skip
        counted, cached = columns["stage_group_layers"], columns["stage_group_caches"]
        for slot, group in enumerate(groups):
            inside = members(str(group["group_places"]))
            bounds = [sum(split(layers, pp)[:k]) for k in range(pp + 1)]
            wanted = [sum(inside[a:b]) for a, b in itertools.pairwise(bounds)]
            assert sum(inside) == group["group_layers"]
            assert counted[:, slot, 0].tolist() == wanted, (pp, slot)
            assert cached[:, slot, 0].sum() == group["group_cache_layers"]
        for slot in range(len(groups), SLOTS):
            assert not counted[:, slot].any()


def test_layers_that_share_a_cache_come_last() -> None:
    """10 layers of which the last 4 own none, over two stages of 5."""
    group = {"group_layers": 10, "group_cache_layers": 6, "group_places": "*" * 10}
    given = {n: [[v]] for n, v in group.items()} | {"group_draft_layers": [[0]]}
    found = column("stage_group_caches", layers=[10], pp=[2], stage_index=[[[0]], [[1]]], **given)
    assert found == [5, 1]


# ---- weights ------------------------------------------------------------------------------------


def copies(plan: Plan, case: int) -> float:
    """Bytes that ranks and stages hold beyond one copy of the model, counted part by part."""
    one = plan.cases[case]
    facts = {n: f.value or 0.0 for n, f in plan.inputs.facts["model", one.model].items()}
    width = {n: f.value or 0.0 for n, f in plan.inputs.facts["weight_format", "bf16"].items()}
    tp, pp = int(float(one.inputs["tp"])), int(float(one.inputs["pp"]))
    more = 0.0
    for group in plan.inputs.groups[one.model]:
        part = {n: float(f.value or 0.0) for n, f in group.facts.items() if n != "group_places"}
        for _layer in range(int(part["group_layers"])):
            held = 0.0
            for _rank in range(tp if part["group_kv_heads"] else 0):
                heads = max(1, int(part["group_kv_heads"]) // tp)
                held += part["group_kv_params"] * heads / part["group_kv_heads"]
            more += held - part["group_kv_params"] + part["group_replicated_params"] * (tp - 1)
    more *= width["weight_linear_bytes"]
    kept = (facts["params_norm"] + facts["params_router"]) * (tp - 1)
    tables = facts["params_embedding"] + facts["params_lm_head"]
    if facts["tied_embedding"] and pp > 1:
        kept += facts["params_embedding"]
        tables += facts["params_embedding"]
    rows = int(facts["vocab_size"])
    kept += tables * (-rows % 64) / rows
    return more + kept * width["weight_kept_bytes"]


def test_weights_of_all_ranks_are_the_model_and_its_counted_copies(tmp_path: Path) -> None:
    sizes = [f"tp: {tp}, pp: {pp}" for tp in (1, 2, 4, 8) for pp in (1, 2, 3, 4)]
    plan = planned(tmp_path, ", ".join(MODELS), *sizes, weights="bf16")
    assert len(plan.cases) > 150
    for case, one in enumerate(plan.cases):
        tp, total = float(one.inputs["tp"]), float(plan.value("weight_bytes", case) or 0)
        ranks = [tp * weights for weights in stages(plan, "stage_weights", case)]
        slack = tp * len(ranks)  # each rank is rounded up to a whole byte
        wanted = total + copies(plan, case)
        assert wanted <= sum(ranks) * (1 + 1e-12), one.id
        assert sum(ranks) - wanted <= slack + 1e-12 * wanted, one.id
        assert plan.value("weights_gpu", case) == max(ranks) / tp


DEEPSEEK = {"hidden": 7168, "heads": 128, "q_rank": 1536, "kv_rank": 512, "rope": 64, "nope": 128,
            "value": 128, "dense": 18432, "expert": 2048, "experts": 256, "vocab": 129280,
            "layers": 61, "dense_layers": 3}  # fmt: skip


def deepseek_stage(stage: int, pp: int, tp: int, ep: int = 1) -> float:
    """Bytes of one rank of a stage of DeepSeek-V3 in FP8, layer by layer."""
    d = DEEPSEEK
    wide, narrow = 2.0, 1 + 4 / 128**2
    sizes = split(d["layers"], pp)
    first = sum(sizes[:stage])
    total = 0.0
    for layer in range(first, first + sizes[stage]):
        down = d["hidden"] * (d["q_rank"] + d["kv_rank"] + d["rope"])
        up = d["q_rank"] * d["heads"] * (d["nope"] + d["rope"])
        up += d["kv_rank"] * d["heads"] * (d["nope"] + d["value"])
        out = d["heads"] * d["value"] * d["hidden"]
        total += (down + (up + out) / tp) * narrow
        total += (2 * d["hidden"] + d["q_rank"] + d["kv_rank"]) * wide
        if layer < d["dense_layers"]:
            total += 3 * d["hidden"] * d["dense"] / tp * narrow
            continue
        expert = 3 * d["hidden"] * d["expert"]
        total += expert / tp * narrow  # the shared one
        total += (d["experts"] // ep * expert if ep > 1 else d["experts"] * expert / tp) * narrow
        total += (d["experts"] * d["hidden"] + d["experts"]) * wide
    table = d["vocab"] * d["hidden"] / tp * wide
    return total + table * (stage == 0) + table * (stage == pp - 1)


@pytest.mark.parametrize(
    ("tp", "pp", "dp", "ep"), [(8, 1, 1, 1), (8, 2, 1, 1), (8, 4, 1, 1), (4, 3, 4, 16)]
)
def test_deepseek_v3_layer_by_layer(tp: int, pp: int, dp: int, ep: int, tmp_path: Path) -> None:
    layout = f"tp: {tp}, pp: {pp}, dp: {dp}, ep: {ep}"
    plan = planned(tmp_path, "deepseek-v3", layout, weights="fp8")
    final_norm = 7168 * 2.0  # stands in the last stage; the metric deals norms evenly
    for stage, found in enumerate(stages(plan, "stage_weights")):
        assert abs(found - deepseek_stage(stage, pp, tp, ep)) <= final_norm + 1
    kv = [576 * 2.0 * layers for layers in split(61, pp)]
    assert stages(plan, "stage_kv_per_token") == kv
    assert stages(plan, "stage_reserved") == [one * 4096 for one in kv]
    assert plan.value("kv_per_token") == 70_272


# ---- experts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("experts", "picks", "visited"),
    [
        (128, 8, (8, 51.6, 111.8, 128.0)),
        (256, 8, (8, 57.4, 163.3, 251.6)),
        (512, 10, (10, 74.7, 239.6, 471.0)),
        (384, 8, (8, 59.5, 188.2, 358.1)),
        (128, 4, (4, 28.7, 81.7, 125.8)),
    ],
)
def test_experts_visited_by_a_batch(experts: int, picks: int, visited: Sequence[float]) -> None:
    given = {"experts": experts, "experts_per_token": picks, "batch": [1, 8, 32, 128]}
    even = column("experts_visited", hot_experts=0.5, hot_traffic=0.5, **given)
    assert [round(one, 1) for one in even] == list(visited)
    plain = [experts * (1 - (1 - picks / experts) ** batch) for batch in (1, 8, 32, 128)]
    assert even == pytest.approx(plain, rel=1e-12)
    for hot, traffic in itertools.product((0.01, 0.1, 0.25, 0.5, 0.9), (0.05, 0.3, 0.5, 0.8, 0.99)):
        skewed = column("experts_visited", hot_experts=hot, hot_traffic=traffic, **given)
        pairs = zip(skewed, even, strict=True)
        assert all(a <= b * (1 + 1e-12) for a, b in pairs), (hot, traffic)


def test_weights_read_grow_with_the_experts_visited(tmp_path: Path) -> None:
    """W(B) of Qwen3-30B-A3B: the fixed part, and the visited share of the experts."""
    for batch in (1, 8, 32):
        plan = planned(tmp_path, "qwen3-30b-a3b", "tp: 1", batch=batch)
        facts = {
            n: float(f.value or 0)
            for n, f in plan.inputs.facts["model", "qwen3-30b-a3b"].items()
            if not n.endswith("_places")
        }
        read = facts["params_attention"] + facts["params_lm_head"] + facts["params_router"]
        read += facts["params_norm"]
        visited = 128 * (1 - (1 - 8 / 128) ** batch)
        read += facts["params_experts"] * visited / 128
        assert plan.value("weights_read") == pytest.approx(read * 2, rel=1e-12)


def test_expert_parallelism_gives_whole_experts(tmp_path: Path) -> None:
    plan = planned(tmp_path, "qwen3-30b-a3b", "tp: 1", "tp: 1, dp: 8, ep: 8", "tp: 1, dp: 6, ep: 6")
    shares = plan.column("experts_share_gpu").tolist()
    assert shares == [1.0, 16 / 128, 22 / 128]  # 22 of 128 is the fullest of 6
    whole, eighth, _ = plan.column("weights_gpu").tolist()
    experts = float(plan.value("weights_experts") or 0)
    assert whole - eighth == experts * 7 / 8


# ---- KV and requests ----------------------------------------------------------------------------


def test_kv_of_one_gpu_under_more_ranks_than_heads(tmp_path: Path) -> None:
    plan = planned(tmp_path, "qwen3-30b-a3b, deepseek-v3", "tp: 2", "tp: 4", "tp: 8")
    found = {
        c.id.split("/b")[0]: plan.value("kv_per_token_gpu", i) for i, c in enumerate(plan.cases)
    }
    gqa = [value for name, value in found.items() if name.startswith("qwen")]
    latent = [value for name, value in found.items() if name.startswith("deepseek")]
    assert gqa == [48 * heads * 512 for heads in (2, 1, 1)]  # 4 KV heads: 8 ranks hold copies
    assert latent == [70_272] * 3


def test_decode_context_parallelism_divides_tokens(tmp_path: Path) -> None:
    plan = planned(tmp_path, "deepseek-v3", "tp: 8, pp: 2", "tp: 8, pp: 2, dcp: 8", context=4100)
    assert plan.column("kv_per_token_gpu").tolist() == [31 * 1152, 31 * 1152 / 8]
    blocks = plan.column("group_blocks_per_request")[0].tolist()
    assert blocks == [math.ceil(4100 / 16), math.ceil(math.ceil(4100 / 8) / 16)]
    assert plan.column("kv_reserved_gpu").tolist() == [31 * 1152 * 16 * b for b in blocks]


def test_data_parallel_ranks_divide_the_requests(tmp_path: Path) -> None:
    plan = planned(tmp_path, "qwen3-8b", "tp: 1", "tp: 1, dp: 4", batch=33)
    assert plan.column("rank_batch").tolist() == [33, 9]
    one, four = plan.column("max_concurrency").tolist()
    assert four == 4 * one
    assert plan.column("gpus_per_replica").tolist() == [1, 4]
    per_gpu = plan.column("concurrency_per_gpu").tolist()
    assert per_gpu[0] == per_gpu[1]
    assert plan.column("kv_reserved_gpu").tolist() == [4096 * 147_456] * 2
    spare = plan.column("memory_spare").tolist()
    assert spare[1] - spare[0] == (33 - 9) * 4096 * 147_456
    alone, shared = plan.column("b_star_kv").tolist()
    assert shared == pytest.approx(4 * alone)


def test_the_stage_that_holds_fewest_is_named(tmp_path: Path) -> None:
    plan = planned(tmp_path, "gemma-3-27b, deepseek-v3, qwen3-8b", "tp: 8, pp: 4", "tp: 8")
    named = set()
    for case in range(len(plan.cases)):
        held = stages(plan, "stage_concurrency", case)
        wanted = min(range(len(held)), key=lambda stage: held[stage]) + 1
        assert plan.value("binding_stage", case) == wanted
        assert plan.value("max_concurrency", case) == min(held)
        named.add(wanted)
    assert named == {1, 2, 3}


def test_stages_beyond_those_of_a_case_change_nothing(tmp_path: Path) -> None:
    models = "gemma-3-27b, qwen3-next-80b"
    alone = planned(tmp_path, models, "tp: 4, pp: 2")
    beside = planned(tmp_path, models, "tp: 4, pp: 2", "tp: 4, pp: 5", "tp: 4")
    for metric in METRICS.metrics.values():
        if metric.variant or metric.type.grain == 0:
            continue
        for case, one in enumerate(alone.cases):
            other = [c.id for c in beside.cases].index(one.id)
            for stage, slot in itertools.product(range(2), range(2)):
                a = alone.value(metric.name, case, slot, stage)
                assert a == beside.value(metric.name, other, slot, stage), metric.name


# ---- combinations that make no sense ------------------------------------------------------------


def test_impossible_layouts_are_dropped_for_their_reasons(tmp_path: Path) -> None:
    plan = planned(
        tmp_path, "qwen3-8b, deepseek-v3",
        "tp: 8",
        "tp: 1, pp: 37",
        "tp: 3",
        "tp: 16",
        "tp: 8, dcp: 2",
        "tp: 4, dp: 2, ep: 8",
        "tp: 4, dp: 2, ep: 3",
    )  # fmt: skip
    kept = [case.id.split("/")[0] + " " + case.id.split("/")[2] for case in plan.cases]
    assert kept == [
        "qwen3-8b tp8", "deepseek-v3 tp8", "deepseek-v3 tp1pp37", "deepseek-v3 tp8dcp2",
        "deepseek-v3 tp4dp2ep8",
    ]  # fmt: skip
    assert plan.inputs.dropped == {
        "more pipeline stages than layers": 1,  # 37 of 36 layers
        "tensor parallel size does not divide the query heads": 2,
        "tensor parallel size exceeds one host and the scale-up domain": 2,
        "decode context parallel size does not suit the KV heads": 1,  # 8 ranks, 8 heads
        "expert parallel size is not a share of the ranks of a model with as many experts": 3,
    }


def test_a_layout_is_given_once_and_in_one_way(tmp_path: Path) -> None:
    with pytest.raises(planner.InputError, match="each layout once"):
        planned(tmp_path, "qwen3-8b", "tp: 2", "tp: 2, pp: 1")
    with pytest.raises(planner.InputError, match="layouts or tp"):
        planned(tmp_path, "qwen3-8b", "tp: 2", more="tp: [1]\n")


# ---- what is not known --------------------------------------------------------------------------


def without(plan: Plan, fact: str) -> Plan:
    """The plan with one fact of its models, or of every layer group, taken away."""
    facts = {
        key: {n: replace(f, value=None) if n == fact else f for n, f in one.items()}
        for key, one in plan.inputs.facts.items()
    }
    groups = {
        model: tuple(
            replace(g, facts={n: replace(f, value=None) if n == fact else f
                              for n, f in g.facts.items()})
            for g in found
        )
        for model, found in plan.inputs.groups.items()
    }  # fmt: skip
    return compute(replace(plan.inputs, facts=facts, groups=groups), plan.metrics)


@pytest.mark.parametrize("fact", ["group_places", "moe_places"])
def test_layers_without_places_are_unknown_in_stages_and_never_0(fact: str, tmp_path: Path) -> None:
    plan = planned(tmp_path, "qwen3-30b-a3b", "tp: 8", "tp: 8, pp: 2")
    blank = without(plan, fact)
    for name in ("weights_gpu", "kv_reserved_gpu", "max_concurrency", "memory_spare", "verdict"):
        assert blank.value(name, 0) == plan.value(name, 0), name
    for name in ("weights_gpu", "max_concurrency", "memory_spare", "binding_stage"):
        assert blank.value(name, 1) is None, name
    assert blank.value("verdict", 1) == "unknown"
    part = "stage_moe_layers" if fact == "moe_places" else "stage_group_layers"
    assert [v for v in stages(blank, part, 1) if v is not None] == []
