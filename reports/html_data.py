"""The saved plan inside a page: its columns with each value once, as text that no parser misreads.

A column over cases mostly repeats a few values. In the page it is written as ``{"all": value,
"n": rows}``, or as its distinct values ``of`` and one short code a row ``at``; a list stays where
that is no shorter. Cases are columns too. :func:`extract_plan` gives the saved plan back as it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from planner.errors import InputError, Problem, Span
from planner.saved import dumps
from reports.view_units import DIRECTION_MARKS

DATA = '<script type="application/json" id="plan-data">'
_END = "</script>"
# What could end the element, begin a comment or turn the text around is an escape of JSON.
_ESCAPED = ["<", ">", "&", "\u2028", "\u2029", *sorted(DIRECTION_MARKS)]
_ESCAPES = {character: f"\\u{ord(character):04x}" for character in _ESCAPED}

CODES = "".join(c for c in map(chr, range(35, 127)) if c not in "<>&\\")
"""The digits of row codes: printable, and never escaped in JSON or in a page."""

_FEWEST = 8  # shorter columns stay lists
_MOST = 1_000_000  # rows of a column: a page from elsewhere must not fill the memory


def embedded(plan_json: str) -> str:
    """JSON text that cannot end the script element that it stands in."""
    return plan_json.translate({ord(character): text for character, text in _ESCAPES.items()})


def packed(plan_json: str) -> str:
    """A saved plan with its cases and values as packed columns."""
    doc = json.loads(plan_json)
    doc["cases"] = _pack_cases(doc["cases"])
    doc["values"] = {name: _pack(column) for name, column in doc["values"].items()}
    return dumps(doc)


def extract_plan(html_text: str) -> str:
    """The JSON text of the plan inside a page.

    Raises:
        InputError: a text that holds no plan.
    """
    start = html_text.find(DATA)
    end = html_text.find(_END, start)
    if start < 0 or end < 0:
        raise InputError(Problem(Span("page"), "", "a page with a plan inside", "none"))
    text = _unescaped(html_text[start + len(DATA) : end].strip() + "\n")
    try:
        return _unpacked(text)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return text  # no plan of ours: its reader says what is wrong with it


def _unescaped(text: str) -> str:
    back = {escape[1:]: character for character, escape in _ESCAPES.items()}
    # An escape counts only after an even number of backslashes; others belong to the text.
    pattern = rf"(?<!\\)((?:\\\\)*)\\({'|'.join(back)})"
    return re.sub(pattern, lambda found: found[1] + back[found[2]], text)


def _unpacked(text: str) -> str:
    doc = json.loads(text)
    if "values" not in doc or "cases" not in doc:
        return text
    doc["cases"] = _unpack_cases(doc["cases"])
    doc["values"] = {name: _unpack(column) for name, column in doc["values"].items()}
    return dumps(doc)


def with_packed_columns(value: Any) -> Any:
    """Plain data with every long list of plain values as a packed column."""
    if isinstance(value, dict):
        return {key: with_packed_columns(one) for key, one in value.items()}
    if not isinstance(value, list):
        return value
    if any(isinstance(one, dict | list) for one in value):
        return [with_packed_columns(one) for one in value]
    return _pack(value)


def with_plain_columns(value: Any) -> Any:
    """The same data as it was before :func:`with_packed_columns`."""
    if isinstance(value, dict):
        if set(value) in ({"all", "n"}, {"of", "at"}):
            return _unpack(value)
        return {key: with_plain_columns(one) for key, one in value.items()}
    return [with_plain_columns(one) for one in value] if isinstance(value, list) else value


# ---- columns -----------------------------------------------------------------------------------


def _pack(column: Any) -> Any:
    """A column packed where that is shorter; a column of columns packs each of them."""
    if not isinstance(column, list) or not column:
        return column
    if isinstance(column[0], list):
        return [_pack(one) for one in column]
    if len(column) < _FEWEST:
        return column
    # 1, 1.0 and true are equal in Python and three texts in JSON.
    distinct = {json.dumps(value, ensure_ascii=False): value for value in column}
    if len(distinct) == 1:
        return {"all": column[0], "n": len(column)}
    width = 1 if len(distinct) <= len(CODES) else 2
    if len(distinct) > len(CODES) ** 2:
        return column
    number = {text: index for index, text in enumerate(distinct)}
    rows = [number[json.dumps(value, ensure_ascii=False)] for value in column]
    made = {"of": list(distinct.values()), "at": "".join(_code(row, width) for row in rows)}
    return made if _size(made) < _size(column) else column


def _code(row: int, width: int) -> str:
    high, low = divmod(row, len(CODES))
    return CODES[low] if width == 1 else CODES[high] + CODES[low]


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _unpack(column: Any) -> Any:
    if isinstance(column, list):
        return [_unpack(one) if isinstance(one, list | dict) else one for one in column]
    if not isinstance(column, dict):
        return column
    if "all" in column:
        if not 0 <= column["n"] <= _MOST:
            raise ValueError("a column that no plan has")
        return [column["all"]] * column["n"]
    known, codes = column["of"], column["at"]
    if len(known) <= len(CODES):
        return [known[CODES.index(code)] for code in codes]
    pairs = zip(codes[::2], codes[1::2], strict=True)
    return [known[CODES.index(high) * len(CODES) + CODES.index(low)] for high, low in pairs]


def _pack_cases(cases: list[dict[str, Any]]) -> Any:
    """Cases as columns, where all have the same keys in the same order."""
    shapes = {(tuple(case), tuple(case["inputs"])) for case in cases}
    if len(shapes) != 1 or len(cases) < _FEWEST:
        return cases
    keys, inputs = shapes.pop()
    return {
        key: {name: _pack([case["inputs"][name] for case in cases]) for name in inputs}
        if key == "inputs"
        else _pack([case[key] for case in cases])
        for key in keys
    }


def _unpack_cases(cases: Any) -> list[dict[str, Any]]:
    if not isinstance(cases, Mapping):
        return list(cases)
    columns = {
        key: {name: _unpack(one) for name, one in value.items()}
        if key == "inputs"
        else _unpack(value)
        for key, value in cases.items()
    }
    return [
        {
            key: {name: one[row] for name, one in value.items()} if key == "inputs" else value[row]
            for key, value in columns.items()
        }
        for row in range(len(columns["id"]))
    ]
