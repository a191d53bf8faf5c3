"""Outside tools: a loud skip where one is missing, a failure where CI promises it."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# Filled while tests run and printed at the end by conftest.py, so that a skip is never overlooked.
NOTICES: dict[str, int] = {}


def in_ci() -> bool:
    """True where every tool is promised and a missing one is a failure."""
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


def missing(what: str, proof: str) -> None:
    """Skip the running test because ``what`` is not there; under CI fail instead."""
    text = f"{what} is missing, so {proof} is not proven"
    if in_ci():
        pytest.fail(text, pytrace=False)
    NOTICES[text] = NOTICES.get(text, 0) + 1
    pytest.skip(text)


def need(command: str, proof: str = "this") -> str:
    """The path of a program such as ``soffice``, or the running test ends here."""
    path = shutil.which(command)
    if path is None:
        missing(f"the program {command}", proof)
        raise AssertionError("not reached")
    return path


def need_module(name: str, proof: str = "this") -> None:
    """End the running test when a Python package that only some environments have is missing."""
    if importlib.util.find_spec(name) is None:
        missing(f"the Python package {name}", proof)
