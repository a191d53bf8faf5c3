"""Charts: well-formed, safe, stable, and with labels that neither collide nor leave the picture."""

from __future__ import annotations

import math
import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports import charts, charts_axes, charts_text, palette
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

SVG = "{http://www.w3.org/2000/svg}"
CONTEXTS = [1024 * 2**power for power in range(8)]
HOSTILE = "</svg><script>alert(1)</script>\x00\u202e\ud800&\"'"

BARS = BarChart(
    "How many requests can one GPU hold?",
    "requests per GPU",
    (
        Bar("B200", 1224, "memory", (Mark("planned", 64, True), Mark("B*", 148))),
        Bar("H100 SXM", 281, "KV reads", (Mark("planned", 64, True), Mark("B*", 295))),
        Bar("RTX PRO 6000 Blackwell Server Edition", 0.4, "", (Mark("planned", 64, True),)),
        Bar("昇腾 910C（单芯片）", None, "", (Mark("planned", 64, True), Mark("B*", None))),
    ),
    "count",
    (Mark("demand", 300),),
)
STACK = StackChart(
    "Where does the memory of one GPU go?",
    "GiB per GPU",
    (
        StackRow(
            "H100 SXM",
            (
                Segment("weights", 65.8),
                Segment("overhead", 3.2),
                Segment("KV pool", 2.31),
                Segment("unused", 7.9, quiet=True),
            ),
            Mark("framework total", 79.2),
        ),
        StackRow("L40S", (Segment("weights", 65.8), Segment("KV pool", -24.6))),
        StackRow("A100", (Segment("weights", 32.9), Segment("overhead", None))),
    ),
)
LINES = LineChart(
    "When do KV reads overtake weight reads?",
    "context, tokens",
    "requests per replica, both axes logarithmic",
    (
        Line("B* KV reads", tuple((h, 427_000 / h) for h in CONTEXTS)),
        Line("other model", tuple((h, None if h == 8192 else 9e5 / h) for h in CONTEXTS)),
        Line("not measured", tuple((h, math.nan) for h in CONTEXTS)),
    ),
    (Level("B* compute", 147.7),),
    (Point("planned", 8192, 64),),
    log_x=True,
    log_y=True,
)
EXAMPLES = [BARS, STACK, LINES]


def tree(spec, prefix="c1"):
    return ElementTree.fromstring(charts.render(spec, prefix))


def texts(spec):
    return ["".join(node.itertext()) for node in tree(spec).iter(f"{SVG}text")]


def boxes(spec):
    """Left, top, right, bottom of every text, by the widths that the layout itself uses."""
    found = []
    for node in tree(spec).iter(f"{SVG}text"):
        text, size = "".join(node.itertext()), float(node.get("font-size"))
        width = charts_text.text_width(text, size, bold=node.get("font-weight") == "600")
        share = {"start": 0, "middle": 0.5, "end": 1}[node.get("text-anchor", "start")]
        left, base = float(node.get("x")) - share * width, float(node.get("y"))
        found.append((text, left, base - 0.75 * size, left + width, base + 0.22 * size))
    return found


def assert_tidy(spec):
    view = [float(part) for part in tree(spec).get("viewBox").split()]
    found = boxes(spec)
    for text, left, top, right, bottom in found:
        assert left >= -0.5, text
        assert right <= view[2] + 0.5, text
        assert top >= 0, text
        assert bottom <= view[3] + 0.5, text
    for one, two in combinations(found, 2):
        wide = min(one[3], two[3]) - max(one[1], two[1])
        high = min(one[4], two[4]) - max(one[2], two[2])
        assert wide <= 0.5 or high <= 1.5, f"{one[0]!r} and {two[0]!r}"


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


NUMBERS = st.none() | st.floats() | st.integers(-5000, 5000) | st.floats(0.001, 1e6)
LABELS = st.text(min_size=1, max_size=40) | st.sampled_from(
    ["B* compute", "单卡并发上限", "W" * 30]
)
MARKS = st.builds(Mark, LABELS, NUMBERS, st.booleans())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            Bar, LABELS, NUMBERS, st.just("") | LABELS, st.lists(MARKS, max_size=3).map(tuple)
        ),
        max_size=5,
    ),
    st.lists(MARKS, max_size=3),
)
def test_any_bars_are_tidy(bars, thresholds):
    assert_tidy(BarChart("What?", "unit", tuple(bars), thresholds=tuple(thresholds)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            StackRow,
            st.just("") | LABELS,
            st.lists(st.builds(Segment, LABELS, NUMBERS, st.booleans()), max_size=6).map(tuple),
            st.none() | MARKS,
        ),
        max_size=4,
    )
)
def test_any_stacks_are_tidy(rows):
    assert_tidy(StackChart("What?", "unit", tuple(rows)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(Line, LABELS, st.lists(st.tuples(st.floats(1, 1e6), NUMBERS), max_size=6)
                  .map(lambda points: tuple(sorted(points, key=lambda point: point[0])))),
        max_size=5,
    ),
    st.lists(st.builds(Level, LABELS, NUMBERS), max_size=2),
    st.lists(st.builds(Point, LABELS, NUMBERS, NUMBERS, st.just("") | LABELS), max_size=2),
    st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_any_lines_are_tidy(lines, levels, points, log_x, log_y):
    spec = LineChart(
        "What?", "x", "y", tuple(lines), tuple(levels), tuple(points), log_x=log_x, log_y=log_y
    )
    assert_tidy(spec)


@given(
    st.lists(st.tuples(st.floats(-100, 700), st.floats(1, 60)), min_size=1, max_size=8),
)
def test_spread_items_keep_order_distance_and_bounds(items):
    items.sort()
    wanted, sizes = [at for at, _ in items], [size for _, size in items]
    placed = charts_text.spread(wanted, sizes, 0, 640, 4)
    for (a, size_a), (b, size_b) in zip(
        zip(placed, sizes, strict=True), list(zip(placed, sizes, strict=True))[1:], strict=False
    ):
        assert b - a >= (size_a + size_b) / 2 + 4 - 1e-6
    assert placed[0] - sizes[0] / 2 >= -1e-6
    assert placed[-1] + sizes[-1] / 2 <= 640 + 1e-6


def test_spread_leaves_alone_what_does_not_collide():
    assert charts_text.spread([100, 300], [50, 50], 0, 640) == [100, 300]
    assert charts_text.spread([], [], 0, 640) == []


def test_wrapping_prefers_joints_and_ends_in_an_ellipsis():
    assert charts_text.wrap("one two", 500) == ["one two"]
    assert charts_text.wrap("RTX PRO 6000 Blackwell Server", 140) == [
        "RTX PRO 6000",
        "Blackwell Server",
    ]
    lines = charts_text.wrap("x" * 200, 100)
    assert len(lines) == 2
    assert lines[-1].endswith("…")
    assert all(charts_text.text_width(line) <= 100 for line in lines)


@pytest.mark.parametrize(
    ("low", "high", "log", "expected"),
    [
        (0, 100, False, [0, 20, 40, 60, 80, 100]),
        (0, 0.3, False, [0, 0.1, 0.2, 0.3]),
        (1, 1000, True, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]),
        (1, 1e6, True, [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
    ],
)
def test_ticks(low, high, log, expected):
    assert charts_axes.ticks(charts_axes.Axis(low, high, 0, 100, log)) == expected


def test_tick_texts_have_the_digits_they_need():
    assert charts_axes.tick_texts([0.0, 0.5, 1.0], "figure", log=False) == ["0", "0.5", "1.0"]
    assert charts_axes.tick_texts([0.1, 1.0, 10.0], "figure", log=True) == ["0.1", "1", "10"]
    assert charts_axes.tick_texts([0.25, 0.5], "share", log=False) == ["25 %", "50 %"]


def test_coordinates_refuse_what_is_not_finite():
    from reports.charts_svg import coordinate

    assert coordinate(-0.001) == "0"
    assert coordinate(1.5) == "1.5"
    with pytest.raises(ValueError, match="finite"):
        coordinate(math.nan)


def test_chart_styles_use_variables_only():
    assert "#" not in charts.css()
    assert ".chart .f-ink{fill:var(--ink)}" in charts.css()
