"""The catalog on the command line: filters, prices, sources and their age."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.command import Caller

from planner.catalog import Catalog


def listed(capsheet: Caller, *args: str) -> dict[str, list[dict[str, Any]]]:
    done = capsheet("catalog", "list", *args, "--json")
    return dict(json.loads(done.out))


def ids(capsheet: Caller, *args: str) -> list[str]:
    return [str(row["id"]) for rows in listed(capsheet, *args).values() for row in rows]


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (("gpus", "--vendor", "amazon"), []),
        (
            ("gpus", "--vendor", "aws"),
            ["inferentia2", "trainium1", "trainium2", "trainium3"],
        ),
        (
            ("gpus", "--line", "nvidia-datacenter-sxm", "--generation", "2"),
            ["a100-sxm-40", "a100-sxm-80"],
        ),
        (("gpus", "--generation", "8"), ["b300"]),
        (("gpus", "--status", "legacy", "--vendor", "intel"), ["max-1550"]),
        (("gpus", "--kind", "SXM5", "--status", "legacy"), ["h800-sxm"]),
        (("models", "--kind", "gdn"), ["qwen3-next-80b"]),
        (("engines", "--status", "legacy"), []),
        (("--status", "announced", "--vendor", "amd"), ["mi455x"]),
    ],
)
def test_filters(args: tuple[str, ...], found: list[str], capsheet: Caller) -> None:
    got = ids(capsheet, *args)
    assert set(found) <= set(got) if "models" in args else got == found


def test_prices_are_listed_when_asked_for(capsheet: Caller) -> None:
    assert "prices" not in listed(capsheet)
    rows = listed(capsheet, "prices")["prices"]
    assert len(rows) == 240
    spot = listed(capsheet, "prices", "--kind", "spot", "--vendor", "google")["prices"]
    assert [(row["gpu"], row["price"]) for row in spot] == [
        ("tpu-v5e", "0.6 usd/gpu/h"), ("tpu-v5p", "2.1 usd/gpu/h"), ("tpu-v6e", "1.89 usd/gpu/h"),
    ]  # fmt: skip


def test_prices_of_one_gpu_carry_date_source_and_id(capsheet: Caller) -> None:
    out = " ".join(capsheet("catalog", "prices", "gh200-96").out.split())
    assert "prices of gh200-96 - GH200 96 GB" in out
    assert "2026 1.99 usd/gpu/h on_demand; Lambda; gpu_1x_gh200; two values circulate" in out
    assert "id lambda-on-demand-2026" in out
    assert "[1] " in out and "(read 2026-11-29)" in out
    data = json.loads(capsheet("catalog", "prices", "h100-sxm5", "--json").out)
    assert (data["gpu"], len(data["prices"])) == ("h100-sxm", 35)
    band = next(p for p in data["prices"] if p["id"] == "hyperscaler-on-demand-2026-05")
    assert [round(band[name], 9) for name in ("value", "low", "high")] == [4.25, 3.5, 5.0]
    assert band["unit"] == "usd/gpu/h"


def test_gpu_without_prices_says_so(capsheet: Caller) -> None:
    assert "none recorded" in capsheet("catalog", "prices", "rubin").out
    assert "prices:" not in capsheet("catalog", "show", "rubin").out


def test_show_names_age_prices_and_where_a_source_was_quoted(capsheet: Caller) -> None:
    out = " ".join(capsheet("catalog", "show", "h100-sxm").out.split())
    assert "sources read: 2026-11-29" in out
    assert "prices: 35 observations, 2024-12 to 2026-10-19; capsheet catalog prices h100-sxm" in out
    assert "NVIDIA H100 data sheet, https://resources.nvidia.com" in out
    assert "quoted in Lightning Fabric, throughput table" in out


@pytest.mark.parametrize("word", Catalog.open().ids("gpu"))
def test_show_lists_every_cited_source(word: str, capsheet: Caller) -> None:
    data = json.loads(capsheet("catalog", "show", word, "--json").out)
    cited = {name for row in data["figures"] for name in row.get("source", ())}
    out = " ".join(capsheet("catalog", "show", word).out.split())
    assert all(f"[{number}] " in out for number in range(1, len(cited) + 1))
    for name in cited:
        assert data["sources"][name]["title"] in out
