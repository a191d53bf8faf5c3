"""The reader, and what concerns a workbook as a whole."""

import io

import openpyxl
import pytest
from openpyxl.formula.translate import Translator
from support.small_book import BOOK, SHEET, VALUES, small_book

from reports.workbook.package import (
    Package,
    PackageError,
    cells,
    drop_calc_chain,
    embed,
    extract,
    fill_values,
    relations,
    set_content_type,
    set_core,
    set_full_calc,
    shifted,
    strip_values,
)
from reports.workbook.package_parts import relate
from reports.workbook.package_scan import scan_cells


def test_the_reader_sees_what_is_there():
    package = small_book()
    package.set(SHEET, fill_values(package.get(SHEET), VALUES))
    found = {(cell.sheet, cell.ref): cell for cell in cells(package)}
    seen = {ref: found["Plan & more", ref] for ref in ("A1", "B2", "B4", "B5", "C4", "C9")}
    assert [(c.formula, c.kind, c.value) for c in seen.values()] == [
        (None, "text", "name"),
        (None, "number", 2.0),
        ("SUM(B2:B3)", "number", 5.0),
        ("B4=5", "bool", True),
        ('"x"&A2', "text", "x<a>"),
        (None, "empty", None),
    ]
    assert found["Other", "A1"].kind == "empty"
    assert found["Other", "A1"].formula == "1/0"
    assert [cell.ref for cell in cells(package, "Other")] == ["A1"]
    with pytest.raises(PackageError, match="one of the sheets Plan & more, Other"):
        list(cells(package, "Third"))


def test_the_reader_resolves_shared_strings_and_shared_formulas():
    package = small_book()
    strings = (
        b"<sst><si><t>one</t></si><si><r><t>t</t></r><r><t xml:space='preserve'>wo </t></r>"
        b"<rPh><t>no</t></rPh></si><si><t>_x0041__x005F_x</t></si></sst>"
    )
    package.set("xl/sharedStrings.xml", strings)
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
    relate(package, BOOK, kind, "xl/sharedStrings.xml")
    package.set(
        SHEET,
        b'<worksheet><sheetData><row r="3"><c r="A3" t="s"><v>0</v></c><c r="B3" t="s"><v>1</v></c>'
        b'<c r="C3" t="s"><v>2</v></c><c r="D3" t="e"><v>#REF!</v></c>'
        b'<c r="E3"><f t="shared" ref="E3:E4" si="0">A3*$B$1+SUM(C$1:C3)</f><v>1</v></c>'
        b'<c r="F3" t="d"><v>2026-03-01</v></c></row>'
        b'<row r="4"><c r="E4"><f t="shared" si="0"/><v>2</v></c></row></sheetData></worksheet>',
    )
    found = list(cells(package, "Plan & more"))
    assert [c.value for c in found] == ["one", "two ", "A_x", "#REF!", 1.0, "2026-03-01", 2.0]
    assert [c.kind for c in found][3:6] == ["error", "number", "date"]
    assert found[-1].formula == "A4*$B$1+SUM(C$1:C4)"
    package.set(SHEET, package.get(SHEET).replace(b'si="0"/>', b'si="1"/>'))
    with pytest.raises(PackageError, match="cell E4: expected the shared formula '1'"):
        list(cells(package))
    package.set(
        SHEET, b'<worksheet><sheetData><row><c t="s"><v>9</v></c></row></sheetData></worksheet>'
    )
    with pytest.raises(PackageError, match="cell A1: expected a value of type s, found '9'"):
        list(cells(package))


@pytest.mark.parametrize(
    "formula",
    [
        "A1+$B2+C$3+$D$4",
        "SUM(A1:B2)*LOG10(C3)",
        '\'It\'\'s A1\'!B2&"A1 ""B2"""&Sheet1!C3',
        "SUM(A:A)+SUM($B:C)+SUM(1:2)+SUM($3:4)",
        "in_A1+H100x+_A1+A1_b+1E5+2.5E3",
        "IF(A1>=1,B1,-C1)",
    ],
)
def test_formulas_move_as_in_the_library(formula):
    expected = Translator("=" + formula, origin="E5").translate_formula("G8")
    assert shifted(formula, 2, 3) == expected[1:]
    assert shifted(formula, 0, 0) == formula


def test_a_reference_that_leaves_the_sheet_is_an_error():
    assert shifted("A1+$A$1+B2:C3", -1, 0) == "#REF!+$A$1+A2:B3"
    assert shifted("A1", 0, 1_048_576) == "#REF!"


def test_stripping_leaves_formulas_without_values():
    package = small_book()
    package.set(SHEET, fill_values(package.get(SHEET), VALUES))
    assert strip_values(package) == 4
    found = [cell for cell in cells(package) if cell.formula is not None]
    assert [(cell.kind, cell.value) for cell in found] == [("empty", None)] * 4
    left = {cell.ref: cell for cell in scan_cells(package.get(SHEET)) if cell.formula}
    assert {cell.kind for cell in left.values()} == {"n"}
    refilled = fill_values(package.get(SHEET), VALUES)
    texts = {cell.ref: cell.value.text for cell in scan_cells(refilled) if cell.formula}
    assert texts == {"B4": "5", "B5": "1", "C4": "x<a>"}


def test_calculation_on_load_can_be_set_and_cleared():
    package = small_book()
    before = package.get(BOOK)
    assert b'fullCalcOnLoad="1"' in before  # as the library writes it
    set_full_calc(package, False)
    assert b"fullCalcOnLoad" not in package.get(BOOK)
    assert b"calcId" in package.get(BOOK)
    set_full_calc(package, True)
    assert package.get(BOOK) == before
    bare = b"<workbook><sheets></sheets><definedNames/><x/></workbook>"
    package.set(BOOK, bare)
    set_full_calc(package, False)
    assert package.get(BOOK) == bare
    set_full_calc(package, True)
    assert b'<definedNames/><calcPr fullCalcOnLoad="1"/><x/>' in package.get(BOOK)


def test_the_calculation_chain_goes_with_all_that_names_it():
    package = small_book()
    untouched = package.to_bytes()
    assert not drop_calc_chain(package)
    package.set("xl/calcChain.xml", b"<calcChain/>")
    set_content_type(package, "xl/calcChain.xml", "application/x")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/calcChain"
    relate(package, BOOK, kind, "xl/calcChain.xml")
    assert drop_calc_chain(package)
    for name in package.names():
        assert b"calcChain" not in package.get(name)
    assert {n: package.get(n) for n in package.names()} == {
        n: Package.read(untouched).get(n) for n in package.names()
    }


def test_document_properties_come_from_the_given_date():
    package = small_book()
    set_core(package, "2026-03-01", "Plan <A> & B")
    core = package.get("docProps/core.xml").decode()
    assert core.count("2026-03-01T00:00:00Z") == 2
    properties = openpyxl.load_workbook(io.BytesIO(package.to_bytes())).properties
    assert (properties.title, properties.creator) == ("Plan <A> & B", "capsheet")
    assert properties.modified.isoformat() == "2026-03-01T00:00:00"
    set_core(package, "2026-03-01T12:30:00Z")
    assert b"12:30:00Z" in package.get("docProps/core.xml")
    for bad in ("yesterday", "2026-3-1", "2026-03-01 12:00", ""):
        with pytest.raises(ValueError, match="expected a date"):
            set_core(package, bad)


def test_a_document_rides_inside():
    package = small_book()
    plan = '{"name": "]]> <b>&amp; é", "rows": [1, 2]}\r\n'.encode()
    embed(package, "plan", plan)
    embed(package, "manifest", b"{}")
    read = Package.read(package.to_bytes())
    assert extract(read, "plan") == plan
    assert extract(read, "manifest") == b"{}"
    embed(read, "plan", b"[]")
    assert extract(read, "plan") == b"[]"
    assert [name for name in read.names() if name.startswith("customXml/item")] == [
        "customXml/item1.xml",
        "customXml/item2.xml",
        "customXml/itemProps1.xml",
        "customXml/itemProps2.xml",
    ]
    assert len([r for r in relations(read, BOOK) if r.type.endswith("/customXml")]) == 2
    assert openpyxl.load_workbook(io.BytesIO(read.to_bytes())).sheetnames == [
        "Plan & more",
        "Other",
    ]
    with pytest.raises(PackageError, match="carries 'other', found none"):
        extract(read, "other")
    for bad in ("", "Plan", "a/b", '"'):
        with pytest.raises(ValueError, match="name"):
            embed(read, bad, b"")
    with pytest.raises(ValueError, match=r"U\+0007"):
        embed(read, "plan", b"\x07")


def test_other_custom_parts_are_left_alone():
    package = small_book()
    package.set("customXml/item1.xml", b'<document xmlns="urn:other" name="plan">x</document>')
    package.set("customXml/item3.xml", b"<!-- urn:capsheet:embedded --><a/>")
    embed(package, "plan", b"mine")
    assert package.get("customXml/item1.xml").startswith(b'<document xmlns="urn:other"')
    assert b"mine" in package.get("customXml/item2.xml")
    assert extract(package, "plan") == b"mine"
