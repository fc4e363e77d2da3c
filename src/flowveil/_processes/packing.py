"""Packing parts of a whole for other processes, less what all parts share."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_LENGTH = 8  # bytes before a message that tell how long it is


def pack(content: Any, shared: Sequence[object] = ()) -> bytes:
    """Return an object as bytes. In place of the objects of `shared` that it holds stand their numbers."""
    file = BytesIO()
    _Packer(file, shared).dump(content)
    return file.getvalue()


def unpack(packed: bytes, shared: Sequence[object] = ()) -> Any:
    """Return an object from bytes that this program packed, given the same objects to share."""
    return _Unpacker(BytesIO(packed), shared).load()


def send(message: bytes, stream: IO[bytes]) -> None:
    """Write a message to a stream."""
    stream.write(len(message).to_bytes(_LENGTH, "big"))
    stream.write(message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read a message from a stream; raise EOFError if it ends before that."""
    length = int.from_bytes(_read(stream, _LENGTH), "big")
    return _read(stream, length)


def _read(stream: IO[bytes], length: int) -> bytes:
    found = stream.read(length)
    if len(found) < length:
        raise EOFError
    return found


class _Packer(pickle.Pickler):
    def __init__(self, file: BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._number = {id(item): number for number, item in enumerate(shared)}

    def persistent_id(self, item: object) -> int | None:
        return self._number.get(id(item))


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, number: int) -> object:
        return self._shared[number]
