"""What the commands share: reading a plan, and writing files whole or not at all."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from planner.cli_saved import PAGES, SUFFIXES, WORKBOOKS, load_saved
from planner.errors import InputError, Problem, Span

if TYPE_CHECKING:
    from planner.planning import Plan

NOT_COMPARABLE = 5
"""How a command ends when plans rest on another basis."""

Content = Callable[[Path], object]
"""Writes a file to the path that it is given."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a command plans from."""

    scenario: Path
    settings: tuple[str, ...] = ()
    metrics: tuple[Path, ...] = ()
    catalogs: tuple[Path, ...] = ()
    logs: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that no output may overwrite."""
        return (self.scenario, *self.metrics, *self.logs)

    @property
    def is_saved(self) -> bool:
        """True for a plan that was saved, false for a scenario."""
        return self.scenario.suffix.lower() in SUFFIXES

    def plan(self) -> Plan:
        """The plan of a scenario, or the one that was saved.

        Raises:
            InputError: bad input, or settings for a plan that is finished.
        """
        if self.is_saved:
            return self._saved()
        from planner.planning import plan

        made = plan(
            self.scenario,
            metrics=self.metrics,
            catalogs=self.catalogs,
            settings=self.settings,
        )
        self._doubt(made)
        return made

    def _doubt(self, plan: Plan) -> None:
        """Say on standard error what is odd about entries of the user's own catalogs."""
        if self.catalogs:
            from planner.catalog import Catalog

            for problem in Catalog.open(self.catalogs).doubts(plan.inputs.facts):
                click.echo(f"doubtful {problem}", err=True)

    def _saved(self) -> Plan:
        given = {"--set": self.settings, "--metrics": self.metrics, "--catalog": self.catalogs}
        for option, values in given.items():
            if values:
                hint = "a saved plan is finished; plan its scenario again instead"
                raise InputError(
                    Problem(Span(option), "", "a scenario", f"the plan {self.scenario}", hint)
                )
        return load_saved(self.scenario)


catalog_option = click.option(
    "--catalog", "catalogs", type=click.Path(path_type=Path), multiple=True, metavar="DIR",
    help="A further catalog folder; its entries win over shipped ones. Repeatable.",
)  # fmt: skip
metrics_option = click.option(
    "--metrics", "metrics", type=click.Path(path_type=Path), multiple=True, metavar="FILE",
    help="A file with metrics of your own. Repeatable.",
)  # fmt: skip
_settings_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE",
    help="Put a value over the scenario, such as memory_utilization=0.85. Repeatable.",
)  # fmt: skip


def planning_options(command: F) -> F:
    """The options of every command that plans a scenario."""
    for option in (catalog_option, metrics_option, _settings_option):
        command = option(command)
    return command


def output_option(told: str) -> Callable[[F], F]:
    """The option of every command that makes one output; ``told`` is its help text."""
    return click.option(
        "--output", "-o", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE",
        help=told,
    )  # fmt: skip


def output_options(formats: Sequence[str]) -> Callable[[F], F]:
    """The options of a command that compares plans: one output, in one of these formats."""

    def with_options(command: F) -> F:
        command = output_option(
            "The file to write [default: standard output]; NAME.html is a page, NAME.xlsx a "
            "workbook."
        )(command)
        return click.option(
            "--format", "form", type=click.Choice(formats),
            help="What to write [default: text, or what the ending of --output says].",
        )(command)  # fmt: skip

    return with_options


def output_form(target: Path | None, given: str | None) -> str:
    """The format asked for; without one, what the ending of the file says.

    Raises:
        click.UsageError: a format that readers of such a file do not expect.
    """
    suffix = "" if target is None else target.suffix.lower()
    ending = "xlsx" if suffix in WORKBOOKS else "html" if suffix in PAGES else ""
    if given and given != ending and (ending or (given == "xlsx" and suffix)):
        kinds = {"html": "a page", "xlsx": "a workbook"}
        kind = kinds.get(given, "text")
        raise click.UsageError(f"{given} is {kind}: give --output another ending than {suffix}")
    return given or ending or "text"


def language_option(command: F) -> F:
    """The option of every command that writes for people."""
    return click.option(
        "--lang", default="en", show_default=True, metavar="LANG", callback=_language,
        help="The language of labels and sentences: en or zh-CN; keys and formulas stay English.",
    )(command)  # fmt: skip


def _language(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The language; which ones there are is looked up only when one is asked for."""
    if value == "en":
        return value
    from reports.words import languages

    if value not in languages():
        raise click.BadParameter(f"'{value}' is none of {', '.join(languages())}", ctx, param)
    return value


# ---- writing -----------------------------------------------------------------------------------


def write_whole(files: Mapping[Path, Content], inputs: Sequence[Path] = ()) -> None:
    """Write all files or none: each to a temporary place beside its target, then all moved there.

    Raises:
        InputError: a target is a folder, an input, or cannot be written.
    """
    for target in files:
        _allowed(target, inputs)
    with ExitStack() as stack:
        folders: dict[Path, Path] = {}
        moves: list[tuple[Path, Path]] = []
        for target, content in files.items():
            place = target.resolve()
            with _told(target):
                if place.parent not in folders:
                    folders[place.parent] = stack.enter_context(_scratch(place.parent))
                part = folders[place.parent] / place.name
                content(part)
            moves.append((part, place))
        for (part, place), target in zip(moves, files, strict=True):
            with _told(target):
                _move(part, place)


def _move(part: Path, place: Path) -> None:
    if place.exists() and not place.is_file():  # a device or a pipe: its content, not its name
        with part.open("rb") as source, place.open("wb") as sink:
            shutil.copyfileobj(source, sink)
        return
    if place.exists():
        shutil.copymode(place, part)
    part.replace(place)


def _allowed(target: Path, inputs: Sequence[Path]) -> None:
    if target.is_dir():
        raise InputError(Problem(Span(str(target)), "", "a file to write", "a folder"))
    for path in inputs:
        if target.exists() and path.exists() and target.samefile(path):
            hint = "give another file with --output"
            raise InputError(
                Problem(Span(str(target)), "", "a file that is no input", "an input", hint)
            )


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """A failure of the file system as a message about the target."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        reason = (error.strerror or "it cannot be written").lower()
        raise InputError(Problem(Span(str(target)), "", "a place to write to", reason)) from None


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A temporary folder on the same file system; a folder made for it goes with a failure."""
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".capsheet-", dir=folder))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        for parent in made:
            if not any(parent.iterdir()):
                parent.rmdir()


def saved(text: str) -> Content:
    """The content of a text file."""
    return lambda path: path.write_bytes(text.encode())


def put_out(content: Content, name: str) -> None:
    """Write a document to standard output."""
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        content(path)
        sys.stdout.buffer.write(path.read_bytes())
    sys.stdout.buffer.flush()
