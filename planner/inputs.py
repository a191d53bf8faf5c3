"""What a plan is computed from: cases, catalog facts, assumptions, and the origin of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planner.drafts import Drafted, owned_name
from planner.engine import Array
from planner.errors import InputError, Problem, Span
from planner.facts import Fact, GroupFacts
from planner.metric_files import FieldEntry
from planner.metrics import SLOTS, MetricSet
from planner.places import NOWHERE
from planner.records import Record


@dataclass(frozen=True, slots=True)
class Source:
    """A source of figures: its title, its address where one is recorded, when it was read."""

    title: str
    url: str = ""
    read: str = ""


def sources_of(record: Record, drafted: Drafted | None = None) -> dict[str, Source]:
    """The sources of a catalog entry; one that was read elsewhere says where it was quoted.

    With the draft of a model also those of the draft, under names of their own.
    """
    beside = (
        {}
        if drafted is None
        else {
            owned_name(drafted.draft, name): source
            for entry in drafted.entries
            for name, source in sources_of(entry.record).items()
        }
    )
    known = record.sources
    return beside | {
        name: Source(
            f"{one.title}, quoted in {known[one.via].title}" if one.via else one.title,
            one.url or "", one.read or "",
        )
        for name, one in known.items()
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an input came from: ``given``, ``catalog`` or ``default``, and the place or source."""

    kind: str
    where: str
    sources: tuple[str, ...] = ()
    confidence: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One combination: the chosen catalog entries and case inputs in base units."""

    id: str
    model: str
    gpu: str
    weight_format: str
    kv_format: str
    workload: str
    inputs: Mapping[str, float | str]


Rungs = tuple[float, ...] | tuple[tuple[float, ...], ...]
"""Values of a set of variants, one a rung, or one a rung and input; NaN keeps the case's own."""


@dataclass(frozen=True)
class Inputs:
    """Everything that a plan is computed from. ``rungs``: names of the rungs of a set, if any."""

    scenario: Mapping[str, Any]
    file: str
    cases: tuple[Case, ...]
    dropped: Mapping[str, int]
    plan: Mapping[str, float]
    ladders: Mapping[str, Rungs]
    facts: Mapping[tuple[str, str], Mapping[str, Fact]]
    groups: Mapping[str, tuple[GroupFacts, ...]]
    origins: Mapping[str, Origin]
    labels: Mapping[tuple[str, str], str] = field(default_factory=dict)
    sources: Mapping[tuple[str, str], Mapping[str, Source]] = field(default_factory=dict)
    rungs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def stages(self) -> int:
        """Stage slots of the plan: the most pipeline stages of any case."""
        return max(int(case.inputs.get("pp", 1)) for case in self.cases)

    def columns(self, metrics: MetricSet) -> dict[str, Array]:
        """Field name to column, as ``engine.evaluate`` takes them.

        Raises:
            InputError: a metrics file declares an input that no catalog entry and no case has.
        """
        there = _names(self)
        problems = [
            Problem(
                Span("metrics"), f"fields.{name}", "entity: plan, for a value under assumptions",
                f"entity: {entry.entity}", "catalog entries and cases have no such figure",
            )
            for name, entry in metrics.fields.items()
            if name not in there.get(entry.entity, (name,))
        ]  # fmt: skip
        if problems:
            raise InputError(problems)
        return _columns(self, metrics)


Facts = Mapping[tuple[str, str], Mapping[str, Fact]]


def _value(facts: Facts, kind: str, word: str, name: str) -> float:
    value = facts[kind, word][name].value
    return float("nan") if value is None else float(value)


def _number(case: Case, name: str) -> float:
    return float(case.inputs[name])


def _experts_divide(case: Case, facts: Facts) -> bool:
    """Expert parallelism runs over all or some of the tp x dp ranks of a stage."""
    ep, ranks = _number(case, "ep"), _number(case, "tp") * _number(case, "dp")
    experts = _value(facts, "model", case.model, "experts")
    return ep == 1 or (ranks % ep == 0 and not ep > experts)


def _context_divides(case: Case, groups: tuple[GroupFacts, ...]) -> bool:
    """Latents (vLLM 0.33.0), or head groups with more ranks than KV heads."""
    dcp, tp = _number(case, "dcp"), _number(case, "tp")
    if dcp == 1:
        return True
    caches = [{n: f.value for n, f in g.facts.items()} for g in groups]
    return all(
        tp % dcp == 0 and (not c["group_value_dim"] or _copies(c, tp) % dcp == 0)
        for c in caches
        if c["group_kv_heads"] and not c["group_window"] and not c["group_fixed_tokens"]
    )


def _copies(cache: Mapping[str, Any], tp: float) -> float:
    """Copies of each KV head in the tensor-parallel group."""
    return max(1.0, tp // float(cache["group_kv_heads"]))


# Cards without a fast link run tensor parallelism over PCIe, up to the eight that one host holds
# (RTX PRO 6000 at TP 4 in the performance overview of TensorRT-LLM 1.0). It is slower, and takes no
# more memory.
HOST_GPUS = 8

# Reasons for which a combination makes no sense, each with its test; the first that holds counts.
# A comparison with an unknown figure is false, so what is unknown drops nothing.
Test = Callable[["Case", Facts, Mapping[str, tuple[GroupFacts, ...]]], bool]
DROPS: dict[str, Test] = {
    "tensor parallel size does not divide the query heads": lambda case, facts, groups: (
        _value(facts, "model", case.model, "q_heads") % _number(case, "tp") > 0
    ),
    "tensor parallel size exceeds one host and the scale-up domain": lambda case, facts, groups: (
        _number(case, "tp") > max(_value(facts, "gpu", case.gpu, "max_domain"), HOST_GPUS)
    ),
    "more pipeline stages than layers": lambda case, facts, groups: (
        _number(case, "pp") > _value(facts, "model", case.model, "layers")
    ),
    "expert parallel size is not a share of the ranks of a model with as many experts": (
        lambda case, facts, groups: not _experts_divide(case, facts)
    ),
    "decode context parallel size does not suit the KV heads": (
        lambda case, facts, groups: not _context_divides(case, groups[case.model])
    ),
    "context limit exceeds what the model was published for": lambda case, facts, groups: (
        _number(case, "context") > _value(facts, "model", case.model, "max_context")
    ),
    "request is longer than the context limit": lambda case, facts, groups: (
        sum(_number(case, f"{p}_tokens") for p in ("cached", "prompt", "output"))
        > _number(case, "context")
    ),
    "model has no MTP module on record": lambda case, facts, groups: any(
        group.facts["group_draft_layers"].value is None for group in groups[case.model]
    ),
    "GPU has no dense peak on record for the compute dtype": lambda case, facts, groups: (
        facts["gpu", case.gpu][f"peak_{case.inputs['compute_dtype']}"].value is None
    ),
}


# ---- columns -----------------------------------------------------------------------------------


def _names(inputs: Inputs) -> dict[str, Collection[str]]:
    """The inputs that are there, by entity."""
    found: dict[str, Collection[str]] = {"plan": inputs.plan, "case": inputs.cases[0].inputs}
    found |= {kind: facts for (kind, _), facts in inputs.facts.items()}
    groups = next(iter(inputs.groups.values()))
    return found | {"group": groups[0].facts}


def _columns(inputs: Inputs, metrics: MetricSet) -> dict[str, Array]:
    picks = {
        "model": [c.model for c in inputs.cases],
        "gpu": [c.gpu for c in inputs.cases],
        "weight_format": [c.weight_format for c in inputs.cases],
        "kv_format": [c.kv_format for c in inputs.cases],
    }
    engine = next(word for kind, word in inputs.facts if kind == "engine")
    columns: dict[str, Array] = {}
    rows = {kind: _gather(words) for kind, words in picks.items()}
    for name, entry in metrics.fields.items():
        if entry.entity == "plan":
            columns[name] = np.asarray(inputs.plan[name])
        elif entry.entity == "case":
            values = [case.inputs[name] for case in inputs.cases]
            columns[name] = np.asarray([_code(v, entry) for v in values])
        elif entry.entity == "engine":
            value = _code(inputs.facts["engine", engine][name].value, entry)
            columns[name] = np.full(len(inputs.cases), value)
        elif entry.entity == "stage":
            shape = (inputs.stages, 1, len(inputs.cases))
            columns[name] = np.broadcast_to(np.arange(shape[0], dtype=float)[:, None, None], shape)
        elif entry.entity == "group":
            unique, index = rows["model"]
            slots = [[_slot(inputs.groups[m], s, name, entry) for m in unique]
                     for s in range(SLOTS)]  # fmt: skip
            columns[name] = np.asarray(slots, dtype=_DTYPES.get(entry.kind))[:, index]
        else:
            unique, index = rows[entry.entity]
            facts = [_code(inputs.facts[entry.entity, w][name].value, entry) for w in unique]
            columns[name] = np.asarray(facts, dtype=_DTYPES.get(entry.kind))[index]
    return columns


_DTYPES = {"places": object}  # others are numbers and codes


def _gather(words: list[str]) -> tuple[list[str], Array]:
    unique = list(dict.fromkeys(words))
    where = {word: index for index, word in enumerate(unique)}
    return unique, np.asarray([where[word] for word in words])


def _slot(groups: tuple[GroupFacts, ...], slot: int, name: str, entry: FieldEntry) -> Any:
    if slot >= len(groups):
        return NOWHERE if entry.kind == "places" else 0.0
    return _code(groups[slot].facts[name].value, entry)


def _code(value: Any, entry: FieldEntry) -> Any:
    """A number, the code of a word, or the text of places; NaN, or None, where it is unknown."""
    if entry.kind == "places":
        return None if value is None else str(value)
    if value is None:
        return float("nan")
    return float(entry.words.index(value)) if entry.kind == "choice" else float(value)
