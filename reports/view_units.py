"""Units for people, kinds of numbers, digits of columns, and names for machines."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from planner.expr.check import Type
from planner.metrics import Metric, MetricSet
from planner.units import Unit, parse_unit
from reports import numbers
from reports.view_grid import (
    Kind,
    Value,
)

# Words for the names in a unit text: above the line a plural, below it a singular.
_PLURALS = {
    "byte": "bytes", "token": "tokens", "request": "requests", "block": "blocks", "gpu": "GPUs",
    "param": "weights", "Mparam": "million weights", "Gparam": "billion weights", "usd": "USD",
    "flop": "FLOP", "h": "hours",
}  # fmt: skip
_SINGULARS = {"gpu": "GPU", "param": "weight", "usd": "USD", "flop": "FLOP", "h": "hour"}
_POWERS = {"2": "²", "3": "³"}

# Inputs carry no display unit of their own; these read well. Marketed memory is sold in decimal GB.
_INPUT_DISPLAY = {
    "byte/gpu": "GiB/gpu", "byte/s/gpu": "TB/s/gpu", "flop/s/gpu": "TFLOP/s/gpu",
    "flop*request/token": "flop*request/token",
}  # fmt: skip
_INPUT_BY_NAME = {"memory_marketed": "GB/gpu"}
# A built-in metric that declares no display unit is shown in these.
_METRIC_DISPLAY = {
    "byte/token": "KiB/token", "byte/token/gpu": "KiB/token/gpu", "byte/request": "MiB/request",
    "byte/request/gpu": "GiB/request/gpu", "param": "Gparam",
    "flop*request/token^2": "kFLOP*request/token^2", "flop/token": "GFLOP/token",
}  # fmt: skip

_MOST_EXTRA = 2
_NEGLIGIBLE = 1e-3


def unit_words(text: str) -> str:
    """A unit text as people read it: ``token/request`` as ``tokens/request``; pure numbers bare."""
    if text in ("1", "x", "%", ""):
        return ""
    parts = re.split(r"([*/])", text)
    above = [_unit_word(parts[0], _PLURALS)]
    for sign, name in zip(parts[1::2], parts[2::2], strict=True):
        word = _unit_word(name, _SINGULARS if sign == "/" else _PLURALS)
        above.append(("·" if sign == "*" else "/") + word)
    words = "".join(above)
    return "per " + words[2:].replace("/", " and ") if words.startswith("1/") else words


def _unit_word(name: str, words: dict[str, str]) -> str:
    base, _, power = name.partition("^")
    return words.get(base, base) + _POWERS.get(power, f"^{power}" if power else "")


def machine_name(name: str, unit: str) -> str:
    """A column name that carries its unit: ``kv_pool`` in GiB/gpu is ``kv_pool_GiB_per_gpu``."""
    if unit == "1":
        return name
    return name + "_" + unit.replace("/", "_per_").replace("*", "_").replace("^", "")


def metric_display(metric: Metric) -> tuple[float, str, str, Kind]:
    """Factor to the display unit, unit words, machine unit, and kind of a metric's values."""
    unit = metric.display
    if not metric.origin and metric.entry.display is None and unit.factor == 1:
        unit = parse_unit(_METRIC_DISPLAY.get(unit.text, unit.text))
    return _display(metric.type, unit)


def with_unit(text: str, unit: str) -> str:
    """A number with its unit, the singular after 1: ``1 request``, ``32 requests``."""
    if text == "1":
        head, slash, rest = unit.partition("/")
        one = {words: _SINGULARS.get(name, name) for name, words in _PLURALS.items()}
        unit = one.get(head, head) + slash + rest
    return f"{text} {unit}".strip()


def input_display(metrics: MetricSet, name: str) -> tuple[float, str, str, Kind]:
    """The same for an input or a constant."""
    base = metrics.unit_of(name)
    text = _INPUT_BY_NAME.get(name) or _INPUT_DISPLAY.get(base) or _as_written(metrics, name, base)
    return _display(metrics.type_of(name), parse_unit(text))


def _as_written(metrics: MetricSet, name: str, base: str) -> str:
    """The unit in which people write an own input, such as ``ms`` or ``usd/gpu/h``."""
    written = parse_unit(metrics.written_unit(name))
    same = written.dimension == parse_unit(base).dimension
    return written.text if same and written.factor != 1 else base


def _display(kind: Type, unit: Unit) -> tuple[float, str, str, Kind]:
    if kind.kind in ("choice", "places"):
        return 1.0, "", "1", "word"
    if kind.kind == "flag":
        return 1.0, "", "1", "flag"
    if unit.text == "x":
        return 1.0, "", "1", "ratio"
    if unit.text == "%":
        return 1.0, "", "1", "share"
    factor = float(unit.factor)
    whole = kind.whole and factor == 1
    shown: Kind = ("bytes" if unit.text == "byte" else "count") if whole else "figure"
    return factor, unit_words(unit.text), unit.text, shown


def column_decimals(values: Iterable[Value], kind: Kind) -> int:
    """Digits after the point of a column.

    As ``numbers.decimals_for``, and up to two where they let the smallest value that matters show
    four digits: next to 148.41 GiB a reader wants 15.26, not 15.
    """
    if kind == "word" or kind == "flag" or kind == "count" or kind == "bytes":
        return 0
    known = {v for v in values if isinstance(v, float | int) and not isinstance(v, bool)}
    places = numbers.decimals_for(known, kind)
    sizes = [abs(v) for v in known if v]
    if kind != "figure" or not sizes or all(v == int(v) for v in sizes):
        return places
    smallest = min(v for v in sizes if v >= max(sizes) * _NEGLIGIBLE)
    wanted = 3 - math.floor(math.log10(smallest))
    return max(places, min(_MOST_EXTRA, wanted))


DIRECTION_MARKS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str) -> str:
    """One line of foreign text without control characters or marks that turn its neighbours."""
    kept = []
    for character in str(text):
        category = unicodedata.category(character)
        if character in "\t\n\r" or category in ("Zl", "Zp"):
            kept.append(" ")
        elif category in ("Cc", "Cs") or character in DIRECTION_MARKS:
            kept.append("\ufffd")
        else:
            kept.append(character)
    return " ".join("".join(kept).split())


def place_words(where: str) -> str:
    """A place in a file without the folders before it: nobody's disk belongs in a report."""
    head, space, rest = where.partition(" ")
    if space or ":" not in head:
        return clean(where)
    return clean(PurePosixPath(head.replace("\\", "/")).name + rest)
