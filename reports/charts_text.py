"""Text in charts: cleaned, measured without a browser, wrapped, and placed without collisions.

Lengths are user units of the charts, which are pixels at the charts' own width.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

TITLE, BODY, SMALL = 15.0, 12.0, 11.0
LEADER_ROOM = 7.0

# Advance widths in thousandths of the font size. They are those of the widest common system face,
# so that a label that fits here fits in every face of the font stack.
_WIDTHS: dict[str, int] = {
    character: width
    for width, characters in (
        (280, "'ijl"),
        (320, " ,.I\u00b7"),
        (340, ":;"),
        (405, "!()-/[\\]ft"),
        (460, '"r|'),
        (535, "*?J_`sz\u2013\u25b8"),
        (595, "ckvxy"),
        (640, "0123456789$FLabdeghnopqu{}"),
        (700, "ABEKPSTVXYZ"),
        (790, "&CDGHNOQRU"),
        (840, "#+<=>^w~\u00d7\u2212\u2264\u2265"),
        (950, "%M\u2192"),
        (1000, "@Wm\u2026"),
    )
    for character in characters
}
_OTHER, _WIDE, _BOLD = 720, 1000, 1.13
_DIRECTION_MARKS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str) -> str:
    """One line of text that any XML reader accepts and that cannot turn its neighbours around."""
    kept = []
    for character in text:
        category = unicodedata.category(character)
        if character in "\t\n\r" or category in ("Zl", "Zp"):
            kept.append(" ")
        elif (
            category in ("Cc", "Cs")
            or ord(character) & 0xFFFE == 0xFFFE
            or character in _DIRECTION_MARKS
        ):
            kept.append("\ufffd")
        else:
            kept.append(character)
    return " ".join("".join(kept).split())


def text_width(text: str, size: float = BODY, *, bold: bool = False) -> float:
    """Upper bound of the drawn width of a text in user units."""
    total = sum(_character_width(character) for character in text)
    return total * size / 1000 * (_BOLD if bold else 1)


@cache
def _character_width(character: str) -> int:
    if character in _WIDTHS:
        return _WIDTHS[character]
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return _WIDE
    plain = unicodedata.normalize("NFD", character)[0]
    return _WIDTHS.get(plain, _OTHER if ord(character) < 0x2000 else _WIDE)


def cut(text: str, width: float, size: float = BODY, *, bold: bool = False) -> str:
    """The text, or as much of it as fits into ``width`` with an ellipsis."""
    if text_width(text, size, bold=bold) <= width:
        return text
    while text and text_width(text.rstrip() + "…", size, bold=bold) > width:
        text = text[:-1]
    return text.rstrip() + "…" if text.strip() else ""


def wrap(
    text: str, width: float, size: float = BODY, *, lines: int = 2, bold: bool = False
) -> list[str]:
    """The text in at most ``lines`` lines; what does not fit ends in an ellipsis."""
    rest, done = text, list[str]()
    while rest and len(done) < lines - 1 and text_width(rest, size, bold=bold) > width:
        end = _break(rest, width, size, bold)
        done.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return [*done, cut(rest, width, size, bold=bold)] if rest or not done else done


def _break(text: str, width: float, size: float, bold: bool) -> int:
    # The last space, the place after a joint of a name, or before a wide character that still fits.
    best = fitting = 1
    for end in range(1, len(text) + 1):
        if text_width(text[:end].rstrip(), size, bold=bold) > width:
            break
        fitting = end
        following = text[end : end + 1]
        wide = following and unicodedata.east_asian_width(following) in ("W", "F")
        if wide or following == " " or text[end - 1] in " -/_":
            best = end
    return best if best > fitting // 3 else fitting


def spread(
    wanted: Sequence[float], sizes: Sequence[float], low: float, high: float, gap: float = 8.0
) -> list[float]:
    """Centres as near as possible to the wanted ones, in order, apart, and inside ``low..high``.

    Args:
        wanted: the wanted centres in rising order.
        sizes: the extent of each item along the same direction.
        low: where the first item may begin.
        high: where the last item may end. Items that do not fit in run over this end.
        gap: the free space between two items.
    """
    if not wanted:
        return []
    offsets = [0.0]
    for before, after in pairwise(sizes):
        offsets.append(offsets[-1] + (before + after) / 2 + gap)
    # Least squares under a fixed order: runs that would overlap share the mean of their wishes.
    runs: list[tuple[float, int]] = []
    for wish, offset in zip(wanted, offsets, strict=True):
        mean, count = wish - offset, 1
        while runs and runs[-1][0] > mean:
            other, others = runs.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        runs.append((mean, count))
    first = low + sizes[0] / 2
    last = max(first, high - sizes[-1] / 2 - offsets[-1])
    placed = [min(max(mean, first), last) for mean, count in runs for _ in range(count)]
    return [place + offset for place, offset in zip(placed, offsets, strict=True)]


@dataclass(frozen=True, slots=True)
class Tag:
    """A label with a value that belongs to a place on an axis.

    Attributes:
        at: the place, in units of the chart.
        name: cut first where room is short.
        value: printed after the name; never cut, at worst left out.
        tone: a colour name of the palette.
        italic: for what is not known.
        drawn: whether something stands at the place that the label must lead to.
    """

    at: float
    name: str
    value: str
    tone: str = "ink"
    italic: bool = False
    drawn: bool = True

    @property
    def text(self) -> str:
        """Name and value as one text."""
        return f"{self.name} {self.value}".strip()


def place(tags: Sequence[Tag], low: float, high: float, size: float) -> list[tuple[float, Tag]]:
    """Centres for tags in a line of text; names are cut when all together are too long."""
    ordered = sorted(tags, key=lambda tag: tag.at)
    gap = 10.0
    widths = [text_width(tag.text, size) for tag in ordered]
    room = high - low - gap * (len(ordered) - 1)
    if sum(widths) > room:
        share = max(24.0, room / len(ordered))
        spare = sum(max(0.0, share - width) for width in widths)
        over = sum(max(0.0, width - share) for width in widths)
        ordered = [
            _shortened(tag, share + spare * max(0.0, width - share) / over, size)
            if width > share
            else tag
            for tag, width in zip(ordered, widths, strict=True)
        ]
        widths = [text_width(tag.text, size) for tag in ordered]
    centres = spread([tag.at for tag in ordered], widths, low, high, gap)
    return list(zip(centres, ordered, strict=True))


def is_crowded(placed: Sequence[tuple[float, Tag]], size: float, reach: float = 14.0) -> bool:
    """True when a label ended up so far from its place that its leader would be a long slant."""
    return any(
        tag.drawn and abs(centre - tag.at) > text_width(tag.text, size) / 2 + reach
        for centre, tag in placed
    )


def ladder(
    tags: Sequence[Tag], low: float, high: float, size: float
) -> tuple[int, list[tuple[int, Tag]]] | None:
    """Tags on lanes, each beside its own upright leader, so that no leader crosses a text.

    Gives the side (-1: texts end left of their leaders; 1: the mirror image, used where the left
    has no room) and each tag with its lane, counted from 0 at the top; None where neither side has
    room for all.
    """
    ordered = sorted(tags, key=lambda tag: tag.at)
    reach = [LEADER_ROOM + text_width(tag.text, size) for tag in ordered]
    pairs = list(zip(ordered, reach, strict=True))
    if all(tag.at - length >= low for tag, length in pairs):
        return -1, _lanes(ordered, -1, size)
    if all(tag.at + length <= high for tag, length in pairs):
        return 1, _lanes(ordered[::-1], 1, size)
    return None


def _lanes(ordered: list[Tag], side: int, size: float) -> list[tuple[int, Tag]]:
    placed: list[tuple[int, Tag]] = []
    for tag in ordered:
        end = tag.at + side * (LEADER_ROOM + text_width(tag.text, size) + 6)
        # A leader that falls through this text must have ended on a lane above it.
        above = [lane for lane, other in placed if side * (other.at - end) <= 0]
        placed.append((max(above, default=-1) + 1, tag))
    return placed


def _shortened(tag: Tag, width: float, size: float) -> Tag:
    name = cut(tag.name, width - text_width(" " + tag.value, size), size)
    if text_width(f"{name} {tag.value}", size) <= width:
        return replace(tag, name=name)
    # A cut number would be a wrong number: without room the value is left out as a whole.
    return replace(tag, name=cut(tag.name, width - text_width(" …", size), size), value="…")
