"""Which layers of a model something takes: written as a short list, computed as one text.

An entry writes layer numbers from 0 and ranges of them, ``[0-3, 5, 7-10]``. Formulas see a text
with a character for each layer: ``*`` where it belongs, ``.`` where it does not. A text is counted
alike in arrays, cells and scripts, and no table of layers is needed for it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from planner.figures import Figure, refusal, shown

TAKEN, FREE = "*", "."
NOWHERE = FREE
"""The text of an empty slot."""

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def marks(layers: Iterable[int], depth: int) -> str:
    """One character for each of ``depth`` layers; ``layers`` are numbers from 0."""
    chosen = set(layers)
    return "".join(TAKEN if layer in chosen else FREE for layer in range(depth)) or NOWHERE


def marked(text: str) -> tuple[int, ...]:
    """The layer numbers behind such a text."""
    return tuple(layer for layer, mark in enumerate(text) if mark != FREE)


def written(layers: Sequence[int]) -> str:
    """Ascending layer numbers as entries write them: ``0-3, 5``."""
    parts = []
    for _, run in itertools.groupby(enumerate(layers), lambda pair: pair[1] - pair[0]):
        numbers = [layer for _, layer in run]
        parts.append(f"{numbers[0]}" + (f"-{numbers[-1]}" if len(numbers) > 1 else ""))
    return ", ".join(parts)


def in_words(text: str) -> str:
    """Such a text for readers: its layer numbers, or that there is none."""
    return written(marked(text)) or "none"


def repeated(first: int, period: int, run: int, depth: int) -> tuple[int, ...]:
    """The first ``run`` of every ``period`` layers, from ``first`` on."""
    every = max(1, period)
    return tuple(layer for layer in range(first, depth) if (layer - first) % every < run)


def _read(value: Any) -> str | None:
    """A number, a range, or a list of both, as :func:`written` puts it."""
    if value is None:
        return None
    items = value.split(",") if isinstance(value, str) else value
    layers: list[int] = []
    for item in items if isinstance(items, list) else [items]:
        found = _RANGE.fullmatch(str(item).strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if isinstance(item, bool) or last < first:
            raise refusal("layer numbers from 0, or ranges such as 4-7", shown(item))
        layers += range(first, last + 1)
    again = next((a for a, b in itertools.pairwise(sorted(layers)) if a == b), None)
    if again is not None:
        raise refusal("each layer once", f"layer {again} again")
    if not layers:
        raise refusal("at least one layer", "an empty list")
    return written(sorted(layers))


class Places(Figure):
    """Numbers of layers, counted from 0."""

    value: Annotated[str | None, BeforeValidator(_read)] = None

    @property
    def layers(self) -> tuple[int, ...] | None:
        """The numbers, ascending; None where they are unknown."""
        if self.value is None:
            return None
        ends = [part.partition("-") for part in self.value.split(", ")]
        return tuple(n for a, _, b in ends for n in range(int(a), int(b or a) + 1))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """As a person writes it: a number, a range, or a list of both."""
        found = super().__get_pydantic_json_schema__(schema, handler)
        one = {"type": ["integer", "string"]}
        plain = found["anyOf"][0]
        plain.clear()
        plain["anyOf"] = [one, {"type": "array", "items": one, "minItems": 1}, {"type": "null"}]
        plain["examples"] = [["0-3", 5]]
        return found
