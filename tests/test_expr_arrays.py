"""Formulas in numpy: failures spread, nothing is infinite, the fast form is the safe form."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.formula_generator import Generator, Vocabulary
from support.holes import has_holes

from planner.expr.check import CASE, GROUP, PLAN, STAGE, Checker, Type
from planner.expr.functions import FUNCTIONS, REWRITTEN
from planner.expr.parse import parse
from planner.expr.to_arrays import Array, ArrayFormula, compile_arrays

WORDS = ("memory", "reads", "compute")
NAN = math.nan

# One letter a kind: numbers a b c, whole numbers i j k, flags f g, a choice w; g_ layer groups.
SCOPE: dict[str, Type] = {
    **{n: Type("number", grain=CASE) for n in "abc"},
    **{n: Type("number", whole=True, grain=CASE) for n in "ijk"},
    **{n: Type("flag", grain=CASE) for n in "fg"},
    "w": Type("choice", words=WORDS, grain=CASE),
    "l": Type("places", grain=CASE),
    "p": Type("number", grain=PLAN),
    "g_a": Type("number", grain=GROUP),
    "g_i": Type("number", whole=True, grain=GROUP),
    "g_f": Type("flag", grain=GROUP),
    "v_a": Type("number", grain=CASE),
    "v_i": Type("number", whole=True, grain=CASE),
    "v_f": Type("flag", grain=CASE),
}
STAGES = {"s_i": Type("number", whole=True, grain=STAGE)}
CHECKER = Checker(SCOPE | STAGES, {"ladder": SCOPE["v_i"]})


def compiled(text: str, words: tuple[str, ...] = ()) -> ArrayFormula:
    tree, kind = CHECKER.check(parse(text), words)
    return compile_arrays(tree, kind.kind == "flag")


def run(formula: ArrayFormula, columns: Mapping[str, Any]) -> tuple[Array, bool]:
    arrays = {
        name: np.asarray(values, dtype=object if name == "l" else None)
        for name, values in columns.items()
    }
    return formula.run(arrays.__getitem__, lambda name: has_holes(arrays[name]))


def value(text: str, **columns: Any) -> float:
    """The result of one case; unknown is NaN."""
    result, failed = run(compiled(text, WORDS if text.startswith("arg") else ()), columns)
    number = float(result if result.ndim == 0 else result[0])
    assert failed == math.isnan(number)
    return number


# ---- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "a / b", "b / b", "ln(b)", "ln(-a)", "sqrt(-a)", "b ** (-1)", "(-a) ** (1 / 2)",
        "unknown()", "floordiv(i, j)", "ceildiv(i, j)", "divides(j, i)", "round_up_to(i, j)",
    ],
)  # fmt: skip
def test_what_has_no_value_is_unknown(text: str) -> None:
    assert math.isnan(value(text, a=[3.0], b=[0.0], i=[7.0], j=[0.0]))


@pytest.mark.parametrize(
    "text",
    [
        "a * a",
        "a + a",
        "a ** 2",
        "exp(a)",
        "a / b",
        "-a - a",
        "sum_of(g_a)",
        "1 / (b * b)",
        "floor(c)",
        "ceil(-c)",
    ],
)
def test_what_is_too_large_is_unknown_and_never_infinite(text: str) -> None:
    # 1e308 twice is beyond the largest double, 1.8e308; 1 over 1e-400 divides by 0; the guard of
    # floor and ceil is added to the largest double itself.
    groups = [[1e308], [1e308], [0.0], [0.0], [0.0], [0.0]]
    assert math.isnan(value(text, a=[1e308], b=[1e-200], c=[sys.float_info.max], g_a=groups))


@pytest.mark.parametrize("text", ["min(1 / b, 2)", "max(1 / b, 2)", "0 * (1 / b)", "1 / (1 / b)"])
def test_nothing_hides_a_failure(text: str) -> None:
    # With infinity for 1 / 0 these would be 2, infinity, unknown and 0.
    assert math.isnan(value(text, b=[0.0]))


SPREADING = sorted(
    row.name
    for row in FUNCTIONS.values()
    if row.name not in REWRITTEN | {"if", "known", "first_known", "unknown"} and not row.reduces
)


@pytest.mark.parametrize("name", SPREADING)
def test_a_failure_spreads_through_every_function_from_every_argument(name: str) -> None:
    row = FUNCTIONS[name]
    for bad in range(row.arity[0]):
        for flag in (False, True):
            columns = {"i": [2.0], "j": [4.0], "f": [flag], "g": [True], "l": ["*.*"]}
            names = {"n": "ij", "w": "ij", "f": "fg", "p": "l"}
            letters = [names[row.letter(k)][k] for k in range(row.arity[0])]
            columns[letters[bad]] = [None if letters[bad] == "l" else NAN]
            if row.symbol and row.arity[0] == 2:
                text = f" {row.symbol} ".join(letters)
            else:
                text = f"{row.symbol or row.name}({', '.join(letters)})"
            assert math.isnan(value(text, **columns)), text


@pytest.mark.parametrize("name", [n for n, row in FUNCTIONS.items() if row.reduces == "finer"])
def test_one_unknown_layer_group_makes_a_reduction_unknown(name: str) -> None:
    body = "g_f" if FUNCTIONS[name].units == "flag" or name == "count_of" else "g_a"
    column = [[1.0], [NAN], [0.0], [0.0], [0.0], [0.0]]
    found = value(f"{name}({body})", **{body: column})
    assert found == 1.0 if name == "first_of" else math.isnan(found)


def test_an_untaken_branch_may_fail() -> None:
    columns = {"a": [1.0, 1.0], "b": [0.0, 4.0]}
    result, failed = run(compiled("a / b if b > 0 else 0"), columns)
    assert result.tolist() == [0.0, 0.25]
    assert not failed


def test_a_failure_in_the_condition_is_no_untaken_branch() -> None:
    assert math.isnan(value("1 if a / b > 0 else 2", a=[1.0], b=[0.0]))


def test_known_and_first_known_stop_a_failure() -> None:
    assert value("known(a / b)", a=[1.0], b=[0.0]) == 0
    assert value("known(a / b)", a=[1.0], b=[2.0]) == 1
    assert value("first_known(a / b, c)", a=[1.0], b=[0.0], c=[5.0]) == 5
    assert value("first_known(a, b, c)", a=[NAN], b=[NAN], c=[5.0]) == 5
    assert value("first_known(a, b, c)", a=[NAN], b=[4.0], c=[NAN]) == 4
    assert math.isnan(value("first_known(a, b)", a=[NAN], b=[NAN]))


def test_a_condition_with_an_unknown_side_is_unknown_and_not_false() -> None:
    # (false and unknown) is unknown too: a sheet's AND gives the error, so must all forms.
    assert math.isnan(value("f and g", f=[False], g=[NAN]))
    assert math.isnan(value("f or g", f=[True], g=[NAN]))
    assert math.isnan(value("a > b", a=[1.0], b=[NAN]))


def test_flags_are_bool_where_all_is_known_and_0_1_unknown_otherwise() -> None:
    result, failed = run(compiled("a > b"), {"a": [1.0, 3.0], "b": [2.0, 2.0]})
    assert (result.dtype, result.tolist(), failed) == (np.dtype(bool), [False, True], False)
    result, failed = run(compiled("a > b"), {"a": [1.0, 3.0, NAN], "b": [2.0, 2.0, 2.0]})
    assert (result.dtype, failed) == (np.dtype(np.float64), True)
    assert result[:2].tolist() == [0.0, 1.0]
    assert math.isnan(result[2])


# ---- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-a ** 2", -9.0),
        ("(-a) ** 2", 9.0),
        ("2 ** a ** 2", 512.0),
        ("(2 ** a) ** 2", 64.0),
        ("b ** b", 1.0),
        ("a - (a - b)", 0.0),
        ("i - j - k", 0.0),
        ("i - (j - k)", 6.0),
        ("i / j / k", 7 / 12),
        ("i / (j / k)", 5.25),
        ("min(i, j, k)", 3.0),
        ("max(i, j, k)", 7.0),
        ("floordiv(i, j)", 1.0),
        ("floordiv(-i, j)", -2.0),
        ("ceildiv(i, j)", 2.0),
        ("ceildiv(-i, j)", -1.0),
        ("round_up_to(i, j)", 8.0),
        ("round_up_to(j, j)", 4.0),
        ("divides(j, i)", 0.0),
        ("divides(2, j)", 1.0),
        ("floor(-a / 2)", -2.0),
        ("ceil(-a / 2)", -1.0),
        ("whole_up(i / j)", 2.0),
        ("abs(-a)", 3.0),
        ("select(w, 'memory', i, 'reads', j, 'compute', k)", 4.0),
        ("argmin('memory', i, 'reads', j, 'compute', k)", 2.0),
        ("argmax('memory', i, 'reads', j, 'compute', k)", 0.0),
        ("argmin('memory', a, 'reads', k)", 0.0),
        ("argmax('memory', a, 'reads', k)", 0.0),
        ("i if not f else j", 7.0),
        ("w == 'reads'", 1.0),
        ("w != 'reads'", 0.0),
    ],
)
def test_values(text: str, expected: float) -> None:
    # a = 3, b = 0; i, j, k = 7, 4, 3; w is the second word; a = k, so that a tie is the first word.
    columns = {
        "a": [3.0], "b": [0.0], "i": [7.0], "j": [4.0], "k": [3.0], "f": [False], "w": [1.0]
    }  # fmt: skip
    assert value(text, **columns) == pytest.approx(expected, rel=1e-15)


def test_whole_quotients_are_exact_up_to_1e14() -> None:
    # 99,999,999,999,999 = 3 x 33,333,333,333,333: one more is divided without a doubt.
    big = 99_999_999_999_999.0
    assert value("floordiv(i, j)", i=[big], j=[3.0]) == 33_333_333_333_333
    assert value("ceildiv(i, j)", i=[big], j=[3.0]) == 33_333_333_333_333
    assert value("floordiv(i, j)", i=[big - 1], j=[3.0]) == 33_333_333_333_332
    assert value("ceildiv(i, j)", i=[big - 2], j=[3.0]) == 33_333_333_333_333
    assert value("divides(j, i)", i=[big], j=[3.0]) == 1
    assert value("divides(j, i)", i=[big - 1], j=[3.0]) == 0


@pytest.mark.parametrize(
    ("a", "b", "down", "up"),
    [
        (0.3, 0.1, 3, 3),  # 2.9999999999999996 by rounding
        (4.35, 0.01, 435, 435),  # 434.99999999999994 by rounding
        (0.7, 0.1, 7, 7),  # 6.999999999999999 by rounding
        (2.9, 1.0, 2, 3),
        (3.0001, 1.0, 3, 4),
        (2.999999999, 1.0, 2, 3),
        (-0.3, 0.1, -3, -3),
    ],
)
def test_floor_and_ceil_forgive_rounding_and_nothing_else(
    a: float, b: float, down: int, up: int
) -> None:
    assert value("floor(a / b)", a=[a], b=[b]) == down
    assert value("ceil(a / b)", a=[a], b=[b]) == up


def test_the_guard_never_adds_a_byte_to_a_terabyte() -> None:
    # 1 TB less a tenth of a byte is not whole: 9e-14 of it is missing, far more than roundings.
    assert value("whole_down(a)", a=[1e12 - 0.1]) == 1e12 - 1


# ---- grains -------------------------------------------------------------------------------------


def test_plan_case_and_layer_group_values_meet_in_one_formula() -> None:
    groups = [[1.0, 10.0], [2.0, 20.0], *[[0.0, 0.0]] * 4]
    result, _ = run(compiled("g_a * a + p"), {"g_a": groups, "a": [3.0, 4.0], "p": 0.5})
    assert result.shape == (6, 2)
    assert result[:2].tolist() == [[3.5, 40.5], [6.5, 80.5]]
    total, _ = run(compiled("sum_of(g_a)"), {"g_a": groups})
    assert total.tolist() == [3.0, 30.0]


def test_reductions_run_over_the_layer_groups_of_each_case() -> None:
    columns = {
        "g_i": [[5.0, 1.0], [2.0, 1.0], *[[0.0, 1.0]] * 4],
        "g_f": [[True, True], [False, True], *[[False, True]] * 4],
    }
    wanted = {
        "min_of(g_i)": [0, 1], "max_of(g_i)": [5, 1], "first_of(g_i)": [5, 1],
        "all_of(g_f)": [False, True], "any_of(g_f)": [True, True], "count_of(g_f)": [1, 6],
    }  # fmt: skip
    for text, expected in wanted.items():
        assert run(compiled(text), columns)[0].tolist() == expected, text


def test_stages_hold_layer_groups_and_reduce_to_cases_in_two_steps() -> None:
    # Two stages, two cases: the stages count twice and three times what the groups hold.
    stages = np.asarray([[[2.0, 20.0]], [[3.0, 30.0]]])
    groups = np.asarray([[1.0, 1.0], [4.0, 5.0], *[[0.0, 0.0]] * 4])
    columns = {"s_i": stages, "g_i": groups, "a": [100.0, 1000.0]}

    def found(text: str) -> Array:
        return np.asarray(run(compiled(text), columns)[0])

    assert found("s_i * g_i").shape == (2, 6, 2)
    assert found("sum_of(s_i * g_i)").tolist() == [[[10.0, 120.0]], [[15.0, 180.0]]]
    assert found("max_of(sum_of(s_i * g_i))").tolist() == [15.0, 180.0]
    assert found("first_of(s_i)").tolist() == [2.0, 20.0]
    assert found("sum_of(s_i) + a").tolist() == [105.0, 1050.0]
    assert found("sum_of(s_i * g_i) + a").shape == (2, 1, 2)
    assert found("any_of(any_of(s_i * g_i > a))").tolist() == [False, False]
    assert found("count_of(s_i > 2)").tolist() == [1, 2]


# ---- the two forms agree ------------------------------------------------------------------------

VOCABULARY = Vocabulary(
    case={"n": "abc", "w": "ijk", "f": "fg", "c": "w", "p": "l"},
    group={"n": ["g_a"], "w": ["g_i"], "f": ["g_f"]},
    variant={"n": ["v_a"], "w": ["v_i"], "f": ["v_f"]},
    words=WORDS,
    variants="ladder",
)


FORMULAS = [
    compiled(text, WORDS if kind == "c" else ())
    for kind, text in Generator(VOCABULARY, 7).formulas(150)
]

CASES = 4
numbers = st.one_of(
    st.floats(-1e12, 1e12, allow_subnormal=False),
    st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e308, -1e308, 1e-300, 1e15]),
)
wholes = st.integers(-(10**14) + 1, 10**14 - 1).map(float) | st.integers(-3, 12).map(float)


def columns(holes: bool) -> st.SearchStrategy[dict[str, Array]]:
    """One column for every name of the scope, with unknown values or without."""

    def column(kind: Type, rows: int) -> st.SearchStrategy[Array]:
        element: st.SearchStrategy[Any] = wholes if kind.whole else numbers
        if kind.kind == "flag":
            element = st.booleans()
        elif kind.kind == "choice":
            element = st.integers(0, len(WORDS) - 1).map(float)
        elif kind.kind == "places":
            element = st.text(".*", min_size=1, max_size=12)
        if holes:
            element = element | st.just(None if kind.kind == "places" else NAN)
        many = st.lists(element, min_size=rows * CASES, max_size=rows * CASES)
        return many.map(lambda values: _shaped(values, kind, rows))

    rows = {n: 6 if n.startswith("g_") else 3 if n.startswith("v_") else 1 for n in SCOPE}
    return st.fixed_dictionaries({n: column(kind, rows[n]) for n, kind in SCOPE.items()})


def _shaped(values: list[Any], kind: Type, rows: int) -> Array:
    held = object if kind.kind == "places" else np.float64
    array = as_held(np.asarray(values, dtype=held), kind)
    return array.reshape(rows, CASES) if rows > 1 else array


def as_held(array: Array, kind: Type) -> Array:
    """Flags are bool where all of them are known."""
    return array != 0 if kind.kind == "flag" and not np.isnan(array).any() else array


def same(a: Array, b: Array) -> bool:
    one, other = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    return bool(np.array_equal(one, other, equal_nan=True))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(columns(holes=False))
def test_the_fast_form_gives_what_the_safe_form_gives(data: dict[str, Array]) -> None:
    finished = 0
    for formula in FORMULAS:
        args = [data[name] for name in formula.names]
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
                fast = np.asarray(formula.fast(*args), float)
        except FloatingPointError:
            continue
        finished += 1
        with np.errstate(all="ignore"):
            safe = formula.safe(*[a if a.dtype == object else np.asarray(a, float) for a in args])
        assert np.isfinite(fast).all()
        assert same(fast, safe)
    assert finished > len(FORMULAS) / 10


@settings(max_examples=25, deadline=None, derandomize=True)
@given(columns(holes=True))
def test_cases_do_not_see_each_other_and_no_result_is_infinite(data: dict[str, Array]) -> None:
    cases = [
        {name: as_held(v[..., i : i + 1], SCOPE[name]) for name, v in data.items()}
        for i in range(CASES)
    ]
    for formula in FORMULAS:
        together, _ = run(formula, data)
        together = np.broadcast_to(np.asarray(together, float), (CASES,))
        assert not np.isinf(together).any()
        alone = [run(formula, one)[0] for one in cases]
        assert same(together, np.asarray([float(np.ravel(a)[0]) for a in alone]))


def test_no_text_of_a_formula_reaches_the_compiler() -> None:
    # Names become v0, v1, ...: a name that is a Python word, or worse, is never executed.
    formula = compile_arrays(CHECKER.check(parse("a + b"))[0])
    assert formula.fast.__code__.co_varnames == ("v0", "v1")
    assert formula.names == ("a", "b")
