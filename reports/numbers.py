"""How numbers are shown to people: one set of rules for page, terminal, CSV and workbook.

A figure has three significant digits and one more near a carry; digits before the decimal point
are never replaced by zeros, so that a tile, a table and a cell show the same digits. Rounding is
decimal, on the shortest text that reads back as the same float, halves away from zero, which is
what a spreadsheet shows for the same value. No locale takes part.

Not-a-number and infinity mean that a value is not known; they are shown as the word, never as 0.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from numbers import Integral
from typing import Literal

Number = float | int | None
Kind = Literal["figure", "count", "bytes", "ratio", "share", "change", "change_share"]

UNKNOWN = "unknown"
NOT_APPLICABLE = "–"
MINUS = "\u2212"

_CONTEXT = Context(prec=400, rounding=ROUND_HALF_UP)
_DIGITS = 3
_SMALLEST = -4  # powers of ten outside this range are written with an exponent
_LARGEST = 15
_LARGEST_IN_FULL = 21  # a count of more digits than this is no longer read digit by digit
_MOST_DECIMALS = 12
# Signs that begin no line; the wide ones as escapes.
_CLOSING = "\uff0c\u3002\u3001\uff1b\uff1a\uff1f\uff01\uff09\u300b\u201d\u2019,.;:?!)]"
_EXTRA_DECIMALS = 3


def is_known(value: Number) -> bool:
    """True for a finite number; ``None``, not-a-number and infinity are not known."""
    return value is not None and (isinstance(value, Integral) or math.isfinite(value))


def show(
    value: Number, kind: Kind = "figure", *, plain: bool = False, unknown: str = UNKNOWN
) -> str:
    """One number as a person reads it, without its unit.

    Args:
        value: the number; a share or a relative change is a fraction (0.875 for 87.5 %).
        kind: what it is. A ``count`` or ``bytes`` is written in full; one that is not whole, such
            as a mean, is shown as a figure rather than rounded to a count that nobody counted.
        plain: ASCII minus, for terminals and CSV.
        unknown: the word for a value that is not known, in the language of the report.

    Raises:
        ValueError: an unknown kind.
    """
    if not is_known(value):
        return unknown
    number = _decimal(value)
    if kind in ("count", "bytes"):
        whole = number == number.to_integral_value()
        text = _fixed(number, 0) if whole else _figure(number)
    elif kind in ("figure", "change"):
        text = _figure(number)
    elif kind == "ratio":
        text = _figure(number) + "x"
    elif kind in ("share", "change_share"):
        text = _percent(number)
    else:
        raise ValueError(f"expected a kind of number, found '{kind}'")
    if kind in ("change", "change_share") and number > 0:
        text = "+" + text
    return text if plain else text.replace("-", MINUS)


def fixed(
    value: Number,
    decimals: int,
    *,
    kind: Kind = "figure",
    plain: bool = False,
    unknown: str = UNKNOWN,
) -> str:
    """One number of a column: always ``decimals`` digits after the point, but ``0`` for zero."""
    if not is_known(value):
        return unknown
    percent = kind in ("share", "change_share")
    number = _decimal(value) * 100 if percent else _decimal(value)
    text = _fixed(number, decimals) if number else "0"
    if kind in ("change", "change_share") and number > 0 and text.strip("0.,"):
        text = "+" + text
    text += " %" if percent else "x" if kind == "ratio" else ""
    return text if plain else text.replace("-", MINUS)


def decimals_for(values: Iterable[Number], kind: Kind = "figure") -> int:
    """The digits after the point that a column of these values needs.

    The largest value gets three significant digits. A column that spans magnitudes gets up to three
    decimals more where that lets a smaller value show two digits. Shares get one at least, whole
    numbers and an empty column none.
    """
    if kind in ("count", "bytes"):
        return 0
    scale = 100 if kind in ("share", "change_share") else 1
    sizes = [abs(_decimal(value)) * scale for value in values if is_known(value) and value]
    if not sizes or all(size == size.to_integral_value() for size in sizes):
        return 0
    least = 1 if scale == 100 else 0
    for_largest = max(least, _DIGITS - 1 - max(sizes).adjusted())
    for_smaller = (_DIGITS - 2 - size.adjusted() for size in sizes)
    useful = [places for places in for_smaller if places <= for_largest + _EXTRA_DECIMALS]
    return min(max(for_largest, *useful, 0), _MOST_DECIMALS)


def column(
    values: Iterable[Number],
    kind: Kind = "figure",
    *,
    plain: bool = False,
    unknown: str = UNKNOWN,
) -> list[str]:
    """A column of numbers with the same digits after the point, ready to be set flush right."""
    kept = list(values)
    decimals = decimals_for(kept, kind)
    return [fixed(value, decimals, kind=kind, plain=plain, unknown=unknown) for value in kept]


def excel_format(kind: Kind, decimals: int = 0) -> str:
    """The spreadsheet number format that shows a column as :func:`fixed` does (ASCII minus).

    The third section keeps a true zero apart from a value that only rounds to zero.
    """
    digits = "#,##0" + ("." + "0" * decimals if decimals else "")
    signs = ("+", "-") if kind in ("change", "change_share") else ("", "-")
    if kind in ("count", "bytes"):
        return "#,##0"
    tail = {"ratio": '"x"', "share": " %", "change_share": " %"}.get(kind, "")
    return f"{signs[0]}{digits}{tail};{signs[1]}{digits}{tail};0{tail}"


def display_width(text: str) -> int:
    """Columns that a text takes on a terminal or in a sheet: wide characters two, marks none."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(_character_width(character) for character in text)


def pieces(text: str) -> list[str]:
    """What a line may be broken into: words, and each wide character (with what closes it)."""
    found: list[str] = []
    for word in text.split():
        start = 0
        for place in range(1, len(word)):
            before, after = (_character_width(c) == 2 for c in word[place - 1 : place + 1])
            if (before or after) and word[place] not in _CLOSING:
                found.append(word[start:place])
                start = place
        found.append(word[start:])
    return found


def wrapped(text: str, width: int, hang: str = "") -> list[str]:
    """A text in lines of at most ``width`` columns, later ones set in by ``hang``.

    It is broken at blanks and beside wide characters; what is longer than a line stays whole.
    """
    lines: list[str] = []
    line = text[: len(text) - len(text.lstrip())]
    fresh = True
    for word in text.split():
        joint = "" if fresh else " "
        for piece in pieces(word):
            if not fresh and display_width(f"{line}{joint}{piece}") > width:
                lines.append(line)
                line, joint = hang, ""
            line += joint + piece
            joint, fresh = "", False
    return [*lines, line]


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill with spaces to ``width`` columns; ``right`` sets the text flush right."""
    space = " " * max(0, width - display_width(text))
    return space + text if right else text + space


def cut(text: str, width: int) -> str:
    """At most ``width`` columns of a text; what was cut is marked with an ellipsis."""
    if display_width(text) <= width:
        return text
    kept, used = "", 1
    for character in text:
        used += _character_width(character)
        if used > width:
            break
        kept += character
    return kept.rstrip() + "…" if width > 0 else ""


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    if unicodedata.category(character) == "Cc":
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _decimal(value: Number) -> Decimal:
    # repr gives the shortest text of a float, so 2.675 is 2.675 here and not the binary value
    # below it. Array scalars become plain numbers first: their repr carries a type name.
    return Decimal(int(value)) if isinstance(value, Integral) else Decimal(repr(float(value or 0)))


def _fixed(number: Decimal, decimals: int) -> str:
    if number.adjusted() >= _LARGEST_IN_FULL:
        return _exponent(number, _DIGITS)
    rounded = number.quantize(Decimal(1).scaleb(-decimals), context=_CONTEXT)
    return f"{rounded if rounded else abs(rounded):,f}"


def _figure(number: Decimal, digits: int = _DIGITS) -> str:
    if not number:
        return "0"
    if not _SMALLEST <= number.adjusted() < _LARGEST:
        return _exponent(number, digits)
    if number == number.to_integral_value():
        return _fixed(number, 0)
    decimals = max(0, digits - 1 - number.adjusted())
    carried = number.quantize(Decimal(1).scaleb(-decimals), context=_CONTEXT).adjusted()
    # 99.96 rounds to 100.0: one digit more than asked for, so it loses its last one.
    return _fixed(number, max(0, digits - 1 - carried))


def _exponent(number: Decimal, digits: int) -> str:
    rounded = number.quantize(Decimal(1).scaleb(number.adjusted() - digits + 1), context=_CONTEXT)
    power = rounded.adjusted()
    return f"{rounded.scaleb(-power, context=_CONTEXT):.{digits - 1}f}e{power}"


def _percent(number: Decimal) -> str:
    percent = number * 100
    text = _figure(percent)
    if text == "100" and percent != 100:  # almost all is not all
        text = _figure(percent, _DIGITS + 1)
    return text + " %"
