"""Shares of a difference: they add up, whatever the figure does, and nobody's order decides."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.diff_shares import Game, all_masks, grouped_masks, prefix_masks, shares_of
from reports.view_diff_bridge import apportion

Groups = tuple[tuple[int, ...], ...]


def game(groups: Groups, figure: Callable[[int], float], *, exact: bool = True) -> Game:
    count = sum(len(group) for group in groups)
    masks = all_masks(count) if exact else grouped_masks(groups)
    return Game(groups, masks, np.asarray([[figure(int(m))] for m in masks]))


@st.composite
def games(draw: st.DrawFn) -> Game:
    """Up to seven drivers in up to four groups; the figure has floors, minima and zeros."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4).filter(lambda s: sum(s) <= 7))
    places = iter(range(sum(sizes)))
    groups = tuple(tuple(itertools.islice(places, size)) for size in sizes)
    count = sum(sizes)
    old = draw(st.lists(st.floats(0.5, 40), min_size=count, max_size=count))
    new = draw(st.lists(st.floats(0.5, 40), min_size=count, max_size=count))
    kind = draw(st.sampled_from(["floor", "minimum", "product", "fits", "random"]))
    table = draw(st.lists(st.floats(-1e6, 1e6), min_size=2**count, max_size=2**count))

    def figure(mask: int) -> float:
        x = [new[i] if mask >> i & 1 else old[i] for i in range(count)]
        return {
            "floor": float(np.floor(sum(x) / x[0])),
            "minimum": min(x),
            "product": float(np.prod(x)),
            "fits": float(max(0.0, np.floor(sum(x[1:]) - x[0]))),
            "random": table[mask],
        }[kind]

    return game(groups, figure)


@pytest.mark.parametrize("method", ["owen", "shapley", "sequential"])
@settings(deadline=None, max_examples=60)
@given(one=games(), data=st.data())
def test_shares_add_up_and_stay_inside_their_range(
    method: str, one: Game, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(one.count)))
    shares = shares_of(one, method, order)[:, 0]
    scale = max(1.0, float(np.abs(one.values).max()))
    assert abs(shares.sum() - one.total()[0]) <= 1e-9 * scale
    low, high = one.ranges()
    assert (shares >= low[:, 0] - 1e-9 * scale).all()
    assert (shares <= high[:, 0] + 1e-9 * scale).all()


@settings(deadline=None, max_examples=60)
@given(one=games())
def test_swapped_plans_flip_every_sign(one: Game) -> None:
    full = 2**one.count - 1
    back = Game(one.groups, one.masks, one.values[full - one.masks])
    scale = max(1.0, float(np.abs(one.values).max()))
    for method in ("owen", "shapley"):
        forth, other = shares_of(one, method, ()), shares_of(back, method, ())
        assert np.allclose(forth, -other, rtol=0, atol=1e-9 * scale)
    assert np.array_equal(one.ranges()[0], -back.ranges()[1])


@settings(deadline=None, max_examples=60)
@given(one=games(), data=st.data())
def test_the_order_of_drivers_changes_nothing(one: Game, data: st.DataObject) -> None:
    places = data.draw(st.permutations(range(one.count)))  # driver i becomes driver places[i]
    groups = tuple(tuple(places[i] for i in group) for group in reversed(one.groups))
    moved = np.zeros_like(one.values)
    for mask in one.masks:
        new = sum(1 << places[i] for i in range(one.count) if mask >> i & 1)
        moved[new] = one.values[mask]
    other = Game(groups, one.masks, moved)
    scale = max(1.0, float(np.abs(one.values).max()))
    for method in ("owen", "shapley"):
        ours, theirs = shares_of(one, method, ()), shares_of(other, method, ())
        assert np.allclose(ours, theirs[list(places)], rtol=0, atol=1e-9 * scale)


@settings(deadline=None, max_examples=60)
@given(one=games())
def test_a_driver_without_effect_gets_exactly_nothing(one: Game) -> None:
    idle = one.count
    groups = ((*one.groups[0], idle), *one.groups[1:])
    more = Game(groups, all_masks(idle + 1), np.concatenate([one.values, one.values]))
    scale = max(1.0, float(np.abs(one.values).max()))
    for method in ("owen", "shapley"):
        shares = shares_of(more, method, ())
        assert shares[idle, 0] == 0
        assert np.allclose(shares[:idle], shares_of(one, method, ()), rtol=0, atol=1e-9 * scale)


@settings(deadline=None, max_examples=60)
@given(one=games())
def test_members_add_to_what_their_group_gets_as_one_driver(one: Game) -> None:
    whole = [sum(1 << i for i in group) for group in one.groups]
    merged = game(
        tuple((i,) for i in range(len(whole))),
        lambda mask: float(one.at([sum(w for i, w in enumerate(whole) if mask >> i & 1)])[0, 0]),
    )
    shares, sums = one.owen()[:, 0], merged.shapley()[:, 0]
    scale = max(1.0, float(np.abs(one.values).max()))
    for group, total in zip(one.groups, sums, strict=True):
        assert abs(shares[list(group)].sum() - total) <= 1e-9 * scale


@settings(deadline=None, max_examples=40)
@given(one=games())
def test_one_group_or_all_single_is_shapley(one: Game) -> None:
    everyone = (tuple(range(one.count)),)
    singles = tuple((i,) for i in range(one.count))
    scale = max(1.0, float(np.abs(one.values).max()))
    for groups in (everyone, singles):
        shares = Game(groups, one.masks, one.values).owen()
        assert np.allclose(shares, one.shapley(), rtol=0, atol=1e-9 * scale)


@settings(deadline=None, max_examples=40)
@given(one=games())
def test_grouped_mixtures_are_enough_for_owen(one: Game) -> None:
    masks = grouped_masks(one.groups)
    few = Game(one.groups, masks, one.at(masks))
    assert np.array_equal(few.owen(), one.owen())
    assert few.exact == (len(masks) == 2**one.count)
    low, high = few.ranges()
    wide_low, wide_high = one.ranges()
    assert (low >= wide_low).all() and (high <= wide_high).all()


def test_owen_is_the_mean_over_orders_that_keep_groups_together() -> None:
    rng = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0, 8.0, 9.0, 7.0, 9.0, 3.0]
    groups: Groups = ((0, 1), (2,), (3,))
    one = game(groups, lambda mask: rng[mask])
    orders = [
        [i for group in outer for i in inner[groups.index(group)]]
        for outer in itertools.permutations(groups)
        for inner in itertools.product(*(itertools.permutations(g) for g in groups))
    ]
    mean = np.mean([one.sequential(order) for order in orders], axis=0)
    assert np.allclose(one.owen(), mean)


def test_a_mixture_that_was_not_evaluated_is_refused() -> None:
    one = game(((0, 1), (2, 3)), float, exact=False)
    assert prefix_masks([2, 0, 1, 3]) == [0, 4, 5, 7, 15]
    with pytest.raises(KeyError):
        one.sequential([2, 0, 1, 3])


@settings(deadline=None)
@given(parts=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12), decimals=st.integers(0, 3))
def test_rounded_parts_add_to_the_rounded_total(parts: list[float], decimals: int) -> None:
    total = sum(parts)
    rounded = apportion(parts, total, decimals)
    unit = 10.0**-decimals
    assert abs(sum(rounded) - total) <= unit * 0.5 + 1e-6
    assert abs(sum(rounded) / unit - round(sum(rounded) / unit)) < 1e-3
    assert all(abs(r - p) <= unit * (1 + 1e-6) for r, p in zip(rounded, parts, strict=True))
    assert all(r == 0 for r, p in zip(rounded, parts, strict=True) if p == 0)


def test_equal_thirds_of_a_hundred() -> None:
    assert apportion([100 / 3] * 3, 100, 0) == [34, 33, 33]
    assert sorted(apportion([-100 / 3] * 3, -100, 0)) == [-34, -33, -33]
    assert apportion([0.0, 0.4, 0.6], 1, 0) == [0, 0, 1]
