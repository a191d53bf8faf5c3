"""From a checked entry to the fields that formulas name, each value with its origin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from planner import layer_kinds
from planner.errors import Span
from planner.facts_places import Placed, placed_dense, placed_experts, placed_group
from planner.figures import Figure
from planner.records import Engine, Entry, Format, KvFormat, LayerGroup, Model
from planner.yamlfile import Key

# Path of each field in its entry, and the unit that its value is in.
FACTS: dict[str, dict[str, tuple[Key, str]]] = {
    "model": {
        **{
            f"params_{name}": (("params", name), "param")
            for name in (
                "embedding", "lm_head", "attention", "mlp", "shared", "experts", "router", "norm",
                "state", "vision", "indexer", "other",
            )
        },
        "layers": (("layers",), "1"),
        "moe_places": (("moe_places",), "1"),
        "dense_places": (("dense_places",), "1"),
        "hidden_size": (("hidden_size",), "1"),
        "vocab_size": (("vocab_size",), "1"),
        "tied_embedding": (("tied_embedding",), "1"),
        "experts": (("experts",), "1"),
        "experts_per_token": (("experts_per_token",), "1"),
        "q_heads": (("q_heads",), "1"),
        "max_context": (("max_context",), "token/request"),
        "params_draft": (("draft", "params"), "param"),
        "draft_element": (("draft", "element"), "byte/param"),
        "rotary_width": (("rotary_width",), "1/token"),
        "deepstack_levels": (("deepstack_levels",), "1"),
        "image_width": (("images", "width"), "1"),
        "image_patches": (("images", "patches"), "token"),
        "image_tokens": (("images", "tokens"), "token/request"),
    },
    "gpu": {
        **{
            f"memory_{name}": (("memory", name), "byte/gpu")
            for name in ("marketed", "device", "framework")
        },
        "memory_bandwidth": (("memory_bandwidth",), "byte/s/gpu"),
        **{
            f"peak_{name}": (("peak_dense", name), "flop/s/gpu")
            for name in ("bf16", "fp8", "fp4", "int8")
        },
        "max_domain": (("scale_up", "max_domain"), "gpu"),
        "gpu_capability": (("compute_capability",), "1"),
    },
    "engine": {
        "engine_memory_basis": (("memory_basis",), "1"),
        "engine_block_size": (("block_size",), "token/block"),
        "engine_block_rule": (("block_rule",), "1"),
        "engine_token_line": (("token_line",), "1"),
        "engine_budget": (("budget",), "1"),
        "engine_latent_block": (("latent_block",), "token/block"),
        "engine_latent_state_block": (("latent_state_block",), "token/block"),
        "engine_batches_in_flight": (("batches_in_flight",), "1"),
        "engine_batches_per_stage": (("batches_per_stage",), "1"),
        "engine_null_block": (("null_block",), "block"),
        "engine_pads_experts": (("pads_experts",), "1"),
        **{
            f"engine_{name}": (("step", name), "token/request")
            for name in ("tokens_small", "tokens_middle", "tokens_large")
        },
        **{
            f"engine_{name}": (("step", name), "request")
            for name in ("requests_small", "requests_large")
        },
        "engine_logit": (("takes", "logit"), "byte/request/gpu"),
        "engine_token_kept": (("takes", "token_kept"), "byte/token/gpu"),
        "engine_token_working": (("takes", "token_working"), "byte/token/gpu"),
        "engine_patch_kept": (("takes", "patch_kept"), "byte/token/gpu"),
        "engine_patch_split": (("takes", "patch_split"), "byte/token/gpu"),
        "engine_keeps_workspace": (("takes", "keeps_workspace"), "1"),
        **{
            f"engine_{name}": (("takes", name), "byte/gpu")
            for name in ("images", "runtime", "collectives", "fast_link", "graph")
        },
        "engine_static_fixed": (("static", "fixed"), "byte/gpu"),
        "engine_static_token": (("static", "token"), "byte/token/gpu"),
        "engine_static_rank": (("static", "rank"), "byte/gpu"),
        "engine_static_floor": (("static", "floor"), "byte/gpu"),
        **{
            f"engine_{name}": (("slots", name), "1")
            for name in ("window_ratio", "state_ratio", "copies_plain", "copies_cached")
        },
        "engine_state_element": (("slots", "state_element"), "byte"),
    },
    "weight_format": {
        **{
            f"weight_{name}_bytes": (("weight", name), "byte/param")
            for name in ("linear", "expert", "kept")
        },
        "weight_tiled": (("weight", "tiled"), "1"),
    },
    "kv_format": {
        "kv_key_bytes": (("kv", "key"), "byte"),
        "kv_value_bytes": (("kv", "value"), "byte"),
        "kv_head_scale_bytes": (("kv", "head_scales"), "byte/token"),
        "kv_head_round": (("kv", "round"), "byte/token"),
        "kv_latent_bytes": (("kv", "latent"), "byte/token"),
        "kv_page_align": (("kv", "align"), "byte/block/gpu"),
    },
}  # fmt: skip
DEFAULTS: dict[str, tuple[Key, str]] = {
    "memory_utilization": (("defaults", "memory_utilization"), "1"),
    "overhead": (("defaults", "overhead"), "byte/gpu"),
    "reserve": (("defaults", "reserve"), "1"),
    "hot_experts": (("defaults", "hot_experts"), "1"),
    "hot_traffic": (("defaults", "hot_traffic"), "1"),
    "batched_tokens": (("defaults", "batched_tokens"), "token/request"),
    "max_num_seqs": (("defaults", "max_num_seqs"), "request"),
    "prefix_caching": (("defaults", "prefix_caching"), "1"),
    "speculative_tokens": (("defaults", "speculative_tokens"), "1/request"),
    "checkpoint_copies": (("defaults", "checkpoint_copies"), "block/request"),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A value in base units with its origin; ``value`` None means unknown."""

    value: float | bool | str | None
    unit: str
    source: tuple[str, ...]
    confidence: str
    note: str
    span: Span


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """One layer group of a model: every ``group_*`` field, and how they follow from its shape."""

    kind: str
    label: str
    facts: Mapping[str, Fact]
    basis: str


# An absent component of a sum that adds up exactly is 0; so is the expert count of a dense model.
_ABSENT_IS_ZERO = ("params", "experts", "experts_per_token", "deepstack_levels")
_PLACES = {"moe_places": placed_experts, "dense_places": placed_dense}
NO_DRAFT = "no draft in this plan"
_ABSENT_NOTE = "none; the components that are given add up to the total"


def facts_of(entry: Entry, table: Mapping[str, tuple[Key, str]]) -> dict[str, Fact]:
    """The fields of ``table`` for one entry; what the entry does not give is unknown."""
    return {name: _fact(entry, key, unit) for name, (key, unit) in table.items()}


def _fact(entry: Entry, key: Key, unit: str) -> Fact:
    part: object = entry.record
    if isinstance(part, Model) and key[0] in _PLACES:
        return _from_places(entry, _PLACES[str(key[0])](part), unit, ())
    for name in key:
        part = getattr(part, str(name), None)
    span = entry.file.span(key)
    if isinstance(part, Figure):
        fact = _from_figure(part, unit, span)
        return replace(fact, value=_version(part.value)) if key == ("compute_capability",) else fact
    if key[0] == "draft":
        return Fact(0.0, unit, (), "derived", NO_DRAFT, span)
    if key == ("weight", "tiled"):
        return Fact(False, unit, (), "derived", "stored without tiles", span)
    if key[0] == "kv" and isinstance(entry.record, Format) and entry.record.kv is not None:
        return _kv_fact(entry.record.kv, str(key[1]), unit, span)
    if isinstance(entry.record, Model) and key[0] in _ABSENT_IS_ZERO:
        total = entry.record.params.total
        known = 0.0 if total.value is not None else None
        return Fact(known, unit, total.source, _confidence([total]), _ABSENT_NOTE, span)
    if isinstance(entry.record, Engine) and key[-1] in _PLAIN_ENGINE:
        return _engine_fact(entry.record, str(key[-1]), unit, span)
    return Fact(None, unit, (), "", "", span)


def _version(written: float | bool | str | None) -> float | None:
    """A compute capability as a number to compare; that of other makes (``gfx942``) is none."""
    return float(str(written)) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", str(written)) else None


# What an engine entry may leave out, and what its block rule then needs: nothing of the kind.
_PLAIN_ENGINE: dict[str, float | bool | str] = {
    "block_rule": "plain", "token_line": "none", "budget": "total", "latent_block": 0.0,
    "latent_state_block": 0.0, "batches_in_flight": 0.0, "batches_per_stage": 0.0,
    "null_block": 0.0, "batched_tokens": 0.0, "prefix_caching": False, "speculative_tokens": 0.0,
    "checkpoint_copies": 0.0, "pads_experts": False, "window_ratio": 1.0, "state_ratio": 0.0,
    "copies_plain": 1.0, "copies_cached": 1.0, "state_element": 0.0,
}  # fmt: skip


_SLOTS = ("window_ratio", "state_ratio", "copies_plain", "copies_cached", "state_element")
_OPTIONAL = ("budget", "speculative_tokens", "checkpoint_copies", "pads_experts", *_SLOTS)
# What an entry of a rule must give: without it the figures of the rule are unknown.
_NEEDED = {
    **dict.fromkeys(("groups", "flat"), tuple(n for n in _PLAIN_ENGINE if n not in _OPTIONAL)),
    "cells": _SLOTS,
}


def _engine_fact(engine: Engine, name: str, unit: str, span: Span) -> Fact:
    """Neutral where the rule of the engine has no such part; unknown where it needs a figure."""
    rule = engine.block_rule.value if engine.block_rule is not None else "plain"
    if name in _NEEDED.get(str(rule), ()):
        return Fact(None, unit, (), "", "", span)
    note = f"the rule of this engine, {rule}, has no such part" if name != "budget" else ""
    return Fact(_PLAIN_ENGINE[name], unit, (), "assumed", note or "a share of all memory", span)


def _kv_fact(kv: KvFormat, name: str, unit: str, span: Span) -> Fact:
    """What a KV format leaves out: both widths stand as ``element``, and nothing is packed."""
    base = kv.element if name in ("key", "value") else kv.head_scales
    if base is None:
        return Fact(None, unit, (), "", "", span)
    if name in ("key", "value"):
        return _from_figure(base, unit, span)
    neutral, note = {
        "round": (1.0, "whole bytes"), "latent": (0.0, "stored by elements"),
        "align": (1.0, "pages of any size"),
    }[name]  # fmt: skip
    return Fact(neutral, unit, base.source, base.confidence or "", note, span)


def _confidence(used: Iterable[Figure]) -> str:
    """Confidence of what follows from these figures: what one of them was recalled as stays so."""
    words = {figure.confidence for figure in used}
    return next((word for word in ("assumed", "recalled") if word in words), "derived")


def _from_figure(figure: Figure, unit: str, span: Span) -> Fact:
    return Fact(figure.value, unit, figure.source, figure.confidence or "", figure.note, span)


def _from_places(entry: Entry, placed: Placed, unit: str, inside: Key) -> Fact:
    """Layers as one text; ``inside`` is the part of the entry that its key is below."""
    source = tuple(dict.fromkeys(one for figure in placed.used for one in figure.source))
    span = entry.file.span((*inside, placed.key) if placed.key else inside)
    if placed.text is None:
        return Fact(None, unit, source, "", placed.how, span)
    own = placed.used[0].confidence if placed.key.endswith("places") else None
    return Fact(placed.text, unit, source, own or _confidence(placed.used), placed.how, span)


def groups_of(entry: Entry) -> tuple[GroupFacts, ...]:
    """The layer groups of a model entry."""
    model = entry.record
    if not isinstance(model, Model):
        raise TypeError(f"{model.id} is not a model")
    return tuple(_group(entry, model, index) for index in range(len(model.layer_groups)))


def _group(entry: Entry, model: Model, index: int) -> GroupFacts:
    group = model.layer_groups[index]
    kind = layer_kinds.KINDS[group.kind]
    figures = _shape(model, group, kind)
    numbers = {name: _as_number(figure) for name, figure in figures.items()}
    shape = kind.complete({n: v for n, v in numbers.items() if v is not None})
    here = ("layer_groups", index)
    facts = {"group_layers": _from_figure(group.layers, "1", entry.file.span((*here, "layers")))}
    for name, unit in layer_kinds.FIELDS.items():
        if name == "group_layers":
            continue
        if name == "group_places":
            facts[name] = _from_places(entry, placed_group(model, group), unit, here)
            continue
        if name == "group_draft_layers":
            facts[name] = Fact(0.0, unit, (), "derived", NO_DRAFT, entry.file.span(here))
            continue
        rule = kind.rule(name)
        used = [figures[n] for n in _written(kind, layer_kinds.names_in(rule), figures)]
        span = entry.file.span((*here, *_only(kind, rule, figures)))
        facts[name] = _derived(name, unit, kind, shape, used, span)
    return GroupFacts(group.kind, group.label or kind.label, facts, layer_kinds.basis(kind))


def _shape(model: Model, group: LayerGroup, kind: layer_kinds.LayerKind) -> dict[str, Figure]:
    inherited = {"q_heads": model.q_heads} if "q_heads" in kind.takes else {}
    outer = {"hidden_size": model.hidden_size, "layers": group.layers}
    return inherited | group.shape | outer


def _as_number(figure: Figure) -> float | None:
    if isinstance(figure.value, str):
        return float(layer_kinds.DTYPE_BYTES[figure.value])
    return None if figure.value is None else float(figure.value)


def _written(
    kind: layer_kinds.LayerKind, names: tuple[str, ...], figures: Mapping[str, Figure]
) -> list[str]:
    """The names as the entry writes them: ``key_dim`` may have been written as ``head_dim``."""
    short = {long: s for s, longs in kind.stands_for.items() for long in longs}
    return [n for one in names if (n := one if one in figures else short.get(one, "")) in figures]


def _only(kind: layer_kinds.LayerKind, rule: str, figures: Mapping[str, Figure]) -> Key:
    names = _written(kind, layer_kinds.names_in(rule), figures)
    return (names[0],) if len(names) == 1 else ()


def _derived(
    name: str,
    unit: str,
    kind: layer_kinds.LayerKind,
    shape: Mapping[str, float],
    used: list[Figure],
    span: Span,
) -> Fact:
    rule = kind.rule(name)
    source = tuple(dict.fromkeys(one for figure in used for one in figure.source))
    if any(n not in shape for n in layer_kinds.names_in(rule)):
        return Fact(None, unit, source, "", "", span)
    value = kind.value(name, shape)
    if rule.isidentifier() and len(used) == 1:
        return Fact(value, unit, source, used[0].confidence or "", used[0].note, span)
    note = rule or "no such part in a layer of this kind"
    return Fact(value, unit, source, _confidence(used), note, span)
