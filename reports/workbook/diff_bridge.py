"""The sheet of bridges: from the old figure to the new one, driver by driver, and a waterfall.

Shares are products over the sheet of mixtures, groups are sums of their shares, and a check says
that old figure and shares give the new one. It holds for any legitimate edit of a figure.
"""

from __future__ import annotations

from collections.abc import Sequence

from openpyxl.chart import BarChart, Reference
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.worksheet.worksheet import Worksheet

from reports import palette
from reports.view_diff_parts import Bridge, ShareGroup
from reports.workbook import styles
from reports.workbook.book_charts import calm
from reports.workbook.diff_figures import Figures, cell, heads, number_format
from reports.workbook.diff_mixtures import Placed
from reports.workbook.rows_text import fitting
from reports.workbook.tables import FIRST, Book, quote, rule

_HEADS = ("Step", "Amount", "Least", "Most", "What changed", "Base", "Total", "Up", "Down")
_UNITS = ("", "", "over the orders", "over the orders", "", "of the chart", "", "", "")
_WIDTHS = (34, 16, 15, 15, 40, 12, 12, 12, 12)
_CHART_ROWS = 17

Live = dict[int | None, Placed]
"""Placed mixtures by pair; None is the whole plan."""


def bridge_sheet(
    book: Book, name: str, bridges: Sequence[Bridge], figures: Figures, live: Live
) -> list[str]:
    """Write the bridges one below the other; gives the cells of their checks."""
    ws = book.sheet(name, "Bridge", "Why has each figure moved?", "front")
    heads(book, ws, _HEADS, _UNITS, _WIDTHS)
    ws.freeze_panes = f"B{FIRST}"
    row, checks = FIRST, []
    for bridge in bridges:
        head = f"{bridge.label}, {bridge.case}" + (f" ({bridge.unit})" if bridge.unit else "")
        book.text(ws, f"A{row}", head)
        ws[f"A{row}"].font = styles.font(size=12, bold=True)
        if bridge.refused:
            book.text(ws, f"A{row + 1}", f"Not divided: {bridge.refused}")
            styles.sentence(ws[f"A{row + 1}"])
            row += 3
            continue
        writing = _Bridge(book, ws, bridge, figures, live.get(bridge.pair))
        row, check = writing.write(row + 1)
        checks.append(f"{quote(name)}!{check}")
        row += 2
    book.print_setup(ws, "6:7")
    return checks


class _Bridge:
    def __init__(
        self, book: Book, ws: Worksheet, bridge: Bridge, figures: Figures, placed: Placed | None
    ) -> None:
        self.book, self.ws, self.bridge, self.figures = book, ws, bridge, figures
        self.placed = placed if bridge.mixing is not None else None
        self.shown = number_format(bridge.kind, bridge.decimals)
        self.moved = number_format(bridge.kind, bridge.decimals, signed=True)
        self.steps: list[int] = []
        self.running = float(bridge.old_raw or 0.0)

    def write(self, row: int) -> tuple[int, str]:
        """The rows of one bridge; gives the next free row and the cell of the check."""
        ends = self.figures.ends((self.bridge.pair, self.bridge.metric))
        first = row
        self._end(row, "old", ends[0], self.bridge.old_raw)
        row += 1
        for group in self.bridge.groups:
            row = self._group(row, group)
        self._end(row, "new", ends[1], self.bridge.new_raw)
        last = row
        row = self._check(row + 1, first, last)
        self._notes(row)
        row += 1
        return self._waterfall(first, last, row), f"B{last + 1}"

    def _end(self, row: int, label: str, ref: str, value: object) -> None:
        self.book.text(self.ws, f"A{row}", label)
        self.ws[f"A{row}"].font = styles.font(bold=True)
        number = float(value) if isinstance(value, float) else 0.0
        self.book.formula(self.ws, f"B{row}", ref, number)
        styles.body(self.ws[f"B{row}"], "linked", self.shown, False)
        self.book.formula(self.ws, f"G{row}", f"B{row}", number)
        self.steps.append(row)

    def _group(self, row: int, group: ShareGroup) -> int:
        """A group and, below it, its drivers."""
        rows = range(row + 1, row + 1 + len(group.shares))
        for place, share in zip(rows, group.shares, strict=True):
            self.book.text(self.ws, f"A{place}", f"   {share.label}")
            self._amount(place, share.id, share.raw)
            for letter, text in (("C", share.low), ("D", share.high)):
                self.book.text(self.ws, f"{letter}{place}", text)
                styles.body(self.ws[f"{letter}{place}"], "note", "General", False)
            self.book.text(self.ws, f"E{place}", share.change)
            styles.sentence(self.ws[f"E{place}"])
        self.book.text(self.ws, f"A{row}", group.label)
        self.ws[f"A{row}"].font = styles.font(bold=True)
        formula = self._group_formula(group, rows)
        if formula:
            self.book.formula(self.ws, f"B{row}", formula, group.raw)
            styles.body(self.ws[f"B{row}"], "derived", self.moved, False)
        else:
            cell(self.book, self.ws, f"B{row}", group.raw, self.moved, "catalog")
        self.ws[f"B{row}"].font = styles.font(bold=True)
        self._step(row, group.raw)
        return row + 1 + len(group.shares)

    def _amount(self, row: int, driver: str, raw: float) -> None:
        """A share as a formula; one that the engine divided stands as it came."""
        single = self.placed is not None and not self.placed.mixing.by_group
        formula = self.placed.share(driver, self.bridge.metric) if single and self.placed else ""
        if formula:
            self.book.formula(self.ws, f"B{row}", formula, raw)
            styles.body(self.ws[f"B{row}"], "derived", self.moved, False)
        else:
            cell(self.book, self.ws, f"B{row}", raw, self.moved, "catalog")

    def _group_formula(self, group: ShareGroup, rows: range) -> str:
        if self.placed is not None and self.placed.mixing.by_group:
            return self.placed.share(group.id, self.bridge.metric)
        return f"SUM(B{rows[0]}:B{rows[-1]})" if len(rows) else ""

    def _step(self, row: int, raw: float) -> None:
        """Base, up and down of the waterfall: where the bar of this step begins and ends."""
        before = self.steps[-1]
        self.steps.append(row)
        start = self.running
        self.running = end = start + raw
        done = f"(F{before}+G{before}+H{before})" if before != self.steps[0] else f"G{before}"
        # A falling step ends at its base, a rising one at its top.
        level = f"IF(I{before}>0,F{before},{done})"
        self.book.formula(self.ws, f"F{row}", f"MIN({level},{level}+B{row})", min(start, end))
        self.book.formula(self.ws, f"H{row}", f"MAX(B{row},0)", max(raw, 0.0))
        self.book.formula(self.ws, f"I{row}", f"MAX(-B{row},0)", max(-raw, 0.0))

    def _check(self, row: int, first: int, last: int) -> int:
        steps = "+".join(f"B{r}" for r in self.steps[1:-1]) or "0"
        gap = f"B{first}+{steps}-B{last}"
        size = f"MAX(ABS(B{first}),ABS(B{last}),1E-300)"
        self.book.text(self.ws, f"A{row}", "Check: old and all steps give new")
        self.book.formula(self.ws, f"B{row}", f'IF(ABS({gap})<=1E-9*{size},"ok","gap")', "ok")
        styles.body(self.ws[f"B{row}"], "check", "General", False)
        ref = f"B{row}"
        for word, role in (("ok", "good"), ("gap", "bad")):
            self.ws.conditional_formatting.add(
                ref, rule(formula=[f'{ref}="{word}"'], font=styles.font(role, bold=True))
            )
        return row + 1

    def _notes(self, row: int) -> None:
        words = f"{self.bridge.method}; {self.bridge.footing}."
        if self.placed is None:
            words += " The shares are those of the engine."
        elif self.placed.mixing.by_group:
            words += " Groups are divided here, their drivers by the engine."
        self.book.text(self.ws, f"A{row}", f"{words} {self.bridge.note}".strip())
        styles.sentence(self.ws[f"A{row}"])

    def _waterfall(self, first: int, last: int, row: int) -> int:
        """A chart of the groups, where no step goes below nothing; its rows stand further down."""
        levels = [float(self.bridge.old_raw or 0.0)]
        for group in self.bridge.groups:
            levels.append(levels[-1] + group.raw)
        if min(levels) < 0 or not self.bridge.groups:
            return row
        block = row + _CHART_ROWS
        for number, step in enumerate(self.steps):
            place = block + number
            self._copied(place, step)
        chart = _chart(self.ws, self.bridge, range(block, block + len(self.steps)))
        self.ws.add_chart(chart, f"A{row}")
        for number in range(len(self.steps)):
            self.ws.row_dimensions[block + number].outlineLevel = 1
        return block + len(self.steps)

    def _copied(self, place: int, step: int) -> None:
        """One step of the chart, without the drivers between the groups."""
        book, ws = self.book, self.ws
        stored = book.values[ws.title]
        label = str(ws[f"A{step}"].value)
        book.formula(ws, f"A{place}", f"A{step}", label)
        for letter in "FGHI":
            value = stored.get(f"{letter}{step}", 0.0)
            book.formula(ws, f"{letter}{place}", f"{letter}{step}+0", value)
        for letter in "AFGHI":
            styles.body(ws[f"{letter}{place}"], "note", self.shown, letter == "A")


def _chart(ws: Worksheet, bridge: Bridge, rows: range) -> BarChart:
    """Stacked columns on an invisible base: readers of any age draw them."""
    chart = BarChart()
    chart.type, chart.grouping, chart.overlap = "col", "stacked", 100
    chart.title = fitting(f"{bridge.label}: from old to new")
    for column in (6, 7, 8, 9):
        data = Reference(ws, min_col=column, min_row=rows[0], max_row=rows[-1])
        chart.add_data(data, titles_from_data=False)
    chart.set_categories(Reference(ws, min_col=1, min_row=rows[0], max_row=rows[-1]))
    down, up = ("good", "bad") if bridge.better == "down" else ("bad", "good")
    for series, role in zip(chart.series, ("", "accent", up, down), strict=True):
        series.graphicalProperties = (
            GraphicalProperties(solidFill=palette.colour(role)[1:]) if role
            else GraphicalProperties(noFill=True)
        )  # fmt: skip
    chart.y_axis.title = bridge.unit or None
    chart.y_axis.number_format = "#,##0"
    chart.legend = None
    calm(chart)
    chart.gapWidth = 50
    chart.height, chart.width = 7.5, 22
    return chart
