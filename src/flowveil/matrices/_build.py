"""From trips to a frequency matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowveil import engine
from flowveil._errors import InputError, UnknownNameError
from flowveil.matrices._points import Grid, Matrix, Origin, Points
from flowveil.places import parse_bbox
from flowveil.trips import Trips, read_trips

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DEFAULT_CELLS = 1000
_MOST_CELLS = 1_000_000
_ENDS = {
    "both": ("start_lon", "start_lat", "end_lon", "end_lat"),
    "origin": ("start_lon", "start_lat"),
    "destination": ("end_lon", "end_lat"),
}
_PLACES = {"start": "origin", "end": "destination"}


def build_matrix(
    trips: Any,
    bbox: str | Iterable[float] | None,
    cells: int = DEFAULT_CELLS,
    *,
    ends: str = "both",
    stops: Sequence[str] = (),
    unit: str | None = None,
    max_trips_per_person: int | None = None,
    memory: str | None = None,
) -> Matrix:
    """Count trips by cell of a grid of 2 (one end), 4 (both ends) or more (with stops) dimensions.

    trips: what `read_trips` returns, or anything it takes. bbox: west, south, east, north in degrees, known without
    looking at the trips. cells: parts of each side. ends: both, origin or destination. stops: columns lon, lat, lon,
    lat, ... of stops on the way. unit: column of persons, of whom each contributes at most `max_trips_per_person`
    trips, drawn uniformly; without it one trip is what is protected.
    """
    if bbox is None:
        raise InputError(
            "differential privacy needs a bbox", "give --bbox W,S,E,N: the extent of the trips themselves is private"
        )
    if isinstance(cells, bool) or not isinstance(cells, int) or not 1 <= cells <= _MOST_CELLS:
        raise InputError(f"the grid has {cells} cells a side", f"give a whole number from 1 to {_MOST_CELLS:,}")
    table = trips if isinstance(trips, Trips) else read_trips(trips)
    most = _bound(table, unit, max_trips_per_person)
    columns = _coordinates(table, ends, stops)
    names = tuple(_PLACES.get(name[:-4], name[:-4].replace("_", " ")) for name in columns if name.endswith("_lon"))
    grid = Grid(parse_bbox(bbox), cells, names)
    request = engine.Request(
        source=table.source,
        columns=columns,
        where=table.where,
        count=None if unit else table.columns.get("count") if "count" in table.mapping else None,
        unit=unit,
    )
    found = engine.count_points(request, grid.bbox, cells, most, memory)
    return Matrix(
        points=Points(found.cells, found.trips, grid.lengths),
        grid=grid,
        unit=unit,
        max_trips_per_person=most,
        origin=Origin(
            source=table.source,
            columns=table.mapping,
            where=table.where,
            rows=found.rows,
            dropped=found.dropped,
            outside_bbox=found.outside_bbox,
            beyond_bound=found.beyond_bound,
        ),
    )


def _bound(trips: Trips, unit: str | None, most: int | None) -> int:
    """Return how many trips one unit can contribute."""
    if unit is None:
        if most is not None:
            raise InputError(
                "max_trips_per_person needs persons", "name their column with --unit; else one trip is protected"
            )
        return 1
    if unit == "trip":
        raise InputError("the column of persons is called 'trip'", "give it another name")
    if unit not in trips.available:
        raise UnknownNameError("column", unit, trips.available)
    if most is None:
        raise InputError(
            "to protect persons, the trips that count of each must be bounded",
            "give --max-trips-per-person N, without looking at the trips; noise grows with N",
        )
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"max_trips_per_person is {most}", "it is a whole number, 1 or more")
    return most


def _coordinates(trips: Trips, ends: str, stops: Sequence[str]) -> dict[str, str]:
    """Return the column of each axis by its name: ends first, then stops."""
    if ends not in _ENDS:
        raise UnknownNameError("end", ends, _ENDS)
    missing = [name for name in _ENDS[ends] if name not in trips.columns]
    if missing:
        raise InputError(
            f"the trips have no column for {', '.join(missing)}; they have {', '.join(trips.available)}",
            f"map names with --columns, e.g. --columns {missing[0]}=YOUR_COLUMN",
        )
    if len(stops) % 2:
        raise InputError(
            f"{len(stops)} columns of stops were given", "give a column lon and a column lat for each stop"
        )
    for column in stops:
        if column not in trips.available:
            raise UnknownNameError("column", column, trips.available)
    axes = {name: trips.columns[name] for name in _ENDS[ends]}
    for number, column in enumerate(stops):
        axes[f"stop_{number // 2 + 1}_{'lat' if number % 2 else 'lon'}"] = column
    return axes
