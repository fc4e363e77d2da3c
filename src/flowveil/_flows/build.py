"""From trips to flows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._engine import DUCKDB, Request, check_engine, counting
from flowveil._errors import DroppedRowsWarning, ImplausiblePlacesWarning, InputError, warn
from flowveil._flows.assemble import assemble, count_crowds, grow_trees
from flowveil._flows.flows import Flows, Provenance
from flowveil._flows.matrices import check_groups
from flowveil._flows.notes import check_counted, dropped_text, notes, unasked
from flowveil._flows.plausible import doubts
from flowveil._folder import NO_COLUMN
from flowveil._options import (
    check_flag,
    parse_bbox,
    parse_choice,
    parse_k,
    parse_k_weight,
    parse_max_unusable,
    parse_memory,
    parse_names,
)
from flowveil._places import Zones, choose_places, path_of
from flowveil._times import parse_hierarchy, parse_steps
from flowveil._trips import IN_NO_ZONE, Trips, check_used, find_ends, read_trips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from flowveil._engine import Aggregate, Cluster
    from flowveil._places import NamedPlacesLike, Places, ZonesLike
    from flowveil._times import Levels, TimeSteps
    from flowveil._trips import TripsLike


def build_flows(
    trips: TripsLike,
    grid: str | None = None,
    *,
    zones: ZonesLike | None = None,
    zone_name: str | None = None,
    places: NamedPlacesLike | None = None,
    hierarchy: str | Sequence[str] | None = None,
    crs: str | None = None,
    bbox: str | Iterable[float] | None = None,
    unit: str | None = None,
    counts: str | None = None,
    weight: str | None = None,
    trip_weight: str | None = None,
    time: str | None = None,
    time_hierarchy: str | None = None,
    timezone: str | None = None,
    by: str | Sequence[str] = (),
    strict: bool = False,
    max_unusable: float | None = None,
    memory: str | int | None = None,
    engine: str = DUCKDB,
    master: str | None = None,
    k: int | None = None,
    k_weight: float | str | None = None,
    watch: Callable[[int, int | None], None] | None = None,
) -> Flows:
    """Count trips, distinct persons and weights between tiles.

    trips: what `read_trips` returns, or anything it takes.
    grid: "h3:RESOLUTION" (default h3:10) or "quadtree:METERS"; or zones: a table or file of zones.
    zone_name: the column that names zones; by default one called name, zone_name, label or the like; "" for none.
    places: a file or table (name, lon, lat) that areas of a grid are called after; by default a gazetteer of the world,
    "" for none.
    hierarchy: how tiles are joined: "lattice", "h3" or "h3-binary"; squares "lattice" or "quadtree"; zones "many",
    "ward" or columns from fine to coarse. By default the finest that a method can use: lattice or many with mosaic and
    nested, else h3, quadtree or ward.
    bbox: west, south, east, north in degrees; keeps trips with both ends inside, bounds included.
    unit: column of persons (or vehicles): k then counts them, not trips. weight: column of people represented.
    trip_weight: in its place, with a unit: column of the trips that a trip stands for; their sums are published.
    counts: what a table counts that is already counted, "trips" (the default) or "persons": k then counts persons, each
    of whom the table must count once.
    time: cut time into steps (15min, 1h, 1d, week, month, hour-of-day, hour-of-week, weekday-weekend,
    day-type), each with a matrix of its own; or
    time_hierarchy: make it an axis that is generalized like places, e.g. "1h<part-of-day<day".
    timezone: whose clock cuts time, e.g. "Europe/Rome"; by default as written, or UTC. by: columns of groups, each
    with a matrix of its own, as a list or a text with commas between them.
    strict: raise on rows that cannot be used in place of dropping and counting them. max_unusable: raise if they are
    more than this share of all rows (default 0.2); rows that are dropped are told by a DroppedRowsWarning, and by
    `Flows.dropped`. Trips that lie where hardly anybody lives get an ImplausiblePlacesWarning.
    memory: what may be used, e.g. "2GB", or in bytes: reading spills to disk beyond it, and flows that would not fit
    are refused.
    engine: "duckdb" (this machine) or "spark", with the master of its cluster, e.g. "spark://HOST:PORT".
    k, k_weight: with Spark and a unit, persons stay on the cluster, which counts the pairs of areas with at least k
    persons (who stand for k_weight people; times the mean asks for no more than k persons). These flows serve
    releases that ask for as much or more, of methods that choose among such pairs, with the loss tiles or area:
    `Method.cluster_options` says when. Without k, ids of persons come here.
    watch: called while rows are read, with how many were and how many there are (None if that is not known).
    crs: the projection of a quadtree, e.g. "EPSG:32631"; by default the UTM zone of the bbox.

    >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
    >>> flows.total, flows.provenance.dropped
    (2000, {})
    """
    box = None if bbox is None else parse_bbox(bbox)
    allowed = None if memory is None else parse_memory(memory)
    levels, steps = _parse_time(time, time_hierarchy, timezone)
    groups = parse_names(by, "by")
    check_engine(engine, master)
    most = _parse_unusable(strict, max_unusable)
    k, k_weight = _parse_crowds(k, k_weight, levels)
    table = trips if isinstance(trips, Trips) else read_trips(trips)
    ground = choose_places(grid, zones, hierarchy, crs, box, table.mapping, zone_name, places)
    check_used(table.mapping, by_zone=ground.by_zone)
    check_groups(groups, table.available, unit)
    request = make_request(table, ground, unit, _parse_weights(unit, weight, trip_weight, k), box)
    persons = _parse_counts(counts, request)
    request = replace(request, by=groups, time=None if steps is None else _time_column(table))
    request = replace(request, weighs_trips=trip_weight is not None)
    index, stay = None if steps is None else steps.index, k is not None
    rows = counting(request, ground.index, allowed, index, engine=engine, master=master, watch=watch, persons_stay=stay)
    flows, counted = _count(rows, table, request, ground, (levels, steps), (k, k_weight), most)
    path = str(Path(zones).resolve()) if isinstance(zones, str | Path) else None
    typed = Provenance(
        zones=path, places=path_of(places), unit=unit, weight=weight, bbox=box, time=time, timezone=timezone, by=groups
    )
    typed = replace(typed, trip_weight=trip_weight, time_hierarchy=None if levels is None else levels.text)
    typed = replace(typed, counted=request.count is not None, counted_persons=persons)
    typed = replace(typed, notes=() if grid is not None else unasked(table, ground))
    story = replace(_remember(typed, table, request, counted, ground), doubts=doubts(flows))
    if counted.dropped:
        warn(dropped_text(counted), DroppedRowsWarning)
    for doubt in story.doubts:
        warn(doubt, ImplausiblePlacesWarning)
    return replace(flows, memory=allowed, provenance=story)


def _count(
    rows: AbstractContextManager[tuple[Aggregate, Cluster | None]],
    trips: Trips,
    request: Request,
    places: Places,
    time: tuple[Levels | None, TimeSteps | None],
    crowd: tuple[int | None, float | None],
    most: float,
) -> tuple[Flows, Aggregate]:
    """Return flows that do not know yet where they come from, and what was counted.

    crowd: k and k_weight of the pairs of areas that a cluster counts; no k where persons come here. most: the largest
    share of rows that may be unusable.
    """
    with rows as (counted, cluster):
        check_counted(counted, places, trips, most)
        _check_clocks(counted, time[1], request.time)
        ends = grow_trees(places, counted)
        flows = assemble(places, counted, ends, time, request.by)
        k, k_weight = crowd
        if k is not None and cluster is not None:
            flows = replace(flows, people=count_crowds(cluster, counted, ends, k, k_weight))
    return flows, counted


def _check_clocks(counted: Aggregate, steps: TimeSteps | None, column: str | None) -> None:
    """Raise if some times are in UTC and others by a clock of which nobody said where it is."""
    if counted.two_clocks and steps is not None and steps.timezone is None:
        raise InputError(
            f"some times of the column {column!r} say how far from UTC they are, and others do not",
            "say whose clock the others are by, e.g. --timezone Europe/Rome, or choose some with --where",
        )


def _remember(typed: Provenance, trips: Trips, request: Request, counted: Aggregate, places: Places) -> Provenance:
    """Return what flows were made from: what was typed, and what was read."""
    return replace(
        typed,
        source=trips.source,
        columns=trips.mapping,
        where=trips.where,
        reading=trips.reading,
        rows=counted.rows,
        dropped=counted.dropped,
        outside_bbox=counted.outside_bbox,
        unknown_zones=counted.unknown_zones,
        notes=(*typed.notes, *notes(trips, request, counted, places)),
        request=request,
        stamp=trips.columns.get("start_time"),
    )


def _parse_crowds(k: object, k_weight: object, levels: Levels | None) -> tuple[int | None, float | None]:
    """Return what a cluster is asked to count; auto, k times the mean weight, asks for no more than k persons.

    Few pairs of k persons fail with auto: there is no need to know the mean before counting.
    """
    people = parse_k_weight(k_weight)
    if k is None:
        if people is not None:
            raise InputError("k_weight was given, but no k", "give both, or leave both to anonymize")
        return None, None
    if levels is not None:
        raise InputError("crowds are counted between places, not over time as an axis", "leave out k, or cut time")
    return parse_k(k), None if isinstance(people, str) else people


def _parse_weights(unit: str | None, weight: str | None, trip_weight: str | None, k: int | None) -> str | None:
    """Return the column of weights: of persons, or of trips."""
    if trip_weight is None:
        return weight
    if weight is not None:
        raise InputError(
            "both weight and trip_weight were given", "a release has one sum of weights: of persons, or of trips"
        )
    if unit is None:
        raise InputError("trip_weight was given, but no unit", "without --unit, --weight is the weight of a trip")
    if k is not None:
        raise InputError("crowds on a cluster do not go with weights of trips", "leave out k: persons then come here")
    return trip_weight


def _parse_unusable(strict: object, max_unusable: object) -> float:
    """Return the largest share of rows that may be unusable: none with `strict`."""
    if not check_flag(strict, "strict"):
        return parse_max_unusable(max_unusable)
    if max_unusable is not None:
        raise InputError("both strict and max_unusable were given", "choose one: strict allows no row to be dropped")
    return 0.0


def _parse_counts(counts: object, request: Request) -> bool:
    """Return whether the counts of a table are of persons; raise if nothing is counted."""
    if counts is None:
        return False
    persons = parse_choice(counts, "kind of counts", ("persons", "trips")) == "persons"
    if request.count is None:
        raise InputError(
            f"the trips have no column of counts, so that it cannot count {counts}",
            "name it with --columns count=COLUMN, or leave out --counts; single trips have a column of persons: --unit",
        )
    return persons


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
    zones = places.table if isinstance(places, Zones) else None
    names = find_ends(
        trips,
        by_zone=zones is not None,
        ids=() if zones is None else zones.ids,
        outlined=zones is not None and zones.has_outlines,
    )
    for column in (unit, weight):
        if column is not None:
            parse_choice(column, "column", trips.available)
    if unit in NO_COLUMN:
        raise InputError(f"a unit cannot be called {unit!r}: releases without one use that word", "rename the column")
    count = trips.columns.get("count") if places.by_zone or "count" in trips.mapping else None
    if count and unit:
        raise InputError(
            f"the table is already counted (column {count!r}), so {unit!r} cannot count persons",
            "distinct persons do not add up: give single trips, or leave out the unit (say --counts persons if each is "
            "counted once; if the column is no count, say so with --columns count=)",
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
        reading=trips.reading,
        nowhere=Request.nowhere if zones is None else IN_NO_ZONE,
    )
