"""The accuracy report on logs: rows of our own for each quantity, and the collected logs."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.shared import shared_folder
from support.tools import REPOSITORY

sys.path.append(str(REPOSITORY / "benchmarks"))

import accuracy_logs
import accuracy_score
from accuracy_cases import GIB, Cases, UnscorableError
from accuracy_constants import without
from accuracy_names import forms, plain

ALL = sorted(set(accuracy_score.SCORED_AS.values()))


@cache
def cases() -> Cases:
    return Cases()


def row(**changes: Any) -> dict[str, Any]:
    """One start of Qwen3-8B: 147,456 bytes a token, 16.38 GB of weights."""
    pool = 20.25
    blocks = int(pool * GIB / 147_456 / 16)
    observed = {"kv_available_gib": pool, "kv_tokens": blocks * 16, "weights_gib": 15.26,
                "max_concurrency": round(blocks / 512, 2), "max_concurrency_at": 8192}  # fmt: skip
    return {
        "id": "own", "kind": "dense-gqa", "date": "2026-01", "engine": "vllm",
        "engine_version": "0.19.0", "model": "Qwen/Qwen3-8B", "model_quant": "none (bf16)",
        "kv_cache_dtype": "auto (bf16)", "gpu": "H100-80GB", "gpu_count": 1, "tp": 1, "pp": 1,
        "dp": 1, "max_model_len": 8192, "gpu_memory_utilization": 0.9, "speculative": None,
        "observed": observed, "token_report": "blocks_x_block_size", "check": None,
        "score_on": ALL, "log_trust": "ok", "notes": "", **changes,
    }  # fmt: skip


def scored(quantity: str, **changes: Any) -> accuracy_score.Score:
    (found,) = accuracy_logs.score([row(**changes)], cases()).of(quantity)
    return found


def skipped(**changes: Any) -> dict[str, str]:
    result = accuracy_logs.score([row(**changes)], cases())
    return {quantity: why for _, quantity, why in result.skipped}


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Qwen3.6-27B (AutoRound int4)", "qwen3.6-27b"),
        ("Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b"),
        ("meta-llama/Meta-Llama-3.1-405B-Instruct-FP8", "llama-3.1-405b"),
        ("Intel/Qwen3-Next-80B-A3B-Instruct-int4-mixed-AutoRound", "qwen3-next-80b"),
        ("DeepSeek-R1-0528", "deepseek-r1"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3.2"),
        ("Llama-3.1-8B class (14.97 GiB bf16)", "llama-3.1-8b"),
        ("cyankiwi/gemma-4-31B-it-AWQ-4bit", "gemma-4-31b"),
        ("somebody/Qwen3-8B-GPTQ-Int4", "qwen3-8b"),
        ("Qwen3.x 27B class", None),
        ("not stated", None),
        ("", None),
    ],
)
def test_names_of_models_are_bent_until_the_catalog_has_them(name: str, model: str | None) -> None:
    assert cases().names.model(name) == model


def test_every_entry_is_found_under_its_own_names() -> None:
    for record in cases().catalog.all("model"):
        assert cases().names.model(record.id) == record.id
        assert cases().names.model(record.label) == record.id


def test_shorter_forms_end() -> None:
    assert list(forms("Owner/X-Instruct-FP8 (note)")) == ["x-instruct-fp8", "x-instruct", "x"]
    assert plain("RTX PRO 6000") == "rtx-pro-6000"


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("H100-80GB (79.18 GiB usable)", "h100-sxm"),
        ("H100 NVL 94GB (NC80)", "h100-nvl"),
        ("A100-40GB", "a100-sxm-40"),
        ("A100-80GB", "a100-sxm-80"),
        ("V100-16GB", "v100-sxm-16"),
        ("V100-32GB", "v100-sxm-32"),
        ("DGX Spark GB10 (121.63 GiB)", "gb10"),
        ("GH200 96GB", "gh200-96"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090"),
        ("24 GB class (23.50 GiB)", None),
        ("A100", None),
        (None, None),
    ],
)
def test_names_of_cards_respect_the_stated_size(name: str | None, gpu: str | None) -> None:
    assert cases().names.gpu(name) == gpu


@pytest.mark.parametrize(
    ("text", "keys", "values", "latent_only"),
    [
        ("auto (bf16)", "bf16", "bf16", False),
        ("auto (fp32)", "fp32", "fp32", False),
        ("fp8_e5m2", "fp8", "fp8", False),
        ("fp8 (fp8_ds_mla)", "fp8-ds-mla", "fp8-ds-mla", False),
        ("fp8 (656 B/token/layer layout)", "fp8-ds-mla", "fp8-ds-mla", False),
        ("K q8_0 / V f16", "q8-0", "fp16", False),
        ("K f16 / V -", "fp16", "fp16", True),
        ("turboquant 3-bit", "turboquant-3bit", "turboquant-3bit", False),
    ],
)
def test_kv_formats(text: str, keys: str, values: str, latent_only: bool) -> None:
    found = cases().names.kv(text)
    assert found is not None
    assert (found.keys, found.values, found.latent_only) == (keys, values, latent_only)


@pytest.mark.parametrize("text", [None, "", "?", "see notes", "K foo / V bar", "nothing known"])
def test_unknown_kv_formats_stay_unknown(text: str | None) -> None:
    assert cases().names.kv(text) is None


# ---- quantities ----------------------------------------------------------------------------------


def test_bytes_per_token_against_pool_by_tokens() -> None:
    found = scored(accuracy_score.BYTES)
    assert found.planned == 147_456
    assert found.met and abs(found.error) < 1e-3


def test_bytes_per_token_against_the_hand_figure_where_no_pool_is_printed() -> None:
    found = scored(
        accuracy_score.BYTES,
        observed={},
        check={"hand_bytes_per_token_per_gpu": 73_728},
        kv_cache_dtype="fp8",
    )
    assert found.error == 0


def test_a_wrong_rate_is_a_miss_and_the_report_is_not_good() -> None:
    result = accuracy_logs.score(
        [row(check={"implied_bytes_per_token_per_gpu": 589_824, "verdict": "agrees"})], cases()
    )
    (found,) = result.of(accuracy_score.BYTES)
    assert not found.met and not found.excused and found.reason
    assert found.error == pytest.approx(-0.75)
    assert not result.holds(accuracy_score.BYTES) and not result.good


def test_rank_spread_is_told_and_not_held_against_the_row() -> None:
    check = {"implied_bytes_per_token_per_gpu": 149_500, "hand_bytes_per_token_per_gpu": 147_456,
             "verdict": "rounding or rank spread"}  # fmt: skip
    result = accuracy_logs.score([row(check=check)], cases())
    (found,) = result.of(accuracy_score.BYTES)
    assert not found.met and found.excused and found.reason.startswith("the log:")
    assert result.holds(accuracy_score.BYTES)


def test_keys_and_values_of_unlike_formats_and_the_old_latent_modes() -> None:
    def bytes_of(kv: str, notes: str, **changes: Any) -> float:
        changes = {"model": "DeepSeek-V3-0324", "engine": "ik_llama.cpp", **changes}
        given = row(kv_cache_dtype=kv, notes=notes, **changes)
        return cases().prepare(given).value("kv_per_token_gpu") or 0.0

    # 61 layers: the latent of 512 + 64, its transposed copy, or 128 heads of 192 and 128.
    assert bytes_of("K f16 / V -", "") == 61 * 576 * 2
    assert bytes_of("K f16 / V f16", "mla=1") == 61 * (576 + 512) * 2
    assert bytes_of("K f16 / V f16", "mla=0") == 61 * 128 * (192 + 128) * 2
    assert bytes_of("K q8_0 / V f16", "mla=0") == 61 * 128 * (192 * 34 / 32 + 128 * 2)
    # 94 layers with 4 KV heads of 128.
    assert bytes_of("K q8_0 / V f16", "", model="Qwen3-235B-A22B") == 94 * 4 * (136 + 256)


def test_tokens_and_concurrency_given_the_pool() -> None:
    tokens, times = scored(accuracy_score.TOKENS), scored(accuracy_score.CONCURRENCY)
    assert tokens.met and tokens.error == 0
    assert times.met and abs(times.error) < 0.001


def test_tokens_given_the_blocks_are_exact() -> None:
    observed = {"gpu_blocks": 6_000, "kv_tokens": 96_000}
    assert scored(accuracy_score.BLOCKS, observed=observed).error == 0
    observed["kv_tokens"] = 96_001
    assert not scored(accuracy_score.BLOCKS, observed=observed).met


def test_a_hybrid_counts_its_state_blocks_and_tells_of_an_unstated_setting() -> None:
    # Qwen3.5-27B: blocks of 784 tokens, 335 for 262,144 of them, and three groups of states.
    hybrid = {"model": "Qwen/Qwen3.5-27B", "max_model_len": 262_144, "engine_version": "0.23.1",
              "token_report": "concurrency_x_max_model_len"}  # fmt: skip
    once = {"kv_tokens": int(835 / 338 * 262_144), "mamba_cache_blocks": 835}
    assert scored(accuracy_score.BLOCKS, observed=once, **hybrid).error == 0
    twice = {"kv_tokens": int(835 / 341 * 262_144), "mamba_cache_blocks": 835}
    found = scored(accuracy_score.BLOCKS, observed=twice, **hybrid)
    assert not found.met and found.excused and "prefix caching on" in found.reason
    hybrid["engine_version"] = "0.33.0"
    assert scored(accuracy_score.BLOCKS, observed=twice, **hybrid).error == 0


def test_memory_of_one_request_with_a_sliding_window() -> None:
    # gpt-oss-120b: 18 layers of 131,072 tokens, and 18 of ceil((127 + 1,024) / 16) + 1 blocks.
    size = 18 * 2048 * (131_072 + 73 * 16) / GIB
    found = scored(
        accuracy_score.NEEDED,
        model="openai/gpt-oss-120b",
        engine_version="0.11.0",
        max_model_len=131_072,
        max_num_batched_tokens=1024,
        observed={"needed_gib_for_one": round(size, 2), "needed_at": 131_072},
    )
    assert found.met and found.planned == pytest.approx(size * GIB)


def test_weights_by_rank_and_by_stage() -> None:
    assert scored(accuracy_score.WEIGHTS).met
    # Half of the layers and the embedding stand in the first of two stages.
    found = scored(accuracy_score.WEIGHTS, pp=2, observed={"weights_gib": 7.63})
    tables = 40960 * 128 * 2  # loaded with the weights, whole on every rank
    assert found.met and found.planned < 8_191_043_584 + tables


def test_the_pool_follows_from_card_share_and_the_stated_overhead() -> None:
    observed = {"kv_available_gib": round(0.9 * 79.19 - 15.26 - 2.47, 2), "weights_gib": 15.26}
    found = scored(accuracy_score.POOL, observed=observed)
    assert found.met
    off = scored(accuracy_score.POOL, observed={**observed, "kv_available_gib": 40.0})
    assert "overhead 16.01 GiB in the log, planned 2.48" in off.reason


def test_weights_count_what_loading_makes() -> None:
    """Qwen3-VL-8B on two ranks, 32,768 tokens a step: half of the weights, 256 MiB of tables, 768
    MiB of buffers for visual features."""
    found = scored(
        accuracy_score.WEIGHTS, model="Qwen/Qwen3-VL-8B-Instruct", tp=2, engine_version="0.12.0",
        max_num_batched_tokens=32768, observed={"weights_gib": 9.19},
    )  # fmt: skip
    assert found.met and found.planned == pytest.approx(8_767_123_696 + 2**30, rel=1e-4)


def test_an_estimate_of_graphs_that_was_not_taken_is_an_unstated_setting() -> None:
    changes = {"engine_version": "0.26.0", "gpu_memory_utilization": 0.35,
               "observed": {"kv_available_gib": 10.0}}  # fmt: skip
    found = scored(accuracy_score.POOL, **changes)
    assert not found.met and found.excused and "CUDA graphs" in found.reason
    assert "CUDA graphs" not in scored(accuracy_score.POOL, **{
        **changes, "observed": {"kv_available_gib": 7.0}}).reason  # fmt: skip


def test_weights_that_do_not_fit_are_not_those_of_the_row() -> None:
    heavy = {"model": "Qwen/Qwen3-32B", "model_quant": None, "gpu": "RTX 4090 24GB"}
    told = skipped(**heavy)[accuracy_score.POOL]
    assert told == "quantisation not stated, and the published weights do not fit the card"
    assert accuracy_score.POOL not in skipped(**{**heavy, "model_quant": "none (bf16)"})


def test_the_kernel_of_tiled_experts_may_be_another() -> None:
    found = scored(
        accuracy_score.POOL, model="openai/gpt-oss-120b", model_quant="mxfp4",
        engine_version="0.11.0", gpu_memory_utilization=0.95, max_num_batched_tokens=1024,
        observed={"kv_available_gib": 1.7},
    )  # fmt: skip
    assert not found.met and not found.excused and "% with Marlin" in found.reason


def test_a_figure_is_left_out_only_where_it_stands() -> None:
    def left_out(**changes: Any) -> dict[str, float]:
        given = row(source="https://github.com/llm-d-incubation/llm-d-planner/pull/205", **changes)
        return dict(without(cases().prepare(given)))

    assert left_out() == {"engine_runtime": 0.13 * GIB, "engine_fast_link": 0.04 * GIB}
    assert left_out(engine_version="0.26.0")["engine_graph"] == 7.6 * 2**20
    assert left_out(engine_version="0.11.0") == {}


# ---- what is not scored --------------------------------------------------------------------------


def test_only_what_the_row_allows_is_scored() -> None:
    result = accuracy_logs.score([row(score_on=["weights_gib"])], cases())
    assert [s.quantity for s in result.scores] == [accuracy_score.WEIGHTS]


@pytest.mark.parametrize("trust", ["known-wrong", "approximate figures"])
def test_logs_that_are_not_trusted_are_left_out_with_the_word(trust: str) -> None:
    assert skipped(log_trust=trust) == {"all": f"trust: {trust}"}


def test_what_cannot_be_known_is_named() -> None:
    assert "not in the catalog" in skipped(model="not stated")["all"]
    with pytest.raises(UnscorableError):
        cases().prepare(row(model="not stated"))
    assert "KV format not stated" in skipped(kv_cache_dtype="auto (bf16?)")[accuracy_score.BYTES]
    assert "speculation" in skipped(speculative="mtp 3")[accuracy_score.CONCURRENCY]
    assert "quantisation" in skipped(model_quant="exl3")[accuracy_score.WEIGHTS]
    assert "card" in skipped(gpu="24 GB GPU")[accuracy_score.POOL]
    circular = {"verdict": "agrees, but circular: model was inferred from this figure"}
    assert "inferred" in skipped(check=circular)[accuracy_score.BYTES]


# ---- the report ----------------------------------------------------------------------------------


def test_the_report_is_the_same_text_each_time_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = row(score_on=["kv_bytes_per_token", "weights_gib"])
    path = tmp_path / "logs.yaml"
    path.write_text(f"cases: [{good!r}]".replace("None", "null"), "utf-8")
    page = tmp_path / "docs" / "accuracy.md"
    assert accuracy_logs.main(path, page)
    first = capsys.readouterr().out
    assert accuracy_logs.main(path)
    assert capsys.readouterr().out == first
    assert first in page.read_text("utf-8")
    assert "- rows 1, scores 2" in first


def test_no_score_at_all_is_no_success() -> None:
    assert not accuracy_logs.score([row(score_on=[])], cases()).good


# ---- the collected logs --------------------------------------------------------------------------

# Rows whose quotient of pool and tokens is off by the log itself; the figure by hand agrees.
EXCEPTIONS = {
    "spark-396-minimax-m27-u085": "pool of one rank beside the least tokens of both",
    "vllm-21348-qwen3-235b-fp8-vllm": "pool of one rank beside the least tokens of four",
}


@cache
def collected() -> accuracy_logs.Result:
    path = shared_folder() / "data" / "truth" / "open.yaml"
    return accuracy_logs.score(accuracy_logs.read_rows(path), cases())


def test_bytes_per_token_of_every_trusted_log() -> None:
    found = collected().of(accuracy_score.BYTES)
    assert {s.row for s in found if abs(s.error) > 0.005} == set(EXCEPTIONS)
    assert {s.row for s in found if s.excused} == set(EXCEPTIONS)
    assert len(found) >= 26


@pytest.mark.parametrize(
    "quantity",
    [accuracy_score.BLOCKS, accuracy_score.TOKENS, accuracy_score.CONCURRENCY,
     accuracy_score.NEEDED],
)  # fmt: skip
def test_blocks_tokens_and_concurrency_of_the_logs(quantity: str) -> None:
    assert collected().of(quantity) and collected().holds(quantity)


def test_weights_of_dense_models_in_the_logs() -> None:
    found = [s for s in collected().of(accuracy_score.WEIGHTS) if s.kind.startswith("dense")]
    assert len(found) >= 16 and all(s.met for s in found)
