"""A divided difference as a bridge whose printed parts add up to the printed total."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

from planner.diff import Diff
from planner.diff_drivers import GROUPS
from planner.diff_shares import grouped_masks, prefix_masks, weights_of
from planner.diff_why import Bundle, Part, Why
from reports import numbers
from reports.view_diff_parts import Bridge, Mixing, Share, ShareGroup
from reports.view_grid import Kind, Value, text_of
from reports.view_units import clean, input_display, metric_display
from reports.words import called, say, term

METHODS = {
    "owen": term("Owen values"),
    "shapley": term("Shapley values"),
    "sequential": term("one after the other"),
}
CORRECTIONS, CASES = "method", "cases"
_FULL_DIGITS = 1000
MOST_LIVE = 6
"""Drivers of which a workbook has every mixture: 64 rows. Of more it has what the shares need."""
MOST_MIXTURES = 128
"""Rows of mixtures of one pair; above that a workbook divides by group."""


def apportion(parts: Sequence[float], total: float, decimals: int) -> list[float]:
    """Round parts so that they add up to the rounded total (largest remainder).

    A part of exactly 0 stays 0: it takes no remainder.
    """
    step = Decimal(1).scaleb(-decimals)
    exact = [Decimal(repr(float(p))) / step for p in parts]
    floors = [e.to_integral_value(ROUND_FLOOR) for e in exact]
    goal = (Decimal(repr(float(total))) / step).to_integral_value(ROUND_HALF_UP)
    left = int(goal - sum(floors))
    takers = sorted((i for i, e in enumerate(exact) if e), key=lambda i: (floors[i] - exact[i], i))
    # Rounding of the sum may leave a unit more than there are parts, or one too few.
    for turn in range(abs(left) if takers else 0):
        place = takers[turn % len(takers)] if left > 0 else takers[-1 - turn % len(takers)]
        floors[place] += 1 if left > 0 else -1
    return [float(f * step) for f in floors]


def bridge_of(found: Diff, why: Why, case: str) -> Bridge:
    """One bridge. ``case`` is the name of the pair, or words for the whole plan."""
    metric = found.sides.metrics.metrics[why.metric]
    factor, unit, _, kind = metric_display(metric)
    total = None if why.total is None else why.total / factor
    raw = [b.share / factor for b in why.bundles]
    extras = _extras(why, factor)
    decimals = _decimals(kind, [p.share / factor for b in why.bundles for p in b.parts], total)
    shares = [*raw, *(share for _, _, share in extras)]
    rounded = apportion(shares, total or 0.0, decimals) if not why.refused else []
    groups = [
        _group(found, bundle, amount, factor, kind, decimals)
        for bundle, amount in zip(why.bundles, rounded, strict=False)
    ]
    groups += [
        ShareGroup(word, label, _signed(amount, kind, decimals), share, ())
        for (word, label, share), amount in zip(extras, rounded[len(raw) :], strict=False)
    ]
    old, new = (v / factor if isinstance(v, float) else v for v in (why.old, why.new))
    share = share_of(why.old, why.total)
    return Bridge(
        why.metric, called(clean(metric.label)), unit, case, why.pair, _method(why),
        text_of(old, kind), text_of(new, kind),
        say(numbers.UNKNOWN) if total is None else _signed(total, kind, _whole(total, decimals)),
        share_text(share), decimals, old, new, total, share, tuple(groups), _residual(why, factor),
        _footing(why), say(clean(why.note)), say(clean(why.refused)), kind,
        metric.entry.better, _mixing(why, factor),
    )  # fmt: skip


def _extras(why: Why, factor: float) -> list[tuple[str, str, float]]:
    """Parts that are no driver: corrections of saved plans, added and removed cases."""
    rows = []
    correction = sum(why.corrections) / factor
    if correction:
        rows.append((CORRECTIONS, say("Method & data corrections"), correction))
    if why.cases:
        rows.append((CASES, say("Cases added or removed"), why.cases / factor))
    return rows


def _group(
    found: Diff, bundle: Bundle, amount: float, factor: float, kind: Kind, decimals: int
) -> ShareGroup:
    raw = [p.share / factor for p in bundle.parts]
    shares = tuple(
        _share(found, part, value, factor, kind, decimals)
        for part, value in zip(bundle.parts, apportion(raw, amount, decimals), strict=True)
    )
    text = _signed(amount, kind, decimals)
    return ShareGroup(bundle.id, called(bundle.label), text, bundle.share / factor, shares)


def _share(
    found: Diff, part: Part, value: float, factor: float, kind: Kind, decimals: int
) -> Share:
    least, most = part.low / factor, part.high / factor
    low, high = (numbers.show(_tidy(x), _plain(kind)) for x in (least, most))
    return Share(
        part.driver.id, called(clean(part.driver.label)), _signed(value, kind, decimals),
        part.share / factor, low, high, _change(found, part), least, most,
    )  # fmt: skip


def _change(found: Diff, part: Part) -> str:
    """What changed, in the unit that it is shown in: ``79.2 → 178 GiB/GPU``."""
    metrics = found.sides.metrics
    if not part.shown:
        return f"{clean(str(part.old))} → {clean(str(part.new))}"
    if part.shown in metrics.metrics:
        factor, unit, _, kind = metric_display(metrics.metrics[part.shown])
    else:
        factor, unit, _, kind = input_display(metrics, part.shown)
    shown = [v / factor if isinstance(v, float) else v for v in (part.old, part.new)]
    old, new = (clean(text_of(v, kind)) for v in shown)
    return f"{old} → {new} {unit}".rstrip()


def _plain(kind: Kind) -> numbers.Kind:
    return "share" if kind == "share" else "ratio" if kind == "ratio" else "figure"


def _tidy(value: float) -> float:
    """Without the dust of adding: a range of whole numbers reads as whole numbers."""
    return round(value) if abs(value - round(value)) <= 1e-9 * max(1.0, abs(value)) else value


def _signed(value: float, kind: Kind, decimals: int) -> str:
    return numbers.fixed(value, decimals, kind="change_share" if kind == "share" else "change")


def _whole(value: float, decimals: int) -> int:
    return 0 if value == int(value) else decimals


def _decimals(kind: Kind, parts: Sequence[float], total: float | None) -> int:
    """As many as a column of the parts needs; one at least where small parts are not whole."""
    values = [*(_tidy(p) for p in parts), total or 0.0]
    if kind == "share":
        return numbers.decimals_for(values, "share")
    places = numbers.decimals_for(values)
    broken = any(v != int(v) for v in values)
    small = max(abs(v) for v in values) < _FULL_DIGITS
    return max(places, 1) if broken and small else places


def _mixing(why: Why, factor: float) -> Mixing | None:
    """The mixtures that a workbook can divide: of single drivers, or of whole groups."""
    if why.refused or not why.active:
        return None
    order = [why.active.index(d) for d in why.order if d in why.active]
    known = dict(zip(why.masks, why.values, strict=True))
    parts = {p.driver.id: p.driver for b in why.bundles for p in b.parts}
    drivers = [(d, called(clean(parts[d].label)), parts[d].group) for d in why.active]
    bits = [parts[d].fields for d in why.active]
    groups = _grouped([group for _, _, group in drivers])
    masks = _masks(groups, why.method, order)
    by_group = len(masks) > MOST_MIXTURES
    if by_group and why.method == "shapley":
        return None
    if by_group:
        whole = [sum(1 << i for i in members) for members in groups]
        names = [drivers[members[0]][2] for members in groups]
        drivers = [(name, called(GROUPS[name]), name) for name in names]
        bits = [tuple(f for i in members for f in bits[i]) for members in groups]
        groups = tuple((i,) for i in range(len(whole)))
        masks = list(range(2 ** len(whole)))
        here = [sum(w for i, w in enumerate(whole) if m >> i & 1) for m in masks]
    else:
        here = masks
    if any(mask not in known for mask in here):
        return None
    if why.method == "shapley":
        groups = tuple((i,) for i in range(len(drivers)))
    weights = weights_of(groups, why.method, order)[:, masks]
    shift = known[here[0]] - float(why.old or 0), known[here[-1]] - float(why.new or 0)
    values = tuple(known[m] / factor for m in here)
    every = len(masks) == 2 ** len(drivers)
    steps = tuple(_steps(values, 1 << i) for i in range(len(drivers))) if every else ()
    return Mixing(
        tuple(drivers), tuple(bits), groups, tuple(order), tuple(masks), values,
        tuple(tuple(row) for row in weights.tolist()), steps, by_group,
        (shift[0] / factor, shift[1] / factor),
    )  # fmt: skip


def _masks(groups: Sequence[Sequence[int]], method: str, order: Sequence[int]) -> list[int]:
    """Every mixture of a few drivers; of more those that the shares of the method need."""
    count = sum(len(members) for members in groups)
    if count <= MOST_LIVE or method == "shapley":
        return list(range(2**count))
    return sorted(prefix_masks(order)) if method == "sequential" else (
        [int(m) for m in grouped_masks(groups)])  # fmt: skip


def _steps(values: Sequence[float], bit: int) -> tuple[float | None, ...]:
    """What one driver adds to each mixture in which it is old."""
    return tuple(None if m & bit else values[m | bit] - v for m, v in enumerate(values))


def _grouped(words: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(i for i, word in enumerate(words) if word == group) for group in dict.fromkeys(words)
    )


def share_of(old: Value, change: float | None) -> float | None:
    """The relative change; there is none from nothing, or from a shortfall."""
    known = change is not None and isinstance(old, float) and old > 0
    return change / old if known else None  # type: ignore[operator]


def share_text(share: float | None) -> str:
    """A relative change as people read it."""
    if share is None:
        return numbers.NOT_APPLICABLE
    return numbers.fixed(share, 1, kind="change_share")


def _method(why: Why) -> str:
    words = say(METHODS[why.method])
    return f"{words}: {', '.join(why.order)}" if why.order else words


def _residual(why: Why, factor: float) -> str:
    """The check: 0 where only rounding of the last bit is left."""
    total = abs(why.total or 0.0)
    scale = max([total, *(abs(p.share) for b in why.bundles for p in b.parts)])
    if abs(why.residual) <= 1e-9 * max(scale, 1e-300):
        return "0"
    return numbers.show(why.residual / factor, "change")


def _footing(why: Why) -> str:
    orders = say("all orders") if why.exact else say("orders that keep groups together")
    words = say(f"{why.mixtures:,} mixtures, ranges over {orders}")
    if why.infeasible:
        words += say(f"; {why.infeasible:,} of them are no case that a scenario would plan")
    return words
