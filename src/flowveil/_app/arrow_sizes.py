"""How large the batches of an Arrow file are once they are unfolded, told from their headers: nothing is unpacked.

Headers are FlatBuffers (format.fbs and Message.fbs of the Arrow project): a table has a list of places of its fields, a
vector its length and its items. A buffer that is compressed begins with its length as unfolded, which is what readers
make room for.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"ARROW1"
_CONTINUES = 0xFFFFFFFF
_BLOCK, _BUFFER = 24, 16  # bytes of an item of a vector
_FOOTER_VECTORS = (2, 3)  # fields of the footer: dictionaries, batches
_BATCH, _DICTIONARY = 3, 2  # kinds of messages
_AS_IT_IS = -1  # length of a buffer that was not worth to be compressed


class Unfolded(NamedTuple):
    """What a file claims."""

    rows: int
    bytes: int


def unfolded(path: Path) -> Unfolded:
    """Return rows and bytes of all batches of an Arrow file; raise ValueError if it is none."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _unfolded(data)
        except (struct.error, IndexError, OverflowError):
            raise ValueError("its headers are broken") from None


def _unfolded(data: mmap.mmap) -> Unfolded:
    if data[: len(_MAGIC)] != _MAGIC or data[-len(_MAGIC) :] != _MAGIC:
        raise ValueError("it does not begin and end as Arrow files do")
    end = len(data) - len(_MAGIC) - 4
    footer = _Table.root(data, end - _number(data, "<i", end))
    rows = size = 0
    for field in _FOOTER_VECTORS:
        first, blocks = footer.vector(field)
        if blocks * _BLOCK > len(data):
            raise ValueError("its footer is broken")
        for place in range(first, first + blocks * _BLOCK, _BLOCK):
            batch = _batch(data, _number(data, "<q", place), _number(data, "<i", place + 8))
            rows, size = rows + batch.rows, size + batch.bytes
    return Unfolded(rows, size)


def _batch(data: mmap.mmap, place: int, length: int) -> Unfolded:
    """Return rows and bytes of the message at a place whose header, with what is before it, has this length."""
    prefix = 8 if _number(data, "<I", place) == _CONTINUES else 4
    message = _Table.root(data, place + prefix)
    header, is_dictionary = message.table(2), message.byte(1) == _DICTIONARY
    if message.byte(1) not in (_BATCH, _DICTIONARY):
        raise ValueError("a message is no batch")
    batch = header.table(1) if is_dictionary else header
    first, buffers = batch.vector(2)
    if buffers * _BUFFER > len(data):
        raise ValueError("a header is broken")
    compressed, body, size = batch.place(3) is not None, place + length, 0
    for buffer in range(first, first + buffers * _BUFFER, _BUFFER):
        stored = _number(data, "<q", buffer + 8)
        claimed = _number(data, "<q", body + _number(data, "<q", buffer)) if compressed and stored > 0 else _AS_IT_IS
        size += max(stored if claimed == _AS_IT_IS else claimed, 0)
    return Unfolded(0 if is_dictionary else batch.long(0), size)


class _Table(NamedTuple):
    """A table of a FlatBuffer."""

    data: mmap.mmap
    start: int

    @classmethod
    def root(cls, data: mmap.mmap, start: int) -> _Table:
        return cls(data, start + _number(data, "<I", start))

    def place(self, field: int) -> int | None:
        """Return where a field is, None if it is left out."""
        fields = self.start - _number(self.data, "<i", self.start)
        if 4 + 2 * field >= _number(self.data, "<H", fields):
            return None
        offset = _number(self.data, "<H", fields + 4 + 2 * field)
        return self.start + offset if offset else None

    def byte(self, field: int) -> int:
        place = self.place(field)
        return 0 if place is None else _number(self.data, "<B", place)

    def long(self, field: int) -> int:
        place = self.place(field)
        return 0 if place is None else _number(self.data, "<q", place)

    def table(self, field: int) -> _Table:
        place = self.place(field)
        if place is None:
            raise ValueError("a header is not complete")
        return _Table.root(self.data, place)

    def vector(self, field: int) -> tuple[int, int]:
        """Return where the items of a vector begin, and how many there are."""
        place = self.place(field)
        if place is None:
            return 0, 0
        start = place + _number(self.data, "<I", place)
        return start + 4, _number(self.data, "<I", start)


def _number(data: mmap.mmap, form: str, place: int) -> int:
    if place < 0:
        raise ValueError("a header points outside of the file")
    number: int = struct.unpack_from(form, data, place)[0]
    return number
