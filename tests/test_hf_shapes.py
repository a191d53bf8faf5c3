"""What layer groups say beside their bytes, and the messages about configurations that are bad."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.hf import config_of, per_token, refusal, state, summary, text_of

from planner.importers.hf_config import parse_config
from planner.importers.hf_layers import layer_groups

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
KV = 2 * (16 + 16) * 2  # two KV heads of 16 in BF16


def test_searched_layers_say_their_own_heads() -> None:
    def block(**attention: Any) -> dict[str, Any]:
        return {"attention": {"n_heads_in_group": None, "no_op": False} | attention}

    keys: dict[str, Any] = {
        "num_hidden_layers": 5,
        "num_key_value_heads": None,
        "block_configs": [
            block(n_heads_in_group=4),
            block(no_op=True),
            block(n_heads_in_group=2),
            block(replace_with_linear=True),
            block(n_heads_in_group=2, window_length=64),
        ],
    }
    found = summary(config_of("nemotron-nas", **keys))
    assert found == {(FULL, KV // 2, 0, 1): 1, (FULL, KV, 0, 1): 1, (WINDOW, KV, 64, 1): 1}
    keys["block_configs"][0]["attention"]["sparsify"] = [1]
    assert refusal(text_of("nemotron-nas", **keys)) == (
        "block_configs: expected heads and windows only, found 'sparsify' in "
        "block_configs[0].attention"
    )


# ---- what a group says beside its bytes -------------------------------------------------------


def shapes(model_type: str, **keys: Any) -> list[dict[str, Any]]:
    groups = layer_groups(config_of(model_type, **keys))
    return [{name: one.value for name, one in group.shape.items()} for group in groups]


def test_shared_layers_stay_in_their_group() -> None:
    keys = {"num_hidden_layers": 10, "sliding_window": 64, "num_kv_shared_layers": 5}
    window, full = layer_groups(config_of("gemma3n_text", head_dim=16, **keys))
    assert (window.layers, window.shared, full.layers, full.shared) == (8, 4, 2, 1)


def test_layers_that_use_keys_as_values_have_one_projection() -> None:
    keys = {"num_hidden_layers": 6, "sliding_window": 64, "attention_k_eq_v": True}
    window, full = shapes("gemma4_text", num_global_key_value_heads=1, **keys)
    assert "v_projection" not in window and full["v_projection"] is False
    assert (window["head_dim"], full["head_dim"], full["kv_heads"]) == (256, 512, 1)


def test_bias_of_key_and_value_projections() -> None:
    assert shapes("qwen2")[0]["kv_bias"] is True
    assert "kv_bias" not in shapes("llama")[0]
    assert shapes("llama", attention_bias=True)[0]["kv_bias"] is True
    assert shapes("gpt_oss", head_dim=16)[0]["kv_bias"] is True  # the default of its class


def test_sparse_layers_read_a_limited_number_of_tokens() -> None:
    latent, index = shapes("deepseek_v32", **LATENT, **INDEX)
    assert (latent["index_topk"], index["index_query_size"]) == (64, 24)
    sparse = {
        "sparse_attention_freq": [1] * 8, "sparse_index_dim": 32, "sparse_num_index_heads": 2,
        "sparse_topk_blocks": 4, "sparse_block_size": 16,
    }  # fmt: skip
    full, key = shapes("minimax_m3_vl", head_dim=16, sparse_attention_config=sparse)
    assert (full["read_limit"], key["index_query_size"], key["index_weights"]) == (64, 64, False)


def test_queries_without_a_latent_say_so() -> None:
    assert shapes("deepseek_v2", **(LATENT | {"q_lora_rank": None}))[0]["q_lora_rank"] == 0


def test_narrow_gates_of_delta_attention() -> None:
    part = {"num_heads": 4, "head_dim": 8, "short_conv_kernel_size": 4, "kda_layers": [*range(9)]}
    assert shapes("kimi_linear", **LATENT, linear_attn_config=part)[0]["gate_rank"] == 16
    wide = part | {"use_full_rank_gate": True}
    assert shapes("kimi_linear", **LATENT, linear_attn_config=wide)[0]["gate_rank"] == 8
    assert shapes("bailing_hybrid", **LATENT, head_dim=8)[0]["gate_rank"] == 0


def test_tokens_of_the_other_side() -> None:
    tower = {"image_size": 28, "patch_size": 14}
    keys = {"cross_attention_layers": [1]}
    assert shapes("mllama_text_model", **keys)[1]["tokens"] is None
    text = json.loads(text_of("mllama_text_model", **keys))
    seeing = {"model_type": "mllama", "text_config": text, "vision_config": tower}
    groups = layer_groups(parse_config(json.dumps(seeing)))
    assert groups[1].shape["tokens"].value == (4 + 1) * 4
    few = dict(tower, max_num_tiles=1)
    groups = layer_groups(parse_config(json.dumps(seeing | {"vision_config": few})))
    assert groups[1].shape["tokens"].value == 5


def test_window_no_shorter_than_the_context_is_noted() -> None:
    (group,) = layer_groups(config_of("phi3", sliding_window=5000))
    assert group.notes == (
        "the window of 5000 tokens is longer than the context, so it is no window",
    )


def test_bytes_of_a_group_and_origin_of_its_figures() -> None:
    (group,) = layer_groups(config_of("llama"))
    assert (per_token(group, 64), state(group, 64)) == (KV, 0)
    assert group.shape["kv_heads"].why == "num_key_value_heads"
    assert group.shape["head_dim"].why == "hidden_size / num_attention_heads"
    assert group.shape["head_dim"].origin == "derived"


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model_type", "keys", "message"),
    [
        (
            "llama", {"num_attention_heads": 5},
            "num_attention_heads: expected a divisor of the hidden size 64, found 5",
        ),
        (
            "gemma3_text", {"layer_types": [*[FULL] * 7, "dilated_attention"]},
            "layer_types: expected full_attention, sliding_attention or chunked_attention, "
            "found 'dilated_attention' for layer 7",
        ),
        (
            "gemma3_text", {"layer_types": [FULL]},
            "layer_types: expected an entry for layer 1, found 1 of them",
        ),
        (
            "qwen3_next", GDN | {"layer_types": ["mamba"] * 8},
            "layer_types: expected linear_attention or full_attention, found 'mamba' for layer 0",
        ),
        (
            "exaone4", {"sliding_window": 64, "sliding_window_pattern": "LLXG"},
            "sliding_window_pattern: expected letters L and G, or a number, found 'LLXG'",
        ),
        (
            "kimi_k2", LATENT | {"kv_lora_rank": None},
            "kv_lora_rank: expected a value, found null",
        ),
        (
            "step3_text", {"head_dim": 16},
            "share_q_dim: expected a value, found no such key",
        ),
        (
            "deepseek_v4",
            {"head_dim": 16, "q_lora_rank": 24, "compress_ratios": [2] * 8} | INDEX,
            "compress_ratios: expected 0, or 4 and more, found 2 for layer 0",
        ),
        (
            "bert", {"is_decoder": True}, "is_decoder: expected an encoder, found a decoder",
        ),
        (
            "hunyuan", {"use_cla": True},
            "use_cla: expected false, null or no such key, found true | it changes the layers of "
            "hunyuan in a way that no rule covers",
        ),
        (
            "openelm",
            {"head_dim": 16, "num_query_heads": [2 * n for n in range(1, 9)],
             "num_kv_heads": [*range(1, 9)]},
            ": expected 1 to 6 sorts of layers that keep something, found 8 of them",
        ),
        ("llama", {"torch_dtype": "int9", "num_hidden_layers": 9.5},
         "num_hidden_layers: expected a whole number, found 9.5"),
        ("llama", {"num_hidden_layers": 1e9},
         "num_hidden_layers: expected at most 2000, found 1000000000.0"),
        ("llama", {"num_hidden_layers": -1}, "num_hidden_layers: expected 0 or more, found -1"),
        ("mistral", {"sliding_window": "all"},
         "sliding_window: expected a whole number, found 'all'"),
        ("minimax", {"attn_type_list": [1, 0]},
         "attn_type_list: expected a list of 8, found 2 of them"),
    ],
)  # fmt: skip
def test_refusals(model_type: str, keys: dict[str, Any], message: str) -> None:
    assert refusal(text_of(model_type, **keys)) == message
