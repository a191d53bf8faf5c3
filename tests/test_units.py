"""Units: exact factors, checked dimensions, refused spellings with a hint."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.units import (
    BASES,
    NO_DIMENSION,
    Dimension,
    Unit,
    UnitError,
    dimension_text,
    example,
    names,
    parse_quantity,
    parse_unit,
)


def refused_unit(text: str) -> UnitError:
    with pytest.raises(UnitError) as caught:
        parse_unit(text)
    return caught.value


def refused(text: str, wanted: str) -> UnitError:
    with pytest.raises(UnitError) as caught:
        parse_quantity(text, wanted)
    return caught.value


# ---- the table ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_every_unit_is_read_back_from_its_base_unit(name: str) -> None:
    unit = parse_unit(name)
    base = parse_unit(unit.base.text)
    assert (base.factor, base.dimension) == (1, unit.dimension)
    # 3 of the unit are so many base units, and back.
    number = parse_quantity(f"3 {name}", unit.base.text)
    assert number == float(3 * unit.factor)
    assert parse_quantity(f"{number!r} {base.text}", name) == number


@pytest.mark.parametrize(
    ("text", "factor", "base"),
    [
        ("GB", 10**9, "byte"),
        ("GiB", 2**30, "byte"),
        ("MiB", 1024 * 1024, "byte"),
        ("kB", 1000, "byte"),
        ("bit", Fraction(1, 8), "byte"),
        ("Gbit", 125_000_000, "byte"),
        ("TB/s", 10**12, "byte/s"),
        ("ms", Fraction(1, 1000), "s"),
        ("h", 3600, "s"),
        ("month", 2_628_000, "s"),  # 365 / 12 days
        ("TFLOP/s", 10**12, "flop/s"),
        ("%", Fraction(1, 100), "1"),
        ("W", 1, "J/s"),
        ("kWh", 3_600_000, "J"),
        ("usd/gpu/h", Fraction(1, 3600), "usd/s/gpu"),
        ("GiB/request/gpu", 2**30, "byte/request/gpu"),
        ("byte^2/token^2", 1, "byte^2/token^2"),
        ("token*gpu/s", 1, "token*gpu/s"),
        ("byte*token/token", 1, "byte"),
    ],
)
def test_factors_are_exact(text: str, factor: Fraction | int, base: str) -> None:
    unit = parse_unit(text)
    assert unit.factor == factor
    assert dimension_text(unit.dimension) == base


def test_decimal_and_binary_prefixes_are_seven_per_cent_apart() -> None:
    # 80 GB and 80 GiB differ by 2^30 / 10^9 = 1.073741824.
    gap = parse_quantity("80 GiB", "byte") / parse_quantity("80 GB", "byte")
    assert gap == pytest.approx(1.073741824, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("KB", "write kB for 1,000 bytes or KiB for 1,024 bytes"),
        ("K", "write kB, KiB or the full number"),
        ("G", "write GB for 1e9 bytes or GiB for 2^30 bytes"),
        ("Gb", "write GB for bytes or Gbit for bits"),
        ("Mb", "write MB for bytes"),
        ("gb", "write GB for 1e9 bytes or GiB for 2^30 bytes"),
        ("gib", "write GiB"),
        ("TB/S", "write s"),
        ("TFLOPS", "write TFLOP/s"),
        ("tok", "write token"),
        ("$", "write usd"),
        ("hours", "write h"),
        ("GPUs", "did you mean 'GPU'?"),
        ("tokns", "did you mean 'tokens'?"),
        ("gigs", ""),
        ("byte token", "write byte/token for 'per'"),
    ],
)
def test_other_spellings_are_refused_with_the_right_one(text: str, hint: str) -> None:
    assert refused_unit(text).hint == hint


@pytest.mark.parametrize("text", ["", " ", "/s", "byte/", "byte//s", "byte**2", "byte^", "byte^x",
                                  "byte^1.5", "byte^100", "2 byte", "byte\n/s"])  # fmt: skip
def test_what_is_no_product_of_names_is_no_unit(text: str) -> None:
    refused_unit(text)


# ---- arithmetic of units ------------------------------------------------------------------------

units = st.lists(st.sampled_from(names()), min_size=1, max_size=4).map("*".join).map(parse_unit)


@given(units, units)
@settings(derandomize=True)
def test_multiplying_and_dividing_undo_each_other(a: Unit, b: Unit) -> None:
    back = a * b / b
    assert (back.factor, back.dimension) == (a.factor, a.dimension)
    ratio = a / a
    assert (ratio.factor, ratio.dimension, ratio.is_plain) == (1, NO_DIMENSION, True)


@given(st.lists(st.integers(-3, 3), min_size=len(BASES), max_size=len(BASES)).map(tuple))
@settings(derandomize=True)
def test_a_dimension_is_read_back_from_its_text(dimension: Dimension) -> None:
    assert parse_unit(dimension_text(dimension)).dimension == dimension


def test_a_power_multiplies_exponents_and_factors() -> None:
    unit = parse_unit("kB/token").power(-2)
    assert unit.factor == Fraction(1, 1_000_000)
    assert dimension_text(unit.dimension) == "token^2/byte^2"
    assert not parse_unit("%").is_plain


# ---- quantities ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted", "value"),
    [
        ("80 GB", "byte", 80e9),
        ("80GB", "byte", 80e9),
        (" 80  GB ", "byte", 80e9),
        ("81559 MiB", "byte", 85_520_809_984.0),
        ("3.35 TB/s", "byte/s", 3.35e12),
        ("989.5 TFLOP/s", "flop/s", 989.5e12),
        ("2.5 usd/gpu/h", "usd/s/gpu", 2.5 / 3600),
        ("8,192 tokens", "token", 8192.0),
        ("1,048,576 tokens", "token", 1_048_576.0),
        ("8_192 tokens", "token", 8192.0),
        ("1e3 GB", "byte", 1e12),
        ("1.5E-3 s", "s", 0.0015),
        (".5 GB", "byte", 5e8),
        ("5. GB", "byte", 5e9),
        ("-3 GB", "byte", -3e9),
        ("90 %", "1", 0.9),
        ("90%", "1", 0.9),
        ("0.9", "1", 0.9),
        ("80", "1", 80.0),
        ("0.1 %", "1", 0.001),
    ],
)
def test_quantities_are_read_into_base_units(text: str, wanted: str, value: float) -> None:
    assert parse_quantity(text, wanted) == value


@pytest.mark.parametrize(
    ("text", "wanted", "expected", "hint"),
    [
        ("80", "byte", "80 GB", "add the unit: '80 GB'"),
        ("3.35", "byte/s", "3.35 TB/s", "add the unit: '3.35 TB/s'"),
        ("80 gigs", "byte", "a known unit", ""),
        ("80 KB", "byte", "a known unit", "write kB for 1,000 bytes or KiB for 1,024 bytes"),
        ("80 GB/s", "byte", "a unit of byte", ""),
        ("80 Gbit/s", "byte", "a unit of byte", ""),
        ("GB", "byte", "80 GB", ""),
        ("", "byte", "80 GB", ""),
        ("1,5 GB", "byte", "80 GB", "write 1.5, with a point"),
        ("1,50 GB", "byte", "80 GB", "write 1.50, with a point"),
        ("12,34,567 tokens", "token", "8192 tokens", ""),
        ("1,,000 tokens", "token", "8192 tokens", ""),
        ("3..5 GB", "byte", "80 GB", ""),
        ("8_ GB", "byte", "80 GB", ""),
        ("1 000 GB", "byte", "a unit such as", ""),
        ("1/2 GB", "byte", "a unit such as", ""),
        ("nan", "1", "a number", ""),
        ("inf GB", "byte", "80 GB", ""),
        ("1e400 GB", "byte", "a number below 1e100", ""),
        ("9" * 5000, "1", "a number of at most 100 digits", ""),
    ],
)
def test_anything_else_is_refused_and_says_what_was_expected(
    text: str, wanted: str, expected: str, hint: str
) -> None:
    error = refused(text, wanted)
    assert expected in error.expected
    assert hint in error.hint
    assert len(error.found) < 140


def test_a_decimal_comma_never_becomes_a_number_ten_times_as_large() -> None:
    for text in ("1,5 GB", "0,25 GB", "12,5 GB", "3,35 TB"):
        refused(text, "byte")


@given(st.floats(0, 1e15, allow_nan=False), st.sampled_from(["byte", "GB", "GiB", "kB"]))
@settings(derandomize=True)
def test_any_double_with_a_unit_is_read_with_one_rounding(number: float, name: str) -> None:
    exact = Fraction(repr(number)) * parse_unit(name).factor
    assert parse_quantity(f"{number!r} {name}", "byte") == float(exact)


@given(st.text(max_size=12))
@settings(derandomize=True, max_examples=300)
def test_no_text_does_anything_but_give_a_number_or_a_reason(text: str) -> None:
    for wanted in ("1", "byte"):
        try:
            assert math.isfinite(parse_quantity(text, wanted))
        except UnitError as error:
            assert error.expected
            assert error.found


def test_every_unit_has_an_example_that_can_be_read() -> None:
    for name in names():
        assert parse_quantity(example(name), name) > 0
