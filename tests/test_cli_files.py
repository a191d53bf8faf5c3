"""Files are written whole or not at all, and only where they were asked for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from support.command import Caller, program

from planner.cli_files import saved, write_whole
from planner.errors import InputError


def failing(path: Path) -> None:
    path.write_bytes(b"half of it")
    raise RuntimeError("cut off")


def test_all_files_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "deep" / "er" / "b.txt"
    first.write_text("old")
    with pytest.raises(RuntimeError):
        write_whole({first: saved("new"), second: failing})
    assert first.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [first]
    write_whole({first: saved("new"), second: saved("too")})
    assert (first.read_text(), second.read_text()) == ("new", "too")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.txt", "b.txt", "deep", "er"]


def test_new_files_follow_the_mask_and_old_ones_keep_their_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole({tmp_path / "new": saved("x")})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o604)
    write_whole({tmp_path / "new": saved("y")})
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o604


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    link, real = tmp_path / "latest.html", tmp_path / "shelf" / "page.html"
    link.symlink_to(real)
    write_whole({link: saved("page")})
    assert link.is_symlink()
    assert real.read_text() == "page"


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole({pipe: saved("through")})
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", ["", "kept.yaml", "kept.yaml/page.html"])
def test_places_that_are_refused(name: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.yaml"
    kept.write_text("name: kept")
    with pytest.raises(InputError):
        write_whole({tmp_path / name: saved("x")}, [kept])
    assert kept.read_text() == "name: kept"
    assert sorted(tmp_path.iterdir()) == [kept]


def test_an_input_is_kept_by_whatever_name(tmp_path: Path) -> None:
    kept, link = tmp_path / "kept.yaml", tmp_path / "link.html"
    kept.write_text("name: kept")
    link.symlink_to(kept)
    with pytest.raises(InputError, match="found an input"):
        write_whole({link: saved("x")}, [kept])
    assert kept.read_text() == "name: kept"


@pytest.mark.parametrize("where", ["reports.html.render", "reports.workbook.book.write"])
def test_a_crash_while_drawing_leaves_old_files_alone(
    where: str, capsheet: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert capsheet("build", "small.yaml").code == 0
    before = capsheet.files()

    def broken(*args: object) -> None:
        raise RuntimeError("no ink")

    monkeypatch.setattr(where, broken)
    done = capsheet("build", "small.yaml", "--set", "title=Another")
    assert (done.code, done.out) == (1, "")
    assert capsheet.files() == before


def test_bad_input_leaves_old_files_alone(capsheet: Caller) -> None:
    assert capsheet("build", "small.yaml").code == 0
    before = capsheet.files()
    assert capsheet("build", "small.yaml", "--set", "batches=[0]").code == 2
    assert capsheet.files() == before


def test_strict_writes_what_there_is_to_see(capsheet: Caller) -> None:
    done = capsheet("build", "small.yaml", "--strict", "--set", "batches=[400]")
    assert done.code == 3
    assert (capsheet.folder / "out" / "small.html").is_file()


def test_outputs_go_where_they_are_told(capsheet: Caller) -> None:
    assert capsheet("build", "small.yaml", "--out", "else/where").code == 0
    assert capsheet("report", "small.yaml").out == "small.html\n"
    assert capsheet("workbook", "small.yaml", "--output", "deep/book.xlsx").code == 0
    assert set(capsheet.files()) == {
        "small.yaml", "small.html", "deep/book.xlsx", "else/where/small.plan.json",
        "else/where/small.xlsx", "else/where/small.html",
    }  # fmt: skip


@pytest.mark.parametrize(("command", "start"), [("report", b"<!"), ("workbook", b"PK")])
def test_a_dash_is_standard_output(command: str, start: bytes, capsheet: Caller) -> None:
    done = program([command, "small.yaml", "-o", "-"], capsheet.folder)
    assert done.returncode == 0
    assert done.stdout.lstrip().startswith(start)
    assert set(capsheet.files()) == {"small.yaml"}
