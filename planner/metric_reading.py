"""Metric files read and checked as one: names, order, units, cycles, all problems together."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import replace

from planner.errors import InputError, Problem, Span, nearest, one_of
from planner.expr.check import Checker, Type, factor_hint
from planner.expr.functions import FUNCTIONS
from planner.expr.parse import FormulaError
from planner.expr.to_arrays import compile_arrays
from planner.expr.tree import Call, Name, Node, Text, names, rebuild
from planner.metric import (
    Declared,
    Metric,
    constant_type,
    field_type,
    formula_of,
    formula_problem,
    make_part,
)
from planner.metric_checks import result_problem, variant_problems
from planner.metric_files import (
    ConstantEntry,
    FieldEntry,
    MetricsFile,
    TableEntry,
    VariantEntry,
)
from planner.units import Unit, dimension_text, parse_unit
from planner.yamlfile import Key, YamlFile

_CELL_ADDRESS = re.compile(r"[a-z]{1,3}[0-9]+|r|c")
_PART = re.compile(r"_(part|cut)[0-9]+$")  # the helper metrics of a formula are called so
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")


def reached(
    metrics: Mapping[str, Metric], variants: Mapping[str, VariantEntry]
) -> dict[str, frozenset[str]]:
    """Everything that each metric depends on, directly or not, itself included.

    What reduces a set of variants depends on the metrics that inputs of the set follow, too.
    """
    found: dict[str, frozenset[str]] = {}
    for name, metric in metrics.items():  # in evaluation order
        below = frozenset(metric.needs)
        if metric.variant:
            below |= frozenset(variants[metric.variant].follows.values())
        found[name] = below.union(*(found.get(n, frozenset()) for n in below)) | {name}
    return found


class Reading:
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
        """Take in one file; ``origin`` is empty for built-in ones."""
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
            table = entry.table or (old.table if old else content.table)
            declared = Declared(name, entry, table, file, key, origin, place)
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

    def checked(self) -> dict[str, Metric]:
        """The metrics in evaluation order.

        Raises:
            InputError: every problem of every file.
        """
        checking = _Checking(self)
        checking.run()
        inputs = {name: checking.scope[name] for name in self.fields}
        types = {n: checking.scope.get(n, Type("number", missing=True)) for n in self.declared}
        for name, variant in self.variants.items():
            file = self.files["variants", name]
            self.problems += variant_problems(
                file,
                name,
                variant,
                inputs,
                types,
                reached(checking.done, self.variants),
                self.tables,
            )
        for declared in self.declared.values():
            if declared.table not in self.tables and declared.entry.table:
                expected = one_of(self.tables)
                self.problems.append(declared.problem("table", expected, f"'{declared.table}'"))
        if self.problems:
            raise InputError(self.problems)
        return checking.done


class _Checking:
    """Types metrics depth first, so that every name a formula refers to is typed before it."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.problems = reading, reading.problems
        self.done: dict[str, Metric] = {}
        self.open: list[str] = []
        self.scope: dict[str, Type] = {n: field_type(f) for n, f in reading.fields.items()}
        for name, constant in reading.constants.items():
            self.scope[name] = constant_type(constant)
        self.variants = {
            n: self.scope[v.first] for n, v in reading.variants.items() if v.first in self.scope
        }
        self.failed: set[str] = set()

    def run(self) -> None:
        """Check every declared metric."""
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
            problem = formula_problem(declared, error)
            self.problems.append(replace(problem, hint=self._blamed(declared, problem.hint)))
        finally:
            self.open.pop()

    def _blamed(self, declared: Declared, hint: str) -> str:
        """The hint of a built-in formula that fails because a name in it was replaced."""
        if declared.origin or not self.reading.replaced:
            return hint
        used = [n for n in names(formula_of(declared.entry)[1]) if n in self.reading.replaced]
        new = [self.reading.declared[n] for n in used]
        places = [f"'{d.name}' is replaced at {d.file.span(d.key, of_key=True)}" for d in new]
        return "; ".join([*places, *([hint] if hint else [])])

    def _check(self, declared: Declared) -> None:
        entry = declared.entry
        text, raw = formula_of(entry)
        used = names(raw)
        sets = [self.reading.variants[n] for n in used if n in self.reading.variants]
        for needed in [*used, *(metric for one in sets for metric in one.follows.values())]:
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
            base = dimension_text(unit.dimension)
            self.problems.append(
                declared.problem(
                    "formula",
                    f"a result in {entry.unit}" + (f" ({base})" if base != entry.unit else ""),
                    f"a result in {dimension_text(found.dimension)}",
                    self._blamed(declared, factor_hint(unit.dimension, found.dimension)),
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
