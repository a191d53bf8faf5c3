"""The page of a comparison: what it says, its policy, foreign text, bytes, and how it behaves."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from support.browser import open_page
from support.chart_examples import assert_tidy, texts
from support.command import SMALL, Caller
from support.diffs import compared, fleet_diff, plan_of
from test_diff_outputs import books, example_steps, hostile_book, number

from planner.diff import Diff
from planner.diff_json import document
from planner.errors import InputError
from planner.saved import dumps
from reports import charts
from reports.charts_waterfall import WaterfallChart
from reports.html import policy_hash
from reports.html_diff import extract, render, stylesheet
from reports.html_script import comparing_script
from reports.view_diff import book_of
from reports.view_diff_charts import waterfall_of
from reports.view_diff_parts import DiffBook, RankRow

NAMES = ("H100", "H200", "B200")


def page_of(steps: list[Diff], cards: tuple[str, ...] = ()) -> str:
    return render(book_of(steps, cards=cards), "2026-11-29", dumps(document(steps)))


@cache
def fleet() -> str:
    return page_of([fleet_diff()])


@cache
def line() -> str:
    return page_of(list(example_steps()), NAMES)


def plain(html: str) -> str:
    """What a reader sees, without tags, one space between words."""
    body = html.partition("<body>")[2].partition('<script type="application/json"')[0]
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_the_answer_comes_first_and_every_block_is_there() -> None:
    text = plain(fleet())
    assert (
        text.index("GPUs of the fleet 108 → 14 GPUs (−87.0 %)") < text.index("Lines crossed The")
        if "Lines crossed The" in text
        else text.index("−87.0 %") < text.index("The two plans")
    )
    for block in ("The two plans", "Lines crossed", "Figures", "Why", "Like for like", "How sure",
                  "Inputs changed", "Provenance"):  # fmt: skip
        assert re.search(rf"<h2>{block}</h2>|{block}", fleet()), block
    assert "Cost of a month USD 212,080 61,116 −150,964 −71.2 % ✓ better" in text
    assert "new hardware at old precision 99 98" in text
    assert "Price of a GPU" in text and "2.69 → 5.98 USD/GPU/hour" in text


def test_a_line_of_cards_has_a_section_for_each_step() -> None:
    text = line()
    assert text.count('<section id="step-') == 2
    assert "Along the line of cards" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_ranks_added_and_removed_cases_and_banners_stand_on_the_page() -> None:
    (view,) = book_of([fleet_diff()]).steps
    view = replace(
        view, ranks=(RankRow("Which card?", "a case", "2=", "1", 2, 1),), ranked="Cost (USD)",
        added=("a new one",), removed=("one that went",), banner=("COMPARED BY FORCE: x",),
        breaches=("a > 1: here",),
    )  # fmt: skip
    text = plain(render(DiffBook("x", (view,)), "2026-11-29", "{}"))
    assert "Cases that changed places, by Cost (USD)" in text and "Which card? 2= 1" in text
    assert "1 case only in the new plan : a new one" in text
    assert "1 case only in the old plan : one that went" in text
    assert text.index("! COMPARED BY FORCE: x") < text.index("1 case: 1 better")
    assert "! Broken rule a &gt; 1: here" in text


@pytest.mark.parametrize("make", [fleet, line])
def test_the_page_asks_for_nothing_and_its_policy_admits_its_style(make) -> None:
    text = make()
    policy = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy == [
        f"default-src 'none'; style-src '{policy_hash(stylesheet())}'; "
        f"script-src '{policy_hash(comparing_script())}'; base-uri 'none'; form-action 'none'"
    ]
    assert re.findall(r"<style>(.*?)</style>", text, re.S) == [stylesheet()]
    assert re.findall(r"<script>(.*?)</script>", text, re.S) == [comparing_script()]
    assert text.count("<script") == 2 and '<script type="application/json"' in text
    assert not re.search(r"<(?:link|img|iframe|object|base)\b|\b(?:src|style|on\w+)=\"", text)


def test_the_comparison_rides_inside() -> None:
    assert extract(fleet()) == dumps(document([fleet_diff()]))
    assert extract(line()) == dumps(document(example_steps()))
    for text in ("", "<html>", fleet().replace('"kind"', "kind")):
        with pytest.raises(InputError, match="a page with a comparison inside"):
            extract(text)


def test_a_page_of_a_thousand_cases_stays_small(tmp_path: Path) -> None:
    loads = "\n".join(
        f"  - {{name: w{n}, prompt: {1000 + n} tokens, output: 500 tokens}}" for n in range(1000)
    )
    text = f"{SMALL.partition('workloads:')[0]}workloads:\n{loads}\nbatches: [8]\n"
    one = plan_of(tmp_path, text, "one.yaml")
    found = compared(one, plan_of(tmp_path, text.replace("h100-sxm", "b200"), "other.yaml"))
    start = time.process_time()
    made = page_of([found])
    assert time.process_time() - start < 4
    assert len(made.encode()) < 2_000_000
    assert extract(made) == dumps(document([found]))


def test_foreign_text_stays_text(tmp_path: Path) -> None:
    book = hostile_book(tmp_path)
    text = render(book, "2026-11-29", json.dumps({"x": "</script><script>alert(1)</script>"}))
    assert "<img" not in text and "<b>share" not in text and "<i>source" not in text
    assert "\u202e" not in text and text.count("</script>") == 2
    assert "&lt;img src=x onerror=alert(1)&gt;" in text


def test_same_plans_same_bytes_and_no_change_is_said(tmp_path: Path) -> None:
    assert page_of([fleet_diff()]) == fleet()
    one = plan_of(tmp_path, SMALL)
    same = page_of([compared(one, one)])
    assert "No change over the tolerance of 0.1 %." in same and "<svg" not in same


# ---- waterfall ---------------------------------------------------------------------------------


def waterfalls() -> list[WaterfallChart]:
    found = [waterfall_of(b) for book in books() for view in book.steps for b in view.bridges]
    return [chart for chart in found if chart is not None]


def test_the_waterfall_is_tidy_and_its_parts_lead_from_old_to_new() -> None:
    drawn = waterfalls()
    assert len(drawn) > 20
    for chart in drawn:
        assert_tidy(chart)
        assert chart.old[1] is not None and chart.new[1] is not None
        ends = chart.new[1] - chart.old[1]
        assert sum(s.value or 0 for s in chart.steps) == pytest.approx(ends, rel=1e-9, abs=1e-9)
        shown = sum(number(s.text.split()[0]) for s in chart.steps if "%" not in s.text)
        if "%" not in chart.new[2] and "x" not in chart.new[2]:
            gap = number(chart.new[2]) - number(chart.old[2])
            assert shown == pytest.approx(gap, abs=0.51 * 10 ** -places(chart.new[2]))


def places(text: str) -> int:
    return len(text.partition(".")[2])


def test_the_waterfall_crosses_zero_on_one_scale() -> None:
    steps = (
        charts.Step("Up", 30.0, "+30.0 better", "better"),
        charts.Step("Down", -11.0, "−11.0 worse", "worse", (charts.Part("x", -11.0, "−11.0"),)),
    )
    chart = WaterfallChart("Over zero?", "GiB", ("old", -12.0, "−12.0"), ("new", 7.0, "7.0"), steps)
    assert_tidy(chart)
    svg = charts.render(chart, "z")
    bars = [
        (float(x), float(w))
        for x, w in re.findall(r'<rect[^>]* x="([\d.]+)"[^>]* width="([\d.]+)"', svg)
    ]
    old, up, _, down, new = bars
    zero = old[0] + old[1]
    assert up[0] == pytest.approx(old[0], abs=0.6)  # begins where the old end stops, below zero
    assert new[0] == pytest.approx(zero, abs=0.02)
    assert new[0] + new[1] == pytest.approx(down[0], abs=0.02)
    assert old[1] / new[1] == pytest.approx(12 / 7, rel=1e-3)
    assert "<title" in svg and "Up +30.0 better; Down −11.0 worse (x −11.0)." in svg


def test_a_part_that_is_not_known_is_a_word_and_moves_nothing() -> None:
    step = charts.Step("A", None, "unknown")
    chart = WaterfallChart("?", "GiB", ("old", 1.0, "1"), ("new", None, "unknown"), (step,))
    assert_tidy(chart)
    assert texts(chart).count("unknown") == 2


def test_hostile_labels_in_a_waterfall() -> None:
    bad = "</svg><script>alert(1)</script>\x00\u202e&\"'" + "W" * 60
    part = charts.Part(bad, 1.0, bad)
    chart = WaterfallChart(bad, bad, (bad, 1.0, bad), (bad, 2.0, bad),
                           (charts.Step(bad, 1.0, bad, "plain", (part,)),))  # fmt: skip
    assert_tidy(chart)
    assert "<script" not in charts.render(chart, "h")


# ---- in a browser ------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (320, True)])
def test_the_browser_has_nothing_to_complain_about(tmp_path: Path, width: int, dark: bool) -> None:
    path = tmp_path / "diff.html"
    path.write_text(fleet(), "utf-8")
    with open_page(path, width, dark=dark) as page:
        assert (page.errors, page.requests) == ([], [path.resolve().as_uri()])
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.styleSheets.length") == 1
        # the policy lets no script of a later hand run
        page.evaluate(
            "void document.body.appendChild(Object.assign(document.createElement('script'),"
            "{textContent:'window.ran=1'}))"
        )
        assert page.evaluate("window.ran === undefined")
        assert any("Content Security Policy" in error for error in page.errors)


# The raw figures of a column as the table stands, and a way to its button.
_COLUMN = """[...document.getElementById(ID).parentElement.tBodies[0].rows]
  .filter(r => !r.hidden).map(r => r.cells[INDEX].dataset.v)"""
_BUTTON = """document.getElementById(ID).parentElement.tHead.rows[0].cells[INDEX]
  .querySelector('.sort')"""


def told(script: str, table: str, index: int) -> str:
    return script.replace("ID", json.dumps(table)).replace("INDEX", str(index))


def in_order(raw: list[str], way: str) -> list[str]:
    """Numbers, then words, or the other way round; what is empty comes last."""

    def key(text: str) -> tuple[bool, float, str]:
        known = re.fullmatch(r"-?[\d.]+(?:e[-+]?\d+)?", text)
        return not known, float(text) if known else 0.0, text

    known = sorted((x for x in raw if x), key=key, reverse=way == "descending")
    return [*known, *(x for x in raw if not x)]


@pytest.mark.parametrize(("table", "index"), [("t-case-1-still", 1), ("t-case-1-more", 4)])
def test_a_heading_sorts_by_raw_figure_from_the_keyboard(
    tmp_path: Path, table: str, index: int
) -> None:
    path = tmp_path / "diff.html"
    path.write_text(fleet(), "utf-8")
    with open_page(path) as page:
        page.evaluate("document.querySelectorAll('details').forEach(x => {x.open = true})")
        written = page.evaluate(told(_COLUMN, table, index))
        assert "" in written and len(set(written)) > 10
        for way in ("ascending", "descending", None):
            page.evaluate(f"{told(_BUTTON, table, index)}.focus()")
            page.press("Enter")
            found = page.evaluate(told(_COLUMN, table, index))
            assert found == (in_order(written, way) if way else written)
            marked = "[...document.querySelectorAll('[aria-sort]')].map(x => x.ariaSort)"
            assert page.evaluate(marked) == ([way] if way else [])
            wanted = f"#sort={table}.{index}.{way}" if way else ""
            assert page.evaluate("location.hash") == wanted
        assert page.errors == []


def test_words_filter_every_table_and_the_address_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "diff.html"
    path.write_text(line(), "utf-8")
    seen = "[...document.querySelectorAll('.sorts tbody tr:not(.group)')].filter(r => " \
        "!r.hidden && !r.closest('[hidden]')).map(r => r.textContent + r.closest('table')" \
        ".caption.textContent + (r.$group || ''))"  # fmt: skip
    closed = "[...document.querySelectorAll('details')].filter(x => !x.open).length"
    with open_page(path) as page:
        whole, folded = len(page.evaluate(seen)), page.evaluate(closed)
        page.evaluate("document.getElementById('q').focus()")
        for key in "gemma pool":
            page.press(key)
        found = page.evaluate(seen)
        assert 0 < len(found) < whole / 4
        assert all("gemma" in x.lower() and "pool" in x.lower() for x in found)
        assert page.evaluate("location.hash") == "#q=gemma+pool"
        assert page.evaluate("document.querySelector('.tools .mute').textContent") == (
            f"{len(found)} of {whole:,} rows"
        )
        # an anchor changes nothing, another address does
        page.evaluate("location.hash = '#provenance'")
        page.evaluate("new Promise(done => setTimeout(done, 50))")
        assert len(page.evaluate(seen)) == len(found)
        page.evaluate("location.hash = '#sort=s1-t-cases.1.descending'")
        page.evaluate("new Promise(done => setTimeout(done, 50))")
        assert (len(page.evaluate(seen)), page.evaluate(closed)) == (whole, folded)
        values = page.evaluate(told(_COLUMN, "s1-t-cases", 1))
        assert values == in_order(values, "descending") and len(set(values)) > 2
        assert page.errors == []


def test_what_stands_in_order_does_not_sort() -> None:
    """Plans, like for like and the parts of a change are read from top to bottom."""
    for caption in ("The two plans", "Parts of the change"):
        for table in re.findall(
            r'<table class="([^"]+)">\s*<caption[^>]*><span>' + caption, fleet()
        ):
            assert table == "text"


def test_print_shows_what_is_folded(tmp_path: Path) -> None:
    path = tmp_path / "diff.html"
    path.write_text(fleet(), "utf-8")
    with open_page(path) as page:
        hidden = (
            "[...document.querySelectorAll('details table')]"
            ".filter(table => !table.checkVisibility()).length"
        )
        assert page.evaluate(hidden) > 0
        page.call("Emulation.setEmulatedMedia", media="print")
        assert page.evaluate(hidden) == 0


# ---- command -----------------------------------------------------------------------------------


def test_the_ending_or_the_format_makes_a_page(capsheet: Caller) -> None:
    capsheet.write("large.yaml", SMALL.replace("h100-sxm", "b200").replace("small", "large"))
    done = capsheet("diff", "small.yaml", "large.yaml", "-o", "change.html")
    assert (done.code, done.out) == (0, "change.html\n")
    written = (capsheet.folder / "change.html").read_text("utf-8")
    shown = capsheet("diff", "small.yaml", "large.yaml", "--format", "html")
    assert (shown.code, shown.out) == (0, written)
    assert capsheet("diff", "small.yaml", "large.yaml", "--format", "md").out.startswith("<!--")
    refused = capsheet("diff", "small.yaml", "large.yaml", "--format", "html", "-o", "x.xlsx")
    assert refused.code == 2 and "another ending than .xlsx" in refused.err
    assert not (capsheet.folder / "x.xlsx").exists()
