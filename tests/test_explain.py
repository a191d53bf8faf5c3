"""Explanations: the tree behind a figure, its numbers, its origins, and its text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import planner
from planner.errors import InputError
from planner.explain import Explanation, exact, explain
from planner.planning import Plan
from reports.numbers import display_width
from reports.text_explain import display, render, wrapped

EXAMPLE = Path(__file__).parents[1] / "catalogs" / "scenarios" / "example.yaml"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planner.plan(EXAMPLE)


def walk(tree: Explanation) -> Iterator[Explanation]:
    yield tree
    for operand in tree.operands:
        yield from walk(operand)


def operand(tree: Explanation, name: str) -> Explanation:
    return next(one for one in walk(tree) if one.name == name)


def case_of(plan: Plan, model: str, gpu: str = "h100-sxm") -> int:
    return next(i for i, c in enumerate(plan.cases) if (c.model, c.gpu) == (model, gpu))


def test_formula_with_numbers_and_units(plan: Plan) -> None:
    tree = explain(plan, "max_concurrency")
    assert tree.formula == "rank_concurrency * dp if rank_concurrency < no_threshold else unknown()"
    assert tree.numbers.startswith("23 request × 1 if 23 request < ")
    assert (tree.value, tree.exact) == (23.0, "23 request")
    assert [one.name for one in tree.operands] == ["rank_concurrency", "no_threshold", "dp"]


def test_the_only_stage_has_a_plain_value(plan: Plan) -> None:
    stage = explain(plan, "stage_concurrency")
    assert not stage.grouped and stage.rows == ()
    assert (stage.value, stage.exact) == (23.0, "23 request")
    assert "floordiv(56,923,957,347 byte/gpu, 2,415,919,104 byte/request/gpu)" in stage.numbers
    group = explain(plan, "stage_group_layers", case=case_of(plan, "gemma-3-27b"))
    assert [row.label for row in group.rows] == [
        "group 1, sliding window", "group 2, full attention",
    ]  # fmt: skip


def test_numbers_give_the_value(plan: Plan) -> None:
    """A sum that a reader types into a calculator gives what stands in front of it."""
    tree = explain(plan, "memory_left")
    parts = [float(n.replace(",", "")) for n in re.findall(r"[\d,]{4,}", tree.numbers)]
    assert parts[0] - parts[1] - parts[2] == tree.value


@pytest.mark.parametrize("number", [1, 8, 19, 30])
def test_every_value_is_that_of_the_plan(plan: Plan, number: int) -> None:
    for name in ("binding", "read_to_stored", "longest_context", "batch_slack"):
        for one in walk(explain(plan, name, str(number))):
            slots = range(len(one.rows)) if one.grouped else ()
            rows = [plan.value(one.name, number - 1, slot) for slot in slots]
            assert [row.value for row in one.rows if one.grouped] == rows
            if not one.grouped:
                assert one.value == plan.value(one.name, number - 1), one.name


def test_a_line_for_each_layer_group_in_use(plan: Plan) -> None:
    tree = explain(plan, "kv_per_token", case=case_of(plan, "gemma-3-27b"))
    group = operand(tree, "group_kv_per_token")
    assert [row.label for row in group.rows] == [
        "group 1, sliding window", "group 2, full attention",
    ]  # fmt: skip
    assert [row.value for row in group.rows] == [425_984.0, 81_920.0]
    assert group.rows[1].numbers == "10 × 8,192 byte/token"
    layer = operand(tree, "group_kv_layer")
    assert layer.rows[1].numbers == "(16 × 512 byte/token + 0 byte/token) ÷ 1 if 1 > 0 else 0"
    assert tree.numbers == "sum_of([425,984; 81,920] byte/token)"


def test_variants_show_every_rung(plan: Plan) -> None:
    tree = explain(plan, "longest_context")
    verdict = operand(tree, "verdict")
    assert verdict.rows[0].label == "context 2,048 token/request"
    fits = [row.label.split()[1] for row in verdict.rows if row.value == "fits"]
    assert fits == ["2,048", "4,096", "8,192"]
    assert tree.value == 8192.0
    assert "[fits; fits; fits; does not fit;" in tree.numbers


def test_a_check_of_the_plan_names_the_case_of_its_numbers(plan: Plan) -> None:
    tree = explain(plan, "cases_that_do_not_fit", "2", depth=1)
    assert tree.note == "over all 30 cases; the numbers below are those of case 2"
    assert tree.value == plan.value("cases_that_do_not_fit")


def test_origins_down_to_the_inputs(plan: Plan) -> None:
    tree = explain(plan, "kv_pool")
    framework = operand(tree, "memory_framework").basis
    assert framework is not None
    assert (framework.kind, framework.owner, framework.confidence) == (
        "catalog", "H100 SXM 80 GB", "log",
    )  # fmt: skip
    assert framework.sources[0].title.startswith("llm-d planner pull request 205")
    assert framework.place.startswith("catalogs/gpus/h100-sxm.yaml:")
    overhead = operand(tree, "overhead").basis
    assert overhead is not None
    assert (overhead.kind, overhead.place) == ("default", "engine plain")
    assert "start-up log" in overhead.note
    given = operand(explain(plan, "memory_spare"), "batch").basis
    assert given is not None
    assert (given.kind, given.place) == ("given", "example.yaml:19:1")
    per_rank = operand(explain(plan, "weights_gpu"), "per_rank")
    assert per_rank.kind == "constant"
    assert per_rank.meaning == "Held once by every tensor-parallel rank"


def test_each_name_is_explained_once(plan: Plan) -> None:
    nodes = list(walk(explain(plan, "binding")))
    assert any(one.repeated for one in nodes)
    for one in nodes:
        if one.repeated:
            assert one.operands == ()
    full = [one.name for one in nodes if not one.repeated]
    assert len(full) == len(set(full))


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_depth_cuts_operands(plan: Plan, depth: int) -> None:
    def levels(tree: Explanation) -> int:
        return 1 + max((levels(one) for one in tree.operands), default=-1)

    tree = explain(plan, "verdict", depth=depth)
    assert levels(tree) == depth
    assert any(one.cut for one in walk(tree))
    assert all(one.numbers for one in walk(tree) if one.cut and not one.grouped)


def test_every_metric_field_and_constant_can_be_explained(plan: Plan) -> None:
    names = [n for n, m in plan.metrics.metrics.items() if not m.part_of]
    for name in [*names, *plan.metrics.fields, *plan.metrics.constants]:
        tree = explain(plan, name, case=len(plan.cases) - 1)
        text = render(tree)
        assert text.startswith(name)
        assert "_part" not in text
        json.dumps(tree.as_dict(), allow_nan=False)


def test_unknown_stays_unknown(plan: Plan) -> None:
    tree = explain(plan, "peak_fp4")
    assert (tree.value, tree.exact) == (None, "unknown")
    assert tree.as_dict()["value"] is None
    assert render(tree).startswith("peak_fp4: unknown - FP4 dense peak\n")


def test_a_loaded_plan_explains_itself_the_same(plan: Plan) -> None:
    from planner.saved import document, dumps, loads

    again = loads(dumps(document(plan)), "x.plan.json")
    for name in ("longest_context", "binding", "kv_read_total", "cases_without_verdict"):
        assert render(explain(again, name, "19")) == render(explain(plan, name, "19"))


@pytest.mark.parametrize(("name", "hint"), [
    ("max_concurency", "did you mean 'max_concurrency'?"),
    ("kv_read_total_part1", "did you mean 'kv_read_total'?"),
    ("zz", "metrics are "),
])  # fmt: skip
def test_unknown_name_is_refused(plan: Plan, name: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        explain(plan, name)
    (problem,) = caught.value.problems
    assert problem.hint.startswith(hint)


def test_unknown_case_is_refused(plan: Plan) -> None:
    with pytest.raises(InputError, match="a number from 1 to 30, found '31'"):
        explain(plan, "verdict", "31")


@pytest.mark.parametrize(("value", "unit", "text"), [
    (147456.0, "byte/token", "147,456 byte/token"),
    (84932978278.4, "byte/gpu", "84,932,978,278.4 byte/gpu"),
    (1 / 3, "s", "0.333333333333 s"),
    (128.0, "1/token", "128/token"),
    (0.9, "1", "0.9"),
    (-20472427069.0, "byte/gpu", "-20,472,427,069 byte/gpu"),
    (1e300, "byte", "1e+300 byte"),
    (None, "byte", "unknown"),
    (True, "1", "true"),
    ("does not fit", "1", "does not fit"),
])  # fmt: skip
def test_exact_values(value: float | str | None, unit: str, text: str) -> None:
    assert exact(value, unit) == text


def test_display_values_as_tables_show_them(plan: Plan) -> None:
    assert display(explain(plan, "kv_per_request", depth=0)) == "2.25 GiB/request"
    assert display(explain(plan, "read_to_stored", depth=0)) == "967x"
    assert display(explain(plan, "max_concurrency", depth=0)) == "23 request"
    assert display(explain(plan, "verdict", depth=0)) == "does not fit"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_keeps_to_the_width(plan: Plan, width: int) -> None:
    for line in render(explain(plan, "binding"), width).splitlines():
        words = line.split()
        longest = max((display_width(word) for word in words), default=0)
        assert display_width(line) <= width or longest > width // 2, line


def test_text_keeps_a_number_with_its_unit() -> None:
    lines = list(wrapped("a = 1,000 byte/token × 2 byte or 3 else 4", 14, "  "))
    assert lines == ["a =", "  1,000 byte/token", "  × 2 byte or", "  3 else 4"]


def test_json_holds_base_and_display(plan: Plan) -> None:
    data = explain(plan, "kv_per_request", depth=0).as_dict()
    assert (data["value"], data["unit"]) == (2415919104.0, "byte/request")
    assert data["display"] == {"value": 2.25, "unit": "GiB/request"}
    assert data["cut"] is True
