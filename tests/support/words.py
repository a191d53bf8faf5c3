"""Every text that a report may say, read from declarations and from the source by ``ast``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from planner.metrics import MetricSet
from reports import words_source
from reports.words_plan import TEXTS

SAID = {"say", "term", "called"}
# Arguments of our own functions that are said where they end up: function, positions, keywords.
SINKS = {
    "TableColumn": ((1,), ("heading", "group")),
    "sheet": ((1, 2), ()),
    "_table": ((0, 1, 2), ()),
    "CatalogSheet": ((2, 3), ()),
    "metric_sheet": ((1, 2), ()),
    "_Fold": ((), ()),
}


def sentence(node: ast.expr) -> str | None:
    """The key of a text or of a text with values; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    number, out = 0, ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            out += str(part.value)
        else:
            number += 1
            out += f"{{{number}}}"
    return out


def _given(call: ast.Call) -> Iterator[ast.expr]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in SAID and call.args:
        yield call.args[0]
    places, keys = SINKS.get(name, ((), ()))
    yield from (call.args[i] for i in places if i < len(call.args))
    yield from (word.value for word in call.keywords if word.arg in keys)


def of_source(text: str) -> set[str]:
    """The texts that one module says."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        for given in _given(node) if isinstance(node, ast.Call) else ():
            parts = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
            found |= {key for part in parts if (key := sentence(part))}
    return {text for text in found if any(c.isalpha() for c in text)}


def of_reports(root: Path) -> dict[str, str]:
    """Every text of the emitters and of the page, with the file that says it."""
    found: dict[str, str] = {}
    for path in sorted((root / "reports").rglob("*.py")):
        for text in sorted(of_source(path.read_text("utf-8"))):
            found.setdefault(text, str(path.relative_to(root)))
    for path in sorted((root / "templates").glob("*.js")):
        for text in words_source.script_texts(path.read_text("utf-8")):
            found.setdefault(text, str(path.relative_to(root)))
    for path in sorted((root / "templates").glob("*.j2")):
        for text in words_source.template_texts(path.read_text("utf-8")):
            found.setdefault(text, str(path.relative_to(root)))
    return {text: where for text, where in found.items() if text}


def of_declarations(metrics: MetricSet) -> dict[str, str]:
    """Every text of the built-in declarations, with what declares it."""
    found: dict[str, str] = {}
    blocks = {
        "table": metrics.tables,
        "field": metrics.fields,
        "constant": metrics.constants,
        "variant": metrics.variants,
        "metric": {m.name: m.entry for m in metrics.metrics.values() if not m.part_of},
    }
    for kind, entries in blocks.items():
        for name, entry in entries.items():
            for key in TEXTS:
                if text := " ".join(str(getattr(entry, key, "")).split()):
                    found.setdefault(text, f"{kind} {name}: {key}")
    for name in metrics.constants:
        found.setdefault(name.replace("_", " "), f"constant {name}: name")
    for metric in metrics.metrics.values():
        for word in metric.entry.choices:
            found.setdefault(word, f"metric {metric.name}: choice")
    for name, entry in metrics.fields.items():
        for word in entry.words:
            found.setdefault(word, f"field {name}: choice")
    return found
