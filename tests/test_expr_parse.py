"""Formula texts become trees; everything else is refused, at the column where it stands."""

from __future__ import annotations

import time

import pytest

from planner.expr.functions import FUNCTIONS, REWRITTEN
from planner.expr.parse import MAX_LENGTH, FormulaError, parse
from planner.expr.tree import Call, Name, Node, Number, Text, names, walk


def shape(node: Node) -> object:
    """A tree as nested tuples without columns, to be read beside its text."""
    match node:
        case Number(value=value, unit=unit):
            return (value, unit) if unit else value
        case Text(value=word):
            return f"'{word}'"
        case Name(name=name):
            return name
        case Call(function=function, args=args):
            return (function, *(shape(a) for a in args))


def refused(text: str) -> FormulaError:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    return caught.value


# ---- what is understood -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", "a"),
        ("2", 2.0),
        (".5", 0.5),
        ("1_000", 1000.0),
        ("1e3", 1000.0),
        ("'does not fit'", "'does not fit'"),
        ('"it\'s"', "'it's'"),
        ("a - (b - c)", ("sub", "a", ("sub", "b", "c"))),
        ("a - b - c", ("sub", ("sub", "a", "b"), "c")),
        ("a / (b / c)", ("div", "a", ("div", "b", "c"))),
        ("a + b * c", ("add", "a", ("mul", "b", "c"))),
        ("-a ** 2", ("neg", ("pow", "a", 2.0))),
        ("(-a) ** 2", ("pow", ("neg", "a"), 2.0)),
        ("a ** b ** c", ("pow", "a", ("pow", "b", "c"))),
        ("a - -b", ("sub", "a", ("neg", "b"))),
        ("not a and b or c", ("or", ("and", ("not", "a"), "b"), "c")),
        ("a and b and c", ("and", "a", "b", "c")),
        ("a <= b", ("le", "a", "b")),
        ("a != 'x'", ("ne", "a", "'x'")),
        ("a if b > c else d", ("if", ("gt", "b", "c"), "a", "d")),
        ("max(a, b, c)", ("max", "a", "b", "c")),
        ("unknown()", ("unknown",)),
        ("q(2, '1/token') * a", ("mul", (2.0, "1/token"), "a")),
        ("sum_of(a * b)", ("sum_of", ("mul", "a", "b"))),
        ("a\n  + b", ("add", "a", "b")),
        ("  a  ", "a"),
    ],
)
def test_a_formula_is_read_as_python_reads_it(text: str, tree: object) -> None:
    assert shape(parse(text)) == tree


def test_numbers_are_doubles_at_once_so_a_tower_of_powers_costs_nothing() -> None:
    start = time.perf_counter()
    assert shape(parse("9**9**9")) == ("pow", 9.0, ("pow", 9.0, 9.0))
    # As a whole number it has 370 million digits; reading the text must not compute it.
    assert time.perf_counter() - start < 0.5


def test_names_are_listed_once_in_written_order() -> None:
    assert names(parse("b * a + b / max(c, a)")) == ["b", "a", "c"]


def test_every_function_of_the_table_can_be_written() -> None:
    for row in FUNCTIONS.values():
        if not row.symbol:
            text = f"{row.name}({', '.join('abcdefgh'[: row.arity[0]])})"
            assert shape(parse(text)) == (row.name, *"abcdefgh"[: row.arity[0]])
    assert set(FUNCTIONS) >= REWRITTEN


@pytest.mark.parametrize("text", ["größe + b.c", "größe + (b.c)", "größe\n + b.c"])
def test_columns_count_characters_and_not_bytes(text: str) -> None:
    # "größe" has 5 characters and 7 bytes in UTF-8.
    assert text[refused(text).at] == "b"


def test_columns_point_into_the_text_as_it_was_written() -> None:
    [call] = [n for n in walk(parse("  a + max(b, c)")) if isinstance(n, Call) and n.at == 6]
    assert call.function == "max"
    assert [n.at for n in walk(call)] == [6, 10, 13]


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "at", "expected", "hint"),
    [
        ("x + a.b", 4, "a plain name", "names have no dots"),
        ("x + a[0]", 4, "a plain name", "sum_of"),
        ("x + a // b", 4, "floordiv(a, b)", "floordiv(a, b)"),
        ("a % b", 0, "divides(a, b)", "round_up_to"),
        ("a @ b", 0, "an expression", ""),
        ("a & b", 0, "an expression", ""),
        ("a << 2", 0, "an expression", ""),
        ("~a", 0, "an expression", ""),
        ("+a", 0, "an expression", ""),
        ("lambda: a", 0, "an expression", ""),
        ("x * (y := 2)", 5, "an expression", "declare another metric"),
        ("f'{a}'", 0, "a plain word in quotes", ""),
        ("[a for a in b]", 0, "an expression", ""),
        ("{a}", 0, "an expression", ""),
        ("(a, b)", 0, "an expression", ""),
        ("[a]", 0, "an expression", ""),
        ("await a", 0, "an expression", ""),
        ("a is b", 0, "an expression", ""),
        ("a in b", 0, "an expression", ""),
        ("x < y < z", 0, "one comparison at a time", "use 'and'"),
        ("x + True", 4, "a number or a word in quotes", ""),
        ("None", 0, "a number or a word in quotes", ""),
        ("b'x'", 0, "a number or a word in quotes", ""),
        ("...", 0, "a number or a word in quotes", ""),
        ("3j", 0, "a number or a word in quotes", ""),
        ("x + 1e999", 4, "a finite number", ""),
        ("9" * 400, 0, "a finite number", ""),
        ("max(*a, b)", 0, "plain arguments", ""),
        ("max(a, key=b)", 0, "plain arguments", ""),
        ("x + (a)(b)", 4, "a function of the table", ""),
        ("a.b(c)", 0, "a plain name", "names have no dots"),
        ("x + Max(a, b)", 4, "a function of the table", "did you mean 'max'?"),
        ("__import__('os')", 0, "a function of the table", ""),
        ("mul(a, b)", 0, "a function of the table", ""),
        ("neg(a)", 0, "a function of the table", ""),
        ("x + max(a)", 4, "2 to 8 arguments of max", "largest"),
        ("abs(a, b)", 0, "1 arguments of abs", "without sign"),
        ("x + q(2)", 4, 'q(number, "unit")', ""),
        ("q(a, 's')", 0, 'q(number, "unit")', ""),
        ("q(-2, 's')", 0, 'q(number, "unit")', ""),
        ("q('2', 's')", 0, 'q(number, "unit")', ""),
        ("q(True, 's')", 2, "a number or a word in quotes", ""),
        (f"q({'9' * 400}, 's')", 2, "a finite number", ""),
        ("", 0, "a formula", ""),
        (" \n ", 0, "a formula", ""),
        ("a + b # and c", 6, "a formula", "above the formula"),
        ("'\\x41'", 1, "a formula", ""),
        ("a \\\n + b", 2, "a formula", ""),
        ("a = b", 2, "a formula", ""),
        ("a; b", 1, "a formula", ""),
        ("import os", 0, "a formula", ""),
        ("a\x00", 1, "a formula", ""),
        ("a\ud800", 1, "a formula", ""),
        ("a b", 2, "a formula", ""),
        ("a + ", 2, "a formula", ""),
        ("max(a, ", 3, "a formula", ""),
        ("a + * b", 4, "a formula", ""),
        ("größe + * b", 8, "a formula", ""),
        ("1if a else 2", 0, "a formula", ""),
    ],
)
def test_whatever_is_no_formula_is_refused_at_its_column(
    text: str, at: int, expected: str, hint: str
) -> None:
    error = refused(text)
    assert expected in error.expected
    assert hint in error.hint
    assert error.at == at


def test_a_number_sign_inside_a_word_is_part_of_the_word() -> None:
    assert shape(parse("a == 'no. #1'")) == ("eq", "a", "'no. #1'")


def test_no_part_of_an_error_message_is_python_jargon_beyond_the_reason() -> None:
    assert str(refused("a +")) == (
        "column 3: expected a formula, found a syntax error (invalid syntax)"
    )


# ---- limits -------------------------------------------------------------------------------------


def test_a_formula_has_at_most_500_characters() -> None:
    longest = "a" * MAX_LENGTH
    assert shape(parse(longest)) == longest
    error = refused("a" * (MAX_LENGTH + 1))
    assert (error.expected, error.found) == ("at most 500 characters", "501 characters")


def test_5000_minus_signs_are_refused_and_do_not_overflow_the_stack() -> None:
    assert refused("-" * 5000 + "a").expected == "at most 500 characters"


@pytest.mark.parametrize("text", ["-" * 400 + "a", "not " * 100 + "a", "+".join("a" * 60)])
def test_nesting_ends_at_fifty_levels(text: str) -> None:
    error = refused(text)
    assert (error.expected, error.found) == ("at most 50 levels", "deeper nesting")


def test_brackets_that_hold_nothing_else_end_at_the_limit_of_the_reader() -> None:
    assert shape(parse("(" * 100 + "a" + ")" * 100)) == "a"
    assert "nested parentheses" in refused("(" * 240 + "a" + ")" * 240).found


def test_fifty_levels_are_enough_for_a_sum_of_fifty_terms() -> None:
    tree = parse("+".join(["a"] * 50))
    assert sum(isinstance(n, Name) for n in walk(tree)) == 50
