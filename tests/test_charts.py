"""Charts: well-formed, safe, stable, and with labels that neither collide nor leave the picture."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from support.chart_examples import (
    BARS,
    EXAMPLES,
    HOSTILE,
    LINES,
    STACK,
    SVG,
    assert_tidy,
    texts,
    tree,
)

from reports import charts, palette
from reports.charts import (
    Bar,
    BarChart,
    Level,
    Line,
    LineChart,
    Mark,
    Point,
    Segment,
    StackChart,
    StackRow,
)


@pytest.mark.parametrize("spec", EXAMPLES)
def test_labels_neither_collide_nor_leave_the_picture(spec):
    assert_tidy(spec)


@pytest.mark.parametrize("spec", EXAMPLES)
def test_an_element_names_itself_and_its_ids_begin_with_the_prefix(spec):
    root = tree(spec, "part-7")
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    named = root.get("aria-labelledby").split()
    assert [node.get("id") for node in root[:2]] == named
    assert root[0].tag == f"{SVG}title"
    assert root[1].tag == f"{SVG}desc"
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    assert all(name.startswith("part-7-") for name in ids)
    assert root[0].text == spec.title
    assert root[1].text == charts.describe(spec)


@pytest.mark.parametrize("spec", EXAMPLES)
def test_shapes_carry_their_colours_and_only_those_of_the_palette(spec):
    allowed = {c.value("light") for c in palette.VARIABLES.values()} | {"none"}
    allowed |= {palette.text_on(entry.fill.light) for entry in palette.SERIES}
    classes = set(re.findall(r"\.chart \.([fs]-[a-z0-9-]+)\{", charts.css()))
    for node in tree(spec).iter():
        if node.tag in {f"{SVG}{name}" for name in ("rect", "polyline", "circle", "text")}:
            assert node.get("fill") in allowed
            assert node.get("stroke", "none") in allowed
            assert set(node.get("class", "").split()) <= classes
        assert node.get("style") is None
        assert not [name for name in dict(node.items()) if name.startswith("on")]


@pytest.mark.parametrize("spec", EXAMPLES)
def test_same_data_same_bytes_and_plain_numbers(spec):
    svg = charts.render(spec, "a")
    assert svg == charts.render(spec, "a")
    assert svg.replace("a-title", "b-title").replace("a-desc", "b-desc") == charts.render(spec, "b")
    for node in ElementTree.fromstring(svg).iter():
        for name, value in node.items():
            if name in ("x", "y", "width", "height", "cx", "cy", "r", "x1", "x2", "points"):
                assert re.fullmatch(r"(-?[0-9]+(\.[0-9]{1,2})?[, %]?)+", value), (name, value)


def test_the_view_box_is_640_wide_and_lines_are_320_high():
    assert tree(LINES).get("viewBox") == "0 0 640 320"
    assert tree(LINES).get("width") == "100%"
    few = tree(BarChart("t", "u", BARS.bars[:1]))
    many = tree(BarChart("t", "u", BARS.bars * 6))
    heights = [float(root.get("viewBox").split()[3]) for root in (few, many)]
    assert heights[0] < heights[1]


def test_what_is_not_known_is_drawn_as_the_word():
    assert texts(BARS).count("unknown") == 1
    assert "B* unknown" in texts(BARS)
    assert "overhead unknown" in texts(STACK)
    assert "not measured unknown" in texts(LINES)
    translated = BarChart("t", "u", (Bar("a", math.inf), Bar("b", math.nan)), unknown="未知")
    assert texts(translated).count("未知") == 2
    assert "unknown" not in charts.render(translated, "c")
    rects = [node for node in tree(translated).iter(f"{SVG}rect")]
    assert not rects


def test_zero_has_a_digit_and_no_bar():
    assert "0" in texts(BarChart("t", "u", (Bar("a", 0), Bar("b", 5))))
    assert len(list(tree(BarChart("t", "u", (Bar("a", 0), Bar("b", 5)))).iter(f"{SVG}rect"))) == 1


def test_a_small_value_leaves_a_trace():
    rects = list(tree(BarChart("t", "u", (Bar("a", 1e-9), Bar("b", 5)))).iter(f"{SVG}rect"))
    assert min(float(rect.get("width")) for rect in rects) >= 1


def test_a_mark_of_all_bars_becomes_one_line_across():
    shown = texts(BARS)
    assert shown.count("planned 64") == 1
    assert {"B* 148", "B* 295", "demand 300"} <= set(shown)


def test_a_mark_far_outside_is_named_but_does_not_shrink_the_bars():
    spec = BarChart("t", "u", (Bar("a", 10),), thresholds=(Mark("limit", 9e6),))
    assert "limit 9,000,000 →" in texts(spec)
    (rect,) = tree(spec).iter(f"{SVG}rect")
    assert float(rect.get("width")) > 400


def test_bars_may_start_anywhere_and_go_left():
    spec = BarChart("t", "u", (Bar("a", 100), Bar("b", -140, start=100), Bar("sum", -40)), "change")
    assert_tidy(spec)
    assert {"+100", "−140", "−40"} <= set(texts(spec))
    first, second, third = (
        (float(r.get("x")), float(r.get("x")) + float(r.get("width")))
        for r in tree(spec).iter(f"{SVG}rect")
    )
    assert first[1] == pytest.approx(second[1], abs=0.02)
    assert second[0] == pytest.approx(third[0], abs=0.02)
    assert first[0] == pytest.approx(third[1], abs=0.02)


def test_parts_of_a_stack_add_up_on_paper_and_keep_their_colour():
    assert {"weights 65.8", "overhead 3.2", "KV pool 2.3", "unused 7.9"} <= set(texts(STACK))
    fills = [rect.get("fill") for rect in tree(STACK).iter(f"{SVG}rect")]
    assert fills[:3] == [palette.SERIES[i].fill.light for i in range(3)]
    assert fills.count(palette.SERIES[0].fill.light) == 3
    assert "KV pool −24.6" in texts(STACK)


def test_log_axes_place_equal_ratios_equally():
    (first, *_) = tree(LINES).iter(f"{SVG}polyline")
    path = next(
        node.get("points")
        for node in tree(LINES).iter(f"{SVG}polyline")
        if node.get("stroke") == palette.SERIES[0].edge.light
    )
    spots = [tuple(map(float, pair.split(","))) for pair in path.split()]
    steps = {(round(b[0] - a[0], 1), round(b[1] - a[1], 1)) for a, b in pairwise(spots)}
    assert len({x for x, _ in steps}) <= 2
    assert len({y for _, y in steps}) <= 2
    assert first is not None


def test_a_gap_splits_a_line():
    tone = palette.SERIES[1].edge.light
    runs = [
        node.get("points").split()
        for node in tree(LINES).iter(f"{SVG}polyline")
        if node.get("stroke") == tone
    ]
    assert sorted(len(run) for run in runs) == [3, 3, 4]  # two runs and the leader of the name


def test_steps_have_square_corners():
    spec = LineChart("t", "x", "y", (Line("a", ((0, 1), (1, 5), (2, 2)), step=True),))
    path = max((n.get("points") for n in tree(spec).iter(f"{SVG}polyline")), key=len)
    spots = [tuple(map(float, pair.split(","))) for pair in path.split()]
    assert len(spots) == 5
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(spots))


@pytest.mark.parametrize(
    "spec",
    [
        BarChart(HOSTILE, HOSTILE, (Bar(HOSTILE, 1, HOSTILE, (Mark(HOSTILE, 2),)),)),
        StackChart(HOSTILE, HOSTILE, (StackRow(HOSTILE, (Segment(HOSTILE, 1),)),)),
        LineChart(
            HOSTILE, HOSTILE, HOSTILE, (Line(HOSTILE, ((1, 2), (2, 3))),),
            (Level(HOSTILE, 1),), (Point(HOSTILE, 1, 2, HOSTILE),), x_ticks=((1, HOSTILE),),
        ),
    ],
)  # fmt: skip
def test_foreign_text_stays_text(spec):
    svg = charts.render(spec, "c")
    assert "<script" not in svg
    assert svg.count("</svg>") == 1
    assert "\x00" not in svg
    assert "\u202e" not in svg
    svg.encode("utf-8")
    assert all(node.tag != f"{SVG}script" for node in ElementTree.fromstring(svg).iter())


@pytest.mark.parametrize("prefix", ["", "1a", 'a"b', "a b", "ä"])
def test_a_prefix_must_be_a_plain_id(prefix):
    with pytest.raises(ValueError, match="plain id"):
        charts.render(BARS, prefix)


@pytest.mark.parametrize(
    "spec",
    [
        BarChart("t", "", ()),
        StackChart("t", "", ()),
        StackChart("t", "u", (StackRow("", (Segment("a", None),)),)),
        LineChart("t", "x", "y", ()),
        LineChart("t", "x", "y", (Line("a", ()),)),
        LineChart("t", "x", "y", (Line("a", ((1, 3),)),)),
        LineChart("t", "x", "y", (Line("a", ((1, 0), (2, -1))),), log_x=True, log_y=True),
        LineChart("t", "x", "y", (Line("a", ((1, 5e-324), (2, 1e308))),), log_y=True),
        LineChart("t", "x", "y", (Line("a", ((1e17, 1e17), (1e17, 1e17))),)),
        LineChart("t", "x", "y", (), (Level("only", 5),), (Point("here", 3, 4),)),
    ],
)
def test_little_or_odd_data_still_gives_a_chart(spec):
    assert_tidy(spec)
