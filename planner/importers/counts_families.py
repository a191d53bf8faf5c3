"""Which building blocks each family is made of: one row for each type of model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planner.importers import counts_encoders as encoders
from planner.importers import counts_gemma as gemma
from planner.importers import counts_layers as which
from planner.importers import counts_older as older
from planner.importers import counts_special as special
from planner.importers import counts_vision as towers
from planner.importers.counts_attention import (
    BlockIndexer,
    Compressed,
    Gqa,
    Indexer,
    Latent,
    LowRankQueries,
)
from planner.importers.counts_blocks import (
    AFTER_FIRST,
    ALL_NORMED,
    BIASED,
    BIASED_MLP,
    BY_STEP,
    CORRECTED_MOE,
    DSA,
    HEAD_NORMED,
    LATENT,
    MLP,
    PLAIN,
    QKV_BIASED,
    QKV_BIASED_IF,
    QWEN_MOE,
    WIDE_MOE,
)
from planner.importers.counts_hybrids import HYBRIDS
from planner.importers.counts_layers import either, nothing
from planner.importers.counts_mlp import Mlp, Moe
from planner.importers.counts_parts import ModelBlock
from planner.importers.counts_stacks import Beside, Stack, together, vectors

# ---- stacks that several rows share -----------------------------------------------------------

HASHED_MOE = replace(CORRECTED_MOE, router_bias=special.corrected)
LLAMA = Stack((BIASED, BIASED_MLP))
UNBIASED = Stack((PLAIN, MLP))
QWEN2 = Stack((QKV_BIASED, MLP))
QWEN3 = Stack((HEAD_NORMED, MLP))
QWEN3_MOE = Stack((HEAD_NORMED, BY_STEP))
DEEPSEEK_V2 = Stack(
    (LATENT, either(which.sparse_after_first, replace(CORRECTED_MOE, router_bias=False), MLP))
)
DEEPSEEK_V3 = Stack((LATENT, AFTER_FIRST), mtp=Beside((LATENT, CORRECTED_MOE), keeps=("mla",)))
DEEPSEEK_V32 = Stack(
    (LATENT, DSA, AFTER_FIRST),
    mtp=Beside((LATENT, DSA.always, CORRECTED_MOE), keeps=("mla", "index_key")),
)
ALL_BIASED = Gqa(bias=True, out_bias=True)
GLM4 = Gqa(bias="attention_bias", qk_norm="head", qk_norm_if="use_qk_norm")
COHERE = replace(ALL_NORMED, qk_norm_if="use_qk_norm")
GEMMA2 = Stack((BIASED, MLP), norms=4, tied="")
GEMMA3 = replace(GEMMA2, layer=(HEAD_NORMED, MLP))
HUNYUAN = Stack(
    (
        replace(HEAD_NORMED, qk_norm_if="use_qk_norm"),
        either(which.several_experts, replace(CORRECTED_MOE, router_bias=False), MLP),
    )
)
MINIMAX_M2 = Moe(
    inner="intermediate_size", shared_inner="shared_intermediate_size", router_bias=True
)

MINIMAX_M3 = Stack(
    (
        replace(PLAIN, qk_norm="head", qk_norm_if="use_qk_norm"),
        BlockIndexer(which.indexes_blocks),
        either(which.sparse_after_first, MINIMAX_M2, Mlp("dense_intermediate_size")),
    ),
    mtp="unpublished",
)

STEP3P7 = Stack(
    (
        replace(HEAD_NORMED, heads=special.step_heads, head_gates=True),
        either(
            which.sparse_enumerated(3, None),
            Moe(shared_inner="share_expert_dim", router_bias=True),
            BIASED_MLP,
        ),
    )
)

# ---- the table --------------------------------------------------------------------------------

STACKS: Mapping[str, Stack] = {
    "llama": LLAMA,
    "mistral": UNBIASED,
    "ministral": UNBIASED,
    "ministral3": UNBIASED,
    "phi3": UNBIASED,
    "granite": LLAMA,
    "smollm3": LLAMA,
    "arcee": Stack((BIASED, Mlp(gated=False, bias="mlp_bias"))),
    "starcoder2": Stack(
        (
            Gqa(bias="use_bias", out_bias="use_bias"),
            Mlp(gated=False, bias="use_bias"),
        ),
        shifts=True,
    ),
    "phi": Stack((ALL_BIASED, Mlp(gated=False, bias=True)), norms=1, shifts=True, head_bias=True),
    "bitnet": Stack((BIASED, MLP, older.sub_norms)),
    "internlm2": Stack((Gqa(bias="bias", out_bias="bias"), MLP)),
    "nemotron": Stack((BIASED, Mlp(gated=False, bias="mlp_bias")), shifts=True),
    "opt": Stack(
        (
            Gqa(bias="enable_bias", out_bias="enable_bias"),
            Mlp("ffn_dim", gated=False, bias="enable_bias"),
        ),
        shifts=True,
        once=(older.opt_positions,),
    ),
    "gpt2": Stack(
        (ALL_BIASED, Mlp(older.gpt2_width, gated=False, bias=True)),
        shifts=True,
        once=(older.positions(0),),
    ),
    "gpt_neox": Stack((BIASED, Mlp(gated=False, bias=True)), shifts=True),
    "bloom": Stack(
        (ALL_BIASED, Mlp(older.gpt2_width, gated=False, bias=True)),
        shifts=True,
        once=(older.embedding_norm,),
    ),
    "falcon": Stack(
        (
            Gqa(older.falcon_heads, bias="bias", out_bias="bias"),
            Mlp(older.falcon_width, gated=False, bias="bias"),
            older.falcon_norms,
        ),
        norms=0,
        shifts=True,
    ),
    "olmo": Stack((BIASED, MLP), weighted=False),
    "olmoe": Stack((ALL_NORMED, WIDE_MOE)),
    "granitemoe": Stack((BIASED, WIDE_MOE)),
    "glm": Stack((QKV_BIASED_IF, MLP)),
    "glm4": Stack((QKV_BIASED_IF, MLP), norms=4),
    "ernie4_5": Stack((Gqa(bias="use_bias", out_bias="use_bias"), Mlp(bias="use_bias"))),
    "minicpm3": Stack((LATENT, BIASED_MLP)),
    "openelm": Stack(
        (
            Gqa(special.elm_heads, qk_norm="head", qk_norm_if="normalize_qk_projections"),
            Mlp(special.elm_width),
        ),
        tied="share_input_output_layers",
    ),
    "seed_oss": Stack((Gqa(bias="attention_bias", out_bias="attention_out_bias"), BIASED_MLP)),
    "exaone4": Stack((replace(PLAIN, qk_norm="head"), MLP)),
    "olmo2": Stack((ALL_NORMED, MLP)),
    "olmo3": Stack((ALL_NORMED, MLP)),
    "cohere": Stack((COHERE, MLP), norms=1),
    "cohere2": Stack((BIASED, MLP), norms=1),
    "nemotron-nas": Stack((special.searched_layer,), norms=0),
    "mllama_text_model": Stack(
        (
            either(
                which.cross_attention,
                together(replace(PLAIN, qk_norm="head"), special.cross_gates),
                PLAIN,
            ),
            MLP,
        ),
        further_rows=8,
    ),
    "qwen2": QWEN2,
    "qwen2_5_vl": QWEN2,
    "qwen2_5_vl_text": QWEN2,
    "qwen2_vl": QWEN2,
    "qwen2_vl_text": QWEN2,
    "qwen2_moe": Stack((Gqa(bias="qkv_bias"), either(which.sparse_by_step, QWEN_MOE, MLP))),
    "mimo": replace(QWEN2, mtp=Beside((QKV_BIASED, MLP))),
    "qwen3": QWEN3,
    "qwen3_vl_text": QWEN3,
    "qwen3_moe": QWEN3_MOE,
    "qwen3_vl_moe_text": QWEN3_MOE,
    "gemma": replace(GEMMA2, norms=2),
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA3,
    "gemma3n_text": Stack(
        (
            Gqa(
                gemma.gemma3n_heads,
                bias="attention_bias",
                out_bias="attention_bias",
                qk_norm="head",
            ),
            MLP,
            gemma.per_layer_gate,
            gemma.alternating_updates,
        ),
        norms=4,
        tied="",
        once=(gemma.per_layer_tables, gemma.stream_projections, gemma.unused_projections),
    ),
    "gemma4_text": Stack(
        (
            Gqa(
                gemma.gemma4_heads,
                bias="attention_bias",
                out_bias="attention_bias",
                qk_norm="head",
            ),
            Mlp(gemma.gemma4_width),
            either(which.has_experts, together(Moe(router_scales=True), vectors(3)), nothing),
            gemma.per_layer_gate,
            gemma.per_layer_norm,
            gemma.scalar,
        ),
        norms=4,
        once=(gemma.per_layer_tables, gemma.unused_projections),
    ),
    "mixtral": Stack((PLAIN, WIDE_MOE)),
    "phimoe": Stack((BIASED, WIDE_MOE), shifts=True, head_bias="lm_head_bias"),
    "gpt_oss": Stack(
        (
            replace(BIASED, sinks=lambda config, layer: True),
            replace(WIDE_MOE, bias=True, router_linear_bias=True),
        )
    ),
    "llama4_text": Stack(
        (
            BIASED,
            either(
                which.sparse_interleaved,
                replace(WIDE_MOE, shared_inner="intermediate_size"),
                Mlp("intermediate_size_mlp"),
            ),
        )
    ),
    "minimax_m2": Stack(
        (replace(PLAIN, qk_norm="all", qk_norm_if="use_qk_norm"), MINIMAX_M2), mtp="unpublished"
    ),
    "minimax_m3_vl": MINIMAX_M3,
    "minimax_m3_vl_text": MINIMAX_M3,
    "ernie4_5_moe": Stack(
        (
            Gqa(bias="use_bias", out_bias="use_bias"),
            either(
                which.sparse_between, replace(CORRECTED_MOE, bias="use_bias"), Mlp(bias="use_bias")
            ),
        ),
        head_bias="use_bias",
    ),
    "glm4_moe": Stack((GLM4, AFTER_FIRST), mtp=Beside((GLM4, CORRECTED_MOE))),
    "glm4_moe_lite": DEEPSEEK_V3,
    "glm_moe_dsa": DEEPSEEK_V32,
    "deepseek_v2": DEEPSEEK_V2,
    "deepseek_v3": DEEPSEEK_V3,
    "kimi_k2": DEEPSEEK_V3,
    "deepseek_v32": DEEPSEEK_V32,
    "deepseek_v4": Stack(
        (Compressed(), HASHED_MOE, special.hyper_connections),
        once=(special.hyper_head,),
        mtp=Beside(
            (Compressed(), HASHED_MOE, special.hyper_connections, special.hyper_ending),
            keeps=("sliding_window_mla",),
        ),
    ),
    "mistral4": DEEPSEEK_V2,
    "mistral_large4_text": Stack(
        (
            Latent(rotates=which.rotates, owns=which.own_latent, scaled=True),
            Indexer(which.owns_indexer, from_hidden=True),
            either(which.sparse_after_first, replace(CORRECTED_MOE, router_bias=False), MLP),
        ),
        once=(special.rotation_scales,),
    ),
    "mimo_v2_flash": Stack(
        (
            Gqa(special.mimo_heads, bias="attention_bias", sinks=special.mimo_sinks),
            AFTER_FIRST,
        )
    ),
    "hy_v3": Stack(
        (HEAD_NORMED, either(which.sparse_after_first, CORRECTED_MOE, BIASED_MLP)),
        mtp=Beside((HEAD_NORMED, CORRECTED_MOE), published=1),
    ),
    "hunyuan": HUNYUAN,
    "hunyuan_v1_moe": HUNYUAN,
    "hunyuan_v1_dense": QWEN3,
    "solar_open": Stack((QKV_BIASED_IF, AFTER_FIRST)),
    "step3_text": Stack(
        (
            LowRankQueries(),
            either(which.sparse_enumerated(4, 59), Moe(shared_inner="share_expert_dim"), MLP),
        )
    ),
    "step3p5": STEP3P7,
    "step3p7": STEP3P7,
    **HYBRIDS,
}

WHOLE: Mapping[str, ModelBlock] = {
    "bert": encoders.bert,
    "roberta": encoders.bert,
    "xlm-roberta": encoders.bert,
    "t5": encoders.t5,
    "mt5": encoders.t5,
    "whisper": encoders.whisper,
}

TOWERS: Mapping[str, ModelBlock] = {
    "qwen2_vl": towers.qwen2_vl,
    "qwen2_5_vl": towers.qwen2_5_vl,
    "qwen3_vl": towers.qwen3_vl(3),
    "qwen3_vl_moe": towers.qwen3_vl(3),
    "qwen3_5": towers.qwen3_vl(0),
    "qwen3_5_moe": towers.qwen3_vl(0),
    "qwen4_exp": towers.qwen3_vl(0),
    "gemma3": towers.gemma3,
    "gemma3n": towers.gemma3n,
    "gemma4": towers.gemma4,
    "mllama": towers.mllama,
    "llama4": towers.llama4,
    "mistral3": towers.pixtral(),
    "mistral_large4": towers.pixtral(2048, 6144, 30),
    "glm5_next": towers.glm5_next,
    "kimi_k25": towers.kimi_k25,
    "kimi_k3": towers.kimi_k3,
    "minimax_m3_vl": towers.minimax_m3,
    "step3p7": towers.step3p7,
}
