"""H3 cells and groups of sibling cells, by the h3 package; what h3ronpy says of points is proven before it counts."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import h3.api.basic_int as h3
import numpy as np
import shapely
from h3ronpy.vector import coordinates_to_cells

from flowveil._verify.border import on_border
from flowveil._verify.broken import broken, shown
from flowveil._verify.extents import Spans
from flowveil._verify.geo import TOLERANCE, is_outline
from flowveil._verify.ground import Climber, climb, close
from flowveil._verify.outlines import Outlines
from flowveil._verify.sides import Side

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pyarrow as pa
    from shapely.geometry.base import BaseGeometry

    from flowveil._arrays import BoolArray, FloatArray, IntArray, KeyArray
    from flowveil._verify.extents import Extents
    from flowveil._verify.ground import Ground, Point

_TOP = "world"
_FINEST = 15
# The fixed tree over child digits: each group with the group above it ("" is the whole cell).
_GROUP_ABOVE = {"1345": "", "026": "", "13": "1345", "45": "1345", "26": "026"}
_ORDER = "1345026"  # of digits, such that those of each group follow each other
_ALL_NUMBERS = 128 * 8**_FINEST  # of finest cells; there are fewer base cells and digits
_GROUP_OF_DIGIT = ("026", "13", "26", "13", "45", "45", "26")
_MOST_COUNTED_TILES = 5_000_000  # a bbox with more tiles is not counted

# A node of the tree: cell and digits ("" for the whole cell). The top has no cell.
Node = tuple[int, str]
_WORLD: Node = (0, "")


class Cells:
    """Areas are H3 cells up to one resolution, and with `binary` groups of siblings too."""

    top = _TOP

    def __init__(self, resolution: int, *, binary: bool, bbox: tuple[float, float, float, float] | None = None) -> None:
        self._resolution = resolution
        self._binary = binary
        self._bbox = bbox
        self._outlines = Outlines(resolution)
        self.tree: Hashable = ("cells", resolution, binary)

    def check_id(self, area: str) -> None:
        """Raise unless the id is a cell of the grid, or a group of the fixed tree."""
        parts = re.fullmatch(r"([0-9a-f]{15})(?::([0-6]{2,4}))?", area)
        if not parts or not h3.is_valid_cell(int(parts[1], 16)):
            raise broken(f"{shown(area)!r} is not the id of an H3 area")
        resolution = h3.get_resolution(int(parts[1], 16))
        if parts[2] is None:
            if resolution > self._resolution:
                raise broken(f"the area {shown(area)} is finer than the grid")
        elif not self._binary or parts[2] not in _GROUP_ABOVE or resolution >= self._resolution:
            raise broken(f"the area {shown(area)} is not a group of cells of the hierarchy")

    def tiles(self, area: str) -> int:
        """Return how many cells of the grid's resolution an area has."""
        return sum(h3.cell_to_children_size(cell, self._resolution) for cell in _cells(_node(area)))

    def path(self, area: str) -> Sequence[Hashable]:
        """Return the node of an area, and those above it."""
        return climb(_WORLD if area == _TOP else _node(area), self._above)

    def is_center(self, area: str, point: Point | None) -> bool:
        """Whether this is the center of the cell, or the mean of the group's on the sphere."""
        radians = np.radians([h3.cell_to_latlng(cell) for cell in _cells(_node(area))])
        lat, lon = radians[:, 0], radians[:, 1]
        x, y, z = (np.cos(lat) * np.cos(lon)).sum(), (np.cos(lat) * np.sin(lon)).sum(), np.sin(lat).sum()
        mean = float(np.degrees(np.arctan2(y, x))), float(np.degrees(np.arctan2(z, np.hypot(x, y))))
        return point is not None and close(point, mean, TOLERANCE)

    def is_shape(self, area: str, shape: BaseGeometry | None) -> bool:
        """Whether this is the outline of the cell, or that of the group, united."""
        cells = sorted(_cells(_node(area)))
        near = h3.cell_to_latlng(cells[0])[1]
        outlines = [cell_outline(cell, near) for cell in cells]
        if len(cells) == 1:
            return is_outline(shape, outlines[0])
        return is_outline(shape, shapely.union_all(outlines), united=True)

    def most_tiles_of_bbox(self) -> int | None:
        """Return the cells whose centers lie in the bbox, and one for a bbox that lies between all centers."""
        if self._bbox is None:
            return None
        west, south, east, north = self._bbox
        height = np.sin(np.radians(north)) - np.sin(np.radians(south))
        share = (east - west) / 360 * height / 2  # of the globe
        if share * h3.get_num_cells(self._resolution) > 2 * _MOST_COUNTED_TILES:
            return None
        outline = h3.LatLngPoly([(south, west), (south, east), (north, east), (north, west)])
        return len(h3.h3shape_to_cells(outline, self._resolution)) or 1

    def locate(self, batch: pa.RecordBatch, usable: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the cells of both ends; every point on the globe has one."""
        ends = []
        for end in ("start", "end"):
            tiles = np.zeros(len(usable), np.int64)
            tiles[usable] = self._index(*(_numbers(batch, f"{end}_{axis}", usable) for axis in ("lon", "lat")))
            ends.append(tiles)
        return ends[0], ends[1], usable

    def centers(self, tiles: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return lon and lat of the centers of cells."""
        points = np.array([h3.cell_to_latlng(tile) for tile in tiles.tolist()], np.float64).reshape(-1, 2)
        return points[:, 1], points[:, 0]

    def bounds(self, tiles: IntArray) -> FloatArray:
        """Return west, south, east and north of cells."""
        outlines = [cell_outline(tile, h3.cell_to_latlng(tile)[1]) for tile in tiles.tolist()]
        return np.array([outline.bounds for outline in outlines], np.float64).reshape(-1, 4)

    def tile(self, area: str) -> int | None:
        """Return the cell that an id names, if it is one of the grid's resolution."""
        cell = int(area, 16) if re.fullmatch(r"[0-9a-f]{15}", area) else 0
        return cell if h3.is_valid_cell(cell) and h3.get_resolution(cell) == self._resolution else None

    def all_tiles(self) -> IntArray | None:
        """Return nothing: a tree of cells holds those seen."""
        return None

    def side(self, areas: Sequence[str]) -> Side:
        """Return the areas of one side."""
        nodes = [_WORLD if area == _TOP else _node(area) for area in areas]
        return Side(areas, Climber(nodes, self._above, lambda tile: (tile, "")).holders)

    def extents(self, areas: Sequence[str]) -> Extents:
        """Return areas as intervals: finest cells are numbered so that those of an area follow each other."""
        spans = [(0, _ALL_NUMBERS) if area == _TOP else _interval(_node(area)) for area in areas]
        low, high = np.array(spans, np.int64).reshape(-1, 2).T
        return Spans(low[:, None], high[:, None])

    def check_seen(self, side: Side) -> None:
        """Check nothing: an area may be any cell that holds the tiles seen in it."""

    def joined(self, _: Ground) -> Cells:
        """Return these cells: ids say all."""
        return self

    def _index(self, lon: FloatArray, lat: FloatArray) -> IntArray:
        """Return the cells of points by the h3 package; on a border of two cells, the one that the release chose.

        A proposed cell that does not hold its point by the outline is found again.
        """
        cells = propose_cells(lon, lat, self._resolution).astype(np.int64)
        for place in np.flatnonzero(~self._outlines.hold(cells, lon, lat)).tolist():
            point = float(lon[place]), float(lat[place])
            cell = h3.latlng_to_cell(point[1], point[0], self._resolution)
            if cell != cells[place] and not on_border(*point, cell, int(cells[place])):
                cells[place] = cell
        return cells

    def _above(self, node: Node) -> Node | None:
        cell, digits = node
        if digits:
            return cell, _GROUP_ABOVE[digits]
        if node == _WORLD:
            return None
        resolution = h3.get_resolution(cell)
        if resolution == 0:
            return _WORLD
        parent = h3.cell_to_parent(cell, resolution - 1)
        return parent, _GROUP_OF_DIGIT[_digit(cell, resolution)] if self._binary else ""


def propose_cells(lon: FloatArray, lat: FloatArray, resolution: int) -> KeyArray:
    """Return a cell for each point, fast and unproven."""
    return np.asarray(coordinates_to_cells(lat, lon, resolution), np.uint64)


def _node(area: str) -> Node:
    cell, _, digits = area.partition(":")
    return int(cell, 16), digits


def _interval(node: Node) -> tuple[int, int]:
    """Return the numbers of the finest cells of a node, from the first to before the end."""
    cell, digits = node
    resolution = h3.get_resolution(cell)
    first = h3.get_base_cell_number(cell)
    for step in range(1, resolution + 1):
        first = 8 * first + _ORDER.index(str(_digit(cell, step)))
    low = min(_ORDER.index(digit) for digit in digits) if digits else 0
    size = len(digits) if digits else 8
    below = 8 ** (_FINEST - resolution)
    return first * below + low * below // 8, first * below + (low + size) * below // 8


def _digit(cell: int, resolution: int) -> int:
    """Return the digit that leads to a cell from its parent."""
    return (cell >> (3 * (_FINEST - resolution))) & 7


def _cells(node: Node) -> list[int]:
    cell, digits = node
    if not digits:
        return [cell]
    resolution = h3.get_resolution(cell) + 1
    return [child for child in h3.cell_to_children(cell) if str(_digit(child, resolution)) in digits]


def cell_outline(cell: int, near: float) -> shapely.Polygon:
    """Return the corners of a cell as a polygon around the longitude `near`, across 180 degrees where it must be."""
    return _turned_outline(cell, round((near - h3.cell_to_boundary(cell)[0][1]) / 360))


@lru_cache(maxsize=1 << 16)  # areas that overlap share cells
def _turned_outline(cell: int, turns: int) -> shapely.Polygon:
    """Return the corners of a cell as a polygon, its first corner turned around the globe so many times."""
    corners = h3.cell_to_boundary(cell)
    lon, last = [], corners[0][1] + 360 * turns
    for _, corner in corners:
        last = corner + 360 * round((last - corner) / 360)
        lon.append(last)
    lat = [corner for corner, _ in corners]
    if around := round((lon[-1] - lon[0]) / 360):  # around a pole: the ring is closed along it
        pole = 90.0 if sum(lat) > 0 else -90.0
        lon, lat = [*lon, lon[0] + 360 * around, lon[0] + 360 * around, lon[0]], [*lat, lat[0], pole, pole]
    return cast("shapely.Polygon", shapely.polygons(np.column_stack([lon, lat])))


def _numbers(batch: pa.RecordBatch, name: str, usable: BoolArray) -> FloatArray:
    values: FloatArray = np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.float64)
    return values[usable]
