"""One text, four forms: random formulas give the same in numpy, cells, JavaScript and an oracle.

Failures are compared like values: NaN in arrays and JavaScript, an error in cells.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from support.calculators import calculate_cells, calculate_js
from support.formula_generator import Generator, Vocabulary
from support.formula_oracle import FAILURE, Result, UndecidedError, agrees, evaluate, sharp
from support.holes import has_holes
from support.xlsx import Value, is_error

from planner.expr.check import CASE, GROUP, Checker, Type
from planner.expr.functions import FUNCTIONS
from planner.expr.parse import parse
from planner.expr.to_arrays import ArrayFormula, compile_arrays
from planner.expr.to_cells import to_cells
from planner.expr.to_js import RUNTIME, to_js
from planner.expr.tree import Node, walk

COUNT = 1500
WORDS = ("kv_read", "weight_read", "compute")
VOCABULARY = Vocabulary(
    case={"n": ("share", "rate", "gap"), "w": ("tokens", "bytes", "ranks", "none"),
          "f": ("fits", "tied"), "c": ("limit",), "p": ("spots", "others")},
    group={"n": ("widths",), "w": ("layers",), "f": ("windowed",)},
    variant={"n": ("times",), "w": ("contexts",), "f": ("feasible",)},
    words=WORDS,
    variants="ladder",
)  # fmt: skip

# Each case has a purpose; None is a value that nobody knows. Groups have 6 slots, variants 3.
CASES: dict[str, dict[str, Any]] = {
    "ordinary": {
        "share": 0.9, "rate": 3.35e12, "gap": -0.7, "tokens": 8192.0, "bytes": 16_381_470_720.0,
        "ranks": 8.0, "none": 0.0, "fits": True, "tied": False, "limit": "compute",
        "spots": "..*.**...*", "others": ".",
        "widths": [0.5, 1.25, 2.0, 0.1, 3.3, 0.7], "layers": [36.0, 12.0, 0.0, 0.0, 1.0, 7.0],
        "windowed": [True, False, False, True, False, False],
        "times": [0.011, 0.022, 0.045], "contexts": [2048.0, 8192.0, 32768.0],
        "feasible": [True, True, False],
    },
    "edges": {
        "share": 0.1, "rate": 1e308, "gap": -1e-200, "tokens": 99_999_999_999_999.0,
        "bytes": 7.0, "ranks": 3.0, "none": 0.0, "fits": False, "tied": True, "limit": "kv_read",
        "spots": "*" * 300, "others": ".....",
        "widths": [0.1, 0.2, -0.3, 0.0, 1e-12, 1e12], "layers": [3.0, 3.0, 3.0, -3.0, 0.0, 9e13],
        "windowed": [False, False, False, False, False, False],
        "times": [-1.5, -2.5, 0.0], "contexts": [-7.0, 7.0, 0.0], "feasible": [True, True, True],
    },
    "negative": {
        "share": -0.25, "rate": 2.675, "gap": -8.0, "tokens": -5.0, "bytes": 10.0, "ranks": -3.0,
        "none": 0.0, "fits": True, "tied": True, "limit": "weight_read",
        "spots": "**..**", "others": "*",
        "widths": [-1.0, -2.0, -3.5, -0.5, -0.25, -7.0],
        "layers": [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0],
        "windowed": [True, True, True, True, True, True],
        "times": [4.35, 435.0, 0.7], "contexts": [100.0, 10.0, 1.0],
        "feasible": [False, False, False],
    },
    "holes": {
        "share": None, "rate": 0.3, "gap": 0.1, "tokens": None, "bytes": 1024.0, "ranks": 4.0,
        "none": 0.0, "fits": None, "tied": False, "limit": None,
        "spots": None, "others": ".*.*.*",
        "widths": [0.5, None, 2.0, 0.1, 3.3, 0.7], "layers": [None, 12.0, 0.0, 0.0, 1.0, 7.0],
        "windowed": [True, False, None, False, False, False],
        "times": [0.011, 0.022, 0.045], "contexts": [2048.0, 8192.0, None],
        "feasible": [None, True, False],
    },
}  # fmt: skip

_KINDS = {
    "n": ("number", False),
    "w": ("number", True),
    "f": ("flag", True),
    "c": ("choice", False),
    "p": ("places", False),
}


def _types(names: Mapping[str, Any], grain: int) -> dict[str, Type]:
    found = {}
    for letter, group in names.items():
        kind, whole = _KINDS[letter]
        words = WORDS if kind == "choice" else ()
        for name in group:
            found[name] = Type(kind, whole=whole, words=words, grain=grain)
    return found


SCOPE = {
    **_types(VOCABULARY.case, CASE),
    **_types(VOCABULARY.group, GROUP),
    **_types(VOCABULARY.variant, CASE),
}
CHECKER = Checker(SCOPE, {VOCABULARY.variants: Type("number", grain=CASE)})


@dataclass(frozen=True)
class Formula:
    text: str
    tree: Node
    kind: str


def checked(text: str, kind: str = "n") -> Formula:
    tree, found = CHECKER.check(parse(text), WORDS if kind == "c" else ())
    return Formula(text, tree, found.kind)


@pytest.fixture(scope="module")
def formulas() -> list[Formula]:
    return [checked(text, kind) for kind, text in Generator(VOCABULARY, 20_251).formulas(COUNT)]


# ---- what each engine gives, as float, bool, word or FAILURE -----------------------------------


def expected(formula: Formula, case: str) -> Result | None:
    """None where rounding decides."""
    try:
        found = evaluate(formula.tree, CASES[case])
    except UndecidedError:
        return None
    return found if sharp(found) else None


def _plain(kind: str, value: Any) -> Any:
    if isinstance(value, str):
        return FAILURE if is_error(value) else value
    if value is None or not math.isfinite(value):
        return FAILURE
    if kind == "flag":
        return bool(value)
    return WORDS[int(value)] if kind == "choice" else float(value)


def _number(name: str, value: Any) -> Any:
    if SCOPE[name].kind == "places":
        return value
    if value is None:
        return math.nan
    return float(WORDS.index(value)) if isinstance(value, str) else float(value)


def columns(cases: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Operands as the engine holds them: ``(cases,)``, or ``(slots, cases)``; flags are bool."""
    found = {}
    for name in SCOPE:
        rows = [CASES[case][name] for case in cases]
        values = [[_number(name, v) for v in row] if isinstance(row, list) else _number(name, row)
                  for row in rows]  # fmt: skip
        array = np.array(values, dtype=object if SCOPE[name].kind == "places" else None).T
        whole = SCOPE[name].kind == "flag" and not np.isnan(array).any()
        found[name] = array.astype(bool) if whole else array
    found[VOCABULARY.variants] = np.array(0.0)
    return found


def run_arrays(formula: ArrayFormula, cases: list[str]) -> list[float]:
    operands = columns(cases)
    result, failures = formula.run(
        operands.__getitem__,
        lambda name: has_holes(operands[name]),
    )
    assert failures == bool(result.dtype != bool and np.isnan(result).any())
    return [float(x) for x in np.broadcast_to(result, (len(cases),))]


def arrays(formulas: list[Formula], case: str) -> list[Any]:
    """The case alone: the fast form runs wherever nothing fails."""
    return [_plain(f.kind, run_arrays(compiled(f), [case])[0]) for f in formulas]


def batch(formulas: list[Formula], case: str) -> list[Any]:
    """All cases at once: the holes of one of them make the safe form run for all."""
    place = list(CASES).index(case)
    return [_plain(f.kind, run_arrays(compiled(f), list(CASES))[place]) for f in formulas]


def compiled(formula: Formula) -> ArrayFormula:
    return compile_arrays(formula.tree, formula.kind == "flag")


def ref(name: str) -> str:
    """The cell of a name: one row each, lists run to the right."""
    return f"$B${list(SCOPE).index(name) + 1}"


def span(name: str) -> str:
    last = "BCDEFG"[len(CASES["ordinary"][name]) - 1]
    return f"{ref(name)}:{ref(name).replace('B', last)}"


def cells(engine: str) -> Callable[[list[Formula], str], list[Any]]:
    def run(formulas: list[Formula], case: str) -> list[Any]:
        inputs: dict[str, Value] = {}
        for row, name in enumerate(SCOPE, 1):
            given = CASES[case][name]
            for column, value in enumerate(given if isinstance(given, list) else [given]):
                inputs[f"{'BCDEFG'[column]}{row}"] = "=NA()" if value is None else value
        texts = [to_cells(formula.tree, ref, span) for formula in formulas]
        return [
            FAILURE if value is None or is_error(value) else value
            for value in calculate_cells(texts, inputs, engine)
        ]

    return run


def javascript(formulas: list[Formula], case: str) -> list[Any]:
    def written(value: Any) -> str:
        if isinstance(value, list):
            return "[" + ",".join(map(written, value)) + "]"
        if value is None:
            return "NaN"
        return json.dumps(value) if isinstance(value, str) else repr(float(value))

    pairs = ",".join(f"{name}:{written(CASES[case][name])}" for name in SCOPE)
    found = calculate_js([to_js(f.tree) for f in formulas], {}, f"{RUNTIME}\nconst v={{{pairs}}};")
    assert not [value for value in found if isinstance(value, str) and value.startswith("!")]
    return [_plain(f.kind, value) for f, value in zip(formulas, found, strict=True)]


ENGINES: dict[str, Callable[[list[Formula], str], list[Any]]] = {
    "numpy": arrays,
    "numpy batch": batch,
    "javascript": javascript,
    "formualizer": cells("formualizer"),
    "libreoffice": cells("libreoffice"),
}


def disagreements(formulas: list[Formula], case: str, found: list[Any]) -> list[str]:
    wrong = []
    for formula, value in zip(formulas, found, strict=True):
        right = expected(formula, case)
        if right is not None and not agrees(right, value):
            wrong.append(f"{formula.text}\n    expected {right}, found {value!r}")
    return wrong


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", ENGINES)
def test_random_formulas_agree(engine: str, case: str, formulas: list[Formula]) -> None:
    wrong = disagreements(formulas, case, ENGINES[engine](formulas, case))
    assert wrong == [], f"{len(wrong)} of {len(formulas)} formulas:\n" + "\n".join(wrong[:20])


def test_random_formulas_cover_the_table_and_all_outcomes(formulas: list[Formula]) -> None:
    generator = Generator(VOCABULARY, 20_251)
    generator.formulas(COUNT)
    assert [name for name in FUNCTIONS if generator.drawn[name] < 20] == []
    outcomes: Counter[str] = Counter()
    for case in CASES:
        for formula in formulas:
            right = expected(formula, case)
            outcomes["undecided" if right is None else type(right).__name__] += 1
    total = sum(outcomes.values())
    assert outcomes["undecided"] < 0.1 * total, outcomes
    assert min(outcomes[kind] for kind in ("Span", "bool", "str", "Failure")) > 0.05 * total, (
        outcomes
    )


# ---- the edges that random inputs rarely meet ---------------------------------------------------


def edge_quotients() -> list[tuple[float, float]]:
    """Whole numbers below 1e14 whose quotient is whole, or misses it by as little as can be."""
    pairs = []
    for b in (
        1,
        2,
        3,
        7,
        10,
        49,
        97,
        1000,
        4096,
        999_983,
        16_777_216,
        1_000_000_007,
        9_999_999_967,
    ):
        for k in (1, 2, 3, 9, 10, 1023, 1_000_003, 99_999_999, (10**14 - 2) // b):
            pairs += [(float(k * b + d), float(b)) for d in (-1, 0, 1) if 0 < k * b + d < 10**14]
    return pairs


@pytest.mark.parametrize("function", ["floordiv", "ceildiv", "round_up_to", "divides"])
def test_whole_quotients_are_exact_below_1e14_in_every_form(function: str) -> None:
    """The right answer is that of whole-number arithmetic, which knows no rounding."""
    right: dict[str, Callable[[int, int], float | bool]] = {
        "floordiv": lambda a, b: float(a // b),
        "ceildiv": lambda a, b: float(-(-a // b)),
        "round_up_to": lambda a, b: float(-(-a // b) * b),
        "divides": lambda a, b: a % b == 0,
    }
    pairs = edge_quotients()
    assert len(pairs) > 300
    names = ("bytes", "tokens") if function == "divides" else ("tokens", "bytes")
    formula = checked(f"{function}({', '.join(names)})")
    expect = [right[function](int(a), int(b)) for a, b in pairs]
    operands = dict(zip(("tokens", "bytes"), np.array(pairs).T, strict=True))
    assert compiled(formula).run(operands.__getitem__, lambda name: False)[0].tolist() == expect
    texts = [
        to_cells(formula.tree, {"tokens": repr(a), "bytes": repr(b)}.__getitem__, span)
        for a, b in pairs
    ]
    for engine in ("formualizer", "libreoffice"):
        assert calculate_cells(texts, {}, engine) == expect, engine
    script = to_js(formula.tree)
    rows = ",".join(f"{{tokens:{a!r},bytes:{b!r}}}" for a, b in pairs)
    found = calculate_js([f"[{rows}].map(v => {script})"], {}, RUNTIME)[0]
    assert [_plain(formula.kind, value) for value in found] == expect


@pytest.mark.parametrize("function", ["floor", "ceil", "whole_down", "whole_up"])
def test_guard_forgives_rounding_alike_in_every_form(function: str) -> None:
    """A computed fraction that misses a whole number by rounding counts as that number."""
    near = [n * (1 + e) for n in (1.0, 3.0, 435.0, 8192.0, -7.0) for e in (-4e-16, 0.0, 4e-16)]
    far = [n * (1 + e) for n in (1.0, 3.0, 435.0, 8192.0, -7.0) for e in (-1e-11, 1e-11)]
    values = [*near, *far, 0.0, 0.1 * 3 * 10, 4.35 * 100, 0.7 / 0.1, 1.1 * 1.1 / 1.21, 1e-13]
    formula = checked(f"{function}(share)")
    expect = []
    for value in values:
        given = {"share": value}
        right = evaluate(formula.tree, given)
        assert agrees(right, float(round(value))) or value not in near
        expect.append(right.low)  # type: ignore[union-attr]
    assert (
        compiled(formula).run(lambda name: np.array(values), lambda name: False)[0].tolist()
        == expect
    )
    texts = [to_cells(formula.tree, lambda name, v=value: repr(v), span) for value in values]
    for engine in ("formualizer", "libreoffice"):
        assert calculate_cells(texts, {}, engine) == expect, engine
    rows = ",".join(f"{{share:{value!r}}}" for value in values)
    found = calculate_js([f"[{rows}].map(v => {to_js(formula.tree)})"], {}, RUNTIME)[0]
    assert [float(value) for value in found] == expect


# ---- the comparison bites -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "name", "form", "wrong"),
    [
        ("numpy", "min", "fast", "np.maximum({0}, {1})"),
        ("numpy batch", "lt", "safe", "_ge({0}, {1})"),
        ("numpy batch", "known", "safe", "_not({0})"),
        ("javascript", "ceil", "js", "Math.ceil({0})"),
        ("javascript", "if", "js", "({0}?{1}:{2})"),
        ("formualizer", "neg", "cells", "-{0}"),
        ("formualizer", "floordiv", "cells", "{0:6}/{1:7}"),
        ("formualizer", "pow", "cells", "{0}^{1}"),
        ("formualizer", "first_known", "cells", "{0}"),
        ("formualizer", "min_of", "cells", "MAX({0})"),
    ],
)
def test_one_wrong_form_is_found(
    engine: str, name: str, form: str, wrong: str,
    formulas: list[Formula], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(FUNCTIONS, name, replace(FUNCTIONS[name], **{form: wrong}))
    # 0.1 + 0.1 + 0.1 is a hair over 0.3: the one place where a ceiling needs its guard.
    drawn = [*formulas, checked("ceil((share + share + share) / share)")]
    some = [f for f in drawn if any(getattr(n, "function", "") == name for n in walk(f.tree))]
    assert any(disagreements(some, case, ENGINES[engine](some, case)) for case in CASES)
