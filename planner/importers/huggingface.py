"""From a published model to a catalog entry: a ``config.json``, its folder, or a hub repository."""

from __future__ import annotations

import importlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner import yamlfile
from planner.errors import InputError, Problem, Span
from planner.figures import read_record
from planner.importers import hf_files
from planner.importers.counts import Counts, count, feed_forward
from planner.importers.hf_config import HfConfig, read_config, read_section
from planner.importers.hf_entry import Named, Parts, entry_text, slug
from planner.importers.hf_formats import choose
from planner.importers.hf_layers import depth, layer_groups
from planner.importers.hf_quant import Quantization, quantization
from planner.importers.hf_shapes import model_dtype
from planner.records import Format, Model

CONFIG, QUANT = "config.json", "hf_quant_config.json"
_COMMIT = re.compile("[0-9a-f]{40}")
_REVISION = re.compile(r"[\w./-]{1,100}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


@dataclass(frozen=True, slots=True)
class Imported:
    """A catalog entry as text, and what a reader should know of it.

    ``format_id`` and ``format_text``: a weight format that the shipped catalog does not have.
    ``warnings``: what stayed unknown or does not fit, one line each.
    """

    id: str
    text: str
    format_id: str = ""
    format_text: str = ""
    warnings: tuple[str, ...] = ()

    def files(self) -> dict[str, str]:
        """Texts by their place in a catalog folder."""
        found = {f"models/{self.id}.yaml": self.text}
        if self.format_text:
            found[f"formats/{self.format_id}.yaml"] = self.format_text
        return found


def import_model(
    path: Path, *, id: str = "", label: str = "", hf_id: str = "", vendor: str = "", url: str = ""
) -> Imported:
    """The catalog entry of a model.

    Args:
        path: a ``config.json``, or a folder that holds one.
        id: its id in the catalog; taken from the hub id or the names of file and folder otherwise.
        label: its name for readers.
        hf_id: its repository on the hub, as ``owner/name``.
        vendor: who made it.
        url: address of the configuration.

    Raises:
        InputError: an unreadable file, an architecture or a method that is not known, or a figure
            that it needs and the file does not give.
    """
    folder = path if path.is_dir() else path.parent
    file = path / CONFIG if path.is_dir() else path
    if hf_id and not _REPOSITORY.fullmatch(hf_id):
        raise InputError(Problem(Span("--hf-id"), "", "owner/name", f"'{hf_id[:80]}'"))
    config = read_config(file, file.name)
    name = hf_id.rpartition("/")[2] or id or _own_name(path)
    named = Named(
        id=slug(id or name),
        label=label or name,
        vendor=vendor or hf_id.rpartition("/")[0] or "unknown",
        hf_id=hf_id,
        source=f"config.json of {hf_id}" if hf_id else f"{file.name} as it was given",
        url=url,
    )
    return _assemble(config, named, folder if path.is_dir() else None)


def _own_name(path: Path) -> str:
    """A name from the path as it was given: of the folder, or of a file with a name of its own."""
    folder = path if path.is_dir() else path.parent
    name = folder.name if path.is_dir() or path.name == CONFIG else path.stem
    if name in ("", "."):
        hint = "a config.json does not say how its model is called"
        raise InputError(Problem(Span("--id"), "", "an id for the entry", "none", hint))
    return name


def _assemble(config: HfConfig, named: Named, folder: Path | None) -> Imported:
    groups, counts = layer_groups(config), _counted(config)
    dtype = str(model_dtype(config).value)
    beside = _beside(config, folder)
    stored = quantization(config, counts.parts(), dtype, beside)
    chosen = choose(stored, counts.parts(), dtype, (named.id, named.label))
    level, level_note, doubts = _verified(config, counts, folder)
    notes = (
        *_notes(config, counts, stored, chosen.kept),
        *(note for group in groups for note in group.notes),
    )
    parts = Parts(
        config, named, groups, counts, stored, chosen, level, level_note,
        tuple(dict.fromkeys(notes)), feed_forward(config),
    )  # fmt: skip
    text = entry_text(parts)
    read_record(yamlfile.parse(text, f"{named.id}.yaml"), Model)
    if chosen.text:
        read_record(yamlfile.parse(chosen.text, f"{chosen.id}.yaml"), Format)
    warnings = [*_warnings(named, counts, chosen.text, chosen.id), *doubts]
    return Imported(named.id, text, chosen.id if chosen.text else "", chosen.text, tuple(warnings))


def _counted(config: HfConfig) -> Counts:
    """Parameters by component; a bare model, as embedders are published, has no output head."""
    counts, names = count(config), config.file.data.get("architectures")
    bare = isinstance(names, list) and bool(names) and str(names[0]).endswith("Model")
    return counts.without_head() if bare else counts


def _beside(config: HfConfig, folder: Path | None) -> HfConfig | None:
    """A quantisation file of its own, as some tools write it."""
    if folder is None or not (folder / QUANT).is_file():
        return None
    return read_section(folder / QUANT, QUANT, config.family)


def _notes(
    config: HfConfig, counts: Counts, stored: Quantization, kept: tuple[str, ...]
) -> list[str]:
    notes = [*counts.notes]
    beside = config.get("num_mtp")
    if isinstance(beside, int) and beside:
        several = "module" if beside == 1 else "modules"
        notes.append(f"{beside} MTP {several} beside the model, in no layer group")
    if config.family.layers in ("t5", "whisper"):
        notes.append("layer groups are those of the decoder; the encoder keeps no cache")
    if stored.method:
        notes += [f"kept in 16 bit: {', '.join(kept)}" if kept else "nothing is kept in 16 bit"]
        notes += stored.notes
    if stored.kv_format:
        notes.append(f"the checkpoint is made for a KV cache in {stored.kv_format}")
    return notes


def _warnings(named: Named, counts: Counts, own_format: str, format_id: str) -> list[str]:
    found = []
    if named.vendor == "unknown":
        found.append("the vendor is unknown: name it with --vendor")
    if counts.mtp is None:
        found.append("MTP modules are named whose shape is not known; they are not counted")
    if counts.uncounted:
        found.append(f"not counted, so that the total is unknown: {', '.join(counts.uncounted)}")
    if own_format:
        found.append(f"no shipped weight format has these widths: it needs '{format_id}'")
    return found


def _verified(config: HfConfig, counts: Counts, folder: Path | None) -> tuple[str, str, list[str]]:
    """How far the counts were checked, with a note, and what does not fit."""
    checkpoint = hf_files.read_folder(folder) if folder is not None else None
    if checkpoint is None:
        return "single_method", "", []
    if not checkpoint.complete:
        absent = f"{len(checkpoint.absent)} weight files are not there to check the counts by"
        return "single_method", "", [absent]
    held = hf_files.census(checkpoint, depth(config))
    differences = hf_files.compare(counts, held)
    lines = [
        f"{one.what}: {one.computed} counted, {one.stored} stored ({one.reason})"
        for one in differences
    ]
    if any(one.reason == "not explained" for one in differences):
        return "single_method", "", lines
    note = "the files beside the configuration hold the same number of weights"
    return "two_methods_agree", f"{note} but for: {'; '.join(lines)}" if lines else note, []


# ---- the hub ----------------------------------------------------------------------------------


def import_from_hub(
    repository: str, *, revision: str = "", id: str = "", label: str = "", vendor: str = ""
) -> Imported:
    """The catalog entry of a repository on the hub; only its configuration is fetched.

    Raises:
        InputError: no such repository, the library is missing, or as ``import_model``.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise InputError(Problem(Span("--hub"), "", "owner/name", f"'{repository[:80]}'"))
    if revision and not _REVISION.fullmatch(revision):
        raise InputError(Problem(Span("--revision"), "", "a branch, tag or commit", "another text"))
    with tempfile.TemporaryDirectory() as folder:
        commit = _fetch(repository, CONFIG, revision, Path(folder), needed=True)
        _fetch(repository, QUANT, revision, Path(folder), needed=False)
        return import_model(
            Path(folder), id=id, label=label, hf_id=repository, vendor=vendor,
            url=f"https://huggingface.co/{repository}/blob/{commit or 'main'}/{CONFIG}",
        )  # fmt: skip


def _fetch(repository: str, name: str, revision: str, folder: Path, needed: bool) -> str:
    """Fetch one file; the commit that it is of, where the library keeps it under one."""
    hub = _library()
    try:
        place = Path(hub.hf_hub_download(repository, name, revision=revision or None))
        (folder / name).write_bytes(place.read_bytes())
        return next((part for part in place.parts if _COMMIT.fullmatch(part)), revision)
    except Exception as error:  # the library raises many kinds, of several packages
        if needed:
            reason = type(error).__name__
            raise InputError(
                Problem(Span(repository), "", f"a repository with {name}", f"none ({reason})")
            ) from None
    return ""


def _library() -> Any:
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError:
        hint = "install it with: pip install 'capsheet[hub]'"
        raise InputError(
            Problem(Span("--hub"), "", "the library huggingface_hub", "none", hint)
        ) from None
