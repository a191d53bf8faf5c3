"""Names, arity, kinds, units and grains of a formula, checked before anything runs.

The result is a typed tree in which ``select``, ``argmin`` and ``argmax`` are written out as ``if``
and every word knows the choice it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from planner.errors import nearest
from planner.expr.functions import FUNCTIONS, Function
from planner.expr.parse import FormulaError
from planner.expr.tree import Call, Name, Node, Number, Text
from planner.units import NO_DIMENSION, Dimension, UnitError, dimension_text, parse_unit

# What a value stands for. Layer groups and pipeline stages are both finer than a case; together
# they give the layers of one group in one stage. Each reduces to the one that COARSER names.
PLAN, CASE, GROUP, STAGE, STAGE_GROUP = range(5)
GRAINS = ("plan", "case", "layer group", "pipeline stage", "layer group of a stage")
COARSER = {CASE: PLAN, GROUP: CASE, STAGE: CASE, STAGE_GROUP: STAGE}
FREE_LITERALS = (0.0, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class Type:
    """What a value is: kind (number, flag, choice, places), dimension, whole or not, grain."""

    kind: str
    dimension: Dimension = NO_DIMENSION
    whole: bool = False
    words: tuple[str, ...] = ()
    grain: int = PLAN
    free: bool = False  # a literal 0, or no value: fits every unit
    missing: bool = False  # no value: fits every kind as well

    def __str__(self) -> str:
        if self.kind == "number":
            return f"a number in {dimension_text(self.dimension)}"
        if self.kind == "places":
            return "places of layers"
        return f"a {self.kind}" + (f" ({', '.join(self.words)})" if self.words else "")


def finest(*grains: int) -> int:
    """The grain of a value that is made of values of these grains."""
    if GROUP in grains and STAGE in grains:
        return STAGE_GROUP
    return max(grains, default=PLAN)


def whole_number(unit: str, grain: int = CASE) -> Type:
    """The type of a count with its unit."""
    return Type("number", parse_unit(unit).dimension, True, (), grain)


class Checker:
    """Checks formulas against a scope of named types."""

    def __init__(self, scope: Mapping[str, Type], variants: Mapping[str, Type] = {}) -> None:
        self.scope, self.variants = scope, variants

    def check(self, node: Node, words: tuple[str, ...] = ()) -> tuple[Node, Type]:
        """Type one formula; ``words`` is the declared choice when it gives one.

        Raises:
            FormulaError: the first problem, at its offset in the text.
        """
        match node:
            case Number():
                return node, self._number(node)
            case Text():
                return self._text(node, words)
            case Name():
                return node, self._name(node)
            case Call():
                return self._call(node, words)

    def _number(self, node: Number) -> Type:
        if node.value not in FREE_LITERALS:
            raise FormulaError(
                node.at,
                "the literals 0, 1 and 2 only",
                f"{node.value:g}",
                "declare a named constant with its reason under 'constants:'",
            )
        try:
            unit = parse_unit(node.unit or "1")
        except UnitError as error:
            raise FormulaError(node.at, error.expected, error.found, error.hint) from None
        if unit.factor != 1:
            raise FormulaError(node.at, f"the base unit {unit.base.text}", f"'{node.unit}'")
        return Type("number", unit.dimension, True, free=node.value == 0 and not node.unit)

    def _text(self, node: Text, words: tuple[str, ...]) -> tuple[Node, Type]:
        if not words:
            raise FormulaError(
                node.at, "a number, a name or a function", f"the word '{node.value}'",
                "a word is compared with a choice, or given by a metric with 'choices:'",
            )  # fmt: skip
        if node.value not in words:
            raise FormulaError(
                node.at, "one of " + ", ".join(words), f"'{node.value}'",
                nearest(node.value, words),
                len(node.value) + 2,
            )  # fmt: skip
        return replace(node, words=words), Type("choice", words=words)

    def _name(self, node: Name) -> Type:
        found = self.scope.get(node.name)
        if found is None:
            raise FormulaError(
                node.at, "a declared name", f"'{node.name}'", nearest(node.name, self.scope),
                len(node.name),
            )  # fmt: skip
        return found

    def _call(self, node: Call, words: tuple[str, ...]) -> tuple[Node, Type]:
        row = FUNCTIONS[node.function]
        if row.name in ("select", "argmin", "argmax"):
            return self.check(getattr(self, f"_{row.name}")(node, words), words)
        if row.reduces:
            return self._reduction(node, row)
        if row.name in ("eq", "ne"):
            return self._equal(node)
        inner = words if row.name == "if" else ()
        done = [self.check(a, inner if i else ()) for i, a in enumerate(node.args)]
        types = [t for _, t in done]
        for index, (argument, found) in enumerate(done):
            _kind(row.letter(index), found, argument.at, row)
        result = self._result(row, types, node)
        grain = finest(*(t.grain for t in types))
        typed = replace(node, args=tuple(n for n, _ in done))
        return _nested_right(typed), replace(result, grain=grain)

    def _result(self, row: Function, types: list[Type], node: Call) -> Type:
        whole = row.gives == "w" or (
            row.name in ("add", "sub", "mul", "neg", "min", "max", "abs", "first_known")
            and all(t.whole for t in types)
        )
        if row.units == "branch":
            return self._branch(types, node)
        if row.gives == "f":
            if row.units == "compare":
                _same(types, node, row)
            return Type("flag")
        return Type(
            "number", _dimension(row, types, node), whole or _whole_power(row, types, node),
            free=row.name == "unknown" or (row.units == "same" and all(t.free for t in types)),
            missing=row.name == "unknown",
        )  # fmt: skip

    def _branch(self, types: list[Type], node: Call) -> Type:
        yes, no = types[1], types[2]
        if yes.missing:
            yes = no
        if no.missing:
            no = yes
        if yes.kind != no.kind:
            raise FormulaError(node.args[2].at, f"{yes} as in the other branch", f"{no}")
        if yes.kind == "choice" and yes.words != no.words:
            raise FormulaError(node.args[2].at, f"{yes} as in the other branch", f"{no}")
        if yes.kind != "number":
            return yes
        dimension = _same([yes, no], replace(node, args=node.args[1:]), FUNCTIONS["if"])
        return Type("number", dimension, yes.whole and no.whole, free=yes.free and no.free)

    def _equal(self, node: Call) -> tuple[Node, Type]:
        left, right = node.args
        if isinstance(left, Text):
            left, right = right, left
        a, a_type = self.check(left)
        b, b_type = self.check(right, a_type.words)
        _kind("v", a_type, left.at, FUNCTIONS[node.function])
        if a_type.kind != b_type.kind or (a_type.words and a_type.words != b_type.words):
            raise FormulaError(right.at, f"{a_type} as on the other side", f"{b_type}")
        if a_type.kind == "number":
            if not (a_type.whole and b_type.whole):
                raise FormulaError(
                    node.at, "whole numbers, flags or choices around '=='", "a computed fraction",
                    "compare with <= or >=, or use whole_down first",
                )  # fmt: skip
            _same([a_type, b_type], node, FUNCTIONS["eq"])
        return replace(node, args=(a, b)), Type("flag", grain=finest(a_type.grain, b_type.grain))

    def _reduction(self, node: Call, row: Function) -> tuple[Node, Type]:
        variant = ""
        if row.reduces == "variant":
            first = node.args[0]
            if isinstance(first, Text):  # a tree that was checked before
                first = Name(first.value, first.at)
            if not isinstance(first, Name) or first.name not in self.variants:
                raise FormulaError(
                    first.at, "the name of a set of variants", "another expression",
                    f"declared are: {', '.join(self.variants) or 'none'}",
                )  # fmt: skip
            variant = first.name
        body, found = self.check(node.args[-1])
        flags = row.units == "flag" or row.gives == "w"
        _kind("f" if flags else row.gives, found, body.at, row)
        if variant and found.grain > CASE:
            raise FormulaError(body.at, "a value per case", f"a value per {GRAINS[found.grain]}")
        if not variant and found.grain == PLAN:
            raise FormulaError(
                body.at, "a value per case or per layer group", "one value for the whole plan"
            )
        grain = CASE if variant else COARSER[found.grain]
        if flags:
            result = Type("flag" if row.gives == "f" else "number", whole=True, grain=grain)
        else:
            result = replace(found, grain=grain)
        # The set is no value: as a word it stays out of the names that a formula needs.
        args = (Text(variant, node.args[0].at), body) if variant else (body,)
        return replace(node, args=args), result

    def _pairs(self, node: Call, start: int) -> list[tuple[Text, Node]]:
        rest = node.args[start:]
        if len(rest) % 2:
            raise FormulaError(node.at, "pairs of a word and a value", "a word without its value")
        pairs = []
        for word, value in zip(rest[::2], rest[1::2], strict=True):
            if not isinstance(word, Text):
                raise FormulaError(word.at, "a word in quotes", "another expression")
            pairs.append((word, value))
        return pairs

    def _select(self, node: Call, words: tuple[str, ...]) -> Node:
        subject, kind = self.check(node.args[0])
        if kind.kind != "choice":
            raise FormulaError(node.args[0].at, "a choice", f"{kind}")
        pairs = self._pairs(node, 1)
        given = [t.value for t, _ in pairs]
        again = next((t for i, (t, _) in enumerate(pairs) if t.value in given[:i]), None)
        if again:
            raise FormulaError(again.at, "each word once", f"'{again.value}' again")
        missing = [w for w in kind.words if w not in given]
        if missing:
            raise FormulaError(node.at, "a value for every word", f"none for {', '.join(missing)}")
        result = pairs[-1][1]
        for word, value in reversed(pairs[:-1]):
            self._text(word, kind.words)
            result = Call("if", (Call("eq", (subject, word), word.at), value, result), node.at)
        self._text(pairs[-1][0], kind.words)
        return result

    def _extreme(self, node: Call, words: tuple[str, ...], compare: str) -> Node:
        pairs = self._pairs(node, 0)
        if words and [t.value for t, _ in pairs] != [
            w for w in words if w in {t.value for t, _ in pairs}
        ]:
            raise FormulaError(
                node.at, "the words in their declared order", "another order",
                "ties go to the first word: " + ", ".join(words),
            )  # fmt: skip
        result: Node = pairs[-1][0]
        for index in range(len(pairs) - 2, -1, -1):
            word, value = pairs[index]
            tests = [Call(compare, (value, other), word.at) for _, other in pairs[index + 1 :]]
            test: Node = tests[0] if len(tests) == 1 else Call("and", tuple(tests), word.at)
            result = Call("if", (test, word, result), node.at)
        return result

    def _argmin(self, node: Call, words: tuple[str, ...]) -> Node:
        return self._extreme(node, words, "le")

    def _argmax(self, node: Call, words: tuple[str, ...]) -> Node:
        return self._extreme(node, words, "ge")


def _nested_right(node: Call) -> Call:
    """``first_known`` of many as pairs, so that no form repeats its first argument twice."""
    if node.function != "first_known" or len(node.args) == 2:
        return node
    rest = _nested_right(replace(node, args=node.args[1:]))
    return replace(node, args=(node.args[0], rest))


def _kind(letter: str, found: Type, at: int, row: Function) -> None:
    wanted = {"n": "number", "w": "number", "f": "flag", "p": "places"}.get(letter)
    words = "places of layers" if letter == "p" else f"a {wanted or 'value'}"
    if (found.kind == "places") != (letter == "p") or (wanted and found.kind != wanted):
        raise FormulaError(at, f"{words} in {row.symbol or row.name}", f"{found}")
    if letter == "w" and not found.whole:
        raise FormulaError(
            at, f"a whole number in {row.name}", "a computed fraction",
            "use whole_down or whole_up first: a fraction of bytes becomes whole bytes once",
        )  # fmt: skip


def _same(types: list[Type], node: Call, row: Function) -> Dimension:
    """The one dimension of all arguments; a literal 0 fits any."""
    fixed = [(t, a) for t, a in zip(types, node.args, strict=True) if not t.free]
    if not fixed:
        return NO_DIMENSION
    first = fixed[0][0].dimension
    for found, argument in fixed[1:]:
        if found.dimension != first:
            raise FormulaError(
                argument.at, f"{dimension_text(first)} as in the first part of "
                f"{row.symbol or row.name}", dimension_text(found.dimension),
                factor_hint(first, found.dimension),
            )  # fmt: skip
    return first


def factor_hint(wanted: Dimension, found: Dimension) -> str:
    """The factor by which two dimensions differ, in words."""
    factor = tuple(f - w for f, w in zip(found, wanted, strict=True))
    return f"the two differ by a factor of {dimension_text(factor)}"


def _combine(a: Dimension, b: Dimension, sign: int) -> Dimension:
    return tuple(x + sign * y for x, y in zip(a, b, strict=True))


def _power(types: list[Type], node: Call) -> Dimension:
    base, exponent = types
    if exponent.dimension != NO_DIMENSION:
        raise FormulaError(
            node.args[1].at, "an exponent without unit", dimension_text(exponent.dimension)
        )
    if base.dimension == NO_DIMENSION:
        return NO_DIMENSION
    literal = node.args[1]
    if not isinstance(literal, Number):
        raise FormulaError(literal.at, "a literal exponent for a base with a unit", "an expression")
    return tuple(int(x * literal.value) for x in base.dimension)


def _root(types: list[Type], node: Call) -> Dimension:
    if any(x % 2 for x in types[0].dimension):
        raise FormulaError(
            node.args[0].at, "a square unit under the root", dimension_text(types[0].dimension)
        )
    return tuple(x // 2 for x in types[0].dimension)


def _plain(types: list[Type], node: Call, row: Function) -> Dimension:
    for found, argument in zip(types, node.args, strict=True):
        if found.dimension != NO_DIMENSION:
            raise FormulaError(
                argument.at, f"a number without unit in {row.name}", dimension_text(found.dimension)
            )
    return NO_DIMENSION


_UNIT_RULES: dict[str, Callable[[list[Type], Call, Function], Dimension]] = {
    "same": lambda types, node, row: _same(types, node, row),
    "multiply": lambda types, node, row: _combine(types[0].dimension, types[1].dimension, 1),
    "divide": lambda types, node, row: _combine(types[0].dimension, types[1].dimension, -1),
    "power": lambda types, node, row: _power(types, node),
    "root": lambda types, node, row: _root(types, node),
    "none": _plain,
}


def _dimension(row: Function, types: list[Type], node: Call) -> Dimension:
    return _UNIT_RULES[row.units](types, node, row)


def _whole_power(row: Function, types: list[Type], node: Call) -> bool:
    if row.name != "pow" or not all(t.whole for t in types):
        return False
    exponent = node.args[1]
    return isinstance(exponent, Number) and exponent.value >= 0
