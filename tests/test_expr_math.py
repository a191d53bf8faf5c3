"""Formulas for people: plain text on one line, and MathML that is well formed and escaped."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from support.formula_generator import Generator, Vocabulary

from planner.expr.check import CASE, GROUP, Checker, Type
from planner.expr.parse import parse
from planner.expr.to_math import to_mathml, to_text
from planner.expr.tree import Node
from planner.metrics import MetricSet

WORDS = ("<b>&", "x")
SCOPE: dict[str, Type] = {
    **{n: Type("number", grain=CASE) for n in "abc"},
    **{n: Type("number", whole=True, grain=CASE) for n in "ij"},
    **{n: Type("flag", grain=CASE) for n in "fg"},
    "w": Type("choice", words=WORDS, grain=CASE),
    "l": Type("places", grain=CASE),
    "g_a": Type("number", grain=GROUP),
    "g_i": Type("number", whole=True, grain=GROUP),
    "g_f": Type("flag", grain=GROUP),
    "v_a": Type("number", grain=CASE),
    "v_i": Type("number", whole=True, grain=CASE),
    "v_f": Type("flag", grain=CASE),
}
CHECKER = Checker(SCOPE, {"ladder": SCOPE["v_i"]})
VOCABULARY = Vocabulary(
    case={"n": "abc", "w": "ij", "f": "fg", "c": "w", "p": "l"},
    group={"n": ["g_a"], "w": ["g_i"], "f": ["g_f"]},
    variant={"n": ["v_a"], "w": ["v_i"], "f": ["v_f"]},
    words=WORDS,
    variants="ladder",
)


def tree(text: str, words: tuple[str, ...] = ()) -> Node:
    return CHECKER.check(parse(text), words)[0]


def words_of(math: str) -> list[str]:
    """The texts of a formula in reading order; raises where it is no XML."""
    return [text for text in ElementTree.fromstring(math).itertext() if text]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a * b + c", "a × b + c"),
        ("a * (b + c)", "a × (b + c)"),
        ("a - (b - c)", "a − (b − c)"),
        ("a / (b / c)", "a ÷ (b ÷ c)"),
        ("-a ** 2", "−a^2"),
        ("(-a) ** 2", "(−a)^2"),
        ("2 ** a ** 2", "2^(a^2)"),
        ("a >= b", "a ≥ b"),
        ("f and (g or f)", "f and (g or f)"),
        ("not (f or g)", "not (f or g)"),
        ("a if f else b", "a if f else b"),
        ("(a if f else b) * c", "(a if f else b) × c"),
        ("w == 'x'", "w = x"),
        ("divides(i, j)", "i divides j"),
        ("floor(a / b)", "floor(a ÷ b)"),
        ("unknown()", "unknown"),
        ("sum_of(g_a)", "sum_of(g_a)"),
    ],
)
def test_plain_text_shows_the_formula_on_one_line(text: str, plain: str) -> None:
    assert to_text(tree(text)) == plain


def test_names_are_shown_as_their_labels_or_their_numbers() -> None:
    labels = {"a": "Weights", "b": "Ranks"}
    assert to_text(tree("a / b"), labels.__getitem__) == "Weights ÷ Ranks"
    assert words_of(to_mathml(tree("a / b"), labels.__getitem__)) == ["Weights", "Ranks"]
    assert words_of(to_mathml(tree("sum_of(g_a)"))) == ["∑", "g a"]


@pytest.mark.parametrize(
    ("text", "math"),
    [
        ("a / b", "<mfrac><mtext>a</mtext><mtext>b</mtext></mfrac>"),
        ("a ** 2", "<msup><mtext>a</mtext><mn>2</mn></msup>"),
        ("sqrt(a)", "<msqrt><mtext>a</mtext></msqrt>"),
        ("floor(a)", "<mrow><mo>⌊</mo><mtext>a</mtext><mo>⌋</mo></mrow>"),
        ("a < b", "<mrow><mtext>a</mtext><mo>&lt;</mo><mtext>b</mtext></mrow>"),
        (
            "(a + b) ** 2",
            "<msup><mrow><mo>(</mo><mrow><mtext>a</mtext><mo>+</mo><mtext>b</mtext></mrow>"
            "<mo>)</mo></mrow><mn>2</mn></msup>",
        ),
    ],
)
def test_mathml_draws_fractions_powers_and_roots(text: str, math: str) -> None:
    assert to_mathml(tree(text)) == f'<math display="block">{math}</math>'


def test_branches_stand_under_each_other_in_a_brace() -> None:
    math = to_mathml(tree("a if f else b"))
    assert words_of(math) == ["{", "a", "if ", "f", "b", "otherwise"]
    assert len(ElementTree.fromstring(math).findall(".//mtr")) == 2


@pytest.mark.parametrize("foreign", ["<script>", "a & b", '"quoted"', "{0} and {*}", "]]>"])
def test_foreign_words_and_labels_stay_text(foreign: str) -> None:
    label = words_of(to_mathml(tree("max(a, b) / floor(a)"), lambda name: foreign))
    assert label.count(foreign) == 3
    checker = Checker(SCOPE | {"w": Type("choice", words=(foreign, "x"), grain=CASE)})
    compared, _ = checker.check(parse(f"w == '{foreign}'"))
    assert foreign in words_of(to_mathml(compared))


def test_random_formulas_are_well_formed() -> None:
    for kind, text in Generator(VOCABULARY, 5).formulas(400):
        node = tree(text, WORDS if kind == "c" else ())
        root = ElementTree.fromstring(to_mathml(node))
        assert root.tag == "math"
        assert not (root.text or "").strip()
        assert "\n" not in to_text(node)
        # Every fraction, power and root has the number of parts that browsers draw.
        parts = {"mfrac": 2, "msup": 2, "msqrt": 1}
        for tag, count in parts.items():
            assert all(len(element) == count for element in root.iter(tag)), text


def test_every_metric_has_a_formula_to_show() -> None:
    metrics = MetricSet.load()
    for metric in metrics.metrics.values():
        shown = words_of(to_mathml(metric.tree, metrics.label_of))
        for name in metric.needs:
            assert metrics.label_of(name) in shown, metric.name
