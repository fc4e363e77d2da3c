"""Packing parts of a whole for other processes, less what all parts share."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Message: TypeAlias = Any  # whatever pickle can carry from one process to another


def pack(content: object, shared: Sequence[object] = ()) -> bytes:
    """Return an object as bytes. In place of the objects of `shared` that it holds stand their numbers."""
    file = BytesIO()
    _Packer(file, shared).dump(content)
    return file.getvalue()


def unpack(packed: bytes, shared: Sequence[object] = ()) -> Message:
    """Return an object from bytes that this program packed, given the same objects to share."""
    return _Unpacker(BytesIO(packed), shared).load()


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
