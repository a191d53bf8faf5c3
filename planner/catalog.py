"""Models, GPUs, engines, formats and prices by id: only the file that is asked for is parsed.

A catalog is a list of folders with ``models/``, ``gpus/``, ``engines/``, ``formats/`` and
``prices/``; a later folder's entry replaces an earlier one of the same id. The file name is the id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from planner import plausibility, yamlfile
from planner.drafts import MTP, Drafted, with_model, with_module
from planner.errors import InputError, Problem, Span, nearest, one_of
from planner.facts import DEFAULTS, FACTS, Fact, GroupFacts, facts_of, groups_of
from planner.figures import read_record
from planner.records import Engine, Entry, Format, Gpu, Model, Record, aliases
from planner.records_price import Price, Prices
from planner.resources import data_dir

__all__ = ["KINDS", "Catalog", "Fact", "GroupFacts", "Kind"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of entry: its folder, its schema, how messages call it, the block it needs."""

    folder: str
    schema: type[Record]
    label: str
    block: str = ""


KINDS: dict[str, Kind] = {
    "model": Kind("models", Model, "a model"),
    "gpu": Kind("gpus", Gpu, "a GPU"),
    "engine": Kind("engines", Engine, "an engine"),
    "weight_format": Kind("formats", Format, "a weight format", "weight"),
    "kv_format": Kind("formats", Format, "a KV format", "kv"),
    "price": Kind("prices", Prices, "a GPU with prices"),
}


class Catalog:
    """Entries of one or more catalog folders; later folders override earlier ones."""

    def __init__(self, folders: Sequence[tuple[str, Path]]) -> None:
        """``folders``: how messages call each folder, and where it lies."""
        self._folders = tuple(folders)
        self._entries: dict[Path, Entry] = {}

    @classmethod
    def open(cls, extra_dirs: Sequence[Path] = ()) -> Catalog:
        """The shipped catalog, overlaid by the given folders. Lists names, parses nothing.

        Raises:
            InputError: an extra folder does not exist or holds no kind of entry.
        """
        folders = [("catalogs", data_dir("catalogs"))]
        problems = []
        for path in extra_dirs:
            if not any((path / kind.folder).is_dir() for kind in KINDS.values()):
                names = ", ".join(dict.fromkeys(f"{kind.folder}/" for kind in KINDS.values()))
                found = "no such folder" if path.is_dir() else "no such place"
                problems.append(Problem(Span(str(path)), "", f"a folder with {names}", found))
            folders.append((str(path), path))
        if problems:
            raise InputError(problems)
        return cls(folders)

    @cached_property
    def _paths(self) -> dict[str, dict[str, list[tuple[str, Path]]]]:
        """By folder and id: every file of that id, the one that counts last."""
        table: dict[str, dict[str, list[tuple[str, Path]]]] = {}
        for kind in KINDS.values():
            if kind.folder in table:
                continue
            found: dict[str, list[tuple[str, Path]]] = {}
            for name, folder in self._folders:
                for path in sorted((folder / kind.folder).glob("*.yaml")):
                    shown = f"{name}/{kind.folder}/{path.name}"
                    found.setdefault(path.stem, []).append((shown, path))
            table[kind.folder] = dict(sorted(found.items()))
        return table

    @property
    def overrides(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """``(folder, id)`` of each replaced entry: the files of that id, the one in force last."""
        return {
            (folder, word): tuple(shown for shown, _ in files)
            for folder, ids in self._paths.items()
            for word, files in ids.items()
            if len(files) > 1
        }

    # ---- lookup --------------------------------------------------------------------------------

    def model(self, word: str, span: Span | None = None) -> Model:
        """A model by id, ``hf_id`` or alias; ``span`` is where the word was written.

        Raises:
            InputError: no such entry, or a bad file.
        """
        return _typed(self.entry("model", word, span).record, Model)

    def gpu(self, word: str, span: Span | None = None) -> Gpu:
        """A GPU by id or alias. Raises InputError as :meth:`model`."""
        return _typed(self.entry("gpu", word, span).record, Gpu)

    def engine(self, word: str, span: Span | None = None) -> Engine:
        """An engine by id or alias. Raises InputError as :meth:`model`."""
        return _typed(self.entry("engine", word, span).record, Engine)

    def weight_format(self, word: str, span: Span | None = None) -> Format:
        """A format with a ``weight`` block. Raises InputError as :meth:`model`."""
        return _typed(self.entry("weight_format", word, span).record, Format)

    def kv_format(self, word: str, span: Span | None = None) -> Format:
        """A format with a ``kv`` block. Raises InputError as :meth:`model`."""
        return _typed(self.entry("kv_format", word, span).record, Format)

    def entry(self, kind: str, word: str, span: Span | None = None) -> Entry:
        """The checked record of an id or alias, with its file.

        Raises:
            InputError: no such entry, or a bad file.
        """
        paths = self._paths[KINDS[kind].folder]
        if word in paths:
            entry = self._read(kind, *paths[word][-1])
        else:
            entry = self._by_alias(kind, word, span)
        block = KINDS[kind].block
        if block and getattr(entry.record, block) is None:
            raise InputError(self._unknown(kind, word, span))
        return entry

    def _read(self, kind: str, shown: str, path: Path) -> Entry:
        if path not in self._entries:
            file = yamlfile.read(path, shown)
            record = read_record(file, KINDS[kind].schema)
            if record.id != path.stem:
                raise InputError(
                    file.problem(("id",), f"the file name, '{path.stem}'", f"'{record.id}'")
                )
            self._entries[path] = Entry(record, file)
        return self._entries[path]

    def _by_alias(self, kind: str, word: str, span: Span | None) -> Entry:
        """Parse only files whose text holds the word, and not as a part of a longer one."""
        broken: list[Problem] = []
        for _, (shown, path) in self._mentioning(kind, word):
            try:
                entry = self._read(kind, shown, path)
            except InputError as error:
                broken += error.problems
                continue
            if word in aliases(entry.record):
                return entry
        raise InputError(broken or self._unknown(kind, word, span))

    def _mentioning(self, kind: str, word: str) -> Iterator[tuple[str, tuple[str, Path]]]:
        whole = re.compile(rf"(?<![\w./-]){re.escape(word)}(?![\w./-])")
        for name, files in self._paths[KINDS[kind].folder].items():
            if word and whole.search(files[-1][1].read_text("utf-8", "replace")):
                yield name, files[-1]

    def _unknown(self, kind: str, word: str, span: Span | None) -> Problem:
        known = {name: name for name in self.ids(kind)}
        for name, files in self._paths[KINDS[kind].folder].items():
            text = files[-1][1].read_text("utf-8", "replace")
            known |= {hf_id: name for hf_id in re.findall(r"^hf_id: *(\S+)", text, re.MULTILINE)}
        lower = {name.lower(): name for name in known}
        begun = [name for small, name in lower.items() if word and small.startswith(word.lower())]
        close = nearest(word.lower(), lower)
        hint = re.sub("'(.*)'", lambda found: f"'{lower[found[1]]}'", close)
        if begun:
            hint = f"did you mean '{begun[0]}'?" if len(begun) == 1 else one_of(sorted(begun))
        expected = f"{KINDS[kind].label} of the catalog"
        hint = hint or one_of(self.ids(kind))
        return Problem(span or Span("catalogs"), "", expected, f"'{word}'", hint)

    def ids(self, kind: str) -> tuple[str, ...]:
        """Ids of one kind, sorted; parses nothing (formats are told apart by a text scan)."""
        paths, block = self._paths[KINDS[kind].folder], KINDS[kind].block
        if not block:
            return tuple(paths)
        heading = re.compile(rf"^{block}:", re.MULTILINE)
        return tuple(
            word
            for word, files in paths.items()
            if heading.search(files[-1][1].read_text("utf-8", "replace"))
        )

    def all(self, kind: str) -> Iterator[Record]:
        """Every record of one kind, in id order. Raises InputError as :meth:`model`."""
        for word in self.ids(kind):
            yield self.entry(kind, word).record

    def prices(self, gpu: str, span: Span | None = None) -> tuple[Price, ...]:
        """The price observations of a GPU, the newest first; none when nobody recorded any.

        They are never used by themselves: a plan takes one when somebody selects it by its id.

        Raises:
            InputError: no such GPU, or a bad file.
        """
        word = self.entry("gpu", gpu, span).record.id
        if word not in self._paths[KINDS["price"].folder]:
            return ()
        found = _typed(self.entry("price", word, span).record, Prices).prices
        return tuple(sorted(found, key=lambda price: price.age_key, reverse=True))

    # ---- facts ---------------------------------------------------------------------------------

    def facts(self, kind: str, word: str, span: Span | None = None) -> dict[str, Fact]:
        """Every field of ``planner/metrics/fields.yaml`` for this entity, by field name."""
        return facts_of(self.entry(kind, word, span), FACTS[kind])

    def defaults(self, word: str, span: Span | None = None) -> dict[str, Fact]:
        """The assumptions of an engine entry that stand when a scenario says nothing."""
        return facts_of(self.entry("engine", word, span), DEFAULTS)

    def groups(self, word: str, span: Span | None = None) -> tuple[GroupFacts, ...]:
        """The layer groups of a model, at most 6."""
        return groups_of(self.entry("model", word, span))

    def drafted(self, word: str, draft: str) -> Drafted:
        """A model with its draft: none, ``mtp`` for its own module, or the id of another model.

        Raises:
            InputError: no such entry, or a bad file.
        """
        entry = self.entry("model", word)
        if not draft:
            return Drafted(groups_of(entry))
        if draft == MTP:
            return with_module(entry, groups_of(entry))
        other = self.entry("model", draft)
        written = self.entry("weight_format", _typed(other.record, Model).weight_format)
        element = self.facts("weight_format", written.record.id)["weight_linear_bytes"]
        return with_model(groups_of(entry), other, groups_of(other), written, element)

    def check(self) -> list[Problem]:
        """Every problem of every entry in force, sorted by place."""
        problems: list[Problem] = []
        entries: dict[str, list[Entry]] = {}
        for kind in ("model", "gpu", "engine", "weight_format", "price"):
            for files in self._paths[KINDS[kind].folder].values():
                try:
                    entries.setdefault(kind, []).append(self._read(kind, *files[-1]))
                except InputError as error:
                    problems += error.problems
        for kind, found in entries.items():
            problems += plausibility.unique_names(found, KINDS[kind].label)
        problems += plausibility.models(entries.get("model", []), self.ids("weight_format"))
        problems += plausibility.gpus(entries.get("gpu", []))
        problems += plausibility.formats(entries.get("weight_format", []))
        problems += plausibility.prices(entries.get("price", []), self.ids("gpu"))
        return sorted(set(problems), key=lambda p: (p.span, p.where, p.expected))

    def doubts(self, used: Iterable[tuple[str, str]]) -> list[Problem]:
        """What is odd about the figures of the used ``(kind, id)`` that did not come shipped."""
        shipped = self._folders[0][1]
        problems: list[Problem] = []
        for kind, word in used:
            path = self._paths[KINDS[kind].folder][word][-1][1]
            if shipped in path.parents:
                continue
            entry = self.entry(kind, word)
            problems += plausibility.models([entry], self.ids("weight_format"))
            problems += plausibility.formats([entry])
            if kind == "gpu":
                problems += plausibility.gpu_figures(entry, {g.id: g for g in self.all("gpu")})
        return sorted(set(problems), key=lambda p: (p.span, p.where, p.expected))


R = TypeVar("R", bound=Record)


def _typed(record: Record, schema: type[R]) -> R:
    if not isinstance(record, schema):
        raise TypeError(f"{record.id} is a {type(record).__name__}, not a {schema.__name__}")
    return record
