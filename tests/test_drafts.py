"""Drafts of speculative decoding: layers and weights that they add, and what cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import planner
from planner.catalog import Catalog
from planner.diff_restate import restated
from planner.drafts import MTP
from planner.errors import InputError
from planner.facts import NO_DRAFT
from planner.metrics import MetricSet
from planner.planning import Plan
from planner.saved import document, dumps, loads

GIB = 2**30
BASE: dict[str, Any] = {
    "name": "drafted",
    "title": "A plan with a draft",
    "as_of": "2026-11-29",
    "engine": "vllm-0.33",
    "gpus": ["h100-sxm"],
    "precisions": [{"weights": "bf16"}],
    "contexts": ["32768 tokens"],
    "workloads": [{"name": "chat", "prompt": "2048 tokens", "output": "512 tokens"}],
    "batches": [4],
}


@pytest.fixture
def drafted(tmp_path: Path) -> Any:
    """Plans models with a draft of so many tokens."""

    def run(models: list[str], draft: str, tokens: int = 3, **changes: Any) -> Plan:
        assumptions = {"speculative_tokens": tokens} | changes.pop("assumptions", {})
        data = (
            BASE
            | {"precisions": [{"weights": "bf16"}]}
            | changes
            | {"models": models, "assumptions": assumptions}
        )
        if draft:
            data["draft"] = draft
        path = tmp_path / "drafted.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return planner.plan(path)

    return run


# ---- the module of the model ---------------------------------------------------------------------


def test_a_published_log_with_an_mtp_module_to_the_last_token(drafted: Any) -> None:
    """Qwen3.6-27B over 2 GPUs, KV in int8 per token and head, 4 draft tokens, 11.1 GiB for KV.

    BENCHMARKS.md of noonghunna/club-3090, 2026-05-10: 605,495 tokens at 262,144 a request. By hand,
    of one rank: a state has (3 + 4) x 5,120 x 2 + 24 x 128 x 128 x 4 = 1,644,544 bytes, a token of
    a layer 2 x (512 + 8) = 1,040, so a block has 16 x ceil(1,644,544 / 16,640) = 1,584 tokens. 16
    layers of attention and that of the module make a group of 17, and so do the 48 states; 48 / 17
    is 3 groups, and each holds 2 + 4 states of a request.
    """
    plan = drafted(
        ["qwen3.6-27b"], MTP, 4, tp=[2], contexts=["262144 tokens"],
        precisions=[{"kv": "int8-per-token-head"}], assumptions={"prefix_caching": True},
    )  # fmt: skip
    assert plan.value("block_tokens") == 1584
    assert plan.value("block_bytes") == 17 * 1584 * 1040
    assert plan.value("request_blocks") == 166 + 3 * 6
    blocks = int(11.1 * GIB) // (17 * 1584 * 1040)
    assert int(blocks / 184 * 262144) == 605495


@pytest.mark.parametrize(
    ("model", "own", "layer"),
    [
        ("deepseek-v3", 61 * 1152, 1152),
        # The module of a model with sparse attention has an indexer of its own.
        ("deepseek-v3.2", 61 * (1152 + 132), 1152 + 132),
        # 21 of 78 layers own an indexer, and the module always does.
        ("glm-5.2", 78 * 1152 + 21 * 132, 1152 + 132),
        ("glm-4.5-air", 46 * 4096, 4096),
        # A module without compression keeps a window alone, whose tokens count like any other.
        ("deepseek-v4-flash", None, 1024),
    ],
)
def test_a_module_adds_layers_like_those_of_the_model(
    drafted: Any, model: str, own: int | None, layer: int
) -> None:
    plain, with_module = drafted([model], "", tp=[8]), drafted([model], MTP, tp=[8])
    before, after = (float(p.value("kv_per_token")) for p in (plain, with_module))
    assert own is None or before == own
    assert after - before == layer
    # Weights of the module, in the format of the model, over the ranks.
    params = plain.inputs.facts["model", model]
    assert params["params_draft"].value == 0
    added = with_module.inputs.facts["model", model]["params_draft"].value
    more = [float(p.value("weights_gpu")) for p in (plain, with_module)]
    assert more[1] - more[0] == pytest.approx(added * 2 / 8, abs=1)


def test_a_module_that_reads_caches_of_the_model_adds_none(drafted: Any) -> None:
    plain, with_module = (drafted(["gemma-4-31b"], draft, tp=[2]) for draft in ("", MTP))
    assert with_module.value("kv_per_token") == plain.value("kv_per_token")
    assert with_module.value("weights_gpu") is None  # weights of the assistant are not on record


def test_a_module_stands_in_the_last_stage(drafted: Any) -> None:
    layouts = [{"tp": 8, "pp": 2}]
    plain, with_module = (drafted(["deepseek-v3"], d, layouts=layouts) for d in ("", MTP))
    layers = [
        [p.value("stage_group_caches", stage=stage) for stage in (0, 1)]
        for p in (plain, with_module)
    ]
    assert layers == [[31, 30], [31, 31]]
    weights = [
        [float(p.value("stage_weights", stage=stage)) for stage in (0, 1)]
        for p in (plain, with_module)
    ]
    assert weights[0][0] == weights[1][0]
    assert weights[1][1] - weights[0][1] == pytest.approx(11_610_068_224 * 2 / 8, abs=1)


def test_a_model_without_a_module_is_left_out(drafted: Any) -> None:
    plan = drafted(["qwen3-8b", "qwen3.6-27b"], MTP)
    assert plan.inputs.dropped == {"model has no MTP module on record": 1}
    assert {case.model for case in plan.cases} == {"qwen3.6-27b"}


def test_draft_tokens_without_a_draft_model_add_no_layer(drafted: Any) -> None:
    plan = drafted(["qwen3.6-27b"], "", 3)  # drafted from the prompt, as n-grams
    assert plan.value("state_copies") == drafted(["qwen3.6-27b"], MTP, 3).value("state_copies")
    assert plan.inputs.groups["qwen3.6-27b"][1].facts["group_cache_layers"].value == 16


# ---- another model -------------------------------------------------------------------------------


def test_like_layers_of_a_draft_model_join_those_of_the_model(drafted: Any) -> None:
    # Qwen3-32B and Qwen3-0.6B have 8 KV heads of 128 elements in all 64 and 28 layers.
    plan = drafted(["qwen3-32b"], "qwen3-0.6b")
    assert len(plan.inputs.groups["qwen3-32b"]) == 1
    assert plan.value("kv_per_token") == (64 + 28) * 4096
    assert plan.value("group_kv_read_per_token") == 64 * 4096  # drafting itself is not planned
    plain = drafted(["qwen3-32b"], "")
    params = plan.inputs.facts["model", "qwen3-32b"]["params_draft"].value
    more = [float(p.value("weights_gpu")) for p in (plain, plan)]
    assert more[1] - more[0] == pytest.approx(params * 2, abs=1)


def test_a_draft_keeps_its_own_format(drafted: Any) -> None:
    plan, plain = (
        drafted(["qwen3-32b"], draft, precisions=[{"weights": "fp8"}])
        for draft in ("qwen3-0.6b", "")
    )
    added = float(plan.value("weights_gpu")) - float(plain.value("weights_gpu"))
    params = plan.inputs.facts["model", "qwen3-32b"]["params_draft"].value
    assert added == pytest.approx(params * 2, abs=1)


def test_other_layers_of_a_draft_model_have_a_group_of_their_own(drafted: Any) -> None:
    # Llama-3.2-1B keeps 8 heads of 64 elements in 16 layers, Llama-3.1-70B 8 of 128 in 80.
    plan = drafted(["llama-3.1-70b"], "llama-3.2-1b", tp=[4])
    groups = plan.inputs.groups["llama-3.1-70b"]
    assert [group.label for group in groups] == ["Full attention", "Draft: Full attention"]
    assert plan.value("kv_per_token") == 80 * 4096 + 16 * 2048
    # All layers keep the whole context, so that a block holds both side by side.
    assert plan.value("block_bytes") == 16 * (80 * 4096 + 16 * 2048) / 4
    layouts = [{"tp": 4, "pp": 2}]
    staged = drafted(["llama-3.1-70b"], "llama-3.2-1b", layouts=layouts)
    found = [
        [staged.value("stage_group_caches", slot=slot, stage=stage) for slot in (0, 1)]
        for stage in (0, 1)
    ]
    assert found == [[40, 0], [40, 16]]


def test_sources_of_a_draft_can_be_followed(drafted: Any) -> None:
    plan = drafted(["llama-3.1-70b"], "llama-3.2-1b", tp=[4])
    known = plan.inputs.sources["model", "llama-3.1-70b"]
    facts = plan.inputs.facts["model", "llama-3.1-70b"]
    draft = plan.inputs.groups["llama-3.1-70b"][1]
    used = {*facts["params_draft"].source, *facts["draft_element"].source}
    used |= {source for fact in draft.facts.values() for source in fact.source}
    assert used
    assert used <= known.keys()
    assert all(name.startswith("llama-3.2-1b: ") for name in used)
    assert plan.inputs.origins["speculative_tokens"].note == "drafted by Llama-3.2-1B-Instruct"


# ---- other engines -------------------------------------------------------------------------------


def test_slots_of_sglang_grow_by_the_layers_of_the_draft(drafted: Any) -> None:
    plan = drafted(["deepseek-v3"], MTP, engine="sglang-0.5", tp=[8])
    assert plan.value("stage_slot_bytes") == 62 * 1152


def test_states_of_draft_tokens_are_unknown_in_the_pool_of_sglang(drafted: Any) -> None:
    plan = drafted(["qwen3.6-27b"], MTP, engine="sglang-0.5", tp=[2])
    assert plan.value("state_slots") is None
    assert plan.value("max_concurrency") is None
    assert drafted(["qwen3.6-27b"], "", 0, engine="sglang-0.5", tp=[2]).value("state_slots")


# ---- saved plans ---------------------------------------------------------------------------------


def test_a_saved_plan_keeps_its_draft_under_todays_catalog(drafted: Any) -> None:
    for draft in (MTP, "qwen3-0.6b"):
        plan = loads(dumps(document(drafted(["qwen3.6-27b"], draft))), "saved.plan.json")
        found = restated(plan, MetricSet.load(), Catalog.open(), "old")
        assert found.facts == ()
        np.testing.assert_array_equal(found.plan.column("kv_per_token"),
                                      plan.column("kv_per_token"))  # fmt: skip


def without_drafts(plan: Plan) -> Plan:
    """The plan as a release would have made it that knew of no draft."""
    facts = {
        key: {name: fact for name, fact in found.items() if fact.note != NO_DRAFT}
        for key, found in plan.inputs.facts.items()
    }
    groups = {
        model: tuple(
            replace(g, facts={n: f for n, f in g.facts.items() if f.note != NO_DRAFT})
            for g in found
        )
        for model, found in plan.inputs.groups.items()
    }
    return replace(plan, inputs=replace(plan.inputs, facts=facts, groups=groups))


def test_a_plan_of_a_release_without_drafts_has_none(drafted: Any) -> None:
    plan = drafted(["qwen3.6-27b"], "", 0)
    old = without_drafts(plan)
    assert "params_draft" not in old.inputs.facts["model", "qwen3.6-27b"]
    for catalog in (None, Catalog.open()):
        found = restated(old, MetricSet.load(), catalog, "old")
        assert found.facts == ()
        assert found.plan.value("weights_gpu") == plan.value("weights_gpu")
        assert found.plan.value("kv_per_token") == plan.value("kv_per_token")


def test_a_draft_that_no_case_has_room_for_is_refused(drafted: Any) -> None:
    with pytest.raises(InputError) as caught:
        drafted(["deepseek-v4-flash"], "qwen3-0.6b", tp=[8])
    assert "at most 6, found 7 kinds of layers" in str(caught.value)
