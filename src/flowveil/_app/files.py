"""Files that were given to the app: kept under names of our own, known to the user by theirs."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import unicodedata
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Self

from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

_TRIPS = (".csv", ".csv.gz", ".csv.zst", ".parquet", ".pq", ".arrow", ".feather")
_ZONES = (".geojson", ".json", ".csv", ".parquet", ".pq")
ENDINGS = {"trips": _TRIPS, "zones": _ZONES}
_LONGEST_NAME = 120
_MOST_FILES = 20

# How files of a format begin. Text has no such mark.
_MARKS = {
    ".parquet": (b"PAR1",),
    ".pq": (b"PAR1",),
    ".arrow": (b"ARROW1",),
    ".feather": (b"ARROW1", b"FEA1"),
    ".gz": (b"\x1f\x8b",),
    ".zst": (b"\x28\xb5\x2f\xfd",),
}


@dataclass(frozen=True)
class Stored:
    """A file in the private folder."""

    id: str
    kind: str  # trips or zones
    name: str  # as the user knows it: shown and put into commands, never a path of ours
    path: Path
    bytes: int


def shown_name(name: str) -> str:
    """Return the last part of a name, without what a terminal or a page could take for something else."""
    last = re.split(r"[/\\]", name)[-1]
    visible = "".join(letter for letter in last if unicodedata.category(letter)[0] != "C").strip()
    return visible[-_LONGEST_NAME:] or "unnamed"


def ending_of(name: str, kind: str) -> str:
    """Return the ending of a name if files of this kind may have it, or raise as the command line does."""
    known = sorted(ENDINGS[kind], key=len, reverse=True)
    suffix = next((ending for ending in known if name.lower().endswith(ending)), None)
    if suffix is None:
        raise InputError(f"the format of {name!r} is not known", f"{kind} are files that end in {', '.join(known)}")
    return suffix


class Files:
    """All files of a session, within one limit of bytes."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self.limit = limit
        self._stored: dict[str, Stored] = {}
        self._bytes = 0
        self._lock = Lock()
        folder.mkdir(mode=0o700)

    def __getitem__(self, key: str) -> Stored:
        stored = self._stored.get(key)
        if stored is None:
            raise InputError("there is no such file", "give the file again: it may have been replaced")
        return stored

    def begin(self, name: str, kind: str) -> Upload:
        """Start to take a file."""
        if kind not in ENDINGS:
            raise InputError(f"there is no kind of file {kind!r}", "files are trips or zones")
        if len(list(self._folder.iterdir())) >= _MOST_FILES:  # one folder a file, also of those that are on their way
            raise InputError("there are too many files", "remove one first")
        shown = shown_name(name)
        return Upload(self, shown, kind, ending_of(shown, kind))

    def remove(self, key: str) -> None:
        """Delete a file."""
        self._remove(self[key])

    def all(self) -> list[Stored]:
        """Return all files that are whole."""
        return list(self._stored.values())

    def clear(self) -> None:
        """Delete all files."""
        for stored in self.all():
            self._remove(stored)

    def _remove(self, stored: Stored) -> None:
        shutil.rmtree(stored.path.parent, ignore_errors=True)
        with self._lock:
            if self._stored.pop(stored.id, None) is not None:  # another request may have been faster
                self._bytes -= stored.bytes

    def reserve(self, count: int) -> None:
        """Count bytes that are about to be written, or raise if they are too many."""
        with self._lock:
            if self._bytes + count > self.limit:
                raise TooLargeError(self.limit)
            self._bytes += count

    def new_folder(self) -> Path:
        """Return a new folder for one file."""
        folder = self._folder / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder

    def with_names(self, text: str) -> str:
        """Return text with the users' names of files in place of our paths; text is JSON."""
        for stored in list(self._stored.values()):
            name = json.dumps(stored.name, ensure_ascii=False)[1:-1]
            text = text.replace(json.dumps(str(stored.path))[1:-1], name).replace(stored.path.name, name)
        return text

    def keep(self, stored: Stored) -> Stored:
        """Remember a file that is whole, by its id, and return it."""
        self._stored[stored.id] = stored
        return stored

    def drop(self, path: Path, count: int) -> None:
        """Forget a file that is not whole."""
        shutil.rmtree(path.parent, ignore_errors=True)
        with self._lock:
            self._bytes -= count


class TooLargeError(InputError):
    """An upload passes the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"files together may have {limit / 1e6:,.0f} MB",
            "remove files, start with flowveil serve --upload-limit 10GB, or use the command line",
        )


class Upload:
    """A file that is being received; leaving the block without `finish` deletes what came."""

    def __init__(self, files: Files, name: str, kind: str, ending: str) -> None:
        self._files = files
        self._name = name
        self._kind = kind
        self._ending = ending
        folder = files.new_folder()
        self._path = folder / f"{folder.name}{ending}"
        self._file: BinaryIO = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._bytes = 0
        self._done = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if not self._done:
            self._files.drop(self._path, self._bytes)

    def write(self, block: bytes) -> None:
        """Add bytes."""
        self._files.reserve(len(block))
        self._bytes += len(block)
        self._file.write(block)

    def fill(self, write: Callable[[Path], object]) -> None:
        """Let a function write the whole file."""
        write(self._path)
        self._files.reserve(size := self._path.stat().st_size)
        self._bytes += size

    def finish(self) -> Stored:
        """Check that the file is what its name says, and keep it."""
        self._file.close()
        if not self._bytes:
            raise InputError(f"the file {self._name!r} is empty", "give a file with a header and at least one row")
        _check_mark(self._path, self._name, self._ending)
        self._done = True
        return self._files.keep(Stored(self._path.parent.name, self._kind, self._name, self._path, self._bytes))


def _check_mark(path: Path, name: str, ending: str) -> None:
    """Raise if a file does not begin as files of its format do."""
    with path.open("rb") as file:
        start = file.read(8)
    marks = _MARKS.get("." + ending.rsplit(".", 1)[-1])
    every = tuple(mark for marks in _MARKS.values() for mark in marks)
    good = start.startswith(marks) if marks else not start.startswith(every) and b"\0" not in start
    if not good:
        raise InputError(f"{name!r} is not a {ending} file", "its content is of another format: mend its name")
