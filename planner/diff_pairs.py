"""Which case of the old plan stands beside which case of the new one, and why.

Cases pair by what they are, never by their place: a case is the same when every axis has the same
value. An axis on which the plans share no value, and have one each, is what differs between them;
there the one value stands for the other. More is paired only where somebody says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.errors import InputError, Problem, Span, nearest, one_of
from planner.inputs import Case
from planner.scenario import layout_id
from planner.scenario_file import LayoutEntry

AXES: dict[str, str] = {
    "model": "Model", "gpu": "GPU", "layout": "Layout", "precision": "Precision",
    "context": "Context limit", "workload": "Workload", "batch": "Planned batch",
}  # fmt: skip

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Swap:
    """One value of an axis that stands for another: said by the user, or all that there is."""

    axis: str
    old: str
    new: str
    given: bool


@dataclass(frozen=True)
class Pairing:
    """Positions of cases: pairs, those only in the new plan, those only in the old one."""

    pairs: tuple[tuple[int, int], ...]
    added: tuple[int, ...]
    removed: tuple[int, ...]
    swaps: tuple[Swap, ...]
    lines: tuple[str, ...]


def axes_of(case: Case) -> dict[str, str]:
    """The value of each axis, as the id of a case spells it."""
    sizes = {n: float(case.inputs.get(n, 1.0)) for n in LayoutEntry.model_fields}
    return {
        "model": case.model,
        "gpu": case.gpu,
        "layout": layout_id(sizes),
        "precision": f"{case.weight_format}+{case.kv_format}+{case.inputs['compute_dtype']}",
        "context": f"{float(case.inputs['context']):.0f}",
        "workload": case.workload,
        "batch": f"{float(case.inputs['batch']):.0f}",
    }


def pair(old: Sequence[Case], new: Sequence[Case], given: Sequence[str] = ()) -> Pairing:
    """Pair the cases of two plans.

    Args:
        old: cases of the old plan.
        new: cases of the new plan.
        given: ``AXIS:OLD=NEW`` texts, where a value of the new plan stands for another of the old.

    Raises:
        InputError: a text of another form, or a value that the plan does not have.
    """
    before, after = [axes_of(c) for c in old], [axes_of(c) for c in new]
    swaps = [_given(text, before, after) for text in given]
    spoken = {swap.axis for swap in swaps}
    swaps += [s for axis in AXES if axis not in spoken for s in _only_one(axis, before, after)]
    table = {(swap.axis, swap.old): swap.new for swap in swaps}
    places: dict[Key, int] = {tuple(axes.values()): i for i, axes in enumerate(after)}
    pairs: list[tuple[int, int]] = []
    removed: list[int] = []
    for index, axes in enumerate(before):
        place = places.pop(tuple(table.get(item, item[1]) for item in axes.items()), None)
        if place is None:
            removed.append(index)
        else:
            pairs.append((index, place))
    added = tuple(sorted(places.values()))
    lines = tuple(_lines(before, after, swaps, len(pairs), len(added), len(removed)))
    return Pairing(tuple(pairs), added, tuple(removed), tuple(swaps), lines)


def _values(axes: Iterable[Mapping[str, str]], axis: str) -> list[str]:
    return list(dict.fromkeys(one[axis] for one in axes))


def _only_one(
    axis: str, before: Sequence[Mapping[str, str]], after: Sequence[Mapping[str, str]]
) -> list[Swap]:
    olds, news = _values(before, axis), _values(after, axis)
    if len(olds) == len(news) == 1 and olds != news:
        return [Swap(axis, olds[0], news[0], False)]
    return []


def _given(
    text: str, before: Sequence[Mapping[str, str]], after: Sequence[Mapping[str, str]]
) -> Swap:
    span = Span(f"--pair {text}")
    axis, colon, rest = text.partition(":")
    old, equals, new = rest.partition("=")
    if not (colon and equals and old and new):
        example = "such as gpu:h100-sxm=b200"
        raise InputError(Problem(span, "", "AXIS:OLD=NEW", f"'{text}'", example))
    if axis not in AXES:
        raise InputError(Problem(span, "", one_of(AXES), f"'{axis}'", nearest(axis, AXES)))
    for word, axes, name in ((old, before, "old"), (new, after, "new")):
        known = _values(axes, axis)
        if word not in known:
            found = f"'{word}', which the {name} plan does not have"
            raise InputError(Problem(span, "", one_of(known), found, nearest(word, known)))
    return Swap(axis, old, new, True)


def _lines(
    before: Sequence[Mapping[str, str]],
    after: Sequence[Mapping[str, str]],
    swaps: Sequence[Swap],
    pairs: int,
    added: int,
    removed: int,
) -> Iterable[str]:
    """How the cases were paired, in words."""
    for swap in swaps:
        reason = "as asked" if swap.given else "the only value on each side"
        yield f"{AXES[swap.axis]} {swap.old} stands beside {swap.new}: {reason}."
    swapped = {swap.axis for swap in swaps}
    others = [label for axis, label in AXES.items() if axis not in swapped]
    yield f"{pairs} paired, equal in {', '.join(others).lower()}." if others else f"{pairs} paired."
    for axis in AXES:
        olds, news = set(_values(before, axis)), set(_values(after, axis))
        if axis not in swapped and not olds & news:
            yield (
                f"{AXES[axis]}: the plans share no value ({len(olds)} old, {len(news)} new); "
                f"say which belong together with --pair {axis}:OLD=NEW."
            )
    if added or removed:
        yield f"{added} only in the new plan, {removed} only in the old one."
