"""What ``observe`` prints: what a log states, and planned beside measured, as text and as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from planner.importers.startup_log import QUANTITIES, Observation, Reading, token_report
from planner.observation import GIB, Compared, Figure
from reports.numbers import UNKNOWN, display_width, fixed, pad, show
from reports.text_explain import wrapped

Row = dict[str, Any]
MIB = 2**20
_MOST_RANKS = 8
_PARTS = {"core", "platform", "k_type", "v_type", "kv_kind", "kv_self", "pool_tokens"}
"""What other quantities already say; all of it is in the data."""
_WORDS = {"token/request": "token", "token/block": "token", "byte/gpu": "byte", "gpu": "1"}


def amount(value: Figure, unit: str, small: bool = False) -> str:
    """A figure of a log, with the digits that logs have: two decimals for memory and times.

    Args:
        value: in base units.
        unit: the base unit; empty for a word.
        small: memory in MiB instead of GiB.
    """
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return value
    base = _WORDS.get(unit, unit)
    if base == "byte":
        return (
            f"{fixed(value / (MIB if small else GIB), 2, plain=True)} {'MiB' if small else 'GiB'}"
        )
    if base == "request":
        return fixed(value, 2, plain=True) + "x"
    if base == "1":
        return show(value, plain=True)
    noun = base.removesuffix("/gpu")
    plural = "s" if noun in ("token", "block") and value != 1 else ""
    return f"{show(value, 'count', plain=True)} {noun}{plural}"


def _stated(reading: Reading) -> str:
    quantity = QUANTITIES[reading.quantity]
    if reading.quantity == "token_bytes":
        return amount(reading.value, "byte/token")
    return amount(reading.value, quantity.unit, reading.unit in ("MiB", "KiB", "B"))


def _ranks(seen: Observation, name: str) -> str:
    """The figures of all ranks, where more than one states a quantity."""
    found = seen.by_rank(name)
    named = [rank for rank in found if rank]
    if QUANTITIES[name].kind == "words":
        return ""
    if len({one.value for one in found.values()}) < 2:
        return f"{len(named)} ranks alike" if len(named) > 1 else ""
    shown = list(found.items())[:_MOST_RANKS]
    listed = [f"{rank or 'no rank'} {_stated(one)}" for rank, one in shown]
    more = len(found) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more else "")


# ---- text --------------------------------------------------------------------------------------


def observed(seen: Observation, log: str, width: int) -> str:
    """What one engine start states, a quantity a line, then the lines that mislead."""
    dated = f", dated {seen.date}" if seen.date else ""
    lines = [*wrapped(f"{log}: {seen.name}, from line {seen.first_line}{dated}", width, "  ")]
    found = [(name, reading) for name in seen.quantities if (reading := seen.reading(name))]
    rows = [
        (QUANTITIES[name].label, _stated(one), f"line {one.line}" + " derived" * one.derived,
         _ranks(seen, name))
        for name, one in found
        if name not in _PARTS
    ]  # fmt: skip
    lines += table(rows, width)
    if seen.doubts:
        lines += ["", "not to be taken at face value"]
    for doubt in seen.doubts:
        text = f"  line {doubt.line}, {QUANTITIES[doubt.quantity].label}: {doubt.text}"
        lines += wrapped(text, width, "    ")
    return "\n".join(lines) + "\n"


def compared(rows: Sequence[Compared], case: str, width: int) -> str:
    """Planned, measured, error, and below what explains a difference."""
    head = ("quantity", "planned", "measured", "error")
    cells = [head] + [
        (row.label, amount(row.planned, row.unit), amount(row.measured, row.unit), _error(row))
        for row in rows
    ]  # fmt: skip
    sizes = [max(display_width(line[i]) for line in cells) for i in range(len(head))]
    lines = [*wrapped(f"planned beside measured, case {case}", width, "  ")]
    for index, line in enumerate(cells):
        first = pad(line[0], sizes[0])
        rest = [pad(cell, size, right=True) for cell, size in zip(line[1:], sizes[1:], strict=True)]
        lines += wrapped("  ".join([first, *rest]).rstrip(), max(width, sum(sizes) + 6), "    ")
        row = rows[index - 1] if index else None
        for text in (row.cause, row.note) if row else ():
            lines += wrapped(f"    {text}", width, "      ") if text else []
    return "\n".join(lines) + "\n"


def _error(row: Compared) -> str:
    return "" if row.error is None else fixed(row.error, 2, kind="change_share", plain=True)


def table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Aligned columns; the last one is broken to the width."""
    if not rows:
        return []
    sizes = [min(60, max(display_width(row[i]) for row in rows)) for i in range(len(rows[0]) - 1)]
    lines: list[str] = []
    for row in rows:
        cells = [pad(cell, size) for cell, size in zip(row, sizes, strict=False)]
        text = "  ".join(["", *cells, row[-1]]).rstrip()
        lines += wrapped(text, width, " " * min(width // 2, sum(sizes) + 2 * len(sizes) + 2))
    return lines


# ---- data --------------------------------------------------------------------------------------


def observed_data(seen: Observation, log: str) -> Row:
    """One engine start as plain data: what counts, every rank, every doubt."""
    return {
        "log": log, "engine": seen.engine, "name": seen.name, "date": seen.date,
        "first_line": seen.first_line, "token_report": token_report(seen),
        "quantities": {name: _quantity(seen, name) for name in seen.quantities},
        "doubts": [
            {"quantity": one.quantity, "line": one.line, "text": one.text} for one in seen.doubts
        ],
    }  # fmt: skip


def _quantity(seen: Observation, name: str) -> Row:
    counted = seen.reading(name)
    assert counted is not None
    ranks = [
        {"rank": rank, "value": one.value, "line": one.line}
        for rank, one in seen.by_rank(name).items()
    ]
    return {
        "label": QUANTITIES[name].label, "value": counted.value, "unit": QUANTITIES[name].unit,
        "line": counted.line, "derived": counted.derived, "printed": counted.printed,
        "ranks": ranks,
    }  # fmt: skip


def compared_data(rows: Iterable[Compared], case: str) -> Row:
    """Planned beside measured as plain data, in base units."""
    fields = Compared.__dataclass_fields__
    return {"case": case, "rows": [{name: getattr(row, name) for name in fields} for row in rows]}
