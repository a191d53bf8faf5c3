"""Lookup reads no more than it must; overlays replace and say so; check finds what is odd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planner import yamlfile
from planner.catalog import KINDS, Catalog
from planner.errors import InputError, Span
from planner.records import Gpu, Model

CATALOG = Catalog.open()
GPUS = CATALOG.ids("gpu")


@pytest.fixture
def fresh() -> Catalog:
    return Catalog.open()


@pytest.fixture
def overlay(tmp_path: Path, repository: Path) -> Path:
    """A folder with a slower L4, a GPU of its own and a broken model."""
    (tmp_path / "gpus").mkdir()
    text = (repository / "catalogs" / "gpus" / "l4.yaml").read_text("utf-8")
    (tmp_path / "gpus" / "l4.yaml").write_text(text.replace("300 GB/s", "250 GB/s"), "utf-8")
    own = text.replace("id: l4", "id: own-24\naliases: [ours]")
    (tmp_path / "gpus" / "own-24.yaml").write_text(own, "utf-8")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "broken.yaml").write_text("id: broken\nhf_id: Some/Broken\n", "utf-8")
    return tmp_path


# ---- lookup ----


def test_opening_and_listing_parses_nothing(fresh: Catalog, parsed: list[str]) -> None:
    assert all(fresh.ids(kind) for kind in KINDS)
    assert parsed == []


def test_only_the_file_asked_for_is_parsed(fresh: Catalog, parsed: list[str]) -> None:
    fresh.model("qwen3-8b")
    fresh.facts("model", "qwen3-8b")
    fresh.groups("qwen3-8b")
    assert parsed == ["catalogs/models/qwen3-8b.yaml"]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    names: list[str] = []
    original = yamlfile.read

    def spy(path: Path, name: str | None = None) -> yamlfile.YamlFile:
        names.append(str(name))
        return original(path, name)

    monkeypatch.setattr(yamlfile, "read", spy)
    yield names


def test_alias_is_found_by_a_scan(fresh: Catalog, parsed: list[str]) -> None:
    assert fresh.model("Qwen/Qwen3-8B").id == "qwen3-8b"
    assert fresh.gpu("h200").id == "h200-sxm"
    assert fresh.kv_format("int8_per_token_head").id == "int8-per-token-head"
    assert parsed == [
        "catalogs/models/qwen3-8b.yaml",
        "catalogs/gpus/h200-sxm.yaml",
        "catalogs/formats/int8-per-token-head.yaml",
    ]


def test_word_that_a_file_only_mentions_is_no_alias(fresh: Catalog) -> None:
    with pytest.raises(InputError, match="expected a GPU of the catalog, found 'NVIDIA'"):
        fresh.gpu("NVIDIA")


@pytest.mark.parametrize(
    ("kind", "word", "hint"),
    [
        ("model", "qwen3-8", "did you mean 'qwen3-8b'?"),
        ("model", "Qwen3-8B", "did you mean 'qwen3-8b'?"),
        ("model", "qwen/qwen3-8b", "did you mean 'Qwen/Qwen3-8B'?"),
        ("gpu", "H100", "one of h100-nvl, h100-pcie, h100-sxm"),
        ("gpu", "h100-sx", "did you mean 'h100-sxm'?"),
        ("gpu", "zzz", f"one of {GPUS[0]}, "),
        ("gpu", "", f"one of {GPUS[0]}, "),
        ("gpu", "../gpus/l4", None),
        ("engine", "plian", "did you mean 'plain'?"),
        ("weight_format", "int8-per-token-head", "one of bf16, fp16, fp32, fp8, "),
        ("kv_format", "mxfp4", "did you mean 'nvfp4'?"),
    ],
)
def test_unknown_word(kind: str, word: str, hint: str | None, fresh: Catalog) -> None:
    span = Span("plan.yaml", 3, 7, 4, "gpu:  x")
    with pytest.raises(InputError) as caught:
        fresh.entry(kind, word, span)
    (problem,) = caught.value.problems
    assert problem.span == span
    assert problem.expected == f"{KINDS[kind].label} of the catalog"
    assert problem.found == f"'{word}'"
    assert hint is None or problem.hint.startswith(hint)


def test_entry_of_another_kind_is_not_taken() -> None:
    with pytest.raises(InputError):
        CATALOG.gpu("qwen3-8b")


def test_all_gives_every_record_in_order() -> None:
    assert [record.id for record in CATALOG.all("gpu")] == list(GPUS)
    assert all(isinstance(record, Gpu) for record in CATALOG.all("gpu"))
    assert all(isinstance(record, Model) for record in CATALOG.all("model"))


# ---- overlays ----


def test_later_folder_overrides_and_is_reported(overlay: Path) -> None:
    catalog = Catalog.open([overlay])
    assert catalog.facts("gpu", "l4")["memory_bandwidth"].value == 250e9
    assert catalog.gpu("ours").id == "own-24"
    assert set(GPUS) < set(catalog.ids("gpu"))
    assert catalog.overrides == {
        ("gpus", "l4"): ("catalogs/gpus/l4.yaml", f"{overlay}/gpus/l4.yaml")
    }


def test_broken_entry_harms_no_other(overlay: Path) -> None:
    catalog = Catalog.open([overlay])
    assert catalog.model("qwen3-8b").id == "qwen3-8b"
    for word in ("broken", "Some/Broken"):
        with pytest.raises(InputError, match="expected a value, found no such key"):
            catalog.model(word)
    found = catalog.check()
    assert {Path(problem.span.file).name for problem in found} == {"broken.yaml"}


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_folder_that_is_no_catalog(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="expected a folder with models/, gpus/, engines/"):
        Catalog.open([tmp_path / name])


# ---- what check() finds ----


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("gpus/l4.yaml", "id: l4", "id: l5", "id: expected the file name, 'l4', found 'l5'"),
        (
            "gpus/l4.yaml",
            "300 GB/s",
            "300 TB/s",
            "memory_bandwidth: expected 1.5 to 200 reads of the whole memory per second, "
            "found 1.25e+04",
        ),
        (
            "gpus/h100-sxm.yaml",
            "fp8: {value: 1979",
            "fp8: {value: 3958",
            "peak_dense.fp8: expected another multiple of the dense bf16 peak, found 4 times",
        ),
        (
            "gpus/h100-sxm.yaml",
            "79.19 GiB",
            "85.1 GiB",
            "memory.framework: expected 0.94 to 1 of the device memory, found 1.068",
        ),
        (
            "gpus/h100-sxm.yaml",
            "predecessor: a100-sxm-80",
            "predecessor: a100",
            "predecessor: expected the id of another GPU, found 'a100'",
        ),
        (
            "gpus/h100-sxm.yaml",
            "generation: 4",
            "generation: 1",
            "generation: expected generation 2 of a100-sxm-80 or later, found 1",
        ),
        (
            "gpus/h100-sxm.yaml",
            "[h100-sxm5]",
            "[h200]",
            "aliases: expected a name of a GPU that is free, found 'h200' of h100-sxm",
        ),
        (
            "models/qwen3-8b.yaml",
            "weight_format: bf16",
            "weight_format: bf61",
            "weight_format: expected the id of a format with a weight block, found 'bf61'",
        ),
        (
            "models/qwen3-8b.yaml",
            "layers: 36, kv",
            "layers: 37, kv",
            "layer_groups[0].layers: expected at most the 36 layers of the model, found 37",
        ),
        (
            "models/qwen3-8b.yaml",
            "layers: 36, kv",
            "layers: 35, kv",
            "layer_groups: expected groups that cover the 36 layers of the model, found 35 layers",
        ),
        (
            "models/qwen3-8b.yaml",
            "kv_heads: 8",
            "kv_heads: 7",
            "layer_groups[0].kv_heads: expected a divisor of the 32 query heads, found 7",
        ),
    ],
)
def test_implausible_entry_is_found(
    file: str, old: str, new: str, message: str, tmp_path: Path, repository: Path
) -> None:
    text = (repository / "catalogs" / file).read_text("utf-8")
    assert old in text
    target = tmp_path / file
    target.parent.mkdir()
    target.write_text(text.replace(old, new, 1), "utf-8")
    found = [str(p).splitlines()[0].split(": ", 1)[1] for p in Catalog.open([tmp_path]).check()]
    assert message in found
