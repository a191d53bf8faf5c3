"""Charts of a page under a what-if: drawn as Python draws them for a plan with those inputs."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from support.browser import Page, open_page
from support.chart_examples import EXAMPLES, LINES, SVG
from support.plans import small
from support.what_if import replaced

from planner import saved
from planner.catalog import Catalog
from planner.offers import CHOSEN, Offer, offers
from planner.planning import Plan
from reports import charts, html
from reports.charts import Chart
from reports.view import view_of
from reports.view_axes import Axes
from reports.view_charts import Charts

SCENARIO = """\
name: charts
title: Few enough rows for every chart
as_of: "2026-11-29"
models: [qwen3-8b, qwen3-30b-a3b, gemma-3-27b]
gpus: [h100-sxm, h200-sxm]
contexts: [16384 tokens]
workloads:
  - {name: chat, prompt: 8192 tokens, output: 1025 tokens}
batches: [16, 64]
"""
OVERS: list[dict[str, Any]] = [
    {"batch": 24},
    {"batch": 2000},
    {"context": 100_000},
    {"prompt_tokens": 100},
    {"memory_utilization": 0.5},  # weights run over what is left
    {"compute_dtype": "fp4"},  # no such peak: unknown
    {"gpu": "b200", "kv_format": "fp8", "batch": 8},
]
DRAWN = """(() => [...document.querySelectorAll('svg.chart')].map(svg => {
  const g = svg.querySelector('[data-live]');
  const all = (tag, read) => [...g.querySelectorAll(tag)].map(read);
  const numbers = (node, names) => names.map(name => +node.getAttribute(name));
  return {
    declared: JSON.parse(g.dataset.live), said: svg.querySelector('desc').textContent,
    texts: all('text', n => n.textContent),
    rects: all('rect:not([fill*=page])', n => numbers(n, ['x', 'y', 'width'])),
    lines: all('polyline', n => [parseFloat(getComputedStyle(n).strokeWidth),
      n.getAttribute('points').split(' ').map(p => p.split(',').map(Number))]),
    high: +svg.getAttribute('viewBox').split(' ')[3],
    over: all('text', n => [n.getBBox(), n.textContent])
      .filter(([b]) => b.x < -1 || b.x + b.width > 641).map(([, text]) => text),
  };
}))()"""
ISSUED = """JSON.stringify([...document.querySelectorAll('svg.chart, td, .tiles li, .verdict')]
  .map(node => node.outerHTML))"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return small(tmp_path_factory.mktemp("charts"), SCENARIO)[0]


@pytest.fixture(scope="module")
def offered(plan: Plan) -> dict[str, list[Offer]]:
    return offers(plan, Catalog.open([]), CHOSEN)


@pytest.fixture(scope="module")
def shown(
    plan: Plan, offered: dict[str, list[Offer]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("page") / "charts.html"
    path.write_text(html.render(view_of(plan, offered), saved.dumps(saved.document(plan))), "utf-8")
    with open_page(path) as page:
        yield page
        assert page.errors == []


def ask(page: Page, over: dict[str, Any]) -> None:
    page.evaluate(f"location.hash={json.dumps('#' + urllib.parse.urlencode(over))}")
    page.evaluate("new Promise(done=>setTimeout(done,300))")


def python_charts(issued: Plan, plan: Plan) -> list[Chart]:
    """The charts in the order of the page, with the rows that were issued."""
    made = Charts(plan, Axes(issued))
    found = (
        made.concurrency(), made.ledgers(), made.limits(), made.thresholds(), made.compute(),
        made.requests(),
    )  # fmt: skip
    return [chart for chart in found if chart is not None]


def drawn(chart: Chart) -> dict[str, Any]:
    """What the page's script reads of its own charts, of one that Python drew."""
    root = ElementTree.fromstring(charts.render(chart, "c"))
    group = next(node for node in root if node.get("data-live"))
    page = {node.get("fill") for node in group.iter() if "f-page" in (node.get("class") or "")}
    return {
        "declared": json.loads(str(group.get("data-live"))),
        "texts": ["".join(n.itertext()) for n in group.iter(f"{SVG}text")],
        "rects": [
            [float(str(n.get(name))) for name in ("x", "y", "width")]
            for n in group.iter(f"{SVG}rect")
            if n.get("fill") not in page
        ],
        "lines": [
            [
                float(str(n.get("stroke-width"))),
                [[float(v) for v in p.split(",")] for p in str(n.get("points")).split()],
            ]
            for n in group.iter(f"{SVG}polyline")
        ],
    }


CLOSE = 0.012  # of the longest row: about the pixel that keeps neighbours apart, on both sides


def lengths(one: dict[str, Any]) -> list[float]:
    """Starts, widths and places of marks in bars and stacks, as shares of the longest row."""
    left = one["declared"]["left"]
    places = sorted(points[-1][0] - left for width, points in one["lines"] if width >= 1.5)
    ends = [x + width - left for x, _, width in one["rects"]] or places or [1.0]
    longest = max(ends)
    found = [part / longest for x, _, width in one["rects"] for part in (x - left, width)]
    marks: list[float] = []
    for place in places:
        # What all bars have in common is one line in Python and may be a tick on each in the page.
        if not marks or place / longest - marks[-1] > CLOSE:
            marks.append(place / longest)
    return [*found, *marks]


def curves(one: dict[str, Any]) -> list[float]:
    """Every spot of every line, as shares of the plot."""
    axes = one["declared"]
    left = min(points[0][0] for _, points in one["lines"])
    wide, high = axes["right"] - left, axes["top"] - axes["base"]
    return [
        share
        for width, points in one["lines"]
        if width == 2 and len(points) > 2 and points[-1][0] <= axes["right"] + 1
        for x, y in points
        for share in ((x - left) / wide, (y - axes["base"]) / high)
    ]


def labels(one: dict[str, Any], digits: int | None) -> list[tuple[str, float | str]]:
    """Texts in order, names of marks once; of a stack the last word as a number, rounded."""
    if digits is None:
        marks = {text for text in one["texts"] if text.startswith("planned batch")}
        return sorted(
            [(text, "") for text in one["texts"] if text not in marks]
            + [(text, "") for text in marks]
        )
    parts = (text.rpartition(" ")[::2] for text in one["texts"])
    return sorted((name, round(number(word), digits)) for name, word in parts)


def number(word: str) -> float:
    return float(word.replace(",", "").replace("\u2212", "-"))


@pytest.mark.parametrize("over", OVERS, ids=lambda over: "-".join(over))
def test_the_page_draws_what_python_draws(
    over: dict[str, Any], plan: Plan, offered: dict[str, list[Offer]], shown: Page
) -> None:
    ask(shown, over)
    found = shown.evaluate(DRAWN)
    wanted = [drawn(chart) for chart in python_charts(plan, replaced(plan, offered, over))]
    assert [one["declared"]["draw"] for one in found] == [
        "bars", "stacks", "bars", "curves", "bars", "curves",
    ]  # fmt: skip
    for page, python in zip(found, wanted, strict=True):
        kind = python["declared"]["draw"]
        digits = [one["declared"].get("digits") for one in (page, python)]
        least = None if None in digits else min(digits)
        if least is None:
            assert labels(page, None) == labels(python, None)
        else:
            mine, other = labels(page, least), labels(python, least)
            assert [name for name, _ in mine] == [name for name, _ in other]
            # One of both is rounded twice.
            for (_, one), (_, two) in zip(mine, other, strict=True):
                assert one == pytest.approx(two, abs=1.1 * 10**-least)
        measure = curves if kind == "curves" else lengths
        assert measure(page) == pytest.approx(measure(python), abs=CLOSE), (kind, over)
        assert measure(page) != []
        assert page["over"] == []
        assert all(text in page["said"] for text in page["texts"])


def test_what_if_moves_something_in_every_chart_and_the_issued_plan_comes_back(
    shown: Page,
) -> None:
    ask(shown, {})
    before = shown.evaluate(ISSUED)
    drawn_before = shown.evaluate(DRAWN)
    for over in OVERS[-1:]:
        ask(shown, over)
        for one, other in zip(drawn_before, shown.evaluate(DRAWN), strict=True):
            assert one["texts"] != other["texts"] or one["lines"] != other["lines"]
        notes = shown.evaluate(
            "[...document.querySelectorAll('figure .not-live')].map(n=>n.hidden?'':n.textContent)"
        )
        assert len(notes) == 6 and all("Planned batch 8 requests" in note for note in notes)
    shown.evaluate("document.querySelector('#what-if button[type=reset]').click()")
    shown.evaluate("new Promise(done=>setTimeout(done,300))")
    assert shown.evaluate(ISSUED) == before
    assert shown.evaluate("[...document.querySelectorAll('.not-live')].every(n=>n.hidden)")


def test_a_chart_that_does_not_say_what_it_stands_for_is_not_live() -> None:
    for spec in EXAMPLES:
        assert "data-live" not in charts.render(spec, "c")
    assert LINES.log_x and LINES.lines[0].of is None


def test_names_in_what_a_chart_declares_stay_text(shown: Page) -> None:
    name = "</svg><script>alert(1)</script>'\"&"
    chart = charts.BarChart(
        "t", "u", (charts.Bar("a", 1.0, of=charts.Figure("batch", (0,)),
                              told=charts.Note(name), note=name),),
    )  # fmt: skip
    made = charts.render(chart, "c")
    assert "<script" not in made
    group = next(n for n in ElementTree.fromstring(made) if n.get("data-live"))
    assert json.loads(str(group.get("data-live")))["bars"][0]["words"] == name
