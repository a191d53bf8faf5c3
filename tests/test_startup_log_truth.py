"""Identities of collected start-up logs, where the folder of figures is there."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.importers.startup_log import (
    BLOCKS,
    DERIVED,
    GROUPS,
    Observation,
    read_log,
    token_report,
)

GIB = 2**30


def collected(shared: Path) -> list[dict[str, Any]]:
    text = (shared / "data" / "truth" / "open.yaml").read_text("utf-8")
    return list(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["cases"])


def as_log(case: dict[str, Any]) -> Observation | None:
    """The lines that vLLM prints for the figures of a row."""
    seen = case["observed"]
    version = str(case["engine_version"]).split(" ")[0]
    lines = [f"Initializing a V1 LLM engine (v{version}) with config: model='a/b', seed=0"]
    if "kv_tokens" in seen:
        lines.append(f"GPU KV cache size: {seen['kv_tokens']:,} tokens")
    if "max_concurrency" in seen:
        at = seen["max_concurrency_at"]
        times = seen["max_concurrency"]
        lines.append(f"Maximum concurrency for {at:,} tokens per request: {times:.2f}x")
    if "gpu_blocks" in seen:
        lines.append(f"# GPU blocks: {seen['gpu_blocks']}, # CPU blocks: 512")
    if "kv_available_gib" in seen:
        lines.append(f"Available KV cache memory: {seen['kv_available_gib']} GiB")
    found = read_log("\n".join(lines))
    return found[0] if found else None


def test_identities_of_the_token_line(shared: Path) -> None:
    """How tokens, blocks, concurrency and length hang together, by kind of token line."""
    counts = dict.fromkeys((BLOCKS, GROUPS, DERIVED), 0)
    for case in collected(shared):
        kind, seen = case.get("token_report"), case["observed"]
        if kind is None or "kv_tokens" not in seen:
            continue
        block = case.get("block_size") or 16
        if kind == BLOCKS and "gpu_blocks" in seen:
            assert seen["gpu_blocks"] * block == seen["kv_tokens"], case["id"]
            counts[kind] += 1
        if "max_concurrency" not in seen:
            continue
        length, times = seen["max_concurrency_at"], seen["max_concurrency"]
        tokens = seen["kv_tokens"]
        counts[kind] += 1
        if kind == BLOCKS:
            assert tokens % block == 0, case["id"]
            exact = tokens / block / math.ceil(length / block)
            assert times == pytest.approx(exact, abs=0.0051), case["id"]
        elif kind == DERIVED:
            assert times == pytest.approx(tokens / length, abs=0.0051), case["id"]
        else:
            assert times > 1.5 * tokens / length, case["id"]
    assert min(counts.values()) >= 3, counts


def test_token_lines_of_collected_logs_are_told_apart(shared: Path) -> None:
    """The reading agrees with the row, or says that it cannot know."""
    told = 0
    for case in collected(shared):
        kind = case.get("token_report")
        seen = as_log(case) if kind and str(case["engine"]).startswith("vllm") else None
        if seen is None or seen.value("max_concurrency") is None:
            continue
        version = str(case["engine_version"])
        if not version[:1].isdigit() or version.startswith("20") or "/" in version:
            continue  # a date or a span of releases is no release
        found = token_report(seen)
        both_hold = kind == BLOCKS and found == DERIVED  # one group, since 0.21
        assert found in (kind, "") or both_hold, case["id"]
        told += found != ""
    assert told >= 10


def test_pools_of_collected_logs_by_the_rules(shared: Path) -> None:
    """Requested less what is taken is the pool; bytes by tokens is the figure derived by hand."""
    sums = rates = 0
    for case in collected(shared):
        seen, check = case["observed"], case.get("check") or {}
        if {"requested_gib", "total_non_kv_gib", "kv_available_gib"} <= set(seen):
            left = seen["requested_gib"] - seen["total_non_kv_gib"]
            assert seen["kv_available_gib"] == pytest.approx(left, abs=0.021), case["id"]
            sums += 1
        if {"requested_gib", "consumed_gib", "activation_gib"} <= set(seen):
            left = seen["requested_gib"] - seen["consumed_gib"] - seen["activation_gib"]
            assert seen["kv_available_gib"] == pytest.approx(left, abs=0.021), case["id"]
            sums += 1
        whole = case.get("token_report") == BLOCKS and check.get("verdict") == "agrees"
        if whole and "kv_available_gib" in seen:
            rate = seen["kv_available_gib"] * GIB / seen["kv_tokens"]
            assert rate == pytest.approx(check["hand_bytes_per_token_per_gpu"], rel=0.005)
            rates += 1
    assert sums >= 2 and rates >= 8
