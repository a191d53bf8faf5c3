"""The command line. Commands import what they need when they run, so that help is cheap.

Data goes to standard output, words to standard error. Exit codes: 0 ok, 1 crash, 2 bad input or
usage, 3 a check fails under --strict or a rule of diff is broken, 4 two plans differ under
--exit-code, 5 two plans cannot be compared.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence

import click

from planner.cli_build import build, report, workbook
from planner.cli_catalog import catalog
from planner.cli_diff import diff
from planner.cli_import import import_group
from planner.cli_observe import observe
from planner.cli_plan import explain, plan
from planner.cli_project import check, init, schema
from planner.cli_review import review
from planner.errors import InputError, nearest

CRASH, BAD_INPUT, STOPPED = 1, 2, 130


class _Commands(click.Group):
    """Keeps the order in which commands are added, and names the nearest one for a typo."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            hint = nearest(args[0], self.commands)
            listed = ", ".join(self.commands)
            raise click.UsageError(f"no command '{args[0]}'; {hint or f'there are {listed}'}", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from planner.saved import VERSION, product_version

        click.echo(f"capsheet {product_version()}, plan format {VERSION}")
        ctx.exit()


# The mark in front keeps the lines as they are.
_FIRST_STEPS = """\b
First steps:
  capsheet build                         plan the shipped example into out/
  capsheet init my-plan                  write a project to start from
  capsheet plan scenario.yaml            the tables of a scenario
  capsheet explain scenario.yaml METRIC  why a figure is what it is
"""


@click.group(
    cls=_Commands,
    epilog=_FIRST_STEPS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Show the version and exit.",
)  # fmt: skip
@click.option("--debug", is_flag=True, expose_value=False, help="Show a traceback after a crash.")
def cli() -> None:
    """Capacity plans for LLM serving: YAML catalogs and scenarios in, workbooks and reports out."""


for _command in (
    build,
    plan,
    explain,
    diff,
    review,
    observe,
    workbook,
    report,
    check,
    catalog,
    import_group,
    init,
    schema,
):
    cli.add_command(_command)


def run(args: Sequence[str]) -> int:
    """Run one command line and give its exit code; nothing is raised."""
    debug = "--debug" in args
    try:
        code = cli.main([a for a in args if a != "--debug"], "capsheet", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show(sys.stderr)
        return BAD_INPUT
    except InputError as error:
        click.echo(str(error), err=True)
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        return STOPPED
    except (BrokenPipeError, SystemExit):  # click turns the former into the latter
        _drop_output()
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        words = " ".join(f"{type(error).__name__}: {error}".split())
        click.echo(f"capsheet crashed ({words[:200]})", err=True)
        click.echo("  hint: run it again with --debug and report the traceback", err=True)
        return CRASH


def _drop_output() -> None:
    """The reader has gone: what is still buffered goes nowhere, quietly."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """The console script: the same bytes whatever the locale, and the exit code to the shell."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
