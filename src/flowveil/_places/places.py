"""What every kind of places (H3, quadtree, zones) can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from flowveil._arrays import Column, FloatArray, IntArray, KeyArray
    from flowveil._folder import Json
    from flowveil._places.family import Family, Listed, Numbered
    from flowveil._places.hierarchy import Hierarchy
    from flowveil._places.naming import Naming

BoundingBox = tuple[float, float, float, float]  # west, south, east, north in degrees


@dataclass(frozen=True, eq=False)
class AreaTable:
    """What can be said of areas from public geometry alone, one entry a node.

    The top of a tree has no center, geometry or tiles (NaN, None, -1) unless a bbox was given: the finest common
    ancestor of the data would give single trips away.
    """

    area: list[str]
    lon: FloatArray
    lat: FloatArray
    tiles: IntArray  # all tiles of the area, seen in the data or not
    members: list[list[str] | None] | None  # zones only
    geometry: npt.NDArray[np.object_]  # shapely geometries in degrees, or None


class Places(Protocol):
    """Turns the ends of trips into tiles, tiles into a hierarchy, and its nodes into areas."""

    top: str  # the id of the root: world or all
    by_zone: bool  # trips carry zone ids; otherwise coordinates
    open: bool  # the hierarchy was left open: a method may take another over the same tiles
    naming: Naming  # what areas are called

    def index(self, *columns: Column) -> Column:
        """Return the tile key (uint64, null where there is no such tile) of (lon, lat) or (zone id as text)."""

    def hierarchy(self, seen: KeyArray) -> tuple[Hierarchy, IntArray]:
        """Return the tree over the tiles seen on one axis, and the node of each tile in `seen` (sorted, distinct)."""

    def family(self, hierarchy: Hierarchy) -> Family:
        """Return all areas over the leaves of a tree, with all ways to split them; it is the first of the trees."""

    def listed(self, hierarchy: Hierarchy, areas: Sequence[str]) -> tuple[Listed, IntArray]:
        """Return the areas with these ids as a list, and the number of each there, -1 for one without a leaf."""

    def ids(self, hierarchy: Numbered, nodes: IntArray) -> list[str]:
        """Return the area ids of nodes."""

    def describe(self, hierarchy: Numbered, nodes: IntArray) -> AreaTable:
        """Return what is published of nodes."""

    def centers(self, hierarchy: Numbered, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return lon and lat of the geometric centers of nodes, NaN where there is none."""

    def square_kilometers(self, hierarchy: Numbered, nodes: IntArray) -> FloatArray:
        """Return the size of nodes on the ellipsoid, NaN where there is no shape."""

    def sizes(self, hierarchy: Numbered, nodes: IntArray) -> FloatArray:
        """Return how large nodes are: tiles of a grid, seen or not, or square kilometers of zones; all above 0."""

    def settings(self) -> dict[str, Json]:
        """Return what the user typed to choose these places, for the manifest."""

    def report(self) -> list[str]:
        """Return what a user should be told about the places, one sentence an entry."""
