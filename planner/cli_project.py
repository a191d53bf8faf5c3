"""``check``, ``init`` and ``schema``: the files around a plan."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli_files import saved, write_whole
from planner.errors import InputError, Problem, Span

SCHEMAS = ("scenario", "metrics", "model", "gpu", "engine", "format", "price", "decisions")


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
def check(paths: tuple[Path, ...]) -> None:
    """Check every YAML file below PATH, or the shipped catalog and scenarios.

    PATH is a scenario, a metrics file, a catalog entry, a catalog folder, a saved plan, or a folder
    with any of them. A catalog folder is checked together with the shipped catalog. Prints every
    problem, and exits with 2 when there is one.
    """
    from planner.cli_check import check_files

    click.echo(f"no problem in {check_files(paths)}", err=True)


@click.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path), metavar="[DIR]")
def init(folder: Path) -> None:
    """Write a project to start from into DIR; it never overwrites a file."""
    from planner.starter import files

    targets = {folder / name: saved(text) for name, text in files().items()}
    taken = [path for path in targets if path.exists()]
    if taken:
        raise InputError(
            Problem(Span(str(path)), "", "a name that is free", "a file", "give another folder")
            for path in taken
        )
    write_whole(targets)
    for path in targets:
        click.echo(str(path))
    click.echo(f"how to go on stands in {folder / 'README.md'}", err=True)


@click.command()
@click.argument("kind", required=False, type=click.Choice(SCHEMAS))
def schema(kind: str | None) -> None:
    """The JSON Schema of one kind of file, or of all, for editors."""
    import json

    from planner.schemas import schema as schema_of
    from planner.schemas import schemas

    click.echo(json.dumps(schema_of(kind) if kind else schemas(), indent=1, ensure_ascii=False))
