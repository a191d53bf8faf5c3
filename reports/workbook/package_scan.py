"""One pass over a sheet part: each cell with its content and the byte places of its pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reports.workbook.package_xml import element_end, local, new_parser, parse, tag_end
from reports.workbook.rows_ref import column_letter, column_number, split_ref

_PIECE = 1 << 16
_IN_CELL = ("f", "v", "is")


@dataclass(slots=True)
class Piece:
    """A child element of a cell: its bytes ``start:end``, attributes and decoded text."""

    start: int
    head_end: int
    attributes: dict[str, str]
    end: int = 0
    text: str = ""


@dataclass(slots=True)
class RawCell:
    """A cell as written. ``ref`` is counted where the file leaves it out.

    The element is bytes ``start:end``, its start tag ends at ``head_end``. ``formula``, ``value``
    and ``inline`` are the children ``<f>``, ``<v>`` and ``<is>``.
    """

    ref: str
    attributes: dict[str, str]
    start: int
    head_end: int
    name: str = "c"
    end: int = 0
    formula: Piece | None = None
    value: Piece | None = None
    inline: Piece | None = None

    @property
    def style(self) -> int:
        """Index of the cell format."""
        return int(self.attributes.get("s", "0"))

    @property
    def kind(self) -> str:
        """The ``t`` attribute; ``n`` where it is left out."""
        return self.attributes.get("t", "n")


@dataclass(slots=True)
class _Scan:
    """State of the pass. Counting of rows and columns is for files that leave references out."""

    data: bytes
    ready: list[RawCell] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    cell: RawCell | None = None
    piece: Piece | None = None
    row: int = 0
    column: int = 0

    def start(self, index: int, name: str, attributes: dict[str, str]) -> None:
        short = local(name)
        self.path.append(short)
        depth = len(self.path)
        if depth == 4 and short == "c" and self.path[1] == "sheetData":
            ref = self._ref(attributes.get("r"))
            self.cell = RawCell(ref, attributes, index, tag_end(self.data, index), name)
        elif depth == 3 and short == "row" and self.path[1] == "sheetData":
            self.row, self.column = int(attributes.get("r", self.row + 1)), 0
        elif depth == 5 and self.cell is not None and short in _IN_CELL:
            self.piece = Piece(index, tag_end(self.data, index), attributes)

    def stop(self, index: int) -> None:
        short, depth = self.path.pop(), len(self.path)
        if self.cell is None:
            return
        if depth == 4 and self.piece is not None:
            self.piece.end = element_end(self.data, self.piece.head_end, index)
            if short == "f":
                self.cell.formula = self.piece
            elif short == "v":
                self.cell.value = self.piece
            else:
                self.cell.inline = self.piece
            self.piece = None
        elif depth == 3:
            self.cell.end = element_end(self.data, self.cell.head_end, index)
            self.ready.append(self.cell)
            self.cell = None

    def text(self, text: str) -> None:
        # Inline text lies in <t>; that of phonetic hints (<rPh>) is no part of the value.
        piece, path = self.piece, self.path
        if piece is not None and (path[4] != "is" or (path[-1] == "t" and "rPh" not in path[5:])):
            piece.text += text

    def _ref(self, written: str | None) -> str:
        if written is None:
            self.column += 1
            return f"{column_letter(self.column)}{self.row}"
        self.column = column_number(split_ref(written)[0])
        return written


def scan_cells(data: bytes) -> Iterator[RawCell]:
    """All cells of a sheet part in the order of the file.

    Raises:
        PackageError: not well-formed, a DOCTYPE, or another encoding than UTF-8.
        ValueError: a cell reference that is none.
    """
    parser = new_parser()
    scan = _Scan(data)

    def start(name: str, attributes: dict[str, str]) -> None:
        scan.start(parser.CurrentByteIndex, name, attributes)

    def stop(_name: str) -> None:
        scan.stop(parser.CurrentByteIndex)

    parser.StartElementHandler, parser.EndElementHandler = start, stop
    parser.CharacterDataHandler = scan.text
    for at in range(0, len(data), _PIECE):
        parse(parser, data[at : at + _PIECE], final=at + _PIECE >= len(data))
        yield from scan.ready
        scan.ready.clear()
