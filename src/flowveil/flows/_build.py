"""From trips to flows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil import engine
from flowveil._errors import InputError, UnknownNameError
from flowveil.flows._flows import Flows, People, Provenance
from flowveil.places import Zones, choose_places, parse_bbox
from flowveil.trips import LOOKS_COUNTED, Trips, needed, read_trips

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flowveil._arrays import IntArray, KeyArray
    from flowveil.places import Places

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
    strict: bool = False,
    memory: str | None = None,
) -> Flows:
    """Count trips, distinct persons and weights between tiles.

    trips: what `read_trips` returns, or anything it takes.
    grid: "h3:RESOLUTION" (default h3:10) or "quadtree:METERS"; or zones: a table or file of zones.
    hierarchy: "h3" (default) or "h3-binary"; for zones "ward" (default) or columns from fine to coarse.
    bbox: west, south, east, north in degrees; keeps trips with both ends inside, bounds included.
    unit: column of persons (or vehicles): k then counts them, not trips. weight: column of people represented.
    strict: raise on rows that cannot be used in place of dropping and counting them.
    memory: what DuckDB may use before it spills to disk, e.g. "2GB".
    """
    table = trips if isinstance(trips, Trips) else read_trips(trips)
    box = None if bbox is None else parse_bbox(bbox)
    places = choose_places(grid, zones, hierarchy, crs, box, table.mapping)
    request = make_request(table, places, unit, weight, box)
    counted = engine.aggregate(request, places.index, memory)
    if not len(counted.trips):
        why = "; ".join(_sentences(counted)) or "the input has no rows"
        raise InputError(f"no trip can be used: {why}", _hint(counted, places))
    if strict and counted.dropped:
        raise InputError(f"strict: {'; '.join(_sentences(counted))}", _hint(counted, places))
    origins, origin = _axis(places, counted.origin)
    destinations, destination = _axis(places, counted.destination)
    order = np.lexsort((destination, origin))
    return Flows(
        places=places,
        origins=origins,
        destinations=destinations,
        origin=origin[order],
        destination=destination[order],
        trips=counted.trips[order],
        weight=None if counted.weight is None else counted.weight[order],
        people=_people(counted, order),
        provenance=Provenance(
            source=table.source,
            columns=table.mapping,
            where=table.where,
            zones=str(Path(zones).resolve()) if isinstance(zones, str | Path) else None,
            unit=unit,
            weight=weight,
            bbox=box,
            rows=counted.rows,
            dropped=counted.dropped,
            outside_bbox=counted.outside_bbox,
            unknown_zones=counted.unknown_zones,
            notes=(*_count_notes(table, request), *_notes(counted, places)),
        ),
    )


def make_request(
    trips: Trips, places: Places, unit: str | None, weight: str | None, bbox: tuple[float, float, float, float] | None
) -> engine.Request:
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
    return engine.Request(
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


def _people(counted: engine.Aggregate, order: IntArray) -> People | None:
    if counted.visit_pair is None or counted.visit_person is None:
        return None
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    pair = position[counted.visit_pair]
    by_pair = np.argsort(pair, kind="stable")
    return People(pair[by_pair], counted.visit_person[by_pair], counted.person_weight)


def _notes(counted: engine.Aggregate, places: Places) -> tuple[str, ...]:
    hint = _extra_hint(counted, places) if counted.dropped or counted.outside_bbox else None
    return (*places.report(), *_sentences(counted), *([hint] if hint else []))


def _count_notes(trips: Trips, request: engine.Request) -> list[str]:
    """Say how many trips a row stands for, where the names of columns leave a doubt."""
    if request.count and "count" not in trips.mapping:
        return [f"column {request.count!r} is read as the number of trips of a row (--columns count= if it is not)"]
    if request.by_zone and not request.count and not request.unit and "count" not in trips.mapping:
        for column in trips.available:
            if column.lower() in LOOKS_COUNTED:
                return [f"each row counts as one trip; if column {column!r} counts trips, say --columns count={column}"]
    return []


def _sentences(counted: engine.Aggregate) -> list[str]:
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


def _extra_hint(counted: engine.Aggregate, places: Places) -> str | None:
    if counted.decimal_comma:
        return "numbers are written with a decimal comma: write 4.5, not 4,5"
    if 2 * counted.dropped.get("out of range", 0) > counted.rows and not counted.swapped:
        return "coordinates are longitude and latitude in degrees: these look like meters or another unit"
    if counted.swapped:
        return "longitude and latitude look exchanged: exchanging them makes more rows usable (see --columns)"
    if counted.unknown_zones and isinstance(places, Zones):
        return places.hint_for(counted.unknown_zones)
    return None


def _hint(counted: engine.Aggregate, places: Places) -> str:
    if extra := _extra_hint(counted, places):
        return extra
    if counted.outside_bbox and not counted.dropped:
        return "check the bbox: west, south, east, north in degrees"
    return "mend these rows, filter them with --where, or check the columns"
