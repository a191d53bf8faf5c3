"""The workbook as a package: parts by name, relationships, content types, one canonical file.

Same parts give the same bytes: fixed order, times and attributes, written whole to a temporary name
and then moved into place. Parts nobody touched are copied packed, as they came.
"""

from __future__ import annotations

import io
import os
import posixpath
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from reports.workbook.package_xml import appended, elements, replaced
from reports.workbook.package_zip import LEVEL, PackageError, Packed, ZipSink, read_members

CONTENT_TYPES = "[Content_Types].xml"
_ROOT_RELATIONS = "_rels/.rels"
_EMPTY_RELATIONS = (
    b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<Relationships xmlns='
    b'"http://schemas.openxmlformats.org/package/2006/relationships"></Relationships>'
)

Stream = Callable[[], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Relation:
    """A relationship; ``target`` is a part name, or the address where ``external``."""

    id: str
    type: str
    target: str
    external: bool


class Package:
    """Parts of a workbook by name, such as ``xl/workbook.xml``."""

    def __init__(self) -> None:
        self._parts: dict[str, bytes | Packed | Stream] = {}

    @classmethod
    def read(cls, source: str | Path | bytes) -> Package:
        """Read a file, or its bytes.

        Raises:
            PackageError: no workbook package, or a damaged one.
            OSError: the file cannot be read.
        """
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
        package = cls()
        package._parts.update(read_members(data))
        if CONTENT_TYPES not in package:
            raise PackageError(f"expected a workbook with {CONTENT_TYPES}, found none")
        return package

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def names(self) -> list[str]:
        """Part names in the order of the file: content types, root relations, the rest sorted."""
        first = {CONTENT_TYPES: 0, _ROOT_RELATIONS: 1}
        return sorted(self._parts, key=lambda name: (first.get(name, 2), name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """A part's bytes, piece by piece.

        Raises:
            PackageError: there is no such part, or it is damaged.
        """
        if name not in self._parts:
            raise PackageError(f"expected a part {name!r}, found none")
        part = self._parts[name]
        if isinstance(part, bytes):
            yield part
        else:
            yield from part.pieces() if isinstance(part, Packed) else part()

    def get(self, name: str) -> bytes:
        """A part's bytes as a whole; errors as for ``pieces``."""
        return b"".join(self.pieces(name))

    def set(self, name: str, data: bytes) -> None:
        """Add or replace a part. The same bytes again leave it untouched."""
        old = self._parts.get(name)
        if old is None or callable(old) or self.get(name) != data:
            self._parts[_checked(name)] = data

    def set_stream(self, name: str, stream: Stream) -> None:
        """Add or replace a part by what ``stream()`` gives; it is called anew for each reading."""
        self._parts[_checked(name)] = stream

    def drop(self, name: str) -> None:
        """Remove a part; its content type and relationships are the caller's to remove."""
        self._parts.pop(name, None)

    def write(self, path: str | Path, level: int = LEVEL) -> None:
        """Write the file whole, then move it into place; a failure leaves the old file.

        Raises:
            PackageError: a part or the file is too large.
            OSError: the file cannot be written.
        """
        target = Path(path).resolve()
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with temporary.open("wb") as file:
                self.write_to(file, level)
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    def to_bytes(self, level: int = LEVEL) -> bytes:
        """The file's bytes; errors as for ``write``."""
        buffer = io.BytesIO()
        self.write_to(buffer, level)
        return buffer.getvalue()

    def write_to(self, file: BinaryIO, level: int = LEVEL) -> None:
        """Write to an open, seekable file; errors as for ``write``."""
        sink = ZipSink(file)
        for name in self.names():
            part = self._parts[name]
            if isinstance(part, Packed):
                sink.copy(name, part)
            else:
                sink.add(name, self.pieces(name), level)
        sink.close()


def relations(package: Package, part: str = "") -> list[Relation]:
    """The relationships of a part, those of the package itself for ''; empty where it has none."""
    name = relations_name(part)
    if name not in package:
        return []
    found = []
    for element in elements(package.get(name), {"Relationship"}):
        values = element.attributes
        external = values.get("TargetMode") == "External"
        target = values.get("Target", "")
        if not external:
            target = posixpath.normpath(posixpath.join("/", posixpath.dirname(part), target))[1:]
        found.append(Relation(values.get("Id", ""), values.get("Type", ""), target, external))
    return found


def workbook_part(package: Package) -> str:
    """Name of the part that lists the sheets, usually ``xl/workbook.xml``.

    Raises:
        PackageError: there is none.
    """
    for relation in relations(package):
        if relation.type.endswith("/officeDocument") and relation.target in package:
            return relation.target
    raise PackageError("expected a workbook part, found none")


def sheet_parts(package: Package) -> dict[str, str]:
    """Part names of the worksheets by sheet name, in tab order; chart sheets are left out.

    Raises:
        PackageError: no workbook part, or a sheet without a part.
    """
    book = workbook_part(package)
    by_id = {relation.id: relation for relation in relations(package, book)}
    found = {}
    for element in elements(package.get(book), {"sheet"}):
        name = element.attributes.get("name", "")
        ids = [v for key, v in element.attributes.items() if key.rpartition(":")[2] == "id"]
        relation = by_id.get(ids[0]) if ids else None
        if relation is None or relation.target not in package:
            raise PackageError(f"expected a part for sheet {name!r}, found none")
        if relation.type.endswith("/worksheet"):
            found[name] = relation.target
    return found


def relate(package: Package, part: str, kind: str, target: str) -> None:
    """Add a relationship of ``part`` ('' for the package) to a part, unless it is there."""
    if any(found.type == kind and found.target == target for found in relations(package, part)):
        return
    used = {found.id for found in relations(package, part)}
    new = next(f"rId{n}" for n in range(1, len(used) + 2) if f"rId{n}" not in used)
    name = relations_name(part)
    old = package.get(name) if name in package else _EMPTY_RELATIONS
    entry = {"Id": new, "Type": kind, "Target": "/" + target}
    package.set(name, appended(old, "Relationships", "Relationship", entry))


def set_content_type(package: Package, part: str, content_type: str) -> None:
    """Declare the content type of one part, replacing what was declared for it."""
    drop_elements(package, CONTENT_TYPES, "Override", "PartName", "/" + part)
    entry = {"PartName": "/" + part, "ContentType": content_type}
    types = package.get(CONTENT_TYPES)
    package.set(CONTENT_TYPES, appended(types, "Types", "Override", entry))


def relations_name(part: str) -> str:
    """Name of the part that holds the relationships of ``part``."""
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", name + ".rels")


def drop_elements(package: Package, part: str, name: str, key: str, value: str) -> None:
    """Cut the elements with this attribute value out of a part."""
    data = package.get(part)
    found = [e for e in elements(data, {name}) if e.attributes.get(key) == value]
    package.set(part, replaced(data, [(element.start, element.end, b"") for element in found]))


def _checked(name: str) -> str:
    parts = name.split("/")
    if not name or any(part in ("", ".", "..") for part in parts) or "\\" in name:
        raise PackageError(f"expected a part name such as xl/workbook.xml, found {name!r}")
    return name
