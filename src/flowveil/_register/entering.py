"""Entering a release: before its folder appears, so that no folder is ever unknown to the register."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._errors import FlowveilError, InputError
from flowveil._folder import read_audit
from flowveil._register.account import check_account
from flowveil._register.entries import NOISE, WRITING
from flowveil._register.store import open_register

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flowveil._register.entries import Entry, NewEntry
    from flowveil._register.store import OpenRegister


@contextmanager
def look(path: str | Path, *, create: bool = True) -> Iterator[OpenRegister]:
    """Open a register in which all is settled that can be: of runs that were killed, whose folder was written."""
    with open_register(path, create=create) as register:
        for entry in register.entries():
            if entry.state == WRITING and _is_there(entry):
                register.settle(entry.number)
        yield register


@contextmanager
def enter(new: NewEntry | None, folder: str | Path) -> Iterator[dict[str, str]]:
    """Enter a release before the block writes its folder, and settle it after; nothing is done without an entry.

    The block puts what it is given into the audit file, by which the folder of a run that was killed is known again.
    """
    if new is None:
        yield {}
        return
    token = secrets.token_hex(16)
    with look(new.register) as register:
        if register.last != new.seen:
            raise InputError(
                f"another release was entered in {new.register.name!r} since this one was checked", "run it again"
            )
        if new.kind == NOISE:
            check_account(register, float(new.promise["epsilon"]), new.promise)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        number = register.add(new, Path(folder).resolve(), made, token)
    try:
        yield {"register": token}
    except BaseException:
        with open_register(new.register) as register:
            for entry in register.entries():
                if entry.number == number and not _is_there(entry):
                    register.forget(number)
        raise
    with open_register(new.register) as register:
        register.settle(number)


def _is_there(entry: Entry) -> bool:
    """Whether the folder of a release was written: its audit file has the same token."""
    try:
        return read_audit(Path(entry.folder)).get("register") == entry.token
    except (FlowveilError, OSError):
        return False
