"""Worked examples: every metric has one, each is met, and the documented figures are among them."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import pytest

from planner.examples import run_example
from planner.expr.tree import Text, walk
from planner.metric_files import ExampleEntry
from planner.metrics import OPTIONAL, Metric, MetricSet, examples
from planner.units import parse_quantity


@cache
def metrics() -> MetricSet:
    return MetricSet.load(also=OPTIONAL)


def declared() -> list[Metric]:
    return [m for m in metrics().metrics.values() if not m.part_of]


ALL = examples(declared())


def met(found: object, wanted: object) -> bool:
    """Numbers to one part in 1e9; words, flags and unknown as they are."""
    if isinstance(found, float) and isinstance(wanted, float):
        return math.isclose(found, wanted, rel_tol=1e-9)
    return type(found) is type(wanted) and found == wanted


@pytest.mark.parametrize("metric", declared(), ids=lambda m: m.name)
def test_every_metric_has_a_worked_example(metric: Metric) -> None:
    assert metric.entry.examples, f"{metric.name} has no example"
    assert all(example.because.strip() for example in metric.entry.examples)


@pytest.mark.parametrize(
    ("metric", "example"), ALL, ids=[f"{m.name}-{i}" for i, (m, _) in enumerate(ALL)]
)
def test_every_example_is_met(metric: Metric, example: ExampleEntry) -> None:
    found, wanted = run_example(metrics(), metric, example)
    assert met(found, wanted), f"{found!r} instead of {wanted!r}: {example.because}"


@pytest.mark.parametrize(
    ("metric", "example"), ALL, ids=[f"{m.name}-{i}" for i, (m, _) in enumerate(ALL)]
)
def test_an_example_gives_only_what_the_metric_rests_on(
    metric: Metric, example: ExampleEntry
) -> None:
    # A name that is given and not used is a slip, and would hide that another one is missing.
    reach = metrics().reach[metric.name]
    trees = [metrics().metrics[name].tree for name in reach if name in metrics().metrics]
    variants = {node.value for tree in trees for node in walk(tree) if isinstance(node, Text)}
    assert set(example.given) <= reach | variants


def test_an_example_that_is_not_met_is_found(tmp_path: Path) -> None:
    # The runner must be able to fail: twice the value, and a unit a thousand times as large.
    entry = (
        "label: L, why: W, source: {title: T}, unit: byte/token, formula: 2 * kv_per_token, "
        "examples: [{given: {kv_per_token: 3 byte/token}, gives: %s, because: B}]"
    )
    for gives, right in (("6 byte/token", True), ("3 byte/token", False), ("6 kB/token", False)):
        path = tmp_path / "own.yaml"
        path.write_text(f"metrics: {{extra: {{{entry % gives}}}}}", encoding="utf-8")
        own = MetricSet.load([path])
        [example] = own.metrics["extra"].entry.examples
        assert met(*run_example(own, own.metrics["extra"], example)) is right


# ---- the documented figures ---------------------------------------------------------------------

# Qwen3-8B in BF16: 36 layers, 8 KV heads of 128, 8,190,735,360 parameters, of which the input
# embedding 151,936 x 4,096 = 622,329,856 and norms 308,224. KV per token 2 x 36 x 8 x 128 x 2.
C_KV = 147_456
# Two generations: S = 0, P = 8,192, G = 1,025 and S = 0, P = 2,048, G = 2,048. A generation of G
# tokens has n = G - 1 decode steps and reads n*H + n*(n - 1)/2 context tokens.
LONG_READ = 1024 * 8192 + 1024 * 1023 // 2
SHORT_READ = 2047 * 2048 + 2047 * 2046 // 2

FIGURES = [
    ("weight_bytes", f"{8_190_735_360 * 2} byte"),
    ("group_kv_per_token", f"{C_KV} byte/token"),
    ("kv_per_token", "144 KiB/token"),
    # 144 KiB x context
    ("kv_per_request", "0.28125 GiB/request"),
    ("kv_per_request", "1.125 GiB/request"),
    ("kv_per_request", "2.25 GiB/request"),
    ("kv_per_request", "4.5 GiB/request"),
    ("kv_per_request", "18 GiB/request"),
    # 32 requests of 2.25 GiB are 72 GiB.
    ("concurrency_quotient", "32 request"),
    ("decode_steps", "1024"),
    ("context_tokens_read", f"{LONG_READ} token/request"),
    ("context_tokens_read", f"{SHORT_READ} token/request"),
    ("kv_read_total", f"{C_KV * LONG_READ} byte/request"),
    ("kv_read_total", f"{C_KV * SHORT_READ} byte/request"),
    ("kv_written_decode", "144 MiB/request"),
    ("kv_written_decode", f"{C_KV * 2047} byte/request"),
    ("kv_written_prefill", "1.125 GiB/request"),
    ("kv_stored_end", "1.265625 GiB/request"),
    ("kv_stored_end", f"{C_KV * 4095} byte/request"),
    # 967.06: the article prints 963, which divides its rounded figures.
    ("read_to_stored", f"{LONG_READ / 9216!r}"),
    ("read_to_stored", f"{SHORT_READ / 4095!r}"),
    # 4 x 32 query heads x 128 x 36 layers
    ("attention_flops", f"{4 * 32 * 128 * 36} flop*request/token^2"),
    ("decode_flops_total", f"{1024 * 2 * 7_568_097_280 + 589_824 * LONG_READ} flop/request"),
    ("weights_read", f"{(8_190_735_360 - 622_329_856) * 2} byte"),
    ("b_star_kv", f"{15_136_811_008 / (C_KV * 8192)!r} request"),
    ("b_star_kv", f"{15_136_811_008 / (C_KV * 2048)!r} request"),
    ("first_batch_kv", "13 request"),
    ("first_batch_kv", "51 request"),
    # H100 SXM5, 989.5 TFLOP/s and 3.35 TB/s, with one and with two bytes per weight.
    ("b_star_compute", f"{989.5e12 * 1 / (2 * 3.35e12)!r} request"),
    ("b_star_compute", f"{989.5e12 * 2 / (2 * 3.35e12)!r} request"),
]


@pytest.mark.parametrize(("name", "figure"), FIGURES)
def test_every_documented_figure_is_a_worked_example(name: str, figure: str) -> None:
    metric = metrics().metrics[name]
    value = parse_quantity(figure, metrics().unit_of(name))
    wanted = [run_example(metrics(), metric, example)[1] for example in metric.entry.examples]
    assert any(met(one, value) for one in wanted), f"{figure} is not among {wanted}"


def test_the_documented_figures_are_those_that_people_print() -> None:
    assert round(C_KV * LONG_READ / 2**30, 1) == 1223.9
    assert round(C_KV * SHORT_READ / 2**30, 1) == 863.3
    assert round(C_KV * 2047 / 2**20, 1) == 287.9
    assert round(C_KV * 4095 / 2**30, 4) == 0.5624
    assert (LONG_READ, SHORT_READ) == (8_912_384, 6_286_337)
    assert round(LONG_READ / 9216, 2) == 967.06
    assert int(SHORT_READ / 4095) == 1535
    assert round(15_136_811_008 / (C_KV * 8192), 2) == 12.53
    assert round(15_136_811_008 / (C_KV * 2048), 2) == 50.12
    assert round(989.5 / 6.7, 2) == 147.69
