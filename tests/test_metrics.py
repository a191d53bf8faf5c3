"""Declarations of metrics: read by one path, checked together, own ones beside built-in ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.engine import Columns
from planner.errors import InputError
from planner.expr.check import CASE, GROUP, PLAN
from planner.expr.functions import FUNCTIONS
from planner.expr.tree import Call, Name, walk
from planner.metrics import MetricSet

REST = "label: L, why: W, source: {title: T}"


@pytest.fixture
def own(tmp_path: Path) -> Any:
    """Loads the built-in metrics with one own file of the given text."""

    def load(text: str) -> MetricSet:
        path = tmp_path / "own.yaml"
        path.write_text(text, encoding="utf-8")
        return MetricSet.load([path])

    return load


def metric(formula: str, name: str = "extra", **keys: str) -> str:
    more = "".join(f", {key}: {value}" for key, value in keys.items())
    return f"metrics: {{{name}: {{formula: '{formula}', {REST}{more}}}}}"


def messages(load: Any, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(text)
    return [str(one).split("\n")[0].split("own.yaml:")[-1] for one in caught.value.problems]


def message(load: Any, text: str) -> str:
    [one] = messages(load, text)
    return one


# ---- the built-in set ---------------------------------------------------------------------------


def test_every_metric_comes_after_what_it_needs() -> None:
    metrics = MetricSet.load()
    seen = {*metrics.fields, *metrics.constants}
    for metric in metrics.metrics.values():
        assert set(metric.needs) <= seen, metric.name
        seen.add(metric.name)


def test_reach_is_everything_below_a_metric() -> None:
    metrics = MetricSet.load()
    for name, reached in metrics.reach.items():
        todo, found = [name], {name}
        while todo:
            below = metrics.metrics.get(todo.pop())
            new = set(below.needs) - found if below else set()
            found |= new
            todo += sorted(new)
        assert reached == found


def test_every_metric_says_what_it_is_why_it_counts_and_where_it_comes_from() -> None:
    metrics = MetricSet.load()
    for metric in metrics.metrics.values():
        assert metric.label and metric.entry.why and metric.entry.source.title
        assert metric.table in metrics.tables
        assert metric.display.dimension == metric.unit.dimension


def test_labels_are_unique_within_a_table() -> None:
    metrics = MetricSet.load()
    for table in metrics.tables:
        labels = [m.label for m in metrics.of_table(table)]
        assert len(labels) == len(set(labels)), table


def test_formulas_hold_no_numbers_but_0_1_2_and_every_constant_has_a_reason_and_a_use() -> None:
    metrics = MetricSet.load()
    used = {n.name for m in metrics.metrics.values() for n in walk(m.tree) if isinstance(n, Name)}
    for name, constant in metrics.constants.items():
        assert constant.meaning
        assert name in used, f"{name} is declared and never used"


def test_expressions_inside_reductions_become_parts_that_show_under_their_parent() -> None:
    metrics = MetricSet.load()
    parts = [m for m in metrics.metrics.values() if m.part_of]
    assert parts
    for part in parts:
        assert re.fullmatch(rf"{part.part_of}_part[0-9]+", part.name)
        assert part.label == f"Part of {metrics.label_of(part.part_of)}"
    for metric in metrics.metrics.values():
        for node in walk(metric.tree):
            if isinstance(node, Call) and FUNCTIONS[node.function].reduces:
                assert isinstance(node.args[-1], Name), metric.name


def test_types_units_and_labels_are_looked_up_by_name() -> None:
    metrics = MetricSet.load()
    assert metrics.unit_of("tokens_per_step") == "token/request"
    assert metrics.type_of("tokens_per_step").whole
    assert metrics.type_of("tp").grain == CASE
    assert metrics.type_of("group_layers").grain == GROUP
    assert metrics.type_of("memory_utilization").grain == PLAN
    assert metrics.written_unit("context") == "token"
    assert metrics.label_of("kv_per_token") == "KV per token"
    assert metrics.label_of("per_rank") == "per rank"
    with pytest.raises(KeyError):
        metrics.type_of("nothing")


def test_declarations_as_data_are_the_same_set_again() -> None:
    metrics = MetricSet.load()
    again = MetricSet.of_declarations(metrics.declarations(), "saved")
    assert again.declarations() == metrics.declarations()
    assert [m.name for m in again.in_order()] == [m.name for m in metrics.in_order()]
    for name, metric in metrics.metrics.items():
        assert again.metrics[name].tree == metric.tree
        assert again.metrics[name].type == metric.type
        assert again.metrics[name].display == metric.display


# ---- own metrics --------------------------------------------------------------------------------


def test_an_own_metric_stands_beside_the_built_in_ones(own: Any) -> None:
    metrics = own(metric("2 * kv_per_token", unit="byte/token"))
    extra = metrics.metrics["extra"]
    assert (extra.table, extra.origin) == ("user", "own.yaml")
    assert "group_cache_layers" in metrics.reach["extra"]
    columns = Columns(metrics, {"kv_per_token": np.asarray([10.0, 20.0])})
    assert columns["extra"].tolist() == [20.0, 40.0]


def test_an_own_file_may_bring_constants_fields_tables_and_variants(own: Any) -> None:
    metrics = own(
        "table: money\n"
        "tables: {money: {label: Money, answers: What does it cost?}}\n"
        "constants: {hours: {value: 3600, unit: s, meaning: One hour}}\n"
        "fields: {price: {entity: plan, unit: usd/gpu/h, label: Price, meaning: Per hour}}\n"
        "variants: {sizes: {label: L, table: money, replaces: tp, default: [1, 2], meaning: M, "
        "shows: [cost]}}\n"
        f"metrics: {{cost: {{formula: price * tp * hours, unit: usd, {REST}}}}}\n"
    )
    assert [m.name for m in metrics.of_table("money")] == ["cost"]
    columns = Columns(
        metrics,
        {"tp": np.asarray([4.0]), "price": np.asarray(2.5 / 3600)},
        {"sizes": np.asarray([1.0, 2.0])},
    )
    assert columns["cost"].tolist() == [10.0]
    assert columns.variants("sizes")["cost"].tolist() == [2.5, 5.0]


def test_cases_and_sums_are_formulas_too(own: Any) -> None:
    metrics = own(
        f"metrics:\n  a_case: {{unit: gpu, {REST}, cases: [{{when: tp > per_node, formula: tp}}, "
        "{formula: per_node}]}\n"
        f"  a_sum: {{unit: gpu, {REST}, adds: [tp, a_case], subtracts: [per_node]}}\n"
        "constants: {per_node: {value: 8, unit: gpu, meaning: M}}"
    )
    columns = Columns(metrics, {"tp": np.asarray([4.0, 16.0])})
    assert columns["a_case"].tolist() == [8.0, 16.0]
    assert columns["a_sum"].tolist() == [4.0, 24.0]


def test_a_replacement_needs_a_reason_and_reaches_everything_above_it(own: Any) -> None:
    text = metric(
        "2 * sum_of(group_kv_per_token)",
        name="kv_per_token",
        unit="byte/token",
        replaces="kv_per_token",
        because="twice for the test",
    )
    metrics = own(text)
    assert metrics.replaced == {"kv_per_token": ("own.yaml", "twice for the test")}
    assert metrics.metrics["kv_per_token"].origin == "own.yaml"
    groups = np.asarray([[5.0], *[[0.0]] * 5])
    columns = Columns(metrics, {"group_kv_per_token": groups, "prompt_tokens": np.asarray([3.0])})
    assert columns["kv_per_token"].tolist() == [10.0]
    assert columns["kv_written_prefill"].tolist() == [30.0]
    # It stands where the old one stood.
    order = [m.name for m in metrics.of_table("memory")]
    assert order == [m.name for m in MetricSet.load().of_table("memory")]


def test_a_replacement_without_a_reason_is_refused(own: Any) -> None:
    text = metric(
        "sum_of(group_kv_per_token)",
        name="kv_per_token",
        unit="byte/token",
        replaces="kv_per_token",
    )
    assert "expected a reason under 'because:', found none" in message(own, text)


def test_a_built_in_name_is_not_taken_by_accident(own: Any) -> None:
    found = message(own, metric("tp", name="kv_per_token", unit="gpu"))
    assert "expected a new name, found 'kv_per_token', declared at metrics/memory.yaml:" in found


def test_a_replacement_of_another_unit_is_told_at_the_formulas_that_it_breaks(own: Any) -> None:
    text = metric("tp", name="kv_per_token", unit="gpu", replaces="kv_per_token", because="a slip")
    with pytest.raises(InputError) as caught:
        own(text)
    assert caught.value.problems
    for one in caught.value.problems:
        assert "'kv_per_token' is replaced at " in one.hint
        assert "own.yaml:1:" in one.hint


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Extra", "2fast", "__x", "lambda", "größe", "a b", "a-b"])
def test_a_name_is_small_letters_digits_and_underscores(own: Any, name: str) -> None:
    expected = "a name of lower-case letters, digits and _"
    assert expected in message(own, metric("tp", name=f"'{name}'", unit="gpu"))


@pytest.mark.parametrize("name", ["h100", "tp8", "a1", "xfd1048576", "r", "c"])
def test_a_name_that_a_sheet_reads_as_a_cell_is_refused(own: Any, name: str) -> None:
    assert "a name that is no cell address" in message(own, metric("tp", name=name, unit="gpu"))


@pytest.mark.parametrize("name", ["floor", "sum_of", "q"])
def test_a_name_of_a_function_is_refused(own: Any, name: str) -> None:
    assert "a name that is no function" in message(own, metric("tp", name=name, unit="gpu"))


@pytest.mark.parametrize("name", ["kv_per_request_part1", "tower_cut12"])
def test_a_name_of_a_part_is_refused(own: Any, name: str) -> None:
    assert "does not end in _part or _cut" in message(own, metric("tp", name=name, unit="gpu"))


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        (metric("tp", unit="byte"), "a result in byte", "a result in gpu"),
        (metric("tp", unit="gigs"), "a known unit", "'gigs'"),
        (metric("tp", unit="gpu", display="s"), "a unit of gpu", "s"),
        (metric("tp", unit="gpu", display="KB"), "a known unit", "'KB'"),
        (metric("tp", unit="gpu", table="nowhere"), "one of summary, groups,", "'nowhere'"),
        (metric("verdict", choices="[a, b]"), "choices: [fits,", "choices: [a, b]"),
        (metric("verdict"), "choices: [fits,", "no choices"),
        (metric("tp", unit="gpu", choices="[a, b]"), "one of the choices", "a number in gpu"),
        (metric("batch > batch", unit="byte"), "a number in byte", "a flag"),
        (metric("verdict", choices="[a, a]"), "each word once", "'a' again"),
        (metric("tp", unit="gpu", check="policy"), "one value for the whole plan", "a value per"),
        (metric("count_of(tied_embedding)", check="policy"), "a 'limit:'", "a number in 1"),
        (metric("3 * tp", unit="gpu"), "the literals 0, 1 and 2 only", "3"),
        (metric("tpp", unit="gpu"), "a declared name", "'tpp'"),
        (metric("tp +", unit="gpu"), "a formula", "a syntax error"),
        (metric("tp", unit="gpu", adds="[tp]"), "one of formula, cases or adds", "2 of them"),
        (f"metrics: {{extra: {{{REST}}}}}", "one of formula, cases or adds", "0 of them"),
        (metric("tp", unit="gpu", speed="fast"), "one of label,", "the unknown key 'speed'"),
    ],
)
def test_a_metric_that_makes_no_sense_is_refused(
    own: Any, text: str, expected: str, found: str
) -> None:
    one = message(own, text)
    assert f"expected {expected}" in one or expected in one.split(", found ")[0]
    assert found in one.split(", found ")[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("constants: {one_gb: {value: 1, unit: GB, meaning: M}}", "the base unit byte"),
        ("constants: {extra: {value: 1, unit: gigs, meaning: M}}", "a known unit"),
        ("constants: {extra: {value: nan, meaning: M}}", "finite number"),
        ("constants: {extra: {value: 1e999, meaning: M}}", "finite number"),
        ("fields: {extra: {entity: plan, unit: gigs, label: L, meaning: M}}", "a known unit"),
        ("fields: {extra: {entity: planet, label: L, meaning: M}}", "one of model, group,"),
        ("fields: {extra: {entity: plan, kind: choice, label: L, meaning: M}}", "words"),
        ("fields: {extra: {entity: plan, words: [a], label: L, meaning: M}}", "words"),
        ("tables: {memory: {label: L, answers: A}}", "a new table"),
    ],
)
def test_inputs_and_constants_that_make_no_sense_are_refused(
    own: Any, text: str, expected: str
) -> None:
    assert expected in message(own, text)


def test_a_constant_in_another_unit_is_told_its_value_in_base_units(own: Any) -> None:
    # A formula would see 1.5 bytes: constants are written as formulas compute.
    with pytest.raises(InputError) as caught:
        own("constants: {extra: {value: 1.5, unit: GiB, meaning: M}}")
    assert caught.value.problems[0].hint == "write value: 1610612736, unit: byte"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("replaces", "nothing", "an input"),
        ("replaces", "kv_per_token", "an input"),
        ("replaces", "group_layers", "an input with one number per case or plan"),
        ("replaces", "compute_dtype", "an input with one number per case or plan"),
        ("shows", "[nothing]", "a metric"),
        ("table", "nowhere", "one of summary,"),
        ("default", "[]", "at least 1 entry"),
    ],
)
def test_variants_replace_one_number_of_a_case_and_show_metrics(
    own: Any, key: str, value: str, expected: str
) -> None:
    entry = {"label": "L", "table": "ladder", "replaces": "batch", "default": "[1]",
             "meaning": "M", "shows": "[verdict]"}  # fmt: skip
    inner = ", ".join(f"{k}: {v}" for k, v in (entry | {key: value}).items())
    assert f"expected {expected}" in message(own, f"variants: {{extra: {{{inner}}}}}")


def test_a_cycle_is_told_with_its_way_round(own: Any) -> None:
    text = (
        f"metrics:\n  one: {{formula: two, unit: gpu, {REST}}}\n"
        f"  two: {{formula: three + tp, unit: gpu, {REST}}}\n"
        f"  three: {{formula: one, unit: gpu, {REST}}}\n"
    )
    assert "the cycle one -> two -> three -> one" in message(own, text)
    assert "the cycle extra -> extra" in message(own, metric("extra + tp", unit="gpu"))


def test_all_problems_of_a_file_are_told_together(own: Any) -> None:
    text = (
        f"metrics:\n  one: {{formula: tpp, unit: gpu, {REST}}}\n"
        f"  two: {{formula: tp + batch, unit: gpu, {REST}}}\n"
        f"  three: {{formula: tp, unit: byte, {REST}}}\n"
    )
    found = messages(own, text)
    assert [one.split(":")[0] for one in found] == ["2", "3", "4"]


def test_a_formula_problem_points_at_its_column(own: Any) -> None:
    with pytest.raises(InputError) as caught:
        own(metric("tp + wrong * tp", unit="gpu"))
    [one] = caught.value.problems
    text = one.span.text[one.span.column - 1 : one.span.column - 1 + one.span.length]
    assert text == "wrong"


def test_metrics_that_rest_on_a_broken_one_are_not_blamed(own: Any) -> None:
    text = (
        f"metrics:\n  one: {{formula: tpp, unit: gpu, {REST}}}\n"
        f"  two: {{formula: one + tp, unit: gpu, {REST}}}\n"
    )
    assert message(own, text).startswith("2:")
