"""Plans for tests of views and what is drawn from them, and what a view says as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import planner
from planner.planning import Plan
from reports.view import Column, Table, View, view_of
from support.command import EXAMPLE, SMALL

HOSTILE = "<img src=x onerror=alert(1)> </script> =cmd|x `q` \u202eevil\u05d0 <!-- &amp;"

OWN_METRICS = """\
metrics:
  own_share:
    label: "Own <b>share</b> | of =pool"
    unit: "1"
    display: "%"
    why: "Reason with </script> and `ticks`."
    source: {title: "=HYPERLINK() and <i>source</i>", url: "javascript:alert(1)"}
    formula: memory_spare / memory_left
  own_unknown:
    label: Own unknown
    unit: flop/s/gpu
    display: TFLOP/s/gpu
    why: The FP4 peak of a card that has none.
    source: {title: GPU catalog}
    formula: peak_fp4
  own_flag:
    label: Own flag
    why: A case with room.
    source: {title: Own rule}
    formula: memory_left > 0 * memory_left
  own_total:
    label: Own total
    unit: request
    why: A figure of the whole plan.
    source: {title: Own rule}
    formula: max_of(max_concurrency)
"""


@cache
def example() -> tuple[Plan, View]:
    """The shipped example."""
    plan = planner.plan(EXAMPLE)
    return plan, view_of(plan)


@cache
def answering() -> tuple[Plan, View]:
    """The shipped example with everything that a plan may ask for."""
    plan = planner.plan(EXAMPLE, settings=["answers=true", "time_model=bound"])
    return plan, view_of(plan)


def small(folder: Path, text: str = SMALL, own: str = "") -> tuple[Plan, View]:
    """A plan of a scenario text, with own metrics if there are any."""
    path = folder / "small.yaml"
    path.write_text(text, "utf-8")
    files = []
    if own:
        files.append(folder / "own.yaml")
        files[0].write_text(own, "utf-8")
    plan = planner.plan(path, metrics=files)
    return plan, view_of(plan)


def hostile(folder: Path) -> tuple[Plan, View]:
    """A plan in which every text that a user may choose is hostile."""
    quoted = HOSTILE.replace("\u202e", "\\u202e")
    text = SMALL.replace("title: A small plan", f'title: "{quoted}"')
    text += f'owner: "{quoted}"\nnote: "{quoted}"\n'
    return small(folder, text, OWN_METRICS)


def tables(view: View) -> Iterator[Table]:
    """Every table of cases of a view."""
    yield view.summary
    for section in view.sections:
        yield from section.tables
        for ladder in section.ladders:
            yield from ladder.grids


def columns(view: View, name: str) -> tuple[Table, Column]:
    """The column of a metric in the first section that has it."""
    for section in view.sections:
        for table in section.tables:
            for column in table.all_columns():
                if column.name == name:
                    return table, column
    raise KeyError(name)


def figure(view: View, name: str, case: int) -> str:
    """What a reader sees of a metric for one case."""
    table, column = columns(view, name)
    row = next(i for i, row in enumerate(table.rows) if case in row.cases)
    return f"{column.text(row)} {column.unit}".strip()


def outline(view: View) -> str:
    """Order, headings, units and words of a view, without its figures: they follow the catalogs."""
    lines = [view.title, *(f"tile {tile.label}, {tile.unit or 'no unit'}" for tile in view.tiles)]
    lines += [f"in every case: {label}" for label, _ in view.shared]
    for table in tables(view):
        lines.append(
            f"table {table.name}: {table.caption}; {', '.join(table.extra_labels)}".strip("; ")
        )
        lines += [f"  {c.label}, {c.unit or 'no unit'}, {c.kind}" for c in table.all_columns()]
    lines += [f"assumption {a.label}, {a.unit or 'no unit'}, {a.origin}" for a in view.assumptions]
    for facts in view.facts:
        lines.append(f"facts {facts.label}")
        lines += [f"  {column.label}, {column.unit or 'no unit'}" for column in facts.columns]
    lines += [f"check {check.kind}: {check.label}" for check in view.checks]
    return "\n".join(lines) + "\n"


def said(view: View) -> str:
    """All that a view says of its cases, as plain lines."""
    lines = [view.verdict_line, *(f"{tile.label}: {tile.text}" for tile in view.tiles)]
    for table in tables(view):
        lines += table.remarks()
        for index, row in enumerate(table.rows):
            cells = " | ".join(column.text(index) for column in table.columns)
            lines.append(f"{row.label} {' '.join(row.extra)}: {cells}")
    lines += [f"{term.label}: {term.formula}: {term.worked}" for term in view.glossary]
    lines += [f"{source.number} {source.title}" for source in view.sources]
    return "\n".join(lines) + "\n"
