"""A person types over inputs of the workbook: recalculated, it says what the engine says."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.recalc import differences, recalculate_formualizer, recalculate_libreoffice
from support.workbook import (
    FIRST,
    PICKS,
    Made,
    Place,
    catalog,
    edited,
    engine_plan,
    few,
    make,
    other_cases,
    shipped,
    write_yaml,
)
from support.xlsx import Cells, Value, position

import planner
from planner.catalog import Catalog
from planner.planning import Plan

HEADINGS = {"model": "Model", "gpu": "GPU", "weight_format": "Weights", "kv_format": "KV cache"}
COMPARED = {"Results", "Summary", "Cases", "Group workings", "Access", "Thresholds",
            "Context ladder", "Context ladder workings", "Check workings", "Checks"}  # fmt: skip
GIB = 2.0**30


_SMALL = "gpus=[h100-sxm]"


@functools.cache
def small() -> Made:
    """The example on one card: ten cases, two of each model."""
    return make(engine_plan("example", _SMALL), offers=few())


@functools.cache
def about_changes(made: Made) -> set[Place]:
    """The cells that say whether something was changed since issue: other after an edit."""
    found = set()
    for sheet in ("Inputs", "Cases"):
        letters = made.headings(sheet)["Changed since issue"]
        found |= {p for p in made.formulas
                  if p[0] == sheet and p[1].startswith(letters)
                  and p[1][len(letters):].isdigit()}  # fmt: skip
    for label in ("Inputs changed since issue", "Cases changed since issue"):
        row = made.row_of("Checks", label)
        found |= {("Checks", f"C{row}"), ("Checks", f"E{row}")}
    return found


def chart_rows(made: Made) -> set[Place]:
    """Cells under the chart of the summary: it draws the cases that were chosen at issue."""
    last = made.row_of("Summary", "Cases differ: batch")
    return {p for p in made.formulas if p[0] == "Summary" and position(p[1])[0] > last}


def compare(
    made: Made,
    changes: Mapping[Place, Value],
    plan: Plan,
    engine: str = "",
    offers: Catalog | None = None,
) -> Cells:
    """The edited book recalculated, after every formula was held against the engine's new book."""
    calculate = recalculate_libreoffice if engine == "libreoffice" else recalculate_formualizer
    found = calculate(edited(made, changes))
    wanted = make(plan, offers=offers or few())
    chart = {p for book in (made, wanted) for p in chart_rows(book)}
    assert wanted.formulas.keys() - chart == made.formulas.keys() - chart
    expected = {p: v for p, v in wanted.stored.items() if p not in about_changes(made) | chart}
    assert {sheet for sheet, _ in expected} >= COMPARED
    assert differences(expected, found) == []
    moved = [p for p, v in expected.items() if v != made.stored[p]]
    assert moved, "the change changes nothing, so this proves nothing"
    return found


def changed_rows(made: Made, found: Cells, sheet: str) -> list[int]:
    """Rows (from 0) whose 'changed since issue' says so."""
    cells = [place for place in about_changes(made) if place[0] == sheet and found[place] is True]
    return sorted(position(ref)[0] - FIRST for _, ref in cells)


def check_lights(made: Made, found: Cells, inputs: int, cases: int) -> None:
    """The counts of changes, integrity as before, no red light."""
    for label, count in (("Inputs changed since issue", inputs),
                         ("Cases changed since issue", cases)):  # fmt: skip
        row = made.row_of("Checks", label)
        assert found["Checks", f"C{row}"] == count
        assert found["Checks", f"E{row}"] == ("changed" if count else "as issued")
    assert found[made.named("chk_all")] is True
    assert "wrong" not in {v for (sheet, _), v in found.items() if sheet == "Checks"}
    assert "all integrity checks hold" in {v for (sheet, _), v in found.items() if sheet == "Cover"}


# ---- assumptions and ladders, found by their names --------------------------------------------

INPUT_EDITS: dict[str, tuple[dict[str, Value], tuple[str, ...]]] = {
    "utilisation": ({"in_memory_utilization": 0.85}, ("memory_utilization=0.85",)),
    "a rung": (
        {"in_context_ladder_3": 12288.0},
        ("context_ladder=[2048 tokens, 4096 tokens, 12288 tokens, 16384 tokens, 32768 tokens, "
         "65536 tokens, 131072 tokens]",),
    ),
    "all at once": (
        {"in_memory_utilization": 0.93, "in_overhead": 2.5 * GIB, "in_reserve": 0.05,
         "in_context_ladder_1": 1000.0},
        ("memory_utilization=0.93", "overhead=2.5 GiB", "reserve=0.05",
         "context_ladder=[1000 tokens, 4096 tokens, 8192 tokens, 16384 tokens, 32768 tokens, "
         "65536 tokens, 131072 tokens]"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("edit", INPUT_EDITS)
def test_a_changed_assumption_gives_what_the_engine_gives(edit: str) -> None:
    names, settings = INPUT_EDITS[edit]
    made = small()
    changes = {made.named(name): value for name, value in names.items()}
    found = compare(made, changes, engine_plan("example", _SMALL, *settings))
    rows = sorted(position(ref)[0] - FIRST for _, ref in changes)
    assert changed_rows(made, found, "Inputs") == rows
    check_lights(made, found, len(changes), 0)


def test_a_changed_assumption_in_libreoffice() -> None:
    names, settings = INPUT_EDITS["all at once"]
    made = small()
    changes = {made.named(name): value for name, value in names.items()}
    found = compare(made, changes, engine_plan("example", _SMALL, *settings), "libreoffice")
    check_lights(made, found, len(changes), 0)


def test_the_engines_own_words_are_live() -> None:
    """Another memory basis and block size: facts of the engine entry stand on Inputs, too."""
    made = small()
    changes: dict[Place, Value] = {
        made.named("in_engine_memory_basis"): "marketed",
        made.named("in_engine_block_size"): 256.0,
    }
    found = recalculate_formualizer(edited(made, changes))
    plan = made.plan
    for case, marketed in enumerate(plan.column("memory_marketed")):
        assert found[made.case_cell("Memory basis, one GPU", case)] == marketed
        assert found[made.case_cell("Basis used", case)] == "marketed"
    blocks = made.headings("Group workings")["KV blocks per request [1]"]
    assert found["Group workings", f"{blocks}{FIRST}"] == 16384 / 256
    check_lights(made, found, 2, 0)


# ---- cases: inputs and drop-downs --------------------------------------------------------------


@functools.cache
def known() -> Plan:
    """A plan that names everything that the edits below choose."""
    return engine_plan(
        "example", "models=[qwen3-8b, qwen3-next-80b, deepseek-v3, gemma-3-27b]",
        "gpus=[h100-sxm, b200, mi300x, l4]",
        "precisions=[{weights: fp8, kv: fp8, compute: fp8}, {weights: int4, kv: bf16}, "
        "{weights: nvfp4, kv: nvfp4, compute: bf16}]",
    )  # fmt: skip


CASE_EDITS: dict[str, dict[int, dict[str, Any]]] = {
    "shapes": {
        0: {"batch": 23.0},
        2: {"context": 32768.0},
        4: {"tp": 8.0},
        6: {"cached_tokens": 4096.0, "prompt_tokens": 512.0, "output_tokens": 300.0},
    },
    "formats": {
        0: {"compute_dtype": "fp8"},
        1: {"compute_dtype": "int8"},
        2: {"weight_format": "int4"},
        8: {"weight_format": "nvfp4"},
        5: {"kv_format": "fp8"},
        7: {"kv_format": "nvfp4"},
    },
    "dense to hybrid": {0: {"model": "qwen3-next-80b"}},
    "windows and latents": {
        1: {"model": "gemma-3-27b"},
        9: {"model": "deepseek-v3", "tp": 8.0},
        8: {"model": "qwen3-8b"},
    },
    "cards": {0: {"gpu": "b200"}, 3: {"gpu": "mi300x"}, 6: {"gpu": "l4"}},
    "a whole new case": {
        5: {"model": "qwen3-next-80b", "gpu": "mi300x", "weight_format": "fp8",
             "kv_format": "fp8", "compute_dtype": "fp8", "tp": 4.0, "context": 65536.0,
             "cached_tokens": 20000.0, "prompt_tokens": 1000.0, "output_tokens": 800.0,
             "batch": 96.0},
    },
}  # fmt: skip


def case_changes(made: Made, edits: Mapping[int, Mapping[str, Any]]) -> dict[Place, Value]:
    fields = made.plan.metrics.fields
    return {
        made.case_cell(HEADINGS[name] if name in PICKS else fields[name].label, case): value
        for case, edit in edits.items()
        for name, value in edit.items()
    }


@pytest.mark.parametrize("edit", CASE_EDITS)
def test_a_changed_case_gives_what_the_engine_gives(edit: str) -> None:
    made, edits = small(), CASE_EDITS[edit]
    found = compare(made, case_changes(made, edits), other_cases(made.plan, edits, known()))
    assert changed_rows(made, found, "Cases") == sorted(edits)
    assert changed_rows(made, found, "Inputs") == []
    check_lights(made, found, 0, len(edits))


def test_layouts_change_within_the_stages_of_the_book(tmp_path: Path) -> None:
    """A book of one and four pipeline stages: other stages, ranks and divisions in five cases."""
    scenario = {
        "name": "layouts", "title": "layouts", "as_of": "2026-11-29", "gpus": ["h200-sxm"],
        "models": ["gemma-3-27b", "qwen3-next-80b", "deepseek-v3"], "contexts": ["16384 tokens"],
        "layouts": [{"tp": 8}, {"tp": 8, "pp": 4}], "batches": [32],
        "workloads": [{"name": "w", "prompt": "8192 tokens", "output": "1025 tokens"}],
    }  # fmt: skip
    plan = planner.plan(write_yaml(tmp_path / "layouts.yaml", scenario))
    made = make(plan, offers=few())
    edits: dict[int, dict[str, Any]] = {
        0: {"pp": 4.0}, 1: {"pp": 3.0}, 2: {"pp": 2.0, "tp": 2.0, "dp": 2.0},
        4: {"ep": 8.0, "dcp": 4.0}, 5: {"model": "gemma-3-27b", "tp": 4.0},
    }  # fmt: skip
    found = compare(made, case_changes(made, edits), other_cases(plan, edits))
    assert changed_rows(made, found, "Cases") == sorted(edits)
    check_lights(made, found, 0, len(edits))


def test_more_stages_than_the_book_has_columns_are_unknown() -> None:
    """Never a wrong number: what cannot be calculated says so, and the reason stands beside it."""
    made = small()
    found = recalculate_formualizer(edited(made, case_changes(made, {6: {"pp": 4.0}})))
    row = FIRST + 6
    results = made.headings("Results")
    for heading in ("Verdict", "Max concurrency", "Weights, one GPU", "Longest context that fits"):
        assert found["Results", f"{results[heading]}{row}"] == "unknown", heading
        assert found["Results", f"{results[heading]}{row + 1}"] != "unknown", heading
    check_lights(made, found, 0, 1)
    label = made.plan.metrics.metrics["cases_without_verdict"].label
    assert found["Checks", f"E{made.row_of('Checks', label)}"] == "attention"


def test_changed_cases_in_libreoffice() -> None:
    edits = CASE_EDITS["cards"] | CASE_EDITS["a whole new case"] | {9: {"model": "deepseek-v3"}}
    made = small()
    plan = other_cases(made.plan, edits, known())
    found = compare(made, case_changes(made, edits), plan, "libreoffice")
    check_lights(made, found, 0, len(edits))


def test_a_dense_model_becomes_a_hybrid_with_its_state() -> None:
    """By hand: 36 recurrent layers of 1,097,728 bytes, 12 layers with 2 KV heads of 256."""
    made = small()
    found = recalculate_formualizer(edited(made, case_changes(made, CASE_EDITS["dense to hybrid"])))
    assert found[made.case_cell("State per request", 0)] == 36 * 1_097_728
    assert found[made.case_cell("KV per token", 0)] == 12 * 2 * 2 * 256 * 2


def test_a_number_format_without_a_native_path_is_unknown() -> None:
    """An H100 computes no FP4: the peak and what follows are unknown, the rest stays."""
    made = small()
    found = recalculate_formualizer(edited(made, case_changes(made, {0: {"compute_dtype": "fp4"}})))
    results = made.headings("Results")
    assert found["Results", f"{results['B* compute']}{FIRST}"] == "unknown"
    assert found["Results", f"{results['B* KV reads']}{FIRST}"] == made.plan.value("b_star_kv", 0)
    check_lights(made, found, 0, 1)


def test_a_changed_catalog_figure_flows_through() -> None:
    """Half the memory on the H100 row of GPUs: what the engine says of such a card."""
    made = small()
    row = made.row_of("GPUs", "h100-sxm")
    letters = made.headings("GPUs")["Framework memory"]
    place = ("GPUs", f"{letters}{row}")
    found = recalculate_formualizer(edited(made, {place: 40 * GIB}))
    for case, entry in enumerate(made.plan.cases):
        total = found[made.case_cell("Memory basis, one GPU", case)]
        assert total == (40 * GIB if entry.gpu == "h100-sxm" else
                         made.plan.value("memory_total", case))  # fmt: skip
    assert found[made.named("chk_all")] is True


def test_a_request_beyond_its_limit_turns_integrity_red() -> None:
    """The other side: a context shorter than the request is no legitimate input."""
    made = small()
    found = recalculate_formualizer(edited(made, case_changes(made, {0: {"context": 4096.0}})))
    assert found[made.named("chk_all")] is False
    row = made.row_of("Checks", made.plan.metrics.metrics["generation_within_context"].label)
    assert found["Checks", f"E{row}"] == "wrong"


def test_scenario_with_reserve_and_other_ladder() -> None:
    """The review of finance: other names of rungs, a reserve, a batch column changed as a whole."""
    made = shipped("quarterly-review")
    cases = range(len(made.plan.cases))
    edits = {case: {"batch": 40.0} for case in cases if made.plan.cases[case].inputs["batch"] == 64}
    changes = case_changes(made, edits) | {made.named("in_reserve"): 0.2}
    plan = engine_plan("quarterly-review", "batches=[24, 40]", "reserve=0.2")
    found = compare(made, changes, plan, offers=catalog())
    check_lights(made, found, 1, len(edits))
