"""A small reader and writer of workbooks that shares no code with the product or with openpyxl.

Values come back as Python values: float, bool, str, errors as their text (``"#DIV/0!"``).
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

Value = float | bool | str
Cells = dict[tuple[str, str], Value]

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
ERRORS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")


def is_error(value: object) -> bool:
    return isinstance(value, str) and value in ERRORS


def _sheet_parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """Sheet names in tab order with the archive names of their parts."""
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {node.attrib["Id"]: node.attrib["Target"] for node in relations}
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    return {
        sheet.attrib["name"]: posixpath.join("/xl", targets[sheet.attrib[_RELATION]]).lstrip("/")
        for sheet in book.iter(f"{_MAIN}sheet")
    }


def _texts(node: ElementTree.Element) -> str:
    """All runs of a rich or plain string, phonetic hints left out."""
    runs = [node, *node.findall(f"{_MAIN}r")]
    return "".join(text.text or "" for run in runs for text in run.findall(f"{_MAIN}t"))


def _shared_strings(archive: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    root = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
    return [_texts(item) for item in root.findall(f"{_MAIN}si")]


def _value(cell: ElementTree.Element, strings: Sequence[str]) -> Value | None:
    kind = cell.get("t", "n")
    inline, stored = cell.find(f"{_MAIN}is"), cell.find(f"{_MAIN}v")
    if kind == "inlineStr":
        return "" if inline is None else _texts(inline)
    if stored is None or (stored.text is None and kind != "str"):
        return None
    text = stored.text or ""
    if kind == "s":
        return strings[int(text)]
    if kind == "b":
        return text == "1"
    return float(text) if kind == "n" else text


def _cells(path: Path) -> Iterator[tuple[str, ElementTree.Element, list[str]]]:
    with zipfile.ZipFile(path) as archive:
        strings = _shared_strings(archive)
        for sheet, part in _sheet_parts(archive).items():
            if "worksheets/" not in part:
                continue
            for cell in ElementTree.fromstring(archive.read(part)).iter(f"{_MAIN}c"):
                yield sheet, cell, strings


def read_values(path: Path) -> Cells:
    """Every stored value: typed-in ones and the cached results of formulas."""
    found = ((sheet, cell, _value(cell, strings)) for sheet, cell, strings in _cells(path))
    return {(sheet, cell.attrib["r"]): value for sheet, cell, value in found if value is not None}


def read_formulas(path: Path) -> dict[tuple[str, str], str]:
    """Every formula text, without the leading ``=``."""
    return {
        (sheet, cell.attrib["r"]): node.text or ""
        for sheet, cell, _ in _cells(path)
        if (node := cell.find(f"{_MAIN}f")) is not None
    }


# ---- writing ---------------------------------------------------------------------------------

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MIME = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def _cell_text(address: str, value: Value) -> str:
    if isinstance(value, bool):
        return f'<c r="{address}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, (int, float)):
        return f'<c r="{address}"><v>{float(value)!r}</v></c>'
    if value.startswith("="):
        return f'<c r="{address}"><f>{escape(value[1:])}</f></c>'
    return (
        f'<c r="{address}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    )


def position(address: str) -> tuple[int, int]:
    """Row and column of an address, both counted from 1."""
    match = re.fullmatch(r"([A-Z]{1,3})([1-9][0-9]*)", address)
    if not match:
        raise ValueError(f"{address!r} is no cell address")
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - 64
    return int(match[2]), column


def write_workbook(
    path: Path, sheets: Mapping[str, Mapping[str, Value]], names: Mapping[str, str] | None = None
) -> Path:
    """Write values and formulas (texts that start with ``=``) with all digits and no cached values.

    ``sheets`` maps a sheet name to ``{"B7": value}``; ``names`` maps a name to ``Sheet!$B$7``.
    """
    tabs, links, overrides, parts = [], [], [], {}
    for number, (title, cells) in enumerate(sheets.items(), 1):
        rows: dict[int, list[tuple[int, str]]] = {}
        for address, value in cells.items():
            row, column = position(address)
            rows.setdefault(row, []).append((column, _cell_text(address, value)))
        body = "".join(
            f'<row r="{row}">{"".join(text for _, text in sorted(rows[row]))}</row>'
            for row in sorted(rows)
        )
        part = f"xl/worksheets/sheet{number}.xml"
        parts[part] = f'<worksheet xmlns="{_MAIN[1:-1]}"><sheetData>{body}</sheetData></worksheet>'
        tabs.append(f'<sheet name={quoteattr(title)} sheetId="{number}" r:id="rId{number}"/>')
        target = part.removeprefix("xl/")
        links.append(
            f'<Relationship Id="rId{number}" Type="{_KINDS}/worksheet" Target="{target}"/>'
        )
        overrides.append(f'<Override PartName="/{part}" ContentType="{_MIME}.worksheet+xml"/>')
    defined = "".join(
        f"<definedName name={quoteattr(name)}>{escape(place)}</definedName>"
        for name, place in (names or {}).items()
    )
    parts["[Content_Types].xml"] = (
        f'<Types xmlns="{_TYPES}"><Default Extension="rels" ContentType="application/vnd.'
        'openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        f'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{_MIME}'
        f'.sheet.main+xml"/>{"".join(overrides)}</Types>'
    )
    parts["_rels/.rels"] = (
        f'<Relationships xmlns="{_LINKS}"><Relationship Id="rId1" '
        f'Type="{_KINDS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    )
    parts["xl/_rels/workbook.xml.rels"] = (
        f'<Relationships xmlns="{_LINKS}">{"".join(links)}</Relationships>'
    )
    parts["xl/workbook.xml"] = (
        f'<workbook xmlns="{_MAIN[1:-1]}" xmlns:r="{_KINDS}"><sheets>{"".join(tabs)}</sheets>'
        + (f"<definedNames>{defined}</definedNames>" if defined else "")
        + "</workbook>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(parts):
            archive.writestr(name, _HEAD + parts[name])
    return path
