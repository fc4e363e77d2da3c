"""Rectangles of H3 cells within a base cell, by the coordinates that the h3 package gives to cells.

Coordinates of a cell are its local IJ as seen from the cell in the middle of its base cell. Whether a base cell has a
cell at some coordinates is asked both ways: the cell there must be of the base cell, and have these coordinates. Beyond
the edge of a base cell, and in the sixth that is missing around a pentagon, there is none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import h3.api.basic_int as h3
import numpy as np
import shapely
from h3 import H3BaseException

from flowveil._verify.border import on_sphere
from flowveil._verify.broken import broken, shown
from flowveil._verify.cells import Cells, cell_outline
from flowveil._verify.eisenstein import count_cells
from flowveil._verify.geo import TOLERANCE, is_outline
from flowveil._verify.ground import close
from flowveil._verify.lattice import Lattice, OnLattice
from flowveil._verify.squares import NUMBER

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shapely.geometry.base import BaseGeometry

    from flowveil._arrays import IntArray
    from flowveil._errors import VerificationError
    from flowveil._verify.ground import Point
    from flowveil._verify.lattice import Rectangle

_BASE_CELLS = 122
# By resolution: bits of a coordinate, just enough for those of all cells of a base cell.
_BITS = (1, 2, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 18, 19, 21, 22)
_MOST_UNITED = 64  # cells whose outlines are united; of more, points along the border are joined
_POINTS = 16  # a side of such a border
_SAMPLES = 8  # a side of a rectangle whose middle is missing: the mean of these is its center
_WIDEST = 90.0  # degrees of longitude between two points of a border; more go round a pole


class CellLattice(OnLattice, Cells):
    """Areas are cells of the grid's resolution, and rectangles of 2**A by 2**B of them."""

    def __init__(self, resolution: int, *, aspect: int, bbox: tuple[float, float, float, float] | None = None) -> None:
        super().__init__(resolution, binary=False, bbox=bbox)
        self._lattice = Lattice(_BITS[resolution], aspect, self._place, self._coordinates)
        self._half = 1 << (_BITS[resolution] - 1)  # coordinates are counted from minus that on
        self._middles = {
            h3.get_base_cell_number(base): h3.cell_to_center_child(base, resolution) for base in h3.get_res0_cells()
        }
        self._cell = lru_cache(maxsize=1 << 16)(self._find_cell)  # areas overlap: most cells are asked for often
        self._tiles = lru_cache(maxsize=1 << 16)(self._count_tiles)  # asked for by id, then by row
        self.tree = ("lattice", resolution)

    def check_id(self, area: str) -> None:
        """Raise unless the id is `l:BASE/A/B/X/Y` of a rectangle that has cells, or a single cell."""
        if not self.tiles(area):
            raise _unknown(area)

    def tiles(self, area: str) -> int:
        """Return how many cells an area has."""
        return self._tiles(area)

    def _count_tiles(self, area: str) -> int:
        rectangle = self._lattice.rectangle(area)
        x, y = rectangle.start
        return count_cells(rectangle.block, self._resolution, (x - self._half, y - self._half), rectangle.size)

    def is_center(self, area: str, point: Point | None) -> bool:
        """Whether this is the mean of the cells in the middle; where one is missing, of a sample of all."""
        rectangle = self._lattice.rectangle(area)
        middles = [{(length - 1) // 2, length // 2} for length in rectangle.size]
        cells = self._cells(rectangle, *middles)
        if len(cells) < len(middles[0]) * len(middles[1]):
            cells = self._sample(rectangle, _SAMPLES)
        return point is not None and close(point, _mean(cells), TOLERANCE)

    def is_shape(self, area: str, shape: BaseGeometry | None) -> bool:
        """Whether this is the outline: of few cells united; of many, along the border where that is whole."""
        rectangle = self._lattice.rectangle(area)
        width, height = rectangle.size
        if width * height <= _MOST_UNITED:
            cells = self._cells(rectangle, range(width), range(height))
            return is_outline(shape, _unite(cells), united=True)
        border = self._border(rectangle)
        if border is not None:
            return is_outline(shape, border)
        cells = self._sample(rectangle, _POINTS)
        return is_outline(shape, shapely.convex_hull(_unite(cells)), united=True)

    def _border(self, rectangle: Rectangle) -> BaseGeometry | None:
        """Return a ring half a step beyond the outermost cells; None where a cell is missing, or round a pole."""
        right, up = (length - 1 for length in rectangle.size)
        across, along = (_spread(length, _POINTS) for length in rectangle.size)
        ring = [(x, 0) for x in across] + [(right, y) for y in along]
        ring += [(x, up) for x in reversed(across)] + [(0, y) for y in reversed(along)]
        cells: list[tuple[int, int, int]] = []  # by point: the cell there, and those inward along both axes
        for x, y in ring:
            inner_x, inner_y = x - _outward(x, right), y - _outward(y, up)
            cells.append((self._at(rectangle, x, y), self._at(rectangle, inner_x, y), self._at(rectangle, x, inner_y)))
        if not all(map(all, cells)):
            return None
        points = np.array([[h3.cell_to_latlng(cell)[::-1] for cell in three] for three in cells])
        first = points[0, 0, 0]
        points[:, :, 0] = first + (points[:, :, 0] - first + 180) % 360 - 180
        outer, beside, below = points.transpose(1, 0, 2)
        if np.abs(np.diff(outer[:, 0])).max() > _WIDEST:
            return None
        return shapely.Polygon(2 * outer - (beside + below) / 2)

    def _sample(self, rectangle: Rectangle, most: int) -> list[int]:
        """Return the cells at so many places a side, evenly spread; at twice as many while there is none."""
        while not (cells := self._cells(rectangle, *(_spread(length, most) for length in rectangle.size))):
            most *= 2
        return cells

    def _cells(self, rectangle: Rectangle, across: Collection[int], along: Collection[int]) -> list[int]:
        """Return the cells at some columns and rows of a rectangle, row by row."""
        cells = (self._at(rectangle, x, y) for y in along for x in across)
        return [cell for cell in cells if cell]

    def _at(self, rectangle: Rectangle, x: int, y: int) -> int:
        start = rectangle.start
        return self._cell(rectangle.block, start[0] + x, start[1] + y)

    def _place(self, area: str) -> Rectangle | None:
        """Return where an area lies, None for the top; raise if the id is that of no area."""
        if area == self.top:
            return None
        tile = self.tile(area)
        rectangle = self._rectangle(area) if tile is None else self._lattice.tile(tile)
        if rectangle is None:
            raise _unknown(area)
        return rectangle

    def _rectangle(self, area: str) -> Rectangle | None:
        """Return the rectangle that an id names, None if it names none."""
        power = r"(0|[1-9][0-9]?)"
        parts = re.fullmatch(rf"l:(0|[1-9][0-9]{{0,2}})/{power}/{power}/{NUMBER}/{NUMBER}", area)
        if parts is None:
            return None
        block, wide, high, x, y = map(int, parts.groups())
        return self._lattice.read(block, wide, high, (x, y)) if block < _BASE_CELLS else None

    def _coordinates(self, tiles: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return base cells and local IJ of cells, counted from the least."""
        base = [h3.get_base_cell_number(tile) for tile in tiles.tolist()]
        places = [
            h3.cell_to_local_ij(self._middles[block], tile) for block, tile in zip(base, tiles.tolist(), strict=True)
        ]
        i, j = np.array(places, np.int64).reshape(-1, 2).T + self._half
        return np.array(base, np.int64), i, j

    def _find_cell(self, block: int, x: int, y: int) -> int:
        """Return the cell of a base cell at some coordinates, 0 if there is none."""
        middle = self._middles[block]
        try:
            cell = h3.local_ij_to_cell(middle, x - self._half, y - self._half)
            same = h3.get_base_cell_number(cell) == block and h3.cell_to_local_ij(middle, cell) == (
                x - self._half,
                y - self._half,
            )
        except H3BaseException:
            return 0
        return cell if same else 0


def _unknown(area: str) -> VerificationError:
    return broken(f"{shown(area)!r} is not the id of a rectangle of cells")


def _outward(place: int, last: int) -> int:
    """Return 1 at the end of a side, -1 at its beginning, 0 between and on a side of one."""
    return int(place == last) - int(place == 0)


def _spread(length: int, most: int) -> list[int]:
    """Return up to so many whole numbers from 0 to before a length, evenly spread."""
    return sorted({step * (length - 1) // (most - 1) for step in range(most)})


def _mean(cells: Sequence[int]) -> Point:
    """Return the mean of the centers of cells on the sphere."""
    lat, lon = np.array([h3.cell_to_latlng(cell) for cell in cells]).T
    x, y, z = on_sphere(lon, lat).sum(axis=1)
    return float(np.degrees(np.arctan2(y, x))), float(np.degrees(np.arctan2(z, np.hypot(x, y))))


def _unite(cells: Sequence[int]) -> BaseGeometry:
    near = h3.cell_to_latlng(cells[0])[1]
    return shapely.union_all([cell_outline(cell, near) for cell in cells])
