"""Aligned columns of a fixed width: texts wrap, numbers never; what has no room goes below."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from reports import numbers

_GAP = 2
_LEAST = 14

Drawn = tuple[str, str]
"""A line and what it is: ``head``, or the last cell of its row."""


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, left: Collection[int] = ()
) -> Iterator[Drawn]:
    """The lines of a table.

    Args:
        heads: a heading a column; none is drawn where all are empty.
        rows: cells; a row of one cell is a heading inside the table.
        width: columns of the terminal. Columns that do not fit follow in a block of their own,
            behind the first column again.
        left: columns of text, flush left; the first always is.
    """
    flush = {0, *left}
    full = [row for row in rows if len(row) == len(heads)]
    titles = [_title(head, max(_widest(full, i), 8)) for i, head in enumerate(heads)]
    widths = [
        max([_widest(full, i), *(numbers.display_width(t) for t in title)])
        for i, title in enumerate(titles)
    ]
    least = [min(w, _LEAST) if i in flush else w for i, w in enumerate(widths)]
    for number, block in enumerate(_blocks(least, width)):
        if number:
            yield "", ""
        sizes = _squeezed([widths[i] for i in block], [i in flush for i in block], width)
        texts = [i in flush for i in block]
        if any(heads):
            yield from _head([titles[i] for i in block], sizes, texts)
        for row in rows:
            if len(row) < len(heads):
                yield numbers.cut(row[0], width), ""
            else:
                yield from _row([row[i] for i in block], sizes, texts)


def _widest(rows: Sequence[Sequence[str]], place: int) -> int:
    return max((numbers.display_width(row[place]) for row in rows), default=0)


def _title(text: str, width: int) -> list[str]:
    return numbers.wrapped(text, width)


def _blocks(least: Sequence[int], width: int) -> list[list[int]]:
    """Columns by block; the first one stands in each."""
    blocks: list[list[int]] = [[0]]
    room = width - least[0]
    for place in range(1, len(least)):
        need = least[place] + _GAP
        if need > room and len(blocks[-1]) > 1:
            blocks.append([0])
            room = width - least[0]
        blocks[-1].append(place)
        room -= need
    return blocks


def _squeezed(widths: list[int], flush: Sequence[bool], width: int) -> list[int]:
    """The widths, with the widest texts narrower until all fit."""
    over = sum(widths) + _GAP * (len(widths) - 1) - width
    for place in sorted(range(len(widths)), key=lambda i: -widths[i]):
        give = min(max(0, over), max(0, widths[place] - _LEAST)) if flush[place] else 0
        widths[place] -= give
        over -= give
    return widths


def _head(
    titles: Sequence[list[str]], widths: Sequence[int], flush: Sequence[bool]
) -> Iterator[Drawn]:
    height = max(len(title) for title in titles)
    for number in range(height):
        cells = [
            title[number - height + len(title)] if number >= height - len(title) else ""
            for title in titles
        ]
        yield _line(cells, widths, flush), "head"


def _row(cells: Sequence[str], widths: Sequence[int], flush: Sequence[bool]) -> Iterator[Drawn]:
    wrapped = [
        _wrapped(cell, width) if text else [numbers.cut(cell, width)]
        for cell, width, text in zip(cells, widths, flush, strict=True)
    ]
    for number in range(max(len(lines) for lines in wrapped)):
        parts = [lines[number] if number < len(lines) else "" for lines in wrapped]
        yield _line(parts, widths, flush), cells[-1]


def _line(cells: Sequence[str], widths: Sequence[int], flush: Sequence[bool]) -> str:
    parts = [
        numbers.pad(cell, width, right=not text)
        for cell, width, text in zip(cells, widths, flush, strict=True)
    ]
    return (" " * _GAP).join(parts).rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    """A cell in lines of at most ``width`` columns, its own indent kept and one more below."""
    indent = " " * (len(text) - len(text.lstrip()))
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else indent + word
        if numbers.display_width(longer) <= width or not lines:
            lines[-1:] = [longer]
        else:
            lines.append(f"{indent}  {word}")
    return [numbers.cut(line, width) for line in lines] or [""]
