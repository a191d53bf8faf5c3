"""Price observations: units by kind, dates, bands, bills, and a planted fault for each rule."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from planner.catalog import Catalog
from planner.errors import InputError
from planner.figures import read_record
from planner.records_price import Prices, first_day
from planner.yamlfile import parse

CATALOG = Catalog.open()
PRICES = """\
id: l4
label: Prices of the L4
prices:
  - {id: rent, kind: on_demand, value: 0.8 usd/gpu/h, gpus: 4, billed: 3.2 usd/h, date: '2026-07'}
  - {id: band, kind: reserved, value: 0.5 usd/gpu/h, low: 0.4 usd/gpu/h, high: 0.6 usd/gpu/h,
     term: 1 year, date: '2026-Q1'}
  - {id: card, kind: purchase_street, value: 2500 usd/gpu, date: '2026-07-29'}
sources:
  default: {title: A price list, confidence: third party, read: '2026-11-29'}
"""


def read(text: str) -> Any:
    return read_record(parse(text, "l4.yaml"), Prices)


def problems(text: str) -> list[str]:
    """The first lines of all problems, with the hint behind a bar where there is one."""
    with pytest.raises(InputError) as caught:
        read(text)
    return [
        f"{str(p).splitlines()[0]}{' | ' + p.hint if p.hint else ''}" for p in caught.value.problems
    ]


# ---- the shipped observations ----


def test_all_observations_are_there() -> None:
    counts = {word: len(CATALOG.prices(word)) for word in CATALOG.ids("gpu")}
    assert sum(counts.values()) == 240
    assert {word for word, count in counts.items() if count} == set(CATALOG.ids("price"))
    assert (counts["h100-sxm"], counts["rubin"]) == (35, 0)


@pytest.mark.parametrize("word", CATALOG.ids("price"))
def test_every_observation_has_unit_source_and_date(word: str) -> None:
    for price in CATALOG.prices(word):
        assert price.source and price.confidence in ("third party", "vendor page")
        assert price.date or "undated" in price.note
        assert price.written_unit == (
            "usd/gpu" if price.kind.startswith("purchase") else "usd/gpu/h"
        )


def test_prices_come_newest_first_and_by_alias() -> None:
    found = CATALOG.prices("h100-sxm5")
    assert found == CATALOG.prices("h100-sxm")
    assert [p.age_key for p in found] == sorted((p.age_key for p in found), reverse=True)
    assert found[0].id == "runpod-community-2026-10-19"


def test_a_price_in_base_units_and_as_written() -> None:
    (price,) = [p for p in CATALOG.prices("h100-sxm") if p.id == "digitalocean-on-demand-2026-08"]
    assert price.amount == pytest.approx(2.99)
    assert price.value == pytest.approx(2.99 / 3600)
    assert price.billed == pytest.approx(23.92 / 3600) and price.gpus == 8


def test_whole_nodes_and_packages_are_divided() -> None:
    (node,) = [p for p in CATALOG.prices("h100-sxm") if p.kind == "purchase_node"]
    assert (node.value, node.gpus, node.billed) == (40_625, 8, 325_000)
    assert CATALOG.gpu("ascend-910c").devices_per_package == 2
    rents = [p for p in CATALOG.prices("ascend-910c") if p.kind == "reserved"]
    assert [round(p.amount, 4) for p in rents] == [0.975]  # 1.95 for the package of two dies


def test_no_plan_takes_a_price_by_itself(repository: Path) -> None:
    """Nothing outside the catalog and its commands knows prices."""
    knowing = {
        path.relative_to(repository).as_posix()
        for folder in ("planner", "reports")
        for path in (repository / folder).rglob("*.py")
        if "records_price" in path.read_text("utf-8") or ".prices(" in path.read_text("utf-8")
    }
    assert knowing <= {
        "planner/catalog.py", "planner/plausibility_prices.py", "planner/records_price.py",
        "planner/schemas.py", "planner/cli_check.py", "planner/cli_prices.py",
    }  # fmt: skip


# ---- dates ----


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026", (2026, 1, 1)),
        ("2026-Q3", (2026, 7, 1)),
        ("2026-11", (2026, 11, 1)),
        ("2026-11-29", (2026, 11, 29)),
    ],
)
def test_a_date_is_as_old_as_it_may_be(text: str, day: tuple[int, int, int]) -> None:
    assert first_day(text) == datetime.date(*day)


@pytest.mark.parametrize("text", ["", "26", "2026-13", "2026-02-30", "2026-Q5", "autumn", "2026-1"])
def test_what_is_no_date(text: str) -> None:
    assert first_day(text) is None


# ---- planted faults ----


def test_the_sample_is_right() -> None:
    record = read(PRICES)
    assert [p.id for p in record.prices] == ["rent", "band", "card"]
    assert record.prices[2].value == 2500


DATE = "a date such as '2026-11-29', '2026-11', '2026-Q4' or '2026'"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "0.8 usd/gpu/h",
            "0.8 usd/h",
            "l4.yaml:4:40: prices[0].value: expected a unit of usd/s/gpu, found usd/h (usd/s)",
        ),
        (
            "2500 usd/gpu",
            "2500 usd/gpu/h",
            "l4.yaml:7:46: prices[2].value: expected a unit of usd/gpu, "
            "found usd/gpu/h (usd/s/gpu)",
        ),
        (
            "0.8 usd/gpu/h",
            "0.8",
            "l4.yaml:4:40: prices[0].value: expected a number with a unit such as 2.5 usd/gpu/h, "
            "found the bare number 0.8 | add the unit: '0.8 usd/gpu/h'",
        ),
        (
            "0.8 usd/gpu/h",
            "-0.8 usd/gpu/h",
            "l4.yaml:4:40: prices[0].value: expected 0 or more, found '-0.8 usd/gpu/h'",
        ),
        (
            "0.8 usd/gpu/h",
            "0.9 usd/gpu/h",
            "l4.yaml:4:40: prices[0].value: expected 0.8 usd/gpu/h, "
            "the bill divided by its GPUs, found 0.9 usd/gpu/h",
        ),
        (
            "gpus: 4, ",
            "",
            "l4.yaml:4:40: prices[0].value: expected billed and gpus together, found one of them",
        ),
        (
            "low: 0.4",
            "low: 0.55",
            "l4.yaml:5:59: prices[1].low: expected at most the price, found more",
        ),
        (
            "high: 0.6",
            "high: 0.45",
            "l4.yaml:5:80: prices[1].high: expected at least the price, found less",
        ),
        (
            "kind: reserved",
            "kind: reservd",
            "l4.yaml:5:22: prices[1].kind: expected one of on_demand, community, spot, flex_start, "
            "capacity_block, monthly, reserved, contract_index, market_median, tco_hyperscaler, "
            "tco_neocloud, assumption and 4 more, found 'reservd' | did you mean 'reserved'?",
        ),
        (
            "'2026-Q1'",
            "'2026-Q7'",
            f"l4.yaml:6:27: prices[1].date: expected {DATE}, found '2026-Q7'",
        ),
        (
            "date: '2026-07-29'",
            "date: '2026-12-01'",
            "l4.yaml:7:67: prices[2].date: expected a date up to 2026-11-29, "
            "when 'default' was read, found '2026-12-01'",
        ),
        (
            ", date: '2026-07-29'",
            "",
            "l4.yaml:7:5: prices[2]: expected a date, or a note that says why there is none, "
            "found neither",
        ),
        (
            "id: card",
            "id: rent",
            "l4.yaml:7:10: prices[2].id: expected each id once, found 'rent' again",
        ),
        (
            "kind: on_demand, ",
            "",
            "l4.yaml:4:5: prices[0].kind: expected a value, found no such key",
        ),
        (
            "date: '2026-07'}",
            "date: '2026-07', source: lost}",
            "l4.yaml:4:108: prices[0].source: expected the id of a source of this file, "
            "found 'lost'",
        ),
        (
            "date: '2026-07'}",
            "date: '2026-07', seller: X}",
            "l4.yaml:4:100: prices[0].seller: expected one of value, source, confidence, note, id, "
            "kind, low, high, term, provider, instance, region, gpus, billed, date, "
            "found the unknown key 'seller'",
        ),
    ],
)
def test_planted_fault_is_found(old: str, new: str, message: str) -> None:
    assert PRICES.count(old) == 1
    assert message in problems(PRICES.replace(old, new))


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("l4", "0.8048 usd/gpu/h", "80.48 usd/gpu/h", "expected 0.02 to 60 usd/gpu/h, found 80.48"),
        ("l4", "2500 usd/gpu", "2.5 usd/gpu", "expected 200 to 150000 usd/gpu, found 2.5"),
        ("l4", "id: l4", "id: l5", "id: expected the file name, 'l4', found 'l5'"),
        ("l5", "id: l4", "id: l5", "id: expected the id of a GPU, found 'l5'"),
    ],
)
def test_implausible_prices_are_found(
    name: str, old: str, new: str, message: str, tmp_path: Path, repository: Path
) -> None:
    text = (repository / "catalogs" / "prices" / "l4.yaml").read_text("utf-8")
    assert old in text
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / f"{name}.yaml").write_text(text.replace(old, new, 1), "utf-8")
    found = [str(p).splitlines()[0] for p in Catalog.open([tmp_path]).check()]
    assert any(message in line for line in found), found
