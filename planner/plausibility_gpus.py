"""Checks of GPU entries: ranges of figures, sparse peaks, GB read as GiB, the chain of each line.

The ranges are wide on purpose. They catch a slipped unit or a sparse figure, not a surprising chip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planner.errors import Problem, nearest
from planner.figures import Figure
from planner.records import Entry, Gpu, Record
from planner.yamlfile import Key

Range = tuple[float, float]

_BANDWIDTH_PER_MEMORY = (1.5, 200.0)  # 1/s: how often the whole memory is read in a second
_RIDGE = (8.0, 1000.0)  # flop/byte: bf16 peak over bandwidth
_FLOP_PER_JOULE = (5e10, 5e12)  # bf16 peak over board power
_WATTS = (10.0, 5000.0)
_LINK = (1e9, 1e13)  # byte/s one way
# Device over marketed memory: GiB sold as GB is 1.074. Below 1 the box would promise GiB.
_TOLD = (0.999, 1.08)
_FRAMEWORK_TOLD = (0.95, 1.08)
# Framework over device memory. A framework hides up to 5 %; GB written for GiB hides 7 %.
_HELD_BACK = (0.94, 1.0)
# Peak of a number format over the bf16 peak. GeForce cards run bf16 at half rate and int8, int4
# and fp4 at full rate; B300 has little int8 left; the next generation has fast fp8 and fp4.
_STEPS: dict[str, Range] = {
    "fp32": (0.02, 0.7),
    "tf32": (0.2, 1.05),
    "fp16": (0.2, 1.05),
    "fp8": (0.9, 4.6),
    "fp6": (0.9, 4.6),
    "fp4": (0.9, 9.0),
    "int8": (0.05, 4.2),
    "int4": (0.9, 8.5),
}
_SPARSE_STEP = 4.0  # fp8 with 2:4 sparsity over dense bf16
_SPARSE_SLACK = 0.02
_PEERS = 1.5  # matrix over vector rate may exceed that of the architecture by so much
_VECTOR_HINT = "a bf16 peak as low as this is the rate of the vector units"
_MIB_HINT = "drivers report MiB and frameworks GiB, not MB and GB"
_SPARSE_HINT = "half of it is dense, if this is the figure with 2:4 sparsity"


class _Ratio(NamedTuple):
    """A figure, what it is divided by (none for a plain range), the range, and words."""

    key: Key
    figure: Figure | None
    by: Figure | None
    allowed: Range
    words: str
    hint: str = ""


def gpus(entries: Sequence[Entry]) -> Iterator[Problem]:
    """Every problem of GPU entries that single files cannot see."""
    by_id = {entry.record.id: entry.record for entry in entries}
    for entry in entries:
        gpu = entry.record
        if isinstance(gpu, Gpu):
            yield from gpu_figures(entry, by_id)
            yield from _chain(entry, gpu, by_id)
            yield from _variant(entry, gpu, by_id)


def gpu_figures(entry: Entry, by_id: Mapping[str, Record]) -> Iterator[Problem]:
    """What is odd about the figures of one entry, beside those of the others."""
    gpu = entry.record
    if isinstance(gpu, Gpu):
        yield from _ranges(entry, gpu)
        yield from _box_in_gib(entry, gpu)
        yield from _sparse(entry, gpu, by_id)


# ---- figures -----------------------------------------------------------------------------------


def _ranges(entry: Entry, gpu: Gpu) -> Iterator[Problem]:
    for key, figure, by, (low, high), words, hint in _rows(gpu):
        ratio = _ratio(figure, by) if by is not None else _number(figure)
        if ratio is not None and not low <= ratio <= high:
            yield _at(entry, key, f"{low:g} to {high:g} {words}", f"{ratio:.4g}", hint)


def _rows(gpu: Gpu) -> Iterator[_Ratio]:
    memory, bandwidth, peaks = gpu.memory, gpu.memory_bandwidth, gpu.peak_dense
    device, framework, bf16 = ("memory", "device"), ("memory", "framework"), ("peak_dense", "bf16")
    box = "of the marketed memory"
    yield _Ratio(
        ("memory_bandwidth",), bandwidth, memory.marketed, _BANDWIDTH_PER_MEMORY,
        "reads of the whole memory per second",
    )  # fmt: skip
    if not _promises_gib(gpu):
        yield _Ratio(device, memory.device, memory.marketed, _TOLD, box)
        yield _Ratio(framework, memory.framework, memory.marketed, _FRAMEWORK_TOLD, box)
    yield _Ratio(
        framework, memory.framework, memory.device, _HELD_BACK, "of the device memory", _MIB_HINT
    )
    yield _Ratio(bf16, peaks.bf16, bandwidth, _RIDGE, "flop per byte of bandwidth")
    yield _Ratio(bf16, peaks.bf16, gpu.power, _FLOP_PER_JOULE, "flop per joule")
    yield _Ratio(("power",), gpu.power, None, _WATTS, "W")
    yield _Ratio(("scale_up", "one_way"), gpu.scale_up.one_way, None, _LINK, "byte/s")
    for name, step in _STEPS.items():
        peak, hint = getattr(peaks, name), _VECTOR_HINT if name == "fp32" else ""
        key = ("peak_dense", name)
        yield _Ratio(key, peak, peaks.bf16 or Figure(), step, "times the bf16 peak", hint)


def _box_in_gib(entry: Entry, gpu: Gpu) -> Iterator[Problem]:
    """The number on the box is decimal; written as GiB it promises 7.4 % more than there is."""
    if _promises_gib(gpu):
        marketed, device = _number(gpu.memory.marketed) or 0.0, _number(gpu.memory.device) or 0.0
        box = f"{marketed / 2**30:.0f}"
        yield _at(
            entry, ("memory", "marketed"),
            f"at most the {device / 2**30:.2f} GiB that the device reports", f"{box} GiB",
            f"the number on the box is decimal: write {box} GB",
        )  # fmt: skip


def _promises_gib(gpu: Gpu) -> bool:
    """A whole number of GiB is marketed, and the device reports less."""
    marketed = _number(gpu.memory.marketed)
    told = _ratio(gpu.memory.device, gpu.memory.marketed)
    return bool(marketed) and told is not None and told < _TOLD[0] and not (marketed or 0) % 2**30


def _sparse(entry: Entry, gpu: Gpu, by_id: Mapping[str, Record]) -> Iterator[Problem]:
    """Figures that look like the ones with 2:4 sparsity."""
    step = _ratio(gpu.peak_dense.fp8, gpu.peak_dense.bf16)
    if step is not None and abs(step / _SPARSE_STEP - 1) <= _SPARSE_SLACK:
        yield _at(
            entry, ("peak_dense", "fp8"), "another multiple of the dense bf16 peak",
            f"{step:.3g} times", _SPARSE_HINT,
        )  # fmt: skip
    mine = _ratio(gpu.peak_dense.bf16, gpu.peak_dense.fp32)
    peers = [
        ratio
        for other in by_id.values()
        if isinstance(other, Gpu) and other.id != gpu.id and other.architecture == gpu.architecture
        if (ratio := _ratio(other.peak_dense.bf16, other.peak_dense.fp32)) is not None
    ]
    if mine is not None and peers and mine > _PEERS * max(peers):
        yield _at(
            entry, ("peak_dense", "bf16"),
            f"at most {_PEERS * max(peers):.3g} times the fp32 peak, as other {gpu.architecture} "
            "parts have", f"{mine:.3g} times", _SPARSE_HINT,
        )  # fmt: skip


# ---- lines -------------------------------------------------------------------------------------


def _chain(entry: Entry, gpu: Gpu, by_id: Mapping[str, Record]) -> Iterator[Problem]:
    """Predecessors exist, stand in the same line, run back in it and never in a circle."""
    key = ("predecessor",)
    if gpu.predecessor is None:
        yield from _missing_link(entry, gpu, by_id)
        return
    before = by_id.get(gpu.predecessor)
    if not isinstance(before, Gpu) or before.id == gpu.id:
        hint = "" if before else nearest(gpu.predecessor, by_id.keys() - {gpu.id})
        yield _at(entry, key, "the id of another GPU", f"'{gpu.predecessor}'", hint)
    elif before.line != gpu.line:
        expected = f"a GPU of the line {gpu.line}"
        yield _at(entry, key, expected, f"'{before.id}' of {before.line}")
    elif before.generation > gpu.generation:
        expected = f"generation {before.generation} of {before.id} or later"
        yield _at(entry, ("generation",), expected, str(gpu.generation))
    elif gpu.id in _back_from(before, by_id):
        yield _at(entry, key, "an earlier part", f"'{before.id}', which follows {gpu.id}")


def _missing_link(entry: Entry, gpu: Gpu, by_id: Mapping[str, Record]) -> Iterator[Problem]:
    earlier = [
        other
        for other in by_id.values()
        if isinstance(other, Gpu) and other.line == gpu.line and other.generation < gpu.generation
    ]
    if earlier:
        last = max(earlier, key=lambda other: (other.generation, other.id))
        yield _at(
            entry, ("generation",), "a predecessor, as the line has earlier generations",
            f"none before generation {gpu.generation}", f"write predecessor: {last.id}",
        )  # fmt: skip


def _back_from(gpu: Gpu, by_id: Mapping[str, Record]) -> set[str]:
    """The ids on the way back from a part, its own included."""
    seen: set[str] = set()
    at: Record | None = gpu
    while isinstance(at, Gpu) and at.id not in seen:
        seen.add(at.id)
        at = by_id.get(at.predecessor or "")
    return seen


def _variant(entry: Entry, gpu: Gpu, by_id: Mapping[str, Record]) -> Iterator[Problem]:
    """A variant names the original: another part of the same architecture, no variant itself."""
    if gpu.variant_of is None:
        return
    base, key = by_id.get(gpu.variant_of), ("variant_of",)
    if not isinstance(base, Gpu) or base.id == gpu.id:
        hint = "" if base else nearest(gpu.variant_of, by_id.keys() - {gpu.id})
        yield _at(entry, key, "the id of another GPU", f"'{gpu.variant_of}'", hint)
    elif base.architecture != gpu.architecture:
        expected = f"a part of the architecture {gpu.architecture}"
        yield _at(entry, key, expected, f"'{base.id}', which is {base.architecture}")
    elif base.variant_of is not None:
        yield _at(entry, key, "the original", f"'{base.id}', a variant of {base.variant_of}")


def _number(figure: Figure | None) -> float | None:
    return None if figure is None or figure.value is None else float(figure.value)


def _ratio(above: Figure | None, below: Figure | None) -> float | None:
    top, bottom = _number(above), _number(below)
    return None if top is None or not bottom else top / bottom


def _at(entry: Entry, key: Key, expected: str, found: str, hint: str = "") -> Problem:
    return entry.file.problem(key, expected, found, hint)
