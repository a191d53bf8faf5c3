"""Axes of the case table: what varies, how a case is called, which cases a table can tell apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from planner.inputs import Case
from planner.planning import Plan
from reports import numbers
from reports.view_grid import (
    Row,
    Value,
)
from reports.view_parts import (
    CaseName,
)
from reports.view_units import clean, with_unit


@dataclass(frozen=True)
class Axis:
    """One list that the scenario combines.

    Attributes:
        label: what people call it.
        fields: the inputs that follow from it; empty for an axis of a catalog entity.
        entity: the catalog kind whose facts follow from it.
        text: the value of a case as a part of its name.
        value: the same on its own, for a table of details.
    """

    label: str
    text: Callable[[Case], str]
    value: Callable[[Case], str]
    fields: tuple[str, ...] = ()
    entity: str = ""

    def key(self, case: Case, reached: frozenset[str]) -> tuple[object, ...]:
        """What a table that depends on ``reached`` sees of this axis."""
        if self.entity:
            return (getattr(case, self.entity),) if self.entity in reached else ()
        return tuple(case.inputs[name] for name in self.fields if name in reached)


def _count(case: Case, name: str) -> str:
    return numbers.show(float(case.inputs[name]), "count")


class Axes:
    """The axes of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.all = self._all()
        everything = frozenset([a.entity for a in self.all if a.entity] + self._case_fields())
        self.varying = [a for a in self.all if self._varies(a, plan.cases, everything)]

    def _case_fields(self) -> list[str]:
        return [n for n, f in self.plan.metrics.fields.items() if f.entity == "case"]

    def _all(self) -> list[Axis]:
        labels = self.plan.inputs.labels

        def entity(kind: str, label: str, form: str) -> Axis:
            def value(case: Case) -> str:
                word = getattr(case, kind)
                return clean(labels.get((kind, word), word))

            return Axis(label, lambda case: form.format(value(case)), value, entity=kind)

        def count(label: str, name: str, form: str, unit: str) -> Axis:
            return Axis(
                label, lambda case: form.format(_count(case, name)),
                lambda case: with_unit(_count(case, name), unit), (name,),
            )  # fmt: skip

        def workload(case: Case) -> str:
            return clean(case.workload)

        def shape(case: Case) -> str:
            cached, prompt, output = (
                _count(case, f"{part}_tokens") for part in ("cached", "prompt", "output")
            )
            return f"{workload(case)} ({cached} cached, {prompt} new, {output} returned tokens)"

        def compute(case: Case) -> str:
            return str(case.inputs["compute_dtype"]).upper()

        shapes = ("cached_tokens", "prompt_tokens", "output_tokens")
        return [
            entity("model", "Model", "{}"),
            entity("gpu", "GPU", "{}"),
            count("Tensor parallel", "tp", "TP{}", "GPUs"),
            entity("weight_format", "Weights", "{} weights"),
            entity("kv_format", "KV cache", "{} KV"),
            Axis("Compute", lambda case: compute(case) + " compute", compute, ("compute_dtype",)),
            count("Context limit", "context", "{} context", "tokens"),
            Axis("Workload", workload, shape, shapes),
            count("Planned batch", "batch", "batch {}", "requests"),
        ]

    def _varies(self, axis: Axis, cases: Iterable[Case], reached: frozenset[str]) -> bool:
        return len({axis.key(case, reached) for case in cases}) > 1

    def reached(self, names: Iterable[str], without: str = "") -> frozenset[str]:
        """The case inputs and catalog entities that metrics depend on, one input left out."""
        fields = self.plan.metrics.fields
        found: set[str] = set()
        for name in names:
            for below in self.plan.metrics.reach.get(name, frozenset({name})):
                if below in fields and below != without:
                    entity = fields[below].entity
                    found.add(
                        below if entity == "case" else "model" if entity == "group" else entity
                    )
        return frozenset(found)

    def rows(self, names: Iterable[str], without: str = "") -> list[Row]:
        """A row per set of cases that the metrics can tell apart, in the order of the cases."""
        reached = self.reached(names, without)
        together: dict[tuple[object, ...], list[int]] = {}
        for index, case in enumerate(self.plan.cases):
            key = tuple(axis.key(case, reached) for axis in self.all)
            together.setdefault(key, []).append(index)
        firsts = [self.plan.cases[indices[0]] for indices in together.values()]
        axes = [a for a in self.varying if self._varies(a, firsts, reached)] or self.all[:1]
        return [
            Row(tuple(self._part(axis, indices) for axis in axes), tuple(indices))
            for indices in together.values()
        ]

    def _part(self, axis: Axis, indices: list[int]) -> str:
        texts = list(dict.fromkeys(axis.text(self.plan.cases[i]) for i in indices))
        return ", ".join(texts[:2]) + (f" and {len(texts) - 2} more" if len(texts) > 2 else "")

    @cached_property
    def names(self) -> tuple[CaseName, ...]:
        """Every case for people: the parts that vary, its id, and all axes as details."""
        axes = self.varying or self.all[:2]
        taken: set[str] = set()
        found = []
        for case in self.plan.cases:
            details = tuple((axis.label, axis.value(case)) for axis in self.all)
            parts = tuple(axis.text(case) for axis in axes)
            found.append(
                CaseName(
                    clean(case.id), anchor("case", case.id, taken), parts, details, _keys(case)
                )
            )
        return tuple(found)

    @property
    def shared(self) -> tuple[tuple[str, str], ...]:
        """What all cases have in common: label and value."""
        first = self.plan.cases[0]
        return tuple((a.label, a.value(first)) for a in self.all if a not in self.varying)


def _keys(case: Case) -> tuple[tuple[str, Value], ...]:
    names = ("model", "gpu", "weight_format", "kv_format", "workload")
    return (*((name, clean(getattr(case, name))) for name in names), *case.inputs.items())


def anchor(prefix: str, text: str, taken: set[str]) -> str:
    """An id for a page of letters, digits, ``.`` and ``-``; one that is taken gets a number."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c == ".") else "-" for c in text.lower())
    base = prefix + "-" + "-".join(part for part in plain.split("-") if part)
    word, number = base, 1
    while word in taken:
        number += 1
        word = f"{base}-{number}"
    taken.add(word)
    return word
