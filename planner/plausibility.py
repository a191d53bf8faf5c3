"""Checks that no single entry can make: names unique, references alive, figures plausible.

The ranges are wide on purpose. They catch a slipped unit or a sparse figure, not a surprising chip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.errors import Problem, nearest
from planner.figures import Figure
from planner.records import Entry, Gpu, Model, aliases
from planner.yamlfile import Key

_BANDWIDTH_PER_MEMORY = (5.0, 200.0)  # 1/s: how often the whole memory is read in a second
_RIDGE = (8.0, 900.0)  # flop/byte: bf16 peak over bandwidth
# Peak of a number format over the bf16 peak. B300 has little INT8 left, GeForce has plenty.
_STEPS = {"fp8": (0.9, 2.2), "fp4": (0.9, 6.5), "int8": (0.05, 4.2)}
_TOLD = (0.85, 1.08)  # device over marketed memory; GiB sold as GB is 1.074


def unique_names(entries: Sequence[Entry], label: str) -> Iterator[Problem]:
    """Aliases that are the id or alias of another entry too."""
    owner = {entry.record.id: entry.record.id for entry in entries}
    for entry in entries:
        for index, word in enumerate(entry.record.aliases):
            if word in entry.record.aliases[:index]:
                yield _at(entry, ("aliases", index), "each alias once", f"'{word}' again")
        for word in aliases(entry.record):
            first = owner.setdefault(word, entry.record.id)
            if first != entry.record.id:
                key = ("hf_id",) if word not in entry.record.aliases else ("aliases",)
                yield _at(entry, key, f"a name of {label} that is free", f"'{word}' of {first}")


def models(entries: Sequence[Entry], weight_formats: Sequence[str]) -> Iterator[Problem]:
    """References and layer counts of models."""
    for entry in entries:
        model = entry.record
        if not isinstance(model, Model):
            continue
        if model.weight_format not in weight_formats:
            yield _at(
                entry, ("weight_format",), "the id of a format with a weight block",
                f"'{model.weight_format}'", nearest(model.weight_format, weight_formats),
            )  # fmt: skip
        yield from _layers(entry, model)


def _layers(entry: Entry, model: Model) -> Iterator[Problem]:
    total = model.layers.value
    counts = [group.layers.value for group in model.layer_groups]
    known = [count for count in counts if count is not None]
    if total is None or len(known) < len(counts):
        return
    for index, count in enumerate(known):
        if count > total:
            key = ("layer_groups", index, "layers")
            yield _at(entry, key, f"at most the {total:.0f} layers of the model", f"{count:.0f}")
    if sum(known) < total:
        expected = f"groups that cover the {total:.0f} layers of the model"
        yield _at(entry, ("layer_groups",), expected, f"{sum(known):.0f} layers")
    for index, group in enumerate(model.layer_groups):
        queries = (group.q_heads or model.q_heads).value
        heads = group.kv_heads.value if group.kv_heads else None
        if queries and heads and queries % heads:
            key = ("layer_groups", index, "kv_heads")
            yield _at(entry, key, f"a divisor of the {queries:.0f} query heads", f"{heads:.0f}")


def gpus(entries: Sequence[Entry]) -> Iterator[Problem]:
    """Ranges of figures, and the order along each product line."""
    by_id = {entry.record.id: entry.record for entry in entries}
    for entry in entries:
        gpu = entry.record
        if not isinstance(gpu, Gpu):
            continue
        yield from _ranges(entry, gpu)
        if gpu.predecessor is None:
            continue
        before = by_id.get(gpu.predecessor)
        key = ("predecessor",)
        if not isinstance(before, Gpu) or before is gpu:
            hint = nearest(gpu.predecessor, by_id)
            yield _at(entry, key, "the id of another GPU", f"'{gpu.predecessor}'", hint)
        elif before.line == gpu.line and before.generation > gpu.generation:
            expected = f"generation {before.generation} of {before.id} or later"
            yield _at(entry, ("generation",), expected, str(gpu.generation))


def _ranges(entry: Entry, gpu: Gpu) -> Iterator[Problem]:
    memory, bandwidth, bf16 = gpu.memory, gpu.memory_bandwidth, gpu.peak_dense.bf16
    rows: list[tuple[Key, Figure | None, Figure | None, tuple[float, float], str]] = [
        (("memory_bandwidth",), bandwidth, memory.marketed, _BANDWIDTH_PER_MEMORY,
         "reads of the whole memory per second"),
        (("memory", "device"), memory.device, memory.marketed, _TOLD, "of the marketed memory"),
        (("memory", "framework"), memory.framework, memory.marketed, _TOLD,
         "of the marketed memory"),
        (("memory", "framework"), memory.framework, memory.device, (0.85, 1.0),
         "of the device memory"),
        (("peak_dense", "bf16"), bf16, bandwidth, _RIDGE, "flop per byte of bandwidth"),
    ]  # fmt: skip
    for name, step in _STEPS.items():
        peak = getattr(gpu.peak_dense, name)
        rows.append((("peak_dense", name), peak, bf16, step, "times the bf16 peak"))
    for key, above, below, (low, high), words in rows:
        ratio = _ratio(above, below)
        if ratio is not None and not low <= ratio <= high:
            yield _at(entry, key, f"{low:g} to {high:g} {words}", f"{ratio:.4g}")


def _ratio(above: Figure | None, below: Figure | None) -> float | None:
    if above is None or below is None or above.value is None or not below.value:
        return None
    return float(above.value) / float(below.value)


def _at(entry: Entry, key: Key, expected: str, found: str, hint: str = "") -> Problem:
    return entry.file.problem(key, expected, found, hint)
