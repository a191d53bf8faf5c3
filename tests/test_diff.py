"""Comparing plans: pairs, drivers, lines crossed, ranks, and options that are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.command import SMALL
from support.diffs import TWO, compared, fleet_diff, fleets, plan_of, resaved, shares, why_of

from planner.diff import Options, diff
from planner.diff_drivers import GROUPS
from planner.diff_gate import NotComparable
from planner.errors import InputError
from planner.planning import compute

# ---- pairing -----------------------------------------------------------------------------------


def test_the_only_card_stands_beside_the_only_other(tmp_path: Path) -> None:
    old = plan_of(tmp_path, TWO)
    new = plan_of(tmp_path, TWO.replace("h100-sxm", "b200"), "new.yaml")
    found = compared(old, new)
    assert found.sides.pairs == ((0, 0), (1, 1), (2, 2), (3, 3))
    assert [(s.axis, s.old, s.new) for s in found.pairing.swaps] == [("gpu", "h100-sxm", "b200")]
    assert "GPU h100-sxm stands beside b200: the only value on each side." in found.pairing.lines


def test_cases_pair_by_what_they_are_and_never_by_place(tmp_path: Path) -> None:
    old = plan_of(tmp_path, TWO.replace("[1, 2]", "[1, 2, 4]"))
    text = TWO.replace("[qwen3-8b, llama-3.1-8b]", "[llama-3.1-8b, qwen3-8b]")
    new = plan_of(tmp_path, text.replace("[1, 2]", "[2, 8, 1]"), "new.yaml")
    found = compared(old, new)
    for i, j in found.sides.pairs:
        assert old.cases[i].id == new.cases[j].id
    assert {old.cases[i].inputs["tp"] for i in found.pairing.removed} == {4.0}
    assert {new.cases[j].inputs["tp"] for j in found.pairing.added} == {8.0}
    assert len(found.sides.pairs) == 4
    assert found.moved


def test_several_new_cards_need_to_be_named(tmp_path: Path) -> None:
    old = plan_of(tmp_path, TWO.replace("[h100-sxm]", "[h100-sxm, a100-sxm-80]"))
    new = plan_of(tmp_path, TWO.replace("[h100-sxm]", "[b200, h200-sxm]"), "new.yaml")
    with pytest.raises(NotComparable, match="--pair gpu:OLD=NEW"):
        compared(old, new)
    found = compared(old, new, pair=("gpu:h100-sxm=b200", "gpu:a100-sxm-80=h200-sxm"))
    cards = {(old.cases[i].gpu, new.cases[j].gpu) for i, j in found.sides.pairs}
    assert cards == {("h100-sxm", "b200"), ("a100-sxm-80", "h200-sxm")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu:h100-sxm", "AXIS:OLD=NEW"), ("card:a=b", "one of model, gpu"),
        ("gpu:h200-sxm=b200", "which the old plan does not have"),
        ("gpu:h100-sxm=mi300x", "which the new plan does not have"),
    ],
)  # fmt: skip
def test_a_bad_pair_is_refused(text: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        fleet_diff(pair=(text,))


# ---- identity and drivers ----------------------------------------------------------------------


def test_a_plan_does_not_differ_from_itself() -> None:
    old, _ = fleets()
    found = compared(old, old)
    assert not found.moved
    assert found.crossings == () == found.inputs == found.whys == found.drivers
    assert set(found.statuses) == {"same"}
    again = diff(old, resaved(old))
    assert not again.moved and again.facts == () == again.formulas


def test_drivers_belong_together() -> None:
    found = fleet_diff()
    table = {d.id: d for d in found.drivers}
    assert set(table["memory"].fields) == {
        "memory_marketed", "memory_device", "memory_framework"
    }  # fmt: skip
    assert {"compute_dtype", "peak_fp8", "peak_fp4"} <= set(table["compute"].fields)
    assert table["compute"].group == "hardware"
    assert table["gpu_price"].group == "price"
    assert [d.group for d in found.drivers] == sorted(
        (d.group for d in found.drivers), key=list(GROUPS).index
    )


def test_a_new_dtype_on_the_same_card_is_precision(tmp_path: Path) -> None:
    old = plan_of(tmp_path, SMALL)
    text = SMALL + "precisions: [{weights: fp8, kv: fp8, compute: fp8}]\n"
    found = compared(old, plan_of(tmp_path, text, "new.yaml"))
    assert {d.id: d.group for d in found.drivers}["compute"] == "precision"
    assert found.panels[0].note == "the hardware is the same on both sides"


def test_declared_group_of_an_own_input_counts() -> None:
    old, new = fleets()
    inputs = replace(new.inputs, plan={**new.inputs.plan, "slo_tpot": 0.05,
                                       "spare_replicas": 2.0})  # fmt: skip
    found = compared(old, compute(inputs, new.metrics))
    groups = {d.id: d.group for d in found.drivers}
    assert (groups["slo_tpot"], groups["spare_replicas"]) == ("workload", "policy")


def test_models_are_one_driver(tmp_path: Path) -> None:
    old = plan_of(tmp_path, SMALL)
    new = plan_of(tmp_path, SMALL.replace("qwen3-8b", "qwen3-next-80b"), "new.yaml")
    found = compared(old, new)
    assert [d.id for d in found.drivers] == ["model"]
    why = why_of(found, "max_concurrency")
    assert shares(why)["model"] == why.total
    assert [(i.old.value, i.new.value) for i in found.inputs] == [("qwen3-8b", "qwen3-next-80b")]


def test_layouts_with_other_stage_counts_mix(tmp_path: Path) -> None:
    old = plan_of(tmp_path, SMALL + "layouts: [{tp: 1}]\n")
    new = plan_of(tmp_path, SMALL + "layouts: [{tp: 2, pp: 2}]\nassumptions: {overhead: 4 GiB}\n",
                  "new.yaml")  # fmt: skip
    why = why_of(compared(old, new), "max_concurrency")
    assert why.refused == "" and abs(why.residual) < 1e-9
    assert why.total == sum(b.share for b in why.bundles)


# ---- lines, ranks, marks -----------------------------------------------------------------------


def test_lines_crossed(tmp_path: Path) -> None:
    text = TWO.replace("[qwen3-8b, llama-3.1-8b]", "[qwen3-30b-a3b]")
    old = plan_of(tmp_path, text)
    new = plan_of(tmp_path, text.replace("h100-sxm", "b200"), "new.yaml")
    found = compared(old, new)
    kinds = {c.kind: c for c in found.crossings}
    assert (kinds["verdict"].old, kinds["verdict"].new) == ("does not fit", "fits")
    assert (kinds["layout"].old, kinds["layout"].new, kinds["layout"].mark) == (
        "tp2", "tp1", "better"
    )  # fmt: skip
    assert kinds["check"].metric == "cases_that_do_not_fit"
    assert next(c.kind for c in found.crossings) == "verdict"


def test_marks_follow_the_declared_direction_and_the_tolerance(tmp_path: Path) -> None:
    old = plan_of(tmp_path, SMALL)
    new = plan_of(tmp_path, SMALL + "assumptions: {reserve: 0.0005}\n", "new.yaml")
    strict = compared(old, new, tolerance=0.0)
    assert strict.deltas["kv_pool"].marks == ("worse",)
    assert compared(old, new).deltas["kv_pool"].marks == ("same",)
    found = fleet_diff()
    assert found.deltas["fleet_cost"].marks == ("better",)
    assert found.deltas["weight_width"].marks == ("changed",)


def test_ranks_within_a_question(tmp_path: Path) -> None:
    base = TWO.replace("[qwen3-8b, llama-3.1-8b]", "[qwen3-30b-a3b]")
    old = plan_of(tmp_path, base.replace("[h100-sxm]", "[h100-sxm, l40s]"))
    text = base.replace("[h100-sxm]", "[h100-sxm, l40s]").replace("bf16, kv: bf16", "fp8, kv: fp8")
    new = plan_of(tmp_path, text, "new.yaml")
    found = compared(old, new)
    for rank in found.ranks:
        assert rank.question == "qwen3-30b-a3b / 16384 / chat / 16"
    by = [(float(old.value(found.by, i) or 0), float(new.value(found.by, j) or 0))
          for i, j in found.sides.pairs]  # fmt: skip
    for rank in found.ranks:
        ahead = sum(value[0] > by[rank.pair][0] for value in by)
        assert rank.old == ahead + 1


def test_every_changed_input_has_a_place_or_a_source() -> None:
    for one in fleet_diff().inputs:
        for stand in (one.old, one.new):
            if stand.value is not None:
                assert stand.sources or stand.place, one.name


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"why": ("max_concurrencies",)}, "did you mean 'max_concurrency'"),
        ({"why": ("verdict",)}, "a number of a case or of the plan"),
        ({"by": "weights_gpus"}, "did you mean 'weights_gpu'"),
        ({"method": "sequential", "order": ("hardwear",)}, "did you mean 'hardware'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        fleet_diff(**options)


def test_options_have_plain_defaults() -> None:
    assert Options().method == "owen"
    assert 0 < Options().tolerance < 0.01
