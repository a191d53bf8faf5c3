"""What the engine takes beside weights and KV: parts, defaults of a card, tiles, the band."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import SMALL

import planner
from planner.errors import InputError
from planner.planning import Plan

GIB = 2**30


def plan(tmp_path: Path, *settings: str) -> Plan:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, "utf-8")
    return planner.plan(path, settings=settings)


def gib(made: Plan, name: str) -> float:
    value = made.value(name)
    assert isinstance(value, float)
    return value / GIB


V019 = "engine=vllm-0.17-0.20"


def test_the_log_of_an_h100_that_no_figure_rests_on(tmp_path: Path) -> None:
    """Qwen3-8B, vLLM 0.19.0, utilisation 0.95, 8,192 tokens: activation 2.21, pool 57.5 GiB,
    418,688 tokens in 26,168 blocks, 51.11 requests. No constant of an entry rests on this log."""
    made = plan(tmp_path, V019, "memory_utilization=0.95", "contexts=[8192 tokens]",
                "workloads=[{name: w, prompt: 4096 tokens, output: 1024 tokens}]")  # fmt: skip
    assert gib(made, "activation_peak") == pytest.approx(2.21, rel=0.015)
    assert gib(made, "runtime_gpu") == 0.25
    assert gib(made, "kv_pool") == pytest.approx(57.5, rel=0.015)
    assert made.value("pool_blocks") == pytest.approx(26168, rel=0.015)
    assert made.value("pool_tokens") == pytest.approx(418688, rel=0.015)
    assert made.value("pool_concurrency") == pytest.approx(51.11, rel=0.015)


@pytest.mark.parametrize(
    ("gpu", "tokens", "requests"),
    [
        ("h100-sxm", 8192, 1024),
        ("h200-sxm", 8192, 1024),
        ("b200", 16384, 1024),
        ("mi300x", 16384, 1024),
        ("a100-sxm-80", 2048, 256),
        ("a100-sxm-40", 2048, 256),
        ("l4", 2048, 256),
        ("rtx-4090", 2048, 256),
    ],
)
def test_a_step_follows_the_card_where_nobody_sets_it(
    tmp_path: Path, gpu: str, tokens: int, requests: int
) -> None:
    made = plan(tmp_path, V019, f"gpus=[{gpu}]")
    assert (made.value("step_tokens"), made.value("running_requests")) == (tokens, requests)
    given = plan(tmp_path, V019, f"gpus=[{gpu}]", "batched_tokens=4096 tokens", "max_num_seqs=16")
    assert (given.value("step_tokens"), given.value("running_requests")) == (4096, 16)
    assert gib(given, "activation_peak") < gib(made, "activation_peak") or tokens < 4096


def test_a_step_of_few_tokens_has_no_more_rows_of_logits(tmp_path: Path) -> None:
    made = plan(tmp_path, V019, "batched_tokens=512 tokens")
    assert made.value("logits_peak") == 512 * 151936 * 14


def test_activations_halve_with_the_sampler_of_0_17(tmp_path: Path) -> None:
    old, new = (gib(plan(tmp_path, f"engine=vllm-{n}"), "activation_peak")
                for n in ("0.11-0.16", "0.17-0.20"))  # fmt: skip
    assert 0.35 < new / old < 0.45


@pytest.mark.parametrize(
    ("requests", "sizes"), [(1, 2), (2, 3), (4, 4), (64, 19), (128, 35), (256, 51), (1024, 51)]
)
def test_graphs_are_taken_from_the_pool_since_0_21(
    tmp_path: Path, requests: int, sizes: int
) -> None:
    """1, 2 and 4; every eighth size below 256, every sixteenth up to 512; captured twice."""
    settings = ("engine=vllm-0.21-0.32", f"max_num_seqs={requests}")
    assert gib(plan(tmp_path, *settings), "graphs_gpu") == pytest.approx(2 * sizes * 8 / 1024)
    assert gib(plan(tmp_path, V019, f"max_num_seqs={requests}"), "graphs_gpu") == 0


def vision(tmp_path: Path, model: str, *settings: str) -> Plan:
    return plan(tmp_path, f"models=[{model}]", "gpus=[rtx-5090]", *settings)


def test_loading_a_model_with_images_makes_tables_and_buffers(tmp_path: Path) -> None:
    """Qwen3-VL-8B: 8,767,123,696 weights on two ranks, 262,144 x 4 positions of 128, three buffers
    of 32,768 x 4,096; a log of 0.12 has 9.1948 GiB."""
    made = vision(tmp_path, "qwen3-vl-8b", "engine=vllm-0.11-0.16", "tp=[2]",
                  "batched_tokens=32768 tokens")  # fmt: skip
    assert made.value("rotary_tables") == 262144 * 4 * 128 * 2
    assert made.value("deepstack_buffers") == 3 * 32768 * 4096 * 2
    assert gib(made, "loading_gpu") == pytest.approx(9.1948, rel=0.005)
    text = vision(tmp_path, "qwen3-8b", "engine=vllm-0.11-0.16", "batched_tokens=32768 tokens")
    assert text.value("deepstack_buffers") == 0


@pytest.mark.parametrize(
    ("model", "width"),
    [("gemma-4-26b-a4b", 256 + 512), ("gemma-3-27b", 2 * 128), ("qwen3.5-27b", 4 * 64),
     ("minimax-m2", 64), ("llama-3.1-8b", 128), ("jamba-1.5-mini", 0)],
)  # fmt: skip
def test_tables_of_rotations_follow_the_rotated_part(
    tmp_path: Path, model: str, width: int
) -> None:
    made = plan(tmp_path, V019, f"models=[{model}]")
    assert made.value("rotary_tables") == made.value("max_context") * width * 2  # type: ignore[operator]


def test_the_vision_tower_is_tried_before_the_decoder(tmp_path: Path) -> None:
    """One image of 65,536 patches where a step is shorter than it, two in a step of 32,768."""
    new = "engine=vllm-0.21-0.32"
    made = vision(tmp_path, "qwen3.8-27b", new, "tp=[2]")
    assert made.value("activation_peak") == 65536 * 1152 * (15 + 15 / 2)
    longer = vision(tmp_path, "qwen3.8-27b", new, "tp=[2]", "batched_tokens=8192 tokens")
    assert longer.value("activation_peak") == made.value("activation_peak")
    double = vision(tmp_path, "qwen3.8-27b", new, "tp=[2]", "batched_tokens=32768 tokens")
    assert double.value("images_peak") == 2 * 65536 * 1152 * (15 + 15 / 2)
    # Images of Gemma 4 are small: the decoder takes more, and the results of seven images stay.
    small = plan(tmp_path, V019, "models=[gemma-4-26b-a4b]", "gpus=[a100-sxm-80]")
    results = 7 * 280 * 2816 * 2
    assert small.value("images_kept") == results
    assert small.value("activation_peak") == (
        results + 2048 * 2816 * 6 + 256 * 262144 * 14 + 2048 * 8 * (2816 + 704) * 2
    )


def test_towers_of_unknown_size_take_what_logs_show(tmp_path: Path) -> None:
    made = vision(tmp_path, "kimi-k2.5", V019)
    assert gib(made, "images_peak") == pytest.approx(1.6)
    assert vision(tmp_path, "qwen3-8b", V019).value("images_peak") == 0


def test_what_was_measured_stands_over_the_parts(tmp_path: Path) -> None:
    assert gib(plan(tmp_path, V019, "overhead=2.4 GiB"), "engine_overhead") == pytest.approx(2.4)
    assert plan(tmp_path, V019, "overhead=unknown").value("engine_overhead") == plan(
        tmp_path, V019
    ).value("engine_overhead")
    twice = plan(tmp_path, V019, "overhead=2.4 GiB", "overhead_factor=2")
    assert gib(twice, "engine_overhead") == pytest.approx(4.8)


def test_only_what_may_be_unknown_may_be_set_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a number"):
        plan(tmp_path, V019, "reserve=unknown")
    # An entry without parts has nothing to put in the place of its figure.
    assert plan(tmp_path, "overhead=unknown").value("verdict") == "unknown"


@pytest.mark.parametrize(
    ("gpu", "weights"),
    [("h100-sxm", 13.47), ("a100-sxm-80", 13.72)],
)
def test_experts_in_tiles_weigh_what_logs_say(tmp_path: Path, gpu: str, weights: float) -> None:
    made = plan(tmp_path, V019, "models=[gpt-oss-20b]", f"gpus=[{gpu}]")
    assert gib(made, "weights_gpu") == pytest.approx(weights, rel=0.01)
    untiled = plan(tmp_path, "models=[gpt-oss-20b]", f"gpus=[{gpu}]")
    assert gib(untiled, "weights_gpu") == pytest.approx(12.81, rel=0.001)
    assert gib(untiled, "weight_bytes") == gib(made, "weight_bytes")


def test_a_fast_link_costs_a_workspace_where_its_kernels_run(tmp_path: Path) -> None:
    def runtime(gpu: str, tp: int) -> float:
        return gib(plan(tmp_path, V019, f"gpus=[{gpu}]", f"tp=[{tp}]"), "runtime_gpu")

    assert runtime("h100-sxm", 1) == 0.25
    assert runtime("h100-sxm", 2) == pytest.approx(2.07)
    assert runtime("a100-sxm-80", 2) == pytest.approx(0.62)
    assert runtime("rtx-4090", 2) == pytest.approx(0.62)


def test_the_band_is_the_plan_at_other_factors(tmp_path: Path) -> None:
    made = plan(tmp_path, V019, "overhead_factor=1")
    band = made.columns.variants("overhead_band")
    factors = made.columns.variant_values["overhead_band"].tolist()
    assert factors == [0.75, 1.0, 1.5]
    for rung, factor in enumerate(factors):
        other = plan(tmp_path, V019, f"overhead_factor={factor}")
        for name in ("engine_overhead", "kv_pool", "max_concurrency"):
            assert float(band[name][rung * len(made.cases)]) == other.value(name), (factor, name)


@pytest.mark.parametrize("key", ["optional: true", "default: 1"])
def test_only_values_of_the_whole_plan_may_be_left_out(tmp_path: Path, key: str) -> None:
    own = tmp_path / "own.yaml"
    field = f"{{entity: case, unit: '1', label: L, meaning: M, {key}}}"
    own.write_text(f"fields: {{extra: {field}}}", "utf-8")
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, "utf-8")
    with pytest.raises(InputError, match="expected entity: plan beside it"):
        planner.plan(path, metrics=[own])


def test_an_own_assumption_may_have_a_default(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "fields: {margin: {entity: plan, default: 0.25, label: L, meaning: M}}\n"
        "metrics: {with_margin: {label: L, unit: request, why: W, source: {title: T},\n"
        "  formula: max_concurrency * (1 - margin), examples: []}}\n",
        "utf-8",
    )
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, "utf-8")
    made = planner.plan(path, metrics=[own])
    whole = made.value("max_concurrency")
    assert isinstance(whole, float)
    assert made.value("with_margin") == whole * 0.75
    changed = planner.plan(path, metrics=[own], settings=["margin=0.5"])
    assert changed.value("with_margin") == whole * 0.5
