"""Numbers and text as XML text of a cell: the one place for escapes, number forms and refusals.

Lists are treated whole (one join, one check, one split), because a table body has a million cells
and a Python call for each would cost more than writing it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_TEXT = 32_767
"""Longest text of a cell, in UTF-16 units as spreadsheet programs count it."""

MAX_EXACT = 2**53
"""Whole numbers above this need not have a double of their own."""

ERRORS = ("#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")

# What XML 1.0 cannot hold. The zero byte is left out: it separates the texts of a joined list.
_BAD = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# Spreadsheet programs read _x0041_ inside text as the character of that number; a text that only
# looks so gets its underscore written in that very form.
_LOOKS_CODED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_CODED = re.compile("_x([0-9A-Fa-f]{4})_")


@dataclass(frozen=True, slots=True)
class CellError:
    """An error as a cell's value, such as ``CellError("#DIV/0!")``.

    Raises:
        ValueError: the code is not one that every spreadsheet program knows.
    """

    code: str = "#N/A"

    def __post_init__(self) -> None:
        if self.code not in ERRORS:
            raise ValueError(f"expected one of {', '.join(ERRORS)}, found {self.code!r}")


Scalar = float | int | bool | str | CellError | None
"""One value of a cell; ``None`` and NaN are "no value"."""


def xml_text(text: str) -> str:
    """One text escaped for element content.

    Raises:
        ValueError: control characters, lone surrogates, or more than ``MAX_TEXT`` units.
    """
    return xml_texts([text])[0]


def xml_texts(texts: Sequence[str]) -> list[str]:
    """Texts escaped for element content, in the same order.

    Raises:
        ValueError: as ``xml_text``; the message shows the start of the first bad text.
        TypeError: something in the list is no text.
    """
    if not texts:
        return []
    joined = "\0".join(texts)
    if joined.count("\0") != len(texts) - 1 or _BAD.search(joined):
        _refuse_characters(texts)
    if len(joined) > MAX_TEXT // 2 and max(map(len, texts)) > MAX_TEXT // 2:
        _refuse_length(texts)
    return _escape(joined).split("\0")


def fitting(text: str) -> str:
    """A text as a cell can hold it: what XML has no form for becomes U+FFFD, the rest is cut."""
    if len(text) <= MAX_TEXT // 2 and "\0" not in text and not _BAD.search(text):
        return text
    plain = _BAD.sub("\ufffd", text.replace("\0", "\ufffd"))
    units = plain.encode("utf-16-le")
    if len(units) <= 2 * MAX_TEXT:
        return plain
    return units[: 2 * MAX_TEXT - 2].decode("utf-16-le", "ignore") + "…"


def xml_json(text: str) -> str:
    """A JSON text in which characters that XML has no form for stand as their escapes."""
    return _BAD.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def coded(text: str) -> str:
    """Text for a writer that does not know ``_x0041_``: what only looks so is marked as text."""
    return _LOOKS_CODED.sub("_x005F_", text)


def xml_formula(text: str) -> str:
    """Formula text escaped for ``<f>``; no form for odd characters exists there, so none is used.

    Raises:
        ValueError: control characters or lone surrogates.
    """
    if "\0" in text or _BAD.search(text):
        _refuse_characters([text])
    return _entities(text)


def xml_attribute(text: str) -> str:
    """Text escaped for a double-quoted attribute."""
    return xml_formula(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")


def decoded(text: str) -> str:
    """Text as a spreadsheet program shows it: ``_x000D_`` and its like become characters."""
    if "_x" not in text:
        return text
    return _CODED.sub(lambda found: chr(int(found[1], 16)), text)


def number_text(value: float) -> str:
    """The shortest text that reads back as the same double; whole numbers without a fraction.

    Raises:
        ValueError: NaN, infinity, or a whole number that no double holds.
    """
    if isinstance(value, int) and abs(value) > MAX_EXACT and int(float(value)) != value:
        raise ValueError(f"expected a whole number that a double holds, found {value}")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, found {number}")
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def number_texts(values: NDArray[np.float64]) -> list[str]:
    """``number_text`` for a block of doubles of shape (n,); NaN comes back as ``nan``.

    Raises:
        ValueError: infinity.
    """
    if np.isinf(values).any():
        raise ValueError("expected finite numbers, found infinity")
    if values.size and (values == values[0]).all():
        return [number_text(float(values[0]))] * len(values)
    whole = (np.rint(values) == values) & (np.abs(values) < 1e15)
    if whole.all():
        return list(map(str, values.astype(np.int64).tolist()))
    texts = list(map(repr, values.tolist()))
    for index in np.flatnonzero(whole).tolist():
        texts[index] = str(int(values[index]))
    return texts


def typed(value: Scalar) -> tuple[str, str]:
    """The ``t`` of a formula cell ('' for numbers) and the text of its ``<v>``.

    Raises:
        ValueError: infinity, or text that a cell cannot hold.
        TypeError: a value of another type.
    """
    if value is None:
        return "e", CellError().code
    if isinstance(value, CellError):
        return "e", value.code
    if isinstance(value, (bool, np.bool_)):
        return "b", "1" if value else "0"
    if isinstance(value, str):
        return "str", xml_text(value)
    if isinstance(value, (float, int, np.integer)):
        number = int(value) if isinstance(value, np.integer) else value
        return ("e", CellError().code) if number != number else ("", number_text(number))
    raise TypeError(f"expected a number, text, truth value or error, found {type(value).__name__}")


def _entities(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        if character in text:
            text = text.replace(character, entity)
    return text


def _escape(text: str) -> str:
    return _LOOKS_CODED.sub("_x005F_", _entities(text)) if "_x" in text else _entities(text)


def _refuse_characters(texts: Sequence[str]) -> None:
    for text in texts:
        found = "\0" if "\0" in text else (m := _BAD.search(text)) and m[0]
        if found:
            raise ValueError(
                f"expected text that XML can hold, found U+{ord(found):04X} in {text[:40]!r}"
            )


def _refuse_length(texts: Sequence[str]) -> None:
    for text in texts:
        units = len(text.encode("utf-16-le")) // 2
        if units > MAX_TEXT:
            raise ValueError(
                f"expected text of at most {MAX_TEXT} units, found {units} in {text[:40]!r}"
            )
