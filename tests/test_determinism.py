"""Same input, same bytes: whatever the hash seed, time zone, folder, locale, user or terminal."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.command import EXAMPLE, program

VARIATIONS: dict[str, dict[str, str]] = {
    "hash seed and time zone": {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kathmandu"},
    "plain locale and user": {
        "LC_ALL": "C", "HOME": "/nonexistent", "USER": "nobody", "LOGNAME": "nobody",
        "HOSTNAME": "there",
    },
    "other locale, date and optimiser": {
        "LC_ALL": "de_DE.ISO-8859-1", "LANG": "de_DE", "PYTHONUTF8": "0", "PYTHONOPTIMIZE": "2",
        "SOURCE_DATE_EPOCH": "1",
    },
}  # fmt: skip
TEXTS = (
    ("plan", "scenario.yaml", "--table", "all"),
    ("plan", "scenario.yaml", "--md"),
    ("plan", "scenario.yaml", "--csv", "--table", "groups"),
    ("explain", "scenario.yaml", "own_share", "--json"),
    ("explain", "scenario.yaml", "binding", "--case", "19"),
)
OWN = """\
metrics:
  own_share: {label: Own share, unit: "1", why: A test., source: {title: Own rule},
    formula: memory_spare / memory_left}
"""


def project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLE, folder / "scenario.yaml")
    (folder / "own.yaml").write_text(OWN)
    models = folder / "mine" / "models"
    models.mkdir(parents=True)
    shutil.copy(EXAMPLE.parents[1] / "models" / "qwen3-8b.yaml", models)
    return folder


def outputs(folder: Path, prefix: Path | None = None, **variables: str) -> dict[str, bytes]:
    """Every output of a project; inputs are named from ``prefix`` if there is one."""
    at = prefix or Path()
    own = ["--metrics", str(at / "own.yaml"), "--catalog", str(at / "mine")]
    done = program(["build", str(at / "scenario.yaml"), *own], folder, **variables)
    assert done.returncode == 0, done.stderr
    found = {path.name: path.read_bytes() for path in sorted((folder / "out").iterdir())}
    shutil.rmtree(folder / "out")
    assert {Path(name).suffix for name in found} == {".json", ".html", ".xlsx"}
    return found


def texts(folder: Path, **variables: str) -> dict[str, bytes]:
    found = {}
    for call in TEXTS:
        done = program([*call, "--metrics", "own.yaml"], folder, **variables)
        assert done.returncode == 0, done.stderr
        found[" ".join(call)] = done.stdout
    return found


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("first") / "project")


@pytest.fixture(scope="module")
def kept(first: Path) -> dict[str, bytes]:
    return outputs(first, PYTHONHASHSEED="0", TZ="UTC")


@pytest.mark.parametrize("name", list(VARIATIONS))
def test_the_world_does_not_matter(name: str, first: Path, kept: dict[str, bytes]) -> None:
    same(outputs(first, **VARIATIONS[name]), kept)


def test_the_folder_does_not_matter(first: Path, kept: dict[str, bytes], tmp_path: Path) -> None:
    other = project(tmp_path / "somewhere else" / "with blanks")
    same(outputs(other), kept)
    elsewhere = tmp_path / "work"
    elsewhere.mkdir()
    same(outputs(elsewhere, other), kept)  # absolute paths
    same(outputs(elsewhere, Path("../somewhere else/with blanks")), kept)


def test_terminal_texts_do_not_depend_on_the_world(first: Path) -> None:
    one = texts(first, PYTHONHASHSEED="0", LC_ALL="C")
    same(texts(first, PYTHONHASHSEED="7", LC_ALL="C.UTF-8", TZ="Asia/Tokyo", TERM="xterm"), one)
    other = {"LC_ALL": "de_DE.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    same(texts(first, **other), one)
    assert "×".encode() in one["explain scenario.yaml binding --case 19"]


def test_outputs_name_no_folder_of_this_machine(first: Path, kept: dict[str, bytes]) -> None:
    for name, content in kept.items():
        assert str(first.parent).encode() not in content, name


def same(found: dict[str, bytes], kept: dict[str, bytes]) -> None:
    assert sorted(found) == sorted(kept)
    assert [name for name in kept if found[name] != kept[name]] == []
