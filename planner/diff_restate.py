"""A saved plan under today's formulas and catalog, so that two plans differ by their inputs alone.

The cases, what the scenario gave and the catalog ids stay; facts of those ids, defaults of the
engine and formulas are today's. What moves by that is a correction, not a change of the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planner import layer_kinds
from planner.catalog import Catalog
from planner.errors import InputError, Span
from planner.facts import FACTS, NO_DRAFT, Fact, GroupFacts
from planner.figures import Part
from planner.inputs import Case, Inputs, Source, sources_of
from planner.metric_files import MetricsFile, read_metrics_file
from planner.metric_reading import Reading
from planner.metrics import OPTIONAL, MetricSet, built_in
from planner.planning import Plan, compute
from planner.saved import digest
from planner.scenario import placed, placed_groups
from planner.scenario_file import LayoutEntry
from planner.yamlfile import Key, YamlFile


@dataclass(frozen=True, slots=True)
class FactChange:
    """A catalog figure that is not what the saved plan took."""

    side: str
    kind: str
    word: str
    name: str
    old: Any
    new: Any
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True)
class Restated:
    """A plan under the common formulas: the plan itself where nothing had to be done."""

    plan: Plan
    facts: tuple[FactChange, ...] = ()
    formulas: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def common_metrics(plans: Sequence[Plan], files: Sequence[Path] = ()) -> MetricSet:
    """Today's built-in metrics, a user's files, and the own metrics that the plans carry.

    Of two own metrics of one name the later plan's counts.

    Raises:
        InputError: own metrics that do not go together with today's built-in ones.
    """
    reading = Reading()
    also = [w for w, (metric, _) in OPTIONAL.items() if all(_has(p, metric) for p in plans)]
    for path, name in built_in(also):
        reading.add(*read_metrics_file(path, name), origin="")
    builtin = {b: set(getattr(reading, b)) for b in _BLOCKS} | {"metrics": set(reading.declared)}
    for path in files:
        reading.add(*read_metrics_file(path, str(path)), origin=path.name)
    for plan in reversed(plans):
        _carry(reading, plan, builtin)
    return MetricSet.of_reading(reading)


def _has(plan: Plan, built_in_metric: str) -> bool:
    found = plan.metrics.metrics.get(built_in_metric)
    return found is not None and not found.origin


_BLOCKS = ("fields", "constants", "tables", "variants")


def _carry(reading: Reading, plan: Plan, builtin: Mapping[str, set[str]]) -> None:
    """The declarations of one plan that are its user's own and not there yet."""
    have = {block: set(getattr(reading, block)) for block in _BLOCKS}
    have["metrics"] = {n for n, d in reading.declared.items() if d.origin}
    origins = {m.name: m.origin for m in plan.metrics.in_order() if m.origin and not m.part_of}
    # Built-in inputs of an older release that no own metric names are not carried along.
    needed = {n for m in plan.metrics.metrics.values() if m.origin for n in m.needs}
    needed |= {m.table for m in plan.metrics.metrics.values() if m.origin}
    for origin in dict.fromkeys(origins.values()) or [""]:
        data: dict[str, Any] = {}
        for block in _BLOCKS:
            fresh = {
                n: _dump(e)
                for n, e in getattr(plan.metrics, block).items()
                if n not in builtin[block] and n not in have[block] and n in needed
            }
            have[block] |= set(fresh)
            data[block] = fresh
        data["metrics"] = {
            name: _own(plan, name, builtin["metrics"])
            for name, where in origins.items()
            if where == origin and name not in have["metrics"]
        }
        file = YamlFile(f"{plan.name}: {origin}", data, (), {}, {})
        reading.add(file, MetricsFile.model_validate(data), origin)


def _own(plan: Plan, name: str, builtin: set[str]) -> dict[str, Any]:
    metric = plan.metrics.metrics[name]
    data = _dump(metric.entry) | {"table": metric.table}
    data.pop("examples", None)
    data.pop("replaces", None)
    if name in builtin:
        because = plan.metrics.replaced.get(name, ("", ""))[1]
        data |= {"replaces": name, "because": because or "carried along from a saved plan"}
    return data


def _dump(entry: Part) -> dict[str, Any]:
    return entry.model_dump(mode="json", exclude_defaults=True)


def restated(plan: Plan, metrics: MetricSet, catalog: Catalog | None, side: str) -> Restated:
    """The plan under ``metrics``, and under the facts of ``catalog`` where one is given.

    Args:
        plan: as issued.
        metrics: the formulas of both plans.
        catalog: today's, for a saved plan; None for one that was planned from it just now.
        side: ``old`` or ``new``, for the list of changes.
    """
    notes: list[str] = []
    inputs = plan.inputs
    changes: list[FactChange] = []
    if catalog is not None:
        inputs, changes = _today(inputs, catalog, side, notes)
    inputs = _complete(inputs, metrics, notes)
    formulas = tuple(_other_formulas(plan.metrics, metrics))
    if inputs == plan.inputs and not formulas and _same_inputs(plan.metrics, metrics):
        return Restated(plan, (), (), tuple(notes))
    return Restated(compute(inputs, metrics), tuple(changes), formulas, tuple(notes))


def _same_inputs(old: MetricSet, new: MetricSet) -> bool:
    return list(old.metrics) == list(new.metrics) and list(old.fields) == list(new.fields)


def _other_formulas(old: MetricSet, new: MetricSet) -> Iterable[str]:
    """Metrics of both sets that are computed otherwise, constants included."""
    for name in old.constants.keys() & new.constants.keys():
        if old.constants[name].value != new.constants[name].value:
            yield name
    for name, metric in old.metrics.items():
        other = new.metrics.get(name)
        if other is not None and not metric.part_of and _words(metric.text) != _words(other.text):
            yield name


def _words(text: str) -> str:
    return " ".join(text.split())


def _today(
    inputs: Inputs, catalog: Catalog, side: str, notes: list[str]
) -> tuple[Inputs, list[FactChange]]:
    facts: dict[tuple[str, str], Mapping[str, Fact]] = {}
    groups = dict(inputs.groups)
    labels, sources = dict(inputs.labels), dict(inputs.sources)
    plan = dict(inputs.plan)
    origins = dict(inputs.origins)
    changes: list[FactChange] = []
    for (kind, word), saved in inputs.facts.items():
        draft = str(inputs.scenario.get("draft") or "")
        try:
            record = catalog.entry(kind, word).record
            drafted = catalog.drafted(word, draft) if kind == "model" else None
        except InputError:
            notes.append(f"{kind} {word} is not in today's catalog: its saved figures stand")
            facts[kind, word] = saved
            continue
        figures = catalog.facts(kind, record.id) | (drafted.facts if drafted is not None else {})
        now = {n: placed(f) for n, f in figures.items()}
        known = sources_of(record, drafted)
        labels[kind, word], sources[kind, word] = record.label, known
        facts[kind, word] = now
        changes += _changes(side, kind, word, saved, now, known)
        if drafted is not None:
            groups[word] = placed_groups(drafted)
            changes += _group_changes(side, word, inputs.groups[word], groups[word], known)
        if kind == "engine":
            for name, fact in catalog.defaults(record.id).items():
                origin = origins.get(name)
                default = origin is not None and origin.where == f"engine {word}"
                if default and isinstance(fact.value, int | float) and name in plan:
                    changes += _changes(
                        side, kind, word, {name: replace(fact, value=plan[name])}, {name: fact},
                        known,
                    )  # fmt: skip
                    plan[name] = float(fact.value)
    new = replace(inputs, facts=facts, groups=groups, labels=labels, sources=sources, plan=plan)
    return (new if changes else inputs), changes


def _changes(
    side: str,
    kind: str,
    word: str,
    saved: Mapping[str, Fact],
    now: Mapping[str, Fact],
    sources: Mapping[str, Source],
) -> list[FactChange]:
    return [
        FactChange(
            side, kind, word, name, saved[name].value if name in saved else None, fact.value,
            tuple(sources[s] for s in fact.source if s in sources),
        )
        for name, fact in now.items()
        if (fact.note != NO_DRAFT if name not in saved else saved[name].value != fact.value)
    ]  # fmt: skip


def _group_changes(
    side: str,
    model: str,
    saved: Sequence[GroupFacts],
    now: Sequence[GroupFacts],
    sources: Mapping[str, Source],
) -> list[FactChange]:
    changes = []
    for index in range(max(len(saved), len(now))):
        before = saved[index].facts if index < len(saved) else {}
        after = now[index].facts if index < len(now) else {}
        changes += _changes(side, "model", f"{model} group {index + 1}", before, after, sources)
    return changes


def _complete(inputs: Inputs, metrics: MetricSet, notes: list[str]) -> Inputs:
    """Inputs that the formulas name and an older plan lacks: unknown, or neutral for a layout."""
    missing = [n for n, f in metrics.fields.items() if f.entity == "plan" and n not in inputs.plan]
    case_fields = [n for n, f in metrics.fields.items() if f.entity == "case"]
    absent = [n for n in case_fields if n not in inputs.cases[0].inputs]
    for name in (*missing, *(n for n in absent if n not in LayoutEntry.model_fields)):
        notes.append(f"{name} is not in the plan {inputs.scenario['name']}: unknown there")
    facts = {key: _filled(FACTS[key[0]], entry) for key, entry in inputs.facts.items()}
    groups = {model: tuple(map(_filled_group, found)) for model, found in inputs.groups.items()}
    same = facts == dict(inputs.facts) and groups == dict(inputs.groups)
    if not missing and not absent and same:
        return inputs
    neutral = {n: 1.0 if n in LayoutEntry.model_fields else float("nan") for n in absent}
    cases = tuple(_with_inputs(case, neutral) for case in inputs.cases)
    defaults = {n: metrics.fields[n].default for n in missing}
    plan = {**inputs.plan,
            **{n: float("nan") if v is None else v for n, v in defaults.items()}}  # fmt: skip
    return replace(inputs, facts=facts, groups=groups, cases=cases, plan=plan)


def _with_inputs(case: Case, more: Mapping[str, float]) -> Case:
    return replace(case, inputs={**case.inputs, **more}) if more else case


def _filled(units: Mapping[str, tuple[Key, str]], entry: Mapping[str, Fact]) -> Mapping[str, Fact]:
    lacking = {n: _lacking(*units[n]) for n in units if n not in entry}
    return {**entry, **lacking} if lacking else entry


_GROUP_UNITS: dict[str, tuple[Key, str]] = {
    name: (("draft",) if name == "group_draft_layers" else (name,), unit)
    for name, unit in layer_kinds.FIELDS.items()
}


def _filled_group(group: GroupFacts) -> GroupFacts:
    return replace(group, facts=_filled(_GROUP_UNITS, group.facts))


def _lacking(key: Key, unit: str) -> Fact:
    """A figure that the plan was made without: unknown, or no draft, which it could not have."""
    neutral = key[0] == "draft"
    note = NO_DRAFT if neutral else ""
    return Fact(0.0 if neutral else None, unit, (), "derived" if neutral else "", note,
                Span("catalogs"))  # fmt: skip


def formula_hash(metrics: MetricSet) -> str:
    """The hash of the declarations, as a saved plan prints it."""
    return digest(metrics.declarations())


def catalog_hash(plan: Plan) -> str:
    """The hash of the catalog figures of a plan: values only, whatever file they came from."""
    facts = {
        "/".join(key): {n: f.value for n, f in entry.items()}
        for key, entry in plan.inputs.facts.items()
    }
    groups = {
        model: [{n: f.value for n, f in g.facts.items()} for g in found]
        for model, found in plan.inputs.groups.items()
    }
    return digest([facts, groups])


__all__ = [
    "FactChange", "Restated", "catalog_hash", "common_metrics", "formula_hash", "restated",
]  # fmt: skip
