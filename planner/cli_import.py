"""``import hf``: a published model as a catalog entry, with the origin of every figure."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("import")
def import_group() -> None:
    """Turn what others publish into catalog entries."""


@import_group.command("hf")
@click.argument("path", metavar="PATH")
@click.option("--id", "name", metavar="ID", default="", help="Its id in the catalog.")
@click.option("--label", metavar="TEXT", default="", help="Its name for readers.")
@click.option("--vendor", metavar="TEXT", default="", help="Who made it.")
@click.option("--hf-id", metavar="OWNER/NAME", default="", help="Its repository on the hub.")
@click.option(
    "--hub",
    is_flag=True,
    help="PATH is a repository on the hub; its configuration is fetched (needs capsheet[hub]).",
)
@click.option("--revision", metavar="TEXT", default="", help="With --hub: a branch, tag or commit.")
@click.option(
    "--part",
    type=click.Choice(["model", "weight-format"]),
    default="model",
    help="What to print: the model, or the weight format that it needs and no catalog has.",
)
@click.option(
    "--write",
    "catalog",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Add it to this catalog folder instead of printing it.",
)
@click.option("--force", is_flag=True, help="With --write: replace an entry that is there.")
def hf(
    path: str,
    name: str,
    label: str,
    vendor: str,
    hf_id: str,
    hub: bool,
    revision: str,
    part: str,
    catalog: Path | None,
    force: bool,
) -> None:
    """The catalog entry of a model on the Hugging Face hub.

    PATH is a config.json, or a folder with one; weight files in that folder are counted as well,
    by their headers. What does not stand in the file is refused or stays unknown, never guessed.
    """
    from planner.importers.huggingface import import_from_hub, import_model

    if hub:
        found = import_from_hub(path, revision=revision, id=name, label=label, vendor=vendor)
    else:
        found = import_model(Path(path), id=name, label=label, hf_id=hf_id, vendor=vendor)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if catalog is None:
        if part == "weight-format" and not found.format_text:
            raise click.UsageError("a shipped weight format fits; there is none to print")
        click.echo(found.format_text if part == "weight-format" else found.text, nl=False)
        return
    for target in _write(found.files(), catalog, force, [] if hub else [Path(path)]):
        click.echo(f"wrote {target}", err=True)


def _write(files: dict[str, str], catalog: Path, force: bool, inputs: list[Path]) -> list[Path]:
    from planner.cli_files import saved, write_whole
    from planner.errors import InputError, Problem, Span

    targets = {catalog / name: text for name, text in files.items()}
    for target in targets:
        if target.exists() and not force:
            hint = "--force replaces it"
            raise InputError(
                Problem(Span(str(target)), "", "a new entry", "one that is there", hint)
            )
    write_whole({target: saved(text) for target, text in targets.items()}, inputs)
    return list(targets)
