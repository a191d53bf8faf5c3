"""Checks of model and format entries against themselves: names, shapes and counts must agree.

Each rule compares two figures of one entry that are published apart, so that a mistake in one of
them shows: query heads written as KV heads, active parameters as the total, bits as bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planner.errors import Problem, nearest
from planner.figures import Figure
from planner.layer_kinds import KINDS
from planner.records import Entry, Format, LayerGroup, Model
from planner.yamlfile import Key

# Kinds whose projections are four plain matrices, so that their parameters follow from the shape.
_PLAIN_KINDS = ("full_attention", "sliding_window", "chunked_local")
_ATTENTION_SLACK = 1.01  # biases and rounding
# `70B` or `8x7B` in a name; not the `A3B` of active or the `E4B` of effective parameters.
_NAMED = re.compile(r"(?<![A-Za-z0-9.])(?:([0-9]+)x)?([0-9]+(?:\.[0-9]+)?)[Bb](?![A-Za-z0-9])")
_NAMED_SHARE = 0.7  # experts share the rest of the layers: 8x7B is 46.7, 0.83 of 56
_BITS = re.compile(r"(?:fp|bf|int|nvfp|mxfp|q)([0-9]+)")
_BYTES = (0.1, 4.5)  # of one stored element, scales included


def models(entries: Sequence[Entry], weight_formats: Sequence[str]) -> Iterator[Problem]:
    """Every problem of models that their schema cannot see."""
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
        yield from list(_heads(entry, model)) or _projections(entry, model)
        yield from _total(entry, model)
        yield from _experts(entry, model)


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
    if sum(known) < total and not _rest_is_bare(model):
        expected = f"groups that cover the {total:.0f} layers of the model"
        yield _at(entry, ("layer_groups",), expected, f"{sum(known):.0f} layers")


def _rest_is_bare(model: Model) -> bool:
    """Whether layers of no group can be without a mixer: the groups account for all mixers.

    Searched and hybrid models have layers of feed-forward alone. Then the projections of the groups
    fill the attention parameters, and the state parameters fall evenly on the layers with a state.
    """
    states = [group for group in model.layer_groups if _keeps_state(group)]
    mixers = [group for group in model.layer_groups if group not in states]
    found = [_matrices(model, group) for group in mixers if group.kind in _PLAIN_KINDS]
    stated, held = _number(model.params.attention) or 0.0, _number(model.params.state) or 0.0
    if len(found) < len(mixers) or None in found:
        return False
    needed = sum(one.heads * one.per_head + one.rest for one in found if one)
    layers = sum(_number(group.layers) or 0.0 for group in states)
    even = not held if not layers else held % layers == 0
    return even and stated <= needed * _ATTENTION_SLACK


def _keeps_state(group: LayerGroup) -> bool:
    kind = KINDS[group.kind]
    return bool(kind.rule("group_state_heads") or kind.rule("group_conv_taps"))


# ---- heads -------------------------------------------------------------------------------------


def _heads(entry: Entry, model: Model) -> Iterator[Problem]:
    for index, group in enumerate(model.layer_groups):
        queries, heads = _number(group.q_heads or model.q_heads), _number(group.kv_heads)
        if queries and heads and queries % heads:
            key = ("layer_groups", index, "kv_heads")
            yield _at(entry, key, f"a divisor of the {queries:.0f} query heads", f"{heads:.0f}")


class _Matrices(NamedTuple):
    """Parameters of one group's projections: keys and values of one KV head, and all the rest."""

    queries: float
    heads: float
    per_head: float
    rest: float


def _projections(entry: Entry, model: Model) -> Iterator[Problem]:
    """The attention parameters hold the projections that the heads need.

    A model with grouped queries whose query heads are written as KV heads needs more than it has.
    """
    stated = _number(model.params.attention)
    groups = [
        (index, found)
        for index, group in enumerate(model.layer_groups)
        if group.kind in _PLAIN_KINDS and (found := _matrices(model, group))
    ]
    if stated is None or not groups:
        return
    needed = sum(found.heads * found.per_head + found.rest for _, found in groups)
    if needed <= stated * _ATTENTION_SLACK:
        return
    index, most = max(groups, key=lambda pair: pair[1].heads * pair[1].per_head)
    yield _at(
        entry, ("layer_groups", index, "kv_heads"),
        f"KV heads whose projections fit into the {stated:,.0f} params of attention",
        f"{most.heads:.0f} heads, with which they take {needed:,.0f}",
        _room(stated, [found for _, found in groups]),
    )  # fmt: skip


def _room(stated: float, groups: Sequence[_Matrices]) -> str:
    """How many KV heads would fit, where all groups have equally many."""
    if len({found.heads for found in groups}) > 1:
        return "KV heads are fewer than query heads where queries are grouped"
    room = (stated - sum(g.rest for g in groups)) / sum(g.per_head for g in groups)
    whole = round(room)
    words = "these look like query heads; the memory of KV follows KV heads"
    fits = whole >= 1 and abs(room - whole) < 0.2 and groups[0].queries % whole == 0
    return f"{words}: {whole} would fit" if fits else words


def _matrices(model: Model, group: LayerGroup) -> _Matrices | None:
    hidden, layers = _number(model.hidden_size), _number(group.layers)
    queries, heads = _number(group.q_heads or model.q_heads), _number(group.kv_heads)
    keys = _number(group.key_dim or group.head_dim)
    values = _number(group.value_dim or group.head_dim)
    if not (hidden and layers and queries and heads and keys and values):
        return None  # unknown, or 0, which is no shape
    own = layers - (_number(group.shared_layers) or 0.0)
    kept = values if group.v_projection is None or group.v_projection.value else 0.0
    asked = 0.0 if group.q_lora_rank is not None else keys
    return _Matrices(
        queries, heads, own * hidden * (keys + kept), layers * hidden * queries * (asked + values)
    )


# ---- totals ------------------------------------------------------------------------------------


def _total(entry: Entry, model: Model) -> Iterator[Problem]:
    total, hidden = _number(model.params.total), _number(model.hidden_size)
    named = _NAMED.search((model.hf_id or model.label).rpartition("/")[2])
    if named and total is not None:
        size = float(named[1] or 1) * float(named[2])
        if total < _NAMED_SHARE * size * 1e9:
            yield _at(
                entry, ("params", "total"), f"about {size:g} billion, as the name says",
                f"{total / 1e9:.3g} billion",
                "memory holds all experts, not only the active parameters",
            )  # fmt: skip
    embedding = _number(model.params.embedding)
    if embedding and hidden and embedding % hidden:
        yield _at(
            entry, ("hidden_size",), f"a divisor of the {embedding:,.0f} params of the embedding",
            f"{hidden:.0f}",
        )  # fmt: skip


def _experts(entry: Entry, model: Model) -> Iterator[Problem]:
    experts, used = _number(model.experts), _number(model.experts_per_token)
    if experts is not None and used is not None and used > experts:
        yield _at(
            entry, ("experts_per_token",), f"at most the {experts:.0f} experts", f"{used:.0f}"
        )


# ---- formats -----------------------------------------------------------------------------------


def formats(entries: Sequence[Entry]) -> Iterator[Problem]:
    """Element sizes in bytes, not bits, and no smaller than the format's name says."""
    for entry in entries:
        record = entry.record
        if not isinstance(record, Format):
            continue
        bits = [float(number) for number in _BITS.findall(record.id)]
        least = min(bits) / 8 if bits else 0.0
        for key, figure in _sizes(record):
            size = _number(figure)
            if size is None:
                continue
            if not _BYTES[0] <= size <= _BYTES[1]:
                expected = f"{_BYTES[0]:g} to {_BYTES[1]:g} bytes for an element"
                yield _at(entry, key, expected, f"{size:g} byte", "8 bits are a byte")
            elif size < least:
                expected = f"at least {least:g} byte, the {least * 8:g} bits of its name"
                yield _at(entry, key, expected, f"{size:g} byte", "8 bits are a byte")


def _sizes(record: Format) -> Iterator[tuple[Key, Figure | None]]:
    if record.weight is not None:
        for name in ("linear", "expert", "kept"):
            yield ("weight", name), getattr(record.weight, name)
    if record.kv is not None:
        for name in ("element", "key", "value"):
            yield ("kv", name), getattr(record.kv, name)


def _number(figure: Figure | None) -> float | None:
    return None if figure is None or figure.value is None else float(figure.value)


def _at(entry: Entry, key: Key, expected: str, found: str, hint: str = "") -> Problem:
    return entry.file.problem(key, expected, found, hint)
