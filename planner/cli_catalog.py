"""``catalog list``, ``catalog show`` and ``catalog prices``: what is known, with sources."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli_files import catalog_option

KINDS = ("models", "gpus", "engines", "formats", "prices")


@click.group()
def catalog() -> None:
    """What is known of models, GPUs, engines and formats."""


@catalog.command("list")
@click.argument("kind", required=False, type=click.Choice(KINDS))
@click.option("--vendor", metavar="TEXT", help="Only of this vendor.")
@click.option("--family", metavar="TEXT", help="Only models of this family.")
@click.option("--line", metavar="TEXT", help="Only GPUs of this product line.")
@click.option("--generation", metavar="N", help="Only GPUs of this generation of their line.")
@click.option("--status", metavar="TEXT", help="Only GPUs that are shipping, announced or legacy.")
@click.option(
    "--kind", "sort", metavar="TEXT",
    help="Only models with this kind of layer, GPUs of this form, prices of this kind.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@catalog_option
def list_entries(
    kind: str | None,
    vendor: str | None,
    family: str | None,
    line: str | None,
    generation: str | None,
    status: str | None,
    sort: str | None,
    as_json: bool,
    catalogs: tuple[Path, ...],
) -> None:
    """The entries of a KIND, one a line; without one, of all kinds but prices."""
    from planner.catalog import Catalog
    from planner.cli_entries import listing, table

    wanted = {
        "vendor": vendor, "family": family, "line": line, "generation": generation,
        "status": status, "kind": sort,
    }  # fmt: skip
    filters = {name: text for name, text in wanted.items() if text}
    found = listing(Catalog.open(catalogs), [kind] if kind else KINDS[:-1], filters)
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
@catalog_option
def show(id: str, as_json: bool, catalogs: tuple[Path, ...]) -> None:
    """Every figure of one entry, by id or alias, with unit, source, confidence and age."""
    from planner.catalog import Catalog
    from planner.cli_entries import described, found, text
    from planner.cli_prices import summary

    known = Catalog.open(catalogs)
    kind, entry = found(known, id)
    prices = summary(known, entry.record.id) if kind == "gpu" else ""
    data = described(kind, entry, prices)
    if as_json:
        import json

        click.echo(json.dumps(data, indent=1, ensure_ascii=False))
        return
    click.echo(text(data), nl=False)


@catalog.command("prices")
@click.argument("gpu", metavar="GPU")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@catalog_option
def show_prices(gpu: str, as_json: bool, catalogs: tuple[Path, ...]) -> None:
    """The price observations of one GPU, the newest first. A plan uses none by itself."""
    from planner.catalog import Catalog
    from planner.cli_prices import observations, text

    data = observations(Catalog.open(catalogs), gpu)
    if as_json:
        import json

        click.echo(json.dumps(data, indent=1, ensure_ascii=False))
        return
    click.echo(text(data), nl=False)
