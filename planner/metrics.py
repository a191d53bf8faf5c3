"""Metrics: declared once in YAML, checked together, compiled to every form.

``MetricSet.load`` reads the built-in files and a user's own ones by the same path. Every formula is
parsed, named, typed and ordered before anything runs; all problems are reported together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from planner.expr.check import PLAN, Type
from planner.figures import Part
from planner.metric import SLOTS, Declared, Metric, constant_type, field_type, formula_of, make_part
from planner.metric_files import (
    ConstantEntry,
    ExampleEntry,
    FieldEntry,
    MetricsFile,
    TableEntry,
    VariantEntry,
    read_metrics_file,
)
from planner.metric_reading import Reading, reached
from planner.resources import metrics_dir
from planner.units import dimension_text
from planner.yamlfile import YamlFile

__all__ = ["SLOTS", "Declared", "Metric", "MetricSet", "examples", "formula_of", "make_part"]

OPTIONAL = {
    "answers": ("smallest_change", "answers: true"),
    "time": ("tpot_bound", "time_model: bound"),
}
"""Built-in files that only plans take which ask for them.

Each with a metric that such a plan has, and with what a scenario writes to ask.
"""


def built_in(also: Collection[str] = ()) -> list[tuple[Path, str]]:
    """The built-in files with their names in messages, in the order in which they are read.

    ``also``: which of the optional ones.
    """
    plain = sorted(p for p in metrics_dir().glob("*.yaml") if p.stem not in OPTIONAL)
    found = [*plain, *(metrics_dir() / f"{word}.yaml" for word in OPTIONAL if word in also)]
    return [(path, f"metrics/{path.name}") for path in found]


def asked_by(name: str) -> str:
    """What a scenario writes to have this input of an optional file; empty where none has it."""
    for word, (_, key) in OPTIONAL.items():
        path = metrics_dir() / f"{word}.yaml"
        if name in read_metrics_file(path, f"metrics/{path.name}")[1].fields:
            return key
    return ""


@dataclass(frozen=True)
class MetricSet:
    """All declarations of a plan, in evaluation order, with what depends on what."""

    fields: Mapping[str, FieldEntry]
    constants: Mapping[str, ConstantEntry]
    tables: Mapping[str, TableEntry]
    variants: Mapping[str, VariantEntry]
    metrics: Mapping[str, Metric]
    replaced: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, user_files: Sequence[Path] = (), also: Collection[str] = ()) -> MetricSet:
        """The built-in metrics and a user's files, checked together.

        ``also``: the files of ``OPTIONAL`` that the plan asks for: ``answers``, ladders that say
        what would make a case fit, and ``time``, the times of the ideal bound.

        Raises:
            InputError: every problem of every file: shape, names, arity, units, cycles.
        """
        files = built_in(also)
        return cls.read([*files, *((path, str(path)) for path in user_files)], len(files))

    @classmethod
    def of_declarations(cls, data: Mapping[str, Any], name: str) -> MetricSet:
        """The set that :meth:`declarations` described, from a saved plan called ``name``."""
        reading = Reading()
        file = YamlFile(name, data, (), {}, {})
        beside = ("replaced", "origins")
        content = MetricsFile.model_validate({k: v for k, v in data.items() if k not in beside})
        reading.add(file, content, origin="")
        reading.replaced = {k: (v[0], v[1]) for k, v in data.get("replaced", {}).items()}
        found = cls.of_reading(reading)
        origins = data.get("origins", {})
        return found.with_metrics(
            {
                name: replace(metric, origin=str(origins.get(metric.part_of or name, "")))
                for name, metric in found.metrics.items()
            }
        )

    def declarations(self) -> dict[str, Any]:
        """All declarations as plain data, in the form of one metrics file."""
        blocks: dict[str, Any] = {
            block: {n: _dump(e) for n, e in getattr(self, block).items()}
            for block in ("tables", "constants", "fields", "variants")
        }
        blocks["metrics"] = {
            m.name: {"table": m.table, **_dump(m.entry, "table")}
            for m in self.in_order()
            if not m.part_of
        }
        for entry in blocks["metrics"].values():
            entry.pop("replaces", None)
            entry.pop("examples", None)
        blocks["origins"] = {
            m.name: m.origin for m in self.in_order() if m.origin and not m.part_of
        }
        blocks["replaced"] = {name: list(what) for name, what in self.replaced.items()}
        return blocks

    @classmethod
    def read(cls, files: Sequence[tuple[Path, str]], builtin: int = 0) -> MetricSet:
        """Metrics of exactly these files; the first ``builtin`` of them may be replaced."""
        reading = Reading()
        for index, (path, name) in enumerate(files):
            reading.add(*read_metrics_file(path, name), origin="" if index < builtin else path.name)
        return cls.of_reading(reading)

    @classmethod
    def of_reading(cls, reading: Reading) -> MetricSet:
        """The set of everything that was read. Raises InputError as :meth:`load`."""
        metrics = reading.checked()
        return cls(
            reading.fields, reading.constants, reading.tables, reading.variants, metrics,
            reading.replaced,
        )  # fmt: skip

    @cached_property
    def reach(self) -> dict[str, frozenset[str]]:
        """Everything that each metric depends on, directly or not, itself included."""
        return reached(self.metrics, self.variants)

    @cached_property
    def pooling(self) -> frozenset[str]:
        """Figures of the whole plan that reduce its cases."""
        return frozenset(
            name
            for name, metric in self.metrics.items()
            if metric.type.grain == PLAN
            and any(self.type_of(n).grain != PLAN for n in metric.needs)
        )

    def depends(self, name: str, on: str) -> bool:
        """Whether ``name`` is ``on`` or depends on it."""
        return name == on or on in self.reach.get(name, ())

    def type_of(self, name: str) -> Type:
        """The type of a field, constant or metric."""
        if name in self.metrics:
            return self.metrics[name].type
        if name in self.fields:
            return field_type(self.fields[name])
        return constant_type(self.constants[name])

    def unit_of(self, name: str) -> str:
        """The unit text of a field, constant or metric, in base units."""
        return dimension_text(self.type_of(name).dimension)

    def written_unit(self, name: str) -> str:
        """The unit in which YAML writes a value of this name."""
        entry = self.fields.get(name)
        return (entry.written if entry else None) or self.unit_of(name)

    def label_of(self, name: str) -> str:
        """What people call a field, constant or metric."""
        if name in self.metrics:
            return self.metrics[name].label
        return self.fields[name].label if name in self.fields else name.replace("_", " ")

    def of_table(self, table: str) -> list[Metric]:
        """The declared metrics of one table, parts left out."""
        return [m for m in self.in_order() if m.table == table and not m.part_of]

    def in_order(self) -> list[Metric]:
        """All metrics as declared, each behind its parts; ``metrics`` is in evaluation order."""
        return sorted(self.metrics.values(), key=lambda m: (m.position, not m.part_of))

    def with_metrics(self, metrics: Mapping[str, Metric]) -> MetricSet:
        """The same declarations with other metrics (parts added for cells)."""
        return replace(self, metrics=metrics)


def _dump(entry: Part, *without: str) -> dict[str, Any]:
    return entry.model_dump(mode="json", exclude_defaults=True, exclude=set(without))


def examples(metrics: Iterable[Metric]) -> list[tuple[Metric, ExampleEntry]]:
    """Every worked example with its metric."""
    return [(metric, example) for metric in metrics for example in metric.entry.examples]
