"""One page that opens anywhere: no script, no outside reference, the saved plan inside."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from planner.errors import InputError, Problem, Span
from planner.resources import data_dir
from reports import charts, palette
from reports.charts import Chart
from reports.view import Column, Row, Table, Term, View
from reports.view_layout import PAGE_ROWS

_BLOCK = 10  # columns that stand side by side on a screen and on paper
_DATA = '<script type="application/json" id="plan-data">'
_END = "</script>"
# What could end the element or begin a comment is written as an escape of JSON.
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def render(view: View, plan_json: str) -> str:
    """The page of a view.

    Args:
        view: what to show.
        plan_json: the saved plan as JSON text, to be taken out again by :func:`extract_plan`.
    """
    style = stylesheet()
    template = _environment().get_template("report.html.j2")
    return template.render(
        view=view,
        style=Markup(style),  # our own text
        style_hash=style_hash(style),
        data=Markup(embedded(plan_json)),  # every < and & of it is an escape of JSON
    )


def stylesheet() -> str:
    """The one style of the page: colours, layout, charts, print."""
    layout = (data_dir("templates") / "report.css").read_text("utf-8")
    fonts = f":root{{--font:{palette.FONT_STACK}}}\n"
    return "\n" + palette.css_variables() + fonts + charts.css() + layout


def style_hash(style: str) -> str:
    """The hash by which the page's policy admits its style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def embedded(plan_json: str) -> str:
    """JSON text that cannot end the script element that it stands in."""
    return "".join(_ESCAPES.get(character, character) for character in plan_json)


def extract_plan(html_text: str) -> str:
    """The JSON text of the plan inside a page.

    Raises:
        InputError: a text that holds no plan.
    """
    start = html_text.find(_DATA)
    end = html_text.find(_END, start)
    if start < 0 or end < 0:
        raise InputError(Problem(Span("page"), "", "a page with a plan inside", "none"))
    text = html_text[start + len(_DATA) : end].strip() + "\n"
    back = {escape[1:]: character for character, escape in _ESCAPES.items()}
    # An escape counts only after an even number of backslashes; others belong to the text.
    pattern = r"(?<!\\)((?:\\\\)*)\\(u003c|u003e|u0026|u2028|u2029)"
    return re.sub(pattern, lambda found: found[1] + back[found[2]], text)


# ---- what the template needs -------------------------------------------------------------------


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(data_dir("templates")),
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
    environment.filters["link"] = _link
    environment.globals["parts"] = _parts
    environment.globals["PAGE_ROWS"] = PAGE_ROWS
    return environment


def _svg(chart: Chart, prefix: str) -> Markup:
    return Markup(charts.render(chart, prefix))  # the chart module escapes every label


def _math(term: Term) -> str:
    return term.mathml  # the formula module escapes every label


def _blocks(table: Table) -> Iterator[Sequence[Column]]:
    """The columns in blocks of about equal size that fit side by side."""
    count = max(1, -(-len(table.columns) // _BLOCK))
    size = -(-len(table.columns) // count)
    for start in range(0, max(1, len(table.columns)), max(1, size)):
        yield table.columns[start : start + size]


def _parts(rows: Sequence[Row], index: int) -> list[tuple[str, bool]]:
    """The key of a row, each part with whether it repeats the row above up to there."""
    above = rows[index - 1].key if index else ()
    found, same = [], True
    for number, part in enumerate(rows[index].key):
        same = same and above[number : number + 1] == (part,)
        found.append((part, same))
    return found


def _link(url: str) -> str:
    """The address of a source if it is one that a reader may follow, else nothing."""
    return url if re.match(r"https?://[^\s]+$", url) else ""
