"""Fixtures for all tests, and a closing notice about everything that was left unproven."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.command import SMALL, Caller
from support.golden import MOVED, Golden
from support.shared import shared_folder
from support.tools import NOTICES, REPOSITORY, in_ci


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="Keep new golden files, and list what moved."
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.config.getoption("--update"))


@pytest.fixture
def capsheet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Caller:
    """The command line in a folder of its own, with ``small.yaml`` in it."""
    monkeypatch.chdir(tmp_path)
    caller = Caller(tmp_path, capsys)
    caller.write("small.yaml", SMALL)
    return caller


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture
def shared() -> Path:
    return shared_folder()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MOVED:
        terminalreporter.section("GOLDEN FILES THAT MOVED")
    for text in sorted(MOVED):
        terminalreporter.line(text)
    if NOTICES:
        terminalreporter.section("NOT PROVEN HERE", sep="!", red=True, bold=True)
    for text, tests in sorted(NOTICES.items()):
        terminalreporter.line(f"{text} (tests skipped: {tests})", red=True)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """What a worker noticed is told by the process that reports."""
    found = getattr(node, "workeroutput", {})
    MOVED.extend(found.get("moved", ()))
    for text, tests in found.get("notices", {}).items():
        NOTICES[text] = NOTICES.get(text, 0) + tests


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Under CI nothing may be skipped, by whatever means a test does it."""
    worker = getattr(session.config, "workeroutput", None)
    if worker is not None:
        worker |= {"moved": list(MOVED), "notices": dict(NOTICES)}
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if in_ci() and skipped and session.exitstatus == pytest.ExitCode.OK:
        reporter.section("SKIPPED UNDER CI, WHICH COUNTS AS A FAILURE", sep="!", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
