"""Formula text (a small subset of Python expressions) to a tree, with a column for every error."""

from __future__ import annotations

import ast
import math
import re
import warnings

from planner.errors import nearest
from planner.expr.functions import FUNCTIONS
from planner.expr.tree import Call, Name, Node, Number, Text

MAX_LENGTH = 500
MAX_DEPTH = 50

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Attribute: ("a plain name", "names have no dots"),
    ast.Subscript: ("a plain name", "use sum_of, min_of, max_of or first_of for layer groups"),
    ast.FloorDiv: ("floordiv(a, b)", "write floordiv(a, b), which takes whole numbers"),
    ast.Mod: ("divides(a, b)", "write divides(a, b) or round_up_to(x, step)"),
    ast.Lambda: ("an expression of the formula language", ""),
    ast.NamedExpr: ("an expression of the formula language", "declare another metric instead"),
    ast.JoinedStr: ("a plain word in quotes", ""),
}
# What a person calls them.
_CALLED: dict[type[ast.AST], str] = {
    ast.Attribute: "a dot", ast.Subscript: "square brackets", ast.FloorDiv: "'//'", ast.Mod: "'%'",
    ast.Lambda: "a lambda", ast.NamedExpr: "':='", ast.JoinedStr: "a text with braces",
    ast.List: "a list", ast.Tuple: "a comma", ast.Dict: "braces", ast.Set: "braces",
    ast.MatMult: "'@'", ast.LShift: "'<<'", ast.RShift: "'>>'", ast.BitAnd: "'&'", ast.BitOr: "'|'",
    ast.BitXor: "'^'", ast.Invert: "'~'", ast.UAdd: "a leading '+'", ast.In: "'in'",
    ast.NotIn: "'not in'", ast.Is: "'is'", ast.IsNot: "'is not'",
}  # fmt: skip


class FormulaError(ValueError):
    """A formula that cannot be used: offset in the text, what was expected, what was found."""

    def __init__(self, at: int, expected: str, found: str, hint: str = "", length: int = 1) -> None:
        self.at, self.expected, self.found, self.hint = at, expected, found, hint
        self.length = length
        super().__init__(f"column {at + 1}: expected {expected}, found {found}")


def parse(text: str) -> Node:
    """Read one formula.

    Raises:
        FormulaError: not a formula of the language; carries the offset in ``text``.
    """
    if len(text) > MAX_LENGTH:
        raise FormulaError(0, f"at most {MAX_LENGTH} characters", f"{len(text)} characters")
    flat = text.replace("\n", " ").rstrip()
    start = len(flat) - len(flat.lstrip())
    if not flat.strip():
        raise FormulaError(0, "a formula", "an empty text")
    if flat[start] == "=":
        raise FormulaError(start, "a formula", "a leading '='", "leave it out")
    _refuse_foreign(flat)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "1if a else 2" is a slip, not a matter of taste
            body = ast.parse(flat[start:], mode="eval").body
    except (SyntaxError, ValueError) as error:
        # Offset 0 says that the text ended too early.
        offset = getattr(error, "offset", None) or len(flat) - start
        raise FormulaError(
            min(start + offset - 1, len(flat) - 1), "a formula", _syntax(error)
        ) from None
    except (RecursionError, MemoryError):
        raise FormulaError(0, f"at most {MAX_DEPTH} levels", "deeper nesting") from None
    return _Reader(flat[start:], start).node(body, 0)


_WORDS = re.compile(r"\"[^\"]*\"|'[^']*'")


def _refuse_foreign(text: str) -> None:
    """Refuse what Python reads otherwise than a person: escapes, comments that eat the rest."""
    if "\\" in text:
        raise FormulaError(text.index("\\"), "a formula", "a backslash")
    outside = _WORDS.sub(lambda word: "_" * len(word[0]), text)
    if "#" in outside:
        hint = "write comments above the formula, in the YAML"
        raise FormulaError(outside.index("#"), "a formula", "a comment", hint)


def _syntax(error: Exception) -> str:
    # Some messages end in a bracket with a place, which is that of the text handed to Python.
    text = re.sub(r" \([^()]*\)$", "", str(getattr(error, "msg", error))).strip()
    return f"a syntax error ({text})"


class _Reader:
    """Turns the nodes of ``ast`` that the language allows into ours; refuses all others."""

    def __init__(self, text: str, start: int) -> None:
        self.raw, self.start = text.encode(), start

    def at(self, node: ast.expr) -> int:
        # ast counts UTF-8 bytes; people and editors count characters.
        return self.start + len(self.raw[: node.col_offset].decode(errors="ignore"))

    def refuse(self, node: ast.AST, at: ast.expr, what: str = "") -> FormulaError:
        expected, hint = _REFUSED.get(type(node), ("an expression of the formula language", ""))
        found = what or _CALLED.get(type(node), f"{type(node).__name__} of Python")
        return FormulaError(self.at(at), expected, found, hint)

    def node(self, node: ast.expr, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise FormulaError(self.at(node), f"at most {MAX_DEPTH} levels", "deeper nesting")
        depth += 1
        at = self.at(node)
        match node:
            case ast.Constant():
                return self.constant(node)
            case ast.Name(id=name):
                return Name(name, at)
            case ast.BinOp(left=left, op=op, right=right):
                if type(op) not in _BINARY:
                    raise self.refuse(op, node)
                args = (self.node(left, depth), self.node(right, depth))
                return Call(_BINARY[type(op)], args, at)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Call("neg", (self.node(operand, depth),), at)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Call("not", (self.node(operand, depth),), at)
            case ast.BoolOp(op=op, values=values):
                name = "and" if isinstance(op, ast.And) else "or"
                return Call(name, tuple(self.node(v, depth) for v in values), at)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                args3 = (self.node(test, depth), self.node(body, depth), self.node(orelse, depth))
                return Call("if", args3, at)
            case ast.Compare():
                return self.compare(node, depth)
            case ast.Call():
                return self.call(node, depth)
            case _:
                raise self.refuse(getattr(node, "op", node), node)

    def constant(self, node: ast.Constant) -> Node:
        at, value = self.at(node), node.value
        if isinstance(value, str):
            return Text(value, at)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise FormulaError(at, "a number or a word in quotes", f"{value!r}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise FormulaError(at, "a finite number", "a number beyond 1e308")
        return Number(number, at)

    def compare(self, node: ast.Compare, depth: int) -> Node:
        if len(node.ops) != 1:
            raise FormulaError(self.at(node), "one comparison at a time", "a chain", "use 'and'")
        name = _COMPARE.get(type(node.ops[0]))
        if name is None:
            raise self.refuse(node.ops[0], node)
        args = (self.node(node.left, depth), self.node(node.comparators[0], depth))
        return Call(name, args, self.at(node))

    def call(self, node: ast.Call, depth: int) -> Node:
        at = self.at(node)
        if not isinstance(node.func, ast.Name):
            raise self.refuse(node.func, node, "a call of something that is no function name")
        name = node.func.id
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise FormulaError(at, "plain arguments", "a named or starred argument")
        if name == "q":
            return self.quantity(node)
        row = FUNCTIONS.get(name)
        if row is None or row.symbol:
            known = sorted(f.name for f in FUNCTIONS.values() if not f.symbol)
            raise FormulaError(
                at, "a function of the table", f"'{name}'", nearest(name, known), len(name)
            )
        low, high = row.arity
        if not low <= len(node.args) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            raise FormulaError(
                at, f"{wanted} arguments of {name}", f"{len(node.args)}",
                f"{name} gives: {row.meaning}", len(name),
            )  # fmt: skip
        return Call(name, tuple(self.node(a, depth) for a in node.args), at)

    def quantity(self, node: ast.Call) -> Node:
        match node.args:
            case [ast.Constant() as number, ast.Constant(value=str() as unit)]:
                found = self.constant(number)
                if isinstance(found, Number):
                    return Number(found.value, self.at(node), unit)
        raise FormulaError(self.at(node), 'q(number, "unit")', "other arguments")
