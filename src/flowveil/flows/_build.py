"""From trips to flows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError, UnknownNameError
from flowveil.engine import DUCKDB, Request, aggregate
from flowveil.flows._flows import Flows, People, Provenance
from flowveil.flows._matrices import check_groups, number_matrices
from flowveil.places import Zones, choose_places, parse_bbox
from flowveil.times import build_tree, parse_hierarchy, parse_steps
from flowveil.trips import LOOKS_COUNTED, Trips, needed, read_trips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from flowveil._arrays import IntArray, KeyArray
    from flowveil.engine import Aggregate
    from flowveil.places import Places
    from flowveil.times import Levels, TimeSteps

_SHOWN_ZONES = 10
_MANY = 0.1  # share of rows from which on dropping them deserves a warning


def build_flows(
    trips: Any,
    grid: str | None = None,
    *,
    zones: Any = None,
    hierarchy: str | Sequence[str] | None = None,
    crs: str | None = None,
    bbox: str | Iterable[float] | None = None,
    unit: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    time_hierarchy: str | None = None,
    timezone: str | None = None,
    by: str | Sequence[str] = (),
    strict: bool = False,
    memory: str | None = None,
    engine: str = DUCKDB,
    master: str | None = None,
    watch: Callable[[int, int | None], None] | None = None,
) -> Flows:
    """Count trips, distinct persons and weights between tiles.

    trips: what `read_trips` returns, or anything it takes.
    grid: "h3:RESOLUTION" (default h3:10) or "quadtree:METERS"; or zones: a table or file of zones.
    hierarchy: "h3" (default) or "h3-binary"; for zones "ward" (default) or columns from fine to coarse.
    bbox: west, south, east, north in degrees; keeps trips with both ends inside, bounds included.
    unit: column of persons (or vehicles): k then counts them, not trips. weight: column of people represented.
    time: cut time into steps (15min, 1h, 1d, hour-of-day, hour-of-week), each with a matrix of its own; or
    time_hierarchy: make it an axis that is generalized like places, e.g. "1h<part-of-day<day".
    timezone: whose clock cuts time, e.g. "Europe/Rome"; by default as written, or UTC. by: columns of groups, each
    with a matrix of its own.
    strict: raise on rows that cannot be used in place of dropping and counting them.
    memory: what reading may use before it spills to disk, e.g. "2GB".
    engine: "duckdb" (this machine) or "spark", with the master of its cluster, e.g. "spark://HOST:PORT".
    watch: called while rows are read, with how many were and how many there are (None if that is not known).
    """
    table = trips if isinstance(trips, Trips) else read_trips(trips)
    box = None if bbox is None else parse_bbox(bbox)
    places = choose_places(grid, zones, hierarchy, crs, box, table.mapping)
    levels, steps = _parse_time(time, time_hierarchy, timezone)
    groups = (by,) if isinstance(by, str) else tuple(by)
    check_groups(groups, table.available, unit)
    request = make_request(table, places, unit, weight, box)
    request = replace(request, by=groups, time=None if steps is None else _time_column(table))
    step = None if steps is None else steps.index
    counted = aggregate(request, places.index, memory, step, engine=engine, master=master, watch=watch)
    if not len(counted.trips):
        why = "; ".join(_sentences(counted)) or "the input has no rows"
        raise InputError(f"no trip can be used: {why}", _hint(counted, places))
    if strict and counted.dropped:
        raise InputError(f"strict: {'; '.join(_sentences(counted))}", _hint(counted, places))
    origins, origin = _axis(places, counted.origin)
    destinations, destination = _axis(places, counted.destination)
    matrix, matrices = number_matrices(counted, None if levels else steps, groups)
    times, moment = None, None
    if levels is not None and counted.time is not None:
        seen, position = np.unique(counted.time, return_inverse=True)
        times, node = build_tree(levels, seen)
        moment = node[position]
    keys = [key for key in (destination, origin, moment, matrix) if key is not None]
    order = np.lexsort(keys)
    return Flows(
        places=places,
        origins=origins,
        destinations=destinations,
        origin=origin[order],
        destination=destination[order],
        trips=counted.trips[order],
        weight=None if counted.weight is None else counted.weight[order],
        people=_people(counted, order),
        matrix=None if matrix is None else matrix[order],
        matrices=matrices,
        time=None if moment is None else moment[order],
        times=times,
        provenance=Provenance(
            source=table.source,
            columns=table.mapping,
            where=table.where,
            zones=str(Path(zones).resolve()) if isinstance(zones, str | Path) else None,
            unit=unit,
            weight=weight,
            bbox=box,
            time=time,
            time_hierarchy=None if levels is None else levels.text,
            timezone=timezone,
            by=groups,
            rows=counted.rows,
            dropped=counted.dropped,
            outside_bbox=counted.outside_bbox,
            unknown_zones=counted.unknown_zones,
            notes=(*_count_notes(table, request), *_notes(counted, places)),
        ),
    )


def _parse_time(
    time: str | None, time_hierarchy: str | None, timezone: str | None
) -> tuple[Levels | None, TimeSteps | None]:
    if time is not None and time_hierarchy is not None:
        raise InputError("both time and time_hierarchy were given", "a hierarchy of time begins with its steps")
    if time_hierarchy is not None:
        levels = parse_hierarchy(time_hierarchy, timezone)
        return levels, levels.steps
    if time is not None:
        return None, parse_steps(time, timezone)
    if timezone is not None:
        raise InputError("a time zone was given, but time is not cut", "cut it with --time or --time-hierarchy")
    return None, None


def _time_column(trips: Trips) -> str:
    if "start_time" not in trips.columns:
        raise InputError("the trips have no column for start_time", "map it with --columns start_time=YOUR_COLUMN")
    return trips.columns["start_time"]


def make_request(
    trips: Trips, places: Places, unit: str | None, weight: str | None, bbox: tuple[float, float, float, float] | None
) -> Request:
    """Return what the engine is asked for, or raise if a column is missing or options do not go together."""
    names = needed(trips.columns, trips.available, by_zone=places.by_zone)
    for column in filter(None, (unit, weight)):
        if column not in trips.available:
            raise UnknownNameError("column", column, trips.available)
    if unit == "trip":
        raise InputError("a unit cannot be called 'trip': releases that count trips use that word", "rename the column")
    count = trips.columns.get("count") if places.by_zone or "count" in trips.mapping else None
    if count and unit:
        raise InputError(
            f"the table is already counted (column {count!r}), so {unit!r} cannot count persons",
            "distinct persons do not add up: give single trips, or leave out the unit "
            "(if the column is no count, say so with --columns count=)",
        )
    if count and weight:
        raise InputError("weights do not go with a counted table", "give single trips, or leave out the weight")
    return Request(
        source=trips.source,
        columns={name: trips.columns[name] for name in names},
        where=trips.where,
        count=count,
        unit=unit,
        weight=weight,
        bbox=bbox,
    )


def _axis(places: Places, keys: KeyArray) -> tuple[Any, IntArray]:
    seen, position = np.unique(keys, return_inverse=True)
    hierarchy, node = places.hierarchy(seen)
    return hierarchy, node[position]


def _people(counted: Aggregate, order: IntArray) -> People | None:
    if counted.visit_pair is None or counted.visit_person is None:
        return None
    count = np.bincount(counted.visit_pair, minlength=len(order))
    start = (np.cumsum(count) - count)[order]
    count = count[order]
    visit = np.arange(len(counted.visit_pair)) + np.repeat(start - (np.cumsum(count) - count), count)
    return People(np.repeat(np.arange(len(order)), count), counted.visit_person[visit], counted.person_weight)


def _notes(counted: Aggregate, places: Places) -> tuple[str, ...]:
    hint = _extra_hint(counted, places) if counted.dropped or counted.outside_bbox else None
    return (*places.report(), *_sentences(counted), *([hint] if hint else []))


def _count_notes(trips: Trips, request: Request) -> list[str]:
    """Say how many trips a row stands for, where the names of columns leave a doubt."""
    if request.count and "count" not in trips.mapping:
        return [f"column {request.count!r} is read as the number of trips of a row (--columns count= if it is not)"]
    if request.by_zone and not request.count and not request.unit and "count" not in trips.mapping:
        for column in trips.available:
            if column.lower() in LOOKS_COUNTED:
                return [f"each row counts as one trip; if column {column!r} counts trips, say --columns count={column}"]
    return []


def _sentences(counted: Aggregate) -> list[str]:
    found = [f"{rows:,} of {counted.rows:,} rows dropped: {reason}" for reason, rows in counted.dropped.items()]
    if (lost := sum(counted.dropped.values())) > _MANY * counted.rows:
        found.insert(0, f"WARNING: {lost / counted.rows:.0%} of the rows cannot be used and are not in the release")
    if counted.unknown_zones:
        shown = ", ".join(counted.unknown_zones[:_SHOWN_ZONES])
        more = len(counted.unknown_zones) - _SHOWN_ZONES
        found.append(f"unknown zones: {shown}" + (f" and {more:,} more" if more > 0 else ""))
    if counted.outside_bbox:
        found.append(f"{counted.outside_bbox:,} of {counted.rows:,} rows left out: an end lies outside the bbox")
    return found


def _extra_hint(counted: Aggregate, places: Places) -> str | None:
    if counted.decimal_comma:
        return "numbers are written with a decimal comma: write 4.5, not 4,5"
    if 2 * counted.dropped.get("out of range", 0) > counted.rows and not counted.swapped:
        return "coordinates are longitude and latitude in degrees: these look like meters or another unit"
    if counted.swapped:
        return "longitude and latitude look exchanged: exchanging them makes more rows usable (see --columns)"
    if counted.unknown_zones and isinstance(places, Zones):
        return places.hint_for(counted.unknown_zones)
    return None


def _hint(counted: Aggregate, places: Places) -> str:
    if extra := _extra_hint(counted, places):
        return extra
    if counted.outside_bbox and not counted.dropped:
        return "check the bbox: west, south, east, north in degrees"
    return "mend these rows, filter them with --where, or check the columns"
