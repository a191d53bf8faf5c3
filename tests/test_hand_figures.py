"""Bytes per token and per state that were worked out by hand from papers and configurations."""

from pathlib import Path

import numpy as np
import pytest

import planner
from planner.engine import Columns
from planner.metrics import MetricSet

SCENARIO = """\
name: hand
title: Hand figures
as_of: 2026-11-29
owner: tests
models: [deepseek-v3.2, glm-5.2]
gpus: [h200-sxm]
tp: [8]
engine: plain
precisions: [{weights: fp8, kv: bf16}, {weights: fp8, kv: fp8}, {weights: fp8, kv: fp8-ds-mla}]
contexts: [8192 tokens]
workloads: [{name: chat, prompt: 2048 tokens, output: 512 tokens}]
batches: [4]
"""
# A latent of 512 + 64 elements and an index key of 128 + 4 bytes; GLM-5.2 has one index for 21 of
# 78 layers. The packed record holds 512 + 16 + 128 bytes.
TOKENS = {
    ("deepseek-v3.2", "bf16"): 61 * (1152 + 132),
    ("deepseek-v3.2", "fp8"): 61 * (576 + 132),
    ("deepseek-v3.2", "fp8-ds-mla"): 61 * (656 + 132),
    ("glm-5.2", "bf16"): 78 * 1152 + 21 * 132,
    ("glm-5.2", "fp8"): 78 * 576 + 21 * 132,
    ("glm-5.2", "fp8-ds-mla"): 78 * 656 + 21 * 132,
}


def test_latents_and_their_index_keys_per_token(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    plan = planner.plan(tmp_path / "s.yaml")
    found = {
        (c.model, c.kv_format): plan.value("kv_per_token", i) for i, c in enumerate(plan.cases)
    }
    assert found == TOKENS
    assert found["deepseek-v3.2", "bf16"] == 78_324 and found["glm-5.2", "bf16"] == 92_628


# Convolution channels, taps and bytes; heads, rows, columns and bytes of the recurrent state.
STATES = {
    "Qwen3-Next-80B, GDN in BF16": ((8192, 3, 2), (32, 128, 128, 2), 1_097_728),
    "Qwen3-Next-80B, GDN in FP32": ((8192, 3, 2), (32, 128, 128, 4), 2_146_304),
    "Qwen3.5-27B, GDN in FP32": ((10240, 3, 2), (48, 128, 128, 4), 3_207_168),
    "Kimi-Linear-48B, KDA": ((12288, 3, 2), (32, 128, 128, 4), 2_170_880),
    "Nemotron-3-Nano-30B, Mamba2": ((4096 + 2 * 8 * 128, 3, 2), (64, 64, 128, 4), 2_134_016),
    "Jamba-1.5-Mini, Mamba1": ((8192, 3, 2), (1, 8192, 16, 2), 311_296),
    "MiniMax-Text-01, lightning": ((0, 0, 2), (64, 128, 128, 2), 2_097_152),
    "Falcon-H1-7B, Mamba2": ((3072 + 512, 3, 2), (24, 128, 256, 2), 1_594_368),
    "llama.cpp, Qwen3.5-27B in FP32": ((10240, 3, 4), (48, 128, 128, 4), 3_268_608),
}


@pytest.mark.parametrize("name", STATES)
def test_states_of_one_layer(name: str) -> None:
    (channels, taps, narrow), (heads, rows, columns, wide), expected = STATES[name]
    given = {
        "conv_channels": channels, "conv_taps": taps, "conv_element_bytes": narrow,
        "state_heads": heads, "state_rows": rows, "state_columns": columns,
        "state_element_bytes": wide,
    }  # fmt: skip
    slots = {f"group_{n}": np.asarray([[float(v)]]) for n, v in given.items()}
    assert Columns(MetricSet.load(), slots)["group_state_layer"].tolist() == [[expected]]
