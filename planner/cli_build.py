"""``build``, ``workbook`` and ``report``: a plan into files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli_actual import log_options, measured
from planner.cli_files import (
    Content,
    Inputs,
    language_option,
    output_option,
    planning_options,
    put_out,
    saved,
    write_whole,
)

if TYPE_CHECKING:
    from planner.catalog import Catalog
    from planner.planning import Plan

POLICY_BROKEN = 3


@click.command()
@click.argument("scenario", required=False, type=click.Path(path_type=Path))
@planning_options
@language_option
@log_options
@click.option(
    "--out", "folder", type=click.Path(path_type=Path), default=Path("out"), show_default=True,
    metavar="DIR", help="Where the files go.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Exit with 3 when a check of the plan fails.")
@click.pass_context
def build(
    ctx: click.Context,
    scenario: Path | None,
    settings: tuple[str, ...],
    metrics: tuple[Path, ...],
    catalogs: tuple[Path, ...],
    logs: tuple[Path, ...],
    log_cases: tuple[str, ...],
    lang: str,
    folder: Path,
    strict: bool,
) -> None:
    """Plan a scenario into a workbook, a page and a saved plan.

    Without SCENARIO the shipped example is planned. The names of the files written go to standard
    output. On bad input nothing is written.
    """
    if scenario is None:
        from planner.resources import data_dir

        scenario = data_dir("catalogs") / "scenarios" / "example.yaml"
    inputs = Inputs(scenario, settings, metrics, catalogs, logs)
    plan = measured(inputs.plan(), logs, log_cases)
    files: dict[Path, Content] = {
        folder / f"{plan.name}.plan.json": saved(_json(plan)),
        folder / f"{plan.name}.xlsx": _workbook(plan, inputs, lang),
        folder / f"{plan.name}.html": saved(_page(plan, inputs, lang)),
    }
    write_whole(files, inputs.files)
    for path in files:
        click.echo(str(path))
    count = len(plan.cases)
    click.echo(f"{count} case" + "s" * (count != 1), err=True)
    for reason, count in plan.inputs.dropped.items():
        click.echo(f"left out {count}: {reason}", err=True)
    judge(ctx, plan, strict, told=False)


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@planning_options
@language_option
@log_options
@output_option("The file to write [default: NAME.xlsx]; - is standard output.")
def workbook(
    scenario: Path,
    settings: tuple[str, ...],
    metrics: tuple[Path, ...],
    catalogs: tuple[Path, ...],
    logs: tuple[Path, ...],
    log_cases: tuple[str, ...],
    lang: str,
    output: Path | None,
) -> None:
    """The workbook alone: every cell a live formula."""
    inputs = Inputs(scenario, settings, metrics, catalogs, logs)
    plan = measured(inputs.plan(), logs, log_cases)
    _one(_workbook(plan, inputs, lang), output, f"{plan.name}.xlsx", inputs)


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@planning_options
@language_option
@log_options
@output_option("The file to write [default: NAME.html]; - is standard output.")
def report(
    scenario: Path,
    settings: tuple[str, ...],
    metrics: tuple[Path, ...],
    catalogs: tuple[Path, ...],
    logs: tuple[Path, ...],
    log_cases: tuple[str, ...],
    lang: str,
    output: Path | None,
) -> None:
    """The HTML page alone: one file that opens anywhere."""
    inputs = Inputs(scenario, settings, metrics, catalogs, logs)
    plan = measured(inputs.plan(), logs, log_cases)
    _one(saved(_page(plan, inputs, lang)), output, f"{plan.name}.html", inputs)


def judge(ctx: click.Context, plan: Plan, strict: bool, told: bool) -> None:
    """Name the checks that do not hold, unless the output told of them; --strict makes them count.

    Raises:
        Exit: with 3 under --strict, when a check does not hold.
    """
    from planner.checks import broken

    failed = broken(plan)
    for check in failed if strict or not told else ():
        click.echo(str(check), err=True)
    if failed and strict:
        ctx.exit(POLICY_BROKEN)


def _one(content: Content, output: Path | None, name: str, inputs: Inputs) -> None:
    if output == Path("-"):
        put_out(content, name)
        return
    target = output or Path(name)
    write_whole({target: content}, inputs.files)
    click.echo(str(target))


def _json(plan: Plan) -> str:
    from planner.saved import document, dumps

    return dumps(document(plan))


def _page(plan: Plan, inputs: Inputs, lang: str) -> str:
    from planner.offers import CHOSEN, offers
    from reports import html
    from reports.view import view_of
    from reports.words import speaking

    with speaking(lang):
        return html.render(view_of(plan, offers(plan, _catalog(inputs), CHOSEN)), _json(plan))


def _workbook(plan: Plan, inputs: Inputs, lang: str) -> Content:
    from reports.words import speaking
    from reports.workbook import book

    catalog = _catalog(inputs)

    def write(path: Path) -> None:
        with speaking(lang):
            book.write(plan, path, catalog)

    return write


def _catalog(inputs: Inputs) -> Catalog | None:
    """What may be chosen beside the plan's own entries; of a saved plan nothing.

    The catalog of today may not be that of the plan.
    """
    from planner.catalog import Catalog

    return None if inputs.is_saved else Catalog.open(inputs.catalogs)
