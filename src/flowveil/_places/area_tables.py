"""Areas as the table of a release, in GeoParquet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from flowveil._folder import mark_shapes
from flowveil._places.areas import NodeAreas

if TYPE_CHECKING:
    from flowveil._arrays import Column, FloatArray, IntArray
    from flowveil._places.areas import Areas
    from flowveil._places.hierarchy import Hierarchy
    from flowveil._places.places import Places

# GeoParquet 1.1: shapes are WKB in longitude and latitude, which is its default CRS.
GEO_METADATA = {
    "version": "1.1.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": []}},
}


def areas_of_nodes(
    places: Places, origins: tuple[Hierarchy, IntArray], destinations: tuple[Hierarchy, IntArray]
) -> pa.Table:
    """Return the areas of flows between nodes of trees."""
    first, second = (NodeAreas(places, tree) for tree, _ in (origins, destinations))
    return areas_of_sides((first, origins[1]), (second, destinations[1]))


def areas_of_sides(origins: tuple[Areas, IntArray], destinations: tuple[Areas, IntArray]) -> pa.Table:
    """Return one row for each area and side, origins first, with what public geometry says of it."""
    sides = [_side(*origins, "origin"), _side(*destinations, "destination")]
    return mark_shapes(pa.concat_tables(sides)).replace_schema_metadata({"geo": json.dumps(GEO_METADATA)})


def area_ids(places: Places, hierarchy: Hierarchy, nodes: IntArray) -> list[str]:
    """Return the ids of nodes, which may repeat."""
    return ids_of(NodeAreas(places, hierarchy), nodes)


def ids_of(areas: Areas, numbers: IntArray) -> list[str]:
    """Return the ids of areas, which may repeat."""
    distinct, position = np.unique(numbers, return_inverse=True)
    names = areas.ids(distinct)
    return [names[place] for place in position.tolist()]


def _side(areas: Areas, numbers: IntArray, side: str) -> pa.Table:
    known = areas.describe(np.unique(numbers))
    columns: dict[str, Column] = {
        "area": pa.array(known.area, pa.string()),
        "name": pa.array(areas.places.naming.names(known), pa.string()),
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


def _numbers(values: FloatArray) -> Column:
    return pa.array(values, pa.float64(), mask=np.isnan(values))
