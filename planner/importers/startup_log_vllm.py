"""Lines of vLLM: V0 and V1 from release 0.6 to 0.33, and its ports to Gaudi, Ascend and TPU."""

from __future__ import annotations

from planner.importers.startup_log_rows import Row, Rows

_row = Rows("vllm")

_CONFIG = {
    "model": "model", "dtype": "dtype", "max_seq_len": "max_model_len",
    "tensor_parallel_size": "tp", "pipeline_parallel_size": "pp", "data_parallel_size": "dp",
    "decode_context_parallel_size": "dcp", "quantization": "quantization",
    "kv_cache_dtype": "kv_dtype",
}  # fmt: skip
_ARGUMENTS = {
    "model": "model", "dtype": "dtype", "max_model_len": "max_model_len",
    "tensor_parallel_size": "tp", "pipeline_parallel_size": "pp", "data_parallel_size": "dp",
    "decode_context_parallel_size": "dcp", "quantization": "quantization",
    "kv_cache_dtype": "kv_dtype", "gpu_memory_utilization": "utilization",
    "block_size": "block_size", "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "batched_tokens",
}  # fmt: skip

SETTINGS: tuple[Row, ...] = (
    _row(
        "LLM engine (v", r"Initializing an LLM engine \(v<engine_version>\)", until="0.10",
        starts=True, says={"core": "V0"},
    ),
    _row(
        "LLM engine (v", r"Initializing a V1 LLM engine \(v<engine_version>\)", since="0.6.4",
        starts=True, says={"core": "V1"},
    ),
    *_row.keys("LLM engine (v", r"[ (,:]KEY=VALUE", _CONFIG),
    _row("server version", r"vLLM API server version <engine_version>", starts=True),
    _row("utils.py:", r"utils\.py:[0-9]+\].{0,80}\bversion <engine_version>\s", since="0.11"),
    *_row.keys("non-default args", r"'KEY': VALUE", _ARGUMENTS),
    *_row.keys("args: Namespace(", r"[ (]KEY=VALUE", _ARGUMENTS),
    _row("Using max model len", r"Using max model len <max_model_len>"),
    _row("Chunked prefill is enabled", r"max_num_batched_tokens=<batched_tokens>"),
    _row("to store kv cache", r"Using <kv_dtype> data type to store kv cache"),
    _row("Setting attention block size", r"attention block size to <block_size> tokens"),
    _row("Padding mamba page size", r"Padding mamba page size by <page_padding>%", "%"),
    _row(
        "padding layers",
        r"Add <padding_layers> padding layers, may waste at most <padding_waste>%",
        "%", since="0.9",
    ),
    _row(
        "cp_world_size", r"KV cache size by the (?:d?cp)_world_size <dcp>", since="0.11",
    ),
    _row(
        "num_gpu_blocks_override=",
        r"num_gpu_blocks=[1-9][0-9]* with num_gpu_blocks_override=<blocks_override>",
    ),
)  # fmt: skip

MEMORY: tuple[Row, ...] = (
    _row("weights took", r"Loading model weights took <weights> GB", printed="GB", until="0.8"),
    _row("Model loading took", r"Model loading took <weights> GiB", since="0.8"),
    _row("Model loading took", r"Model loading took <weights> GB", printed="GB", since="0.7.4",
         until="0.8"),
    _row(
        "Memory profiling results",
        r"total_gpu_memory=<device_total>GiB .{0,80}peak_torch_memory=<torch_peak>GiB .{0,60}"
        r"non_torch_memory=<non_torch>GiB kv_cache_size=<kv_pool>GiB "
        r"gpu_memory_utilization=<utilization>",
        since="0.6.3", until="0.6.4",
    ),
    _row(
        "gpu_memory_utilization",
        r"total_gpu_memory \(<device_total>GiB\) x gpu_memory_utilization \(<utilization>\) "
        r"= <requested>GiB",
        since="0.6.5", until="0.10",
    ),
    _row(
        "model weights take",
        r"model weights take <weights>GiB; non_torch_memory takes <non_torch>GiB; PyTorch "
        r"activation peak memory takes <activation>GiB; .{0,60} KV Cache is <kv_pool>GiB",
        since="0.6.5", until="0.10",
    ),
    _row(
        "Total non KV cache memory",
        r"non KV cache memory: <non_kv>GiB; torch peak memory increase: <activation>GiB; "
        r"non-torch forward increase memory: <non_torch>GiB; weights memory: <weights>GiB",
        since="0.10",
    ),
    _row(
        "Total non KV cache memory",
        r"non KV cache memory: <non_kv>GiB; torch peak memory increase: <activation>GiB; "
        r"total consumed \(from mem_get_info\): <consumed>GiB; weights memory: <weights>GiB",
        since="0.26",
    ),
    _row(
        "Initial free memory",
        r"Initial free memory:? <free_at_start> ?GiB; Requested memory: <utilization> \(util\), "
        r"<requested> ?GiB",
        since="0.10",
    ),
    _row(
        "kv_cache_memory_bytes config",
        r"Initial free memory <free_at_start> GiB, reserved <kv_pool> GiB memory for KV Cache",
        since="0.10.2",
    ),
    _row(
        "Free memory on device",
        r"Free memory on device (?:\S{1,20} )?\(<free_at_start>/<device_total> GiB\) on startup",
        since="0.10",
    ),
    _row(
        "esired GPU memory utilization",
        r"esired GPU memory utilization (?:is )?\(<utilization>, <requested> GiB\)", since="0.10",
    ),
    _row(
        "Actual usage is",
        r"Actual usage is <weights> GiB for weights?, <activation> GiB for peak activation, "
        r"<non_torch> GiB for non-torch memory, and <cuda_graph> GiB for",
        since="0.10.2",
    ),
    _row(
        "Actual usage is",
        r"Actual usage is <consumed> GiB for consumed memory .{0,40}, <activation> GiB for peak "
        r"activation, and <cuda_graph> GiB for",
        since="0.26",
    ),
    _row("to fit into requested", r"\(<kv_memory_fit> GiB\) to fit into requested memory",
         since="0.10.2"),
    _row("Graph capturing finished", r"Graph capturing finished in .{0,20}, took <cuda_graph> GiB"),
    _row("Estimated CUDA graph", r"Estimated CUDA graph memory: <cuda_graph_estimated> GiB",
         since="0.19"),
    _row(
        "CUDA graph pool memory",
        r"pool memory: <cuda_graph> GiB \(actual\), <cuda_graph_estimated> GiB \(estimated\)",
        since="0.19",
    ),
    _row("--gpu-memory-utilization=", r"The current --gpu-memory-utilization=<utilization> is",
         since="0.21"),
    _row("--gpu-memory-utilization from", r"--gpu-memory-utilization from <utilization> to",
         since="0.19"),
)  # fmt: skip

CACHE: tuple[Row, ...] = (
    _row("Available KV cache memory", r"Available KV cache memory: <kv_pool> GiB", since="0.8.5"),
    _row("kv cache memory in use", r"Current kv cache memory in use is <kv_pool> GiB",
         since="0.10.2"),
    _row(" blocks: ", r"# [A-Za-z]{2,8} blocks: <gpu_blocks>(?:, # CPU blocks: <cpu_blocks>)?"),
    _row("KV cache size: ", r"[A-Z]PU KV cache size: <kv_tokens> tokens", since="0.7.4"),
    _row(
        "Maximum concurrency for",
        r"Maximum concurrency for <concurrency_at> tokens per request: <max_concurrency>x",
        since="0.6.2",
    ),
    _row(
        "KV cache is needed",
        r"max seq len \(<request_length>\), \(?<request_memory> GiB KV cache is needed, which is "
        r"larger than the available KV cache memory \(<kv_pool> GiB",
        since="0.8",
    ),
    _row("maximum model length is", r"estimated maximum model length is <longest_len>",
         since="0.8.4"),
    _row(
        "that can be stored in KV cache",
        r"max seq len \(<request_length>\) is larger than the maximum number of tokens that can be "
        r"stored in KV cache \(<kv_tokens>\)",
    ),
    _row(
        "available Mamba cache blocks",
        r"max_num_seqs \(<max_num_seqs>\) exceeds available Mamba cache blocks \(<mamba_blocks>\)",
        since="0.23",
    ),
)  # fmt: skip

_ON_GAUDI = {"platform": "Gaudi"}
PORTS: tuple[Row, ...] = (
    _row(
        "on hpu:",
        r"weights on hpu:[0-9]{1,3} took <weights~> of device memory "
        r"\(\S{1,12} \S{1,4}/<device_total~> used\)",
        says=_ON_GAUDI,
    ),
    _row("took in total", r"weights took in total <weights~> of device memory", says=_ON_GAUDI),
    _row("Model profiling run took", r"profiling run took <activation~> of device memory",
         says=_ON_GAUDI),
    _row(
        "reserved for HPUGraphs",
        r"Free device memory: <free_after_weights~>, <usable~> usable "
        r"\(gpu_memory_utilization=<utilization>\), <graph_reserved~> reserved for HPUGraphs "
        r"\(VLLM_GRAPH_RESERVED_MEM=<graph_share>\), (?:.{1,24} for KV cache dummy block )?"
        r"<kv_pool~> reserved for (?:usable )?KV cache",
        says=_ON_GAUDI,
    ),
    _row("Initializing cache engine took", r"cache engine took <kv_size~> of device memory",
         says=_ON_GAUDI),
    _row("# HPU blocks", r"# HPU blocks: [0-9]", says=_ON_GAUDI),
    _row("# NPU blocks", r"# NPU blocks: [0-9]", says={"platform": "Ascend"}),
    _row("total memory: ", r"Available memory: <kv_pool>, total memory: <device_total>", "B",
         says={"platform": "Ascend"}),
)  # fmt: skip

ROWS: tuple[Row, ...] = (*SETTINGS, *MEMORY, *CACHE, *PORTS)
