"""The one script of a page: our own code, of a plan around runtime and compiled formulas."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any

from planner.expr.to_js import RUNTIME
from planner.resources import data_dir
from reports.html_data import embedded
from reports.view_live import Formula, Live
from reports.words import language
from reports.words_source import script_source

PARTS = (
    "sort.js", "live.js", "figures.js", "explain.js", "charts.js", "cells.js", "tables.js",
    "what-if.js",
)  # fmt: skip
"""Our own code in reading order; later parts use the names of earlier ones."""
COMPARING = ("sort.js", "changes.js")
"""The same of pages that compare, whose figures are those that were written."""


def script(live: Live) -> str:
    """The script of a page with these formulas. It loads nothing and makes no code from text."""
    formulas = ",\n".join(_formula(one) for one in live.formulas)
    data = embedded(json.dumps(_data(live), ensure_ascii=False, separators=(",", ":")))
    head = f'\n"use strict";(()=>{{\n{RUNTIME}const F={{\n{formulas}}};\nconst LIVE={data};\n'
    return f"{head}{_said(live)}{own(language())}}})();\n"


def comparing_script() -> str:
    """The script of a page that compares: its tables sort and filter, nothing is computed."""
    return f'\n"use strict";(()=>{{\n{own(language(), COMPARING)}}})();\n'


@cache
def own(language: str, parts: tuple[str, ...] = PARTS) -> str:
    """Our own code in the language that is spoken, as a page carries it: no comment, no indent."""
    texts = ((data_dir("templates") / name).read_text("utf-8") for name in parts)
    lines = (line.strip() for text in texts for line in script_source(text).splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def _said(live: Live) -> str:
    """What the saved plan inside the page says in English, for a page in another language."""
    if not live.said and not live.words:
        return ""
    names = embedded(json.dumps(live.said, ensure_ascii=False, separators=(",", ":")))
    words = embedded(json.dumps(live.words, ensure_ascii=False, separators=(",", ":")))
    return (
        f"const SAID_NAMES={names},SAID={words};\n"
        "const said=x=>SAID[x]??x,saidName=(n,x)=>SAID_NAMES[n]?.[0]??x,"
        "saidWhy=(n,x)=>SAID_NAMES[n]?.[1]??x;\n"
    )


def _formula(formula: Formula) -> str:
    variant = f",{json.dumps(formula.variant)}" if formula.variant else ""
    return f"{formula.name}:[{formula.grain},{formula.code}{variant}]"


def _data(live: Live) -> dict[str, Any]:
    return {
        "shown": {n: [one.factor, one.kind, one.unit] for n, one in live.shown.items()},
        "words": {one.name: one.words for one in live.formulas if one.words},
        "follows": live.follows,
        "absent": live.absent,
        "bounded": live.bounded,
        "unfit": live.unfit,
        "bound": live.bound if math.isfinite(live.bound) else None,
        "constants": live.constants,
        "controls": [
            {
                "name": one.name, "label": one.label, "unit": one.unit, "factor": one.factor,
                "low": one.low, "high": one.high, "whole": one.whole,
            }
            for one in live.controls
        ],
        "entries": _entries(live),
    }  # fmt: skip


def _entries(live: Live) -> dict[str, Any]:
    """Catalog entries by kind: the names of their fields once, then a row each."""
    found: dict[str, Any] = {}
    for one in live.entries:
        kind = found.setdefault(one.kind, {"fields": [name for name, _ in one.facts], "rows": []})
        values = [value for _, value in one.facts]
        kind["rows"].append([one.id, one.label, values, one.sources])
    return found
