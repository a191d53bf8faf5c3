"""Glossary and checks of a view: every metric with its formula, source and marks."""

from __future__ import annotations

from planner import checks as plan_checks
from planner.expr.check import GROUP, PLAN, STAGE, STAGE_GROUP
from planner.expr.to_math import to_mathml, to_text
from planner.expr.tree import Call, Name, Node, names, rebuild, walk
from planner.metrics import SLOTS, Metric
from planner.planning import Plan
from reports import numbers
from reports.view_grid import (
    Kind,
    Value,
    text_of,
)
from reports.view_layout import LAYOUT
from reports.view_parts import (
    Check,
    InputTerm,
    State,
    Term,
)
from reports.view_sources import Sources
from reports.view_tables import Tables
from reports.view_units import clean, input_display, metric_display, unit_words, with_unit
from reports.words import called

_LONGEST = 400


class Glossary:
    """Explains every metric of one plan."""

    def __init__(self, plan: Plan, tables: Tables, sources: Sources) -> None:
        self.plan, self.tables, self.sources = plan, tables, sources
        self.metrics = plan.metrics

    def terms(self) -> tuple[Term, ...]:
        """Every metric, in the order of sections and columns."""
        order = [*LAYOUT, *(t for t in self.metrics.tables if t not in LAYOUT)]
        return tuple(self._term(m) for t in order for m in self.tables.ordered(t))

    def _term(self, metric: Metric) -> Term:
        entry = metric.entry
        source = self.sources.number(
            entry.source.title, entry.source.url or "", "", clean(entry.label)
        )
        replaced_by, because = self.metrics.replaced.get(metric.name, ("", ""))
        tree = self._without_parts(metric)
        return Term(
            metric.name, clean(entry.label), metric_display(metric)[1], clean(entry.why),
            clean(metric.text), _spaced(to_mathml(tree, self._word)), source, metric.table,
            self._limit(metric), clean(replaced_by), clean(because), clean(metric.origin),
            self._worked(metric),
            self._width(tree),
        )  # fmt: skip

    def _without_parts(self, metric: Metric) -> Node:
        """The formula with its lifted parts put back in, as its author wrote it."""

        def back(node: Node) -> Node:
            if isinstance(node, Name):
                part = self.metrics.metrics.get(node.name)
                if part is not None and part.part_of:
                    return self._without_parts(part)
            return node

        return rebuild(metric.tree, back)

    def _word(self, name: str) -> str:
        return called(clean(self.metrics.label_of(name)))

    def _width(self, node: Node) -> int:
        """About how many characters wide a formula is once it is set."""
        if isinstance(node, Name):
            return len(self._word(node.name))
        if not isinstance(node, Call):
            return 4
        widths = [self._width(arg) for arg in node.args]
        if node.function == "if":
            return max(widths[0] + widths[1], widths[2]) + 8
        if node.function in ("div", "floordiv", "ceildiv"):
            return max(widths)
        return sum(widths) + 3 * len(widths)

    def _limit(self, metric: Metric) -> str:
        if metric.entry.limit is None:
            return ""
        factor, unit, _, kind = metric_display(metric)
        return with_unit(text_of(metric.entry.limit / factor, kind), unit)

    # ---- numbers put in ------------------------------------------------------------------------

    def _worked(self, metric: Metric) -> str:
        """The formula with the numbers of the first case put in, for plain numbers only."""
        if self._varied(metric):
            return ""
        tree = self._without_parts(metric)
        if metric.type.kind != "number" or metric.type.grain == PLAN:
            return ""
        used = names(tree)
        branches = any(isinstance(n, Call) and n.function == "if" for n in walk(tree))
        if not used or branches or any(self.metrics.type_of(n).kind != "number" for n in used):
            return ""
        text = to_text(rebuild(tree, self._without_ones), self._number)
        if len(text) > _LONGEST:
            return ""
        return f"{text} = {self._number(metric.name)}"

    def _number(self, name: str) -> str:
        """A value of the first case with its unit; one per used layer group where they differ."""
        if name in self.metrics.metrics:
            factor, unit, _, kind = metric_display(self.metrics.metrics[name])
        else:
            factor, unit, _, kind = input_display(self.metrics, name)
        values = [self.plan.value(name, 0, slot, stage) for stage, slot in self._places(name)]
        texts = list(dict.fromkeys(_scaled(v, factor, kind) for v in values))
        joined = texts[0] if len(texts) == 1 else "(" + "; ".join(texts) + ")"
        return with_unit(joined, unit)

    def _places(self, name: str) -> list[tuple[int, int]]:
        """Pipeline stages and layer groups in which the first case has a value of its own."""
        grain, case = self.metrics.type_of(name).grain, self.plan.cases[0]
        groups = len(self.plan.inputs.groups[case.model][:SLOTS])
        stages = int(case.inputs.get("pp", 1))
        return [
            (stage, slot)
            for stage in range(stages if grain in (STAGE, STAGE_GROUP) else 1)
            for slot in range(groups if grain in (GROUP, STAGE_GROUP) else 1)
        ]

    def _without_ones(self, node: Node) -> Node:
        """A product without the factors that are exactly 1 and have no unit, such as one rank."""
        if not isinstance(node, Call) or node.function not in ("mul", "div"):
            return node
        left, right = node.args
        if self._is_one(right):
            return left
        return right if node.function == "mul" and self._is_one(left) else node

    def _is_one(self, node: Node) -> bool:
        if not isinstance(node, Name) or self.metrics.unit_of(node.name) != "1":
            return False
        return all(
            self.plan.value(node.name, 0, slot, stage) == 1
            for stage, slot in self._places(node.name)
        )

    def _varied(self, metric: Metric) -> bool:
        """Whether a formula reduces variants: the numbers of one case would not explain it."""
        parts = [self.metrics.metrics[n] for n in metric.needs if n in self.metrics.metrics]
        return any(p.variant or (p.part_of and self._varied(p)) for p in parts)

    # ---- inputs, constants, checks -------------------------------------------------------------

    def inputs(self) -> tuple[InputTerm, ...]:
        """Every input that formulas may name."""
        return tuple(
            InputTerm(n, clean(f.label), input_display(self.metrics, n)[1], clean(f.meaning))
            for n, f in self.metrics.fields.items()
        )

    def constants(self) -> tuple[InputTerm, ...]:
        """Every named number of the formulas, with the reason for it."""
        return tuple(
            InputTerm(
                n, called(clean(self.metrics.label_of(n))), unit_words(c.unit), clean(c.meaning),
                text_of(c.value, "figure"),
            )
            for n, c in self.metrics.constants.items()
        )  # fmt: skip

    def checks(self) -> tuple[Check, ...]:
        """Integrity first, then policy."""
        return tuple(self._check(check) for check in plan_checks.checks(self.plan))

    def _check(self, check: plan_checks.Check) -> Check:
        metric = self.metrics.metrics[check.name]
        factor, unit, _, kind = metric_display(metric)
        policy = check.kind == "policy"
        failed: State = "attention" if policy else "failed"
        state: State = "ok" if check.passed else "unknown" if check.value is None else failed
        return Check(
            check.name, clean(check.label), "policy" if policy else "integrity", state,
            with_unit(_scaled(check.value, factor, kind), unit), self._limit(metric),
            clean(metric.entry.why),
        )  # fmt: skip


def _scaled(value: Value, factor: float, kind: Kind) -> str:
    if value is None or isinstance(value, str | bool):
        return text_of(value, kind)
    return _four(value / factor, kind)


def _four(value: float, kind: Kind) -> str:
    """A number on its own with four digits, as the worked figures of a formula show it."""
    if kind != "figure" or value == int(value) or not 1 <= abs(value) < 1000:
        return text_of(value, kind)
    return numbers.fixed(value, 3 - len(str(int(abs(value)))) + 1)


def _spaced(mathml: str) -> str:
    """Browsers drop a space at the end of a text element; one that does not break stays."""
    return mathml.replace(" </mtext>", "\u00a0</mtext>")
