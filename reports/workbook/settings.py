"""What tells two cases apart beside model, GPU and workload, as one short live text a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from openpyxl.worksheet.worksheet import Worksheet

from planner.inputs import Case
from planner.planning import Plan
from reports.words import say
from reports.workbook.address import Addresses
from reports.workbook.case_columns import PICKS
from reports.workbook.case_sheets import CASES
from reports.workbook.tables import FIRST, Book

# How each choice is written, before and after its value.
_WORDS = {
    "tp": ("TP", ""), "pp": ("PP", ""), "dp": ("DP", ""), "ep": ("EP", ""), "dcp": ("DCP", ""),
    "context": ("", " tokens"), "weight_format": ("", ""), "kv_format": ("KV ", ""),
    "compute_dtype": ("compute ", ""), "batch": ("batch ", ""),
}  # fmt: skip
# Two texts of a case, short enough for one formula each. The first choice is always shown, the
# others where cases differ in them.
LAYOUT = ("tp", "pp", "dp", "ep", "dcp")
SETTING = ("context", "weight_format", "kv_format", "compute_dtype", "batch")
# What changes how many requests a GPU holds.
_HOLDS = ("weight_format", "kv_format", "context")
_BETWEEN = " · "


def _value(name: str) -> Callable[[Case], str]:
    if name in PICKS:
        return lambda case: str(getattr(case, name))
    return lambda case: (
        f"{value:.0f}" if isinstance(value := case.inputs[name], float) else str(value)
    )


class Settings:
    """The choices of a case, each with a cell that says whether the cases differ in it.

    The texts are live: they follow what is changed on Cases.
    """

    def __init__(self, plan: Plan, at: Addresses, sheet: str, top: int) -> None:
        self.plan, self.at, self.top = plan, at, top
        self.differs = {n: len({_value(n)(case) for case in plan.cases}) > 1 for n in _WORDS}
        self.flags = {n: f"{sheet}!$C${row}" for row, n in enumerate(_WORDS, top)}
        self.next_row = top + len(_WORDS)

    def write(self, book: Book, ws: Worksheet) -> None:
        """The cells that say in which choices the cases differ."""
        last = FIRST + len(self.plan.cases) - 1
        for row, name in enumerate(_WORDS, self.top):
            letter = self.at.letter(_key(name))
            cells = f"{CASES}!${letter}${FIRST}:${letter}${last}"
            book.text(ws, f"A{row}", say(f"Cases differ: {name}"))
            formula = f"SUMPRODUCT(({cells}<>{CASES}!${letter}${FIRST})*1)>0"
            book.formula(ws, f"C{row}", formula, self.differs[name])

    def text(self, case: Case, names: Sequence[str]) -> str:
        """The text of a case over some choices."""
        first, *others = (_value(n)(case).join(_WORDS[n]) for n in names)
        shown = (t for n, t in zip(names[1:], others, strict=True) if self.differs[n])
        return _BETWEEN.join([first, *shown])

    def formula(self, names: Sequence[str]) -> str:
        """The same text as a formula over the cells of Cases in row ``{r}``."""
        return "&".join([self._part(names[0], ""), *(self._optional(n) for n in names[1:])])

    def label(self, case: Case) -> str:
        """Who holds how much: model, GPU, layout, and what else changes it."""
        more = [_value(n)(case).join(_WORDS[n]) for n in _HOLDS if self.differs[n]]
        return _BETWEEN.join([case.model, case.gpu, self.text(case, LAYOUT), *more])

    def label_formula(self, layout: str) -> str:
        """The label as a formula; ``layout`` refers to the text of the layout."""
        names = [self._cell("#model"), self._cell("#gpu"), layout]
        return "&".join([f'&"{_BETWEEN}"&'.join(names), *(self._optional(n) for n in _HOLDS)])

    def _part(self, name: str, between: str) -> str:
        head, tail = _WORDS[name]
        start = [f'"{between}{head}"'] if between or head else []
        return "&".join([*start, self._cell(_key(name)), *([f'"{tail}"'] if tail else [])])

    def _optional(self, name: str) -> str:
        return f'IF({self.flags[name]},{self._part(name, _BETWEEN)},"")'

    def _cell(self, key: str) -> str:
        return f"{CASES}!{self.at.letter(key)}{{r}}"


def _key(name: str) -> str:
    return f"#{name}" if name in PICKS else name
