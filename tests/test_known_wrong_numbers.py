"""Numbers that public calculators and articles print wrong: the product gives the right ones.

Each test plans the case that the source describes, names the wrong figure and what it comes from,
and shows that the mistake is impossible, refused, or warned of in words.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planner
from planner.catalog import Catalog
from planner.errors import InputError
from planner.planning import Plan

GIB = 2**30
CATALOG = Catalog.open()
Planned = Callable[..., Plan]

SCENARIO = """\
name: known
title: A case that somebody got wrong
as_of: "2026-11-29"
engine: {engine}
models: [{model}]
gpus: [{gpu}]
tp: [{tp}]
precisions:
  - {{weights: {weights}, kv: {kv}, compute: bf16}}
contexts: [{context} tokens]
workloads:
  - {{name: only, prompt: 128 tokens, output: 128 tokens}}
batches: [{batch}]
assumptions: {{overhead: {overhead} B, memory_utilization: 1}}
"""
DEFAULTS = {
    "engine": "plain", "gpu": "h100-sxm", "tp": 1, "weights": "native", "kv": "bf16",
    "context": 32_768, "batch": 1, "overhead": 0,
}  # fmt: skip
# Entries that are not shipped: shapes of the published configurations.
OWN = {
    "models/own-gpt-oss-120b.yaml": """\
id: own-gpt-oss-120b
label: gpt-oss-120b
family: gpt-oss
vendor: OpenAI
config_source: {kind: full, source: default}
weight_format: mxfp4
layers: 36
hidden_size: 2880
vocab_size: 201088
q_heads: 64
max_context: 131072 tokens
experts: 128
experts_per_token: 4
tied_embedding: false
params:
  total: 116829156672 params
  embedding: 579133440 params
  lm_head: 579133440 params
  attention: 955805184 params
  experts: 114701598720 params
  router: 13275648 params
  norm: 210240 params
layer_groups:
  - {kind: sliding_window, layers: 18, kv_heads: 8, head_dim: 64, window: 128 tokens}
  - {kind: full_attention, layers: 18, kv_heads: 8, head_dim: 64}
verification: {level: single_method}
sources: {default: {title: Published configuration, confidence: config}}
""",
    "models/own-122b-a10b.yaml": """\
id: own-122b-a10b
label: Qwen3.5-122B-A10B
family: qwen
vendor: Qwen
config_source: {kind: full, source: default}
weight_format: bf16
layers: 48
hidden_size: 3072
vocab_size: 248320
q_heads: 32
max_context: 262144 tokens
experts: 256
experts_per_token: 8
tied_embedding: false
params:
  total: 122111526912 params
  embedding: 762839040 params
  lm_head: 762839040 params
  attention: 943718400 params
  experts: 115964116992 params
  shared: 453132288 params
  router: 37748736 params
  norm: 304128 params
  state: 3186828288 params
layer_groups:
  - {kind: full_attention, layers: 12, kv_heads: 2, head_dim: 256}
  - {kind: gdn, layers: 36, k_heads: 16, v_heads: 64, k_head_dim: 128, v_head_dim: 128,
     conv_kernel: 4, conv_dtype: bf16, state_dtype: fp32}
verification: {level: single_method}
sources: {default: {title: Published configuration, confidence: config}}
""",
    # The shape with which an estimator treated the latent of DeepSeek-V4-Flash.
    "models/own-latent.yaml": """\
id: own-latent
label: 43 layers with one head of 512
family: example
vendor: Example
config_source: {kind: full, source: default}
weight_format: fp8
layers: 43
hidden_size: 4096
vocab_size: 1000
q_heads: 64
max_context: 200000 tokens
tied_embedding: true
params: {total: 15000000000 params, embedding: 4096000 params, attention: 14995904000 params}
layer_groups:
  - {kind: full_attention, layers: 43, kv_heads: 1, head_dim: 512}
verification: {level: single_method}
sources: {default: {title: Recipe in an issue, confidence: config}}
""",
}


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """Plans one case; further files join a catalog of the test's own."""

    def run(model: str, files: dict[str, str] | None = None, **values: Any) -> Plan:
        for name, text in (OWN | (files or {})).items():
            path = tmp_path / "catalog" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        scenario = tmp_path / "known.yaml"
        scenario.write_text(SCENARIO.format(model=model, **{**DEFAULTS, **values}), "utf-8")
        return planner.plan(scenario, catalogs=[tmp_path / "catalog"])

    return run


def number(plan: Plan, metric: str) -> float:
    value = plan.value(metric)
    assert isinstance(value, float)
    return value


def changed(repository: Path, place: str, old: str, new: str) -> dict[str, str]:
    text = (repository / "catalogs" / f"{place}.yaml").read_text("utf-8")
    assert text.count(old) == 1, old
    return {f"{place}.yaml": text.replace(old, new)}


def doubts(tmp_path: Path, kind: str, word: str) -> list[str]:
    """What check finds in the test's own catalog, and what a plan warns of."""
    catalog = Catalog.open([tmp_path / "catalog"])
    warned = [str(problem) for problem in catalog.doubts([(kind, word)])]
    assert set(warned) <= {str(problem) for problem in catalog.check()}
    return warned


# ---- query heads as KV heads -------------------------------------------------------------------


def test_llama_70b_holds_320_kib_per_token(
    planned: Planned, repository: Path, tmp_path: Path
) -> None:
    """Two articles print 2.5 MB per token and 800 GB for ten users at 32K: MHA on a GQA model."""
    plan = planned("llama-3.1-70b", batch=10, tp=8)
    assert number(plan, "kv_per_token") == 320 * 1024
    ten_users = 10 * number(plan, "kv_per_request")
    assert ten_users == 100 * GIB and round(ten_users / 1e9) == 107
    wrong = changed(repository, "models/llama-3.1-70b", "kv_heads: 8,", "kv_heads: 64,")
    plan = planned("llama-3.1-70b", wrong, tp=8)
    assert 10 * number(plan, "kv_per_request") == pytest.approx(859e9, rel=1e-3)  # 8 times
    (warning,) = doubts(tmp_path, "model", "llama-3.1-70b")
    assert "these look like query heads" in warning and "8 would fit" in warning


def test_a_hidden_size_of_8196_is_found(planned: Planned, repository: Path, tmp_path: Path) -> None:
    """The same article calculates with a hidden size of 8196."""
    planned(
        "llama-3.1-70b",
        changed(repository, "models/llama-3.1-70b", "hidden_size: 8192", "hidden_size: 8196"), tp=8,
    )  # fmt: skip
    assert any("hidden_size" in line for line in doubts(tmp_path, "model", "llama-3.1-70b"))


def test_the_byte_factor_is_never_left_out(planned: Planned) -> None:
    """The other article prints a formula without it: 420 G elements for 800 GB."""
    plan = planned("llama-3.1-70b", tp=8)
    elements = 10 * number(plan, "kv_per_request") / 2
    assert elements == pytest.approx(53.7e9, rel=1e-3)
    eight_bit = planned("llama-3.1-70b", tp=8, kv="fp8")
    assert 10 * number(eight_bit, "kv_per_request") == elements


def test_2048_tokens_of_llama_70b_are_0_67_gb(planned: Planned) -> None:
    """A page prints about 2.7 GB per request with 64 heads; its own formula gives 5.37."""
    per_request = number(planned("llama-3.1-70b", context=2048, tp=8), "kv_per_request")
    assert per_request == 0.625 * GIB and round(per_request / 1e9, 3) == 0.671
    assert round(8 * per_request / 1e9, 2) == 5.37


def test_qwen25_7b_holds_57344_bytes_per_token(planned: Planned) -> None:
    """A calculator prints 1,605,632: the hidden size for the KV heads, and bits for bytes."""
    plan = planned("qwen2.5-7b", context=3072)
    assert number(plan, "kv_per_token") == 57_344 == 1_605_632 / 28
    assert round(number(plan, "kv_per_request") / GIB, 3) == 0.164


def test_bits_as_bytes_are_found(planned: Planned, repository: Path, tmp_path: Path) -> None:
    bits = changed(repository, "formats/bf16", "element: 2 B", "element: 16 B")
    planned("qwen2.5-7b", bits)
    assert any("8 bits are a byte" in line for line in doubts(tmp_path, "kv_format", "bf16"))


@pytest.mark.parametrize("word", ["qwen3-8b", "llama-3.1-8b", "llama-3.1-70b", "qwen3-32b"])
def test_no_further_head_factor(word: str, planned: Planned) -> None:
    """A tool ships 8 times too much: one more factor of heads, and no grouping."""
    model = CATALOG.model(word)
    (group,) = model.layer_groups
    assert group.kv_heads is not None and group.head_dim is not None
    by_hand = 2 * model.layers.value * group.kv_heads.value * group.head_dim.value * 2  # type: ignore[operator]
    assert number(planned(word, tp=4), "kv_per_token") == by_hand


# ---- one formula for every architecture --------------------------------------------------------


def test_windows_and_latents_have_formulas_of_their_own(planned: Planned) -> None:
    """A tool printed 81.4 GB for Gemma-3 27B and 2.1 GB for DeepSeek-V3.1; it now says 10.4, 10.7.

    Both are GiB, at the longest context of each model.
    """
    gemma = number(planned("gemma-3-27b", context=131_072), "kv_per_request")
    assert round(gemma / GIB, 1) == 10.4
    deepseek = number(planned("deepseek-v3", context=163_840, tp=8), "kv_per_request")
    assert round(deepseek / GIB, 1) == 10.7


def test_sliding_layers_take_part(planned: Planned) -> None:
    """A tool counted only the full layers of gpt-oss-120b: 36,864 B per token."""
    plan = planned("own-gpt-oss-120b", weights="mxfp4")
    assert number(plan, "kv_per_token") == 73_728 == 2 * 36_864
    in_the_log = 78_384  # tokens of a pool of 5.38 GiB
    assert in_the_log == pytest.approx(5.38 * GIB / 73_728, rel=1e-3)


def test_the_kv_format_is_never_a_silent_guess(planned: Planned) -> None:
    """An estimator took bf16 for a format that it did not know: 16.4 GB instead of 8.2."""
    wide = number(planned("own-latent", context=200_000), "kv_per_request")
    narrow = number(planned("own-latent", context=200_000, kv="fp8"), "kv_per_request")
    assert (round(wide / GIB, 1), round(narrow / GIB, 1)) == (16.4, 8.2)
    with pytest.raises(InputError, match="expected a KV format of the catalog"):
        planned("own-latent", kv="fp8_not_known")


# ---- counts and widths of weights --------------------------------------------------------------


def test_memory_holds_all_experts(planned: Planned, tmp_path: Path) -> None:
    """A tool lets a model of 122 billion with 10 active ones fit into 33 GB."""
    weights = number(planned("own-122b-a10b", weights="nvfp4", tp=2), "weight_bytes")
    assert 70e9 < weights < 75e9
    active = OWN["models/own-122b-a10b.yaml"].replace(
        "experts: 115964116992 params", f"experts: {115964116992 * 8 // 256} params"
    )
    total = 122111526912 - 115964116992 + 115964116992 * 8 // 256
    active = active.replace("total: 122111526912", f"total: {total}")
    planned("own-122b-a10b", {"models/own-122b-a10b.yaml": active}, weights="int4")
    (warning,) = doubts(tmp_path, "model", "own-122b-a10b")
    assert "expected about 122 billion, as the name says" in warning
    assert "memory holds all experts, not only the active parameters" in warning


def test_kv_does_not_follow_the_parameter_count(planned: Planned) -> None:
    """Two tools derive KV from billions of parameters; the smaller model here holds four times."""
    old, new = planned("llama-2-7b", context=4096), planned("llama-3.1-8b", context=4096)
    assert number(old, "weight_bytes") < number(new, "weight_bytes")
    assert number(old, "kv_per_token") == 4 * number(new, "kv_per_token")


def test_four_bits_are_half_a_byte_and_scales(
    planned: Planned, repository: Path, tmp_path: Path
) -> None:
    """An article counts 0.25 byte for FP4 and 17.5 GB for 70 billion."""
    plan = planned("llama-3.1-70b", weights="nvfp4", tp=8)
    params = {n: f.value for n, f in plan.inputs.facts["model", "llama-3.1-70b"].items()}
    linear = float(params["params_attention"] or 0) + float(params["params_mlp"] or 0)
    wide = sum(float(params[f"params_{n}"] or 0) for n in ("embedding", "lm_head", "norm"))
    assert number(plan, "weight_bytes") == 0.5625 * linear + 2 * wide > 35e9
    wrong = (repository / "catalogs" / "formats" / "nvfp4.yaml").read_text("utf-8")
    assert wrong.count("0.5625 B") == 3
    planned("llama-3.1-70b", {"formats/nvfp4.yaml": wrong.replace("0.5625 B", "0.25 B")}, tp=8)
    warned = doubts(tmp_path, "weight_format", "nvfp4")
    assert len(warned) == 3
    assert all("at least 0.5 byte, the 4 bits of its name" in line for line in warned)


def test_deepseek_v3_in_16_bits_is_1342_gb(planned: Planned) -> None:
    """A playbook prints 800 GB for FP16."""
    plan = planned("deepseek-v3", weights="bf16", tp=8)
    assert number(plan, "weight_bytes") == 2 * 671_026_419_200
    assert round(number(plan, "weight_bytes") / 1e9) == 1342


# ---- memory and speed of cards -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "told", "gib"),
    [("h100-sxm", "80 GB", 79.19), ("b300", "288 GB", 267.69), ("b200", "180 GB", 178.35)],
)
def test_gb_on_the_box_are_no_gib(
    gpu: str, told: str, gib: float, planned: Planned, repository: Path, tmp_path: Path
) -> None:
    """GB read as GiB promises 7.4 % more; plans take what the framework sees."""
    assert number(planned("qwen3-8b", gpu=gpu), "memory_total") == pytest.approx(gib * GIB)
    wrong = f"marketed: {{value: {told.replace('GB', 'GiB')},"
    planned(
        "qwen3-8b", changed(repository, f"gpus/{gpu}", f"marketed: {{value: {told},", wrong),
        gpu=gpu,
    )  # fmt: skip
    (warning,) = doubts(tmp_path, "gpu", gpu)
    assert f"the number on the box is decimal: write {told}" in warning


def test_sparse_peaks_are_refused_or_warned_of(
    planned: Planned, repository: Path, tmp_path: Path
) -> None:
    """Public device tables carry 1,979 TFLOP/s for the BF16 of an H100, with 2:4 sparsity."""
    assert CATALOG.facts("gpu", "h100-sxm")["peak_bf16"].value == 989.5e12
    sparse = changed(repository, "gpus/h100-sxm", "bf16: {value: 989.5 ", "bf16: {value: 1979 ")
    planned("qwen3-8b", sparse)
    (warning,) = doubts(tmp_path, "gpu", "h100-sxm")
    assert "half of it is dense, if this is the figure with 2:4 sparsity" in warning
    with pytest.raises(InputError, match="only dense peaks are planned with"):
        planned("qwen3-8b", changed(repository, "gpus/h100-sxm", "peak_dense:", "peak_sparse:"))


# ---- right answers worth keeping ---------------------------------------------------------------


def overhead_for(plan: Plan, pool: float) -> int:
    """The overhead with which a pool of this size is left."""
    return int(number(plan, "memory_left") - pool)


def test_llama_31_8b_with_1952_blocks(planned: Planned) -> None:
    """A start-up log: 1,952 blocks of 16 tokens in 3.81 GiB, 1.56 times 20,000 tokens."""
    pool = 1952 * 16 * 131_072
    assert pool == 3.8125 * GIB
    overhead = overhead_for(planned("llama-3.1-8b", context=20_000), pool)
    plan = planned("llama-3.1-8b", context=20_000, overhead=overhead)
    assert number(plan, "kv_per_token") == 131_072
    assert number(plan, "token_capacity") == pytest.approx(31_232, abs=1)
    assert number(plan, "concurrency_quotient") == pytest.approx(1.5616, abs=1e-4)
    assert number(plan, "max_concurrency") == 1


def test_blocks_of_64_tokens_of_a_7b_with_full_heads(planned: Planned, repository: Path) -> None:
    """An engine's answer: blocks of 64 tokens are 32 MiB, 7,987 of them 250 requests."""
    pool = 7987 * 32 * 2**20
    plain = (repository / "catalogs" / "engines" / "plain.yaml").read_text("utf-8")
    assert plain.count("value: 16 token") == 1
    wide = plain.replace("value: 16 token", "value: 64 token")
    files = {"engines/own-blocks-of-64.yaml": wide.replace("id: plain", "id: own-blocks-of-64")}
    engine: dict[str, Any] = {
        "engine": "own-blocks-of-64", "context": 2048, "gpu": "b300",
    }  # fmt: skip
    overhead = overhead_for(planned("llama-2-7b", files, **engine), pool)
    plan = planned("llama-2-7b", files, overhead=overhead, **engine)
    assert number(plan, "kv_per_token") * 64 == 32 * 2**20
    assert number(plan, "kv_per_request") == GIB
    assert number(plan, "concurrency_quotient") == pytest.approx(249.6, abs=0.05)
