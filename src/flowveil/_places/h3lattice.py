"""Places on the H3 grid, joined to rectangles of cells (docs/places.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h3.api.numpy_int as h3
import numpy as np
import shapely

from flowveil._places.axial import cells_at, coordinates, count_cells
from flowveil._places.bbox import box_center, box_shape
from flowveil._places.h3grid import H3Grid, mean_point, outline_near
from flowveil._places.hierarchy import ROOT
from flowveil._places.lattice import ASPECT, Lattice, Rectangle, lattice_name
from flowveil._places.places import AreaTable

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray, KeyArray
    from flowveil._folder import Json
    from flowveil._places.family import Family
    from flowveil._places.hierarchy import Hierarchy
    from flowveil._places.places import BoundingBox, Numbered

_BITS = 22  # of a coordinate; a base cell is 2.9 million cells of the finest resolution wide
_MIDDLE = 1 << (_BITS - 1)  # the coordinate of the middle of a base cell
_MOST_UNITED = 64  # outlines of so many cells are united; beyond, points along the border are joined
_BORDER_POINTS = 16  # a side
_SAMPLES = 8  # cells a side whose mean is the center where the base cell ends inside


class H3Lattice(H3Grid):
    """Tiles are the H3 cells of one resolution; areas are rectangles of 2**a by 2**b of them, within a base cell.

    A node's key is that of the lattice; blocks are base cells. The two sides of a rectangle follow two of the three
    directions in which cells stand in rows.
    """

    def __init__(self, resolution: int, aspect: int = ASPECT, *, bbox: BoundingBox | None = None) -> None:
        super().__init__(resolution, bbox=bbox)
        self.lattice = Lattice(_BITS, aspect)

    def hierarchy(self, seen: KeyArray) -> tuple[Hierarchy, IntArray]:
        """Return the first tree of the family over the cells seen."""
        base, u, v = coordinates(seen, self.resolution)
        return self.lattice.first_tree(base, u + _MIDDLE, v + _MIDDLE)

    def family(self, hierarchy: Hierarchy) -> Family:
        """Return all rectangles over the leaves of a tree, which is the first of its trees."""
        return self.lattice.family_above(hierarchy)

    def ids(self, hierarchy: Numbered, nodes: IntArray) -> list[str]:
        """Return the index of a cell, `l:BASE/A/B/X/Y` of a rectangle, `world` of the root.

        The rectangle is 2**A by 2**B cells, from the coordinates X 2**A and Y 2**B on; those of the middle of its base
        cell are 0.
        """
        rectangle = self.lattice.unpack(hierarchy.key[nodes])
        cells = self._corner_cells(rectangle)
        x, y = (place - (_MIDDLE >> power) for place, power in _sides(rectangle))
        columns = (nodes, cells, rectangle.block, rectangle.wide, rectangle.high, x, y)
        return [
            self.top
            if not node
            else str(h3.int_to_str(cell))
            if not wide + high
            else f"l:{block}/{wide}/{high}/{i}/{j}"
            for node, cell, block, wide, high, i, j in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def describe(self, hierarchy: Numbered, nodes: IntArray) -> AreaTable:
        """Return ids, centers, tiles and outlines of nodes."""
        lon, lat = self.centers(hierarchy, nodes)
        return AreaTable(
            area=self.ids(hierarchy, nodes),
            lon=lon,
            lat=lat,
            tiles=self._tile_counts(hierarchy, nodes),
            members=None,
            geometry=self._shapes(hierarchy, nodes),
        )

    def centers(self, hierarchy: Numbered, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean of the cells in the middle of each rectangle, on the sphere."""
        points = np.full((len(nodes), 2), np.nan)
        rectangle = self.lattice.unpack(hierarchy.key[nodes])
        middles = np.column_stack([self._middle_cells(rectangle, right, up) for right in (0, 1) for up in (0, 1)])
        for row, (node, cells) in enumerate(zip(nodes.tolist(), middles.tolist(), strict=True)):
            if node == ROOT:
                points[row] = box_center(self.bbox) if self.bbox else np.nan
            else:
                cells = cells if all(cells) else self._sample(_one(rectangle, row), _SAMPLES)
                points[row] = mean_point([h3.cell_to_latlng(cell) for cell in dict.fromkeys(cells)])
        return points[:, 0], points[:, 1]

    def settings(self) -> dict[str, Json]:
        """Return grid and hierarchy as typed."""
        return {"grid": f"h3:{self.resolution}", "hierarchy": lattice_name(self.lattice.aspect)}

    def _cells(self, block: IntArray, x: IntArray, y: IntArray) -> KeyArray:
        return cells_at(block, x - _MIDDLE, y - _MIDDLE, self.resolution)

    def _corner_cells(self, rectangle: Rectangle) -> KeyArray:
        return self._cells(rectangle.block, rectangle.x << rectangle.wide, rectangle.y << rectangle.high)

    def _middle_cells(self, rectangle: Rectangle, right: int, up: int) -> KeyArray:
        """Return the cells left or right of the middle, below or above it; a side of one cell has it in its middle."""
        x, y = (
            (place << power) + np.where(power == 0, 0, (1 << power) // 2 - 1 + more)
            for (place, power), more in zip(_sides(rectangle), (right, up), strict=True)
        )
        return self._cells(rectangle.block, x, y)

    def _sample(self, rectangle: Rectangle, most: int) -> list[int]:
        """Return the cells that one rectangle has at up to `most` places a side, evenly spread."""
        x, y = (
            (int(place[0]) << int(power[0]))
            + np.unique(np.linspace(0, (1 << int(power[0])) - 1, most).astype(np.int64))
            for place, power in _sides(rectangle)
        )
        x, y = (values.ravel() for values in np.meshgrid(x, y))
        cells = self._cells(np.full(len(x), rectangle.block[0]), x, y)
        sample: list[int] = cells[cells > 0].tolist()
        return sample

    def _tile_counts(self, hierarchy: Numbered, nodes: IntArray) -> IntArray:
        rectangle = self.lattice.unpack(hierarchy.key[nodes])
        counts = [
            count_cells(
                block,
                self.resolution,
                ((x << wide) - _MIDDLE, (y << high) - _MIDDLE),
                (((x + 1) << wide) - _MIDDLE, ((y + 1) << high) - _MIDDLE),
            )
            if node
            else self._tiles_of_bbox()
            for node, block, wide, high, x, y in zip(
                nodes.tolist(), *(part.tolist() for part in rectangle), strict=True
            )
        ]
        return np.array(counts, np.int64)

    def _shapes(self, hierarchy: Numbered, nodes: IntArray) -> npt.NDArray[np.object_]:
        rectangle = self.lattice.unpack(hierarchy.key[nodes])
        shapes = np.full(len(nodes), None, object)
        for row, node in enumerate(nodes.tolist()):
            if node != ROOT:
                shapes[row] = self._outline(_one(rectangle, row))
            elif self.bbox:
                shapes[row] = box_shape(self.bbox)
        return shapes

    def _outline(self, rectangle: Rectangle) -> shapely.Geometry:
        """Return the united outlines of few cells; of many, points along the border, which runs between cells."""
        width, height = 1 << int(rectangle.wide[0]), 1 << int(rectangle.high[0])
        if width * height <= _MOST_UNITED:
            cells = self._sample(rectangle, max(width, height))
        else:
            ring = self._border(rectangle)
            if ring is not None:
                return ring
            cells = self._sample(rectangle, _BORDER_POINTS)
        near = h3.cell_to_latlng(cells[0])[1]
        united = shapely.union_all([outline_near(cell, near) for cell in cells])
        return united if width * height <= _MOST_UNITED else shapely.convex_hull(united)

    def _border(self, rectangle: Rectangle) -> shapely.Geometry | None:
        """Return the border of a rectangle, None where its base cell ends inside or it goes round a pole.

        Points are half a step beyond the centers of the outermost cells.
        """
        powers = int(rectangle.wide[0]), int(rectangle.high[0])
        start = int(rectangle.x[0]) << powers[0], int(rectangle.y[0]) << powers[1]
        last = [(1 << power) - 1 for power in powers]
        along = [np.unique(np.linspace(0, end, _BORDER_POINTS).astype(np.int64)) for end in last]
        x = np.concatenate(
            [along[0], np.full(len(along[1]), last[0]), along[0][::-1], np.zeros(len(along[1]), np.int64)]
        )
        y = np.concatenate(
            [np.zeros(len(along[0]), np.int64), along[1], np.full(len(along[0]), last[1]), along[1][::-1]]
        )
        outward = [(values == end).astype(np.int64) - (values == 0) for values, end in zip((x, y), last, strict=True)]
        block = np.full(len(x), rectangle.block[0])
        cells = self._cells(block, x + start[0], y + start[1])
        across = self._cells(block, x + start[0] - outward[0], y + start[1])
        down = self._cells(block, x + start[0], y + start[1] - outward[1])
        if not (cells.all() and across.all() and down.all()):
            return None
        here, left, below = (_points(values) for values in (cells, across, down))
        near = here[0, 0]
        here[:, 0], left[:, 0], below[:, 0] = (near + _turned(p[:, 0] - near) for p in (here, left, below))
        ring = here + (here - left) / 2 + (here - below) / 2
        return None if np.abs(np.diff(here[:, 0])).max() > 90 else shapely.Polygon(ring)


def _sides(rectangle: Rectangle) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    """Return place and power of both sides."""
    return (rectangle.x, rectangle.wide), (rectangle.y, rectangle.high)


def _one(rectangle: Rectangle, row: int) -> Rectangle:
    return Rectangle(*(part[row : row + 1] for part in rectangle))


def _points(cells: KeyArray) -> FloatArray:
    """Return lon and lat of the centers of cells, one row a cell."""
    return np.array([h3.cell_to_latlng(cell) for cell in cells.tolist()])[:, ::-1].copy()


def _turned(degrees: FloatArray) -> FloatArray:
    """Return differences of longitudes as numbers from -180 to 180."""
    return (degrees + 180) % 360 - 180
