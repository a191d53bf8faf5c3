"""Rows that compute a comparison anew: both plans, and every mixture of them.

*Plans* has a row for each plan of each live pair, *Workings* a block of rows for each pair, a row a
mixture. Their formulas are the compiled ones of every plan; what no driver moves is taken from the
row of the old plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from openpyxl.utils import get_column_letter

from planner.diff_live import Rows
from planner.expr.check import GROUP, Type
from planner.metrics import Metric
from reports.words import say
from reports.workbook.address import (
    Addresses,
    Block,
    Spot,
    at_spot,
    block,
    own_ref,
    own_span,
    spots,
)
from reports.workbook.case_columns import (
    base_unit,
    cell_values,
    figure_columns,
    unit_text,
)
from reports.workbook.diff_inputs import DiffInputs
from reports.workbook.diff_mixtures import bit_cell
from reports.workbook.tables import FIRST, Book, Table, TableColumn, quote, spacer
from reports.workbook.word_rules import unknown_rule, verdict_rules, word_rules

_SIDES = ("old", "new")
_NUMBER = "[>=1000]#,##0;General"
_KNOWN = {
    "number": "ISNUMBER({})", "count": "ISNUMBER({})", "flag": "ISLOGICAL({})",
    "choice": '{}<>"unknown"', "places": '{}<>"unknown"',
}  # fmt: skip
"""What an input must be by its kind; all else in its cell is unknown."""


class PlansSheet:
    """Both plans of the live pairs: the old rows, then the new ones."""

    def __init__(self, rows: Rows, at: Addresses, inputs: DiffInputs) -> None:
        self.rows, self.at, self.inputs = rows, at, inputs
        self.metrics, self.count = rows.metrics, len(rows.positions)
        self.fields, self.figures = rows.fields(), rows.reached(moved=False)
        self.sheet = ""

    def lay_out(self, sheet: str) -> None:
        """Fix the column of every input and figure."""
        self.sheet = sheet
        number = len(self._keys(0)) + 2
        for names in (self.fields, [m.name for m in self.figures]):
            for name in names:
                found = block(self.metrics.type_of(name).grain, self.at.stages, number)
                self.at.blocks[name] = (sheet, found)
                number += len(found)
            number += 1

    def row(self, position: int, side: int) -> int:
        """The row of one plan of a pair; of the whole plan the first one has its figures."""
        return FIRST + side * self.count + self.rows.positions.index(position)

    def cell(self, name: str, position: int, side: int) -> str:
        """The cell of a figure with one value a case, or one for the plan."""
        return f"{quote(self.sheet)}!${self.at.letter(name)}${self.row(position, side)}"

    def write(self, book: Book, labels: Mapping[int, str]) -> None:
        """A row a plan and pair; inputs are linked, everything else follows from them."""
        ws = book.sheet(
            self.sheet, "Both plans",
            "What does each plan come to, from the inputs of both and by the formulas of today?",
            "calculation",
        )  # fmt: skip
        metrics = [column for metric in self.figures for column in self._metric(metric)]
        table: Table | None = None
        for index in range(2 * self.count):
            columns = [*self._keys(index, labels), spacer(), *self._inputs(index), spacer()]
            columns += [self._of_row(column, index) for column in metrics]
            if table is None:
                # The first row has every figure, so it lends its looks to the others.
                table = book.table(ws, columns, 1, 3)
            else:
                book.add_rows(ws.title, columns, FIRST + index, 1)
        last = FIRST + 2 * self.count - 1
        cells = f"A{FIRST}:{get_column_letter(len(columns))}{last}"
        ws.auto_filter.ref = f"A7:{get_column_letter(len(columns))}{last}"
        _rules(book, ws.title, cells, self.figures, self.at.blocks, last)

    def _keys(self, index: int, labels: Mapping[int, str] = {}) -> list[TableColumn]:
        side, place = divmod(index, self.count)
        position = self.rows.positions[place]
        return [
            TableColumn("#number", "Pair", [float(position + 1)], role="key", number_format="0"),
            TableColumn("#plan", "Plan", [say(_SIDES[side])], role="key", width=9),
            TableColumn("#case", "Case", [labels.get(position, "")], role="key", width=30),
        ]  # fmt: skip

    def _inputs(self, index: int) -> list[TableColumn]:
        side, place = divmod(index, self.count)
        position = self.rows.positions[place]
        return [
            self._input(name, spot, place, side, position)
            for name in self.fields
            for spot in spots(self.metrics.type_of(name).grain, self.at.stages)
        ]

    def _input(self, name: str, spot: Spot, place: int, side: int, position: int) -> TableColumn:
        entry, kind = self.metrics.fields[name], self.metrics.type_of(name)
        values = self.rows.values(name)
        value = at_spot(values[..., place, side : side + 1], spot, 1)
        formula = self._link(name, spot, side, position)
        return TableColumn(
            f"{name}{spot.label}", f"{entry.label}{spot.label}", cell_values(value, kind),
            unit=unit_text(base_unit(self.rows.metrics, name)), role="linked", formula=formula,
            number_format=_format(kind), outline=1,
        )  # fmt: skip

    def _link(self, name: str, spot: Spot, side: int, position: int) -> str | None:
        """The formula of an input; none for a layer-group slot that neither model has."""
        entry = self.metrics.fields[name]
        if entry.entity == "stage":
            return stage_number(self.at, name, spot, f"{self.at.letter('pp')}{{r}}")
        ref = self.inputs.ref(position, name, spot, side)
        return f"IF({_KNOWN[entry.kind].format(ref)},{ref},NA())" if ref else None

    def _metric(self, metric: Metric) -> list[TableColumn]:
        """The columns of a figure over all rows, old ones first."""
        values = self.rows.values(metric.name)
        whole = np.moveaxis(values, -1, -2).reshape(*values.shape[:-2], 2 * self.count)
        pools = self.rows.pools(metric.name)
        return figure_columns(
            metric, whole, whole, 2 * self.count, self.at.stages,
            lambda spot: self.at.ref(self.sheet, spot),
            lambda spot: self._pooled if pools else self.at.span(self.sheet, spot),
        )  # fmt: skip

    def _pooled(self, name: str) -> str:
        """All cases of one plan, from its first row."""
        letter = self.at.letter(name)
        first, more = f"{letter}{{r}}", self.count - 1
        return f"{first}:{letter}{{r+{more}}}" if more else first

    def _of_row(self, column: TableColumn, index: int) -> TableColumn:
        """One row of a column; a figure of the whole plan stands in the first row of each."""
        if index % self.count and self.rows.pools(column.key.partition(" ")[0]):
            return spacer()
        return replace(column, values=column.values[index : index + 1])


@dataclass(frozen=True)
class Workings:
    """The mixtures of one pair or of the whole plan: a block of rows a pair, a row a mixture."""

    sheet: str
    mixtures: str
    rows: Rows
    plans: PlansSheet
    own: dict[str, Block]
    own_fields: tuple[str, ...]

    @classmethod
    def laid_out(cls, sheet: str, mixtures: str, rows: Rows, plans: PlansSheet) -> Workings:
        """Fix the columns. ``mixtures``: the sheet whose bits say what is new in a row."""
        metrics = rows.metrics
        moved = {name for fields in rows.bits for name in fields}
        fields = [n for n in plans.fields if n in moved and n in set(rows.fields())]
        if "pp" in fields:  # more stages in one plan than in the other
            fields += [n for n in rows.fields() if metrics.fields[n].entity == "stage"]
        own: dict[str, Block] = {}
        number = 3
        for name in (*fields, *(m.name for m in rows.reached(moved=True))):
            own[name] = block(metrics.type_of(name).grain, plans.at.stages, number)
            number += len(own[name])
        return cls(sheet, mixtures, rows, plans, own, tuple(fields))

    @property
    def count(self) -> int:
        """Rows of a block."""
        return len(self.rows.masks)

    def figure(self, name: str) -> str:
        """The cell of a figure in the row of a mixture, as seen from the sheet of mixtures."""
        row = self.plans.row(self.rows.positions[0], 0)
        outside = self.plans.at.ref(self.mixtures, row=f"${row}")
        inside = {n: b for n, b in self.own.items() if n == name}
        cell = own_ref(inside, Spot(), outside)(name)
        return f"{quote(self.sheet)}!{cell}" if inside else cell

    def write(self, book: Book, title: str) -> None:
        """A block of rows for each pair; figures of the whole plan stand in the first."""
        ws = book.sheet(
            self.sheet, title, "How does each mixture come about? The same formulas as every plan.",
            "calculation",
        )  # fmt: skip
        figures = self.rows.reached(moved=True)
        for place in range(len(self.rows.positions)):
            columns = self._block(place, figures)
            if not place:
                book.table(ws, columns, self.count, 2)
            else:
                book.add_rows(ws.title, columns, FIRST + place * self.count, self.count)
        last = FIRST + len(self.rows.positions) * self.count - 1
        cells = f"A{FIRST}:{get_column_letter(len(columns))}{last}"
        ws.auto_filter.ref = f"A7:{get_column_letter(len(columns))}{last}"
        blocks = {name: (self.sheet, found) for name, found in self.own.items()}
        _rules(book, ws.title, cells, figures, blocks, last)

    def _block(self, place: int, figures: Sequence[Metric]) -> list[TableColumn]:
        back = place * self.count
        bits = f"{{r-{back}}}" if back else "{r}"
        position = self.rows.positions[place]
        sheet = quote(self.mixtures)
        columns = [
            TableColumn("#mixture", "Mixture", self.rows.masks.astype(float), role="key",
                        number_format="0", formula=f"{sheet}!A{bits}"),
            TableColumn("#number", "Pair", np.full(self.count, position + 1.0), role="key",
                        number_format="0"),
        ]  # fmt: skip
        for name in self.own_fields:
            columns += self._inputs(name, place, bits)
        for metric in figures:
            columns += self._metric(metric, place)
        return columns

    def _inputs(self, name: str, place: int, bits: str) -> list[TableColumn]:
        """An input of the old or of the new plan, as the bit of its driver says."""
        entry, kind = self.rows.metrics.fields[name], self.rows.metrics.type_of(name)
        values = self.rows.values(name)
        return [
            TableColumn(
                f"{name}{spot.label}", f"{entry.label}{spot.label}",
                cell_values(at_spot(values[..., place, :], spot, self.count), kind),
                unit=unit_text(base_unit(self.rows.metrics, name)), role="linked",
                outline=1 if number else 0,
                number_format=_format(kind), formula=self._choice(name, spot, place, bits),
            )
            for number, spot in enumerate(spots(kind.grain, self.plans.at.stages))
        ]  # fmt: skip

    def _choice(self, name: str, spot: Spot, place: int, bits: str) -> str:
        at, position = self.plans.at, self.rows.positions[place]
        if self.rows.metrics.fields[name].entity == "stage":
            here = _with_own(at, self.sheet, self.own)
            return stage_number(here, name, spot, f"{self.own['pp'][Spot()]}{{r}}")
        bit = next(i for i, fields in enumerate(self.rows.bits) if name in fields)
        old, new = (
            at.ref(self.sheet, spot, f"${self.plans.row(position, side)}")(name) for side in (0, 1)
        )
        return f"IF({quote(self.mixtures)}!{bit_cell(bit, bits)}=1,{new},{old})"

    def _metric(self, metric: Metric, place: int) -> list[TableColumn]:
        pools = self.rows.pools(metric.name)
        if pools and place:
            return [spacer()]
        at, row = self.plans.at, f"${self.plans.row(self.rows.positions[place], 0)}"
        values = self.rows.values(metric.name)
        return figure_columns(
            metric, values[..., place, :], values, self.count, at.stages,
            lambda spot: own_ref(self.own, spot, at.ref(self.sheet, spot, row)),
            lambda spot: self._pooled if pools else
            own_span(self.own, spot, at.span(self.sheet, spot, row)),
        )  # fmt: skip

    def _pooled(self, name: str) -> str:
        """All cases of a mixture: a cell in each block, or the old plan's where none moves it."""
        count = len(self.rows.positions)
        if name not in self.own:
            letter, plans = self.plans.at.letter(name), quote(self.plans.sheet)
            return f"{plans}!{letter}${FIRST}:{letter}${FIRST + count - 1}"
        letter = self.own[name][Spot()]
        offsets = [place * self.count for place in range(count)]
        return ",".join(f"{letter}{{r+{o}}}" if o else f"{letter}{{r}}" for o in offsets)


def _format(kind: Type) -> str:
    return _NUMBER if kind.kind == "number" else "General"


def stage_number(at: Addresses, name: str, spot: Spot, stages: str) -> str:
    """Counts on from the stage before; unknown where a row has more stages than columns."""
    if spot.stage > 0:
        before = at.blocks[name][1][Spot(stage=spot.stage - 1)]
        return f"{before}{{r}}+1"
    return f"IF({stages}<={at.stages},0,NA())"


def _with_own(at: Addresses, sheet: str, own: Mapping[str, Block]) -> Addresses:
    """The same addresses with the figures that a sheet has itself."""
    return replace(at, blocks=at.blocks | {name: (sheet, found) for name, found in own.items()})


def _rules(
    book: Book, title: str, cells: str, figures: Sequence[Metric],
    blocks: Mapping[str, tuple[str, Block]], last: int,
) -> None:  # fmt: skip
    """The colours of verdicts and of unknown figures, and words in the language of the book."""
    ws = book.workbook[title]
    verdict_rules(ws, cells, f"A{FIRST}")
    unknown_rule(ws, cells, f"A{FIRST}")
    for metric in figures:
        if metric.type.words and metric.type.grain != GROUP:
            letter = next(iter(blocks[metric.name][1].values()))
            word_rules(ws, f"{letter}{FIRST}:{letter}{last}", metric.type.words)
