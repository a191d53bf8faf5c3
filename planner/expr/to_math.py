"""Typed trees to readable math: plain text, and MathML that browsers draw without script."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from planner.expr.functions import FUNCTIONS, PRIMARY, Argument, fill
from planner.expr.tree import Call, Name, Node, Number, Text

Show = Callable[[str], str]


def _same(name: str) -> str:
    return name


def to_text(tree: Node, show: Show = _same) -> str:
    """One line of plain text; ``show`` gives the words (or the number) that stand for a name."""
    return _text(tree, show).text


def _text(node: Node, show: Show) -> Argument:
    match node:
        case Number(value=value):
            return Argument(f"{value:g}", PRIMARY)
        case Text(value=word):
            return Argument(word, PRIMARY)
        case Name(name=name):
            return Argument(show(name), PRIMARY)
        case Call(function=function, args=args):
            row = FUNCTIONS[function]
            done = [_text(a, show) for a in args]
            return Argument(fill(row.text, done, row.precedence, ", "), row.precedence)


def to_mathml(tree: Node, show: Show | None = None) -> str:
    """A ``<math>`` element (escaped); ``show`` gives the label of a name."""
    words = show or (lambda name: name.replace("_", " "))
    return f'<math display="block">{_mathml(tree, words).text}</math>'


class _Fenced(Argument):
    """Brackets as stretchy fences instead of plain characters."""

    __slots__ = ()

    def __format__(self, wanted: str) -> str:
        if wanted and self.precedence < int(wanted):
            return f"<mrow><mo>(</mo>{self.text}<mo>)</mo></mrow>"
        return self.text


def _mathml(node: Node, words: Show) -> Argument:
    match node:
        case Number(value=value):
            return _Fenced(f"<mn>{value:g}</mn>", PRIMARY)
        case Text(value=word):
            return _Fenced(f"<mtext>{escape(word)}</mtext>", PRIMARY)
        case Name(name=name):
            return _Fenced(f"<mtext>{escape(words(name))}</mtext>", PRIMARY)
        case Call(function=function, args=args):
            row = FUNCTIONS[function]
            done = [_mathml(a, words) for a in args]
            return _Fenced(fill(row.mathml, done, row.precedence, "<mo>,</mo>"), row.precedence)
