"""Why a figure moved: nothing is made up, groups come first, every figure adds up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.command import SMALL
from support.diffs import (
    TWO,
    compared,
    fleet_diff,
    fleets,
    many_inputs,
    own,
    plan_of,
    shares,
    why_of,
)

from planner.diff_drivers import Driver
from planner.diff_why import Explaining, Sides, explainable, merged
from planner.errors import InputError
from planner.planning import Plan, compute


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
    assert "2 of 8 mixtures give no figure" in why.refused  # weights, memory, and kernels
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
    first = compute(inputs, old.metrics).value("slo_concurrency")
    assert shares(why_of(found, "slo_concurrency"))["kv_format"] == float(first or 0) - 23
