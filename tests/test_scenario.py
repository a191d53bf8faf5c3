"""A scenario file becomes cases: combined, dropped with a reason, each input with its origin."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import planner
from planner.errors import InputError
from planner.inputs import DROPS
from planner.planning import Plan

BASE: dict[str, Any] = {
    "name": "small",
    "title": "A small plan",
    "as_of": "2026-11-29",
    "models": ["qwen3-8b", "gemma-3-27b"],
    "gpus": ["h100-sxm", "l4"],
    "contexts": ["8192 tokens"],
    "workloads": [{"name": "chat", "prompt": "2048 tokens", "output": "512 tokens"}],
    "batches": [4, 16],
}


@pytest.fixture
def scenario(tmp_path: Path) -> Any:
    """Plans the base scenario with some keys changed (None takes a key away)."""

    def run(*settings: str, **changes: Any) -> Plan:
        data = {k: v for k, v in (BASE | changes).items() if v is not None}
        path = tmp_path / "small.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return planner.plan(path, settings=settings)

    return run


def problems(scenario: Any, *settings: str, **changes: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        scenario(*settings, **changes)
    return [str(one).split("\n")[0] for one in caught.value.problems]


# ---- combination ---------------------------------------------------------------------------------


def test_every_combination_of_the_lists_is_a_case_in_their_order(scenario: Any) -> None:
    plan = scenario()
    found = [(c.model, c.gpu, c.inputs["batch"]) for c in plan.cases]
    assert found == [
        (model, gpu, batch)
        for model in ("qwen3-8b", "gemma-3-27b")
        for gpu in ("h100-sxm", "l4")
        for batch in (4.0, 16.0)
    ]
    assert len({c.id for c in plan.cases}) == 8
    assert plan.inputs.dropped == {}


def test_one_value_may_stand_without_a_list(scenario: Any) -> None:
    plan = scenario(contexts="8192 tokens", batches=4, gpus="l4", models="qwen3-8b")
    assert len(plan.cases) == 1


def test_an_alias_and_a_published_name_are_the_same_model(scenario: Any) -> None:
    plan = scenario(models=["Qwen/Qwen3-8B", "qwen3-8b"], batches=4, gpus="l4")
    assert [c.model for c in plan.cases] == ["qwen3-8b"]


def test_native_weights_are_those_of_the_published_checkpoint(scenario: Any) -> None:
    plan = scenario(models=["qwen3-8b", "deepseek-v3"], gpus="h100-sxm", batches=1)
    assert [c.weight_format for c in plan.cases] == ["bf16", "fp8"]


def test_quantities_are_read_into_base_units(scenario: Any) -> None:
    plan = scenario(
        contexts="8 ktoken", workloads={"name": "w", "prompt": "1 ktoken", "output": "5 tokens"}
    )
    assert plan.cases[0].inputs["context"] == 8000
    assert plan.cases[0].inputs["prompt_tokens"] == 1000
    assert plan.cases[0].inputs["cached_tokens"] == 0


def test_the_order_of_a_scenario_changes_no_value(scenario: Any) -> None:
    lists = {
        "models": ["qwen3-8b", "gemma-3-27b", "qwen3-next-80b"],
        "gpus": ["h100-sxm", "l4", "b200"],
        "tp": [1, 2, 4],
        "batches": [4, 16, 64],
        "contexts": ["4096 tokens", "8192 tokens"],
    }
    plan = scenario(**lists)
    mixed = {k: random.Random(5).sample(v, len(v)) for k, v in lists.items()}
    assert mixed != lists
    other = scenario(**mixed)
    assert [c.id for c in other.cases] != [c.id for c in plan.cases]
    assert {c.id for c in other.cases} == {c.id for c in plan.cases}
    place = {c.id: i for i, c in enumerate(other.cases)}
    order = [place[c.id] for c in plan.cases]
    for metric in plan.metrics.metrics.values():
        if metric.variant:
            continue
        mine, theirs = plan.column(metric.name), other.column(metric.name)
        np.testing.assert_array_equal(mine, theirs[..., order], err_msg=metric.name)


# ---- what makes no sense is dropped --------------------------------------------------------------

DROPPED = [
    # Qwen3-8B has 32 query heads, Gemma-3-27B too: 3 divides neither.
    ({"tp": [1, 3], "batches": 4}, "tensor parallel size does not divide the query heads", 4),
    # An L4 has no fast link to a second one: eight in a host talk over PCIe, sixteen do not; nor
    # do sixteen H100, whose domain is eight.
    (
        {"tp": [8, 16], "batches": 4},
        "tensor parallel size exceeds one host and the scale-up domain",
        4,
    ),
    # Qwen3-8B was published for 40,960 tokens, Gemma-3-27B for 131,072.
    (
        {"contexts": ["8192 tokens", "65536 tokens"], "batches": 4},
        "context limit exceeds what the model was published for",
        2,
    ),
    # 2,048 + 512 tokens do not fit a limit of 2,048.
    (
        {"contexts": ["2048 tokens", "2560 tokens"], "batches": 4},
        "request is longer than the context limit",
        4,
    ),
    # Qwen3-8B has 36 layers, Gemma-3-27B has 62.
    (
        {"layouts": [{"tp": 1}, {"pp": 40}], "batches": 4},
        "more pipeline stages than layers",
        2,
    ),
    # Neither has experts.
    (
        {"layouts": [{"tp": 1}, {"dp": 2, "ep": 2}], "batches": 4},
        "expert parallel size is not a share of the ranks of a model with as many experts",
        4,
    ),
    # One rank cannot divide the tokens of its heads with another.
    (
        {"layouts": [{"tp": 1}, {"dcp": 2}], "batches": 4},
        "decode context parallel size does not suit the KV heads",
        4,
    ),
    # Neither has a module for further tokens, DeepSeek-V3 does.
    (
        {
            "draft": "mtp",
            "assumptions": {"speculative_tokens": 1},
            "batches": 4,
            "models": ["qwen3-8b", "gemma-3-27b", "deepseek-v3", "deepseek-r1"],
        },
        "model has no MTP module on record",
        4,
    ),
    # No GPU here computes in FP4.
    (
        {"precisions": [{}, {"compute": "fp4"}], "batches": 4},
        "GPU has no dense peak on record for the compute dtype",
        4,
    ),
]


@pytest.mark.parametrize(("changes", "reason", "count"), DROPPED, ids=[r for _, r, _ in DROPPED])
def test_a_combination_that_makes_no_sense_is_dropped_and_counted(
    scenario: Any, changes: dict[str, Any], reason: str, count: int
) -> None:
    plan = scenario(**changes)
    assert plan.inputs.dropped == {reason: count}
    # Two models on two GPUs, and two values of the list that matters; or four models.
    assert len(plan.cases) + count == 8


def test_every_reason_of_the_table_is_tried_here() -> None:
    assert {reason for _, reason, _ in DROPPED} == set(DROPS)


def test_what_is_unknown_drops_nothing() -> None:
    # A model without published heads, layers or context, a GPU without a published domain.
    plan = planner.plan(Path(__file__).parents[1] / "catalogs" / "scenarios" / "example.yaml")
    case, facts = plan.cases[0], dict(plan.inputs.facts)
    case = replace(case, inputs={**case.inputs, "tp": 2.0, "pp": 2.0, "ep": 2.0, "dcp": 2.0})
    model = ("q_heads", "max_context", "layers", "experts")
    none = {**dict.fromkeys(model, ("model", case.model)), "max_domain": ("gpu", case.gpu)}
    for name, key in none.items():
        fact = facts[key][name]
        facts[key] = {**facts[key], name: type(fact)(None, fact.unit, (), "", "", fact.span)}
    (group,) = plan.inputs.groups[case.model]
    heads = replace(group.facts["group_kv_heads"], value=None)
    groups = {case.model: (replace(group, facts={**group.facts, "group_kv_heads": heads}),)}
    assert [reason for reason, drops in DROPS.items() if drops(case, facts, groups)] == []


def test_when_nothing_is_left_the_reasons_are_the_message(scenario: Any) -> None:
    [found] = problems(scenario, contexts="1024 tokens")
    assert "found 8 x request is longer than the context limit" in found


# ---- assumptions and ladders ---------------------------------------------------------------------


def test_an_assumption_is_given_or_the_default_of_the_engine_and_says_which(scenario: Any) -> None:
    plan = scenario(assumptions={"overhead": "5 GiB"})
    assert plan.inputs.plan["overhead"] == 5 * 2**30
    given = plan.inputs.origins["overhead"]
    assert (given.kind, given.where) == ("given", "small.yaml:20:13")
    default = plan.inputs.origins["memory_utilization"]
    assert (default.kind, default.where) == ("default", "engine plain")
    assert default.note
    for name, entry in plan.metrics.fields.items():
        if entry.entity in ("case", "plan"):
            assert plan.inputs.origins[name].kind in ("given", "default"), name


def test_origins_name_the_line_of_a_list_and_no_folder(scenario: Any) -> None:
    plan = scenario()
    assert plan.inputs.origins["batch"].where == "small.yaml:16:1"
    assert plan.inputs.origins["tp"].where == "scenario default"
    assert not [one for one in plan.inputs.origins.values() if "/" in one.where]


def test_a_ladder_is_given_or_the_default_of_the_metrics_file(scenario: Any) -> None:
    assert scenario().inputs.ladders["context_ladder"][0] == 2048
    plan = scenario(context_ladder=["1024 tokens", "3000 tokens"])
    assert plan.inputs.ladders["context_ladder"] == (1024.0, 3000.0)
    assert plan.inputs.origins["context_ladder"].kind == "given"


# ---- settings ------------------------------------------------------------------------------------


def test_settings_are_put_over_the_file(scenario: Any) -> None:
    plan = scenario("batches=[8]", "overhead=1 GiB", "assumptions.reserve=0.1", "title=Other")
    assert {c.inputs["batch"] for c in plan.cases} == {8.0}
    assert plan.inputs.plan["overhead"] == 2**30
    assert plan.inputs.plan["reserve"] == 0.1
    assert plan.title == "Other"
    assert plan.inputs.origins["overhead"].where == "--set overhead=1 GiB"


@pytest.mark.parametrize(
    ("setting", "start"),
    [
        ("batches", "--set batches: expected key=value"),
        ("=3", "--set =3: expected key=value"),
        ("overhead=3", "--set overhead=3: assumptions.overhead: expected a number with a unit"),
        ("overhed=3 GiB", "--set overhed=3 GiB: assumptions.overhed: expected one of"),
        ("models=[a", "--set models=[a:1:1: expected"),
        ("models.first=a", "--set models.first=a: expected a key of the scenario"),
        ("models=&x a", "--set models=&x a:1:1: expected plain data"),
    ],
)
def test_a_setting_that_makes_no_sense_is_told_by_its_own_text(
    scenario: Any, setting: str, start: str
) -> None:
    [found] = problems(scenario, setting)
    assert found.startswith(start)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"models": ["qwen3-8c"]}, "a model of the catalog, found 'qwen3-8c'"),
        ({"gpus": ["h101"]}, "a GPU of the catalog, found 'h101'"),
        ({"engine": "fast"}, "an engine of the catalog, found 'fast'"),
        ({"precisions": {"kv": "int4"}}, "a KV format of the catalog, found 'int4'"),
        ({"precisions": {"weights": "int8-per-token-head"}}, "a weight format of the catalog"),
        ({"precisions": {"compute": "fp7"}}, "one of bf16, fp8, fp4, int8, found 'fp7'"),
        ({"contexts": 8192}, "a number with a unit such as 8192 tokens"),
        ({"contexts": "8192 GB"}, "a unit of token"),
        ({"contexts": "8192.5 tokens"}, "a whole number, found 8192.5 tokens"),
        (
            {"contexts": ["8192 tokens", "8,192 tokens"]},
            "each value once, found 8,192 tokens again",
        ),
        ({"batches": 0}, "at least 1, found 0"),
        ({"batches": True}, "found true"),
        ({"batches": -1}, "0 or more, found -1"),
        ({"batches": 1e15}, "less than 1e14"),
        ({"tp": [1, 1]}, "each value once, found 1 again"),
        ({"assumptions": {"memory_utilization": 90}}, "a value from 0.05 to 1, found 90"),
        ({"assumptions": {"memory_utilisation": 0.9}}, "the unknown key 'memory_utilisation'"),
        ({"assumptions": {"overhead": None}}, "a number with a unit such as 80 GB"),
        ({"models": []}, "at least 1 entry"),
        ({"models": None}, "a value, found no such key"),
        ({"as_of": "2026-02-30"}, "a day of the calendar"),
        ({"name": "A Plan"}, "name: expected"),
        ({"speed": 3}, "the unknown key 'speed'"),
        (
            {"workloads": {"name": "w", "prompt": "0 tokens", "output": "5 tokens"}},
            "at least 1 token",
        ),
    ],
)
def test_a_scenario_that_makes_no_sense_is_refused(
    scenario: Any, changes: dict[str, Any], expected: str
) -> None:
    [found] = problems(scenario, **changes)
    assert expected in found
    assert "small.yaml" in found


def test_all_problems_of_a_scenario_are_told_together(scenario: Any) -> None:
    found = problems(scenario, models=["nothing"], contexts=5, batches=0, engine="fast")
    assert len(found) == 4


def test_more_combinations_than_a_plan_holds_are_refused_before_they_are_made(
    scenario: Any,
) -> None:
    many = list(range(1, 400))
    [found] = problems(scenario, batches=many, contexts=[f"{n} tokens" for n in many])
    # 2 models x 2 GPUs x 399 contexts x 399 batches
    assert "at most 200,000 combinations, found 636,804" in found


def test_an_own_input_must_be_one_that_a_scenario_can_give(scenario: Any, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    entry = "label: L, meaning: M, unit: byte"
    rest = "unit: byte, label: L, why: W, source: {title: T}"
    for entity, message in (("model", "entity: plan"), ("case", "entity: plan"), ("plan", "")):
        own.write_text(
            f"fields: {{extra: {{entity: {entity}, {entry}}}}}\n"
            f"metrics: {{twice: {{formula: 2 * extra, {rest}}}}}\n",
            encoding="utf-8",
        )
        scenario(assumptions={"overhead": "1 GiB"})
        path = tmp_path / "small.yaml"
        settings = ["extra=3 GB"] if entity == "plan" else []
        if message:
            with pytest.raises(InputError, match=message):
                planner.plan(path, metrics=[own])
        else:
            plan = planner.plan(path, metrics=[own], settings=settings)
            assert plan.value("twice") == 6e9
