"""Places of elements in a part, by byte; so that a change leaves all other bytes alone.

Only expat is used: it gives byte positions. Documents with a DOCTYPE are refused (no spreadsheet
program writes one, and it is the door for entity tricks), and so are encodings but UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from xml.parsers import expat

from reports.workbook.package_zip import PackageError
from reports.workbook.rows_text import xml_attribute

_TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")


@dataclass(frozen=True, slots=True)
class Element:
    """An element with its bytes ``start:end``; its start tag ends at ``head_end``.

    ``name`` and ``parent`` are without prefix. An element such as ``<row/>`` has ``head_end`` equal
    to ``end``.
    """

    name: str
    parent: str
    attributes: dict[str, str]
    start: int
    head_end: int
    end: int


def new_parser(namespaces: bool = False) -> expat.XMLParserType:
    """A parser that refuses DOCTYPE and encodings other than UTF-8.

    With ``namespaces``, names come as ``address name``, else as written.
    """
    parser = expat.ParserCreate(namespace_separator=" " if namespaces else None)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.XmlDeclHandler = _check_encoding
    return parser


def parse(parser: expat.XMLParserType, data: bytes, final: bool = True) -> None:
    """Feed the parser.

    Raises:
        PackageError: not well-formed, or refused.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise PackageError("expected XML in UTF-8, found UTF-16")
    try:
        parser.Parse(data, final)
    except expat.ExpatError as error:
        raise PackageError(f"expected well-formed XML, found {error}") from None


def tag_end(data: bytes, start: int) -> int:
    """Where the tag that begins at ``start`` ends; a ``>`` inside an attribute does not count."""
    found = _TAG.match(data, start)
    if not found:
        raise PackageError(f"expected a tag at byte {start}")
    return found.end()


def element_end(data: bytes, head_end: int, index: int) -> int:
    """Where an element ends, given the end of its start tag and the byte of its end event.

    For ``<row/>`` the event already stands behind the tag, so the start tag tells.
    """
    return head_end if data[head_end - 2] == ord("/") else tag_end(data, index)


def local(name: str) -> str:
    """A name without its prefix."""
    return name.rpartition(":")[2]


def elements(data: bytes, names: Collection[str]) -> list[Element]:
    """All elements of the given names (without prefix), in the order of their start.

    Raises:
        PackageError: not well-formed, or refused.
    """
    parser = new_parser()
    path: list[str] = [""]
    open_at: list[tuple[int, int, dict[str, str]]] = []
    found: list[Element] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if local(name) in names:
            index = parser.CurrentByteIndex
            open_at.append((index, tag_end(data, index), attributes))
        path.append(local(name))

    def end(name: str) -> None:
        path.pop()
        if local(name) in names:
            at, head_end, attributes = open_at.pop()
            stop = element_end(data, head_end, parser.CurrentByteIndex)
            found.append(Element(local(name), path[-1], attributes, at, head_end, stop))

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parse(parser, data)
    return sorted(found, key=lambda element: element.start)


def replaced(data: bytes, edits: Iterable[tuple[int, int, bytes]]) -> bytes:
    """The bytes with each ``start:end`` replaced; edits in order and without overlap."""
    pieces, last = [], 0
    for start, end, new in edits:
        pieces += [data[last:start], new]
        last = end
    return b"".join([*pieces, data[last:]])


def appended(data: bytes, root: str, tag: str, attributes: dict[str, str]) -> bytes:
    """The document with one more empty element at the end of its root, in the root's prefix.

    Raises:
        PackageError: the root has another name.
    """
    tops = [element for element in elements(data, {root}) if not element.parent]
    if not tops:
        raise PackageError(f"expected a document {root}, found another one")
    top = tops[0]
    head = data[top.start + 1 : top.head_end]
    prefix = head[: head.index(root.encode())]
    new = b"<" + prefix + start_tag(tag, attributes, closed=True)[1:]
    if top.head_end == top.end:
        opened = data[top.start : top.end].rstrip(b">").rstrip(b"/").rstrip() + b">"
        closing = b"</" + prefix + root.encode() + b">"
        return replaced(data, [(top.start, top.end, opened + new + closing)])
    at = data.rindex(b"</", top.head_end, top.end)
    return replaced(data, [(at, at, new)])


def start_tag(name: str, attributes: dict[str, str], closed: bool = False) -> bytes:
    """A start tag (or empty element) from decoded attribute values."""
    text = "".join(f' {key}="{xml_attribute(value)}"' for key, value in attributes.items())
    return f"<{name}{text}{'/' if closed else ''}>".encode()


def _refuse_doctype(*_: object) -> None:
    raise PackageError("expected XML without a DOCTYPE, found one")


def _check_encoding(_version: str, encoding: str | None, _standalone: int) -> None:
    if encoding and encoding.lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
        raise PackageError(f"expected XML in UTF-8, found {encoding}")
