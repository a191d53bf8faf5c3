"""Lines of llama.cpp and of ik_llama.cpp. Devices take the place of ranks."""

from __future__ import annotations

from planner.importers.startup_log_rows import Row, Rows

_row = Rows("llama.cpp")

_DEVICE = r"(?P<rank>[A-Za-z][\w.:\[\]-]{0,60})"
_CONTEXT = r"llama_(?:context|new_context_with_model|init_from_model|context_kv_self): "
_IK = {"platform": "ik_llama.cpp"}

ROWS: tuple[Row, ...] = (
    _row("build", r"\bbuild(?::| =) (?P<engine_version>[0-9]{1,6}) \("),
    _row("loaded meta data", r"llama_model_loader: loaded meta data", starts=True),
    _row("general.name", r"general\.name str {1,40}= (?P<model>\S.{0,119})"),
    _row("general.architecture", r"general\.architecture str {1,40}= <architecture>"),
    _row("type", r"(?:print_info: file type|model ftype) {1,40}= (?P<quantization>\S.{0,59})"),
    _row("n_ctx", _CONTEXT + r"n_ctx {1,20}= <max_model_len>"),
    _row("n_ctx_", _CONTEXT + r"n_ctx_(?:per_)?seq {1,20}= <slot_context>"),
    _row("n_seq_max", _CONTEXT + r"n_seq_max {1,20}= <max_num_seqs>"),
    _row("n_ubatch", _CONTEXT + r"n_ubatch {1,20}= <batched_tokens>"),
    _row("kv_unified", _CONTEXT + r"kv_unified {1,20}= <kv_unified>"),
    _row("mla_attn", r"mla_attn {1,20}= [0-9]", says=_IK),
    _row("buffer size", rf"load_tensors: +{_DEVICE} (?:model )?buffer size = +<model_buffer> MiB",
         "MiB"),
    _row("KV buffer size", rf": +{_DEVICE} KV buffer size = +<kv_buffer> MiB", "MiB"),
    _row("RS buffer size", rf": +{_DEVICE} RS buffer size = +<state_buffer> MiB", "MiB"),
    _row("compute buffer size", rf": +{_DEVICE} compute buffer size = +<compute_buffer> MiB",
         "MiB"),
    _row("output buffer size", rf": +{_DEVICE} +output buffer size = +<output_buffer> MiB", "MiB"),
    _row("kv_size", r"\bkv_size = <cells>, "),
    _row(
        "KV self size",
        r"KV self size += +<kv_self> MiB, K \(<k_type>\): +<k_size> MiB, V \(<v_type>\): +"
        r"<v_size> MiB",
        "MiB",
    ),
    _row("KV self size", r"KV self size += +<kv_self> MiB, c\^KV \(<k_type>\): ", "MiB", says=_IK),
    _row("KV cache, size", r"creating +<kv_kind> KV cache, size"),
    _row(
        "llama_kv_cache",
        r"size = +<kv_self> MiB \( *<cells> cells, +<kv_layers> layers, +[0-9]{1,6}"
        r"(?:/<streams>)? seqs\), K \(<k_type>\): +<k_size> MiB, V \(<v_type>\): +<v_size> MiB",
        "MiB",
    ),
    _row(
        "llama_memory_recurrent",
        r"size = +<state_size> MiB \( *<state_slots> cells, +<state_layers> layers",
        "MiB",
    ),
)  # fmt: skip
