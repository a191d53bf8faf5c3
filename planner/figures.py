"""Sourced figures, and how a schema error becomes a message with its place.

A figure is written plainly (``80 GB``; its source is then ``sources.default``) or in full
(``{value: 80 GB, source: vendor-sheet, confidence: datasheet, note: ...}``). Values are read into
base units; an unknown one stays ``None`` and never becomes 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetJsonSchemaHandler,
    StrictBool,
    StrictStr,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from planner.errors import InputError, Problem, nearest, one_of
from planner.units import UnitError, example, parse_quantity, quantity_words
from planner.yamlfile import Key, YamlFile

Confidence = Literal[
    "datasheet", "vendor page", "log", "third party", "announced", "config", "derived",
    "recalled", "assumed",
]  # fmt: skip
# Words for figures that nobody published: they stand without a source, and say so.
UNSOURCED = ("recalled", "assumed")
DEFAULT_SOURCE = "default"
ID_PATTERN = r"^[a-z0-9.-]*[a-z][a-z0-9.-]*$"
URL_PATTERN = r"^https?://\S+$"
NAME_PATTERN = r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$"
DAY_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_PATTERNS = {
    ID_PATTERN: "small letters, digits, '.' and '-', a letter among them",
    URL_PATTERN: "an address that starts with https://",
    NAME_PATTERN: "small letters, digits, '.', '_' and '-', a letter or digit at both ends",
    DAY_PATTERN: "a day such as '2026-11-29'",
}
_FACT_KEYS = {"value", "source", "confidence", "note"}


def refusal(expected: str, found: str, hint: str = "", at: Key = ()) -> PydanticCustomError:
    """What a validator raises; ``at`` is the path below the value that it looks at."""
    context = {"expected": expected, "found": found, "hint": hint, "at": at}
    return PydanticCustomError("refused", "expected {expected}, found {found}", context)


def quantity(unit: str, whole: bool, value: Any, at: Key = ()) -> float | None:
    """A written amount in base units; ``at`` is the path below the value under validation.

    Raises:
        PydanticCustomError: no number of this unit, a negative one, or a fraction of a whole.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise refusal(quantity_words(unit), shown(value), "", at)
    try:
        number = parse_quantity(str(value), unit)
    except UnitError as error:
        raise refusal(error.expected, error.found, error.hint, at) from None
    except (ValueError, OverflowError):
        raise refusal(quantity_words(unit), shown(value), "", at) from None
    if number < 0:
        raise refusal("0 or more", shown(value), "", at)
    if whole and number != int(number):
        raise refusal("a whole number", shown(value), "", at)
    return number


def shown(value: Any) -> str:
    """A value as messages name it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"'{value}'" if isinstance(value, str) else str(value)


def listed(value: Any) -> Any:
    """A list or one text as a tuple; anything else unchanged, for the schema to refuse."""
    return (
        (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value
    )


Texts = Annotated[tuple[StrictStr, ...], BeforeValidator(listed)]


class Part(BaseModel):
    """Base of every part of an entry: frozen, and a key that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def hint_for(cls, key: str) -> tuple[str, str] | None:
        """What to expect and a hint for a key that is refused for a reason of its own."""
        return None


class Figure(Part):
    """One sourced figure; subclasses fix the unit of ``value``."""

    unit: ClassVar[str] = "1"

    value: float | bool | str | None = None
    source: Texts = ()
    confidence: Confidence | None = None
    note: StrictStr = ""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Either form, as a person writes it: a plain value, or a mapping with its origin."""
        full = handler(schema)
        properties = handler.resolve_ref_schema(full)["properties"]
        if cls.unit != "1":
            properties["value"] = {"type": ["string", "null"], "examples": [example(cls.unit)]}
        properties["source"] = {"anyOf": [{"type": "string"}, properties["source"]]}
        return {"anyOf": [properties["value"], full]}

    @model_validator(mode="before")
    @classmethod
    def _spread(cls, data: Any, info: ValidationInfo) -> Any:
        if isinstance(data, Figure):
            return data
        full = dict(data) if isinstance(data, dict) else {"value": data}
        known: Mapping[str, Any] = (info.context or {}).get("sources", {})
        unsourced = full.get("confidence") in UNSOURCED
        if "source" not in full and not unsourced and DEFAULT_SOURCE in known:
            full["source"] = DEFAULT_SOURCE
        first = listed(full.get("source", ""))
        if "confidence" not in full and first and isinstance(known.get(str(first[0])), dict):
            full["confidence"] = known[str(first[0])].get("confidence")
        return full

    @model_validator(mode="after")
    def _resolves(self, info: ValidationInfo) -> Figure:
        if self.value is None or info.context is None:
            return self
        known: Mapping[str, Any] = info.context.get("sources", {})
        for index, name in enumerate(self.source):
            if name not in known:
                raise refusal(
                    "the id of a source of this file", f"'{name}'", nearest(name, known),
                    ("source", index),
                )  # fmt: skip
        if not self.source and self.confidence not in UNSOURCED:
            raise refusal(
                "a source", "none", f"name one of this file, or write sources.{DEFAULT_SOURCE}"
            )
        if self.confidence is None:
            raise refusal("a confidence", "none", one_of(get_args(Confidence)))
        if self.confidence == "assumed" and not self.note:
            raise refusal("a note that gives the reason", "none", "", ("confidence",))
        return self


def _number(unit: str, whole: bool = False) -> BeforeValidator:
    return BeforeValidator(lambda value: quantity(unit, whole, value))


class Count(Figure):
    """A whole number without a unit."""

    value: Annotated[float | None, _number("1", whole=True)] = None


class Ratio(Figure):
    """A number without a unit."""

    value: Annotated[float | None, _number("1")] = None


class Params(Figure):
    """A whole number of parameters."""

    unit = "param"
    value: Annotated[float | None, _number("param", whole=True)] = None


class Tokens(Figure):
    """A whole number of tokens."""

    unit = "token"
    value: Annotated[float | None, _number("token", whole=True)] = None


class Gpus(Figure):
    """A whole number of GPUs."""

    unit = "gpu"
    value: Annotated[float | None, _number("gpu", whole=True)] = None


class Bytes(Figure):
    """An amount of memory."""

    unit = "byte"
    value: Annotated[float | None, _number("byte")] = None


class ByteRate(Figure):
    """Bytes per second."""

    unit = "byte/s"
    value: Annotated[float | None, _number("byte/s")] = None


class FlopRate(Figure):
    """Dense operations per second."""

    unit = "flop/s"
    value: Annotated[float | None, _number("flop/s")] = None


class Power(Figure):
    """Electrical power."""

    unit = "J/s"
    value: Annotated[float | None, _number("J/s")] = None


class Flag(Figure):
    """True or false."""

    value: StrictBool | None = None


class Words(Figure):
    """A published text, such as a licence or a date."""

    value: StrictStr | None = None


class Dtype(Figure):
    """A number format of state elements."""

    value: Literal["fp32", "bf16", "fp16", "fp8"] | None = None


class MemoryBasis(Figure):
    """The memory figure that an engine's utilisation multiplies."""

    value: Literal["framework", "device", "marketed"] | None = None


class BlockRule(Figure):
    """How an engine gives out KV memory."""

    value: Literal["plain", "groups", "flat", "cells"] | None = None


class TokenLine(Figure):
    """What an engine prints as the tokens of its KV pool."""

    value: Literal["none", "blocks", "shares", "derived", "cells"] | None = None


class Budget(Figure):
    """What the utilisation of an engine is a share of."""

    value: Literal["total", "free"] | None = None


P = TypeVar("P", bound=Part)


def read_record(file: YamlFile, kind: type[P]) -> P:
    """Check one parsed file against its schema.

    Raises:
        InputError: every problem of the file, each with its place.
    """
    data = file.data if isinstance(file.data, dict) else {}
    given = data.get("sources")
    context = {"sources": given if isinstance(given, dict) else {}}
    try:
        return kind.model_validate(file.data, context=context)
    except ValidationError as error:
        found = [_problem(dict(one), file, kind) for one in error.errors(include_url=False)]
        raise InputError(found) from None


def figures(part: Part, key: Key = ()) -> Iterator[tuple[Key, Figure]]:
    """Every figure of an entry with its path."""
    if isinstance(part, Figure):
        yield key, part
        return
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, Part):
            yield from figures(value, (*key, name))
        elif isinstance(value, tuple):
            for index, child in enumerate(value):
                if isinstance(child, Part):
                    yield from figures(child, (*key, name, index))


def _problem(error: dict[str, Any], file: YamlFile, kind: type[Part]) -> Problem:
    context = error.get("ctx") or {}
    key: Key = (*error["loc"], *context.get("at", ()))
    while key and key not in file.value_spans and (key[-1] in _FACT_KEYS or key[-1] == 0):
        key = key[:-1]  # the figure is written plainly, so it has no such key
    if error["type"] == "refused":
        return file.problem(key, context["expected"], context["found"], context["hint"])
    if error["type"] == "missing":
        return file.problem(key, "a value", "no such key")
    if error["type"] == "extra_forbidden":
        return _unknown_key(key, file, kind)
    return file.problem(key, *_plain_words(error))


def _plain_words(error: dict[str, Any]) -> tuple[str, str, str]:
    context = error.get("ctx") or {}
    found = shown(error["input"])
    expected = {
        "string_type": "a text",
        "int_type": "a whole number",
        "bool_type": "true or false",
        "model_type": "a mapping",
        "dict_type": "a mapping",
        "tuple_type": "a list",
        "string_pattern_mismatch": _PATTERNS.get(str(context.get("pattern")), "another text"),
        "string_too_long": f"at most {context.get('max_length')} characters",
        "too_long": f"at most {context.get('max_length')} entries",
        "greater_than_equal": f"at least {context.get('ge')}",
        "less_than_equal": f"at most {context.get('le')}",
        "float_type": "a number",
        "float_parsing": "a number",
        "too_short": f"at least {context.get('min_length')} entry",
    }.get(error["type"])
    if error["type"] in ("too_short", "too_long"):
        count = context.get("actual_length")
        found = f"{count} of them" if count else "an empty list"
    if error["type"] == "literal_error":
        words = re.findall(r"'([^']*)'", str(context.get("expected", "")))
        return one_of(words), found, nearest(str(error["input"]), words)
    quote = error["type"] == "string_type" and isinstance(error["input"], (int, float))
    return expected or str(error["msg"]).lower(), found, "put it in quotes" if quote else ""


def _unknown_key(key: Key, file: YamlFile, kind: type[Part]) -> Problem:
    parent = _part_at(kind, key[:-1])
    word, known = str(key[-1]), list(parent.model_fields)
    own = parent.hint_for(word)
    expected, hint = own or (one_of(known, 30), nearest(word, known))
    return file.problem(key, expected, f"the unknown key '{word}'", hint, of_key=True)


def _part_at(kind: type[Part], key: Key) -> type[Part]:
    for name in key:
        if isinstance(name, str) and name in kind.model_fields:
            kind = _part_in(kind.model_fields[name].annotation) or kind
    return kind


def _part_in(annotation: Any) -> type[Part] | None:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    return next((part for one in get_args(annotation) if (part := _part_in(one))), None)
