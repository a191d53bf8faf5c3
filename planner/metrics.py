"""Metrics: declared once in YAML, checked together, compiled to every form.

``MetricSet.load`` reads the built-in files and a user's own ones by the same path. Every formula is
parsed, named, typed and ordered before anything runs; all problems are reported together.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from planner.errors import InputError, Problem, Span, nearest, one_of
from planner.expr.check import CASE, GROUP, PLAN, Checker, Type, factor_hint
from planner.expr.functions import FUNCTIONS
from planner.expr.parse import FormulaError, parse
from planner.expr.to_arrays import ArrayFormula, compile_arrays
from planner.expr.tree import Call, Name, Node, Text, names, rebuild
from planner.figures import Part
from planner.metric_checks import result_problem, variant_problems
from planner.metric_files import (
    ConstantEntry,
    ExampleEntry,
    FieldEntry,
    MetricEntry,
    MetricsFile,
    TableEntry,
    VariantEntry,
    read_metrics_file,
)
from planner.resources import metrics_dir
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


_ENTITY_GRAIN = {"plan": PLAN, "group": GROUP}
_CELL_ADDRESS = re.compile(r"[a-z]{1,3}[0-9]+|r|c")
_PART = re.compile(r"_(part|cut)[0-9]+$")  # the helper metrics of a formula are called so
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")


def field_type(entry: FieldEntry) -> Type:
    """The type that formulas see for an input."""
    grain = _ENTITY_GRAIN.get(entry.entity, CASE)
    if entry.kind == "choice":
        return Type("choice", words=entry.words, grain=grain)
    if entry.kind == "flag":
        return Type("flag", grain=grain)
    return Type("number", parse_unit(entry.unit).dimension, entry.kind == "count", (), grain)


def constant_type(entry: ConstantEntry) -> Type:
    """The type that formulas see for a constant."""
    whole = entry.value.is_integer()
    return Type("number", parse_unit(entry.unit).dimension, whole, grain=PLAN)


@dataclass(frozen=True)
class MetricSet:
    """All declarations of a plan, in evaluation order, with what depends on what."""

    fields: Mapping[str, FieldEntry]
    constants: Mapping[str, ConstantEntry]
    tables: Mapping[str, TableEntry]
    variants: Mapping[str, VariantEntry]
    metrics: Mapping[str, Metric]
    replaced: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, user_files: Sequence[Path] = ()) -> MetricSet:
        """The built-in metrics and a user's files, checked together.

        Raises:
            InputError: every problem of every file: shape, names, arity, units, cycles.
        """
        files = [(p, f"metrics/{p.name}") for p in sorted(metrics_dir().glob("*.yaml"))]
        return cls.read([*files, *((path, str(path)) for path in user_files)], len(files))

    @classmethod
    def of_declarations(cls, data: Mapping[str, Any], name: str) -> MetricSet:
        """The set that :meth:`declarations` described, from a saved plan called ``name``."""
        reading = _Reading()
        file = YamlFile(name, data, (), {}, {})
        content = MetricsFile.model_validate({k: v for k, v in data.items() if k != "replaced"})
        reading.add(file, content, origin="")
        reading.replaced = {k: (v[0], v[1]) for k, v in data.get("replaced", {}).items()}
        return reading.checked()

    def declarations(self) -> dict[str, Any]:
        """All declarations as plain data, in the form of one metrics file."""
        blocks: dict[str, Any] = {
            block: {n: _dump(e) for n, e in getattr(self, block).items()}
            for block in ("tables", "constants", "fields", "variants")
        }
        blocks["metrics"] = {
            m.name: {**_dump(m.entry), "table": m.table} for m in self.in_order() if not m.part_of
        }
        for entry in blocks["metrics"].values():
            entry.pop("replaces", None)
            entry.pop("examples", None)
        blocks["replaced"] = {name: list(what) for name, what in self.replaced.items()}
        return blocks

    @classmethod
    def read(cls, files: Sequence[tuple[Path, str]], builtin: int = 0) -> MetricSet:
        """Metrics of exactly these files; the first ``builtin`` of them may be replaced."""
        reading = _Reading()
        for index, (path, name) in enumerate(files):
            reading.add(*read_metrics_file(path, name), origin="" if index < builtin else path.name)
        return reading.checked()

    @cached_property
    def reach(self) -> dict[str, frozenset[str]]:
        """Everything that each metric depends on, directly or not, itself included."""
        found: dict[str, frozenset[str]] = {}
        for name, metric in self.metrics.items():
            below = frozenset(metric.needs)
            found[name] = below.union(*(found.get(n, frozenset()) for n in below)) | {name}
        return found

    def depends(self, name: str, on: str) -> bool:
        """Whether ``name`` is ``on`` or depends on it."""
        return name == on or on in self.reach.get(name, ())

    def type_of(self, name: str) -> Type:
        """The type of a field, constant or metric."""
        if name in self.metrics:
            return self.metrics[name].type
        if name in self.fields:
            return field_type(self.fields[name])
        return constant_type(self.constants[name])

    def unit_of(self, name: str) -> str:
        """The unit text of a field, constant or metric, in base units."""
        return dimension_text(self.type_of(name).dimension)

    def written_unit(self, name: str) -> str:
        """The unit in which YAML writes a value of this name."""
        entry = self.fields.get(name)
        return (entry.written if entry else None) or self.unit_of(name)

    def label_of(self, name: str) -> str:
        """What people call a field, constant or metric."""
        if name in self.metrics:
            return self.metrics[name].label
        return self.fields[name].label if name in self.fields else name.replace("_", " ")

    def of_table(self, table: str) -> list[Metric]:
        """The declared metrics of one table, parts left out."""
        return [m for m in self.in_order() if m.table == table and not m.part_of]

    def in_order(self) -> list[Metric]:
        """All metrics as declared, each behind its parts; ``metrics`` is in evaluation order."""
        return sorted(self.metrics.values(), key=lambda m: (m.position, not m.part_of))

    def with_metrics(self, metrics: Mapping[str, Metric]) -> MetricSet:
        """The same declarations with other metrics (parts added for cells)."""
        return replace(self, metrics=metrics)


def _dump(entry: Part) -> dict[str, Any]:
    return entry.model_dump(mode="json", exclude_defaults=True)


class _Reading:
    """Collects the blocks of all files, then checks them as one."""

    def __init__(self) -> None:
        self.fields: dict[str, FieldEntry] = {}
        self.constants: dict[str, ConstantEntry] = {}
        self.tables: dict[str, TableEntry] = {}
        self.variants: dict[str, VariantEntry] = {}
        self.declared: dict[str, Declared] = {}
        self.replaced: dict[str, tuple[str, str]] = {}
        self.problems: list[Problem] = []
        self.taken: dict[str, Span] = {}
        self.files: dict[tuple[str, str], YamlFile] = {}

    def add(self, file: YamlFile, content: MetricsFile, origin: str) -> None:
        for block in ("tables", "constants", "fields", "variants"):
            entries: Mapping[str, object] = getattr(content, block)
            for name in entries:
                self.files[block, name] = file
                if block != "tables":
                    self._name(file, (block, name))
                elif name in self.tables:
                    self.problems.append(file.problem((block, name), "a new table", f"'{name}'"))
            getattr(self, block).update(entries)
        for name, entry in content.metrics.items():
            key: Key = ("metrics", name)
            target = entry.replaces or name
            old = self.declared.get(target)  # a replacement stands where the old one stood
            place = old.position if old else len(self.declared)
            declared = Declared(name, entry, entry.table or content.table, file, key, origin, place)
            if entry.replaces:
                self._replace(declared)
            known = name in self.taken
            self._name(file, key, replacing=entry.replaces is not None)
            if entry.replaces or not known:
                self.declared[target] = replace(declared, name=target)

    def _replace(self, new: Declared) -> None:
        target = new.entry.replaces or ""
        if target not in self.declared:
            self.problems.append(
                new.problem(
                    "replaces", "a built-in metric", f"'{target}'", nearest(target, self.declared)
                )
            )
        elif target != new.name:
            self.problems.append(
                new.problem("replaces", f"the name of this metric, '{new.name}'", f"'{target}'",
                            "a replacement keeps the name, so that every table follows it")
            )  # fmt: skip
        if not new.entry.because:
            self.problems.append(
                new.problem("replaces", "a reason under 'because:'", "none",
                            "the reason is printed in every report")
            )  # fmt: skip
        self.replaced[target] = (new.origin, new.entry.because or "")

    def _name(self, file: YamlFile, key: Key, replacing: bool = False) -> None:
        name = str(key[-1])
        span = file.span(key, of_key=True)
        expected = "a name of lower-case letters, digits and _"
        if not _IDENTIFIER.fullmatch(name) or keyword.iskeyword(name):
            self.problems.append(Problem(span, "", expected, f"'{name}'"))
        elif _CELL_ADDRESS.fullmatch(name):
            self.problems.append(
                Problem(span, "", "a name that is no cell address", f"'{name}'",
                        "names such as h100 or tp8 would be read as cells")
            )  # fmt: skip
        elif _PART.search(name):
            self.problems.append(
                Problem(
                    span, "", "a name that does not end in _part or _cut and a number", f"'{name}'"
                )
            )
        elif name in FUNCTIONS or name == "q":
            self.problems.append(Problem(span, "", "a name that is no function", f"'{name}'"))
        elif name in self.taken and not replacing:
            hint = "to replace a built-in metric write 'replaces:' and 'because:'"
            self.problems.append(
                Problem(span, "", "a new name", f"'{name}', declared at {self.taken[name]}", hint)
            )
        self.taken.setdefault(name, span)

    def checked(self) -> MetricSet:
        checking = _Checking(self)
        checking.run()
        inputs = {name: checking.scope[name] for name in self.fields}
        for name, variant in self.variants.items():
            file = self.files["variants", name]
            self.problems += variant_problems(
                file, name, variant, inputs, self.declared, self.tables
            )
        for declared in self.declared.values():
            if declared.table not in self.tables and declared.entry.table:
                expected = one_of(self.tables)
                self.problems.append(declared.problem("table", expected, f"'{declared.table}'"))
        if self.problems:
            raise InputError(self.problems)
        return MetricSet(
            self.fields, self.constants, self.tables, self.variants, checking.done, self.replaced
        )


class _Checking:
    """Types metrics depth first, so that every name a formula refers to is typed before it."""

    def __init__(self, reading: _Reading) -> None:
        self.reading, self.problems = reading, reading.problems
        self.done: dict[str, Metric] = {}
        self.open: list[str] = []
        self.scope: dict[str, Type] = {n: field_type(f) for n, f in reading.fields.items()}
        for name, constant in reading.constants.items():
            self.scope[name] = constant_type(constant)
        self.variants = {
            n: self.scope[v.replaces]
            for n, v in reading.variants.items()
            if v.replaces in self.scope
        }
        self.failed: set[str] = set()

    def run(self) -> None:
        for name in self.reading.declared:
            self.metric(name)

    def metric(self, name: str) -> None:
        """Check one metric and, before it, those that it needs."""
        if name in self.done or name in self.failed:
            return
        declared = self.reading.declared[name]
        if name in self.open:
            loop = " -> ".join([*self.open[self.open.index(name) :], name])
            self.problems.append(
                declared.problem("formula", "formulas without a cycle", f"the cycle {loop}")
            )
            self.failed.add(name)
            return
        self.open.append(name)
        try:
            self._check(declared)
        except FormulaError as error:
            self.failed.add(name)
            self.problems.append(_formula_problem(declared, error))
        finally:
            self.open.pop()

    def _check(self, declared: Declared) -> None:
        entry = declared.entry
        text, raw = formula_of(entry)
        for needed in names(raw):
            if needed in self.reading.declared:
                self.metric(needed)
                if needed in self.failed:
                    self.failed.add(declared.name)
                    return
        tree, found = Checker(self.scope, self.variants).check(raw, entry.choices)
        unit, display = self._units(declared, found)
        if unit is None or display is None:
            self.failed.add(declared.name)
            return
        tree = self._parts(declared, tree)
        self.scope[declared.name] = found
        self.done[declared.name] = Metric(
            declared.name, entry, declared.table, text, tree, found, unit, display,
            compile_arrays(tree, found.kind == "flag"),
            declared.file.span(declared.key, of_key=True), declared.origin, declared.position,
        )  # fmt: skip

    def _units(self, declared: Declared, found: Type) -> tuple[Unit | None, Unit | None]:
        entry, unit = declared.entry, parse_unit(declared.entry.unit)
        wrong = result_problem(entry, found)
        if wrong:
            self.problems.append(declared.problem("formula", *wrong))
            return None, None
        if found.kind == "number" and not found.free and found.dimension != unit.dimension:
            self.problems.append(
                declared.problem(
                    "formula",
                    f"a result in {entry.unit} ({dimension_text(unit.dimension)})",
                    f"a result in {dimension_text(found.dimension)}",
                    factor_hint(unit.dimension, found.dimension),
                )
            )
            return None, None
        return unit, self._display(declared, unit)

    def _display(self, declared: Declared, unit: Unit) -> Unit | None:
        text = declared.entry.display
        if text is None or text == "x":  # a ratio, shown as 967x
            return replace(unit, text=text) if text else unit
        display = parse_unit(text)
        if display.dimension != unit.dimension:
            self.problems.append(
                declared.problem("display", f"a unit of {dimension_text(unit.dimension)}", text)
            )
            return None
        return display

    def _parts(self, declared: Declared, tree: Node) -> Node:
        """Expressions inside reductions become metrics of their own: a range needs a column."""

        def lift(node: Node) -> Node:
            if not isinstance(node, Call) or not FUNCTIONS[node.function].reduces:
                return node
            body = node.args[-1]
            if isinstance(body, Name) and FUNCTIONS[node.function].reduces == "finer":
                return node
            first = node.args[0]
            variant = first.value if isinstance(first, Text) else ""
            return replace(node, args=(*node.args[:-1], Name(self._lift(declared, body, variant))))

        return rebuild(tree, lift)

    def _lift(self, declared: Declared, body: Node, variant: str) -> str:
        same = [
            m for m in self.done.values() if m.part_of and m.tree == body and m.variant == variant
        ]
        if same:
            return same[0].name
        number = 1 + sum(m.part_of == declared.name for m in self.done.values())
        part = make_part(declared, f"{declared.name}_part{number}", body, self.scope, variant)
        self.done[part.name] = part
        self.scope[part.name] = part.type
        return part.name


def make_part(
    declared: Declared | Metric, name: str, body: Node, scope: Mapping[str, Type], variant: str = ""
) -> Metric:
    """A helper metric that holds one part of a formula; it shows under its parent's name."""
    from planner.expr.to_math import to_text

    words = next((n.words for n in _results(body) if isinstance(n, Text)), ())
    tree, found = Checker(scope).check(body, words)
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


def _formula_problem(declared: Declared, error: FormulaError) -> Problem:
    key = (*declared.key, "formula")
    span = declared.file.span(key if key in declared.file.value_spans else declared.key)
    one_line = declared.entry.formula is not None and declared.entry.formula in span.text
    place = span.shifted(error.at, error.length) if one_line else span
    where = ".".join(str(part) for part in key)
    return Problem(place, where, error.expected, error.found, error.hint)


def examples(metrics: Iterable[Metric]) -> list[tuple[Metric, ExampleEntry]]:
    """Every worked example with its metric."""
    return [(metric, example) for metric in metrics for example in metric.entry.examples]
