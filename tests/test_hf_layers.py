"""Layer groups from small configurations: every family, every spelling, places, refusals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hf import config_of, summary

from planner.importers.hf_families import FAMILIES
from planner.importers.hf_layers import RULES, Place, place_of

FULL, WINDOW = "full_attention", "sliding_window"
LATENT: dict[str, Any] = {
    "kv_lora_rank": 32, "q_lora_rank": 24, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16,
    "v_head_dim": 16,
}  # fmt: skip
INDEX: dict[str, Any] = {"index_n_heads": 2, "index_head_dim": 128, "index_topk": 64}
GDN: dict[str, Any] = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4,
}  # fmt: skip
MAMBA2: dict[str, Any] = {
    "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_n_groups": 2, "mamba_d_state": 16,
    "mamba_d_conv": 4, "mamba_expand": 2,
}  # fmt: skip
GDN_CONV = 3 * (2 * 2 * 8 + 4 * 16) * 2
GDN_STATE = 4 * 16 * 8
MAMBA2_CONV = 3 * (4 * 8 + 2 * 2 * 16) * 2
MAMBA2_STATE = 4 * 8 * 16
KV = 2 * (16 + 16) * 2  # two KV heads of 16 in BF16


def many(word: str, rest: str, layers: int = 8) -> list[str]:
    return [word] * (layers - 1) + [rest]


@pytest.mark.parametrize(
    ("model_type", "keys", "expected"),
    [
        ("llama", {}, {(FULL, KV, 0, 1): 8}),
        ("llama", {"num_key_value_heads": None}, {(FULL, 2 * KV, 0, 1): 8}),  # MHA
        ("llama", {"num_key_value_heads": 1}, {(FULL, KV // 2, 0, 1): 8}),  # MQA
        ("llama", {"head_dim": 32}, {(FULL, 2 * KV, 0, 1): 8}),
        ("hunyuan_v1_moe", {"attention_head_dim": 32}, {(FULL, 2 * KV, 0, 1): 8}),
        ("mistral", {"sliding_window": None}, {(FULL, KV, 0, 1): 8}),
        ("mistral", {"sliding_window": 64}, {(WINDOW, KV, 64, 1): 8}),
        ("phi3", {"sliding_window": 64}, {(WINDOW, KV, 64, 1): 8}),
        ("phi3", {"sliding_window": 1001}, {(FULL, KV, 0, 1): 8}),  # longer than the context
        (
            "mistral", {"interleaved_sliding_window": [32, None, 64, 64]},
            {(WINDOW, KV, 32, 1): 2, (FULL, KV, 0, 1): 2, (WINDOW, KV, 64, 1): 4},
        ),
        ("qwen2", {"sliding_window": 64, "use_sliding_window": False}, {(FULL, KV, 0, 1): 8}),
        (
            "qwen3",
            {"head_dim": 16, "sliding_window": 64, "use_sliding_window": True,
             "max_window_layers": 6},
            {(FULL, KV, 0, 1): 6, (WINDOW, KV, 64, 1): 2},
        ),
        (
            "qwen2_moe", {"sliding_window": 64, "use_sliding_window": True, "max_window_layers": 5},
            {(FULL, KV, 0, 1): 5, (WINDOW, KV, 64, 1): 3},
        ),
        ("qwen3_moe", {"sliding_window": 64}, {(FULL, KV, 0, 1): 8}),
        ("qwen3_moe", {"sliding_window": 64, "use_sliding_window": True}, {(WINDOW, KV, 64, 1): 8}),
        (
            "gemma2", {"sliding_window": 64, "head_dim": 16},
            {(WINDOW, KV, 64, 1): 4, (FULL, KV, 0, 1): 4},
        ),
        (
            "gemma3_text", {"sliding_window": 64, "head_dim": 16},
            {(WINDOW, KV, 64, 1): 7, (FULL, KV, 0, 1): 1},
        ),
        (
            "gemma3_text", {"sliding_window": 64, "head_dim": 16, "sliding_window_pattern": 2},
            {(WINDOW, KV, 64, 1): 4, (FULL, KV, 0, 1): 4},
        ),
        (
            "cohere2", {"sliding_window": 64, "layer_types": many("sliding_attention", FULL)},
            {(WINDOW, KV, 64, 1): 7, (FULL, KV, 0, 1): 1},
        ),
        (
            "exaone4", {"sliding_window": 64, "sliding_window_pattern": "LLLG"},
            {(WINDOW, KV, 64, 1): 6, (FULL, KV, 0, 1): 2},
        ),
        ("exaone4", {"sliding_window": None}, {(FULL, KV, 0, 1): 8}),
        (
            "smollm3", {"sliding_window": 64, "use_sliding_window": True},
            {(FULL, KV, 0, 1): 6, (WINDOW, KV, 64, 1): 2},
        ),
        (
            "gpt_oss", {"sliding_window": 64, "head_dim": 16},
            {(WINDOW, KV, 64, 1): 4, (FULL, KV, 0, 1): 4},
        ),
        (
            "llama4_text", {"attention_chunk_size": 64, "head_dim": 16},
            {("chunked_local", KV, 0, 1): 6, (FULL, KV, 0, 1): 2},
        ),
        (
            "llama4_text",
            {"attention_chunk_size": 64, "head_dim": 16, "no_rope_layers": [0] + [1] * 7},
            {(FULL, KV, 0, 1): 1, ("chunked_local", KV, 0, 1): 7},
        ),
        # KV sharing: the last layers own no cache.
        (
            "gemma3n_text",
            {"num_hidden_layers": 10, "sliding_window": 64, "num_kv_shared_layers": 5,
             "head_dim": 16},
            {(WINDOW, KV, 64, 1): 4, (FULL, KV, 0, 1): 1},
        ),
        (
            "gemma4_text",
            {"num_hidden_layers": 6, "sliding_window": 64, "head_dim": 16, "global_head_dim": 32,
             "num_global_key_value_heads": 1, "attention_k_eq_v": True},
            {(WINDOW, KV, 64, 1): 5, (FULL, KV, 0, 1): 1},
        ),
        (
            "mimo_v2_flash",
            {"hybrid_layer_pattern": [0, 1, 1, 1] * 2, "head_dim": 24, "v_head_dim": 16,
             "swa_num_attention_heads": 4, "swa_num_key_value_heads": 4, "swa_head_dim": 24,
             "swa_v_head_dim": 16, "sliding_window": 64},
            {(FULL, 2 * 40 * 2, 0, 1): 2, (WINDOW, 4 * 40 * 2, 64, 1): 6},
        ),
        (
            "step3_text",
            {"head_dim": 16, "num_attention_groups": 1, "share_q_dim": 32},
            {(FULL, KV // 2, 0, 1): 8},
        ),
        (
            "step3p7",
            {"layer_types": [FULL, *["sliding_attention"] * 3] * 2, "sliding_window": 64,
             "head_dim": 16, "attention_other_setting": {"num_attention_heads": 6}},
            {(FULL, KV, 0, 1): 2, (WINDOW, KV, 64, 1): 6},
        ),
        (
            "openelm",
            {"num_attention_heads": ..., "num_key_value_heads": ..., "hidden_size": ...,
             "num_hidden_layers": ..., "num_transformer_layers": 3, "model_dim": 64,
             "head_dim": 16, "num_query_heads": [4, 4, 6], "num_kv_heads": [1, 1, 2]},
            {(FULL, KV // 2, 0, 1): 2, (FULL, KV, 0, 1): 1},
        ),
        ("phi", {"num_key_value_heads": None, "partial_rotary_factor": 0.4},
         {(FULL, 2 * KV, 0, 1): 8}),
        ("opt", {"num_key_value_heads": ..., "ffn_dim": 96}, {(FULL, 2 * KV, 0, 1): 8}),
        ("bitnet", {}, {(FULL, KV, 0, 1): 8}),
        ("nemotron", {"head_dim": 32}, {(FULL, 2 * KV, 0, 1): 8}),
        ("internlm2", {"bias": False}, {(FULL, KV, 0, 1): 8}),
        (
            "gpt2",
            {"num_attention_heads": ..., "num_key_value_heads": ..., "hidden_size": ...,
             "num_hidden_layers": ..., "n_layer": 3, "n_head": 4, "n_embd": 64},
            {(FULL, 2 * KV, 0, 1): 3},
        ),
        ("gpt_neox", {"num_key_value_heads": ...}, {(FULL, 2 * KV, 0, 1): 8}),
        ("bloom", {"num_key_value_heads": ..., "max_position_embeddings": ...},
         {(FULL, 2 * KV, 0, 1): 8}),
        ("falcon", {"num_key_value_heads": ...}, {(FULL, KV // 2, 0, 1): 8}),  # MQA by a flag
        ("falcon", {"num_key_value_heads": ..., "multi_query": False}, {(FULL, 2 * KV, 0, 1): 8}),
        (
            "falcon",
            {"num_key_value_heads": ..., "new_decoder_architecture": True, "num_kv_heads": 2},
            {(FULL, KV, 0, 1): 8},
        ),
        # Latents and indexers.
        ("deepseek_v3", LATENT, {("mla", 80, 0, 1): 8}),
        ("deepseek_v2", LATENT | {"q_lora_rank": None}, {("mla", 80, 0, 1): 8}),
        ("deepseek_v32", LATENT | INDEX, {("mla", 80, 0, 1): 8, ("index_key", 132, 0, 1): 8}),
        (
            "glm_moe_dsa", LATENT | INDEX | {"index_topk_freq": 4, "index_skip_topk_offset": 3},
            {("mla", 80, 0, 1): 8, ("index_key", 132, 0, 1): 4},
        ),
        (
            "glm_moe_dsa", LATENT | INDEX | {"index_topk_pattern": "FSSSFSSS"},
            {("mla", 80, 0, 1): 8, ("index_key", 132, 0, 1): 2},
        ),
        (
            "glm_moe_dsa", LATENT | INDEX | {"indexer_types": ["full", *["shared"] * 7]},
            {("mla", 80, 0, 1): 8, ("index_key", 132, 0, 1): 1},
        ),
        (
            "mistral_large4_text",
            LATENT | INDEX | {"q_lora_rank": None, "no_rope_layers": [1, 1, 1, 0] * 2,
                              "kv_source_layers": [0, 1, 2, 3, 4, 4, 4, 4]},
            {("mla", 80, 0, 1): 4, ("mla", 64, 0, 1): 1, ("index_key", 132, 0, 1): 8},
        ),
        (
            "deepseek_v4",
            {"num_hidden_layers": 5, "head_dim": 16, "q_lora_rank": 24, "sliding_window": 64,
             "compress_ratios": [0, 4, 128, 4, 128, 0]} | INDEX,
            {("sliding_window_mla", 32, 64, 1): 5, ("compressed_mla", 32, 0, 4): 2,
             ("compressed_mla", 32, 0, 128): 2, ("compressed_index_key", 132, 0, 4): 2,
             ("compressor_state", 4 * (16 + 128) * 4, 8, 1): 2,
             ("compressor_state", 2 * 16 * 4, 128, 1): 2},
        ),
        (
            "minimax_m3_vl",
            {"head_dim": 16, "sparse_attention_config": {
                "sparse_attention_freq": [0, 0, *[1] * 6], "sparse_index_dim": 32,
                "sparse_num_index_heads": 2, "sparse_topk_blocks": 4, "sparse_block_size": 16}},
            {(FULL, KV, 0, 1): 8, ("index_key", 64, 0, 1): 6},
        ),
        # States, alone and beside attention.
        (
            "qwen3_next", GDN | {"head_dim": 16},
            {("gdn", GDN_CONV + GDN_STATE * 2): 6, (FULL, KV, 0, 1): 2},
        ),
        (
            "qwen3_5_text", GDN | {"head_dim": 16, "mamba_ssm_dtype": "float32"},
            {("gdn", GDN_CONV + GDN_STATE * 4): 6, (FULL, KV, 0, 1): 2},
        ),
        (
            "olmo_hybrid", GDN | {"full_attention_interval": 2},
            {("gdn", GDN_CONV + GDN_STATE * 2): 4, (FULL, KV, 0, 1): 4},
        ),
        (
            "kimi_linear",
            LATENT | {"linear_attn_config": {
                "num_heads": 4, "head_dim": 8, "short_conv_kernel_size": 4,
                "kda_layers": [1, 2, 3, 5, 6, 7], "full_attn_layers": [4, 8]}},
            {("kda", 3 * 3 * 32 * 2 + 4 * 8 * 8 * 4): 6, ("mla", 80, 0, 1): 2},
        ),
        (
            "bailing_hybrid", LATENT | {"head_dim": 8, "layer_group_size": 4},
            {("kda", 3 * 3 * 32 * 2 + 4 * 8 * 8 * 4): 6, ("mla", 80, 0, 1): 2},
        ),
        (
            "qwen4_exp_text",
            GDN | {"head_dim": 16, "mamba_ssm_dtype": "float32", "indexer_n_heads": 4,
                   "indexer_head_dim": 32, "indexer_budget": 64, "indexer_compress_ratio": 4},
            {("gdn", GDN_CONV + GDN_STATE * 4): 6, (FULL, KV, 0, 1): 2,
             ("compressed_index_key", 64, 0, 4): 2},
        ),
        ("qwen4_exp_text", GDN | {"head_dim": 16},
         {("gdn", GDN_CONV + GDN_STATE * 2): 6, (FULL, KV, 0, 1): 2}),
        (
            "glm5_next_text",
            LATENT | INDEX | {"index_kpool": 4, "qk_rope_head_dim": 0, "linear_num_heads": 4,
                              "linear_head_dim": 8},
            {("kda", 3 * 3 * 32 * 2 + 4 * 8 * 8 * 4): 6, ("mla", 64, 0, 1): 2,
             ("compressed_index_key", 132, 0, 4): 2, ("pool_tail", 0, 0, 1): 2},
        ),
        (
            "jamba",
            {"attn_layer_period": 4, "attn_layer_offset": 2, "mamba_d_state": 8,
             "mamba_d_conv": 4, "mamba_expand": 2},
            {("mamba1", 3 * 128 * 2 + 128 * 8 * 2): 6, (FULL, KV, 0, 1): 2},
        ),
        (
            "falcon_mamba",
            {"expand": 2, "state_size": 8, "conv_kernel": 4, "intermediate_size": 128},
            {("mamba1", 3 * 128 * 2 + 128 * 8 * 2): 8},
        ),
        (
            "granitemoehybrid", MAMBA2 | {"layer_types": many("mamba", "attention")},
            {("mamba2", MAMBA2_CONV + MAMBA2_STATE * 2): 7, (FULL, KV, 0, 1): 1},
        ),
        (
            "bamba", MAMBA2 | {"attn_layer_indices": [3, 7], "mamba_d_head": "auto",
                               "mamba_n_heads": 16},
            {("mamba2", 3 * (128 + 64) * 2 + 128 * 16 * 2): 6, (FULL, KV, 0, 1): 2},
        ),
        (
            "falcon_h1", MAMBA2 | {"mamba_d_ssm": 32},
            {("mamba2", MAMBA2_CONV + MAMBA2_STATE * 2): 8, (FULL, KV, 0, 1): 8},
        ),
        (
            "nemotron_h",
            {"hybrid_override_pattern": "ME*-ME*-", "head_dim": 16, "mamba_num_heads": 4,
             "mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 16, "conv_kernel": 4,
             "mamba_ssm_cache_dtype": "float32"},
            {("mamba2", MAMBA2_CONV + MAMBA2_STATE * 4): 2, (FULL, KV, 0, 1): 2},
        ),
        (
            "nemotron_h",
            {"num_hidden_layers": ..., "layers_block_type": ["mamba", "moe", "attention"],
             "head_dim": 16, "mamba_num_heads": 4, "mamba_head_dim": 8, "n_groups": 2,
             "ssm_state_size": 16, "conv_kernel": 4, "mamba_ssm_cache_dtype": "bfloat16"},
            {("mamba2", MAMBA2_CONV + MAMBA2_STATE * 2): 1, (FULL, KV, 0, 1): 1},
        ),
        (
            "minimax", {"attn_type_list": [0, 0, 0, 1] * 2},
            {("lightning", 4 * 16 * 16 * 2): 6, (FULL, KV, 0, 1): 2},
        ),
        (
            "lfm2", {"full_attn_idxs": [2, 5], "conv_L_cache": 3},
            {("short_conv", 2 * 64 * 2): 6, (FULL, KV, 0, 1): 2},
        ),
        # Encoders, and attention across to them.
        ("bert", {}, {}),
        ("xlm-roberta", {}, {}),
        (
            "t5",
            {"num_key_value_heads": ..., "d_kv": 16, "num_decoder_layers": 3, "n_positions": 512,
             "max_position_embeddings": ...},
            {(FULL, 2 * KV, 0, 1): 3, ("cross_attention", 2 * KV, 0, 1): 3},
        ),
        (
            "whisper",
            {"num_hidden_layers": ..., "decoder_layers": 3, "encoder_layers": 5,
             "num_attention_heads": ..., "decoder_attention_heads": 4, "hidden_size": ...,
             "d_model": 64, "max_source_positions": 150},
            {(FULL, 2 * KV, 0, 1): 3, ("cross_attention", 2 * KV, 0, 1): 3},
        ),
        (
            "mllama_text_model", {"cross_attention_layers": [1, 5]},
            {(FULL, KV, 0, 1): 6, ("cross_attention", KV, 0, 1): 2},
        ),
    ],
)  # fmt: skip
def test_groups(
    model_type: str, keys: dict[str, Any], expected: dict[tuple[Any, ...], int]
) -> None:
    assert dict(summary(config_of(model_type, **keys))) == expected


def test_every_rule_is_used_by_a_family() -> None:
    assert {family.layers for family in FAMILIES} == set(RULES)


# ---- places -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("indices", "layers", "place"),
    [
        (range(8), 8, (0, 1, 1)),
        ([3, 7], 8, (3, 4, 1)),
        ([0, 1, 2, 4, 5, 6], 8, (0, 4, 3)),
        ([0, 1, 2], 8, (0, 8, 3)),  # the first layers
        ([5, 6, 7], 8, (5, 1, 1)),  # from the sixth on
        ([2, 3], 8, (2, 6, 2)),  # a stretch within
        ([4], 8, (4, 4, 1)),
        ([7], 8, (7, 1, 1)),
        ([0, 1, 3, 4, 6, 7], 8, (0, 3, 2)),
        ([0, 1, 3, 5, 6], 8, None),
        ([0, 2, 3], 8, None),
    ],
)
def test_place_of_layers(
    indices: list[int], layers: int, place: tuple[int, int, int] | None
) -> None:
    assert place_of(list(indices), layers) == (Place(*place) if place else None)


@given(st.integers(1, 24).flatmap(lambda n: st.tuples(
    st.just(n), st.sets(st.integers(0, n - 1), min_size=1)
)))  # fmt: skip
def test_a_place_names_exactly_its_layers(case: tuple[int, set[int]]) -> None:
    layers, chosen = case
    place = place_of(sorted(chosen), layers)
    if place is not None:
        named = {
            i for i in range(place.first, layers) if (i - place.first) % place.period < place.run
        }
        assert named == chosen


@given(st.integers(1, 30), st.integers(0, 29), st.integers(1, 9), st.integers(1, 9))
def test_every_regular_pattern_has_a_place(layers: int, first: int, period: int, run: int) -> None:
    chosen = [i for i in range(first, layers) if (i - first) % period < run]
    if chosen:
        assert place_of(chosen, layers) is not None
