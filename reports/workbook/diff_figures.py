"""The sheets of figures: both plans' values, with change, per cent and mark as live formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from openpyxl.worksheet.worksheet import Worksheet

from reports import numbers
from reports.numbers import excel_format
from reports.view_diff_parts import MARK_WORDS, DiffCase, DiffRow, DiffView
from reports.view_grid import Kind, Value
from reports.words import say, term
from reports.workbook import styles
from reports.workbook.rows_text import Scalar
from reports.workbook.styles import Role
from reports.workbook.tables import FIRST, HEADING, UNIT, Book, TableColumn, quote
from reports.workbook.word_rules import word_rule, word_rules

TOLERANCE = "tolerance"
LIGHTS = (term("all of them"), term("one does not"))
"""What the light of the checks says."""
BETTER = ("up", "down", "none", "fits")
PLAIN = ("yes", "no", "unknown")
"""Words that stand in cells of figures and directions in every language."""
_HEADS = (
    term("Case"),
    term("Figure"),
    term("Unit"),
    term("Better"),
    term("Old"),
    term("New"),
    term("Change"),
    term("Change"),
    term("Mark"),
    term("Values from"),
)
_UNITS = ("", "", "", "", "", "", term("new less old"), term("% of old"), "", "")
_WIDTHS = (44, 40, 20, 9, 14, 14, 14, 11, 11, 11)
_FROM = (term("engine"), term("inputs"))
"""Where both values of a row come from: as compared, or from the cells of the inputs."""
_NONE = numbers.NOT_APPLICABLE

Key = tuple[int | None, str]
"""A pair (None for the whole plan) and a metric."""


@dataclass(frozen=True)
class Figures:
    """Where the figures stand: the row of each."""

    sheet: str
    rows: dict[Key, int]

    def ends(self, key: Key) -> tuple[str, str]:
        """The cells of the old and of the new value."""
        row = self.rows[key]
        return f"{quote(self.sheet)}!$E${row}", f"{quote(self.sheet)}!$F${row}"


Linked = Callable[[int | None, DiffRow], Sequence[str]]
"""The formulas of the old and the new value of a row; none where the engine's stand."""


def figures_sheet(
    book: Book, name: str, view: DiffView, cases: Sequence[DiffCase], linked: Linked
) -> Figures:
    """Every figure of the whole plan and of some cases."""
    answers = term("What has changed, by how much, and is it better?")
    ws = book.sheet(name, "Figures", answers, "front")
    heads(book, ws, _HEADS, _UNITS, _WIDTHS)
    _tolerance(book, ws, name, view)
    rows: dict[Key, int] = {}
    lines = [(None, say("the whole plan"), row) for row in view.totals]
    lines += [(c.pair, c.label, row) for c in cases for row in c.rows]  # type: ignore[misc]
    for number, (pair, label, row) in enumerate(lines, FIRST):
        rows[pair, row.name] = number
        _figure(book, ws, number, (label, row), linked(pair, row))
    last = FIRST + max(len(lines), 1) - 1
    ws.freeze_panes = f"C{FIRST}"
    ws.auto_filter.ref = f"A{UNIT}:J{last}"
    mark_rules(ws, f"I{FIRST}:I{last}", f"I{FIRST}")
    words = {v for _, _, row in lines for v in (row.old_raw, row.new_raw) if isinstance(v, str)}
    for letter in "EF":
        known = sorted({*words, *PLAIN})
        word_rules(ws, f"{letter}{FIRST}:{letter}{last}", known)
    word_rules(ws, f"D{FIRST}:D{last}", BETTER)
    book.print_setup(ws, f"{HEADING}:{UNIT}")
    return Figures(name, rows)


def heads(
    book: Book, ws: Worksheet, texts: Sequence[str], units: Sequence[str], widths: Sequence[float]
) -> None:
    """Headings of a sheet whose cells are written one by one."""
    for place, (text, unit, width) in enumerate(zip(texts, units, widths, strict=True)):
        letter = chr(ord("A") + place)
        book.text(ws, f"{letter}{HEADING}", say(text))
        book.text(ws, f"{letter}{UNIT}", say(unit))
        styles.heading(ws[f"{letter}{HEADING}"], "key" if place < 4 else "derived")
        styles.unit(ws[f"{letter}{UNIT}"], "key" if place < 4 else "derived")
        ws.column_dimensions[letter].width = width


def _tolerance(book: Book, ws: Worksheet, name: str, view: DiffView) -> None:
    book.text(ws, "H4", say("Tolerance"))
    ws["I4"] = float(view.tolerance.removesuffix("%")) / 100
    styles.body(ws["I4"], "input", "0.0##%", False)
    if TOLERANCE not in book.workbook.defined_names:
        book.name(TOLERANCE, f"{quote(name)}!$I$4")


def cell(book: Book, ws: Worksheet, ref: str, value: Value, shown: str, role: Role) -> None:
    """A typed value: a number, a word, or the word for what is not known."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        book.text(ws, ref, _word(value))
    else:
        ws[ref] = value
    styles.body(ws[ref], role, shown, False)


def _word(value: Value) -> str:
    if value is None:
        return numbers.UNKNOWN
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _figure(
    book: Book, ws: Worksheet, row: int, shown_row: tuple[str, DiffRow], linked: Sequence[str]
) -> None:
    label, figure = shown_row
    for letter, text in zip("ABC", (label, figure.label, figure.unit), strict=True):
        book.text(ws, f"{letter}{row}", text)
        styles.body(ws[f"{letter}{row}"], "key", "General", True)
    book.text(ws, f"D{row}", _better(figure))
    styles.body(ws[f"D{row}"], "note", "General", True)
    shown = number_format(figure.kind, figure.decimals)
    values = figure.old_raw, figure.new_raw
    for letter, value, formula in zip("EF", values, linked or ("", ""), strict=True):
        if formula:
            book.formula(ws, f"{letter}{row}", formula, _scalar(value))
            styles.body(ws[f"{letter}{row}"], "derived", shown, False)
        else:
            cell(book, ws, f"{letter}{row}", value, shown, "catalog")
    book.text(ws, f"J{row}", say(_FROM[bool(linked)]))
    styles.body(ws[f"J{row}"], "note", "General", True)
    changes(book, ws, row, figure)


def _better(figure: DiffRow) -> str:
    return "fits" if figure.name == "verdict" else figure.better


def number_format(kind: Kind, decimals: int, signed: bool = False) -> str:
    """The format of one figure; ``signed`` for a change."""
    if kind == "share":
        return excel_format("change_share" if signed else "share", decimals)
    if signed:
        return excel_format("change", 0 if kind in ("count", "bytes") else decimals)
    return excel_format("ratio" if kind == "ratio" else "figure", decimals)


def changes(book: Book, ws: Worksheet, row: int, figure: DiffRow) -> None:
    """Change, per cent and mark of one row, in G, H and I."""
    both = f"AND(ISNUMBER(E{row}),ISNUMBER(F{row}))"
    book.formula(ws, f"G{row}", f'IF({both},F{row}-E{row},"{_NONE}")', _or_none(figure.delta_raw))
    share = f'IF(ISNUMBER(G{row}),IF(E{row}>0,G{row}/E{row},"{_NONE}"),"{_NONE}")'
    book.formula(ws, f"H{row}", share, _or_none(figure.percent_raw))
    book.formula(ws, f"I{row}", mark_formula(row), MARK_WORDS[figure.mark])
    styles.body(ws[f"G{row}"], "derived", number_format(figure.kind, figure.decimals, True), False)
    styles.body(ws[f"H{row}"], "derived", excel_format("change_share", 1), False)
    styles.body(ws[f"I{row}"], "derived", "General", False)


def mark_formula(row: int | str) -> str:
    """Better, worse, changed, unknown, or a tilde within the tolerance."""
    old, new, delta, better = (f"{letter}{row}" for letter in "EFGD")
    number = (
        f'IF(ABS({delta})<={TOLERANCE}*MAX(ABS({old}),ABS({new})),"~",IF({better}="none","changed",'
        f'IF(({delta}>0)=({better}="up"),"better","worse")))'
    )
    fits = f'IF({new}="fits","better",IF({old}="fits","worse","changed"))'
    flag = (
        f'IF(OR({better}="up",{better}="down"),IF(({new}="yes")=({better}="up"),"better","worse")'
    )
    word = (
        f'IF({old}={new},"~",IF(OR({old}="unknown",{new}="unknown"),"unknown",'
        f'IF({better}="fits",{fits},{flag},"changed"))))'
    )
    return f"IF(ISNUMBER({delta}),{number},{word})"


def mark_rules(ws: Worksheet, cells: str, corner: str) -> None:
    """Colour beside the word."""
    for word, role in (("better", "good"), ("worse", "bad"), ("unknown", "warn"), ("~", "muted")):
        fill = {} if word == "~" else {"fill": styles.rule_fill(role)}
        ws.conditional_formatting.add(
            cells, word_rule(corner, word, font=styles.font(role), **fill)
        )
    word_rules(ws, cells, (MARK_WORDS["changed"],))


def cases_sheet(book: Book, name: str, view: DiffView) -> None:
    """Every pair by the figure that cases are judged by."""
    judged = [c for c in view.cases if c.judged is not None]
    rows = [c.judged for c in judged if c.judged is not None]
    ws = book.sheet(name, "Cases", say(f"How does every case fare, by {view.by}?"), "front")
    decimals = max((r.decimals for r in rows), default=0)
    kind: Kind = rows[0].kind if rows else "figure"
    shown, moved = number_format(kind, decimals), number_format(kind, decimals, True)
    old, new = ([_scalar(v) for v in (r.old_raw for r in rows)],
                [_scalar(v) for v in (r.new_raw for r in rows)])  # fmt: skip
    both = "AND(ISNUMBER(E{r}),ISNUMBER(F{r}))"
    columns = [
        TableColumn("#case", "Case", [c.label for c in judged], role="key", width=44),
        TableColumn("#old", "Old case", [c.old_id for c in judged], role="note", outline=1),
        TableColumn("#new", "New case", [c.new_id for c in judged], role="note", outline=1),
        TableColumn("#better", "Better", [r.better for r in rows], role="note", width=9),
        TableColumn("old", "Old", old, role="catalog", number_format=shown, width=13),
        TableColumn("new", "New", new, role="catalog", number_format=shown, width=13),
        TableColumn(
            "delta",
            "Change",
            [_or_none(r.delta_raw) for r in rows],
            formula=f'IF({both},F{{r}}-E{{r}},"{_NONE}")',
            number_format=moved,
            width=13,
        ),
        TableColumn(
            "share",
            "Change",
            [_or_none(r.percent_raw) for r in rows],
            unit="% of old",
            width=12,
            formula=f'IF(ISNUMBER(G{{r}}),IF(E{{r}}>0,G{{r}}/E{{r}},"{_NONE}"),"{_NONE}")',
            number_format=excel_format("change_share", 1),
        ),
        TableColumn(
            "mark",
            "Mark",
            [MARK_WORDS[r.mark] for r in rows],
            formula=mark_formula("{r}"),
            width=12,
        ),
    ]
    book.table(ws, columns, len(rows), 1)
    word_rules(ws, f"D{FIRST}:D{FIRST + max(len(rows), 1) - 1}", BETTER)
    mark_rules(ws, f"I{FIRST}:I{FIRST + max(len(rows), 1) - 1}", f"I{FIRST}")


def _scalar(value: Value) -> Scalar:
    return value if isinstance(value, float) else _word(value)


def _or_none(value: float | None) -> Scalar:
    return _NONE if value is None else value
