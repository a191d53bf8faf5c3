"""Blocks, groups and the pool: reference answers beyond the table of rows, and what follows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.blocks import Slot, catalog, changed, printed_tokens, run, slot
from support.command import SMALL
from support.tools import REPOSITORY

import planner
from planner.engine import Columns
from planner.errors import InputError
from planner.planning import Plan

GDN = {"k_head_dim": 128, "v_head_dim": 128, "conv_kernel": 4, "conv_dtype": 2}
QWEN35 = (
    slot("full_attention", 16, kv_heads=4, head_dim=256),
    slot("gdn", 48, k_heads=16, v_heads=48, state_dtype=4, **GDN),
)
V32 = (
    slot("mla", 61, kv_lora_rank=512, qk_rope_head_dim=64, index_topk=2048),
    slot("index_key", 61, index_heads=64, index_head_dim=128, key_bytes=132),
)
SCOUT = (
    slot("chunked_local", 36, kv_heads=8, head_dim=128, chunk=8192),
    slot("full_attention", 12, kv_heads=8, head_dim=128),
)
KIMI = (
    slot("mla", 7, kv_lora_rank=512, qk_rope_head_dim=64),
    slot("kda", 20, k_heads=32, v_heads=32, state_dtype=4, **GDN),
)
# The last 15 of the 35 layers read the caches of earlier ones.
GEMMA3N = (
    slot("sliding_window", 28, kv_heads=2, head_dim=256, window=512, shared_layers=12),
    slot("full_attention", 7, kv_heads=2, head_dim=256, shared_layers=3),
)
WHISPER = (
    slot("full_attention", 32, kv_heads=20, head_dim=64),
    slot("cross_attention", 32, kv_heads=20, head_dim=64, tokens=1500),
)

# Reference answers: slots, context, format, GiB, caching; block, groups, bytes per block, blocks,
# blocks per request, printed tokens, concurrency to four decimals.
Answer = tuple[int, int, int, int, int, int, float]
RUNS: dict[str, tuple[tuple[Slot, ...] | str, int, str, int, str, Answer]] = {
    "Qwen3-8B": ("qwen3-8b", 40960, "bf16", 40, "none",
                 (16, 1, 2359296, 18204, 2560, 291264, 7.1109)),
    "gpt-oss-20b": ("gpt-oss-20b", 131072, "bf16", 40, "none",
                    (16, 2, 393216, 109226, 1033 + 8192, 1551920, 11.8402)),
    "Gemma-3-27B": ("gemma-3-27b", 131072, "bf16", 40, "none",
                    (16, 7, 1310720, 32768, 8192 + 6 * 1089, 291658, 2.2252)),
    "Qwen3-Next-80B": ("qwen3-next-80b", 262144, "bf16", 40, "none",
                       (544, 4, 13369344, 3212, 482 + 3, 1736095, 6.6227)),
    "Qwen3-Next-80B, align": ("qwen3-next-80b", 262144, "bf16", 40, "align",
                              (544, 4, 13369344, 3212, 482 + 6, 1725423, 6.5820)),
    "Qwen3.5-27B": (QWEN35, 262144, "bf16", 40, "none",
                    (784, 4, 51380224, 835, 335 + 3, 647604, 2.4704)),
    "DeepSeek-V3": ("deepseek-v3", 163840, "bf16", 40, "none",
                    (64, 1, 4497408, 9549, 2560, 611136, 3.7301)),
    "DeepSeek-V4-Flash": ("deepseek-v4-flash", 1048576, "ds-v4", 40, "none",
                          (256, 5, 1002240, 42853, 4096 + 2 * 259 + 4099 + 2065, 4169106, 3.9760)),
    "DeepSeek-V4-Pro": ("deepseek-v4-pro", 1048576, "ds-v4", 40, "none",
                        (256, 5, 1435968, 29909, 4096 + 2 * 259 + 4099 + 2065, 2909803, 2.7750)),
    "DeepSeek-V3.2": (V32, 163840, "fp8-ds-mla", 40, "none",
                      (64, 1, 3076352, 13961, 2560, 893504, 5.4535)),
    "Llama-4-Scout": (SCOUT, 1048576, "bf16", 40, "none",
                      (16, 4, 786432, 54613, 3 * 1536 + 65536, 816404, 0.7786)),
    "Kimi-Linear-48B, align": (KIMI, 1048576, "bf16", 40, "align",
                               (1920, 4, 15482880, 2774, 547 + 6, 5259945, 5.0163)),
    "Gemma-3n-E4B": (GEMMA3N, 32768, "bf16", 8, "none",
                     (16, 5, 131072, 65536, 4 * 1057 + 2048, 342173, 10.4423)),
    "Whisper-large-v3": (WHISPER, 448, "fp16", 8, "none",
                         (16, 2, 2621440, 3276, 28 + 94, 12029, 26.8525)),
}  # fmt: skip


@pytest.mark.parametrize("word", RUNS)
def test_reference_answers(word: str) -> None:
    model, context, kv, gib, mode, wanted = RUNS[word]
    slots = catalog(model) if isinstance(model, str) else model
    columns = run(slots, context, kv, gib, mode)
    names = ("block_tokens", "groups_in_pool", "block_bytes", "pool_blocks", "request_blocks")
    assert tuple(int(columns[n][0]) for n in names) == wanted[:5]
    blocks, per_request = float(columns["pool_blocks"][0]), float(columns["request_blocks"][0])
    assert printed_tokens(blocks, per_request, context) == wanted[5]
    assert float(columns["pool_concurrency"][0]) == pytest.approx(wanted[6], abs=5e-5)


def test_a_latent_that_would_have_to_be_padded_is_unknown() -> None:
    mixed = (KIMI[0], slot("sliding_window", 21, kv_heads=3, head_dim=100, window=512))
    assert np.isnan(run(mixed, 32768)["block_bytes"]).all()


def test_tensor_parallelism_splits_state_heads_and_channels() -> None:
    # Qwen3-Next-80B over 2 ranks: 3 x 4,096 x 2 + 16 x 128 x 128 x 2 = 548,864 of 1,097,728 bytes,
    # and one KV head of 256 + 256 elements, 1,024 bytes a token: 16 x ceil(548,864 / 16,384).
    columns = run(catalog("qwen3-next-80b"), 262144, tp=2)
    assert sorted(columns["layer_state_bytes"][:, 0])[-1] == 548864
    assert columns["block_tokens"][0] == 544


def test_state_groups_that_do_not_divide_are_raised_to_the_ranks() -> None:
    shape = {"head_dim": 64, "state_size": 128, "conv_kernel": 4, "conv_dtype": 2, "state_dtype": 2}
    for groups, tp, channels in ((8, 4, 6144 / 4), (1, 4, (4096 + 2 * 4 * 128) / 4)):
        mamba = (slot("mamba2", 10, heads=64, groups=groups, **shape),)
        columns = run(mamba, 8192, tp=tp)
        state = 64 / tp * 64 * 128 * 2
        assert columns["layer_state_bytes"][0, 0] == 3 * channels * 2 + state


# ---- stages, context parallelism, drafts ---------------------------------------------------------


def test_context_parallelism_divides_tokens_before_blocks() -> None:
    # 163,841 tokens over 8 ranks: 20,481 each, 321 blocks of 64; one block holds 8 x 64 tokens.
    columns = changed(catalog("deepseek-v3"), 163841, dcp=np.asarray([8.0]))
    assert columns["request_blocks"][0] == 321
    assert columns["block_bytes"][0] == 4497408


def test_stages_share_the_groups_and_the_smallest_binds() -> None:
    # Qwen3-Next in 2 stages: 6 attention and 18 GDN layers each, dealt to 1 + 3 groups.
    [full] = [s for s in catalog("qwen3-next-80b") if not s["group_window"] and s["group_kv_heads"]]
    [state] = [s for s in catalog("qwen3-next-80b") if s["group_state_heads"]]
    pools = np.asarray([40.0, 30.0]) * 2**30
    columns = changed(
        (full, state), 262144, pp=[2.0], stage_index=np.asarray([0.0, 1.0])[:, None, None],
        stage_pool=pools[:, None, None], tp=[1.0],
    )  # fmt: skip
    assert columns["stage_block_bytes"][:, 0, 0].tolist() == [6684672, 6684672]
    assert columns["groups_in_pool"][0] == 4
    assert columns["pool_blocks"][0] == 30 * 2**30 // 6684672
    assert columns["tokens_in_flight"][0] == 2 * 8192
    assert changed((full, state), 4096, pp=[4.0])["tokens_in_flight"][0] == 4 * 8192


def test_the_widest_group_of_a_stage_follows_from_dealing_in_turn() -> None:
    # Gemma-3-27B in 2 stages of 31: 26 + 5 layers each, 6 groups of windows and 1 of full layers:
    # at most 5 of the 26 stand in one group, and 5 full ones.
    columns = changed(
        catalog("gemma-3-27b"), 131072, pp=[2.0], tp=[1.0],
        stage_index=np.asarray([0.0, 1.0])[:, None, None],
        stage_pool=np.full((2, 1, 1), 40 * 2.0**30),
    )  # fmt: skip
    assert columns["stage_group_caches"].sum(axis=1)[:, 0].tolist() == [31, 31]
    page = 16 * 16 * 128 * 2 * 2
    full = columns["stage_group_caches"].min(axis=1, where=columns["kind_groups"] > 0, initial=99)
    for stage, bytes_of in enumerate(columns["stage_block_bytes"][:, 0, 0]):
        windows = 31 - full[stage, 0]
        assert bytes_of == page * max(-(-windows // 6), full[stage, 0])


def test_draft_tokens_add_copies_and_columns_of_states() -> None:
    # S = 2: conv 5 x 8,192 x 2 + 1,048,576 = 1,130,496; the block grows to 16 x 35 = 560 tokens.
    columns = changed(catalog("qwen3-next-80b"), 262144, tp=[1.0], speculative_tokens=2.0)
    assert columns["layer_state_bytes"].max() == 1130496
    assert columns["block_tokens"][0] == 560
    assert columns["request_blocks"][0] == 469 + 3 * 3


# ---- steady decode, the withheld block, the verdict ----------------------------------------------


def test_steady_decode_drops_what_prefill_in_flight_reserves() -> None:
    columns = run(catalog("gemma-3-27b"), 131072)
    assert columns["request_blocks"][0] * columns["block_bytes"][0] == 19301662720
    assert columns["request_blocks_decode"][0] == 8192 + 6 * 65
    assert columns["pool_concurrency_decode"][0] == (32768 - 1) / 8582
    dense = run(catalog("qwen3-8b"), 40960)
    assert dense["request_blocks_decode"][0] == dense["request_blocks"][0]


def test_a_window_saves_nothing_within_the_tokens_in_flight() -> None:
    columns = run(catalog("gemma-3-27b"), 16384)
    # ceil(min(17,407, 16,384) / 16) + 1, one block more than a layer without a window.
    assert columns["request_blocks"][0] == 1024 + 6 * 1025


def planned(folder: Path, *changes: tuple[str, str]) -> Plan:
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "s.yaml"
    path.write_text(text, "utf-8")
    return planner.plan(path, settings=["engine=vllm-0.33"])


def test_the_withheld_block_decides_at_the_edge(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    held, blocks = plan.value("request_blocks"), plan.value("pool_blocks")
    most = plan.value("max_concurrency")
    assert isinstance(held, float) and isinstance(blocks, float) and isinstance(most, float)
    assert most == (blocks - 1) // held
    metrics, given = plan.metrics, plan.inputs.columns(plan.metrics)
    per_block = float(plan.value("block_bytes") or 0)
    batch = float(plan.cases[0].inputs["batch"])
    for spare, verdict in ((0, "fits"), (-1, "does not fit")):
        pool = (batch * held + 1) * per_block + spare
        edge = Columns(metrics, given | {
            "stage_pool": np.full((1, 1, len(plan.cases)), pool),
            "stage_left": np.full((1, 1, len(plan.cases)), pool),
        })  # fmt: skip
        words = metrics.type_of("verdict").words
        assert words[int(edge["verdict"][0])] == verdict
        assert edge["stage_spare"][0, 0, 0] == spare
        assert edge["max_concurrency"][0] == batch - (spare < 0)


def test_the_reserve_of_policy_comes_off_the_blocks(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SMALL, "utf-8")
    with_reserve = planner.plan(path, settings=["engine=vllm-0.33", "reserve=0.5"])
    without = planner.plan(path, settings=["engine=vllm-0.33"])
    whole, half = (float(p.value("pool_blocks") or 0) for p in (without, with_reserve))
    assert half == pytest.approx(whole / 2, abs=1)


# ---- engines -------------------------------------------------------------------------------------


def of_engine(folder: Path, engine: str, model: str, *settings: str) -> Plan:
    path = folder / "s.yaml"
    path.write_text(SMALL, "utf-8")
    return planner.plan(
        path, settings=[f"engine={engine}", f"models=[{model}]", "tp=[8]", *settings]
    )


def test_engines_that_cover_no_windows_or_states_say_unknown(tmp_path: Path) -> None:
    plan = of_engine(tmp_path, "vllm-v0", "qwen3-next-80b")
    assert plan.value("verdict") == "unknown"
    assert plan.value("max_concurrency") is None


def test_early_releases_keep_the_whole_context_in_every_layer(tmp_path: Path) -> None:
    early = of_engine(tmp_path, "vllm-0.8-0.9", "gemma-3-27b")
    late = of_engine(tmp_path, "vllm-0.33", "gemma-3-27b")
    assert early.value("groups_in_pool") == 1 and late.value("groups_in_pool") == 7
    context = float(early.cases[0].inputs["context"])
    assert early.value("request_blocks") == -(-context // 16)
    # All 62 layers side by side in a block: 2 heads a rank, 128 + 128 elements, 2 bytes.
    assert early.value("block_bytes") == 62 * 16 * 2 * 256 * 2


def test_the_window_reservation_changed_between_releases(tmp_path: Path) -> None:
    flights = {
        engine: of_engine(tmp_path, engine, "gemma-3-27b").value("tokens_in_flight")
        for engine in ("vllm-0.11-0.16", "vllm-0.21-0.32", "vllm-0.33")
    }
    assert flights == {"vllm-0.11-0.16": 8192, "vllm-0.21-0.32": 8192, "vllm-0.33": 16384}


def test_token_lines_by_release(tmp_path: Path) -> None:
    blocks = {}
    for engine in ("vllm-0.17-0.20", "vllm-0.21-0.32"):
        plan = of_engine(tmp_path, engine, "qwen3-next-80b", "overhead=3 GiB")
        blocks[engine] = plan
    old, new = blocks.values()
    pool, per_block = float(old.value("pool_blocks") or 0), float(old.value("block_tokens") or 0)
    assert old.value("pool_blocks") == new.value("pool_blocks")
    assert old.value("pool_tokens") == pool // 4 * per_block
    context = float(new.cases[0].inputs["context"])
    assert new.value("pool_tokens") == pytest.approx(
        float(new.value("pool_concurrency") or 0) * context
    )
    sglang = of_engine(tmp_path, "sglang-0.5", "qwen3-8b")
    assert sglang.value("pool_tokens") == float(sglang.value("kv_pool") or 0) // 18432


def test_a_share_of_what_is_free(tmp_path: Path) -> None:
    plan = of_engine(tmp_path, "tensorrt-llm", "qwen3-8b")
    total, weights = (float(plan.value(n) or 0) for n in ("memory_total", "weights_gpu"))
    free = total - weights - 2.5 * 2**30
    assert plan.value("kv_pool") == pytest.approx(free * 0.9, abs=1)
    assert plan.value("memory_outside") == pytest.approx(free * 0.1, abs=1)
    assert plan.value("ledgers_add_up") is True
    full = of_engine(tmp_path, "tensorrt-llm", "qwen3-8b", "overhead=100 GiB")
    assert float(full.value("memory_spare") or 0) < 0
    assert full.value("verdict") == "does not fit"


def test_plan_inputs_take_flags_and_refuse_other_words(tmp_path: Path) -> None:
    on = of_engine(tmp_path, "vllm-0.33", "qwen3-next-80b", "prefix_caching=true")
    off = of_engine(tmp_path, "vllm-0.33", "qwen3-next-80b", "prefix_caching=false")
    assert (on.value("state_copies"), off.value("state_copies")) == (2, 1)
    assert (on.value("prefix_caching"), off.value("prefix_caching")) == (True, False)
    with pytest.raises(InputError, match="true or false"):
        of_engine(tmp_path, "vllm-0.33", "qwen3-8b", "prefix_caching=maybe")


def test_an_engine_entry_without_the_figures_of_its_rule_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "engines").mkdir()
    text = (REPOSITORY / "catalogs/engines/plain.yaml").read_text("utf-8")
    lines = [
        line.replace("value: plain", "value: groups") if line.startswith("block_rule") else line
        for line in text.replace("id: plain", "id: bare").splitlines()
        if not line.startswith(("null_block", "latent"))
    ]
    (tmp_path / "engines" / "bare.yaml").write_text("\n".join(lines), "utf-8")
    path = tmp_path / "s.yaml"
    path.write_text(SMALL, "utf-8")
    plan = planner.plan(path, catalogs=[tmp_path], settings=["engine=bare"])
    assert plan.value("verdict") == "unknown"
