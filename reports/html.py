"""One page that opens anywhere: no outside reference, the saved plan inside, script as an extra."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from functools import cache

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from planner.places import written
from planner.resources import data_dir
from reports import charts, numbers, palette
from reports.charts import Chart
from reports.html_data import embedded, extract_plan, packed
from reports.html_script import script
from reports.view import Column, FactCell, FactTable, Row, Table, Term, View
from reports.view_layout import CASE_ROWS, PAGE_ROWS
from reports.words import language, say
from reports.words_source import template_source

_ROOM, _PADDING = 152, 3  # characters that stand side by side on a screen and on paper
_LONGEST_KEY = 60  # a longer one is broken into lines
_SMALL = 9  # tenths of a character that one in small type takes

__all__ = ["extract_plan", "policy_hash", "render", "shown_rows", "stylesheet"]


def render(view: View, plan_json: str) -> str:
    """The page of a view.

    Args:
        view: what to show.
        plan_json: the saved plan as JSON text, to be taken out again by :func:`extract_plan`.
    """
    style, code = stylesheet(), script(view.live)
    template = environment().get_template("report.html.j2")
    return template.render(
        view=view,
        lang=language(),
        style=Markup(style),  # our own text
        style_hash=policy_hash(style),
        script=Markup(code),  # our own text; labels in it are escapes of JSON
        script_hash=policy_hash(code),
        data=Markup(embedded(packed(plan_json))),  # every < and & of it is an escape of JSON
    )


def stylesheet() -> str:
    """The one style of the page: colours, layout, charts, print."""
    layout = (data_dir("templates") / "report.css").read_text("utf-8")
    fonts = f":root{{--font:{palette.FONT_STACK}}}\n"
    return "\n" + palette.css_variables() + fonts + charts.css() + layout


def policy_hash(text: str) -> str:
    """The hash by which the page's policy admits its one style and its one script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# ---- what the template needs -------------------------------------------------------------------


def _source(name: str) -> str:
    return template_source((data_dir("templates") / name).read_text("utf-8"))


@cache
def _environment(language: str) -> Environment:
    """Templates in one language; each is read when it is first asked for."""
    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["svg"] = _svg
    environment.filters["describe"] = charts.describe
    environment.filters["mathml"] = lambda term: Markup(_math(term))
    environment.filters["blocks"] = _blocks
    environment.filters["has_long_key"] = lambda table: _longest_key(table) > _LONGEST_KEY
    environment.filters["fact_blocks"] = _fact_blocks
    environment.filters["link"] = _link
    environment.filters["heat"] = _heat
    environment.filters["spans"] = lambda cases: written(cases).replace(", ", " ")
    environment.globals["key_of"] = _key
    environment.globals["say"] = say
    environment.globals["rows_of"] = shown_rows
    return environment


def environment() -> Environment:
    """What every page is drawn with: our templates alone, every text escaped."""
    return _environment(language())


def shown_rows(table: Table) -> Sequence[Row]:
    """The rows that the page has of a table: of the cases many, of all others fewer."""
    return table.rows[: CASE_ROWS if table.name == "summary" else PAGE_ROWS]


HEAT_STEPS = 6


def _heat(table: Table) -> list[list[str]]:
    """The shade of each cell of a grid, by row and column: the logarithm of what is above zero."""
    rows = range(len(shown_rows(table)))
    logs = [[_logarithm(column, row) for column in table.columns] for row in rows]
    known = [value for line in logs for value in line if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    return [
        ["" if v is None or high == low else _shade((v - low) / (high - low)) for v in line]
        for line in logs
    ]


def _logarithm(column: Column, row: int) -> float | None:
    value = column.values[row]
    if row in column.absent or value is None or isinstance(value, str | bool) or value <= 0:
        return None
    return math.log(value)


def _shade(share: float) -> str:
    return f"h{min(HEAT_STEPS - 1, math.floor(share * HEAT_STEPS))}"


def _svg(chart: Chart, prefix: str) -> Markup:
    return Markup(charts.render(chart, prefix))  # the chart module escapes every label


def _math(term: Term) -> str:
    return term.mathml  # the formula module escapes every label


def _blocks(table: Table) -> Iterator[Sequence[Column]]:
    """The columns in blocks that fit a screen or a sheet of paper side by side."""
    for start, stop in _cuts([_width(column) for column in table.columns], _key_width(table)):
        yield table.columns[start:stop]


def _fact_blocks(facts: FactTable) -> list[tuple[int, int]]:
    """The same for catalog facts: first and last position of each block."""
    key = max(len(label) for _, label in facts.entries) * 2 // 3 + _PADDING
    widths = []
    for number, column in enumerate(facts.columns):
        texts = [cells[number] for cells in facts.cells]
        body = max(max(numbers.display_width(c.text), _small(c)) for c in texts)
        head = _head(column.label)
        widths.append(max(body, head, _SMALL * len(column.unit) // 10, 8) + _PADDING)
    return _cuts(widths, key)


def _head(label: str) -> int:
    """A heading takes about three lines, and the room of its longest piece."""
    longest = max(map(numbers.display_width, numbers.pieces(label)), default=0)
    return max(longest, numbers.display_width(label) // 3)


def _small(cell: FactCell) -> int:
    """The width of what stands below a figure in small type."""
    marks = sum(len(f"[{number}]") for number in cell.sources)
    return (marks + 1 + numbers.display_width(cell.confidence)) * _SMALL // 10


def _cuts(widths: list[int], key: int) -> list[tuple[int, int]]:
    """Ranges of about equal size that fit beside the key."""
    room = max(_ROOM - key, max(widths, default=1))
    count = max(1, -(-sum(widths) // room))
    while True:
        size = max(1, -(-len(widths) // count))
        cuts = [(at, at + size) for at in range(0, max(1, len(widths)), size)]
        if size == 1 or all(sum(widths[a:b]) <= room for a, b in cuts):
            return cuts
        count += 1


def _longest_key(table: Table) -> int:
    drop = table.depth
    keys = [numbers.display_width(" · ".join(row.key[drop:])) for row in table.rows[:PAGE_ROWS]]
    return max(keys, default=8)


def _key_width(table: Table) -> int:
    extra = [
        max(
            [
                numbers.display_width(label),
                *(numbers.display_width(row.extra[i]) for row in table.rows[:PAGE_ROWS]),
            ]
        )
        for i, label in enumerate(table.extra_labels)
    ]
    return min(_longest_key(table), _LONGEST_KEY) + sum(extra) + _PADDING * (1 + len(extra))


def _width(column: Column) -> int:
    """About the characters that a column takes: its words, unit and values."""
    head = _head(column.label)
    body = max(
        (numbers.display_width(column.text(i)) for i in range(min(len(column.values), 200))),
        default=0,
    )
    return max(head, body, _SMALL * len(column.unit) // 10, 8) + _PADDING


def _key(table: Table, index: int, depth: int) -> tuple[str, str, str]:
    """The key of a row below its group: what repeats the row above, a first part, and the rest."""
    key = table.rows[index].key
    above = table.rows[index - 1].key if index else ()
    same = depth
    if key[:depth] == above[:depth]:
        while same < len(key) - 1 and above[same : same + 1] == (key[same],):
            same += 1
    joint = " · "
    if same > depth:
        return joint.join(key[depth:same]) + joint, "", joint.join(key[same:])
    if depth or len(key) == 1:
        return "", "", joint.join(key[depth:])
    return "", key[0], joint + joint.join(key[1:])


def _link(url: str) -> str:
    """The address of a source if it is one that a reader may follow, else nothing."""
    return url if re.match(r"https?://[^\s]+$", url) else ""
