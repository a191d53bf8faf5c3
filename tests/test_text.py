"""Terminal, Markdown and CSV: widths, words, precision, and texts that must stay texts."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from support.command import SMALL
from support.plans import OWN_METRICS, example, hostile, small

from planner.errors import InputError
from planner.planning import Plan
from reports import text
from reports.numbers import display_width
from reports.text_csv import cell
from reports.view import view_of

# ---- terminal ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for line in text.render(example()[1], width, ["all"]).splitlines():
        assert display_width(line) <= width, line
        assert line == line.rstrip()


def test_the_answer_comes_first_and_dropped_columns_are_counted() -> None:
    view = example()[1]
    shown = text.render(view, 80)
    assert shown.startswith(view.verdict_line)
    match = re.search(r"(\d+) columns do not fit into 80 characters", shown)
    assert match and int(match[1]) == len(view.summary.columns) - 3
    assert "do not fit" not in text.render(view, 240)
    assert "12.53" in text.render(view, 240) and "967x" in text.render(view, 240)


def test_the_least_important_columns_are_dropped_first() -> None:
    narrow, wide = (text.render(example()[1], width) for width in (80, 240))
    for heading in ("Verdict", "What binds"):
        assert heading in narrow
    for heading in ("Read to", "B* KV"):
        assert heading not in narrow and heading in wide


def test_tables_are_chosen_by_name() -> None:
    view = example()[1]
    shown = text.render(view, 120, ["access", "context_ladder"])
    assert "Access:" in shown and "Context ladder:" in shown and "Thresholds:" not in shown
    everything = text.render(view, 120, ["all"])
    assert all(f"{section.label}:" in everything for section in view.sections)
    with pytest.raises(InputError, match="did you mean 'memory'"):
        text.render(view, 120, ["memroy"])


def test_colour_is_only_a_second_signal() -> None:
    view = example()[1]
    plain, coloured = text.render(view, 100), text.render(view, 100, colour=True)
    assert "\x1b" not in plain and "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == plain.split()


def test_the_terminal_does_not_look_around(monkeypatch: pytest.MonkeyPatch) -> None:
    view = example()[1]
    before = text.render(view, 90), text.render(view, 90, colour=True)
    for name, value in (
        ("COLUMNS", "30"),
        ("NO_COLOR", "1"),
        ("TERM", "dumb"),
        ("FORCE_COLOR", "1"),
    ):
        monkeypatch.setenv(name, value)
    assert (text.render(view, 90), text.render(view, 90, colour=True)) == before


def test_wide_characters_take_two_columns(tmp_path: Path) -> None:
    two = SMALL.replace("[h100-sxm]", "[h100-sxm, h200-sxm]")
    own = OWN_METRICS.replace("Own flag", "自有标志")
    _, view = small(tmp_path, two, own)
    shown = text.render(view, 100, ["user"])
    head = next(line for line in shown.splitlines() if "自有标志" in line)
    yes = next(line for line in shown.splitlines() if re.search(r"\byes\b", line))
    at = display_width(head[: head.index("自有标志")])
    assert display_width(yes[: yes.index("yes")]) == at


def test_one_case_reads_as_a_statement(tmp_path: Path) -> None:
    _, view = small(tmp_path)
    shown = text.render(view, 80)
    assert re.search(r"Max concurrency +23  requests", shown)
    assert "columns do not fit" not in shown
    assert "−" not in shown


def test_left_out_combinations_and_checks_are_said(tmp_path: Path) -> None:
    _, view = small(tmp_path, SMALL.replace("[16384 tokens]", "[16384 tokens, 65536 tokens]"))
    shown = text.render(view, 80)
    assert "left out 1: context limit exceeds what the model was published for" in shown
    assert f"All {len(view.checks)} checks hold." in shown
    assert "policy check attention" in text.render(example()[1], 80)


# ---- Markdown ----------------------------------------------------------------------------------


def test_markdown_holds_the_tables_and_the_sources() -> None:
    view = example()[1]
    shown = text.markdown(view)
    assert shown.startswith("# Serving Qwen3")
    for section in view.sections:
        assert f"\n## {section.label}\n" in shown
    assert "| Qwen3-8B · H100 SXM 80 GB · long-prompt | does not fit | 23 |" in shown
    assert all(f"\n{source.number}. " in shown for source in view.sources)
    lines = shown.splitlines()
    for rule in (n for n, line in enumerate(lines) if re.fullmatch(r"\|( -{3}:? \|)+", line)):
        cells = lines[rule].count("|")
        row = rule - 1
        while row < len(lines) and lines[row].startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", lines[row])) == cells, lines[row]
            row += 1


def test_markdown_of_hostile_names_is_text(tmp_path: Path) -> None:
    shown = text.markdown(hostile(tmp_path)[1])
    assert "<img" not in shown and "</script>" not in shown and "<b>" not in shown
    assert "&lt;img src=x" in shown and "\\`q\\`" in shown
    assert "Own &lt;b&gt;share&lt;/b&gt; \\| of =pool" in shown


# ---- CSV ---------------------------------------------------------------------------------------


def _rows(shown: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(shown)))


def _check(plan: Plan, rows: list[dict[str, str]], name: str, heading: str, factor: float) -> None:
    assert len(rows) == len(plan.cases)
    for index, row in enumerate(rows):
        value = plan.value(name, index)
        assert isinstance(value, float)
        assert float(row[heading]) == value / factor


def test_csv_has_a_line_per_case_and_full_precision() -> None:
    plan, view = example()
    for table, name, heading, factor in (
        ("memory", "weights_gpu", "weights_gpu_GiB_per_gpu", 2**30),
        ("memory", "concurrency_per_gpu", "concurrency_per_gpu_request_per_gpu", 1),
        ("access", "read_to_stored", "read_to_stored", 1),
        ("thresholds", "time_kv", "time_kv_ms", 0.001),
        ("summary", "b_star_kv", "b_star_kv_request", 1),
    ):
        _check(plan, _rows(text.csv(view, table)), name, heading, factor)
    row = _rows(text.csv(view, "memory"))[0]
    assert row["case"] == plan.cases[0].id and row["model"] == "qwen3-8b"
    assert row["verdict"] == "does not fit" and row["max_concurrency_request"] == "23"
    assert row["context_token_per_request"] == "16384"


def test_csv_of_groups_and_ladders_has_a_line_per_slot_and_rung() -> None:
    plan, view = example()
    groups = _rows(text.csv(view, "groups"))
    assert len(groups) == sum(len(plan.inputs.groups[case.model]) for case in plan.cases)
    assert groups[0]["layer_group"] == "Full attention" and groups[0]["layers"] == "36"
    rungs = _rows(text.csv(view, "context_ladder"))
    assert len(rungs) == len(plan.cases) * len(plan.inputs.ladders["context_ladder"])
    assert rungs[2]["context_at_rung_token_per_request"] == "8192"
    assert rungs[2]["kv_per_request_GiB_per_request"] == "1.125"
    assert rungs[6]["kv_per_request_GiB_per_request"] == ""  # beyond the published context


def test_csv_says_unknown_and_leaves_empty_what_does_not_apply(tmp_path: Path) -> None:
    _, view = small(tmp_path, SMALL.replace("[8]", "[400]"), OWN_METRICS)
    own = _rows(text.csv(view, "user"))[0]
    assert own["own_unknown_TFLOP_per_s_per_gpu"] == "unknown" and own["own_flag"] == "true"
    assert _rows(text.csv(view, "thresholds"))[0]["batch_slack_request"] == ""


@pytest.mark.parametrize("bad", ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\t=1"])
def test_csv_cells_are_no_formulas(bad: str) -> None:
    assert cell(bad) == "'" + bad


@pytest.mark.parametrize("good", ["-19.066", "+5", "-1e-9", "fits", "a=b", ""])
def test_csv_numbers_and_words_stay_as_they_are(good: str) -> None:
    assert cell(good) == good


def test_csv_byte_order_mark_and_names() -> None:
    view = example()[1]
    assert text.csv(view, "memory", bom=True) == "\ufeff" + text.csv(view, "memory")
    with pytest.raises(InputError, match="did you mean 'thresholds'"):
        text.csv(view, "threshold")


def test_the_same_text_twice() -> None:
    plan, view = example()
    again = view_of(plan)
    for made in (
        text.markdown,
        lambda v: text.render(v, 80, ["all"]),
        lambda v: text.csv(v, "groups"),
    ):
        assert made(view) == made(again)
