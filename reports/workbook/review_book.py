"""The workbook of a review: changes, sums of parts and errors live, history typed beside them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.saved import dumps, product_version
from reports import numbers
from reports.numbers import excel_format
from reports.view_review import FRESH, GONE, MeasuredRow, Moved, ReviewView, TrendRow, TrendView
from reports.words import say, term
from reports.workbook import styles
from reports.workbook.diff_figures import (
    BETTER,
    LIGHTS,
    PLAIN,
    TOLERANCE,
    cell,
    changes,
    heads,
    mark_formula,
    mark_rules,
    number_format,
)
from reports.workbook.rows_text import decoded
from reports.workbook.tables import (
    FIRST,
    HEADING,
    UNIT,
    Book,
    contents_line,
    contents_width,
    fit_pages,
    quote,
)
from reports.workbook.word_rules import word_rule, word_rules

COVER = "Cover"
_NONE = numbers.NOT_APPLICABLE
_HISTORY = 10  # the column of the first plan on Trends
_DAY_ZERO = date(1899, 12, 30)
_DAY = "yyyy-mm-dd"


def write(view: ReviewView, path: Path) -> None:
    """Write the workbook of a review."""
    out = Book()
    out.sheet(COVER, view.title, "Saved plans over time: what moved, why, and what waits.", "front")
    _trends(out, view)
    checks = _why(out, view)
    if view.measured:
        _measured(out, view.measured)
    if view.decisions_read:
        _decisions(out, view)
    _cover(out, view, checks)
    plans = [{"file": one.file, "name": one.name, "as_of": one.as_of} for one in view.issues]
    inside = dumps({"kind": "plan-review", "capsheet": product_version(), "plans": plans})
    out.save(path, view.as_of, view.title, inside, rider="review")


# ---- trends ------------------------------------------------------------------------------------


def _trends(book: Book, view: ReviewView) -> None:
    """A row a case and figure: first and newest plan compared, and every plan's value."""
    ws = book.sheet("Trends", "Trends", "How did each figure move from plan to plan?", "front")
    texts = (
        term("Case"), term("Figure"), term("Unit"), term("Better"), term("First"), term("Newest"),
        term("Change"), term("Change"), term("Mark"),
    )  # fmt: skip
    plan = term("plan")
    units = ("", "", "", "", plan, plan, term("newest less first"), term("% of first"), "")
    heads(book, ws, texts, units, (44, 34, 18, 9, 13, 13, 16, 11, 11))
    for place, issue in enumerate(view.issues, _HISTORY):
        letter = get_column_letter(place)
        book.text(ws, f"{letter}{HEADING}", issue.label)
        book.text(ws, f"{letter}{UNIT}", issue.name)
        styles.heading(ws[f"{letter}{HEADING}"], "catalog")
        styles.unit(ws[f"{letter}{UNIT}"], "catalog")
        ws.column_dimensions[letter].width = 14
    _tolerance(book, ws, view.tolerance)
    row = FIRST
    for trend in view.trends:
        for one in trend.rows:
            _trend_row(book, ws, row, trend, one)
            row += 1
    last = max(row - 1, FIRST)
    end = get_column_letter(_HISTORY + len(view.issues) - 1)
    ws.freeze_panes = f"C{FIRST}"
    ws.auto_filter.ref = f"A{UNIT}:{end}{last}"
    mark_rules(ws, f"I{FIRST}:I{last}", f"I{FIRST}")
    word_rules(ws, f"I{FIRST}:I{last}", (FRESH, GONE))
    word_rules(ws, f"D{FIRST}:D{last}", BETTER)
    found = {v for trend in view.trends for one in trend.rows for v in one.raw}
    shown = sorted({*(v for v in found if isinstance(v, str)), *PLAIN})
    for cells in (f"E{FIRST}:F{last}", f"{get_column_letter(_HISTORY)}{FIRST}:{end}{last}"):
        word_rules(ws, cells, shown)
    ws.row_dimensions[HEADING].height = 30
    book.print_setup(ws, f"{HEADING}:{UNIT}")


def _tolerance(book: Book, ws: Worksheet, tolerance: float) -> None:
    book.text(ws, "H4", say("Tolerance"))
    ws["I4"] = tolerance
    styles.body(ws["I4"], "input", "0.0##%", False)
    book.name(TOLERANCE, f"{quote(ws.title)}!$I$4")


def _trend_row(book: Book, ws: Worksheet, row: int, trend: TrendView, one: TrendRow) -> None:
    for letter, text in zip("ABC", (one.label, trend.label, trend.unit), strict=True):
        book.text(ws, f"{letter}{row}", text)
        styles.body(ws[f"{letter}{row}"], "key", "General", True)
    book.text(ws, f"D{row}", trend.better)
    styles.body(ws[f"D{row}"], "note", "General", True)
    shown = number_format(trend.kind, trend.decimals)
    last = _HISTORY + len(one.raw) - 1
    for place, (value, there) in enumerate(zip(one.raw, one.there, strict=True), _HISTORY):
        known = value if there else _NONE
        cell(book, ws, f"{get_column_letter(place)}{row}", known, shown, "catalog")
    for letter, place, end in (("E", _HISTORY, 0), ("F", last, -1)):
        value = one.raw[end]
        stored = _NONE if not one.there[end] else numbers.UNKNOWN if value is None else value
        book.formula(ws, f"{letter}{row}", f"{get_column_letter(place)}{row}", stored)
        styles.body(ws[f"{letter}{row}"], "derived", shown, False)
    changes(book, ws, row, one.ends)
    old, new = f'E{row}="{_NONE}"', f'F{row}="{_NONE}"'
    gone = f'IF({new},IF({old},"{_NONE}","{GONE}"),IF({old},"{FRESH}",'
    book.formula(ws, f"I{row}", f"{gone}{mark_formula(row)}))", one.key)


# ---- why ---------------------------------------------------------------------------------------


def _why(book: Book, view: ReviewView) -> list[str]:
    """The parts of every change; their sum gives the newer value, and a check says so."""
    moved = [(step.label, one) for step in view.steps for one in step.moved]
    if not moved:
        return []
    answers = term("What is each change between two plans made of?")
    ws = book.sheet("Why", "Why", answers, "front")
    texts = (
        term("Plans"), term("Case"), term("Figure"), term("Part"), term("Amount"),
        term("Of the change"), term("Check"),
    )  # fmt: skip
    heads(book, ws, texts, ("", "", "", "", term("unit of the figure"), "%", ""),
          (26, 40, 36, 34, 17, 14, 11))  # fmt: skip
    ws.freeze_panes = f"A{FIRST}"
    row, checks = FIRST, []
    for label, one in moved:
        row, check = _bridge(book, ws, row, label, one)
        if check:
            checks.append(f"{quote(ws.title)}!{check}")
        row += 1
    for word, role in (("ok", "good"), ("gap", "bad")):
        ws.conditional_formatting.add(
            f"G{FIRST}:G{row}",
            word_rule(f"G{FIRST}", word, font=styles.font(role, bold=True)),
        )
    ws.row_dimensions[HEADING].height = 30
    book.print_setup(ws, f"{HEADING}:{UNIT}")
    return checks


def _bridge(book: Book, ws: Worksheet, row: int, plans: str, moved: Moved) -> tuple[int, str]:
    """Old value, parts, and the newer value as their sum beside the one that was issued."""
    one = moved.bridge
    figure = one.label + (f" ({one.unit})" if one.unit else "")
    if one.refused or not isinstance(one.old_raw, float) or not isinstance(one.new_raw, float):
        _keys(book, ws, row, (plans, one.case, figure, moved.told))
        return row + 1, ""
    share = one.kind == "share"
    ends = excel_format("share" if share else "figure", one.decimals)
    amounts = excel_format("change_share" if share else "change", one.decimals)
    parts = [leaf for group in one.groups for leaf in (group.shares or (group,))]
    first, total = row, row + len(parts) + 1
    _keys(book, ws, row, (plans, one.case, figure, say("old")))
    cell(book, ws, f"E{row}", one.old_raw, ends, "catalog")
    for row, part in enumerate(parts, first + 1):
        _keys(book, ws, row, (plans, one.case, figure, part.label))
        cell(book, ws, f"E{row}", part.raw, amounts, "catalog")
        change = f"(E${total}-E${first})"
        whole = sum(p.raw for p in parts)
        book.formula(ws, f"F{row}", f'IF({change}=0,"{_NONE}",E{row}/{change})',
                     part.raw / whole if whole else _NONE)  # fmt: skip
        styles.body(ws[f"F{row}"], "derived", excel_format("share", 1), False)
    _keys(book, ws, total, (plans, one.case, figure, say("old and all parts")))
    book.formula(ws, f"E{total}", f"SUM(E{first}:E{total - 1})", one.new_raw)
    styles.body(ws[f"E{total}"], "derived", ends, False)
    _keys(book, ws, total + 1, (plans, one.case, figure, say("new")))
    cell(book, ws, f"E{total + 1}", one.new_raw, ends, "catalog")
    ws[f"E{total + 1}"].font = styles.font("ink", bold=True)
    size = f"MAX(ABS(E{first}),ABS(E{total + 1}),1E-300)"
    gap = f"ABS(E{total}-E{total + 1})"
    check = f"G{total + 1}"
    book.formula(ws, check, f'IF({gap}<=1E-9*{size},"ok","gap")', "ok")
    styles.body(ws[check], "check", "General", False)
    return total + 2, check


def _keys(book: Book, ws: Worksheet, row: int, texts: Sequence[str]) -> None:
    for letter, text in zip("ABCD", texts, strict=True):
        book.text(ws, f"{letter}{row}", text)
        styles.body(ws[f"{letter}{row}"], "key" if letter != "D" else "note", "General", True)


# ---- measured and decided ----------------------------------------------------------------------


def _measured(book: Book, rows: Sequence[MeasuredRow]) -> None:
    ws = book.sheet("Measured", "Plan against measured",
                    "What did engines measure at their start, and how far off was the plan?",
                    "calculation")  # fmt: skip
    texts = (
        term("Plan"), term("Case"), term("Log"), term("Engine"), term("Figure"), term("Unit"),
        term("Planned"), term("Measured"), term("Error"), term("What explains it"),
    )  # fmt: skip
    heads(book, ws, texts, (*[""] * 8, term("planned / measured - 1"), ""),
          (14, 40, 26, 18, 34, 16, 14, 14, 22, 60))  # fmt: skip
    ws.freeze_panes = f"A{FIRST}"
    for row, one in enumerate(rows, FIRST):
        keys = (one.issue, one.case, one.log, one.engine, one.label, one.unit)
        for letter, text in zip("ABCDEF", keys, strict=True):
            book.text(ws, f"{letter}{row}", text)
            styles.body(ws[f"{letter}{row}"], "key", "General", True)
        shown = number_format(one.kind, one.decimals)
        cell(book, ws, f"G{row}", one.planned_raw, shown, "catalog")
        cell(book, ws, f"H{row}", one.measured_raw, shown, "catalog")
        formula = f'IF(AND(ISNUMBER(G{row}),ISNUMBER(H{row})),IF(H{row}=0,"{numbers.UNKNOWN}",'
        formula += f'G{row}/H{row}-1),"{numbers.UNKNOWN}")'
        stored = numbers.UNKNOWN if one.error_raw is None else one.error_raw
        book.formula(ws, f"I{row}", formula, stored)
        styles.body(ws[f"I{row}"], "derived", excel_format("change_share", 2), False)
        book.text(ws, f"J{row}", one.note or " ")
        styles.body(ws[f"J{row}"], "note", "General", True)
    word_rules(ws, f"G{FIRST}:I{FIRST + len(rows) - 1}", (numbers.UNKNOWN,))
    ws.row_dimensions[HEADING].height = 30
    book.print_setup(ws, f"{HEADING}:{UNIT}")


def _decisions(book: Book, view: ReviewView) -> None:
    """Decisions with their days; whether one is open, and for how long, follows from the days."""
    ws = book.sheet("Decisions", "Decisions", "What waits for a decision, and since when?", "front")
    texts = (
        term("Decision"), term("Id"), term("Owner"), term("Since"), term("Closed"),
        term("On the day"), term("Days open"), term("First plan that knows it"),
        term("First plan that knows it closed"), term("Note"),
    )  # fmt: skip
    day = term("day")
    heads(book, ws, texts,
          ("", "", "", day, day, term("of the newest plan"), term("days"), "", "", ""),
          (50, 20, 24, 13, 13, 18, 11, 22, 22, 60))  # fmt: skip
    book.text(ws, "E4", say("Newest plan"))
    ws["F4"] = _serial(view.as_of)
    styles.body(ws["F4"], "input", _DAY, False)
    ws.freeze_panes = f"B{FIRST}"
    for row, one in enumerate(view.decisions, FIRST):
        for letter, text in zip("ABC", (one.title, one.id, one.owner), strict=True):
            book.text(ws, f"{letter}{row}", text)
            styles.body(ws[f"{letter}{row}"], "key", "General", True)
        since, closed = _serial(one.date), _serial(one.closed_on) if one.closed_on else None
        cell(book, ws, f"D{row}", float(since), _DAY, "catalog")
        cell(book, ws, f"E{row}", _NONE if closed is None else float(closed), _DAY, "catalog")
        later, ended = f"D{row}>F$4", f"AND(ISNUMBER(E{row}),E{row}<=F$4)"
        state = "later" if since > _serial(view.as_of) else "open" if one.open_at_last else "closed"
        book.formula(ws, f"F{row}", f'IF({later},"later",IF({ended},"closed","open"))', state)
        styles.body(ws[f"F{row}"], "derived", "General", True)
        end = closed if state == "closed" and closed is not None else _serial(view.as_of)
        days = _NONE if state == "later" else float(end - since)
        book.formula(
            ws, f"G{row}", f'IF({later},"{_NONE}",IF({ended},E{row},F$4)-D{row})', days
        )  # fmt: skip
        styles.body(ws[f"G{row}"], "derived", "#,##0", False)
        for letter, text in zip("HIJ", (one.opened, one.closed, one.note or " "), strict=True):
            book.text(ws, f"{letter}{row}", text)
            styles.body(ws[f"{letter}{row}"], "note", "General", True)
    last = FIRST + max(len(view.decisions), 1) - 1
    states = (term("open"), "warn"), (term("closed"), "good"), (term("later"), "muted")
    for word, role in states:
        ws.conditional_formatting.add(
            f"F{FIRST}:F{last}", word_rule(f"F{FIRST}", word, font=styles.font(role))
        )
    ws.row_dimensions[HEADING].height = 30
    book.print_setup(ws, f"{HEADING}:{UNIT}")


def _serial(day: str) -> int:
    """A day as workbooks count it."""
    return (date.fromisoformat(day) - _DAY_ZERO).days


# ---- cover -------------------------------------------------------------------------------------


def _cover(book: Book, view: ReviewView, checks: Sequence[str]) -> None:
    ws = book.workbook[COVER]
    ws.sheet_view.showGridLines = False
    row = 4
    for text in view.summary:
        book.text(ws, f"A{row}", text)
        row += 1
    row += 1
    texts = (say("Plan"), say("Name"), say("Title"), say("Owner"), say("Cases"), say("File"))
    for place, text in enumerate(texts):
        ref = f"{get_column_letter(place + 1)}{row}"
        book.text(ws, ref, text)
        styles.heading(ws[ref], "key")
    for one in view.issues:
        row += 1
        texts = (one.label, one.name, one.title, one.owner, str(one.cases), one.file)
        for place, text in enumerate(texts, 1):
            book.text(ws, f"{get_column_letter(place)}{row}", text)
    row += 2
    for step in view.steps:
        book.text(ws, f"A{row}", step.label)
        unmoved = say("no change over the tolerance")
        book.text(ws, f"B{row}", unmoved if step.view.unmoved else step.view.verdict_line)
        ws[f"A{row}"].font = styles.font("muted")
        row += 1
    row += 1
    book.text(ws, f"A{row}", say("Parts add up"))
    ws[f"A{row}"].font = styles.font("muted")
    if checks:
        word_rules(ws, f"B{row}:B{row}", LIGHTS)
        tests = ",".join(f'{check}="ok"' for check in checks[:200])
        book.formula(ws, f"B{row}", f'IF(AND({tests}),"all of them","one does not")', "all of them")
    else:
        book.text(ws, f"B{row}", say("no change is divided"))
    row += 1
    book.text(ws, f"A{row}", "capsheet")
    book.text(ws, f"B{row}", product_version())
    ws[f"A{row}"].font = styles.font("muted")
    row += 2
    book.text(ws, f"A{row}", say("Contents"))
    ws[f"A{row}"].font = styles.font(bold=True)
    lines: list[str] = []
    for other in book.workbook:
        if other.title == COVER:
            continue
        row += 1
        lines.append(contents_line(other.title, decoded(str(other["A1"].value))))
        book.text(ws, f"A{row}", lines[-1])
        styles.link(ws[f"A{row}"], f"{quote(other.title)}!A1")
        book.text(ws, f"B{row}", decoded(str(other["A2"].value)))
        ws[f"B{row}"].font = styles.font("muted")
    widths = (contents_width(lines, 26), 24, 44, 26, 8, 30)
    for letter, width in zip("ABCDEF", widths, strict=True):
        ws.column_dimensions[letter].width = width
    book.print_setup(ws, "1:1")
    fit_pages(ws, 1, 1)
