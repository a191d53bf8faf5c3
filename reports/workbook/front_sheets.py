"""Front matter: the cover, and the results of every case in display units."""

from __future__ import annotations

from openpyxl.styles import Alignment
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.metrics import Metric
from planner.planning import Plan
from planner.saved import product_version
from reports.numbers import decimals_for, excel_format
from reports.view_axes import time_model
from reports.words import say, term
from reports.workbook import styles
from reports.workbook.address import Addresses
from reports.workbook.case_columns import cell_values, figure_format, metric_format
from reports.workbook.case_sheets import CaseSheets
from reports.workbook.rows_text import Scalar
from reports.workbook.settings import LAYOUT, SETTING, Settings
from reports.workbook.tables import (
    FIRST,
    Book,
    Table,
    TableColumn,
    contents_line,
    contents_width,
    fit_pages,
    quote,
    spacer,
)
from reports.workbook.variant_sheets import display_text
from reports.workbook.word_rules import verdict_rules, word_rules

_LIGHTS = (term("all integrity checks hold"), term("an integrity check fails"))
RESULTS, SUMMARY, COVER = term("Results"), "Summary", "Cover"
# What a reader wants of a case, in reading order.
SHOWN = (
    "verdict", "binding", "max_concurrency", "concurrency_per_gpu", "longest_context",
    "memory_spare", "smallest_change", "mix_concurrency", "tpot_bound", "ttft_bound",
    "output_rate_gpu", "slo_concurrency", "slo_limit", "weights_gpu", "memory_left",
    "kv_per_token", "kv_per_request", "b_star_kv", "b_star_compute", "next_bound", "batch_slack",
    "kv_read_total", "read_to_stored",
)  # fmt: skip


def results_metrics(plan: Plan) -> list[Metric]:
    """The metrics of the results sheet: the fixed choice, then a user's own case metrics."""
    metrics = plan.metrics.metrics
    own = [m.name for m in metrics.values() if m.origin and not m.part_of and m.type.grain == 1]
    return [metrics[n] for n in dict.fromkeys([*SHOWN, *own]) if n in metrics]


def results_sheet(
    book: Book, plan: Plan, sheets: CaseSheets, at: Addresses, settings: Settings
) -> Table:
    """One row a case in the units that people use; every cell is a link into the workings."""
    ws = book.workbook[RESULTS]
    columns = [*sheets.keys(), *_settings(plan, settings), spacer()]
    for metric in results_metrics(plan):
        columns.append(_result(plan, metric, at))
    table = book.table(ws, columns, len(plan.cases), 4)
    cells = f"A{FIRST}:{get_column_letter(len(columns))}{table.last}"
    verdict_rules(ws, cells, f"A{FIRST}")
    for metric in results_metrics(plan):
        letter = table.letters[metric.name]
        word_rules(ws, f"{letter}{FIRST}:{letter}{table.last}", metric.type.words)
    return table


def _settings(plan: Plan, settings: Settings) -> list[TableColumn]:
    """What tells cases apart beside model, GPU and workload."""
    return [
        TableColumn(
            key,
            heading,
            [settings.text(case, names) for case in plan.cases],
            role="linked",
            formula=settings.formula(names),
            note=note,
        )
        for key, heading, names, note in (
            (
                "#layout",
                "Layout",
                LAYOUT,
                say("How one replica is divided: TP, and what else differs."),
            ),
            ("#setting", term("Setting"), SETTING, "Context limit, and what else differs."),
        )
    ]


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


def cover_sheet(
    book: Book, plan: Plan, at: Addresses, plan_hash: str, contents: list[tuple[str, str, str]]
) -> None:
    """What it is, its check light, how to read it, and what is inside."""
    ws = book.workbook[COVER]
    ws.sheet_view.showGridLines = False
    scenario = plan.inputs.scenario
    facts = [
        (say("Scenario"), plan.name),
        (say("As of"), str(scenario["as_of"])),
        (say("Owner"), str(scenario["owner"])),
        (say("Engine"), str(scenario["engine"])),
        *([(say("Draft"), str(scenario["draft"]))] if scenario.get("draft") else []),
        *time_model(plan),
        (say("Cases"), f"{len(plan.cases)}"),
        (
            say("Left out"),
            say(f"{sum(plan.inputs.dropped.values())} combinations that make no sense"),
        ),
        (say("Plan"), plan_hash),
        ("capsheet", product_version()),
    ]
    row = 5
    for label, text in facts:
        book.text(ws, f"A{row}", label)
        ws[f"A{row}"].font = styles.font("muted")
        book.text(ws, f"B{row}", text)
        row += 1
    book.text(ws, f"A{row}", say("Checks"))
    ws[f"A{row}"].font = styles.font("muted")
    light = f'IF({at.fixed["#all"]},"all integrity checks hold","an integrity check fails")'
    good = book.values["Checks"][at.fixed["#all"].split("!")[1].replace("$", "")]
    text = "all integrity checks hold" if good else "an integrity check fails"
    book.formula(ws, f"B{row}", light, text)
    ws[f"B{row}"].font = styles.font("good" if good else "bad", bold=True)
    word_rules(ws, f"B{row}:B{row}", _LIGHTS)
    if scenario.get("note"):
        book.text(ws, f"A{row + 1}", say("Note"))
        ws[f"A{row + 1}"].font = styles.font("muted")
        ws[f"A{row + 1}"].alignment = Alignment(vertical="top")
        book.text(ws, f"B{row + 1}", str(scenario["note"]).strip())
        ws[f"B{row + 1}"].alignment = Alignment(wrap_text=True, vertical="top")
        ws.merge_cells(f"B{row + 1}:D{row + 1}")
        ws.row_dimensions[row + 1].height = 45
    row += 3
    row = _legend(book, ws, row)
    book.text(ws, f"A{row}", say("Contents"))
    ws[f"A{row}"].font = styles.font(bold=True)
    for name, title, answers in contents:
        row += 1
        book.text(ws, f"A{row}", contents_line(name, title))
        styles.link(ws[f"A{row}"], f"{quote(name)}!A1")
        book.text(ws, f"B{row}", answers)
        ws[f"B{row}"].font = styles.font("muted")
    lines = [contents_line(name, title) for name, title, _ in contents]
    first = contents_width(lines, 26)
    for letter, width in (("A", first), ("B", 40), ("C", 40), ("D", 20)):
        ws.column_dimensions[letter].width = width
    book.print_setup(ws, "1:1")
    ws.page_setup.orientation = "portrait"
    fit_pages(ws, 1, 1)


def _legend(book: Book, ws: Worksheet, row: int) -> int:
    book.text(ws, f"A{row}", say("How to read it"))
    ws[f"A{row}"].font = styles.font(bold=True)
    lines = (
        ("input", say("Blue on yellow: a cell that you may change; everything else follows.")),
        ("linked", say("Green: a figure that comes from another sheet.")),
        ("ink", say("Dark: a figure that is calculated on its sheet.")),
        (
            "muted",
            say("Grey: notes, sources, and parts of longer formulas. #N/A is an unknown figure."),
        ),
    )
    for role, text in lines:
        row += 1
        book.text(ws, f"A{row}", "1,234")
        ws[f"A{row}"].font = styles.font(role)
        if role == "input":
            ws[f"A{row}"].fill = styles.fill("input-surface")
        book.text(ws, f"B{row}", text)
    row += 1
    book.text(ws, f"B{row}", say("Memory is positive; a negative spare is a shortfall. GiB is "
              "2^30 bytes, "
              "GB is 10^9 bytes. Workings are in base units."))  # fmt: skip
    return row + 2
