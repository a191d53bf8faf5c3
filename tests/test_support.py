"""The tests' own tools are proven too: a check that cannot fail proves nothing."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from support import recalc, tools
from support.browser import open_page, screenshot
from support.calculators import calculate_cells, calculate_js, run_node
from support.pictures import pdf_pages, render_pdf_png
from support.recalc import (
    differences,
    falsified,
    recalculate_formualizer,
    recalculate_libreoffice,
    same_value,
    stripped,
)
from support.shared import shared_folder
from support.xlsx import Cells, read_formulas, read_values, write_workbook

ENGINES = {"formualizer": recalculate_formualizer, "libreoffice": recalculate_libreoffice}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Two sheets with a number, a text, a flag, an error and a name, and no cached value."""
    sheets = {
        "Inputs": {"B1": 0.1, "B2": 0.2, "B3": True, "B4": "a <b> & 'c'", "B5": 0.0},
        "A plan": {
            "A1": "=Inputs!B1+Inputs!B2",
            "A2": '=IF(Inputs!B3,"yes & no","never")',
            "A3": "=Inputs!B1>Inputs!B2",
            "A4": "=Inputs!B1/Inputs!B5",
            "A5": "=share*30",
            "A6": "=A5*2",
        },
    }
    return write_workbook(tmp_path / "book.xlsx", sheets, {"share": "Inputs!$B$2"})


# 0.1 + 0.2; share is 0.2, times 30 is 6, times 2 is 12.
RESULTS: Cells = {
    ("A plan", "A1"): 0.3,
    ("A plan", "A2"): "yes & no",
    ("A plan", "A3"): False,
    ("A plan", "A4"): "#DIV/0!",
    ("A plan", "A5"): 6.0,
    ("A plan", "A6"): 12.0,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_calculate_every_kind_of_value(engine: str, book: Path) -> None:
    found = ENGINES[engine](book)
    assert differences(RESULTS, found) == []
    assert found["Inputs", "B4"] == "a <b> & 'c'"
    assert found["Inputs", "B3"] is True


@pytest.mark.parametrize("engine", ENGINES)
def test_recalculation_does_not_believe_cached_values(
    engine: str, book: Path, tmp_path: Path
) -> None:
    wrong = falsified(book, tmp_path / "wrong.xlsx", 999)
    assert {read_values(wrong)[place] for place in RESULTS} == {999.0}
    assert differences(RESULTS, ENGINES[engine](wrong)) == []


def test_stripping_leaves_no_cached_value_and_every_typed_one(book: Path, tmp_path: Path) -> None:
    bare = stripped(falsified(book, tmp_path / "wrong.xlsx", 999), tmp_path / "bare.xlsx")
    assert read_formulas(bare) == read_formulas(book)
    assert read_values(bare) == read_values(book)


def test_stripping_that_left_a_value_would_be_noticed(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = falsified(book, tmp_path / "wrong.xlsx", 999)
    monkeypatch.setattr(recalc, "strip_values", lambda package: 0)
    with pytest.raises(AssertionError, match="cached values stayed"):
        stripped(wrong, tmp_path / "bare.xlsx")


def test_comparison_finds_a_wrong_a_missing_and_a_mistyped_value() -> None:
    expected: Cells = {("S", "A1"): 6.0, ("S", "A2"): True, ("S", "A3"): "#N/A", ("S", "A4"): 1.0}
    found: Cells = {("S", "A1"): 6.00000001, ("S", "A2"): 1.0, ("S", "A3"): "#VALUE!"}
    assert [line.split(":")[0] for line in differences(expected, found)] == [
        "S!A1",
        "S!A2",
        "S!A4",
    ]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1.0, 1.0 + 1e-10, True),
        (1.0, 1.0 + 1e-8, False),
        (0.0, 1e-300, False),
        (math.nan, "#NUM!", True),
        ("#DIV/0!", "#VALUE!", True),
        ("#DIV/0!", 0.0, False),
        (math.nan, 0.0, False),
        (True, 1.0, False),
        ("1", 1.0, False),
        (None, 0.0, False),
        (None, None, True),
    ],
)
def test_same_value(a: object, b: object, same: bool) -> None:
    assert same_value(a, b) is same
    assert same_value(b, a) is same


def test_written_workbook_reads_back_with_all_digits(book: Path) -> None:
    values = read_values(book)
    assert values["Inputs", "B1"] == 0.1
    assert not [place for place in values if place[0] == "A plan"]
    assert read_formulas(book)["A plan", "A2"] == 'IF(Inputs!B3,"yes & no","never")'


def test_workbook_of_openpyxl_reads_back(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    for row in ((1.5, "text", True), ("=A1*2", '=B1&"!"', "=NOT(C1)")):
        sheet.append(row)
    book.save(tmp_path / "theirs.xlsx")
    found = recalculate_formualizer(tmp_path / "theirs.xlsx")
    assert [found["Sheet", place] for place in ("A1", "B1", "C1")] == [1.5, "text", True]
    assert [found["Sheet", place] for place in ("A2", "B2", "C2")] == [3.0, "text!", False]


# ---- many formulas -----------------------------------------------------------------------------

INPUTS = {"isl": 8192.0, "B7": 0.5, "flag": True, "kind": "fp8", "zero": 0.0}
FORMULAS = ["=isl*B7", "IF(flag,isl,0)", 'kind="fp8"', "isl/zero", 'kind&"-kv"', "isl>B7"]


@pytest.mark.parametrize("engine", ENGINES)
def test_formula_lists_use_names_and_addresses(engine: str) -> None:
    assert calculate_cells(FORMULAS, INPUTS, engine) == [
        4096.0,
        8192.0,
        True,
        "#DIV/0!",
        "fp8-kv",
        True,
    ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("formula", ["NOSUCH(1)", "no_such_name+1"])
def test_formula_that_is_not_understood_never_passes_as_no_value(engine: str, formula: str) -> None:
    with pytest.raises(RuntimeError, match=r"not understand: Cells!A2"):
        calculate_cells(["1/0", formula], {}, engine)


def test_wide_sheets_are_calculated() -> None:
    assert calculate_cells(["ZZ1*2"], {"ZZ1": 21.0}, "formualizer") == [42.0]


def test_formula_list_refuses_inputs_in_its_own_column() -> None:
    with pytest.raises(ValueError, match="column A"):
        calculate_cells(["A1"], {"A1": 1.0}, "formualizer")


def test_javascript_gives_numbers_that_json_cannot_hold() -> None:
    found = calculate_js(["isl * half(1)", "isl / 0", "0 / 0", "-isl / 0", "1 < 2"], {"isl": 8.0},
                         "const half = x => x / 2;")  # fmt: skip
    assert found[0] == 4.0
    assert found[1] == math.inf
    assert math.isnan(found[2])
    assert found[3] == -math.inf
    assert found[4] is True


def test_javascript_error_is_a_value_in_a_list_and_an_exception_alone() -> None:
    assert calculate_js(["nothing.here", "1"], {}) == [
        "!ReferenceError: nothing is not defined",
        1,
    ]
    with pytest.raises(RuntimeError, match="nothing is not defined"):
        run_node("return nothing.here;")


# ---- pictures ----------------------------------------------------------------------------------

PAGE = """<!doctype html><meta charset="utf-8"><title>t</title>
<style>body {{ background: #fff; margin: 0; height: 2000px }}
@media (prefers-color-scheme: dark) {{ body {{ background: #000 }} }}</style>
<body>text<script>{script}</script>"""
INK = "getComputedStyle(document.body).backgroundColor"


def png_size(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def test_screenshot_holds_the_whole_page_and_a_print(tmp_path: Path) -> None:
    html = tmp_path / "page.html"
    html.write_text(PAGE.format(script=""), encoding="utf-8")
    screenshot(html, tmp_path / "page.png", 640, print_pdf=tmp_path / "page.pdf")
    assert png_size(tmp_path / "page.png") == (640, 2000)
    assert len(pdf_pages(tmp_path / "page.pdf", tmp_path)) > 1


@pytest.mark.parametrize(("dark", "ink"), [(False, "rgb(255, 255, 255)"), (True, "rgb(0, 0, 0)")])
def test_page_follows_the_colour_preference(dark: bool, ink: str, tmp_path: Path) -> None:
    html = tmp_path / "page.html"
    html.write_text(PAGE.format(script=""), encoding="utf-8")
    with open_page(html, 640, dark=dark) as page:
        assert page.evaluate(INK) == ink
        assert page.errors == []
        assert page.requests == [html.as_uri()]


def test_page_errors_and_outside_requests_are_seen(tmp_path: Path) -> None:
    html = tmp_path / "page.html"
    script = "new Image().src = 'missing.png'; throw new Error('broken');"
    html.write_text(PAGE.format(script=script), encoding="utf-8")
    with open_page(html, 640) as page:
        assert any("broken" in error for error in page.errors)
        assert (tmp_path / "missing.png").as_uri() in page.requests
        with pytest.raises(RuntimeError, match="nowhere"):
            page.evaluate("nowhere.to.be.found")


def test_workbook_prints_the_values_that_it_carries(book: Path, tmp_path: Path) -> None:
    stored = falsified(book, tmp_path / "stored.xlsx", 987654)
    pages = render_pdf_png(stored, tmp_path)
    assert len(pages) == 2
    assert all(png_size(page)[0] > 400 for page in pages)
    tools.need("pdftotext")
    text = subprocess.run(
        ["pdftotext", str(tmp_path / "stored.pdf"), "-"], capture_output=True, text=True, check=True
    ).stdout
    assert text.count("987654") == len(RESULTS)


# ---- what is missing is never silent -----------------------------------------------------------


@pytest.mark.parametrize(
    ("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)]
)
def test_missing_tool_fails_under_ci_and_skips_elsewhere(
    ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(tools, "NOTICES", {})
    with pytest.raises(outcome, match="no-such-program is missing, so the look is not proven"):
        tools.need("no-such-program", "the look")
    with pytest.raises(outcome, match="no_such_package is missing"):
        tools.need_module("no_such_package")
    with pytest.raises(outcome, match="shared is missing"):
        shared_folder(tmp_path / "clone")
    assert len(tools.NOTICES) == (0 if ci else 3)


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_any_skip_fails_the_run_under_ci(
    ci: str, code: int, tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of its own with the real conftest.py; no plain skip escapes."""
    (tmp_path / "conftest.py").write_bytes((repository / "tests" / "conftest.py").read_bytes())
    test = "import pytest\ndef test_it(): pytest.importorskip('no_such_package')\n"
    (tmp_path / "test_it.py").write_text(test, encoding="utf-8")
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PYTHONPATH", str(repository / "tests"))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert ("WHICH COUNTS AS A FAILURE" in done.stdout) is bool(ci)


def test_tool_that_is_there_is_found() -> None:
    assert Path(tools.need("bash")).is_file()
