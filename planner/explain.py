"""Why a figure is what it is: the tree of formulas behind one metric of one case.

Every node holds the formula as declared, the same formula with numbers and units put in, and its
operands down to the inputs, each with its origin. Numbers are in base units, whole ones in full and
fractions to 12 digits, so that a reader can work them out again; short figures for people are the
renderer's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from planner.errors import InputError, Problem, Span, nearest
from planner.expr.check import CASE, GROUP, PLAN, STAGE, STAGE_GROUP
from planner.expr.to_math import to_text
from planner.expr.tree import names
from planner.facts import Fact
from planner.inputs import Source
from planner.metrics import SLOTS, formula_of
from planner.places import in_words
from planner.planning import Plan, Value, plain

LIST_LIMIT = 8
"""Values that are written out where a formula reduces many; longer lists give their number."""


@dataclass(frozen=True, slots=True)
class Basis:
    """Where an input comes from: ``kind`` is given, default, catalog or constant."""

    kind: str
    owner: str = ""
    place: str = ""
    confidence: str = ""
    note: str = ""
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One pipeline stage, layer group or variant of a value that has several."""

    label: str
    value: Value
    exact: str
    numbers: str = ""
    basis: Basis | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """One name of the tree. ``value`` is in base ``unit``; ``display`` names a unit for people.

    ``rows`` stands instead of a value for layer groups and pipeline stages, of which ``each`` is
    the word, and beside it for variants. ``repeated``: it is explained further up. ``cut``: its
    operands are below the asked depth.
    """

    name: str
    label: str
    kind: str
    meaning: str
    value: Value
    unit: str
    exact: str
    display: str = ""
    factor: float = 1.0
    whole: bool = False
    formula: str = ""
    numbers: str = ""
    note: str = ""
    source: Source | None = None
    because: str = ""
    basis: Basis | None = None
    rows: tuple[Row, ...] = ()
    each: str = ""
    operands: tuple[Explanation, ...] = ()
    repeated: bool = False
    cut: bool = False

    @property
    def grouped(self) -> bool:
        """True where each layer group or pipeline stage has a value of its own."""
        return bool(self.each)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON. Empty parts are left out; an unknown value is null."""
        shown = {
            "name": self.name, "label": self.label, "kind": self.kind, "meaning": self.meaning,
            "unit": self.unit, "formula": self.formula, "numbers": self.numbers, "note": self.note,
            "replaced_because": self.because, "source": _origin(self.source),
            "basis": _origin(self.basis), "repeated": self.repeated, "cut": self.cut,
        }  # fmt: skip
        data = {key: value for key, value in shown.items() if value}
        if not self.grouped:
            data["value"] = self.value
            if self.display not in ("", self.unit) and is_number(self.value):
                data["display"] = {
                    "value": _quotient(self.value, self.factor),
                    "unit": self.display,
                }
        if self.rows:
            data["rows"] = [_row(row) for row in self.rows]
        if self.operands:
            data["operands"] = [operand.as_dict() for operand in self.operands]
        return data


def _origin(part: Basis | Source | None) -> dict[str, Any]:
    """A basis or source without its empty texts."""
    data = {key: value for key, value in asdict(part).items() if value} if part else {}
    if "sources" in data:
        data["sources"] = [{k: v for k, v in one.items() if v} for one in data["sources"]]
    return data


def _row(row: Row) -> dict[str, Any]:
    data: dict[str, Any] = {"label": row.label, "value": row.value}
    if row.numbers:
        data["numbers"] = row.numbers
    return {**data, "basis": _origin(row.basis)} if row.basis else data


def _quotient(value: Value, factor: float) -> float:
    return float(value or 0) / factor


def explain(plan: Plan, name: str, case: str | int = 0, depth: int | None = None) -> Explanation:
    """The tree behind a metric, field or constant.

    Args:
        plan: a finished plan.
        name: what to explain.
        case: index of the case, or its id, or its number from 1 as text.
        depth: levels of operands to follow; None follows all.

    Raises:
        InputError: no such name or no such case.
    """
    known = [
        *(n for n, m in plan.metrics.metrics.items() if not m.part_of),
        *plan.metrics.fields,
        *plan.metrics.constants,
    ]
    if name not in known:
        metrics = [n for n in known if n in plan.metrics.metrics]
        hint = nearest(name, known) or f"metrics are {', '.join(metrics[:6])} and others"
        raise InputError(
            Problem(
                Span("METRIC"), "", "a metric, field or constant of the plan", f"'{name}'", hint
            )
        )
    index = plan.case_index(case) if isinstance(case, str) else case
    return _Explaining(plan, index).node(name, depth)


def exact(value: Value, unit: str) -> str:
    """A value with its unit, such as ``147,456 byte/token`` or ``128/token``."""
    if not is_number(value) or unit == "1":
        return number(value)
    return number(value) + (unit[1:] if unit.startswith("1/") else f" {unit}")


def number(value: Value) -> str:
    """A value without its unit: whole numbers in full, fractions to 12 digits."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    whole = value == int(value) and abs(value) < 2**53
    return f"{int(value):,}" if whole else f"{value:,.12g}"


def is_number(value: Value) -> bool:
    """True for a known number, false for a flag, a word and what is unknown."""
    return isinstance(value, float | int) and not isinstance(value, bool)


Place = tuple[int | None, int | None]
"""Pipeline stage and layer group; None stands for all of them."""


class _Explaining:
    def __init__(self, plan: Plan, case: int) -> None:
        self.plan, self.case = plan, case
        self.groups = plan.inputs.groups[plan.cases[case].model][:SLOTS]
        self.stages = int(plan.cases[case].inputs.get("pp", 1))
        # With one stage its figures are figures of the case.
        self.whole: Place = (0 if self.stages == 1 else None, None)
        self.explained: set[str] = set()

    # ---- nodes ---------------------------------------------------------------------------------

    def node(self, name: str, depth: int | None, variant: str = "") -> Explanation:
        """One name; inside a reduction over variants also its value in each of them."""
        metrics = self.plan.metrics
        kind = metrics.type_of(name)
        each = self.each(kind.grain)
        grouped = bool(each)
        value = None if grouped else self.value(name)
        repeated = name in self.explained
        common: dict[str, Any] = {
            "name": name, "label": metrics.label_of(name), "value": value,
            "unit": metrics.unit_of(name), "exact": "" if grouped else self.exact(value, name),
            "whole": kind.whole, "repeated": repeated, "each": each,
            "rows": self.place_rows(name) if grouped else self.variant_rows(name, variant),
        }  # fmt: skip
        if name in metrics.metrics:
            return self.metric(name, depth, common)
        self.explained.add(name)
        if name in metrics.constants:
            meaning, basis = metrics.constants[name].meaning, Basis("constant")
            return Explanation(**common, kind="constant", meaning=meaning, basis=basis)
        meaning = metrics.fields[name].meaning
        counted = metrics.fields[name].entity == "stage"  # stages are numbered, not looked up
        basis_or_none = None if grouped or counted else self.basis(name)
        return Explanation(**common, kind="input", meaning=meaning, basis=basis_or_none)

    def metric(self, name: str, depth: int | None, common: dict[str, Any]) -> Explanation:
        metric = self.plan.metrics.metrics[name]
        text, tree = formula_of(metric.entry)
        used = names(tree)
        sets = [n for n in used if n in self.plan.metrics.variants]
        inner = sets[0] if sets else ""
        cut = depth == 0 and not common["repeated"]
        operands: tuple[Explanation, ...] = ()
        if not common["repeated"] and not cut:
            self.explained.add(name)
            below = None if depth is None else depth - 1
            operands = tuple(self.node(n, below, inner) for n in used if n not in sets)
        source = Source(metric.entry.source.title, metric.entry.source.url or "")
        return Explanation(
            **common, kind="metric", meaning=metric.entry.why, formula=" ".join(text.split()),
            display=metric.display.text, factor=float(metric.display.factor),
            numbers="" if common["each"] else to_text(tree, lambda n: self.shown(n, inner)),
            note=self.note(metric.type.grain, used), source=source,
            because=metric.entry.because or "", operands=operands, cut=cut,
        )  # fmt: skip

    def note(self, grain: int, used: list[str]) -> str:
        """What a reader must know where a figure of the plan reduces all cases."""
        types = [self.plan.metrics.type_of(n) for n in used if n not in self.plan.metrics.variants]
        count = len(self.plan.cases)
        if grain == PLAN and count > 1 and any(t.grain >= CASE for t in types):
            return f"over all {count} cases; the numbers below are those of case {self.case + 1}"
        return ""

    # ---- values --------------------------------------------------------------------------------

    def each(self, grain: int) -> str:
        """What a value of this grain has one of in this case; empty where there is one value."""
        staged = grain in (STAGE, STAGE_GROUP) and self.stages > 1
        grouped = grain in (GROUP, STAGE_GROUP)
        return " and ".join(["stage"] * staged + ["group"] * grouped)

    def places(self, grain: int, at: Place) -> list[tuple[int, int]]:
        """Every stage and group of a value, as far as ``at`` leaves them open."""
        stage, slot = at
        stages = range(self.stages) if stage is None else (stage,)
        slots = range(len(self.groups)) if slot is None else (slot,)
        return [
            (t, s)
            for t in (stages if grain in (STAGE, STAGE_GROUP) else (0,))
            for s in (slots if grain in (GROUP, STAGE_GROUP) else (0,))
        ]

    def value(self, name: str, stage: int = 0, slot: int = 0) -> Value:
        return self.plan.value(name, self.case, slot, stage)

    def exact(self, value: Value, name: str) -> str:
        if self.plan.metrics.type_of(name).kind == "places" and value is not None:
            return f"layers {in_words(str(value))}"
        return exact(value, self.plan.metrics.unit_of(name))

    def shown(self, name: str, variant: str, at: Place | None = None) -> str:
        """The text that stands for a name in a formula with numbers."""
        metrics = self.plan.metrics
        if name in metrics.variants:
            return name
        if variant and self.follows(name, variant):
            return self.listed(self.variant_values(name, variant), name)
        grain = metrics.type_of(name).grain
        stage, slot = at or self.whole
        places = self.places(grain, (stage, slot))
        open_stage = grain in (STAGE, STAGE_GROUP) and stage is None
        open_slot = grain in (GROUP, STAGE_GROUP) and slot is None
        if open_stage or open_slot:
            return self.listed([self.value(name, *place) for place in places], name)
        return self.exact(self.value(name, *places[0]), name)

    def listed(self, values: list[Value], name: str) -> str:
        """Several values in brackets, with their unit once."""
        unit = self.plan.metrics.unit_of(name)
        texts = [self.exact(v, name) if unit == "1" else number(v) for v in values[:LIST_LIMIT]]
        inside = "; ".join(texts)
        if len(values) > LIST_LIMIT:
            inside += f"; and {len(values) - LIST_LIMIT} more"
        return f"[{inside}]" + ("" if unit == "1" else f" {unit}")

    def follows(self, name: str, variant: str) -> bool:
        """Whether a name depends on an input that a set of variants moves."""
        moved = self.plan.metrics.variants[variant].moved
        return any(self.plan.metrics.depends(name, one) for one in moved)

    def variant_values(self, name: str, variant: str) -> list[Value]:
        """The value of this case in every variant."""
        child, kind = self.plan.columns.variants(variant), self.plan.metrics.type_of(name)
        count, cases = len(self.plan.columns.variant_values[variant]), len(self.plan.cases)
        return [plain(child[name], kind, rung * cases + self.case) for rung in range(count)]

    # ---- rows ----------------------------------------------------------------------------------

    def place_rows(self, name: str) -> tuple[Row, ...]:
        """One row for each pipeline stage in use, each layer group of the model, or both."""
        grain = self.plan.metrics.type_of(name).grain
        return tuple(self.place_row(name, grain, *at) for at in self.places(grain, self.whole))

    def place_row(self, name: str, grain: int, stage: int, slot: int) -> Row:
        value = self.value(name, stage, slot)
        numbers, basis, words = "", None, []
        if grain in (STAGE, STAGE_GROUP) and self.stages > 1:
            words.append(f"stage {stage + 1}")
        if grain in (GROUP, STAGE_GROUP):
            words.append(f"group {slot + 1}, {self.groups[slot].label.lower()}")
        if name in self.plan.metrics.metrics:
            _, tree = formula_of(self.plan.metrics.metrics[name].entry)
            numbers = to_text(tree, self.in_place(grain, stage, slot))
        elif grain == GROUP:
            basis = self.fact_basis("model", self.groups[slot].facts[name])
        return Row(", ".join(words), value, self.exact(value, name), numbers, basis)

    def in_place(self, grain: int, stage: int, slot: int) -> Callable[[str], str]:
        """Texts of names in the formula of one row; what it reduces stays open."""
        at: Place = (
            stage if grain in (STAGE, STAGE_GROUP) else self.whole[0],
            slot if grain in (GROUP, STAGE_GROUP) else None,
        )
        return lambda name: self.shown(name, "", at)

    def variant_rows(self, name: str, variant: str) -> tuple[Row, ...]:
        """One row for each variant, where the value depends on what the variants replace."""
        if not variant or not self.follows(name, variant):
            return ()
        entry = self.plan.metrics.variants[variant]
        if name in entry.replaces and len(entry.replaces) == 1:
            return ()
        values = self.variant_values(name, variant)
        names = self.plan.inputs.rungs.get(variant) or self.rung_names(variant)
        return tuple(
            Row(rung, value, self.exact(value, name))
            for rung, value in zip(names, values, strict=True)
        )

    def rung_names(self, variant: str) -> list[str]:
        """What the rungs put in place of the case's own input, with its unit."""
        first = self.plan.metrics.variants[variant].first
        values = self.variant_values(first, variant)
        return [f"{first} {self.exact(value, first)}" for value in values]

    # ---- origins -------------------------------------------------------------------------------

    def basis(self, name: str) -> Basis:
        """The origin of an input that is no layer-group field."""
        inputs = self.plan.inputs
        entity = self.plan.metrics.fields[name].entity
        if entity in ("case", "plan"):
            origin = inputs.origins[name]
            known = inputs.sources.get(("engine", self.chosen("engine")), {})
            return Basis(
                origin.kind, "", origin.where, origin.confidence, origin.note,
                tuple(known.get(title, Source(title)) for title in origin.sources),
            )  # fmt: skip
        return self.fact_basis(entity, inputs.facts[entity, self.chosen(entity)][name])

    def chosen(self, entity: str) -> str:
        """The catalog entry that this case uses."""
        if entity == "engine":
            return next(word for kind, word in self.plan.inputs.facts if kind == "engine")
        return str(getattr(self.plan.cases[self.case], entity))

    def fact_basis(self, entity: str, fact: Fact) -> Basis:
        key = (entity, self.chosen(entity))
        known = self.plan.inputs.sources.get(key, {})
        sources = tuple(known.get(name, Source(name)) for name in fact.source)
        label = self.plan.inputs.labels.get(key, key[1])
        return Basis("catalog", label, str(fact.span), fact.confidence, fact.note, sources)
