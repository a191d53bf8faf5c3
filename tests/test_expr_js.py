"""Formulas as JavaScript: words that stay words, and a runtime with every function."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from support.calculators import calculate_js

from planner.expr.check import CASE, GROUP, Checker, Type
from planner.expr.functions import FUNCTIONS, GUARD, REWRITTEN
from planner.expr.parse import parse
from planner.expr.to_js import RUNTIME, to_js

WORDS = ("</script><b>", 'say "no"', "x")
SCOPE: dict[str, Type] = {
    **{n: Type("number", grain=CASE) for n in "abc"},
    **{n: Type("number", whole=True, grain=CASE) for n in "ij"},
    "f": Type("flag", grain=CASE),
    "w": Type("choice", words=WORDS, grain=CASE),
    "l": Type("places", grain=CASE),
    "g_a": Type("number", grain=GROUP),
    "g_f": Type("flag", grain=GROUP),
}
CHECKER = Checker(SCOPE)
VALUES: dict[str, Any] = {
    "a": 3.0, "b": 0.0, "c": -2.0, "i": 7.0, "j": 4.0, "f": 1, "w": "x",
    "g_a": [1.0, 2.5, 0.0, 0.0, 0.0, 0.0], "g_f": [1, 0, 0, 0, 0, 0],
}  # fmt: skip


def js(text: str) -> str:
    return to_js(CHECKER.check(parse(text))[0])


def results(texts: list[str]) -> list[Any]:
    prelude = f"{RUNTIME}\nconst v={json.dumps(VALUES)};"
    return calculate_js([js(t) for t in texts], {}, prelude)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("-a ** 2", "K.neg(K.pow(v.a,2.0))"),
        ("a - (b - c)", "K.sub(v.a,K.sub(v.b,v.c))"),
        ("a if f else b", "K.if(v.f,v.a,v.b)"),
        ("sum_of(g_a)", "K.sum_of(v.g_a)"),
        ("w == 'x'", 'K.eq(v.w,"x")'),
        ("w == 'say \"no\"'", 'K.eq(v.w,"say \\"no\\"")'),
        ("w == '</script><b>'", 'K.eq(v.w,"\\u003c/script>\\u003cb>")'),
    ],
)
def test_a_formula_is_calls_of_the_runtime_only(text: str, code: str) -> None:
    assert js(text) == code


def test_the_runtime_has_every_function_of_the_table_and_no_other() -> None:
    wanted = set(FUNCTIONS) - REWRITTEN
    names = [f"typeof K.{name}" for name in sorted(wanted)]
    assert set(calculate_js(names, {}, RUNTIME)) == {"function"}
    [extra] = calculate_js(["Object.keys(K)"], {}, RUNTIME)
    assert set(extra) <= wanted


def test_the_runtime_has_the_guard_of_the_table_and_cannot_close_its_script() -> None:
    [guard] = re.findall(r"G=([0-9.e-]+)", RUNTIME)
    assert float(guard) == GUARD
    assert "</" not in RUNTIME
    assert "<!--" not in RUNTIME


def test_values_are_those_of_the_text() -> None:
    # a = 3, b = 0, c = -2, i = 7, j = 4.
    wanted = {
        "-a ** 2": -9.0, "2 ** a ** 2": 512.0, "b ** b": 1.0, "a - (b - c)": 1.0,
        "floordiv(-i, j)": -2.0, "ceildiv(-i, j)": -1.0, "round_up_to(i, j)": 8.0,
        "divides(2, j)": 1, "min(a, b, c)": -2.0, "max(a, b, c)": 3.0, "sum_of(g_a)": 3.5,
        "first_of(g_a)": 1.0, "any_of(g_f)": 1, "all_of(g_f)": 0, "count_of(g_f)": 1,
        "known(a / b)": 0, "first_known(a / b, c)": -2.0, "a if w == 'x' else b": 3.0,
        "a / b if not f else 2": 2.0, "select(w, '</script><b>', 0, 'say \"no\"', 1, 'x', 2)": 2.0,
    }  # fmt: skip
    assert results(list(wanted)) == list(wanted.values())


@pytest.mark.parametrize(
    "text",
    ["a / b", "min(a / b, 2)", "ln(b)", "sqrt(c)", "exp(a * a * a * a * a * a * a)", "unknown()",
     "0 * (a / b)", "b ** -1", "c ** (1 / 2)", "floordiv(i, j - j)"],
)  # fmt: skip
def test_a_failure_is_nan_and_never_infinite(text: str) -> None:
    [found] = results([text])
    assert math.isnan(found)


def test_a_reader_of_names_sees_what_a_reduction_takes() -> None:
    tree = CHECKER.check(parse("a * sum_of(g_a) + count_of(g_f)"))[0]
    seen: list[tuple[str, bool]] = []

    def read(name: str, reduced: bool) -> str:
        seen.append((name, reduced))
        return f"v.{name}" if reduced else f"v.{name}[g]"

    assert to_js(tree, read) == "K.add(K.mul(v.a[g],K.sum_of(v.g_a)),K.count_of(v.g_f))"
    assert seen == [("a", False), ("g_a", True), ("g_f", True)]
