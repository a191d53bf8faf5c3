"""A reader of cells that shares no code with the library that builds the book."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from reports.workbook.package_parts import Package, relations, sheet_parts, workbook_part
from reports.workbook.package_scan import Piece, RawCell, scan_cells
from reports.workbook.package_xml import local, new_parser, parse
from reports.workbook.package_zip import PackageError
from reports.workbook.rows_ref import MAX_COLUMN, MAX_ROW, column_letter, column_number, split_ref
from reports.workbook.rows_text import decoded

CellKind = Literal["number", "text", "bool", "error", "date", "empty"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as its reader sees it.

    ``formula`` is without ``=``, ``None`` for a plain cell. ``value`` is a float for numbers, text
    for text, errors and ISO dates, a bool, or ``None`` where nothing is stored.
    """

    sheet: str
    ref: str
    formula: str | None
    kind: CellKind
    value: float | str | bool | None
    style: int = 0


def cells(package: Package, sheet: str | None = None) -> Iterator[Cell]:
    """All cells of all worksheets (or of one) in tab order.

    Raises:
        PackageError: a damaged file, or no sheet of that name.
    """
    parts = sheet_parts(package)
    if sheet is not None and sheet not in parts:
        raise PackageError(f"expected one of the sheets {', '.join(parts)}, found {sheet!r}")
    shared = _shared_strings(package)
    for name, part in parts.items():
        if sheet in (None, name):
            masters: dict[str, tuple[str, str]] = {}
            for raw in scan_cells(package.get(part)):
                yield _cell(name, raw, shared, masters)


def shifted(formula: str, columns: int, rows: int) -> str:
    """The formula as it reads that many columns right and rows down.

    Relative parts of references move, also of ranges over whole columns and rows; text in quotes
    and sheet names stay. What leaves the sheet becomes ``#REF!``.
    """

    def move(found: re.Match[str]) -> str:
        if found["ref"] is None:
            return found[0]
        sides = [_moved(side, columns, rows) for side in found["ref"].split(":")]
        return "#REF!" if "" in sides else ":".join(sides)

    return _TOKEN.sub(move, formula)


# Text, quoted sheet names and names in brackets are passed over. A reference is not part of a
# longer word and no name of a function or sheet.
_TOKEN = re.compile(
    r"""
    "(?:[^"]|"")*" | '(?:[^']|'')*' | \[[^\]]*\]
  | (?<![\w.\\$])
    (?P<ref> \$?[A-Za-z]{1,3}\$?[1-9][0-9]*
           | \$?[A-Za-z]{1,3}:\$?[A-Za-z]{1,3}
           | \$?[1-9][0-9]*:\$?[1-9][0-9]* )
    (?![\w.\\(!])
    """,
    re.VERBOSE,
)
_SIDE = re.compile(r"(\$?)([A-Za-z]*)(\$?)([0-9]*)")


def _moved(side: str, columns: int, rows: int) -> str:
    """One side of a reference, moved; '' where that leaves the sheet."""
    found = _SIDE.fullmatch(side)
    if found is None:
        return side
    column_mark, letters, row_mark, number = found.groups()
    if not letters:  # a whole row: its only mark stands first
        column_mark, row_mark = "", column_mark or row_mark
    if letters and not column_mark:
        column = column_number(letters.upper()) + columns
        if not 1 <= column <= MAX_COLUMN:
            return ""
        letters = column_letter(column)
    if number and not row_mark:
        row = int(number) + rows
        if not 1 <= row <= MAX_ROW:
            return ""
        number = str(row)
    return f"{column_mark}{letters}{row_mark}{number}"


def _cell(sheet: str, raw: RawCell, shared: list[str], masters: dict[str, tuple[str, str]]) -> Cell:
    kind, value = _value(raw, shared)
    formula = None if raw.formula is None else _formula(raw.ref, raw.formula, masters)
    return Cell(sheet, raw.ref, formula, kind, value, raw.style)


def _formula(ref: str, piece: Piece, masters: dict[str, tuple[str, str]]) -> str:
    """The formula text; for a member of a shared formula, that of its first cell moved here."""
    group = piece.attributes.get("si", "")
    if piece.attributes.get("t") != "shared":
        return piece.text
    if piece.text:
        masters[group] = ref, piece.text
        return piece.text
    if group not in masters:
        raise PackageError(f"cell {ref}: expected the shared formula {group!r}, found none")
    first, text = masters[group]
    (from_letters, from_row), (to_letters, to_row) = split_ref(first), split_ref(ref)
    return shifted(text, column_number(to_letters) - column_number(from_letters), to_row - from_row)


def _value(raw: RawCell, shared: list[str]) -> tuple[CellKind, float | str | bool | None]:
    kind = raw.kind
    if kind == "inlineStr":
        return "text", decoded(raw.inline.text) if raw.inline else ""
    if raw.value is None:
        return "empty", None
    text = raw.value.text
    if kind == "str":
        return "text", decoded(text)
    if not text:
        return "empty", None
    try:
        if kind == "s":
            return "text", shared[int(text)]
        if kind == "n":
            return "number", float(text)
    except (ValueError, IndexError):
        raise PackageError(
            f"cell {raw.ref}: expected a value of type {kind}, found {text!r}"
        ) from None
    if kind == "b":
        return "bool", text.strip() in ("1", "true")
    return ("error", text) if kind == "e" else ("date", text)


def _shared_strings(package: Package) -> list[str]:
    """Texts of the shared string part; phonetic hints are no part of a text."""
    book = workbook_part(package)
    parts = [r.target for r in relations(package, book) if r.type.endswith("/sharedStrings")]
    if not parts or parts[0] not in package:
        return []
    found: list[str] = []
    path: list[str] = []

    def start(name: str, _attributes: dict[str, str]) -> None:
        path.append(local(name))
        if path[1:] == ["si"]:
            found.append("")

    def text(piece: str) -> None:
        if path[-1] == "t" and "rPh" not in path:
            found[-1] += piece

    parser = new_parser()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _name: path.pop()
    parser.CharacterDataHandler = text
    parse(parser, package.get(parts[0]))
    return [decoded(item) for item in found]
