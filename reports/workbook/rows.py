"""Table bodies as ``<row>`` XML, each formula with its value, in constant memory.

How it is fast: a block of rows is one text. The row pattern (all tags, formulas and styles, escaped
once) is repeated with the row number put in, split at the value marks, and the values of each
column are laid into the gaps by one slice assignment. No Python code runs per cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from re import compile as pattern
from typing import Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from reports.workbook.rows_ref import MAX_COLUMN, MAX_ROW, column_letter, split_ref
from reports.workbook.rows_text import (
    CellError,
    Scalar,
    number_text,
    number_texts,
    typed,
    xml_formula,
    xml_text,
    xml_texts,
)

MAX_FORMULA = 8_192
MAX_STYLE = 65_535

# Time hardly differs from 64 to 4,096 rows a block (30 columns); a small one holds less memory.
BLOCK_ROWS = 256

_VALUE = "\1"
# Characters that no escaped text holds stand for "row number plus this offset".
_OFFSET_MARKS = "\0\2\3\4\5\6\7\x08\x0b\x0c" + "".join(map(chr, range(0x0E, 0x20)))
_ROW_FIELD = pattern(r"\{r([+-]\d+)?\}")

Kind = Literal["formula", "input", "text"]
Values = NDArray[np.float64] | NDArray[np.bool_] | Sequence[Scalar] | Sequence[str]


@dataclass(frozen=True, slots=True)
class RowTemplate:
    """A formula for a whole column: text pieces, and whole numbers as offsets to the row number.

    ``("C", 0, "*D", -1)`` is ``C7*D6`` in row 7. No leading ``=``.

    Raises:
        ValueError: empty, longer than a cell takes, or with characters XML cannot hold.
    """

    pieces: tuple[str | int, ...]

    def __post_init__(self) -> None:
        text = "".join(piece for piece in self.pieces if isinstance(piece, str))
        if not text.strip():
            raise ValueError("expected a formula, found none")
        if text.startswith("="):
            raise ValueError(f"expected a formula without a leading '=', found {text[:40]!r}")
        numbers = sum(7 for piece in self.pieces if isinstance(piece, int))
        if len(text) + numbers > MAX_FORMULA:
            raise ValueError(f"expected a formula of at most {MAX_FORMULA} characters")
        xml_formula(text)

    @classmethod
    def from_formula(cls, text: str) -> RowTemplate:
        """Read ``{r}``, ``{r+1}``, ``{r-1}`` as row numbers; all other braces are plain text.

        Text that is not ours does not belong in here: give it as a piece to the constructor.
        """
        pieces: list[str | int] = []
        end = 0
        for found in _ROW_FIELD.finditer(text.removeprefix("=")):
            pieces += [found.string[end : found.start()], int(found[1] or 0)]
            end = found.end()
        pieces.append(text.removeprefix("=")[end:])
        return cls(tuple(piece for piece in pieces if piece != ""))

    @property
    def offsets(self) -> frozenset[int]:
        """All offsets to the row number that occur."""
        return frozenset(piece for piece in self.pieces if isinstance(piece, int))

    def at(self, row: int) -> str:
        """The formula text of one row."""
        return "".join(p if isinstance(p, str) else str(row + p) for p in self.pieces)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table body.

    ``kind`` formula takes a template and a value per row; input takes typed values; text takes
    strings. ``values`` is a float64 or bool array of shape (rows,), or a sequence of single values.
    NaN or ``None`` is an error cell with text ``error`` under a formula, an empty cell otherwise.
    ``style`` is the index of the cell format in the book.

    Raises:
        ValueError: a formula column without template (or the reverse), an unknown error text.
        TypeError: an array of another type or shape.
    """

    kind: Kind
    values: Values = field(repr=False)
    style: int = 0
    template: RowTemplate | None = None
    error: str = "#N/A"

    def __post_init__(self) -> None:
        if (self.kind == "formula") != (self.template is not None):
            raise ValueError(f"expected a template for formula columns only, kind is {self.kind}")
        if not 0 <= self.style <= MAX_STYLE:
            raise ValueError(f"expected a style from 0 to {MAX_STYLE}, found {self.style}")
        CellError(self.error)
        array = self.values
        if isinstance(array, np.ndarray):
            if array.ndim != 1 or array.dtype not in (np.float64, np.bool_):
                raise TypeError(
                    f"expected a float64 or bool array of one dimension, "
                    f"found {array.dtype} of shape {array.shape}"
                )
            if self.kind == "text":
                raise TypeError("expected strings in a text column, found an array")


@dataclass(frozen=True, slots=True)
class RowFormat:
    """What a run of rows has in common: height in points, outline level 0 to 7, hidden or not."""

    height: float | None = None
    outline: int = 0
    hidden: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.outline <= 7:
            raise ValueError(f"expected an outline level from 0 to 7, found {self.outline}")
        if self.height is not None and not 0 < self.height <= 409.5:
            raise ValueError(f"expected a height up to 409.5 points, found {self.height}")

    @property
    def attributes(self) -> str:
        """The XML attributes, with a leading blank where there are any."""
        text = ' hidden="1"' if self.hidden else ""
        if self.height is not None:
            text += f' ht="{number_text(self.height)}" customHeight="1"'
        return text + (f' outlineLevel="{self.outline}"' if self.outline else "")


@dataclass(frozen=True, slots=True)
class Body:
    """A run of rows with the same columns; ``None`` leaves a column out.

    Raises:
        ValueError: rows or columns outside a sheet, or a column with too few or too many values.
    """

    columns: Sequence[Column | None]
    first_row: int
    count: int
    first_column: int = 1
    format: RowFormat = RowFormat()

    def __post_init__(self) -> None:
        if self.count < 0 or self.first_row < 1 or self.last_row > MAX_ROW:
            raise ValueError(f"expected rows 1 to {MAX_ROW}, found {self.first_row}+{self.count}")
        if self.first_column < 1 or self.last_column > MAX_COLUMN:
            raise ValueError(f"expected columns 1 to {MAX_COLUMN}, found {self.last_column}")
        for letter, column in self.cells():
            if len(column.values) != self.count:
                raise ValueError(
                    f"column {letter}: expected {self.count} values, found {len(column.values)}"
                )
            for offset in column.template.offsets if column.template and self.count else ():
                if self.first_row + offset < 1 or self.last_row + offset > MAX_ROW:
                    raise ValueError(f"column {letter}: row offset {offset} leaves the sheet")

    @property
    def last_row(self) -> int:
        """Number of the last row; ``first_row - 1`` when there is none."""
        return self.first_row + self.count - 1

    @property
    def last_column(self) -> int:
        """Number of the last column."""
        return self.first_column + len(self.columns) - 1

    def cells(self) -> list[tuple[str, Column]]:
        """Each column that is there, with its letter."""
        pairs = enumerate(self.columns, self.first_column)
        return [(column_letter(n), column) for n, column in pairs if column is not None]

    def chunks(self) -> Iterator[bytes]:
        """The rows as UTF-8 XML, ``BLOCK_ROWS`` rows a piece.

        Raises:
            ValueError: infinity, or text that a cell cannot hold; the message names the column.
        """
        for start in range(0, self.count, BLOCK_ROWS):
            yield _block(self, start, min(self.count, start + BLOCK_ROWS)).encode("utf-8")


def write_rows(
    columns: Sequence[Column | None],
    first_row: int,
    count: int,
    first_column: int = 1,
    format: RowFormat = RowFormat(),
) -> Iterator[bytes]:
    """Stream ``count`` rows from ``first_row`` on; arguments and errors as for ``Body``."""
    return Body(columns, first_row, count, first_column, format).chunks()


def cell_xml(ref: str, value: Scalar, style: int = 0, formula: str | None = None) -> bytes:
    """One ``<c>`` element, for splicing; text without a formula stays text.

    Raises:
        ValueError: a bad reference, infinity, or text that a cell cannot hold.
    """
    split_ref(ref)
    head = f'<c r="{ref}"' + (f' s="{style}"' if style else "")
    if formula is None:
        return (head + _input_tail(value)).encode("utf-8")
    template = RowTemplate((formula.removeprefix("="),))
    kind, text = typed(value)
    attribute = f' t="{kind}"' if kind else ""
    body = f"{attribute}><f>{xml_formula(template.at(1))}</f><v>{text}</v></c>"
    return (head + body).encode("utf-8")


def _block(body: Body, start: int, stop: int) -> str:
    """Rows ``start`` to ``stop`` (counted from 0) as one text."""
    offsets = {0}.union(*(c.template.offsets for _, c in body.cells() if c.template))
    if len(offsets) > len(_OFFSET_MARKS):
        raise ValueError(f"expected at most {len(_OFFSET_MARKS)} row offsets, found {len(offsets)}")
    marks = dict(zip(sorted(offsets, key=lambda n: (n != 0, n)), _OFFSET_MARKS, strict=False))
    cells, gaps = [f'<row r="{marks[0]}"{body.format.attributes}>'], []
    for letter, column in body.cells():
        head = f'<c r="{letter}{marks[0]}"' + (f' s="{column.style}"' if column.style else "")
        try:
            if column.template is None:
                text, filled = _input_cells(column, start, stop)
            else:
                formula = _marked(column.template, marks)
                text, filled = _formula_cells(column, formula, start, stop)
        except (ValueError, TypeError) as error:
            raise type(error)(f"column {letter}: {error}") from None
        cells.append(head + text)
        gaps += filled
    cells.append("</row>")
    rows = range(body.first_row + start, body.first_row + stop)
    return _filled(_numbered("".join(cells), rows, marks), gaps)


def _marked(template: RowTemplate, marks: dict[int, str]) -> str:
    return "".join(
        xml_formula(piece) if isinstance(piece, str) else marks[piece] for piece in template.pieces
    )


def _numbered(row: str, rows: range, marks: dict[int, str]) -> str:
    """The row pattern once per row, with row numbers in place of their marks."""
    others = [(offset, mark) for offset, mark in marks.items() if offset]
    if not others:
        mark = marks[0]
        return "".join([row.replace(mark, str(number)) for number in rows])
    texts = []
    for number in rows:
        text = row.replace(marks[0], str(number))
        for offset, mark in others:
            text = text.replace(mark, str(number + offset))
        texts.append(text)
    return "".join(texts)


def _filled(text: str, gaps: list[list[str]]) -> str:
    """The text with its value marks filled; ``gaps`` holds one list of row values per mark."""
    if not gaps:
        return text
    fixed = text.split(_VALUE)
    parts = [""] * (2 * len(fixed) - 1)
    parts[0::2] = fixed
    for index, gap in enumerate(gaps):
        parts[2 * index + 1 :: 2 * len(gaps)] = gap
    return "".join(parts)


Cells = tuple[str, list[list[str]]]
"""A cell pattern after its style, and the values for each of its marks."""


def _formula_cells(column: Column, formula: str, start: int, stop: int) -> Cells:
    rest = f"><f>{formula}</f><v>{_VALUE}</v></c>"
    values = column.values[start:stop]
    if isinstance(values, np.ndarray):
        if values.dtype == np.bool_:
            return ' t="b"' + rest, [_bits(values)]
        numbers = np.asarray(values, dtype=np.float64)
        texts, missing = number_texts(numbers), np.flatnonzero(np.isnan(numbers)).tolist()
        if not missing:
            return rest, [texts]
        kinds = [""] * len(texts)
        for index in missing:
            kinds[index], texts[index] = ' t="e"', column.error
        return _VALUE + rest, [kinds, texts]
    if _all_text(values):
        return ' t="str"' + rest, [xml_texts(values)]
    pairs = [typed(CellError(column.error) if _missing(value) else value) for value in values]
    kinds = [f' t="{kind}"' if kind else "" for kind, _ in pairs]
    return _VALUE + rest, [kinds, [text for _, text in pairs]]


def _input_cells(column: Column, start: int, stop: int) -> Cells:
    values = column.values[start:stop]
    if isinstance(values, np.ndarray):
        if values.dtype == np.bool_:
            return f' t="b"><v>{_VALUE}</v></c>', [_bits(values)]
        numbers = np.asarray(values, dtype=np.float64)
        texts, missing = number_texts(numbers), np.flatnonzero(np.isnan(numbers)).tolist()
        if not missing:
            return f"><v>{_VALUE}</v></c>", [texts]
        tails = [f"><v>{text}</v></c>" for text in texts]
        for index in missing:
            tails[index] = "/>"
        return _VALUE, [tails]
    if _all_text(values):
        return _inline(_VALUE), [xml_texts(values)]
    if column.kind == "text":
        for value in values:
            if value is not None and not isinstance(value, str):
                raise TypeError(f"expected text, found {type(value).__name__}")
    return _VALUE, [[_input_tail(value) for value in values]]


def _inline(text: str) -> str:
    return f' t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _input_tail(value: Scalar) -> str:
    """What follows the style of a plain cell."""
    if _missing(value):
        return "/>"
    if isinstance(value, str):
        return _inline(xml_text(value))
    kind, text = typed(value)
    return (f' t="{kind}"' if kind else "") + f"><v>{text}</v></c>"


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _all_text(values: Sequence[Scalar] | Sequence[str]) -> TypeGuard[Sequence[str]]:
    return {*map(type, values)} == {str}


def _bits(values: NDArray[np.bool_] | NDArray[np.float64]) -> list[str]:
    return list(map(("0", "1").__getitem__, values.tolist()))
