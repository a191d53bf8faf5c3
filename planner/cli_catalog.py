"""``catalog list`` and ``catalog show``: what is known, with sources."""

from __future__ import annotations

from pathlib import Path

import click

KINDS = ("models", "gpus", "engines", "formats")


@click.group()
def catalog() -> None:
    """What is known of models, GPUs, engines and formats."""


_folders = click.option(
    "--catalog", "catalogs", type=click.Path(path_type=Path), multiple=True, metavar="DIR",
    help="A further catalog folder; its entries win over shipped ones. Repeatable.",
)  # fmt: skip


@catalog.command("list")
@click.argument("kind", required=False, type=click.Choice(KINDS))
@click.option("--vendor", metavar="TEXT", help="Only of this vendor.")
@click.option("--family", metavar="TEXT", help="Only models of this family.")
@click.option("--line", metavar="TEXT", help="Only GPUs of this product line.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@_folders
def list_entries(
    kind: str | None,
    vendor: str | None,
    family: str | None,
    line: str | None,
    as_json: bool,
    catalogs: tuple[Path, ...],
) -> None:
    """The entries of a KIND, or of all kinds, one a line."""
    from planner.catalog import Catalog
    from planner.cli_entries import listing, table

    wanted = {"vendor": vendor, "family": family, "line": line}
    filters = {name: text for name, text in wanted.items() if text}
    found = listing(Catalog.open(catalogs), [kind] if kind else KINDS, filters)
    if as_json:
        import json

        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    click.echo(table(found), nl=False)
    if not any(found.values()):
        click.echo("no entry of this kind passes the filters", err=True)


@catalog.command()
@click.argument("id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@_folders
def show(id: str, as_json: bool, catalogs: tuple[Path, ...]) -> None:
    """Every figure of one entry, by id or alias, with unit, source and confidence."""
    from planner.catalog import Catalog
    from planner.cli_entries import described, found, text

    data = described(*found(Catalog.open(catalogs), id))
    if as_json:
        import json

        click.echo(json.dumps(data, indent=1, ensure_ascii=False))
        return
    click.echo(text(data), nl=False)
