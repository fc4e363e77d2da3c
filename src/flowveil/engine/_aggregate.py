"""From trips to counts by pair of tiles, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError
from flowveil.engine._duckdb import connection, identifier, relation
from flowveil.engine._rows import BAD_WEIGHT, OUTSIDE, inside_sql, problem_sql, rows_sql

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb
    import numpy.typing as npt

    from flowveil._arrays import IntArray, KeyArray
    from flowveil.engine._rows import Request

WEIGHT_UNIT = 1_000_000  # weights are summed as integers in millionths: sums do not depend on the order of rows
_UNKNOWN = "unknown zone"
_UNREACHED = "out of reach of the grid"
_LARGEST_SUM = 2**62
_WORLD = (-180.0, -90.0, 180.0, 90.0)


@dataclass(frozen=True, eq=False)
class Aggregate:
    """Trips by pair of tiles (keys), sorted by (origin, destination), and who makes them."""

    origin: KeyArray
    destination: KeyArray
    trips: IntArray
    weight: IntArray | None  # in millionths, summed over trips
    visit_pair: IntArray | None  # with a unit: distinct (pair, person), sorted
    visit_person: IntArray | None
    person_weight: IntArray | None  # in millionths, by person
    rows: int
    dropped: dict[str, int]
    outside_bbox: int
    unknown_zones: tuple[str, ...]
    swapped: bool  # exchanging longitude and latitude would make more rows usable
    decimal_comma: bool  # coordinates are written like 4,5


def aggregate(request: Request, index: Callable[..., pa.Array], memory: str | None = None) -> Aggregate:
    """Count trips, persons and weights by pair of tiles.

    `index` maps (lon, lat) or (zone id) to tile keys. It runs inside DuckDB, once for each end of each usable row;
    rows are grouped first by person and pair, then by pair, so that distinct persons cost no second pass.
    """
    with connection(memory) as con:
        rows = rows_sql(con, request)
        register_tile(con, request, index)
        con.execute(_visits_sql(request, rows))
        rows_total, dropped, outside = _problems(con, _UNKNOWN if request.by_zone else _UNREACHED)
        if dropped.pop(BAD_WEIGHT, 0):
            raise InputError(
                f"the weight column {request.weight!r} has values that are not numbers of people",
                "weights are finite, not negative and at most 1e9; drop other rows with --where",
            )
        if request.unit and request.weight:
            _check_one_weight(con, request)
        return Aggregate(
            **_counts(con, request),
            rows=rows_total,
            dropped=dropped,
            outside_bbox=outside,
            unknown_zones=_unknown_zones(con, rows, index) if request.by_zone and _UNKNOWN in dropped else (),
            decimal_comma="not a number" in dropped and _decimal_comma(con, request),
            swapped=not request.by_zone and bool(dropped or outside) and _swapped(con, rows, request),
        )


def register_tile(con: duckdb.DuckDBPyConnection, request: Request, index: Callable[..., pa.Array]) -> None:
    """Make `index` the SQL function `tile`; DuckDB wants to see the number of its parameters."""
    kind = {"type": "arrow", "null_handling": "special"}  # special: the answer may be NULL
    if request.by_zone:

        def tile_of_zone(zone: pa.Array) -> pa.Array:
            return index(zone)

        con.create_function("tile", tile_of_zone, ["VARCHAR"], "UBIGINT", **kind)
    else:

        def tile_of_point(lon: pa.Array, lat: pa.Array) -> pa.Array:
            return index(lon, lat)

        con.create_function("tile", tile_of_point, ["DOUBLE", "DOUBLE"], "UBIGINT", **kind)


def _visits_sql(request: Request, rows: str) -> str:
    """Group usable rows by pair and person, unusable ones by reason, in one pass."""
    ends = ("origin", "destination") if request.by_zone else ("start_lon, start_lat", "end_lon, end_lat")
    person = "CASE WHEN problem IS NULL THEN unit END" if request.unit else "NULL"
    # TRY_CAST: DuckDB may convert values before it knows that their rows have a problem.
    count = "CASE WHEN problem IS NULL THEN TRY_CAST(count AS HUGEINT) END" if request.count else "1"
    weight = f"CASE WHEN problem IS NULL THEN TRY_CAST(round(weight * {WEIGHT_UNIT}) AS HUGEINT) END"
    return f"""
        CREATE TEMP TABLE visits AS
        SELECT problem, origin, destination, person, count(*) AS row_count, sum(count) AS trips,
               sum(weight * count) AS weight, min(weight) AS least, max(weight) AS most
        FROM (
            SELECT problem, {person} AS person, {count} AS count, {weight if request.weight else "NULL"} AS weight,
                   CASE WHEN problem IS NULL THEN tile({ends[0]}) END AS origin,
                   CASE WHEN problem IS NULL THEN tile({ends[1]}) END AS destination
            FROM (SELECT *, {problem_sql(request)} AS problem FROM ({rows}))
        )
        GROUP BY problem, origin, destination, person"""


_PEOPLE = ("visit_pair", "visit_person", "person_weight")
_USABLE = "problem IS NULL AND origin IS NOT NULL AND destination IS NOT NULL"


def _problems(con: duckdb.DuckDBPyConnection, no_tile: str) -> tuple[int, dict[str, int], int]:
    reason = f"CASE WHEN problem IS NULL AND NOT ({_USABLE}) THEN '{no_tile}' ELSE problem END"
    found = con.execute(f"SELECT {reason} AS reason, sum(row_count) FROM visits GROUP BY reason ORDER BY reason")
    by_reason: dict[str | None, int] = {reason: int(rows) for reason, rows in found.fetchall()}
    rows_total = sum(by_reason.values())
    outside = by_reason.pop(OUTSIDE, 0)
    return rows_total, {reason: rows for reason, rows in by_reason.items() if reason is not None}, outside


def _check_one_weight(con: duckdb.DuckDBPyConnection, request: Request) -> None:
    several = con.execute(
        f"SELECT count(*) FROM (SELECT person FROM visits WHERE {_USABLE} GROUP BY person"
        " HAVING min(least) <> max(most))"
    ).fetchone()
    if several and several[0]:
        raise InputError(
            f"a value of {request.unit!r} has several values of {request.weight!r}",
            "a person has one weight; average it first, or leave out the unit",
        )


def _counts(con: duckdb.DuckDBPyConnection, request: Request) -> dict[str, Any]:
    """Bring the visits, sorted by pair, into arrays: pairs with their sums, and who makes them."""
    totals = con.execute(f"SELECT coalesce(sum(trips), 0), coalesce(sum(weight), 0) FROM visits WHERE {_USABLE}")
    if max(totals.fetchall()[0]) > _LARGEST_SUM:
        raise InputError("the sums of counts or weights pass 64 bits", "use smaller counts or weights")
    visits = con.sql(
        "SELECT origin, destination, person, CAST(trips AS BIGINT) AS trips, CAST(weight AS BIGINT) AS weight,"
        f" CAST(least AS BIGINT) AS least FROM visits WHERE {_USABLE} ORDER BY origin, destination"
    ).to_arrow_table()
    origin, destination = (visits[name].to_numpy() for name in ("origin", "destination"))
    begins = np.ones(len(origin), bool)
    begins[1:] = (origin[1:] != origin[:-1]) | (destination[1:] != destination[:-1])
    start = np.flatnonzero(begins)
    people = _people(visits, begins, request) if request.unit else dict.fromkeys(_PEOPLE)
    return people | {
        "origin": origin[start],
        "destination": destination[start],
        "trips": _sums(visits["trips"], start),
        "weight": _sums(visits["weight"], start) if request.weight else None,
    }


def _sums(values: pa.ChunkedArray, start: IntArray) -> IntArray:
    """Add up runs of values that begin at `start`."""
    return np.add.reduceat(values.to_numpy(), start) if len(start) else np.zeros(0, np.int64)


def _people(visits: pa.Table, begins: npt.NDArray[np.bool_], request: Request) -> dict[str, Any]:
    """Give persons numbers in the order of their ids, and return who makes trips on which pair, sorted."""
    encoded = visits["person"].dictionary_encode().combine_chunks()
    rank = np.argsort(pc.sort_indices(encoded.dictionary).to_numpy())
    person = rank[encoded.indices.to_numpy()]
    pair = np.cumsum(begins) - 1
    order = np.argsort(pair * len(rank) + person)
    weight = None
    if request.weight:
        weight = np.zeros(len(rank), np.int64)
        weight[person] = visits["least"].to_numpy()
    return dict(zip(_PEOPLE, (pair[order], person[order], weight), strict=True))


def _unknown_zones(con: duckdb.DuckDBPyConnection, rows: str, index: Callable[..., pa.Array]) -> tuple[str, ...]:
    """Return the zone ids that are not in the zones' table, sorted."""
    zones = (
        con.sql(
            f"SELECT DISTINCT zone FROM (SELECT unnest([origin, destination]) AS zone FROM ({rows}))"
            " WHERE zone IS NOT NULL"
        )
        .to_arrow_table()["zone"]
        .combine_chunks()
    )
    return tuple(sorted(zones.filter(index(zones).is_null()).to_pylist()))


def _swapped(con: duckdb.DuckDBPyConnection, rows: str, request: Request) -> bool:
    """Whether more rows would be usable with longitude and latitude exchanged."""
    box = request.bbox or _WORLD
    counts = con.execute(
        f"SELECT count(*) FILTER ({inside_sql(box)}), count(*) FILTER ({inside_sql(box, swapped=True)}) FROM ({rows})"
    ).fetchone()
    return counts is not None and counts[1] > counts[0]


def _decimal_comma(con: duckdb.DuckDBPyConnection, request: Request) -> bool:
    """Whether a coordinate that is no number would be one with a point in place of its comma."""
    columns = list(request.columns.values())
    table = relation(con, request.source, columns)
    tests = [f"regexp_full_match(trim(CAST({identifier(c)} AS VARCHAR)), '-?\\d+,\\d+')" for c in columns]
    return bool(con.execute(f"SELECT 1 FROM {table} WHERE {' OR '.join(tests)} LIMIT 1").fetchall())
