"""How a checkpoint stores its weights: from ``quantization_config`` to a width for each part.

Methods that are not known are refused with what was read, and so are shapes of known ones that
no rule covers; nothing is taken for the nearest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.errors import one_of
from planner.figures import shown
from planner.importers.hf_config import HfConfig
from planner.importers.hf_layers import STATES, depth, layers_at
from planner.importers.hf_modules import (
    Matcher,
    by_expression,
    by_glob,
    by_segments,
    modules,
    names,
)
from planner.yamlfile import path_text

QUANTISED = ("attention", "state", "mlp", "shared", "experts", "lm_head")
_FLOAT8, _INT8 = "fp8", "int8"


@dataclass(frozen=True, slots=True)
class Rule:
    """The modules that one width applies to; ``head``: it may take the output head too."""

    word: str
    covers: Matcher
    head: bool = False


@dataclass(frozen=True, slots=True)
class Scheme:
    """What a method does: widths by module, what it leaves out, the KV cache beside it."""

    method: str
    rules: Sequence[Rule]
    ignores: Matcher = lambda name: False
    kv: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quantization:
    """Width of each part of a model, such as ``fp8-block`` or ``int4-g32``.

    ``stored`` has an item for every part that the model has; ``kv_format`` is empty where the file
    says nothing of the KV cache. ``place`` is where it was read.
    """

    method: str
    stored: Mapping[str, str]
    kv_format: str = ""
    place: str = ""
    notes: tuple[str, ...] = ()


def quantization(
    config: HfConfig,
    parts: Mapping[str, int],
    wide: str,
    beside: HfConfig | None = None,
) -> Quantization:
    """The widths of all parts that a model has.

    Args:
        config: the configuration.
        parts: parameters by component; those with none are left out.
        wide: dtype of what is not quantised.
        beside: a file such as ``hf_quant_config.json``, where the configuration has no section.

    Raises:
        InputError: a method, or a shape of a known one, that no rule covers.
    """
    here = [name for name in QUANTISED if parts.get(name)]
    section = config.section("quantization_config") or config.section("compression_config")
    section = section or beside
    if section is None:
        return Quantization("", dict.fromkeys(here, wide))
    scheme = _scheme(section, config)
    stored, notes = {}, list(scheme.notes)
    for part in here:
        known = modules(config, part, _layers(config, part, bool(parts.get("experts"))))
        words = Counter(_width(scheme, aliases, part, wide) for aliases in known)
        stored[part] = words.most_common(1)[0][0]
        if len(words) > 1:
            shares = ", ".join(f"{word} {n}" for word, n in sorted(words.items()))
            notes.append(f"{part}: not all matrices are alike ({shares}); the most frequent counts")
    place = path_text(section.sections[0]) or section.file.name
    return Quantization(scheme.method, stored, scheme.kv, place, tuple(notes))


def _layers(config: HfConfig, part: str, routed: bool) -> list[int]:
    """The layers that have a part; all where it cannot be told, since names decide as well."""
    everything = range(depth(config))
    if part in ("attention", "state"):
        held = [{layer.kind in STATES for layer in layers_at(config, i)} for i in everything]
        return [i for i in everything if (part == "state") in held[i]]
    dense = config.get("first_k_dense_replace")
    if not routed or not isinstance(dense, int) or not dense:
        return list(everything)
    return [i for i in everything if (i < dense) == (part == "mlp")]


def _width(scheme: Scheme, aliases: tuple[str, ...], part: str, wide: str) -> str:
    if any(scheme.ignores(name) for name in aliases):
        return wide
    for rule in scheme.rules:
        if part == "lm_head" and not rule.head:
            continue
        if any(rule.covers(name) for name in aliases):
            return rule.word
    return wide


def _everything(name: str) -> bool:
    return True


def _scheme(section: HfConfig, config: HfConfig) -> Scheme:
    method = section.get("quant_method")
    if method is None and section.section("quantization") is not None:
        method = "modelopt"
    known = _METHODS.get(str(method).lower())
    if known is None:
        read = ", ".join(sorted(str(key) for key in _mapping(section))[:20])
        section.refuse(
            "quant_method", one_of(_METHODS, 20),
            "no such key" if method is None else f"'{method}'", f"the section holds {read}",
        )  # fmt: skip
    return known(section, config)


def _mapping(section: HfConfig) -> Mapping[str, Any]:
    data: Any = section.file.data
    for key in section.sections[0]:
        data = data[key]
    return dict(data)


# ---- methods ----------------------------------------------------------------------------------


def _fp8(section: HfConfig, config: HfConfig) -> Scheme:
    word = _FLOAT8
    block = section.get("weight_block_size")
    if block is not None:
        if block != [128, 128]:
            section.refuse("weight_block_size", "[128, 128] or nothing", f"{block}")
        word = "fp8-block"
    rules = [Rule(word, _everything)]
    if config.get("expert_dtype") == "fp4":
        rules.insert(0, Rule("mxfp4", by_segments(["experts"])))
    elif config.get("expert_dtype") is not None:
        config.refuse("expert_dtype", "fp4 or nothing", f"'{config.get('expert_dtype')}'")
    return Scheme("fp8", rules, by_segments(_left_out(section)))


def _left_out(section: HfConfig) -> list[str]:
    keys = ("modules_to_not_convert", "ignored_layers", "exclude_modules")
    return [name for key in keys for name in names(section, key)]


def _mxfp4(section: HfConfig, config: HfConfig) -> Scheme:
    return Scheme("mxfp4", [Rule("mxfp4", by_segments(["experts"]))])


def _awq(section: HfConfig, config: HfConfig) -> Scheme:
    return Scheme("awq", [Rule(_integers(section), _everything)], by_segments(_left_out(section)))


def _gptq(section: HfConfig, config: HfConfig) -> Scheme:
    ignored = _left_out(section)
    dynamic = section.get("dynamic") or {}
    if not isinstance(dynamic, dict):
        section.refuse("dynamic", "a mapping of expressions", shown(dynamic))
    for name in dynamic:
        if not str(name).startswith("-:"):
            section.refuse("dynamic", "expressions that leave modules out (-:)", f"'{name}'")
    skipped = by_expression(
        section, "dynamic", [f"re:{str(name).removeprefix('-:')}" for name in dynamic]
    )
    listed = by_segments(ignored)
    rule = Rule(_integers(section), _everything, head=section.flag("lm_head"))
    return Scheme("gptq", [rule], lambda name: listed(name) or skipped(name))


def _integers(section: HfConfig) -> str:
    bits = section.get("bits") if section.get("bits") is not None else section.get("w_bit")
    group = section.get("group_size")
    group = section.get("q_group_size") if group is None else group
    if bits == 8 and group in (-1, None):
        return _INT8
    if bits == 4:
        return _int4(section, group)
    return section.refuse("bits", "4, or 8 without groups", f"{shown(bits)}, groups of {group}")


def _int4(section: HfConfig, group: Any) -> str:
    if group in (-1, None):
        return "int4-channel"
    if group not in (32, 64, 128, 256):
        section.refuse("group_size", "32, 64, 128, 256 or -1", shown(group))
    return f"int4-g{group}"


def _compressed_tensors(section: HfConfig, config: HfConfig) -> Scheme:
    groups = section.section("config_groups")
    if groups is None:
        section.refuse("config_groups", "a mapping", "no such key")
    rules = [
        _group_rule(group, section, by_expression)
        for name in _mapping(groups)
        if (group := groups.section(str(name))) is not None
    ]
    ignores = by_expression(section, "ignore", names(section, "ignore"))
    return Scheme("compressed-tensors", rules, ignores, _kv_scheme(section))


def _group_rule(
    group: HfConfig,
    section: HfConfig,
    matcher: Callable[[HfConfig, str, list[str]], Matcher],
) -> Rule:
    targets = names(group, "targets")
    if targets == ["Linear"] or not targets:
        return Rule(_weights(group), _everything)
    return Rule(_weights(group), matcher(group, "targets", targets), "lm_head" in targets)


def _weights(group: HfConfig) -> str:
    """The width that a ``weights`` mapping describes."""
    weights = group.section("weights")
    if weights is None:
        group.refuse("weights", "a mapping", "no such key")
    bits, kind = weights.get("num_bits"), weights.get("type")
    size, strategy = weights.get("group_size"), weights.get("strategy")
    if (bits, kind, size) == (4, "float", 16):
        return "nvfp4"
    if (bits, kind, size) == (4, "float", 32):
        return "mxfp4"
    if (bits, kind, size) == (8, "float", 32):
        return "mxfp8"
    if (bits, kind, strategy) == (8, "float", "block"):
        if weights.get("block_structure") != [128, 128]:
            weights.refuse("block_structure", "[128, 128]", shown(weights.get("block_structure")))
        return "fp8-block"
    if (bits, kind) == (8, "float") and size is None:
        return _FLOAT8
    if (bits, kind) == (8, "int") and size is None:
        return _INT8
    if (bits, kind) == (4, "int"):
        return _int4(weights, size)
    return weights.refuse(
        "num_bits", "weights of 4 or 8 bits in a known layout",
        f"{shown(bits)} bits, type {kind}, strategy {strategy}, groups of {size}",
    )  # fmt: skip


_ALGORITHMS = {
    "FP8": "fp8", "FP8_PER_CHANNEL_PER_TOKEN": "fp8", "FP8_PB_WO": "fp8-block", "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4", "W4A16_NVFP4": "nvfp4", "MXFP4": "mxfp4", "MXFP8": "mxfp8",
}  # fmt: skip


def _modelopt(section: HfConfig, config: HfConfig) -> Scheme:
    inner = section.section("quantization") or section
    ignored = [n for key in ("ignore", "exclude_modules") for n in names(inner, key)]
    globs, segments = by_glob(ignored), by_segments([n for n in ignored if "*" not in n])
    rules = _modelopt_rules(inner)
    kv = _kv_scheme(inner) or _kv_algorithm(inner)
    return Scheme("modelopt", rules, lambda name: globs(name) or segments(name), kv)


def _modelopt_rules(inner: HfConfig) -> list[Rule]:
    groups, algorithm = inner.section("config_groups"), inner.get("quant_algo")
    if groups is not None:
        found = [groups.section(str(name)) for name in _mapping(groups)]
        matcher = _globs
        return [_group_rule(group, inner, matcher) for group in found if group is not None]
    layers = inner.section("quantized_layers")
    if layers is not None:
        by_word: dict[str, list[str]] = {}
        for name in _mapping(layers):
            one = layers.section(name)
            word = _algorithm(inner, one.get("quant_algo") if one else None)
            by_word.setdefault(word, []).append(name)
        return [Rule(word, by_glob(n), "lm_head" in n) for word, n in by_word.items()]
    return [Rule(_algorithm(inner, algorithm), _everything)]


def _globs(config: HfConfig, key: str, patterns: list[str]) -> Matcher:
    return by_glob(patterns)


def _algorithm(inner: HfConfig, algorithm: Any) -> str:
    word = _ALGORITHMS.get(str(algorithm).upper())
    if word is None:
        inner.refuse("quant_algo", one_of(_ALGORITHMS, 20), shown(algorithm))
    return word


# ---- the KV cache -----------------------------------------------------------------------------


def _kv_scheme(section: HfConfig) -> str:
    scheme = section.section("kv_cache_scheme")
    if scheme is None:
        return ""
    bits, kind = scheme.get("num_bits"), scheme.get("type")
    if (bits, kind) == (8, "float"):
        return "fp8"
    if (bits, kind) == (4, "float"):
        return "nvfp4"
    return scheme.refuse("num_bits", "8 or 4 bits of type float", f"{shown(bits)}, type {kind}")


def _kv_algorithm(inner: HfConfig) -> str:
    word = inner.get("kv_cache_quant_algo")
    if word in (None, "", "none", "None"):
        return ""
    if str(word).upper() not in ("FP8", "NVFP4"):
        inner.refuse("kv_cache_quant_algo", "FP8 or NVFP4", shown(word))
    return str(word).lower()


_METHODS: Mapping[str, Callable[[HfConfig, HfConfig], Scheme]] = {
    "fp8": _fp8,
    "fbgemm_fp8": _fp8,
    "mxfp4": _mxfp4,
    "awq": _awq,
    "gptq": _gptq,
    "compressed-tensors": _compressed_tensors,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "modelopt_mixed": _modelopt,
}
