"""What a formula may hold, told from its text alone; each rule gives one line per breach.

Formulas that differ only by where they stand have one relative form (``R[0]C[-2]``), so that a
column of a thousand rows is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from openpyxl.formula import Tokenizer
from openpyxl.utils import column_index_from_string

from support.xlsx import position

# All of them are in Excel 2007 and none is volatile.
FUNCTIONS = frozenset({
    "ABS", "AND", "COUNT", "EXP", "IF", "INDEX", "INT", "ISERROR", "ISNUMBER", "LEFT", "LEN",
    "LN", "MATCH", "MAX", "MIN", "NA", "NOT", "OR", "SQRT", "SUBSTITUTE", "SUM", "SUMPRODUCT",
})  # fmt: skip
RANGES_IN = frozenset(
    {"AND", "COUNT", "INDEX", "MATCH", "MAX", "MIN", "OR", "SUM", "SUMPRODUCT"}
)  # fmt: skip
FREE_LITERALS = frozenset({"0", "1", "2"})
GUARD = "0.00000000000001"  # of floor and ceil, see planner/expr/functions.py

_PARTS = re.compile(
    r"""(?P<fixed>"(?:[^"]|"")*"|'(?:[^']|'')*')
      | (?<![\w.])(?P<column_mark>\$?)(?P<letters>[A-Z]{1,3})(?P<row_mark>\$?)(?P<row>\d+)(?![\w(!])
    """,
    re.VERBOSE,
)
_column = lru_cache(maxsize=None)(column_index_from_string)


def relative(formula: str, address: str) -> str:
    """The formula with references relative to its cell; fixed parts keep their numbers."""
    row, column = position(address)

    def one(found: re.Match[str]) -> str:
        if found["fixed"] is not None:
            return found[0]
        r, c = int(found["row"]), _column(found["letters"])
        rows = f"R{r}" if found["row_mark"] else f"R[{r - row}]"
        return rows + (f"C{c}" if found["column_mark"] else f"C[{c - column}]")

    return _PARTS.sub(one, formula)


def forms(formulas: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], tuple[str, str]]:
    """Sheet and relative form to the first cell and formula of that form."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for (sheet, address), text in formulas.items():
        found.setdefault((sheet, relative(text, address)), (address, text))
    return found


def breaches(formula: str) -> Iterator[str]:
    """Everything about one formula that a spreadsheet or a reader may stumble over."""
    bare = re.sub(r'"(?:[^"]|"")*"', '""', formula)
    outside = re.sub(r"'(?:[^']|'')*'", "S", bare)
    for sign, why in (("@", "implicit intersection"), ("[", "a table or another file"),
                      ("{", "an array"), ("#", "an error or a spill range"),
                      ("://", "an address")):  # fmt: skip
        if sign in outside:
            yield f"{sign} is {why}"
    if re.search(r"R\[?-?\d*\]?C\[", outside):
        yield "a reference in R1C1 form"
    stack: list[str] = []
    for token in Tokenizer(f"={formula}").items:
        if token.type == "FUNC":
            if token.subtype == "OPEN":
                stack.append(token.value.rstrip("("))
                if stack[-1] not in FUNCTIONS:
                    yield f"the function {stack[-1]} is not on the list"
            else:
                stack.pop()
        elif token.type == "PAREN":
            if token.subtype == "OPEN":
                stack.append("")
            else:
                stack.pop()
        elif token.type == "OPERAND" and token.subtype == "RANGE":
            yield from _reference(token.value, [name for name in stack if name])
        elif token.type == "ARRAY":
            yield "an array"


_CELL = r"\$?[A-Z]{1,3}\$?[1-9]\d*"
_REFERENCE = re.compile(rf"(?:(?:[A-Za-z]\w*|'(?:[^'\[]|'')+')!)?{_CELL}(?P<range>:{_CELL})?")


def _reference(text: str, inside: list[str]) -> Iterator[str]:
    if text in ("TRUE", "FALSE"):
        return
    found = _REFERENCE.fullmatch(text)
    if not found:
        yield f"{text} is no A1 reference to a cell or a range"
    elif found["range"] and (not inside or inside[-1] not in RANGES_IN):
        yield f"the range {text} stands where one cell is expected"


def literals(formula: str) -> list[str]:
    """Numbers in the formula beyond 0, 1 and 2."""
    return [
        token.value
        for token in Tokenizer(f"={formula}").items
        if token.type == "OPERAND" and token.subtype == "NUMBER"
        and token.value not in FREE_LITERALS
    ]  # fmt: skip


def if_depth(formula: str) -> int:
    """How many IFs stand inside each other."""
    deepest, stack = 0, []
    for token in Tokenizer(f"={formula}").items:
        if token.type in ("FUNC", "PAREN"):
            if token.subtype == "OPEN":
                stack.append(token.value)
                deepest = max(deepest, stack.count("IF("))
            else:
                stack.pop()
    return deepest


def each(formulas: Mapping[tuple[str, str], str], rule: Callable[[str], object]) -> list[str]:
    """``sheet!cell: formula: what`` for each form on which the rule says something."""
    lines = []
    for (sheet, _), (address, text) in forms(formulas).items():
        said = rule(text)
        for what in said if isinstance(said, list) else [said]:
            if what:
                lines.append(f"{sheet}!{address}: {text}: {what}")
    return lines
