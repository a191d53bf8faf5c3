"""The zip container of a workbook: same parts, same bytes.

The standard library reads the directory; writing is our own, because it can neither copy packed
members as they are nor leave out what changes between runs. Sizes stand in each header (no data
descriptors, no 64-bit fields), the form that every spreadsheet program reads.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

# Measured with zlib 1.2.13 on tables of doubles and on plan-like tables: level 4 packs in less than
# half the time of level 6 for 4 to 6 % more bytes; level 1 halves the time again but costs 12 to
# 24 %, and books are kept and mailed longer than they are written.
LEVEL = 4

MAX_PART = 2**31 - 1
"""Largest unpacked part, in bytes; larger ones are refused in both directions."""

_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1
_UTF8 = 0x800
_DAY = (1 << 5) | 1  # 1980-01-01, the first day that the format knows
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_PIECE = 1 << 18


class PackageError(ValueError):
    """A file that is no usable workbook package, or a change that does not fit it."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A member as it lies in the container: method (0 or 8), check sum, sizes, packed bytes."""

    method: int
    crc: int
    size: int
    data: memoryview

    def pieces(self) -> Iterator[bytes]:
        """The unpacked bytes, piece by piece.

        Raises:
            PackageError: damaged, or larger than declared.
        """
        crc = size = 0
        for piece in self._unpacked():
            crc, size = zlib.crc32(piece, crc), size + len(piece)
            if size > self.size:
                break
            yield piece
        if size != self.size or crc != self.crc:
            raise PackageError("expected the declared size and check sum, found a damaged part")

    def _unpacked(self) -> Iterator[bytes]:
        starts = range(0, len(self.data), _PIECE)
        if self.method == _STORED:
            yield from (bytes(self.data[start : start + _PIECE]) for start in starts)
            return
        unpack = zlib.decompressobj(-15)
        try:
            for start in starts:
                rest = bytes(self.data[start : start + _PIECE])
                while rest:
                    yield unpack.decompress(rest, _PIECE)
                    rest = unpack.unconsumed_tail
            yield unpack.flush()
        except zlib.error as error:
            raise PackageError(f"expected packed data, found a damaged part ({error})") from None


def read_members(data: bytes) -> dict[str, Packed]:
    """All members of a container by name, still packed.

    Raises:
        PackageError: no zip file, encrypted, a repeated name, an unknown method, a part too large.
    """
    members: dict[str, Packed] = {}
    view = memoryview(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise PackageError(f"expected an .xlsx file, found something else ({error})") from None
    for info in infos:
        if info.filename in members:
            raise PackageError(f"expected each part once, found {info.filename!r} twice")
        if info.flag_bits & _ENCRYPTED:
            raise PackageError(f"expected readable parts, found {info.filename!r} encrypted")
        if info.compress_type not in (_STORED, _DEFLATED):
            raise PackageError(f"expected deflated parts, found method {info.compress_type}")
        if info.file_size > MAX_PART:
            raise PackageError(f"expected parts below 2 GiB, found {info.filename!r}")
        packed = view[_data_start(data, info) :][: info.compress_size]
        members[info.filename] = Packed(info.compress_type, info.CRC, info.file_size, packed)
    return members


def _data_start(data: bytes, info: zipfile.ZipInfo) -> int:
    start, end = info.header_offset, info.header_offset + _LOCAL.size
    if data[start : start + 4] != b"PK\3\4" or end > len(data):
        raise PackageError(f"expected a header of {info.filename!r}, found a damaged file")
    fields = _LOCAL.unpack(data[start:end])
    return end + int(fields[9]) + int(fields[10])


class ZipSink:
    """Writes members one after the other to a seekable file, then the directory.

    Times are 1980-01-01, attributes and extra fields empty.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._names: list[tuple[bytes, int, tuple[int, ...]]] = []

    def copy(self, name: str, packed: Packed) -> None:
        """Add a packed member as it is."""
        start = self._begin(name)
        self._file.write(packed.data)
        self._finish(name, start, packed.method, packed.crc, len(packed.data), packed.size)

    def add(self, name: str, pieces: Iterable[bytes], level: int = LEVEL) -> None:
        """Pack and add a member from pieces, holding one of them at a time.

        Raises:
            PackageError: the part is larger than ``MAX_PART``.
        """
        start = self._begin(name)
        pack = zlib.compressobj(level, zlib.DEFLATED, -15)
        crc = packed = size = 0
        for piece in pieces:
            crc, size = zlib.crc32(piece, crc), size + len(piece)
            if size > MAX_PART:
                raise PackageError(f"expected parts below 2 GiB, {name!r} grows larger")
            packed += self._file.write(pack.compress(piece))
        packed += self._file.write(pack.flush())
        self._finish(name, start, _DEFLATED, crc, packed, size)

    def close(self) -> None:
        """Write the directory; the file itself stays open."""
        start = self._file.tell()
        for name, offset, common in self._names:
            head = (b"PK\1\2", 20, *common, 0, 0, 0, 0, offset)
            self._file.write(_CENTRAL.pack(*head) + name)
        size, count = self._file.tell() - start, len(self._names)
        if start + size > 2**32 - 2 or count > 2**16 - 2:
            raise PackageError("expected a file below 4 GiB with fewer than 65,535 parts")
        self._file.write(_END.pack(b"PK\5\6", 0, 0, count, count, size, start, 0))

    def _begin(self, name: str) -> int:
        start = self._file.tell()
        self._file.write(bytes(_LOCAL.size) + name.encode("utf-8"))
        return start

    def _finish(self, name: str, start: int, method: int, crc: int, packed: int, size: int) -> None:
        end = self._file.tell()
        if end > 2**32 - 2:
            raise PackageError("expected a file below 4 GiB")
        raw = name.encode("utf-8")
        flags = 0 if name.isascii() else _UTF8
        common = (20, flags, method, 0, _DAY, crc, packed, size, len(raw), 0)
        self._file.seek(start)
        self._file.write(_LOCAL.pack(b"PK\3\4", *common))
        self._file.seek(end)
        self._names.append((raw, start, common))
