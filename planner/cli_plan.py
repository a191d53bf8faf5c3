"""``plan`` and ``explain``: figures in the terminal, and as data for other programs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from planner.cli_build import judge
from planner.cli_files import Inputs, language_option, planning_options


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@planning_options
@language_option
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="Only this table. Repeatable."
)
@click.option("--json", "form", flag_value="json", help="The whole plan as JSON.")
@click.option("--csv", "form", flag_value="csv", help="One table as CSV [default: summary].")
@click.option("--csv-bom", is_flag=True, help="Begin CSV with the mark that Excel knows UTF-8 by.")
@click.option("--md", "form", flag_value="md", help="The tables as Markdown.")
@click.option("--strict", is_flag=True, help="Exit with 3 when a check of the plan fails.")
@click.pass_context
def plan(
    ctx: click.Context,
    scenario: Path,
    settings: tuple[str, ...],
    metrics: tuple[Path, ...],
    catalogs: tuple[Path, ...],
    tables: tuple[str, ...],
    form: str | None,
    csv_bom: bool,
    lang: str,
    strict: bool,
) -> None:
    """The tables of a scenario (or of a saved plan, workbook or page) in the terminal.

    Without --table the summary is shown; --table all shows every table.
    """
    if tables and form in ("json", "md"):
        raise click.UsageError(f"--{form} writes the whole plan, so it takes no --table")
    if csv_bom and form != "csv":
        raise click.UsageError("--csv-bom goes with --csv")
    if form == "csv" and len(tables) > 1:
        raise click.UsageError("--csv writes one table")
    made = Inputs(scenario, settings, metrics, catalogs).plan()
    if form == "json":
        from planner.saved import document, dumps

        click.echo(dumps(document(made)), nl=False)
    else:
        from reports import text
        from reports.view import view_of
        from reports.words import speaking

        if form == "csv":  # for programs: the same in every language
            table = tables[0] if tables else "summary"
            click.echo(text.csv(view_of(made), table, csv_bom), nl=False)
        else:
            with speaking(lang):
                view = view_of(made)
                shown = (
                    text.markdown(view) if form == "md"
                    else text.render(view, width(), tables, colours())
                )  # fmt: skip
            click.echo(shown, nl=False)
    judge(ctx, made, strict, told=form is None)


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@click.argument("metric")
@planning_options
@language_option
@click.option(
    "--case", "case", default="1", show_default=True, metavar="ID|N",
    help="The case, by its id or its number.",
)  # fmt: skip
@click.option(
    "--depth", type=click.IntRange(min=0), metavar="N", help="Levels to follow [default: all]."
)
@click.option("--json", "as_json", is_flag=True, help="The tree as JSON.")
def explain(
    scenario: Path,
    metric: str,
    settings: tuple[str, ...],
    metrics: tuple[Path, ...],
    catalogs: tuple[Path, ...],
    case: str,
    depth: int | None,
    as_json: bool,
    lang: str,
) -> None:
    """Why a figure is what it is: the formula of METRIC with its numbers, down to the sources."""
    from planner.explain import explain as explained
    from reports.words import speaking
    from reports.words_plan import localised

    made = Inputs(scenario, settings, metrics, catalogs).plan()
    with speaking("en" if as_json else lang):
        tree = explained(localised(made), metric, case, depth)
    chosen = made.cases[made.case_index(case)].id
    if as_json:
        import json

        data = {"case": chosen, "tree": tree.as_dict()}
        click.echo(json.dumps(data, ensure_ascii=False, indent=1))
        return
    from reports.text_explain import render

    click.echo(f"case {chosen}", err=True)
    with speaking(lang):
        click.echo(render(tree, width()), nl=False)


def width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def colours() -> bool:
    """Whether standard output shows colours: a terminal, not a dumb one, and NO_COLOR unset."""
    if not sys.stdout.isatty():
        return False
    from rich.console import Console

    console = Console()
    return console.color_system is not None and not console.no_color
