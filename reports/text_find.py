"""The tables of a view by the names that people type."""

from __future__ import annotations

from planner.errors import InputError, Problem, Span, nearest, one_of
from reports.view import Ladder, Section, View


def find(view: View, name: str) -> tuple[Section, Ladder | None]:
    """A section, or one set of variants of it, by name.

    Raises:
        InputError: a table that the plan does not have.
    """
    found: dict[str, tuple[Section, Ladder | None]] = {s.name: (s, None) for s in view.sections}
    found |= {ladder.name: (s, ladder) for s in view.sections for ladder in s.ladders}
    if name not in found:
        expected = one_of([*found, "all"])
        raise InputError(
            Problem(Span("--table"), "", expected, f"'{name}'", nearest(name, [*found, "all"]))
        )
    return found[name]
