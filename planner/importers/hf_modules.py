"""Which modules of a model a list of names covers: exact names, globs, regular expressions.

Lists come from foreign files: they are matched against a few names of our own, never followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import product

from planner.importers.hf_config import HfConfig

Matcher = Callable[[str], bool]
_MAX_PATTERN = 300
_MAX_PATTERNS = 20_000
# A repeat of a group, which can take time without end; no published list has one.
_REPEATED_GROUP = re.compile(r"\)[*+?{]")
_PREFIXES = ("model", "model.language_model", "language_model.model", "backbone")
_PROJECTIONS = {
    "attention": (
        ("q_proj", "q_b_proj", "qkv_proj"),
        ("k_proj", "kv_b_proj", "qkv_proj"),
        ("o_proj",),
    ),
    "state": (("in_proj_qkv", "in_proj_qkvz", "in_proj", "q_proj"), ("out_proj", "o_proj")),
    "network": (
        ("gate_proj", "gate_up_proj", "w1"),
        ("up_proj", "gate_up_proj", "w3"),
        ("down_proj", "w2"),
    ),
}
_STEMS = {
    "attention": ("self_attn", "attn", "mixer"),
    "mlp": ("mlp", "feed_forward", "mixer"),
    "shared": (
        "mlp.shared_experts", "mlp.shared_expert", "mlp.shared_mlp", "shared_experts",
        "block_sparse_moe.shared_experts", "feed_forward.shared_expert", "mixer.shared_experts",
    ),
    "experts": (
        "mlp.experts.0", "mlp.experts", "block_sparse_moe.experts.0", "feed_forward.experts",
        "mixer.experts.0", "ffn.experts.0",
    ),
}  # fmt: skip
_STATE_STEMS = {
    "gdn": "linear_attn", "qsa": "linear_attn", "kda": "self_attn", "kda_dsa": "self_attn",
    "nemotron_h": "mixer",
}  # fmt: skip


def modules(config: HfConfig, part: str, layers: Iterable[int]) -> list[tuple[str, ...]]:
    """The names that each matrix of a part may have; one item for each matrix and layer.

    ``part``: attention, state, mlp, shared, experts or lm_head.
    """
    if part == "lm_head":
        return [("lm_head", "model.lm_head", "language_model.lm_head")]
    kind = part if part in ("attention", "state") else "network"
    stems: Sequence[str] = _STEMS.get(part, ())
    if part == "state":
        stems = (_STATE_STEMS.get(config.family.layers, "mamba"), "conv")
    found = []
    for layer in layers:
        for projections in _PROJECTIONS[kind]:
            parts = product(_PREFIXES, stems, projections)
            names = [f"{prefix}.layers.{layer}.{stem}.{name}" for prefix, stem, name in parts]
            whole = [f"{p}.layers.{layer}.{s}" for p, s in product(_PREFIXES, stems)]
            found.append((*names, *(whole if part == "experts" else ())))
    return found


def by_segments(patterns: Iterable[str]) -> Matcher:
    """Patterns of dotted words, each a glob, that stand in the name beside each other."""
    split = [pattern.strip(".").split(".") for pattern in patterns]

    def matches(name: str) -> bool:
        words = name.split(".")
        return any(
            all(fnmatchcase(word, glob) for word, glob in zip(words[at:], globs, strict=False))
            for globs in split
            for at in range(len(words) - len(globs) + 1)
        )

    return matches


def by_glob(patterns: Iterable[str]) -> Matcher:
    """Globs over the whole name; a plain name also covers what stands below it."""
    known = list(patterns)
    plain = frozenset(one for one in known if not set(one) & set("*?["))
    globs = [one for one in known if one not in plain]

    def matches(name: str) -> bool:
        words = name.split(".")
        above = {".".join(words[: end + 1]) for end in range(len(words))}
        return bool(plain & above) or any(fnmatchcase(name, glob) for glob in globs)

    return matches


def by_expression(config: HfConfig, key: str, patterns: Iterable[str]) -> Matcher:
    """Exact names, or regular expressions after ``re:``.

    Raises:
        InputError: an expression that is none, or that may run without end.
    """
    known = list(patterns)
    plain = frozenset(one for one in known if not one.startswith("re:"))
    expressions = []
    for one in known:
        if one in plain:
            continue
        text = one.removeprefix("re:")
        if len(text) > _MAX_PATTERN or _REPEATED_GROUP.search(text):
            config.refuse(key, "short expressions without repeated groups", f"'{text[:80]}'")
        try:
            expressions.append(re.compile(text))
        except re.error as error:
            config.refuse(key, "a regular expression", f"'{text[:80]}' ({error})")
    return lambda name: name in plain or any(one.match(name) for one in expressions)


def names(config: HfConfig, key: str) -> list[str]:
    """A list of names under ``key``; empty where it is absent or null.

    Raises:
        InputError: something else, or a list beyond measure.
    """
    if config.get(key) is None:
        return []
    found = config.items(key)
    if len(found) > _MAX_PATTERNS or not all(isinstance(one, str) for one in found):
        config.refuse(key, f"at most {_MAX_PATTERNS} names", "something else")
    return [str(one) for one in found]
