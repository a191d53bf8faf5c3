"""Typed trees to numpy: one compiled function per formula, in a fast and a safe form.

The fast form is plain numpy with numpy told to raise on overflow, division by zero and invalid
operands, so that a finished result is finite without being looked at. Where an operand already
holds failures, or the fast form raises, the safe form runs: failures are NaN, flags 0, 1, NaN.

Shapes: a plan value is a 0-d array, a case column ``(cases,)``, a layer-group column
``(slots, cases)``, a stage column ``(stages, 1, cases)``, layer groups of stages
``(stages, slots, cases)``. Choices are codes into the declared words; places
of layers are texts, None where they are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.expr.functions import FUNCTIONS, GUARD, Argument, fill
from planner.expr.tree import Call, Name, Node, Number, Text, names

Array = NDArray[Any]
_NAN = np.float64(np.nan)


@dataclass(frozen=True, slots=True)
class ArrayFormula:
    """A formula ready to run: the names it takes and its two forms."""

    names: tuple[str, ...]
    flag: bool
    fast: Callable[..., Any]
    safe: Callable[..., Any]

    def run(
        self, column: Callable[[str], Array], failed: Callable[[str], bool]
    ) -> tuple[Array, bool]:
        """The result and whether it holds failures. ``column`` gives operands by name."""
        args = [column(name) for name in self.names]
        if not any(failed(name) for name in self.names):
            try:
                with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
                    return np.asarray(self.fast(*args)), False
            except FloatingPointError:
                pass
        with np.errstate(all="ignore"):
            floats = [a if a.dtype in (np.float64, object) else a.astype(np.float64) for a in args]
            result = np.asarray(self.safe(*floats), dtype=np.float64)
        failures = bool(np.isnan(result).any())
        return (result if failures or not self.flag else result != 0), failures


def compile_arrays(tree: Node, flag: bool = False) -> ArrayFormula:
    """Compile one typed tree; ``flag`` says that it gives true or false."""
    parameters = names(tree)
    local = {name: f"v{i}" for i, name in enumerate(parameters)}
    head = ", ".join(local.values())
    fast = eval(f"lambda {head}: {_source(tree, local, 'fast')}", dict(_FAST))
    safe = eval(f"lambda {head}: {_source(tree, local, 'safe')}", dict(_SAFE))
    return ArrayFormula(tuple(parameters), flag, fast, safe)


def _source(node: Node, local: Mapping[str, str], form: str) -> str:
    """Python source of our own templates; no text of a formula gets in, only local names."""
    match node:
        case Number(value=value):
            return f"np.float64({value!r})"
        case Text(value=word, words=words):
            return f"np.float64({float(words.index(word))!r})"
        case Name(name=name):
            return local[name]
        case Call(function=function, args=args):
            row = FUNCTIONS[function]
            if row.reduces == "variant":
                args = args[1:]
            inner = [Argument(_source(a, local, form), 9) for a in args]
            template = getattr(row, form)
            if row.reduces == "variant":
                template = template.replace("{0}, {1}", "{0}")
            return "(" + fill(template, inner, 9, ", ") + ")"


# ---- the safe forms: failures are NaN, flags 0, 1, NaN ------------------------------------------


def _finite(x: Array) -> Array:
    return np.where(np.isfinite(x), x, _NAN)


def _flag(test: Array, *operands: Array) -> Array:
    bad = np.isnan(operands[0])
    for operand in operands[1:]:
        bad = bad | np.isnan(operand)
    return np.where(bad, _NAN, test)


def _pow(a: Array, b: Array) -> Array:
    return np.power(np.asarray(a, dtype=np.float64), b)


def _safe_pow(a: Array, b: Array) -> Array:
    # numpy says nan**0 is 1 and 1**nan is 1; a failure has to stay one.
    return np.where(np.isnan(a) | np.isnan(b), _NAN, _finite(_pow(a, b)))


def _floor(x: Array) -> Any:
    return np.floor(x + np.abs(x) * GUARD)


def _ceil(x: Array) -> Any:
    return -np.floor(np.abs(x) * GUARD - x)


def _ceildiv(a: Array, b: Array) -> Any:
    return -np.floor(-a / b)


def _round_up_to(a: Array, b: Array) -> Any:
    return _ceildiv(a, b) * b


def _divides(a: Array, b: Array) -> Any:
    return np.floor(b / a) * a == b


def _safe_divides(a: Array, b: Array) -> Array:
    quotient = _finite(b / a)
    return _flag(np.floor(quotient) * a == b, quotient)


def _count_places(places: Array, layers: Array) -> Array:
    """Marks among the first so many characters, by a table of counts for each distinct text."""
    texts = places.ravel().tolist()
    row = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    # Marks sort before digits and letters: a number or another word is unknown.
    known = {text for text in row if text is not None and text[:1] < "0"}
    longest = max(map(len, known), default=0)
    counts = np.full((len(row), longest + 1), _NAN)
    for text in known:
        taken = np.cumsum([mark != "." for mark in text])
        counts[row[text], : len(text) + 1] = [0, *taken]
        counts[row[text], len(text) + 1 :] = counts[row[text], len(text)]
    rows = np.array([row[text] for text in texts], dtype=np.intp).reshape(places.shape)
    unknown = ~(layers >= 0)
    upto = np.where(unknown, 0, np.minimum(layers, longest)).astype(np.intp)
    return np.where(unknown, _NAN, counts[rows, upto])


def _fast_count_places(places: Array, layers: Array) -> Array:
    found = _count_places(places, layers)
    if np.isnan(found).any():
        raise FloatingPointError
    return found


def _refuse_unknown() -> Array:
    raise FloatingPointError  # a certain failure: the safe form gives it


def _reduced(function: Any, x: Array) -> Any:
    """Over the slots of each stage, over the stages, or over axis 0 of all other columns."""
    if x.ndim < 3:
        return function.reduce(x, axis=0)
    if x.shape[1] > 1:
        return function.reduce(x, axis=1, keepdims=True)
    return function.reduce(x, axis=0)[0]


def _count_of(x: Array) -> Any:
    return _reduced(np.add, x.astype(np.float64))


def _over(function: Any) -> Callable[[Array], Array]:
    return lambda x: _reduced(function, x)


def _first_of(x: Array) -> Any:
    return x[:, :1] if x.ndim == 3 and x.shape[1] > 1 else x[0][0] if x.ndim == 3 else x[0]


def _safe_any(x: Array) -> Array:
    bad = _reduced(np.logical_or, np.isnan(x))
    return np.where(bad, _NAN, _reduced(np.logical_or, x > 0))


def _safe_all(x: Array) -> Array:
    bad = _reduced(np.logical_or, np.isnan(x))
    return np.where(bad, _NAN, _reduced(np.logical_and, x > 0))


_SHARED: dict[str, Any] = {
    "np": np, "_pow": _pow, "_floor": _floor, "_ceil": _ceil, "_whole_down": _floor,
    "_whole_up": _ceil, "_ceildiv": _ceildiv, "_round_up_to": _round_up_to, "_divides": _divides,
    "_count_places": _fast_count_places,
    "_known": lambda x: np.ones(np.shape(x), dtype=bool), "_first_known": lambda a, b: a,
    "_unknown": _refuse_unknown, "_sum_of": _over(np.add), "_count_of": _count_of,
    "_min_of": _over(np.minimum), "_max_of": _over(np.maximum), "_first_of": _first_of,
    "_all_of": _over(np.logical_and), "_any_of": _over(np.logical_or),
}  # fmt: skip

_SAFE_FORMS: dict[str, Any] = {
    "_add": lambda a, b: _finite(a + b),
    "_sub": lambda a, b: _finite(a - b),
    "_mul": lambda a, b: _finite(a * b),
    "_div": lambda a, b: _finite(a / b),
    "_lt": lambda a, b: _flag(a < b, a, b),
    "_le": lambda a, b: _flag(a <= b, a, b),
    "_gt": lambda a, b: _flag(a > b, a, b),
    "_ge": lambda a, b: _flag(a >= b, a, b),
    "_eq": lambda a, b: _flag(a == b, a, b),
    "_ne": lambda a, b: _flag(a != b, a, b),
    "_and": lambda a, b: a * b,
    "_or": lambda a, b: 1.0 - (1.0 - a) * (1.0 - b),
    "_not": lambda a: 1.0 - a,
    "_if": lambda c, a, b: np.where(np.isnan(c), _NAN, np.where(c != 0, a, b)),
    "_pow": _safe_pow,
    "_min": np.minimum,
    "_max": np.maximum,
    "_abs": np.abs,
    "_floor": lambda a: _finite(_floor(a)),
    "_ceil": lambda a: _finite(_ceil(a)),
    "_whole_down": lambda a: _finite(_floor(a)),
    "_whole_up": lambda a: _finite(_ceil(a)),
    "_sum_of": lambda x: _finite(_reduced(np.add, x)),
    "_sqrt": np.sqrt,
    "_exp": lambda a: _finite(np.exp(a)),
    "_ln": lambda a: _finite(np.log(a)),
    "_floordiv": lambda a, b: np.floor(_finite(a / b)),
    "_ceildiv": lambda a, b: -np.floor(_finite(-a / b)),
    "_round_up_to": lambda a, b: -np.floor(_finite(-a / b)) * b,
    "_divides": _safe_divides,
    "_known": lambda x: np.where(np.isnan(x), 0.0, 1.0),
    "_first_known": lambda a, b: np.where(np.isnan(a), b, a),
    "_count_places": _count_places,
    "_unknown": lambda: _NAN,
    "_all_of": _safe_all,
    "_any_of": _safe_any,
}


def _with_variants(forms: dict[str, Any]) -> dict[str, Any]:
    """A reduction over variants is the same one: variant columns are ``(variants, cases)``."""
    over = {f"{n[:-3]}_over": f for n, f in forms.items() if n.endswith("_of")}
    return {**forms, **over}


_FAST = _with_variants(_SHARED)
_SAFE = _with_variants(_SHARED | _SAFE_FORMS)
