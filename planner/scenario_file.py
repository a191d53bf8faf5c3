"""A scenario file as people write it: its keys, and settings put over them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictStr,
    WithJsonSchema,
    model_serializer,
)

from planner import yamlfile
from planner.errors import InputError, Problem, Span
from planner.figures import (
    DAY_PATTERN,
    NAME_PATTERN,
    Part,
    Texts,
    listed,
    read_record,
    refusal,
    shown,
)
from planner.yamlfile import Key, YamlFile


def _rows(value: Any) -> Any:
    """One value or a list of values, as a tuple."""
    return tuple(value) if isinstance(value, list) else (value,)


Values = Annotated[tuple[Any, ...], BeforeValidator(_rows), Field(min_length=1)]


def _day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise refusal("a day of the calendar", f"'{text}'") from None
    return text


_LATER = "form_e, the calibrated time model, is not available in this release"


def _time_model(word: Any) -> Any:
    if word != "bound":
        raise refusal("bound, or no such key", shown(word), _LATER if word == "form_e" else "")
    return word


TimeModel = Annotated[
    Literal["bound"] | None, BeforeValidator(_time_model), WithJsonSchema({"enum": ["bound"]})
]
Slug = Annotated[StrictStr, Field(pattern=NAME_PATTERN, max_length=60)]
Day = Annotated[StrictStr, Field(pattern=DAY_PATTERN), AfterValidator(_day)]


class PrecisionEntry(Part):
    """Formats that belong together; ``native`` weights are those of the published checkpoint."""

    name: StrictStr | None = None
    weights: StrictStr = "native"
    kv: StrictStr = "bf16"
    compute: StrictStr = "bf16"


class LayoutEntry(Part):
    """Parallel sizes of one replica: tensor, pipeline, data, expert and decode context."""

    tp: Any = 1
    pp: Any = 1
    dp: Any = 1
    ep: Any = 1
    dcp: Any = 1


class WorkloadEntry(Part):
    """The shape of a request: cached, new and returned tokens."""

    name: Slug
    cached: Any = "0 tokens"
    prompt: Any
    output: Any


class MixEntry(Part):
    """A share of the requests and their shape."""

    name: StrictStr | None = None
    share: Any
    cached: Any = "0 tokens"
    prompt: Any
    output: Any


class ScenarioEntry(Part):
    """A scenario file: lists that are combined, and the assumptions of the whole plan."""

    name: Slug
    title: StrictStr
    as_of: Day
    owner: StrictStr = "unknown"
    note: StrictStr = ""
    engine: StrictStr = "plain"
    draft: StrictStr = ""
    models: Annotated[Texts, Field(min_length=1)]
    gpus: Annotated[Texts, Field(min_length=1)]
    tp: Values = ()
    layouts: Annotated[tuple[LayoutEntry, ...], BeforeValidator(_rows)] = ()
    precisions: Annotated[tuple[PrecisionEntry, ...], BeforeValidator(_rows)] = (PrecisionEntry(),)
    contexts: Values
    workloads: Annotated[tuple[WorkloadEntry, ...], BeforeValidator(_rows), Field(min_length=1)]
    batches: Values
    assumptions: dict[StrictStr, Any] = Field(default_factory=dict)
    context_ladder: Annotated[tuple[Any, ...], BeforeValidator(listed)] = ()
    answers: StrictBool = False
    mix: Annotated[tuple[MixEntry, ...], BeforeValidator(_rows)] = ()
    time_model: TimeModel = None

    @property
    def asks(self) -> tuple[str, ...]:
        """The optional metric files that the plan takes, by the words of ``metrics.OPTIONAL``."""
        wanted = {"answers": self.answers or bool(self.mix), "time": self.time_model is not None}
        return tuple(word for word, asked in wanted.items() if asked)

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A plan without a time model is saved as if the key did not exist."""
        return {key: value for key, value in handler(self).items() if value is not None}


# ---- reading -----------------------------------------------------------------------------------


def read_scenario(path: Path, settings: Sequence[str] = ()) -> tuple[YamlFile, ScenarioEntry]:
    """Read and check the shape of a scenario file, with ``key=value`` settings put in.

    Raises:
        InputError: every problem of its shape, with its place.
    """
    file = yamlfile.read(path)
    for setting in settings:
        file = _with_setting(file, setting)
    return file, read_record(file, ScenarioEntry)


def _with_setting(file: YamlFile, setting: str) -> YamlFile:
    """``memory_utilization=0.85``, ``models=[a, b]`` or ``assumptions.overhead=3 GiB`` put in."""
    name = f"--set {setting}"
    key, separator, text = setting.partition("=")
    if not separator or not key.strip():
        raise InputError(Problem(Span(name), "", "key=value", f"'{setting}'"))
    path: Key = tuple(key.strip().split("."))
    if len(path) == 1 and path[0] not in ScenarioEntry.model_fields:
        path = ("assumptions", *path)
    given = yamlfile.parse(text, name)
    data = copy.deepcopy(file.data) if isinstance(file.data, dict) else {}
    place: Any = data
    for part in path[:-1]:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            hint = f"'{part}' is no mapping; set it as a whole: {part}=[...]"
            raise InputError(Problem(Span(name), "", "a key of the scenario", f"'{key}'", hint))
    place[path[-1]] = given.data
    # What stood there before has no place any more.
    keys = {k: span for k, span in file.key_spans.items() if k[: len(path)] != path}
    values = {k: span for k, span in file.value_spans.items() if k[: len(path)] != path}
    moved = {(*path, *k): Span(name) for k in given.value_spans}
    return YamlFile(file.name, data, file.lines, {**keys, path: Span(name)}, {**values, **moved})


# ---- resolving ---------------------------------------------------------------------------------
