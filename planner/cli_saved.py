"""A finished plan from its file, or from the copy that rides inside a workbook or page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import InputError, Problem, Span

if TYPE_CHECKING:
    from planner.planning import Plan

WORKBOOKS = (".xlsx", ".xlsm")
PAGES = (".html", ".htm")
SUFFIXES = (".json", *WORKBOOKS, *PAGES)
"""File names of finished plans; a file of any other name is a scenario."""


def load_saved(path: Path) -> Plan:
    """The plan as it was issued; what people changed in a workbook since then is not in it.

    Raises:
        InputError: an unreadable file, or one without a plan.
    """
    from planner import saved

    suffix = path.suffix.lower()
    if suffix in WORKBOOKS:
        return saved.loads(_of_workbook(path), str(path))
    if suffix in PAGES:
        return saved.loads(_of_page(path), str(path))
    return saved.load(path)


def load(path: str | Path) -> Plan:
    """A plan from ``NAME.plan.json``, from a workbook (``.xlsx``) or from a page (``.html``).

    The plan as it was issued: what people changed in a workbook since then is not in it.

    Raises:
        InputError: an unreadable file, or one without a plan.
    """
    return load_saved(Path(path))


def _of_workbook(path: Path) -> str:
    from reports.workbook.package import Package, PackageError, extract

    try:
        return extract(Package.read(path), "plan").decode()
    except PackageError as error:
        found = str(error).rpartition(" found ")[2]
        raise _refused(path, "a workbook with a plan inside", found) from None
    except OSError as error:
        raise _refused(path, "a readable file", (error.strerror or "none").lower()) from None


def _of_page(path: Path) -> str:
    from reports.html import extract_plan

    try:
        return extract_plan(path.read_text("utf-8"))
    except InputError:
        raise _refused(path, "a page with a plan inside", "none") from None
    except UnicodeDecodeError:
        raise _refused(path, "a page with a plan inside", "no UTF-8 text") from None
    except OSError as error:
        raise _refused(path, "a readable file", (error.strerror or "none").lower()) from None


def _refused(path: Path, expected: str, found: str) -> InputError:
    return InputError(Problem(Span(str(path)), "", expected, found))
