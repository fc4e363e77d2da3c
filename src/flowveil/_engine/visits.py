"""Visits: one row for each person on each pair of tiles, grouped, numbered and sorted in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._engine.aggregate import Aggregate, Labels
from flowveil._engine.duckdb import make_room, streamed
from flowveil._engine.keys import UNKNOWN, key_columns, key_schema
from flowveil._engine.rows import BAD_WEIGHT, OF_DECIMALS, OF_EITHER, OF_MORE, OUTSIDE
from flowveil._errors import InputError
from flowveil._options import FLOW_COLUMN, FLOW_VISIT, check_memory

if TYPE_CHECKING:
    from collections.abc import Generator

    import duckdb
    import numpy.typing as npt

    from flowveil._arrays import Column, CountArray, IntArray, KeyArray
    from flowveil._engine.keys import Tally
    from flowveil._engine.rows import Request

_LARGEST_SUM = 2**62
_BATCH_ROWS = 1_000_000
_KINDS = {pa.uint64(): np.uint64, pa.int32(): np.int32}  # of arrays; others are whole numbers of 64 bits
_LATER_PAIR, _LATER_VISIT = 90, 40  # bytes beside those of flows while a release is measured: for one or the other
_HINT = "use a coarser grid or larger zones, raise --memory, or keep persons on a cluster with --engine spark"


class _Entries(TypedDict):
    """Entries of an aggregate, without who makes the trips."""

    time: IntArray | None
    by: tuple[Labels, ...]
    origin: KeyArray
    destination: KeyArray
    trips: IntArray
    weight: IntArray | None


class _People(TypedDict):
    """Who makes the trips of an aggregate."""

    visit_count: IntArray | None
    visit_person: IntArray | None
    person_weight: IntArray | None
    visit_trips: CountArray | None


def visit_columns(request: Request) -> tuple[list[str], dict[str, str]]:
    """Return what keyed rows are grouped by, and the sums of each group in SQL that every engine knows."""
    sums = {"trips": "sum(trips)" if request.count else "count(*)"}
    if request.weight:
        sums["weight"] = "sum(weight)"
        if request.unit and not request.weighs_trips:
            sums |= {"least": "min(weight)", "most": "max(weight)"}
    return [*key_columns(request), *(["person"] if request.unit else [])], sums


def group_visits(con: duckdb.DuckDBPyConnection, request: Request, keyed: Generator[pa.RecordBatch]) -> None:
    """Group keyed rows into the table `visits`."""
    keys, sums = visit_columns(request)
    selected = ", ".join([*keys, *(f"{sql} AS {name}" for name, sql in sums.items())])
    with streamed(con, "keyed", key_schema(request), keyed):
        con.execute(f"CREATE TEMP TABLE visits AS SELECT {selected} FROM keyed GROUP BY {', '.join(keys)}")


def read_visits(con: duckdb.DuckDBPyConnection, request: Request, tally: Tally, memory: int | None = None) -> Aggregate:
    """Return the table `visits` as arrays, or raise if these do not fit into the memory allowed."""
    dropped = dict(sorted(tally.problems.items()))
    outside = dropped.pop(OUTSIDE, 0)
    if dropped.pop(BAD_WEIGHT, 0):
        raise InputError(
            f"the weight column {request.weight!r} has values that are not numbers of people",
            "weights are finite, not negative and at most 1e9 (for 1,5 say --decimal ,); drop others with --where",
        )
    entries, persons = _entries(con, request, memory)
    return Aggregate(
        **entries,
        **_people(con, request, persons if request.unit else None),
        rows=tally.rows,
        dropped=dropped,
        outside_bbox=outside,
        unknown_zones=tuple(sorted(tally.unknown_zones)) if UNKNOWN in dropped else (),
        decimal_comma="not a number" in dropped and tally.decimal_comma,
        unclear_counts=OF_MORE in tally.signs or (OF_EITHER in tally.signs and OF_DECIMALS not in tally.signs),
        two_clocks=len(tally.clocks) > 1,
        swapped=not request.by_zone and bool(dropped or outside) and tally.inside_swapped > tally.inside,
    )


def _entries(con: duckdb.DuckDBPyConnection, request: Request, memory: int | None) -> tuple[_Entries, IntArray]:
    """Return the keys of all entries, sorted, with trips and weights, and the number of persons of each."""
    names = key_columns(request)
    keys = ", ".join(names)
    sums = ["trips", *(["weight"] if request.weight else [])]
    totals = con.execute(f"SELECT {', '.join(f'coalesce(sum({name}), 0)' for name in sums)} FROM visits").fetchall()[0]
    if max(totals) > _LARGEST_SUM:
        raise InputError("the sums of counts or weights pass 64 bits", "use smaller counts or weights")
    added = ", ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in sums)
    con.execute(f"CREATE TEMP TABLE entries AS SELECT {keys}, {added}, count(*) AS persons FROM visits GROUP BY {keys}")
    if memory is not None:
        _check_memory(con, request, memory)
    labels = {name: _labels(con, name) for name in names if name.startswith("by_")}
    columns = _fetch(con, "entries", "*", keys, labels)
    con.execute("DROP TABLE entries")
    entries: _Entries = {
        "time": columns.get("time"),
        "by": tuple(Labels(columns[name], tuple(values.to_pylist())) for name, values in labels.items()),
        "origin": columns["origin"],
        "destination": columns["destination"],
        "trips": columns["trips"],
        "weight": columns.get("weight"),
    }
    return entries, columns["persons"]


def _check_memory(con: duckdb.DuckDBPyConnection, request: Request, memory: int) -> None:
    """Raise if the arrays of flows, and what it takes to measure a release of them, do not fit; else make room."""
    pairs, visits = (
        int(con.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]) for table in ("entries", "visits")
    )
    visits = visits if request.unit else 0
    columns = len(key_columns(request)) + (2 if request.weight else 1)
    flows = FLOW_COLUMN * columns * pairs + FLOW_VISIT * visits
    counted = f"{pairs:,} pairs of tiles" + (f" that persons travel on {visits:,} times" if request.unit else "")
    check_memory(memory, flows + max(_LATER_PAIR * pairs, _LATER_VISIT * visits), counted, _HINT)
    make_room(con, memory, FLOW_COLUMN * (columns + 1) * pairs + (FLOW_VISIT - FLOW_COLUMN) * visits)


def _people(con: duckdb.DuckDBPyConnection, request: Request, persons: IntArray | None) -> _People:
    """Give persons numbers in the order of their ids, and return who makes trips on which entry, sorted."""
    if persons is None:
        return {"visit_count": None, "visit_person": None, "person_weight": None, "visit_trips": None}
    weighs = request.weight is not None and not request.weighs_trips
    weights = ", min(least) AS least, max(most) AS most" if weighs else ""
    con.execute(
        f"CREATE TEMP TABLE persons AS SELECT person, row_number() OVER (ORDER BY person) - 1 AS rank{weights}"
        " FROM visits GROUP BY person"
    )
    weight = None
    if weighs:
        if con.execute("SELECT 1 FROM persons WHERE least <> most LIMIT 1").fetchall():
            raise several_weights(request)
        weight = _fetch(con, "persons", "CAST(least AS BIGINT) AS least", "rank", {})["least"]
    keys = ", ".join(key_columns(request))
    columns, order = "rank, CAST(trips AS INTEGER) AS trips", f"{keys}, rank"
    visits = _fetch(con, "visits JOIN persons USING (person)", columns, order, {}, int(persons.sum()))
    return {
        "visit_count": persons,
        "visit_person": visits["rank"],
        "person_weight": weight,
        "visit_trips": visits["trips"],
    }


def several_weights(request: Request) -> InputError:
    """Return what is said of a person whose trips do not all have the same weight."""
    return InputError(
        f"a value of {request.unit!r} has several values of {request.weight!r}",
        "a person has one weight: give one to each, or say --trip-weight if it is one of each trip",
    )


def _labels(con: duckdb.DuckDBPyConnection, name: str) -> Column:
    """Return the values of a column of groups, sorted, null last."""
    rows = con.execute(f"SELECT DISTINCT {name} FROM visits ORDER BY {name} NULLS LAST").fetchall()
    return pa.array([row[0] for row in rows], pa.string())


def _fetch(
    con: duckdb.DuckDBPyConnection,
    table: str,
    columns: str,
    order: str,
    labels: dict[str, Column],
    rows: int | None = None,
) -> dict[str, npt.NDArray[Any]]:  # Any: keys of tiles are unsigned, the others signed
    """Return columns of a table, sorted, batch by batch: never twice in memory. Text becomes numbers of `labels`."""
    if rows is None:
        rows = int(con.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
    reader = con.sql(f"SELECT {columns} FROM {table} ORDER BY {order}").to_arrow_reader(_BATCH_ROWS)
    kinds = {item.name: _KINDS.get(item.type, np.int64) for item in reader.schema}
    arrays = {name: np.empty(rows, kind) for name, kind in kinds.items()}
    start = 0
    for batch in reader:
        end = start + batch.num_rows
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            codes = pc.index_in(values, value_set=labels[name]) if name in labels else values
            arrays[name][start:end] = codes.to_numpy(zero_copy_only=False)
        start = end
    return arrays
