"""``observe``: what start-up logs of engines state, beside what was planned."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli_files import Inputs, planning_options, saved, write_whole
from planner.errors import InputError, Problem, Span

if TYPE_CHECKING:
    from planner.importers.startup_log import Observation
    from planner.planning import Plan

Seen = tuple[str, "Observation"]
"""The name of a log, and one engine start in it."""

STDIN = "-"
_LOOKED_FOR = (
    "of vLLM 'Available KV cache memory', 'GPU KV cache size', 'Maximum concurrency for' or "
    "'# GPU blocks', of SGLang 'KV Cache is allocated' or 'max_total_num_tokens=', of TensorRT-LLM "
    "'for max tokens in paged KV cache', of llama.cpp 'KV buffer size' or 'llama_kv_cache: size ='"
)


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--scenario", type=click.Path(path_type=Path), metavar="FILE",
    help="A scenario (or a saved plan) to set beside what the logs state.",
)  # fmt: skip
@click.option(
    "--case", default="1", show_default=True, metavar="ID|N",
    help="The case of the scenario, by its id or its number.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON, in base units.")
@click.option(
    "--write", "folder", type=click.Path(path_type=Path), metavar="DIR",
    help="Write the measured overheads as engine entries into this catalog folder.",
)  # fmt: skip
@planning_options
def observe(
    logs: tuple[str, ...],
    scenario: Path | None,
    case: str,
    as_json: bool,
    folder: Path | None,
    settings: tuple[str, ...],
    metrics: tuple[Path, ...],
    catalogs: tuple[Path, ...],
) -> None:
    """What start-up logs of vLLM, SGLang, TensorRT-LLM and llama.cpp state; LOG may be -.

    Other output, colours and several ranks may be mixed in. Lines that are known to mislead are
    named. With --scenario: planned, measured, error, and the assumption that explains it.
    """
    seen = [one for log in logs for one in read_starts(log)]
    if not seen:
        raise InputError(Problem(
            Span(", ".join(map(_name, logs))), "", "lines of an engine that starts", "none",
            f"the lines looked for are {_LOOKED_FOR}",
        ))  # fmt: skip
    plan = Inputs(scenario, settings, metrics, catalogs).plan() if scenario else None
    index = plan.case_index(case) if plan else 0
    click.echo(_shown(seen, plan, index, as_json), nl=False)
    if folder is not None:
        _write(folder, seen, plan, index, catalogs)


def _name(log: str) -> str:
    return "standard input" if log == STDIN else Path(log).name


def read_starts(log: str) -> list[Seen]:
    """The engine starts of one log; says on standard error where there is none."""
    from planner.importers.startup_log import read_log

    try:
        if log == STDIN:
            found = read_log(sys.stdin.buffer)
        else:
            with Path(log).open("rb") as stream:
                found = read_log(stream)
    except OSError as error:
        reason = "a folder" if isinstance(error, IsADirectoryError) else error.strerror or "none"
        raise InputError(Problem(Span(log), "", "a readable file", reason.lower())) from None
    if not found:
        click.echo(f"{_name(log)}: no line of an engine that starts", err=True)
    return [(_name(log), one) for one in found]


def _shown(seen: Sequence[Seen], plan: Plan | None, index: int, as_json: bool) -> str:
    from planner import cli_observe_text as text
    from planner.observation import compare

    case = plan.cases[index].id if plan else ""
    rows = [compare(one, plan, index) if plan else () for _, one in seen]
    if as_json:
        import json

        data = [
            text.observed_data(one, log)
            | ({"comparison": text.compared_data(found, case)} if plan else {})
            for (log, one), found in zip(seen, rows, strict=True)
        ]
        return json.dumps({"observations": data}, indent=1, ensure_ascii=False) + "\n"
    width = shutil.get_terminal_size((80, 24)).columns
    blocks = []
    for (log, one), found in zip(seen, rows, strict=True):
        blocks.append(text.observed(one, log, width))
        if plan:
            blocks.append(text.compared(found, case, width))
    return "\n".join(blocks)


def _write(
    folder: Path, seen: Sequence[Seen], plan: Plan | None, index: int, catalogs: Sequence[Path]
) -> None:
    """One entry a start; a number tells starts of the same release apart."""
    from planner.catalog import Catalog
    from planner.observation_overlay import overlay

    engine, basis = "plain", None
    if plan is not None:
        engine = next(word for kind, word in plan.inputs.facts if kind == "engine")
        total = plan.value("memory_total", index)
        basis = total if isinstance(total, float) else None
    base = Catalog.open(catalogs).entry("engine", engine)
    made: dict[str, str] = {}
    for log, one in seen:
        number = 0
        while (entry := overlay(one, base, log, number, basis)).id in made:
            number = number + 1 if number else 2
        made[entry.id] = entry.text
    targets = {folder / "engines" / f"{word}.yaml": saved(body) for word, body in made.items()}
    write_whole(targets)
    for path, word in zip(targets, made, strict=True):
        click.echo(f"wrote {path}; plan with --catalog {folder} --set engine={word}", err=True)
