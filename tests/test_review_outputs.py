"""The page and the workbook of a review: blocks, policy, foreign text, live formulas."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.browser import open_page
from support.chart_examples import assert_tidy
from support.plans import HOSTILE
from support.recalc import recalculate_formualizer, recalculate_libreoffice
from support.reviews import QUARTERS, quarter, quarters, renamed
from support.workbook import fresh_path
from support.xlsx import read_formulas, read_values
from test_diff_html import plain
from test_diff_workbook import agree, edited, rows_of

from planner.diff import Options
from planner.review import ordered, review
from planner.review_decisions import Decision, read_decisions
from planner.saved import load
from reports.html import policy_hash
from reports.html_diff import stylesheet
from reports.html_review import render
from reports.html_script import comparing_script
from reports.text_review import render as text_of
from reports.view_review import ReviewView, review_view
from reports.workbook.review_book import write


@cache
def view() -> ReviewView:
    with TemporaryDirectory() as folder:
        plans = quarters(Path(folder))
        issues = ordered([(p.name, load(p)) for p in sorted(plans.glob("*.plan.json"))])
        decisions = read_decisions(plans / "decisions.yaml")
    return review_view(review(issues, decisions, Options(top=3)), decisions_read=True)


@cache
def book() -> Path:
    path = fresh_path("review")
    write(view(), path)
    return path


def hostile(folder: Path) -> ReviewView:
    issues = ordered([
        (f"{HOSTILE}{name}", renamed(quarter(folder, name), title=HOSTILE, owner="=cmd|x"))
        for name in QUARTERS
    ])  # fmt: skip
    decisions = (
        Decision(id="a", title=HOSTILE, owner="=HYPERLINK(1)", date="2027-05-01", status="open",
                 note=HOSTILE),
    )  # fmt: skip
    return review_view(review(issues, decisions, Options(top=1)), decisions_read=True)


# ---- page --------------------------------------------------------------------------------------


def test_the_page_says_the_answer_first_and_has_every_block() -> None:
    html = render(view())
    assert re.findall(r"<h2>([^<]+)</h2>", html) == [
        "Trends", "What moved 2027-03-31 → 2027-06-30", "What moved 2027-06-30 → 2027-09-30",
        "Plan against measured", "Decisions", "Provenance",
    ]  # fmt: skip
    text = plain(html)
    assert text.index("2027-09-30: 1 case: 1 better") < text.index("The plans, by date")
    assert "Serve with an FP8 cache cache Serving team 2027-02-10 ✓ closed 2027-05-04" in text
    assert "○ open" in text and "The engine took more for its graphs." in text
    assert html.count("<svg") == html.count("<desc") >= 6
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(ids)


def test_the_charts_are_tidy_and_say_their_numbers() -> None:
    charts = [t.chart for t in view().trends if t.chart]
    assert len(charts) >= 3
    for chart in charts:
        assert_tidy(chart)
    (first,) = [t for t in view().trends if t.name == "max_concurrency"]
    assert first.chart and f"Qwen3-8B: {', '.join(first.rows[0].texts)}" in first.chart.description


def test_the_policy_admits_the_style_and_the_script() -> None:
    html = render(view())
    assert (
        f"default-src 'none'; style-src '{policy_hash(stylesheet())}'; "
        f"script-src '{policy_hash(comparing_script())}'; base-uri 'none'"
    ) in html
    assert html.count("<script") == 1 and f"<script>{comparing_script()}</script>" in html
    assert not re.search(r"<(?:link|img|iframe|object|base)\b|\b(?:src|style|on\w+)=\"", html)


def test_foreign_text_stays_text_in_every_output(tmp_path: Path) -> None:
    found = hostile(tmp_path)
    html = render(found)
    assert "<img" not in html and html.count("<script") == 1 and "\u202e" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "\u202e" not in text_of(found, 80)
    path = fresh_path("hostile-review")
    write(found, path)
    formulas = read_formulas(path)
    for place, text in formulas.items():
        assert "HYPERLINK" not in text and "cmd" not in text, place
    agree(read_values(path), recalculate_formualizer(path), formulas)


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (320, True)])
def test_the_browser_has_nothing_to_complain_about(tmp_path: Path, width: int, dark: bool) -> None:
    path = tmp_path / "review.html"
    path.write_text(render(view()), "utf-8")
    with open_page(path, width, dark=dark) as page:
        assert (page.errors, page.requests) == ([], [path.resolve().as_uri()])
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# ---- workbook ----------------------------------------------------------------------------------


def test_stored_values_are_those_of_the_formulas() -> None:
    formulas = read_formulas(book())
    agree(read_values(book()), recalculate_formualizer(book()), formulas)
    sheets = {sheet for sheet, _ in formulas}
    assert sheets == {"Cover", "Trends", "Why", "Measured", "Decisions"}


def test_libreoffice_agrees() -> None:
    agree(read_values(book()), recalculate_libreoffice(book()), read_formulas(book()))


def test_the_workbook_says_what_the_view_says() -> None:
    values = read_values(book())
    trend = view().trends[0]
    for row, one in enumerate(trend.rows, 8):
        assert values["Trends", f"A{row}"] == one.label
        assert values["Trends", f"I{row}"] == one.word
        if one.ends.delta_raw is not None:
            assert values["Trends", f"G{row}"] == pytest.approx(one.ends.delta_raw)
    states = [values["Decisions", f"F{row}"] for row in range(8, 12)]
    assert states == ["closed", "closed", "open", "later"]
    # from 10 February to 4 May, from 20 May to 1 August, from 15 July to 30 September
    assert [values["Decisions", f"G{row}"] for row in range(8, 12)] == [83, 73, 77, "–"]
    assert values["Measured", "I8"] == pytest.approx(1 / 0.95 - 1)
    assert values["Measured", "I9"] == "unknown"


def test_an_edit_moves_changes_errors_sums_and_days() -> None:
    path = edited(book(), "Trends", "L8", 1.0)
    found = recalculate_formualizer(path)
    first = read_values(book())["Trends", "J8"]
    assert isinstance(first, float | int)
    assert found["Trends", "G8"] == 1.0 - first and found["Trends", "I8"] == "worse"
    found = recalculate_formualizer(edited(book(), "Measured", "H8", 1.0))
    planned = read_values(book())["Measured", "G8"]
    assert isinstance(planned, float) and found["Measured", "I8"] == pytest.approx(planned - 1)
    place = rows_of(book(), "Why")
    assert place and read_values(book())["Why", "D9"] == "KV format"
    found = recalculate_formualizer(edited(book(), "Why", "E9", 0.0))
    assert "gap" in {v for (sheet, ref), v in found.items() if sheet == "Why" and ref[0] == "G"}
    assert "one does not" in {v for (sheet, _), v in found.items() if sheet == "Cover"}
    earlier = recalculate_formualizer(edited(book(), "Decisions", "F4", 46500.0))
    # 23 April 2027: the cache waits for 72 days, the order is not known yet
    assert (earlier["Decisions", "F8"], earlier["Decisions", "G8"]) == ("open", 72)
    assert earlier["Decisions", "F9"] == "later"


def test_same_bytes_twice() -> None:
    again = fresh_path("again")
    write(view(), again)
    assert again.read_bytes() == book().read_bytes()
    assert render(view()) == render(view())
