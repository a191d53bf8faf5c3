"""Comparing plans: pairs, gate, restatement, lines crossed, ranks, and what is refused."""

from __future__ import annotations

import copy
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.command import SMALL
from support.diffs import compared, fleet_diff, fleets, plan_of, shares, why_of

import planner
from planner import saved
from planner.diff import Options, diff
from planner.diff_drivers import GROUPS, Driver
from planner.diff_gate import NotComparable
from planner.diff_why import Explaining, Sides, explainable, merged
from planner.errors import InputError
from planner.metrics import MetricSet
from planner.planning import Plan, compute

TWO = """\
name: two
title: Two models
as_of: "2026-11-29"
models: [qwen3-8b, llama-3.1-8b]
gpus: [h100-sxm]
tp: [1, 2]
precisions: [{weights: bf16, kv: bf16, compute: bf16}]
contexts: [16384 tokens]
workloads: [{name: chat, prompt: 8192 tokens, output: 1025 tokens}]
batches: [16]
"""
OWN = """\
metrics:
  cards_for_many:
    label: Cards for a thousand
    unit: gpu
    better: down
    why: Replicas for a thousand requests.
    source: {title: Own rule}
    formula: many * gpus_per_replica / max_concurrency
  pool_of_plan:
    label: Requests of all cases
    unit: request
    better: up
    why: A figure of the whole plan.
    source: {title: Own rule}
    formula: sum_of(max_concurrency)
  share_of_plan:
    label: Share of all requests
    unit: "1"
    better: up
    why: A figure of a case that rests on the whole plan.
    source: {title: Own rule}
    formula: max_concurrency / pool_of_plan
constants:
  many: {value: 1000, unit: request, meaning: Requests}
"""


def resaved(plan: Plan) -> Plan:
    """What comes back from the file of a plan."""
    return saved.loads(saved.dumps(saved.document(plan)), "plan.json")


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
    inputs = replace(new.inputs, plan={**new.inputs.plan, "target_time": 0.05,
                                       "spare_replicas": 2.0})  # fmt: skip
    found = compared(old, compute(inputs, new.metrics))
    groups = {d.id: d.group for d in found.drivers}
    assert (groups["target_time"], groups["spare_replicas"]) == ("workload", "policy")


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


# ---- what is never made up ---------------------------------------------------------------------


def own(folder: Path) -> list[Path]:
    path = folder / "own.yaml"
    path.write_text(OWN, "utf-8")
    return [path]


def unfit_mixture(tmp_path: Path) -> tuple[Plan, Plan]:
    """Four-bit weights fit the old card, 16-bit ones only the new."""
    base = SMALL.replace("qwen3-8b", "llama-3.1-70b")
    metrics = own(tmp_path)
    old = plan_of(tmp_path, base + "precisions: [{weights: int4}]\n", metrics=metrics)
    text = base.replace("h100-sxm", "b200") + "precisions: [{weights: bf16}]\n"
    return old, plan_of(tmp_path, text, "new.yaml", metrics=metrics)


def test_no_share_is_made_from_a_mixture_that_does_not_fit(tmp_path: Path) -> None:
    found = compared(*unfit_mixture(tmp_path), why=("cards_for_many", "max_concurrency"))
    why = why_of(found, "cards_for_many")
    assert why.bundles == ()
    assert "of 4 mixtures give no figure" in why.refused
    assert "with the new Weight format and the rest old nothing fits" in why.refused
    counted = why_of(found, "max_concurrency")  # none at all is a count, and can be divided
    assert counted.refused == "" and abs(counted.residual) < 1e-9


def test_an_unknown_end_is_said(tmp_path: Path) -> None:
    metrics = own(tmp_path)
    old = plan_of(tmp_path, SMALL.replace("h100-sxm", "l4"), metrics=metrics)
    new = plan_of(tmp_path, SMALL, "new.yaml", metrics=metrics)
    found = compared(old, new, why=("cards_for_many",))
    assert why_of(found, "cards_for_many").refused == "unknown in the old plan"
    crossing = next(c for c in found.crossings if c.metric == "cards_for_many")
    assert (crossing.kind, crossing.old, crossing.mark) == ("known", None, "unknown")


def test_the_stand_in_for_no_bound_is_no_number(tmp_path: Path) -> None:
    old = plan_of(tmp_path, SMALL)
    new = plan_of(tmp_path, SMALL.replace("[8]", "[4096]"), "new.yaml")
    found = compared(old, new, why=("nearest_threshold",))
    why = why_of(found, "nearest_threshold")
    assert new.value("nearest_threshold") == 1e12
    assert why.bundles == () and why.refused


def test_figures_of_the_plan_are_divided_on_the_plan(tmp_path: Path) -> None:
    metrics = own(tmp_path)
    old = plan_of(tmp_path, TWO, metrics=metrics)
    text = TWO.replace("h100-sxm", "b200").replace("bf16, kv: bf16", "fp8, kv: fp8")
    text = text.replace("tp: [1, 2]", "tp: [1, 2, 4]")
    new = plan_of(tmp_path, text, "new.yaml", metrics=metrics)
    found = compared(old, new, why=("pool_of_plan", "share_of_plan"))
    why = why_of(found, "pool_of_plan", None)
    added = sum(float(new.value("max_concurrency", j) or 0) for j in found.pairing.added)
    assert why.cases == added > 0
    assert why.total == pytest.approx(sum(b.share for b in why.bundles) + why.cases)
    assert "rests on a figure of the whole plan" in why_of(found, "share_of_plan").refused


# ---- gate --------------------------------------------------------------------------------------


def test_another_memory_basis_stops(tmp_path: Path) -> None:
    folder = tmp_path / "catalog" / "engines"
    folder.mkdir(parents=True)
    shipped = (Path(planner.__file__).parents[1] / "catalogs/engines/plain.yaml").read_text("utf-8")
    text = shipped.replace("id: plain", "id: boxed").replace("value: framework", "value: marketed")
    (folder / "boxed.yaml").write_text(text, "utf-8")
    old = plan_of(tmp_path, SMALL)
    new = plan_of(tmp_path, SMALL + "engine: boxed\n", "new.yaml", catalogs=[tmp_path / "catalog"])
    with pytest.raises(NotComparable, match="engine_memory_basis") as refused:
        compared(old, new)
    assert [b.field for b in refused.value.barriers] == ["engine_memory_basis"]
    forced = compared(old, new, force=True)
    assert forced.barriers and any("engine plain beside boxed" in w for w in forced.warnings)


def test_a_metric_in_two_units_stops(tmp_path: Path) -> None:
    first = own(tmp_path)
    old = plan_of(tmp_path, SMALL, metrics=first)
    first[0].write_text(OWN.replace("unit: gpu\n", "unit: 1/gpu\n").replace(
        "many * gpus_per_replica / max_concurrency",
        "many / (gpus_per_replica * max_concurrency)"), "utf-8")  # fmt: skip
    new = plan_of(tmp_path, SMALL, "new.yaml", metrics=first)
    with pytest.raises(NotComparable, match=r"metrics\.cards_for_many\.unit"):
        compared(old, new)


# ---- restating ---------------------------------------------------------------------------------


def with_fact(plan: Plan, kind: str, word: str, name: str, value: float) -> Plan:
    """The plan as an earlier catalog would have given it."""
    facts = copy.deepcopy(dict(plan.inputs.facts))
    entry = dict(facts[kind, word])
    entry[name] = replace(entry[name], value=value)
    facts[kind, word] = entry
    return resaved(compute(replace(plan.inputs, facts=facts), plan.metrics))


def test_a_corrected_catalog_is_a_correction_and_no_change(tmp_path: Path) -> None:
    today = plan_of(tmp_path, SMALL)
    old = with_fact(today, "gpu", "h100-sxm", "memory_framework", 60 * 2**30)
    assert old.value("max_concurrency") != today.value("max_concurrency")
    found = diff(old, today, saved=(True, False))
    why = why_of(found, "max_concurrency")
    assert why.bundles == ()  # all of it is method and data
    assert why.corrections == (why.total, 0.0)
    (fact,) = found.facts
    assert (fact.word, fact.name, fact.old) == ("h100-sxm", "memory_framework", 60 * 2**30)
    assert fact.sources
    back = why_of(diff(today, old, saved=(False, True)), "max_concurrency")
    assert back.corrections == (0.0, -why.corrections[0])


def test_a_corrected_formula_is_a_correction_and_no_change(tmp_path: Path) -> None:
    today = plan_of(tmp_path, SMALL)
    data = today.metrics.declarations()
    text = data["metrics"]["stage_pool"]["formula"]
    data["metrics"]["stage_pool"]["formula"] = f"whole_down(({text}) / 2)"
    then = MetricSet.of_declarations(data, "then")
    old = resaved(compute(today.inputs, then))
    found = diff(old, today, saved=(True, False))
    why = why_of(found, "max_concurrency")
    assert found.formulas == ("stage_pool",)
    assert why.corrections == (why.total, 0.0) and why.total
    assert why.bundles == ()


def test_a_correction_beside_a_real_change_adds_up(tmp_path: Path) -> None:
    new = plan_of(tmp_path, SMALL.replace("h100-sxm", "b200"), "new.yaml")
    old = with_fact(plan_of(tmp_path, SMALL), "gpu", "h100-sxm", "memory_framework", 60 * 2**30)
    why = why_of(diff(old, new, saved=(True, False)), "max_concurrency")
    assert why.corrections[0] > 0 and why.bundles
    assert why.total == sum(b.share for b in why.bundles) + sum(why.corrections)


def test_a_card_that_left_the_catalog_keeps_its_figures(tmp_path: Path) -> None:
    text = json.dumps(saved.document(plan_of(tmp_path, SMALL))).replace("h100-sxm", "gone-card")
    old = saved.loads(text, "old")
    found = diff(old, plan_of(tmp_path, SMALL, "new.yaml"), saved=(True, False))
    assert "gpu gone-card is not in today's catalog: its saved figures stand" in found.warnings
    assert not any(d.marks[0] != "same" for d in found.deltas.values())


def test_own_metrics_ride_along(tmp_path: Path) -> None:
    old = resaved(plan_of(tmp_path, SMALL, metrics=own(tmp_path)))
    new = plan_of(tmp_path, SMALL.replace("h100-sxm", "b200"), "new.yaml")
    found = diff(old, new, saved=(True, False))
    assert set(found.only[0]) == {"cards_for_many", "pool_of_plan", "share_of_plan"}
    both = diff(old, plan_of(tmp_path, SMALL.replace("h100-sxm", "b200"), "new.yaml",
                             metrics=own(tmp_path)), saved=(True, False))  # fmt: skip
    assert why_of(both, "cards_for_many").bundles


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
    assert found.deltas["copy_bytes"].marks == ("changed",)


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


def many_inputs(folder: Path, count: int) -> tuple[Plan, Plan]:
    """Two plans that differ in so many own inputs, in four groups, and in nothing else."""
    groups = ("workload", "policy", "price", "hardware")
    fields = "".join(
        f"  own_{'abcdefghijklmnopqrstuvwxyz'[i]}: {{entity: plan, unit: '1', "
        f"driver: {groups[i % 4]}, label: Own {i}, meaning: Own}}\n"
        for i in range(count)
    )
    letters = "abcdefghijklmnopqrstuvwxyz"[:count]
    terms = " + ".join(f"own_{one} * own_{other}" for one, other in itertools.pairwise(letters))
    path = folder / "many.yaml"
    path.write_text(
        f"fields:\n{fields}metrics:\n  own_sum:\n    label: Own sum\n    unit: request\n"
        f"    better: up\n    why: Own.\n    source: {{title: Own}}\n"
        f"    formula: floor(({terms}) * batch)\n",
        "utf-8",
    )
    plans = []
    for name, base in (("old", 1.5), ("new", 2.25)):
        given = "".join(f"  own_{one}: {base + i / 8}\n" for i, one in enumerate(letters))
        text = SMALL.replace("name: small", f"name: {name}") + f"assumptions:\n{given}"
        plans.append(plan_of(folder, text, f"{name}.yaml", metrics=[path]))
    return plans[0], plans[1]


@pytest.mark.parametrize(("count", "exact"), [(12, True), (15, False)])
def test_above_twelve_drivers_groups_come_first(count: int, exact: bool, tmp_path: Path) -> None:
    found = compared(*many_inputs(tmp_path, count), why=("own_sum",))
    why = why_of(found, "own_sum")
    assert len(found.drivers) == count and why.exact is exact
    assert (why.mixtures == 2**count) is exact
    assert abs(why.residual) < 1e-9 and why.total
    for bundle in why.bundles:
        for part in bundle.parts:
            assert part.low <= part.share <= part.high
    if not exact:
        with pytest.raises(InputError, match="owen, for more than 12 drivers"):
            compared(found.sides.old, found.sides.new, why=("own_sum",), method="shapley")


def test_members_beyond_ten_of_one_group_are_taken_together(tmp_path: Path) -> None:
    old, new = many_inputs(tmp_path, 16)
    every = tuple(Driver(f"own_{c}", c, "policy", (f"own_{c}",)) for c in "abcdefghijklmnop")
    kept = merged(every)
    assert len(kept) == 10 and kept[-1].label == "7 other inputs"
    sides = Sides(old, new, old, new, ((0, 0),))
    (why,) = Explaining(sides, every, "owen", ()).run(["own_sum"], [0])
    assert abs(why.residual) < 1e-9 and why.bundles[0].parts[-1].share > 0


def test_every_figure_of_every_case_adds_up(tmp_path: Path) -> None:
    old = plan_of(tmp_path, TWO)
    text = TWO.replace("h100-sxm", "b200").replace("bf16, kv: bf16, compute: bf16",
                                                   "fp8, kv: fp8, compute: fp8")  # fmt: skip
    new = plan_of(tmp_path, text + "assumptions: {overhead: 4 GiB, reserve: 0.1}\n", "new.yaml")
    names = [n for n in explainable(new.metrics) if new.metrics.type_of(n).grain == 1]
    found = compared(old, new, why=tuple(names), top=None)
    divided = [w for w in found.whys if not w.refused]
    assert len(divided) > 150
    for why in divided:
        scale = max(abs(float(why.old or 0)), abs(float(why.new or 0)), 1e-300)
        assert abs(why.residual) <= 1e-9 * scale, why.metric
        for bundle in why.bundles:
            assert bundle.share == sum(p.share for p in bundle.parts)
            for part in bundle.parts:
                reached = any(new.metrics.depends(why.metric, f) for f in part.driver.fields)
                assert reached or (part.share, part.low, part.high) == (0, 0, 0)


def test_shares_agree_with_every_order_evaluated_one_by_one() -> None:
    """The vectorised pass against plans that are computed one at a time."""
    old, new = fleets()
    found = fleet_diff(method="sequential", order=("kv_format", "memory"))
    mixed = replace(old.cases[0], kv_format=new.cases[0].kv_format)
    inputs = replace(
        old.inputs, cases=(mixed,), facts={**old.inputs.facts, **new.inputs.facts}
    )  # fmt: skip
    first = compute(inputs, old.metrics).value("replica_requests")
    assert shares(why_of(found, "replica_requests"))["kv_format"] == float(first or 0) - 23


def test_options_have_plain_defaults() -> None:
    assert Options().method == "owen"
    assert 0 < Options().tolerance < 0.01
