"""Many formulas at once in each engine, so that random formulas can be compared in bulk."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.recalc import recalculate_formualizer, recalculate_libreoffice
from support.tools import need
from support.xlsx import Value, write_workbook

_ENGINES = {"formualizer": recalculate_formualizer, "libreoffice": recalculate_libreoffice}
_ADDRESS = re.compile(r"[A-Z]{1,3}[1-9][0-9]*")


def calculate_cells(
    formulas: Sequence[str], inputs: Mapping[str, Value], engine: str
) -> list[Value | None]:
    """Results of cell formulas, with or without the leading ``=``, in one spreadsheet engine.

    An input's key is the address where formulas expect it (any column but A), or a name that
    becomes a defined name. Errors come back as their text, an empty result as None.
    """
    cells: dict[str, Value] = {}
    named: dict[str, Value] = {}
    names: dict[str, str] = {}
    for row, (key, value) in enumerate(inputs.items(), 1):
        if _ADDRESS.fullmatch(key):
            if re.fullmatch(r"A[0-9]+", key):
                raise ValueError("column A holds the formulas")
            cells[key] = value
        else:
            # On a sheet of their own, so that no address that a caller chooses is in the way.
            named[f"A{row}"] = value
            names[key] = f"Named!$A${row}"
    for row, formula in enumerate(formulas, 1):
        cells[f"A{row}"] = "=" + formula.removeprefix("=")
    with tempfile.TemporaryDirectory() as folder:
        path = write_workbook(Path(folder) / "cells.xlsx", {"Cells": cells, "Named": named}, names)
        found = _ENGINES[engine](path)
    return [found.get(("Cells", f"A{row}")) for row in range(1, len(formulas) + 1)]


# JSON has no NaN and no infinity, which are what the comparison is about: they travel as objects.
_ENCODE = """
const encode = (key, value) =>
  typeof value === "number" && !Number.isFinite(value) ? { "not finite": String(value) } : value;
"""


def _decode(found: dict[str, Any]) -> Any:
    text = found.get("not finite")
    return found if text is None else float(text.replace("Infinity", "inf"))


def run_node(body: str) -> Any:
    """What a JavaScript function body returns, non-finite numbers included.

    Raises:
        RuntimeError: node ended with an error; its output is the message.
    """
    node = need("node", "the page's JavaScript")
    program = f"{_ENCODE}\nconst result = (() => {{\n{body}\n}})();\n"
    program += "process.stdout.write(JSON.stringify(result === undefined ? null : result, encode));"
    done = subprocess.run(
        [node, "-"], input=program, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise RuntimeError(f"node failed: {done.stderr}")
    return json.loads(done.stdout, object_hook=_decode)


def calculate_js(
    expressions: Sequence[str], inputs: Mapping[str, Value], prelude: str = ""
) -> list[Any]:
    """Results of JavaScript expressions; inputs are constants of their names, prelude runs first.

    An expression that throws gives the text of its error with a leading ``!``.
    """
    constants = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in inputs.items())
    functions = ",\n".join(f"() => ({expression})" for expression in expressions)
    attempt = 'f => { try { return f(); } catch (e) { return "!" + e; } }'
    return list(run_node(f"{prelude}\n{constants}\nreturn [\n{functions}\n].map({attempt});"))
