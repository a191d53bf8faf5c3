"""The one place that builds messages about bad input.

Form: ``file:line:column: key: expected E, found F``, then the line, a marker and a hint.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

_WIDTH = 120


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a file. Lines and columns count from 1; ``line`` 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0
    length: int = 1
    text: str = ""

    def shifted(self, columns: int, length: int = 1) -> Span:
        """The place ``columns`` to the right, for a position inside a formula text."""
        return Span(self.file, self.line, self.column + columns, max(1, length), self.text)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in an input, with all that is needed to mend it."""

    span: Span
    where: str
    expected: str
    found: str
    hint: str = ""

    def __str__(self) -> str:
        key = f"{self.where}: " if self.where else ""
        lines = [f"{self.span}: {key}expected {self.expected}, found {self.found}"]
        if self.span.line and self.span.text:
            lines += self._marked()
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def _marked(self) -> list[str]:
        """The line with a marker below; of a long one the part around the place."""
        number, text, at = f"{self.span.line:>5} | ", self.span.text, self.span.column - 1
        if len(text) > _WIDTH:
            start = max(0, min(at - _WIDTH // 2, len(text) - _WIDTH))
            before, after = "…" * (start > 0), "…" * (start + _WIDTH < len(text))
            text, at = before + text[start : start + _WIDTH] + after, at - start + len(before)
        width = max(1, min(self.span.length, len(text) - at))
        return [number + text, " " * (len(number) + at) + "^" * width]


class InputError(Exception):
    """Bad input: carries every problem found, sorted by position."""

    def __init__(self, problems: Iterable[Problem] | Problem) -> None:
        found = [problems] if isinstance(problems, Problem) else list(problems)
        self.problems = sorted(set(found), key=lambda p: (p.span, p.where, p.expected, p.found))
        super().__init__("\n".join(str(p) for p in self.problems))


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint naming the closest known word, or nothing when none is close."""
    close = difflib.get_close_matches(word, sorted(words), n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else ""


def one_of(words: Iterable[str], limit: int = 12) -> str:
    """The text 'one of a, b, c', cut where the list is long."""
    names = list(words)
    shown = ", ".join(names[:limit])
    return f"one of {shown}" + (f" and {len(names) - limit} more" if len(names) > limit else "")
