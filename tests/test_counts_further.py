"""Parameter counts of the oldest decoders and the newest hybrids, against totals and by hand."""

from __future__ import annotations

from typing import Any

import pytest
from support.hf import refusal, text_of
from support.models import MODELS
from test_counts import config_of

from planner.errors import InputError
from planner.importers.counts import count


def test_learned_positions_are_embedding() -> None:
    """Rows of 2048 places and two before them; GPT-2 has none before."""
    assert count(config_of(MODELS["opt-2.7b"][0])).embedding == (50_272 + 2048 + 2) * 2560
    assert count(config_of(MODELS["gpt2"][0])).embedding == (50_257 + 1024) * 768


def test_head_of_phi_has_a_bias_and_its_layers_one_norm() -> None:
    counts = count(config_of(MODELS["phi-2"][0]))
    assert counts.lm_head == 51_200 * 2560 + 51_200
    assert counts.norm == (32 + 1) * 2 * 2560


def test_norms_of_bitnet_stand_inside_its_blocks() -> None:
    assert count(config_of(MODELS["bitnet-b1.58-2b-4t"][0])).norm == 30 * (3 * 2560 + 6912) + 2560


def test_key_and_value_of_falcon_are_one_head_each_or_as_written() -> None:
    """H*(q + 2*kv)*d and back, without biases."""
    one, eight = (count(config_of(MODELS[name][0])) for name in ("falcon-7b", "falcon-40b"))
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
        count(config_of(MODELS[name][0] | change))
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
