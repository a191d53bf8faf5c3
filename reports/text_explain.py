"""The tree behind a figure as indented text: formulas, numbers put in, origins, sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planner.explain import Basis, Explanation, Row, is_number
from planner.inputs import Source
from reports.numbers import Kind, display_width, show
from reports.numbers import wrapped as wrapped_wide
from reports.words import called, say

INDENT = "  "
_JOINED = {"if", "else", "and", "or", "not"}
_NUMBER_END = re.compile(r".*[0-9]\]?$")


@dataclass(frozen=True, slots=True)
class _Line:
    """One line: its level, the text, and the columns by which a continuation is set in."""

    level: int
    text: str
    hang: int = 2

    def wrapped(self, width: int) -> Iterator[str]:
        """The line, broken to the width; a deep level leaves three quarters of it for the text."""
        inset = (INDENT * self.level)[: width // 4]
        return wrapped(inset + self.text, width, inset + " " * self.hang)


def render(tree: Explanation, width: int = 80) -> str:
    """The whole tree, wrapped to ``width`` columns, with its sources numbered at the end."""
    lines = _Lines()
    lines.node(tree, 0)
    if lines.sources:
        lines.add(0, say("sources"))
        for number, source in enumerate(lines.sources, 1):
            lines.add(1, f"[{number}] {_titled(source)}", 4)
    return "\n".join(part for line in lines.done for part in line.wrapped(width)) + "\n"


def display(tree: Explanation) -> str:
    """The value as tables show it, in its display unit."""
    if not is_number(tree.value):
        return tree.exact
    base = float(tree.value or 0)
    if tree.display == "%":
        return show(base, "share", plain=True)
    kind: Kind = "count" if tree.whole and tree.factor == 1 else "figure"
    text = show(base / tree.factor, "ratio" if tree.display == "x" else kind, plain=True)
    return text if tree.display in ("", "1", "x") else f"{text} {tree.display}"


class _Lines:
    """Collects lines and the sources that they name."""

    def __init__(self) -> None:
        self.done: list[_Line] = []
        self.sources: list[Source] = []

    def add(self, level: int, text: str, hang: int = 2) -> None:
        self.done.append(_Line(level, text, hang))

    def mark(self, source: Source) -> str:
        """The number under which the source stands at the end."""
        if source not in self.sources:
            self.sources.append(source)
        return f"[{self.sources.index(source) + 1}]"

    def node(self, tree: Explanation, level: int) -> None:
        if tree.kind != "metric":
            self.input(tree, level)
            return
        self.add(level, _heading(tree), 4)
        if tree.repeated:
            return
        level += 1
        if tree.note:
            self.add(level, tree.note, 0)
        self.add(level, f"= {tree.formula}")
        if tree.numbers:
            self.add(level, f"= {tree.numbers}")
        self.rows(tree, level)
        if tree.cut:
            return
        source = f" {self.mark(tree.source)}" if tree.source else ""
        self.add(level, say(f"why: {tree.meaning}{source}"))
        if tree.because:
            self.add(level, say(f"replaces the built-in formula, because: {tree.because}"))
        for operand in tree.operands:
            self.node(operand, level)

    def input(self, tree: Explanation, level: int) -> None:
        value = "" if tree.grouped else f": {tree.exact}"
        self.add(level, f"{tree.name}{value} - {called(tree.label)}", 4)
        self.rows(tree, level + 1)
        if tree.repeated or tree.grouped:
            return
        if tree.kind == "constant":
            self.add(level + 1, say(f"constant: {tree.meaning}"))
        elif tree.basis:
            self.add(level + 1, self.basis(tree.basis))

    def rows(self, tree: Explanation, level: int) -> None:
        """A line for each stage, layer group or variant; places that are all alike share one."""
        rows = tree.rows
        if tree.grouped and len(rows) > 1 and all(_alike(row, rows[0]) for row in rows):
            first = rows[0]
            every = say(f"every {tree.each}")
            rows = (Row(every, first.value, first.exact, first.numbers, first.basis),)
        for row in rows:
            numbers = f" = {row.numbers}" if row.numbers and not tree.repeated else ""
            self.add(level, f"{row.label}: {row.exact}{numbers}")
            if row.basis and not tree.repeated:
                self.add(level + 1, self.basis(row.basis))

    def basis(self, basis: Basis) -> str:
        """``given at example.yaml:15:1``, or ``Qwen3-8B, config [3], qwen3-8b.yaml:15:14``."""
        if basis.kind == "given":
            return say(f"given at {basis.place}")
        confidence = " ".join([basis.confidence, *(self.mark(s) for s in basis.sources)]).strip()
        if basis.kind == "default":
            return "; ".join(
                p for p in (say(f"default of {basis.place}"), confidence, basis.note) if p
            )
        facts = ", ".join(part for part in (basis.owner, confidence, basis.place) if part)
        return f"{facts}; {basis.note}" if basis.note else facts


def _heading(tree: Explanation) -> str:
    """``kv_per_request: 2.25 GiB/request (2,415,919,104 byte/request) - its label``."""
    value = ""
    if not tree.grouped:
        shown = display(tree)
        short = tree.display in ("", "1", tree.unit) and tree.whole
        value = f": {shown}" + ("" if short or shown == tree.exact else f" ({tree.exact})")
    return f"{tree.name}{value} - {called(tree.label)}" + (
        say(" (see above)") if tree.repeated else ""
    )


def _alike(row: Row, other: Row) -> bool:
    def facts(one: Row) -> tuple[object, ...]:
        basis = one.basis or Basis("")
        return (one.exact, one.numbers, basis.confidence, basis.note, basis.sources)

    return facts(row) == facts(other)


def _titled(source: Source) -> str:
    read = say(f" (read {source.read})") if source.read else ""
    return ", ".join(part for part in (source.title, source.url) if part) + read


def wrapped(text: str, width: int, hang: str = "") -> Iterator[str]:
    """Lines broken at blanks, later ones set in by ``hang``.

    A number stays with its unit, an address is never cut, and leading blanks are kept.
    """
    if display_width(text) > len(text):  # wide letters stand without blanks between them
        yield from wrapped_wide(text, width, hang)
        return
    body = text.lstrip(" ")
    current, empty = text[: len(text) - len(body)], True
    for word in _words(body):
        if not empty and display_width(f"{current} {word}") > width:
            yield current.rstrip()
            current, empty = hang, True
        current += word if empty else f" {word}"
        empty = False
    yield current


def _words(text: str) -> Iterator[str]:
    held = ""
    for word in text.split(" "):
        if held and (not word[:1].isalpha() or word in _JOINED):
            yield held
            held = ""
        joined = f"{held} {word}" if held else word
        held = ""
        if _NUMBER_END.match(joined):
            held = joined
        else:
            yield joined
    if held:
        yield held
