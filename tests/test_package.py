"""Parts, splices, cached values, canonical files."""

import io
import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from support.small_book import SHEET, VALUES, small_book

from reports.workbook.package import (
    Package,
    PackageError,
    cell_styles,
    fill_values,
    insert_rows_xml,
    sheet_parts,
    splice,
)
from reports.workbook.package_scan import scan_cells
from reports.workbook.rows import Body, Column, RowTemplate, cell_xml


def test_parts_are_read_and_set_by_name():
    package = small_book()
    assert package.names()[:2] == ["[Content_Types].xml", "_rels/.rels"]
    assert sheet_parts(package) == {"Plan & more": SHEET, "Other": "xl/worksheets/sheet2.xml"}
    package.set("docProps/note.txt", b"hello")
    assert Package.read(package.to_bytes()).get("docProps/note.txt") == b"hello"
    package.drop("docProps/note.txt")
    assert "docProps/note.txt" not in package
    with pytest.raises(PackageError, match="expected a part 'nothing'"):
        package.get("nothing")
    for bad in ("", "/a", "a//b", "../a", "a/../b", "a\\b"):
        with pytest.raises(PackageError, match="part name"):
            package.set(bad, b"")


def test_untouched_parts_are_copied_packed():
    level_nine = io.BytesIO()
    small_book().write_to(level_nine, level=9)
    packed = level_nine.getvalue()
    package = Package.read(packed)
    package.set(SHEET, package.get(SHEET).replace(b"<v>2</v>", b"<v>7</v>"))
    before, after = zipfile.ZipFile(level_nine), zipfile.ZipFile(io.BytesIO(package.to_bytes()))
    for info in before.infolist():
        same = info.compress_size == after.getinfo(info.filename).compress_size
        assert same == (info.filename != SHEET)
    # The same bytes set again are no change at all.
    package = Package.read(packed)
    package.set(SHEET, package.get(SHEET))
    assert package.to_bytes(level=1) == packed


def test_the_file_holds_nothing_that_changes_between_runs():
    data = small_book().to_bytes()
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.testzip() is None
    for info in archive.infolist():
        assert info.date_time == (1980, 1, 1, 0, 0, 0)
        assert (info.external_attr, info.create_system, info.extra, info.comment) == (
            0,
            0,
            b"",
            b"",
        )
        assert info.flag_bits == 0
    assert Package.read(data).to_bytes() == data


def test_same_bytes_under_other_seeds_zones_and_folders(tmp_path):
    script = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from reports.workbook.package import embed, set_core\n"
        "from support.small_book import small_book\n"
        "package = small_book(); set_core(package, '2026-03-01', 'T')\n"
        "embed(package, 'plan', b'{}'); package.write('out.xlsx')\n"
    )
    found = set()
    for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo")):
        folder = tmp_path / seed
        folder.mkdir()
        here = Path(__file__).resolve().parent
        subprocess.run(
            [sys.executable, "-c", script, str(here.parent), str(here)],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            check=True,
        )
        assert [path.name for path in folder.iterdir()] == ["out.xlsx"]
        found.add((folder / "out.xlsx").read_bytes())
    assert len(found) == 1


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "book.xlsx"
    small_book().write(target)
    before = target.read_bytes()
    package = small_book()

    def broken():
        yield b"<worksheet>"
        raise RuntimeError("engine gone")

    package.set_stream(SHEET, broken)
    with pytest.raises(RuntimeError, match="engine gone"):
        package.write(target)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["book.xlsx"]


def test_files_that_are_no_workbooks_are_refused():
    good = small_book().to_bytes()
    for bad in (b"", b"text", good[: len(good) // 2]):
        with pytest.raises(PackageError, match=r"expected an \.xlsx file"):
            Package.read(bad)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(PackageError, match="Content_Types"):
        Package.read(buffer.getvalue())
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("a.txt", "b")
    with pytest.raises(PackageError, match="twice"):
        Package.read(buffer.getvalue())


def test_damaged_parts_are_refused():
    data = bytearray(small_book().to_bytes())
    info = zipfile.ZipFile(io.BytesIO(bytes(data))).getinfo(SHEET)
    start = info.header_offset + 30 + len(SHEET)
    data[start + 10 : start + 14] = b"\xff\xff\xff\xff"
    with pytest.raises(PackageError, match="damaged part"):
        Package.read(bytes(data)).get(SHEET)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'<!DOCTYPE x [<!ENTITY a "b">]><worksheet/>', "DOCTYPE"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><worksheet/>', "found ISO-8859-1"),
        ("<worksheet/>".encode("utf-16"), "UTF-16"),
        (b"<worksheet><sheetData></worksheet>", "well-formed"),
    ],
)
def test_xml_with_tricks_is_refused(data, message):
    with pytest.raises(PackageError, match=message):
        list(scan_cells(data))
    with pytest.raises(PackageError, match=message):
        list(insert_rows_xml(data, []))


def test_formulas_get_their_values_and_types():
    package = small_book()
    sheet = fill_values(package.get(SHEET), VALUES)
    assert b'<c r="B4"><f>SUM(B2:B3)</f><v>5</v></c>' in sheet
    assert b'<c r="B5" t="b"><f>B4=5</f><v>1</v></c>' in sheet
    assert b'<c r="C4" t="str"><f>"x"&amp;A2</f><v>x&lt;a&gt;</v></c>' in sheet
    package.set(SHEET, sheet)
    other = package.get("xl/worksheets/sheet2.xml")
    package.set("xl/worksheets/sheet2.xml", fill_values(other, {"A1": math.nan}))
    book = openpyxl.load_workbook(io.BytesIO(package.to_bytes()), data_only=True)
    assert [book.worksheets[0][ref].value for ref in VALUES] == list(VALUES.values())
    assert book["Other"]["A1"].value == "#N/A"
    # Filled once more with the same values, nothing changes.
    assert fill_values(sheet, VALUES) == sheet


def test_each_formula_needs_exactly_one_value():
    sheet = small_book().get(SHEET)
    with pytest.raises(PackageError, match="a value for each formula, found none for C4"):
        fill_values(sheet, {"B4": 5.0, "B5": True})
    with pytest.raises(PackageError, match="a formula for each value, found none for B2, Z99"):
        fill_values(sheet, {**VALUES, "Z99": 1.0, "B2": 2.0})
    with pytest.raises(ValueError, match="finite"):
        fill_values(sheet, {**VALUES, "B4": math.inf})


def test_a_splice_leaves_all_other_bytes():
    sheet = small_book().get(SHEET)
    new = {"B2": cell_xml("B2", 7.0, 4), "A9": cell_xml("A9", "=1+1")}
    spliced = splice(sheet, new)
    expected = sheet
    for cell in reversed(list(scan_cells(sheet))):
        if cell.ref in new:
            expected = expected[: cell.start] + new[cell.ref] + expected[cell.end :]
    assert spliced == expected
    assert splice(sheet, {}) == sheet
    old = {cell.ref: sheet[cell.start : cell.end] for cell in scan_cells(sheet)}
    assert splice(spliced, {ref: old[ref] for ref in new}) == sheet


def test_a_splice_knows_odd_spellings():
    sheet = (
        b"<?xml version='1.0'?>\n<!-- <c r=\"B1\"/> --><worksheet xmlns:q='q'><sheetData>"
        b"<row r='1'><c r='A1' s=\"1\" q:note='a > b'/>\n <c  r='B1' >\n<v>1</v></c ></row>"
        b"<row><c><v>2</v></c><c r='D2'><v>3</v></c><c><f>A1</f></c></row></sheetData>"
        b"<extLst><q:c r='B1'><v/></q:c></extLst></worksheet >"
    )
    assert [cell.ref for cell in scan_cells(sheet)] == ["A1", "B1", "A2", "D2", "E2"]
    for ref in ("A1", "B1", "A2", "E2"):
        new = cell_xml(ref, 5.0)
        spliced = splice(sheet, {ref: new})
        assert spliced.count(new) == 1
        assert len(list(scan_cells(spliced))) == 5
    assert b"<f>A1</f><v>4</v></c></row>" in fill_values(sheet, {"E2": 4.0})


def test_a_splice_refuses_what_does_not_fit():
    sheet = small_book().get(SHEET)
    with pytest.raises(PackageError, match="found none for D77"):
        splice(sheet, {"D77": cell_xml("D77", 1.0)})
    for bad in (b"", b"x", b"<c/>", b'<c r="B3"/>', b'<c r="B2"/><c r="B2"/>', b'<c r="B2"/> '):
        with pytest.raises(PackageError):
            splice(sheet, {"B2": bad})
    with pytest.raises(PackageError, match="well-formed"):
        splice(sheet, {"B2": b'<c r="B2">'})
    prefixed = b'<x:worksheet><x:sheetData><x:row><x:c r="B2"/></x:row></x:sheetData></x:worksheet>'
    with pytest.raises(PackageError, match="without prefix"):
        splice(prefixed, {"B2": cell_xml("B2", 1.0)})


def body(count, first_row=9):
    template = RowTemplate.from_formula("A{r}*B{r}")
    columns = [
        Column("input", np.arange(1.0, count + 1), 1),
        Column("input", np.full(count, 0.5), 1),
        Column("formula", np.arange(1.0, count + 1) * 0.5, 2, template),
    ]
    return Body(columns, first_row, count)


def dimension(sheet):
    return sheet.partition(b'<dimension ref="')[2].partition(b'"')[0].decode()


def test_bodies_take_the_place_of_model_rows():
    package = small_book()
    sheet = fill_values(package.get(SHEET), VALUES)
    assert cell_styles(sheet, 9) == {"A": 1, "B": 1, "C": 2}
    assert cell_styles(sheet, 2) == {"A": 0, "B": 0}
    new = b"".join(insert_rows_xml(sheet, [body(3)]))
    assert dimension(sheet) == "A1:C9"
    assert dimension(new) == "A1:C11"
    assert new.count(b'<row r="9"') == 1
    assert (
        new.partition(b'<row r="9"')[0].replace(b"C11", b"C9") == sheet.partition(b'<row r="9"')[0]
    )
    assert new.partition(b"</sheetData>")[2] == sheet.partition(b"</sheetData>")[2]
    package.set_stream(SHEET, lambda: insert_rows_xml(sheet, [body(3)]))
    assert package.to_bytes() == package.to_bytes()
    loaded = openpyxl.load_workbook(io.BytesIO(package.to_bytes()), data_only=True).worksheets[0]
    assert [[c.value for c in row] for row in loaded["A9:C11"]] == [
        [1, 0.5, 0.5],
        [2, 0.5, 1],
        [3, 0.5, 1.5],
    ]
    assert loaded["C10"].font.bold
    assert loaded["A10"].number_format == "0.00"


def test_bodies_stack_and_leave_rows_between_and_below():
    sheet = small_book().get(SHEET)
    new = b"".join(insert_rows_xml(sheet, [body(2, 20), body(2, 6), body(0, 9)]))
    rows = [cell.ref for cell in scan_cells(new) if cell.ref.startswith("A")]
    assert rows == ["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A20", "A21"]
    assert dimension(new) == "A1:C21"
    empty = b'<worksheet><dimension ref="A1"/><sheetData/></worksheet>'
    new = b"".join(insert_rows_xml(empty, [body(1, 4)]))
    assert new.startswith(b'<worksheet><dimension ref="A4:C4"/><sheetData><row r="4">')
    assert new.endswith(b"</row></sheetData></worksheet>")


def test_bodies_never_cover_cells_or_each_other():
    sheet = small_book().get(SHEET)
    with pytest.raises(PackageError, match="free rows 4 to 5, found cells in row 4"):
        insert_rows_xml(sheet, [body(3, 3)])
    with pytest.raises(PackageError, match="two in row 10"):
        insert_rows_xml(sheet, [body(3), body(1, 10)])
