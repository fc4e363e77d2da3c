"""Places on a square grid in meters, joined to rectangles of squares (docs/places.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._places.hierarchy import ROOT
from flowveil._places.lattice import ASPECT, Lattice, Rectangle, lattice_name, parse_rectangle
from flowveil._places.quadtree import AXIS_BITS, BIAS, Quadtree, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import FloatArray, IntArray, KeyArray
    from flowveil._folder import Json
    from flowveil._places.family import Family, Listed, Numbered
    from flowveil._places.hierarchy import Hierarchy
    from flowveil._places.places import BoundingBox


class SquareLattice(Quadtree):
    """Tiles are the squares of a quadtree; areas are rectangles of 2**a by 2**b of them.

    A node's key is that of the lattice. The lower left corner of `l:A/B/X/Y`, which is 2**A squares wide and 2**B high,
    is the square (X 2**A, Y 2**B).
    """

    def __init__(self, side: float, bbox: BoundingBox, crs: str | None = None, aspect: int = ASPECT) -> None:
        super().__init__(side, bbox, crs)
        self.lattice = Lattice(AXIS_BITS, aspect)

    def __reduce__(self) -> tuple[type[Quadtree], tuple[object, ...], dict[str, bool]]:
        return SquareLattice, (self.side, self.bbox, self.typed_crs, self.lattice.aspect), {"open": self.open}

    def hierarchy(self, seen: KeyArray) -> tuple[Hierarchy, IntArray]:
        """Return the first tree of the family over the squares seen."""
        _, x, y = unpack(seen)
        return self.lattice.first_tree(np.zeros_like(x), x + BIAS, y + BIAS)

    def family(self, hierarchy: Hierarchy) -> Family:
        """Return all rectangles over the leaves of a tree, which is the first of its trees."""
        return self.lattice.family_above(hierarchy)

    def ids(self, hierarchy: Numbered, nodes: IntArray) -> list[str]:
        """Return `q:0/x/y` of a square, `l:A/B/X/Y` of a rectangle, `world` of the root."""
        rectangle = self._rectangles(hierarchy, nodes)
        columns = (nodes, rectangle.wide, rectangle.high, rectangle.x, rectangle.y)
        return [
            self.top if not node else f"l:{wide}/{high}/{x}/{y}" if wide + high else f"q:0/{x}/{y}"
            for node, wide, high, x, y in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def listed(self, hierarchy: Hierarchy, areas: Sequence[str]) -> tuple[Listed, IntArray]:
        """Return the areas with these ids, and the number of each; -1 for one that holds no leaf of the tree."""
        return self.lattice.listed(hierarchy, [0 if area == self.top else self._key(area) for area in areas])

    def _key(self, area: str) -> int | None:
        """Return the key of the area with an id, None if there is none."""
        numbers = parse_rectangle(area.replace("q:0/", "l:0/0/", 1), 4)
        if numbers is None or not all(0 <= power <= AXIS_BITS for power in numbers[:2]):
            return None
        wide, high, x, y = numbers
        return self.lattice.pack_one(0, (wide, high), (x + (BIAS >> wide), y + (BIAS >> high)))

    def settings(self) -> dict[str, Json]:
        """Return grid, hierarchy and CRS; the CRS follows from the bbox when it was not typed."""
        return super().settings() | {"hierarchy": lattice_name(self.lattice.aspect)}

    def _tile_counts(self, hierarchy: Numbered, nodes: IntArray) -> IntArray:
        rectangle = self._rectangles(hierarchy, nodes)
        return np.where(nodes == ROOT, self._tiles_of_bbox(), 1 << (rectangle.wide + rectangle.high))

    def _corners(self, hierarchy: Numbered, nodes: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        rectangle = self._rectangles(hierarchy, nodes)
        width, height = (self.side * np.asarray(2.0**power, np.float64) for power in (rectangle.wide, rectangle.high))
        west, south = (
            ((place + (BIAS >> power)) << power) - BIAS
            for place, power in ((rectangle.x, rectangle.wide), (rectangle.y, rectangle.high))
        )
        return np.asarray(west * self.side, np.float64), np.asarray(south * self.side, np.float64), width, height

    def _rectangles(self, hierarchy: Numbered, nodes: IntArray) -> Rectangle:
        """Return the rectangles of nodes, placed from 0,0 of the CRS; a single square for the root."""
        key = np.where(nodes == ROOT, hierarchy.key[-1], hierarchy.key[nodes])
        rectangle = self.lattice.unpack(key)
        return rectangle._replace(x=rectangle.x - (BIAS >> rectangle.wide), y=rectangle.y - (BIAS >> rectangle.high))
