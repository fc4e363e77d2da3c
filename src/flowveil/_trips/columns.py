"""Which column of the input is what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError, UnknownNameError
from flowveil._trips.known_layouts import match_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flowveil._trips.known_layouts import Layout

COORDINATES = ("start_lon", "start_lat", "end_lon", "end_lat")
ZONES = ("origin", "destination")

# Names under which others keep the same thing: flowmap.blue (dest), scikit-mobility (flow, lng), taxi commissions,
# bike-sharing systems (start station longitude). Capitals, blanks and signs between words make no difference.
_KNOWN: dict[str, tuple[str, ...]] = {
    "start_lon": (
        "start_lng",
        "start_longitude",
        "origin_lon",
        "origin_lng",
        "origin_longitude",
        "pickup_longitude",
        "pickup_centroid_longitude",
        "start_station_longitude",
        "from_longitude",
        "lng_o",
    ),
    "start_lat": (
        "start_latitude",
        "origin_lat",
        "origin_latitude",
        "pickup_latitude",
        "pickup_centroid_latitude",
        "start_station_latitude",
        "from_latitude",
        "lat_o",
    ),
    "end_lon": (
        "end_lng",
        "end_longitude",
        "destination_lon",
        "dest_lon",
        "destination_lng",
        "destination_longitude",
        "dropoff_longitude",
        "dropoff_centroid_longitude",
        "end_station_longitude",
        "to_longitude",
        "lng_d",
    ),
    "end_lat": (
        "end_latitude",
        "destination_lat",
        "dest_lat",
        "destination_latitude",
        "dropoff_latitude",
        "dropoff_centroid_latitude",
        "end_station_latitude",
        "to_latitude",
        "lat_d",
    ),
    "origin": ("origin_zone", "origin_id", "start_zone", "PULocationID", "start_station_id", "from_station_id"),
    "destination": (
        "dest",
        "destination_zone",
        "destination_id",
        "dest_id",
        "end_zone",
        "DOLocationID",
        "end_station_id",
        "to_station_id",
    ),
    "count": ("flow",),
    "start_time": (
        "start_datetime",
        "started_at",
        "starttime",
        "trip_start_timestamp",
        "departure_time",
        "pickup_datetime",
        "lpep_pickup_datetime",
        "tpep_pickup_datetime",
        "datetime",
        "time",
        "timestamp",
    ),
}
LOOKS_COUNTED = ("trips", "volume", "total", "n_trips", "flows")  # names that often hold a number of trips a row
_SHOWN = 20
_FOR_ZONE_TABLES = {"zone_id", "lon", "lat"}  # mapped by the same option, used when the zones are read


def recognize(
    available: Sequence[str], mapping: Mapping[str, str] | None, layout: Layout | None = None
) -> dict[str, str]:
    """Return the input's column for every known meaning that it has; `mapping` goes first, '' means none."""
    recognized: dict[str, str] = {}
    for name, column in (mapping or {}).items():
        if name not in _KNOWN and name not in _FOR_ZONE_TABLES:
            raise UnknownNameError("column meaning", name, [*_KNOWN, *_FOR_ZONE_TABLES])
        if name in _KNOWN and column:
            if column not in available:
                raise UnknownNameError("column", column, available)
            recognized[name] = column
    of_layout = {} if layout is None else layout.columns
    for name, others in _KNOWN.items():
        if name not in (mapping or {}):
            known = [*([of_layout[name]] if name in of_layout else []), name, *others]
            as_written = next((column for column in known if column in available), None)
            match = as_written or next(iter(match_names(available, known).values()), None)
            if match is not None:
                recognized[name] = match
    return recognized


def check_used(mapping: Mapping[str, str], *, by_zone: bool) -> None:
    """Raise if a column was mapped that says nothing without zones, and there are none."""
    about_zones = {name for name in ZONES if mapping.get(name)} | _FOR_ZONE_TABLES
    if not by_zone and (idle := [name for name in mapping if name in about_zones]):
        raise InputError(
            f"columns were mapped that are about zones, and no zones were given: {', '.join(idle)}",
            "describe the zones with --zones FILE, or leave these out of --columns",
        )


def needed(recognized: Mapping[str, str], available: Sequence[str], *, by_zone: bool) -> tuple[str, ...]:
    """Return the meanings that places need, or raise with what is missing."""
    names = ZONES if by_zone else COORDINATES
    missing = [name for name in names if name not in recognized]
    if not missing:
        return names
    more = f" and {len(available) - _SHOWN} more" if len(available) > _SHOWN else ""
    what = f"the trips have no column for {', '.join(missing)}; they have {', '.join(available[:_SHOWN])}{more}"
    if by_zone and all(name in recognized for name in COORDINATES):
        raise InputError(what, "these trips have coordinates: use --grid in place of --zones")
    if not by_zone and all(name in recognized for name in ZONES):
        raise InputError(what, "these trips name zones: describe them with --zones FILE")
    raise InputError(what, f"map names with --columns, e.g. --columns {missing[0]}=YOUR_COLUMN")
