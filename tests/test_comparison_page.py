"""``docs/comparison.md`` is current: its commands are run, its table is the shape of the JSON."""

from __future__ import annotations

import re
import shlex

import pytest
from support.command import Caller
from support.golden import Golden
from support.tools import REPOSITORY
from test_readme import BLOCK, written

from planner.diff_json import SHAPE

PAGE = REPOSITORY / "docs" / "comparison.md"


def test_the_page_shows_what_the_program_says(
    capsheet: Caller, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = PAGE.read_text("utf-8")
    written(text, capsheet)

    def renewed(found: re.Match[str]) -> str:
        if found[1] != "console":
            return found[0]
        lines = []
        for line in found[2].splitlines():
            if line.startswith("$ "):
                done = capsheet(*shlex.split(line)[2:])
                lines += [line, *(done.err + done.out).splitlines()]
        return "```console\n" + "\n".join(lines) + "\n```"

    head, rule, _ = BLOCK.sub(renewed, text).partition("| key | holds |\n|---|---|\n")
    rows = "".join(f"| `{key}` | {words} |\n" for key, words in SHAPE.items())
    golden.check(PAGE, head + rule + rows, "docs/comparison.md")
