"""Typed trees to spreadsheet formulas: classic functions, A1 references, no leading '='.

Excel reads ``-a^2`` as ``(-a)^2`` and ``2^3^2`` as ``(2^3)^2``; the templates bracket both.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.expr.functions import FUNCTIONS, PRIMARY, Argument, fill
from planner.expr.tree import Call, Name, Node, Number, Text

Ref = Callable[[str], str]


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
            return Argument(fill(row.cells, done, row.cells_precedence), row.cells_precedence)
