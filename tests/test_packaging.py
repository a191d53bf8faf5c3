"""The wheel holds all that the program needs, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.tools import missing, need, need_module

PROOF = "the content of the wheel"

# Where a file of the tree lies in the wheel; tests, scripts and notes stay outside.
PLACES = {
    "planner": "planner",
    "reports": "reports",
    "catalogs": "planner/_shipped/catalogs",
    "templates": "planner/_shipped/templates",
}


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Built without isolation, hence without any download."""
    need_module("hatchling", PROOF)
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def tree(repository: Path) -> list[str]:
    """Files of the shipped folders: tracked ones, and new ones that are not ignored."""
    git = need("git", PROOF)
    if not (repository / ".git").exists():
        missing("the git repository", PROOF)
    listing = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *PLACES]
    done = subprocess.run(listing, cwd=repository, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name and (repository / name).is_file()]


def test_wheel_names_are_the_tree(wheel: zipfile.ZipFile, repository: Path) -> None:
    split = (name.partition("/") for name in tree(repository))
    expected = {f"{PLACES[top]}/{rest}" for top, _, rest in split}
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert sorted(expected - found) == [], "in the tree, not in the wheel"
    assert sorted(found - expected) == [], "in the wheel, not in the tree"


def test_wheel_holds_every_kind_of_file(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    for start, end in (
        ("planner/metrics/", ".yaml"),
        ("planner/_shipped/catalogs/models/", ".yaml"),
        ("planner/_shipped/catalogs/gpus/", ".yaml"),
        ("planner/_shipped/templates/", ".j2"),
        ("planner/_shipped/templates/words/", ".yaml"),
        ("reports/workbook/", ".py"),
    ):
        assert [n for n in names if n.startswith(start) and n.endswith(end)], (start, end)


def test_wheel_holds_no_tests_outputs_or_tools(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"planner", "reports"}


def test_wheel_carries_licence_and_command(wheel: zipfile.ZipFile, repository: Path) -> None:
    (licence,) = [name for name in wheel.namelist() if name.endswith("licenses/LICENSE")]
    assert wheel.read(licence) == (repository / "LICENSE").read_bytes()
    assert b"Apache License" in wheel.read(licence)
    (entry,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "capsheet = planner.cli:main" in wheel.read(entry).decode()


def test_shipped_data_is_found_in_an_installation(
    wheel: zipfile.ZipFile, repository: Path, tmp_path: Path
) -> None:
    """Run from an unpacked wheel in a neutral folder, so that no checkout can help."""
    wheel.extractall(tmp_path / "site")
    code = (
        "import planner.resources as r\n"
        "for folder in r.data_dir('catalogs'), r.data_dir('templates'), r.metrics_dir():\n"
        "    print(sum(path.is_file() for path in folder.rglob('*')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=True,
    )
    names = tree(repository)
    folders = ("catalogs/", "templates/", "planner/metrics/")
    counts = [sum(name.startswith(folder) for name in names) for folder in folders]
    assert list(map(int, done.stdout.split())) == counts
    assert all(counts)
