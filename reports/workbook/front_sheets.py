"""Front matter: the cover, a one-page summary, and the results of every case in display units."""

from __future__ import annotations

from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.chart.axis import ChartLines
from openpyxl.chart.legend import Legend
from openpyxl.chart.series import SeriesLabel
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.text import CharacterProperties, ParagraphProperties
from openpyxl.styles import Alignment
from openpyxl.utils import column_index_from_string as _index
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.metrics import Metric
from planner.planning import Plan
from planner.saved import product_version
from reports import palette
from reports.numbers import decimals_for, excel_format
from reports.workbook import styles
from reports.workbook.address import Addresses
from reports.workbook.back_sheets import plan_formula
from reports.workbook.case_columns import cell_values, figure_format, metric_format
from reports.workbook.case_sheets import CaseSheets
from reports.workbook.rows_text import Scalar, decoded, fitting
from reports.workbook.tables import (
    FIRST,
    Book,
    Table,
    TableColumn,
    fit_pages,
    quote,
    spacer,
    verdict_rules,
)
from reports.workbook.variant_sheets import display_text

RESULTS, SUMMARY, COVER = "Results", "Summary", "Cover"
# What a reader wants of a case, in reading order.
SHOWN = (
    "verdict", "binding", "max_concurrency", "concurrency_per_gpu", "longest_context",
    "memory_spare", "weights_gpu", "memory_left", "kv_per_token", "kv_per_request", "b_star_kv",
    "b_star_compute", "next_bound", "batch_slack", "kv_read_total", "read_to_stored",
)  # fmt: skip
TILES = 5


def results_metrics(plan: Plan) -> list[Metric]:
    """The metrics of the results sheet: the fixed choice, then a user's own case metrics."""
    metrics = plan.metrics.metrics
    own = [m.name for m in metrics.values() if m.origin and not m.part_of and m.type.grain == 1]
    return [metrics[n] for n in dict.fromkeys([*SHOWN, *own]) if n in metrics]


def results_sheet(book: Book, plan: Plan, sheets: CaseSheets, at: Addresses) -> Table:
    """One row a case in the units that people use; every cell is a link into the workings."""
    ws = book.workbook[RESULTS]
    columns = [*sheets.keys(), spacer()]
    for metric in results_metrics(plan):
        columns.append(_result(plan, metric, at))
    labels = [" · ".join((c.model, c.gpu, c.workload)) for c in plan.cases]
    columns.append(
        TableColumn(
            "#label", "Label in charts", labels, role="note",
            formula='B{r}&" · "&C{r}&" · "&D{r}',
        )
    )  # fmt: skip
    table = book.table(ws, columns, len(plan.cases), 4)
    cells = f"A{FIRST}:{get_column_letter(len(columns))}{table.last}"
    verdict_rules(ws, cells, f"A{FIRST}")
    return table


def _result(plan: Plan, metric: Metric, at: Addresses) -> TableColumn:
    cell = at.ref(RESULTS)(metric.name)
    factor = float(metric.display.factor) if metric.type.kind == "number" else 1.0
    values = plan.column(metric.name)
    shown = metric_format(values, metric.type)
    known: list[Scalar]
    if metric.type.kind == "number":
        scaled = (values / factor).tolist()
        if metric.display.text == "x":
            shown = excel_format("ratio", decimals_for(scaled, "ratio"))
        elif factor != 1.0:
            shown = figure_format([v for v in scaled if v == v])
        known = [None if v != v else v for v in scaled]
    else:
        known = list(cell_values(values, metric.type))
    # Unknown stays the word, so that no error travels into somebody's own formulas unseen.
    worded: list[Scalar] = ["unknown" if v is None else v for v in known]
    divided = f"{cell}/{at.fixed[f'unit {metric.display.text}']}" if factor != 1.0 else cell
    formula = f'IF(ISERROR({cell}),"unknown",{divided})'
    return TableColumn(
        metric.name, metric.label, worded, unit=display_text(metric), role="linked",
        formula=formula, number_format=shown, note=metric.entry.why,
    )  # fmt: skip


def summary_sheet(book: Book, plan: Plan, at: Addresses, results: Table, names: list[str]) -> None:
    """Tiles, one chart, one table of at most twelve rows: one A4 landscape page."""
    ws = book.workbook[SUMMARY]
    ws.sheet_view.showGridLines = False
    shown = [n for n in names if not plan.metrics.metrics[n].part_of][:TILES]
    for number, name in enumerate(names):
        row = 60 + number
        book.text(ws, f"A{row}", plan.metrics.metrics[name].label)
        book.formula(ws, f"C{row}", plan_formula(plan, at, name), plan.value(name))
    for place, name in enumerate(shown):
        _tile(book, ws, plan, name, place, at)
    _summary_table(book, ws, plan, results)
    _chart(book, ws, plan, results)
    for letter, width in zip("ABCDEFGHIJ", (8, 17, 14, 15, 14, 14, 14, 15, 14, 16), strict=True):
        ws.column_dimensions[letter].width = width
    ws.page_setup.orientation = "landscape"
    ws.page_setup.paperSize = 9
    fit_pages(ws, 1, 1)
    ws.print_area = "A1:J49"
    ws.page_margins.left = ws.page_margins.right = ws.page_margins.top = 0.4
    ws.page_margins.bottom = 0.5


def _tile(book: Book, ws: Worksheet, plan: Plan, name: str, place: int, at: Addresses) -> None:
    metric = plan.metrics.metrics[name]
    first, last = get_column_letter(1 + 2 * place), get_column_letter(2 + 2 * place)
    for row in (5, 6):
        ws.merge_cells(f"{first}{row}:{last}{row}")
        for letter in (first, last):
            ws[f"{letter}{row}"].fill = styles.fill("surface")
    value = plan.value(name)
    book.formula(ws, f"{first}5", at.fixed[name], value)
    cell = ws[f"{first}5"]
    cell.font = styles.font("accent", size=20, bold=True)
    cell.alignment = Alignment(horizontal="center", vertical="center")
    number = value if isinstance(value, float) else 0.0
    kind = "ratio" if metric.display.text == "x" else "figure"
    cell.number_format = excel_format(kind, decimals_for([number], kind))  # type: ignore[arg-type]
    unit = display_text(metric)
    label = f"{metric.label} ({unit})" if unit not in ("", "x") else metric.label
    book.text(ws, f"{first}6", label)
    ws[f"{first}6"].font = styles.font("muted")
    ws[f"{first}6"].alignment = Alignment(horizontal="center", vertical="top", wrap_text=True)
    ws.row_dimensions[5].height = 34
    ws.row_dimensions[6].height = 28


def _summary_table(book: Book, ws: Worksheet, plan: Plan, results: Table) -> None:
    """The first twelve cases; all of them stand on Results."""
    keys = ["#number", "#model", "#gpu", "#workload", "verdict", "binding", "max_concurrency",
            "concurrency_per_gpu", "b_star_kv", "longest_context"]  # fmt: skip
    keys = [k for k in keys if k in results.letters]
    count = min(12, len(plan.cases))
    top = 33
    book.text(ws, f"A{top - 1}", f"Cases 1 to {count} of {len(plan.cases)}; all are on Results")
    ws[f"A{top - 1}"].font = styles.font("muted")
    for place, key in enumerate(keys, 1):
        letter = get_column_letter(place)
        source = results.letters[key]
        for row, offset in ((top, 6), (top + 1, 7)):
            head = book.workbook[RESULTS][f"{source}{offset}"].value or ""
            book.text(ws, f"{letter}{row}", decoded(str(head)))
        styles.heading(ws[f"{letter}{top}"], "derived")
        styles.unit(ws[f"{letter}{top + 1}"], "derived")
        shape = book.workbook[RESULTS][f"{source}{FIRST}"]
        values = results.values[key]
        for index in range(count):
            ref = f"{letter}{top + 2 + index}"
            book.formula(ws, ref, f"{RESULTS}!{source}{FIRST + index}", values[index])
            ws[ref].number_format = shape.number_format
            text = isinstance(values[index], str)
            ws[ref].alignment = Alignment(horizontal="left" if text else "right")
    ws.row_dimensions[top].height = 30
    verdict_rules(ws, f"A{top + 2}:J{top + 1 + count}", f"A{top + 2}")


def _chart(book: Book, ws: Worksheet, plan: Plan, results: Table) -> None:
    chart = BarChart()
    chart.type = "bar"
    chart.title = "How many requests does one GPU hold at the context limit?"
    count = min(16, len(plan.cases))
    sheet = book.workbook[RESULTS]
    letter = results.letters["concurrency_per_gpu"]
    column = _index(letter)
    chart.add_data(
        Reference(sheet, min_col=column, min_row=FIRST, max_row=FIRST + count - 1),
        titles_from_data=False,
    )
    first = _index(results.letters["#label"])
    chart.set_categories(Reference(sheet, min_col=first, min_row=FIRST, max_row=FIRST + count - 1))
    chart.y_axis.title = "requests per GPU"
    chart.legend = None
    chart.x_axis.scaling.orientation = "maxMin"
    _calm(chart)
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
    chart.title = fitting(f"{metric.label}: how does it grow?")
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
    _calm(chart)
    chart.height, chart.width = 10, 26
    ws.add_chart(chart, f"F{FIRST + len(plan.cases) + 2}")


def _calm(chart: BarChart | LineChart) -> None:
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


def cover_sheet(
    book: Book, plan: Plan, at: Addresses, plan_hash: str, contents: list[tuple[str, str]]
) -> None:
    """What it is, its check light, how to read it, and what is inside."""
    ws = book.workbook[COVER]
    ws.sheet_view.showGridLines = False
    scenario = plan.inputs.scenario
    facts = [
        ("Scenario", plan.name), ("As of", str(scenario["as_of"])),
        ("Owner", str(scenario["owner"])),
        ("Engine", str(scenario["engine"])), ("Cases", f"{len(plan.cases)}"),
        ("Left out", f"{sum(plan.inputs.dropped.values())} combinations that make no sense"),
        ("Plan", plan_hash), ("capsheet", product_version()),
    ]  # fmt: skip
    row = 5
    for label, text in facts:
        book.text(ws, f"A{row}", label)
        ws[f"A{row}"].font = styles.font("muted")
        book.text(ws, f"B{row}", text)
        row += 1
    book.text(ws, f"A{row}", "Checks")
    ws[f"A{row}"].font = styles.font("muted")
    light = f'IF({at.fixed["#all"]},"all integrity checks hold","an integrity check fails")'
    good = book.values["Checks"][at.fixed["#all"].split("!")[1].replace("$", "")]
    text = "all integrity checks hold" if good else "an integrity check fails"
    book.formula(ws, f"B{row}", light, text)
    ws[f"B{row}"].font = styles.font("good" if good else "bad", bold=True)
    if scenario.get("note"):
        book.text(ws, f"A{row + 1}", "Note")
        ws[f"A{row + 1}"].font = styles.font("muted")
        ws[f"A{row + 1}"].alignment = Alignment(vertical="top")
        book.text(ws, f"B{row + 1}", str(scenario["note"]).strip())
        ws[f"B{row + 1}"].alignment = Alignment(wrap_text=True, vertical="top")
        ws.merge_cells(f"B{row + 1}:D{row + 1}")
        ws.row_dimensions[row + 1].height = 45
    row += 3
    row = _legend(book, ws, row)
    book.text(ws, f"A{row}", "Contents")
    ws[f"A{row}"].font = styles.font(bold=True)
    for name, answers in contents:
        row += 1
        book.text(ws, f"A{row}", name)
        styles.link(ws[f"A{row}"], f"{quote(name)}!A1")
        book.text(ws, f"B{row}", answers)
        ws[f"B{row}"].font = styles.font("muted")
    for letter, width in (("A", 26), ("B", 40), ("C", 40), ("D", 20)):
        ws.column_dimensions[letter].width = width
    book.print_setup(ws, "1:1")
    ws.page_setup.orientation = "portrait"
    fit_pages(ws, 1, 1)


def _legend(book: Book, ws: Worksheet, row: int) -> int:
    book.text(ws, f"A{row}", "How to read it")
    ws[f"A{row}"].font = styles.font(bold=True)
    lines = (
        ("input", "Blue on yellow: a cell that you may change; everything else follows."),
        ("linked", "Green: a figure that comes from another sheet."),
        ("ink", "Dark: a figure that is calculated on its sheet."),
        ("muted", "Grey: notes, sources, and parts of longer formulas. #N/A is an unknown figure."),
    )
    for role, text in lines:
        row += 1
        book.text(ws, f"A{row}", "1,234")
        ws[f"A{row}"].font = styles.font(role)
        if role == "input":
            ws[f"A{row}"].fill = styles.fill("input-surface")
        book.text(ws, f"B{row}", text)
    row += 1
    book.text(ws, f"B{row}", "Memory is positive; a negative spare is a shortfall. GiB is "
              "2^30 bytes, "
              "GB is 10^9 bytes. Workings are in base units.")  # fmt: skip
    return row + 2
