"""Conditional formats: colours of verdicts, and words in the language of the book."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openpyxl.formatting.rule import FormulaRule
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.styles.numbers import NumberFormat
from openpyxl.worksheet.worksheet import Worksheet

from reports.words import called
from reports.workbook import styles

rule: Any = FormulaRule  # its stub has no types
_WORD_FORMAT = 200  # above the numbers of built-in formats; a rule has its own text beside it
_LARGE_FORMAT = 199


def word_rule(corner: str, word: str, **look: Any) -> Any:
    """How a cell looks that holds this word.

    Formulas compare the English words, so cells hold those in every language; a reader of another
    one sees its own word in their place, by the number format of the rule.
    """
    found = rule(formula=[f'{corner}="{word}"'], **look)
    shown = called(word)
    if shown != word:
        text = shown.replace('"', "")
        number = NumberFormat(numFmtId=_WORD_FORMAT, formatCode=f'General;General;General;"{text}"')
        found.dxf.numFmt = number
    return found


def large_rule(ws: Worksheet, cells: str, **look: Any) -> None:
    """Thousands in groups where a column holds numbers, words and flags: its format is General."""
    corner = cells.partition(":")[0]
    found = rule(formula=[f"AND(ISNUMBER({corner}),ABS(N({corner}))>=1000)"])
    number = NumberFormat(numFmtId=_LARGE_FORMAT, formatCode="#,##0")
    found.dxf = DifferentialStyle(numFmt=number, **look)
    ws.conditional_formatting.add(cells, found)


def word_rules(ws: Worksheet, cells: str, words: Iterable[str]) -> None:
    """Cells of formulas that give one of some words; English needs no rule."""
    corner = cells.partition(":")[0]
    for word in words:
        if called(word) != word:
            ws.conditional_formatting.add(cells, word_rule(corner, word))


def verdict_rules(ws: Worksheet, cells: str, corner: str) -> None:
    """Good and bad words get their colour beside the word; errors are unknown figures in muted."""
    for word, role in (("fits", "good"), ("does not fit", "bad"), ("unknown", "warn")):
        ws.conditional_formatting.add(
            cells,
            word_rule(
                corner,
                word,
                font=styles.font(role, bold=True),
                fill=styles.rule_fill(role),
                stopIfTrue=True,
            ),
        )


def unknown_rule(ws: Worksheet, cells: str, corner: str) -> None:
    """Unknown figures are errors in cells; they read muted, not alarming."""
    ws.conditional_formatting.add(
        cells, rule(formula=[f"ISERROR({corner})"], font=styles.font("muted", italic=True))
    )
