"""Checks that no single entry can make: names unique, references alive, figures plausible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.errors import Problem, nearest
from planner.plausibility_gpus import gpus
from planner.records import Entry, Model, aliases
from planner.yamlfile import Key

__all__ = ["gpus", "models", "unique_names"]


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


def _at(entry: Entry, key: Key, expected: str, found: str, hint: str = "") -> Problem:
    return entry.file.problem(key, expected, found, hint)
