"""The house keeps its own rules, and every rule is shown to bite."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support import architecture as rules
from support.tools import missing, need

from planner.expr.functions import FUNCTIONS


@pytest.fixture(scope="module")
def texts(repository: Path) -> dict[str, str]:
    git = need("git", "the cleanness of tracked files")
    if not (repository / ".git").exists():
        missing("the git repository", "the cleanness of tracked files")
    return rules.tracked_texts(repository, git)


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_imports_run_downwards(repository: Path) -> None:
    assert len(rules.modules(repository)) > 10
    assert rules.import_breaches(repository) == []


@pytest.mark.parametrize(
    ("files", "breach"),
    [
        (
            {"planner/units.py": "def f():\n    from planner.catalog import x\n"},
            "planner.units:2: layer 0 imports planner.catalog (layer 3)",
        ),
        (
            {"planner/expr/tree.py": "from . import check\n", "planner/expr/check.py": ""},
            "planner.expr.tree:1: layer 1 imports planner.expr.check (layer 2)",
        ),
        (
            {"planner/expr/tree.py": "from ..engine import run\n"},
            "planner.expr.tree:1: layer 1 imports planner.engine (layer 4)",
        ),
        (
            {"planner/engine.py": "import reports.numbers\n"},
            "planner.engine:1: only planner.cli may import reports",
        ),
        (
            {"reports/view.py": "from reports.workbook.rows import x\n"},
            "reports.view:1: layer 5 imports reports.workbook.rows (layer 6)",
        ),
        (
            {"planner/surprise.py": ""},
            "planner.surprise: no layer; add it to the table in its place",
        ),
        (
            {"planner/engine.py": "import planner.surprise\n"},
            "planner.engine:1: layer 4 imports planner.surprise (layer None)",
        ),
    ],
)
def test_wrong_import_is_found(files: dict[str, str], breach: str, tmp_path: Path) -> None:
    assert rules.import_breaches(plant(tmp_path, files)) == [breach]


@pytest.mark.parametrize(
    ("module", "layer"),
    [
        ("reports.charts", 4),
        ("reports.charts_svg", 4),
        ("reports.workbook", 6),
        ("reports.workbook.rows_text", 6),
        ("planner.metrics_files", 3),
        ("planner.chartssvg", None),
        ("planner.expr.new", None),
        ("reports.new_charts", None),
    ],
)
def test_layer_of_a_module(module: str, layer: int | None) -> None:
    assert rules.layer_of(module) == layer


def test_circle_of_imports_is_found(tmp_path: Path) -> None:
    files = {"planner/diff.py": "import planner.checks", "planner/checks.py": "import planner.diff"}
    (found,) = rules.import_breaches(plant(tmp_path, files))
    assert found.startswith("imports in a circle: planner.")


@pytest.mark.parametrize(
    "late", ["def f():\n    import planner.diff", "if TYPE_CHECKING:\n    import planner.diff"]
)
def test_import_made_on_call_or_for_types_closes_no_circle(late: str, tmp_path: Path) -> None:
    files = {"planner/diff.py": "import planner.checks", "planner/checks.py": late}
    assert rules.import_breaches(plant(tmp_path, files)) == []


def test_right_imports_pass(tmp_path: Path) -> None:
    files = {
        "planner/cli.py": "from reports.workbook import rows\nfrom planner import engine\n",
        "planner/engine.py": "import numpy as np\nfrom planner.errors import InputError\n",
        "planner/errors.py": "",
        "reports/workbook/rows.py": "from planner.engine import Plan\nfrom reports import view\n",
        "reports/view.py": "",
    }
    assert rules.import_breaches(plant(tmp_path, files)) == []


def test_outputs_know_no_clock_host_or_user(repository: Path) -> None:
    assert rules.world_breaches(repository) == []


@pytest.mark.parametrize(
    "line",
    [
        "import datetime as d; x = d.datetime.now()",
        "from datetime import date; x = date.today()",
        "import time",
        "from time import strftime",
        "import os; x = os.getlogin()",
        "import os; x = os.environ['USER']",
        "from os import getcwd",
        "import socket",
        "from pathlib import Path; x = Path.home()",
        "import numpy as np; x = np.random.default_rng()",
        "def f(p): return p.stat().st_mtime",
    ],
)
@pytest.mark.parametrize("package", rules.PACKAGES)
def test_use_of_clock_host_or_user_is_found(package: str, line: str, tmp_path: Path) -> None:
    plant(tmp_path, {f"{package}/x.py": line + "\n"})
    assert len(rules.world_breaches(tmp_path)) == 1


def test_modules_fit_in_a_head(texts: dict[str, str]) -> None:
    assert len(texts) > 20
    assert rules.long_modules(texts) == []


def test_long_module_is_found() -> None:
    files = {"a.py": "x\n" * 400, "b.py": "x\n" * 399, "c.md": "x\n" * 900}
    assert rules.long_modules(files) == ["a.py: 400 lines"]


def test_metric_names_are_legal(repository: Path) -> None:
    folder = repository / "planner" / "metrics"
    assert len(list(rules.declared_names(folder))) > 50
    assert rules.name_breaches(folder, set(FUNCTIONS)) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("h100", "is a cell address"),
        ("tp8", "is a cell address"),
        ("r1c1", "is a cell address"),
        ("c", "is a cell address"),
        ("lambda", "is a word of Python"),
        ("floor", "is a function of the language"),
        ("kvBytes", "is not lower-case words joined by _"),
        ("kv__bytes", "is not lower-case words joined by _"),
        ("known_name", "is declared twice, first in a.yaml"),
    ],
)
def test_illegal_metric_name_is_found(name: str, reason: str, tmp_path: Path) -> None:
    plant(tmp_path, {"a.yaml": "fields: {known_name: {}}", "b.yaml": f"metrics: {{{name}: {{}}}}"})
    assert rules.name_breaches(tmp_path, {"floor"}) == [f"b.yaml: {name} {reason}"]


def test_nothing_tracked_is_unfinished(texts: dict[str, str]) -> None:
    assert rules.text_breaches(texts, rules.UNFINISHED) == []


def test_nothing_tracked_names_a_folder_of_one_machine(texts: dict[str, str]) -> None:
    assert rules.text_breaches(texts, rules.MACHINE_PATH) == []


def test_unfinished_words_and_machine_paths_are_found() -> None:
    words = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "place" + "holder"]
    files = {"a.py": "\n".join(words), "b.html": "<input place" + 'holder="8192">'}
    assert len(rules.text_breaches(files, rules.UNFINISHED)) == len(words)
    paths = ["/".join(["", folder, "x"]) for folder in ("work", "root", "tmp", "home")]
    files = {"a.md": "\n".join(f"see {path}" for path in paths), "b.md": "https://a.org" + paths[0]}
    assert len(rules.text_breaches(files, rules.MACHINE_PATH)) == len(paths)


def test_only_tracked_text_files_are_read(tmp_path: Path) -> None:
    git = need("git", "the cleanness of tracked files")
    plant(tmp_path, {"kept.txt": "words", "left.txt": "words"})
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    subprocess.run([git, "-C", str(tmp_path), "init", "-q"], check=True)
    subprocess.run([git, "-C", str(tmp_path), "add", "kept.txt", "picture.png"], check=True)
    assert rules.tracked_texts(tmp_path, git) == {"kept.txt": "words"}
