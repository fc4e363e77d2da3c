"""From trips to counts by cell of any dimension: every trip is one point, with coordinates or a tile for each place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from duckdb.func import FunctionNullHandling, PythonUDFType

from flowveil._engine.duckdb import connection
from flowveil._engine.rows import OUTSIDE, problem_sql, rows_sql

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

    from flowveil._arrays import Column, IntArray
    from flowveil._engine.rows import Request

BoundingBox = tuple[float, float, float, float]
UNKNOWN = "unknown zone"


@dataclass(frozen=True, eq=False)
class PointCounts:
    """Trips by cell, and what was left out; all of it is private."""

    cells: IntArray  # one row a non-empty cell, sorted; one column for each coordinate, or for each tile
    trips: IntArray
    rows: int
    dropped: dict[str, int]
    outside_bbox: int
    beyond_bound: int  # trips of persons who made more than a person may contribute


def count_points(
    request: Request,
    bbox: BoundingBox | None,
    cells: int | Callable[..., Column],
    most: int | None = None,
    memory: int | None = None,
) -> PointCounts:
    """Count trips by cell, at most `most` of each person, drawn uniformly.

    `request.columns` names the coordinates in the order of the axes, NAME_lon and NAME_lat in turn. `cells` cuts each
    side of the bbox into so many equal parts, or maps (lon, lat) to tiles: it knows nothing of the trips. With zones in
    place of coordinates, it maps their ids, and there is no bbox.
    """
    names = list(request.columns)
    places = names if request.by_zone else names[::2]
    axes = names if isinstance(cells, int) else [_tile(name) for name in places]
    with connection(request.source, memory) as con:
        rows = rows_sql(con, request)
        if not isinstance(cells, int):
            _register_tile(con, request, cells)
        con.execute(_points_sql(rows, request, names, bbox, cells))
        by_reason = dict(
            con.execute("SELECT problem, count(*) FROM points GROUP BY problem ORDER BY problem").fetchall()
        )
        usable = _bounded(con, most if request.unit else None)
        table = con.execute(
            f"SELECT {', '.join(axes)}, CAST(sum(trips) AS BIGINT) AS trips FROM ({usable})"
            f" GROUP BY {', '.join(axes)} ORDER BY {', '.join(axes)}"
        ).fetchnumpy()
    columns = [np.asarray(table[axis], np.int64) for axis in axes]
    trips = np.asarray(table["trips"], np.int64)
    return PointCounts(
        cells=np.ascontiguousarray(np.column_stack(columns)),
        trips=trips,
        rows=sum(by_reason.values()),
        dropped={reason: count for reason, count in by_reason.items() if reason not in (None, OUTSIDE)},
        outside_bbox=by_reason.get(OUTSIDE, 0),
        beyond_bound=by_reason.get(None, 0) - int(trips.sum()) if request.unit else 0,
    )


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
    rows: str, request: Request, axes: list[str], bbox: BoundingBox | None, cells: int | Callable[..., Column]
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
    return f"""
        CREATE TEMP TABLE points AS
        SELECT problem, {"unit" if request.unit else "NULL"} AS person,
               {"TRY_CAST(count AS HUGEINT)" if request.count else "1"} AS trips, {number}
        FROM (SELECT *, {problem} AS problem FROM ({rows}))"""


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
    """Return SQL for the usable points; of each person a uniform sample, which depends on no other person."""
    if most is None:
        return "SELECT * FROM points WHERE problem IS NULL"
    con.execute(
        "CREATE TEMP TABLE turns AS SELECT *, row_number() OVER (PARTITION BY person ORDER BY lot) AS turn"
        " FROM (SELECT *, random() AS lot FROM points WHERE problem IS NULL)"
    )
    return f"SELECT * FROM turns WHERE turn <= {most}"


def _sides(axes: list[str], bbox: BoundingBox) -> list[tuple[str, tuple[float, float]]]:
    west, south, east, north = bbox
    return [(axis, (south, north) if axis.endswith("lat") else (west, east)) for axis in axes]
