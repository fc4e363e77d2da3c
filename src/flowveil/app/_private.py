"""A folder that only this user can read and that is gone when the server is, however it ends."""

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
with suppress(ImportError):  # Windows has none: what killed servers left stays there until the system clears it
    import fcntl

_PREFIX = "flowveil-serve-"
_LOCK = "lock"


@contextmanager
def private_folder() -> Iterator[Path]:
    """Make the folder (mode 0700), and first remove those that killed servers of the same user left.

    A living server holds a lock on a file in its folder. The system drops the lock with the process.
    """
    remove_stale()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        with (folder / _LOCK).open("xb") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_stale() -> None:
    """Remove the folders of servers that are no more. What belongs to others, or is a link, is left alone."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if its server lives
                shutil.rmtree(folder)
