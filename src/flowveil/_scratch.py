"""Folders for private data on its way: only their owner reads them, and what a killed process left is removed."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

fcntl: Any = None
with suppress(ImportError):  # Windows has none: what killed processes left stays there until the system clears it
    import fcntl

_PREFIX = "flowveil-spill-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder (mode 0700) that is gone afterwards, and first remove those that killed processes left.

    A living process holds a lock on its folder. The system drops the lock with the process, however that ends.
    """
    remove_abandoned()
    folder, lock = _make()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_abandoned() -> None:
    """Remove folders of this user that nobody holds. What cannot be locked is in use, or not ours to judge."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)


def _make() -> tuple[Path, int]:
    """Return a new folder and what holds its lock; another process may remove it before it is locked: then again."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        if fcntl is None:
            return folder, os.open(os.devnull, os.O_RDONLY)
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            with suppress(OSError):  # a file system without locks: the folder is removed at the end, as anywhere
                fcntl.flock(lock, fcntl.LOCK_SH)
            if folder.exists():
                return folder, lock
            os.close(lock)
