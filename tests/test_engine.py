"""Metrics times inputs: whole columns, variants, laws that any plan keeps, and a second route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tools import REPOSITORY

import planner
from planner.catalog import Catalog
from planner.engine import Array, Columns, by_input, evaluate
from planner.expr.check import PLAN
from planner.metrics import OPTIONAL, SLOTS, Metric, MetricSet
from planner.planning import Plan

EXAMPLE = REPOSITORY / "catalogs" / "scenarios" / "example.yaml"
CATALOG = REPOSITORY / "catalogs"


@cache
def metrics() -> MetricSet:
    return MetricSet.load()


@cache
def example() -> Plan:
    return planner.plan(EXAMPLE)


@cache
def inputs() -> dict[str, Array]:
    """The input columns of the shipped example."""
    return example().inputs.columns(metrics())


def ladders() -> dict[str, Array]:
    return dict(example().columns.variant_values)


def repeated(times: int, **changed: Array) -> dict[str, Array]:
    """The example's cases over and over, with some columns replaced."""
    tiled = {
        name: np.tile(column, (1,) * (column.ndim - 1) + (times,)) if column.ndim else column
        for name, column in inputs().items()
    }
    return tiled | changed


def same(a: Array, b: Array) -> bool:
    return bool(np.array_equal(np.asarray(a, float), np.asarray(b, float), equal_nan=True))


# ---- columns ------------------------------------------------------------------------------------


def many() -> dict[str, Array]:
    """12,000 cases in which contexts, prompts, outputs and batches are all unlike."""
    times = 12_000 // len(example().cases)
    count = times * len(example().cases)
    random = np.random.default_rng(20)
    context = random.integers(256, 131_072, count).astype(float)
    return repeated(
        times,
        context=context,
        prompt_tokens=np.floor(context / 2),
        output_tokens=random.integers(1, 2000, count).astype(float),
        batch=random.integers(1, 500, count).astype(float),
        # Some cards whose bandwidth and one whose memory nobody published.
        memory_bandwidth=np.where(random.random(count) < 0.01, np.nan, 3.35e12),
    )


def test_twelve_thousand_cases_give_what_each_slice_of_them_gives() -> None:
    columns = many()
    count = len(columns["context"])
    assert count >= 10_000
    whole = evaluate(metrics(), columns, ladders())
    for start, end in ((0, 1), (1, 700), (4096, 8192), (count - 3, count)):
        cut = {n: c[..., start:end] if c.ndim else c for n, c in columns.items()}
        part = evaluate(metrics(), cut, ladders())
        for name, metric in metrics().metrics.items():
            if metric.type.grain != PLAN and not metric.variant:
                expected = whole[name][..., start:end] if whole[name].ndim else whole[name]
                assert same(part[name], expected), name


def test_a_column_is_computed_once_and_on_demand() -> None:
    columns = Columns(metrics(), {"rank_concurrency": np.asarray([13.0]), "dp": np.asarray([2.0])})
    assert columns["max_concurrency"].tolist() == [26.0]
    assert columns["max_concurrency"] is columns["max_concurrency"]
    with pytest.raises(KeyError, match=r"peak_bf16|compute_dtype"):
        columns["peak_compute"]


def test_a_given_metric_is_not_computed() -> None:
    given = {"max_concurrency": np.asarray([9.0]), "gpus_per_replica": np.asarray([2.0])}
    assert Columns(metrics(), given)["concurrency_per_gpu"].tolist() == [4.5]


def test_given_flags_may_come_as_zeros_and_ones(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "metrics: {extra: {formula: tied_embedding and not (tied_embedding or batch > 2 * batch), "
        "label: L, why: W, source: {title: T}}}",
        encoding="utf-8",
    )
    own = MetricSet.load([path])
    for tied in ([1.0, 0.0], [True, False], [1.0, np.nan]):
        columns = Columns(
            own, {"tied_embedding": np.asarray(tied), "batch": np.asarray([1.0, 1.0])}
        )
        found = np.asarray(columns["extra"], float)
        assert found[0] == 0
        assert np.isnan(found[1]) == np.isnan(tied[1])


# ---- variants -----------------------------------------------------------------------------------


@cache
def answering() -> Plan:
    """The example with every set of variants, and lengths of two kinds."""
    short = "{share: 0.7, prompt: 500 tokens, output: 100 tokens}"
    mix = f"mix=[{short}, {{share: 0.3, prompt: 9000 tokens, output: 500 tokens}}]"
    return planner.plan(EXAMPLE, settings=["shared_prefix=400 tokens", mix, "time_model=bound"])


@pytest.mark.parametrize("name", MetricSet.load(also=OPTIONAL).variants)
def test_a_variant_is_a_plan_with_its_inputs_replaced(name: str) -> None:
    plan = answering()
    variant = plan.metrics.variants[name]
    child = plan.columns.variants(name)
    values = by_input(variant, plan.columns.variant_values[name])
    given = plan.inputs.columns(plan.metrics)
    cases, rungs = len(plan.cases), len(values[variant.first])
    for rung in range(rungs):
        replaced = given | {one: np.full(cases, column[rung]) for one, column in values.items()}
        for one, metric in variant.follows.items():
            replaced[one] = Columns(plan.metrics, replaced)[metric]
        alone = evaluate(plan.metrics, replaced, plan.columns.variant_values)
        for metric in plan.metrics.metrics.values():
            # Reductions over the same ladder replace the input once more: theirs is the parent's.
            if metric.variant or metric.type.grain == PLAN or _reduces(plan, name, metric.name):
                continue
            column = np.broadcast_to(
                child[metric.name], (*child[metric.name].shape[:-1], cases * rungs)
            )
            found = column[..., rung * cases : (rung + 1) * cases]
            assert same(found, np.broadcast_to(alone[metric.name], found.shape)), metric.name


def _reduces(plan: Plan, name: str, metric: str) -> bool:
    known = plan.metrics.metrics
    return any(known[n].variant == name for n in plan.metrics.reach[metric] if n in known)


def test_the_longest_context_is_the_highest_rung_that_fits() -> None:
    plan = example()
    child = plan.columns.variants("context_ladder")
    rungs = plan.columns.variant_values["context_ladder"]
    words = plan.metrics.type_of("verdict").words
    verdicts = child["verdict"].reshape(len(rungs), len(plan.cases))
    for index in range(len(plan.cases)):
        limit = plan.value("max_context", index)
        fitting = [
            rung
            for rung, codes in zip(rungs, verdicts, strict=True)
            if words[int(codes[index])] == "fits" and rung <= limit
        ]
        assert plan.value("longest_context", index) == max(fitting, default=0)


# ---- laws ---------------------------------------------------------------------------------------

LAW = settings(max_examples=30, deadline=None, derandomize=True)
factors = st.integers(2, 8)


def changed(**columns: Array) -> Columns:
    return Columns(metrics(), inputs() | columns, ladders())


@LAW
@given(factors, st.sampled_from(["group_kv_heads", "group_key_dim", "group_value_dim"]))
def test_more_kv_bytes_never_raise_concurrency(factor: int, name: str) -> None:
    wide = changed(**{name: inputs()[name] * factor})
    assert (wide["kv_per_token"] >= example().column("kv_per_token")).all()
    assert (wide["max_concurrency"] <= example().column("max_concurrency")).all()


@LAW
@given(st.integers(1, 10**6))
def test_a_longer_context_never_raises_concurrency_and_less_memory_neither(more: int) -> None:
    base = example().column("max_concurrency")
    assert (changed(context=inputs()["context"] + more)["max_concurrency"] <= base).all()
    assert (changed(overhead=inputs()["overhead"] + more)["max_concurrency"] <= base).all()
    assert (changed(reserve=np.asarray(0.2))["max_concurrency"] <= base).all()


@LAW
@given(st.sampled_from([1, 2, 4, 8, 16]))
def test_tensor_parallelism_divides_the_weights_and_never_makes_more_of_them(tp: int) -> None:
    ranks = np.full(len(example().cases), float(tp))
    one, some = changed(tp=np.ones_like(ranks)), changed(tp=ranks)
    assert same(some["weight_bytes"], one["weight_bytes"])
    # A rank holds at least its share (rounded up) and at most the whole.
    assert (some["weights_gpu"] >= one["weight_bytes"] / tp).all()
    assert (some["weights_gpu"] <= one["weights_gpu"]).all()
    assert (some["weights_gpu"] == np.ceil(some["weights_gpu"])).all()


@LAW
@given(st.integers(1, 4096), st.integers(1, 64))
def test_halving_the_kv_format_halves_bytes_and_leaves_operations(output: int, batch: int) -> None:
    cases = len(example().cases)
    shape = {
        "output_tokens": np.full(cases, float(output)),
        "batch": np.full(cases, float(batch)),
        # Without states, whose bytes do not follow the KV format.
        "group_state_heads": np.zeros_like(inputs()["group_state_heads"]),
        "group_conv_channels": np.zeros_like(inputs()["group_conv_channels"]),
    }
    wide = changed(**shape)
    halves = {name: inputs()[name] / 2 for name in ("kv_key_bytes", "kv_value_bytes")}
    narrow = changed(**shape, **halves)
    for name in ("kv_per_token", "kv_read_total", "kv_stored_end", "kv_per_request"):
        assert same(narrow[name] * 2, wide[name]), name
    assert same(narrow["decode_flops_total"], wide["decode_flops_total"])


@LAW
@given(st.integers(2, 300), st.integers(0, 2000), st.integers(1, 3000))
def test_two_turns_of_a_conversation_read_what_one_long_turn_reads(
    first: int, cached: int, prompt: int
) -> None:
    # n steps, then m more from where they ended, are n + m steps: the series does not notice.
    cases = len(example().cases)

    def read(start: float, steps: int) -> Array:
        full = np.full(cases, 1.0)
        return changed(
            cached_tokens=full * start, prompt_tokens=full * 0, output_tokens=full * (steps + 1)
        )["kv_read_total"]

    start = cached + prompt
    whole = read(start, first + 50)
    parts = read(start, first) + read(start + first, 50)
    np.testing.assert_allclose(whole, parts, rtol=1e-12)


# ---- what is not known --------------------------------------------------------------------------

# Memory figures stand in for each other, in a declared order; a card without a capability is
# of another make than NVIDIA, and engines run other kernels on it; a model that names no rotated
# part rotates the whole key.
FALL_BACK = {"memory_framework", "memory_device", "gpu_capability", "rotary_width"}


@pytest.mark.parametrize("name", [n for n in metrics().fields if n not in FALL_BACK])
def test_an_unknown_input_makes_results_unknown_and_never_another_number(name: str) -> None:
    known = evaluate(metrics(), inputs(), ladders())
    column = np.full(inputs()[name].shape, np.nan)
    found = evaluate(metrics(), inputs() | {name: column}, ladders())
    for metric in metrics().metrics.values():
        if metric.variant or metric.type.kind != "number" or _summary(metric):
            continue
        before = np.broadcast_to(np.asarray(known[metric.name], float), found[metric.name].shape)
        after = np.asarray(found[metric.name], float)
        kept = ~np.isnan(after)
        # A value that stays is one that did not rest on the input in this case.
        assert same(after[kept], before[kept]), metric.name


def _summary(metric: Metric) -> bool:
    """What is said of the whole plan, and the helpers of it, leaves out what is not known."""
    parent = metrics().metrics[metric.part_of] if metric.part_of else metric
    return parent.type.grain == PLAN


def test_what_is_said_of_a_whole_plan_is_unknown_when_nothing_is_known() -> None:
    none = np.full(len(example().cases), np.nan)
    found = evaluate(
        metrics(), inputs() | {"memory_bandwidth": none, "kv_key_bytes": none}, ladders()
    )
    for name in ("best_concurrency_per_gpu", "lowest_b_star_kv", "highest_read_to_stored"):
        assert np.isnan(found[name]), name
    assert found["cases_fitting"] == 0
    assert np.isnan(found["longest_context"]).all()


def test_an_unknown_memory_figure_falls_back_in_the_declared_order() -> None:
    cases = len(example().cases)
    none = np.full(cases, np.nan)
    columns = changed(memory_framework=none)
    assert same(columns["memory_total"], inputs()["memory_device"])
    columns = changed(memory_framework=none, memory_device=none)
    assert same(columns["memory_total"], inputs()["memory_marketed"])
    columns = changed(memory_framework=none, memory_device=none, memory_marketed=none)
    assert np.isnan(columns["max_concurrency"]).all()
    words = metrics().type_of("verdict").words
    assert {words[int(code)] for code in columns["verdict"]} == {"unknown"}


# ---- the second route ---------------------------------------------------------------------------

MODELS = sorted(path.stem for path in (CATALOG / "models").glob("*.yaml"))


@cache
def entry(model: str) -> Mapping[str, Any]:
    return oracle.read(CATALOG / "models" / f"{model}.yaml")


def columns_of(model: str, fmt: str, **case: float) -> Columns:
    """One case of one catalog model, straight from the catalog's facts."""
    catalog = Catalog.open()
    facts = {**catalog.facts("model", model), **catalog.facts("weight_format", fmt)}
    facts |= catalog.facts("kv_format", "fp8" if fmt == "fp8" else "bf16")
    given = {n: np.asarray([np.nan if f.value is None else f.value]) for n, f in facts.items()}
    groups = catalog.groups(model)
    for name, field in metrics().fields.items():
        if field.entity == "group":
            slots: Sequence[Any] = [g.facts[name].value for g in groups]
            empty, held = (".", object) if field.kind == "places" else (0.0, float)
            slots = [np.nan if v is None else v for v in slots] + [empty] * (SLOTS - len(slots))
            given[name] = np.asarray([slots], dtype=held).T
    given |= {name: np.asarray([float(value)]) for name, value in case.items()}
    return Columns(metrics(), given)


def close(a: Any, b: float) -> bool:
    return bool(np.isclose(float(np.ravel(a)[0]), b, rtol=1e-12, atol=0))


@pytest.mark.parametrize("model", MODELS)
def test_kv_bytes_agree_with_a_count_layer_by_layer(model: str) -> None:
    for fmt, element in (("bf16", 2.0), ("fp8", 1.0)):
        for context in (100, 1024, 8192, 100_000):
            columns = columns_of(model, fmt, context=context)
            if not oracle.is_known(entry(model)):
                assert np.isnan(columns["kv_per_request"]).all()
                continue
            assert close(columns["kv_per_token"], oracle.kv_per_token(entry(model), element))
            expected = oracle.kv_per_request(entry(model), element, context)
            assert close(columns["kv_per_request"], expected)


@pytest.mark.parametrize("model", MODELS)
def test_reads_of_a_generation_agree_with_a_count_step_by_step(model: str) -> None:
    # The prompts lie below, at the edge of, and beyond the windows of 128, 1,024, 4,096 and 8,192.
    for prompt, output in ((1, 2), (100, 60), (1000, 40), (4000, 150), (8190, 20), (50_000, 1)):
        columns = columns_of(
            model, "bf16", cached_tokens=0, prompt_tokens=prompt, output_tokens=output
        )
        if not oracle.is_known(entry(model)):
            assert np.isnan(columns["kv_read_total"]).all()
            continue
        expected = oracle.read_by_generation(entry(model), 2.0, prompt, output)
        assert close(columns["kv_read_total"], expected), (prompt, output)


@pytest.mark.parametrize("model", MODELS)
def test_weight_bytes_agree_with_a_count_by_component(model: str) -> None:
    total = oracle.number(entry(model)["params"]["total"])
    assert close(columns_of(model, "bf16")["weight_bytes"], 2 * total)
    for fmt in ("fp8", "mxfp4", "nvfp4", "int4"):
        weight = oracle.read(CATALOG / "formats" / f"{fmt}.yaml")["weight"]
        expected = oracle.weight_bytes(entry(model), weight)
        catalog = Catalog.open()
        widths = {n: float(f.value or 0) for n, f in catalog.facts("weight_format", fmt).items()}
        columns = columns_of(model, "bf16", **widths)
        assert close(columns["weight_bytes"], expected), fmt


def test_the_second_route_knows_the_published_figures_itself() -> None:
    # Qwen3-8B: 2 x 36 x 8 x 128 x 2 = 147,456; DeepSeek-V3: 61 x 576 x 2; 8,912,384 tokens read.
    qwen, deepseek = entry("qwen3-8b"), entry("deepseek-v3")
    assert oracle.kv_per_token(qwen, 2.0) == 147_456
    assert oracle.kv_per_token(deepseek, 2.0) == 70_272
    assert oracle.read_by_generation(qwen, 2.0, 8192, 1025) == 147_456 * 8_912_384
    # Qwen3-Next-80B: 36 states of 1,097,728 bytes, and 12 layers of 2,048 bytes a token.
    following = oracle.kv_per_request(entry("qwen3-next-80b"), 2.0, 1000)
    assert following == 36 * 1_097_728 + 12 * 2048 * 1000
