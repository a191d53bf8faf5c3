"""Sheets of variants: a block of rows for each replaced value, and a matrix to read."""

from __future__ import annotations

import numpy as np
from openpyxl.utils import get_column_letter

from planner.engine import Array, by_input
from planner.expr.to_cells import word_text
from planner.metric_files import OWN
from planner.metrics import Metric
from planner.units import parse_unit
from reports.words import say
from reports.workbook.address import Block, SheetNames, Spot, block, own_ref, own_span
from reports.workbook.case_columns import (
    case_numbers,
    cell_values,
    figure_columns,
    figure_format,
    metric_format,
)
from reports.workbook.case_sheets import CASES, CaseSheets
from reports.workbook.inputs_sheet import rung_key
from reports.workbook.rows_text import Scalar
from reports.workbook.tables import FIRST, Table, TableColumn, quote, spacer
from reports.workbook.word_rules import unknown_rule, verdict_rules


def variant_names(sheets: SheetNames, name: str, label: str) -> tuple[str, str]:
    """The sheets of one set of variants: what people read, and the workings."""
    cut = label[: 31 - len(" workings")].strip()
    return sheets.name(f"variant {name}", label), sheets.name(f"rows {name}", f"{cut} workings")


class VariantSheets:
    """One set of variants on two sheets: workings (rung-major rows) and a matrix (a row a case)."""

    def __init__(self, sheets: CaseSheets, name: str) -> None:
        self.sheets, self.name = sheets, name
        self.plan, self.book, self.at = sheets.plan, sheets.book, sheets.at
        self.variant = self.plan.metrics.variants[name]
        self.child = self.plan.columns.variants(name)
        self.inputs = by_input(self.variant, self.plan.columns.variant_values[name])
        self.rungs = self.inputs[self.variant.first]
        self.names = self.plan.inputs.rungs.get(name, ())
        self.cases = len(self.plan.cases)
        self.sheet, self.workings = variant_names(self.at.sheets, name, self.variant.label)
        self.own: dict[str, Block] = {}  # all other names are taken from the parent row

    # ---- which columns -------------------------------------------------------------------------

    def _wanted(self) -> list[Metric]:
        """Metrics that follow from a replaced input and are shown or needed by a reduction."""
        metrics = self.plan.metrics
        follows = {
            n for n in metrics.metrics if any(metrics.depends(n, one) for one in self.variant.moved)
        }
        wanted: set[str] = set()
        todo = [*self.variant.shows, *self.variant.follows.values()]
        todo += [m.name for m in metrics.in_order() if m.variant == self.name]
        while todo:
            name = todo.pop()
            if name in follows and name not in wanted:
                wanted.add(name)
                todo += metrics.metrics[name].needs
        return [m for m in metrics.in_order() if m.name in wanted]

    def lay_out(self) -> None:
        """Fix the letters before Cases is written: its reductions point here."""
        number = 2
        for number, name in enumerate(self.variant.moved, 3):
            self.own[name] = {Spot(): get_column_letter(number)}
        for metric in self._wanted():
            found = block(metric.type.grain, self.at.stages, number + 1)
            number += len(found)
            self.own[metric.name] = found
            if metric.variant:
                self.at.place(metric.name, self.workings, found[Spot()])

    # ---- workings ------------------------------------------------------------------------------

    def write_workings(self) -> Table:
        """A block of rows per rung; each row repeats its case with inputs replaced."""
        ws = self.book.sheet(
            self.workings, say(f"{self.variant.label}: workings"),
            say(f"{self.variant.meaning}: a block of rows for each value, a row a case."),
            "calculation",
        )  # fmt: skip
        blocks = [self._block(k) for k in range(len(self.rungs))]
        count = self.cases * len(self.rungs)
        first = blocks[0]
        table = self.book.table(ws, first, self.cases, 3)
        for k in range(1, len(self.rungs)):
            start = FIRST + k * self.cases
            self.book.add_rows(ws.title, blocks[k], start, self.cases)
        table.count = count
        ws.auto_filter.ref = f"A7:{get_column_letter(len(first))}{FIRST + count - 1}"
        cells = f"A{FIRST}:{get_column_letter(len(first))}{FIRST + count - 1}"
        verdict_rules(ws, cells, f"A{FIRST}")
        unknown_rule(ws, cells, f"A{FIRST}")
        return table

    def _block(self, rung: int) -> list[TableColumn]:
        back = rung * self.cases
        parent = f"{{r-{back}}}" if back else "{r}"
        columns = [
            TableColumn(
                "#number", "Case", case_numbers(self.cases), role="key", number_format="0",
                formula=f"{CASES}!A{parent}",
            ),
            TableColumn(
                "#rung", "Rung", np.full(self.cases, rung + 1.0), role="key", number_format="0"
            ),
            *(self._input(name, rung, parent) for name in self.inputs),
            *(self._followed(name, metric, rung) for name, metric in self.variant.follows.items()),
        ]  # fmt: skip
        for metric in self._wanted():
            columns += self._metric(metric, rung, parent)
        return columns

    def _input(self, name: str, rung: int, parent: str) -> TableColumn:
        """What a rung puts in place of an input: its cell, or the case's own value."""
        cell = self.at.fixed[f"#{rung_key(self.variant, self.name, rung + 1, name)}"]
        if np.isnan(self.inputs[name][rung]):
            cell = f"IF(ISNUMBER({cell}),{cell},{self.at.ref(self.workings, row=parent)(name)})"
        return self._column(name, rung, cell)

    def _followed(self, name: str, metric: str, rung: int) -> TableColumn:
        """An input that follows from the others: the cell of the metric in the same row."""
        cell = f"{self._letter(metric)}{{r}}" if metric in self.own else ""
        return self._column(name, rung, cell or self.at.ref(self.workings)(metric))

    def _column(self, name: str, rung: int, formula: str) -> TableColumn:
        field, start = self.plan.metrics.fields[name], rung * self.cases
        values = np.broadcast_to(self.child[name], (self.cases * len(self.rungs),))
        return TableColumn(
            name, field.label, values[start : start + self.cases].astype(float), unit=field.unit,
            role="linked", number_format="[>=1000]#,##0;General", formula=formula,
        )  # fmt: skip

    def _all(self, metric: Metric) -> Array:
        """Rung-major values; a part that only reductions need is kept by the parent."""
        if metric.variant:
            return np.asarray(self.plan.columns[metric.name]).reshape(-1)
        return self.child[metric.name]

    def _values(self, metric: Metric, rung: int) -> Array:
        values = self._all(metric)
        start = rung * self.cases
        return values[..., start : start + self.cases] if values.ndim else values

    def _metric(self, metric: Metric, rung: int, parent: str) -> list[TableColumn]:
        return figure_columns(
            metric, self._values(metric, rung), self._all(metric), self.cases, self.at.stages,
            lambda spot: own_ref(self.own, spot, self.at.ref(self.workings, spot, parent)),
            lambda spot: own_span(self.own, spot, self.at.span(self.workings, spot, parent)),
        )  # fmt: skip

    # ---- matrix --------------------------------------------------------------------------------

    def write_matrix(self) -> Table:
        """A row a case, a block of columns for each figure shown: what people read and chart."""
        columns = [*self.sheets.keys(), spacer()]
        for name in self.variant.shows:
            columns += [*self._rung_columns(name), spacer()]
        entry = self.plan.metrics.tables[self.variant.table]
        own = self.variant.label != entry.label  # the table may show several sets of variants
        answers = say(f"{self.variant.meaning}: what follows?") if own else entry.answers
        ws = self.book.sheet(self.sheet, self.variant.label, answers, "calculation")
        return self.sheets.finish(ws, columns[:-1], 4)

    def _rung_columns(self, name: str) -> list[TableColumn]:
        metric = self.plan.metrics.metrics[name]
        numbers = metric.type.kind == "number"
        factor = float(metric.display.factor) if numbers else 1.0
        unit = self.at.fixed.get(f"unit {metric.display.text}", "")
        whole = self.child[name].astype(float)
        shown = metric_format(whole, metric.type)
        if factor != 1.0:
            known = (whole[~np.isnan(whole)] / factor).tolist()
            shown = figure_format(known[:2000])
        columns = []
        for k in range(len(self.rungs)):
            offset = k * self.cases
            row = f"{{r+{offset}}}" if offset else "{r}"
            cell = f"{quote(self.workings)}!{self._letter(name)}{row}"
            values = self._values(metric, k)
            columns.append(
                TableColumn(
                    f"{name}_{k + 1}",
                    self._heading(k),
                    cell_values(values / factor if factor != 1.0 else values, metric.type),
                    unit=display_text(metric),
                    formula=f"{cell}/{unit}" if factor != 1.0 else cell,
                    number_format=shown,
                    group="" if k else metric.label,
                    heading_formula=self._live_heading(k),
                )
            )
        return columns

    def _heading(self, rung: int) -> str:
        if self.names:
            return self.names[rung]
        if np.isnan(self.rungs[rung]):
            return OWN
        unit = self.plan.metrics.fields[self.variant.first].unit.split("/")[0]
        return f"{self.rungs[rung]:,g} {unit}".removesuffix(" 1")

    def _live_heading(self, rung: int) -> tuple[str, Scalar]:
        """The value of the rung; where it has a name that, as long as nobody changes the rung."""
        keys = [f"#{rung_key(self.variant, self.name, rung + 1, name)}" for name in self.inputs]
        first = self.at.fixed[keys[0]]
        if not self.names:
            value = float(self.rungs[rung])
            return first, OWN if value != value else value
        same = ",".join(f"{self.at.fixed[k]}={self.at.fixed[f'{k} issued']}" for k in keys)
        return f"IF(AND({same}),{word_text(self.names[rung])},{first})", self.names[rung]

    def _letter(self, name: str) -> str:
        return self.own[name][Spot()]


def display_text(metric: Metric) -> str:
    """The unit in a heading; words and pure numbers have none."""
    if metric.type.kind != "number" or metric.display.text == "1":
        return ""
    return "x" if metric.display.text == "x" else metric.display.text


def display_units(metrics: list[Metric]) -> dict[str, float]:
    """Display units that differ from base units, with their factor."""
    found = {}
    for metric in metrics:
        if metric.type.kind == "number" and metric.display.factor != 1:
            found[metric.display.text] = float(parse_unit(metric.display.text).factor)
    return found
