"""What a view says: figures, units, words, order, sources, and what it must never say."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from support.command import SMALL
from support.golden import Golden
from support.plans import (
    HOSTILE,
    OWN_METRICS,
    answering,
    columns,
    example,
    figure,
    hostile,
    outline,
    said,
    small,
    tables,
)

from planner import saved
from planner.facts import NO_DRAFT
from planner.planning import Plan
from reports.numbers import NOT_APPLICABLE, UNKNOWN
from reports.view import View, view_of
from reports.view_layout import APPLIES_NOT, LAYOUT, LEFT_OUT, STEPS, SUMMARY
from reports.view_units import clean

LONG, SHORT = 0, 1  # Qwen3-8B on an H100, long and short prompt


# ---- figures that are derived by hand ----------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "case", "text"),
    [
        ("kv_per_token", LONG, "144 KiB/token"),
        ("weight_bytes", LONG, "15.26 GiB"),
        ("kv_per_request", LONG, "2.25 GiB/request"),
        ("kv_read_total", LONG, "1,223.9 GiB/request"),
        ("kv_read_total", SHORT, "863.3 GiB/request"),
        ("kv_written_decode", LONG, "144.00 MiB/request"),
        ("kv_written_decode", SHORT, "287.86 MiB/request"),
        ("kv_stored_end", LONG, "1.27 GiB/request"),
        ("kv_stored_end", SHORT, "0.56 GiB/request"),
        ("read_to_stored", LONG, "967x"),
        ("read_to_stored", SHORT, "1,535x"),
        ("context_tokens_read", LONG, "8,912,384 tokens/request"),
        ("context_tokens_read", SHORT, "6,286,337 tokens/request"),
        ("b_star_kv", LONG, "12.53 requests"),
        ("b_star_kv", SHORT, "50.12 requests"),
        ("first_batch_kv", LONG, "13 requests"),
        ("first_batch_kv", SHORT, "51 requests"),
        ("b_star_compute", LONG, "295.4 requests"),
        ("max_concurrency", LONG, "23 requests"),
        ("verdict", LONG, "does not fit"),
    ],
)
def test_figures_of_the_example(metric: str, case: int, text: str) -> None:
    assert figure(example()[1], metric, case) == text


def test_values_keep_full_precision_in_display_units() -> None:
    plan, view = example()
    table, column = columns(view, "kv_read_total")
    assert column.values[0] == 147456 * 8912384 / 2**30
    assert column.values[0] == pytest.approx(float(plan.value("kv_read_total") or 0) / 2**30, rel=0)
    assert table.rows[0].cases[0] == 0


def test_the_answer_and_its_tiles() -> None:
    _, view = example()
    assert view.verdict_line == "16 of 30 cases fit the planned batch; memory binds most often."
    assert len(view.tiles) <= 5
    shown = {tile.metric: (tile.text, tile.unit, tile.case) for tile in view.tiles}
    assert shown["cases_fitting"] == ("16 of 30", "cases", None)
    assert shown["concurrency_per_gpu"] == ("71", "requests/GPU", 10)
    assert shown["b_star_kv"] == ("12.5", "requests", 0)


def test_the_answer_of_one_case(tmp_path: Path) -> None:
    _, view = small(tmp_path)
    assert view.verdict_line == "The planned batch fits; weight reads bind."
    assert view.tiles[0].text == "23" and "8 requests planned" in view.tiles[0].bound
    assert view.cases[0].label == "Qwen3-8B · H100 SXM 80 GB"
    assert dict(view.shared)["Planned batch"] == "8 requests"


def test_order_and_words_are_what_they_were(golden: Golden, repository: Path) -> None:
    path = repository / "tests" / "golden" / "example.view.txt"
    golden.check(path, outline(example()[1]), "tests/golden/example.view.txt")


# ---- order, rows, columns ----------------------------------------------------------------------


def test_every_place_in_the_layout_has_a_metric() -> None:
    plan, view = answering()
    metrics = {m.name for m in plan.metrics.metrics.values() if not m.part_of}
    placed = [name for names in LAYOUT.values() for name in names]
    assert len(placed) == len(set(placed))
    assert set(placed) <= metrics
    assert set(SUMMARY) <= metrics and set(APPLIES_NOT) <= metrics
    assert [term.name for term in view.glossary if term.name in placed] == placed
    assert {term.name for term in view.glossary} == metrics


def test_each_metric_stands_in_one_section() -> None:
    plan, view = answering()
    shown = [c.name for s in view.sections for t in s.tables for c in t.all_columns()]
    wanted = [m.name for m in plan.metrics.metrics.values() if not m.part_of and m.type.grain > 0]
    of_ranks = {n for n, (other, _) in APPLIES_NOT.items() if other in LEFT_OUT}
    assert set(STEPS) <= set(wanted)
    assert sorted(shown) == sorted(set(wanted) - STEPS - of_ranks)


def test_rows_cover_every_case_once_and_merged_ones_agree() -> None:
    plan, view = example()
    for table in tables(view):
        covered = [case for row in table.rows for case in row.cases]
        slots = len({row.extra for row in table.rows}) > 1
        assert set(covered) == set(range(len(plan.cases))), table.name
        assert slots or len(covered) == len(plan.cases), table.name
        if slots or "." in table.name:
            continue
        for column in table.all_columns():
            if plan.metrics.type_of(column.name).kind != "number":
                continue
            for row in table.rows:
                values = {plan.value(column.name, case) for case in row.cases}
                assert len(values) == 1, (table.name, column.name, row.label)


def test_access_does_not_repeat_a_row_for_every_gpu() -> None:
    access = next(s for s in example()[1].sections if s.name == "access").tables[0]
    assert len(access.rows) == 10
    assert access.rows[0].key == ("Qwen3-8B", "long-prompt")
    assert access.rows[0].cases == (0, 2, 4)


def test_columns_that_say_nothing_new_stand_aside() -> None:
    memory = next(s for s in example()[1].sections if s.name == "memory").tables[0]
    assert "memory_basis" in {column.name for column in memory.same}
    assert ("concurrency_per_gpu", "Max concurrency") in {(c.name, o) for c, o in memory.equal}
    assert any("Concurrency per GPU" in remark for remark in memory.remarks())


def test_group_rows_only_where_they_save_something() -> None:
    view = example()[1]
    assert view.summary.is_grouped
    groups = next(s for s in view.sections if s.name == "groups").tables[0]
    assert groups.rows[0].extra == ("Full attention", "36")
    ladder = next(s for s in view.sections if s.name == "ladder").ladders[0]
    assert not ladder.grids[0].is_grouped


def test_a_ladder_stops_where_the_model_does() -> None:
    ladder = next(s for s in example()[1].sections if s.name == "ladder").ladders[0]
    kept = ladder.grids[0]
    assert kept.rows[0].key == ("Qwen3-8B",)
    texts = [column.text(0) for column in kept.columns]
    assert texts == ["0.281", "0.563", "1.125", "2.250", "4.500", NOT_APPLICABLE, NOT_APPLICABLE]
    assert [c.label for c in kept.columns][:2] == ["2,048", "4,096"]
    distinct = [grid.name for grid, _ in ladder.distinct()]
    assert "context_ladder.concurrency_per_gpu" not in distinct


def test_the_prompt_ladder_gives_both_thresholds() -> None:
    view = example()[1]
    ladders = {ladder.name: ladder for s in view.sections for ladder in s.ladders}
    grid = ladders["prompt_ladder"].grids[0]
    at = dict(zip(ladders["prompt_ladder"].rungs, (c.text(0) for c in grid.columns), strict=True))
    assert (at[2048.0], at[8192.0]) == ("50.12", "12.53")


# ---- unknown, not applicable, never shown ------------------------------------------------------


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple):
        return [text for one in value for text in _strings(one)]
    if is_dataclass(value):
        return [text for one in fields(value) for text in _strings(getattr(value, one.name))]
    return []


def test_the_stand_in_for_a_passed_threshold_is_never_shown() -> None:
    plan, view = example()
    hidden = plan.metrics.constants["no_threshold"].value
    for table in tables(view):
        for column in table.all_columns():
            for row in range(len(table.rows)):
                if column.values[row] == hidden:
                    assert column.text(row) == NOT_APPLICABLE
    assert not [t.name for t in view.glossary if "1,000,000,000,000" in t.worked]


def test_unknown_is_a_word_and_what_does_not_apply_a_dash(tmp_path: Path) -> None:
    _, view = small(tmp_path, SMALL.replace("[8]", "[400]"), OWN_METRICS)
    assert figure(view, "own_unknown", 0).startswith(UNKNOWN)
    _, column = columns(view, "own_unknown")
    assert column.tone(0) == "muted" and column.values[0] is None
    assert figure(view, "batch_slack", 0).startswith(NOT_APPLICABLE)
    assert figure(view, "nearest_threshold", 0).startswith(NOT_APPLICABLE)
    assert figure(view, "experts_visited", 0) == NOT_APPLICABLE
    assert not any("0 unknown" in text for text in _strings(view))


def test_an_unknown_verdict_is_said_in_the_answer(tmp_path: Path) -> None:
    own = (
        "metrics:\n  memory_spare:\n    replaces: memory_spare\n    because: a test\n"
        "    label: Spare\n    unit: byte/gpu\n    why: A test.\n    source: {title: Own}\n"
        "    formula: unknown() if batch > 2 * 2 * 2 * one_request else memory_left\n"
    )
    _, view = small(tmp_path, SMALL.replace("[8]", "[8, 16]"), own)
    assert view.verdict_line.startswith("1 of 2 cases fit the planned batch; 1 unknown")
    states = {check.name: check.state for check in view.checks}
    assert states["cases_without_verdict"] == "attention"


# ---- own metrics, sources, checks --------------------------------------------------------------


def test_own_metrics_have_a_section_and_say_where_they_come_from(tmp_path: Path) -> None:
    _, view = small(tmp_path, own=OWN_METRICS)
    own = next(s for s in view.sections if s.name == "user")
    assert own.label == "Own metrics"
    assert [c.name for c in own.tables[0].all_columns()] == ["own_share", "own_unknown", "own_flag"]
    assert all(c.origin == "own.yaml" for c in own.tables[0].all_columns())
    assert [(f.name, f.text, f.unit) for f in own.figures] == [("own_total", "23", "requests")]
    assert figure(view, "own_flag", 0) == "yes"
    assert figure(view, "own_share", 0).endswith(" %")


def test_a_replaced_metric_says_why(tmp_path: Path) -> None:
    own = (
        "metrics:\n  kv_pool:\n    replaces: kv_pool\n    because: we keep a tenth\n"
        "    label: KV pool, one GPU\n    unit: byte/gpu\n    why: A test.\n"
        "    source: {title: Own}\n    formula: whole_down(max(0, memory_left) * (1 - reserve))\n"
    )
    _, view = small(tmp_path, own=own)
    term = next(t for t in view.glossary if t.name == "kv_pool")
    assert (term.replaced_by, term.because) == ("own.yaml", "we keep a tenth")


def _wanted_sources(plan: Plan) -> set[tuple[str, str]]:
    """Sources of all used figures, of defaults, and of all formulas, counted on its own way."""
    inputs, found = plan.inputs, set()
    uses = [(key, fact) for key, facts in inputs.facts.items() for fact in facts.values()]
    for model, groups in inputs.groups.items():
        uses += [(("model", model), f) for group in groups for f in group.facts.values()]
    for key, fact in uses:
        for one in fact.source:
            source = inputs.sources[key][one]
            found.add((source.title, source.url))
    for metric in plan.metrics.metrics.values():
        if not metric.part_of:
            found.add((metric.entry.source.title, metric.entry.source.url or ""))
    return found


def test_every_source_is_listed_once_and_referred_to() -> None:
    plan, view = example()
    listed = [(source.title, source.url) for source in view.sources]
    assert set(listed) == {(clean(t), clean(u)) for t, u in _wanted_sources(plan)}
    assert len(listed) == len(set(listed))
    assert [s.number for s in view.sources] == list(range(1, len(listed) + 1))
    used = {n for f in view.facts for cells in f.cells for cell in cells for n in cell.sources}
    used |= {term.source for term in view.glossary}
    used |= {n for one in view.assumptions for n in one.sources}
    assert used == {s.number for s in view.sources}
    assert all(source.used_for for source in view.sources)


def test_every_catalog_figure_is_shown_with_its_confidence() -> None:
    plan, view = example()
    shown = {(f.kind, c.name) for f in view.facts for c in f.columns}
    for kind, word in plan.inputs.facts:
        for name, fact in plan.inputs.facts[kind, word].items():
            assert ((kind, name) in shown) == (fact.note != NO_DRAFT), name
    cells = [c for f in view.facts for row in f.cells for c in row if c.text != NOT_APPLICABLE]
    assert all(cell.confidence for cell in cells if cell.text != UNKNOWN)
    gpus = next(f for f in view.facts if f.kind == "gpu")
    heads = {column.name: (n, column.unit) for n, column in enumerate(gpus.columns)}
    at, unit = heads["memory_marketed"]
    assert (gpus.cells[0][at].text, unit) == ("80", "GB/GPU")


def test_assumptions_say_who_decided() -> None:
    _, view = example()
    found = {one.name: one for one in view.assumptions}
    assert (found["overhead"].text, found["overhead"].unit) == ("3", "GiB/GPU")
    assert found["overhead"].origin == "default" and found["overhead"].confidence == "assumed"
    assert found["prompt_tokens"].text == "8,192; 2,048"
    assert found["prompt_tokens"].origin == "given"
    assert found["prompt_tokens"].place.startswith("example.yaml:")
    assert "context_ladder" in found


def test_a_broken_policy_is_no_error(tmp_path: Path) -> None:
    _, view = example()
    by_name = {check.name: check for check in view.checks}
    policy = by_name["cases_that_do_not_fit"]
    assert (policy.state, policy.tone, policy.value, policy.limit) == (
        "attention",
        "warn",
        "14",
        "0",
    )
    assert {c.state for c in view.checks if c.kind == "integrity"} == {"ok"}
    own = (
        "metrics:\n  own_check:\n    label: Own check\n    check: integrity\n    why: A test.\n"
        "    source: {title: Own}\n    formula: all_of(batch > max_concurrency)\n"
    )
    _, view = small(tmp_path, own=own)
    failed = next(c for c in view.checks if c.name == "own_check")
    assert (failed.state, failed.tone) == ("failed", "bad")


def test_provenance_is_that_of_the_saved_plan() -> None:
    plan, view = example()
    document = saved.document(plan)
    assert dict(view.provenance.hashes) == document["hashes"]
    assert view.provenance.scenario == "example.yaml"


def test_a_saved_plan_gives_the_same_view() -> None:
    plan, view = example()
    loaded = saved.loads(saved.dumps(saved.document(plan)), "example.plan.json")
    assert said(view_of(loaded)) == said(view)


def test_formulas_are_set_with_labels_and_numbers() -> None:
    view = example()[1]
    terms = {term.name: term for term in view.glossary}
    term = terms["b_star_kv"]
    assert term.worked == "14.10 GiB/GPU ÷ 1.125 GiB/request/GPU = 12.53 requests"
    assert "Weights read per step, one rank" in term.mathml
    assert "weights_read_gpu" not in term.mathml
    assert term.formula == "weights_read_gpu / kv_read_step_gpu * dp"
    assert "_part" not in "".join(t.mathml + t.worked for t in view.glossary)
    assert terms["read_to_stored"].worked.endswith("= 967x")


# ---- foreign text ------------------------------------------------------------------------------


def test_direction_marks_and_control_characters_do_not_pass(tmp_path: Path) -> None:
    _, view = hostile(tmp_path)
    assert "\ufffdevil" in view.title
    for text in _strings(view):
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\n\r]", text), text
    assert "\u05d0" in view.title  # letters of any script stay
    assert HOSTILE.split(" \u202e")[0] in view.title


# ---- one unit, one view --------------------------------------------------------------------


def test_a_column_shows_its_unit_once() -> None:
    for table in tables(example()[1]):
        for column in table.all_columns():
            for row in range(len(table.rows)):
                text = column.text(row)
                if column.kind not in ("word", "flag"):
                    assert re.fullmatch(r"−?[\d,]+(\.\d+)?(x| %)?|unknown|–", text), text


def test_a_view_is_frozen_and_the_same_twice() -> None:
    plan, view = example()
    assert view == view_of(plan)
    with pytest.raises(AttributeError):
        view.title = "other"  # type: ignore[misc]
    assert isinstance(view, View)
