"""The example's workbook as text: headings and the first row of each sheet, for review by eye.

``pytest --update`` keeps a new text and prints what moved.
"""

from __future__ import annotations

import re

from support.golden import Golden
from support.tools import REPOSITORY
from support.workbook import FIRST, HEADING, Made, engine_plan, make
from support.xlsx import Value, position

from planner.saved import product_version

GOLDEN = REPOSITORY / "tests" / "golden" / "workbook" / "example.txt"
FRONT = {"Cover": 60, "Summary": 36, "Checks": 60}  # made cell by cell: rows shown
# Of a figure with a cell a layer group, stage or rung only the first is shown.
_LATER = re.compile(r"\[(?:stage )?(?:[2-9]|\d+: [2-9]|[2-9]: \d+)\]$")
_HASH = re.compile(r"\b[0-9a-f]{12}\b")


def test_the_examples_workbook_reads_as_it_did(golden: Golden) -> None:
    made = make(engine_plan("example"), bare=True)
    GOLDEN.parent.mkdir(exist_ok=True)
    golden.check(GOLDEN, "\n".join(dump(made)) + "\n", "tests/golden/workbook/example.txt")


def dump(made: Made) -> list[str]:
    """``sheet!cell kind | heading (unit) | formula | value`` for formulas and heads."""
    lines = [f"name {name} = {target}" for name, target in sorted(made.names.items())]
    for sheet in dict.fromkeys(sheet for sheet, _ in made.values):
        lines.append("")
        places = [p for p in made.values if p[0] == sheet and _shown(made, p)]
        lines += [_line(made, place) for place in places]
        if sheet not in FRONT:
            typed = [p for p in made.values if p[0] == sheet and _typed(made, p)]
            lines += ["typed in: " + ", ".join(_heading(made, p) for p in typed)] if typed else []
    return lines


def _shown(made: Made, place: tuple[str, str]) -> bool:
    """Title and sentence of each sheet, all of the front, the formulas of a table's first row."""
    sheet, address = place
    row = position(address)[0]
    if sheet in FRONT:
        return row < FRONT[sheet] and made.values[place] != ""
    if address in ("A1", "A2"):
        return True
    # A column of a rung has a number for its heading; the first rung of a figure is enough.
    here, left = (made.values.get((sheet, f"{letters}{HEADING}"))
                  for letters in (re.sub(r"\d", "", address), _before(address)))  # fmt: skip
    rung = isinstance(here, float) and isinstance(left, float)
    later = rung or (isinstance(here, str) and _LATER.search(here))
    return row == FIRST and place in made.formulas and not later


def _typed(made: Made, place: tuple[str, str]) -> bool:
    row = position(place[1])[0]
    return row == FIRST and place not in made.formulas and bool(_heading(made, place))


def _before(address: str) -> str:
    column = position(address)[1] - 1
    text = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text or "A"


def _heading(made: Made, place: tuple[str, str]) -> str:
    letters = re.sub(r"\d", "", place[1])
    head = _text(made.values.get((place[0], f"{letters}{HEADING}"), ""))
    unit = _text(made.values.get((place[0], f"{letters}{HEADING + 1}"), ""))
    return f"{head} ({unit})" if unit and position(place[1])[0] == FIRST else head


def _line(made: Made, place: tuple[str, str]) -> str:
    value, formula = made.values[place], made.formulas.get(place, "")
    kind = {bool: "flag", float: "number"}.get(type(value), "text")
    table = position(place[1])[0] == FIRST and place[0] not in FRONT
    parts = [f"{place[0]}!{place[1]} {kind}", *([_heading(made, place)] if table else []),
             *([f"={formula}"] if formula else []), _text(value)]  # fmt: skip
    return " | ".join(parts)


def _text(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    if value == product_version():
        return "(version)"
    return _HASH.sub("(hash)", str(value).replace("\n", " ")[:160])
