"""Bytes of weights: widths with their scales, and what quantised checkpoints keep wide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import pytest
from test_counts import config_of, published

from planner.importers.counts import count
from planner.importers.counts_bytes import WIDTHS, bytes_of, width


@dataclass(frozen=True)
class Narrow:
    stored: Mapping[str, str] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("word", "weight", "scales"),
    [
        ("bf16", 2, 0),
        ("fp32", 4, 0),
        ("fp8", 1, 0),
        ("fp8-block", 1, Fraction(4, 128**2)),  # one fp32 scale for each block of 128 by 128
        ("nvfp4", Fraction(1, 2), Fraction(1, 16)),  # one fp8 scale for 16 weights
        ("mxfp4", Fraction(1, 2), Fraction(1, 32)),  # one exponent for 32 weights
        ("mxfp8", 1, Fraction(1, 32)),
        ("int4-g128", Fraction(1, 2), Fraction(2, 128)),  # one 16-bit scale for 128 weights
        ("int4-g32", Fraction(1, 2), Fraction(2, 32)),
        ("int4-channel", Fraction(1, 2), 0),
        ("int8", 1, 0),
    ],
)
def test_bytes_of_one_weight_and_its_scale(word: str, weight: Fraction, scales: Fraction) -> None:
    one = width(word)
    assert (one.weight, one.scales, one.both) == (weight, scales, weight + scales)


@pytest.mark.parametrize("word", ["", "fp7", "int4", "int4-g0", "int4-g", "BF16", "int4-g99999"])
def test_a_width_that_is_none(word: str) -> None:
    with pytest.raises(ValueError, match="expected one of fp32, bf16"):
        width(word)


def test_everything_wide() -> None:
    counts = count(config_of(published("llama-3.1-8b")))
    held = bytes_of(counts, Narrow())
    assert held.total == 2 * 8_030_261_248 and held.scales == 0
    assert list(held.parts) == ["embedding", "lm_head", "attention", "mlp", "norm"]
    assert bytes_of(counts, Narrow(), "fp32").total == 4 * 8_030_261_248


def test_weights_of_gpt_oss_fit_16_gb() -> None:
    """Experts in MXFP4 and everything else in bf16: 13.8 GB for 20.9 billion weights."""
    counts = count(config_of(published("gpt-oss-20b")))
    held = bytes_of(counts, Narrow({"experts": "mxfp4"}))
    experts = held.parts["experts"]
    assert experts.bytes == ceil_of(counts.experts * Fraction(17, 32))
    assert held.total == experts.bytes + 2 * (counts.total - counts.experts)
    assert round(held.total / 1e9, 1) == 13.8


def test_deepseek_v3_in_blocks_keeps_what_it_keeps() -> None:
    counts = count(config_of(published("deepseek-v3")))
    narrow = dict.fromkeys(["attention", "mlp", "shared", "experts"], "fp8-block")
    held = bytes_of(counts, Narrow(narrow))
    wide = counts.embedding + counts.lm_head + counts.router + counts.norm
    assert {name for name, part in held.parts.items() if part.word == "bf16"} == {
        "embedding", "lm_head", "router", "norm",
    }  # fmt: skip
    assert held.total - held.scales == (counts.total - wide) + 2 * wide
    # 40,836,524 scales of whole blocks; the file has a few more, for blocks that are not whole.
    assert held.scales // 4 == (counts.total - wide) // 128**2 == 40_836_524


def test_kimi_k3_agrees_with_the_bytes_of_its_index() -> None:
    """What the index adds: vectors kept in F32, and heads that pad A_log."""
    counts = count(config_of(published("kimi-k3")))
    held = bytes_of(counts, Narrow({"experts": "mxfp4"}))
    padding, kept_in_f32 = 69 * 32, 11_122_432
    assert held.total + 2 * padding + 2 * kept_in_f32 == 1_560_860_324_864


def test_a_mix_of_widths() -> None:
    counts = count(config_of(published("qwen3.5-35b-a3b")))
    narrow = {"experts": "nvfp4", "shared": "nvfp4", "state": "fp8", "lm_head": "nvfp4"}
    held = bytes_of(counts, Narrow(narrow))
    assert held.parts["experts"].scales == counts.experts // 16
    assert held.parts["state"].bytes == counts.state
    assert held.parts["vision"].word == "bf16" and held.parts["attention"].word == "bf16"
    assert held.total == sum(
        ceil_of(part.params * width(part.word).weight)
        + ceil_of(part.params * width(part.word).scales)
        for part in held.parts.values()
    )


def test_all_widths_have_a_name_that_names_one() -> None:
    assert all(width(word) == one for word, one in WIDTHS.items())


def ceil_of(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
