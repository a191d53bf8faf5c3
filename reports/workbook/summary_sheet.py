"""The summary: tiles, one chart and one table on one A4 landscape page."""

from __future__ import annotations

from openpyxl.styles import Alignment
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.planning import Plan
from reports.numbers import decimals_for, display_width, excel_format
from reports.words import say
from reports.workbook import styles
from reports.workbook.address import Addresses
from reports.workbook.back_sheets import plan_formula
from reports.workbook.book_charts import bar_chart
from reports.workbook.front_sheets import RESULTS
from reports.workbook.rows_text import decoded
from reports.workbook.settings import Settings
from reports.workbook.tables import FIRST, Book, Table, fit_pages
from reports.workbook.variant_sheets import display_text
from reports.workbook.word_rules import verdict_rules, word_rules

SUMMARY = "Summary"
TILES = 5
# Plan figures and the rows of the chart stand below the printed page.
WORKINGS_ROW = 60
_BARS, _ROWS = 16, 12
_COLUMNS = ("#number", "#model", "#gpu", "#workload", "#layout", "#setting", "verdict", "binding",
            "max_concurrency", "concurrency_per_gpu", "b_star_kv")  # fmt: skip
_WIDTHS = (7, 17, 14, 13, 12, 23, 13, 14, 13, 13, 12)


def summary_sheet(
    book: Book, plan: Plan, at: Addresses, results: Table, names: list[str], settings: Settings
) -> None:
    """Tiles, one chart, one table of at most twelve rows: one A4 landscape page."""
    ws = book.workbook[SUMMARY]
    ws.sheet_view.showGridLines = False
    shown = [n for n in names if not plan.metrics.metrics[n].part_of][:TILES]
    for number, name in enumerate(names):
        row = WORKINGS_ROW + number
        book.text(ws, f"A{row}", plan.metrics.metrics[name].label)
        book.formula(ws, f"C{row}", plan_formula(plan, at, name), plan.value(name))
    for place, name in enumerate(shown):
        _tile(book, ws, plan, name, place, at)
    _summary_table(book, ws, plan, results)
    settings.write(book, ws)
    _capacity_chart(book, ws, plan, results, settings)
    for letter, width in zip("ABCDEFGHIJK", _WIDTHS, strict=True):
        ws.column_dimensions[letter].width = width
    texts = [str(text) for text in results.values["#setting"][:_ROWS]]
    longest = max(map(display_width, texts), default=0)
    ws.column_dimensions["F"].width = min(45, max(_WIDTHS[5], longest + 2))
    ws.page_setup.orientation = "landscape"
    ws.page_setup.paperSize = 9
    fit_pages(ws, 1, 1)
    ws.print_area = "A1:K49"
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
    keys = [k for k in _COLUMNS if k in results.letters]
    count = min(_ROWS, len(plan.cases))
    top = 33
    book.text(
        ws, f"A{top - 1}", say(f"Cases 1 to {count} of {len(plan.cases)}; all are on Results")
    )
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
            words = isinstance(values[index], str) or key == "#number"
            ws[ref].alignment = Alignment(
                horizontal="left" if words else "right", indent=int(words and place > 1)
            )
    ws.row_dimensions[top].height = 30
    verdict_rules(ws, f"A{top + 2}:K{top + 1 + count}", f"A{top + 2}")
    for place, key in enumerate(keys, 1):
        metric = plan.metrics.metrics.get(key)
        letter = get_column_letter(place)
        cells = f"{letter}{top + 2}:{letter}{top + 1 + count}"
        word_rules(ws, cells, metric.type.words if metric else ())


def _capacity_chart(
    book: Book, ws: Worksheet, plan: Plan, results: Table, settings: Settings
) -> None:
    """Bars of the first cases of different capacity, as issued; their rows stand further down."""
    texts = [settings.label(case) for case in plan.cases]
    firsts = sorted(texts.index(text) for text in set(texts))
    label = settings.label_formula(f"{RESULTS}!{results.letters['#layout']}{{r}}")
    source = results.letters["concurrency_per_gpu"]
    values = results.values["concurrency_per_gpu"]
    rows = range(settings.next_row + 1, settings.next_row + 1 + len(firsts[:_BARS]))
    for row, index in zip(rows, firsts, strict=False):
        book.formula(ws, f"A{row}", label.format(r=FIRST + index), texts[index])
        book.formula(ws, f"C{row}", f"{RESULTS}!{source}{FIRST + index}", values[index])
    title = say("How many requests does one GPU hold at the context limit?")
    if len(firsts) > _BARS:
        title += say(f" The first {_BARS} of {len(firsts)}")
    bar_chart(ws, title, say("requests per GPU"), "A", "C", rows)
