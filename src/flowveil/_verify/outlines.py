"""Does a point lie in a cell? Answered by the outline that the h3 package gives for the cell.

The edges of H3 cells are arcs of great circles, so that a cell with six corners is cut out of the sphere by six planes
through its middle. A point to the left of all six is in the cell. For arrays of points that is a few multiplications,
where the h3 package finds their cells one by one.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import h3.api.basic_int as h3
import numpy as np

from flowveil._verify.border import TOLERANCE, on_sphere, planes_between
from flowveil._verify.forest import NONE
from flowveil._verify.rows import distinct

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray

_CORNERS = 6  # of nearly all cells: not of pentagons, and of some cells on an edge of the icosahedron
_MARGIN = 2 * TOLERANCE  # points that are closer to an edge are left to others
_MOST_CELLS = 1_000_000  # whose planes are kept, 144 bytes each


class Outlines:
    """The planes around cells of one resolution, looked up once for each. Threads may ask at the same time."""

    def __init__(self, resolution: int) -> None:
        self._resolution = resolution
        self._lock = Lock()
        self._forget()

    def hold(self, cells: IntArray, lon: FloatArray, lat: FloatArray) -> BoolArray:
        """Return which points surely lie in the cells that are named for them; of the others nothing is said."""
        seen, position = distinct(cells)
        with self._lock:
            place = self._find(seen)[position]
            planes = self._planes
        x, y, z = on_sphere(lon, lat)
        inside: BoolArray = place != NONE
        for plane in planes if planes.size else ():
            inside &= plane[0][place] * x + plane[1][place] * y + plane[2][place] * z > _MARGIN
        return inside

    def _find(self, cells: IntArray) -> IntArray:
        """Return where the planes of cells are, -1 for cells without."""
        asked = cells.tolist()
        new = [cell for cell in asked if cell not in self._place]
        if len(self._place) + len(new) > _MOST_CELLS:
            self._forget()
            new = asked
        if new:
            self._learn(new)
        return np.fromiter((self._place[cell] for cell in asked), np.int64, len(asked))

    def _forget(self) -> None:
        self._place: dict[int, int] = {}
        self._planes = np.zeros((_CORNERS, 3, 0))  # with room for more cells than there are
        self._known = 0

    def _learn(self, cells: list[int]) -> None:
        outlines = {cell: h3.cell_to_boundary(cell) for cell in cells if self._is_tile(cell)}
        plain = [cell for cell, outline in outlines.items() if len(outline) == _CORNERS]
        start, self._known = self._known, self._known + len(plain)
        self._place.update(dict.fromkeys(cells, NONE))
        self._place.update(zip(plain, range(start, self._known), strict=True))
        if not plain:
            return
        if self._known > self._planes.shape[2]:
            room = np.zeros((_CORNERS, 3, 2 * self._known))
            room[:, :, :start] = self._planes[:, :, :start]
            self._planes = room
        corners = np.array([outlines[cell] for cell in plain]).transpose(2, 1, 0)  # (lat, lon) by corner and cell
        corners = on_sphere(corners[1], corners[0])
        planes = planes_between(corners, np.roll(corners, -1, axis=1))
        self._planes[:, :, start : self._known] = planes.transpose(1, 0, 2)

    def _is_tile(self, cell: int) -> bool:
        return cell > 0 and bool(h3.is_valid_cell(cell)) and h3.get_resolution(cell) == self._resolution
