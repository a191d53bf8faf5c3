"""The worked example: two-GPU replicas of a 70B model under 25 ms a token, H100 to B200.

Every expected figure was derived by hand; prices are illustrative. The limits of a replica are
those of ``time_model: bound``, the fleet is that of ``tests/diff/fleet.yaml``, and
``tests/diff/catalog`` holds the simplifications of the hand calculation: rounded weights, and the
driver's memory figure. It tests arithmetic and is no showcase: see ``tests/diff/h100.yaml``.
"""

from __future__ import annotations

import pytest
from support.diffs import compared, fleet_diff, fleets, ranges, shares, why_of

REQUESTS = "slo_concurrency"


def value(name: str) -> list[float]:
    return [float(plan.value(name) or 0) for plan in fleets()]


@pytest.mark.parametrize(
    ("name", "old", "new", "digits"),
    [
        ("concurrency_quotient", 27.85, 221.86, 2), ("slo_bandwidth", 23.17, 228.27, 2),
        ("slo_compute", 350, 1593, 0), (REQUESTS, 23, 221, 9), ("fleet_gpus", 108, 14, 9),
        ("fleet_cost", 212_080, 61_116, 0), ("kv_per_token", 320 * 1024, 160 * 1024, 9),
    ],
)  # fmt: skip
def test_both_plans(name: str, old: float, new: float, digits: int) -> None:
    assert [round(v, digits) for v in value(name)] == [old, new]


def test_pool_and_limit() -> None:
    pools = [2 * v / 2**30 for v in value("kv_pool")]  # of two GPUs
    assert [round(pool, 2) for pool in pools] == [69.61, 277.33]
    assert [plan.value("slo_limit") for plan in fleets()] == ["bandwidth", "memory"]
    assert [round(v, 1) for v in value("b_star_compute")] == [295.4, 328.7]
    assert [round(v, 2) for v in value("slo_b_star")] == [0.08, 0.67]


OWEN = {"memory": 53.5, "memory_bandwidth": 56.0, "compute": 0, "hardware": 109.5,
        "weight_format": 20.5, "kv_format": 68.0, "precision": 88.5}  # fmt: skip
SHAPLEY = {"memory": 59.42, "memory_bandwidth": 62.75, "compute": 0, "hardware": 122.17,
           "weight_format": 20.08, "kv_format": 55.75, "precision": 75.83}  # fmt: skip


@pytest.mark.parametrize(("method", "expected"), [("owen", OWEN), ("shapley", SHAPLEY)])
def test_shares_of_the_requests(method: str, expected: dict[str, float]) -> None:
    found = shares(why_of(fleet_diff(method=method), REQUESTS))
    assert {n: round(found[n], 2) for n in expected} == expected


HARDWARE_FIRST = {"memory": 0, "memory_bandwidth": 75, "compute": 0, "hardware": 75,
                  "weight_format": 12, "kv_format": 111, "precision": 123}  # fmt: skip
PRECISION_FIRST = {"memory": 143, "memory_bandwidth": 1, "compute": 0, "hardware": 144,
                   "weight_format": 31, "kv_format": 23, "precision": 54}  # fmt: skip


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (("memory", "memory_bandwidth", "compute", "weight_format", "kv_format"), HARDWARE_FIRST),
        (("kv_format", "weight_format", "compute", "memory_bandwidth", "memory"), PRECISION_FIRST),
    ],
)
def test_sequential_shares_follow_their_order(
    order: tuple[str, ...], expected: dict[str, float]
) -> None:
    why = why_of(fleet_diff(method="sequential", order=order), REQUESTS)
    found = shares(why)
    assert {n: found[n] for n in expected} == expected
    assert why.order[: len(order)] == order


def test_range_over_all_orders_and_one_at_a_time() -> None:
    why = why_of(fleet_diff(), REQUESTS)
    expected = {"memory": (0, 143), "memory_bandwidth": (1, 151), "compute": (0, 0),
                "weight_format": (12, 31), "kv_format": (23, 111)}  # fmt: skip
    assert {n: ranges(why)[n] for n in expected} == expected
    alone = {p.driver.id: p.alone for b in why.bundles for p in b.parts}
    assert alone == {"memory": 0, "memory_bandwidth": 4, "compute": 0, "weight_format": 15,
                     "kv_format": 23, "gpu_price": 0}  # fmt: skip
    assert why.note.startswith("drivers reinforce each other: one at a time")
    assert "21 %" in why.note


@pytest.mark.parametrize(
    ("target", "old", "new", "expected"),
    [
        ("20 ms", 11, 174, (35.25, 55.75, 22.50, 49.50)),
        ("25 ms", 23, 221, (53.50, 56.00, 20.50, 68.00)),
        ("50 ms", 27, 221, (96.00, 11.50, 17.25, 69.25)),
    ],
)
def test_shares_depend_on_the_target(
    target: str, old: float, new: float, expected: tuple[float, ...]
) -> None:
    why = why_of(fleet_diff(f"slo_tpot={target}"), REQUESTS)
    found = shares(why)
    names = ("memory", "memory_bandwidth", "weight_format", "kv_format")
    assert (why.old, why.new) == (old, new)
    assert tuple(round(found[n], 2) for n in names) == expected


def test_money_bridge() -> None:
    why = why_of(fleet_diff(), "fleet_cost")
    found = shares(why)
    expected = {"hardware": -146_219, "memory": -62_052, "memory_bandwidth": -84_167, "compute": 0,
                "precision": -127_232, "weight_format": -49_576, "kv_format": -77_656,
                "price": 122_487}  # fmt: skip
    assert {n: round(found[n]) for n in expected} == expected
    assert abs(why.residual) < 1e-6
    # hardware by hand: a third, a sixth and a third of its steps between the corners
    corner = {"": 212_079.6, "h": 54_983.6, "p": 66_765.8, "c": 471_463.2, "hp": 27_491.8,
              "hc": 122_231.2, "pc": 148_423.6, "hpc": 61_115.6}  # fmt: skip
    by_hand = (
        (corner["h"] - corner[""]) / 3 + (corner["hp"] - corner["p"]) / 6
        + (corner["hc"] - corner["c"]) / 6 + (corner["hpc"] - corner["pc"]) / 3
    )  # fmt: skip
    assert found["hardware"] == pytest.approx(by_hand, abs=0.5)


def test_like_for_like_rows() -> None:
    panel = fleet_diff().panels[0]
    place = [panel.metrics.index(n) for n in (REQUESTS, "fleet_gpus", "fleet_cost")]
    rows = {r.label: tuple(round(r.values[p] or 0) for p in place) for r in panel.rows}
    assert rows["old plan"] == (23, 108, 212_080)
    assert rows["old hardware, only new KV format"] == (46, 56, 109_967)
    assert rows["new hardware at old precision"] == (98, 28, 122_231)
    assert rows["new plan"] == (221, 14, 61_116)


def test_memory_label_alone_moves_the_result() -> None:
    doubt = next(d for d in fleet_diff(why=(REQUESTS,)).doubts if d.owner == "b200")
    assert [name for name, _ in doubt.readings] == [
        "memory_framework", "memory_device", "memory_marketed",
    ]  # fmt: skip
    # 180 read as decimal GB gives 205, the driver's total 221
    assert (doubt.low, doubt.high) == (205, 221)


def test_swapped_plans_flip_every_share() -> None:
    old, new = fleets()
    forth, back = fleet_diff(), compared(new, old)
    for metric in (REQUESTS, "fleet_gpus", "fleet_cost"):
        one, other = shares(why_of(forth, metric)), shares(why_of(back, metric))
        for name, share in one.items():
            assert share == pytest.approx(-other[name], abs=1e-6), (metric, name)
