"""Sets of variants that replace several inputs: declared, planned, saved, shown, live in cells."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.plans import small
from support.recalc import differences, recalculate_formualizer, recalculate_libreoffice
from support.workbook import FIRST, Made, edited, engine_plan, make, places, shipped, write_yaml

from planner import saved
from planner.errors import InputError
from planner.explain import explain
from planner.metrics import MetricSet
from planner.planning import Plan
from reports.text import csv, render
from reports.text_markdown import markdown
from reports.view import view_of

NAME = "what-would-fit"

PAIRS = {
    "label": "Pairs", "table": "user", "replaces": ["tp", "context"], "meaning": "Two at a time",
    "default": [[1, 4096], [2, "own"], ["own", 65536]], "shows": ["max_concurrency"],
}  # fmt: skip


def with_pairs(folder: Path, *settings: str, **changed: Any) -> Plan:
    path = write_yaml(folder / "pairs.yaml", {"variants": {"pairs": {**PAIRS, **changed}}})
    return engine_plan("example", "models=[qwen3-8b]", "gpus=[h100-sxm]", *settings, metrics=[path])


def concurrency(plan: Plan, name: str = "pairs") -> list[list[float]]:
    child = plan.columns.variants(name)["max_concurrency"]
    return [row.tolist() for row in np.asarray(child).reshape(-1, len(plan.cases))]


# ---- declared and planned ------------------------------------------------------------------------


def test_each_rung_gives_each_input_its_value(tmp_path: Path) -> None:
    """Against plans with both settings; a rung may keep the case's own of either."""
    found = concurrency(with_pairs(tmp_path, default=[[1, 12288], [2, "own"], ["own", 32768]]))
    for rung, (tp, context) in enumerate(((1, 12288), (2, 16384), (1, 32768))):
        other = engine_plan(
            "example", "models=[qwen3-8b]", "gpus=[h100-sxm]", f"tp={tp}",
            f"contexts={context} tokens",
        )  # fmt: skip
        wanted = [other.value("max_concurrency", i) for i in range(len(other.cases))]
        assert found[rung] == wanted
    assert len({row[0] for row in found}) == 3


def test_a_plain_list_is_the_same_value_for_every_input(tmp_path: Path) -> None:
    both = ["kv_key_bytes", "kv_value_bytes"]
    plan = with_pairs(tmp_path, replaces=both, default=[2, 1])
    pairs = with_pairs(tmp_path, replaces=both, default=[[2, 2], [1, 1]])
    assert concurrency(plan) == concurrency(pairs)
    assert plan.inputs.ladders["pairs"] == ((2.0, 2.0), (1.0, 1.0))
    fp8 = engine_plan("example", "models=[qwen3-8b]", "gpus=[h100-sxm]",
                      "precisions=[{weights: bf16, kv: fp8, compute: bf16}]")  # fmt: skip
    assert concurrency(plan)[1] == [fp8.value("max_concurrency")] * 2


def test_one_input_stays_as_simple_as_it_was(tmp_path: Path) -> None:
    plan = with_pairs(tmp_path, replaces="batch", default=[8, 16])
    assert plan.inputs.ladders["pairs"] == (8.0, 16.0)
    document = saved.document(plan)
    assert document["version"] == 1
    assert document["declarations"]["variants"]["pairs"]["replaces"] == "batch"
    assert document["ladders"]["pairs"] == [8, 16]


def test_an_input_may_follow_from_a_metric(tmp_path: Path) -> None:
    metrics = {
        "variants": {
            "lengths": {
                "label": "Lengths", "table": "user", "replaces": "prompt_tokens", "meaning": "M",
                "default": [1000, 3000], "follows": {"context": "own_length"},
                "shows": ["kv_per_request"],
            }
        },
        "metrics": {
            "own_length": {
                "label": "Length", "unit": "token/request", "why": "W", "source": {"title": "S"},
                "formula": "prompt_tokens + output_tokens",
            },
            "own_mean": {
                "label": "Mean", "unit": "byte/request", "why": "W", "source": {"title": "S"},
                "formula": "sum_over(lengths, kv_per_request) / count_over(lengths, tp > 0)",
            },
        },
    }  # fmt: skip
    path = write_yaml(tmp_path / "lengths.yaml", metrics)
    plan = engine_plan("example", "models=[qwen3-8b]", "gpus=[h100-sxm]", metrics=[path])
    for case, output in ((0, 1025), (1, 2048)):
        mean = ((1000 + output) + (3000 + output)) / 2 * 147456
        assert plan.value("own_mean", case) == mean
    # Rows that only the followed input tells apart stay apart.
    section = next(s for s in view_of(plan).sections if s.name == "user")
    assert [len(grid.rows) for ladder in section.ladders for grid in ladder.grids] == [2]
    made = make(plan, bare=True)
    assert differences(made.stored, recalculate_formualizer(made.path)) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"default": [[1, 2, 3]]}, "default[0]: expected one value, or 2 as under replaces"),
        ({"default": []}, "default: expected at least 1 entry"),
        ({"default": [["mine", 2]]}, "default"),
        ({"names": ["one"]}, "names: expected 3 names, as many as rungs, found 1"),
        ({"replaces": ["tp", "tp"]}, "replaces: expected each input once, found 'tp' again"),
        ({"replaces": ["tp", "verdict"]}, "replaces[1]: expected an input, found 'verdict'"),
        ({"replaces": ["tp", "compute_dtype"]}, "replaces[1]: expected an input with one number"),
        ({"replaces": ["tp", "stage_index"]}, "replaces[1]: expected an input with one number"),
        ({"follows": {"batch": "nothing"}}, "follows.batch: expected a metric, found 'nothing'"),
        ({"follows": {"batch": "kv_pool"}}, "follows.batch: expected a metric that gives a number"),
        ({"follows": {"context": "context_start"}}, "an input that is not replaced"),
        ({"follows": {"batch": "max_concurrency"}, "replaces": ["tp", "dp"]}, ""),
        ({"follows": {"verdict": "batch"}}, "follows.verdict: expected an input"),
        ({"replaces": ["tp", "dp"], "follows": {"context": "longest_context"}},
         "follows.context: expected a metric that does not need context"),
    ],
)  # fmt: skip
def test_wrong_sets_are_refused_with_their_place(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    path = write_yaml(tmp_path / "own.yaml", {"variants": {"pairs": {**PAIRS, **change}}})
    if not words:
        assert "pairs" in MetricSet.load([path]).variants
        return
    with pytest.raises(InputError) as caught:
        MetricSet.load([path])
    assert words in str(caught.value)


# ---- saved ---------------------------------------------------------------------------------------


@cache
def fitting() -> Plan:
    return engine_plan(NAME)


def test_a_saved_plan_has_its_rungs_names_and_answers() -> None:
    plan = fitting()
    text = saved.dumps(saved.document(plan))
    again = saved.loads(text, "fit.plan.json")
    assert saved.dumps(saved.document(again)) == text
    assert again.inputs.rungs == plan.inputs.rungs
    assert again.inputs.rungs["kv_width_ladder"] == ("16 bit", "FP8")
    for name in again.metrics.variants:
        mine, theirs = plan.columns.variants(name), again.columns.variants(name)
        for shown in again.metrics.variants[name].shows:
            assert np.array_equal(mine[shown], theirs[shown], equal_nan=True), (name, shown)


def test_a_rung_that_keeps_the_cases_own_is_saved_as_nothing(tmp_path: Path) -> None:
    plan = with_pairs(tmp_path)
    document = saved.document(plan)
    assert document["ladders"]["pairs"] == [[1, 4096], [2, None], [None, 65536]]
    again = saved.loads(saved.dumps(document), "x.plan.json")
    assert math.isnan(again.inputs.ladders["pairs"][1][1])  # type: ignore[index]
    assert concurrency(again) == concurrency(plan)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ladders", [[1, 2], [1]]),
        ("ladders", [[1, 2, 3]]),
        ("ladders", "many"),
        ("ladders", [["one", "two"]]),
        ("rungs", ["one"]),
    ],
)
def test_damaged_rungs_are_refused_in_one_message(tmp_path: Path, key: str, value: Any) -> None:
    document = json.loads(saved.dumps(saved.document(with_pairs(tmp_path))))
    document.setdefault(key, {})["pairs"] = value
    with pytest.raises(InputError) as caught:
        saved.loads(json.dumps(document), "bad.plan.json")
    assert str(caught.value).startswith("bad.plan.json: expected a complete saved plan")
    assert len(caught.value.problems) == 1


# ---- shown ---------------------------------------------------------------------------------------


def test_names_stand_for_numbers_where_people_read() -> None:
    view = view_of(fitting())
    section = next(s for s in view.sections if s.name == "what_if")
    heads = {ladder.name: [c.label for c in ladder.grids[0].columns] for ladder in section.ladders}
    assert heads == {
        "kv_width_ladder": ["16 bit", "FP8"], "length_mix": ["chat", "documents"],
        "tokens_ladder": ["2,048", "8,192"], "tp_ladder": ["1", "2", "4", "8"],
        "weight_width_ladder": ["16 bit", "FP8", "FP4"],
    }  # fmt: skip
    text = render(view, 100, ["what_if"])
    assert "by rung of the KV width ladder" in text and "by tensor parallel (GPUs)" in text
    assert "by rung of the Weight width ladder" in markdown(view)
    told = {a.name: a.text for a in view.assumptions}
    assert (
        told["length_mix"] == "chat: 1,500 / 500 / 0 / 0.700; documents: 6,000 / 1,000 / 0 / 0.300"
    )
    assert told["tp_ladder"] == "1; 2; 4; 8"


def test_csv_has_a_column_for_each_replaced_input() -> None:
    lines = [
        line.split(",") for line in csv(view_of(fitting()), "weight_width_ladder").splitlines()
    ]
    rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:4]]
    assert [row["rung"] for row in rows] == ["16 bit", "FP8", "FP4"]
    linear = [row["weight_linear_bytes_at_rung_byte_per_param"] for row in rows]
    assert linear == [row["weight_expert_bytes_at_rung_byte_per_param"] for row in rows]
    assert linear == ["2", "1", "0.5625"]


def test_data_frames_have_one_too(tmp_path: Path) -> None:
    frame = fitting().table("length_mix")
    assert frame["rung"].tolist()[:2] == ["chat", "documents"]
    assert frame["mix_share"].tolist()[:2] == [0.7, 0.3]
    own = with_pairs(tmp_path).table("pairs")
    assert own["context_token_per_request"].tolist()[:3] == [4096.0, 16384.0, 65536.0]
    assert own["tp_gpu"].tolist()[:3] == [1.0, 2.0, 1.0]


def test_a_size_that_makes_no_sense_is_a_dash() -> None:
    plan = engine_plan(NAME, "models=[qwen2.5-7b]", "gpus=[h100-sxm]", "tp=[1]")
    section = next(s for s in view_of(plan).sections if s.name == "what_if")
    ladder = next(one for one in section.ladders if one.name == "tp_ladder")
    texts = [column.text(0) for column in ladder.grids[0].columns]
    assert texts[3] == "–" or texts[3] == "—"
    assert "does not suit" in ladder.grids[0].note


def test_old_sets_are_explained_as_before(tmp_path: Path) -> None:
    plan, _ = small(tmp_path)
    text = str(explain(plan, "longest_context").operands)
    assert "context 8,192 token/request" in text


# ---- live in cells -------------------------------------------------------------------------------


@cache
def book() -> Made:
    return shipped(NAME)


def recalculated(changes: dict[str, Any]) -> Any:
    made = book()
    return recalculate_formualizer(edited(made, {made.named(n): v for n, v in changes.items()}))


def told(found: Any, metric: str) -> list[Any]:
    return [found[row[0]] for row in places(book())[metric]]


def engine(metric: str, *settings: str) -> list[Any]:
    plan = engine_plan(NAME, *settings)
    return [plan.value(metric, i) for i in range(len(plan.cases))]


def test_the_answers_of_the_book_are_the_engines_in_libreoffice() -> None:
    made = book()
    assert differences(made.stored, recalculate_libreoffice(made.path)) == []


def test_every_rung_has_a_named_cell_for_each_input() -> None:
    made = book()
    for name, wanted in {
        "in_tp_ladder_3": 4.0, "in_kv_width_ladder_2_kv_key_bytes": 1.0,
        "in_weight_width_ladder_3_weight_expert_bytes": 0.5625,
        "in_length_mix_1_mix_share": 0.7, "in_length_mix_2_prompt_tokens": 6000.0,
    }.items():  # fmt: skip
        assert made.values[made.named(name)] == wanted


def test_an_edited_rung_changes_the_answer() -> None:
    """The one size that fits becomes 3; the width of the cache a quarter; the answer follows."""
    assert told(book().stored, "smallest_change") == engine("smallest_change")
    found = recalculated({"in_tp_ladder_1": 8.0, "in_tp_ladder_2": 8.0, "in_tp_ladder_3": 8.0})
    sizes = told(found, "smallest_tp")
    assert set(sizes) == {8.0} != set(told(book().stored, "smallest_tp"))
    # Without an FP8 rung there is no such answer: the next change in the order stands.
    found = recalculated(
        {"in_kv_width_ladder_2_kv_key_bytes": 2.0, "in_kv_width_ladder_2_kv_value_bytes": 2.0}
    )
    changes = told(found, "smallest_change")
    assert "FP8 KV" in told(book().stored, "smallest_change") and "FP8 KV" not in changes
    assert all(str(v).startswith("#N/A") for v in told(found, "fp8_concurrency"))


def test_an_edited_mix_is_the_mix_of_another_scenario() -> None:
    edits = {
        "in_length_mix_1_mix_share": 0.5, "in_length_mix_2_mix_share": 0.5,
        "in_length_mix_1_prompt_tokens": 2500.0, "in_shared_prefix": 2000.0,
    }  # fmt: skip
    found = recalculated(edits)
    settings = (
        "mix=[{name: chat, share: 0.5, prompt: 2500 tokens, output: 500 tokens}, "
        "{name: documents, share: 0.5, prompt: 6000 tokens, output: 1000 tokens}]",
        "shared_prefix=2000 tokens",
    )
    for metric in ("mix_concurrency", "prefix_concurrency"):
        cells = [None if str(v).startswith("#") else v for v in told(found, metric)]
        assert cells == engine(metric, *settings), metric
        assert cells != engine(metric)


def test_headings_are_names_until_a_rung_is_edited() -> None:
    made = book()
    sheet = "KV width ladder"
    heads = {a: v for (s, a), v in made.values.items() if s == sheet and a.endswith("6")}
    assert [v for v in heads.values() if v in ("16 bit", "FP8")] == ["16 bit", "FP8"] * 2
    found = recalculated({"in_kv_width_ladder_2_kv_value_bytes": 0.5})
    changed = [found.get((sheet, a)) for a, v in heads.items() if v == "FP8"]
    assert changed == [1.0, 1.0]


def test_own_values_are_live_in_a_book(tmp_path: Path) -> None:
    made = make(with_pairs(tmp_path), bare=True)
    assert made.values[made.named("in_pairs_2_context")] == "own"
    assert differences(made.stored, recalculate_formualizer(made.path)) == []
    changes = {made.named("in_pairs_2_context"): 4096.0, made.named("in_pairs_1_tp"): 2.0}
    found = recalculate_formualizer(edited(made, changes))
    letters = made.headings("Pairs workings")["Max concurrency"]
    count = len(made.plan.cases)
    first, second = (found["Pairs workings", f"{letters}{FIRST + k * count}"] for k in (0, 1))
    assert first == second
