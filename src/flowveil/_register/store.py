"""The file of a register: SQLite, for its owner only, safe where two runs use it at once and where one is killed."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from flowveil._errors import InputError
from flowveil._options import check_path
from flowveil._register.arrays import pack, unpack
from flowveil._register.entries import WRITING, WRITTEN, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flowveil._register.entries import NewEntry, StoredTrips

FORMAT = "flowveil-register/1"
_PATIENCE = 60.0  # seconds to wait for another run, which needs far less
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_MAGIC = b"SQLite format 3\0"  # how files of SQLite begin
_TABLES = """
CREATE TABLE register (name TEXT PRIMARY KEY, value);
CREATE TABLE releases (
    number INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT, made TEXT, folder TEXT, kind TEXT, promise TEXT, period TEXT,
    first INTEGER, last INTEGER, rows INTEGER, known_by TEXT, counted INTEGER, token TEXT
);
CREATE TABLE trips (release INTEGER PRIMARY KEY, content BLOB);
"""
_COLUMNS = "number, state, made, folder, kind, promise, period, first, last, rows, known_by, counted, token"


class OpenRegister:
    """A register, while nobody else changes it."""

    def __init__(self, path: Path, con: sqlite3.Connection) -> None:
        self.path = path
        self._con = con

    @property
    def secret(self) -> bytes:
        """What marks are made with."""
        return cast("bytes", self._get("secret"))

    @property
    def budget(self) -> float | None:
        """The most epsilon that all releases with noise may spend together; None where none was set."""
        value = self._get("epsilon_budget")
        return None if value is None else float(cast("float", value))

    @budget.setter
    def budget(self, epsilon: float) -> None:
        self._con.execute("INSERT OR REPLACE INTO register VALUES ('epsilon_budget', ?)", (epsilon,))

    def entries(self) -> list[Entry]:
        """Return all releases in the order they were entered."""
        return [_entry(row) for row in self._con.execute(f"SELECT {_COLUMNS} FROM releases ORDER BY number")]

    @property
    def last(self) -> int:
        """The number of the last release that was ever entered; forgetting one counts as well."""
        rows = self._con.execute("SELECT seq FROM sqlite_sequence WHERE name = 'releases'").fetchall()
        return int(rows[0][0]) if rows else 0

    def trips(self, entry: Entry) -> StoredTrips:
        """Return the trips of a release."""
        rows = self._con.execute("SELECT content FROM trips WHERE release = ?", (entry.number,)).fetchall()
        if not rows:
            raise InputError(
                f"the register {self.path.name!r} lacks the trips of {entry.name}", "take back a copy of it"
            )
        return unpack(rows[0][0])

    def add(self, new: NewEntry, folder: Path, made: str, token: str) -> int:
        """Enter a release that will be written, and return its number."""
        values = (
            *(WRITING, made, str(folder), new.kind, json.dumps(new.promise), new.period, new.first, new.last, new.rows),
            *(json.dumps(new.known_by), int(new.counted), token),
        )
        places = ", ".join("?" * len(values))
        columns = _COLUMNS.removeprefix("number, ")
        number = self._con.execute(f"INSERT INTO releases ({columns}) VALUES ({places})", values).lastrowid or 0
        if new.trips is not None:
            self._con.execute("INSERT INTO trips VALUES (?, ?)", (number, pack(new.trips)))
        return number

    def settle(self, number: int) -> None:
        """Note that the folder of a release was written."""
        self._con.execute("UPDATE releases SET state = ? WHERE number = ?", (WRITTEN, number))

    def forget(self, number: int) -> None:
        """Leave out a release that was never published."""
        if not self._con.execute("DELETE FROM releases WHERE number = ?", (number,)).rowcount:
            raise InputError(f"the register has no release {number}", "flowveil register FILE lists those it has")
        self._con.execute("DELETE FROM trips WHERE release = ?", (number,))

    def _get(self, name: str) -> object:
        rows = self._con.execute("SELECT value FROM register WHERE name = ?", (name,)).fetchall()
        return rows[0][0] if rows else None


@contextmanager
def open_register(path: str | Path, *, create: bool = False) -> Iterator[OpenRegister]:
    """Open a register for one change: all that is done in the block is kept, or nothing if it raises.

    Others wait meanwhile. create: make the file if there is none.
    """
    file = find_register(path, create=create)
    try:
        con = sqlite3.connect(file, timeout=_PATIENCE, isolation_level=None)
        try:
            con.execute("PRAGMA synchronous = FULL")
            con.execute("PRAGMA secure_delete = ON")
            con.execute("BEGIN IMMEDIATE")
            _check(con, file)
            yield OpenRegister(file, con)
            con.execute("COMMIT")
        finally:
            con.close()  # what was not committed is undone
    except sqlite3.OperationalError as error:
        raise InputError(
            f"the register {file.name!r} cannot be used: {error}", "try again, or check its disk"
        ) from None
    except sqlite3.DatabaseError:
        raise InputError(f"{file.name!r} is not a register", "name one that flowveil made, or a new file") from None


def find_register(path: str | Path, *, create: bool) -> Path:
    """Return the file of a register, which nobody but its owner can read; make it if it may be made."""
    file = Path(check_path(path, "register")).resolve()
    if not file.exists():
        if not create:
            raise InputError(f"there is no register {str(path)!r}", "flowveil register FILE --epsilon-budget makes one")
        if not file.parent.is_dir():
            raise InputError(f"there is no folder {str(file.parent)!r} to write to", "make it first")
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
    elif not file.is_file():
        raise InputError(f"{str(path)!r} is not a file", "name the file of the register")
    elif file.stat().st_size and not _is_database(file):
        raise InputError(f"{file.name!r} is not a register", "name one that flowveil made, or a new file")
    elif os.name == "posix" and file.stat().st_mode & _OTHERS:
        raise InputError(f"others may read the register {file.name!r}", f"make it private: chmod 600 {file.name}")
    return file


def _is_database(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_MAGIC)) == _MAGIC


def _check(con: sqlite3.Connection, file: Path) -> None:
    """Make the tables of a new file; raise if this is another one."""
    tables = {row[0] for row in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        for statement in filter(str.strip, _TABLES.split(";")):
            con.execute(statement)
        values = [("format", FORMAT), ("secret", secrets.token_bytes(32))]
        con.executemany("INSERT INTO register VALUES (?, ?)", values)
    elif "register" not in tables or con.execute("SELECT value FROM register WHERE name = 'format'").fetchall() != [
        (FORMAT,)
    ]:
        raise InputError(
            f"{file.name!r} is not a register of this version", "name one that flowveil made, or a new file"
        )


def _entry(row: tuple[object, ...]) -> Entry:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    told = {"promise": json.loads(str(values["promise"])), "known_by": tuple(json.loads(str(values["known_by"])))}
    return Entry(**(values | told | {"counted": bool(values["counted"])}))  # type: ignore[arg-type]  # rows of SQLite
