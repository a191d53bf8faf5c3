"""Units, digits, names and places as a view writes them."""

from __future__ import annotations

import pytest

from planner.frames import column_name
from reports.view import machine_name, unit_words
from reports.view_axes import anchor
from reports.view_units import column_decimals, place_words, with_unit


@pytest.mark.parametrize(
    ("where", "said_as"),
    [
        ("/plans/of/someone/q3.yaml:12:1", "q3.yaml:12:1"),
        ("C:\\plans\\q3.yaml:12:1", "q3.yaml:12:1"),
        ("engine plain", "engine plain"),
        ("--set overhead=3 GiB", "--set overhead=3 GiB"),
        ("", ""),
    ],
)
def test_places_do_not_name_folders(where: str, said_as: str) -> None:
    assert place_words(where) == said_as


def test_anchors_are_plain_and_unique() -> None:
    taken: set[str] = set()
    assert anchor("case", "Qwen/tp1 a+b", taken) == "case-qwen-tp1-a-b"
    assert anchor("case", "qwen/tp1/a+b", taken) == "case-qwen-tp1-a-b-2"
    assert anchor("case", "<img> 中", taken) == "case-img"


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("1", ""), ("x", ""), ("GiB", "GiB"), ("token/request", "tokens/request"),
        ("GiB/request/gpu", "GiB/request/GPU"), ("request/gpu", "requests/GPU"),
        ("1/gpu", "per GPU"), ("Gparam", "billion weights"), ("usd/gpu/h", "USD/GPU/hour"),
        ("kFLOP*request/token^2", "kFLOP·requests/token²"), ("byte/param", "bytes/weight"),
    ],
)  # fmt: skip
def test_units_for_people(unit: str, words: str) -> None:
    assert unit_words(unit) == words


def test_one_of_something_is_singular() -> None:
    assert with_unit("1", "GPUs") == "1 GPU"
    assert with_unit("1", "tokens/request") == "1 token/request"
    assert with_unit("2", "requests") == "2 requests"
    assert with_unit("0.9", "") == "0.9"


def test_names_for_machines_are_those_of_data_frames() -> None:
    for unit in ("1", "GiB/request/gpu", "kFLOP*request/token^2", "s"):
        assert machine_name("some_name", unit) == column_name("some_name", unit)


@pytest.mark.parametrize(
    ("values", "kind", "decimals"),
    [
        ([15.26, 148.41], "figure", 2), ([1223.9, 279.36], "figure", 1),
        ([12.53, 591.14], "figure", 2), ([144.0, 96.0], "figure", 0),
        ([967.06, 2256.6], "ratio", 0), ([0.00057, 0.0941], "figure", 5),
        ([None, None], "figure", 0), ([0.0, 0.0], "figure", 0), ([23.0, None], "count", 0),
        (["fits", None], "word", 0),
    ],
)  # fmt: skip
def test_digits_of_a_column(values: list[float | None], kind: str, decimals: int) -> None:
    assert column_decimals(values, kind) == decimals  # type: ignore[arg-type]
