"""What a checkpoint really stores: headers of safetensors files and their index, never the data."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from planner.errors import InputError, Problem, Span
from planner.figures import shown
from planner.importers.counts_parts import Counts
from planner.importers.hf_tensors import DTYPE_BITS, Naming, Tensor

INDEX = "model.safetensors.index.json"
MAX_HEADER = 100_000_000  # the limit of the format itself, in bytes
MAX_INDEX = 256 * 2**20
_MAX_ELEMENTS, _MAX_NAME, _MAX_AXES = 2**63, 500, 16
_LENGTH_BYTES = 8
_SHARD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.safetensors")
_SECOND_COPY = re.compile(r"^consolidated[.-]")  # the same weights once more, under other names


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Tensors of a checkpoint, as far as its files are there.

    ``names``: all tensor names. ``tensors``: those whose header was read. ``absent``: files that
    the index names and the folder does not hold. ``total_bytes``: what the index says of all.
    """

    names: tuple[str, ...]
    tensors: tuple[Tensor, ...] = ()
    absent: tuple[str, ...] = ()
    total_bytes: int | None = None

    @property
    def complete(self) -> bool:
        """Whether every tensor's dtype and shape is known."""
        return not self.absent and len(self.tensors) == len(self.names)


# ---- reading ----------------------------------------------------------------------------------


def read_folder(folder: Path) -> Checkpoint | None:
    """The checkpoint in a folder: by its index, or else all safetensors files; None without any.

    Raises:
        InputError: a header or an index that is not what the format says.
    """
    index = folder / INDEX
    if index.is_file():
        shards, total = read_index(index)
        files = sorted(set(shards.values()))
        there = [name for name in files if (folder / name).is_file()]
        tensors = _all(folder / name for name in there)
        unknown = {tensor.name for tensor in tensors} - set(shards)
        if unknown:
            _refuse(INDEX, min(unknown), "every tensor of the files", "none of this name")
        absent = tuple(name for name in files if name not in there)
        return Checkpoint(tuple(shards), tensors, absent, total)
    files = sorted(
        path.name
        for path in folder.glob("*.safetensors")
        if path.is_file() and not _SECOND_COPY.search(path.name)
    )
    if not files:
        return None
    tensors = _all(folder / name for name in files)
    return Checkpoint(tuple(tensor.name for tensor in tensors), tensors)


def _all(paths: Iterable[Path]) -> tuple[Tensor, ...]:
    """Tensors of several files; a name that stands twice is refused."""
    found: dict[str, Tensor] = {}
    for path in paths:
        for tensor in read_header(path):
            if tensor.name in found:
                _refuse(path.name, tensor.name, "each tensor once", "a second one")
            found[tensor.name] = tensor
    return tuple(found.values())


def read_header(path: Path) -> tuple[Tensor, ...]:
    """Tensors that the header of one safetensors file declares; nothing behind it is read.

    Raises:
        InputError: the file is unreadable, or its header is not what the format says.
    """
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            if not 2 <= size <= MAX_HEADER:
                hint = "a pointer file? fetch the file itself" if size > 2**56 else ""
                _refuse(path.name, "", f"a header of 2 to {MAX_HEADER} bytes", str(size), hint)
            raw = file.read(size)
    except OSError as error:
        _refuse(path.name, "", "a readable file", (error.strerror or "another").lower())
    if len(raw) < size:
        _refuse(path.name, "", f"a header of {size} bytes", f"{len(raw)} bytes")
    data = _json(path.name, raw)
    end, tensors = 0, []
    entries = [(name, entry) for name, entry in data.items() if name != "__metadata__"]
    for name, entry in entries:
        tensor, start, stop = _tensor(path.name, name, entry)
        if stop - start != tensor.bytes:
            _refuse(path.name, name, f"{tensor.bytes} bytes", f"{stop - start} bytes")
        end = max(end, stop)
        tensors.append(tensor)
    held = sum(tensor.bytes for tensor in tensors)
    if held != end:
        _refuse(path.name, "", f"tensors without gaps or overlaps in {end} bytes", f"{held} bytes")
    return tuple(tensors)


def _tensor(file: str, name: str, entry: Any) -> tuple[Tensor, int, int]:
    """A tensor, and where its data begin and end."""
    if not 0 < len(name) <= _MAX_NAME:
        _refuse(file, name, f"a name of 1 to {_MAX_NAME} characters", f"{len(name)} of them")
    if not isinstance(entry, dict):
        _refuse(file, name, "a mapping", shown(entry))
    dtype, shape = entry.get("dtype"), _naturals(entry.get("shape"))
    places = _naturals(entry.get("data_offsets"))
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        _refuse(file, name, "a dtype of the format", shown(dtype))
    if shape is None or len(shape) > _MAX_AXES:
        _refuse(file, name, f"a shape of up to {_MAX_AXES} whole numbers", "another")
    if places is None or len(places) != 2 or places[0] > places[1]:
        _refuse(file, name, "two data_offsets in order", "others")
    tensor = Tensor(name, dtype, shape)
    if tensor.elements > _MAX_ELEMENTS:
        _refuse(file, name, "fewer than 2^63 elements", "more")
    return tensor, places[0], places[1]


def _naturals(items: Any) -> tuple[int, ...] | None:
    """A list of whole numbers from 0, or None for anything else."""
    if not isinstance(items, list):
        return None
    good = [i for i in items if isinstance(i, int) and not isinstance(i, bool) and 0 <= i < 2**63]
    return tuple(good) if len(good) == len(items) else None


def read_index(path: Path) -> tuple[dict[str, str], int | None]:
    """The file of each tensor, and the bytes of all where the index says so.

    Raises:
        InputError: the index is unreadable, too large, or not what the format says.
    """
    try:
        size = path.stat().st_size
        raw = path.read_bytes() if size <= MAX_INDEX else b""
    except OSError as error:
        _refuse(path.name, "", "a readable file", (error.strerror or "another").lower())
    if size > MAX_INDEX:
        _refuse(path.name, "", f"at most {MAX_INDEX} bytes", str(size))
    data = _json(path.name, raw)
    shards = data.get("weight_map")
    if not isinstance(shards, dict) or not shards:
        _refuse(path.name, "weight_map", "a mapping of tensors to files", shown(shards))
    for name, file in shards.items():
        if not isinstance(file, str) or not _SHARD.fullmatch(file):
            _refuse(path.name, name, "the plain name of a safetensors file", shown(file))
    metadata = data.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if total is not None and _naturals([total]) is None:
        _refuse(path.name, "metadata.total_size", "a whole number of bytes", shown(total))
    return shards, total


class _RepeatedError(ValueError):
    """A key that stands twice in one mapping."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        counted = Counter(name for name, _ in pairs)
        raise _RepeatedError(next(name for name, times in counted.items() if times > 1))
    return data


def _json(file: str, raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw.decode("utf-8"), object_pairs_hook=_once)
    except UnicodeDecodeError:
        _refuse(file, "", "UTF-8 text", "other bytes")
    except _RepeatedError as error:
        _refuse(file, str(error), "each key once", "a repeat")
    except (RecursionError, ValueError):
        _refuse(file, "", "JSON", "something else")
    if not isinstance(data, dict):
        _refuse(file, "", "a JSON mapping", shown(data))
    return data


def _refuse(file: str, where: str, expected: str, found: str, hint: str = "") -> NoReturn:
    short = where if len(where) <= 120 else where[:119] + "…"
    clean = "".join(c if c.isprintable() else "�" for c in short)
    raise InputError(Problem(Span(file), clean, expected, found, hint))


# ---- what it holds ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """Parameters of one component, the bytes that hold them, and the bytes of their scales."""

    params: int = 0
    weight_bytes: int = 0
    scale_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Census:
    """What the files of a checkpoint hold.

    ``shares``: by component, "mtp" beside them. ``elements``: all stored elements, as hubs count
    them: parameters, less ``packed`` where several share one, and ``copies`` of embedding and head
    with the modules beside the model, ``scales`` and ``buffers``. ``bytes``: all stored bytes.
    ``dtypes``: elements by dtype.
    """

    shares: Mapping[str, Share]
    elements: int
    bytes: int
    packed: int = 0
    copies: int = 0
    scales: int = 0
    buffers: int = 0
    dtypes: Mapping[str, int] = field(default_factory=dict)

    def params(self, component: str) -> int:
        """Stored parameters of a component; 0 if it has none."""
        return self.shares.get(component, Share()).params


def census(checkpoint: Checkpoint, layers: int, packed_bits: int = 4) -> Census:
    """Parameters and bytes by component of a checkpoint whose headers were all read.

    Args:
        checkpoint: what was read.
        layers: decoder layers of the model; tensors of later ones are modules beside it.
        packed_bits: width of a weight where several share one element.
    """
    naming = Naming.of({tensor.name: tensor.dtype for tensor in checkpoint.tensors}, layers)
    shares: dict[str, list[int]] = {}
    roles: Counter[str] = Counter()
    dtypes: Counter[str] = Counter()
    for tensor in checkpoint.tensors:
        role, held = naming.role(tensor), naming.weights(tensor, packed_bits)
        roles[role] += held - tensor.elements if role == "packed" else tensor.elements
        dtypes[tensor.dtype] += tensor.elements
        if role == "buffer":
            continue
        share = shares.setdefault(naming.component(tensor.name), [0, 0, 0])
        share[0] += held
        share[2 if role == "scale" else 1] += tensor.bytes
    order = [name for name in (*Counts.COMPONENTS, "mtp") if name in shares]
    return Census(
        {name: Share(*shares[name]) for name in order},
        elements=sum(tensor.elements for tensor in checkpoint.tensors),
        bytes=sum(tensor.bytes for tensor in checkpoint.tensors),
        packed=roles["packed"], copies=roles["copy"], scales=roles["scale"],
        buffers=roles["buffer"], dtypes=dict(sorted(dtypes.items())),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """Elements that are stored and not in the counts, or the other way round.

    ``what``: one of the components, or one of the sorts beside them: packed, copies, scales and
    buffers.
    """

    what: str
    computed: int | None
    stored: int
    reason: str


_BESIDES = {
    "packed": "several weights share one element",
    "copies": "modules beside the model store embedding and head once more",
    "scales": "numbers that decode quantised weights",
    "buffers": "no parameters, though hubs count them",
}


def compare(counts: Counts, held: Census) -> tuple[Difference, ...]:
    """Why stored elements are not the computed parameters, with a reason for each difference.

    Computed parameters and all differences together give ``held.elements``, where ``mtp`` is known.
    """
    found = []
    for name in (*Counts.COMPONENTS, "mtp"):
        computed, stored = getattr(counts, name), held.params(name)
        if computed != stored:
            reason = _reason(name, computed, stored, counts)
            found.append(Difference(name, computed, stored, reason))
    for name, reason in _BESIDES.items():
        stored = getattr(held, name)
        if stored:
            found.append(Difference(name, 0, -stored if name == "packed" else stored, reason))
    return tuple(found)


def _reason(name: str, computed: int | None, stored: int, counts: Counts) -> str:
    if name == "lm_head" and not computed and stored == counts.embedding:
        return "the tied head is stored a second time"
    if name == "lm_head" and not stored:
        return "no head is stored: the embedding serves, or there is none"
    if name == "mtp" and not stored:
        return "the modules beside the model are not in these files"
    if name == "mtp" and not computed:
        return "modules beside the model that the configuration does not describe"
    if name == "vision" and not stored:
        return "the tower is not in these files"
    if name == "attention" and computed is not None and stored > computed:
        return "projections that no layer uses may be stored, such as those of shared layers"
    return "not explained"
