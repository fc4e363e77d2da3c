"""Areas of one axis, by number: what is published of them, and which tiles lie in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._places.rectangles import RectangleAreas

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places.hierarchy import Hierarchy
    from flowveil._places.places import AreaTable, Places


@dataclass(frozen=True, eq=False)
class NodeAreas:
    """Nodes of a tree as areas of one axis."""

    places: Places
    hierarchy: Hierarchy

    def ids(self, numbers: IntArray) -> list[str]:
        """Return the ids of nodes."""
        return self.places.ids(self.hierarchy, numbers)

    def tiles(self, numbers: IntArray) -> IntArray:
        """Return the tiles of the tree under each node."""
        return self.hierarchy.tiles[numbers]

    def describe(self, numbers: IntArray) -> AreaTable:
        """Return what is published of nodes."""
        return self.places.describe(self.hierarchy, numbers)

    def centers(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the centers of nodes."""
        return self.places.centers(self.hierarchy, numbers)

    def square_kilometers(self, numbers: IntArray) -> FloatArray:
        """Return the sizes of nodes."""
        return self.places.square_kilometers(self.hierarchy, numbers)

    def inside(self, numbers: IntArray) -> list[IntArray]:
        """Return for each node (all distinct) which leaves lie under it, as places in the list of leaves."""
        position = np.full(len(self.hierarchy) + 1, -1, np.int64)  # the last entry is above the root
        position[numbers] = np.arange(len(numbers))
        node = np.flatnonzero(self.hierarchy.is_leaf)
        leaf, areas, leaves = np.arange(len(node)), [], []
        while (node >= 0).any():
            held = position[node] >= 0
            areas.append(position[node[held]])
            leaves.append(leaf[held])
            node = np.where(node >= 0, self.hierarchy.parent[node], -1)
        area = np.concatenate(areas)
        order = np.argsort(area, kind="stable")
        return np.split(np.concatenate(leaves)[order], np.searchsorted(area[order], np.arange(1, len(numbers))))


Areas = NodeAreas | RectangleAreas
