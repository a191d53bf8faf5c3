"""``--log``: start-up logs beside the plan that an output is made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli_files import F
from planner.errors import InputError, Problem, Span

if TYPE_CHECKING:
    from planner.planning import Plan


def log_options(command: F) -> F:
    """The options that set start-up logs beside the plan."""
    for option in (
        click.option(
            "--log-case", "log_cases", multiple=True, metavar="ID|N",
            help="The case that a log is of, one for each --log; without any the first case.",
        ),
        click.option(
            "--log", "logs", type=click.Path(path_type=Path), multiple=True, metavar="FILE",
            help="A start-up log to set beside the plan (see observe). Repeatable.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def measured(plan: Plan, logs: tuple[Path, ...], cases: tuple[str, ...]) -> Plan:
    """The plan with what the logs measured; the last start of a log counts.

    Raises:
        InputError: no such case, a log that cannot be read or states nothing, or another number of
            cases than of logs.
    """
    if cases and len(cases) != len(logs):
        found = f"{len(cases)} for {len(logs)} logs"
        raise InputError(Problem(Span("--log-case"), "", "one case for each --log", found))
    if not logs:
        return plan
    from planner.actual import with_actual
    from planner.cli_observe import read_starts
    from planner.observation_actual import actual_of

    found_all = []
    for log, case in zip(logs, cases or ("1",) * len(logs), strict=True):
        starts = read_starts(str(log))
        if not starts:
            raise InputError(Problem(Span(str(log)), "", "lines of an engine that starts", "none"))
        found_all.append(actual_of(starts[-1][1], plan, plan.case_index(case), log.name))
    return with_actual(plan, tuple(found_all))
