"""Cuts long formulas into helper metrics, so that every cell stays short enough to be read.

The parts are metrics like all others: evaluated by the engine, shown under their parent's name.
"""

from __future__ import annotations

from dataclasses import replace

from planner.expr.check import Type
from planner.expr.functions import FUNCTIONS
from planner.expr.to_arrays import compile_arrays
from planner.expr.to_cells import cells_length
from planner.expr.tree import Call, Name, Node, Text, walk
from planner.metrics import Metric, MetricSet, make_part

MAX_LENGTH = 150
"""Characters of a cell formula, counted with references of typical length."""

_TYPICAL = "Cases!AB88"


def cell_length(tree: Node) -> int:
    """Length of the formula in a cell, with typical references."""
    return cells_length(tree, len(_TYPICAL))


def cut_long(metrics: MetricSet, limit: int = MAX_LENGTH) -> MetricSet:
    """The same metrics with every formula of over ``limit`` characters cut into parts."""
    scope: dict[str, Type] = {
        name: metrics.type_of(name) for name in [*metrics.fields, *metrics.constants]
    }
    variants = {name: scope[entry.first] for name, entry in metrics.variants.items()}
    done: dict[str, Metric] = {}
    for metric in metrics.metrics.values():
        scope[metric.name] = metric.type
        cut = (
            _Cutting(metric, done, (scope, variants), limit).run() if not metric.variant else metric
        )
        done[metric.name] = cut
    return metrics.with_metrics(done)


class _Cutting:
    def __init__(
        self,
        metric: Metric,
        done: dict[str, Metric],
        known: tuple[dict[str, Type], dict[str, Type]],
        limit: int,
    ) -> None:
        """``known``: types by name, and those of the sets of variants."""
        self.metric, self.done, self.limit = metric, done, limit
        self.scope, self.variants = known

    def run(self) -> Metric:
        tree = self.metric.tree
        while cell_length(tree) > self.limit:
            part = self._largest(tree)
            if part is None:
                break
            tree = _replaced(tree, part, Name(self._lift(part)))
        if tree is self.metric.tree:
            return self.metric
        arrays = compile_arrays(tree, self.metric.type.kind == "flag")
        return replace(self.metric, tree=tree, arrays=arrays)

    def _largest(self, tree: Node) -> Node | None:
        """The longest part that itself stays within the limit and is worth a column."""
        fitting = [
            node
            for node in walk(tree)
            if node is not tree
            and isinstance(node, Call)
            and not FUNCTIONS[node.function].reduces
            and not any(isinstance(a, Text) for a in node.args[1:])
            and 24 < cell_length(node) <= self.limit
        ]
        return max(fitting, key=cell_length, default=None) or self._repeated(tree)

    @staticmethod
    def _repeated(tree: Node) -> Node | None:
        """A short operand that the cell form writes more than once, such as the base of a power."""
        repeated = [
            argument
            for node in walk(tree)
            if isinstance(node, Call)
            for index, argument in enumerate(node.args)
            if isinstance(argument, Call)
            and not FUNCTIONS[argument.function].reduces
            and FUNCTIONS[node.function].cells.count(f"{{{index}") > 1
        ]
        return max(repeated, key=cell_length, default=None)

    def _lift(self, part: Node) -> str:
        same = [m for m in self.done.values() if m.part_of and m.tree == part and not m.variant]
        if same:
            return same[0].name
        number = 1 + sum(m.name.startswith(f"{self.metric.name}_cut") for m in self.done.values())
        name = f"{self.metric.name}_cut{number}"
        made = make_part(self.metric, name, part, self.scope, variants=self.variants)
        self.done[made.name] = replace(made, part_of=self.metric.part_of or self.metric.name)
        self.scope[made.name] = made.type
        return made.name


def _replaced(tree: Node, old: Node, new: Node) -> Node:
    if tree is old or tree == old:
        return new
    if isinstance(tree, Call):
        return replace(tree, args=tuple(_replaced(a, old, new) for a in tree.args))
    return tree
