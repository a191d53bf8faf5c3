"""Cell references: letters and numbers of columns, limits of a sheet."""

from __future__ import annotations

import re

MAX_ROW = 1_048_576
MAX_COLUMN = 16_384

_REF = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")


def column_letter(number: int) -> str:
    """Letters of a column counted from 1: 1 is A, 28 is AB."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """Number of a column from its letters: A is 1, AB is 28."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def split_ref(ref: str) -> tuple[str, int]:
    """Letters and row of a reference such as ``AB12``.

    Raises:
        ValueError: no plain reference, or one outside a sheet.
    """
    found = _REF.fullmatch(ref)
    if not found or int(found[2]) > MAX_ROW or column_number(found[1]) > MAX_COLUMN:
        raise ValueError(f"expected a cell such as B7, found {ref!r}")
    return found[1], int(found[2])
