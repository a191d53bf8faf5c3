"""The sheet of mixtures: a row a mixture, the weights of every driver as formulas of its bits.

A share is the product of a column of weights with a column of figures, so that the division is
live: who changes a figure sees every share follow. Figures between the plans come from the engine;
the first and the last row are the two plans, linked to the sheet of figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from openpyxl.utils import get_column_letter

from reports.numbers import excel_format
from reports.view_diff_parts import Bridge, Mixing
from reports.words import say, term
from reports.workbook.tables import FIRST, UNIT, Book, Table, TableColumn, spacer

_SHARE = "0.0000;-0.0000;0"

Ends = Mapping[str, tuple[str, str]]
"""By metric: the cells of the old and of the new figure."""


@dataclass(frozen=True)
class Placed:
    """A placed sheet of mixtures."""

    table: Table
    mixing: Mixing

    def share(self, driver: str, metric: str) -> str:
        """The formula of the share of one driver; empty where it takes no part."""
        ids = [one for one, _, _ in self.mixing.drivers]
        if driver not in ids:
            return ""
        weight = self.table.span(f"weight {ids.index(driver)}")
        return f"SUMPRODUCT({weight},{self.table.span(metric)})"


def mixtures_sheet(book: Book, name: str, bridges: Sequence[Bridge], ends: Ends) -> Placed:
    """Write the mixtures that the bridges of one pair, or of the plan, share.

    ``bridges`` have the same drivers, and a ``mixing`` each.
    """
    mixings = {b.metric: b.mixing for b in bridges if b.mixing is not None}
    first = next(iter(mixings.values()))
    count = len(first.values)
    numbers = [float(n) for n in range(count)]
    mask = TableColumn("#mask", "Mixture", numbers, role="key", number_format="0", width=9)
    columns = [mask, *_bits(first, count), spacer(), *_weights(first), spacer()]
    columns += [
        TableColumn(
            b.metric, b.label, list(mixings[b.metric].values), unit=b.unit, role="catalog",
            number_format=excel_format("figure", b.decimals), width=16,
        )
        for b in bridges
    ]  # fmt: skip
    answers = term(
        "What is the figure with some inputs new and the others old? Row 0 is the old plan."
    )
    ws = book.sheet(name, say(f"Mixtures, {bridges[0].case}"), answers, "calculation")
    pieces = [_rows(columns, mixings, ends, start, stop) for start, stop in _runs(count)]
    table = book.table(ws, pieces[0], 1, 1)
    for (start, stop), piece in zip(_runs(count)[1:], pieces[1:], strict=True):
        book.add_rows(name, piece, FIRST + start, stop - start)
    ws.auto_filter.ref = f"A{UNIT}:{get_column_letter(len(columns))}{FIRST + count - 1}"
    return Placed(replace(table, count=count), first)


def _runs(count: int) -> list[tuple[int, int]]:
    """The old plan, what lies between, and the new plan: their formulas differ."""
    return [(a, b) for a, b in ((0, 1), (1, count - 1), (count - 1, count)) if b > a]


def _rows(
    columns: Sequence[TableColumn], mixings: Mapping[str, Mixing], ends: Ends, start: int, stop: int
) -> list[TableColumn]:
    last = next(iter(mixings.values()))
    side = 0 if start == 0 else 1 if stop == len(last.values) else None
    return [_part(c, mixings.get(c.key), ends, side, start, stop) for c in columns]


def _part(
    column: TableColumn, mixing: Mixing | None, ends: Ends, side: int | None, start: int, stop: int
) -> TableColumn:
    if column.spacer:
        return column
    part = replace(column, values=list(column.values[start:stop]))
    if side is None or mixing is None or column.key not in ends:
        return part
    shift = mixing.shift[side]
    formula = ends[column.key][side] + (f"+({shift!r})" if shift else "")
    return replace(part, formula=formula, role="linked")


def _bits(mixing: Mixing, count: int) -> list[TableColumn]:
    return [
        TableColumn(
            f"bit {i}", label, [float(n >> i & 1) for n in range(count)], unit=term("1 is new"),
            formula=f"MOD(INT($A{{r}}/{2**i}),2)", number_format="0", width=12,
        )
        for i, (_, label, _) in enumerate(mixing.drivers)
    ]  # fmt: skip


def _weights(mixing: Mixing) -> list[TableColumn]:
    return [
        TableColumn(
            f"weight {i}", label, list(mixing.weights[i]), unit=term("weight"),
            formula=_weight(mixing, i), number_format=_SHARE, width=14,
            group="" if i else "Weights in the share of each driver",
        )
        for i, (_, label, _) in enumerate(mixing.drivers)
    ]  # fmt: skip


def _weight(mixing: Mixing, driver: int) -> str:
    """The weight of a row in the share of one driver.

    Of ``M`` groups, ``R`` others are new as a whole; of the ``m`` members of the own group, ``T``
    others are new. The share of the orders is ``1 / (M C(M-1, R) m C(m-1, T))``.
    """
    if mixing.order:
        before = sum(1 << i for i in mixing.order[: mixing.order.index(driver)])
        return f"($A{{r}}={before | 1 << driver})-($A{{r}}={before})"
    own = next(g for g in mixing.groups if driver in g)
    others = [g for g in mixing.groups if g is not own]
    mates = [i for i in own if i != driver]
    joined = "+".join(f"({_sum(g)}={len(g)})" for g in others)
    share = f"(2*{_bit(driver)}-1)/{len(mixing.groups) * len(own)}"
    share += f"/COMBIN({len(others)},{joined})" if others else ""
    share += f"/COMBIN({len(mates)},{_sum(mates)})" if mates else ""
    broken = [f"OR({_sum(g)}=0,{_sum(g)}={len(g)})" for g in others if len(g) > 1]
    return f"IF(AND({','.join(broken)}),{share},0)" if broken else share


def _bit(driver: int) -> str:
    return f"${get_column_letter(2 + driver)}{{r}}"


def _sum(members: Sequence[int]) -> str:
    return "(" + "+".join(_bit(i) for i in members) + ")"
