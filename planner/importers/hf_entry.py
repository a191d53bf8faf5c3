"""The text of a catalog entry: every figure with its unit, and with where it came from."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from planner.errors import InputError, Problem, Span
from planner.importers.counts import Counts, draft_layers
from planner.importers.hf_config import HfConfig
from planner.importers.hf_formats import Chosen, quoted
from planner.importers.hf_layers import Group, depth, place_of
from planner.importers.hf_quant import Quantization
from planner.importers.hf_rotary import deepstack_levels, rotary_width
from planner.importers.hf_shapes import DERIVED, ENGINE, TRANSFORMERS, Given, given, whole
from planner.places import written

_UNITS = {
    "window": " tokens", "chunk": " tokens", "index_topk": " tokens", "read_limit": " tokens",
    "tokens": " tokens", "block": " tokens", "key_bytes": " B",
}  # fmt: skip
_COMMENT_AT = 44


@dataclass(frozen=True, slots=True)
class Named:
    """What a configuration does not say: how the model is called, and by whom.

    ``source``: title and address of the configuration, as the entry names it.
    """

    id: str
    label: str
    vendor: str = "unknown"
    hf_id: str = ""
    source: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that an entry is written from.

    ``feed_forward``: numbers of the layers with routed experts, and of those with a dense network;
    None where the layers were not counted one by one.
    """

    config: HfConfig
    named: Named
    groups: tuple[Group, ...]
    counts: Counts
    quantization: Quantization
    chosen: Chosen
    level: str = "single_method"
    level_note: str = ""
    notes: tuple[str, ...] = field(default=())
    feed_forward: tuple[tuple[int, ...], tuple[int, ...]] | None = None


def slug(text: str) -> str:
    """An id from a name: small letters, digits, '.' and '-'.

    Raises:
        InputError: nothing of it may stand in an id.
    """
    found = re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60]
    if not re.search("[a-z]", found):
        raise InputError(Problem(Span("--id"), "", "a name with a letter", f"'{text[:60]}'"))
    return found


def entry_text(parts: Parts) -> str:
    """The YAML of a model entry; the same parts give the same bytes."""
    blocks = [_head(parts), _sizes(parts), _params(parts), _groups(parts), _checked(parts)]
    used = {name for block in blocks for line in block for name in _sources_in(line)}
    return "\n\n".join("\n".join(block) for block in [*blocks, _sources(parts, used)]) + "\n"


def _sources_in(line: str) -> Iterator[str]:
    yield from re.findall(r"source: (transformers|engine|counted|files)\b", line)


# ---- blocks -----------------------------------------------------------------------------------


def _head(parts: Parts) -> list[str]:
    named, family = parts.named, parts.config.family
    lines = [f"id: {named.id}", f"label: {_plain(named.label)}"]
    if named.hf_id:
        lines.append(f"hf_id: {_plain(named.hf_id)}")
    lines += [f"family: {family.line}", f"vendor: {_plain(named.vendor)}"]
    if parts.notes:
        lines.append(f"note: {quoted(' '.join(_sentence(note) for note in parts.notes))}")
    lines.append("config_source: {kind: full, source: default}")
    quantization = parts.quantization
    why = f"{quantization.place}: {quantization.method}" if quantization.method else "dtype"
    lines.append(_commented(f"weight_format: {parts.chosen.id}", why))
    return lines


def _sizes(parts: Parts) -> list[str]:
    config, counts = parts.config, parts.counts
    figures: dict[str, tuple[Given, str]] = {
        "layers": (_depth(config), ""),
        "hidden_size": (whole(config, "hidden_size"), ""),
        "vocab_size": (whole(config, "vocab_size"), ""),
        "q_heads": (_q_heads(parts), ""),
        "max_context": (_longest(config), " tokens"),
    }
    loaded = {
        "rotary_width": rotary_width(config, parts.groups),
        "deepstack_levels": deepstack_levels(config),
    }
    figures |= {name: (value, "") for name, value in loaded.items() if value is not None}
    if counts.experts:
        figures["experts"] = (whole(config, "num_experts"), "")
        figures["experts_per_token"] = (_chosen_experts(config), "")
    lines = [_figure(name, value, unit) for name, (value, unit) in figures.items()]
    return [*lines, *_feed_forward(parts), _figure("tied_embedding", _tied(parts))]


def _feed_forward(parts: Parts) -> list[str]:
    """Where experts stand, and where dense networks do unless that is in all other layers."""
    moe, dense = parts.feed_forward or ((), ())
    layers = depth(parts.config)
    lines = []
    place = place_of(moe, layers) if moe else None
    if place is not None and place.run == 1:
        lines = [f"moe_first: {place.first}", f"moe_period: {place.period}"]
    elif moe:
        lines = [f"moe_places: [{written(moe)}]"]
    rest = tuple(layer for layer in range(layers) if layer not in moe)
    if dense and dense != (rest or tuple(range(layers))):
        lines.append(f"dense_places: [{written(dense)}]")
    return lines


def _depth(config: HfConfig) -> Given:
    layers = depth(config)
    key = "num_decoder_layers" if config.family.name == "t5" else "num_hidden_layers"
    if config.get(key) is not None:
        return whole(config, key)
    if config.get("num_hidden_layers") is not None:
        return whole(config, "num_hidden_layers")
    return Given(layers, DERIVED, "number of blocks in the pattern of layers")


def _q_heads(parts: Parts) -> Given:
    config = parts.config
    if config.get("num_attention_heads") is not None:
        return whole(config, "num_attention_heads")
    heads = {int(g.shape["q_heads"].value or 0) for g in parts.groups if "q_heads" in g.shape}
    if heads:
        why = f"the largest number that divides the query heads of every layer, {sorted(heads)}"
        return Given(math.gcd(*heads), DERIVED, why)
    sizes = {int(g.shape["inner_size"].value or 0) for g in parts.groups if "inner_size" in g.shape}
    return Given(math.gcd(*sizes), DERIVED, "no attention: the channels that can be shared out")


def _longest(config: HfConfig) -> Given:
    if config.get("max_position_embeddings") is None:
        return Given(None, DERIVED, "the configuration names no longest context")
    if config.model_type in ("roberta", "xlm-roberta"):
        places, padding = (
            config.whole("max_position_embeddings"),
            config.whole_or("pad_token_id", 1),
        )
        why = "max_position_embeddings less pad_token_id and one: places are counted from there"
        return Given(max(0, places - padding - 1), DERIVED, why)
    return whole(config, "max_position_embeddings")


def _chosen_experts(config: HfConfig) -> Given:
    """Experts of one token; some configurations repeat the figure for each layer."""
    value = config.require("num_experts_per_tok")
    if isinstance(value, list):
        alike = bool(value) and all(type(one) is int and one == value[0] for one in value)
        if not alike:
            config.refuse("num_experts_per_tok", "the same number for all layers", "another list")
        return given(config, "num_experts_per_tok", value[0])
    return whole(config, "num_experts_per_tok")


def _tied(parts: Parts) -> Given:
    config, head = parts.config, parts.counts.lm_head
    said = config.get("tie_word_embeddings")
    if isinstance(said, bool) and not (said and head):
        return given(config, "tie_word_embeddings", said)
    return Given(not head, DERIVED, "as the architecture has it")


def _params(parts: Parts) -> list[str]:
    counts = parts.counts
    lines = ["params:"]
    unknown = bool(counts.uncounted)
    total = "null" if unknown else f"{counts.total} params"
    lines.append(f"  total: {{value: {total}, source: counted}}")
    for name, number in counts.parts().items():
        if name == "vision" and unknown:
            lines.append("  vision: {value: null, source: counted}")
        elif number or name == "embedding":
            lines.append(f"  {name}: {{value: {number} params, source: counted}}")
    if counts.mtp:
        lines.append(f"  mtp: {{value: {counts.mtp} params, source: counted}}")
    return lines


def _groups(parts: Parts) -> list[str]:
    lines = ["layer_groups:"]
    heads = _q_heads(parts).value
    of_modules = draft_layers(parts.config)
    for group in parts.groups:
        lines.append(f"  - kind: {group.kind}")
        lines.append(f"    layers: {group.layers}")
        if group.shared:
            why = "layers that read the cache of an earlier one"
            lines.append(_commented(f"    shared_layers: {group.shared}", why))
        if number := of_modules.pop(group.kind, 0):
            lines.append(_commented(f"    mtp_layers: {number}", "of the MTP module"))
        for name, value in group.shape.items():
            if name != "q_heads" or value.value != heads:
                lines.append(_figure(name, value, _UNITS.get(name, ""), "    "))
        if group.place is None:
            lines.append(f"    places: [{written(group.indices)}]")
        else:
            for name in ("first", "period", "run"):
                lines.append(f"    {name}: {getattr(group.place, name)}")
    return lines


def _checked(parts: Parts) -> list[str]:
    lines = ["verification:", f"  level: {parts.level}"]
    if parts.level != "single_method":
        lines.append("  source: files")
    if parts.level_note:
        lines.append(f"  note: {quoted(_sentence(parts.level_note))}")
    return lines


def _sources(parts: Parts, used: Iterable[str]) -> list[str]:
    named, names = parts.named, set(used)
    title = named.source or f"{parts.config.file.name} as it was given"
    lines = ["sources:", "  default:", f"    title: {quoted(title)}"]
    if named.url:
        lines.append(f"    url: {named.url}")
    lines.append("    confidence: config")
    for name, (text, url, confidence) in _SOURCES.items():
        if name in names:
            lines += [f"  {name}:", f"    title: {quoted(text)}"]
            lines += [f"    url: {url}"] if url else []
            lines.append(f"    confidence: {confidence}")
    return lines


_SOURCES: Mapping[str, tuple[str, str, str]] = {
    "counted": ("Parameters counted from the published shapes", "", "derived"),
    "files": ("Headers of the safetensors files beside the configuration", "", "config"),
    "transformers": (
        "transformers 5.24.0, fixed defaults of the configuration class",
        "https://github.com/huggingface/transformers/tree/v5.24.0",
        "third party",
    ),
    "engine": (
        "vLLM 0.33.0, default dtypes of caches and states",
        "https://github.com/vllm-project/vllm/tree/4ba787ec9",
        "third party",
    ),
}


# ---- lines ------------------------------------------------------------------------------------


def _figure(name: str, value: Given, unit: str = "", indent: str = "") -> str:
    """One figure: plainly with a comment where the file gives it, in full otherwise."""
    text = _value(value.value, unit)
    if value.origin == TRANSFORMERS:
        return _commented(f"{indent}{name}: {{value: {text}, source: transformers}}", value.why)
    if value.origin == ENGINE:
        return f"{indent}{name}: {{value: {text}, source: engine, note: {quoted(value.why)}}}"
    if value.origin == DERIVED:
        return f"{indent}{name}: {{value: {text}, confidence: derived, note: {quoted(value.why)}}}"
    return _commented(f"{indent}{name}: {text}", value.why)


def _value(value: int | bool | str | None, unit: str) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value}{unit}"


def _commented(line: str, why: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in why)
    return f"{line:<{_COMMENT_AT}}  # {clean}"


def _plain(text: str) -> str:
    """A text without quotes where YAML reads it as that text, in quotes otherwise."""
    safe = re.fullmatch(r"[A-Za-z][A-Za-z0-9 ._/+-]*", text) and text.strip() == text
    words = ("true", "false", "null", "yes", "no", "on", "off")
    return text if safe and text.lower() not in words else quoted(text)


def _sentence(text: str) -> str:
    start = text[:1].upper() + text[1:]
    return start if start.endswith(".") else f"{start}."
