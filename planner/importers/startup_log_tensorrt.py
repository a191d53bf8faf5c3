"""Lines of TensorRT-LLM: its C++ runtime with built engines, and its PyTorch backend."""

from __future__ import annotations

from planner.importers.startup_log_rows import Row, Rows

_row = Rows("tensorrt-llm")

_ARGUMENTS = {
    "tensor_parallel_size": "tp", "pipeline_parallel_size": "pp", "max_batch_size": "max_num_seqs",
    "max_num_tokens": "batched_tokens", "max_seq_len": "max_model_len",
}  # fmt: skip

ROWS: tuple[Row, ...] = (
    _row("TensorRT-LLM version", r"\[TensorRT-LLM\] TensorRT-LLM version: <engine_version>",
         starts=True),
    _row("found in the config file", r"Engine version <engine_version> found in the config file"),
    _row("MPI size", r"MPI size: <world_size>,"),
    *_row.keys("engine args: {", r"'KEY': VALUE", _ARGUMENTS),
    *_row.keys("max_num_requests=", r"\bKEY=VALUE", {
        "max_seq_len": "max_model_len", "max_num_requests": "max_num_seqs",
        "max_num_tokens": "batched_tokens",
    }),
    _row("TRTGptModel", r"TRTGptModel maxNumSequences: <max_num_seqs>"),
    _row("TRTGptModel", r"TRTGptModel maxNumTokens: <batched_tokens>"),
    _row("TRTGptModel", r"TRTGptModel maxSequenceLen: <max_model_len>"),
    _row("Loaded engine size", r"Loaded engine size: <weights> MiB", "MiB"),
    _row("for execution context memory", r"Allocated <context_memory~> for execution context"),
    _row("for runtime buffers", r"Allocated <runtime_buffers~> GPU memory for runtime buffers",
         printed="GB"),
    _row("for decoder", r"Allocated <decoder_buffers~> GPU memory for decoder", printed="GB"),
    _row("for k/v cache", r"Allocate <kv_pool> bytes for k/v cache", "B", until="0.8"),
    _row("tokens in paged KV cache", r"Using <kv_tokens> tokens in paged KV cache", until="0.8"),
    _row(
        "in paged kv cache: total",
        r"paged kv cache: total: <device_total> GiB, available: <free_before_pool> GiB",
        since="0.12",
    ),
    _row(
        "KV cache primary pool",
        r"Number of blocks in KV cache primary pool(?: for windowSize [0-9]{1,9})?: <gpu_blocks>",
        since="0.12",
    ),
    _row("tokens per block", r"Number of tokens per block: <block_size>", since="0.12"),
    _row("per sequence: ", r"Max KV cache (?:pages|blocks) per sequence: <request_blocks>"),
    _row("for max tokens", r"Allocated <kv_pool~> for max tokens in paged KV cache \(<kv_tokens>\)",
         since="0.12"),
    _row("memory usage profiling", r"Peak memory during .{0,60}: <profile_peak> GiB"),
    _row("memory usage profiling", r"fraction is set <kv_fraction>,"),
    _row("memory usage profiling", r"kv size (?:per token )?is <token_bytes>", "B"),
    _row("memory usage profiling", r"device total memory <device_total> GiB"),
)  # fmt: skip
