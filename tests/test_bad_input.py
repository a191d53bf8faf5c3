"""Bad input: each file of tests/bad, how it is called, and the exact message that it gets.

The first line of a ``.txt`` file is the call; the rest is what standard error must hold. Whatever
the mistake: exit code 2, nothing on standard output, no traceback, nothing written.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from support.golden import Golden

from planner.cli import run

BAD = Path(__file__).parent / "bad"
CASES = sorted(path.stem for path in BAD.glob("*.txt"))
KINDS = ("scenario", "metrics", "model", "gpu", "engine", "format", "plan")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(BAD, tmp_path_factory.mktemp("bad") / "bad"))


def state(folder: Path) -> dict[str, tuple[int, int]]:
    files = {path.relative_to(folder).as_posix(): path.stat() for path in folder.rglob("*")}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in files.items()}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_gets_its_message(
    name: str,
    folder: Path,
    golden: Golden,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = (BAD / f"{name}.txt").read_text("utf-8").partition("\n")[0]
    start, *call = shlex.split(first)
    assert [start, call.pop(0)] == ["$", "capsheet"]
    monkeypatch.chdir(folder)
    before = state(folder)
    code = run(call)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert "no problem" not in err
    assert state(folder) == before
    golden.check(BAD / f"{name}.txt", f"{first}\n{err}", f"tests/bad/{name}.txt")


def test_every_kind_of_file_is_spoilt() -> None:
    assert len(CASES) >= 100
    for kind in KINDS:
        assert sum(name.startswith(f"{kind}-") for name in CASES) >= 2, kind


def test_every_bad_file_is_called() -> None:
    calls = " ".join((BAD / f"{name}.txt").read_text("utf-8").split("\n")[0] for name in CASES)
    spoilt = [p.name for p in BAD.iterdir() if p.suffix in (".yaml", ".json")]
    assert [name for name in spoilt if name not in calls.split()] == []
