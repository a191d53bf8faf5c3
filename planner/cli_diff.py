"""``diff``: two plans, or one scenario on several cards, side by side."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.cli_files import (
    NOT_COMPARABLE,
    Content,
    Inputs,
    language_option,
    output_form,
    output_options,
    planning_options,
    put_out,
    saved,
    write_whole,
)
from planner.errors import InputError, Problem, Span

if TYPE_CHECKING:
    from planner.diff import Diff, Options
    from planner.diff_policy import Breach, Rule
    from reports.view_diff import DiffBook

POLICY_BROKEN, DIFFERENT = 3, 4
FORMATS = ("text", "md", "json", "html", "xlsx")
METHODS = ("owen", "shapley", "sequential")


@click.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", required=False, type=click.Path(path_type=Path))
@planning_options
@language_option
@click.option(
    "--generation", metavar="GPU,GPU[,...]",
    help="Compare one scenario on these cards, such as H100,H200,B200.",
)  # fmt: skip
@click.option(
    "--pair", "pairs", multiple=True, metavar="AXIS:OLD=NEW",
    help="A value of NEW that stands beside another of OLD. Repeatable.",
)  # fmt: skip
@click.option(
    "--why", multiple=True, metavar="METRIC", help="A metric to explain. Repeatable.",
)  # fmt: skip
@click.option("--by", default="", metavar="METRIC", help="The metric that cases are judged by.")
@click.option(
    "--method", type=click.Choice(METHODS), default="owen", show_default=True,
    help="How a change is divided among its drivers.",
)  # fmt: skip
@click.option(
    "--order", default="", metavar="A,B,...",
    help="Groups or drivers in the order of --method sequential.",
)  # fmt: skip
@click.option(
    "--tolerance", default="0.1%", show_default=True, metavar="SHARE",
    help="Relative change below which a figure counts as the same.",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Every case and figure, and every reason.")
@click.option(
    "--fail-on", "rules", multiple=True, metavar="'METRIC OP VALUE[%]'",
    help="Exit with 3 when a change is like this. Repeatable.",
)  # fmt: skip
@click.option("--exit-code", is_flag=True, help="Exit with 4 when anything moved.")
@click.option("--force", is_flag=True, help="Compare plans of another basis, under a banner.")
@click.option("--json", "form", flag_value="json", help="The comparison as JSON.")
@click.option("--md", "form", flag_value="md", help="A comment for a pull request.")
@output_options(FORMATS)
@click.pass_context
def diff(ctx: click.Context, /, old: Path, new: Path | None, **given: Any) -> None:
    """What differs between two plans, and why.

    OLD and NEW are scenarios, saved plans, workbooks or pages. With --generation OLD is a scenario
    and NEW is left out.
    """
    from planner.diff_gate import NotComparable

    try:
        steps, cards = _steps(old, new, given)
    except NotComparable as error:
        click.echo(str(error), err=True)
        ctx.exit(NOT_COMPARABLE)
    rules, breaches = _judged(steps, given["rules"])
    target = given["output"]
    given["form"] = form = output_form(target, given["form"])
    made = _Made(steps, cards, rules, breaches, given)
    if target is not None and target != Path("-"):
        write_whole({target: made.content()}, [p for p in (old, new) if p is not None])
        click.echo(str(target))
    elif form == "xlsx":
        put_out(made.content(), "diff.xlsx")
    else:
        click.echo(made.text(), nl=False, color=True)
    _leave(ctx, steps, breaches, given["exit_code"])


def _steps(
    old: Path, new: Path | None, given: dict[str, Any]
) -> tuple[list[Diff], tuple[str, ...]]:
    """The comparisons, and the labels of the cards along a line."""
    options = _options(given)
    if given["generation"] is not None:
        if new is not None:
            raise click.UsageError("--generation compares one scenario with itself: leave out NEW")
        return _generation(old, options, given)
    if new is None:
        raise click.UsageError("name two plans, or one scenario with --generation GPU,GPU")
    return [_two(old, new, options, given)], ()


def _options(given: dict[str, Any]) -> Options:
    from planner.diff import Options

    return Options(
        method=given["method"], order=_list(given["order"]), why=given["why"], by=given["by"],
        tolerance=_share(given["tolerance"]), pair=given["pairs"],
        top=None if given["every"] else 5, force=given["force"],
    )  # fmt: skip


def _list(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _share(text: str) -> float:
    """``0.1%`` or ``0.001``."""
    number = text.strip()
    scale = 100.0 if number.endswith("%") else 1.0
    try:
        share = float(number.removesuffix("%")) / scale
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        hint = "such as 0.1% or 0.001"
        raise InputError(
            Problem(Span("--tolerance"), "", "a share from 0 to below 1", f"'{text}'", hint)
        )
    return share


def _two(old: Path, new: Path, options: Options, given: dict[str, Any]) -> Diff:
    from planner.catalog import Catalog
    from planner.diff import diff as compared

    sources = [_source(path, given) for path in (old, new)]
    if all(source.is_saved for source in sources) and given["settings"]:
        hint = "saved plans are finished; plan a scenario again instead"
        raise InputError(Problem(Span("--set"), "", "a scenario", "two finished plans", hint))
    plans = [_planned(source) for source in sources]
    return compared(
        plans[0], plans[1], options, catalog=Catalog.open(given["catalogs"]),
        metric_files=given["metrics"], saved=(sources[0].is_saved, sources[1].is_saved),
    )  # fmt: skip


def _source(path: Path, given: dict[str, Any]) -> Inputs:
    """Settings, metrics and catalogs are for scenarios; a saved plan has its own."""
    inputs = Inputs(path)
    if inputs.is_saved:
        return inputs
    return Inputs(path, given["settings"], given["metrics"], given["catalogs"])


def _planned(source: Inputs) -> Any:
    """A plan; one that another release saved cannot be compared."""
    from planner.diff_gate import Barrier, NotComparable
    from planner.saved import VERSION

    try:
        return source.plan()
    except InputError as error:
        version = next((p for p in error.problems if p.where == "version"), None)
        if version is None:
            raise
        wall = Barrier("version", str(VERSION), version.found, f"{version.span}: {version.hint}")
        raise NotComparable([wall], str(source.scenario), f"plan format {VERSION}") from None


def _generation(
    scenario: Path, options: Options, given: dict[str, Any]
) -> tuple[list[Diff], tuple[str, ...]]:
    from planner.catalog import Catalog
    from planner.diff import diff as compared
    from planner.diff_generation import cards, plans

    if Inputs(scenario).is_saved:
        hint = "a saved plan is finished; name its scenario"
        problem = Problem(Span("--generation"), "", "a scenario", f"the plan {scenario}", hint)
        raise InputError(problem)
    catalog = Catalog.open(given["catalogs"])
    gpus = cards(given["generation"], catalog)
    made = plans(
        scenario, gpus, metrics=given["metrics"], catalogs=given["catalogs"],
        settings=given["settings"],
    )  # fmt: skip
    steps = [
        compared(
            one, other, options, catalog=catalog, metric_files=given["metrics"],
            saved=(False, False),
        )
        for one, other in itertools.pairwise(made)
    ]  # fmt: skip
    return steps, tuple(gpu.label for gpu in gpus)


def _judged(
    steps: Sequence[Diff], texts: Sequence[str]
) -> tuple[tuple[Rule, ...], list[tuple[Breach, ...]]]:
    from planner.diff_policy import breaches, rules_of

    rules = [rules_of(texts, step) for step in steps]
    return rules[0], [breaches(step, some) for step, some in zip(steps, rules, strict=True)]


@dataclass(frozen=True)
class _Made:
    """Comparisons as one output of any format."""

    steps: Sequence[Diff]
    cards: Sequence[str]
    rules: Sequence[Rule]
    breaches: Sequence[Sequence[Breach]]
    given: dict[str, Any]

    def content(self) -> Content:
        """What a file gets."""
        if self.given["form"] != "xlsx":
            return saved(self.text())
        from reports.words import speaking
        from reports.workbook import diff_book

        inside = self._document()

        def write(path: Path) -> None:
            with speaking(self.given["lang"]):
                diff_book.write(self._book(), path, self._date(), inside)

        return write

    def text(self) -> str:
        """Everything but a workbook."""
        form = self.given["form"]
        if form == "json":
            return self._document()
        if form == "html":
            from reports import html_diff
            from reports.words import speaking

            with speaking(self.given["lang"]):
                return html_diff.render(self._book(), self._date(), self._document())
        from planner.cli_plan import colours, width
        from reports import text_diff
        from reports.words import speaking

        with speaking(self.given["lang"]):
            if form == "md":
                return text_diff.markdown(self._book())
            shown = self.given["output"] is None and colours()
            return text_diff.render(self._book(), width(), every=self.given["every"], colour=shown)

    def _book(self) -> DiffBook:
        from reports.view_diff import book_of

        return book_of(self.steps, self.breaches, self.cards)

    def _document(self) -> str:
        """The JSON, which rides inside page and workbook too."""
        from planner.diff_json import document
        from planner.saved import dumps

        return dumps(document(self.steps, self.rules, self.breaches))

    def _date(self) -> str:
        return max(str(step.sides.new.inputs.scenario["as_of"]) for step in self.steps)


def _leave(
    ctx: click.Context, steps: Sequence[Diff], breaches: Sequence[Sequence[Breach]], strict: bool
) -> None:
    """The exit code: a broken rule before a difference."""
    broken = [b for some in breaches for b in some]
    for text in dict.fromkeys(b.rule.text for b in broken):
        count = sum(b.rule.text == text for b in broken)
        click.echo(f"broken rule: {text}: {count} time{'s' * (count != 1)}", err=True)
    if broken:
        ctx.exit(POLICY_BROKEN)
    if strict and any(step.moved for step in steps):
        ctx.exit(DIFFERENT)
