"""The two tables of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._flows import WEIGHT_UNIT, add_by_group
from flowveil._folder import ELSEWHERE, REMAINDER, TOTAL
from flowveil._places import ELSEWHERE_NAME, areas_of_sides, ids_of

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, Column, IntArray
    from flowveil._flows import Flows, Measures
    from flowveil._problem import Solution
    from flowveil._release.elsewhere import Elsewhere
    from flowveil._release.totals import Totals


def flows_table(
    flows: Flows,
    solution: Solution,
    measures: Measures,
    elsewhere: Elsewhere | None = None,
    totals: Totals | None = None,
    mark: tuple[str, Column] | None = None,
) -> pa.Table:
    """Return one row a flow, sorted by the ids of its areas.

    mark: a column more, of flows, those to elsewhere and totals, in this order.
    """
    sides = solution.sides(flows)
    origin, destination = ids_of(sides[0], solution.origin), ids_of(sides[1], solution.destination)
    keys = _keys(flows, solution.matrix, solution.time)
    tables = [_rows(flows, origin, destination, keys, solution.group, measures)]
    if solution.above is not None:
        tables[0] = tables[0].append_column(REMAINDER, pa.array(_holds(solution.above), pa.bool_()))
    if elsewhere is not None:
        ends = [ids_of(sides[elsewhere.first], elsewhere.area), [ELSEWHERE] * len(elsewhere.area)]
        origin, destination = ends[elsewhere.first], ends[1 - elsewhere.first]
        keys = _keys(flows, elsewhere.matrix, None)
        tables.append(_rows(flows, origin, destination, keys, elsewhere.group, elsewhere.measures))
    if totals is not None:
        tables.append(_total_rows(totals, list(keys), tables[0].schema))
    table = pa.concat_tables(tables)
    table = table if mark is None else table.append_column(*mark)
    return table.sort_by([(name, "ascending") for name in ("origin", "destination", *keys)])


def _holds(above: IntArray) -> BoolArray:
    """Return which flows hold others, given the smallest flow that holds each, -1 for none."""
    holds = np.zeros(len(above), bool)
    holds[above[above >= 0]] = True
    return holds


def _total_rows(totals: Totals, names: list[str], schema: pa.Schema) -> pa.Table:
    """Return the flows of all groups together; their groups are called `total`."""
    flows, solution = totals.flows, totals.solution
    sides = solution.sides(flows)
    count = len(solution.origin)
    keys = _keys(flows, solution.matrix, solution.time)
    keys = {name: keys.get(name, pa.array([TOTAL] * count, pa.string())) for name in names}
    origin, destination = ids_of(sides[0], solution.origin), ids_of(sides[1], solution.destination)
    return _rows(flows, origin, destination, keys, solution.group, totals.measures).cast(schema)


def _keys(flows: Flows, matrix: IntArray, time: IntArray | None) -> dict[str, Column]:
    """Return by flow its time (begin and end where these differ in length) and its groups."""
    keys: dict[str, Column] = {}
    if flows.times is not None and time is not None:
        keys["time"], keys["time_end"] = flows.times.values(time)
    table = flows.matrices.take(pa.array(matrix, pa.int64()))
    return keys | {name: table[name].combine_chunks() for name in table.column_names}


def _rows(
    flows: Flows,
    origin: list[str],
    destination: list[str],
    keys: dict[str, Column],
    group: IntArray,
    measures: Measures,
) -> pa.Table:
    columns: dict[str, Column] = {
        "origin": pa.array(origin, pa.string()),
        "destination": pa.array(destination, pa.string()),
        **keys,
        "trips": pa.array(measures.trips, pa.int64()),
    }
    if measures.persons is not None:
        columns["persons"] = pa.array(measures.persons, pa.int64())
    if flows.weight is not None:
        total = add_by_group(group, flows.weight, len(origin))
        columns["weight"] = pa.array((total + WEIGHT_UNIT // 2) // WEIGHT_UNIT, pa.int64())
    return pa.table(columns)


def areas_table(
    flows: Flows, solution: Solution, elsewhere: Elsewhere | None = None, totals: Totals | None = None
) -> pa.Table:
    """Return one row for each area and side that occurs in the flows, with what public geometry says of it."""
    nodes = [solution.origin, solution.destination]
    if totals is not None:
        more = totals.solution.origin, totals.solution.destination
        nodes = [np.concatenate(pair) for pair in zip(nodes, more, strict=True)]
    if elsewhere is not None:
        nodes[elsewhere.first] = np.concatenate([nodes[elsewhere.first], elsewhere.area])
    sides = solution.sides(flows)
    table = areas_of_sides((sides[0], nodes[0]), (sides[1], nodes[1]))
    if elsewhere is None or not len(elsewhere.area):
        return table
    side = ("origin", "destination")[1 - elsewhere.first]
    row = {"area": ELSEWHERE, "name": ELSEWHERE_NAME, "side": side}  # and null in all other columns
    longer = pa.concat_tables([table, pa.Table.from_pylist([row], table.schema)])
    longer = longer.sort_by([("side", "descending"), ("area", "ascending")])
    return longer.replace_schema_metadata(table.schema.metadata)
