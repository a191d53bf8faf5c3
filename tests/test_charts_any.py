"""Charts of any data are tidy; the parts that place labels and ticks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chart_examples import (
    assert_tidy,
)

from reports import charts, charts_axes, charts_text
from reports.charts import (
    Bar,
    BarChart,
    Level,
    Line,
    LineChart,
    Mark,
    Part,
    Point,
    Segment,
    StackChart,
    StackRow,
    Step,
    WaterfallChart,
)

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


ENDS = st.tuples(LABELS, NUMBERS, LABELS)
TONES = st.sampled_from(["better", "worse", "plain"])
PARTS = st.lists(st.builds(Part, LABELS, NUMBERS, LABELS, TONES), max_size=3).map(tuple)


@settings(max_examples=60, deadline=None)
@given(ENDS, ENDS, st.lists(st.builds(Step, LABELS, NUMBERS, LABELS, TONES, PARTS), max_size=4))
def test_any_waterfalls_are_tidy(old, new, steps):
    assert_tidy(WaterfallChart("What?", "unit", old, new, tuple(steps)))


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
