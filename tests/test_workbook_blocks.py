"""The block rule live in the workbook: drop-downs, flags and the engine's own words."""

from __future__ import annotations

import functools

import pytest
from support.recalc import recalculate_formualizer
from support.workbook import FIRST, Made, edited, engine_plan, few, make, other_cases, shipped
from support.xlsx import Value, is_error
from test_workbook_edits import case_changes, check_lights, compare

MODELS = ("qwen3-8b", "gpt-oss-20b", "gemma-3-27b", "qwen3-next-80b", "deepseek-v3")
FIGURES = ("pool_blocks", "block_bytes", "block_tokens", "groups_in_pool", "request_blocks",
           "request_blocks_decode", "pool_concurrency", "pool_concurrency_decode", "pool_tokens",
           "max_concurrency", "memory_spare")  # fmt: skip


@functools.cache
def start_up(*settings: str) -> Made:
    return make(engine_plan("vllm-start-up", *settings), offers=few())


def test_the_shipped_plan_holds_every_kind_of_cache() -> None:
    assert {case.model for case in start_up().plan.cases} == set(MODELS)


@pytest.mark.parametrize(
    "edit",
    [
        {0: {"model": "qwen3-next-80b"}},
        {0: {"model": "gemma-3-27b"}, 2: {"model": "qwen3-8b"}},
        {1: {"model": "deepseek-v3", "tp": 8.0}, 4: {"context": 65536.0}},
        {0: {"kv_format": "fp8"}},
    ],
    ids=["dense to hybrid", "windows", "latents and context", "fp8"],
)
def test_a_drop_down_changes_blocks_as_the_engine_does(edit: dict[int, dict[str, object]]) -> None:
    made = start_up()
    known = engine_plan(
        "vllm-start-up", "precisions=[{weights: native, kv: bf16}, {weights: native, kv: fp8}]"
    )
    if any("kv_format" in change for change in edit.values()):
        made = make(known, offers=few())
    found = compare(made, case_changes(made, edit), other_cases(made.plan, edit, known))
    check_lights(made, found, 0, len(edit))


def test_flags_and_counts_of_the_engine_are_live() -> None:
    """Prefix caching, batched tokens and draft tokens: assumptions of the whole plan."""
    made = start_up()
    changes: dict[tuple[str, str], Value] = {
        made.named("in_prefix_caching"): False,
        made.named("in_batched_tokens"): 2048.0,
        made.named("in_speculative_tokens"): 2.0,
    }
    plan = engine_plan(
        "vllm-start-up",
        "prefix_caching=false",
        "batched_tokens=2048 tokens",
        "speculative_tokens=2",
    )
    found = compare(made, changes, plan)
    check_lights(made, found, 3, 0)


def test_the_rule_itself_is_a_word_that_can_be_changed() -> None:
    """From plain to groups in the shipped example: its blocks appear, and the plan follows."""
    made = shipped()
    words = {"engine_block_rule": "groups", "engine_token_line": "derived"}
    found = recalculate_formualizer(
        edited(made, {made.named(f"in_{name}"): word for name, word in words.items()})
    )
    groups = engine_plan("example", "engine=vllm-0.33", "memory_utilization=0.9", "overhead=3 GiB")
    sheet = "KV blocks"
    for name in FIGURES:
        label = made.plan.metrics.label_of(name)
        for case in range(len(made.plan.cases)):
            if name in ("max_concurrency", "memory_spare"):
                value = found[made.case_cell(label, case)]
            else:
                value = found[sheet, f"{made.headings(sheet)[label]}{FIRST + case}"]
            wanted = groups.value(name, case)
            if wanted is None:
                assert is_error(value), (name, case)
            else:
                assert value == pytest.approx(wanted, rel=1e-9), (name, case)
