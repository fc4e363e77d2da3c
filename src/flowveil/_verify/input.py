"""The input of a release: what was passed, or what the private audit file remembers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._engine import QuerySource, Request
from flowveil._errors import InputError, UnknownNameError
from flowveil._folder import remembered
from flowveil._places import read_zones
from flowveil._trips import Trips, find_ends, reopen_trips

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Json
    from flowveil._places import ZonesLike, ZoneTable
    from flowveil._trips import TripsLike
    from flowveil._verify.manifest import Promise
    from flowveil._verify.options import Options


def open_trips(
    trips: TripsLike, audit: Mapping[str, Json], columns: str | Mapping[str, str] | None, where: str | None
) -> Trips:
    """Return the trips; columns and condition come from the audit file only when trips are files."""
    if isinstance(trips, Trips):
        if columns or where:
            raise InputError("columns or where were given with trips that have their own", "give them to read_trips")
        return trips
    is_path = isinstance(trips, str | Path | list | tuple | QuerySource)
    story = remembered(audit if is_path else {})
    return reopen_trips(trips, story, columns, where)


def open_zones(zones: ZonesLike | None, audit: Mapping[str, Json], trips: Trips, options: Options) -> ZoneTable | None:
    """Return the zones of the release; None of one on a grid."""
    if not options.by_zone:
        if zones is not None:
            raise InputError("zones were given, and the release is on a grid", "leave out --zones")
        return None
    source = remembered(audit).zones if zones is None else zones
    if source is None:
        raise InputError("the release is about zones, and no zones were given", "give them with --zones FILE")
    return read_zones(source, None if options.columns is None else options.columns[0], trips.mapping)


def make_request(trips: Trips, options: Options, promise: Promise, zones: ZoneTable | None) -> Request:
    """Return which columns are to be read; zones: those of a release on zones."""
    is_outlined = zones is not None and any(
        shape is not None and shape.geom_type in ("Polygon", "MultiPolygon") for shape in zones.geometry
    )
    ids = () if zones is None else zones.ids
    names = find_ends(trips, by_zone=options.by_zone, ids=ids, outlined=is_outlined)
    for column in (promise.unit, promise.weight, *options.by):
        if column is not None and column not in trips.available:
            raise UnknownNameError("column", column, trips.available)
    count = trips.columns.get("count") if options.by_zone or "count" in trips.mapping else None
    if count and (promise.unit or promise.weight):
        raise InputError(
            f"the input is already counted (column {count!r}), but the release counts persons or weights",
            "verify against the single trips, or say that the column is no count with --columns count=",
        )
    if promise.counted_persons and not count:
        raise InputError(
            "the release counts the persons of a table that is already counted, and the input has no column of counts",
            "name it with --columns count=COLUMN",
        )
    return Request(
        source=trips.source,
        columns={name: trips.columns[name] for name in names},
        where=trips.where,
        count=count,
        unit=promise.unit,
        weight=promise.weight,
        weighs_trips=promise.weighs_trips,
        time=_time_column(trips) if options.time_levels else None,
        by=options.by,
        reading=trips.reading,
    )


def _time_column(trips: Trips) -> str:
    if "start_time" not in trips.columns:
        raise InputError("the trips have no column for start_time", "map it with --columns start_time=YOUR_COLUMN")
    return trips.columns["start_time"]
