"""Which columns tell where trips start and end, where they are counted between zones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil import _engine as engine
from flowveil._errors import InputError
from flowveil._trips.columns import COORDINATES, ZONES, needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._trips.trips import Trips

IN_NO_ZONE = "in no zone"  # why a trip cannot be used


def find_ends(
    trips: Trips, *, by_zone: bool, ids: Sequence[str] = (), outlined: bool = False, look: bool = True
) -> tuple[str, ...]:
    """Return the meanings of the columns of ends: coordinates, or the ids of zones; raise with what is missing.

    by_zone: trips are counted between zones with these ids. outlined: these have outlines, so that coordinates will do.
    look: of trips that have both, look whether one of them names a zone; otherwise their ids are taken.
    """
    known = trips.columns
    if not by_zone or not all(name in known for name in COORDINATES):
        return needed(known, trips.available, by_zone=by_zone)
    if not all(name in known for name in ZONES):
        if not outlined:
            raise InputError(
                "these trips have coordinates, and the zones have no outlines to find them in",
                "give zones with outlines, or a grid: --grid in place of --zones",
            )
        return COORDINATES
    columns = [known[name] for name in ZONES]
    typed = any(name in trips.mapping for name in ZONES)
    if not outlined or typed or not look or engine.names_any(trips.source, columns, ids):
        return ZONES
    return COORDINATES


def ends_note(trips: Trips, ends: tuple[str, ...], *, by_zone: bool) -> tuple[str, ...]:
    """Say that zones are found by coordinates where trips name zones of somebody else."""
    if not by_zone or ends == ZONES:
        return ()
    found = "the zones of trips are found by their coordinates"
    if not all(name in trips.columns for name in ZONES):
        return (found,)
    columns = " and ".join(repr(trips.columns[name]) for name in ZONES)
    return (f"{found}: {columns} name none of the zones",)
