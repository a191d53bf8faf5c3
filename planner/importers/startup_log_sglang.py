"""Lines of SGLang. What it prints as GB are GiB."""

from __future__ import annotations

from planner.importers.startup_log_rows import Row, Rows

_row = Rows("sglang")

_ARGUMENTS = {
    "model_path": "model", "dtype": "dtype", "kv_cache_dtype": "kv_dtype",
    "quantization": "quantization", "context_length": "max_model_len",
    "mem_fraction_static": "mem_fraction", "max_running_requests": "max_num_seqs",
    "chunked_prefill_size": "batched_tokens", "page_size": "block_size", "tp_size": "tp",
    "pp_size": "pp", "dp_size": "dp", "speculative_algorithm": "speculative",
}  # fmt: skip
_READY = {
    "max_total_num_tokens": "kv_tokens", "chunked_prefill_size": "batched_tokens",
    "max_running_requests": "max_num_seqs", "context_len": "max_model_len",
}  # fmt: skip

ROWS: tuple[Row, ...] = (
    _row("server_args=", r"server_args=ServerArgs\(", starts=True),
    *_row.keys("server_args=", r"[ (]KEY=VALUE", _ARGUMENTS),
    _row("Load weight begin", r"Load weight begin\. avail mem=<free_at_start> GB", printed="GB"),
    _row("Load weight end", r"Load weight end\..{0,40}\btype=<architecture>"),
    _row("Load weight end", r"Load weight end\..{0,90}\bdtype=torch\.<dtype>"),
    _row("Load weight end", r"avail mem=<free_after_weights> GB", printed="GB"),
    _row("Load weight end", r"mem usage=<weights> GB", printed="GB"),
    _row("KV Cache is allocated", r"#tokens: <pool_tokens>"),
    _row("KV Cache is allocated", r"dtype: torch\.<kv_dtype>"),
    _row("KV Cache is allocated", r", K size: <k_size> GB, V size: <v_size> GB", printed="GB"),
    _row("KV Cache is allocated", r", KV size: <kv_size> GB", printed="GB"),
    _row(
        "Mamba Cache is allocated",
        r"max_mamba_cache_size: <state_slots>, conv_state size: <conv_state> ?GB, ?"
        r"ssm_state size: <ssm_state> ?GB",
        printed="GB",
    ),
    _row(
        "SWAKVPool mem usage",
        r"SWAKVPool mem usage: <kv_pool> GB, swa size: <window_tokens>, full size: <full_tokens>",
        printed="GB",
    ),
    _row("Memory pool end", r"Memory pool end\. avail mem=<free_after_pool> GB", printed="GB"),
    _row("graph end", r"Capture .{0,40}graph end\..{0,80}mem usage=<cuda_graph> GB", printed="GB"),
    *_row.keys("max_total_num_tokens=", r"\bKEY=VALUE", _READY),
    _row("max_total_num_tokens=", r"available_gpu_mem=<free_at_end> GB", printed="GB"),
)  # fmt: skip
