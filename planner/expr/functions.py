"""The one function table: every operator and function of the language with all of its forms.

A row holds what the arguments are, how units combine, and one template for each output: numpy when
nothing can fail (``fast``, with numpy told to raise), numpy with failures (``safe``), spreadsheet
cells, JavaScript, plain text, MathML. A function that lacks a form cannot be declared.

Templates name arguments ``{0}``; ``{0:6}`` puts brackets around an argument that binds weaker than
6; ``{*}`` is all arguments with commas. A template with ``{0}`` and ``{1}`` folds over more.

Rules that keep the forms equal (measured, ``tests/test_expr_parity.py``):
a failure is NaN in arrays and JavaScript and an error in cells, never infinity; it spreads through
everything but an untaken branch of ``if``, ``known`` and ``first_known``. Spreadsheets read
``-a^2`` as ``(-a)^2`` and ``2^3^2`` as ``(2^3)^2``, so minus and powers are always bracketed; their
``0^0`` is an error, so that case is written out. Floor is ``INT``, which LibreOffice applies to a
value rounded to 15 digits; quotients of whole numbers below 1e14 and the guard of 1e-14
keep clear of that.
"""

from __future__ import annotations

from dataclasses import dataclass

# Precedence of the result, the same scale in every form.
OR, AND, COMPARE, ADD, MUL, POW, PRIMARY = 1, 2, 4, 5, 6, 8, 9

GUARD = 1e-14
"""Relative slack of floor and ceil on computed fractions, the same in all forms.

A few dozen roundings stay below it, and 100 GB times a share never gains a byte by it.
"""


@dataclass(frozen=True, slots=True)
class Function:
    """One row: see the module text. ``takes`` has a letter per argument, the last one repeats.

    n number, w whole number, f flag, v any value, c choice, p places of layers, e name or
    expression of a finer grain.
    ``units``: same, multiply, divide, power, root, none, compare, flag, first.
    """

    name: str
    takes: str
    gives: str
    units: str
    arity: tuple[int, int]
    fast: str
    safe: str
    cells: str
    js: str
    text: str
    mathml: str
    meaning: str
    symbol: str = ""
    precedence: int = PRIMARY
    cells_precedence: int = PRIMARY
    reduces: str = ""

    def letter(self, index: int) -> str:
        """What the argument at ``index`` must be."""
        return self.takes[min(index, len(self.takes) - 1)]


def _operator(
    name: str,
    symbol: str,
    gives: str,
    units: str,
    precedence: int,
    cells: str,
    math: str,
    meaning: str,
) -> Function:
    python = {"and": "&", "or": "|"}.get(symbol, symbol)
    plain = {"*": "×", "/": "÷", "-": "−", "<=": "≤", ">=": "≥", "==": "=", "!=": "≠", "**": "^"}
    left, right = precedence, precedence + 1
    takes = "nn"
    return Function(
        name, takes, gives, units, (2, 2),
        fast=f"({{0}} {python} {{1}})",
        safe=f"_{name}({{0}}, {{1}})",
        cells=f"{{0:{left}}}{cells}{{1:{right}}}",
        js=f"K.{name}({{0}},{{1}})",
        text=f"{{0:{left}}} {plain.get(symbol, symbol)} {{1:{right}}}",
        mathml=math, meaning=meaning, symbol=symbol,
        precedence=precedence, cells_precedence=precedence,
    )  # fmt: skip


def _infix(sign: str, precedence: int) -> str:
    return f"<mrow>{{0:{precedence}}}<mo>{sign}</mo>{{1:{precedence + 1}}}</mrow>"


def _compare(name: str, symbol: str, cells: str, sign: str, meaning: str) -> Function:
    return _operator(name, symbol, "f", "compare", COMPARE, cells, _infix(sign, COMPARE), meaning)


def _function(
    name: str,
    takes: str,
    gives: str,
    units: str,
    arity: tuple[int, int],
    cells: str,
    meaning: str,
    *,
    fast: str = "",
    text: str = "",
    mathml: str = "",
    reduces: str = "",
) -> Function:
    arguments = (
        ", ".join(f"{{{i}}}" for i in range(arity[0])) if arity[0] == arity[1] else "{0}, {1}"
    )
    return Function(
        name, takes, gives, units, arity,
        fast=fast or f"_{name}({arguments})",
        safe=f"_{name}({arguments})",
        cells=cells,
        js=f"K.{name}({{*}})",
        text=text or f"{name}({{*}})",
        mathml=mathml or f"<mrow><mi>{name}</mi><mo>(</mo>{{*}}<mo>)</mo></mrow>",
        meaning=meaning, reduces=reduces,
    )  # fmt: skip


_FLOOR = "<mrow><mo>⌊</mo>{}<mo>⌋</mo></mrow>"
_CEIL = "<mrow><mo>⌈</mo>{}<mo>⌉</mo></mrow>"
_FRACTION = "<mfrac>{0}{1}</mfrac>"
_IF_MATH = (
    '<mrow><mo>{{</mo><mtable columnalign="left left"><mtr><mtd>{1}</mtd><mtd><mtext>if </mtext>{0}'
    "</mtd></mtr><mtr><mtd>{2}</mtd><mtd><mtext>otherwise</mtext></mtd></mtr></mtable></mrow>"
)

_OPERATORS = (
    _operator("add", "+", "n", "same", ADD, "+", _infix("+", ADD), "sum"),
    _operator("sub", "-", "n", "same", ADD, "-", _infix("−", ADD), "difference"),
    _operator("mul", "*", "n", "multiply", MUL, "*", _infix("⋅", MUL), "product"),
    _operator("div", "/", "n", "divide", MUL, "/", _FRACTION, "quotient; fails at a divisor of 0"),
    _compare("lt", "<", "<", "&lt;", "less than"),
    _compare("le", "<=", "<=", "≤", "at most"),
    _compare("gt", ">", ">", "&gt;", "more than"),
    _compare("ge", ">=", ">=", "≥", "at least"),
    _compare("eq", "==", "=", "=", "equal: only whole numbers, flags and choices"),
    _compare("ne", "!=", "<>", "≠", "not equal: only whole numbers, flags and choices"),
)  # fmt: skip

_SPECIAL = (
    Function(
        "pow", "nn", "n", "power", (2, 2), "_pow({0}, {1})", "_pow({0}, {1})",
        # 0^0 is an error in some sheets and 1 here; LibreOffice finds a real root of -8^(1/3).
        "IF(AND({0:5}=0,{1:5}=0),1,IF(AND({0:5}<0,INT({1})<>{1:5}),NA(),{0:9}^{1:9}))",
        "K.pow({0},{1})",
        "{0:9}^{1:9}", "<msup>{0:9}{1}</msup>", "power; pow(0, 0) is 1", "**", POW,
    ),
    Function(
        "neg", "n", "n", "same", (1, 1), "(-{0})", "(-{0})", "(-{0:9})", "K.neg({0})",
        "−{0:7}", "<mrow><mo>−</mo>{0:7}</mrow>", "negative", "-", 7,
    ),
    Function(
        "and", "f", "f", "flag", (2, 8), "({0} & {1})", "_and({0}, {1})", "AND({*})", "K.and({*})",
        "{0:2} and {1:2}", "<mrow>{0:2}<mo>∧</mo>{1:2}</mrow>", "all are true", "and", AND,
    ),
    Function(
        "or", "f", "f", "flag", (2, 8), "({0} | {1})", "_or({0}, {1})", "OR({*})", "K.or({*})",
        "{0:1} or {1:1}", "<mrow>{0:1}<mo>∨</mo>{1:1}</mrow>", "any is true", "or", OR,
    ),
    Function(
        "not", "f", "f", "flag", (1, 1), "np.logical_not({0})", "_not({0})", "NOT({0})",
        "K.not({0})",
        "not {0:4}", "<mrow><mo>¬</mo>{0:4}</mrow>", "is false", "not", 3,
    ),
    Function(
        "if", "fvv", "v", "branch", (3, 3), "np.where({0}, {1}, {2})", "_if({0}, {1}, {2})",
        "IF({0},{1},{2})", "K.if({0},{1},{2})", "{1:1} if {0:1} else {2:1}", _IF_MATH,
        "one of two values; a failure in the untaken one is dropped", "if", 0,
    ),
)  # fmt: skip

_FUNCTIONS = (
    _function("min", "n", "n", "same", (2, 8), "MIN({*})", "smallest", fast="np.minimum({0}, {1})"),
    _function("max", "n", "n", "same", (2, 8), "MAX({*})", "largest", fast="np.maximum({0}, {1})"),
    _function("abs", "n", "n", "same", (1, 1), "ABS({0})", "without sign", fast="np.abs({0})",
              mathml="<mrow><mo>|</mo>{0}<mo>|</mo></mrow>"),
    _function("sqrt", "n", "n", "root", (1, 1), "SQRT({0})", "square root", fast="np.sqrt({0})",
              mathml="<msqrt>{0}</msqrt>"),
    _function("exp", "n", "n", "none", (1, 1), "EXP({0})", "e to the power", fast="np.exp({0})",
              mathml="<msup><mi>e</mi>{0}</msup>"),
    _function("ln", "n", "n", "none", (1, 1), "LN({0})", "natural logarithm", fast="np.log({0})"),
    _function("floor", "n", "w", "same", (1, 1), "INT({0:5}+ABS({0})*0.00000000000001)",
              "largest whole number not above, forgiving one part in 1e14",
              text="floor({0})", mathml=_FLOOR.format("{0}")),
    _function("ceil", "n", "w", "same", (1, 1), "(-INT(ABS({0})*0.00000000000001-{0:6}))",
              "smallest whole number not below, forgiving one part in 1e14",
              text="ceil({0})", mathml=_CEIL.format("{0}")),
    _function("whole_down", "n", "w", "same", (1, 1), "INT({0:5}+ABS({0})*0.00000000000001)",
              "a fraction of bytes cut to whole bytes", mathml=_FLOOR.format("{0}")),
    _function("whole_up", "n", "w", "same", (1, 1), "(-INT(ABS({0})*0.00000000000001-{0:6}))",
              "a fraction of bytes raised to whole bytes", mathml=_CEIL.format("{0}")),
    _function("floordiv", "w", "w", "divide", (2, 2), "INT({0:6}/{1:7})",
              "whole quotient, rounded down, of whole numbers below 1e14",
              fast="np.floor({0} / {1})", mathml=_FLOOR.format(_FRACTION)),
    _function("ceildiv", "w", "w", "divide", (2, 2), "(-INT((-{0:9})/{1:7}))",
              "whole quotient, rounded up, of whole numbers below 1e14",
              mathml=_CEIL.format(_FRACTION)),
    _function("divides", "w", "f", "compare", (2, 2), "(INT({1:6}/{0:7})*{0:6}={1:5})",
              "true when the first divides the second without rest",
              text="{0} divides {1}", mathml="<mrow>{0}<mo>∣</mo>{1}</mrow>"),
    _function("round_up_to", "w", "w", "same", (2, 2), "((-INT((-{0:9})/{1:7}))*{1:7})",
              "the next multiple of the second, both whole numbers below 1e14"),
    _function("count_places", "pw", "w", "none", (2, 2),
              # Marks sort before digits and letters, so that a number or a word is unknown. The
              # test keeps failures away from LEFT, which some sheets let pass through a test.
              'IF(AND(LEFT({0})<"0",{1:5}>=0),'
              'LEN(SUBSTITUTE(LEFT({0},MIN({1},LEN({0}))),".","")),NA())',
              "how many of the first so many layers are marked, one character a layer",
              text="count of {0} in the first {1}"),
    _function("known", "n", "f", "flag", (1, 1), "ISNUMBER({0})", "true unless it is unknown"),
    _function("first_known", "n", "n", "same", (2, 8), "IF(ISNUMBER({0}),{0},{1})",
              "the first value that is not unknown"),
    # Whole, so that a count which is unknown in one branch is still a count.
    _function("unknown", "", "w", "none", (0, 0), "NA()", "no value", text="unknown",
              mathml="<mtext>unknown</mtext>"),
    _function("sum_of", "e", "n", "same", (1, 1), "SUM({0})", "sum over the finer rows",
              reduces="finer", mathml="<mrow><mo>∑</mo>{0}</mrow>"),
    _function("min_of", "e", "n", "same", (1, 1), "MIN({0})", "smallest of the finer rows",
              reduces="finer"),
    _function("max_of", "e", "n", "same", (1, 1), "MAX({0})", "largest of the finer rows",
              reduces="finer"),
    _function("first_of", "e", "v", "same", (1, 1), "{0}", "value of the first finer row",
              reduces="finer"),
    _function("all_of", "e", "f", "flag", (1, 1), "AND({0})", "true for every finer row",
              reduces="finer"),
    _function("any_of", "e", "f", "flag", (1, 1), "OR({0})", "true for any finer row",
              reduces="finer"),
    _function("count_of", "e", "w", "none", (1, 1), "SUMPRODUCT({0}*1)",
              "number of finer rows for which it is true", reduces="finer"),
    _function("sum_over", "ve", "n", "second", (2, 2), "SUM({1})", "sum over the variants",
              reduces="variant", mathml="<mrow><mo>∑</mo>{1}</mrow>"),
    _function("max_over", "ve", "n", "second", (2, 2), "MAX({1})", "largest over the variants",
              reduces="variant"),
    _function("min_over", "ve", "n", "second", (2, 2), "MIN({1})", "smallest over the variants",
              reduces="variant"),
    _function("any_over", "ve", "f", "flag", (2, 2), "OR({1})", "true for any variant",
              reduces="variant"),
    _function("all_over", "ve", "f", "flag", (2, 2), "AND({1})", "true for every variant",
              reduces="variant"),
    _function("count_over", "ve", "w", "none", (2, 2), "SUMPRODUCT({1}*1)",
              "number of variants for which it is true", reduces="variant"),
    # Rewritten into `if` by the checker, which knows the words; they have no forms of their own.
    _function("select", "cv", "v", "branch", (3, 17), "", "the value that stands behind the word"),
    _function("argmin", "cn", "v", "branch", (4, 16), "", "the word with the smallest value"),
    _function("argmax", "cn", "v", "branch", (4, 16), "", "the word with the largest value"),
)  # fmt: skip

FUNCTIONS: dict[str, Function] = {f.name: f for f in (*_OPERATORS, *_SPECIAL, *_FUNCTIONS)}
REWRITTEN = frozenset({"select", "argmin", "argmax"})


class Argument:
    """A compiled argument inside a template: ``{0:6}`` brackets it when it binds weaker."""

    __slots__ = ("precedence", "text")

    def __init__(self, text: str, precedence: int) -> None:
        self.text, self.precedence = text, precedence

    def __format__(self, wanted: str) -> str:
        if wanted and self.precedence < int(wanted):
            return f"({self.text})"
        return self.text


def fill(template: str, args: list[Argument], own: int, joint: str = ",") -> str:
    """Put compiled arguments into a template; folds a two-argument template over more."""
    if "{*}" in template:
        return template.replace("{*}", joint.join(a.text for a in args))
    if len(args) > 2 and "{2" not in template:
        result = args[0]
        for argument in args[1:]:
            result = type(argument)(template.format(result, argument), own)
        return result.text
    return template.format(*args)
