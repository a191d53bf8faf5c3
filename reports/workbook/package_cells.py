"""Changes inside a sheet part that leave every other byte as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from reports.workbook.package_parts import Package, sheet_parts
from reports.workbook.package_scan import RawCell, scan_cells
from reports.workbook.package_xml import Element, elements, replaced, start_tag
from reports.workbook.package_zip import PackageError
from reports.workbook.rows import Body
from reports.workbook.rows_ref import column_letter, column_number, split_ref
from reports.workbook.rows_text import Scalar, typed

_SHOWN = 5


def splice(sheet_xml: bytes, changes: Mapping[str, bytes]) -> bytes:
    """Replace whole ``<c>`` elements by reference; all other bytes stay.

    Raises:
        PackageError: a cell that the sheet lacks, or new XML that is not one cell of that place.
    """
    for ref, new in changes.items():
        if _only_cell(new).ref != ref:
            raise PackageError(f"expected the XML of cell {ref}, found {new[:40]!r}")
    edits, missing = [], set(changes)
    for cell in scan_cells(sheet_xml):
        if cell.ref in missing:
            if cell.name != "c":
                raise PackageError(f"expected cells without prefix, found <{cell.name}>")
            missing.discard(cell.ref)
            edits.append((cell.start, cell.end, changes[cell.ref]))
    _refuse("cells that the sheet has", missing)
    return replaced(sheet_xml, edits)


def fill_values(sheet_xml: bytes, values: Mapping[str, Scalar]) -> bytes:
    """Give each formula cell its value, with the type that goes with it.

    ``None`` and NaN become ``#N/A``.

    Raises:
        PackageError: a formula without a value, or a value without a formula.
        ValueError: infinity, or text that a cell cannot hold.
    """
    edits, unfilled, unused = [], [], set(values)
    for cell in scan_cells(sheet_xml):
        if cell.formula is None:
            continue
        if cell.ref in unused:
            unused.discard(cell.ref)
            edits.append((cell.start, cell.end, _with_value(sheet_xml, cell, values[cell.ref])))
        else:
            unfilled.append(cell.ref)
    _refuse("a value for each formula", unfilled)
    _refuse("a formula for each value", unused)
    return replaced(sheet_xml, edits)


def strip_values(package: Package) -> int:
    """Remove the stored value of every formula cell, so that readers must calculate.

    Returns the number of formula cells. Sheets without one stay untouched.
    """
    count = 0
    for part in sheet_parts(package).values():
        data = package.get(part)
        edits = [
            (cell.start, cell.end, _without_value(data, cell))
            for cell in scan_cells(data)
            if cell.formula is not None
        ]
        package.set(part, replaced(data, edits))
        count += len(edits)
    return count


def cell_styles(sheet_xml: bytes, row: int) -> dict[str, int]:
    """Cell formats of one row by column letter, such as those of a model row."""
    found = {}
    for cell in scan_cells(sheet_xml):
        letter, number = split_ref(cell.ref)
        if number == row:
            found[letter] = cell.style
    return found


def insert_rows_xml(sheet_xml: bytes, bodies: Sequence[Body]) -> Iterator[bytes]:
    """Stream the sheet with table bodies in place of the model rows.

    A body takes the rows from its first on: the row that is there (a model row, for its styles) is
    left out, and rows further down must be free of cells. All other rows stay, and ``<dimension>``
    tells the new extent.

    Raises:
        PackageError: bodies that overlap, or that would cover cells; raised before the first piece.
    """
    ordered = sorted(bodies, key=lambda body: body.first_row)
    for above, below in pairwise(ordered):
        if below.first_row <= _last_taken(above):
            raise PackageError(f"expected separate bodies, found two in row {below.first_row}")
    found = elements(sheet_xml, {"dimension", "sheetData", "row"})
    tables = [element for element in found if element.name == "sheetData"]
    if not tables:
        raise PackageError("expected a worksheet with <sheetData>, found none")
    cells = [split_ref(cell.ref) for cell in scan_cells(sheet_xml)]
    _check_free(ordered, {row for _, row in cells})
    kept = [cell for cell in cells if _taker(ordered, cell[1]) is None]
    extent = _extent(kept, ordered)
    head = sheet_xml[: tables[0].head_end]
    if tables[0].head_end == tables[0].end:
        head = head.rstrip(b">").rstrip(b"/").rstrip() + b">"
    sizes = [e for e in found if e.name == "dimension"]
    head = replaced(head, [(e.start, e.end, _dimension(extent)) for e in sizes])
    rows = [e for e in found if e.name == "row" and e.parent == "sheetData"]
    if any("r" not in row.attributes for row in rows):
        raise PackageError("expected rows with numbers, found one without")
    return _merged(sheet_xml, tables[0], head, rows, ordered)


def _merged(
    data: bytes, table: Element, head: bytes, rows: Sequence[Element], bodies: Sequence[Body]
) -> Iterator[bytes]:
    """The head, then old rows and bodies in order of their numbers, then the rest."""
    yield head
    waiting = list(bodies)
    for row in rows:
        number = int(row.attributes["r"])
        while waiting and waiting[0].first_row <= number:
            yield from waiting.pop(0).chunks()
        if _taker(bodies, number) is None:
            yield data[row.start : row.end]
    for body in waiting:
        yield from body.chunks()
    yield b"</sheetData>" if table.head_end == table.end else b""
    end = data.rindex(b"</", table.head_end, table.end) if table.head_end < table.end else table.end
    yield data[end:]


def _last_taken(body: Body) -> int:
    """Last row that a body takes; an empty one still takes its model row."""
    return max(body.first_row, body.last_row)


def _taker(bodies: Iterable[Body], row: int) -> Body | None:
    return next((b for b in bodies if b.first_row <= row <= _last_taken(b)), None)


def _check_free(bodies: Sequence[Body], used: Iterable[int]) -> None:
    for row in sorted(used):
        body = _taker(bodies, row)
        if body and row != body.first_row:
            raise PackageError(
                f"expected free rows {body.first_row + 1} to {body.last_row}, "
                f"found cells in row {row}"
            )


def _extent(kept: Sequence[tuple[str, int]], bodies: Sequence[Body]) -> str:
    columns = [column_number(letter) for letter, _ in kept]
    rows = [row for _, row in kept]
    for body in bodies:
        if body.count:
            columns += [body.first_column, body.last_column]
            rows += [body.first_row, body.last_row]
    if not rows:
        return "A1"
    first = f"{column_letter(min(columns))}{min(rows)}"
    last = f"{column_letter(max(columns))}{max(rows)}"
    return first if first == last else f"{first}:{last}"


def _dimension(extent: str) -> bytes:
    return start_tag("dimension", {"ref": extent}, closed=True)


def _only_cell(xml: bytes) -> RawCell:
    wrap = b"<worksheet><sheetData><row>", b"</row></sheetData></worksheet>"
    cells = list(scan_cells(wrap[0] + xml + wrap[1]))
    if (
        len(cells) != 1
        or cells[0].end - cells[0].start != len(xml)
        or "r" not in cells[0].attributes
    ):
        raise PackageError(f"expected the XML of one cell, found {xml[:40]!r}")
    return cells[0]


def _with_value(data: bytes, cell: RawCell, value: Scalar) -> bytes:
    kind, text = typed(value)
    prefix = cell.name.removesuffix("c")
    new = f"<{prefix}v>{text}</{prefix}v>".encode()
    return _rewritten(data, cell, {"t": kind} if kind else {}, new)


def _without_value(data: bytes, cell: RawCell) -> bytes:
    return _rewritten(data, cell, {}, b"")


def _rewritten(data: bytes, cell: RawCell, kind: dict[str, str], value: bytes) -> bytes:
    """The cell with another ``t`` and ``<v>``; formula and further children byte for byte."""
    kept = {key: text for key, text in cell.attributes.items() if key != "t"}
    formula_end = cell.formula.end if cell.formula else cell.head_end
    rest = data[formula_end : cell.end]
    if cell.value is not None and cell.value.start >= formula_end:
        rest = data[formula_end : cell.value.start] + data[cell.value.end : cell.end]
    head = start_tag(cell.name, kept | kind)
    return head + data[cell.head_end : formula_end] + value + rest


def _refuse(expected: str, refs: Iterable[str]) -> None:
    found = sorted(refs, key=lambda ref: (split_ref(ref)[1], len(ref), ref))
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise PackageError(f"expected {expected}, found none for {', '.join(found[:_SHOWN])}{more}")
