"""The README is current: its files, commands, outputs and Python lines are run as they stand."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command import Caller
from support.golden import Golden
from support.tools import REPOSITORY

README = REPOSITORY / "README.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> Iterator[tuple[str, str]]:
    return ((found[1], found[2]) for found in BLOCK.finditer(text))


def written(text: str, caller: Caller) -> None:
    """The files that the README shows."""
    for kind, body in blocks(text):
        if kind == "yaml":
            first, _, rest = body.partition("\n")
            assert first.startswith("# file: ")
            caller.write(first.removeprefix("# file: "), rest)


def renewed_text(text: str, caller: Caller) -> str:
    """The page with its files written, its commands run and their outputs in place."""
    written(text, caller)

    def renewed(found: re.Match[str]) -> str:
        if found[1] != "console":
            return found[0]
        lines = []
        for line in found[2].splitlines():
            if line.startswith("$ "):
                done = caller(*shlex.split(line)[2:])
                lines += [line, *(done.err + done.out).splitlines()]
        return "```console\n" + "\n".join(lines) + "\n```"

    return BLOCK.sub(renewed, text)


def test_commands_give_the_shown_outputs(
    capsheet: Caller, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = README.read_text("utf-8")
    golden.check(README, renewed_text(text, capsheet), "README.md")


def test_python_lines_run(capsheet: Caller) -> None:
    text = README.read_text("utf-8")
    written(text, capsheet)
    sessions = [body for kind, body in blocks(text) if kind == "pycon"]
    assert sessions
    for body in sessions:
        session = doctest.DocTestParser().get_doctest(body, {}, "README.md", "README.md", 0)
        result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(session)
        assert result.failed == 0
        assert result.attempted > 3


def test_the_two_commands_stand_in_fenced_blocks() -> None:
    commands = [body.strip() for kind, body in blocks(README.read_text("utf-8")) if not kind]
    assert commands == ["pip install . && capsheet build", "pip install '.[test]' && pytest"]


def test_every_command_is_named(capsheet: Caller) -> None:
    from planner.cli import cli

    text = README.read_text("utf-8")
    table = text[text.index("## Commands") :]
    for name in cli.commands:
        assert re.search(rf"^\| `(?:\w+`, `)?{name}\b", table, re.MULTILINE), name


def test_the_built_files_are_those_named(capsheet: Caller) -> None:
    out = capsheet("build").out.split()
    named = re.findall(r"^\| `(out/[^`]+)`", README.read_text("utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(out)


def test_what_is_trusted_is_what_the_engine_says(capsheet: Caller) -> None:
    import planner

    plan = planner.plan(capsheet.folder / "small.yaml")
    facts = plan.inputs.facts["engine", "plain"]
    assert facts["engine_block_size"].value == 16
    assert plan.inputs.plan["overhead"] == 3 * 2**30
    assert plan.inputs.plan["memory_utilization"] == 0.9
    assert len(list(Path(REPOSITORY / "catalogs" / "engines").glob("*.yaml"))) == 12
