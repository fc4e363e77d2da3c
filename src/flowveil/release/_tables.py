"""The two tables of a release."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from flowveil.flows import WEIGHT_UNIT, add_by_group

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil.flows import Flows, Measures
    from flowveil.places import Hierarchy, Places
    from flowveil.problem import Solution

# GeoParquet 1.1: shapes are WKB in longitude and latitude, which is its default CRS.
GEO_METADATA = {
    "version": "1.1.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": []}},
}


def flows_table(flows: Flows, solution: Solution, measures: Measures) -> pa.Table:
    """Return one row a flow, sorted by the ids of its areas."""
    columns = {
        "origin": pa.array(area_ids(flows.places, flows.origins, solution.origin), pa.string()),
        "destination": pa.array(area_ids(flows.places, flows.destinations, solution.destination), pa.string()),
        "trips": pa.array(measures.trips, pa.int64()),
    }
    if measures.persons is not None:
        columns["persons"] = pa.array(measures.persons, pa.int64())
    if flows.weight is not None:
        total = add_by_group(solution.group, flows.weight, len(solution.origin))
        columns["weight"] = pa.array((total + WEIGHT_UNIT // 2) // WEIGHT_UNIT, pa.int64())
    table = pa.table(columns)
    return table.sort_by([("origin", "ascending"), ("destination", "ascending")])


def areas_table(flows: Flows, solution: Solution) -> pa.Table:
    """Return one row for each area and side that occurs in the flows, with what public geometry says of it."""
    return areas_of_nodes(flows.places, (flows.origins, solution.origin), (flows.destinations, solution.destination))


def areas_of_nodes(
    places: Places, origins: tuple[Hierarchy, IntArray], destinations: tuple[Hierarchy, IntArray]
) -> pa.Table:
    """Return the areas of flows between nodes of trees."""
    sides = [_side(places, *origins, "origin"), _side(places, *destinations, "destination")]
    return pa.concat_tables(sides).replace_schema_metadata({"geo": json.dumps(GEO_METADATA)})


def area_ids(places: Places, hierarchy: Hierarchy, nodes: IntArray) -> list[str]:
    """Return the ids of nodes, which may repeat."""
    distinct, position = np.unique(nodes, return_inverse=True)
    names = places.ids(hierarchy, distinct)
    return [names[place] for place in position.tolist()]


def _side(places: Places, hierarchy: Hierarchy, nodes: IntArray, side: str) -> pa.Table:
    known = places.describe(hierarchy, np.unique(nodes))
    columns = {
        "area": pa.array(known.area, pa.string()),
        "side": pa.array([side] * len(known.area), pa.string()),
        "lon": _numbers(known.lon),
        "lat": _numbers(known.lat),
        "tiles": pa.array(known.tiles, pa.int64(), mask=known.tiles < 0),
    }
    if known.members is not None:
        columns["members"] = pa.array(known.members, pa.list_(pa.string()))
    columns["geometry"] = pa.array(shapely.to_wkb(known.geometry).tolist(), pa.binary())
    return pa.table(columns).sort_by("area")


def _numbers(values: FloatArray) -> pa.Array:
    return pa.array(values, pa.float64(), mask=np.isnan(values))
