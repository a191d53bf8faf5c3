"""Files that are no safetensors files, or that were made to do harm: one clear message each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.safetensors import header, packed

from planner.errors import InputError
from planner.importers.hf_files import INDEX, MAX_HEADER, read_folder, read_header, read_index


def index(folder: Path, shards: Mapping[str, Any], total: Any = 8) -> None:
    text = json.dumps({"metadata": {"total_size": total}, "weight_map": shards})
    (folder / INDEX).write_text(text, "utf-8")


def entry(dtype: Any = "F32", shape: Any = (2,), places: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": places}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "expected a header of 2 to 100000000 bytes, found 0"),
        (b"\x00" * 8, "expected a header of 2 to 100000000 bytes, found 0"),
        (b"version https://git-lfs", "a pointer file? fetch the file itself"),
        ((MAX_HEADER + 1).to_bytes(8, "little") + b"{}", "found 100000001"),
        ((99).to_bytes(8, "little") + b"{}", "expected a header of 99 bytes, found 2 bytes"),
        (packed(b"\xff\xfe"), "expected UTF-8 text, found other bytes"),
        (packed(b"{]"), "expected JSON, found something else"),
        (packed(b"[" * 100_000), "expected JSON, found something else"),
        (packed(b"[1]"), "expected a JSON mapping, found a list"),
        (packed(b'{"a": {}, "a": {}}'), "a: expected each key once, found a repeat"),
        (packed({"a": 3}), "a: expected a mapping, found 3"),
        (packed({"a": entry("F31")}), "a: expected a dtype of the format, found 'F31'"),
        (packed({"a": entry(["F32"])}), "a: expected a dtype of the format, found a list"),
        (packed({"a": entry(shape=[-2])}), "a: expected a shape of up to 16 whole numbers"),
        (packed({"a": entry(shape=[True])}), "a: expected a shape of up to 16 whole numbers"),
        (packed({"a": entry(shape="22")}), "a: expected a shape of up to 16 whole numbers"),
        (packed({"a": entry(shape=[1] * 17)}), "a: expected a shape of up to 16 whole numbers"),
        (packed({"a": entry(shape=[2**62, 2**62])}), "a: expected fewer than 2^63 elements"),
        (packed({"a": entry(places=[8, 0])}), "a: expected two data_offsets in order"),
        (packed({"a": entry(places=[0])}), "a: expected two data_offsets in order"),
        (packed({"a": entry(places=[0, 2**70])}), "a: expected two data_offsets in order"),
        (packed({"a": entry(places=[0, 9])}), "a: expected 8 bytes, found 9 bytes"),
        (packed({"a": entry(), "b": entry()}), "without gaps or overlaps in 8 bytes, found 16"),
        (packed({"a": entry(), "b": entry(places=[9, 17])}), "in 17 bytes, found 16 bytes"),
        (packed({"": entry()}), "expected a name of 1 to 500 characters, found 0 of them"),
        (packed({"a" * 501: entry()}), "expected a name of 1 to 500 characters, found 501"),
        (packed({"a\u202e\x07": 3}), "a��: expected a mapping"),
    ],
)
def test_a_header_that_is_none(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw)
    with pytest.raises(InputError) as caught:
        read_header(path)
    assert len(caught.value.problems) == 1
    assert message in str(caught.value) and len(str(caught.value)) < 400
    assert str(caught.value).startswith("model.safetensors: ")


@pytest.mark.parametrize("name", ["../b.safetensors", "/b.safetensors", "b.bin", ".safetensors",
                                  "a/b.safetensors", "b\n.safetensors", 3, None])  # fmt: skip
def test_an_index_names_files_and_no_paths(tmp_path: Path, name: Any) -> None:
    index(tmp_path, {"lm_head.weight": name})
    with pytest.raises(InputError, match="expected the plain name of a safetensors file"):
        read_folder(tmp_path)


@pytest.mark.parametrize("total", [-1, "12", 1.5, True])
def test_an_index_says_bytes_or_nothing(tmp_path: Path, total: Any) -> None:
    index(tmp_path, {"lm_head.weight": "a.safetensors"}, total)
    with pytest.raises(InputError, match=r"metadata\.total_size: expected a whole number of bytes"):
        read_index(tmp_path / INDEX)


@pytest.mark.parametrize("data", [{}, {"weight_map": {}}, {"weight_map": []}])
def test_an_index_without_tensors(tmp_path: Path, data: Any) -> None:
    (tmp_path / INDEX).write_text(json.dumps(data), "utf-8")
    with pytest.raises(InputError, match="weight_map: expected a mapping of tensors to files"):
        read_folder(tmp_path)


def test_an_index_and_files_that_do_not_fit(tmp_path: Path) -> None:
    index(tmp_path, {"lm_head.weight": "a.safetensors"})
    (tmp_path / "a.safetensors").write_bytes(header({"model.norm.weight": (4,)}))
    with pytest.raises(InputError, match=r"model.norm.weight: expected every tensor of the files"):
        read_folder(tmp_path)


def test_a_tensor_in_two_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.safetensors").write_bytes(header({"model.norm.weight": (4,)}))
    with pytest.raises(InputError, match=r"b.safetensors: model.norm.weight: expected each tensor"):
        read_folder(tmp_path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a readable file, found no such file"):
        read_header(tmp_path / "none.safetensors")
