"""A review in the terminal: 80 columns, readable without colour."""

from __future__ import annotations

from reports.text_diff_writer import Writer, ascii_of
from reports.view_review import ReviewView, StepView, TrendView
from reports.words import say

_ROWS = 12
_MOVED = 12
_LINES = 6


def render(view: ReviewView, width: int, *, every: bool = False, colour: bool = False) -> str:
    """Blocks of the review, the answer first.

    Args:
        view: what to show.
        width: columns of the terminal.
        every: every case, line and cause.
        colour: mark better and worse by colour beside their words.
    """
    writer = Writer(max(width, 40), colour)
    writer.line(view.title, "bold")
    for text in view.summary:
        writer.line(text)
    _plans(writer, view)
    for trend in view.trends:
        _trend(writer, view, trend, every)
    for step in view.steps:
        _step(writer, step, every)
    _measured(writer, view)
    _decisions(writer, view)
    return writer.text()


def _plans(writer: Writer, view: ReviewView) -> None:
    writer.heading(say("Plans"))
    rows = [[row.label, row.name, row.owner, str(row.cases), row.file] for row in view.issues]
    heads = [say("as of"), say("name"), say("owner"), say("Cases").lower(), say("file")]
    writer.table(heads, rows, left=(1, 2, 4))


def _trend(writer: Writer, view: ReviewView, trend: TrendView, every: bool) -> None:
    writer.heading(trend.label + (f" ({trend.unit})" if trend.unit else ""))
    limit = len(trend.rows) if every else _ROWS
    heads = ["", *(row.label for row in view.issues), say("change"), "", ""]
    rows = [
        [row.label, *map(ascii_of, (*row.texts, row.ends.delta, row.ends.percent)), row.word]
        for row in trend.rows[:limit]
    ]
    writer.table(heads, rows, left=(len(heads) - 1,))
    if len(trend.rows) > limit:
        writer.line(say(f"{len(trend.rows) - limit} more cases (--all lists them)"), "muted")


def _step(writer: Writer, step: StepView, every: bool) -> None:
    view = step.view
    writer.heading(say(f"What moved {ascii_of(step.label)}"))
    writer.lines(view.banner, "! ", "bad")
    if view.unmoved:
        writer.line(say(f"no change over the tolerance of {view.tolerance}"))
    else:
        writer.line(view.verdict_line, view.verdict_tone)
    limit = len(view.lines) if every else _LINES
    for one in view.lines[:limit]:
        text = f"{one.label}{say(': ')}{one.old} -> {one.new} [{one.word}] {one.where}"
        writer.lines([text], "! " if one.mark in ("worse", "unknown") else "  ")
    if len(view.lines) > limit:
        more = say(f"{len(view.lines) - limit} more lines crossed (--all lists them)")
        writer.line(more, "muted")
    limit = len(step.moved) if every else _MOVED
    for moved in step.moved[:limit]:
        writer.lines([moved.sentence], "  ")
    if len(step.moved) > limit:
        writer.line(say(f"{len(step.moved) - limit} more changes (--all lists them)"), "muted")
    for words, labels in ((say("cases new"), view.added), (say("cases gone"), view.removed)):
        if labels:
            more = say(f" and {len(labels) - _LINES} more") if len(labels) > _LINES else ""
            writer.lines([f"{words}{say(': ')}{say('; ').join(labels[:_LINES])}{more}"], "  ")
    opened, closed = say("decisions opened"), say("decisions closed")
    for words, names in ((opened, step.opened), (closed, step.closed)):
        if names:
            writer.lines([f"{words}{say(': ')}{say('; ').join(names)}"], "  ")


def _measured(writer: Writer, view: ReviewView) -> None:
    if not view.measured:
        return
    writer.heading(say("Plan against measured"))
    case = ("", "", "")
    rows: list[list[str]] = []
    for one in view.measured:
        if case != (one.issue, one.case, one.log):
            case = (one.issue, one.case, one.log)
            rows.append([say(", ").join([one.issue, one.case, f"{one.log} ({one.engine})"])])
        label = f"  {one.label}" + (f" ({one.unit})" if one.unit else "")
        rows.append([label, *map(ascii_of, (one.planned, one.measured, one.error))])
    writer.table(["", say("planned"), say("measured"), say("error")], rows)


def _decisions(writer: Writer, view: ReviewView) -> None:
    if not view.decisions_read:
        return
    writer.heading(say("Decisions"))
    if not view.decisions:
        writer.line(say("none on record"))
        return
    rows = [[one.title, one.owner, one.date, say(one.status), one.closed_on or "-"]
            for one in view.decisions]  # fmt: skip
    heads = ["", say("owner"), say("since"), say("status"), say("closed")]
    writer.table(heads, rows, left=(1, 2, 3, 4))
