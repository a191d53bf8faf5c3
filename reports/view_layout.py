"""What stands where: reading order of sections and columns, and which cells do not apply.

Metrics that are not named here (a user's own, or new ones) follow in the order of evaluation. The
order is also the priority: where there is no room, the last column goes first.
"""

from __future__ import annotations

from reports.words import term

LAYOUT: dict[str, tuple[str, ...]] = {
    "summary": (
        "cases_planned", "cases_fitting", "best_concurrency_per_gpu", "lowest_b_star_kv",
        "highest_read_to_stored",
    ),
    "groups": (
        "group_kv_per_token", "group_kv_per_token_gpu", "group_heads_per_gpu", "group_tokens_kept",
        "group_blocks_per_request", "group_layer_reserved_gpu", "group_state_per_request",
        "page_bytes", "kind_block_tokens", "kind_groups", "kind_blocks_decode",
        "group_read_cap", "group_tokens_step", "group_steps_open", "group_tokens_read",
        "group_tokens_end", "group_attention_flops", "group_state_flops", "group_head_bytes",
    ),
    "layout": (
        "stage_weights", "stage_linear", "stage_ends", "stage_layers", "stage_concurrency",
        "stage_spare", "stage_pool", "stage_kv_per_token", "stage_reserved",
    ),
    "memory": (
        "verdict", "max_concurrency", "weights_gpu", "kv_pool", "memory_spare", "kv_per_token",
        "kv_per_request", "engine_overhead", "kv_reserved_gpu", "state_per_request",
        "longest_context", "concurrency_per_gpu", "gpus_per_replica", "binding_stage",
        "concurrency_quotient",
        "kv_per_token_gpu", "token_capacity", "memory_left", "memory_total", "memory_basis",
        "memory_requested", "memory_outside", "weight_bytes", "weights_linear", "weights_experts",
        "weights_wide", "rank_concurrency", "rank_batch", "ledger_gap",
    ),
    "answers": (
        "smallest_change", "smallest_tp", "widest_weights", "most_batched_tokens",
        "fp8_concurrency", "safe_max_num_seqs", "requests_at_risk", "mix_concurrency",
        "prefix_concurrency", "mix_reserved",
    ),
    "ledger": (
        "activation_peak", "logits_peak", "layers_peak", "expert_workspace", "kept_bytes",
        "activation_first", "runtime_gpu", "graphs_gpu", "rotary_tables", "loading_gpu",
        "deepstack_buffers", "images_peak", "images_kept", "image_count", "graph_count",
        "step_tokens", "running_requests",
        "expert_padding",
    ),
    "blocks": (
        "pool_blocks", "block_bytes", "block_tokens", "groups_in_pool", "request_blocks",
        "request_blocks_decode", "kv_resident_gpu", "pool_concurrency", "pool_concurrency_decode",
        "pool_tokens", "tokens_in_flight", "state_copies",
    ),
    "access": (
        "context_start", "decode_steps", "weights_read", "kv_read_step", "kv_read_total",
        "kv_stored_end", "read_to_stored", "kv_written_prefill", "kv_written_decode",
        "weight_reads_total", "weights_read_gpu", "kv_read_step_gpu", "context_tokens_read",
        "decode_flops_total", "flops_fixed", "attention_flops", "params_matmul", "experts_visited",
        "experts_read", "params_wide_read",
    ),
    "thresholds": (
        "binding", "next_bound", "batch_slack", "b_star_kv", "first_batch_kv", "b_star_compute",
        "context_crossover", "time_weights", "time_kv", "time_compute", "nearest_threshold",
        "weight_width", "peak_compute", "kv_unbounded_gpu", "kv_read_bounded_gpu",
    ),
    "time": (
        "tpot_bound", "output_rate_gpu", "slo_concurrency", "slo_limit", "ttft_bound",
        "slo_bandwidth", "slo_compute", "slo_batch", "slo_b_star", "output_rate",
        "step_memory_time", "step_compute_time", "prefill_memory_time", "prefill_compute_time",
        "context_mean", "kv_read_mean_gpu", "decode_flops_mean", "bandwidth_reached",
        "peak_reached", "step_requests",
    ),
    "ladder": (),
    "what_if": (),
    "checks": (),
    "user": (),
}  # fmt: skip

ON_TILES: frozenset[str] = frozenset(LAYOUT["summary"])
"""Figures of the whole plan that the tiles show; a section would only repeat them."""

STEPS: frozenset[str] = frozenset((
    "group_kv_layer", "group_kv_growth", "group_kv_read_per_token", "group_token_split",
    "group_kv_layer_gpu", "group_kv_read_gpu", "group_state_layer", "layers_left", "stage_start",
    "stage_end", "stage_group_before", "stage_group_upto", "stage_group_layers",
    "stage_group_caches", "attention_kv", "attention_kv_gpu", "attention_replicated",
    "attention_share", "stage_attention_layers", "attention_layers", "state_share", "moe_layers",
    "stage_moe_layers", "moe_share", "dense_share", "layer_share", "experts_share_gpu",
    "experts_hot", "experts_cold", "groups_rule", "kind_window", "state_channels_gpu",
    "layer_state_bytes", "kernel_block", "block_floor", "largest_page", "pages_pad", "widest_page",
    "longest_window", "one_kind", "smallest_kind", "layers_per_group", "kind_blocks",
    "stage_block_bytes", "stage_block_requests", "stage_room", "stage_plain_reserved",
    "group_plain_blocks", "group_plain_reserved", "flat_gap", "kind_straddle", "kind_reach",
    "kind_tokens", "kind_tokens_decode", "padded_page", "largest_state", "largest_token",
    "stage_blocks", "stage_left", "slots_rule", "window_ratio", "slot_state_layer",
    "stage_slot_bytes", "stage_state_request", "stage_state_pool", "stage_slots",
    "stage_slot_requests", "slots_of_request", "window_slots_of_request", "vocab_padding",
    "overhead_itemised", "small_card", "attention_width", "dense_width", "expert_width",
    "expert_inner", "inner_tile", "on_hopper", "packed", "kind_own_block", "packed_bytes",
    "dense_layers", "stage_dense_layers", "stage_moe_before", "stage_dense_before",
    "request_tokens", "layout_allowed", "least_tp", "most_tp", "fp8_rungs", "fp8_fits",
    "usable_quotient", "request_part", "mix_within_limit", "mix_part", "prefix_shared",
    "prefix_blocks", "whole_blocks", "prefix_part", "own_part", "prefix_gap", "prefix_quotient",
    "prompt_batch", "batch_runs",
))  # fmt: skip
"""Steps on the way to a figure: glossary, explanations and workbook hold them, tables do not."""

SUMMARY: tuple[str, ...] = (
    "verdict", "max_concurrency", "binding", "memory_spare", "smallest_change", "slo_concurrency",
    "tpot_bound", "slo_limit", "longest_context", "b_star_kv", "b_star_compute",
    "kv_per_token", "read_to_stored",
)  # fmt: skip
"""The main table: the answer, the room, what binds, and the figures that explain it."""

TARGET = "slo_tpot"
"""The assumption without which figures of the main table that rest on it have nothing to say."""

APPLIES_NOT: dict[str, tuple[str, float | str]] = {
    "batch_slack": ("next_bound", "none"),
    "nearest_threshold": ("next_bound", "none"),
    "experts_visited": ("experts", 0.0),
    "experts_read": ("experts", 0.0),
    "context_crossover": ("kv_unbounded_gpu", 0.0),
    "binding_stage": ("pp", 1.0),
    "rank_concurrency": ("dp", 1.0),
    "rank_batch": ("dp", 1.0),
    "stage_layers": ("pp", 1.0),
    "stage_spare": ("pp", 1.0),
    "stage_pool": ("pp", 1.0),
    "stage_kv_per_token": ("pp", 1.0),
    "stage_reserved": ("pp", 1.0),
    "stage_concurrency": ("pp", 1.0),
    **dict.fromkeys(
        (
            "pool_blocks",
            "block_bytes",
            "block_tokens",
            "groups_in_pool",
            "request_blocks",
            "request_blocks_decode",
            "kv_resident_gpu",
            "pool_concurrency",
            "pool_concurrency_decode",
            "tokens_in_flight",
            "state_copies",
            "page_bytes",
            "kind_block_tokens",
            "kind_groups",
            "kind_blocks_decode",
        ),
        ("groups_rule", 0.0),
    ),
    "pool_tokens": ("engine_token_line", "none"),
    **dict.fromkeys(
        (
            "activation_peak",
            "activation_first",
            "logits_peak",
            "layers_peak",
            "kept_bytes",
            "runtime_gpu",
            "graphs_gpu",
            "rotary_tables",
            "loading_gpu",
            "deepstack_buffers",
            "images_peak",
            "images_kept",
            "image_count",
            "graph_count",
            "running_requests",
            "step_tokens",
            "expert_workspace",
        ),
        ("overhead_itemised", 0.0),
    ),
    "expert_padding": ("engine_pads_experts", 0.0),
    "most_batched_tokens": ("overhead_itemised", 0.0),
    "prefix_concurrency": ("shared_prefix", 0.0),
    "output_rate": ("verdict", "does not fit"),
    "output_rate_gpu": ("verdict", "does not fit"),
    "step_requests": ("pp", 1.0),
}
"""Metric: another column and the value of it at which the metric does not apply to a row.

Figures of a pipeline stage stand where there are several: of the only stage they are those of the
case. Figures of stages and ranks that apply to no case of a plan are left out.
"""

LEFT_OUT = frozenset(("pp", "dp", "groups_rule", "engine_token_line", "overhead_itemised",
                      "engine_pads_experts", "shared_prefix"))  # fmt: skip
"""What a figure depends on that is left out where it applies to no case of a plan."""

RUNG_APPLIES = {
    "tp": (
        "layout_allowed",
        term("A dash stands where the size does not suit the model or the host."),
    ),
    "batch": ("batch_runs", term("A dash stands where the batch does not fit.")),
}
"""Replaced input: the metric that is false where a rung makes no sense for a case, and a note."""

NEVER_SHOWN = "no_threshold"
"""The constant that stands for "no bound" inside formulas; a cell that holds it does not apply."""

FACT_KINDS: dict[str, str] = {
    "model": term("Models"), "group": term("Layer groups"), "gpu": term("GPUs"),
    "weight_format": term("Weight formats"), "kv_format": term("KV formats"),
    "engine": term("Engine"),
}  # fmt: skip

CASE_ROWS = 2_000
"""Cases that the main table of a page shows, so that sorting and filtering miss none of them."""

PAGE_ROWS = 60
"""Rows of one table that a page shows; the rest is in the workbook and the embedded plan."""

CHART_ROWS = 18
STACK_ROWS = 12
LIMIT_ROWS = 6
CHART_LINES = 8
CHART_POINTS = 3
