"""A view as Markdown: the same tables in a form that a pull request shows."""

from __future__ import annotations

from collections.abc import Iterable

from reports.view import Section, Table, View
from reports.words import say


def markdown(view: View) -> str:
    """The view as Markdown: answer, tables, assumptions, checks, sources."""
    lines = [
        f"# {_md(view.title)}",
        "",
        _md(say(f"{view.name}, as of {view.as_of}, {view.owner}")),
        "",
    ]
    lines += [f"**{_md(view.verdict_line)}**", ""]
    for tile in view.tiles:
        number = f"{tile.text} {tile.unit}".rstrip()
        lines.append(_md(f"- {tile.label}{say(': ')}{number} ({tile.bound})"))
    if view.shared:
        shared = say("; ").join(f"{a} {b}" for a, b in view.shared)
        lines += ["", _md(say(f"In every case: {shared}."))]
    lines += ["", f"## {say('Cases')}", "", *_md_table(view.summary)]
    for section in view.sections:
        lines += _md_section(section)
    lines += _md_assumptions(view)
    lines += _md_rest(view)
    return "\n".join(lines) + "\n"


def _md_section(section: Section) -> list[str]:
    lines = [f"## {_md(section.label)}", "", _md(section.answers), ""]
    for figure in section.figures:
        lines += [_md(f"- {figure.label}{say(': ')}{figure.text} {figure.unit}".rstrip())]
    for table in section.tables:
        lines += _md_table(table)
    for ladder in section.ladders:
        lines += [f"### {_md(ladder.label)}", ""]
        for grid, also in ladder.distinct():
            unit = f", {grid.columns[0].unit}" if grid.columns[0].unit else ""
            lines += [
                _md(f"{grid.caption}{unit}, {ladder.across}"),
                "",
                *_md_table(grid, units=False),
            ]
            if also:
                lines += [_md(also), ""]
    return lines


def _md_table(table: Table, *, units: bool = True) -> list[str]:
    heads = [say(table.key_label), *table.extra_labels]
    for column in table.columns:
        unit = f" ({column.unit})" if units and column.unit else ""
        heads.append(column.label + unit)
    rules = ["---"] * (1 + len(table.extra_labels))
    rules += ["---:" if c.align == "right" else "---" for c in table.columns]
    lines = [_md_row(heads), "| " + " | ".join(rules) + " |"]
    for index, row in enumerate(table.rows):
        lines.append(_md_row([row.label, *row.extra, *(c.text(index) for c in table.columns)]))
    notes = table.remarks()
    return [*lines, "", *(line for note in notes for line in (_md(note), ""))]


def _md_assumptions(view: View) -> list[str]:
    lines = [
        f"## {say('Assumptions')}",
        "",
        _md_row([say("Input"), say("Value"), say("Unit"), say("Origin"), say("Reason")]),
    ]
    lines.append("| --- | ---: | --- | --- | --- |")
    for one in view.assumptions:
        origin = f"{one.origin}{say(': ')}{one.place}" if one.place else one.origin
        lines.append(_md_row([one.label, one.text, one.unit, origin, one.note or one.meaning]))
    return [*lines, ""]


def _md_rest(view: View) -> list[str]:
    lines = [
        f"## {say('Checks')}",
        "",
        _md_row([say("Check"), say("Kind"), say("State"), say("Value")]),
        "| --- | --- | --- | ---: |",
    ]
    lines += [_md_row([c.label, c.kind, c.state, c.value]) for c in view.checks]
    if view.dropped:
        lines += ["", f"## {say('Left out')}", ""]
        lines += [_md(f"- {count:,}{say(': ')}{reason}") for reason, count in view.dropped]
    lines += ["", f"## {say('Sources')}", ""]
    for source in view.sources:
        lines.append(_md(f"{source.number}. {source.title} {source.url}".rstrip()))
    hashes = ", ".join(f"{label} {value}" for label, value in view.provenance.hashes)
    lines += ["", _md(f"capsheet {view.provenance.version}; {view.provenance.scenario}; {hashes}")]
    return lines


def _md_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_md(cell).replace("|", "\\|") for cell in cells) + " |"


def _md(text: str) -> str:
    """Text that stays text: no tags, no code, no emphasis, no links."""
    for character in "\\`*_[]#~":
        if character in "\\`*_[]~" or text.startswith(character):
            text = text.replace(character, "\\" + character)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
