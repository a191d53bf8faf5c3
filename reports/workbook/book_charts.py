"""The charts of the workbook: native, drawn from cells, and calm."""

from __future__ import annotations

from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.chart.axis import ChartLines
from openpyxl.chart.legend import Legend
from openpyxl.chart.series import SeriesLabel
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.text import CharacterProperties, ParagraphProperties
from openpyxl.utils import column_index_from_string as _index
from openpyxl.worksheet.worksheet import Worksheet

from planner.planning import Plan
from reports import palette
from reports.words import say
from reports.workbook.rows_text import fitting
from reports.workbook.tables import FIRST, Table
from reports.workbook.variant_sheets import display_text


def bar_chart(ws: Worksheet, title: str, unit: str, labels: str, values: str, rows: range) -> None:
    """Bars over two columns of a sheet, the first row on top."""
    chart = BarChart()
    chart.type = "bar"
    chart.title = title
    first, last = rows[0], rows[-1]
    chart.add_data(
        Reference(ws, min_col=_index(values), min_row=first, max_row=last),
        titles_from_data=False,
    )
    chart.set_categories(Reference(ws, min_col=_index(labels), min_row=first, max_row=last))
    chart.y_axis.title = unit
    chart.legend = None
    chart.x_axis.scaling.orientation = "maxMin"
    calm(chart)
    chart.gapWidth = 40
    series = chart.series[0]
    series.graphicalProperties = GraphicalProperties(solidFill=palette.series(0).fill.light[1:])
    chart.height, chart.width = 12, 27
    ws.add_chart(chart, "A8")


def ladder_chart(ws: Worksheet, plan: Plan, table: Table, name: str, figure: str) -> None:
    """KV of one request over the ladder, a line for each model."""
    seen: dict[str, int] = {}
    for index, case in enumerate(plan.cases):
        seen.setdefault(case.model, index)
    rungs = len(plan.columns.variant_values[name])
    first = _index(table.letters[f"{figure}_1"])
    chart = LineChart()
    metric = plan.metrics.metrics[figure]
    chart.title = fitting(say(f"{metric.label}: how does it grow?"))
    for index in list(seen.values())[:8]:
        row = FIRST + index
        chart.add_data(
            Reference(ws, min_col=first, max_col=first + rungs - 1, min_row=row),
            from_rows=True, titles_from_data=False,
        )  # fmt: skip
    for number, (model, _) in enumerate(list(seen.items())[:8]):
        line = chart.series[number]
        line.tx = SeriesLabel(v=fitting(plan.inputs.labels["model", model]))
        line.graphicalProperties.line.solidFill = palette.series(number).edge.light[1:]
        line.graphicalProperties.line.width = 22000
        line.smooth = False
    chart.set_categories(Reference(ws, min_col=first, max_col=first + rungs - 1, min_row=6))
    chart.y_axis.title = display_text(metric)
    chart.x_axis.title = fitting(plan.metrics.variants[name].label)
    chart.legend = Legend()
    chart.legend.position = "r"
    chart.y_axis.number_format = "General"
    calm(chart)
    chart.height, chart.width = 10, 26
    ws.add_chart(chart, f"F{FIRST + len(plan.cases) + 2}")


def calm(chart: BarChart | LineChart) -> None:
    """Thin axes that are drawn (newer readers hide them unless told), a quiet title, no frame."""
    for axis in (chart.x_axis, chart.y_axis):
        axis.delete = False
        axis.graphicalProperties = GraphicalProperties()
        axis.graphicalProperties.line.solidFill = palette.colour("line")[1:]
    thin = GraphicalProperties()
    thin.line.solidFill = palette.colour("line")[1:]
    chart.y_axis.majorGridlines = ChartLines(spPr=thin)
    for title, size, bold in (
        (chart.title, 1200, True), (chart.x_axis.title, 900, False),
        (chart.y_axis.title, 900, False),
    ):  # fmt: skip
        if title is not None and title.tx is not None and title.tx.rich is not None:
            look = CharacterProperties(sz=size, b=bold, solidFill=palette.colour("ink")[1:])
            for paragraph in title.tx.rich.paragraphs:
                paragraph.pPr = ParagraphProperties(defRPr=look)
                for run in paragraph.r or ():
                    run.rPr = look
    chart.graphical_properties = GraphicalProperties(ln=LineProperties(noFill=True))
