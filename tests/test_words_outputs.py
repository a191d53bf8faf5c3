"""Two languages, one plan: the same numbers and formulas in every output."""

from __future__ import annotations

import re
import zipfile
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from support.browser import CLIPPED, TEXTS, TOO_WIDE, open_page
from support.command import EXAMPLE, SMALL, Caller
from support.diffs import fleet_diff
from support.plans import HOSTILE, OWN_METRICS, small
from support.recalc import differences, recalculate_formualizer, recalculate_libreoffice
from support.workbook import few, fresh_path
from support.xlsx import Cells, Value, read_formulas, read_values

import planner
from planner import saved
from planner.diff_json import document
from planner.planning import Plan
from reports import html, html_diff, numbers, text, text_diff
from reports.text_csv import table_csv
from reports.text_explain import render as explained
from reports.view import view_of
from reports.view_diff import book_of
from reports.words import called, speaking
from reports.workbook import book, diff_book

ENGLISH, CHINESE = "en", "zh-CN"
NUMBER = re.compile(r"[-\u2212+]?\d[\d,]*(?:\.\d+)?(?:e[-\u2212]?\d+)?")
WIDE = re.compile(r"[\u3400-\u9fff]")


@cache
def plan_of(scenario: Path = EXAMPLE) -> Plan:
    return planner.plan(scenario)


@cache
def workbook(language: str) -> Path:
    path = fresh_path(f"words-{language}")
    with speaking(language):
        book.write(plan_of(), path, few())
    return path


@cache
def comparison(language: str) -> Path:
    path = fresh_path(f"words-diff-{language}")
    found = fleet_diff()
    with speaking(language):
        diff_book.write(book_of([found]), path, "2026-11-29", saved.dumps(document([found])))
    return path


@cache
def page(language: str) -> str:
    plan = plan_of()
    with speaking(language):
        return html.render(view_of(plan), saved.dumps(saved.document(plan)))


def figures(text: str) -> list[str]:
    return sorted(NUMBER.findall(text))


def is_number(value: Value) -> bool:
    return not isinstance(value, str)


def agree(path: Path, found: Cells) -> None:
    """Every formula gives the value beside it; a share of 0 may be a trace of large terms."""
    stored, formulas = read_values(path), read_formulas(path)
    wanted = {place: stored[place] for place in formulas if place in stored}
    assert len(wanted) > 100
    dust = {p: v for p, v in found.items() if isinstance(v, float) and abs(v) < 1e-9}
    assert differences(wanted, found | dict.fromkeys(dust, 0.0)) == []


# ---- workbooks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [workbook, comparison])
def test_workbooks_hold_the_same_formulas_and_numbers(made) -> None:  # type: ignore[no-untyped-def]
    english, chinese = (made(language) for language in (ENGLISH, CHINESE))
    assert read_formulas(english) == read_formulas(chinese)
    ours, theirs = read_values(english), read_values(chinese)
    assert ours.keys() == theirs.keys()
    formulas = read_formulas(english)
    moved = [
        (place, value, theirs[place])
        for place, value in ours.items()
        if value != theirs[place] and (is_number(value) or place in formulas)
    ]
    # Only the labels of a waterfall repeat a text that is translated.
    assert [one for one in moved if not formulas.get(one[0], "").startswith("A")] == []
    assert sum(WIDE.search(str(value)) is not None for value in theirs.values()) > 100
    assert not any(WIDE.search(str(value)) for value in ours.values())


@pytest.mark.parametrize("made", [workbook, comparison])
def test_number_formats_go_by_unit_and_not_by_language(made) -> None:  # type: ignore[no-untyped-def]
    import openpyxl

    books = [openpyxl.load_workbook(made(language)) for language in (ENGLISH, CHINESE)]
    assert books[0].sheetnames == books[1].sheetnames
    for ours, theirs in zip(*books, strict=True):
        shapes = [
            {c.coordinate: c.number_format for row in ws.iter_rows() for c in row}
            for ws in (ours, theirs)
        ]
        assert shapes[0] == shapes[1], ours.title


def test_the_chinese_workbooks_recalculate_without_a_difference() -> None:
    for path in (workbook(CHINESE), comparison(CHINESE)):
        agree(path, recalculate_formualizer(path))


def test_libreoffice_recalculates_the_chinese_comparison() -> None:
    path = comparison(CHINESE)
    agree(path, recalculate_libreoffice(path))


def test_words_of_formulas_are_shown_in_chinese_and_stay_english() -> None:
    """Cells compare English keys; a number format puts another word before the reader."""
    with zipfile.ZipFile(workbook(CHINESE)) as archive:
        styles = archive.read("xl/styles.xml").decode()
    for word in ("fits", "does not fit", "memory", "KV reads", "ok", "as issued"):
        with speaking(CHINESE):
            assert f"General;General;General;&quot;{called(word)}&quot;" in styles
    values = {v for v in read_values(workbook(CHINESE)).values() if isinstance(v, str)}
    assert {"fits", "does not fit", "memory"} <= values
    assert "放得下" not in values
    with zipfile.ZipFile(workbook(ENGLISH)) as archive:
        assert "General;General;General" not in archive.read("xl/styles.xml").decode()


def test_the_plan_inside_is_the_same() -> None:
    plan = saved.dumps(saved.document(plan_of()))
    for language in (ENGLISH, CHINESE):
        assert saved.dumps(saved.document(planner.load(workbook(language)))) == plan
        assert html.extract_plan(page(language)) == plan


def test_headings_have_room_for_wide_characters() -> None:
    import openpyxl

    found = openpyxl.load_workbook(workbook(CHINESE))
    for ws in found:
        for cell in ws[6] if ws.max_row > 7 and ws.auto_filter.ref else ():
            width = ws.column_dimensions[cell.column_letter].width
            if isinstance(cell.value, str) and not cell.value.startswith("=") and width < 45:
                assert numbers.display_width(cell.value) <= 3 * (width - 1), (ws.title, cell.value)


# ---- text --------------------------------------------------------------------------------------


def spoken(language: str, width: int = 80) -> str:
    with speaking(language):
        return text.render(view_of(plan_of()), width, ["all"])


@pytest.mark.parametrize("width", [60, 80, 120])
def test_terminal_tables_fit_in_chinese(width: int) -> None:
    shown = spoken(CHINESE, width)
    assert [x for x in shown.split("\n") if numbers.display_width(x) > width] == []
    assert len(WIDE.findall(shown)) > 500


def test_columns_of_a_chinese_table_stand_in_line() -> None:
    with speaking(CHINESE):
        shown = text.render(view_of(plan_of()), 80)
    rule = next(line for line in shown.split("\n") if line.startswith("──"))
    ends = [match.end() for match in re.finditer("─+", rule)]
    body = shown.split(rule)[1].split("\n\n")[0].split("\n")
    rows = [line for line in body if line.startswith("  ")]
    assert len(rows) == len(plan_of().cases)
    assert {numbers.display_width(line) for line in rows} == {ends[-1]}


def tables(language: str) -> list[list[list[str]]]:
    """Numbers of every cell of every Markdown table."""
    with speaking(language):
        lines = text.markdown(view_of(plan_of())).split("\n")
    return [[figures(cell) for cell in line.split("|")] for line in lines if line[:1] == "|"]


def test_markdown_tables_hold_the_same_numbers() -> None:
    assert tables(ENGLISH) == tables(CHINESE)
    assert len(tables(ENGLISH)) > 100


def test_data_for_programs_is_the_same() -> None:
    view = view_of(plan_of())
    with speaking(CHINESE):
        inside = saved.dumps(saved.document(plan_of()))
    assert inside == saved.dumps(saved.document(plan_of()))
    plain = table_csv(view, "summary")
    assert table_csv(view, "summary", bom=True) == "\ufeff" + plain


def test_an_explanation_has_the_same_numbers_and_fits() -> None:
    from planner.explain import explain
    from reports.words_plan import localised

    shown = {}
    for language in (ENGLISH, CHINESE):
        with speaking(language):
            tree = explain(localised(plan_of()), "max_concurrency", "1", None)
            shown[language] = explained(tree, 80)
    formulas = [[x.strip() for x in s.split("\n") if "= " in x] for s in shown.values()]
    assert [f for f in formulas[0] if not WIDE.search(f)] != []
    assert figures(" ".join(formulas[0])) == figures(" ".join(formulas[1]))
    wide = [line for line in shown[CHINESE].split("\n") if WIDE.search(line)]
    assert len(wide) > 20 and max(map(numbers.display_width, wide)) <= 80


def test_a_comparison_has_the_same_numbers() -> None:
    shown = {}
    for language in (ENGLISH, CHINESE):
        with speaking(language):
            made = book_of([fleet_diff()])
            shown[language] = text_diff.markdown(made)
            terminal = text_diff.render(made, 80, every=True)
        assert max(map(numbers.display_width, terminal.split("\n"))) <= 80
    rows = [
        [[figures(c) for c in line.split("|")] for line in s.split("\n") if line[:1] == "|"]
        for s in shown.values()
    ]
    assert rows[0] == rows[1]


# ---- pages -------------------------------------------------------------------------------------


def test_pages_hold_the_same_numbers() -> None:
    prose = re.compile(r'<td class="w prosecell">.*?</td>', re.DOTALL)
    pages = [prose.sub("", page(language)) for language in (ENGLISH, CHINESE)]
    # Wide tables are cut by the width of their headings, elsewhere in another language, and each
    # piece has the keys of its rows again.
    found = [
        {
            tuple(figures(re.sub(r"<[^>]*>", " ", c)))
            for c in re.findall(r"<td[^>]*>(.*?)</td>", p, re.S)
        }
        for p in pages
    ]
    assert len(found[0]) > 500
    assert found[0] == found[1]
    assert '<html lang="zh-CN">' in pages[1]
    assert '<html lang="en">' in pages[0]


def test_the_page_of_a_comparison_holds_the_same_numbers() -> None:
    pages = []
    for language in (ENGLISH, CHINESE):
        found = fleet_diff()
        with speaking(language):
            made = html_diff.render(book_of([found]), "2026-11-29", saved.dumps(document([found])))
        assert f'<html lang="{language}">' in made
        pages.append(made)
    cells = [
        [unescape(re.sub(r"<[^>]*>", " ", c)) for c in re.findall(r"<td[^>]*>(.*?)</td>", p, re.S)]
        for p in pages
    ]
    # A sentence may say "one less" in words or in figures.
    short = [(a, b) for a, b in zip(*cells, strict=True) if not a.strip().endswith(".")]
    assert len(short) > 100
    assert [(a, b) for a, b in short if figures(a) != figures(b)] == []
    # Names of models and cards stay; what we say ourselves does not.
    heads = [re.findall(r"<h2[^>]*>([^<]*)", p) for p in pages]
    assert all(WIDE.search(text) for text in heads[1]) and len(heads[0]) == len(heads[1])


def test_the_chinese_page_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(CHINESE), "utf-8")
    with open_page(path, 1280) as shown:
        assert shown.errors == []
        assert shown.requests == [path.resolve().as_uri()]
        assert shown.evaluate("document.documentElement.scrollWidth") == 1280
        assert shown.evaluate(TOO_WIDE) == []
        assert shown.evaluate(CLIPPED) == []
        # What the page writes by itself is what was written into it.
        texts = shown.evaluate(TEXTS)
        assert texts
        assert [one for one in texts if one[1] != one[2]] == []
        shown.evaluate("capsheet.explain({m:'max_concurrency',i:0})")
        dialog = shown.evaluate("document.getElementById('explain').textContent")
        assert "最大并发数" in dialog and "组成" in dialog and "来源：" in dialog
        shown.evaluate(
            "(()=>{const b=document.getElementById('if-batch');b.value='64';"
            "b.dispatchEvent(new Event('change',{bubbles:true}))})()"
        )
        assert "假设分析" in shown.evaluate("document.querySelector('.verdict').textContent")
        assert shown.errors == []
    with open_page(path, 320) as shown:
        assert shown.evaluate("document.documentElement.scrollWidth") == 320
        assert shown.evaluate(CLIPPED) == []


# ---- foreign text, and the command line --------------------------------------------------------


def test_foreign_text_stays_as_it_is(tmp_path: Path) -> None:
    hostile = SMALL.replace("A small plan", f"'{HOSTILE}'").replace("chat", "memory")
    plan, _ = small(tmp_path, hostile, OWN_METRICS)
    with speaking(CHINESE):
        made = html.render(view_of(plan), saved.dumps(saved.document(plan)))
        path = fresh_path("words-hostile")
        book.write(plan, path, few())
    assert "<img" not in made and "Own unknown" in made and "memory" in made
    values = read_values(path).values()
    assert any("<img" in str(value) for value in values)


def test_the_commands_take_a_language(capsheet: Caller) -> None:
    plain = capsheet("plan", "small.yaml")
    chinese = capsheet("plan", "small.yaml", "--lang", "zh-CN")
    assert plain.code == chinese.code == 0
    assert "计划批大小放得下" in chinese.out and not WIDE.search(plain.out)
    assert capsheet("plan", "small.yaml", "--lang", "en").out == plain.out
    for form in ("--json", "--csv"):
        ours = capsheet("plan", "small.yaml", form).out
        assert capsheet("plan", "small.yaml", form, "--lang", "zh-CN").out == ours
    assert capsheet("plan", "small.yaml", "--csv", "--csv-bom").out[:1] == "\ufeff"
    told = capsheet("explain", "small.yaml", "kv_pool", "--lang", "zh-CN")
    assert "KV 池，单卡" in told.out
    same = capsheet("explain", "small.yaml", "kv_pool", "--json", "--lang", "zh-CN")
    assert same.out == capsheet("explain", "small.yaml", "kv_pool", "--json").out
    found = capsheet("diff", "small.yaml", "--generation", "h100-sxm,b200", "--lang", "zh-CN")
    assert found.code == 0 and "规划对比" in found.out


def test_the_commands_write_files_in_a_language(capsheet: Caller) -> None:
    assert capsheet("build", "small.yaml", "--lang", "zh-CN").code == 0
    assert capsheet("build", "small.yaml", "--out", "plain").code == 0
    ours, theirs = (capsheet.folder / f for f in ("out", "plain"))
    assert (ours / "small.plan.json").read_bytes() == (theirs / "small.plan.json").read_bytes()
    assert 'lang="zh-CN"' in (ours / "small.html").read_text("utf-8")
    assert read_formulas(ours / "small.xlsx") == read_formulas(theirs / "small.xlsx")


@pytest.mark.parametrize("command", ["build", "plan", "workbook", "report"])
def test_an_unknown_language_is_refused(capsheet: Caller, command: str) -> None:
    done = capsheet(command, "small.yaml", "--lang", "fr")
    assert done.code == 2
    assert "'fr' is none of en, zh-CN" in done.err


def test_the_mark_goes_with_csv_alone(capsheet: Caller) -> None:
    done = capsheet("plan", "small.yaml", "--csv-bom")
    assert done.code == 2 and "--csv-bom goes with --csv" in done.err
