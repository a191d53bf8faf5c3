"""``review``: the saved plans of a folder over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.cli_files import (
    NOT_COMPARABLE,
    Content,
    catalog_option,
    language_option,
    metrics_option,
    output_form,
    output_options,
    put_out,
    saved,
    write_whole,
)
from planner.cli_saved import SUFFIXES, load_saved
from planner.errors import InputError, Problem, Span

if TYPE_CHECKING:
    from planner.planning import Plan
    from reports.view_review import ReviewView

FORMATS = ("text", "html", "xlsx")
_PLAN = ".plan.json"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--why", multiple=True, metavar="METRIC", help="A metric to follow and explain. Repeatable.",
)  # fmt: skip
@catalog_option
@metrics_option
@language_option
@click.option("--all", "every", is_flag=True, help="Every case, and every change and reason.")
@click.option("--force", is_flag=True, help="Compare plans of another basis, under a banner.")
@output_options(FORMATS)
@click.pass_context
def review(ctx: click.Context, /, folder: Path, **given: Any) -> None:
    """How the saved plans of FOLDER moved from each to the next, and what was decided.

    FOLDER holds saved plans, workbooks or pages of one planning over time, ordered by their as_of,
    and a decisions.yaml if there is one. Files without a plan inside are passed over.
    """
    from planner.diff_gate import NotComparable
    from reports.words import speaking

    form = output_form(given["output"], given["form"])
    try:
        with speaking(given["lang"]):
            view, files = _view(folder, given)
            _put(view, files, form, given)
    except NotComparable as error:
        click.echo(str(error), err=True)
        ctx.exit(NOT_COMPARABLE)


def _put(view: ReviewView, files: list[Path], form: str, given: dict[str, Any]) -> None:
    """Write the review where it was asked for."""
    target = given["output"]
    if target is not None and target != Path("-"):
        write_whole({target: _content(view, form, given)}, files)
        click.echo(str(target))
    elif form == "xlsx":
        put_out(_content(view, form, given), "review.xlsx")
    else:
        click.echo(_text(view, form, given), nl=False, color=True)


def _content(view: ReviewView, form: str, given: dict[str, Any]) -> Content:
    if form == "xlsx":
        from reports.workbook import review_book

        return lambda path: review_book.write(view, path)
    return saved(_text(view, form, given))


def _text(view: ReviewView, form: str, given: dict[str, Any]) -> str:
    if form == "html":
        from reports import html_review

        return html_review.render(view)
    from planner.cli_plan import colours, width
    from reports import text_review

    shown = given["output"] is None and colours()
    return text_review.render(view, width(), every=given["every"], colour=shown)


def _view(folder: Path, given: dict[str, Any]) -> tuple[ReviewView, list[Path]]:
    """The review as people see it, and the files that it was made of."""
    from planner.catalog import Catalog
    from planner.diff import Options
    from planner.review import ordered, review
    from planner.review_decisions import FILE, read_decisions
    from reports.view_review import review_view

    noted = folder / FILE
    decisions = read_decisions(noted) if noted.is_file() else ()
    found = _plans(folder)
    issues = ordered([(path.name, plan) for path, plan in found])
    options = Options(why=given["why"], top=3, force=given["force"])
    made = review(
        issues, decisions, options, catalog=Catalog.open(given["catalogs"]),
        metric_files=given["metrics"],
    )  # fmt: skip
    files = [path for path, _ in found]
    return review_view(made, decisions_read=noted.is_file()), [*files, noted]


def _plans(folder: Path) -> list[tuple[Path, Plan]]:
    """The plans of a folder: saved plans first, then workbooks and pages, each by name.

    Raises:
        InputError: no folder, a saved plan that cannot be read, or no plan at all.
    """
    if not folder.is_dir():
        found = "a file" if folder.exists() else "none"
        raise InputError(Problem(Span(str(folder)), "", "a folder of saved plans", found))
    files = [p for p in folder.iterdir() if p.is_file() and p.suffix.lower() in SUFFIXES]
    files = [p for p in files if not p.name.startswith((".", "~$"))]
    files.sort(key=lambda p: (not p.name.endswith(_PLAN), SUFFIXES.index(p.suffix.lower()), p.name))
    plans: list[tuple[Path, Plan]] = []
    passed, problems = [], []
    for path in files:
        try:
            plans.append((path, load_saved(path)))
        except InputError as error:
            if path.name.endswith(_PLAN) or not _no_plan(error):
                problems += error.problems
            else:
                passed.append(path.name)
    if problems:
        raise InputError(problems)
    if not plans:
        hint = "build writes NAME.plan.json; keep one of each quarter in a folder"
        raise InputError(Problem(Span(str(folder)), "", "a saved plan inside", "none", hint))
    if passed:
        click.echo(f"no plan inside, passed over: {', '.join(passed)}", err=True)
    return plans


def _no_plan(error: InputError) -> bool:
    """Whether a file is of another kind, rather than a plan that is broken."""
    return any("a plan inside" in p.expected or p.where == "format" for p in error.problems)
