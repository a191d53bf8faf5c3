"""The sheet of bridges: from the old figure to the new one, driver by driver, and a waterfall.

Shares are products over the sheet of mixtures, groups are sums of their shares, and a check says
that old figure and shares give the new one. It holds for any legitimate edit of a figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openpyxl.chart import BarChart, Reference
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from planner.expr.to_cells import word_text
from reports import palette
from reports.numbers import excel_format
from reports.view_diff_parts import Bridge, Share, ShareGroup
from reports.words import say, term
from reports.workbook import styles
from reports.workbook.book_charts import calm
from reports.workbook.diff_figures import Figures, cell, heads
from reports.workbook.diff_mixtures import NOT_DIVIDED, Placed
from reports.workbook.rows_text import fitting
from reports.workbook.tables import FIRST, Book, quote
from reports.workbook.word_rules import word_rule, word_rules

_HEADS = (
    term("Step"),
    term("Amount"),
    term("Least"),
    term("Most"),
    term("What changed, as compared"),
)
_UNITS = ("", "", term("over the orders"), term("over the orders"), "")
_WIDTHS = (38, 18, 18, 18, 56)
_EDITED = term("inputs were edited here; words in grey are those of the comparison")
_MISSING = term("a mixture gives no figure; no share is made from that")
_CHART_ROWS = 17
_CHART = (
    term("step"), term("base"), term("whole"), term("up"), term("up below 0"), term("down"),
    term("down below 0"), term("from"), term("to"),
)  # fmt: skip
"""Columns of the rows behind a chart, A to I."""

PlacedSets = Mapping[int | None, Placed]
"""Placed mixtures by pair; None is the whole plan."""


def bridge_sheet(
    book: Book,
    name: str,
    bridges: Sequence[Bridge],
    figures: Figures,
    placed: PlacedSets,
    changed: str,
) -> list[str]:
    """Write the bridges one below the other; gives the cells of their checks.

    ``changed``: cells that say of each input whether it was edited; empty where nothing is live.
    """
    ws = book.sheet(name, "Bridge", "Why has each figure moved?", "front")
    heads(book, ws, _HEADS, _UNITS, _WIDTHS)
    if changed:
        edits = f"SUMPRODUCT({changed}*1)"
        book.formula(ws, "A4", f'IF({edits}=0,"",{word_text(_EDITED)})', "")
        word_rules(ws, "A4:A4", (_EDITED,))
        ws["A4"].font = styles.font("warn")
    ws.freeze_panes = f"B{FIRST}"
    for letter in "FGHI":  # rows behind the charts
        ws.column_dimensions[letter].width = 15
    row, checks = FIRST, []
    for bridge in bridges:
        head = f"{bridge.label}, {bridge.case}" + (f" ({bridge.unit})" if bridge.unit else "")
        book.text(ws, f"A{row}", head)
        ws[f"A{row}"].font = styles.font(size=12, bold=True)
        if bridge.refused:
            book.text(ws, f"A{row + 1}", say(f"Not divided: {bridge.refused}"))
            styles.sentence(ws[f"A{row + 1}"])
            row += 3
            continue
        writing = _Bridge(book, ws, bridge, figures, placed.get(bridge.pair))
        row, check = writing.write(row + 1)
        checks.append(f"{quote(name)}!{check}")
        ws.row_breaks.append(Break(id=row))
        row += 2
    book.print_setup(ws, "6:7")
    return checks


class _Bridge:
    def __init__(
        self, book: Book, ws: Worksheet, bridge: Bridge, figures: Figures, placed: Placed | None
    ) -> None:
        self.book, self.ws, self.bridge, self.figures = book, ws, bridge, figures
        self.placed = placed if bridge.mixing is not None else None
        by_group = self.placed is None or self.placed.mixing.by_group
        self.single = None if by_group else self.placed
        ends = (bridge.old_raw, bridge.new_raw)
        self.old, self.new = (v if isinstance(v, float) else 0.0 for v in ends)
        share = bridge.kind == "share"
        whole = all(v == int(v) for v in (self.old, self.new))
        places = 0 if whole and not share else bridge.decimals
        self.shown = excel_format("share" if share else "figure", places)
        self.moved = excel_format("change_share" if share else "change", bridge.decimals)
        self.steps: list[tuple[int, str, float]] = []

    def write(self, row: int) -> tuple[int, str]:
        """The rows of one bridge; gives the next free row and the cell of the check."""
        ends = self.figures.ends((self.bridge.pair, self.bridge.metric))
        first = row
        self._end(row, say("old"), ends[0], self.old)
        row += 1
        for group in self.bridge.groups:
            row = self._group(row, group)
        self._end(row, say("new"), ends[1], self.new)
        last = row
        self._check(last + 1, first, last)
        self._notes(last + 2)
        return self._waterfall(last + 3), f"B{last + 1}"

    def _end(self, row: int, label: str, ref: str, value: float) -> None:
        self.book.text(self.ws, f"A{row}", label)
        self.book.formula(self.ws, f"B{row}", ref, value)
        styles.body(self.ws[f"B{row}"], "linked", self.shown, False)
        for letter in "AB":
            self.ws[f"{letter}{row}"].font = styles.font("ink" if letter == "A" else "linked",
                                                         bold=True)  # fmt: skip
        self.steps.append((row, label, value))

    def _group(self, row: int, group: ShareGroup) -> int:
        """A group and, below it, its drivers."""
        rows = range(row + 1, row + 1 + len(group.shares))
        for place, share in zip(rows, group.shares, strict=True):
            self.book.text(self.ws, f"A{place}", f"   {share.label}")
            self._amount(place, share.id, share.raw)
            self._range(place, share)
            self.book.text(self.ws, f"E{place}", share.change)
            styles.body(self.ws[f"E{place}"], "note", "General", True)
        self.book.text(self.ws, f"A{row}", group.label)
        self.ws[f"A{row}"].font = styles.font(bold=True)
        self._put(row, self._group_formula(group, rows), group.raw)
        self.ws[f"B{row}"].font = styles.font(bold=True)
        self.steps.append((row, group.label, group.raw))
        return row + 1 + len(group.shares)

    def _range(self, row: int, share: Share) -> None:
        """What a driver adds at least and at most; the engine's where its mixtures are not here."""
        for letter, function, text, raw in (
            ("C", "MIN", share.low, share.least), ("D", "MAX", share.high, share.most),
        ):  # fmt: skip
            formula = self.single.reach(share.id, self.bridge.metric, function) if (
                self.single) else ""  # fmt: skip
            if formula:
                self.book.formula(self.ws, f"{letter}{row}", formula, raw)
            else:
                self.book.text(self.ws, f"{letter}{row}", text)
            styles.body(self.ws[f"{letter}{row}"], "note", self.shown, False)

    def _put(self, row: int, formula: str, raw: float) -> None:
        """A share as a formula; one that the engine divided stands as it came."""
        if formula:
            self.book.formula(self.ws, f"B{row}", formula, raw)
            styles.body(self.ws[f"B{row}"], "derived", self.moved, False)
        else:
            cell(self.book, self.ws, f"B{row}", raw, self.moved, "catalog")

    def _amount(self, row: int, driver: str, raw: float) -> None:
        self._put(row, self.single.share(driver, self.bridge.metric) if self.single else "", raw)

    def _group_formula(self, group: ShareGroup, rows: range) -> str:
        if self.placed is not None and self.placed.mixing.by_group:
            return self.placed.share(group.id, self.bridge.metric)
        if not len(rows):
            return ""
        cells = f"B{rows[0]}:B{rows[-1]}"
        return f"IF(COUNT({cells})={len(rows)},SUM({cells}),{word_text(NOT_DIVIDED)})"

    def _check(self, row: int, first: int, last: int) -> None:
        steps = "+".join(f"B{r}" for r, _, _ in self.steps[1:-1]) or "0"
        gap = f"B{first}+{steps}-B{last}"
        size = f"MAX(ABS(B{first}),ABS(B{last}),1E-300)"
        self.book.text(self.ws, f"A{row}", say("Check: old and all steps give new"))
        every = [f"B{r}" for r, _, _ in self.steps]
        self.book.formula(
            self.ws, f"B{row}",
            f'IF(COUNT({",".join(every)})<{len(every)},"not divided",'
            f'IF(ABS({gap})<=1E-9*{size},"ok","gap"))', "ok",
        )  # fmt: skip
        styles.body(self.ws[f"B{row}"], "check", "General", False)
        ref = f"B{row}"
        for word, role in (("ok", "good"), ("gap", "bad"), (term("not divided"), "warn")):
            self.ws.conditional_formatting.add(
                ref, word_rule(ref, word, font=styles.font(role, bold=True))
            )
        if self.placed is not None:
            self._missing(row, self.placed)

    def _missing(self, row: int, placed: Placed) -> None:
        """Whether a mixture gives no figure, after an edit: then there is no share either."""
        found = placed.missing(self.bridge.metric)
        self.book.formula(self.ws, f"C{row}", f'IF({found}=0,"",{word_text(_MISSING)})', "")
        self.ws[f"C{row}"].font = styles.font("warn")
        word_rules(self.ws, f"C{row}:C{row}", (_MISSING,))

    def _notes(self, row: int) -> None:
        words = f"{self.bridge.method}; {self.bridge.footing}."
        if self.placed is None:
            words += say(" The shares are those of the engine, as compared.")
        else:
            if self.bridge.metric in self.placed.live:
                words += say(" Every mixture is computed here, from the inputs of both plans.")
            else:
                words += say(" The mixtures are the engine's: an edit of an input moves none.")
            if self.placed.mixing.by_group:
                words += say(" Groups are divided here, their drivers by the engine, as compared.")
        self.book.text(self.ws, f"A{row}", f"{words} {self.bridge.note}".strip())
        styles.sentence(self.ws[f"A{row}"])

    # ---- waterfall -----------------------------------------------------------------------------

    def _waterfall(self, row: int) -> int:
        """A chart of the groups; the rows behind it stand below."""
        if len(self.steps) < 3:
            return row
        head = row + _CHART_ROWS
        for place, text in enumerate(_CHART):
            ref = f"{chr(ord('A') + place)}{head}"
            self.book.text(self.ws, ref, say(text))
            styles.sentence(self.ws[ref])
        level = 0.0
        for number, step in enumerate(self.steps, 1):
            level = self._bar(head + number, step, level)
        rows = range(head + 1, head + 1 + len(self.steps))
        self.ws.add_chart(_chart(self.ws, self.bridge, rows), f"A{row}")
        return rows[-1] + 1

    def _bar(self, row: int, step: tuple[int, str, float], level: float) -> float:
        """One bar from one level to the next; what lies below zero is a part of its own."""
        source, label, amount = step
        end = step in (self.steps[0], self.steps[-1])
        start, stop = (0.0, amount) if end else (level, level + amount)
        rises = stop >= start
        # What is not divided is a word, of which N makes 0: no bar is drawn from it.
        whole, moved = (f"N(B{source})", "0") if end else ("0", f"N(B{source})")
        above = max(0.0, stop) - max(0.0, start)
        below = min(0.0, start) - min(0.0, stop)
        values = (
            0.0 if end else max(min(start, stop), 0.0) + min(max(start, stop), 0.0),
            amount if end else 0.0,
            0.0 if end or not rises else above, 0.0 if end or not rises else below,
            0.0 if end or rises else -above, 0.0 if end or rises else -below,
            start, stop,
        )  # fmt: skip
        h, i = f"H{row}", f"I{row}"
        formulas = (
            "0" if end else f"MAX(MIN({h},{i}),0)+MIN(MAX({h},{i}),0)",
            whole,
            f"IF({moved}>0,MAX(0,{i})-MAX(0,{h}),0)", f"IF({moved}>0,MIN(0,{h})-MIN(0,{i}),0)",
            f"IF({moved}<0,MAX(0,{h})-MAX(0,{i}),0)", f"IF({moved}<0,MIN(0,{i})-MIN(0,{h}),0)",
            "0" if end else f"I{row - 1}", whole if end else f"{h}+{moved}",
        )  # fmt: skip
        self.book.formula(self.ws, f"A{row}", f"A{source}", label)
        for letter, formula, value in zip("BCDEFGHI", formulas, values, strict=True):
            self.book.formula(self.ws, f"{letter}{row}", formula, value)
        for letter in "ABCDEFGHI":
            styles.body(self.ws[f"{letter}{row}"], "note", self.shown, letter == "A")
        return stop


def _chart(ws: Worksheet, bridge: Bridge, rows: range) -> BarChart:
    """Stacked columns on an invisible base: readers of any age draw them."""
    chart = BarChart()
    chart.type, chart.grouping, chart.overlap = "col", "stacked", 100
    chart.title = fitting(say(f"{bridge.label}: from old to new"))
    for column in range(2, 8):
        data = Reference(ws, min_col=column, min_row=rows[0], max_row=rows[-1])
        chart.add_data(data, titles_from_data=False)
    chart.set_categories(Reference(ws, min_col=1, min_row=rows[0], max_row=rows[-1]))
    up, down = ("bad", "good") if bridge.better == "down" else ("good", "bad")
    roles = ("", "accent", up, up, down, down)
    for series, role in zip(chart.series, roles, strict=True):
        series.graphicalProperties = (
            GraphicalProperties(solidFill=palette.colour(role)[1:]) if role
            else GraphicalProperties(noFill=True)
        )  # fmt: skip
    chart.y_axis.title = bridge.unit or None
    chart.y_axis.number_format = "#,##0"
    chart.x_axis.tickLblPos = "low"
    chart.legend = None
    calm(chart)
    chart.gapWidth = 50
    chart.height, chart.width = 7.5, 22
    return chart
