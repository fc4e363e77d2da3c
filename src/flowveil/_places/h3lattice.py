"""Places on the H3 grid, joined to rectangles of cells (docs/places.md)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import h3.api.numpy_int as h3
import numpy as np
import shapely

from flowveil._places.axial import PENTAGONS, cells_at, coordinate_bits, coordinates, count_cells, surely_inside
from flowveil._places.bbox import box_center
from flowveil._places.h3grid import H3Grid, Outlines, mean_point
from flowveil._places.hierarchy import ROOT
from flowveil._places.lattice import ASPECT, Lattice, Rectangle, lattice_name, parse_rectangle
from flowveil._places.places import AreaTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flowveil._arrays import FloatArray, IntArray, KeyArray
    from flowveil._folder import Json
    from flowveil._places.family import Family, Listed, Numbered
    from flowveil._places.hierarchy import Hierarchy
    from flowveil._places.places import BoundingBox

_INDEX = re.compile("[0-9a-f]{15}")
_MOST_UNITED = 64  # outlines of so many cells are united; beyond, points along the border are joined
_BORDER_POINTS = 16  # a side
_MOST_DEGREES = 90.0  # of longitude between two points of a border; more go round a pole
_SAMPLES = 8  # cells a side whose mean is the center where the base cell ends inside


class H3Lattice(H3Grid):
    """Tiles are the H3 cells of one resolution; areas are rectangles of 2**a by 2**b of them, within a base cell.

    A node's key is that of the lattice; blocks are base cells. The two sides of a rectangle follow two of the three
    directions in which cells stand in rows.
    """

    def __init__(self, resolution: int, aspect: int = ASPECT, *, bbox: BoundingBox | None = None) -> None:
        super().__init__(resolution, bbox=bbox)
        self.lattice = Lattice(coordinate_bits(resolution), aspect)
        self._middle = 1 << (self.lattice.bits - 1)  # coordinates are counted from the least

    def hierarchy(self, seen: KeyArray) -> tuple[Hierarchy, IntArray]:
        """Return the first tree of the family over the cells seen."""
        base, u, v = coordinates(seen, self.resolution)
        return self.lattice.first_tree(base, u + self._middle, v + self._middle)

    def family(self, hierarchy: Hierarchy) -> Family:
        """Return all rectangles over the leaves of a tree, which is the first of its trees."""
        return self.lattice.family_above(hierarchy)

    def ids(self, hierarchy: Numbered, nodes: IntArray) -> list[str]:
        """Return the index of a cell, `l:BASE/A/B/X/Y` of a rectangle, `world` of the root.

        The rectangle is 2**A by 2**B cells, from the coordinates X 2**A and Y 2**B on; those of the middle of its base
        cell are 0. Only the longest side, which holds all coordinates of one axis, begins at the least of them.
        """
        rectangle = self.lattice.unpack(hierarchy.key[nodes])
        cells = self._corner_cells(rectangle)
        x, y = (place - (self._middle >> power) for place, power in _sides(rectangle))
        columns = (nodes, cells, rectangle.block, rectangle.wide, rectangle.high, x, y)
        return [
            self.top if not node else f"l:{block}/{wide}/{high}/{i}/{j}" if wide + high else str(h3.int_to_str(cell))
            for node, cell, block, wide, high, i, j in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def listed(self, hierarchy: Hierarchy, areas: Sequence[str]) -> tuple[Listed, IntArray]:
        """Return the areas with these ids, and the number of each; -1 for one that holds no leaf of the tree."""
        return self.lattice.listed(hierarchy, [0 if area == self.top else self._key(area) for area in areas])

    def _key(self, area: str) -> int | None:
        """Return the key of the area with an id, None if there is none."""
        if (numbers := parse_rectangle(area, 5)) is not None:
            base, wide, high, x, y = numbers
        elif _INDEX.fullmatch(area) and h3.is_valid_cell(cell := int(area, 16)):
            (base,), (x,), (y,) = (part.tolist() for part in coordinates(np.array([cell], np.uint64), self.resolution))
            wide, high = 0, 0
        else:
            return None
        if not 0 <= wide <= self.lattice.bits or not 0 <= high <= self.lattice.bits:
            return None
        return self.lattice.pack_one(base, (wide, high), (x + (self._middle >> wide), y + (self._middle >> high)))

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
                inner = cells if all(cells) else self._sample(_one(rectangle, row), _SAMPLES)
                points[row] = mean_point([h3.cell_to_latlng(cell) for cell in dict.fromkeys(inner)])
        return points[:, 0], points[:, 1]

    def settings(self) -> dict[str, Json]:
        """Return grid and hierarchy as typed."""
        return super().settings() | {"hierarchy": lattice_name(self.lattice.aspect)}

    def _cells(self, block: IntArray, x: IntArray, y: IntArray) -> KeyArray:
        return cells_at(block, x - self._middle, y - self._middle, self.resolution)

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
        """Return the cells that one rectangle has at up to `most` places a side, evenly spread.

        A rectangle of which little lies in its base cell may have none there: then it is twice as many places.
        """
        x, y = (
            (int(place[0]) << int(power[0])) + _spread((1 << int(power[0])) - 1, most)
            for place, power in _sides(rectangle)
        )
        x, y = (values.ravel() for values in np.meshgrid(x, y))
        cells = self._cells(np.full(len(x), rectangle.block[0]), x, y)
        sample: list[int] = cells[cells > 0].tolist()
        return sample or self._sample(rectangle, 2 * most)

    def sizes(self, hierarchy: Numbered, nodes: IntArray) -> FloatArray:
        """Return all tiles of nodes, seen or not; the world's are those of the bbox, or of the globe if not counted."""
        counts = self._tile_counts(hierarchy, nodes)
        tiles = np.where(nodes == ROOT, self._tiles_of_world, counts)
        return np.maximum(tiles, hierarchy.tiles[nodes]).astype(np.float64)

    def _tile_counts(self, hierarchy: Numbered, nodes: IntArray) -> IntArray:
        """Return all tiles of nodes, seen or not, -1 for a world that is not counted."""
        rectangle = self.lattice.unpack(hierarchy.key[nodes])
        low = [(place << power) - self._middle for place, power in _sides(rectangle)]
        high = [((place + 1) << power) - self._middle for place, power in _sides(rectangle)]
        counts = 1 << (rectangle.wide + rectangle.high)
        near_the_edge = ~surely_inside(low, high, self.resolution) | np.isin(rectangle.block, PENTAGONS)
        for row in np.flatnonzero(near_the_edge & (nodes != ROOT)).tolist():
            bounds = [(int(side[0][row]), int(side[1][row])) for side in (low, high)]
            counts[row] = count_cells(int(rectangle.block[row]), self.resolution, bounds[0], bounds[1])
        counts[nodes == ROOT] = self._tiles_of_bbox()
        return counts

    def _outlines_of(self, keys: KeyArray) -> list[shapely.Geometry]:
        """Return the united outlines of few cells; of many, points along the border, which runs between cells."""
        rectangle = self.lattice.unpack(keys)
        shapes = np.full(len(keys), None, object)
        outlines = Outlines()
        few = 1 << (rectangle.wide + rectangle.high) <= _MOST_UNITED
        for row, cells in self._all_cells(rectangle, np.flatnonzero(few)):
            shapes[row] = outlines.unite(cells)
        for row in np.flatnonzero(~few).tolist():
            ring = self._border(_one(rectangle, row))
            some = [] if ring is not None else self._sample(_one(rectangle, row), _BORDER_POINTS)
            shapes[row] = ring if ring is not None else shapely.convex_hull(outlines.unite(some))
        made: list[shapely.Geometry] = shapes.tolist()
        return made

    def _all_cells(self, rectangle: Rectangle, rows: IntArray) -> Iterator[tuple[int, list[int]]]:
        """Yield each of some rows, and all cells of its rectangle; those of the same sides are found together."""
        sides = rectangle.wide[rows] * (self.lattice.bits + 1) + rectangle.high[rows]
        for side in np.unique(sides).tolist():
            alike = rows[sides == side]
            some = Rectangle(*(part[alike] for part in rectangle))
            across, up = np.meshgrid(*(np.arange(1 << int(power[0])) for _, power in _sides(some)))
            x, y = (
                ((place << power)[:, None] + steps.ravel()).ravel()
                for (place, power), steps in zip(_sides(some), (across, up), strict=True)
            )
            cells = self._cells(np.repeat(some.block, across.size), x, y).reshape(len(alike), across.size)
            for number, (row, inside) in enumerate(zip(alike.tolist(), cells.tolist(), strict=True)):
                there = [cell for cell in inside if cell]
                yield row, there or self._sample(_one(some, number), 2 * max(across.shape))

    def _border(self, rectangle: Rectangle) -> shapely.Geometry | None:
        """Return the border of a rectangle, None where its base cell ends inside or it goes round a pole.

        Points are half a step beyond the centers of the outermost cells.
        """
        powers = int(rectangle.wide[0]), int(rectangle.high[0])
        start = int(rectangle.x[0]) << powers[0], int(rectangle.y[0]) << powers[1]
        last = [(1 << power) - 1 for power in powers]
        across, up = (_spread(end, _BORDER_POINTS) for end in last)
        x = np.concatenate([across, np.full_like(up, last[0]), across[::-1], np.zeros_like(up)])
        y = np.concatenate([np.zeros_like(across), up, np.full_like(across, last[1]), up[::-1]])
        outward = [(values == end).astype(np.int64) - (values == 0) for values, end in zip((x, y), last, strict=True)]
        block = np.full(len(x), rectangle.block[0])
        cells = self._cells(block, x + start[0], y + start[1])
        beside = self._cells(block, x + start[0] - outward[0], y + start[1])
        below = self._cells(block, x + start[0], y + start[1] - outward[1])
        if not (cells.all() and beside.all() and below.all()):
            return None
        outer, inward, inner = (_points(values) for values in (cells, beside, below))
        for points in (inward, inner, outer):
            points[:, 0] = outer[0, 0] + _turned(points[:, 0] - outer[0, 0])
        if np.abs(np.diff(outer[:, 0])).max() > _MOST_DEGREES:
            return None
        return shapely.Polygon(outer + (outer - inward) / 2 + (outer - inner) / 2)


def _sides(rectangle: Rectangle) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    """Return place and power of both sides."""
    return (rectangle.x, rectangle.wide), (rectangle.y, rectangle.high)


def _spread(last: int, most: int) -> IntArray:
    """Return up to so many whole numbers from 0 to the last, evenly spread."""
    return np.unique(np.arange(most) * last // max(most - 1, 1))


def _one(rectangle: Rectangle, row: int) -> Rectangle:
    return Rectangle(*(part[row : row + 1] for part in rectangle))


def _points(cells: KeyArray) -> FloatArray:
    """Return lon and lat of the centers of cells, one row a cell."""
    return np.array([h3.cell_to_latlng(cell) for cell in cells.tolist()])[:, ::-1].copy()


def _turned(degrees: FloatArray) -> FloatArray:
    """Return differences of longitudes as numbers from -180 to 180."""
    return (degrees + 180) % 360 - 180
