"""The weight format of an imported model: one of the catalog, or one of its own.

A shipped format has one width for linear layers, one for experts and one for what stays wide. A
checkpoint that mixes widths within one of these gets a format of its own, with the mean width of
its parts weighted by their parameters, so that its bytes are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from planner.importers.counts_bytes import width
from planner.importers.hf_quant import Quantization

_COMPUTE = {"fp8": "fp8", "fp8-block": "fp8", "mxfp8": "fp8", "int8": "int8", "nvfp4": "fp4"}
WIDE = ("bf16", "fp16", "fp32")
_LINEAR = ("attention", "state", "mlp", "shared")
_KEPT = ("embedding", "lm_head", "vision", "router", "norm")

# Widths of linear layers and experts, and the shipped format that has them; * is 16 bit.
_SHIPPED: Mapping[tuple[str, str], str] = {
    ("fp8-block", "fp8-block"): "fp8",
    ("fp8", "fp8"): "fp8-tensor",
    ("fp8-block", "mxfp4"): "fp8-mxfp4-experts",
    ("int4-g128", "int4-g128"): "int4",
    ("int4-g32", "int4-g32"): "int4-g32",
    ("*", "int4-g32"): "int4-g32-experts",
    ("int8", "int8"): "int8",
    ("nvfp4", "nvfp4"): "nvfp4",
    ("*", "mxfp4"): "mxfp4",
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The id of a weight format, and the text of one that the catalog does not have yet."""

    id: str
    text: str = ""
    kept: tuple[str, ...] = ()


def choose(
    quantization: Quantization, parts: Mapping[str, int], wide: str, model: tuple[str, str]
) -> Chosen:
    """The weight format of a model with these parts; ``model``: its id and label."""
    stored = dict(quantization.stored)
    widths = {part: stored.get(part, wide) for part in (*_LINEAR, "experts", *_KEPT)}
    held = {part: widths[part] for part in widths if parts.get(part)}
    kept = tuple(part for part in held if held[part] in WIDE)
    if all(word == wide for word in held.values()):
        return Chosen(wide, kept=kept)
    shipped = _shipped(held, wide)
    if shipped:
        return Chosen(shipped, kept=kept)
    return Chosen(f"{model[0][:52]}-weights", _own(held, parts, model, wide), kept)


def _shipped(held: Mapping[str, str], wide: str) -> str:
    if any(held[part] != wide for part in _KEPT if part in held) or wide == "fp32":
        return ""
    linear = {held[part] for part in _LINEAR if part in held}
    if len(linear) != 1:
        return ""
    word = "*" if linear == {wide} else linear.pop()
    return _SHIPPED.get((word, held.get("experts", word)), "")


def _own(
    held: Mapping[str, str], parts: Mapping[str, int], model: tuple[str, str], wide: str
) -> str:
    name, label = model
    linear = _mean([p for p in _LINEAR if p in held], held, parts)
    expert = _mean(["experts"] if "experts" in held else [], held, parts) or linear
    kept = _mean([p for p in _KEPT if p in held], held, parts) or (width(wide).both, wide)
    lines = [
        f"id: {name[:52]}-weights",
        f"label: {quoted(f'Weights of {label} as published')}",
        f"note: {quoted('Each width is the mean of its parts, weighted by their parameters.')}",
        "weight:",
        *(
            f"  {key}: {{value: {_number(value)} B, note: {quoted(note)}}}"
            for key, (value, note) in (
                ("linear", linear or expert or kept), ("expert", expert or kept), ("kept", kept),
            )
        ),
        f"  compute_dtype: {_compute(held, parts)}",
        "sources:",
        "  default:",
        f"    title: {quoted(f'Widths of the number formats that {label} is stored in')}",
        "    confidence: derived",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _mean(
    names: list[str], held: Mapping[str, str], parts: Mapping[str, int]
) -> tuple[Fraction, str] | None:
    total = sum(parts[name] for name in names)
    if not total:
        return None
    held_bytes = sum((parts[name] * width(held[name]).both for name in names), Fraction(0))
    mean = held_bytes / total
    words = {held[name] for name in names}
    if len(words) == 1:
        return mean, f"{words.pop()}, scales included"
    return mean, ", ".join(f"{name} {held[name]}" for name in names)


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def _compute(held: Mapping[str, str], parts: Mapping[str, int]) -> str:
    """The number format of the largest part."""
    largest = max((p for p in held if p in (*_LINEAR, "experts")), key=lambda p: parts[p])
    return _COMPUTE.get(held[largest], "bf16")


def quoted(text: str) -> str:
    """A text as a YAML scalar in single quotes."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    return "'" + clean.replace("'", "''") + "'"
