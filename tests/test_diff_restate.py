"""What cannot be compared, and saved plans under today's formulas and catalog."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.command import SMALL
from support.diffs import OWN, compared, own, plan_of, resaved, why_of
from support.tools import REPOSITORY

from planner import saved
from planner.diff import diff
from planner.diff_gate import NotComparable
from planner.metrics import MetricSet
from planner.planning import Plan, compute


def test_another_memory_basis_stops(tmp_path: Path) -> None:
    folder = tmp_path / "catalog" / "engines"
    folder.mkdir(parents=True)
    shipped = (REPOSITORY / "catalogs/engines/plain.yaml").read_text("utf-8")
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


def test_answers_are_compared_where_both_plans_ask_for_them(tmp_path: Path) -> None:
    text, asked = SMALL, f"{SMALL}answers: true\n"
    plans = {
        (name, ask): plan_of(tmp_path, body.replace("h100-sxm", name), f"{name}{ask}.yaml")
        for name in ("h100-sxm", "b200") for ask, body in ((False, text), (True, asked))
    }  # fmt: skip
    both = compared(plans["h100-sxm", True], plans["b200", True])
    assert "smallest_change" in both.deltas
    one = compared(plans["h100-sxm", False], plans["b200", True])
    assert "smallest_change" not in one.deltas and "smallest_change" in one.only[1]
    assert one.deltas["max_concurrency"].changes == both.deltas["max_concurrency"].changes
    assert one.whys[0].residual == pytest.approx(0)
