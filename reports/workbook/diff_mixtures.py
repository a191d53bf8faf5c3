"""The sheet of mixtures: a row a mixture, the weights of every driver as formulas of its bits.

A share is the product of a column of weights with a column of figures. The figures of a live bridge
are those of the workings, so that every share follows an edited input; those of another bridge come
from the engine, with the first and the last row linked to the sheet of figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from openpyxl.utils import get_column_letter

from planner.expr.to_cells import word_text
from reports import numbers
from reports.numbers import excel_format
from reports.view_diff_parts import Bridge, Mixing
from reports.words import say, term
from reports.workbook.tables import FIRST, UNIT, Book, Table, TableColumn, spacer
from reports.workbook.word_rules import unknown_rule

_SHARE = "0.0000;-0.0000;0"

Ends = Mapping[str, tuple[str, str]]
"""By metric: the cells of the old and of the new figure."""

NOT_DIVIDED = numbers.NOT_APPLICABLE
"""A share where a mixture gives no figure: no number is made from that."""


@dataclass(frozen=True)
class Placed:
    """A placed sheet of mixtures; ``live`` are the metrics that are computed from the inputs."""

    table: Table
    mixing: Mixing
    live: frozenset[str]

    def share(self, driver: str, metric: str) -> str:
        """The formula of the share of one driver; empty where it takes no part."""
        place = self._place(driver)
        if place is None:
            return ""
        weight = self.table.span(f"weight {place}")
        return self._known(metric, f"SUMPRODUCT({weight},{self.table.span(metric)})")

    def reach(self, driver: str, metric: str, function: str) -> str:
        """The least (``MIN``) or most (``MAX``) that a driver adds.

        Empty where not every mixture is here, or the driver has no part.
        """
        place = self._place(driver)
        if place is None or not self.mixing.steps:
            return ""
        return self._known(metric, f"{function}({self.table.span(f'step {metric} {place}')})")

    def missing(self, metric: str) -> str:
        """The formula of how many mixtures give no figure."""
        return f"{self.table.count}-COUNT({self.table.span(metric)})"

    def _known(self, metric: str, formula: str) -> str:
        every = f"COUNT({self.table.span(metric)})={self.table.count}"
        return f"IF({every},{formula},{word_text(NOT_DIVIDED)})"

    def _place(self, driver: str) -> int | None:
        ids = [one for one, _, _ in self.mixing.drivers]
        return ids.index(driver) if driver in ids else None


def mixtures_sheet(
    book: Book, name: str, bridges: Sequence[Bridge], ends: Ends, live: Mapping[str, str]
) -> Placed:
    """Write the mixtures that the bridges of one pair, or of the plan, share.

    Args:
        book: the book.
        name: the sheet.
        bridges: they have the same drivers, and a ``mixing`` each.
        ends: where the figures of both plans stand, for bridges that are not live.
        live: by metric the formula of the figure of a mixture.
    """
    mixings = {b.metric: b.mixing for b in bridges if b.mixing is not None}
    first = next(iter(mixings.values()))
    count = len(first.values)
    masks = [float(mask) for mask in first.masks]
    mask = TableColumn("#mask", "Mixture", masks, role="key", number_format="0", width=9)
    columns = [mask, *_bits(first), spacer(), *_weights(first), spacer()]
    letters = {}
    for b in bridges:
        letters[b.metric] = get_column_letter(len(columns) + 1)
        columns.append(
            TableColumn(
                b.metric, b.label, list(mixings[b.metric].values), unit=b.unit,
                role="derived" if b.metric in live else "catalog", formula=live.get(b.metric),
                number_format=_format(b), width=16,
                group=term("Computed here") if b.metric in live else term("By the engine"),
            )
        )  # fmt: skip
    columns.append(spacer())
    for b in bridges:
        columns += _steps(b, mixings[b.metric], letters[b.metric])
    answers = term(
        "What is the figure with some inputs new and the others old? Row 0 is the old plan."
    )
    ws = book.sheet(name, say(f"Mixtures, {bridges[0].case}"), answers, "calculation")
    linked = {metric: cells for metric, cells in ends.items() if metric not in live}
    pieces = [_rows(columns, mixings, linked, start, stop) for start, stop in _runs(count)]
    table = book.table(ws, pieces[0], 1, 1)
    for (start, stop), piece in zip(_runs(count)[1:], pieces[1:], strict=True):
        book.add_rows(name, piece, FIRST + start, stop - start)
    last = f"{get_column_letter(len(columns))}{FIRST + count - 1}"
    ws.auto_filter.ref = f"A{UNIT}:{last}"
    unknown_rule(ws, f"A{FIRST}:{last}", f"A{FIRST}")
    return Placed(replace(table, count=count), first, frozenset(live))


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


def _bits(mixing: Mixing) -> list[TableColumn]:
    return [
        TableColumn(
            f"bit {i}", label, [float(m >> i & 1) for m in mixing.masks], unit=term("1 is new"),
            formula=f"MOD(INT($A{{r}}/{2**i}),2)", number_format="0", width=12,
        )
        for i, (_, label, _) in enumerate(mixing.drivers)
    ]  # fmt: skip


def _steps(bridge: Bridge, mixing: Mixing, letter: str) -> list[TableColumn]:
    """What each driver adds to each mixture in which it is old; the range of a share is of these.

    The mixture with the driver new stands as many rows below as its bit says.
    """
    return [
        TableColumn(
            f"step {bridge.metric} {i}", label, ["" if v is None else v for v in mixing.steps[i]],
            unit=bridge.unit, number_format=_format(bridge), width=14, outline=1,
            formula=f'IF({_bit(i)}=1,"",{letter}{{r+{2**i}}}-{letter}{{r}})',
            group="" if i else say(f"{bridge.label}: what a driver adds"),
        )
        for i, (_, label, _) in enumerate(mixing.drivers if mixing.steps else ())
    ]  # fmt: skip


def _format(bridge: Bridge) -> str:
    return excel_format("figure", bridge.decimals)


def bit_cell(driver: int, row: str) -> str:
    """The cell of the sheet of mixtures that says whether a driver is new in a row."""
    return f"${get_column_letter(2 + driver)}{row}"


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
    return bit_cell(driver, "{r}")


def _sum(members: Sequence[int]) -> str:
    return "(" + "+".join(_bit(i) for i in members) + ")"
