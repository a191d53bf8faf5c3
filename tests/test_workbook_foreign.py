"""Texts of catalogs, scenarios and metric files stay texts, whatever they look like."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import openpyxl
import pytest
import yaml
from support.recalc import differences, recalculate_formualizer
from support.tools import REPOSITORY
from support.workbook import MAIN, Made, fresh_path, write_yaml
from support.xlsx import Value

import planner
from planner.errors import InputError
from reports.workbook.package import Package, cells, extract

TAME = "an ordinary text"
HOSTILE = {
    "equals": "=1+1",
    "plus": "+1",
    "minus": "-1+cmd",
    "at": "@SUM(A1)",
    "array": "{=1}",
    "link": '=HYPERLINK("http://example.com","click")',
    "address": "http://example.com/x",
    "inside": "internal:Cover!A1",
    "dde": "=cmd|' /C calc'!A0",
    "tab": "\t=1+1",
    "return": "\r\n=1+1",
    "line": "first line\n=1+1",
    "error": "#N/A",
    "number": "00123",
    "exponent": "1e5",
    "flag": "TRUE",
    "tag": '<f>1+1</f> & "quoted" ]]>',
    "coded": "_x003D_1+1 and _x000D_",
    "right to left": "\u202e=1+1 \u05e9\u05dc\u05d5\u05dd",
    "pictures": "=🚀 \U0001f468\u200d\U0001f4bb 漢字",
    "quote": "'=1+1",
    "blank": "  =1+1",
}
LONG = "=1+1 " * 8000
UNHOLDABLE = "bell \x07 and zero \x00 and \ufffe end"


def _records(text: str) -> dict[str, dict[str, Any]]:
    """A model, a card, an engine and a format in which every free text is the given one."""
    source = {"title": text, "url": "https://example.com/a", "read": text}
    found = {}
    for kind, word in (("models", "qwen3-8b"), ("gpus", "h100-sxm"), ("engines", "plain"),
                       ("formats", "bf16")):  # fmt: skip
        path = REPOSITORY / "catalogs" / kind / f"{word}.yaml"
        data = yaml.safe_load(path.read_text("utf-8"))
        data |= {"id": f"my-{word}", "label": text, "note": text, "aliases": [text]}
        data["sources"] = {name: source | {"confidence": s.get("confidence")}
                           for name, s in data.get("sources", {}).items()}  # fmt: skip
        found[f"{kind}/my-{word}.yaml"] = _with_notes(data, text)
    model = found["models/my-qwen3-8b.yaml"]
    model["layer_groups"][0]["label"] = text
    model |= {"vendor": text, "family": text, "hf_id": text}
    return found


def _with_notes(data: Any, text: str) -> Any:
    if isinstance(data, dict):
        return {k: text if k == "note" else _with_notes(v, text) for k, v in data.items()}
    return [_with_notes(v, text) for v in data] if isinstance(data, list) else data


def _scenario(text: str) -> dict[str, Any]:
    return {
        "name": "foreign", "title": text, "as_of": "2026-11-29", "owner": text, "note": text,
        "engine": "my-plain", "models": ["my-qwen3-8b"], "gpus": ["my-h100-sxm"],
        "precisions": [{"name": text, "weights": "my-bf16", "kv": "my-bf16", "compute": "bf16"}],
        "contexts": ["16384 tokens"], "batches": [32],
        "workloads": [{"name": "w", "prompt": "8192 tokens", "output": "1025 tokens"}],
    }  # fmt: skip


def _metrics(text: str) -> dict[str, Any]:
    word = _in_formula(text) or "plain"
    about = {"why": text, "source": {"title": text, "url": text}}
    return {
        "tables": {"own": {"label": "Own table", "answers": text}},
        "constants": {"own_factor": {"value": 2, "meaning": text}},
        "metrics": {
            "own_case": {"label": f"{text} a", "unit": "request", "table": "own",
                         "formula": "batch * own_factor", **about},
            "own_group": {"label": f"{text} b", "formula": "group_layers * own_factor", **about,
                          "table": "groups"},
            "own_plan": {"label": f"{text} c", "unit": "request", "formula": "max_of(batch)",
                         **about},
            "own_word": {"label": f"{text} d", "choices": [word, "other"], "table": "own",
                         "formula": f'"{word}" if batch > own_factor * one_request else "other"',
                         **about},
            "own_check": {"label": f"{text} e", "check": "policy", "limit": 100,
                          "unit": "request", "formula": "max_of(batch)", **about},
        },
    }  # fmt: skip


def _in_formula(text: str) -> str:
    """The text, where the formula language can write it as a word."""
    return text if re.fullmatch(r"[^\x00-\x1f\"\\]{1,100}", text) else ""


@functools.cache
def book(text: str) -> Made:
    """The workbook of a plan in which every free text is the given one."""
    path = fresh_path("foreign")
    folder = path.parent
    for name, data in {
        **{f"catalog/{name}": data for name, data in _records(text).items()},
        "=1+1.yaml": _scenario(text), "metrics.yaml": _metrics(text),
    }.items():  # fmt: skip
        write_yaml(folder / name, data)
    plan = planner.plan(
        folder / "=1+1.yaml", catalogs=[folder / "catalog"], metrics=[folder / "metrics.yaml"]
    )
    from reports.workbook.book import write

    write(plan, path)
    return Made(plan, path)


def texts_of(made: Made) -> Iterator[str]:
    for cell in cells(Package.read(made.path)):
        if cell.kind == "text" and isinstance(cell.value, str):
            yield cell.value


@pytest.mark.parametrize("kind", HOSTILE)
def test_foreign_text_stays_text(kind: str) -> None:
    """Beside an ordinary text in all its places: the same formulas, the same cells otherwise."""
    text = HOSTILE[kind]
    made, tame = book(text), book(TAME)
    words = made.plan.metrics.metrics["own_word"].entry.choices[0]
    assert made.formulas == {
        place: formula.replace(f'"{TAME}"', _quoted(words))
        for place, formula in tame.formulas.items()
    }
    assert _links(made.path) == _links(tame.path)
    found, wrong, places = _texts(made), [], 0
    for place, value in _texts(tame).items():
        if TAME not in value or place in made.formulas or "if batch >" in value:
            continue
        places += 1
        if found[place].strip() != value.replace(TAME, text).strip():
            wrong.append((place, value, found[place]))
    assert wrong == []
    assert places > 60


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _texts(made: Made) -> dict[tuple[str, str], str]:
    return {
        (c.sheet, c.ref): str(c.value) for c in cells(Package.read(made.path)) if c.kind == "text"
    }


def _links(path: Path) -> int:
    """Links of the book, all of them to places inside."""
    count = 0
    with ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".rels"):
                assert b'TargetMode="External"' not in archive.read(name)
            if name.startswith("xl/worksheets/sheet"):
                count += len(list(ElementTree.fromstring(archive.read(name)).iter(
                    f"{MAIN}hyperlink")))  # fmt: skip
    return count


@pytest.mark.parametrize("kind", ["equals", "tag", "right to left"])
def test_formulas_beside_foreign_text_calculate(kind: str) -> None:
    made = book(HOSTILE[kind])
    assert differences(made.stored, recalculate_formualizer(made.path)) == []


@pytest.mark.parametrize("kind", [k for k, text in HOSTILE.items() if text.lstrip()[0] in "=+-@{"])
def test_what_looks_like_a_formula_is_marked_as_text(kind: str) -> None:
    """``quotePrefix`` keeps it text when a person edits the cell, and in copies."""
    text = HOSTILE[kind]
    made = book(text)
    with ZipFile(made.path) as archive:
        styles = ElementTree.fromstring(archive.read("xl/styles.xml"))
    formats = list(next(styles.iter(f"{MAIN}cellXfs")))
    begins = tuple("=+-@{")
    checked = 0
    for cell in cells(Package.read(made.path)):
        value = cell.value
        if cell.kind == "text" and cell.formula is None and isinstance(value, str) and (
            value.lstrip().startswith(begins)
        ):  # fmt: skip
            assert formats[cell.style].get("quotePrefix") == "1", (cell.sheet, cell.ref)
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("kind", HOSTILE)
def test_another_reader_gives_the_same_text(kind: str) -> None:
    """openpyxl reads no formula where we wrote a text, and the same characters."""
    made = book(HOSTILE[kind])
    other = openpyxl.load_workbook(made.path)
    ours = {(c.sheet, c.ref): c for c in cells(Package.read(made.path))}
    for (sheet, ref), cell in ours.items():
        if cell.kind != "text" or cell.formula is not None:
            continue
        found = other[sheet][ref]
        assert found.data_type != "f", (sheet, ref)
        text = str(found.value or "").replace("_x005F_", "_").replace("\r\n", "\n")
        assert text == str(cell.value).replace("\r\n", "\n"), (sheet, ref)


def test_too_long_text_is_cut_and_says_so() -> None:
    """No cell holds 40,000 characters; the document inside the book has them all."""
    made = book(LONG)
    cut = [text for text in texts_of(made) if text.startswith(LONG[:1000])]
    assert len(cut) > 10
    assert all(len(text) <= 32_767 and text.endswith("…") for text in cut)
    assert LONG in extract(Package.read(made.path), "plan").decode()
    assert openpyxl.load_workbook(made.path)["Cover"]["A1"].value == LONG[:32_766] + "…"


def test_characters_that_no_cell_holds_are_shown_as_unknown() -> None:
    made = book(UNHOLDABLE)
    shown = UNHOLDABLE.replace("\x07", "\ufffd").replace("\x00", "\ufffd").replace(
        "\ufffe", "\ufffd")  # fmt: skip
    assert sum(text.startswith(shown) for text in texts_of(made)) > 20
    assert planner_text(made)["scenario"]["title"] == UNHOLDABLE


def planner_text(made: Made) -> dict[str, Any]:
    import json

    found: dict[str, Any] = json.loads(extract(Package.read(made.path), "plan"))
    return found


@pytest.mark.parametrize("word", ["my~model", "my*model", "my?model", "My-Model", "123"])
def test_ids_that_a_look_up_reads_otherwise_are_refused(word: str, tmp_path: Path) -> None:
    """``~ * ?`` are wildcards of MATCH, case is ignored there, and a number is no text."""
    data = _records(TAME)["models/my-qwen3-8b.yaml"] | {"id": word, "weight_format": "bf16"}
    write_yaml(tmp_path / "catalog" / "models" / f"{word}.yaml", data)
    scenario = tmp_path / "s.yaml"
    text = {**_scenario(TAME), "models": [word], "gpus": ["h100-sxm"], "engine": "plain",
            "precisions": [{}]}  # fmt: skip
    write_yaml(scenario, text)
    with pytest.raises(InputError) as caught:
        planner.plan(scenario, catalogs=[tmp_path / "catalog"])
    message = str(caught.value)
    assert f"models/{word}.yaml" in message and "id" in message
    assert "small letters, digits, '.' and '-'" in message


def test_values_of_other_kinds_keep_their_kind() -> None:
    """A text such as 00123 or TRUE is no number and no flag in any cell."""
    for kind, other in (("number", 123.0), ("exponent", 1e5), ("flag", True)):
        made, tame = (
            [v for p, v in one.values.items() if p not in one.formulas]
            for one in (book(HOSTILE[kind]), book(TAME))
        )
        assert HOSTILE[kind] in made
        same: list[list[Value]] = [[v for v in values if v == other and type(v) is type(other)]
                                   for values in (made, tame)]  # fmt: skip
        assert len(same[0]) == len(same[1])
