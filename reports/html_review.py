"""The page of a review: one file that opens anywhere, script as an extra."""

from __future__ import annotations

from reports.html_diff import page
from reports.view_review import ReviewView

_CHARTED = 2
"""Changes of one step that are drawn; the table of the step has all of them."""


def render(view: ReviewView) -> str:
    """The page of a review."""
    return page(
        "review.html.j2", "", view=view, charted=_CHARTED, tolerance=f"{view.tolerance * 100:g} %"
    )
