"""Tiles of a public box: every tile that a point of the box can lie in, whether or not a trip was there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import h3
import numpy as np
import shapely

from flowveil._errors import InputError
from flowveil._matrices.ladder import make_ladder
from flowveil._options import has_several_ways
from flowveil._places import H3Grid, Zones, choose_places, square_kilometers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flowveil._arrays import IntArray, KeyArray
    from flowveil._folder import Json
    from flowveil._matrices.ladder import Ladder
    from flowveil._places import BoundingBox, Hierarchy, NamedPlacesLike, ZonesLike

DEFAULT_GRID = "h3:10"
DEFAULT_HIERARCHY = "h3-binary"
_MOST_TILES = 1_000_000
_KILOMETERS_A_DEGREE = 111.2
_SLACK = 0.05  # in edges of a tile: edges of cells are bent, and a corner of the box may stick out


@dataclass(frozen=True, eq=False)
class TileGrid:
    """The tiles of a box, or zones, and the tree above them: public geometry alone, the same for both ends of trips."""

    bbox: BoundingBox | None  # zones have none
    places: H3Grid | Zones
    tree: Hierarchy
    ladder: Ladder

    @property
    def lengths(self) -> tuple[int, int]:
        """Tiles at each end."""
        return len(self.ladder.leaf), len(self.ladder.leaf)

    def positions(self, tiles: KeyArray) -> IntArray:
        """Return where tiles stand in the ladder, -1 for tiles that the box does not have."""
        if isinstance(self.places, Zones):
            _, node = self.places.hierarchy(tiles)
            place = np.argsort(self.ladder.leaf)
            return place[np.searchsorted(self.ladder.leaf, node, sorter=place)]
        keys = self.tree.key[self.ladder.leaf]
        order = np.argsort(keys)
        place = np.minimum(np.searchsorted(keys, tiles, sorter=order), len(keys) - 1)
        position = order[place]
        return np.where(keys[position] == tiles, position, -1)

    def settings(self) -> dict[str, Json]:
        """Return the grid for the manifest."""
        return self.places.settings() | ({} if self.bbox is None else {"bbox": list(self.bbox)})


def make_tile_grid(
    bbox: BoundingBox,
    grid: str | None,
    hierarchy: str | Sequence[str] | None,
    named_places: NamedPlacesLike | None = None,
) -> TileGrid:
    """Return all tiles of a box with their tree; raise if there are too many."""
    if has_several_ways(hierarchy):
        raise InputError("noise is added along one tree, not a lattice", "give --hierarchy h3-binary or h3")
    tree_name = hierarchy or DEFAULT_HIERARCHY
    places = choose_places(grid or DEFAULT_GRID, None, tree_name, None, bbox, named_places=named_places)
    if not isinstance(places, H3Grid):
        raise InputError(f"noise goes on an H3 grid, not on {grid!r}", "give --grid h3:RESOLUTION")
    west, south, east, north = bbox
    size = float(square_kilometers(np.array([shapely.box(*bbox)], object))[0])
    if (needed := size / h3.average_hexagon_area(places.resolution)) > _MOST_TILES:
        raise InputError(
            f"the box has about {needed:,.0f} tiles of {grid or DEFAULT_GRID}, more than {_MOST_TILES:,}",
            "use a coarser grid or a smaller bbox",
        )
    up = _SLACK * h3.average_hexagon_edge_length(places.resolution) / _KILOMETERS_A_DEGREE
    aside = up / max(np.cos(np.radians(max(abs(south), abs(north)))), 0.01)
    low, high = (south - up, north + up)
    corners = [(low, west - aside), (low, east + aside), (high, east + aside), (high, west - aside)]
    cells = h3.h3shape_to_cells_experimental(h3.LatLngPoly(corners), places.resolution, "overlap")
    tree, _ = places.hierarchy(np.sort(np.array([h3.str_to_int(cell) for cell in cells], np.uint64)))
    return TileGrid(bbox, places, tree, make_ladder(tree))


def make_zone_grid(
    zones: ZonesLike,
    hierarchy: str | Sequence[str] | None,
    columns: Mapping[str, str] | None = None,
    zone_name: str | None = None,
) -> TileGrid:
    """Return all zones with their tree."""
    if has_several_ways(hierarchy):
        raise InputError("noise is added along one tree, not many", "give --hierarchy ward, or columns of zones")
    places = choose_places(None, zones, hierarchy, None, None, columns, zone_name)
    if not isinstance(places, Zones):
        raise InputError("there are no zones", "give a table with one row a zone")
    tree, _ = places.hierarchy(np.arange(len(places.table.ids), dtype=np.uint64))
    return TileGrid(None, places, tree, make_ladder(tree))
