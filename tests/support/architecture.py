"""The rules of the house, read from the source by ``ast``; each gives one line per breach."""

from __future__ import annotations

import ast
import keyword
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import yaml

# Imports run downwards or sideways, never up. A name that ends in a dot covers a whole package;
# `reports.charts` also covers `reports.charts_svg`, a part that was split off.
LAYERS: dict[str, int] = {
    "planner.units": 0,
    "planner.yamlfile": 0,
    "planner.resources": 0,
    "planner.errors": 0,
    "planner.layer_kinds": 0,
    "planner.figures": 1,
    "planner.places": 1,
    "planner.expr": 1,
    "planner.expr.tree": 1,
    "planner.expr.parse": 1,
    "planner.expr.functions": 1,
    "planner.expr.check": 2,
    "planner.expr.to_arrays": 2,
    "planner.expr.to_cells": 2,
    "planner.expr.to_js": 2,
    "planner.expr.to_math": 2,
    "planner.records": 2,
    "planner.plausibility": 3,
    "planner.facts": 3,
    "planner.drafts": 3,
    "planner.catalog": 3,
    "planner.metric_files": 2,
    "planner.metric_checks": 3,
    "planner.metric": 3,
    "planner.metric_reading": 3,
    "planner.metrics": 3,
    "planner.cuts": 3,
    "planner.importers.": 3,
    "planner.engine": 4,
    "planner.examples": 4,
    "planner.inputs": 4,
    "planner.rungs": 4,
    "planner.scenario": 4,
    "planner.planning": 4,
    "planner.frames": 4,
    "planner.saved": 4,
    "planner.explain": 4,
    "planner.offers": 4,
    "planner.observation": 4,
    "planner.actual": 4,
    "planner.diff": 4,
    "planner.review": 4,
    "planner.checks": 4,
    "planner.schemas": 4,
    "planner.starter": 4,
    "planner": 8,  # the face for users of the library; loads what it names when asked
    "reports": 0,
    "reports.numbers": 0,
    "reports.palette": 0,
    "reports.words": 1,
    "reports.words_plan": 5,
    "reports.words_source": 5,
    "reports.charts": 4,  # draws plain figures and knows no plan, so a view may hold its charts
    "reports.view": 5,
    "reports.text": 6,
    "reports.html": 6,
    "reports.workbook.": 6,
    "planner.cli": 7,
}
PACKAGES = ("planner", "reports")
DOOR = "planner.cli"  # the only module of planner (with its parts) that may know reports


def layer_of(module: str, layers: Mapping[str, int] = LAYERS) -> int | None:
    """The layer of a module, or None for one that the table does not name."""
    if module in layers:
        return layers[module]
    package, _, name = module.rpartition(".")
    while "_" in name:
        name = name.rpartition("_")[0]
        if f"{package}.{name}" in layers:
            return layers[f"{package}.{name}"]
    covering = [name for name in layers if name.endswith(".") and f"{module}.".startswith(name)]
    return layers[max(covering, key=len)] if covering else None


def modules(root: Path) -> dict[str, Path]:
    """Dotted names of all modules below the two packages, with their files."""
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@dataclass(frozen=True)
class Import:
    """One module of ours that a file imports; ``late`` when not while it is being loaded."""

    line: int
    name: str
    late: bool


def imports(module: str, path: Path, known: Mapping[str, Path]) -> Iterator[Import]:
    """Every import of ours in a file: at its head, inside functions, for types only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    late = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            inside = [node.module] if node.module else []
            base = ".".join([*(above if node.level else []), *inside])
            full = [f"{base}.{alias.name}" for alias in node.names]
            names = list(dict.fromkeys(name if name in known else base for name in full))
        for name in names:
            if name.partition(".")[0] in PACKAGES:
                yield Import(getattr(node, "lineno", 0), name, node in late)


def _door(module: str) -> bool:
    """Whether a module may import reports: those of reports, and the command line."""
    return module.startswith("reports") or module == DOOR or module.startswith(f"{DOOR}_")


def import_breaches(root: Path, layers: Mapping[str, int] = LAYERS) -> list[str]:
    """Imports that run upwards, from planner to reports, in a circle, or outside the table.

    A circle of imports that a function makes when it is called is no breach inside one layer.
    """
    known, breaches = modules(root), []
    graph: dict[str, list[str]] = {}
    for module, path in known.items():
        own = layer_of(module, layers)
        if own is None:
            breaches.append(f"{module}: no layer; add it to the table in its place")
            continue
        for one in imports(module, path, known):
            other = layer_of(one.name, layers)
            if other is None or other > own:
                breaches.append(
                    f"{module}:{one.line}: layer {own} imports {one.name} (layer {other})"
                )
            elif one.name.startswith("reports") and not _door(module):
                breaches.append(f"{module}:{one.line}: only {DOOR} may import reports")
            if not one.late:
                graph.setdefault(module, []).append(one.name)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        breaches.append("imports in a circle: " + " -> ".join(error.args[1]))
    return breaches


# What would make an output depend on when, where or by whom it was made.
_WORLD_MODULES = re.compile(r"(time|socket|platform|getpass|uuid|random|secrets|locale|pwd)(\.|$)")
_WORLD_NAMES = re.compile(
    "now|utcnow|today|fromtimestamp|getlogin|gethostname|uname|getcwd|cwd|home|expanduser|environ|"
    "getenv|urandom|st_mtime|getmtime|random"
)


def world_breaches(root: Path) -> list[str]:
    """Uses of clock, host, user, folder, environment or chance in the two packages."""
    breaches = []
    for module, path in modules(root).items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            used: list[str] = []
            if isinstance(node, ast.Import):
                used = [a.name for a in node.names if _WORLD_MODULES.match(a.name)]
            elif isinstance(node, ast.ImportFrom):
                source = node.module or ""
                ours = node.level > 0 or source.partition(".")[0] in PACKAGES
                used = [source] if _WORLD_MODULES.match(source) and not ours else []
                used += [a.name for a in node.names if _WORLD_NAMES.fullmatch(a.name) and not ours]
            elif isinstance(node, ast.Attribute) and _WORLD_NAMES.fullmatch(node.attr):
                used = [node.attr]
            breaches += [f"{module}:{getattr(node, 'lineno', 0)}: {name}" for name in used]
    return breaches


def long_modules(files: Mapping[str, str], limit: int = 400) -> list[str]:
    """Python files of ``limit`` lines or more."""
    counts = {name: text.count("\n") for name, text in files.items() if name.endswith(".py")}
    return [f"{name}: {lines} lines" for name, lines in counts.items() if lines >= limit]


# ---- names -----------------------------------------------------------------------------------


def declared_names(folder: Path) -> Iterator[tuple[str, str]]:
    """File and name of every constant, field and metric that metric files declare."""
    for path in sorted(folder.glob("*.yaml")):
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        for section in ("constants", "fields", "metrics"):
            for name in data.get(section) or {}:
                yield path.name, name


def name_breaches(folder: Path, functions: frozenset[str] | set[str]) -> list[str]:
    """Names that a formula, a spreadsheet or Python reads as something else, and doubles."""
    breaches, seen = [], {}
    for file, name in declared_names(folder):
        reasons = {
            "is not lower-case words joined by _": not re.fullmatch(
                r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name
            ),
            "is a cell address": bool(
                re.fullmatch(r"[a-z]{1,3}[0-9]+|r[0-9]*|c[0-9]*|r[0-9]*c[0-9]*", name)
            ),
            "is a word of Python": keyword.iskeyword(name) or keyword.issoftkeyword(name),
            "is a function of the language": name in functions,
            "is declared twice, first in " + seen.get(name, ""): name in seen,
        }
        breaches += [f"{file}: {name} {reason}" for reason, breach in reasons.items() if breach]
        seen.setdefault(name, file)
    return breaches


# ---- text of tracked files -------------------------------------------------------------------


SPOILT = "tests/bad/"  # files that are wrong on purpose, some in their very bytes


def tracked_texts(root: Path, git: str = "git") -> dict[str, str]:
    """Texts of all files that git tracks; binary ones and those spoilt on purpose are left out."""
    listed = subprocess.run(
        [git, "-C", str(root), "ls-files", "-z"], capture_output=True, text=True, check=True
    )
    texts = {}
    for name in listed.stdout.split("\0"):
        path = root / name
        if not path.is_file() or name.startswith(SPOILT):
            continue
        if name and b"\0" not in (data := path.read_bytes()):
            texts[name] = data.decode("utf-8")
    return texts


# Spelled in two halves, so that this file is not its own breach.
UNFINISHED = re.compile(
    "TO" + "DO|FIX" + "ME|XX" + "X|raise NotImplemented" + "Error|place" + "holder(?!=)"
)
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:work|root|tmp|home|opt/venv)" + "/")


def text_breaches(files: Mapping[str, str], pattern: re.Pattern[str]) -> list[str]:
    """File, line and text of each match."""
    return [
        f"{name}:{number}: {match.group()}"
        for name, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        for match in pattern.finditer(line)
    ]
