"""Pages of ``docs`` are current: their commands are run, a table is the shape of the JSON."""

from __future__ import annotations

import pytest
from support.command import Caller
from support.golden import Golden
from support.tools import REPOSITORY
from test_readme import renewed_text

from planner.diff_json import SHAPE

PAGE = REPOSITORY / "docs" / "comparison.md"


REVIEW = REPOSITORY / "docs" / "review.md"


def test_the_page_shows_what_the_program_says(
    capsheet: Caller, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = renewed_text(PAGE.read_text("utf-8"), capsheet)
    head, rule, _ = text.partition("| key | holds |\n|---|---|\n")
    rows = "".join(f"| `{key}` | {words} |\n" for key, words in SHAPE.items())
    golden.check(PAGE, head + rule + rows, "docs/comparison.md")


def test_the_page_of_the_review_shows_what_the_program_says(
    capsheet: Caller, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (capsheet.folder / "plans").mkdir()
    golden.check(REVIEW, renewed_text(REVIEW.read_text("utf-8"), capsheet), "docs/review.md")
