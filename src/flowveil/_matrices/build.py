"""From trips to a frequency matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flowveil import _engine as engine
from flowveil._errors import InputError
from flowveil._matrices.ladder import make_ladder
from flowveil._matrices.layers import Layers, check_layers, make_division, parse_layers
from flowveil._matrices.points import CellGrid, Matrix, Points, Provenance
from flowveil._matrices.tiles import TileGrid, make_tile_grid, make_zone_grid
from flowveil._options import (
    PERIODS,
    WINDOW,
    check_flag,
    parse_bbox,
    parse_bound,
    parse_cells,
    parse_choice,
    parse_memory,
    parse_names,
    parse_protection,
    parse_timezone,
)
from flowveil._places import Zones, path_of
from flowveil._trips import IN_NO_ZONE, Trips, find_ends, read_trips

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._flows import Flows
    from flowveil._options import Protection
    from flowveil._places import BoundingBox, NamedPlacesLike, ZonesLike
    from flowveil._trips import TripsLike

ChooseBound = Callable[[tuple[int, ...], "IntArray", "IntArray"], int]  # of numbers, and who made how many trips
DEFAULT_CELLS = 1000
_ENDS = {
    "both": ("start_lon", "start_lat", "end_lon", "end_lat"),
    "origin": ("start_lon", "start_lat"),
    "destination": ("end_lon", "end_lat"),
}
_PLACES = {"start": "origin", "end": "destination"}


def build_matrix(
    trips: TripsLike,
    bbox: str | Iterable[float] | None,
    cells: int = DEFAULT_CELLS,
    *,
    ends: str = "both",
    stops: str | Sequence[str] = (),
    unit: str | None = None,
    max_trips_per_person: int | str | None = None,
    protect: str | None = None,
    timezone: str | None = None,
    memory: str | int | None = None,
    choose: ChooseBound | None = None,
) -> Matrix:
    """Count trips by cell of a grid of 2 (one end), 4 (both ends) or more (with stops) dimensions.

    trips: what `read_trips` returns, or anything it takes. bbox: west, south, east, north in degrees, known without
    looking at the trips. cells: parts of each side. ends: both, origin or destination. stops: columns lon, lat, lon,
    lat, ... of stops on the way. unit: column of persons, of whom each contributes at most `max_trips_per_person`
    trips, drawn uniformly; without it one trip is what is protected. protect: "person" (the default with a unit), or
    "person-day", "person-week" or "person-month": the trips of a person in one of these, each of which has the bound;
    timezone: whose clock cuts them. memory: what may be used, e.g. "2GB", or in bytes. choose: `add_noise` gives it,
    to choose the bound of "auto" privately.

    >>> matrix = fv.build_matrix("trips.parquet", (4.40, 50.26, 4.82, 50.53), cells=20)
    >>> matrix.grid.cells, matrix.grid.places
    (20, ('origin', 'destination'))
    """
    box, cells = public_box(bbox), parse_cells(cells)
    parse_choice(ends, "end", _ENDS)
    stops = parse_names(stops, "stops")
    memory = None if memory is None else parse_memory(memory)
    table = trips if isinstance(trips, Trips) else read_trips(trips)
    asked = _ask(table, unit, max_trips_per_person, protect, timezone, Layers(), choose)
    columns = _coordinates(table, ends, stops)
    names = tuple(_PLACES.get(name[:-4], name[:-4].replace("_", " ")) for name in columns if name.endswith("_lon"))
    grid = CellGrid(box, cells, names)
    request = _request(table, columns, unit, asked)
    counted = engine.count_points(request, grid.bbox, cells, asked.most, memory, asked.division)
    points = Points(counted.cells, counted.trips, grid.lengths)
    return Matrix(
        points,
        grid,
        unit,
        counted.most or 1,
        _provenance(table, counted),
        protection=asked.protection,
        timezone=timezone,
    )


def build_tile_matrix(
    trips: TripsLike,
    bbox: str | Iterable[float] | None = None,
    grid: str | None = None,
    *,
    zones: ZonesLike | None = None,
    zone_name: str | None = None,
    places: NamedPlacesLike | None = None,
    hierarchy: str | Sequence[str] | None = None,
    time: str | None = None,
    time_hierarchy: str | None = None,
    timezone: str | None = None,
    period: str | None = None,
    by: str | Sequence[str] = (),
    groups: Mapping[str, Iterable[str | None]] | Iterable[str] | None = None,
    unit: str | None = None,
    max_trips_per_person: int | str | None = None,
    protect: str | None = None,
    persons: bool = False,
    memory: str | int | None = None,
    choose: ChooseBound | None = None,
) -> Matrix:
    """Count trips by pair of H3 tiles of a public box, or of zones; other options as for `build_matrix`.

    grid: "h3:RESOLUTION" (default h3:10). hierarchy: "h3-binary" (default) or "h3".
    zones: in their place, a table or file of zones; all count, whether or not a trip was there. hierarchy: of zones,
    as for `build_flows`.
    zone_name: the column that names zones; by default one called name, zone_name, label or the like; "" for none.
    places: what areas of a grid are called after, as for `build_flows`.
    time, time_hierarchy, timezone: as for `build_flows`; one matrix a step, or time as an axis. period: which steps of
    the calendar there are, like "2024-05" or "2024-05-01/2024-05-14". by: columns of groups, and groups: the values of
    each, none of which may come from the trips. Steps and groups without trips count as well.
    protect: also "window:N", any N steps of time in a row, each of which has the bound. persons: keep who was where,
    so that persons can be counted beside trips.
    bbox, unit, max_trips_per_person, memory, choose: as for `build_matrix`.

    >>> matrix = fv.build_tile_matrix("trips.parquet", (4.40, 50.26, 4.82, 50.53), "h3:6")
    >>> matrix.grid.settings()["hierarchy"]
    'h3-binary'
    """
    memory = None if memory is None else parse_memory(memory)
    table = trips if isinstance(trips, Trips) else read_trips(trips)
    layers = parse_layers(time, time_hierarchy, timezone, period, by, groups)
    asked = _ask(table, unit, max_trips_per_person, protect, timezone, layers, choose)
    if check_flag(persons, "persons") and unit is None:
        raise InputError("persons are counted where there is a column of them", "name it with --unit")
    if zones is None:
        if zone_name is not None:
            raise InputError("a column of names goes with zones", "give --zones FILE, or leave out --zone-name")
        tiles = make_tile_grid(public_box(bbox), grid, hierarchy, places)
        columns = _coordinates(table, "both", ())
    else:
        if places is not None:
            raise InputError("areas of zones are named by their zones", "leave out --places, or give --zone-name COL")
        if bbox is not None or grid is not None:
            raise InputError("a grid or bbox does not go with zones", "choose one of --zones and --grid")
        tiles = make_zone_grid(zones, hierarchy, table.mapping, zone_name)
        outlined = isinstance(tiles.places, Zones) and tiles.places.table.has_outlines
        names = find_ends(table, by_zone=True, outlined=outlined, look=False)  # one row must not decide it
        columns = {name: table.columns[name] for name in names}
    request = _request(table, columns, unit, asked)
    if zones is not None:
        request = replace(request, nowhere=IN_NO_ZONE)
    counted = engine.count_points(
        request, tiles.bbox, tiles.places.index, asked.most, memory, asked.division, persons=persons
    )
    cells = tiles.positions(counted.cells.astype(np.uint64).ravel()).reshape(-1, 2)
    inside = np.asarray((cells >= 0).all(axis=1), bool)
    lengths: tuple[int, ...] = tiles.lengths
    if layers.axis is not None:
        cells = np.column_stack([cells, layers.axis.place[counted.step]])
        lengths = (*lengths, len(layers.keys))
    matrix = layers.numbers(counted.step, counted.group)
    points = Points(cells[inside], counted.trips[inside], lengths, matrix[inside], layers.matrices)
    provenance = replace(
        _provenance(table, counted),
        zones=str(Path(zones).resolve()) if isinstance(zones, str | Path) else None,
        places=path_of(places),
        outside_bbox=counted.outside_bbox + int(counted.trips[~inside].sum()),
    )
    visits = _visits_of(counted, inside) if persons else None
    bound = counted.most or 1
    return Matrix(points, tiles, unit, bound, provenance, layers, asked.protection, timezone, visits)


def _visits_of(counted: engine.PointCounts, inside: BoolArray) -> tuple[IntArray, IntArray] | None:
    """Return who was in which of the points that are kept."""
    if counted.visit_row is None or counted.visit_person is None:
        return None
    kept = inside[counted.visit_row]
    place = np.cumsum(inside) - 1
    return place[counted.visit_row[kept]], counted.visit_person[kept]


def matrix_of_flows(flows: Flows) -> Matrix:
    """Return flows as a matrix over all tiles of their bbox, or all zones; one trip is what is protected."""
    if isinstance(flows.places, Zones):
        grid = TileGrid(None, flows.places, flows.origins, make_ladder(flows.origins))
    else:
        settings = flows.places.settings()
        grid = make_tile_grid(public_box(flows.provenance.bbox), settings["grid"], settings["hierarchy"])
        grid.places.naming = flows.places.naming
    ends = ((flows.origins, flows.origin), (flows.destinations, flows.destination))
    cells = np.column_stack([grid.positions(tree.key[leaf]) for tree, leaf in ends])
    inside = (cells >= 0).all(axis=1)
    provenance = Provenance(
        source=flows.provenance.source,
        zones=flows.provenance.zones,
        columns=flows.provenance.columns,
        where=flows.provenance.where,
        reading=flows.provenance.reading,
        rows=flows.total,
    )
    return Matrix(Points(cells[inside], flows.trips[inside], grid.lengths), grid, provenance=provenance)


def public_box(bbox: str | Iterable[float] | None) -> BoundingBox:
    """Return the box, or raise: without one the data would have to tell it."""
    if bbox is None:
        raise InputError(
            "differential privacy needs a bbox", "give --bbox W,S,E,N: the extent of the trips themselves is private"
        )
    return parse_bbox(bbox)


def _request(trips: Trips, columns: dict[str, str], unit: str | None, asked: _Asked) -> engine.Request:
    by_zone = "origin" in columns
    counted = trips.columns.get("count") if by_zone or "count" in trips.mapping else None
    if counted and unit:
        raise InputError(
            f"the table is already counted (column {counted!r}), so {unit!r} cannot bound what persons contribute",
            "give single trips, or leave out the unit",
        )
    where = engine.without_errors(trips.where)
    return engine.Request(
        source=trips.source,
        columns=columns,
        where=where,
        count=counted,
        unit=unit,
        reading=trips.reading,
        time=asked.time,
        by=asked.by,
    )


def _provenance(trips: Trips, counted: engine.PointCounts) -> Provenance:
    return Provenance(
        source=trips.source,
        columns=trips.mapping,
        where=trips.where,
        reading=trips.reading,
        rows=counted.rows,
        dropped=counted.dropped,
        outside_bbox=counted.outside_bbox,
        beyond_bound=counted.beyond_bound,
    )


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is protected, and how trips are divided for it."""

    most: int | Callable[[IntArray, IntArray], int]  # trips of a unit, or how to choose that
    protection: Protection
    division: engine.Division
    time: str | None  # the column, where time matters
    by: tuple[str, ...]


def _ask(
    trips: Trips,
    unit: str | None,
    bound: int | str | None,
    protect: str | None,
    timezone: str | None,
    layers: Layers,
    choose: ChooseBound | None,
) -> _Asked:
    """Return what options say of persons, spans and matrices; raise where they do not go together."""
    protection = parse_protection(protect, has_unit=unit is not None)
    if protection.name == WINDOW and (layers.steps is None or layers.steps.cycle or layers.levels):
        raise InputError(
            "a window is of steps of the calendar, one matrix each",
            "cut time with --time 1h, 1d or the like, or protect a person or person-day",
        )
    dated = layers.steps is not None or protection.name in PERIODS
    if timezone is not None:
        parse_timezone(timezone)
        if not dated:
            raise InputError("a time zone was given, but no clock is looked at", "leave out --timezone, or cut time")
    if dated and "start_time" not in trips.columns:
        raise InputError("the trips have no column for start_time", "map it with --columns start_time=YOUR_COLUMN")
    check_layers(layers, trips.available, unit)
    return _Asked(
        _bound(trips, unit, bound, protection, choose),
        protection,
        make_division(layers, protection, timezone),
        trips.columns["start_time"] if dated else None,
        tuple(layers.groups),
    )


def _bound(
    trips: Trips, unit: str | None, most: int | str | None, protection: Protection, choose: ChooseBound | None
) -> int | Callable[[IntArray, IntArray], int]:
    """Return how many trips one unit can contribute, or how to choose that."""
    if unit is None:
        if most is not None:
            raise InputError(
                "max_trips_per_person needs persons", "name their column with --unit; else one trip is protected"
            )
        return 1
    if unit == "trip":
        raise InputError("the column of persons is called 'trip'", "give it another name")
    parse_choice(unit, "column", trips.available)
    if most is None:
        raise InputError(
            "to protect persons, the trips that count of each must be bounded",
            "give --max-trips-per-person N, without looking at the trips, or auto; noise grows with N",
        )
    bound = parse_bound(most)
    if isinstance(bound, int):
        return bound
    if protection.name == WINDOW:
        raise InputError(
            "auto looks at all steps at once, and a window protects only some of them",
            "give --max-trips-per-person N: trips of a person in one step",
        )
    if choose is None:
        raise InputError("auto is chosen privately, and paid for", "give trips to add_noise, not a matrix")
    return partial(choose, bound)


def _coordinates(trips: Trips, ends: str, stops: Sequence[str]) -> dict[str, str]:
    """Return the column of each axis by its name: ends first, then stops."""
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
        parse_choice(column, "column", trips.available)
    axes = {name: trips.columns[name] for name in _ENDS[ends]}
    for number, column in enumerate(stops):
        axes[f"stop_{number // 2 + 1}_{'lat' if number % 2 else 'lon'}"] = column
    return axes
