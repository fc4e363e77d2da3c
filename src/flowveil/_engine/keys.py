"""Every usable row with its keys: step of time, groups, tiles and person. Batches of rows keep all cores busy."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

import pyarrow as pa
import pyarrow.compute as pc

from flowveil._arrays import texts, whole_numbers
from flowveil._engine.marks import mark_sql, marked_by
from flowveil._engine.rows import inside_sql, problem_sql, rows_sql
from flowveil._processes import work_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import duckdb

    from flowveil._arrays import Column
    from flowveil._engine.rows import Request

    Index: TypeAlias = Callable[..., Column]

WEIGHT_UNIT = 1_000_000  # weights are summed as integers in millionths: sums do not depend on the order of rows
UNKNOWN = "unknown zone"
_WORLD = (-180.0, -90.0, 180.0, 90.0)
_BATCH_ROWS = 131_072  # long enough that Python costs nothing beside the index, short enough for the cache


@dataclass
class Tally:
    """How many rows were read, and why some cannot be used."""

    rows: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    unknown_zones: set[str] = field(default_factory=set)
    inside: int = 0  # rows with both ends in the box
    inside_swapped: int = 0  # if longitude and latitude were exchanged
    decimal_comma: bool = False
    signs: set[int] = field(default_factory=set)  # between digits of counts
    clocks: set[bool] = field(default_factory=set)  # whether times of usable rows are in UTC: true, false, or both

    def add(self, other: Tally) -> None:
        """Add what was seen elsewhere."""
        self.rows += other.rows
        self.problems.update(other.problems)
        self.unknown_zones |= other.unknown_zones
        self.inside += other.inside
        self.inside_swapped += other.inside_swapped
        self.decimal_comma |= other.decimal_comma
        self.signs |= other.signs
        self.clocks |= other.clocks


def key_columns(request: Request) -> list[str]:
    """Return the columns that set trips apart, in the order they are sorted by."""
    time = ["time"] if request.time else []
    return [*time, *(f"by_{number}" for number in range(len(request.by))), "origin", "destination"]


def key_schema(request: Request) -> pa.Schema:
    """Return the columns of `key_batches`: keys, then person, trips, weight, marks and coordinates, if asked for."""
    kinds: dict[str, pa.DataType] = {"time": pa.int64(), "origin": pa.uint64(), "destination": pa.uint64()}
    columns = [(name, kinds.get(name, pa.string())) for name in key_columns(request)]
    asked = {"person": request.unit, "trips": request.count, "weight": request.weight}
    others: dict[str, pa.DataType] = {"person": pa.string(), "trips": pa.int64(), "weight": pa.int64()}
    marks: list[tuple[str, pa.DataType]] = [("mark", pa.uint64()), ("owner", pa.uint64())] if request.secret else []
    marks += [("stamp", pa.int64()), ("stamp_aware", pa.bool_())] if request.stamp else []
    marks += [(name, pa.float64()) for name in request.columns] if request.located else []
    return pa.schema([*columns, *((name, others[name]) for name, column in asked.items() if column), *marks])


def key_batches(
    con: duckdb.DuckDBPyConnection,
    request: Request,
    index: Index,
    step: Index | None,
    tally: Tally,
    *,
    cores: int | None = None,
    watch: Callable[[int], None] | None = None,
) -> Generator[pa.RecordBatch]:
    """Read all rows and yield the usable ones by their keys; the others are counted in `tally`.

    `index` maps (lon, lat) or (zone id) to tile keys, `step` maps (time, aware) to steps; both let other threads work.
    A trip without a column of counts is one trip and has no `trips` here.
    """
    reader = con.sql(_sql(con, request)).to_arrow_reader(_BATCH_ROWS)
    work = partial(_key, request=request, index=index, step=step)
    try:
        with closing(work_ahead(work, reader, cores)) as done:
            for batch, seen in done:
                tally.add(seen)
                if watch is not None:
                    watch(tally.rows)
                yield batch
    finally:
        reader.close()


def _sql(con: duckdb.DuckDBPyConnection, request: Request) -> str:
    columns = ["problem", *request.columns, *(f"by_{number}" for number in range(len(request.by)))]
    # TRY_CAST: DuckDB may convert values before it knows that their rows have a problem.
    if request.unit:
        columns.append("unit AS person")
    if request.count:
        columns += ["TRY_CAST(count AS BIGINT) AS trips", "signs"]
    if request.weight:
        columns.append(f"TRY_CAST(round(weight * {WEIGHT_UNIT}) AS BIGINT) AS weight")
    if request.time:
        columns += ["time", "aware"]
    if not request.by_zone:
        box = request.bbox or _WORLD
        columns += [f"{inside_sql(box)} AS inside", f"{inside_sql(box, swapped=True)} AS inside_swapped"]
        columns.append("decimal_comma")
    if request.stamp:
        columns += ["stamp", "stamp_aware"]
    if request.secret:
        columns += [f"{mark_sql(request.secret, known)} AS {name}" for name, known in marked_by(request).items()]
    rows = f"SELECT *, {problem_sql(request)} AS problem FROM ({rows_sql(con, request)})"
    return f"SELECT {', '.join(columns)} FROM ({rows})"


def _key(rows: pa.RecordBatch, request: Request, index: Index, step: Index | None) -> tuple[pa.RecordBatch, Tally]:
    """Return usable rows by their keys, and what is to be said of the others."""
    tally = _look(rows, request)
    if tally.problems:
        rows = rows.filter(rows["problem"].is_null())
    names = list(request.columns)
    ends = [names[: len(names) // 2], names[len(names) // 2 :]]
    columns = {
        name: index(*(rows[part] for part in end)) for name, end in zip(("origin", "destination"), ends, strict=True)
    }
    if request.time and step is not None:
        columns["time"] = step(rows["time"], rows["aware"])
        tally.clocks = {bool(aware) for aware in pc.unique(rows["aware"]).to_pylist()}
    schema = key_schema(request)
    keyed = pa.record_batch([columns[name] if name in columns else rows[name] for name in schema.names], schema=schema)
    known = pc.and_(columns["origin"].is_valid(), columns["destination"].is_valid())
    if lost := len(known) - (known.true_count if len(known) else 0):
        tally.problems[UNKNOWN if request.by_zone else request.nowhere] += lost
        if request.by_zone:
            unknown = [rows[name].filter(columns[name].is_null()) for name in names]
            tally.unknown_zones.update(zone for zones in unknown for zone in texts(zones.unique()))
        keyed = keyed.filter(known)
    return keyed, tally


def _look(rows: pa.RecordBatch, request: Request) -> Tally:
    tally = Tally(rows.num_rows)
    if rows["problem"].null_count < rows.num_rows:
        counts = pc.value_counts(rows["problem"].drop_null())
        problems, times = texts(counts.field("values")), whole_numbers(counts.field("counts"))
        tally.problems.update(dict(zip(problems, times, strict=True)))
    if not request.by_zone:
        tally.inside = _count_true(rows["inside"])
        tally.inside_swapped = _count_true(rows["inside_swapped"])
        tally.decimal_comma = _count_true(rows["decimal_comma"]) > 0
    if request.count:
        tally.signs = set(whole_numbers(pc.unique(rows["signs"])))
    return tally


def _count_true(column: Column) -> int:
    return cast("pa.BooleanArray", column).true_count
