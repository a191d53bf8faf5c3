"""A scenario file to the case table: cross product, dropped combinations, origin of every input."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from planner.catalog import Catalog
from planner.drafts import MTP, Drafted
from planner.errors import InputError, Problem, nearest, one_of
from planner.facts import Fact, GroupFacts
from planner.figures import (
    shown,
)
from planner.inputs import DROPS, Case, Inputs, Origin, Source, sources_of
from planner.metric_files import FieldEntry
from planner.metrics import SLOTS, MetricSet, asked_by
from planner.rungs import Rungs
from planner.scenario_file import LayoutEntry, PrecisionEntry, ScenarioEntry
from planner.units import UnitError, parse_quantity, quantity_words
from planner.yamlfile import Key, YamlFile

MAX_CASES = 200_000
UNSET = "not set; what holds then is a formula of the plan"


def resolve(file: YamlFile, entry: ScenarioEntry, catalog: Catalog, metrics: MetricSet) -> Inputs:
    """Combine the lists of a scenario with catalog facts.

    Raises:
        InputError: unknown ids, bad quantities, or no combination that makes sense.
    """
    return _Resolving(file, entry, catalog, metrics).inputs()


class _Resolving:
    def __init__(
        self, file: YamlFile, entry: ScenarioEntry, catalog: Catalog, metrics: MetricSet
    ) -> None:
        self.file, self.entry, self.catalog, self.metrics = file, entry, catalog, metrics
        self.problems: list[Problem] = []
        self.facts: dict[tuple[str, str], Mapping[str, Fact]] = {}
        self.groups: dict[str, tuple[GroupFacts, ...]] = {}
        self.labels: dict[tuple[str, str], str] = {}
        self.origins: dict[str, Origin] = {}
        self.sources: dict[tuple[str, str], dict[str, Source]] = {}

    def inputs(self) -> Inputs:
        entry = self.entry
        self.draft = self.drafting()
        models = [self.look_up("model", m, ("models", i)) for i, m in enumerate(entry.models)]
        gpus = [self.look_up("gpu", g, ("gpus", i)) for i, g in enumerate(entry.gpus)]
        engine = self.look_up("engine", entry.engine, ("engine",))
        axes = {
            "layout": self.layouts(),
            "precision": self.precisions(),
            "context": self.numbers("context", ("contexts",), entry.contexts),
            "workload": self.workloads(),
            "batch": self.numbers("batch", ("batches",), entry.batches),
        }
        plan = self.plan_values(engine)
        self.check_draft(plan)
        rungs = Rungs(self)
        ladders = {n: rungs.ladder(n) for n in self.metrics.variants}
        self.case_origins()
        if self.problems:
            raise InputError(self.problems)
        cases, dropped = self.cross(models, gpus, axes)
        return Inputs(
            entry.model_dump(mode="json"), Path(self.file.name).name, tuple(cases), dropped, plan,
            ladders, self.facts, self.groups, self.origins, self.labels, self.sources, rungs.names,
        )  # fmt: skip

    def look_up(self, kind: str, word: str, key: Key) -> str:
        """The id of a catalog entry; its facts are kept."""
        try:
            record = self.catalog.entry(kind, word, self.file.span(key)).record
        except InputError as error:
            self.problems += error.problems
            return word
        if (kind, record.id) not in self.facts:
            facts = self.catalog.facts(kind, record.id)
            drafted = self.with_draft(record.id, key) if kind == "model" else None
            if drafted is not None:
                facts |= drafted.facts
                self.groups[record.id] = placed_groups(drafted)
            self.facts[kind, record.id] = {n: placed(fact) for n, fact in facts.items()}
            self.labels[kind, record.id] = record.label
            self.sources[kind, record.id] = sources_of(record, drafted)
        return record.id

    def drafting(self) -> str:
        """The draft of the plan: none, ``mtp``, or the id of a model entry."""
        word = self.entry.draft
        if not word or word == MTP:
            return word
        try:
            return self.catalog.entry("model", word, self.file.span(("draft",))).record.id
        except InputError as error:
            self.problems += error.problems
            return ""

    def with_draft(self, model: str, key: Key) -> Drafted:
        """A model with the draft of the plan."""
        drafted = self.catalog.drafted(model, self.draft)
        if len(drafted.groups) > SLOTS:
            found = f"{len(drafted.groups)} kinds of layers with those of {self.draft}"
            self.problems.append(self.file.problem(key, f"at most {SLOTS}", found))
        return drafted

    def check_draft(self, plan: Mapping[str, float]) -> None:
        """A draft proposes tokens, and the assumption that counts them says who does."""
        if not self.draft:
            return
        name = "speculative_tokens"
        if plan[name] < 1:
            hint = f"write {name} under assumptions, or leave draft out"
            found = f"{name} {plan[name]:.0f}"
            self.problems.append(self.file.problem(("draft",), "tokens to draft", found, hint))
        who = (
            "the MTP module of each model" if self.draft == MTP
            else self.catalog.model(self.draft).label
        )  # fmt: skip
        self.origins[name] = replace(self.origins[name], note=f"drafted by {who}")

    def place(self, key: Key, of_key: bool = False) -> str:
        """Where something stands, for outputs: the file without the folders it lies in."""
        span = self.file.span(key, of_key)
        own = span.file == self.file.name
        return str(replace(span, file=Path(span.file).name) if own else span)

    def quantity(self, name: str, value: Any, key: Key) -> float:
        """A value of a field in base units, checked against the field's kind and range."""
        field_entry = self.metrics.fields[name]
        written = self.metrics.written_unit(name)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            self.problems.append(self.file.problem(key, quantity_words(written), shown(value)))
            return 1.0
        try:
            number = parse_quantity(str(value), written)
        except UnitError as error:
            self.problems.append(self.file.problem(key, error.expected, error.found, error.hint))
            return 1.0
        bad = _out_of_range(field_entry, number)
        if bad:
            self.problems.append(self.file.problem(key, bad, f"{value}"))
            return 1.0
        return number

    def numbers(self, name: str, key: Key, values: Sequence[Any]) -> list[float]:
        found = [self.quantity(name, v, (*key, i)) for i, v in enumerate(values)]
        for index, number in enumerate(found):
            if number < 1:
                self.problems.append(
                    self.file.problem((*key, index), "at least 1", f"{values[index]}")
                )
            if number in found[:index] and not self.problems:
                self.problems.append(
                    self.file.problem((*key, index), "each value once", f"{values[index]} again")
                )
        return found

    def layouts(self) -> list[dict[str, float]]:
        """Parallel sizes, from ``layouts`` or from the short list ``tp``."""
        given = self.entry.layouts
        if given and self.entry.tp:
            self.problems.append(
                self.file.problem(("layouts",), "layouts or tp", "both", of_key=True)
            )
        if not given:
            sizes = self.numbers("tp", ("tp",), self.entry.tp or (1,))
            return [{**dict.fromkeys(LayoutEntry.model_fields, 1.0), "tp": tp} for tp in sizes]
        found = [
            {
                name: self.numbers(name, ("layouts", index, name), (getattr(one, name),))[0]
                for name in LayoutEntry.model_fields
            }
            for index, one in enumerate(given)
        ]
        for index, layout in enumerate(found):
            if layout in found[:index]:
                self.problems.append(
                    self.file.problem(("layouts", index), "each layout once", "the same again")
                )
        return found

    def precisions(self) -> list[PrecisionEntry]:
        words = self.metrics.fields["compute_dtype"].words
        for index, one in enumerate(self.entry.precisions):
            key: Key = ("precisions", index)
            if one.weights != "native":
                self.look_up("weight_format", one.weights, (*key, "weights"))
            self.look_up("kv_format", one.kv, (*key, "kv"))
            if one.compute not in words:
                self.problems.append(
                    self.file.problem(
                        (*key, "compute"),
                        one_of(words),
                        f"'{one.compute}'",
                        nearest(one.compute, words),
                    )
                )
        return list(self.entry.precisions)

    def workloads(self) -> list[tuple[str, dict[str, float]]]:
        found: list[tuple[str, dict[str, float]]] = []
        for index, one in enumerate(self.entry.workloads):
            key: Key = ("workloads", index)
            if one.name in {name for name, _ in found}:
                self.problems.append(
                    self.file.problem((*key, "name"), "each name once", f"'{one.name}' again")
                )
            shape = {
                f"{part}_tokens": self.quantity(f"{part}_tokens", getattr(one, part), (*key, part))
                for part in ("cached", "prompt", "output")
            }
            for part in ("prompt", "output"):
                if shape[f"{part}_tokens"] < 1:
                    self.problems.append(
                        self.file.problem((*key, part), "at least 1 token", str(getattr(one, part)))
                    )
            found.append((one.name, shape))
        return found

    def plan_values(self, engine: str) -> dict[str, float]:
        """Values of the whole plan: given in the scenario, or the engine's defaults."""
        names = [n for n, f in self.metrics.fields.items() if f.entity == "plan"]
        for name in self.entry.assumptions:
            if name not in names:
                key = asked_by(name)
                self.problems.append(
                    self.file.problem(
                        ("assumptions", name),
                        one_of(names),
                        f"the unknown key '{name}'",
                        f"'{name}' comes with {key}" if key else nearest(name, names),
                        of_key=True,
                    )
                )
        defaults = self.catalog.defaults(engine) if ("engine", engine) in self.facts else {}
        return {name: self.plan_value(name, engine, defaults) for name in names}

    def plan_value(self, name: str, engine: str, defaults: Mapping[str, Fact]) -> float:
        key: Key = ("assumptions", name)
        field_entry = self.metrics.fields[name]
        if name in self.entry.assumptions:
            self.origins[name] = Origin("given", self.place(key))
            given = self.entry.assumptions[name]
            if field_entry.optional and given == "unknown":
                return float("nan")
            return self.assumption(name, given, key)
        fact = defaults.get(name)
        if fact is None or not isinstance(fact.value, float | int):
            if field_entry.default is not None:
                self.origins[name] = Origin("default", "metrics file")
                return field_entry.default
            if field_entry.optional:
                self.origins[name] = Origin("default", f"engine {engine}", note=UNSET)
                return float("nan")
            if defaults:
                hint = f"write it under assumptions; engine {engine} has no default for it"
                self.problems.append(self.file.problem(key, "a value", "none", hint))
            return 0.0
        self.origins[name] = Origin(
            "default", f"engine {engine}", fact.source, fact.confidence, fact.note
        )
        return float(fact.value)

    def assumption(self, name: str, value: Any, key: Key) -> float:
        """A number in base units, true or false as 1 or 0, or the place of a word of a choice."""
        field_entry = self.metrics.fields[name]
        if field_entry.kind == "flag" and isinstance(value, bool):
            return float(value)
        if field_entry.kind == "choice" and value in field_entry.words:
            return float(field_entry.words.index(value))
        if field_entry.kind == "flag":
            self.problems.append(self.file.problem(key, "true or false", shown(value)))
            return 0.0
        if field_entry.kind == "choice":
            words = field_entry.words
            hint = nearest(str(value), words)
            self.problems.append(self.file.problem(key, one_of(words), shown(value), hint))
            return 0.0
        return self.quantity(name, value, key)

    def case_origins(self) -> None:
        keys = {**self.layout_keys(), "context": "contexts", "batch": "batches",
                "compute_dtype": "precisions",
                "cached_tokens": "workloads", "prompt_tokens": "workloads",
                "output_tokens": "workloads"}  # fmt: skip
        for name, key in keys.items():
            given = isinstance(self.file.data, dict) and key in self.file.data
            where = self.place((key,), of_key=True) if given else "scenario default"
            self.origins[name] = Origin("given" if given else "default", where)

    def layout_keys(self) -> dict[str, str]:
        """The key that gives each parallel size; none where no layout names the size."""
        if not self.entry.layouts:
            return {**dict.fromkeys(LayoutEntry.model_fields, ""), "tp": "tp"}
        named = set().union(*(one.model_fields_set for one in self.entry.layouts))
        return {name: "layouts" if name in named else "" for name in LayoutEntry.model_fields}

    def cross(
        self, models: list[str], gpus: list[str], axes: Mapping[str, Any]
    ) -> tuple[list[Case], dict[str, int]]:
        """Every combination that makes sense; the others counted by reason."""
        size = len(models) * len(gpus) * int(np.prod([len(a) for a in axes.values()]))
        if size > MAX_CASES:
            raise InputError(
                self.file.problem((), f"at most {MAX_CASES:,} combinations", f"{size:,}",
                                  "shorten the lists or split the scenario")
            )  # fmt: skip
        cases: list[Case] = []
        dropped: dict[str, int] = {}
        seen: set[str] = set()
        for combination in itertools.product(models, gpus, *axes.values()):
            case = self.case(*combination)
            tests = ((r, test(case, self.facts, self.groups)) for r, test in DROPS.items())
            reason = next((reason for reason, drops in tests if drops), "")
            if reason:
                dropped[reason] = dropped.get(reason, 0) + 1
            elif case.id not in seen:
                seen.add(case.id)
                cases.append(case)
        if not cases:
            reasons = "; ".join(f"{n} x {r}" for r, n in dropped.items())
            raise InputError(
                self.file.problem((), "at least one combination that makes sense", reasons)
            )
        return cases, dropped

    def case(
        self, model: str, gpu: str, layout: dict[str, float], precision: PrecisionEntry,
        context: float,
        workload: tuple[str, dict[str, float]], batch: float,
    ) -> Case:  # fmt: skip
        weights = precision.weights
        if weights == "native":
            weights = self.catalog.model(model).weight_format
        weights = self.look_up("weight_format", weights, ("precisions",))
        kv = self.look_up("kv_format", precision.kv, ("precisions",))
        inputs: dict[str, float | str] = {
            **layout, "compute_dtype": precision.compute, "context": context, **workload[1],
            "batch": batch,
        }  # fmt: skip
        parts = [
            model, gpu, layout_id(layout), f"{weights}+{kv}+{precision.compute}", f"{context:.0f}",
            workload[0], f"b{batch:.0f}",
        ]  # fmt: skip
        return Case("/".join(parts), model, gpu, weights, kv, workload[0], inputs)


def layout_id(layout: Mapping[str, float]) -> str:
    """``tp8pp2``: the tensor-parallel size, and every other size above 1."""
    others = (f"{name}{size:.0f}" for name, size in layout.items() if name != "tp" and size > 1)
    return f"tp{layout['tp']:.0f}" + "".join(others)


def placed_groups(drafted: Drafted) -> tuple[GroupFacts, ...]:
    """The layer groups of a model and its draft, with places as outputs name them."""
    return tuple(
        replace(group, facts={n: placed(fact) for n, fact in group.facts.items()})
        for group in drafted.groups
    )


def placed(fact: Fact) -> Fact:
    """The fact with its place as outputs name it: folder, kind and file, no machine path."""
    inside = "/".join(Path(fact.span.file).resolve().parts[-3:])
    return replace(fact, span=replace(fact.span, file=inside))


def _out_of_range(entry: FieldEntry, number: float) -> str:
    if entry.kind == "count" and number != int(number):
        return "a whole number"
    if number < 0:
        return "0 or more"
    if number >= 1e14:
        return "less than 1e14"
    low, high = entry.range or (0.0, 1e14)
    unit = "" if entry.unit == "1" else f" {entry.unit}"
    return "" if low <= number <= high else f"a value from {low:g} to {high:g}{unit}"
