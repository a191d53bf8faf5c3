"""The tables of a view by the names that people type."""

from __future__ import annotations

from planner.errors import InputError, Problem, Span, nearest, one_of
from reports.view import Ladder, Section, Table, View

Found = tuple[Section, Table | Ladder | None]


def find(view: View, name: str) -> Found:
    """A section, one of its further tables, or one of its sets of variants, by name.

    Raises:
        InputError: a table that the plan does not have.
    """
    found: dict[str, Found] = {}
    for section in view.sections:
        found |= {table.name: (section, table) for table in section.tables}
        found |= {ladder.name: (section, ladder) for ladder in section.ladders}
    found |= {section.name: (section, None) for section in view.sections}
    if name not in found:
        names = [*found, "all"]
        raise InputError(
            Problem(Span("--table"), "", one_of(names), f"'{name}'", nearest(name, names))
        )
    return found[name]
