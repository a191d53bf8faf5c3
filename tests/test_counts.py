"""Parameter counts: against published totals, against a second route, and what is refused."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
import yaml
from oracle_params import TENSORS_OF
from support.models import MODELS

from planner.errors import InputError
from planner.importers.counts import Counts, count
from planner.importers.counts_families import STACKS, TOWERS, WHOLE
from planner.importers.hf_config import HfConfig, parse_config
from planner.importers.hf_families import FAMILIES

CONFIGS = Path(__file__).parent / "configs"
TOTALS: dict[str, dict[str, Any]] = yaml.safe_load((CONFIGS / "totals.yaml").read_text("utf-8"))


def config_of(data: dict[str, Any]) -> HfConfig:
    return parse_config(json.dumps(data))


def published(name: str) -> dict[str, Any]:
    """One of the configurations beside this file."""
    data: dict[str, Any] = json.loads((CONFIGS / f"{name}.json").read_text("utf-8"))
    return data


# ---- published totals -------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOTALS)
def test_published_total_and_components(name: str) -> None:
    expected, counts = TOTALS[name], count(config_of(published(name)))
    assert {k: n for k, n in counts.parts().items() if n} == expected["parts"]
    assert counts.total == expected["total"]
    assert counts.mtp == expected.get("mtp", 0)
    assert counts.uncounted == ()


@pytest.mark.parametrize("name", [name for name, entry in TOTALS.items() if "hub" in entry])
def test_hub_total_is_explained_to_the_last_element(name: str) -> None:
    counts, entry = count(config_of(published(name))), TOTALS[name]
    assert counts.mtp is not None
    assert counts.total + counts.mtp + sum(entry.get("also", {}).values()) == entry["hub"]


def test_every_configuration_has_a_total() -> None:
    assert {path.stem for path in CONFIGS.glob("*.json")} == set(TOTALS)


def test_files_of_kimi_k3_to_the_byte() -> None:
    """The hub's census by dtype and the bytes of its index follow from the counts."""
    counts = count(config_of(published("kimi-k3")))
    padding, kept = 69 * 32, 11_122_432  # A_log of 96 heads is stored for 128; vectors in F32
    bf16 = counts.total + padding - counts.experts - kept
    assert (counts.experts, bf16) == (2_722_740_830_208, 57_179_884_544)
    bits = counts.experts // 32 * (32 * 4 + 8)
    assert bits // 8 + 2 * bf16 + 4 * kept == 1_560_860_324_864


@pytest.mark.parametrize("name", MODELS)
def test_total_of_a_model_of_another_family(name: str) -> None:
    data, total = MODELS[name]
    counts = count(config_of(data))
    assert (counts.total, counts.mtp, counts.uncounted) == (total, 0, ())


# ---- worked by hand ---------------------------------------------------------------------------


def test_grouped_query_attention_by_hand() -> None:
    """H*d*(q + 2*kv) + q*d*H per layer, and 2*d beside it where heads are normed."""
    counts = count(config_of(published("qwen3-8b")))
    assert counts.attention == 36 * (4096 * 128 * (32 + 2 * 8) + 32 * 128 * 4096)
    assert counts.norm == 36 * (2 * 4096 + 2 * 128) + 4096


def test_latent_attention_and_experts_by_hand() -> None:
    counts = count(config_of(published("deepseek-v3")))
    queries = 7168 * 1536 + 1536 * 128 * 192
    latent = 7168 * 576 + 512 * 128 * 256
    assert counts.attention == 61 * (queries + latent + 128 * 128 * 7168)
    assert counts.experts == 58 * 256 * 3 * 7168 * 2048
    assert counts.router == 58 * (256 * 7168 + 256)


def test_indexers_that_layers_share_count_once() -> None:
    """21 of 78 layers of GLM-5.2 own an indexer; the module beside the model always has one."""
    own = 2048 * 32 * 128 + 6144 * 128 + 2 * 128 + 6144 * 32
    assert count(config_of(published("glm-5.2"))).indexer == 21 * own
    by_rule = published("glm-5.2")
    del by_rule["indexer_types"]
    by_rule |= {"index_topk_freq": 4, "index_skip_topk_offset": 3}
    assert count(config_of(by_rule)).indexer == 21 * own
    assert count(config_of(by_rule | {"index_topk_freq": 1})).indexer == 78 * own


def test_state_mixers_by_hand() -> None:
    counts = count(config_of(published("qwen3-next-80b")))
    keys, values, size = 16 * 128, 32 * 128, 2048
    delta = size * (2 * keys + 2 * values) + size * 2 * 32 + 4 * (2 * keys + values)
    assert counts.state == 36 * (delta + 2 * 32 + 128 + values * size)


@pytest.mark.parametrize(
    ("hidden", "layers", "shared", "kv_heads", "total", "hub"),
    [
        (1536, 35, 20, 1, 4_797_113_635, 5_123_178_051),
        (2560, 42, 18, 2, 7_632_344_106, 7_996_156_490),
    ],
)
def test_sound_of_gemma_4_and_projections_that_no_layer_uses(
    hidden: int, layers: int, shared: int, kv_heads: int, total: int, hub: int
) -> None:
    """E2B and E4B: hub total = text and vision, the tower for sound, keys and values of layers
    that use those of others."""
    every = 5 if layers == 35 else 6
    words = ["full_attention" if (i + 1) % every == 0 else "sliding_attention"
             for i in range(layers)]  # fmt: skip
    data = {
        "model_type": "gemma4", "vision_config": {}, "audio_config": {},
        "text_config": {
            "model_type": "gemma4_text", "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": 8, "num_key_value_heads": kv_heads, "head_dim": 256,
            "global_head_dim": 512, "intermediate_size": 6144 if layers == 35 else 10240,
            "vocab_size": 262144, "layer_types": words, "num_kv_shared_layers": shared,
            "use_double_wide_mlp": layers == 35, "hidden_size_per_layer_input": 256,
            "vocab_size_per_layer_input": 262144,
        },
    }  # fmt: skip
    counts = count(config_of(data))
    sound = counts.total - total
    unused = sum(
        2 * hidden * kv_heads * size + size
        for size in (512 if word == "full_attention" else 256 for word in words[layers - shared :])
    )
    assert total + sound + unused == hub
    del data["audio_config"]
    assert count(config_of(data)).total == total


# ---- a second route ---------------------------------------------------------------------------

SMALL_DEEPSEEK = {
    "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 96,
    "num_hidden_layers": 5, "num_attention_heads": 6, "num_key_value_heads": 6, "v_head_dim": 10,
    "intermediate_size": 208, "vocab_size": 1000, "tie_word_embeddings": False,
    "kv_lora_rank": 32, "q_lora_rank": 48, "qk_nope_head_dim": 12, "qk_rope_head_dim": 4,
    "n_routed_experts": 7, "n_shared_experts": 2, "num_experts_per_tok": 2,
    "moe_intermediate_size": 40, "first_k_dense_replace": 2, "num_nextn_predict_layers": 2,
}  # fmt: skip
VARIANTS: list[dict[str, Any]] = [
    *(
        published(name)
        for name in (
            "llama-3.1-8b", "qwen2.5-7b", "qwen3-8b", "qwen3-0.6b", "qwen3-30b-a3b",
            "mixtral-8x7b", "gemma-2-9b", "gemma-3-1b", "deepseek-v2-lite", "deepseek-v3",
            "deepseek-v3.2", "nemotron-nano-9b", "nemotron-3-nano", "qwen3-next-80b",
        )
    ),
    published("llama-3.1-8b") | {"hidden_size": 768, "num_key_value_heads": 1, "vocab_size": 77},
    published("qwen2.5-7b") | {"tie_word_embeddings": True, "num_hidden_layers": 3},
    published("qwen3-8b") | {"head_dim": 48, "num_key_value_heads": 2, "intermediate_size": 500},
    published("mixtral-8x7b") | {"num_local_experts": 3, "num_hidden_layers": 2},
    published("gemma-3-1b") | {"head_dim": 24, "hidden_size": 120, "num_attention_heads": 7},
    SMALL_DEEPSEEK,
    SMALL_DEEPSEEK | {"q_lora_rank": None, "num_nextn_predict_layers": 0},
    SMALL_DEEPSEEK
    | {
        "model_type": "deepseek_v32", "architectures": ["DeepseekV32ForCausalLM"],
        "index_n_heads": 3, "index_head_dim": 14, "index_topk": 64,
    },
    published("nemotron-3-nano") | {"hybrid_override_pattern": "M*-E", "num_hidden_layers": 4,
                                    "moe_latent_size": 256, "n_groups": 2,
                                    "intermediate_size": 300},
    published("qwen3-next-80b") | {"num_experts": 5, "num_hidden_layers": 9,
                                   "full_attention_interval": 3},
]  # fmt: skip


@pytest.mark.parametrize("data", VARIANTS, ids=lambda data: str(data["model_type"]))
def test_a_list_of_all_tensors_gives_the_same_sums(data: dict[str, Any]) -> None:
    counts, tensors = count(config_of(data)), TENSORS_OF[data["model_type"]](data)
    layers = data["num_hidden_layers"]
    beside = {
        name
        for name in tensors
        if name.startswith("mtp.") or name.startswith(f"model.layers.{layers}.")
        or name.startswith(f"model.layers.{layers + 1}.")
    }  # fmt: skip
    copies = {name for name in beside if "embed_tokens" in name or "shared_head.head" in name}
    assert counts.total == sum(prod(tensors[name]) for name in set(tensors) - beside)
    assert counts.mtp == sum(prod(tensors[name]) for name in beside - copies)


# ---- what no figure says ----------------------------------------------------------------------


def test_modules_of_unknown_shape_stay_unknown() -> None:
    data = published("llama-3.1-8b") | {"num_nextn_predict_layers": 2}
    counts = count(config_of(data))
    assert counts.mtp is None and counts.total == TOTALS["llama-3.1-8b"]["total"]
    assert counts.notes == ("2 MTP modules, whose shape is not known here",)


def test_modules_that_are_named_and_not_published() -> None:
    counts = count(config_of(published("minimax-m3")))
    assert counts.mtp == 0
    assert "1 MTP modules are named, the checkpoints hold none" in counts.notes


def test_modules_that_are_published_and_not_named() -> None:
    counts = count(config_of(published("qwen3-next-80b")))
    assert any("does not name" in note for note in counts.notes)


def test_other_is_always_named_in_a_note() -> None:
    for name, entry in TOTALS.items():
        counts = count(config_of(published(name)))
        named = any(note.startswith("other:") for note in counts.notes)
        assert named == ("other" in entry["parts"]), name


def test_a_head_can_be_left_out() -> None:
    """Embedding checkpoints are published without one, and their configuration does not say so."""
    counts = count(config_of(published("qwen3-8b")))
    assert counts.without_head().total == counts.total - counts.lm_head


def test_counts_add_and_multiply() -> None:
    one = Counts(attention=3, norm=1, mtp=None, notes=("a",))
    assert (one + Counts(mlp=5, notes=("a", "b"))).parts() == Counts(
        attention=3, norm=1, mlp=5
    ).parts()
    assert (one + Counts()).mtp is None and (one * 4).total == 16
    assert (one + Counts(notes=("a", "b"))).notes == ("a", "b")


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "change", "where"),
    [
        ("llama-3.1-8b", {"hidden_size": "wide"}, "hidden_size"),
        ("llama-3.1-8b", {"num_hidden_layers": -1}, "num_hidden_layers"),
        ("llama-3.1-8b", {"num_hidden_layers": 10**9}, "num_hidden_layers: expected at most 2000"),
        ("llama-3.1-8b", {"hidden_size": 10**9}, "hidden_size: expected a model of less than"),
        ("llama-3.1-8b", {"tie_word_embeddings": 1}, "tie_word_embeddings"),
        ("nemotron-nano-9b", {"hybrid_override_pattern": "M?"}, "hybrid_override_pattern"),
        ("nemotron-nano-9b", {"hybrid_override_pattern": "M-", "num_hidden_layers": 3},
         "hybrid_override_pattern"),
        ("deepseek-v4-flash", {"compress_ratios": [4, 4]}, "compress_ratios"),
        ("granite-4.0-h-small", {"layer_types": ["wind"] * 40}, "layer_types"),
    ],
)  # fmt: skip
def test_a_figure_that_is_none_is_refused_by_its_name(
    name: str, change: dict[str, Any], where: str
) -> None:
    with pytest.raises(InputError) as caught:
        count(config_of(published(name) | change))
    assert where in str(caught.value)
    assert len(caught.value.problems) == 1


def test_every_type_that_the_importer_knows_is_counted() -> None:
    types = {name for family in FAMILIES for name in family.model_types}
    assert types == set(STACKS) | set(WHOLE) and not set(STACKS) & set(WHOLE)
    wrappers = {name for family in FAMILIES for name in family.wrappers}
    assert wrappers - set(TOWERS) == {"step3_vl"}  # whose tower is named as not counted
