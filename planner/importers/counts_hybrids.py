"""Families whose layers keep states of fixed size, alone or beside attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planner.importers import counts_layers as which
from planner.importers import counts_qwen4 as qwen4
from planner.importers import counts_special as special
from planner.importers.counts_attention import Indexer, Latent
from planner.importers.counts_blocks import (
    AFTER_FIRST,
    ALL_NORMED,
    BIASED,
    BIASED_MLP,
    CORRECTED_MOE,
    GATED,
    LATENT,
    MLP,
    PLAIN,
    QWEN_MOE,
    WIDE_MOE,
)
from planner.importers.counts_layers import by_word, either
from planner.importers.counts_mlp import Mlp, Moe
from planner.importers.counts_parts import LayerBlock
from planner.importers.counts_stacks import Beside, Stack, together
from planner.importers.counts_state import (
    KimiDelta,
    Mamba1,
    Mamba2,
    gated_delta_net,
    lightning,
    short_conv,
)

LINEAR_OR_FULL = either(which.linear_attention, gated_delta_net, GATED)
QWEN3_5 = Stack((LINEAR_OR_FULL, MLP), mtp=Beside((GATED, MLP)))
QWEN3_5_MOE = Stack((LINEAR_OR_FULL, QWEN_MOE), mtp=Beside((GATED, QWEN_MOE)))
QWEN3_NEXT = Stack(
    (LINEAR_OR_FULL, either(which.sparse_by_step, QWEN_MOE, MLP)),
    mtp=Beside((GATED, QWEN_MOE), published=1),
)
MINIMAX = Stack((either(which.linear_attention, lightning, PLAIN), WIDE_MOE))
MAMBA = Stack(
    (
        Mamba1(
            state="state_size", taps="conv_kernel", rank="time_step_rank", expand="expand",
            inner="intermediate_size", bias="use_bias", conv_bias="use_conv_bias",
            inner_norms=False,
        ),
    ),
    norms=1,
)  # fmt: skip
LFM = either(which.convolution, short_conv, replace(PLAIN, qk_norm="head"))
JAMBA_MLP = either(which.sparse_by_period, WIDE_MOE, MLP)
NEMOTRON_MAMBA = Mamba2(
    heads="mamba_num_heads", dim="mamba_head_dim", state="ssm_state_size", groups="n_groups",
    taps="conv_kernel", bias="use_bias", out_bias="use_bias", conv_bias="use_conv_bias",
)  # fmt: skip
NEMOTRON_MOE = Moe(
    shared_inner="moe_shared_expert_intermediate_size", gated=False, router_bias=True,
    latent="moe_latent_size",
)  # fmt: skip
NEMOTRON_BLOCKS: Mapping[str, LayerBlock] = {
    "mamba": NEMOTRON_MAMBA,
    "linear_attention": NEMOTRON_MAMBA,
    "attention": PLAIN,
    "full_attention": PLAIN,
    "moe": NEMOTRON_MOE,
    "mlp": Mlp(gated=False, bias="mlp_bias"),
}
FALCON_MAMBA = Mamba2(inner="mamba_d_ssm", out_bias="projectors_bias", normed="mamba_rms_norm")
GRANITE_BLOCKS: Mapping[str, LayerBlock] = {
    "mamba": Mamba2(),
    "linear_attention": Mamba2(),
    "attention": BIASED,
    "full_attention": BIASED,
}
KIMI_GATED = Latent(gate="full", gate_if="mla_use_output_gate")
KIMI_MOE = replace(
    CORRECTED_MOE, latent="routed_expert_hidden_size", latent_norm="latent_moe_use_norm"
)
KIMI_LINEAR = Stack(
    (
        either(which.listed_linear, KimiDelta(wide_gate="use_full_rank_gate"), KIMI_GATED),
        either(which.sparse_after_first, KIMI_MOE, MLP),
        special.residual_attention,
    ),
    once=(special.residual_attention_once,),
)
QWEN4_EXP = Stack(
    (
        either(which.linear_attention, gated_delta_net, together(GATED, qwen4.indexer)),
        QWEN_MOE,
        qwen4.hyper_connections,
        qwen4.ngrams,
    ),
    weighted=False,
    once=(qwen4.hyper_head,),
)
POOLED = Indexer(which.owns_indexer, pooled="index_kpool")
GLM5_NEXT = Stack(
    (
        either(which.linear_attention, KimiDelta(), together(LATENT, POOLED)),
        AFTER_FIRST,
        special.hyper_connections,
    ),
    mtp=Beside((LATENT, POOLED.always, CORRECTED_MOE), keeps=("mla", "compressed_index_key")),
)
LING_LATENT = Latent(gate="head")
LING = Stack(
    (
        either(which.linear_attention, KimiDelta(wide_decay=True, wide_gate=True), LING_LATENT),
        AFTER_FIRST,
    ),
    mtp=Beside((LING_LATENT, CORRECTED_MOE), keeps=("mla",)),
)

HYBRIDS: Mapping[str, Stack] = {
    "qwen3_next": QWEN3_NEXT,
    "qwen3_5": QWEN3_5,
    "qwen3_5_text": QWEN3_5,
    "qwen3_5_moe": QWEN3_5_MOE,
    "qwen3_5_moe_text": QWEN3_5_MOE,
    "minimax": MINIMAX,
    "minimax_text_01": MINIMAX,
    "minimax_m1": MINIMAX,
    "jamba": Stack((either(which.linear_attention, Mamba1(), PLAIN), JAMBA_MLP)),
    "nemotron_h": Stack(
        (by_word("hybrid_override_pattern", which.patterned, NEMOTRON_BLOCKS),),
        norms=1,
        mtp=Beside((PLAIN, NEMOTRON_MOE)),
        depth=which.pattern_length,
    ),
    "falcon_h1": Stack((BIASED, FALCON_MAMBA, BIASED_MLP)),
    "granitemoehybrid": Stack(
        (
            by_word("layer_types", which.typed, GRANITE_BLOCKS),
            replace(WIDE_MOE, shared_inner="shared_intermediate_size"),
        ),
    ),
    "olmo_hybrid": Stack((either(which.linear_attention, gated_delta_net, ALL_NORMED), MLP)),
    "mamba": MAMBA,
    "falcon_mamba": MAMBA,
    "bamba": Stack((either(which.linear_attention, Mamba2(), BIASED), BIASED_MLP)),
    "lfm2": Stack((LFM, Mlp(special.lfm_width))),
    "lfm2_moe": Stack(
        (LFM, either(which.sparse_after_dense, Moe(router_bias="use_expert_bias"), MLP))
    ),
    "kimi_linear": KIMI_LINEAR,
    "bailing_hybrid": LING,
    "glm5_next_text": GLM5_NEXT,
    "qwen4_exp_text": QWEN4_EXP,
}
