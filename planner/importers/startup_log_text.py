"""A log as lines of plain text: bounded, without colours, with the rank and the time of each.

Any bytes are read: what is no UTF-8 or no printable character is dropped, of a very long line the
beginning is kept, and the rest of the stream is never held.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

LONGEST_LINE = 2**15
"""Bytes of a line that are looked at; the longest line that is read, of settings, has 10,000."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]{0,40}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")

# How processes name themselves: (Worker_DP0_TP1_EP1 pid=7), (VllmWorker rank=1 pid=7),
# (RayWorkerWrapper pid=7, ip=10.0.0.2), [2026-01-31 12:00:00 DP0 TP1], [RANK 1], [1,3]<stdout>.
_PROCESS = re.compile(
    r"\((?P<name>[A-Za-z]{1,40})(?P<parts>(?:_[A-Z]{0,8}[0-9]{1,5}){0,8})"
    r"(?: rank=(?P<rank>[0-9]{1,5}))? pid=(?P<pid>[0-9]{1,10})[,)]"
)
_STAMPED = re.compile(r"\[[0-9: .-]{10,30}(?P<parts>(?: [A-Z]{2,6}[0-9]{1,5}){1,8})\]")
_NUMBERED = re.compile(r"\[RANK (?P<a>[0-9]{1,5})\]|\[[0-9]{1,3},(?P<b>[0-9]{1,5})\]<std")
_SERVER = ("APIServer", "EngineCore")  # one of each: their figures are of no single worker

_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"|[0-9]{2}/[0-9]{2}/[0-9]{4}-[0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"|(?<![0-9-])[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log by its number, counted from 1."""

    number: int
    text: str

    @property
    def rank(self) -> str:
        """The process that wrote it, such as ``TP0``; empty where it does not say."""
        return _rank(self.text)

    @property
    def date(self) -> str:
        """The first time in it, as it is written; empty where there is none."""
        found = _DATE.search(self.text)
        return found[0] if found else ""


def lines(source: str | bytes | IO[str] | IO[bytes]) -> Iterator[Line]:
    """The lines of a text or stream. A carriage return inside a line starts a part of its own."""
    stream = _stream(source)
    number = 0
    while piece := stream.readline(LONGEST_LINE):
        number += 1
        whole = piece
        while piece and not _ended(piece):
            piece = stream.readline(LONGEST_LINE)
        for part in plain(_decoded(whole)).split("\r"):
            if part:
                yield Line(number, part)


def _stream(source: str | bytes | IO[str] | IO[bytes]) -> IO[str] | IO[bytes]:
    if isinstance(source, str):
        return io.StringIO(source, newline="\n")
    return io.BytesIO(source) if isinstance(source, bytes) else source


def _ended(piece: str | bytes) -> bool:
    return piece.endswith("\n") if isinstance(piece, str) else piece.endswith(b"\n")


def _decoded(piece: str | bytes) -> str:
    text = piece if isinstance(piece, str) else piece.decode("utf-8", "ignore")
    return text.encode("utf-8", "ignore").decode("utf-8")  # no half of a pair stays


def plain(text: str) -> str:
    """Without escape sequences and control characters, except tabs (as a blank) and returns."""
    bare = _ESCAPES.sub("", text.rstrip("\r\n")).replace("\t", " ")
    return _CONTROLS.sub(lambda found: "\r" if found[0] == "\r" else "", bare)


def _rank(text: str) -> str:
    head = text[:400]
    if found := _PROCESS.search(head):
        parts = found["parts"].strip("_").replace("_", " ")
        if found["name"] in _SERVER:
            return "" if parts.isdigit() else parts
        return parts or found["rank"] or f"pid {found['pid']}"
    if found := _STAMPED.search(head):
        return found["parts"].strip()
    if found := _NUMBERED.search(head):
        return found["a"] or found["b"]
    return ""
