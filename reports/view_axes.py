"""Axes of the case table: what varies, how a case is called, which cases a table can tell apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from planner.inputs import Case
from planner.planning import Plan
from reports import numbers
from reports.view_grid import Row, Value
from reports.view_parts import CaseName
from reports.view_units import clean, machine_name, with_unit
from reports.words import say

Reached = frozenset[str]

SIZES = ("pp", "dp", "ep", "dcp")
"""Parallel sizes that are said only where they are above 1 in some case."""


@dataclass(frozen=True)
class Axis:
    """One list that the scenario combines.

    Attributes:
        label: what people call it.
        needs: the catalog kind or the inputs that follow from it.
        value: the value of a case, on its own.
        part: the same as a part of a case's name.
    """

    label: str
    needs: tuple[str, ...]
    value: Callable[[Case], str]
    part: Callable[[Case], str]

    def key(self, case: Case, reached: Reached) -> tuple[object, ...]:
        """What a table that depends on ``reached`` sees of this axis."""
        return tuple(_choice(case, name) for name in self.needs if name in reached)


def _choice(case: Case, name: str) -> object:
    if name in SIZES:  # a plan of an older release may lack them
        return case.inputs.get(name, 1.0)
    return case.inputs[name] if name in case.inputs else getattr(case, name)


def _count(case: Case, name: str) -> str:
    return numbers.show(float(case.inputs[name]), "count")


def _layout(case: Case) -> list[tuple[str, str]]:
    """Tensor parallelism, and the other parallel sizes of a case that are above 1."""
    above = [n for n in SIZES if float(case.inputs.get(n, 1)) > 1]
    return [(name.upper(), _count(case, name)) for name in ("tp", *above)]


def time_model(plan: Plan) -> Iterator[tuple[str, str]]:
    """The time model of a plan with its label, where it has one."""
    word = plan.inputs.scenario.get("time_model")
    if word:
        yield say("Time model"), clean(word)


class Axes:
    """The axes of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.formats = self._formats()
        before, after = self._before(), self._after()
        self.all = [*before, *self.formats, *after]
        self.everything: Reached = frozenset(name for axis in self.all for name in axis.needs)
        self.varying = [a for a in self.all if self._varies(a, plan.cases, self.everything)]

    def _entity(self, kind: str, label: str) -> Axis:
        def value(case: Case) -> str:
            word = getattr(case, kind)
            return clean(self.plan.inputs.labels.get((kind, word), word))

        return Axis(label, (kind,), value, value)

    def _before(self) -> list[Axis]:
        axes = [
            self._entity("model", say("Model")),
            self._entity("gpu", say("GPU")),
        ]
        if any(_layout(case)[1:] for case in self.plan.cases):
            return [
                *axes,
                Axis(
                    say("Layout"), ("tp", *SIZES),
                    lambda case: " · ".join(f"{name} {size}" for name, size in _layout(case)),
                    lambda case: " ".join(f"{name}{size}" for name, size in _layout(case)),
                ),
            ]  # fmt: skip
        return [
            *axes,
            Axis(
                say("Tensor parallel"), ("tp",), lambda case: with_unit(_count(case, "tp"), "GPUs"),
                lambda case: f"TP{_count(case, 'tp')}",
            ),
        ]  # fmt: skip

    def _formats(self) -> list[Axis]:
        """Formats go by their short ids in names; their labels stand among the details."""

        def compute(case: Case) -> str:
            return clean(str(case.inputs["compute_dtype"])).upper()

        return [
            Axis(
                say("Weights"), ("weight_format",), self._entity("weight_format", "").value,
                lambda case: clean(case.weight_format).upper(),
            ),
            Axis(
                say("KV cache"), ("kv_format",), self._entity("kv_format", "").value,
                lambda case: clean(case.kv_format).upper(),
            ),
            Axis(say("Compute"), ("compute_dtype",), compute, compute),
        ]  # fmt: skip

    def _after(self) -> list[Axis]:
        def workload(case: Case) -> str:
            return clean(case.workload)

        def shape(case: Case) -> str:
            cached, prompt, output = (
                _count(case, f"{part}_tokens") for part in ("cached", "prompt", "output")
            )
            return say(
                f"{workload(case)} ({cached} cached, {prompt} new, {output} returned tokens)"
            )

        return [
            Axis(
                say("Context limit"),
                ("context",),
                lambda case: with_unit(_count(case, "context"), "tokens"),
                lambda case: say(f"{_count(case, 'context')} context"),
            ),
            Axis(
                say("Workload"),
                ("cached_tokens", "prompt_tokens", "output_tokens"),
                shape,
                workload,
            ),
            Axis(
                say("Planned batch"),
                ("batch",),
                lambda case: with_unit(_count(case, "batch"), "requests"),
                lambda case: say(f"batch {_count(case, 'batch')}"),
            ),
        ]

    def _varies(self, axis: Axis, cases: Iterable[Case], reached: Reached) -> bool:
        return len({axis.key(case, reached) for case in cases}) > 1

    # ---- names ---------------------------------------------------------------------------------

    def parts(self, case: Case, axes: Iterable[Axis]) -> list[str]:
        """A case as parts of a name; formats that are the same word are said once."""
        found: list[str] = []
        formats = [axis for axis in axes if axis in self.formats]
        for axis in axes:
            if axis not in self.formats:
                found.append(axis.part(case))
            elif axis is formats[0]:
                found.append(self._format_part(case, formats))
        return found

    def _format_part(self, case: Case, formats: list[Axis]) -> str:
        words = [axis.part(case) for axis in formats]
        if len(words) > 1 and len(set(words)) == 1:
            return words[0]
        kinds = {
            say("Weights"): say("weights"),
            say("KV cache"): "KV",
            say("Compute"): say("compute"),
        }
        named = [f"{w} {kinds[a.label]}" for w, a in zip(words, formats, strict=True)]
        for index, word in enumerate(words):
            rest = {other for other in words if other != word}
            if len(words) == 3 and words.count(word) == 1 and len(rest) == 1:
                return say(f"{named[index]}, rest {rest.pop()}")
        return ", ".join(named)

    @cached_property
    def names(self) -> tuple[CaseName, ...]:
        """Every case for people: the parts that vary, its id, and all axes as details."""
        axes = self.varying or self.all[:2]
        taken: set[str] = set()
        found = []
        for case in self.plan.cases:
            details = tuple((axis.label, axis.value(case)) for axis in self.all)
            parts = tuple(self.parts(case, axes))
            mark = anchor("case", case.id, taken)
            found.append(CaseName(clean(case.id), mark, parts, details, self._keys(case)))
        return tuple(found)

    def _keys(self, case: Case) -> tuple[tuple[str, Value], ...]:
        """Names and values of a case for other programs, in base units."""
        unit_of = self.plan.metrics.unit_of
        words = ("model", "gpu", "weight_format", "kv_format", "workload")
        inputs = ((machine_name(n, unit_of(n)), value) for n, value in case.inputs.items())
        return (*((name, clean(getattr(case, name))) for name in words), *inputs)

    @property
    def shared(self) -> tuple[tuple[str, str], ...]:
        """What all cases have in common: label and value."""
        first = self.plan.cases[0]
        found = [(a.label, a.value(first)) for a in self.all if a not in self.varying]
        return (*found, *time_model(self.plan))

    # ---- rows ----------------------------------------------------------------------------------

    def reached(self, names: Iterable[str], without: Collection[str] = ()) -> Reached:
        """The case inputs and catalog kinds that metrics depend on, some inputs left out."""
        fields = self.plan.metrics.fields
        found: set[str] = set()
        for name in names:
            for below in self.plan.metrics.reach.get(name, frozenset({name})):
                if below in fields and below not in without:
                    entity = fields[below].entity
                    found.add(
                        below if entity == "case" else "model" if entity == "group" else entity
                    )
        return frozenset(found)

    def rows(self, names: Iterable[str], without: Collection[str] = ()) -> list[Row]:
        """A row per set of cases that the metrics can tell apart, in the order of the cases."""
        reached = self.reached(names, without)
        together: dict[tuple[object, ...], list[int]] = {}
        for index, case in enumerate(self.plan.cases):
            key = tuple(axis.key(case, reached) for axis in self.all)
            together.setdefault(key, []).append(index)
        firsts = [self.plan.cases[indices[0]] for indices in together.values()]
        axes = [a for a in self.varying if self._varies(a, firsts, reached)] or self.all[:1]
        return [Row(self._row_key(axes, indices), tuple(indices)) for indices in together.values()]

    def _row_key(self, axes: list[Axis], indices: list[int]) -> tuple[str, ...]:
        """Parts of a row's name; where its cases are called differently, both names."""
        parts = [self.parts(self.plan.cases[index], axes) for index in indices]
        return tuple(_either(texts) for texts in zip(*parts, strict=True))


def _either(texts: Iterable[str]) -> str:
    words = list(dict.fromkeys(texts))
    return ", ".join(words[:2]) + (say(f" and {len(words) - 2} more") if len(words) > 2 else "")


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
