"""What a register keeps of a release: nothing that names a person, and all that a later check needs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from flowveil._arrays import IntArray, KeyArray
    from flowveil._folder import Json

FLOWS, NOISE, PATHS = "flows", "noise", "trajectories"  # kinds of entries
WRITTEN, WRITING = "written", "writing"  # a run that was killed leaves it open whether there is a folder
_NAMED = 4  # releases, in a message


@dataclass(frozen=True, eq=False)
class Layer:
    """Flows of a release of which none have a trip in common: by trip its flow, and what each flow is."""

    flow: IntArray  # by trip; -1 for none
    names: list[str]  # by flow: areas, time and groups, as text


@dataclass(frozen=True, eq=False)
class StoredTrips:
    """The trips of a release by their marks, sorted by these."""

    mark: KeyArray
    owner: KeyArray | None  # marks of persons; of trajectories the only marks
    trips: IntArray  # 1, but for rows of a counted table
    weight: IntArray | None  # in millionths
    layers: tuple[Layer, ...]


@dataclass(frozen=True)
class Entry:
    """A release in a register."""

    number: int
    state: str  # WRITTEN, or WRITING
    made: str  # date and time, UTC
    folder: str
    kind: str
    promise: dict[str, Json]
    period: str | None  # as the user typed it
    first: int | None  # the earliest and latest time of its trips, in microseconds since 1970; None if not known
    last: int | None
    rows: int  # trips, or samples
    known_by: tuple[str, ...]  # what trips are marked by
    counted: bool
    token: str  # which the audit file has, too

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"release {self.number} ({self.folder.rpartition('/')[2]})"

    @property
    def epsilon(self) -> float | None:
        """What it spent, if it has noise."""
        value = self.promise.get("epsilon")
        return None if value is None else float(value)


@dataclass(frozen=True, eq=False)
class NewEntry:
    """A release that is to be entered, and what the register held when it was checked."""

    register: Path
    seen: int  # the number of the last entry then
    kind: str
    promise: dict[str, Json]
    period: str | None
    rows: int
    first: int | None = None
    last: int | None = None
    known_by: tuple[str, ...] = ()
    counted: bool = False
    trips: StoredTrips | None = None
    notes: tuple[str, ...] = ()  # what was found, for the user


def name_all(entries: Sequence[Entry]) -> str:
    """Return what messages call several releases: up to four by name, of more the first three and how many follow."""
    names = [entry.name for entry in entries]
    if len(names) > _NAMED:
        numbers = ", ".join(str(entry.number) for entry in entries[_NAMED - 1 :])
        names[_NAMED - 1 :] = [f"{len(names) - _NAMED + 1:,} more ({numbers})"]
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def mark_of(secret: bytes, person: str) -> int:
    """Return the mark of a person, as the engine makes it."""
    return int(hashlib.sha256(f"{secret.hex()}\x1f{person}".encode()).hexdigest()[:16], 16)
