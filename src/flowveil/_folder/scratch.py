"""Folders for private data on its way: only their owner reads them, and what a killed process left is removed."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._folder.lock import hold

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = "flowveil-spill-"
_PATIENCE = 1.0  # seconds; whoever looks whether a new folder is held is done in far less


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for temporary files (mode 0700) that is gone afterwards."""
    with own_folder(Path(tempfile.gettempdir()), _PREFIX) as folder:
        yield folder


@contextmanager
def own_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a folder (mode 0700) that is gone afterwards, and first remove those that killed processes left.

    A living process holds a lock on its folder. The system drops the lock with the process, however that ends.
    """
    _remove_abandoned(parent, prefix)
    with ExitStack() as held:
        folder = _make(parent, prefix, held)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove folders of this user that nobody holds. What cannot be locked is in use, or not ours to judge."""
    for folder in parent.glob(f"{glob.escape(prefix)}*"):
        with suppress(OSError):
            if folder.is_symlink() or not folder.is_dir():
                continue
            with hold(folder, 0) as is_held:
                if is_held and folder.stat().st_uid == os.getuid():
                    shutil.rmtree(folder)


def _make(parent: Path, prefix: str, held: ExitStack) -> Path:
    """Return a new folder that is held; another process may remove it before it is: then again."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with suppress(FileNotFoundError, BlockingIOError):
            held.enter_context(hold(folder, _PATIENCE))
            if folder.exists():
                return folder
