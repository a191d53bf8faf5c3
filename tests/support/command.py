"""The command line in-process and as a program."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from planner.cli import run
from support.tools import REPOSITORY

EXAMPLE = REPOSITORY / "catalogs" / "scenarios" / "example.yaml"
SMALL = """\
name: small
title: A small plan
as_of: "2026-11-29"
models: [qwen3-8b]
gpus: [h100-sxm]
contexts: [16384 tokens]
workloads:
  - {name: chat, prompt: 8192 tokens, output: 1025 tokens}
batches: [8]
"""


@dataclass(frozen=True)
class Done:
    """How a call ended."""

    code: int
    out: str
    err: str


class Caller:
    """Calls ``capsheet`` in this process, in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def __call__(self, *args: str | Path) -> Done:
        code = run([str(arg) for arg in args])
        out, err = self.capsys.readouterr()
        return Done(code, out, err)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def files(self) -> dict[str, bytes]:
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}


def environment(**variables: str) -> dict[str, str]:
    """A bare environment in which the checkout can be imported."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), **variables}


def program(
    args: Sequence[str | Path], folder: Path, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """``capsheet`` as a program of its own."""
    command = [sys.executable, "-m", "planner.cli", *map(str, args)]
    return subprocess.run(
        command, cwd=folder, env=environment(**variables), capture_output=True, check=False
    )


def processor_seconds(args: Sequence[str], folder: Path) -> float:
    """User and system seconds that a call takes, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = program(args, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
