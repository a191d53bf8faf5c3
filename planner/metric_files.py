"""The schema of metric files: fields, constants, tables, variants and metrics with their examples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, StrictStr

from planner import yamlfile
from planner.figures import Part, Texts, listed, read_record
from planner.yamlfile import YamlFile

Name = Annotated[StrictStr, Field(max_length=60)]
Better = Literal["up", "down", "none"]


def _text(value: Any) -> Any:
    """A unit of 1 may be written without quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


UnitText = Annotated[StrictStr, BeforeValidator(_text)]


class ConstantEntry(Part):
    """A named number with its unit and the reason for it."""

    value: float
    unit: UnitText = "1"
    meaning: StrictStr


class FieldEntry(Part):
    """An input that formulas may name."""

    entity: Literal["model", "group", "gpu", "engine", "weight_format", "kv_format", "case", "plan"]
    kind: Literal["number", "count", "flag", "choice"] = "number"
    unit: UnitText = "1"
    written: UnitText | None = None
    label: StrictStr
    meaning: StrictStr
    words: Texts = ()
    range: Annotated[tuple[float, float] | None, BeforeValidator(listed)] = None


class TableEntry(Part):
    """A table of the plan: its name for people and the question that it answers."""

    label: StrictStr
    answers: StrictStr


class VariantEntry(Part):
    """Child cases in which one input is replaced by each value of a list."""

    label: StrictStr
    table: StrictStr
    replaces: StrictStr
    default: Annotated[tuple[float, ...], BeforeValidator(listed)]
    meaning: StrictStr
    shows: Texts


class SourceEntry(Part):
    """Where a formula comes from."""

    title: StrictStr
    url: StrictStr | None = None


class ExampleEntry(Part):
    """A worked example: given values, the result, and its derivation."""

    given: dict[str, Any]
    gives: Any
    because: StrictStr


class CaseEntry(Part):
    """One branch of a metric; the last one has no ``when``."""

    when: StrictStr | None = None
    formula: StrictStr


class MetricEntry(Part):
    """One metric as it is declared."""

    label: StrictStr
    unit: UnitText = "1"
    display: UnitText | None = None
    better: Better = "none"
    table: StrictStr | None = None
    why: StrictStr
    source: SourceEntry
    formula: StrictStr | None = None
    cases: Annotated[tuple[CaseEntry, ...], BeforeValidator(listed)] = ()
    adds: Texts = ()
    subtracts: Texts = ()
    choices: Texts = ()
    check: Literal["integrity", "policy"] | None = None
    limit: float | None = None
    headline: StrictBool = False
    replaces: StrictStr | None = None
    because: StrictStr | None = None
    examples: Annotated[tuple[ExampleEntry, ...], BeforeValidator(listed)] = ()


class MetricsFile(Part):
    """One file: any of the blocks may be absent."""

    table: StrictStr = "user"
    tables: dict[Name, TableEntry] = Field(default_factory=dict)
    constants: dict[Name, ConstantEntry] = Field(default_factory=dict)
    fields: dict[Name, FieldEntry] = Field(default_factory=dict)
    variants: dict[Name, VariantEntry] = Field(default_factory=dict)
    metrics: dict[Name, MetricEntry] = Field(default_factory=dict)


def read_metrics_file(path: Path, name: str) -> tuple[YamlFile, MetricsFile]:
    """Read and check the shape of one metrics file.

    Raises:
        InputError: every problem of its shape, with its place.
    """
    file = yamlfile.read(path, name)
    return file, read_record(file, MetricsFile)
