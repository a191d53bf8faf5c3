"""Formulas as cells: brackets where spreadsheets bind otherwise, quoted words, bounded length."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from support.calculators import calculate_cells
from support.formula_generator import Generator, Vocabulary
from support.tools import REPOSITORY
from support.xlsx import is_error

import planner
from planner.cuts import MAX_LENGTH, cell_length, cut_long
from planner.engine import evaluate
from planner.expr.check import CASE, GROUP, Checker, Type
from planner.expr.parse import parse
from planner.expr.to_cells import cells_length, number_text, to_cells, word_text
from planner.expr.tree import Node
from planner.metrics import MetricSet

WORDS = ("no. 1", "a & b", "x")
HARD = ('say "no"', "=1+1", "it's")
COLUMNS = "BCDEFGHIJKLMNOPQRSTUV"
SCOPE: dict[str, Type] = {
    **{n: Type("number", grain=CASE) for n in "abc"},
    **{n: Type("number", whole=True, grain=CASE) for n in "ijk"},
    **{n: Type("flag", grain=CASE) for n in "fg"},
    "w": Type("choice", words=WORDS, grain=CASE),
    "h": Type("choice", words=HARD, grain=CASE),
    "g_a": Type("number", grain=GROUP),
    "g_i": Type("number", whole=True, grain=GROUP),
    "g_f": Type("flag", grain=GROUP),
    "v_a": Type("number", grain=CASE),
    "v_i": Type("number", whole=True, grain=CASE),
    "v_f": Type("flag", grain=CASE),
    "l": Type("places", grain=CASE),
}
CHECKER = Checker(SCOPE, {"ladder": SCOPE["v_i"]})


VOCABULARY = Vocabulary(
    case={"n": "abc", "w": "ijk", "f": "fg", "c": "w", "p": "l"},
    group={"n": ["g_a"], "w": ["g_i"], "f": ["g_f"]},
    variant={"n": ["v_a"], "w": ["v_i"], "f": ["v_f"]},
    words=WORDS,
    variants="ladder",
)


def tree(text: str, words: tuple[str, ...] = ()) -> Node:
    return CHECKER.check(parse(text), words)[0]


def ref(name: str) -> str:
    return f"{COLUMNS[list(SCOPE).index(name)]}1"


def span(name: str) -> str:
    return f"{ref(name)}:{ref(name)[0]}6"


def cells(text: str, words: tuple[str, ...] = ()) -> str:
    return to_cells(tree(text, words), ref, span)


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        # Excel reads -a^2 as (-a)^2 and 2^3^2 as (2^3)^2.
        ("-a ** 2", "(-(B1^2))"),
        ("(-a) ** 2", "(-B1)^2"),
        ("(a ** 2) ** 2", "(B1^2)^2"),
        ("a - (b - c)", "B1-(C1-D1)"),
        ("a - b - c", "B1-C1-D1"),
        ("a - (b + c)", "B1-(C1+D1)"),
        ("a / (b / c)", "B1/(C1/D1)"),
        ("a / (b * c)", "B1/(C1*D1)"),
        ("a / b * c", "B1/C1*D1"),
        ("(a + b) * c", "(B1+C1)*D1"),
        ("a - -b", "B1-(-C1)"),
        ("-(a + b)", "(-(B1+C1))"),
        ("(a < b) == (b < c)", "B1<C1=(C1<D1)"),
        ("(a < b) == f", "B1<C1=H1"),
        ("f == (a < b)", "H1=(B1<C1)"),
        ("not (f or g) and g", "AND(NOT(OR(H1,I1)),I1)"),
        ("floordiv(i + j, i * k)", "INT((E1+F1)/(E1*G1))"),
        ("i / round_up_to(i, j)", "E1/((-INT((-E1)/F1))*F1)"),
        ("divides(i, j) == f", "(INT(F1/E1)*E1=F1)=H1"),
        ("a if f else (b if g else c)", "IF(H1,B1,IF(I1,C1,D1))"),
        ("(a if f else b) * c", "IF(H1,B1,C1)*D1"),
        ("first_known(a, b, c)", "IF(ISNUMBER(B1),B1,IF(ISNUMBER(C1),C1,D1))"),
        ("unknown() if f else a", "IF(H1,NA(),B1)"),
        ("sum_of(g_a) + first_of(g_a)", "SUM(L1:L6)+L1"),
        (
            "count_places(l, i + j)",
            'IF(AND(LEFT(R1)<"0",E1+F1>=0),'
            'LEN(SUBSTITUTE(LEFT(R1,MIN(E1+F1,LEN(R1))),".","")),NA())',
        ),
        ("max_over(ladder, v_i)", "MAX(P1:P6)"),
        ("sum_over(ladder, v_i)", "SUM(P1:P6)"),
        ("count_over(ladder, v_f)", "SUMPRODUCT(Q1:Q6*1)"),
        ("w == 'x'", 'J1="x"'),
        ("h != 'say \"no\"'", 'K1<>"say ""no"""'),
    ],
)
def test_a_cell_formula_keeps_the_meaning_and_the_written_order(text: str, formula: str) -> None:
    assert cells(text) == formula


def test_variants_that_lie_apart_are_counted_one_by_one() -> None:
    """SUMPRODUCT would take a list of cells for factors; a sheet's name may hold commas."""
    tree, _ = CHECKER.check(parse("count_over(ladder, v_f) * i"))
    apart = "'a, b'!Q1,'a, b'!Q7,Other!Q1"
    text = to_cells(tree, lambda name: "E1", lambda name: apart)
    assert text == "('a, b'!Q1*1+'a, b'!Q7*1+Other!Q1*1)*E1"
    assert to_cells(tree, lambda name: "E1", lambda name: "Q1") == "SUMPRODUCT(Q1*1)*E1"


def test_a_cell_formula_has_no_equals_sign_in_front_and_names_classic_functions_only() -> None:
    classic = {"IF", "AND", "OR", "NOT", "MIN", "MAX", "ABS", "SQRT", "EXP", "LN", "INT", "SUM",
               "ISNUMBER", "NA", "SUMPRODUCT", "LEN", "LEFT", "SUBSTITUTE"}  # fmt: skip
    called: set[str] = set()
    for kind, text in Generator(VOCABULARY, 3).formulas(300):
        formula = cells(text, WORDS if kind == "c" else ())
        assert not formula.startswith("=")
        called |= set(re.findall(r"([A-Z.]+)\(", formula))
    assert called == classic


@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])
def test_spreadsheets_read_the_cells_as_numpy_reads_the_text(engine: str) -> None:
    # a = 3, b = 0, c = -2; Python values stand beside each text.
    cases = {
        "-a ** 2": -9.0, "(-a) ** 2": 9.0, "2 ** a ** 2": 512.0, "(2 ** a) ** 2": 64.0,
        "b ** b": 1.0, "a - (c - a)": 8.0, "a / (c / a)": -4.5, "-(-a) ** 2": -9.0,
        "c ** a": -8.0, "c ** -1": -0.5, "floor(c / a)": -1.0, "ceil(c / a)": 0.0,
        "a * c ** 2": 12.0, "2 - 1 - 1": 0.0, "a / a / 2": 0.5,
    }  # fmt: skip
    found = calculate_cells([cells(t) for t in cases], {"B1": 3.0, "C1": 0.0, "D1": -2.0}, engine)
    assert found == list(cases.values())


@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])
def test_words_with_quotes_and_formula_signs_are_compared_as_texts(engine: str) -> None:
    # Row r holds the r-th word; formula by formula it is compared with each of them.
    texts = [f"1 if h == {word!r} else 0" for word in HARD]
    formulas = [cells(t).replace("K1", f"K{row}") for row in (1, 2, 3) for t in texts]
    inputs = {f"K{row}": word for row, word in enumerate(HARD[1:], 2)} | {"K1": HARD[0]}
    # The helper takes a text that starts with "=" for a formula: the word comes from one.
    inputs["K2"] = '="=1"&"+1"'
    found = calculate_cells(formulas, inputs, engine)
    assert found == [1, 0, 0, 0, 1, 0, 0, 0, 1]


@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])
def test_what_has_no_value_is_an_error_in_a_cell(engine: str) -> None:
    texts = ["a / b", "c ** (1 / 2)", "(c - c) ** (-1)", "unknown()", "a / b if f else 0"]
    found = calculate_cells(
        [cells(t) for t in texts], {"B1": 3.0, "C1": 0.0, "D1": -2.0, "H1": True}, engine
    )
    assert all(is_error(value) for value in found), found
    [kept] = calculate_cells(
        [cells("a / b if f else 2")], {"B1": 3.0, "C1": 0.0, "H1": False}, engine
    )
    assert kept == 2


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"), (2.0, "2"), (0.1, "0.1"), (1e-14, "1E-14"), (1e21, "1E21"), (-1.5, "-1.5"),
        (8190735360.0, "8190735360"), (123456789012345.6, "123456789012345.6"),
    ],
)  # fmt: skip
def test_literals_read_back_as_the_same_double(number: float, text: str) -> None:
    assert number_text(number) == text
    assert float(text) == number


def test_a_word_becomes_a_string_literal() -> None:
    assert word_text('=1+1, "x"') == '"=1+1, ""x"""'


# ---- length -------------------------------------------------------------------------------------


def test_the_length_of_a_cell_formula_is_counted_without_building_it() -> None:
    def name(_: str) -> str:
        return "Cases!AB88"

    for kind, text in Generator(VOCABULARY, 11).formulas(300):
        one = tree(text, WORDS if kind == "c" else ())
        assert cells_length(one, len("Cases!AB88")) == len(to_cells(one, name, name)), text


def test_a_tower_of_functions_is_cut_before_it_fills_the_memory(tmp_path: Path) -> None:
    # Each floor repeats its argument: 45 of them are 2^45 times the name, a petabyte of text.
    tower = "floor(" * 45 + "batch" + ")" * 45
    path = tmp_path / "tower.yaml"
    path.write_text(
        "metrics: {tower: {label: Tower, why: Test, source: {title: Test}, unit: request, "
        f"formula: {tower}}}}}",
        encoding="utf-8",
    )
    start = time.perf_counter()
    metrics = MetricSet.load([path])
    assert cell_length(metrics.metrics["tower"].tree) > 10**14
    cut = cut_long(metrics)
    assert time.perf_counter() - start < 5
    parts = [m for m in cut.metrics.values() if m.part_of == "tower"]
    assert all(cell_length(m.tree) <= MAX_LENGTH for m in [*parts, cut.metrics["tower"]])


def test_cutting_formulas_keeps_their_types_and_results() -> None:
    plan = planner.plan(REPOSITORY / "catalogs" / "scenarios" / "example.yaml")
    cut = cut_long(plan.metrics, 60)
    assert len(cut.metrics) > len(plan.metrics.metrics)
    given = plan.inputs.columns(plan.metrics)
    values = evaluate(cut, given, plan.columns.variant_values)
    for name, metric in plan.metrics.metrics.items():
        assert cut.metrics[name].type == metric.type
        if not metric.variant:
            np.testing.assert_array_equal(values[name], plan.columns[name], err_msg=name)
