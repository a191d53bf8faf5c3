"""Table bodies: types, escapes, number forms, offsets, refusals."""

import io
import math
import xml.etree.ElementTree as ET

import numpy as np
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.workbook import rows as rows_module
from reports.workbook.package import Package, cells, insert_rows_xml
from reports.workbook.rows import Body, Column, RowFormat, RowTemplate, cell_xml, write_rows
from reports.workbook.rows_ref import column_letter, column_number, split_ref
from reports.workbook.rows_text import CellError, number_text, number_texts, xml_text, xml_texts

HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "{=1}",
    "\t=1",
    "\r=1",
    "line\nbreak",
    "</c>",
    "</row></sheetData>",
    "<f>1</f>",
    "]]>",
    "&amp;",
    "\"quoted\" & 'single'",
    "http://example.org/",
    "internal:Sheet!A1",
    "=cmd|' /C calc'!A0",
    "  blanks  ",
    "00123",
    "1e5",
    "TRUE",
    "#N/A",
    "{r}",
    "_x0041_",
    "_x005F_x000D_",
    "naïve 语言 \U0001f600",
]


def xml(columns, first=7, count=None, **more):
    count = len(columns[0].values) if count is None else count
    return b"".join(write_rows(columns, first, count, **more)).decode()


def formula(text, values, **more):
    return Column("formula", values, template=RowTemplate.from_formula(text), **more)


def workbook(columns, count, title="Plan"):
    """Bytes of a book whose sheet has a header in row 1 and the body from row 2 on."""
    book = openpyxl.Workbook()
    book.active.title = title
    for number in range(1, len(columns) + 1):
        book.active.cell(1, number, f"h{number}")
    buffer = io.BytesIO()
    book.save(buffer)
    package = Package.read(buffer.getvalue())
    part = "xl/worksheets/sheet1.xml"
    sheet = package.get(part)
    package.set_stream(part, lambda: insert_rows_xml(sheet, [Body(columns, 2, count)]))
    return package.to_bytes()


def test_a_formula_cell_carries_formula_and_value():
    text = xml([formula("C{r}*D{r}+Inputs!$C$5", np.array([1.5]), style=3)])
    assert text == '<row r="7"><c r="A7" s="3"><f>C7*D7+Inputs!$C$5</f><v>1.5</v></c></row>'


def test_each_type_has_its_mark():
    assert '<c r="A7" t="b"><f>A1&gt;1</f><v>1</v>' in xml([formula("A1>1", np.array([True]))])
    assert '<c r="A7" t="str"><f>B7</f><v>a&amp;b</v>' in xml([formula("B{r}", ["a&b"])])
    assert '<c r="A7" t="e"><f>B7</f><v>#N/A</v>' in xml([formula("B{r}", np.array([math.nan]))])
    assert '<c r="A7" t="b"><v>0</v></c>' in xml([Column("input", np.array([False]))])
    inline = '<c r="A7" t="inlineStr"><is><t xml:space="preserve"> x</t></is></c>'
    assert inline in xml([Column("text", [" x"])])


def test_missing_inputs_are_empty_styled_cells():
    assert xml([Column("input", np.array([math.nan]), 4)]) == '<row r="7"><c r="A7" s="4"/></row>'
    assert xml([Column("input", [None], 4)]) == '<row r="7"><c r="A7" s="4"/></row>'
    assert xml([Column("text", [None, "x"], 4)]).startswith('<row r="7"><c r="A7" s="4"/></row>')


def test_a_column_may_mix_types_and_errors():
    values = [2.0, 3, True, "x", None, math.nan, CellError("#NUM!")]
    text = xml([formula("B{r}", values, error="#DIV/0!")])
    found = [(c.get("t"), c.findtext("v")) for c in ET.fromstring(f"<x>{text}</x>").iter("c")]
    missing = ("e", "#DIV/0!")
    kinds = [(None, "2"), (None, "3"), ("b", "1"), ("str", "x"), missing, missing, ("e", "#NUM!")]
    assert found == kinds
    plain = xml([Column("input", values)])
    assert [c.get("t") for c in ET.fromstring(f"<x>{plain}</x>").iter("c")] == [
        None, None, "b", "inlineStr", None, None, "e",
    ]  # fmt: skip


def test_one_nan_among_numbers_marks_only_its_own_cell():
    text = xml([formula("B{r}", np.array([1.0, math.nan, 3.0]), error="#DIV/0!")])
    kinds = [(c.get("t"), c.findtext("v")) for c in ET.fromstring(f"<x>{text}</x>").iter("c")]
    assert kinds == [(None, "1"), ("e", "#DIV/0!"), (None, "3")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.30000000000000004"),
        (3.0, "3"),
        (-0.0, "0"),
        (999999999999999.0, "999999999999999"),
        (1e15, "1000000000000000.0"),
        (15136811008 * 1000003.0, "1.5136856418433024e+16"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
    ],
)
def test_numbers_are_the_shortest_text_of_the_same_double(value, text):
    assert number_text(value) == text
    assert number_texts(np.array([value, 0.5])) == [text, "0.5"]
    assert number_texts(np.array([value, value])) == [text, text]
    assert float(text) == value


@given(st.lists(st.floats(allow_infinity=False, allow_nan=False), min_size=1, max_size=9))
def test_number_texts_read_back_as_the_same_doubles(values):
    texts = number_texts(np.array(values))
    assert [float(text) for text in texts] == values
    assert texts == [number_text(value) for value in values]


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=20), max_size=6))
def test_texts_survive_or_are_refused(texts):
    try:
        escaped = xml_texts(texts)
    except ValueError:
        assert any(ord(c) < 32 or c in "\ufffe\uffff" for text in texts for c in text)
        return
    for text, found in zip(texts, escaped, strict=True):
        back = ET.fromstring(f"<t>{found}</t>").text or ""
        assert back.replace("_x005F_", "_") == text.replace("_x005F_", "_")


@pytest.mark.parametrize("bad", ["\0", "a\x07", "\x1f", "\x0b", "\ud800", "x\udfff", "\ufffe"])
def test_characters_that_xml_cannot_hold_are_refused(bad):
    with pytest.raises(ValueError, match=r"found U\+"):
        xml_text(bad)
    with pytest.raises(ValueError, match="column B"):
        xml([Column("text", ["ok"]), Column("text", [bad])])
    with pytest.raises(ValueError, match=r"found U\+"):
        RowTemplate((f'"{bad}"',))


def test_text_is_limited_as_programs_count_it():
    assert xml_text("x" * 32767)
    assert xml_text("\U0001f600" * 16383)
    with pytest.raises(ValueError, match="at most 32767 units, found 32768"):
        xml_text("x" * 32768)
    with pytest.raises(ValueError, match="found 32768"):
        xml_texts(["a", "\U0001f600" * 16384])


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinity_is_refused(value):
    for column in (formula("A1", np.array([1.0, value])), Column("input", [value, 1])):
        with pytest.raises(ValueError, match="column A: expected"):
            xml([column])


def test_wrong_lengths_types_and_places_are_refused():
    with pytest.raises(ValueError, match="column B: expected 2 values, found 1"):
        write_rows([Column("text", ["a", "b"]), Column("text", ["a"])], 1, 2)
    with pytest.raises(TypeError, match="int64"):
        Column("input", np.array([1, 2]))
    with pytest.raises(TypeError, match="shape"):
        Column("input", np.zeros((2, 2)))
    with pytest.raises(TypeError, match="column A: expected text, found int"):
        xml([Column("text", ["a", 1])])
    with pytest.raises(TypeError, match="found list"):
        xml([Column("input", [[1]])])
    with pytest.raises(ValueError, match="template"):
        Column("formula", ["a"])
    with pytest.raises(ValueError, match="template"):
        Column("text", ["a"], template=RowTemplate(("A1",)))
    with pytest.raises(ValueError, match="a double holds"):
        xml([Column("input", [2**53 + 1])])
    with pytest.raises(ValueError, match="rows 1 to"):
        write_rows([Column("text", ["a"])], 1_048_577, 1)
    with pytest.raises(ValueError, match="leaves the sheet"):
        write_rows([formula("A{r-1}", ["a"])], 1, 1)
    with pytest.raises(ValueError, match="expected one of #N/A"):
        formula("A1", ["a"], error="#OOPS")


def test_templates_know_offsets_and_leave_other_braces_alone():
    template = RowTemplate.from_formula('=A{r}+B{r-1}*C{r+12}&"{x}"')
    assert template.at(7) == 'A7+B6*C19&"{x}"'
    assert template.offsets == {0, -1, 12}
    text = xml([Column("formula", np.array([1.0, 2.0]), template=template)])
    found = [c.findtext("f") for c in ET.fromstring(f"<x>{text}</x>").iter("c")]
    assert found == [template.at(7), template.at(8)]
    assert RowTemplate(('IF(A1="{r}",', 0, ")")).at(3) == 'IF(A1="{r}",3)'
    for bad in ("", "=", "  "):
        with pytest.raises(ValueError, match="formula"):
            RowTemplate.from_formula(bad)
    with pytest.raises(ValueError, match="leading"):
        RowTemplate(("=1",))
    with pytest.raises(ValueError, match="8192"):
        RowTemplate(("1" + "+1" * 4096,))


def test_blocks_join_without_a_seam(monkeypatch):
    count = 23
    columns = [
        formula("B{r}+A{r-1}", np.arange(count) / 3),
        None,
        Column("input", np.where(np.arange(count) % 5 == 0, math.nan, np.arange(count) / 7)),
        Column("text", [f"t{n}" for n in range(count)]),
        Column("input", [None if n % 2 else n for n in range(count)]),
    ]
    whole = xml(columns)
    for size in (1, 2, 7, 23):
        monkeypatch.setattr(rows_module, "BLOCK_ROWS", size)
        assert xml(columns) == whole
    rows = ET.fromstring(f"<x>{whole}</x>")
    assert [row.get("r") for row in rows] == [str(n) for n in range(7, 30)]
    assert [c.get("r") for c in rows[0]] == ["A7", "C7", "D7", "E7"]


def test_row_formats():
    text = xml([Column("text", ["a"])], format=RowFormat(height=18.0, outline=2, hidden=True))
    assert text.startswith('<row r="7" hidden="1" ht="18" customHeight="1" outlineLevel="2">')
    with pytest.raises(ValueError, match="outline"):
        RowFormat(outline=8)
    with pytest.raises(ValueError, match="height"):
        RowFormat(height=500)


def test_hostile_texts_stay_text_in_every_reader():
    import pandas

    columns = [Column("text", HOSTILE), Column("input", HOSTILE)]
    data = workbook(columns, len(HOSTILE))
    assert b"<f>" not in Package.read(data).get("xl/worksheets/sheet1.xml")
    ours = [cell for cell in cells(Package.read(data)) if split_ref(cell.ref)[1] > 1]
    assert {(cell.formula, cell.kind) for cell in ours} == {(None, "text")}
    assert [cell.value for cell in ours if cell.ref[0] == "A"] == HOSTILE
    assert [cell.value for cell in ours if cell.ref[0] == "B"] == HOSTILE

    found = list(openpyxl.load_workbook(io.BytesIO(data)).active.iter_rows(min_row=2))
    assert {(cell.data_type, cell.hyperlink) for row in found for cell in row} == {("s", None)}
    # This reader leaves coded characters coded.
    plain = [index for index, text in enumerate(HOSTILE) if "_x" not in text]
    assert [found[index][0].value for index in plain] == [HOSTILE[index] for index in plain]
    frame = pandas.read_excel(io.BytesIO(data), engine="openpyxl", keep_default_na=False)
    assert [frame["h2"][index] for index in plain] == [HOSTILE[index] for index in plain]


def typed_table():
    """Columns of each type, and the rows that readers should see."""
    numbers, flags, texts = [0.1 + 0.2, 1e15, 3.0], [False, True, True], ["a", "", "<c>"]
    columns = [
        formula("B{r}*2", np.array(numbers)),
        Column("input", np.array(numbers)),
        formula("B{r}>1", np.array(flags)),
        formula('"a"&B{r}', texts),
    ]
    return columns, [list(row) for row in zip(numbers, numbers, flags, texts, strict=True)]


def test_the_rust_reader_agrees():
    calamine = pytest.importorskip("python_calamine")

    def grid(columns, count):
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(workbook(columns, count)))
        return book.get_sheet_by_index(0).to_python()[1:]

    columns, expected = typed_table()
    assert grid(columns, 3) == expected
    # It takes a doubly coded underscore wrongly; LibreOffice and our reader do not.
    texts = [text for text in HOSTILE if text != "_x005F_x000D_"]
    assert [row[0] for row in grid([Column("text", texts)], len(texts))] == texts


def test_values_and_types_agree_in_every_reader():
    import pandas

    columns, expected = typed_table()
    data = workbook(columns, 3)
    book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    found = [list(row) for row in book.active.iter_rows(min_row=2, values_only=True)]
    assert found == [[*row[:3], row[3] or None] for row in expected]
    book = openpyxl.load_workbook(io.BytesIO(data))
    assert [cell.value for cell in book.active[4]] == ["=B4*2", 3, "=B4>1", '="a"&B4']
    frame = pandas.read_excel(io.BytesIO(data), engine="openpyxl", keep_default_na=False)
    assert frame.to_numpy().tolist() == expected
    assert [str(kind) for kind in frame.dtypes][:3] == ["float64", "float64", "bool"]
    ours = [cell.value for cell in cells(Package.read(data)) if split_ref(cell.ref)[1] > 1]
    assert ours == [value for row in expected for value in row]


def test_single_cells_for_splicing():
    assert cell_xml("B7", 1.5, 3, "=A7*2") == b'<c r="B7" s="3"><f>A7*2</f><v>1.5</v></c>'
    assert cell_xml("B7", True) == b'<c r="B7" t="b"><v>1</v></c>'
    assert cell_xml("B7", None, 2) == b'<c r="B7" s="2"/>'
    assert b"inlineStr" in cell_xml("B7", "=1+1")
    assert cell_xml("B7", None, 0, "A1") == b'<c r="B7" t="e"><f>A1</f><v>#N/A</v></c>'
    for bad in ("b7", "B0", "XFE1", "A1048577", 'A1"><x', ""):
        with pytest.raises(ValueError, match="expected a cell"):
            cell_xml(bad, 1.0)


@pytest.mark.parametrize(("number", "letter"), [(1, "A"), (26, "Z"), (27, "AA"), (16384, "XFD")])
def test_column_letters(number, letter):
    assert column_letter(number) == letter
    assert column_number(letter) == number
    assert split_ref(f"{letter}12") == (letter, 12)
