"""A saved plan is the plan: same bytes after a round trip, own formulas, refused when damaged."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.tools import REPOSITORY

import planner
from planner.errors import InputError
from planner.expr.check import PLAN
from planner.metrics import MetricSet
from planner.planning import Plan, compute
from planner.saved import FORMAT, digest, document, dumps, load, loads

EXAMPLE = REPOSITORY / "catalogs" / "scenarios" / "example.yaml"
OWN = """\
metrics:
  spare_share: {label: Spare share, unit: "%", better: up, why: W, source: {title: T},
    formula: memory_spare / memory_left}
  kv_per_token: {label: KV per token, unit: byte/token, why: W, source: {title: T},
    replaces: kv_per_token, because: "twice, for the test", formula: 2 * sum_of(group_kv_per_token)}
"""


@cache
def example() -> Plan:
    return planner.plan(EXAMPLE)


@cache
def text() -> str:
    return dumps(document(example()))


@pytest.fixture
def own(tmp_path: Path) -> Plan:
    """The example with one metric more and one replaced, on a card of which little is known."""
    path = tmp_path / "own.yaml"
    path.write_text(OWN, encoding="utf-8")
    return planner.plan(EXAMPLE, metrics=[path])


def without_bandwidth(plan: Plan) -> Plan:
    """The same plan with the bandwidth of every GPU unknown."""
    facts = {
        (kind, word): {
            name: type(f)(None, f.unit, f.source, f.confidence, f.note, f.span)
            if name == "memory_bandwidth"
            else f
            for name, f in entry.items()
        }
        for (kind, word), entry in plan.inputs.facts.items()
    }
    inputs = type(plan.inputs)(**{**vars(plan.inputs), "facts": facts})
    return compute(inputs, plan.metrics)


# ---- round trip ---------------------------------------------------------------------------------


def test_saved_loaded_and_saved_again_is_the_same_text() -> None:
    assert dumps(document(loads(text(), "example"))) == text()


def test_own_metrics_and_unknown_values_survive_the_round_trip(own: Plan) -> None:
    plan = without_bandwidth(own)
    saved = dumps(document(plan))
    again = loads(saved, "own")
    assert dumps(document(again)) == saved
    assert again.value("time_weights") is None
    assert again.value("spare_share") == plan.value("spare_share")
    assert again.metrics.replaced == {"kv_per_token": ("own.yaml", "twice, for the test")}
    assert again.metrics.metrics["spare_share"].origin == "own.yaml"


def test_every_value_input_and_word_is_there_again() -> None:
    again = loads(text(), "example")
    assert again.cases == example().cases
    np.testing.assert_equal(dict(again.inputs.plan), dict(example().inputs.plan))
    assert again.inputs.origins == example().inputs.origins
    assert again.inputs.sources == example().inputs.sources
    for name, metric in example().metrics.metrics.items():
        if metric.variant:
            continue
        before, after = example().columns[name], again.columns[name]
        np.testing.assert_array_equal(before, after, err_msg=name)
        assert (before.dtype, before.shape) == (after.dtype, after.shape), name
        if metric.type.grain != PLAN:
            assert again.value(name, 3) == example().value(name, 3)


def test_variants_of_a_loaded_plan_are_computed_by_its_own_formulas() -> None:
    again = loads(text(), "example")
    for name in again.metrics.variants:
        mine, theirs = example().columns.variants(name), again.columns.variants(name)
        for shown in again.metrics.variants[name].shows:
            np.testing.assert_array_equal(mine[shown], theirs[shown], err_msg=shown)


def test_a_loaded_plan_keeps_the_values_and_formulas_that_it_was_saved_with() -> None:
    # Years later the built-in formula may be another one: the saved plan shows its own.
    doc = json.loads(text())
    doc["declarations"]["metrics"]["concurrency_per_gpu"]["formula"] = "2 * max_concurrency / tp"
    doc["values"]["concurrency_per_gpu"] = [7] * len(doc["cases"])
    again = loads(json.dumps(doc), "old")
    assert again.value("concurrency_per_gpu") == 7
    assert again.metrics.metrics["concurrency_per_gpu"].text == "2 * max_concurrency / tp"
    built_in = MetricSet.load().metrics["concurrency_per_gpu"].text
    assert built_in == "max_concurrency / gpus_per_replica"


def test_a_plan_is_loaded_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "example.plan.json"
    path.write_text(text(), encoding="utf-8")
    assert load(path).name == "example"
    assert load(str(path)).title == example().title


# ---- the text -----------------------------------------------------------------------------------


def test_the_text_is_plain_json_with_a_line_for_each_entry() -> None:
    doc = json.loads(text())
    assert (doc["format"], doc["version"]) == (FORMAT, 1)
    assert text().endswith("}\n")
    assert "NaN" not in text()
    assert "Infinity" not in text()
    lines = text().split("\n")
    # Its unit and its values.
    assert sum(line.startswith('  "kv_per_request":') for line in lines) == 2
    assert str(REPOSITORY) not in text()


def test_whole_numbers_are_written_without_a_point_and_unknown_as_null(own: Plan) -> None:
    doc = json.loads(dumps(document(without_bandwidth(own))))
    assert '"kv_per_token": [147456,147456,' in text()
    assert set(doc["values"]["time_weights"]) == {None}
    assert doc["values"]["verdict"][0] in ("fits", "does not fit")
    assert doc["values"]["ledgers_add_up"] is True


def test_hashes_tell_inputs_formulas_and_values_apart(own: Plan) -> None:
    base = document(example())["hashes"]
    assert all(len(value) == 12 for value in base.values())
    batch = document(planner.plan(EXAMPLE, settings=["batches=[16]"]))["hashes"]
    assert batch["formulas"] == base["formulas"]
    assert batch["catalog"] == base["catalog"]
    assert batch["inputs"] != base["inputs"]
    assert batch["values"] != base["values"]
    changed = document(own)["hashes"]
    assert changed["inputs"] == base["inputs"]
    assert changed["formulas"] != base["formulas"]


def test_a_digest_does_not_depend_on_the_order_of_keys_or_on_whole_floats() -> None:
    assert digest({"a": 1, "b": [2.0]}) == digest({"b": [2], "a": 1.0})
    assert digest({"a": 1}) != digest({"a": 1.5})


# ---- damage -------------------------------------------------------------------------------------


def refused(damaged: str) -> str:
    with pytest.raises(InputError) as caught:
        loads(damaged, "bad.plan.json")
    [one] = caught.value.problems
    return str(one).split("\n")[0]


def edited(change: Callable[[dict[str, Any]], Any]) -> str:
    doc = copy.deepcopy(json.loads(text()))
    change(doc)
    return json.dumps(doc)


@pytest.mark.parametrize(
    ("damaged", "expected"),
    [
        ("", "a saved plan (JSON)"),
        ("{", "a saved plan (JSON)"),
        ("[]", "'capsheet plan', found another document"),
        ("{}", "'capsheet plan', found another document"),
        ('{"format": "capsheet plan", "version": 99}', "expected 1, found 99"),
        ('{"format": "capsheet plan", "version": 1}', "a complete saved plan"),
        ("[" * 100_000, "a saved plan (JSON)"),
        ('{"a": NaN}', "a saved plan (JSON)"),
    ],
)
def test_what_is_no_saved_plan_is_told_so(damaged: str, expected: str) -> None:
    assert expected in refused(damaged)


def _drop(*path: str) -> Callable[[dict[str, Any]], Any]:
    def change(doc: dict[str, Any]) -> None:
        for key in path[:-1]:
            doc = doc[key]
        del doc[path[-1]]

    return change


def _put(value: Any, *path: Any) -> Callable[[dict[str, Any]], Any]:
    def change(doc: Any) -> None:
        for key in path[:-1]:
            doc = doc[key]
        doc[path[-1]] = value

    return change


PARTS = [
    "scenario", "cases", "facts", "groups", "declarations", "values", "assumptions", "ladders",
    "origins", "labels", "sources",
]  # fmt: skip


@pytest.mark.parametrize("key", PARTS)
def test_a_plan_without_one_of_its_parts_is_refused(key: str) -> None:
    assert f"a complete saved plan, found no key '{key}'" in refused(edited(_drop(key)))


@pytest.mark.parametrize(
    "change",
    [
        _put([1, 2], "values", "kv_per_token"),
        _put("many", "values", "kv_per_token"),
        _put(["maybe"] * 30, "values", "verdict"),
        _put([], "cases"),
        _put({}, "cases", 0),
        _put("../../etc", "scenario", "name"),
        _put("<script>", "scenario", "as_of"),
        _put(3, "scenario", "title"),
        _put("__import__('os')", "declarations", "metrics", "kv_per_token", "formula"),
        _put("9**9**9", "declarations", "metrics", "kv_per_token", "formula"),
        _put("gigs", "declarations", "metrics", "kv_per_token", "unit"),
        _put({}, "declarations", "fields"),
        _put(None, "declarations"),
        _put("x", "facts"),
        _put({"nothing": [1]}, "values"),
    ],
)
def test_a_damaged_plan_is_refused_with_a_reason_and_no_crash(
    change: Callable[[dict[str, Any]], Any],
) -> None:
    assert "bad.plan.json" in _first(edited(change))


def _first(damaged: str) -> str:
    with pytest.raises(InputError) as caught:
        loads(damaged, "bad.plan.json")
    return str(caught.value).split("\n")[0]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.plan.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="no utf-8 text"):
        load(path)
    with pytest.raises(InputError, match="a readable file"):
        load(tmp_path / "none.plan.json")
