"""The architectures that the importer knows: one row each.

A family is found by ``model_type`` of the text tower and ``architectures``; both must be known and
agree where both are written. ``layers`` names the rule of ``hf_layers`` for its layer groups,
``layer_types`` the list that its configuration class computes where the file has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from planner import yamlfile
from planner.errors import InputError, Problem, nearest, one_of
from planner.importers import hf_patterns as patterns
from planner.importers.hf_patterns import Pattern
from planner.yamlfile import Key, YamlFile

# Where a multimodal configuration keeps its text tower.
TEXT_SECTIONS: tuple[Key, ...] = (
    ("thinker_config", "text_config"),
    ("text_config",),
    ("llm_config",),
    ("language_config",),
    ("language_model_config",),
)

# Other names of one and the same figure, wherever they stand.
SPELLINGS: dict[str, tuple[str, ...]] = {
    "dtype": ("torch_dtype",),
    "hidden_size": ("n_embd", "d_model"),
    "num_hidden_layers": ("n_layer", "num_layers", "num_transformer_layers"),
    "num_attention_heads": ("n_head", "num_heads"),
    "head_dim": ("attention_head_dim",),
    "max_position_embeddings": ("n_positions", "model_max_length", "max_context_length"),
    "num_experts": ("num_local_experts", "n_routed_experts", "moe_num_experts"),
    "num_experts_per_tok": ("num_experts_per_token", "moe_topk", "moe_top_k", "moe_k",
                            "top_k_experts"),
    "num_shared_experts": ("n_shared_experts", "num_shared_expert", "moe_num_shared_experts"),
    "num_mtp": ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Family:
    """One architecture: its names, its rule for layer groups, how its keys are spelled.

    ``line``: the model line that catalogs group by. ``wrappers``: types of multimodal models whose
    text tower it is. ``kv_bias``: whether key and value projections have a bias, or the key that
    says so. ``refuses``: keys that change the layers in a way that no rule here covers.
    """

    name: str
    line: str
    model_types: tuple[str, ...]
    architectures: tuple[str, ...]
    layers: str = "attention"
    wrappers: tuple[str, ...] = ()
    kv_bias: bool | str = "attention_bias"
    layer_types: Pattern | None = None
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refuses: tuple[str, ...] = ()


def _named(stem: str, *further: str) -> tuple[str, ...]:
    return (f"{stem}ForCausalLM", f"{stem}Model", *further)


def _seeing(stem: str, *further: str) -> tuple[str, ...]:
    return (f"{stem}ForConditionalGeneration", *further)


FAMILIES: tuple[Family, ...] = (
    # ---- attention in every layer --------------------------------------------------------------
    Family("llama", "llama", ("llama",), _named("Llama"), layer_types=patterns.everywhere),
    Family("mistral", "mistral", ("mistral",), _named("Mistral", *_seeing("Mistral3")),
           wrappers=("mistral3",), kv_bias=False, layer_types=patterns.everywhere),
    Family("ministral", "mistral", ("ministral",), _named("Ministral"), kv_bias=False,
           layer_types=patterns.everywhere),
    Family("ministral3", "mistral", ("ministral3",), _named("Ministral3", *_seeing("Mistral3")),
           wrappers=("mistral3",), kv_bias=False, layer_types=patterns.everywhere),
    Family("mixtral", "mistral", ("mixtral",), _named("Mixtral"), kv_bias=False,
           layer_types=patterns.everywhere),
    Family("qwen2", "qwen", ("qwen2",), _named("Qwen2"), kv_bias=True,
           layer_types=patterns.from_layer),
    Family("qwen2_moe", "qwen", ("qwen2_moe",), _named("Qwen2Moe"), kv_bias="qkv_bias",
           layer_types=patterns.alternating_before),
    Family("qwen2_vl", "qwen", ("qwen2_vl", "qwen2_vl_text"), _seeing("Qwen2VL"),
           wrappers=("qwen2_vl",), kv_bias=True, layer_types=patterns.from_layer),
    Family("qwen2_5_vl", "qwen", ("qwen2_5_vl", "qwen2_5_vl_text"), _seeing("Qwen2_5_VL"),
           wrappers=("qwen2_5_vl",), kv_bias=True, layer_types=patterns.from_layer),
    Family("mimo", "mimo", ("mimo",), _named("MiMo"), kv_bias=True,
           layer_types=patterns.from_layer),
    Family("qwen3", "qwen", ("qwen3",), _named("Qwen3"), layer_types=patterns.from_layer),
    Family("qwen3_moe", "qwen", ("qwen3_moe",), _named("Qwen3Moe"),
           layer_types=patterns.if_used),
    Family("qwen3_vl", "qwen", ("qwen3_vl_text",), _seeing("Qwen3VL"),
           wrappers=("qwen3_vl",), layer_types=patterns.full),
    Family("qwen3_vl_moe", "qwen", ("qwen3_vl_moe_text",), _seeing("Qwen3VLMoe"),
           wrappers=("qwen3_vl_moe",), layer_types=patterns.full),
    Family("gemma", "gemma", ("gemma",), _named("Gemma"), layer_types=patterns.full),
    Family("gemma2", "gemma", ("gemma2",), _named("Gemma2"), layer_types=patterns.alternating),
    Family("gemma3", "gemma", ("gemma3_text",), _named("Gemma3", *_seeing("Gemma3")),
           wrappers=("gemma3",), layer_types=patterns.all_but_every(6),
           refuses=("use_bidirectional_attention",)),
    Family("gemma3n", "gemma", ("gemma3n_text",), _named("Gemma3n", *_seeing("Gemma3n")),
           wrappers=("gemma3n",), layer_types=patterns.all_but_every(5)),
    Family("gemma4", "gemma", ("gemma4_text",), _named("Gemma4", *_seeing("Gemma4")),
           layers="gemma4", wrappers=("gemma4",), layer_types=patterns.last_is_full),
    Family("cohere", "cohere", ("cohere",), _named("Cohere"), layer_types=patterns.full),
    Family("cohere2", "cohere", ("cohere2",), _named("Cohere2"),
           layer_types=patterns.all_but_every(4)),
    Family("granite", "granite", ("granite", "granitemoe"),
           _named("Granite", *_named("GraniteMoe")), layer_types=patterns.full),
    Family("phi3", "phi", ("phi3",), _named("Phi3"), kv_bias=False,
           layer_types=patterns.everywhere),
    Family("phi", "phi", ("phi",), _named("Phi"), kv_bias=True, layer_types=patterns.full,
           refuses=("qk_layernorm",)),
    Family("phimoe", "phi", ("phimoe",), _named("Phimoe", "PhiMoEForCausalLM"),
           layer_types=patterns.everywhere),
    Family("olmo", "olmo", ("olmo", "olmo2", "olmoe"),
           _named("Olmo", *_named("Olmo2"), *_named("Olmoe")), layer_types=patterns.full),
    Family("olmo3", "olmo", ("olmo3",), _named("Olmo3"), layer_types=patterns.all_but_every(4)),
    Family("exaone4", "exaone", ("exaone4",), _named("Exaone4"), kv_bias=False,
           layer_types=patterns.all_but_every(4)),
    Family("smollm3", "smollm", ("smollm3",), _named("SmolLM3"),
           layer_types=patterns.without_rotation),
    Family("seed_oss", "seed", ("seed_oss",), _named("SeedOss"), layer_types=patterns.full),
    Family("bitnet", "bitnet", ("bitnet",), _named("BitNet"), layer_types=patterns.full),
    Family("internlm2", "internlm", ("internlm2",), _named("InternLM2"), kv_bias="bias",
           layer_types=patterns.full),
    Family("opt", "opt", ("opt",), _named("OPT"), kv_bias="enable_bias",
           layer_types=patterns.full),
    Family("nemotron", "nemotron", ("nemotron",), _named("Nemotron"),
           layer_types=patterns.full),
    Family("gpt2", "gpt2", ("gpt2",), _named("GPT2", "GPT2LMHeadModel"), kv_bias=True,
           layer_types=patterns.full, refuses=("add_cross_attention",)),
    Family("gpt_neox", "gpt-neox", ("gpt_neox",), _named("GPTNeoX"), layer_types=patterns.full),
    Family("bloom", "bloom", ("bloom",), _named("Bloom"), kv_bias=True,
           layer_types=patterns.full, spellings={"hidden_size": ("n_embed",)}),
    Family("falcon", "falcon", ("falcon",), _named("Falcon"), layers="falcon", kv_bias="bias"),
    Family("arcee", "arcee", ("arcee",), _named("Arcee"), layer_types=patterns.full),
    Family("starcoder2", "starcoder", ("starcoder2",), _named("Starcoder2"), kv_bias="use_bias",
           layer_types=patterns.everywhere),
    Family("ernie4_5", "ernie", ("ernie4_5", "ernie4_5_moe"),
           _named("Ernie4_5", *_named("Ernie4_5_Moe")), kv_bias="use_bias",
           layer_types=patterns.full),
    Family("glm4", "glm", ("glm", "glm4"), _named("Glm", *_named("Glm4")),
           layer_types=patterns.full),
    Family("glm4_moe", "glm", ("glm4_moe",), _named("Glm4Moe"), layer_types=patterns.full),
    Family("gpt_oss", "gpt-oss", ("gpt_oss",), _named("GptOss"),
           layer_types=patterns.alternating),
    Family("minimax_m2", "minimax", ("minimax_m2",), _named("MiniMaxM2"), kv_bias=False,
           layer_types=patterns.full),
    Family("hunyuan", "hunyuan", ("hunyuan", "hunyuan_v1_moe", "hunyuan_v1_dense"),
           _named("HunYuanMoEV1", *_named("HunYuanDenseV1"), "HunYuanForCausalLM"),
           layer_types=patterns.full, refuses=("use_cla", "kv_lora_rank")),
    Family("hy_v3", "hunyuan", ("hy_v3",), _named("HYV3"), layer_types=patterns.full),
    Family("solar_open", "solar", ("solar_open",), _named("SolarOpen"),
           layer_types=patterns.full),
    Family("llama4", "llama", ("llama4_text",), _named("Llama4", *_seeing("Llama4")),
           wrappers=("llama4",), layer_types=patterns.chunked),
    Family("mimo_v2", "mimo", ("mimo_v2_flash",), _named("MiMoV2Flash"), layers="mimo_v2",
           layer_types=patterns.marked),
    Family("step3", "step", ("step3_text",), (*_seeing("Step3VL"), "Step3TextForCausalLM"),
           layers="step3", wrappers=("step3_vl",), kv_bias=False),
    Family("step3p7", "step", ("step3p7", "step3p5"),
           ("Step3p7FlashForCausalLM", "Step3p5ForCausalLM", *_seeing("Step3p7")),
           layers="step3p7", wrappers=("step3p7",)),
    # ---- heads that differ from layer to layer -------------------------------------------------
    Family("nemotron_nas", "nemotron", ("nemotron-nas",), ("DeciLMForCausalLM",),
           layers="searched"),
    Family("openelm", "openelm", ("openelm",), ("OpenELMForCausalLM",), layers="openelm",
           kv_bias=False, spellings={"hidden_size": ("model_dim",)}),
    # ---- latent attention ----------------------------------------------------------------------
    Family("deepseek", "deepseek", ("deepseek_v2", "deepseek_v3", "kimi_k2"),
           _named("DeepseekV2", *_named("DeepseekV3"), *_seeing("KimiK25", *_seeing("Kimi_K25"))),
           layers="mla", wrappers=("kimi_k25",)),
    Family("glm4_moe_lite", "glm", ("glm4_moe_lite",), _named("Glm4MoeLite"), layers="mla"),
    Family("mistral4", "mistral", ("mistral4",), _named("Mistral4", *_seeing("Mistral3")),
           layers="mla", wrappers=("mistral3",)),
    Family("minicpm3", "minicpm", ("minicpm3",), _named("MiniCPM3"), layers="mla"),
    Family("deepseek_dsa", "deepseek", ("deepseek_v32",), _named("DeepseekV32"), layers="dsa"),
    Family("glm_dsa", "glm", ("glm_moe_dsa",), _named("GlmMoeDsa"), layers="dsa"),
    Family("mistral_large4", "mistral", ("mistral_large4_text",),
           ("MistralLarge4Model", *_seeing("MistralLarge4")), layers="dsa",
           wrappers=("mistral_large4",)),
    Family("deepseek_v4", "deepseek", ("deepseek_v4",), _named("DeepseekV4"),
           layers="compressed"),
    Family("minimax_m3", "minimax", ("minimax_m3_vl", "minimax_m3_vl_text"),
           (*_seeing("MiniMaxM3Sparse"), "MiniMaxM3SparseForCausalLM"), layers="blocks",
           wrappers=("minimax_m3_vl",), kv_bias=False),
    # ---- attention beside states ---------------------------------------------------------------
    Family("qwen3_next", "qwen", ("qwen3_next",), _named("Qwen3Next"), layers="gdn",
           layer_types=patterns.linear_but_every("full_attention_interval", 4)),
    Family("qwen3_5", "qwen", ("qwen3_5", "qwen3_5_text"),
           _named("Qwen3_5", *_seeing("Qwen3_5")), layers="gdn", wrappers=("qwen3_5",),
           layer_types=patterns.linear_but_every("full_attention_interval", 4)),
    Family("qwen3_5_moe", "qwen", ("qwen3_5_moe", "qwen3_5_moe_text"),
           _named("Qwen3_5Moe", *_seeing("Qwen3_5Moe")), layers="gdn", wrappers=("qwen3_5_moe",),
           layer_types=patterns.linear_but_every("full_attention_interval", 4)),
    Family("qwen4_exp", "qwen", ("qwen4_exp_text",),
           ("Qwen4ExpForCausalLM", *_seeing("Qwen4Exp")), layers="qsa", wrappers=("qwen4_exp",),
           layer_types=patterns.linear_but_every("full_attention_interval", 4)),
    Family("olmo_hybrid", "olmo", ("olmo_hybrid",), _named("OlmoHybrid"), layers="gdn",
           layer_types=patterns.linear_but_every("full_attention_interval", 4)),
    Family("kimi_linear", "kimi", ("kimi_linear",),
           _named("KimiLinear", *_seeing("KimiK3")), layers="kda", wrappers=("kimi_k3",)),
    Family("glm5_next", "glm", ("glm5_next_text",),
           ("Glm5NextForCausalLM", *_seeing("Glm5Next")), layers="kda_dsa",
           wrappers=("glm5_next",), layer_types=patterns.linear_but_every("", 4)),
    Family("bailing_hybrid", "ling", ("bailing_hybrid",), _named("BailingHybrid"), layers="kda",
           layer_types=patterns.linear_but_every("layer_group_size", 6)),
    Family("jamba", "jamba", ("jamba",), _named("Jamba"), layers="mamba1", kv_bias=False,
           layer_types=patterns.by_period),
    Family("mamba", "mamba", ("mamba", "falcon_mamba"), _named("Mamba", *_named("FalconMamba")),
           layers="mamba1_only"),
    Family("nemotron_h", "nemotron", ("nemotron_h",), _named("NemotronH"), layers="nemotron_h",
           kv_bias="attention_bias"),
    Family("granite_hybrid", "granite", ("granitemoehybrid",), _named("GraniteMoeHybrid"),
           layers="mamba2"),
    Family("bamba", "bamba", ("bamba",), _named("Bamba"), layers="mamba2",
           layer_types=patterns.by_index),
    Family("falcon_h1", "falcon", ("falcon_h1",), _named("FalconH1"), layers="parallel"),
    Family("minimax", "minimax", ("minimax", "minimax_text_01", "minimax_m1"),
           _named("MiniMax", "MiniMaxText01ForCausalLM", "MiniMaxM1ForCausalLM"),
           layers="lightning", kv_bias=False, layer_types=patterns.listed),
    Family("lfm2", "lfm", ("lfm2", "lfm2_moe"), _named("Lfm2", *_named("Lfm2Moe")),
           layers="short_conv", kv_bias=False, layer_types=patterns.convolutions),
    # ---- encoders, and attention across to them ------------------------------------------------
    Family("bert", "bert", ("bert", "roberta", "xlm-roberta"),
           ("BertModel", "BertForMaskedLM", "RobertaModel", "XLMRobertaModel"), layers="encoder"),
    Family("t5", "t5", ("t5", "mt5"), _seeing("T5", *_seeing("MT5")), layers="t5",
           kv_bias=False),
    Family("whisper", "whisper", ("whisper",), _seeing("Whisper"), layers="whisper",
           spellings={"num_hidden_layers": ("decoder_layers",),
                      "num_attention_heads": ("decoder_attention_heads",),
                      "max_position_embeddings": ("max_target_positions",)}),
    Family("mllama", "llama", ("mllama_text_model",), _seeing("Mllama", "MllamaForCausalLM"),
           layers="mllama", wrappers=("mllama",), kv_bias=False),
)  # fmt: skip

_BY_TYPE = {name: family for family in FAMILIES for name in family.model_types}


def family_of(file: YamlFile, section: Key) -> Family:
    """The family of a configuration, whose text tower stands at ``section``.

    Raises:
        InputError: no family has its type, or its other names belong elsewhere.
    """
    text = _at(file.data, section)
    outer, inner = file.data.get("model_type"), text.get("model_type")
    where = (*section, "model_type") if inner is not None else ("model_type",)
    word = inner if inner is not None else outer
    family = _BY_TYPE.get(str(word))
    if family is None:
        expected = f"an architecture that the importer knows, {one_of(sorted(_BY_TYPE), 4)}"
        found = f"'{word}'" if word is not None else "no model_type"
        raise InputError(_refusal(file, section, where, expected, found, _BY_TYPE))
    types = (*family.wrappers, *family.model_types)
    if outer is not None and outer not in types:
        expected = f"the model of a {family.name} text tower, {one_of(types)}"
        raise InputError(_refusal(file, section, ("model_type",), expected, f"'{outer}'", types))
    for index, name in enumerate(_names(file)):
        if name not in family.architectures:
            at, known = ("architectures", index), family.architectures
            raise InputError(_refusal(file, section, at, one_of(known), f"'{name}'", known))
    return family


def _refusal(
    file: YamlFile, section: Key, at: Key, expected: str, found: str, known: Iterable[str]
) -> Problem:
    """An architecture that is not known, with everything that was looked at."""
    paths: list[Key] = [("model_type",), ("architectures",)]
    paths += [(*section, "model_type")] if section else []
    looked = ", ".join(
        f"{yamlfile.path_text(path)} {_short(_value(file.data, path))}" for path in paths
    )
    close = nearest(found.strip("'"), known)
    return file.problem(at, expected, found, f"{close} looked at {looked}".strip())


def _value(data: Any, path: Key) -> Any:
    return _at(data, path[:-1]).get(str(path[-1]))


def _short(value: Any) -> str:
    text = "(absent)" if value is None else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _names(file: YamlFile) -> list[str]:
    names = file.data.get("architectures")
    return [str(name) for name in names] if isinstance(names, list) else []


def _at(data: Any, path: Key) -> Mapping[str, Any]:
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


@cache
def _all_defaults() -> Mapping[str, Mapping[str, Any]]:
    file = yamlfile.read(Path(__file__).with_name("hf_defaults.yaml"), "hf_defaults.yaml")
    return dict(file.data)


def defaults_of(model_type: str) -> Mapping[str, Any]:
    """The fixed defaults of one type; empty for a type that transformers does not know."""
    return _all_defaults().get(model_type, {})
