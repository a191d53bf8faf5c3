"""Back matter: checks, sources, changes and the glossary with every formula."""

from __future__ import annotations

from openpyxl.styles import Alignment
from openpyxl.worksheet.worksheet import Worksheet

from planner.checks import Check, checks
from planner.expr.check import PLAN
from planner.expr.to_cells import to_cells
from planner.inputs import Source
from planner.metrics import Metric
from planner.planning import Plan, Value
from planner.saved import product_version
from reports.numbers import decimals_for, excel_format
from reports.words import called, say, term
from reports.workbook.address import Addresses
from reports.workbook.catalog_sheets import SourceList
from reports.workbook.rows_text import Scalar
from reports.workbook.styles import body, font, rule_fill
from reports.workbook.tables import FIRST, Book, Table, TableColumn, quote
from reports.workbook.variant_sheets import display_text
from reports.workbook.word_rules import word_rule, word_rules

CHECKS, CHECKS_TABLE = "Checks", "checks"
_SHOWN_USERS = 6
_STANDS = (term("as issued"), term("changed"))


def plan_formula(plan: Plan, at: Addresses, name: str) -> str:
    """The cell formula of a plan metric: reductions run over whole case columns."""

    def span(operand: str) -> str:
        return at.plan_span(operand)

    def ref(operand: str) -> str:
        return at.fixed[operand] if operand in at.fixed else at.plan_span(operand)

    return to_cells(plan.metrics.metrics[name].tree, ref, span)


def table_of(metric: Metric) -> str:
    """The table in which a plan metric is shown."""
    return CHECKS_TABLE if metric.entry.check else metric.table


def place_plan_metrics(plan: Plan, at: Addresses, sheet: str, table: str, first: int) -> list[str]:
    """Fix the cells of the plan metrics of one table, column C from row ``first``.

    A check stands among the checks, whatever its table.
    """
    names = [
        m.name
        for m in plan.metrics.in_order()
        if m.type.grain == PLAN and not m.variant and table_of(m) == table
    ]
    for number, name in enumerate(names, first):
        at.fixed[name] = f"{quote(sheet)}!$C${number}"
    return names


def checks_sheet(book: Book, plan: Plan, at: Addresses, inputs: Table, cases: Table) -> None:
    """Integrity, policy, and what was changed since issue; the last is information, never red."""
    ws = book.sheet(
        CHECKS, "Checks", plan.metrics.tables["checks"].answers, "checks"
    )  # fmt: skip
    for letter, text in zip(
        "ABCDEF",
        (say("Check"), say("Class"), say("Value"), say("Limit"), say("Status"), say("Why")),
        strict=True,
    ):
        book.text(ws, f"{letter}6", text)
        ws[f"{letter}6"].font = font(bold=True)
    found = checks(plan)
    names = place_plan_metrics(plan, at, CHECKS, CHECKS_TABLE, FIRST)
    by_name = {check.name: check for check in found}
    row = FIRST - 1
    for row, name in enumerate(names, FIRST):
        metric = plan.metrics.metrics[name]
        check = by_name.get(name)
        book.text(ws, f"A{row}", metric.label)
        book.text(ws, f"B{row}", called(metric.entry.check or "part"))
        value = plan.value(name)
        book.formula(ws, f"C{row}", plan_formula(plan, at, name), value)
        shown = _shown(value, check)
        body(ws[f"C{row}"], "check", shown, False)
        if check is not None:
            _status(book, ws, row, check, metric, shown)
        book.text(ws, f"F{row}", metric.entry.why)
    row = _changes(book, ws, row, inputs, cases)
    integrity = [
        r for r, n in enumerate(names, FIRST) if n in by_name and by_name[n].kind == "integrity"
    ]
    good = all(check.passed for check in found if check.kind == "integrity")
    book.text(ws, f"A{row + 2}", say("All integrity checks hold"))
    ws[f"A{row + 2}"].font = font(bold=True)
    formula = "AND(" + ",".join(f'E{r}="ok"' for r in integrity) + ")"
    book.formula(ws, f"C{row + 2}", formula, good)
    book.name("chk_all", f"{CHECKS}!$C${row + 2}")
    at.fixed["#all"] = f"{CHECKS}!$C${row + 2}"
    for letter, width in zip("ABCDEF", (58, 12, 14, 10, 14, 100), strict=True):
        ws.column_dimensions[letter].width = width
    _align(ws, row + 2)
    _lights(ws, row)
    book.print_setup(ws, "6:6")


def _shown(value: Value, check: Check | None) -> str:
    """A number format for a check's value and limit; flags need none."""
    numbers = [v for v in (value, check.limit if check else None) if type(v) is float]
    if not numbers:
        return "General"
    whole = all(v == int(v) for v in numbers)
    return excel_format("count") if whole else excel_format("figure", decimals_for(numbers))


def _align(ws: Worksheet, last: int) -> None:
    """One line of sight; the status keeps clear of the limit before it."""
    for row in range(6, last + 1):
        for letter in "ABCDEF":
            right = letter in "CD"
            ws[f"{letter}{row}"].alignment = Alignment(
                horizontal="right" if right else "left", vertical="center", indent=letter == "E"
            )


def _status(book: Book, ws: Worksheet, row: int, check: Check, metric: Metric, shown: str) -> None:
    test = f"C{row}"
    if metric.type.kind != "flag":
        ws[f"D{row}"] = check.limit or 0
        ws[f"D{row}"].font = font("muted")
        ws[f"D{row}"].number_format = shown
        test = f"C{row}>=D{row}" if metric.entry.better == "up" else f"C{row}<=D{row}"
    bad = "wrong" if check.kind == "integrity" else "attention"
    formula = f'IF(ISERROR(C{row}),"unknown",IF({test},"ok","{bad}"))'
    value = "unknown" if check.value is None else "ok" if check.passed else bad
    book.formula(ws, f"E{row}", formula, value)


def _changes(book: Book, ws: Worksheet, row: int, inputs: Table, cases: Table) -> int:
    for label, table in (
        (say("Inputs changed since issue"), inputs),
        (say("Cases changed since issue"), cases),
    ):
        row += 1
        book.text(ws, f"A{row}", label)
        book.text(ws, f"B{row}", say("changed"))
        book.formula(ws, f"C{row}", f"SUMPRODUCT({table.span('#changed')}*1)", 0.0)
        book.formula(ws, f"E{row}", f'IF(C{row}=0,"as issued","changed")', "as issued")
        book.text(ws, f"F{row}", say("Information: a legitimate edit is no fault."))
    return row


def _lights(ws: Worksheet, last: int) -> None:
    cells = f"E{FIRST}:E{last}"
    for word, role in (
        ("ok", "good"),
        ("wrong", "bad"),
        ("attention", "warn"),
        ("unknown", "warn"),
    ):
        ws.conditional_formatting.add(
            cells,
            word_rule(f"E{FIRST}", word, font=font(role, bold=True), fill=rule_fill(role)),
        )
    word_rules(ws, cells, _STANDS)


def sources_sheet(book: Book, sources: SourceList) -> Table:
    """Every source of a figure or formula that the book uses, numbered."""
    ws = book.sheet("Sources", "Sources", "Where does each figure and formula come from?", "back")
    items = list(sources.numbers.items())
    columns = [
        TableColumn("number", "No.", [float(n) for _, n in items], role="key", number_format="0"),
        TableColumn("title", "Title", [t for (t, _), _ in items], role="key", width=45, wrap=True),
        TableColumn(
            "url",
            "Address",
            [u or say("not recorded") for (_, u), _ in items],
            role="note",
            width=45,
            wrap=True,
        ),
        TableColumn("read", "Read", [sources.read[n] for _, n in items], role="note", width=14),
        TableColumn(
            "used",
            "Used by",
            [_users(sources.used_by[n]) for _, n in items],
            role="note",
            width=45,
            wrap=True,
        ),
    ]
    return book.table(ws, columns, len(items), 1)


def _users(users: list[str]) -> str:
    shown = ", ".join(users[:_SHOWN_USERS])
    return shown + (
        say(f" and {len(users) - _SHOWN_USERS} more") if len(users) > _SHOWN_USERS else ""
    )


def glossary_sheet(book: Book, plan: Plan, at: Addresses, sources: SourceList) -> Table:
    """Every metric: what it means, its formula as declared, and where it stands."""
    ws = book.sheet(
        "Glossary", "Glossary", "What does each figure mean, and by which formula?", "back"
    )
    metrics = [m for m in plan.metrics.in_order() if not m.part_of]
    numbers = [
        sources.number(Source(m.entry.source.title, m.entry.source.url or ""), m.name)
        for m in metrics
    ]
    replaced = [plan.metrics.replaced.get(m.name) for m in metrics]
    columns = [
        TableColumn("label", "Metric", [m.label for m in metrics], role="key"),
        TableColumn("name", "Name", [m.name for m in metrics], role="note"),
        TableColumn("unit", "Unit", ["" if m.entry.choices else m.entry.unit for m in metrics],
                    role="key"),
        TableColumn("display", "Shown in", [display_text(m) for m in metrics], role="note"),
        TableColumn("why", "What it means", [m.entry.why for m in metrics], role="note", width=45,
                    wrap=True),
        TableColumn("formula", "Formula", [m.text for m in metrics], role="key", width=45,
                    wrap=True),
        TableColumn("where", "Where", [_where(at, m.name) for m in metrics], role="note", width=26),
        TableColumn("source", "Source", [f"[{n}]" for n in numbers], role="note"),
        TableColumn("origin", "Declared in", [m.origin or say("built in") for m in metrics],
                    role="note"),
        TableColumn("replaced", "Replaces the built-in because",
                    [r[1] if r else "" for r in replaced], role="note", width=30, wrap=True),
    ]  # fmt: skip
    return book.table(ws, columns, len(metrics), 1)


def _where(at: Addresses, name: str) -> str:
    if name in at.blocks:
        sheet, letters = at.blocks[name][0], list(at.blocks[name][1].values())
        return f"{sheet}!{letters[0]}" + (f":{letters[-1]}" if len(letters) > 1 else "")
    return at.fixed.get(name, "").replace("$", "").replace("'", "")


def changes_sheet(book: Book, plan: Plan, plan_hash: str) -> Table:
    """One line an issue of the book."""
    ws = book.sheet("Changes", "Changes", "When was the book issued, and what has changed?", "back")
    date = str(plan.inputs.scenario["as_of"])
    rows: list[tuple[Scalar, ...]] = [
        (date, product_version(), plan_hash, say("First issue of this plan."))
    ]
    for name, (origin, because) in plan.metrics.replaced.items():
        rows.append((date, product_version(), plan_hash,
                     say(f"Metric {name} replaced by {origin}: {because}")))  # fmt: skip
    for reason, count in plan.inputs.dropped.items():
        rows.append((date, product_version(), plan_hash,
                     say(f"{count} combinations left out: {reason}")))  # fmt: skip
    columns = [
        TableColumn(key, label, [r[i] for r in rows], role="key" if i else "note", width=width)
        for i, (key, label, width) in enumerate(
            (("date", "As of", 14), ("version", "capsheet", 12), ("hash", "Plan", 16),
             ("what", "What", 45))
        )
    ]  # fmt: skip
    return book.table(ws, columns, len(rows), 1)
