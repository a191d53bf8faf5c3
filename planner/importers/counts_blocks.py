"""Blocks that several families share, each with the switches that those families have."""

from __future__ import annotations

from dataclasses import replace

from planner.importers import counts_layers as which
from planner.importers.counts_attention import Gqa, Indexer, Latent
from planner.importers.counts_layers import either
from planner.importers.counts_mlp import Mlp, Moe

PLAIN = Gqa()
BIASED = Gqa(bias="attention_bias", out_bias="attention_bias")
QKV_BIASED = Gqa(bias=True)
QKV_BIASED_IF = Gqa(bias="attention_bias")
HEAD_NORMED = replace(BIASED, qk_norm="head")
ALL_NORMED = replace(BIASED, qk_norm="all")
GATED = replace(HEAD_NORMED, gated=True)
LATENT = Latent()
DSA = Indexer(which.owns_indexer)

MLP = Mlp()
BIASED_MLP = Mlp(bias="mlp_bias")
MOE = Moe()
WIDE_MOE = Moe(inner="intermediate_size")
CORRECTED_MOE = Moe(shared="num_shared_experts", router_bias=True)
QWEN_MOE = Moe(shared_inner="shared_expert_intermediate_size", shared_gate=True)

AFTER_FIRST = either(which.sparse_after_first, CORRECTED_MOE, MLP)
BY_STEP = either(which.sparse_by_step, MOE, MLP)
