"""Exchanging two folders in one step of the system."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_HERE = -100  # AT_FDCWD of Linux: paths are as the process sees them
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders of one file system so that each is there at any moment; whether the system can do that."""
    call = _find()
    return call is not None and call(os.fsencode(one), os.fsencode(other)) == 0


@cache
def _find() -> Callable[[bytes, bytes], int] | None:
    """Return the system's function, None where there is none."""
    if sys.platform not in {"linux", "darwin"}:
        return None
    library = ctypes.CDLL(None)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        return lambda one, other: int(library.renameat2(_HERE, one, _HERE, other, _EXCHANGE))
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        return lambda one, other: int(library.renamex_np(one, other, _EXCHANGE))
    return None
