"""``decisions.yaml`` of a review: what is open, what was closed, and between which plans."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, StrictStr, model_validator

from planner import yamlfile
from planner.figures import Part, listed, read_record, refusal
from planner.scenario_file import Day, Slug

FILE = "decisions.yaml"


class Decision(Part):
    """One decision: who owns it, since when, and whether it is open."""

    id: Slug
    title: StrictStr
    owner: StrictStr
    date: Day
    status: Literal["open", "closed"]
    closed: Day | None = None
    note: StrictStr = ""

    @model_validator(mode="after")
    def _dated(self) -> Decision:
        if self.status == "closed" and self.closed is None:
            raise refusal("the day on which it was closed", "no such key", "", ("closed",))
        if self.status == "open" and self.closed is not None:
            hint = "an open decision has no such day; is its status 'closed'?"
            raise refusal("nothing", f"'{self.closed}'", hint, ("closed",))
        if self.closed is not None and self.closed < self.date:
            expected = f"a day on or after {self.date}, its date"
            raise refusal(expected, f"'{self.closed}'", "", ("closed",))
        return self


class Decisions(Part):
    """The file: one list."""

    decisions: Annotated[tuple[Decision, ...], BeforeValidator(listed)]

    @model_validator(mode="after")
    def _distinct(self) -> Decisions:
        seen: set[str] = set()
        for place, one in enumerate(self.decisions):
            if one.id in seen:
                at = ("decisions", place, "id")
                raise refusal("an id of its own", f"'{one.id}' a second time", "", at)
            seen.add(one.id)
        return self


@dataclass(frozen=True, slots=True)
class Carried:
    """A decision beside the plans of a review.

    Attributes:
        opened: position of the first plan that knows it; the number of plans when it is later.
        closed: position of the first plan that knows it closed; None while it is open.
        open_at_last: whether the newest plan finds it open.
    """

    decision: Decision
    opened: int
    closed: int | None
    open_at_last: bool


def read_decisions(path: Path) -> tuple[Decision, ...]:
    """The decisions of a file, by date and id.

    Raises:
        InputError: every problem of the file.
    """
    found = read_record(yamlfile.read(path), Decisions)
    return tuple(sorted(found.decisions, key=lambda one: (one.date, one.id)))


def carried(decisions: tuple[Decision, ...], dates: list[str]) -> tuple[Carried, ...]:
    """Each decision with the plans that first know of it; ``dates`` are those of the plans."""
    return tuple(_carried(one, dates) for one in decisions)


def _carried(one: Decision, dates: list[str]) -> Carried:
    opened = _first(one.date, dates)
    closed = None if one.closed is None else _first(one.closed, dates)
    late = len(dates)
    still = opened < late and (closed is None or closed == late)
    return Carried(one, opened, closed, still)


def _first(day: str, dates: list[str]) -> int:
    return next((place for place, date in enumerate(dates) if day <= date), len(dates))
