"""Saved plans: ``NAME.plan.json`` holds inputs, declarations and values, and loads years later.

One document serves the file, the copy inside a workbook and the copy inside a page. Keys stand in
the order of the scenario and of the declarations, which is the order that readers see, and numbers
are written shortest: the same plan gives the same bytes, before and after it was saved.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from planner import actual
from planner.engine import Array, Columns
from planner.errors import InputError, Problem, Span
from planner.expr.check import Type
from planner.facts import Fact, GroupFacts
from planner.figures import DAY_PATTERN, NAME_PATTERN
from planner.inputs import Case, Inputs, Origin, Source
from planner.metrics import SLOTS, MetricSet
from planner.planning import Plan

FORMAT = "capsheet plan"
VERSION = 1


def product_version() -> str:
    """The installed version, for the provenance of outputs."""
    try:
        return version("capsheet")
    except PackageNotFoundError:  # a plain checkout
        return "checkout"


def document(plan: Plan) -> dict[str, Any]:
    """The plan as plain data."""
    inputs = plan.inputs
    body: dict[str, Any] = {
        "scenario": dict(inputs.scenario),
        "scenario_file": inputs.file,
        "cases": [
            {"id": c.id, "model": c.model, "gpu": c.gpu, "weight_format": c.weight_format,
             "kv_format": c.kv_format, "workload": c.workload, "inputs": dict(c.inputs)}
            for c in inputs.cases
        ],
        "dropped": dict(inputs.dropped),
        "assumptions": {n: v if v == v else None for n, v in inputs.plan.items()},
        "ladders": {n: _rungs(v) for n, v in inputs.ladders.items()},
        **({"rungs": {n: list(v) for n, v in inputs.rungs.items()}} if inputs.rungs else {}),
        "facts": _nested({k: {n: _fact(f) for n, f in v.items()} for k, v in inputs.facts.items()}),
        "groups": {m: [_group(g) for g in groups] for m, groups in inputs.groups.items()},
        "labels": _nested(dict(inputs.labels)),
        "sources": _nested(
            {k: {n: asdict(s) for n, s in v.items()} for k, v in inputs.sources.items()}
        ),
        "origins": {n: asdict(o) for n, o in inputs.origins.items()},
        "declarations": plan.metrics.declarations(),
        "units": {
            n: plan.metrics.unit_of(n) for n in [*plan.metrics.fields, *plan.metrics.metrics]
        },
        "values": {
            m.name: _values(plan.columns[m.name], m.type)
            for m in plan.metrics.metrics.values()
            if not m.part_of
        },
    }  # fmt: skip
    if plan.actual:
        body["actual"] = [actual.data(one) for one in plan.actual]
    body["hashes"] = {
        "catalog": digest([body["facts"], body["groups"]]),
        "formulas": digest(body["declarations"]),
        "inputs": digest([body["cases"], body["assumptions"], body["ladders"]]),
        "values": digest(body["values"]),
    }
    return {"format": FORMAT, "version": VERSION, "capsheet": product_version(), **_plain(body)}


def _nested(table: Mapping[tuple[str, str], Any]) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for (kind, word), value in table.items():
        nested.setdefault(kind, {})[word] = value
    return nested


def _flat(nested: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Any]:
    return {(kind, word): value for kind, words in nested.items() for word, value in words.items()}


def _rungs(rungs: Any) -> Any:
    """Rungs as plain data; None keeps the case's own value."""
    if isinstance(rungs, tuple):
        return [_rungs(one) for one in rungs]
    return None if rungs != rungs else rungs


def _fact(fact: Fact) -> dict[str, Any]:
    return {
        "value": fact.value, "unit": fact.unit, "source": list(fact.source),
        "confidence": fact.confidence, "note": fact.note, "place": str(fact.span),
    }  # fmt: skip


def _group(group: GroupFacts) -> dict[str, Any]:
    facts = {name: _fact(fact) for name, fact in group.facts.items()}
    return {"kind": group.kind, "label": group.label, "basis": group.basis, "facts": facts}


def _values(values: Array, kind: Type) -> Any:
    if values.ndim == 0:
        return _value(float(values), kind)
    if values.ndim == 1:
        return [_value(v, kind) for v in values.tolist()]
    return [_values(row, kind) for row in values]


def _value(number: float, kind: Type) -> Any:
    if number != number:
        return None
    if kind.kind == "choice":
        return kind.words[int(number)]
    return bool(number) if kind.kind == "flag" else number


def _plain(value: Any) -> Any:
    """Whole floats as integers: shorter, and the same number to every JSON reader."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and value == int(value) and abs(value) < 2**53:
        return int(value)
    return value


def digest(value: Any) -> str:
    """Twelve hex digits of the SHA-256 of canonical JSON."""
    text = json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def dumps(doc: Mapping[str, Any]) -> str:
    """JSON text in the document's own order, a line for every top-level key and its entries."""
    lines = []
    for key, value in doc.items():
        if isinstance(value, dict) and value:
            inner = ",\n".join(f"  {json.dumps(k)}: {_compact(value[k])}" for k in value)
            lines.append(f"{json.dumps(key)}: {{\n{inner}\n}}")
        else:
            lines.append(f"{json.dumps(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def load(path: str | Path) -> Plan:
    """A plan from its JSON file, with its own formulas and values.

    Raises:
        InputError: not a saved plan, or one of another version.
    """
    name = str(path)
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no UTF-8 text"
        raise InputError(Problem(Span(name), "", "a readable file", reason.lower())) from None
    return loads(text, name)


def loads(text: str, name: str) -> Plan:
    """A plan from JSON text; ``name`` is how messages call it. Raises as :func:`load`."""
    try:
        doc = json.loads(text, parse_constant=_no_number)
        if "\\ud" in text.lower():  # half a character, which no output could hold
            json.dumps(doc, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        span = Span(name, error.lineno, error.colno)
        raise InputError(Problem(span, "", "a saved plan (JSON)", error.msg.lower())) from None
    except (ValueError, RecursionError) as error:
        found = "half a character" if isinstance(error, UnicodeEncodeError) else str(error)
        raise InputError(Problem(Span(name), "", "a saved plan (JSON)", found)) from None
    if not isinstance(doc, dict) or doc.get("format") != FORMAT:
        raise InputError(Problem(Span(name), "format", f"'{FORMAT}'", "another document"))
    if doc.get("version") != VERSION:
        hint = "load it with the capsheet release that wrote it"
        raise InputError(
            Problem(Span(name), "version", f"{VERSION}", f"{doc.get('version')}", hint)
        )
    try:
        return _from_document(doc, name)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        words = "no key" if isinstance(error, KeyError) else f"{type(error).__name__}:"
        found = f"{words} {error}"
        raise InputError(Problem(Span(name), "", "a complete saved plan", found)) from None


def _no_number(word: str) -> float:
    raise ValueError(f"the number {word}")


def _from_document(doc: Mapping[str, Any], name: str) -> Plan:
    _check_scenario(doc["scenario"])
    metrics = MetricSet.of_declarations(doc["declarations"], name)
    facts = {
        key: {n: _read_fact(f) for n, f in entry.items()}
        for key, entry in _flat(doc["facts"]).items()
    }
    groups = {
        model: tuple(
            GroupFacts(g["kind"], g["label"], {n: _read_fact(f) for n, f in g["facts"].items()},
                       g["basis"])
            for g in entries
        )
        for model, entries in doc["groups"].items()
    }  # fmt: skip
    inputs = Inputs(
        doc["scenario"], doc["scenario_file"], tuple(Case(**case) for case in doc["cases"]),
        doc["dropped"], _numbers(doc["assumptions"]),
        {n: _read_rungs(v) for n, v in doc["ladders"].items()}, facts, groups,
        {n: _origin(o) for n, o in doc["origins"].items()}, _flat(doc["labels"]),
        {k: {n: Source(**s) for n, s in v.items()} for k, v in _flat(doc["sources"]).items()},
        {n: tuple(str(w) for w in v) for n, v in doc.get("rungs", {}).items()},
    )  # fmt: skip
    saved = {m: _column(v, metrics.type_of(m)) for m, v in doc["values"].items()}
    cases, stages = len(inputs.cases), inputs.stages
    shapes = ((), (cases,), (SLOTS, cases), (stages, 1, cases), (stages, SLOTS, cases))
    for metric, column in saved.items():
        if column.shape != shapes[metrics.type_of(metric).grain]:
            raise ValueError(f"'{metric}' has {column.shape} values")
    _check_rungs(inputs, metrics)
    variants = {n: np.asarray(v, dtype=np.float64) for n, v in inputs.ladders.items()}
    plan = Plan(inputs, metrics, Columns(metrics, inputs.columns(metrics), variants, saved))
    found = tuple(actual.read(one, plan) for one in doc.get("actual", ()))
    return actual.with_actual(plan, found)


def _read_rungs(data: Any) -> Any:
    if isinstance(data, list):
        return tuple(_read_rungs(one) for one in data)
    return float("nan") if data is None else float(data)


def _check_rungs(inputs: Inputs, metrics: MetricSet) -> None:
    for name, rungs in inputs.ladders.items():
        widths = {len(r) if isinstance(r, tuple) else 1 for r in rungs}
        if widths - {1, len(metrics.variants[name].replaces)} or len(widths) != 1:
            raise ValueError(f"rungs of '{name}' do not suit its inputs")
        if len(inputs.rungs.get(name, rungs)) != len(rungs):
            raise ValueError(f"rungs of '{name}' and their names differ in number")


def _check_scenario(scenario: Mapping[str, Any]) -> None:
    """What file names and pages take from the scenario must be what a scenario may hold."""
    for key in ("name", "title", "as_of", "owner", "note"):
        if not isinstance(scenario[key], str):
            raise ValueError(f"scenario.{key} is no text")
    if not isinstance(scenario.get("time_model", ""), str):
        raise ValueError("scenario.time_model is no text")
    for key, pattern in (("name", NAME_PATTERN), ("as_of", DAY_PATTERN)):
        if not re.fullmatch(pattern, scenario[key]):
            raise ValueError(f"scenario.{key} is '{scenario[key]}'")


def _numbers(data: Mapping[str, Any]) -> dict[str, float]:
    return {name: float("nan") if value is None else float(value) for name, value in data.items()}


def _origin(data: Mapping[str, Any]) -> Origin:
    return Origin(**{**data, "sources": tuple(data["sources"])})


def _read_fact(data: Mapping[str, Any]) -> Fact:
    value = data["value"]
    if isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    return Fact(
        value, data["unit"], tuple(data["source"]), data["confidence"], data["note"],
        Span(data["place"]),
    )  # fmt: skip


def _column(saved: Any, kind: Type) -> Array:
    def code(value: Any) -> float:
        if value is None:
            return float("nan")
        return float(kind.words.index(value)) if kind.kind == "choice" else float(value)

    def codes(value: Any) -> Any:
        return [codes(v) for v in value] if isinstance(value, list) else code(value)

    column = np.asarray(codes(saved), dtype=np.float64)
    return column != 0 if kind.kind == "flag" and not np.isnan(column).any() else column
