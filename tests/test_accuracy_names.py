"""Names as people write them: models, cards, KV words, quantisations, engines and releases."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import pytest
from support.tools import REPOSITORY

sys.path.append(str(REPOSITORY / "benchmarks"))

import accuracy_logs
import accuracy_score
from accuracy_cases import Cases, engine_of, release

ALL = sorted(set(accuracy_score.SCORED_AS.values()))


@cache
def cases() -> Cases:
    return Cases()


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Qwen/Qwen3-32B-AWQ", "qwen3-32b"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "qwen3-30b-a3b"),
        ("Qwen/Qwen3-VL-235B-A22B-Thinking-FP8", "qwen3-vl-235b-a22b"),
        ("Qwen/Qwen3-4B-Thinking-2507", "qwen3-4b"),
        ("unsloth/Llama-3.3-70B-Instruct-bnb-4bit", "llama-3.3-70b"),
        ("unsloth/gemma-3-27b-it-unsloth-bnb-4bit", "gemma-3-27b"),
        ("RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8-dynamic", "llama-3.1-70b"),
        ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16", "llama-3.3-70b"),
        ("neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "llama-3.1-8b"),
        ("nvidia/Llama-3.1-405B-Instruct-FP4", "llama-3.1-405b"),
        ("nvidia/DeepSeek-R1-0528-FP4-v2", "deepseek-r1"),
        ("amd/Llama-3.1-70B-Instruct-FP8-KV", "llama-3.1-70b"),
        ("ISTA-DASLab/gemma-3-27b-it-GPTQ-4b-128g", "gemma-3-27b"),
        ("google/gemma-3-27b-it-qat-q4_0-gguf", "gemma-3-27b"),
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "llama-3.1-8b"),
        ("Qwen3-30B-A3B-Instruct-2507-UD-Q4_K_XL.gguf", "qwen3-30b-a3b"),
        ("llama3.1:8b", "llama-3.1-8b"),
        ("qwen3:30b-a3b", "qwen3-30b-a3b"),
        ("gemma3:27b", "gemma-3-27b"),
        ("moonshotai/Kimi-K2-Thinking", "kimi-k2-thinking"),
        # Size words are no formats, and other models of a family are not the family's.
        ("Qwen/Qwen3-4B", "qwen3-4b"),
        ("google/gemma-3-4b-it", "gemma-3-4b"),
        ("Qwen/Qwen3-Reranker-8B", None),
        ("Qwen/Qwen3-Omni-30B-A3B-Instruct", None),
        ("NousResearch/Hermes-3-Llama-3.1-8B", None),
        ("mistralai/Mistral-7B-Instruct", None),
        ("mistralai/Pixtral-12B-2409", None),
    ],
)
def test_models(name: str, model: str | None) -> None:
    assert cases().names.model(name) == model


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("8xH100 80GB", "h100-sxm"),
        ("H100 PCIe 80GB", "h100-pcie"),
        ("A100 80GB PCIe", "a100-pcie-80"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm-40"),
        ("Tesla V100-PCIE-32GB", "v100-pcie-32"),
        ("L40S 48GB", "l40s"),
        ("RTX PRO 6000 Blackwell", "rtx-pro-6000-server"),
        ("RTX PRO 6000 Blackwell Max-Q", "rtx-pro-6000-ws"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-ws"),
        ("4x RTX 3090", "rtx-3090"),
        ("NVIDIA GH200 480GB", "gh200-96"),
        ("AMD Instinct MI300X", "mi300x"),
        ("Gaudi 3", "gaudi3"),
        ("H100", None),
        ("A800 80GB", None),
        ("RTX 4090 48GB", None),
        ("RX 7900 XTX 24GB", None),
        ("CPU", None),
    ],
)
def test_cards(name: str, gpu: str | None) -> None:
    assert cases().names.gpu(name) == gpu


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("fp8_inc", "fp8"), ("fp8 e4m3", "fp8"), ("fp8_e4m3fn", "fp8"), ("auto -> fp8", "fp8"),
        ("auto (fp8 from checkpoint)", "fp8"), ("int8 (kv8)", "int8"), ("fp4", "nvfp4"),
        ("K q5_1 / V q5_1", "q5-1"), ("q8_0/q8_0", "q8-0"), ("bf16/fp16", "bf16"),
        ("fp8/bf16", None), ("none", None), ("tq3", None),
    ],
)  # fmt: skip
def test_kv_words(text: str, keys: str | None) -> None:
    found = cases().names.kv(text)
    assert (found.keys if found else None) == keys


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("awq_marlin", "int4"), ("GPTQ 8-bit", "int8"), ("gptq-int8", "int8"), ("w4a16", "int4"),
        ("w8a8", "int8"), ("fp8_w8a8", "fp8"), ("compressed-tensors w4a16", "int4"),
        ("int4 (g32)", "int4-g32"), ("modelopt_fp4", "nvfp4"), ("fp8 (online)", "fp8-tensor"),
        ("fp8 + int4", None), ("bnb nf4", None), ("gguf Q4_K_M", None), ("exl3", None),
        ("compressed-tensors", None),
    ],
)  # fmt: skip
def test_quantisations(text: str, word: str | None) -> None:
    model = cases().catalog.model("qwen3-32b")
    assert cases().names.weights(text, model, "Qwen/Qwen3-32B-Instruct") == word


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Qwen/Qwen3-32B", "bf16"), ("Qwen/Qwen3-32B-AWQ", "int4"), ("Qwen/Qwen3-32B-FP8", "fp8"),
        ("x/Qwen3-32B-GPTQ-Int8", "int8"), ("nvidia/Qwen3-32B-FP4", "nvfp4"),
        ("unsloth/Qwen3-32B-bnb-4bit", None), ("Qwen3-32B", None),
    ],
)  # fmt: skip
def test_a_name_says_the_quantisation_where_nothing_else_does(name: str, word: str | None) -> None:
    model = cases().catalog.model("qwen3-32b")
    assert cases().names.weights(None, model, name) == word


@pytest.mark.parametrize(
    ("version", "number", "entry"),
    [
        ("v0.8.5.post1", (0, 8), "vllm-0.8-0.9"), ("0.11.0rc2", (0, 11), "vllm-0.11-0.16"),
        ("0.10.2.dev456+gabc", (0, 10), "vllm-0.10"), (0.19, (0, 19), "vllm-0.17-0.20"),
        ("0.26-dev", (0, 26), "vllm-0.21-0.32"), ("0.34.1", (0, 34), "vllm-0.33"),
        ("0.8.x (V0)", (0, 8), "vllm-v0"), ("0.7.3", (0, 7), "vllm-v0"),
        ("0.1.dev20073+g8e685d198", None, "vllm-0.21-0.32"),
        ("nightly 2026-08-20", None, "vllm-0.21-0.32"), (None, None, "vllm-0.21-0.32"),
    ],
)  # fmt: skip
def test_releases(version: object, number: tuple[int, int] | None, entry: str) -> None:
    row = {"engine": "vllm", "engine_version": version, "date": "2026-08-20"}
    assert release(row) == number
    assert cases().engine_entry(row) == entry


def test_engines() -> None:
    spelt = {"TRT-LLM": "tensorrt-llm", "tensorrt_llm": "tensorrt-llm", "vllm-openai": "vllm",
             "ik_llama.cpp": "llama.cpp", "SGLang": "sglang", "lmdeploy": "lmdeploy"}  # fmt: skip
    assert {name: engine_of({"engine": name}) for name in spelt} == spelt
    assert release({"engine": "vllm (NIM)", "engine_version": "1.8"}) is None
    # A date of 2025 means the release of that time.
    early = {"engine": "vllm", "engine_version": "main", "date": "2025-08-01"}
    assert cases().engine_entry(early) == "vllm-0.10"


ODD: list[dict[str, Any]] = [
    {}, {"observed": None}, {"tp": None, "pp": None, "dp": None}, {"engine": None}, {"gpu": 7},
    {"engine": "lmdeploy", "engine_version": "0.7"}, {"gpu": "TPU v5e-8"}, {"model_quant": 4},
    {"kv_cache_dtype": 8}, {"max_num_seqs": 1, "max_num_batched_tokens": 65536}, {"notes": None},
    {"observed": {"kv_available_gib": 0, "kv_tokens": "many", "weights_gib": -1}},
    {"check": None, "token_report": None}, {"speculative": "eagle3 k=3"}, {"date": None},
]  # fmt: skip


@pytest.mark.parametrize("model", ["Qwen/Qwen3-VL-8B-Instruct", "zai-org/GLM-4.6-FP8", "x/y"])
def test_odd_rows_are_scored_or_told_of(model: str) -> None:
    base = {
        "id": "odd", "kind": "x", "engine": "vllm", "engine_version": "v0.12.0", "model": model,
        "model_quant": "fp8", "kv_cache_dtype": "auto", "gpu": "H200 141GB", "gpu_count": 8,
        "tp": 8, "gpu_memory_utilization": 0.9, "max_model_len": 8192, "log_trust": "ok",
        "observed": {"kv_available_gib": 60.0, "kv_tokens": 10**6}, "score_on": ALL,
    }  # fmt: skip
    result = accuracy_logs.score([{**base, **odd} for odd in ODD], cases())
    told = {reason for _, _, reason in result.skipped}
    assert all(reason and "Error" not in reason for reason in told)
    if model == "x/y":
        assert told == {"model not in the catalog: x/y"} and not result.scores
    else:
        assert "no rule for what compiled programs take on TPU v5e-8" in told
        assert result.scores


def test_rows_without_a_name_get_one(tmp_path: Any) -> None:
    path = tmp_path / "logs.yaml"
    path.write_text("cases: [{engine: vllm, log_trust: ok, score_on: [weights_gib]}]", "utf-8")
    (row,) = accuracy_logs.read_rows(path)
    assert (row["id"], row["kind"], row["model"]) == ("row 1", "unspecified", "not stated")
