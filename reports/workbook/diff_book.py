"""The workbook of a comparison: figures, bridges and mixtures live, and what they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from planner.saved import product_version
from reports.view_diff_parts import MARK_WORDS, DiffBook, DiffCase, DiffView, InputRow
from reports.words import say, term
from reports.workbook import styles
from reports.workbook.diff_bridge import bridge_sheet
from reports.workbook.diff_figures import (
    LIGHTS,
    Figures,
    cases_sheet,
    cell,
    figures_sheet,
    mark_rules,
    number_format,
)
from reports.workbook.diff_live import MIXTURES, PLANS, WORKINGS, Live, Mixed
from reports.workbook.diff_mixtures import Placed, mixtures_sheet
from reports.workbook.inputs_sheet import CONSTANTS
from reports.workbook.rows_text import decoded
from reports.workbook.tables import (
    FIRST,
    Book,
    TableColumn,
    contents_line,
    contents_width,
    fit_pages,
    quote,
)
from reports.workbook.word_rules import word_rules

COVER = "Cover"
_CASES = 20
"""Cases whose every figure stands on a sheet; all of them stand on Cases."""


def write(book: DiffBook, path: Path, date: str, document: str) -> None:
    """Write the workbook of one comparison, or of the steps along a line of cards.

    Args:
        book: what to show.
        path: the file to write, whole or not at all.
        date: the day of the newer plan, for the document's properties.
        document: the comparison as JSON, which rides inside.
    """
    out = Book()
    out.sheet(COVER, book.name, "A comparison of capacity plans with live formulas.", "front")
    checks: list[str] = []
    for number, view in enumerate(book.steps, 1):
        checks += _Step(out, view, f" {number}" if len(book.steps) > 1 else "").write()
    _order(out)
    _cover(out, book, checks)
    out.save(path, date, book.name, document, rider="diff")


class _Step:
    """The sheets of one comparison; ``mark`` tells the steps of a line of cards apart."""

    def __init__(self, book: Book, view: DiffView, mark: str) -> None:
        self.book, self.view, self.mark = book, view, mark

    def write(self) -> list[str]:
        """All sheets; gives the cells of the checks."""
        view = self.view
        explained = {b.pair for b in view.bridges if b.pair is not None}
        shown = [c for c in view.cases if c.pair in explained][:_CASES] or list(view.cases[:1])
        live = Live(view, self.mark)
        live.choose([b for b in view.bridges if b.pair in {None, *(c.pair for c in shown)}])
        live.write(self.book)
        figures = figures_sheet(
            self.book, f"Figures{self.mark}", view, shown,
            lambda pair, row: live.figure(pair, row.name, (row.old_raw, row.new_raw)),
        )  # fmt: skip
        known = [b for b in view.bridges if (b.pair, b.metric) in figures.rows]
        placed = {one.pair: self._mixtures(one, live, figures) for one in live.sets}
        changed = live.inputs.changed if live.inputs else ""
        checks = bridge_sheet(self.book, f"Bridge{self.mark}", known, figures, placed, changed)
        if live.inputs:  # written first, since everything points there; read behind the bridge
            titles = self.book.workbook.sheetnames
            self.book.workbook.move_sheet(live.inputs.sheet, len(titles))
        if len(view.cases) > 1:
            cases_sheet(self.book, f"Cases{self.mark}", view)
            self._as_compared(f"Cases{self.mark}")
        self._lines()
        self._panels(shown)
        self._evidence()
        return checks

    def _mixtures(self, one: Mixed, live: Live, figures: Figures) -> Placed:
        """The sheet of mixtures of a pair, or of the plan, whose change is divided here."""
        ends = {b.metric: figures.ends((one.pair, b.metric)) for b in one.bridges}
        formulas = {b.metric: live.mixture(one, b.metric) for b in one.bridges}
        formulas = {metric: formula for metric, formula in formulas.items() if formula}
        return mixtures_sheet(self.book, one.sheet, one.bridges, ends, formulas)

    def _table(
        self, name: str, answers: str, heads: Sequence[str], rows: Iterable[Sequence[str]],
        widths: Sequence[float], tab: str = "calculation",
    ) -> None:  # fmt: skip
        """A sheet of texts; none where there are no rows."""
        body = [list(row) for row in rows]
        if not body:
            return
        ws = self.book.sheet(f"{name}{self.mark}", name, answers, tab)
        columns = [
            TableColumn(f"#{i}", head, [row[i] for row in body], role="key" if not i else "note",
                        width=width, wrap=True)
            for i, (head, width) in enumerate(zip(heads, widths, strict=True))
        ]  # fmt: skip
        self.book.table(ws, columns, len(body), 1)
        if "Mark" in heads:
            letter = chr(ord("A") + list(heads).index("Mark"))
            last = FIRST + len(body) - 1
            mark_rules(ws, f"{letter}{FIRST}:{letter}{last}", f"{letter}{FIRST}")

    def _as_compared(self, sheet: str) -> None:
        """Say that a sheet has typed values, beside others that follow the inputs."""
        ws = self.book.workbook[sheet]
        words = say("The values here are as compared: an edit of an input does not move them.")
        self.book.text(ws, "A4", words)
        styles.sentence(ws["A4"])

    def _lines(self) -> None:
        rows = [
            (x.label, x.old, x.new, MARK_WORDS[x.mark], x.where, x.detail or " ")
            for x in self.view.lines
        ]
        self._table(
            "Lines crossed", "Which lines were crossed, the gravest first?",
            ("Line", "Old", "New", "Mark", "Where", "By how much"), rows,
            (36, 18, 18, 11, 60, 26), "front",
        )  # fmt: skip

    def _panels(self, shown: Sequence[DiffCase]) -> None:
        panels = [p for p in self.view.panels if p.rows]
        if not panels:
            return
        answers = term("What do new hardware and new precision do, each by itself?")
        book = self.book
        ws = book.sheet(f"Like for like{self.mark}", "Like for like", answers, "front")
        self._as_compared(ws.title)
        ws.column_dimensions["A"].width = 48
        row = FIRST - 2
        for panel in panels:
            book.text(ws, f"A{row}", panel.case)
            styles.heading(ws[f"A{row}"], "key")
            for place, (label, unit) in enumerate(panel.heads):
                letter = chr(ord("B") + place)
                book.text(ws, f"{letter}{row}", label + (f" ({unit})" if unit else ""))
                styles.heading(ws[f"{letter}{row}"], "derived")
                ws.column_dimensions[letter].width = 20
            ws.row_dimensions[row].height = 30
            for (label, _), values in zip(panel.rows, panel.raw, strict=True):
                row += 1
                book.text(ws, f"A{row}", label)
                for place, value in enumerate(values):
                    ref = f"{chr(ord('B') + place)}{row}"
                    cell(book, ws, ref, value, number_format(*panel.formats[place]), "catalog")
            row += 2
        book.print_setup(ws, "1:3")

    def _evidence(self) -> None:
        view = self.view
        self._table(
            "How sure", say(f"Which figures behind the result did nobody measure? {view.doubted}"),
            ("Fact", "Value", "Known from", "Result over its range", "Basis"),
            ((f"{d.owner} {d.label}".strip(), d.value, d.confidence, d.reach, d.basis)
             for d in view.doubts), (36, 22, 14, 44, 70),
        )  # fmt: skip
        self._table(
            "Ranks",
            say(f"Which cases changed places, by {view.ranked}?"),
            ("Case", "Question", "Old", "New"),
            ((r.label, r.question, r.old, r.new) for r in view.ranks),
            (44, 50, 8, 8),
        )
        heads = ("Input", "Group", "Unit", "Old", "New", "Of", "Source")
        widths = (28, 18, 18, 16, 16, 30, 90)
        question = term("Which inputs differ, and where does each value come from?")
        self._table("Inputs changed", question, heads, map(_input, view.inputs), widths, "inputs")
        question = term("What do today's catalog and formulas change in a saved plan?")
        self._table("Corrections", question, heads, map(_input, view.corrections), widths)
        gone = [(text, say("only in the new plan")) for text in view.added]
        gone += [(text, say("only in the old plan")) for text in view.removed]
        self._table("Added and removed", "Which cases have no counterpart?", ("Case", "Where"),
                    gone, (60, 24))  # fmt: skip


def _input(row: InputRow) -> tuple[str, ...]:
    return (row.label, row.group, row.unit, row.old, row.new, row.owner, row.basis)


def _order(book: Book) -> None:
    """Workings stand behind what people read."""
    workbook = book.workbook
    for start in (PLANS, MIXTURES, WORKINGS, CONSTANTS):
        for title in [t for t in workbook.sheetnames if t.startswith(start)]:
            workbook.move_sheet(title, len(workbook.sheetnames))


def _cover(book: Book, diff: DiffBook, checks: Sequence[str]) -> None:
    """The answer, what was compared, the light of the checks, and what is inside."""
    ws = book.workbook[COVER]
    ws.sheet_view.showGridLines = False
    row = 4
    for view in diff.steps:
        book.text(ws, f"A{row}", view.title)
        ws[f"A{row}"].font = styles.font(size=12, bold=True)
        texts = [view.verdict_line, *view.banner, *view.breaches, *view.paired]
        for text in texts:
            row += 1
            book.text(ws, f"A{row}", text)
        for label, old, new in view.head:
            row += 1
            for letter, text in zip("ABC", (label, old, new), strict=True):
                book.text(ws, f"{letter}{row}", text)
            ws[f"A{row}"].font = styles.font("muted")
        row += 2
    book.text(ws, f"A{row}", say("Bridges add up"))
    ws[f"A{row}"].font = styles.font("muted")
    if checks:
        word_rules(ws, f"B{row}:B{row}", LIGHTS)
        tests = ",".join(f'{check}<>"gap"' for check in checks)
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
        title = decoded(str(other["A1"].value))
        lines.append(contents_line(other.title, title))
        book.text(ws, f"A{row}", lines[-1])
        styles.link(ws[f"A{row}"], f"{quote(other.title)}!A1")
        book.text(ws, f"B{row}", decoded(str(other["A2"].value)))
        ws[f"B{row}"].font = styles.font("muted")
    for letter, width in (("A", contents_width(lines, 30)), ("B", 48), ("C", 48)):
        ws.column_dimensions[letter].width = width
    book.print_setup(ws, "1:1")
    fit_pages(ws, 1, 1)
