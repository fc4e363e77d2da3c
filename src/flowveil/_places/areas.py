"""Areas of one axis, by number: what is published of them, and which tiles lie in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._places.family import Family
from flowveil._places.hierarchy import Hierarchy
from flowveil._places.rectangles import RectangleAreas

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places.family import Numbered
    from flowveil._places.places import AreaTable, Places


@dataclass(frozen=True, eq=False)
class NodeAreas:
    """Nodes of a tree, or areas of a family, as areas of one axis."""

    places: Places
    hierarchy: Numbered

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
        """Return for each area (all distinct) which leaves lie in it, as places in the list of leaves."""
        areas = Family.of(self.hierarchy) if isinstance(self.hierarchy, Hierarchy) else self.hierarchy
        place, leaf = areas.inside(numbers)
        position = np.cumsum(areas.tree.is_leaf) - 1
        return np.split(position[leaf], np.searchsorted(place, np.arange(1, len(numbers))))


Areas = NodeAreas | RectangleAreas
