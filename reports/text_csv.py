"""Tables of a view as CSV for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from planner.metric_files import OWN
from reports import numbers
from reports.text_find import find
from reports.view import Column, Ladder, Table, Value, View, machine_name
from reports.view_tables import rows_of_cases


def table_csv(view: View, table: str, bom: bool = False) -> str:
    """One table for other programs: a line per case (and layer group or rung), full precision.

    Column names are metric names with their unit. Unknown is the word, what does not apply is
    empty. Text that a spreadsheet would take for a formula gets an apostrophe in front.

    Args:
        view: what to show.
        table: the name of a section, of a set of variants, or ``summary``.
        bom: begin with a byte order mark, by which spreadsheets know UTF-8.

    Raises:
        InputError: a table that the plan does not have.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in _records(view, table):
        writer.writerow([cell(value) for value in line])
    return ("\ufeff" if bom else "") + out.getvalue()


def _records(view: View, name: str) -> Iterator[list[Value]]:
    if name in ("summary", "cases"):
        yield from _table_records(view, view.summary)
        return
    section, part = find(view, name)
    if part is None and section.tables:
        part = section.tables[0]
    elif part is None and section.ladders:
        part = section.ladders[0]
    if isinstance(part, Ladder):
        yield from _ladder_records(view, part)
    elif part is not None:
        yield from _table_records(view, part)
    else:
        yield ["metric", "value", "unit"]
        for one in section.figures:
            yield [one.name, one.text, one.unit]


def _table_records(view: View, table: Table) -> Iterator[list[Value]]:
    columns = table.all_columns()
    heads = [machine_name(c.name, c.machine_unit) for c in columns]
    extra = [label.lower().replace(" ", "_") for label in table.extra_labels]
    yield ["case", *_key_names(view), *extra, *heads]
    rows = rows_of_cases(table)
    for number, case in enumerate(view.cases):
        for row in rows.get(number, []):
            values = [_cell(column, row) for column in columns]
            yield [case.id, *(v for _, v in case.keys), *table.rows[row].extra, *values]


def _ladder_records(view: View, ladder: Ladder) -> Iterator[list[Value]]:
    heads = [
        machine_name(g.columns[0].name, g.columns[0].machine_unit) for g in ladder.grids
    ]  # fmt: skip
    at = [machine_name(f"{one.name}_at_rung", one.machine_unit) for one in ladder.inputs]
    yield ["case", *_key_names(view), *(["rung"] if ladder.names else []), *at, *heads]
    places = [rows_of_cases(grid) for grid in ladder.grids]
    for number, case in enumerate(view.cases):
        for rung in range(len(ladder.rungs)):
            values = [OWN if v.values[rung] is None else v.values[rung] for v in ladder.inputs]
            name = [ladder.names[rung]] if ladder.names else []
            cells = [
                _cell(grid.columns[rung], place[number][0])
                for grid, place in zip(ladder.grids, places, strict=True)
            ]
            yield [case.id, *(v for _, v in case.keys), *name, *values, *cells]


def _key_names(view: View) -> list[str]:
    return [name for name, _ in view.cases[0].keys]


def _cell(column: Column, row: int) -> Value:
    if row in column.absent:
        return ""
    value = column.values[row]
    return numbers.UNKNOWN if value is None else value


def cell(value: Value) -> str:
    """One value as it stands in a file; text that would be a formula gets an apostrophe."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
    text = "" if value is None else str(value)
    if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not _is_number(text):
        return "'" + text
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
