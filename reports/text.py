"""A view in the terminal; Markdown and CSV are parts of their own."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from reports import numbers, palette
from reports.text_csv import table_csv as csv
from reports.text_find import Found, find
from reports.text_markdown import markdown
from reports.view import Check, Column, Ladder, Section, Table, View
from reports.words import say

__all__ = ["csv", "markdown", "render"]

_GAP = 2
_LEAST_KEY = 18


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
    shared = say("; ").join(f"{label} {value}" for label, value in view.shared)
    if shared:
        writer.line(say(f"In every case: {shared}."), "muted")
    if tables:
        for section, part in _chosen(view, tables):
            _section(writer, section, part)
    else:
        writer.table(view.summary)
    _ending(writer, view)
    return writer.text()


def _chosen(view: View, names: Sequence[str]) -> Iterator[Found]:
    """What to draw, by name."""
    for name in names:
        if name == "all":
            yield from ((section, None) for section in view.sections)
        else:
            yield find(view, name)


def _section(writer: _Writer, section: Section, part: Table | Ladder | None) -> None:
    """A section, or one part of it alone."""
    tables = section.tables if part is None else [part] if isinstance(part, Table) else []
    ladders = section.ladders if part is None else [part] if isinstance(part, Ladder) else []
    if not isinstance(part, Ladder):
        writer.heading(section.label + say(": ") + section.answers)
    for figure in section.figures if part is None else ():
        writer.line(f"{figure.label}{say(': ')}{figure.text} {figure.unit}".rstrip())
    for table in tables:
        writer.table(table)
    for ladder in ladders:
        writer.heading(ladder.label + say(": ") + ladder.meaning)
        for grid, also in ladder.distinct():
            column = grid.columns[0]
            unit = f", {column.unit}" if column.unit else ""
            writer.line(f"{grid.caption}{unit}, {ladder.across}")
            writer.table(grid, units=False)
            if also:
                writer.line(also, "muted")


def _ending(writer: _Writer, view: View) -> None:
    writer.blank()
    for reason, count in view.dropped:
        writer.line(say(f"left out {count:,}: {reason}"), "muted")
    for check in view.checks:
        if check.state != "ok":
            writer.line(_check_line(check), check.tone)
    if all(check.state == "ok" for check in view.checks):
        writer.line(say(f"All {len(view.checks)} checks hold."), "muted")


def _check_line(check: Check) -> str:
    limit = say(f" (limit {check.limit})") if check.limit else ""
    return say(f"{check.kind} check {check.state}: {check.label}: {check.value}{limit}")


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
        if table.is_flipped and self._statement(table):
            return
        grouped = table.is_grouped
        key = self._key_width(table, grouped)
        kept = self._fitting(table, units, key)
        drawn = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        drawn.add_column(
            Text(say(table.key_label)),
            no_wrap=True,
            overflow="ellipsis",
            vertical="bottom",
            width=key,
        )
        for label in table.extra_labels:
            drawn.add_column(Text(label), no_wrap=True, vertical="bottom")
        for column in kept:
            head = Text(_header(column, units), justify=column.align)
            drawn.add_column(head, justify=column.align, no_wrap=True, vertical="bottom")
        widths = [key, *_extra_widths(table), *(_width(c, units) for c in kept)]
        drawn.add_row(*(Text("─" * width, style="dim") for width in widths))
        for index, row in enumerate(table.rows):
            if grouped and table.starts_group(index):
                drawn.add_row(Text(row.key[0], style="bold"))
            label = "  " + " · ".join(row.key[1:]) if grouped else row.label
            cells = [_styled(column, index) for column in kept]
            drawn.add_row(Text(label), *(Text(e) for e in row.extra), *cells)
        self.console.print(drawn)
        self._left_out(table, kept)

    def _statement(self, table: Table) -> bool:
        """Few rows as columns, a line per figure; false where even that is too wide."""
        heads = ["\n".join([*row.key, *row.extra]) for row in table.rows]
        lines = [line for head in heads for line in head.split("\n")]
        values = [c.text(i, plain=True) for c in table.columns for i in range(len(table.rows))]
        cell = max(numbers.display_width(text) for text in [*lines, *values])
        labels = [*(column.label for column in table.columns), *table.caption.split()]
        label = max(numbers.display_width(text) for text in labels)
        unit = max(numbers.display_width(column.unit) for column in table.columns)
        if label + len(heads) * (cell + _GAP) + unit + _GAP > self.width:
            return False
        drawn = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        drawn.add_column(Text(table.caption), width=label, vertical="bottom")
        for head in heads:
            drawn.add_column(Text(head, justify="right"), justify="right", width=cell)
        drawn.add_column("", width=unit)
        drawn.add_row(*(Text("─" * w, style="dim") for w in [label, *[cell] * len(heads), unit]))
        for column in table.columns:
            cells = [_styled(column, index) for index in range(len(heads))]
            drawn.add_row(Text(column.label), *cells, Text(column.unit, style="dim"))
        self.console.print(drawn)
        self._left_out(table, table.columns)
        return True

    def _left_out(self, table: Table, kept: Sequence[Column]) -> None:
        for remark in table.remarks():
            self.line(remark.replace(numbers.MINUS, "-"), "muted")
        missing = len(table.columns) - len(kept)
        if missing:
            left = say(f"{missing} columns do not fit into {self.width} characters.")
            one = say(f"1 column does not fit into {self.width} characters.")
            self.line(one if missing == 1 else left, "muted")

    def _key_width(self, table: Table, grouped: bool) -> int:
        labels = [row.label for row in table.rows]
        if grouped:
            labels = ["  " + " · ".join(row.key[1:]) for row in table.rows]
            labels += [row.key[0] for row in table.rows]
        widest = max((numbers.display_width(label) for label in labels), default=4)
        return min(
            max(widest, numbers.display_width(say(table.key_label))),
            max(_LEAST_KEY, self.width // 2),
        )

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
        max(
            [
                numbers.display_width(label),
                *(numbers.display_width(row.extra[i]) for row in table.rows),
            ]
        )
        for i, label in enumerate(table.extra_labels)
    ]


def _styled(column: Column, row: int) -> Text:
    return Text(column.text(row, plain=True), style=palette.TERMINAL.get(column.tone(row), ""))


def _header(column: Column, units: bool) -> str:
    """The heading in lines that are no wider than they need be, with the unit below."""
    wide = numbers.display_width(column.label) > len(column.label)
    lines = _wrapped(column.label, max(12 if wide else 9, _body_width(column)))
    return "\n".join([*lines, column.unit] if units and column.unit else lines)


def _wrapped(text: str, width: int) -> list[str]:
    return numbers.wrapped(text, width)


def _body_width(column: Column) -> int:
    rows = range(len(column.values))
    return max((numbers.display_width(column.text(row, plain=True)) for row in rows), default=0)


def _width(column: Column, units: bool) -> int:
    lines = _header(column, units).split("\n")
    return max(_body_width(column), *(numbers.display_width(line) for line in lines))
