"""One scenario along a line of cards: ``H100,H200,B200`` to catalog ids, a plan for each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from planner.catalog import Catalog
from planner.errors import InputError, Problem, Span, one_of
from planner.planning import Plan, plan
from planner.records import Gpu


def cards(words: str, catalog: Catalog) -> tuple[Gpu, ...]:
    """The cards that short names stand for, in the order given.

    A word is an id, an alias or the start of an id. Where several cards begin with it, the one
    counts that stands in one line of products with the others; the oldest generation of them first
    is usual but not asked for.

    Raises:
        InputError: fewer than two, an unknown card, one twice, or several lines that would do.
    """
    span = Span(f"--generation {words}")
    parts = [word.strip() for word in words.split(",") if word.strip()]
    if len(parts) < 2:
        hint = "such as H100,H200,B200"
        raise InputError(Problem(span, "", "two cards or more", f"'{words}'", hint))
    found = [_candidates(word, catalog, span) for word in parts]
    chosen = _one_line(parts, found, span)
    ids = [gpu.id for gpu in chosen]
    again = next((one for i, one in enumerate(ids) if one in ids[:i]), "")
    if again:
        raise InputError(Problem(span, "", "each card once", f"'{again}' again"))
    return chosen


def _candidates(word: str, catalog: Catalog, span: Span) -> list[Gpu]:
    lower = word.lower()
    ids = catalog.ids("gpu")
    exact = [name for name in ids if name.lower() == lower]
    begun = [name for name in ids if name.lower().startswith(f"{lower}-")]
    found = [catalog.gpu(name) for name in exact or begun]
    return found or [catalog.gpu(lower, span)]


def _one_line(words: Sequence[str], found: Sequence[list[Gpu]], span: Span) -> tuple[Gpu, ...]:
    if all(len(some) == 1 for some in found):
        return tuple(some[0] for some in found)
    together = [some for some in itertools.product(*found) if len({gpu.line for gpu in some}) == 1]
    if len(together) == 1:
        return tuple(together[0])
    word, some = next((w, s) for w, s in zip(words, found, strict=True) if len(s) > 1)
    ids = one_of(sorted(gpu.id for gpu in some))
    raise InputError(Problem(span, "", ids, f"'{word}'", "several cards begin with it"))


def plans(
    scenario: Path,
    gpus: Sequence[Gpu],
    *,
    metrics: Sequence[Path] = (),
    catalogs: Sequence[Path] = (),
    settings: Sequence[str] = (),
) -> tuple[Plan, ...]:
    """The scenario on each card alone. Raises InputError as ``planner.plan``."""
    return tuple(
        plan(scenario, metrics=metrics, catalogs=catalogs, settings=[*settings, f"gpus=[{gpu.id}]"])
        for gpu in gpus
    )
