"""Token slots: SGLang's pools of tokens, windows and states, and its default static share."""

from __future__ import annotations

from math import floor
from pathlib import Path

import pytest
from support.command import SMALL

import planner
from planner.planning import Plan

GIB = 2**30
MIB = 2**20


def plan(tmp_path: Path, *settings: str) -> Plan:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, "utf-8")
    return planner.plan(path, settings=["engine=sglang-0.5", *settings])


def number(made: Plan, name: str) -> float:
    value = made.value(name)
    assert isinstance(value, float), name
    return value


@pytest.mark.parametrize(
    ("gpu", "tp", "tokens", "gib"),
    [
        ("h100-sxm", 1, 8192, (512 + 1.5 * 8192 + 128) / 1024),
        ("h100-sxm", 4, 8192, (512 + 1.5 * 8192 + 4 * 128) / 1024),
        ("h100-sxm", 1, 1024, 10),  # the floor of a card of more than 60 GiB
        ("l4", 1, 1024, (512 + 1.5 * 2048 + 128) / 1024),
    ],
)
def test_the_static_share_follows_card_chunk_and_ranks(
    tmp_path: Path, gpu: str, tp: int, tokens: int, gib: float
) -> None:
    made = plan(tmp_path, f"gpus=[{gpu}]", f"tp=[{tp}]", f"batched_tokens={tokens} tokens")
    assert number(made, "static_reserved") / GIB == pytest.approx(gib)
    total = number(made, "memory_total")
    assert number(made, "memory_share") == pytest.approx(1 - gib * GIB / total)
    given = plan(tmp_path, "memory_utilization=0.93")
    assert number(given, "memory_share") == 0.93


def test_one_kind_divides_the_pool_by_the_bytes_of_a_token(tmp_path: Path) -> None:
    made = plan(tmp_path, "memory_utilization=0.9")
    pool = number(made, "kv_pool")
    assert number(made, "pool_slots") == pool // 147456 == number(made, "pool_tokens")
    assert number(made, "max_concurrency") == pool // 147456 // 16384
    assert made.value("state_slots") is None


def test_windows_have_a_pool_of_their_own(tmp_path: Path) -> None:
    """gpt-oss-20b: 12 layers of each kind, 2,048 bytes a token, window of 128, ratio 0.8."""
    made = plan(tmp_path, "models=[gpt-oss-20b]", "memory_utilization=0.9")
    slots = floor(number(made, "kv_pool") / (12 * 2048 + 0.8 * 12 * 2048))
    assert number(made, "pool_slots") == slots
    whole, windows = slots / 16384, 0.8 * slots / (128 + 1)
    assert number(made, "max_concurrency") == floor(min(whole, windows))
    # Short requests: the window pool holds fewer of them than the other.
    short = plan(
        tmp_path, "models=[gpt-oss-20b]", "memory_utilization=0.9", "contexts=[128 tokens]",
        "workloads=[{name: w, prompt: 64 tokens, output: 64 tokens}]",
    )  # fmt: skip
    assert number(short, "max_concurrency") == floor(0.8 * slots / 129) < slots // 128


@pytest.mark.parametrize(("caching", "copies"), [("true", 3), ("false", 1)])
def test_states_take_a_share_and_slots(tmp_path: Path, caching: str, copies: int) -> None:
    """Qwen3-Next-80B: 36 GDN layers in 32 bit, whatever the model says; q = 0.9."""
    made = plan(
        tmp_path, "models=[qwen3-next-80b]", "gpus=[b200]", "memory_utilization=0.95",
        f"prefix_caching={caching}",
    )  # fmt: skip
    state = 36 * (3 * 8192 * 2 + 32 * 128 * 128 * 4)
    pool = number(made, "kv_pool")
    budget = floor(pool * 0.9 / 1.9)
    assert number(made, "state_slots") == budget // state - 1
    assert number(made, "pool_slots") == floor((pool - budget) / (12 * 2048))
    by_states = (budget // state - 1) / copies
    by_tokens = floor((pool - budget) / (12 * 2048)) / 16384
    assert number(made, "max_concurrency") == floor(min(by_states, by_tokens))


def test_the_verdict_turns_where_the_slots_end(tmp_path: Path) -> None:
    base = ("models=[qwen3-next-80b]", "gpus=[b200]", "memory_utilization=0.95")
    most = int(number(plan(tmp_path, *base), "max_concurrency"))
    assert plan(tmp_path, *base, f"batches=[{most}]").value("verdict") == "fits"
    assert plan(tmp_path, *base, f"batches=[{most + 1}]").value("verdict") == "does not fit"
