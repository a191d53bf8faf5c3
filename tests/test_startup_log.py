"""Readers of start-up logs: what each engine and release states, whatever surrounds it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.importers.startup_log import (
    BLOCKS,
    DERIVED,
    GROUPS,
    NAMES,
    QUANTITIES,
    ROWS,
    Observation,
    read_log,
    token_report,
)

LOGS = Path(__file__).parent / "logs"
GIB, MIB = 2**30, 2**20


def starts(name: str) -> tuple[Observation, ...]:
    with (LOGS / f"{name}.log").open("rb") as stream:
        return read_log(stream)


def one(name: str) -> Observation:
    (found,) = starts(name)
    return found


def gib(value: float) -> float:
    return pytest.approx(value * GIB)  # type: ignore[no-any-return]


def mib(value: float) -> float:
    return pytest.approx(value * MIB)  # type: ignore[no-any-return]


# Log, name of the engine, and what must be read, in base units or words.
READ: dict[str, tuple[str, dict[str, object]]] = {
    "vllm-0.6.4": ("vLLM 0.6.4.post1", {
        "core": "V0", "model": "acme/Small-8B", "dtype": "bfloat16", "kv_dtype": "auto", "tp": 1,
        "max_model_len": 8192, "utilization": 0.9, "block_size": 16, "max_num_seqs": 256,
        "weights": gib(15.01), "device_total": gib(79.2), "torch_peak": gib(16.2),
        "non_torch": gib(0.3), "kv_pool": gib(54.78), "gpu_blocks": 28047, "cpu_blocks": 2048,
        "kv_tokens": 28047 * 16, "max_concurrency": 54.78, "concurrency_at": 8192,
        "cuda_graph": gib(0.9), "quantization": None, "batched_tokens": None,
    }),
    "vllm-0.8.5-v0-tp2": ("vLLM 0.8.5", {
        "core": "V0", "tp": 2, "kv_dtype": "fp8", "requested": gib(71.28), "weights": gib(7.52),
        "non_torch": gib(1.5), "activation": gib(1.2), "kv_pool": gib(61.06),
        "gpu_blocks": 125050, "max_concurrency": 244.24, "kv_tokens": None,
    }),
    "vllm-0.7.3-v1": ("vLLM 0.7.3", {
        "core": "V1", "weights": gib(15.01), "gpu_blocks": 28047, "max_concurrency": 219.12,
    }),
    "vllm-0.10.2": ("vLLM 0.10.2", {
        "utilization": 0.95, "batched_tokens": 8192, "max_num_seqs": 128, "requested": gib(75.24),
        "free_at_start": gib(78.7), "device_total": gib(79.2), "weights": gib(15.01),
        "activation": gib(2.1), "non_torch": gib(0.24), "non_kv": gib(17.35),
        "cuda_graph": gib(0.7), "kv_pool": gib(57.89), "kv_tokens": 474224,
        "max_concurrency": 57.89, "kv_memory_fit": gib(57.04),
    }),
    "vllm-0.19.0-tp2": ("vLLM 0.19.0", {
        "tp": 2, "utilization": 0.95, "weights": gib(7.52), "kv_pool": gib(63.41),
        "cuda_graph_estimated": gib(0.61), "kv_tokens": 1038896, "max_concurrency": 126.82,
    }),
    "qwen3-8b": ("vLLM 0.19.0", {
        "model": "Qwen/Qwen3-8B", "requested": gib(75.23), "weights": gib(15.27),
        "kv_pool": gib(57.46), "activation": gib(2.2), "non_torch": gib(0.3),
    }),
    "vllm-0.20.0-hybrid": ("vLLM 0.20.0", {
        "block_size": 1568, "page_padding": 0.0013, "padding_layers": 3, "padding_waste": 0.0625,
        "kv_tokens": 325360, "max_concurrency": 4.8, "concurrency_at": 262144,
    }),
    "vllm-0.29.0-hybrid-tp2": ("vLLM 0.29.0", {
        "quantization": "fp8", "kv_dtype": "fp8", "consumed": gib(15.1), "activation": gib(1.5),
        "cuda_graph": gib(0.46), "cuda_graph_estimated": gib(0.4), "kv_pool": gib(11.85),
        "kv_tokens": 719438, "max_concurrency": 5.49, "utilization": 0.92, "dcp": 1,
    }),
    "vllm-0.25.0-dp2": ("vLLM 0.25.0", {
        "dp": 2, "weights": gib(56.1), "kv_pool": gib(70.2), "kv_tokens": 2450944,
        "max_concurrency": 37.4,
    }),
    "vllm-gaudi": ("vLLM on Gaudi 0.5.3.post1", {
        "device_total": gib(94.62), "weights": gib(15.02), "activation": mib(512),
        "free_after_weights": gib(79.1), "usable": gib(71.19), "graph_reserved": gib(7.119),
        "graph_share": 0.1, "kv_pool": gib(64.07), "kv_size": gib(64.06), "gpu_blocks": 4100,
        "utilization": 0.9,
    }),
    "vllm-ascend": ("vLLM on Ascend 0.12.0", {
        "device_total": 65464696832, "kv_pool": 38654705664, "kv_tokens": 294912,
    }),
    "sglang-tp2": ("SGLang", {
        "model": "acme/Small-8B", "architecture": "LlamaForCausalLM", "dtype": "bfloat16",
        "tp": 2, "pp": 1, "dp": 1, "mem_fraction": 0.88, "block_size": 1, "batched_tokens": 8192,
        "max_num_seqs": 2048, "max_model_len": 131072, "weights": gib(7.53),
        "kv_pool": gib(61.56), "k_size": gib(30.78), "v_size": gib(30.78), "kv_tokens": 1008420,
        "requested": gib(0.88 * 78.6), "cuda_graph": gib(1.1), "free_at_end": gib(8.2),
    }),
    "sglang-dsa": ("SGLang", {
        "architecture": "DeepseekV32ForCausalLM", "kv_dtype": "fp8_e4m3", "kv_pool": gib(54.04),
        "kv_tokens": 1449984, "block_size": 64,
    }),
    "sglang-window": ("SGLang", {
        "kv_pool": gib(80.2), "full_tokens": 1000000, "window_tokens": 800000,
        "kv_tokens": 1000000, "cuda_graph": gib(1.9), "weights_draft": None,
    }),
    "sglang-hybrid-draft": ("SGLang", {
        "speculative": "NEXTN", "weights": gib(28), "weights_draft": gib(0.8),
        "state_slots": 48, "conv_state": gib(0.1), "ssm_state": gib(6.4),
        "kv_pool": gib(55.12), "kv_tokens": 850000, "max_num_seqs": 48,
    }),
    "tensorrt-0.5": ("TensorRT-LLM", {
        "weights": mib(12856), "kv_pool": 5619318784, "kv_tokens": 10718, "max_num_seqs": 25,
    }),
    "tensorrt-0.13": ("TensorRT-LLM 0.13.0", {
        "device_total": gib(79.1), "free_before_pool": gib(70), "gpu_blocks": 4032,
        "block_size": 64, "kv_pool": gib(63), "kv_tokens": 258048, "request_blocks": 65,
        "weights": mib(6694), "context_memory": mib(600), "runtime_buffers": mib(43.3),
        "decoder_buffers": gib(1.1), "batched_tokens": 8192, "max_model_len": 4098,
    }),
    "tensorrt-1.2-pytorch-tp2": ("TensorRT-LLM 1.2.0", {
        "tp": 2, "kv_fraction": 0.9, "token_bytes": 65536, "device_total": gib(139.8),
        "profile_peak": gib(31.5), "kv_pool": gib(98.37), "kv_tokens": 1611712, "block_size": 32,
    }),
    "llamacpp-b3900": ("llama.cpp 3900", {
        "model": "Acme Small 8B", "quantization": "Q4_K - Medium", "max_model_len": 8192,
        "weights": mib(4403.49), "weights_host": mib(281.81), "kv_pool": mib(1024),
        "kv_dtype": "K f16 / V f16", "kv_tokens": 8192, "compute_buffer": mib(560),
        "batched_tokens": 512,
    }),
    "llamacpp-window": ("llama.cpp 7000", {
        "kv_pool": mib(27), "kv_full": mib(4.5), "kv_window": mib(22.5), "kv_tokens": 1536,
        "cells": 512, "streams": 3, "slot_context": 512, "max_num_seqs": 3,
    }),
    "llamacpp-hybrid": ("llama.cpp 8100", {
        "kv_pool": mib(816), "state_size": mib(149.62), "state_slots": 1, "kv_layers": 16,
        "kv_dtype": "K q8_0 / V q8_0", "kv_tokens": 24576, "compute_buffer": mib(498),
    }),
    "ik-latent": ("ik_llama.cpp 3700", {
        "kv_pool": mib(2196), "kv_tokens": 32768, "weights": mib(9996),
        "weights_host": mib(300000), "kv_dtype": "K f16 / V f16",
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_a_release_states_is_read(name: str) -> None:
    seen, (title, wanted) = one(name), READ[name]
    assert seen.name == title
    found = {
        quantity: reading.value if (reading := seen.reading(quantity)) else None
        for quantity in wanted
    }
    assert found == wanted


def test_every_log_is_in_the_table() -> None:
    names = {path.stem for path in LOGS.glob("*.log")}
    assert names == {*READ, "vllm-refused"}


def test_every_row_of_the_table_is_shown_to_match() -> None:
    """The logs together hold each line; those that no log has stand in a file of single lines."""
    paths = [*LOGS.glob("*.log"), LOGS / "single-lines.txt"]
    known = [line for path in paths for line in path.read_text("utf-8").splitlines()]
    patterns = [row.pattern for row in ROWS]
    assert [p.pattern for p in patterns if not any(p.search(line) for line in known)] == []


def test_rows_name_known_engines_quantities_and_units() -> None:
    for row in ROWS:
        assert row.engine in NAMES
        groups = {name for name in row.pattern.groupindex if not name.endswith("_unit")}
        assert groups - {"rank"} <= set(QUANTITIES)
        assert row.needle and row.unit in ("GiB", "MiB", "B", "%")
        for release in (row.since, row.until):
            assert re.fullmatch(r"([0-9]+(\.[0-9]+)*)?", release)


# ---- ranks -------------------------------------------------------------------------------------


def test_the_rank_with_the_smallest_pool_counts_and_all_are_listed() -> None:
    seen = one("vllm-0.19.0-tp2")
    assert seen.limit_rank == "TP1"
    pools = {rank: reading.value for rank, reading in seen.by_rank("kv_pool").items()}
    assert pools == {"TP1": gib(63.41), "TP0": gib(63.6)}
    # The budget is that of one rank: its weights, not those of the fullest one.
    assert seen.value("weights") == gib(7.52)


def test_a_driver_without_a_name_is_a_rank() -> None:
    seen = one("vllm-0.8.5-v0-tp2")
    assert set(seen.by_rank("kv_pool")) == {"", "pid 77"}
    assert seen.limit_rank == "" and seen.value("non_torch") == gib(1.5)


@pytest.mark.parametrize(
    ("prefix", "rank"),
    [
        ("(Worker_TP0 pid=30) INFO", "TP0"),
        ("(Worker_DP1_TP0_EP4 pid=2) INFO", "DP1 TP0 EP4"),
        ("(EngineCore_0 pid=357) INFO", ""),
        ("(EngineCore pid=134) INFO", ""),
        ("(EngineCore_DP3 pid=143) INFO", "DP3"),
        ("(APIServer pid=1) INFO", ""),
        ("(VllmWorker rank=1 pid=52) INFO", "1"),
        ("(VllmWorkerProcess pid=77) INFO", "pid 77"),
        ("(RayWorkerWrapper pid=99, ip=10.0.0.2) INFO", "pid 99"),
        ("[2026-08-10 09:47:14 DP0 TP3 EP1]", "DP0 TP3 EP1"),
        ("[01/16/2026-06:20:17] [TRT-LLM] [RANK 5] [I]", "5"),
        ("[1,2]<stdout>:", "2"),
        ("2026-05-01 22:45:53.944 | \x1b[1;36m(Worker_TP7 pid=8)\x1b[0;0m INFO", "TP7"),
        ("INFO", ""),
    ],
)
def test_how_processes_name_themselves(prefix: str, rank: str) -> None:
    (seen,) = read_log(f"{prefix} Available KV cache memory: 4.00 GiB\n")
    assert [reading.rank for reading in seen.all("kv_pool")] == [rank]


# ---- starts ------------------------------------------------------------------------------------


def test_a_second_start_in_one_log_is_a_second_observation() -> None:
    first, second = starts("vllm-refused")
    assert (first.value("request_memory"), first.value("request_length")) == (gib(16), 131072)
    assert first.value("longest_len") == 32768 and first.value("kv_tokens") is None
    assert (second.first_line, second.value("kv_tokens")) == (5, 33584)
    assert second.value("request_memory") is None


def test_ranks_that_print_the_same_banner_are_one_start() -> None:
    banner = "[TensorRT-LLM] TensorRT-LLM version: 1.2.0\n"
    line = "[TensorRT-LLM][INFO] Number of tokens per block: 32.\n"
    assert len(read_log(banner * 8 + line)) == 1


def test_logs_of_two_engines_in_one_stream_stay_apart() -> None:
    texts = [(LOGS / f"{name}.log").read_text("utf-8") for name in ("vllm-0.10.2", "sglang-tp2")]
    lines = [line for pair in zip(*(t.splitlines() for t in texts), strict=False) for line in pair]
    seen = {found.engine: found for found in read_log("\n".join(lines))}
    assert set(seen) == {"vllm", "sglang"}
    assert seen["vllm"].value("weights") == gib(15.01)


@pytest.mark.parametrize("name", [name for name in READ if name.startswith(("vllm", "tensorrt"))])
def test_lines_in_any_order_state_the_same(name: str) -> None:
    """Except where a later line replaces an earlier one, such as a pool for profiling."""
    lines = (LOGS / f"{name}.log").read_text("utf-8").splitlines()
    (turned,) = read_log("\n".join(reversed(lines)))
    forward = one(name)
    later = {"kv_pool", "kv_tokens", "requested", "cuda_graph", "activation", "consumed"}
    for quantity in set(forward.quantities) - later:
        assert turned.reading(quantity).value == forward.reading(quantity).value  # type: ignore[union-attr]


# ---- doubts ------------------------------------------------------------------------------------

DOUBTS = {
    "vllm-0.6.4": ["printed as GB, meant as GiB", "weights included"],
    "vllm-0.20.0-hybrid": ["divided by the number of layer groups"],
    "vllm-0.29.0-hybrid-tp2": [
        "printed by one rank of 2", "concurrency times the context limit",
        "estimate was taken out of the KV pool",
    ],
    "sglang-dsa": ["printed as GB, meant as GiB", "indexer out of this size"],
    "tensorrt-0.5": ["before it is rounded up"],
    "tensorrt-0.13": ["printed as MB, meant as MiB"],
    "tensorrt-1.2-pytorch-tp2": ["a small pool for profiling"],
    "llamacpp-window": ["one of 3 streams"],
    "llamacpp-hybrid": ["only some of them hold a state"],
    "ik-latent": ["printed a second time"],
    "vllm-0.10.2": [],
    "llamacpp-b3900": [],
}  # fmt: skip


@pytest.mark.parametrize("name", DOUBTS)
def test_lines_that_mislead_are_named(name: str) -> None:
    found = one(name).doubts
    assert len(found) == len(DOUBTS[name])
    for doubt, words in zip(found, DOUBTS[name], strict=True):
        assert words in doubt.text
        assert doubt.line > 0


def test_memory_of_other_processes_is_named() -> None:
    (seen,) = read_log("Available KV cache memory: -7.83 GiB\n")
    assert seen.value("kv_pool") == gib(-7.83)
    assert ["another process" in doubt.text for doubt in seen.doubts] == [True]


def test_freed_memory_is_no_graph_memory() -> None:
    (seen,) = read_log("INFO Graph capturing finished in 3 secs, took -0.88 GiB\n")
    assert "no measurement" in seen.doubts[0].text


@pytest.mark.parametrize(
    ("version", "tokens", "times", "report"),
    [
        ("0.10.1", 93872, 5.73, BLOCKS),
        ("0.11.0", 90048, 12.0, GROUPS),
        ("0.21.0", 93872, 5.73, DERIVED),
        ("0.20.1rc1.dev16", 90048, 12.0, GROUPS),
        ("0.20.1rc1.dev16", 93872, 5.73, ""),
        ("0.1.dev20073+g8e685d198", 93872, 5.73, ""),
    ],
)
def test_how_a_release_computes_its_token_line(
    version: str, tokens: int, times: float, report: str
) -> None:
    (seen,) = read_log(
        f"Initializing a V1 LLM engine (v{version}) with config: model='a/b', seed=0\n"
        f"GPU KV cache size: {tokens:,} tokens\n"
        f"Maximum concurrency for 16,384 tokens per request: {times:.2f}x\n"
    )
    assert token_report(seen) == report
