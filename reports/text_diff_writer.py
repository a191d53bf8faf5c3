"""Lines of a terminal: wrapped, marked, in ASCII signs, with colour as a second signal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from reports import numbers, palette
from reports.text_diff_table import table
from reports.view_diff_parts import DiffRow
from reports.words import say


def ascii_of(text: str) -> str:
    """Signs that a terminal of any kind shows: minus, none, arrow."""
    for sign, plain in ((numbers.MINUS, "-"), (numbers.NOT_APPLICABLE, "-"), ("→", "->")):
        text = text.replace(sign, plain)
    return text


class Writer:
    """Collects lines of at most so many columns."""

    def __init__(self, width: int, colour: bool) -> None:
        self.width, self.colour = width, colour
        self.out: list[Text] = []

    def line(self, text: str, tone: str = "") -> None:
        """One text, broken into lines."""
        self.lines([text], "", tone)

    def lines(self, texts: Iterable[str], mark: str = "", tone: str = "") -> None:
        """Texts with a mark before each; what runs over is set in."""
        style = "bold" if tone == "bold" else palette.TERMINAL.get(tone, "")
        for text in map(ascii_of, texts):
            room = self.width - numbers.display_width(mark)
            wrapped = textwrap.wrap(text, room, break_on_hyphens=False, subsequent_indent="  ")
            if numbers.display_width(text) > len(text):  # textwrap counts wide characters as one
                wrapped = numbers.wrapped(text, room, "  ")
            for number, part in enumerate(wrapped or [""]):
                self.out.append(
                    Text((mark if not number else " " * numbers.display_width(mark)) + part, style)
                )

    def heading(self, text: str) -> None:
        """A heading after an empty line."""
        self.blank()
        self.line(text, "bold")

    def blank(self) -> None:
        """An empty line, unless there is one."""
        if self.out and self.out[-1].plain:
            self.out.append(Text(""))

    def rows(self, rows: Sequence[DiffRow]) -> None:
        """Metrics, one a line: old, new, change, per cent, mark."""
        cells = [
            [row.label + (f" ({row.unit})" if row.unit else ""),
             *map(ascii_of, (row.old, row.new, row.delta, row.percent)), row.word]
            for row in rows
        ]  # fmt: skip
        self.table(["", say("old"), say("new"), say("delta"), "", ""], cells, left=(5,))

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = ()
    ) -> None:
        """Aligned columns; see ``text_diff_table``."""
        for text, word in table(heads, rows, self.width, left):
            self.out.append(Text(text, "dim" if word == "head" else _mark_style(word)))

    def text(self) -> str:
        """All lines as one text."""
        if not self.colour:
            return "\n".join(line.plain.rstrip() for line in self.out) + "\n"
        console = Console(
            width=self.width + 1, force_terminal=True, color_system="standard", highlight=False,
            legacy_windows=False, markup=False, emoji=False, _environ={},
        )  # fmt: skip
        with console.capture() as capture:
            for line in self.out:
                console.print(line, no_wrap=True)
        return capture.get()


def _mark_style(word: str) -> str:
    return palette.TERMINAL.get({say("better"): "good", say("worse"): "bad"}.get(word, ""), "")
