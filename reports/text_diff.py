"""A comparison in the terminal: 80 columns, readable without colour."""

from __future__ import annotations

from collections.abc import Sequence

from reports.text_diff_markdown import markdown
from reports.text_diff_writer import Writer, ascii_of
from reports.view_diff_parts import Bridge, DiffBook, DiffCase, DiffView, Line, Panel
from reports.words import say

__all__ = ["markdown", "render"]

_ROWS = 12
_CASES = 12
_INPUTS = 24


def render(book: DiffBook, width: int, *, every: bool = False, colour: bool = False) -> str:
    """Blocks of each step, the answer first.

    Args:
        book: what to show.
        width: columns of the terminal.
        every: all cases and figures, those within the tolerance too.
        colour: mark better and worse by colour beside their words.
    """
    writer = Writer(max(width, 40), colour)
    if book.cards:
        _along(writer, book)
    for view in book.steps:
        _step(writer, view, every)
    return writer.text()


def _along(writer: Writer, book: DiffBook) -> None:
    writer.line(f"{book.name}: {' -> '.join(book.cards)}", "bold")
    if not book.along:
        return
    rows = [
        [row.label + (f" ({row.unit})" if row.unit else ""), *map(ascii_of, row.values)]
        for row in book.along
    ]
    heads = ["", *book.cards]
    case = ""
    kept: list[list[str]] = []
    for row, cells in zip(book.along, rows, strict=True):
        if row.case != case:
            case = row.case
            kept.append([case])
        kept.append(["  " + cells[0], *cells[1:]])
    writer.table(heads, kept)
    writer.blank()


def _step(writer: Writer, view: DiffView, every: bool) -> None:
    writer.line(f"{say('plan diff')}  {view.title}", "bold")
    if view.unmoved:
        writer.lines(view.banner, "! ", "bad")
        writer.line(say(f"no change over the tolerance of {view.tolerance}"))
        _inputs(writer, view, every)
        return
    writer.lines(view.banner, "! ", "bad")
    writer.line(view.verdict_line, view.verdict_tone)
    writer.lines(view.breaches, say("BROKEN RULE "), "bad")
    _head(writer, view)
    _lines(writer, view.lines)
    _figures(writer, view, every)
    for bridge in view.bridges:
        if every or bridge.pair is None or bridge.pair == view.cases[0].pair:
            _bridge(writer, bridge)
    for panel in view.panels if every else view.panels[:1]:
        _panel(writer, panel)
    _doubts(writer, view)
    _ranks(writer, view, every)
    _inputs(writer, view, every)
    _ending(writer, view)


def _head(writer: Writer, view: DiffView) -> None:
    for label, old, new in view.head:
        sign = "=" if old == new else "->"
        text = old if old == new else f"{old} {sign} {new}"
        writer.line(label + say(": ") + text, "muted")
    writer.lines(view.paired, "", "muted")


def _lines(writer: Writer, lines: Sequence[Line]) -> None:
    if not lines:
        return
    writer.heading(say("Lines crossed"))
    for one in lines:
        detail = f", {ascii_of(one.detail)}" if one.detail else ""
        colon = say(": ")
        text = f"{one.label}{colon}{one.old} -> {one.new}{detail} [{one.word}] {one.where}"
        writer.lines([text], "! " if one.mark in ("worse", "unknown") else "  ", _tone(one.mark))


def _tone(mark: str) -> str:
    return {"better": "good", "worse": "bad", "unknown": "warn"}.get(mark, "")


def _figures(writer: Writer, view: DiffView, every: bool) -> None:
    moved = [row for row in view.totals if every or row.mark != "same"]
    if moved and len(view.cases) > 1:
        writer.heading(say("The whole plan"))
        writer.rows(moved)
    if len(view.cases) > 1:
        _cases(writer, view, every)
    shown = view.cases if every else view.cases[:1]
    for case in shown:
        _case(writer, case, every)


def _cases(writer: Writer, view: DiffView, every: bool) -> None:
    writer.heading(say(f"Cases by {view.by}") if view.by else say("Cases"))
    moved = [c for c in view.cases if every or c.mark != "same"]
    limit = len(moved) if every else _CASES
    rows = []
    for case in moved[:limit]:
        row = case.judged
        cells = [ascii_of(t) for t in (row.old, row.new, row.delta, row.percent)] if row else []
        rows.append([case.label, *cells, case.word])
    writer.table(["", say("old"), say("new"), say("delta"), "", ""], rows)
    left = len(moved) - limit
    same = len(view.cases) - len(moved)
    notes = [
        say(f"{left} more that moved") if left > 0 else "",
        say(f"{same} ~ (unchanged)") if same else "",
    ]
    told = say(", ").join(note for note in notes if note)
    if told:
        writer.line(say(f"{told}; --all lists every case"), "muted")


def _case(writer: Writer, case: DiffCase, every: bool) -> None:
    rows = list(case.rows) if every else list(case.moved)
    if not rows:
        return
    writer.heading(say(f"Figures: {case.label}"))
    limit = len(rows) if every else _ROWS
    writer.rows(rows[:limit])
    left, same = len(rows) - limit, len(case.rows) - len(case.moved)
    notes = [
        say(f"{left} more moved") if left > 0 else "",
        f"{same} ~" if same and not every else "",
    ]
    told = say(", ").join(note for note in notes if note)
    if told:
        writer.line(say(f"{told} (--all lists them)"), "muted")


def _bridge(writer: Writer, bridge: Bridge) -> None:
    what = f"{bridge.label} {ascii_of(bridge.total)} {bridge.unit}".rstrip()
    writer.heading(say(f"Why {what}, {bridge.case}"))
    if bridge.refused:
        writer.line(say(f"not divided: {bridge.refused}"), "warn")
        return
    rows: list[list[str]] = [[say("old"), ascii_of(bridge.old), "", ""]]
    for group in bridge.groups:
        rows.append([group.label, ascii_of(group.text), "", ""])
        rows += [
            [f"  {s.label}", ascii_of(s.text), f"[{ascii_of(s.low)} .. {ascii_of(s.high)}]",
             ascii_of(s.change)]
            for s in group.shares
        ]  # fmt: skip
    rows.append([say("new"), ascii_of(bridge.new), "", ""])
    writer.table(["", bridge.unit, say("range"), ""], rows, left=(2, 3))
    writer.line(
        say(f"{bridge.method}; residual {ascii_of(bridge.residual)}; {bridge.footing}"), "muted"
    )
    if bridge.note:
        writer.line(bridge.note, "muted")


def _panel(writer: Writer, panel: Panel) -> None:
    writer.heading(say(f"Like for like, {panel.case}"))
    if not panel.rows:
        writer.line(panel.note, "muted")
        return
    heads = ["", *(f"{label} ({unit})" if unit else label for label, unit in panel.heads)]
    writer.table(heads, [[label, *map(ascii_of, cells)] for label, cells in panel.rows])


def _doubts(writer: Writer, view: DiffView) -> None:
    if not view.doubts:
        return
    writer.heading(say(f"How sure: {view.doubted}"))
    for one in view.doubts:
        words = f"{one.owner} {one.label}".strip()
        colon, comma = say(": "), say(", ")
        value, reach = ascii_of(one.value), ascii_of(one.reach)
        text = f"{words}{colon}{value}{comma}{one.confidence}{colon}{reach}"
        writer.lines([text], "  ")


def _ranks(writer: Writer, view: DiffView, every: bool) -> None:
    if not view.ranks:
        return
    writer.heading(say(f"Ranks that changed, by {view.ranked}"))
    limit = len(view.ranks) if every else _CASES
    writer.table(
        ["", say("old"), say("new")], [[r.label, r.old, r.new] for r in view.ranks[:limit]]
    )
    if len(view.ranks) > limit:
        writer.line(say(f"{len(view.ranks) - limit} more (--all lists them)"), "muted")


def _inputs(writer: Writer, view: DiffView, every: bool) -> None:
    for title, rows in (
        (say("Inputs changed"), view.inputs),
        (say("Corrections"), view.corrections),
    ):
        if not rows:
            continue
        writer.heading(title)
        limit = len(rows) if every else _INPUTS
        group = ""
        for row in rows[:limit]:
            if row.group != group:
                group = row.group
                writer.line(group)
            owner = f" ({row.owner})" if row.owner else ""
            often = (
                say(f" in {row.count} cases")
                if row.count > 1 and len(view.cases) > row.count
                else ""
            )
            change = f"{ascii_of(row.old)} -> {ascii_of(row.new)} {row.unit}".rstrip()
            basis = row.basis if every else row.brief
            writer.lines(
                [f"{row.label}{owner}{say(': ')}{change}{often}; {basis}".rstrip("; ")], "  "
            )
        if len(rows) > limit:
            writer.line(say(f"{len(rows) - limit} more (--all lists them)"), "muted")
    if view.formulas:
        writer.lines([say(f"computed otherwise today: {', '.join(view.formulas)}")], "")


def _ending(writer: Writer, view: DiffView) -> None:
    for word, labels in (
        (say("only in the new plan"), view.added),
        (say("only in the old"), view.removed),
    ):
        if labels:
            writer.blank()
            more = say(f" and {len(labels) - _CASES} more") if len(labels) > _CASES else ""
            writer.lines([f"{word}{say(': ')}{'; '.join(labels[:_CASES])}{more}"], "")
    for word, names in zip((say("old"), say("new")), view.only, strict=True):
        if names:
            writer.lines(
                [say(f"metrics of the {word} plan alone: {', '.join(names)}")], "", "muted"
            )
