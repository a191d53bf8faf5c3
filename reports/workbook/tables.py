"""A book under construction: openpyxl for looks and front matter, our row writer for tables.

A table sheet has A1 title, A2 the question it answers, A3 a link back, row 6 headings, row 7 units,
data from row 8. Every formula is written together with its value.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from openpyxl import Workbook
from openpyxl.styles import Alignment
from openpyxl.utils import get_column_letter
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.header_footer import HeaderFooterItem, _HeaderFooterPart
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet

from reports.numbers import display_width, pieces
from reports.words import ENGLISH, called, language, say
from reports.workbook import styles
from reports.workbook.package import (
    Package,
    cell_styles,
    embed,
    fill_values,
    insert_rows_xml,
    set_core,
    set_full_calc,
    sheet_parts,
)
from reports.workbook.rows import Body, Column, RowFormat, RowTemplate
from reports.workbook.rows_text import Scalar, coded, fitting, xml_json
from reports.workbook.styles import Role

HEADING, UNIT, FIRST = 6, 7, 8
_MIN_WIDTH, _MAX_WIDTH = 7.0, 45.0
_LINE = 13.0  # points of one line of body text
_PAGE_WIDTH = 190  # characters on an A4 page that can still be read

Values = NDArray[np.float64] | NDArray[np.bool_] | Sequence[Scalar] | Sequence[str]


def quote(sheet: str) -> str:
    """A sheet name as formulas write it."""
    return (
        sheet
        if sheet.isalnum() and not sheet[0].isdigit()
        else "'" + sheet.replace("'", "''") + "'"
    )


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of a table sheet.

    ``formula`` has ``{r}`` for the row; without one the values are typed in (role input) or facts.
    ``choices`` is the source of a drop-down: a range or a quoted list; ``bounds`` hold counts.
    """

    key: str
    heading: str
    values: Values = field(repr=False)
    unit: str = ""
    role: Role = "derived"
    formula: str | None = None
    number_format: str = "General"
    choices: str = ""
    bounds: tuple[int, int] | None = None
    note: str = ""
    outline: int = 0
    width: float = 0.0
    wrap: bool = False
    spacer: bool = False
    group: str = ""
    heading_formula: tuple[str, Scalar] | None = None

    @property
    def is_text(self) -> bool:
        """True where every value that is there is text; a figure may be the word 'unknown'."""
        if isinstance(self.values, np.ndarray):
            return False
        there = [v for v in self.values if v is not None]
        return bool(there) and all(isinstance(v, str) for v in there)


def spacer() -> TableColumn:
    """A narrow empty column between two groups."""
    return TableColumn("", "", (), spacer=True)


@dataclass(slots=True)
class Table:
    """A table as it was placed: its sheet, rows, and the letter of each column."""

    sheet: str
    count: int
    letters: dict[str, str]
    order: list[str] = field(default_factory=list)
    values: dict[str, Values] = field(default_factory=dict, repr=False)

    @property
    def last(self) -> int:
        """The last data row."""
        return FIRST + max(self.count, 1) - 1

    def span(self, key: str) -> str:
        """The column's data cells, absolute, with the sheet name."""
        letter = self.letters[key]
        return f"{quote(self.sheet)}!${letter}${FIRST}:${letter}${self.last}"


class Book:
    """Collects sheets, formulas with their values, and table bodies; writes the file at the end."""

    def __init__(self) -> None:
        self.workbook = Workbook()
        self.workbook.remove(self.workbook.active)  # type: ignore[arg-type]
        self.bodies: dict[str, list[Callable[[dict[str, int]], Body]]] = {}
        self.values: dict[str, dict[str, Scalar]] = {}

    def sheet(self, name: str, title: str, answers: str, tab: str) -> Worksheet:
        """A new sheet with title, sentence and back-link."""
        ws: Worksheet = self.workbook.create_sheet(name)
        ws.sheet_properties.tabColor = styles.argb(styles.TAB[tab])
        self.text(ws, "A1", say(title))
        styles.title(ws["A1"])
        self.text(ws, "A2", say(answers))
        styles.sentence(ws["A2"])
        if name != "Cover":
            ws["A3"] = say("Back to Cover")
            styles.link(ws["A3"], "Cover!A1")
        ws.sheet_view.zoomScale = 90
        return ws

    def text(self, ws: Worksheet, ref: str, text: str) -> None:
        """Text that stays text, whatever it begins with."""
        cell = ws[ref]
        cell.value = coded(fitting(text))
        cell.data_type = "s"
        styles.plain(cell)
        if text.lstrip().startswith(tuple("=+-@{")):
            cell.quotePrefix = True

    def formula(self, ws: Worksheet, ref: str, formula: str, value: Scalar) -> None:
        """A formula cell with its value."""
        ws[ref] = f"={formula}"
        styles.plain(ws[ref])
        self.values.setdefault(ws.title, {})[ref] = value

    def name(self, name: str, target: str) -> None:
        """A defined name for one cell or range."""
        self.workbook.defined_names[name] = DefinedName(name, attr_text=target)

    def table(
        self, ws: Worksheet, columns: Sequence[TableColumn], count: int, freeze: int
    ) -> Table:
        """Put a table on a sheet; ``freeze`` key columns stay in view."""
        letters: dict[str, str] = {}
        for number, column in enumerate(columns, 1):
            letter = get_column_letter(number)
            if column.spacer:
                ws.column_dimensions[letter].width = 1.5
                continue
            if column.key in letters:
                raise ValueError(f"two columns are called {column.key}")
            letters[column.key] = letter
            self._head(ws, letter, column, count)
        ws.freeze_panes = f"{get_column_letter(freeze + 1)}{FIRST}"
        last = get_column_letter(len(columns))
        ws.auto_filter.ref = f"A{UNIT}:{last}{FIRST + max(count, 1) - 1}"
        ws.row_dimensions[HEADING].height = 30
        ws.row_dimensions[UNIT].height = _LINE + 1
        self.print_setup(ws, f"{HEADING}:{UNIT}", freeze)
        self._add_body(ws.title, columns, FIRST, count)
        values = {c.key: c.values for c in columns if not c.spacer}
        return Table(ws.title, count, letters, values=values)

    def add_rows(self, table: str, columns: Sequence[TableColumn], first: int, count: int) -> None:
        """Further rows of a table whose formulas differ from those above."""
        self._add_body(table, columns, first, count)

    def _add_body(self, sheet: str, columns: Sequence[TableColumn], first: int, count: int) -> None:
        if not count:
            return

        for start, end, lines in _runs(columns, count):
            part = [c if c.spacer else _slice(c, start, end) for c in columns]
            self.bodies.setdefault(sheet, []).append(
                _body_maker(part, first + start, end - start, lines)
            )

    def _head(self, ws: Worksheet, letter: str, column: TableColumn, count: int) -> None:
        head = ws[f"{letter}{HEADING}"]
        if column.heading_formula:
            self.formula(ws, head.coordinate, *column.heading_formula)
        else:
            self.text(ws, head.coordinate, say(column.heading))
        self.text(ws, f"{letter}{UNIT}", called(column.unit))
        if column.group:
            self.text(ws, f"{letter}{HEADING - 1}", say(column.group))
            ws[f"{letter}{HEADING - 1}"].font = styles.font(bold=True)
        styles.heading(head, column.role)
        if column.heading_formula:
            head.number_format = "[>=1000]#,##0;General"
        styles.unit(ws[f"{letter}{UNIT}"], column.role)
        if column.is_text:
            indent = 0 if letter == "A" else 1
            ws[f"{letter}{HEADING}"].alignment = Alignment(
                wrap_text=True, vertical="bottom", indent=indent, horizontal="left"
            )
            ws[f"{letter}{UNIT}"].alignment = Alignment(
                horizontal="left", vertical="top", indent=indent
            )
        styles.body(
            ws[f"{letter}{FIRST}"], column.role, column.number_format, column.is_text, column.wrap
        )
        dimension = ws.column_dimensions[letter]
        dimension.width = column.width or _width(column)
        if column.outline:  # folded away; the + above the columns opens them
            dimension.outlineLevel = column.outline
            dimension.hidden = True
        last = FIRST + max(count, 1) - 1
        if column.choices or column.bounds:
            ws.add_data_validation(_validation(column, f"{letter}{FIRST}:{letter}{last}"))

    def print_setup(self, ws: Worksheet, rows: str, keys: int = 0) -> None:
        """A4 landscape, headings and keys on every page, as many pages wide as stay readable."""
        ws.print_title_rows = rows
        if keys:
            ws.print_title_cols = f"A:{get_column_letter(keys)}"
        shown = [d.width for d in ws.column_dimensions.values() if not d.hidden]
        ws.page_setup.orientation = "landscape"
        ws.page_setup.paperSize = 9  # A4
        ws.page_setup.pageOrder = "overThenDown"
        fit_pages(ws, max(1, round(sum(shown) / _PAGE_WIDTH)), 0)
        ws.page_margins.left = ws.page_margins.right = ws.page_margins.top = 0.4
        ws.page_margins.bottom = 0.65
        ws.page_margins.footer = 0.3
        ws.HeaderFooter.oddFooter = HeaderFooterItem(
            left=_HeaderFooterPart("capsheet"),
            center=_HeaderFooterPart("&A"),
            right=_HeaderFooterPart("&P of &N"),
        )

    def save(self, path: Path, date: str, title: str, document: str, rider: str = "plan") -> None:
        """Write the book whole to a temporary name and move it into place.

        ``document`` is JSON that rides inside under the name ``rider``.
        """
        raw = io.BytesIO()
        self.workbook.save(raw)
        package = Package.read(raw.getvalue())
        parts = sheet_parts(package)
        for sheet, part in parts.items():
            xml = fill_values(package.get(part), self.values.get(sheet, {}))
            bodies = self.bodies.get(sheet)
            if not bodies:
                package.set(part, xml)
                continue
            found = cell_styles(xml, FIRST)
            placed = [body(found) for body in bodies]
            package.set_stream(part, partial(insert_rows_xml, xml, placed))
        set_core(package, date, fitting(title))
        set_full_calc(package, True)
        embed(package, rider, xml_json(document).encode())
        package.write(path)


def contents_line(name: str, title: str) -> str:
    """A sheet in the contents: its name, and in another language its title before that."""
    return name if language() == ENGLISH else f"{title} ({name})"


def contents_width(lines: Iterable[str], least: float) -> float:
    """The column of the contents; sheet names alone fit into the least."""
    return least if language() == ENGLISH else max([least, *(display_width(x) + 2 for x in lines)])


def fit_pages(ws: Worksheet, wide: int, tall: int) -> None:
    """Fit the sheet on so many pages; 0 tall is as many as it takes."""
    ws.page_setup.fitToWidth, ws.page_setup.fitToHeight = wide, tall
    ws.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)


def _body_maker(
    columns: Sequence[TableColumn], first: int, count: int, lines: int
) -> Callable[[dict[str, int]], Body]:
    """A body as soon as the cell formats of the model row have their numbers."""
    height = RowFormat(height=_LINE * lines + 1)

    def body(found: dict[str, int]) -> Body:
        cells = [
            None if c.spacer else _column(c, found.get(get_column_letter(n), 0))
            for n, c in enumerate(columns, 1)
        ]
        return Body(cells, first, count, format=height)

    return body


def _runs(columns: Sequence[TableColumn], count: int) -> list[tuple[int, int, int]]:
    """Runs of rows of equal height: readers do not fit the rows of a fresh file by themselves."""
    wrapped = [c for c in columns if c.wrap]
    if not wrapped:
        return [(0, count, 1)]
    lines = [max(_lines(c, row) for c in wrapped) for row in range(count)]
    edges = [0, *(i for i in range(1, count) if lines[i] != lines[i - 1]), count]
    return [(a, b, lines[a]) for a, b in itertools.pairwise(edges)]


def _lines(column: TableColumn, row: int) -> int:
    text = column.values[row]
    if not isinstance(text, str):
        return 1
    width = (column.width or _width(column)) - 1
    lines, used = 1, 0
    for word in text.split(" "):
        size = display_width(word)
        if used and used + 1 + size > width:
            lines, used = lines + 1, size
        else:
            used += size + (1 if used else 0)
        while used > width:
            lines, used = lines + 1, used - int(width)
    return min(lines, 12)


def _slice(column: TableColumn, start: int, end: int) -> TableColumn:
    return replace(column, values=column.values[start:end])


def _column(column: TableColumn, style: int) -> Column:
    if column.formula is not None:
        return Column("formula", column.values, style, RowTemplate.from_formula(column.formula))
    values = column.values
    if not isinstance(values, np.ndarray):
        values = [fitting(value) if isinstance(value, str) else value for value in values]
    return Column("input", values, style)


def _validation(column: TableColumn, cells: str) -> DataValidation:
    if column.choices:
        rule = DataValidation("list", formula1=column.choices, allow_blank=False)
        rule.error = say("Choose one of the list.")
    else:
        low, high = column.bounds or (0, 0)
        rule = DataValidation("whole", operator="between", formula1=f"{low}", formula2=f"{high}")
        rule.error = say(f"A whole number from {low} to {high:,} is needed here.")
    rule.errorTitle = fitting(say(column.heading))[:30]
    rule.showErrorMessage = True
    rule.add(cells)
    return rule


def _width(column: TableColumn) -> float:
    """From content: wide characters count two, headings may take two lines."""
    heading = say(column.heading)
    words = max(map(display_width, pieces(heading)), default=0)
    spare = 1 if display_width(heading) == len(heading) else 3  # wide letters break anywhere
    head = max(words, display_width(heading) / 2 + spare, display_width(column.unit) * 0.9)
    return min(_MAX_WIDTH, max(_MIN_WIDTH, head + 2, _body_width(column) + 2))


def _body_width(column: TableColumn) -> float:
    if isinstance(column.values, np.ndarray):
        if column.values.dtype == np.bool_:
            return 6
        known = column.values[np.isfinite(column.values)]
        if not len(known):
            return 6
        digits = len(f"{float(np.abs(known).max()):,.0f}")
        return digits + (3 if ".0" in column.number_format else 0)
    return max((display_width(str(v)) for v in list(column.values)[:2000]), default=0)
