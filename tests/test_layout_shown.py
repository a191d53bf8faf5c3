"""What people see of pipeline stages and layouts: explanations, view, tables, workbook."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.layouts import planned, stages
from support.recalc import differences, recalculate_formualizer
from support.workbook import make

from planner.explain import explain
from planner.planning import Plan
from reports.text_explain import render
from reports.view import view_of


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = tmp_path_factory.mktemp("layouts")
    sizes = ("tp: 8", "tp: 8, pp: 2", "tp: 4, pp: 3, dp: 2, ep: 8", "tp: 8, pp: 2, dcp: 2")
    return planned(folder, "deepseek-v3, gemma-3-27b, qwen3-next-80b", *sizes)


def test_an_explanation_has_a_line_for_each_stage(shown: Plan) -> None:
    case = next(i for i, c in enumerate(shown.cases) if "gemma" in c.id and "pp2" in c.id)
    tree = explain(shown, "stage_concurrency", case)
    assert [row.label for row in tree.rows] == ["stage 1", "stage 2"]
    assert [row.value for row in tree.rows] == stages(shown, "stage_concurrency", case)
    assert all("floordiv(" in row.numbers for row in tree.rows)
    group = explain(shown, "stage_group_layers", case)
    assert [row.label for row in group.rows] == [
        "stage 1, group 1, sliding window", "stage 1, group 2, full attention",
        "stage 2, group 1, sliding window", "stage 2, group 2, full attention",
    ]  # fmt: skip
    assert [row.value for row in group.rows] == [26, 5, 26, 5]
    least = explain(shown, "rank_concurrency", case)
    first, second = (f"{int(v):,}" for v in stages(shown, "stage_concurrency", case))
    assert least.numbers == f"min_of([{first}; {second}] request)"


def test_everything_of_every_layout_can_be_explained(shown: Plan) -> None:
    names = [n for n, m in shown.metrics.metrics.items() if not m.part_of]
    for name in [*names, *shown.metrics.fields]:
        for case in (0, 1, len(shown.cases) - 1):
            assert render(explain(shown, name, case)).startswith(name)


def test_the_view_has_a_row_for_each_stage(shown: Plan) -> None:
    view = view_of(shown)
    (section,) = [one for one in view.sections if one.name == "layout"]
    (table,) = section.tables
    assert table.extra_labels == ("Stage",)
    weights = next(c for c in table.all_columns() if c.name == "stage_weights")
    for case in range(len(shown.cases)):
        rows = [number for number, row in enumerate(table.rows) if case in row.cases]
        assert [table.rows[n].extra[0] for n in rows] == [str(k + 1) for k in range(len(rows))]
        found = [float(weights.values[n] or 0) * 2**30 for n in rows]
        assert found == pytest.approx(stages(shown, "stage_weights", case))
    held = next(c for c in table.all_columns() if c.name == "stage_concurrency")
    alone = next(n for n, row in enumerate(table.rows) if 0 in row.cases)
    assert alone in held.absent
    assert view.cases[1].parts[1] == "TP8 PP2"
    assert dict(view.cases[1].details)["Layout"] == "TP 8 · PP 2"


def test_sizes_of_1_are_not_said(tmp_path: Path) -> None:
    view = view_of(planned(tmp_path, "qwen3-8b", "tp: 1", "tp: 2"))
    labels = {label for label, _ in view.cases[0].details} | {a.label for a in view.assumptions}
    assert "Tensor parallel" in labels
    assert not labels & {"Layout", "Pipeline stages", "Data-parallel ranks", "Context parallel"}
    columns = {c.name for s in view.sections for t in s.tables for c in t.all_columns()}
    assert "stage_weights" in columns
    assert not columns & {"stage_concurrency", "binding_stage", "rank_batch"}
    worked = {term.name: term.worked for term in view.glossary}
    assert "× 1 " not in worked["b_star_kv"]


def test_tables_for_notebooks_have_a_row_for_each_stage(shown: Plan) -> None:
    frame = shown.table("layout")
    case = shown.cases[1]
    assert frame.loc[case.id].index.tolist() == [1, 2]
    assert frame.loc[case.id]["stage_layers"].tolist() == stages(shown, "stage_layers", 1)
    groups = shown.table("stage_groups")
    assert groups.loc[case.id].index.names == ["stage", "group"]
    assert groups.loc[case.id]["stage_group_layers"].tolist() == stages(shown, "stage_layers", 1)


def test_the_workbook_calculates_what_the_engine_says(shown: Plan) -> None:
    made = make(shown)
    found = recalculate_formualizer(made.path)
    assert len(made.formulas) > 1000
    assert differences(made.stored, found) == []
