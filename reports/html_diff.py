"""The page of a comparison: one file that opens anywhere, script as an extra, the JSON inside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

from jinja2 import Environment
from markupsafe import Markup

from planner.errors import InputError, Problem, Span
from planner.resources import data_dir
from planner.saved import dumps, product_version
from reports import html
from reports.html_data import embedded, with_packed_columns, with_plain_columns
from reports.html_script import comparing_script
from reports.view_diff_charts import waterfall_of
from reports.view_diff_parts import MARK_ORDER, MARK_TONES, DiffBook, DiffCase, DiffView
from reports.view_grid import Value
from reports.view_layout import CASE_ROWS, PAGE_ROWS
from reports.words import language

_DATA = '<script type="application/json" id="diff-data">'
_CASES = 20
"""Cases whose every figure stands on the page; the table of cases has all of them."""


_FIRST_ROWS = 12
"""Figures of a case that a reader sees at once; the others stand folded below them."""


def render(book: DiffBook, date: str, document: str) -> str:
    """The page of one comparison, or of the steps along a line of cards.

    Args:
        book: what to show.
        date: the day of the newest plan.
        document: the comparison as JSON text, which rides inside.
    """
    inside = dumps(with_packed_columns(json.loads(document)))
    return page("diff.html.j2", inside, book=book, date=date)


def extract(html_text: str) -> str:
    """The JSON text of the comparison inside a page.

    Raises:
        InputError: a text that holds no comparison.
    """
    try:
        _, _, rest = html_text.partition(_DATA)
        return dumps(with_plain_columns(json.loads(rest.partition("</script>")[0])))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        found = Problem(Span("page"), "", "a page with a comparison inside", "none")
        raise InputError(found) from None


def page(template: str, document: str, **values: object) -> str:
    """A page in the look of all pages; its policy admits its one style and its one script.

    Args:
        template: the file of the template.
        document: JSON text that rides inside.
        values: what the template names.
    """
    style, code = stylesheet(), comparing_script()
    return comparing().get_template(template).render(
        style=Markup(style),  # our own text
        style_hash=html.policy_hash(style),
        script=Markup(code),  # our own text, and none of a plan
        script_hash=html.policy_hash(code),
        version=product_version(),
        lang=language(),
        data=Markup(embedded(document)),  # every < and & of it is an escape of JSON
        **values,
    )  # fmt: skip


def stylesheet() -> str:
    """The style of the report page and the few rules that comparisons add."""
    return html.stylesheet() + (data_dir("templates") / "compare.css").read_text("utf-8")


def comparing() -> Environment:
    """The environment of the report page with what comparisons need."""
    return _comparing(language())


@cache
def _comparing(language: str) -> Environment:
    """The same in one language, which the report's own templates are read in."""
    environment = html.environment().overlay()
    # An overlay shares the tables of what it lies over: these are its own.
    environment.filters = {
        **environment.filters, "waterfall": waterfall_of, "shown_cases": _shown_cases,
        "plain": _plain,
    }  # fmt: skip
    environment.globals = {
        **environment.globals, "tones": MARK_TONES, "mark_order": MARK_ORDER,
        "most_cases": CASE_ROWS, "most_rows": PAGE_ROWS, "first_rows": _FIRST_ROWS,
    }  # fmt: skip
    return environment


def _plain(value: Value) -> str:
    """A raw value for a script to sort by; nothing where it is not known."""
    return "" if value is None else str(value)


def _shown_cases(view: DiffView) -> Sequence[DiffCase]:
    """The cases that are explained, else the first one."""
    explained = {b.pair for b in view.bridges if b.pair is not None}
    return [c for c in view.cases if c.pair in explained][:_CASES] or view.cases[:1]
