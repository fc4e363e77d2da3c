"""From trips to counts by cell of any dimension: every trip is one point, with coordinates or a tile for each place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import FunctionNullHandling, PythonUDFType

from flowveil._arrays import Column
from flowveil._engine.duckdb import connection
from flowveil._engine.rows import OUTSIDE, problem_sql, rows_sql
from flowveil._engine.shaping import literal

if TYPE_CHECKING:
    import duckdb

    from flowveil._arrays import IntArray
    from flowveil._engine.rows import Request

Times = Callable[[Column, Column], Column]  # maps (time in microseconds, whether it is in UTC) to whole numbers
BoundingBox = tuple[float, float, float, float]
UNKNOWN = "unknown zone"
OUT_OF_PERIOD, OUT_OF_GROUPS = "outside the period", "group not listed"


@dataclass(frozen=True, eq=False)
class Division:
    """How trips are divided into matrices, and where a bound on a person's trips holds; it knows nothing of the trips.

    The columns of groups are `by` of the request, and `time` is its column of time.
    """

    step: Times | None = None  # the place of a time in the list of steps, null if it is in none
    groups: tuple[tuple[str | None, ...], ...] = ()  # by column: the values that count
    span: Times | None = None  # the bound holds in each span by itself; None: for all of time


@dataclass(frozen=True, eq=False)
class PointCounts:
    """Trips by cell, and what was left out; all of it is private."""

    cells: IntArray  # one row a non-empty cell of a matrix; one column for each coordinate, or for each tile
    trips: IntArray
    step: IntArray  # by row: the place of its step of time in the list; 0 where time is not cut
    group: IntArray  # by row: the number of its combination of groups, the last column counting fastest
    rows: int
    dropped: dict[str, int]
    outside_bbox: int
    beyond_bound: int  # trips of persons who made more than a person may contribute
    most: int | None  # what a person may contribute
    visit_row: IntArray | None = None  # one entry for each person of a row: the row
    visit_person: IntArray | None = None  # and a number for the person


def count_points(
    request: Request,
    bbox: BoundingBox | None,
    cells: int | Callable[..., Column],
    most: int | Callable[[IntArray, IntArray], int] | None = None,
    memory: int | None = None,
    division: Division | None = None,
    *,
    persons: bool = False,
) -> PointCounts:
    """Count trips by cell, at most `most` of each person, drawn uniformly.

    `request.columns` names the coordinates in the order of the axes, NAME_lon and NAME_lat in turn. `cells` cuts each
    side of the bbox into so many equal parts, or maps (lon, lat) to tiles: it knows nothing of the trips. With zones in
    place of coordinates, it maps their ids, and there is no bbox. most: may be a function of how many persons made how
    many trips each (two arrays: numbers of trips, and persons who made so many). persons: tell who was in each cell.
    """
    division = division or Division()
    names = list(request.columns)
    places = names if request.by_zone else names[::2]
    axes = ["step", "grp", *(names if isinstance(cells, int) else [_tile(name) for name in places])]
    with connection(request.source, memory) as con:
        rows = rows_sql(con, request)
        if not isinstance(cells, int):
            _register_tile(con, request, cells)
        _register_times(con, division)
        con.execute(_points_sql(rows, request, names, bbox, cells, division))
        by_reason = dict(
            con.execute("SELECT problem, count(*) FROM points GROUP BY problem ORDER BY problem").fetchall()
        )
        bound = most(*_habits(con)) if callable(most) else most
        usable = _bounded(con, bound if request.unit else None)
        keys = ", ".join(axes)
        con.execute(
            f"CREATE TEMP TABLE counted AS SELECT *, row_number() OVER (ORDER BY {keys}) - 1 AS place FROM"
            f" (SELECT {keys}, CAST(sum(trips) AS BIGINT) AS trips FROM ({usable}) GROUP BY {keys})"
        )
        table = con.execute("SELECT * FROM counted ORDER BY place").fetchnumpy()
        visits = _visits(con, usable, keys) if persons else None
    trips = np.asarray(table["trips"], np.int64)
    return PointCounts(
        cells=np.ascontiguousarray(np.column_stack([np.asarray(table[axis], np.int64) for axis in axes[2:]])),
        trips=trips,
        step=np.asarray(table["step"], np.int64),
        group=np.asarray(table["grp"], np.int64),
        rows=sum(by_reason.values()),
        dropped={reason: count for reason, count in by_reason.items() if reason not in (None, OUTSIDE)},
        outside_bbox=by_reason.get(OUTSIDE, 0),
        beyond_bound=by_reason.get(None, 0) - int(trips.sum()) if request.unit else 0,
        most=bound,
        visit_row=None if visits is None else visits[0],
        visit_person=None if visits is None else visits[1],
    )


def _habits(con: duckdb.DuckDBPyConnection) -> tuple[IntArray, IntArray]:
    """Return how many persons (each in one span) made how many trips: ascending numbers of trips, and persons."""
    table = con.execute(
        "SELECT trips, count(*) AS persons FROM (SELECT count(*) AS trips FROM points WHERE problem IS NULL"
        " GROUP BY person, span) GROUP BY trips ORDER BY trips"
    ).fetchnumpy()
    return np.asarray(table["trips"], np.int64), np.asarray(table["persons"], np.int64)


def _visits(con: duckdb.DuckDBPyConnection, usable: str, keys: str) -> tuple[IntArray, IntArray]:
    """Return each person of each row once: the row, and a number for the person."""
    table = con.execute(
        f"SELECT place, number FROM (SELECT DISTINCT {keys}, person FROM ({usable})) JOIN counted USING ({keys})"
        " JOIN (SELECT person, row_number() OVER () AS number FROM"
        f" (SELECT DISTINCT person FROM ({usable}))) USING (person)"
    ).fetchnumpy()
    return np.asarray(table["place"], np.int64), np.asarray(table["number"], np.int64)


def _register_times(con: duckdb.DuckDBPyConnection, division: Division) -> None:
    """Make the functions of time known to SQL as `step_of` and `span_of`."""
    for name, index in (("step_of", division.step), ("span_of", division.span)):
        if index is not None:
            con.create_function(
                name,
                _where_known(index),
                ["BIGINT", "BOOLEAN"],
                "BIGINT",
                type=PythonUDFType.ARROW,
                null_handling=FunctionNullHandling.SPECIAL,
            )


def _where_known(index: Times) -> Callable[..., Column]:
    """Return a function of times for DuckDB, which passes rows without one, too."""

    def find(time, aware):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  DuckDB wants no annotations
        unknown = pc.is_null(time)
        found = index(time.fill_null(0), aware.fill_null(fill_value=True))
        return pc.if_else(unknown, pa.scalar(None, pa.int64()), found)

    return find


def _register_tile(con: duckdb.DuckDBPyConnection, request: Request, index: Callable[..., Column]) -> None:
    """Make `index` the SQL function `tile`; DuckDB wants to see the number of its parameters, and no annotations."""
    con.create_function(
        "tile",
        (lambda zone: index(zone)) if request.by_zone else (lambda lon, lat: index(lon, lat)),  # noqa: PLW0108
        ["VARCHAR"] if request.by_zone else ["DOUBLE", "DOUBLE"],
        "UBIGINT",
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,  # the answer may be NULL
    )


def _points_sql(
    rows: str,
    request: Request,
    axes: list[str],
    bbox: BoundingBox | None,
    cells: int | Callable[..., Column],
    division: Division,
) -> str:
    if bbox is None and not request.by_zone:
        number = _tiles_sql(axes)
        outside = " OR ".join(f"tile({lon}, {lat}) IS NULL" for lon, lat in zip(axes[::2], axes[1::2], strict=True))
        problem = f"coalesce({problem_sql(request)}, CASE WHEN {outside} THEN '{request.nowhere}' END)"
    elif bbox is None:
        number = ", ".join(f"TRY_CAST(tile({axis}) AS BIGINT) AS {_tile(axis)}" for axis in axes)
        outside = " OR ".join(f"tile({axis}) IS NULL" for axis in axes)
        problem = f"coalesce({problem_sql(request)}, CASE WHEN {outside} THEN '{UNKNOWN}' END)"
    else:
        number = _cells_sql(axes, bbox, cells) if isinstance(cells, int) else _tiles_sql(axes)
        inside = " AND ".join(f"{axis} BETWEEN {low!r} AND {high!r}" for axis, (low, high) in _sides(axes, bbox))
        problem = f"coalesce({problem_sql(request)}, CASE WHEN NOT ({inside}) THEN '{OUTSIDE}' END)"
    step = "step_of(time, aware)" if division.step else "0"
    span = "span_of(time, aware)" if division.span else "0"
    group = _group_sql(division.groups)
    lacking = (
        f"CASE WHEN problem IS NOT NULL THEN problem WHEN step IS NULL THEN '{OUT_OF_PERIOD}'"
        f" WHEN grp IS NULL THEN '{OUT_OF_GROUPS}' END"
    )
    return f"""
        CREATE TEMP TABLE points AS
        SELECT * REPLACE ({lacking} AS problem) FROM (
            SELECT problem, {"unit" if request.unit else "NULL"} AS person,
                   {step} AS step, {group} AS grp, {span} AS span,
                   {"TRY_CAST(count AS HUGEINT)" if request.count else "1"} AS trips, {number}
            FROM (SELECT *, {problem} AS problem FROM ({rows})))"""


def _group_sql(groups: tuple[tuple[str | None, ...], ...]) -> str:
    """Return the number of a row's combination of groups, null if one of its values is not listed."""
    number = "0"
    for place, values in enumerate(groups):
        cases = " ".join(
            f"WHEN by_{place} IS NULL THEN {at}" if value is None else f"WHEN by_{place} = {literal(value)} THEN {at}"
            for at, value in enumerate(values)
        )
        number = f"({number} * {len(values)} + CASE {cases} END)"
    return number


def _cells_sql(axes: list[str], bbox: BoundingBox, cells: int) -> str:
    return ", ".join(
        f"CASE WHEN problem IS NULL THEN least(TRY_CAST(floor(({axis} - {low!r}) / {high - low!r} * {cells})"
        f" AS BIGINT), {cells - 1}) END AS {axis}"
        for axis, (low, high) in _sides(axes, bbox)
    )


def _tiles_sql(axes: list[str]) -> str:
    return ", ".join(
        f"CASE WHEN problem IS NULL THEN CAST(tile({lon}, {lat}) AS BIGINT) END AS {_tile(lon)}"
        for lon, lat in zip(axes[::2], axes[1::2], strict=True)
    )


def _tile(lon: str) -> str:
    return lon.removesuffix("lon") + "tile"


def _bounded(con: duckdb.DuckDBPyConnection, most: int | None) -> str:
    """Return SQL for the usable points; of each person (and span) a uniform sample, which depends on no one else."""
    if most is None:
        return "SELECT * FROM points WHERE problem IS NULL"
    con.execute(
        "CREATE TEMP TABLE turns AS SELECT *, row_number() OVER (PARTITION BY person, span ORDER BY lot) AS turn"
        " FROM (SELECT *, random() AS lot FROM points WHERE problem IS NULL)"
    )
    return f"SELECT * FROM turns WHERE turn <= {most}"


def _sides(axes: list[str], bbox: BoundingBox) -> list[tuple[str, tuple[float, float]]]:
    west, south, east, north = bbox
    return [(axis, (south, north) if axis.endswith("lat") else (west, east)) for axis in axes]
