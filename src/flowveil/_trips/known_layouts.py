"""Layouts of files that are known by their columns: what others call the same things, and what has to be computed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flowveil._engine import Derived

if TYPE_CHECKING:
    from collections.abc import Sequence

_TRY = "TRY_CAST(TRY(json_extract({{0}}, '{path}')) AS DOUBLE)"
ROUNDED = "floor(TRY_CAST({0} AS DOUBLE) + 0.5)"  # whole trips of a number with decimals, halves up


def _json(name: str, column: str, path: str) -> Derived:
    """Return a number inside a column of JSON."""
    return Derived(name, (column,), _TRY.format(path=path))


@dataclass(frozen=True)
class Layout:
    """A layout of files: the columns it is known by, and which column is what.

    >>> [layout.name for layout in fv.layouts() if "POLYLINE" in layout.known_by]
    ['porto']
    """

    name: str
    title: str  # whose files these are
    known_by: tuple[str, ...]  # a file with all of these columns has this layout
    columns: dict[str, str]  # meaning -> column
    derived: tuple[Derived, ...] = ()  # columns that are computed; each is called like its meaning
    unit: str | None = None  # the column of persons or vehicles, if the layout has one
    notes: tuple[str, ...] = field(default=())  # what to know before trips are counted


_STATIONS = {"origin": "start_station_id", "destination": "end_station_id"}
_STATION_POINTS = {"start_lon": "start_lng", "start_lat": "start_lat", "end_lon": "end_lng", "end_lat": "end_lat"}

# The first that fits is taken: a layout with more columns of its own comes before one with fewer.
LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "divvy",
        "Divvy, Citi Bike, Bay Wheels and other systems of Lyft, since 2020",
        ("ride_id", "started_at", "start_station_id", "end_station_id", "start_lat", "start_lng"),
        {**_STATIONS, **_STATION_POINTS, "start_time": "started_at"},
    ),
    Layout(
        "citibike",
        "Citi Bike and others, until 2021",
        ("starttime", "start station id", "end station id", "start station longitude", "bikeid"),
        {
            "origin": "start station id",
            "destination": "end station id",
            "start_lon": "start station longitude",
            "start_lat": "start station latitude",
            "end_lon": "end station longitude",
            "end_lat": "end station latitude",
            "start_time": "starttime",
        },
        unit="bikeid",
    ),
    Layout(
        "divvy-stations",
        "Divvy, until 2019",
        ("trip_id", "start_time", "bikeid", "from_station_id", "to_station_id"),
        {"origin": "from_station_id", "destination": "to_station_id", "start_time": "start_time"},
        unit="bikeid",
    ),
    Layout(
        "tlc-yellow",
        "New York's Taxi and Limousine Commission, yellow cabs by zone",
        ("PULocationID", "DOLocationID", "tpep_pickup_datetime"),
        {"origin": "PULocationID", "destination": "DOLocationID", "start_time": "tpep_pickup_datetime"},
    ),
    Layout(
        "tlc-green",
        "New York's Taxi and Limousine Commission, green cabs by zone",
        ("PULocationID", "DOLocationID", "lpep_pickup_datetime"),
        {"origin": "PULocationID", "destination": "DOLocationID", "start_time": "lpep_pickup_datetime"},
    ),
    Layout(
        "tlc-hire",
        "New York's Taxi and Limousine Commission, vehicles for hire",
        ("PULocationID", "DOLocationID", "pickup_datetime"),
        {"origin": "PULocationID", "destination": "DOLocationID", "start_time": "pickup_datetime"},
    ),
    Layout(
        "lodes",
        "US Census LEHD: homes and workplaces by block",
        ("w_geocode", "h_geocode", "S000"),
        {"origin": "h_geocode", "destination": "w_geocode", "count": "S000"},
        notes=("counts are jobs: from the home block to the work block",),
    ),
    Layout(
        "mitma",
        "Spain's ministry of transport: trips by district and hour",
        ("fecha", "periodo", "origen", "destino", "viajes"),
        {"origin": "origen", "destination": "destino", "count": "count", "start_time": "start_time"},
        (
            Derived("count", ("viajes",), ROUNDED),
            Derived(
                "start_time",
                ("fecha", "periodo"),
                "try_strptime(replace({0}, '-', '') || ' ' || lpad(split_part({1}, '.', 1), 2, '0'), '%Y%m%d %H')",
            ),
        ),
        notes=("trips with decimals are rounded to whole ones, row by row",),
    ),
    Layout(
        "porto",
        "Porto's taxis: a path a trip",
        ("TRIP_ID", "TAXI_ID", "TIMESTAMP", "POLYLINE"),
        {"start_time": "TIMESTAMP", **{name: name for name in ("start_lon", "start_lat", "end_lon", "end_lat")}},
        (
            _json("start_lon", "POLYLINE", "$[0][0]"),
            _json("start_lat", "POLYLINE", "$[0][1]"),
            _json("end_lon", "POLYLINE", "$[#-1][0]"),
            _json("end_lat", "POLYLINE", "$[#-1][1]"),
        ),
        unit="TAXI_ID",
    ),
    Layout(
        "mds",
        "Mobility Data Specification 2, trips",
        ("provider_id", "device_id", "trip_id", "start_time", "start_location", "end_location"),
        {"start_time": "start_time", **{name: name for name in ("start_lon", "start_lat", "end_lon", "end_lat")}},
        (
            _json("start_lon", "start_location", "$.lng"),
            _json("start_lat", "start_location", "$.lat"),
            _json("end_lon", "end_location", "$.lng"),
            _json("end_lat", "end_location", "$.lat"),
        ),
        unit="device_id",
    ),
    Layout(
        "mds-route",
        "Mobility Data Specification 0 and 1, trips with a route",
        ("provider_id", "device_id", "trip_id", "start_time", "route"),
        {"start_time": "start_time", **{name: name for name in ("start_lon", "start_lat", "end_lon", "end_lat")}},
        (
            _json("start_lon", "route", "$.features[0].geometry.coordinates[0]"),
            _json("start_lat", "route", "$.features[0].geometry.coordinates[1]"),
            _json("end_lon", "route", "$.features[#-1].geometry.coordinates[0]"),
            _json("end_lat", "route", "$.features[#-1].geometry.coordinates[1]"),
        ),
        unit="device_id",
    ),
    Layout(
        "flowmap-blue",
        "flowmap.blue, sheet of flows",
        ("origin", "dest", "count"),
        {"origin": "origin", "destination": "dest", "count": "count"},
    ),
    Layout(
        "skmob",
        "scikit-mobility, FlowDataFrame",
        ("origin", "destination", "flow"),
        {"origin": "origin", "destination": "destination", "count": "flow"},
    ),
)
MATRIX = Layout(
    "matrix",
    "a matrix: the first column names origins, the others are named by destinations",
    (),
    {"origin": "origin", "destination": "destination", "count": "count"},
    (Derived("count", ("value",), ROUNDED),),
    notes=("numbers with decimals are rounded to whole trips, cell by cell",),
)


def layouts() -> tuple[Layout, ...]:
    """Return the layouts of files that are known by their columns.

    >>> [layout.name for layout in fv.layouts()][:2]
    ['divvy', 'citibike']
    """
    return (*LAYOUTS, MATRIX)


def find_layout(available: Sequence[str]) -> Layout | None:
    """Return the first layout whose columns a file has, whatever capitals and blanks its names are written with."""
    there = {plain(column) for column in available}
    return next((layout for layout in LAYOUTS if {plain(name) for name in layout.known_by} <= there), None)


def match_names(available: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return the column of a file for each name that is there: as it is written, or as it sounds."""
    alike = Counter(plain(column) for column in available)
    by_plain = {plain(column): column for column in available if alike[plain(column)] == 1}
    found = {name: name if name in available else by_plain.get(plain(name)) for name in names}
    return {name: column for name, column in found.items() if column is not None}


def plain(name: str) -> str:
    """Return a name as it sounds: `Start Station Longitude` is `start_station_longitude`."""
    return re.sub(r"[\W_]+", "_", name.strip().lower())
