"""A view in the terminal, as Markdown, and as CSV for other programs."""

from __future__ import annotations

import csv as csv_files
import io
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from planner.errors import InputError, Problem, Span, nearest, one_of
from reports import numbers, palette
from reports.view import Check, Column, Ladder, Section, Table, Value, View, machine_name
from reports.view_tables import rows_of_cases

_GAP = 2
_LEAST_KEY = 18


# ---- terminal ----------------------------------------------------------------------------------


def render(
    view: View, width: int, tables: Sequence[str] | None = None, colour: bool = False
) -> str:
    """Tables for a terminal.

    Args:
        view: what to show.
        width: columns of the terminal; what does not fit is dropped, the least important first.
        tables: names of sections or of ladders; without any the main table is shown, ``all``
            stands for every one.
        colour: mark verdicts by colour as well as by their words.

    Raises:
        InputError: a table that the plan does not have.
    """
    writer = _Writer(width, colour)
    writer.line(view.verdict_line, view.verdict_tone)
    shared = "; ".join(f"{label} {value}" for label, value in view.shared)
    if shared:
        writer.line(f"In every case: {shared}.", "muted")
    if tables:
        for section, ladder in _chosen(view, tables):
            _section(writer, section, ladder)
    else:
        writer.table(view.summary)
    _ending(writer, view)
    return writer.text()


def _chosen(view: View, names: Sequence[str]) -> Iterator[tuple[Section, Ladder | None]]:
    """Sections and single ladders by name."""
    for name in names:
        if name == "all":
            yield from ((section, None) for section in view.sections)
            continue
        section, ladder = _find(view, name)
        yield section, ladder


def _find(view: View, name: str) -> tuple[Section, Ladder | None]:
    found: dict[str, tuple[Section, Ladder | None]] = {s.name: (s, None) for s in view.sections}
    found |= {ladder.name: (s, ladder) for s in view.sections for ladder in s.ladders}
    if name not in found:
        expected = one_of([*found, "all"])
        raise InputError(
            Problem(Span("--table"), "", expected, f"'{name}'", nearest(name, [*found, "all"]))
        )
    return found[name]


def _section(writer: _Writer, section: Section, ladder: Ladder | None) -> None:
    if ladder is None:
        writer.heading(f"{section.label}: {section.answers}")
        for figure in section.figures:
            writer.line(f"{figure.label}: {figure.text} {figure.unit}".rstrip())
        for table in section.tables:
            writer.table(table)
    for one in section.ladders if ladder is None else [ladder]:
        writer.heading(f"{one.label}: {one.meaning}")
        for grid in one.grids:
            column = grid.columns[0]
            unit = f", {column.unit}" if column.unit else ""
            writer.line(f"{grid.caption}{unit}, by {one.rung_label.lower()} ({one.rung_unit})")
            writer.table(grid, units=False)


def _ending(writer: _Writer, view: View) -> None:
    writer.blank()
    for reason, count in view.dropped:
        writer.line(f"left out {count:,}: {reason}", "muted")
    for check in view.checks:
        if check.state != "ok":
            writer.line(_check_line(check), check.tone)
    if all(check.state == "ok" for check in view.checks):
        writer.line(f"All {len(view.checks)} checks hold.", "muted")


def _check_line(check: Check) -> str:
    limit = f" (limit {check.limit})" if check.limit else ""
    return f"{check.kind} check {check.state}: {check.label}: {check.value}{limit}"


class _Writer:
    """Collects lines and tables for one terminal width."""

    def __init__(self, width: int, colour: bool) -> None:
        self.width = max(width, 20)
        self.out = io.StringIO()
        # Nothing of the surroundings takes part: width and colour are decided by the caller.
        self.console = Console(
            file=self.out, width=self.width, height=100, force_terminal=colour, no_color=not colour,
            color_system="standard" if colour else None, legacy_windows=False, highlight=False,
            markup=False, emoji=False, _environ={},
        )  # fmt: skip

    def line(self, text: str, tone: str = "") -> None:
        self.console.print(Text(text, style=palette.TERMINAL.get(tone, "")))

    def heading(self, text: str) -> None:
        self.blank()
        self.console.print(Text(text, style="bold"))

    def blank(self) -> None:
        self.console.print()

    def table(self, table: Table, *, units: bool = True) -> None:
        """A table with as many columns as fit, and how many were left out."""
        self.blank()
        grouped = self._is_grouped(table)
        key = self._key_width(table, grouped)
        kept = self._fitting(table, units, key)
        drawn = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        drawn.add_column(
            Text(table.key_label), no_wrap=True, overflow="ellipsis", vertical="bottom", width=key
        )  # fmt: skip
        for label in table.extra_labels:
            drawn.add_column(Text(label), no_wrap=True, vertical="bottom")
        for column in kept:
            head = Text(_header(column, units), justify=column.align)
            drawn.add_column(head, justify=column.align, no_wrap=True, vertical="bottom")
        widths = [key, *_extra_widths(table), *(_width(c, units) for c in kept)]
        drawn.add_row(*(Text("─" * width, style="dim") for width in widths))
        above = ""
        for index, row in enumerate(table.rows):
            if grouped and row.key[0] != above:
                above = row.key[0]
                drawn.add_row(Text(above, style="bold"))
            label = "  " + " · ".join(row.key[1:]) if grouped else row.label
            cells = [_styled(column, index) for column in kept]
            drawn.add_row(Text(label), *(Text(e) for e in row.extra), *cells)
        self.console.print(drawn)
        self._left_out(table, kept)

    def _left_out(self, table: Table, kept: Sequence[Column]) -> None:
        if table.note:
            self.line(table.note, "muted")
        if table.same:
            same = "; ".join(
                f"{c.label} {c.text(0, plain=True)} {c.unit}".rstrip() for c in table.same
            )
            self.line(f"In every row: {same}.", "muted")
        missing = len(table.columns) - len(kept)
        if missing:
            plural = "column does" if missing == 1 else "columns do"
            self.line(f"{missing} {plural} not fit into {self.width} characters.", "muted")

    def _is_grouped(self, table: Table) -> bool:
        """Long keys stand below their first part, which is said once."""
        long = max((numbers.display_width(row.label) for row in table.rows), default=0)
        return long > self.width * 0.4 and all(len(row.key) > 1 for row in table.rows)

    def _key_width(self, table: Table, grouped: bool) -> int:
        labels = [row.label for row in table.rows]
        if grouped:
            labels = ["  " + " · ".join(row.key[1:]) for row in table.rows]
            labels += [row.key[0] for row in table.rows]
        widest = max((numbers.display_width(label) for label in labels), default=4)
        return min(max(widest, len(table.key_label)), max(_LEAST_KEY, self.width // 2))

    def _fitting(self, table: Table, units: bool, key: int) -> list[Column]:
        """The columns that fit, in order; the least important are left out first."""
        room = self.width - key - sum(width + _GAP for width in _extra_widths(table))
        taken: set[int] = set()
        for column in sorted(table.columns, key=lambda c: c.priority):
            need = _width(column, units) + _GAP
            if need > room:
                break
            room -= need
            taken.add(column.priority)
        return [c for c in table.columns if c.priority in taken]

    def text(self) -> str:
        """Everything, without spaces at the ends of lines."""
        return "\n".join(line.rstrip() for line in self.out.getvalue().splitlines()) + "\n"


def _extra_widths(table: Table) -> list[int]:
    return [
        max([len(label), *(numbers.display_width(row.extra[i]) for row in table.rows)])
        for i, label in enumerate(table.extra_labels)
    ]


def _styled(column: Column, row: int) -> Text:
    return Text(column.text(row, plain=True), style=palette.TERMINAL.get(column.tone(row), ""))


def _header(column: Column, units: bool) -> str:
    """The heading in lines that are no wider than they need be, with the unit below."""
    lines = _wrapped(column.label, max(9, _body_width(column)))
    return "\n".join([*lines, column.unit] if units and column.unit else lines)


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if numbers.display_width(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _body_width(column: Column) -> int:
    rows = range(len(column.values))
    return max((numbers.display_width(column.text(row, plain=True)) for row in rows), default=0)


def _width(column: Column, units: bool) -> int:
    lines = _header(column, units).split("\n")
    return max(_body_width(column), *(numbers.display_width(line) for line in lines))


# ---- Markdown ----------------------------------------------------------------------------------


def markdown(view: View) -> str:
    """The view as Markdown: answer, tables, assumptions, checks, sources."""
    lines = [f"# {_md(view.title)}", "", _md(f"{view.name}, as of {view.as_of}, {view.owner}"), ""]
    lines += [f"**{_md(view.verdict_line)}**", ""]
    for tile in view.tiles:
        lines.append(_md(f"- {tile.label}: {tile.text} {tile.unit} ({tile.bound})"))
    if view.shared:
        lines += ["", _md("In every case: " + "; ".join(f"{a} {b}" for a, b in view.shared) + ".")]
    lines += ["", "## Cases", "", *_md_table(view.summary)]
    for section in view.sections:
        lines += _md_section(section)
    lines += _md_assumptions(view)
    lines += _md_rest(view)
    return "\n".join(lines) + "\n"


def _md_section(section: Section) -> list[str]:
    lines = [f"## {_md(section.label)}", "", _md(section.answers), ""]
    for figure in section.figures:
        lines += [_md(f"- {figure.label}: {figure.text} {figure.unit}".rstrip())]
    for table in section.tables:
        lines += _md_table(table)
    for ladder in section.ladders:
        lines += [f"### {_md(ladder.label)}", ""]
        for grid in ladder.grids:
            unit = f", {grid.columns[0].unit}" if grid.columns[0].unit else ""
            across = f"by {ladder.rung_label.lower()} ({ladder.rung_unit})"
            lines += [_md(f"{grid.caption}{unit}, {across}"), "", *_md_table(grid, units=False)]
    return lines


def _md_table(table: Table, *, units: bool = True) -> list[str]:
    heads = [table.key_label, *table.extra_labels]
    for column in table.columns:
        unit = f" ({column.unit})" if units and column.unit else ""
        heads.append(column.label + unit)
    rules = ["---"] * (1 + len(table.extra_labels))
    rules += ["---:" if c.align == "right" else "---" for c in table.columns]
    lines = [_md_row(heads), "| " + " | ".join(rules) + " |"]
    for index, row in enumerate(table.rows):
        lines.append(_md_row([row.label, *row.extra, *(c.text(index) for c in table.columns)]))
    notes = [table.note] if table.note else []
    if table.same:
        same = "; ".join(f"{c.label} {c.text(0)} {c.unit}".rstrip() for c in table.same)
        notes.append(f"In every row: {same}.")
    return [*lines, "", *(line for note in notes for line in (_md(note), ""))]


def _md_assumptions(view: View) -> list[str]:
    lines = ["## Assumptions", "", _md_row(["Input", "Value", "Unit", "Origin", "Reason"])]
    lines.append("| --- | ---: | --- | --- | --- |")
    for one in view.assumptions:
        origin = f"{one.origin}: {one.place}" if one.place else one.origin
        lines.append(_md_row([one.label, one.text, one.unit, origin, one.note or one.meaning]))
    return [*lines, ""]


def _md_rest(view: View) -> list[str]:
    lines = [
        "## Checks",
        "",
        _md_row(["Check", "Kind", "State", "Value"]),
        "| --- | --- | --- | ---: |",
    ]
    lines += [_md_row([c.label, c.kind, c.state, c.value]) for c in view.checks]
    if view.dropped:
        lines += ["", "## Left out", ""]
        lines += [_md(f"- {count:,}: {reason}") for reason, count in view.dropped]
    lines += ["", "## Sources", ""]
    for source in view.sources:
        lines.append(_md(f"{source.number}. {source.title} {source.url}".rstrip()))
    hashes = ", ".join(f"{label} {value}" for label, value in view.provenance.hashes)
    lines += ["", _md(f"capsheet {view.provenance.version}; {view.provenance.scenario}; {hashes}")]
    return lines


def _md_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_md(cell).replace("|", "\\|") for cell in cells) + " |"


def _md(text: str) -> str:
    """Text that stays text: no tags, no code, no emphasis, no links."""
    for character in "\\`*_[]#~":
        if character in "\\`*_[]~" or text.startswith(character):
            text = text.replace(character, "\\" + character)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# ---- CSV ---------------------------------------------------------------------------------------


def csv(view: View, table: str, bom: bool = False) -> str:
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
    writer = csv_files.writer(out, lineterminator="\n")
    for line in _records(view, table):
        writer.writerow([_csv(value) for value in line])
    return ("\ufeff" if bom else "") + out.getvalue()


def _records(view: View, name: str) -> Iterator[list[Value]]:
    if name in ("summary", "cases"):
        yield from _table_records(view, [view.summary])
        return
    section, ladder = _find(view, name)
    if ladder is not None:
        yield from _ladder_records(view, ladder)
    elif section.tables:
        yield from _table_records(view, section.tables)
    elif section.ladders:
        yield from _ladder_records(view, section.ladders[0])
    else:
        yield ["metric", "value", "unit"]
        for one in section.figures:
            yield [one.name, one.text, one.unit]


def _table_records(view: View, tables: Sequence[Table]) -> Iterator[list[Value]]:
    """The tables of a section side by side; one with layer groups stands alone."""
    table = tables[0]
    columns = table.all_columns()
    heads = [machine_name(c.name, c.machine_unit) for c in columns]
    extra = ["group", "layers"] if table.extra_labels else []
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
    at = machine_name(f"{ladder.replaces}_at_rung", ladder.machine_unit)
    yield ["case", *_key_names(view), at, *heads]
    places = [rows_of_cases(grid) for grid in ladder.grids]
    for number, case in enumerate(view.cases):
        for rung, value in enumerate(ladder.rungs):
            cells = [
                _cell(grid.columns[rung], place[number][0])
                for grid, place in zip(ladder.grids, places, strict=True)
            ]
            yield [case.id, *(v for _, v in case.keys), value, *cells]


def _key_names(view: View) -> list[str]:
    return [name for name, _ in view.cases[0].keys]


def _cell(column: Column, row: int) -> Value:
    if row in column.absent:
        return ""
    value = column.values[row]
    return numbers.UNKNOWN if value is None else value


def _csv(value: Value) -> str:
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
