"""Locks that the system drops with the process that holds them, however that ends."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

fcntl: Any = None  # where Python has no such module
with suppress(ImportError):  # Windows has none
    import fcntl

_PAUSE = 0.01  # seconds between two looks at a lock that somebody else holds


@contextmanager
def hold(folder: Path, seconds: float) -> Iterator[bool]:
    """Hold a folder while the block runs, and say whether it is held: not where the system has no such locks.

    Raises BlockingIOError if somebody else, in this process or another, still holds it after so many seconds.
    """
    if fcntl is None:
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _lock(handle, time.monotonic() + seconds)
    finally:
        os.close(handle)


@contextmanager
def hold_place(path: Path, seconds: float) -> Iterator[None]:
    """Hold the place of a file or folder, whether there is one or not; as `hold` where the system has no such locks.

    What is held is a hidden file beside it, which is gone afterwards.
    """
    if fcntl is None:
        yield
        return
    file = path.with_name(f".{path.name}.lock")
    handle = _take(file, time.monotonic() + seconds)
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink()
        os.close(handle)


def _take(file: Path, until: float) -> int:
    """Return what holds a file; whoever held it before may have removed it: then again."""
    while True:
        handle = _open(file)
        try:
            if not _lock(handle, until) or _is_there(handle, file):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _open(file: Path) -> int:
    """Open a file to be locked; the one of another user can be waited for as well."""
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except PermissionError:
        return os.open(file, os.O_RDONLY | os.O_NOFOLLOW)


def _is_there(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), file.lstat())
    except FileNotFoundError:
        return False


def _lock(handle: int, until: float) -> bool:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
            time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return False
        else:
            return True
