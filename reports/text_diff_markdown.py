"""A comparison as a comment of a pull request: verdict, one table, the rest folded.

The first line is a marker that no reader sees; a bot finds its own comment by it and updates it.
GitHub refuses comments of more than 65,536 characters, so rows are left out, and counted, before
that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from reports import numbers
from reports.view_diff_parts import Bridge, DiffBook, DiffRow, DiffView, InputRow
from reports.words import say, term

LIMIT = 65_000
"""Characters of one comment."""

_ROWS = 50
_CASES = 10
"""Cases of the main table, and cases whose every figure is listed below it."""


@dataclass
class _Fold:
    """A folded block: its title, what stands before its table, and rows that may be left out."""

    title: str
    heads: Sequence[str]
    rows: list[Sequence[str]]
    notes: list[str] = field(default_factory=list)
    numeric: Sequence[int] = ()


def markdown(book: DiffBook, limit: int = LIMIT) -> str:
    """The comment; where it would pass ``limit``, rows of tables go first, then folded blocks."""
    folds = [fold for view in book.steps for fold in _folds(view)]
    most = max([1, *(len(f.rows) for f in folds), *(len(v.cases) for v in book.steps)])
    if len(text := _written(book, most, len(folds))) <= limit:
        return text
    rows = _largest(most, lambda n: len(_written(book, n, len(folds))) <= limit)
    if rows:
        return _written(book, rows, len(folds))
    kept = _largest(len(folds), lambda n: len(_written(book, 1, n)) <= limit)
    return _written(book, 1, kept)


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number below ``most`` that fits; 0 where none does."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def marker(book: DiffBook) -> str:
    """The comment's hidden first line; letters, digits, dots and dashes only."""
    return f"<!-- capsheet-diff:{re.sub(r'[^A-Za-z0-9.]+', '-', book.name)} -->"


def _written(book: DiffBook, rows: int, folds: int) -> str:
    lines = [marker(book)]
    if book.cards:
        lines += [f"### {_md(book.name)}: {_md(' → '.join(book.cards))}", "", *_along(book, rows)]
    for view in book.steps:
        lines += _step(view, rows, folds)
    return "\n".join(lines).rstrip() + "\n"


def _along(book: DiffBook, rows: int) -> list[str]:
    body = [
        [row.case, row.label + (f" ({row.unit})" if row.unit else ""), *row.values]
        for row in book.along
    ]
    numeric = range(2, 2 + len(book.cards))
    return _table([say("Case"), say("Figure"), *book.cards], body, numeric, rows)


def _step(view: DiffView, rows: int, folds: int) -> list[str]:
    if view.unmoved:
        lines = [
            f"**{_md(view.title)}**: "
            + say(f"no change over the tolerance of {_md(view.tolerance)}."),
            "",
        ]
        return [*(f"> ⚠ {_md(b)}" for b in view.banner), *lines]
    lines = [f"**{_md(view.title)}**{say(': ')}{_md(view.verdict_line)}", ""]
    lines += [f"> **{say('Warning:')}** {_md(text)}" for text in view.banner]
    lines += [f"> **{say('Rule broken:')}** {_md(text)}" for text in view.breaches]
    lines += [""] * bool(view.banner or view.breaches)
    lines += _main_table(view, rows)
    blocks = _folds(view)
    for fold in blocks[:folds]:
        lines += _details(fold, rows)
    left = len(blocks) - folds
    return [*lines, *([say(f"{left:,} more blocks are left out."), ""] if left > 0 else [])]


def _main_table(view: DiffView, rows: int) -> list[str]:
    """The figures that were asked about, a row a case; of one case a row a figure."""
    figures = list(dict.fromkeys(b.metric for b in view.bridges if b.pair is not None))
    if len(view.cases) == 1:
        shown = [r for r in view.cases[0].moved if r.name in figures] or view.cases[0].moved
        body = [_figure_cells(row) for row in shown]
        return _table([*map(say, _FIGURE_HEADS)], body, range(1, 5), rows)
    names = (figures or [r.name for r in view.cases[0].rows[:1]])[:3]
    first = {row.name: row for row in view.cases[0].rows}
    heads = [first[n].label + (f" ({first[n].unit})" if first[n].unit else "") for n in names]
    body = []
    moved = [case for case in view.cases if case.mark != "same"]
    for case in moved[:_ROWS]:
        table = {row.name: row for row in case.rows}
        cells = [f"{table[n].old} → {table[n].new}" for n in names]
        crossed = [f"{r.label}: {r.old} → {r.new}" for r in case.moved if r.kind == "word"][:2]
        body.append([case.label, *cells, case.word, "; ".join(crossed)])
    lines = _table([say("Case"), *heads, "", say("Note")], body, (), rows)
    same, more = len(view.cases) - len(moved), len(moved) - _ROWS
    notes = [say(f"{more:,} more cases moved.") if more > 0 else "",
             say(f"{same:,} cases unchanged (~).") if same else ""]  # fmt: skip
    return [*lines, *(line for note in notes if note for line in (note, ""))]


def _listed(view: DiffView) -> str:
    count = len(view.cases)
    return say("All figures that moved") + (
        say(f" in {_CASES} of {count:,} cases") * (count > _CASES)
    )


_FIGURE_HEADS = (term("Figure"), term("Old"), term("New"), "Δ", "Δ %", "")


def _figure_cells(row: DiffRow) -> list[str]:
    label = row.label + (f" ({row.unit})" if row.unit else "")
    return [label, row.old, row.new, row.delta, row.percent, row.word]


def _folds(view: DiffView) -> list[_Fold]:
    found = [
        _Fold(
            say("Lines crossed"),
            (say("Line"), say("Old"), say("New"), "", say("Where")),
            [
                (x.label, x.old, x.new, x.word, x.where + (f" ({x.detail})" if x.detail else ""))
                for x in view.lines
            ],
        ),
        *_why(view.bridges),
        *_panels(view),
        _Fold(
            say("How sure"),
            (
                say("Fact"),
                say("Value"),
                say("Known from"),
                say("Result over its range"),
                say("Basis"),
            ),
            [
                (f"{d.owner} {d.label}".strip(), d.value, d.confidence, d.reach, d.basis)
                for d in view.doubts
            ],
            [view.doubted] if view.doubts else [],
        ),
        _Fold(
            say(f"Ranks that changed, by {view.ranked}"),
            (say("Case"), say("Old"), say("New")),
            [(r.label, r.old, r.new) for r in view.ranks],
        ),
        _inputs(say("Inputs changed"), view.inputs),
        _inputs(say("Corrections by today's catalog"), view.corrections),
        _Fold(say("Computed otherwise today"), (say("Metric"),), [(n,) for n in view.formulas]),
        _Fold(
            _listed(view),
            (say("Case"), *map(say, _FIGURE_HEADS)),
            [
                (case.label, *_figure_cells(row))
                for case in view.cases[:_CASES]
                for row in case.moved
            ],
            numeric=range(2, 6),
        ),
        _Fold(
            say("Cases added and removed"),
            (say("Case"), ""),
            [
                *((label, say("only in the new plan")) for label in view.added),
                *((label, say("only in the old plan")) for label in view.removed),
            ],
        ),
        _Fold(
            say("How the plans were compared"),
            ("", say("Old"), say("New")),
            list(view.head),
            list(view.paired),
        ),
    ]
    return [fold for fold in found if fold.rows]


def _why(bridges: Sequence[Bridge]) -> Iterable[_Fold]:
    for one in bridges:
        what = f"{one.label} {one.total} {one.unit}".rstrip()
        title = say(f"Why {what}, {one.case}")
        if one.refused:
            yield _Fold(title, (say("Not divided"),), [(one.refused,)])
            continue
        rows: list[Sequence[str]] = [(say("old"), one.old, "", "")]
        for group in one.groups:
            rows.append((group.label, group.text, "", ""))
            rows += [("· " + s.label, s.text, f"{s.low} … {s.high}", s.change)
                     for s in group.shares]  # fmt: skip
        rows.append((say("new"), one.new, "", ""))
        notes = [say(f"{one.method}; residual {one.residual}; {one.footing}."), one.note]
        heads = (
            say("Driver"),
            say(f"Share ({one.unit})") if one.unit else say("Share"),
            say("Range"),
            say("Change"),
        )
        yield _Fold(title, heads, rows, [n for n in notes if n], (1, 2))


def _panels(view: DiffView) -> Iterable[_Fold]:
    for panel in view.panels:
        heads = ["", *(f"{label} ({unit})" if unit else label for label, unit in panel.heads)]
        body = [(label, *cells) for label, cells in panel.rows]
        if body:
            yield _Fold(say(f"Like for like, {panel.case}"), heads, list(body),
                        numeric=range(1, len(heads)))  # fmt: skip


def _inputs(title: str, rows: Sequence[InputRow]) -> _Fold:
    return _Fold(
        title,
        (say("Group"), say("Input"), say("Old"), say("New"), say("Of"), say("Source")),
        [
            (r.group, r.label + (f" ({r.unit})" if r.unit else ""), r.old, r.new, r.owner, r.basis)
            for r in rows
        ],
        numeric=(2, 3),
    )


def _details(fold: _Fold, rows: int) -> list[str]:
    notes = [line for note in fold.notes for line in (_md(note), "")]
    return [
        "<details>", f"<summary>{_html(fold.title)}</summary>", "", *notes,
        *_table(fold.heads, fold.rows, fold.numeric, rows), "</details>", "",
    ]  # fmt: skip


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Iterable[int], most: int
) -> list[str]:
    right = set(numeric)
    lines = [_row(heads), _row(["---:" if i in right else "---" for i in range(len(heads))], str)]
    lines += [_row(row) for row in rows[:most]]
    left = len(rows) - most
    return [*lines, "", *([say(f"{left:,} more rows are left out."), ""] if left > 0 else [])]


def _row(cells: Sequence[str], escape: Callable[[str], str] | None = None) -> str:
    write = escape or _md
    return "| " + " | ".join(write(str(cell)).replace("|", "\\|") for cell in cells) + " |"


def _html(text: str) -> str:
    for character, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, name)
    return text


def _md(text: str) -> str:
    """Text that stays text: no tags, code, emphasis, links, mentions or references."""
    for character in "\\`*_[]~":
        text = text.replace(character, "\\" + character)
    text = re.sub(r"([@#])(?=\w)", "\\1\u2060", _html(text))
    return "\\" + text if text.startswith(("#", "-", "+")) and not _is_amount(text) else text


def _is_amount(text: str) -> bool:
    return text[1:2].isdigit() or text[:1] == numbers.MINUS
