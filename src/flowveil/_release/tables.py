"""The two tables of a release."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from flowveil._flows import WEIGHT_UNIT, add_by_group
from flowveil._places import NodeAreas
from flowveil._release.elsewhere import ELSEWHERE

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._flows import Flows, Measures
    from flowveil._places import Areas, Hierarchy, Places
    from flowveil._problem import Solution
    from flowveil._release.elsewhere import Elsewhere
    from flowveil._release.totals import Totals

TOTAL = "total"  # the group of all groups together
# GeoParquet 1.1: shapes are WKB in longitude and latitude, which is its default CRS.
GEO_METADATA = {
    "version": "1.1.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": []}},
}


def flows_table(
    flows: Flows,
    solution: Solution,
    measures: Measures,
    elsewhere: Elsewhere | None = None,
    totals: Totals | None = None,
) -> pa.Table:
    """Return one row a flow, sorted by the ids of its areas."""
    sides = solution.sides(flows)
    origin, destination = _ids(sides[0], solution.origin), _ids(sides[1], solution.destination)
    keys = _keys(flows, solution.matrix, solution.time)
    tables = [_rows(flows, origin, destination, keys, solution.group, measures)]
    if elsewhere is not None:
        ends = [_ids(sides[elsewhere.first], elsewhere.area), [ELSEWHERE] * len(elsewhere.area)]
        origin, destination = ends[elsewhere.first], ends[1 - elsewhere.first]
        keys = _keys(flows, elsewhere.matrix, None)
        tables.append(_rows(flows, origin, destination, keys, elsewhere.group, elsewhere.measures))
    if totals is not None:
        tables.append(_total_rows(totals, list(keys), tables[0].schema))
    return pa.concat_tables(tables).sort_by([(name, "ascending") for name in ("origin", "destination", *keys)])


def _total_rows(totals: Totals, names: list[str], schema: pa.Schema) -> pa.Table:
    """Return the flows of all groups together; their groups are called `total`."""
    flows, solution = totals.flows, totals.solution
    sides = solution.sides(flows)
    count = len(solution.origin)
    keys = _keys(flows, solution.matrix, solution.time)
    keys = {name: keys.get(name, pa.array([TOTAL] * count, pa.string())) for name in names}
    origin, destination = _ids(sides[0], solution.origin), _ids(sides[1], solution.destination)
    return _rows(flows, origin, destination, keys, solution.group, totals.measures).cast(schema)


def _keys(flows: Flows, matrix: IntArray | None, time: IntArray | None) -> dict[str, pa.Array]:
    """Return by flow its time (begin and end where these differ in length) and its groups."""
    keys: dict[str, pa.Array] = {}
    if flows.times is not None and time is not None:
        keys["time"], keys["time_end"] = flows.times.values(time)
    if flows.matrices is not None and matrix is not None:
        table = flows.matrices.take(pa.array(matrix))
        keys |= {name: table[name].combine_chunks() for name in table.column_names}
    return keys


def _rows(
    flows: Flows,
    origin: list[str],
    destination: list[str],
    keys: dict[str, pa.Array],
    group: IntArray,
    measures: Measures,
) -> pa.Table:
    columns = {
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
    table = _areas((sides[0], nodes[0]), (sides[1], nodes[1]))
    if elsewhere is None or not len(elsewhere.area):
        return table
    row = {"area": ELSEWHERE, "side": ("origin", "destination")[1 - elsewhere.first]}  # and null in all other columns
    longer = pa.concat_tables([table, pa.Table.from_pylist([row], table.schema)])
    longer = longer.sort_by([("side", "descending"), ("area", "ascending")])
    return longer.replace_schema_metadata(table.schema.metadata)


def areas_of_nodes(
    places: Places, origins: tuple[Hierarchy, IntArray], destinations: tuple[Hierarchy, IntArray]
) -> pa.Table:
    """Return the areas of flows between nodes of trees."""
    first, second = (NodeAreas(places, tree) for tree, _ in (origins, destinations))
    return _areas((first, origins[1]), (second, destinations[1]))


def _areas(origins: tuple[Areas, IntArray], destinations: tuple[Areas, IntArray]) -> pa.Table:
    sides = [_side(*origins, "origin"), _side(*destinations, "destination")]
    return pa.concat_tables(sides).replace_schema_metadata({"geo": json.dumps(GEO_METADATA)})


def area_ids(places: Places, hierarchy: Hierarchy, nodes: IntArray) -> list[str]:
    """Return the ids of nodes, which may repeat."""
    return _ids(NodeAreas(places, hierarchy), nodes)


def _ids(areas: Areas, numbers: IntArray) -> list[str]:
    distinct, position = np.unique(numbers, return_inverse=True)
    names = areas.ids(distinct)
    return [names[place] for place in position.tolist()]


def _side(areas: Areas, numbers: IntArray, side: str) -> pa.Table:
    known = areas.describe(np.unique(numbers))
    columns = {
        "area": pa.array(known.area, pa.string()),
        "side": pa.array([side] * len(known.area), pa.string()),
        "lon": _numbers(known.lon),
        "lat": _numbers(known.lat),
        "tiles": pa.array(known.tiles, pa.int64(), mask=known.tiles < 0),
    }
    if known.members is not None:
        columns["members"] = pa.array(known.members, pa.list_(pa.string()))
    shapes = shapely.to_wkb(known.geometry, output_dimension=2, byte_order=1)
    columns["geometry"] = pa.array(shapes.tolist(), pa.binary())
    return pa.table(columns).sort_by("area")


def _numbers(values: FloatArray) -> pa.Array:
    return pa.array(values, pa.float64(), mask=np.isnan(values))
