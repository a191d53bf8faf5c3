"""One metric: its declaration, its checked formula, and the parts that a formula is cut into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.errors import Problem, Span
from planner.expr.check import CASE, GROUP, PLAN, STAGE, Checker, Type
from planner.expr.parse import FormulaError, parse
from planner.expr.to_arrays import ArrayFormula, compile_arrays
from planner.expr.to_math import to_text
from planner.expr.tree import Call, Node, Text
from planner.metric_files import ConstantEntry, FieldEntry, MetricEntry
from planner.units import Unit, dimension_text, parse_unit
from planner.yamlfile import Key, YamlFile

SLOTS = 6
"""Layer-group slots of a case; empty ones hold zeros."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A checked metric: declaration, typed tree, and its numpy form."""

    name: str
    entry: MetricEntry
    table: str
    text: str
    tree: Node
    type: Type
    unit: Unit
    display: Unit
    arrays: ArrayFormula
    span: Span
    origin: str
    position: int = 0
    part_of: str = ""
    variant: str = ""

    @property
    def label(self) -> str:
        """What people call it."""
        return self.entry.label

    @property
    def needs(self) -> tuple[str, ...]:
        """The names that its formula refers to."""
        return self.arrays.names


@dataclass(frozen=True, slots=True)
class Declared:
    """A metric as read, before it is checked: where it stands, and its formula text."""

    name: str
    entry: MetricEntry
    table: str
    file: YamlFile
    key: Key
    origin: str
    position: int = 0

    def problem(self, at: str, expected: str, found: str, hint: str = "") -> Problem:
        """A problem at one key of the entry."""
        return self.file.problem((*self.key, at), expected, found, hint)


_ENTITY_GRAIN = {"plan": PLAN, "group": GROUP, "stage": STAGE}


def field_type(entry: FieldEntry) -> Type:
    """The type that formulas see for an input."""
    grain = _ENTITY_GRAIN.get(entry.entity, CASE)
    if entry.kind == "choice":
        return Type("choice", words=entry.words, grain=grain)
    if entry.kind in ("flag", "places"):
        return Type(entry.kind, grain=grain)
    return Type("number", parse_unit(entry.unit).dimension, entry.kind == "count", (), grain)


def constant_type(entry: ConstantEntry) -> Type:
    """The type that formulas see for a constant."""
    whole = entry.value.is_integer()
    return Type("number", parse_unit(entry.unit).dimension, whole, grain=PLAN)


def make_part(
    declared: Declared | Metric,
    name: str,
    body: Node,
    scope: Mapping[str, Type],
    variant: str = "",
    variants: Mapping[str, Type] = {},
) -> Metric:
    """A helper metric that holds one part of a formula; it shows under its parent's name.

    ``variant``: the set whose rungs it has one value each for. ``variants``: the sets over which
    the part itself may reduce.
    """
    words = next((n.words for n in _results(body) if isinstance(n, Text)), ())
    tree, found = Checker(scope, variants).check(body, words)
    unit = parse_unit(dimension_text(found.dimension))
    entry = MetricEntry(
        label=f"Part of {declared.entry.label}", unit=unit.text, why=declared.entry.why,
        source=declared.entry.source, choices=words,
    )  # fmt: skip
    span = declared.span if isinstance(declared, Metric) else declared.file.span(declared.key)
    return Metric(
        name, entry, declared.table, to_text(tree), tree, found, unit, unit,
        compile_arrays(tree, found.kind == "flag"), span, declared.origin, declared.position,
        declared.name, variant,
    )  # fmt: skip


def _results(node: Node) -> list[Node]:
    """The nodes that a formula may give as its result."""
    if isinstance(node, Call) and node.function == "if":
        return [*_results(node.args[1]), *_results(node.args[2])]
    return [node]


def formula_of(entry: MetricEntry) -> tuple[str, Node]:
    """The formula text and raw tree of a metric, whichever way it is declared.

    Raises:
        FormulaError: none or several ways at once, or a text that is no formula.
    """
    ways = [bool(entry.formula), bool(entry.cases), bool(entry.adds)]
    if sum(ways) != 1:
        raise FormulaError(0, "one of formula, cases or adds", f"{sum(ways)} of them")
    if entry.formula:
        return entry.formula.strip(), parse(entry.formula)
    if entry.adds:
        text = " + ".join(entry.adds) + "".join(f" - {name}" for name in entry.subtracts)
        return text, parse(text)
    text = _cases_text(entry)
    return text, parse(text)


def _cases_text(entry: MetricEntry) -> str:
    if entry.cases[-1].when is not None or any(c.when is None for c in entry.cases[:-1]):
        raise FormulaError(0, "a 'when' in every case but the last", "another order")
    text = f"({entry.cases[-1].formula})"
    for case in reversed(entry.cases[:-1]):
        text = f"(({case.formula}) if ({case.when}) else {text})"
    return text


def formula_problem(declared: Declared, error: FormulaError) -> Problem:
    """The problem at its column where the formula stands on one line, else at its start."""
    key = (*declared.key, "cases" if declared.entry.cases else "formula")
    span = declared.file.span(key if key in declared.file.value_spans else declared.key)
    one_line = declared.entry.formula is not None and declared.entry.formula in span.text
    place = span.shifted(error.at, error.length) if one_line else span
    where = ".".join(str(part) for part in key)
    return Problem(place, where, error.expected, error.found, error.hint)
