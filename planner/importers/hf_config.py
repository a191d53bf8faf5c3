"""A ``config.json`` as it was published: which keys were read, from where, and what stood in.

Values are found in the text section first (``text_config`` and its other names), then in the outer
mapping, then among the defaults that transformers gives this architecture. Every look is recorded,
so that an entry can say where each figure comes from and a refusal can say what was looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from planner import yamlfile
from planner.errors import InputError, Problem, Span
from planner.figures import shown
from planner.importers.hf_families import (
    SPELLINGS,
    TEXT_SECTIONS,
    Family,
    defaults_of,
    family_of,
)
from planner.yamlfile import Key, YamlFile, path_text

CONFIG = "config"
DEFAULT = "default of transformers"
_MAX_BYTES = 8 * 2**20
_MAX_NUMBER, _MAX_LAYERS = 10**12, 2000
_DEPTHS = ("num_hidden_layers", "num_decoder_layers", "encoder_layers", "decoder_layers")


@dataclass(frozen=True, slots=True)
class Reading:
    """One value that was found: by which name, at which path, and where it came from."""

    key: str
    path: Key
    value: Any
    origin: str

    @property
    def place(self) -> str:
        """How an entry names it: ``text_config.head_dim`` or ``head_dim, default of ...``."""
        return path_text(self.path) if self.origin == CONFIG else f"{self.key}, {self.origin}"


class HfConfig:
    """A configuration with its family; each look is recorded in ``readings`` and ``missing``."""

    def __init__(
        self, file: YamlFile, family: Family, sections: Iterable[Key], whole: bool = True
    ) -> None:
        """``sections``: paths of the mappings that are searched, first to last.

        ``whole``: the text tower, which has defaults; a nested part such as ``vision_config`` has
        none.
        """
        self.file, self.family = file, family
        self.sections = tuple(sections)
        self.readings: dict[str, Reading] = {}
        self.missing: dict[str, None] = {}
        self._has_defaults = whole
        self._parts: dict[str, HfConfig] = {}

    @property
    def model_type(self) -> str:
        """The type of the text tower, or of the whole model where the two are one."""
        return str(self.get("model_type") or "")

    def get(self, key: str) -> Any:
        """The value of a key under any of its spellings; None where it is absent or null."""
        if key in self.readings:
            return self.readings[key].value
        names = (key, *self.family.spellings.get(key, ()), *SPELLINGS.get(key, ()))
        reading = self._written(names)
        if self._has_defaults and (
            reading is None or (key == "layer_types" and reading.value is None)
        ):
            reading = self._default(key, names) or reading
        if reading is not None:
            return self._found(key, reading)
        self.missing[key] = None
        return None

    def _written(self, names: tuple[str, ...]) -> Reading | None:
        for section in self.sections:
            part = _at(self.file.data, section)
            for name in names:
                if name in part:
                    return Reading(name, (*section, name), part[name], CONFIG)
        return None

    def _default(self, key: str, names: tuple[str, ...]) -> Reading | None:
        if key == "layer_types" and self.family.layer_types is not None:
            return Reading(key, (key,), self.family.layer_types(self), DEFAULT)
        defaults = defaults_of(self.model_type) if key != "model_type" else {}
        return next((Reading(n, (n,), defaults[n], DEFAULT) for n in names if n in defaults), None)

    def _found(self, key: str, reading: Reading) -> Any:
        self.readings[key] = reading
        return reading.value

    def require(self, key: str) -> Any:
        """The value of a key that this architecture cannot do without.

        Raises:
            InputError: it is absent or null, and transformers has no default for it.
        """
        value = self.get(key)
        if value is None:
            self.refuse(key, "a value", "null" if key in self.readings else "no such key")
        return value

    def whole(self, key: str) -> int:
        """A whole number of 0 or more that must be there.

        Raises:
            InputError: it is absent, or something else.
        """
        return self._whole(key, self.require(key))

    def whole_or(self, key: str, instead: int) -> int:
        """A whole number, or ``instead`` where the key is absent or null.

        Raises:
            InputError: the value is something else.
        """
        value = self.get(key)
        return instead if value is None else self._whole(key, value)

    def _whole(self, key: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value % 1 != 0:
            self.refuse(key, "a whole number", shown(value))
        if value < 0:
            self.refuse(key, "0 or more", shown(value))
        most = _MAX_LAYERS if key in _DEPTHS else _MAX_NUMBER
        if value > most:
            self.refuse(key, f"at most {most}", shown(value))
        return int(value)

    def flag(self, key: str) -> bool:
        """True or false; false where the key is absent or null.

        Raises:
            InputError: the value is something else.
        """
        value = self.get(key)
        if value is not None and not isinstance(value, bool):
            self.refuse(key, "true or false", shown(value))
        return bool(value)

    def items(self, key: str, length: int | None = None) -> list[Any]:
        """A list that must be there, of this length where one is given.

        Raises:
            InputError: it is absent, no list, or of another length.
        """
        value = self.require(key)
        if not isinstance(value, list):
            self.refuse(key, "a list", shown(value))
        if length is not None and len(value) != length:
            self.refuse(key, f"a list of {length}", f"{len(value)} of them")
        return value

    def section(self, key: str) -> HfConfig | None:
        """A nested mapping such as ``vision_config``, with a record of its own; None if absent."""
        for section in self.sections:
            if key not in self._parts and isinstance(_at(self.file.data, section).get(key), dict):
                self._parts[key] = HfConfig(self.file, self.family, [(*section, key)], whole=False)
        return self._parts.get(key)

    def looked_at(self) -> tuple[str, ...]:
        """Paths of everything that was found in the file, in the order of the first look."""
        own = [r.path for r in self.readings.values() if r.origin == CONFIG]
        parts = [path for part in self._parts.values() for path in part.looked_at()]
        return tuple(dict.fromkeys([*(path_text(path) for path in own), *parts]))

    def refuse(self, key: str, expected: str, found: str, hint: str = "") -> NoReturn:
        """Refuse the value of a key, with its place.

        Raises:
            InputError: always.
        """
        reading = self.readings.get(key)
        path = reading.path if reading else (*self.sections[0], key)
        raise InputError(self.file.problem(path, expected, found, hint))


def _at(data: Any, path: Key) -> Mapping[str, Any]:
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def read_config(path: Path, name: str | None = None) -> HfConfig:
    """Read a ``config.json``; ``name`` is how messages call it.

    Raises:
        InputError: unreadable, not JSON, or an architecture that is not known.
    """
    shown_name = name or path.name
    return parse_config(_text(path, shown_name), shown_name)


def read_section(path: Path, name: str, family: Family) -> HfConfig:
    """Read a file beside the configuration, such as ``hf_quant_config.json``; no defaults.

    Raises:
        InputError: unreadable, or no JSON mapping.
    """
    return HfConfig(_parsed(_text(path, name), name), family, [()], whole=False)


def _text(path: Path, shown_name: str) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "an unreadable file").lower()
        raise InputError(Problem(Span(shown_name), "", "a readable file", reason)) from None
    if len(raw) > _MAX_BYTES:
        raise InputError(
            Problem(Span(shown_name), "", "at most 8 MiB of JSON", f"{len(raw)} bytes")
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(Problem(Span(shown_name), "", "UTF-8 text", "other bytes")) from None


def parse_config(text: str, name: str = "config.json") -> HfConfig:
    """The configuration that a JSON text holds.

    Raises:
        InputError: not JSON, or an architecture that is not known.
    """
    file = _parsed(text, name)
    section = _text_section(file)
    family = family_of(file, section)
    config = HfConfig(file, family, [section, ()] if section else [()])
    for key in family.refuses:
        if config.get(key):
            hint = f"it changes the layers of {family.name} in a way that no rule covers"
            config.refuse(key, "false, null or no such key", shown(config.get(key)), hint)
    return config


def _text_section(file: YamlFile) -> Key:
    for path in TEXT_SECTIONS:
        if _at(file.data, path):
            return path
    return ()


def _parsed(text: str, name: str) -> YamlFile:
    """Data by the JSON reader; places by the YAML reader, which most JSON suits."""
    lines = tuple(text.splitlines())
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        line = lines[error.lineno - 1] if error.lineno <= len(lines) else ""
        span = Span(name, error.lineno, error.colno, 1, line)
        raise InputError(Problem(span, "", "JSON", error.msg.lower())) from None
    except _RepeatedError as error:
        raise InputError(Problem(Span(name), str(error), "each key once", "a repeat")) from None
    except RecursionError:
        raise InputError(Problem(Span(name), "", "fewer levels", "deep nesting")) from None
    try:
        placed = yamlfile.parse(text, name)
        file = YamlFile(name, data, lines, placed.key_spans, placed.value_spans)
    except InputError:
        file = YamlFile(name, data, lines, {}, {})
    if not isinstance(data, dict):
        raise InputError(file.problem((), "a JSON mapping", shown(data)))
    return file


class _RepeatedError(ValueError):
    """A key that stands twice in one mapping."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatedError(next(name for name in names if names.count(name) > 1))
    return data
