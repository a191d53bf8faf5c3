"""The schema of metric files: fields, constants, tables, variants, metrics with examples."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictStr,
    field_serializer,
    model_validator,
)

from planner import yamlfile
from planner.figures import Part, Texts, listed, read_record, refusal
from planner.units import UnitError, parse_unit
from planner.yamlfile import YamlFile

Name = Annotated[StrictStr, Field(max_length=60)]
Better = Literal["up", "down", "none"]
DriverGroup = Literal["hardware", "precision", "workload", "model", "policy", "price"]


def _text(value: Any) -> Any:
    """A unit of 1 may be written without quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _known(text: str) -> str:
    try:
        parse_unit(text)
    except UnitError as error:
        raise refusal(error.expected, error.found, error.hint) from None
    return text


def _shown(text: str) -> str:
    """A unit, or ``x`` for a ratio that is shown as so many times."""
    return text if text == "x" else _known(text)


UnitText = Annotated[StrictStr, BeforeValidator(_text), AfterValidator(_known)]
DisplayText = Annotated[StrictStr, BeforeValidator(_text), AfterValidator(_shown)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def _once(words: tuple[str, ...]) -> tuple[str, ...]:
    again = next((w for i, w in enumerate(words) if w in words[:i]), None)
    if again is not None:
        raise refusal("each word once", f"'{again}' again")
    return words


Words = Annotated[Texts, AfterValidator(_once)]


class ConstantEntry(Part):
    """A named number with its unit and the reason for it."""

    value: Finite
    unit: UnitText = "1"
    meaning: StrictStr

    @model_validator(mode="after")
    def _in_base_units(self) -> ConstantEntry:
        """Formulas compute in base units, so the value that stands here is the one they see."""
        unit = parse_unit(self.unit)
        if unit.factor != 1:
            value = f"{float(Fraction(self.value) * unit.factor):.15g}"
            hint = f"write value: {value}, unit: {unit.base.text}"
            raise refusal(f"the base unit {unit.base.text}", self.unit, hint, ("unit",))
        return self


class FieldEntry(Part):
    """An input that formulas may name.

    A value of the whole plan may be ``optional`` (unknown where neither scenario nor engine gives
    it, and formulas then say what holds) or have a ``default`` that is the same for every engine.
    """

    entity: Literal[
        "model", "group", "gpu", "engine", "weight_format", "kv_format", "case", "stage", "plan"
    ]  # fmt: skip
    kind: Literal["number", "count", "flag", "choice", "places"] = "number"
    unit: UnitText = "1"
    written: UnitText | None = None
    label: StrictStr
    meaning: StrictStr
    words: Words = ()
    optional: StrictBool = False
    default: Finite | None = None
    range: Annotated[tuple[float, float] | None, BeforeValidator(listed)] = None
    driver: DriverGroup | None = None

    @model_validator(mode="after")
    def _only_of_plans(self) -> FieldEntry:
        for key, given in (("optional", self.optional), ("default", self.default is not None)):
            if given and self.entity != "plan":
                raise refusal("entity: plan beside it", f"entity: {self.entity}", "", (key,))
        return self

    @model_validator(mode="after")
    def _choice_has_words(self) -> FieldEntry:
        if (self.kind == "choice") != bool(self.words):
            expected = "words for a choice, and for nothing else"
            raise refusal(expected, f"{len(self.words)} words for a {self.kind}", "", ("words",))
        if self.kind == "places" and self.entity not in ("model", "group"):
            raise refusal("entity: model or group, for places", f"{self.entity}", "", ("entity",))
        return self


class TableEntry(Part):
    """A table of the plan: its name for people and the question that it answers."""

    label: StrictStr
    answers: StrictStr


OWN = "own"
"""A value of a rung that leaves the case its own."""

RungValue = Finite | Literal["own"]
Rung = RungValue | Annotated[tuple[RungValue, ...], BeforeValidator(listed)]


class VariantEntry(Part):
    """Child cases in which inputs are replaced by the values of each rung.

    A rung is one value, which all ``replaces`` take, or a value for each of them; ``own`` keeps
    what the case has. ``names`` stand for the values where people read. ``follows`` names inputs
    that take the value of a metric of the child case, such as a context limit that follows from
    replaced lengths.
    """

    label: StrictStr
    table: StrictStr
    replaces: Annotated[Texts, Field(min_length=1)]
    default: Annotated[tuple[Rung, ...], BeforeValidator(listed), Field(min_length=1)]
    names: Texts = ()
    follows: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    meaning: StrictStr
    shows: Texts

    @model_validator(mode="after")
    def _rungs_fit(self) -> VariantEntry:
        wanted = len(self.replaces)
        for index, rung in enumerate(self.default):
            if isinstance(rung, tuple) and len(rung) != wanted:
                expected = f"one value, or {wanted} as under replaces"
                raise refusal(expected, f"{len(rung)} values", "", ("default", index))
        if self.names and len(self.names) != len(self.default):
            expected = f"{len(self.default)} names, as many as rungs"
            raise refusal(expected, f"{len(self.names)}", "", ("names",))
        again = next((n for i, n in enumerate(self.replaces) if n in self.replaces[:i]), None)
        if again is not None:
            raise refusal("each input once", f"'{again}' again", "", ("replaces",))
        return self

    @field_serializer("replaces")
    def _one_as_text(self, value: tuple[str, ...]) -> str | tuple[str, ...]:
        """A plan with one input a set is saved as releases before this one read it."""
        return value[0] if len(value) == 1 else value

    @property
    def first(self) -> str:
        """The input whose unit the rungs are read in."""
        return self.replaces[0]

    @property
    def moved(self) -> tuple[str, ...]:
        """Every input that a child case may have otherwise than its parent."""
        return (*self.replaces, *self.follows)

    def rungs(self) -> tuple[tuple[float, ...], ...]:
        """The default: a row a rung, a value an input, NaN where the case keeps its own."""
        rows = (r if isinstance(r, tuple) else (r,) * len(self.replaces) for r in self.default)
        return tuple(tuple(float("nan") if v == OWN else float(v) for v in row) for row in rows)


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
    display: DisplayText | None = None
    better: Better = "none"
    table: StrictStr | None = None
    why: StrictStr
    source: SourceEntry
    formula: StrictStr | None = None
    cases: Annotated[tuple[CaseEntry, ...], BeforeValidator(listed)] = ()
    adds: Texts = ()
    subtracts: Texts = ()
    choices: Words = ()
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
