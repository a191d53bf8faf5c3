"""Numbers as people read them: digits, signs, words, column decimals, widths."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import numbers
from reports.numbers import show

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.5, "12.5"),
        (1224.4, "1,224"),
        (0.281, "0.281"),
        (80.0, "80"),
        (79.1871, "79.2"),
        (7.5, "7.50"),
        (9.996, "10.0"),
        (99.96, "100"),
        (999.6, "1,000"),
        (12345.6, "12,346"),
        (1234567.8, "1,234,568"),
        (2.675, "2.68"),
        (-3.25, "−3.25"),
        (-1224, "−1,224"),
        (0.0001234, "0.000123"),
        (0.00001234, "1.23e−5"),
        (9.999e-6, "1.00e−5"),
        (1e16, "1.00e16"),
        (5e-324, "5.00e−324"),
    ],
)
def test_figures(value, text):
    assert show(value) == text


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1224, "count", "1,224"),
        (1234567890123, "count", "1,234,567,890,123"),
        (2**60 + 1, "count", "1,152,921,504,606,846,977"),
        (12.5, "count", "12.5"),
        (151397597184.0, "bytes", "151,397,597,184"),
        (967, "ratio", "967x"),
        (1.04, "ratio", "1.04x"),
        (0.875, "share", "87.5 %"),
        (1, "share", "100 %"),
        (0.9996, "share", "99.96 %"),
        (0.000123, "share", "0.0123 %"),
        (3, "change", "+3"),
        (-3, "change", "−3"),
        (-0.555, "change_share", "−55.5 %"),
        (0.032, "change_share", "+3.20 %"),
    ],
)
def test_kinds(value, kind, text):
    assert show(value, kind) == text


@pytest.mark.parametrize("kind", ["figure", "count", "bytes", "ratio", "share", "change"])
@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, np.float64("nan")])
def test_what_is_not_known_is_a_word(value, kind):
    assert show(value, kind) == "unknown"
    assert numbers.fixed(value, 2, kind=kind) == "unknown"
    assert show(value, kind, unknown="未知") == "未知"
    assert numbers.column([value], kind, unknown="未知") == ["未知"]


@pytest.mark.parametrize("value", [0, 0.0, -0.0])
def test_zero_has_no_digits_and_no_sign(value):
    assert show(value) == "0"
    assert show(value, "count") == "0"
    assert show(value, "change") == "0"
    assert show(value, "share") == "0 %"
    assert numbers.fixed(value, 3) == "0"


def test_array_scalars_read_like_plain_numbers():
    assert show(np.float64(12.54)) == show(12.54) == "12.5"
    assert show(np.int64(1224), "count") == "1,224"
    assert show(np.float32(0.5)) == "0.500"


def test_plain_form_is_ascii():
    assert show(-12.5, plain=True) == "-12.5"
    assert numbers.fixed(-1e-9, 12, plain=True).isascii()


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind of number"):
        show(1.0, "weight")  # type: ignore[arg-type]


@given(FLOATS)
def test_a_figure_stays_close_and_keeps_its_sign(value):
    text = show(value, plain=True).replace(",", "")
    back = Decimal(text)
    exact = Decimal(repr(value))
    assert abs(back - exact) <= abs(exact) * Decimal("0.00501")
    assert (back > 0) == (exact > 0)
    assert (back < 0) == (exact < 0)


@given(st.lists(FLOATS | st.none(), max_size=8), st.sampled_from(["figure", "share", "ratio"]))
def test_a_column_has_one_number_of_decimals(values, kind):
    texts = numbers.column(values, kind, plain=True)
    assert len(texts) == len(values)
    bodies = [text.rstrip("x %") for text in texts if text != "unknown" and "e" not in text]
    places = {len(body.partition(".")[2]) for body in bodies if body != "0"}
    assert len(places) <= 1


@pytest.mark.parametrize(
    ("values", "kind", "texts"),
    [
        ([12.5, 80], "figure", ["12.5", "80.0"]),
        ([0.281, 1224, None, 0, -3.5], "figure", ["0.28", "1,224.00", "unknown", "0", "−3.50"]),
        ([80, 141, 192], "figure", ["80", "141", "192"]),
        ([0.875, 1, 0], "share", ["87.5 %", "100.0 %", "0 %"]),
        ([1e-9, 2.5], "figure", ["0.00", "2.50"]),
        ([1.5, 967.2], "ratio", ["1.5x", "967.2x"]),
        ([0.5, -0.25], "change", ["+0.500", "−0.250"]),
        ([None, math.nan], "figure", ["unknown", "unknown"]),
        ([], "figure", []),
    ],
)
def test_columns(values, kind, texts):
    assert numbers.column(values, kind) == texts


def test_a_change_that_rounds_to_nothing_has_no_sign():
    assert numbers.fixed(0.001, 1, kind="change") == "0.0"
    assert numbers.fixed(-0.001, 1, kind="change") == "0.0"


def test_spreadsheet_formats():
    assert numbers.excel_format("bytes", 2) == "#,##0"
    assert numbers.excel_format("count") == "#,##0"
    assert numbers.excel_format("figure", 2) == "#,##0.00;-#,##0.00;0"
    assert numbers.excel_format("share", 1) == "#,##0.0 %;-#,##0.0 %;0 %"
    assert numbers.excel_format("ratio") == '#,##0"x";-#,##0"x";0"x"'
    assert numbers.excel_format("change", 1) == "+#,##0.0;-#,##0.0;0"
    assert numbers.excel_format("change_share", 1) == "+#,##0.0 %;-#,##0.0 %;0 %"


def test_widths_count_wide_characters_twice_and_marks_not_at_all():
    assert numbers.display_width("H100") == 4
    assert numbers.display_width("并发数") == 6
    assert numbers.display_width("ｶﾅ") == 2
    assert numbers.display_width("Ａ") == 2
    assert numbers.display_width("e\u0301") == 1
    assert numbers.display_width("a\u200bb") == 2
    assert numbers.pad("并发", 6) == "并发  "
    assert numbers.pad("12.5", 6, right=True) == "  12.5"
    assert numbers.pad("too long", 3) == "too long"


@given(st.text(max_size=20), st.integers(0, 24))
def test_cut_text_never_passes_its_width(text, width):
    short = numbers.cut(text, width)
    assert numbers.display_width(short) <= width
    if numbers.display_width(text) <= width:
        assert short == text
