"""Plan against actual: what engine starts measured, beside the live figures of their cases."""

from __future__ import annotations

from dataclasses import dataclass

from openpyxl.utils import get_column_letter

from planner.actual import Actual
from planner.metrics import Metric
from planner.planning import Plan
from reports.words import say_parts
from reports.workbook.address import Addresses
from reports.workbook.tables import FIRST, Book, TableColumn
from reports.workbook.variant_sheets import display_text

ACTUAL = "Plan against actual"
_FIGURES = "[>=1000]#,##0;[<=-1000]-#,##0;0.00"
_ERRORS = "+0.0%;-0.0%;0.0%"


@dataclass(frozen=True, slots=True)
class _Row:
    """One measured figure of one case, both sides in the display unit of the metric."""

    actual: Actual
    case: int
    metric: Metric
    planned: float

    @property
    def factor(self) -> float:
        return float(self.metric.display.factor)

    @property
    def measured(self) -> float:
        return self.actual.values[self.metric.name] / self.factor

    @property
    def error(self) -> float:
        return self.planned / self.measured - 1 if self.measured else float("nan")


def actual_sheet(book: Book, plan: Plan, at: Addresses) -> None:
    """A row for each measured figure: planned is live, measured was read, the error follows."""
    rows = _rows(plan)
    if not rows:
        return
    ws = book.sheet(
        ACTUAL, ACTUAL, "What did engines measure at their start, and how far off was the plan?",
        "calculation",
    )  # fmt: skip
    blocks = [_columns(row, at) for row in rows]
    # Every row points at another figure, so each is a body of its own below the first.
    table = book.table(ws, blocks[0], 1, 4)
    for number, block in enumerate(blocks[1:], FIRST + 1):
        book.add_rows(ws.title, block, number, 1)
    table.count = len(rows)
    ws.auto_filter.ref = f"A7:{get_column_letter(len(blocks[0]))}{table.last}"
    for letter, width in zip("ABCDEFGHI", (7, 26, 18, 38, 18, 14, 14, 14, 70), strict=True):
        ws.column_dimensions[letter].width = width


def _rows(plan: Plan) -> list[_Row]:
    places = {case.id: number for number, case in enumerate(plan.cases)}
    found = []
    for actual in plan.actual:
        case = places[actual.case]
        for name in actual.values:
            metric = plan.metrics.metrics[name]
            value = plan.value(name, case)
            planned = float(value) if isinstance(value, float) else float("nan")
            found.append(_Row(actual, case, metric, planned / float(metric.display.factor)))
    return found


def _columns(row: _Row, at: Addresses) -> list[TableColumn]:
    cell = at.ref(ACTUAL)(row.metric.name).format(r=FIRST + row.case)
    unit = at.fixed.get(f"unit {row.metric.display.text}", "")
    planned = f"{cell}/{unit}" if row.factor != 1 else cell
    note = say_parts(row.actual.notes.get(row.metric.name, ""))
    return [
        TableColumn("number", "Case", [float(row.case + 1)], role="key", number_format="0"),
        TableColumn("log", "Log", [row.actual.log], role="key"),
        TableColumn("engine", "Engine", [row.actual.engine], role="key"),
        TableColumn("figure", "Figure", [row.metric.label], role="key"),
        TableColumn("unit", "Unit", [display_text(row.metric)], role="key"),
        TableColumn("planned", "Planned", [row.planned], role="linked", formula=planned,
                    number_format=_FIGURES),
        TableColumn("measured", "Measured", [row.measured], role="input", number_format=_FIGURES),
        TableColumn("error", "Plan against actual", [row.error], number_format=_ERRORS,
                    formula="IF(G{r}=0,NA(),F{r}/G{r}-1)"),
        TableColumn("note", "What explains it", [note], role="note", width=70, wrap=True),
    ]  # fmt: skip
