"""Parameter counts of the oldest decoders and the newest hybrids, against totals and by hand.

All totals of older decoders but one are also those of transformers 5.24.0 without weights;
InternLM2 has no class there, and its total is the one of the hub.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.hf import refusal, text_of
from test_counts import config_of

from planner.errors import InputError
from planner.importers.counts import count

OLDER: dict[str, tuple[dict[str, Any], int]] = {
    "opt-2.7b": (
        {"model_type": "opt", "hidden_size": 2560, "num_hidden_layers": 32,
         "num_attention_heads": 32, "ffn_dim": 10240, "vocab_size": 50272,
         "word_embed_proj_dim": 2560, "max_position_embeddings": 2048},
        2_651_596_800,
    ),
    "phi-2": (
        {"model_type": "phi", "hidden_size": 2560, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 10240,
         "vocab_size": 51200, "partial_rotary_factor": 0.4, "qk_layernorm": False},
        2_779_683_840,
    ),
    "bitnet-b1.58-2b-4t": (
        {"model_type": "bitnet", "hidden_size": 2560, "num_hidden_layers": 30,
         "num_attention_heads": 20, "num_key_value_heads": 5, "intermediate_size": 6912,
         "vocab_size": 128256, "tie_word_embeddings": True},
        2_412_820_480,
    ),
    "nemotron-3-8b": (
        {"model_type": "nemotron", "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 16384,
         "vocab_size": 256000},
        8_540_135_424,
    ),
    "internlm2-7b": (
        {"model_type": "internlm2", "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
         "vocab_size": 92544, "bias": False, "tie_word_embeddings": False},
        7_737_708_544,
    ),
    "gpt2": ({"model_type": "gpt2", "vocab_size": 50257}, 124_439_808),
    "gpt2-xl": (
        {"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "vocab_size": 50257},
        1_557_611_200,
    ),
    "falcon-7b": ({"model_type": "falcon"}, 6_921_720_704),
    "falcon-40b": (
        {"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60,
         "num_attention_heads": 128, "num_kv_heads": 8, "new_decoder_architecture": True},
        41_303_293_952,
    ),
    "pythia-6.9b": (
        {"model_type": "gpt_neox", "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "intermediate_size": 16384, "vocab_size": 50432},
        6_857_302_016,
    ),
    "bloom-7b1": (
        {"model_type": "bloom", "n_embed": 4096, "n_layer": 30, "num_attention_heads": 32,
         "vocab_size": 250880},
        7_069_016_064,
    ),
    "falcon-rw-1b": (
        {"model_type": "falcon", "hidden_size": 2048, "num_hidden_layers": 24,
         "num_attention_heads": 32, "vocab_size": 50304, "multi_query": False,
         "parallel_attn": False, "bias": True},
        1_311_625_216,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OLDER)
def test_total_of_an_older_decoder(name: str) -> None:
    data, total = OLDER[name]
    counts = count(config_of(data))
    assert (counts.total, counts.mtp, counts.uncounted) == (total, 0, ())


def test_learned_positions_are_embedding() -> None:
    """Rows of 2048 places and two before them; GPT-2 has none before."""
    assert count(config_of(OLDER["opt-2.7b"][0])).embedding == (50_272 + 2048 + 2) * 2560
    assert count(config_of(OLDER["gpt2"][0])).embedding == (50_257 + 1024) * 768


def test_head_of_phi_has_a_bias_and_its_layers_one_norm() -> None:
    counts = count(config_of(OLDER["phi-2"][0]))
    assert counts.lm_head == 51_200 * 2560 + 51_200
    assert counts.norm == (32 + 1) * 2 * 2560


def test_norms_of_bitnet_stand_inside_its_blocks() -> None:
    assert count(config_of(OLDER["bitnet-b1.58-2b-4t"][0])).norm == 30 * (3 * 2560 + 6912) + 2560


def test_key_and_value_of_falcon_are_one_head_each_or_as_written() -> None:
    """H*(q + 2*kv)*d and back, without biases."""
    one, eight = (count(config_of(OLDER[name][0])) for name in ("falcon-7b", "falcon-40b"))
    assert one.attention == 32 * 4544 * 64 * (71 + 2 + 71)
    assert eight.attention == 60 * 8192 * 64 * (128 + 2 * 8 + 128)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("opt-2.7b", {"word_embed_proj_dim": 512},
         "word_embed_proj_dim: expected the hidden size 2560, found 512"),
        ("opt-2.7b", {"do_layer_norm_before": False},
         "do_layer_norm_before: expected true, found false"),
    ],
)  # fmt: skip
def test_opt_350m_is_refused(name: str, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        count(config_of(OLDER[name][0] | change))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("model_type", "key"), [("phi", "qk_layernorm"), ("gpt2", "add_cross_attention")]
)
def test_switch_that_no_rule_covers_is_refused(model_type: str, key: str) -> None:
    assert f"{key}: expected false, null or no such key, found true" in refusal(
        text_of(model_type, **{key: True})
    )


# ---- GLM-5.3-Flash ----------------------------------------------------------------------------

GLM_5_3_FLASH: dict[str, Any] = {
    "model_type": "glm5_next", "architectures": ["Glm5NextForConditionalGeneration"],
    "text_config": {
        "model_type": "glm5_next_text", "index_kpool": 4, "first_k_dense_replace": 3,
        "num_nextn_predict_layers": 1,
    },
    "vision_config": {"out_hidden_size": 4096},
}  # fmt: skip


def test_hub_total_of_glm_5_3_flash_to_the_last_element() -> None:
    """Text, tower and the module beside it are all that the checkpoint holds."""
    counts = count(config_of(GLM_5_3_FLASH))
    assert counts.mtp is not None and counts.uncounted == ()
    assert counts.total + counts.mtp == 321_323_031_390


def test_pooled_indexer_by_hand() -> None:
    """Queries from the latent, one key, a weight a head, a shifted norm; a gate and four places."""
    one = 1536 * 32 * 128 + 4096 * 128 + 4096 * 32 + 2 * 128 + 4096 * 128 + 4 * 128
    assert count(config_of(GLM_5_3_FLASH)).indexer == 11 * one


# ---- Qwen3.8-Flash-Next -----------------------------------------------------------------------

FLASH_NEXT: dict[str, Any] = {
    "model_type": "qwen4_exp", "architectures": ["Qwen4ExpForConditionalGeneration"],
    "text_config": {
        "model_type": "qwen4_exp_text", "hidden_size": 2560, "num_hidden_layers": 48,
        "num_attention_heads": 24, "linear_num_value_heads": 48, "moe_intermediate_size": 640,
        "shared_expert_intermediate_size": 640, "indexer_n_heads": 4, "indexer_kv_heads": 1,
        "indexer_head_dim": 128, "indexer_budget": 2048, "indexer_compress_ratio": 4,
        "ple_layer_ids": [2], "ple_embed_dim": 2560,
    },
    "vision_config": {"out_hidden_size": 2560},
}  # fmt: skip


def flash_next(**keys: Any) -> dict[str, Any]:
    return FLASH_NEXT | {"text_config": FLASH_NEXT["text_config"] | keys}


def test_total_of_flash_next_is_that_of_transformers() -> None:
    counts = count(config_of(FLASH_NEXT))
    assert (counts.total, counts.mtp, counts.uncounted) == (177_392_830_576, 0, ())
    assert counts.indexer == 12 * (2560 * (4 + 1) * 128 + 2 * 128)


def test_tables_of_n_grams_have_a_prime_of_rows_for_each_head() -> None:
    """From 30 on: 31, 37, 41 and 43 rows for four heads of 640, padded from 152 to 160."""
    without = count(config_of(flash_next(ple_layer_ids=[])))
    keys = {"ngram_vocab_size_base": 30, "heads_per_ngram": 2, "ngram_size": 3,
            "make_ngram_vocab_size_divisible_by": 16}  # fmt: skip
    one = count(config_of(flash_next(**keys)))
    assert one.embedding - without.embedding == 160 * 640
    two = count(config_of(flash_next(**keys, ple_layer_ids=[2, 6])))
    assert two.embedding - one.embedding == (47 + 53 + 59 + 61 + 4) * 640
    assert one.other - without.other == 2560 * (4 * 2560 + 2560) + 4 * 4 * 2560


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ngram_vocab_size_base": 1}, "ngram_vocab_size_base: expected 2 to 1000000000 rows"),
        ({"heads_per_ngram": 3}, "heads_per_ngram: expected a divisor of the 2560 channels"),
        ({"ple_layer_ids": list(range(1, 49))}, "ple_layer_ids: expected at most 256 tables"),
    ],
)
def test_tables_that_no_model_has_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        count(config_of(flash_next(**change)))
    assert said in str(caught.value)
