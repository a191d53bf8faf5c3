"""JSON Schemas for editors of every file that people write, from the models that check it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from planner.metric_files import FieldEntry, MetricsFile
from planner.metrics import OPTIONAL, MetricSet
from planner.records import Engine, Format, Gpu, Model
from planner.records_price import Prices
from planner.review_decisions import Decisions
from planner.scenario_file import ScenarioEntry
from planner.units import example

DIALECT = "https://json-schema.org/draft/2020-12/schema"
KINDS: dict[str, type[BaseModel]] = {
    "scenario": ScenarioEntry,
    "metrics": MetricsFile,
    "model": Model,
    "gpu": Gpu,
    "engine": Engine,
    "format": Format,
    "price": Prices,
    "decisions": Decisions,
}
_UNITS = ("unit", "display", "written")


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one kind of file.

    Raises:
        KeyError: no such kind.
    """
    found = KINDS[kind].model_json_schema()
    for part in [found, *found.get("$defs", {}).values()]:
        _as_written(part, kind)
    if kind == "scenario":
        found["properties"]["assumptions"]["properties"] = _assumptions()
    return {"$schema": DIALECT, **found, "title": f"capsheet {kind}"}


def schemas() -> dict[str, Any]:
    """One schema that takes any of the files."""
    return {
        "$schema": DIALECT,
        "title": "capsheet files",
        "anyOf": [
            {key: value for key, value in _inside(schema(kind), kind).items() if key != "$schema"}
            for kind in KINDS
        ],
    }


def _inside(value: Any, kind: str) -> Any:
    """The schema of a kind as a part of a greater one: its references lead to its own parts."""
    if isinstance(value, dict):
        place = f"#/anyOf/{list(KINDS).index(kind)}/$defs/"
        return {
            key: part.replace("#/$defs/", place) if key == "$ref" else _inside(part, kind)
            for key, part in value.items()
        }
    return [_inside(part, kind) for part in value] if isinstance(value, list) else value


def _as_written(part: dict[str, Any], kind: str) -> None:
    """Allow the short forms: one value instead of a list, and the unit 1 without quotes."""
    for name, entry in part.get("properties", {}).items():
        if entry.get("type") == "array":
            if "minLength" in entry:
                entry["minItems"] = entry.pop("minLength")
            items = entry.get("items", {})
            if kind == "scenario" or items.get("type") == "string":
                own = {key: entry.pop(key) for key in ("type", "items", "minItems") if key in entry}
                entry["anyOf"] = [own, items]
        elif name in _UNITS:
            entry["type"] = ["string", "integer", "null"]
            entry.pop("anyOf", None)


def _written(metrics: MetricSet, name: str, entry: FieldEntry) -> dict[str, Any]:
    """What a value of the plan looks like: true or false, a word, or a quantity."""
    if entry.kind == "flag":
        return {"type": "boolean"}
    if entry.kind == "choice":
        return {"enum": list(entry.words)}
    return {"examples": [example(metrics.written_unit(name))]}


def _assumptions() -> dict[str, Any]:
    """The values of the whole plan that a scenario may set, with what they mean."""
    metrics = MetricSet.load(also=OPTIONAL)
    return {
        name: {
            "description": f"{entry.label}. {entry.meaning}",
            **_written(metrics, name, entry),
        }
        for name, entry in metrics.fields.items()
        if entry.entity == "plan"
    }
