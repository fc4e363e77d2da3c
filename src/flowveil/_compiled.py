"""How loops are compiled: without Python's lock, so that threads share the work, and kept on disk.

numba notices a change in a loop's own file only: after changing a loop that another file calls, remove `__pycache__`.

Compiling takes long, and the first release waits for it. A loop is compiled for each combination of types: so arrays
are laid out alike wherever they come from (`a[:, rows]` is not laid out as `a` is: take or compress), and a number that
stands in the code is given to another loop as np.int64(0): otherwise that loop is compiled for this very number.
Assigning an array to a slice brings along what tells of shapes that differ: entries are copied one by one.
"""

# ruff: noqa: SLF001  numba has no other door to its files

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from numba import njit
from numba.core.caching import IndexDataCacheFile

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Given = ParamSpec("Given")
Result = TypeVar("Result")

Whole = Any  # an array of int32 or int64, or one of its numbers


class NamedFiles(IndexDataCacheFile):
    """Compiled loops on disk, in files named by the types of the arguments.

    numba numbers them: of two processes that save a loop at once, each for other types, one may later run the code of
    the other, which reads numbers of 4 bytes as numbers of 8. Nor is code of an older file ever taken for the new one.
    """

    def save(self, key: Hashable, data: object) -> None:
        """Write the code, then an index that leads to it."""
        files: Any = self  # numba says nothing of its types
        name = files._data_name(int.from_bytes(sha256(repr(key).encode()).digest()[:8]))
        files._save_data(name, data)
        files._save_index({**files._load_index(), key: name})


def compiled(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Compile a loop when it is first called."""
    loop: Any = njit(cache=True, nogil=True)(function)  # a plain function where numba is told not to compile
    if loop is not function:
        loop._cache._cache_file.__class__ = NamedFiles
    return cast("Callable[Given, Result]", loop)
