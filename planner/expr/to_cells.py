"""Typed trees to spreadsheet formulas: classic functions, A1 references, no leading '='.

Excel reads ``-a^2`` as ``(-a)^2`` and ``2^3^2`` as ``(2^3)^2``; the templates bracket both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from string import Formatter

from planner.expr.functions import ADD, FUNCTIONS, POW, PRIMARY, Argument, fill
from planner.expr.tree import Call, Name, Node, Number, Text

Ref = Callable[[str], str]

_FORMATTER = Formatter()
_COMMA = re.compile(r",(?=(?:[^']*'[^']*')*[^']*$)")


def number_text(value: float) -> str:
    """A literal for a cell formula: shortest form that reads back to the same double."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value).upper().replace("E+", "E")


def word_text(word: str) -> str:
    """A word as a string literal of a formula."""
    return '"' + word.replace('"', '""') + '"'


def to_cells(tree: Node, ref: Ref, span: Ref) -> str:
    """The formula text: ``ref`` gives the cell of a name, ``span`` those of a reduction."""
    return _compile(tree, ref, span).text


def _compile(node: Node, ref: Ref, span: Ref) -> Argument:
    match node:
        case Number(value=value):
            return Argument(number_text(value), PRIMARY)
        case Text(value=word):
            return Argument(word_text(word), PRIMARY)
        case Name(name=name):
            return Argument(ref(name), PRIMARY)
        case Call(function=function, args=args):
            row = FUNCTIONS[function]
            inner = ref if not row.reduces or row.name == "first_of" else span
            done = [
                Argument("", PRIMARY)
                if row.reduces == "variant" and index == 0
                else _compile(argument, inner, span)
                for index, argument in enumerate(args)
            ]
            template, own = _template(node)
            counts = function in ("count_over", "count_of")
            if counts and len(cells := _separate(done[-1].text)) > 1:
                # SUMPRODUCT takes a list of cells for factors; it counts within one range only.
                return Argument("+".join(f"{cell}*1" for cell in cells), ADD)
            return Argument(fill(template, done, own), own)


def _separate(text: str) -> list[str]:
    """The cells of a list of references; sheet names in quotes may hold commas."""
    return _COMMA.split(text)


def _template(node: Call) -> tuple[str, int]:
    """The template of a call and how strongly its result binds."""
    row = FUNCTIONS[node.function]
    if row.name == "pow" and isinstance(node.args[1], Number) and node.args[1].value > 0:
        return "{0:9}^{1}", POW  # the literals 1 and 2 need no guard against 0^0 and odd roots
    return row.cells, row.cells_precedence


def cells_length(tree: Node, name: int) -> int:
    """Length of the formula when every name takes ``name`` characters.

    Counted and not built: templates repeat their arguments, so a tower of functions grows
    exponentially.
    """
    return _length(tree, name)[0]


def _length(node: Node, name: int) -> tuple[int, int]:
    match node:
        case Number(value=value):
            return len(number_text(value)), PRIMARY
        case Text(value=word):
            return len(word_text(word)), PRIMARY
        case Name():
            return name, PRIMARY
        case Call(function=function, args=args):
            template, own = _template(node)
            done = [_length(a, name) for a in args]
            if FUNCTIONS[function].reduces == "variant":
                done[0] = (0, PRIMARY)
            if "{*}" in template:
                return len(template) - 3 + sum(n for n, _ in done) + len(done) - 1, own
            return sum(_piece(part, done) for part in _FORMATTER.parse(template)), own


def _piece(
    part: tuple[str, str | None, str | None, str | None], done: list[tuple[int, int]]
) -> int:
    literal, index, wanted, _ = part
    if index is None:
        return len(literal)
    length, precedence = done[int(index)]
    return len(literal) + length + (2 if wanted and precedence < int(wanted) else 0)
