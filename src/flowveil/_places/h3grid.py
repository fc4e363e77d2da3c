"""Places on the H3 grid, joined by H3's own steps of seven or by a fixed binary tree inside each step."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import h3.api.numpy_int as h3
import numpy as np
import pyarrow as pa
import shapely

from flowveil._places.bbox import box_center, box_shape
from flowveil._places.family import Family, list_areas
from flowveil._places.geodesy import square_kilometers
from flowveil._places.h3index import cells_of_points, digits, is_pentagon, parents, resolutions
from flowveil._places.hierarchy import ROOT, Hierarchy
from flowveil._places.naming import Unnamed
from flowveil._places.places import AreaTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from flowveil._arrays import Column, FloatArray, IntArray, KeyArray
    from flowveil._folder import Json
    from flowveil._places.family import Listed, Numbered
    from flowveil._places.naming import Naming
    from flowveil._places.places import BoundingBox

# The fixed binary tree over the seven child digits, the same in every cell: groups of digits between a whole cell and
# its children, each with the group above it (0 is the cell itself). Around the center 0 the digits stand in the ring
# 1-3-2-6-4-5, so every group is connected. Chosen by measuring: docs/decisions/0002-h3-binary-tree.md.
BINARY_GROUPS: dict[int, tuple[tuple[int, ...], int]] = {
    1: ((1, 3, 4, 5), 0),
    2: ((0, 2, 6), 0),
    3: ((1, 3), 1),
    4: ((4, 5), 1),
    5: ((2, 6), 2),
}
_LOWEST_GROUP = np.array(  # by digit: the smallest group that holds it
    [
        min((len(members), group) for group, (members, _) in BINARY_GROUPS.items() if digit in members)[1]
        for digit in range(7)
    ],
    np.uint64,
)
_GROUP_SHIFT = np.uint64(56)  # three bits that are always 0 in a cell
_CELL_BITS = ~(np.uint64(7) << _GROUP_SHIFT)
_HALF_A_TURN = 180  # degrees; no cell is as wide, so a ring that is goes round a pole or over the seam
_MOST_COUNTED_TILES = 5_000_000  # beyond, the tiles of the bbox are not counted one by one


class H3Grid:
    """Tiles are the H3 cells of one resolution; areas are cells, or groups of sibling cells when `binary`.

    A node's key is its cell; for a group of siblings, the parent cell with the group's number in bits 56 to 58.
    """

    top = "world"
    by_zone = False

    open = False
    naming: Naming = Unnamed()

    def __init__(self, resolution: int, *, binary: bool = False, bbox: BoundingBox | None = None) -> None:
        self.resolution = resolution
        self.binary = binary
        self.bbox = bbox
        self._outlines: dict[int, shapely.Geometry] = {}  # by key: most areas are asked for at both ends, and measured

    def index(self, *columns: Column) -> Column:
        """Return the cells of (lon, lat); null off the globe."""
        lon, lat = (np.asarray(column.to_numpy(zero_copy_only=False), np.float64) for column in columns)
        cells = cells_of_points(lon, lat, self.resolution)
        return pa.array(cells, mask=cells == 0)

    def hierarchy(self, seen: KeyArray) -> tuple[Hierarchy, IntArray]:
        """Return the tree over the cells seen, up to resolution 0 and the world above it."""
        keys = [seen]
        parent_keys = []
        cells = seen
        for resolution in range(self.resolution, 0, -1):
            links = parents(cells, resolution - 1)
            above = np.unique(links)
            if self.binary:
                links = links | (_LOWEST_GROUP[digits(cells, resolution)] << _GROUP_SHIFT)
                groups, up = _group_links(links)
                keys.append(groups)
                parent_keys += [links, up]
            else:
                parent_keys.append(links)
            keys.append(above)
            cells = above
        parent_keys.append(np.zeros(len(cells), np.uint64))  # the world, which has key 0
        all_keys = np.concatenate([*keys, np.zeros(1, np.uint64)])
        order = np.argsort(all_keys)
        position = order[np.searchsorted(all_keys, np.concatenate(parent_keys), sorter=order)]
        hierarchy, number = Hierarchy.from_parents(np.append(position, -1), all_keys)
        return hierarchy, number[: len(seen)]

    def family(self, hierarchy: Hierarchy) -> Family:
        """Return the areas of the tree: there are no others."""
        return Family.of(hierarchy)

    def listed(self, hierarchy: Hierarchy, areas: Sequence[str]) -> tuple[Listed, IntArray]:
        """Return the areas with these ids, and the number of each; -1 for one that the trees do not have."""
        return list_areas(self, hierarchy, areas)

    def ids(self, hierarchy: Numbered, nodes: IntArray) -> list[str]:
        """Return the hexadecimal index of a cell, `PARENT:DIGITS` of a group, `world` of the root."""
        return [self._name(int(key)) if node else self.top for node, key in _pairs(hierarchy, nodes)]

    def describe(self, hierarchy: Numbered, nodes: IntArray) -> AreaTable:
        """Return ids, centers, tiles and outlines of nodes."""
        lon, lat = self.centers(hierarchy, nodes)
        tiles = [self._tiles(int(key)) if node else self._tiles_of_bbox() for node, key in _pairs(hierarchy, nodes)]
        return AreaTable(
            area=self.ids(hierarchy, nodes),
            lon=lon,
            lat=lat,
            tiles=np.array(tiles, np.int64),
            members=None,
            geometry=self._shapes(hierarchy, nodes),
        )

    def centers(self, hierarchy: Numbered, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the centers of cells; for a group, the mean of its cells' centers on the sphere."""
        points = np.full((len(nodes), 2), np.nan)
        for row, (node, key) in enumerate(_pairs(hierarchy, nodes)):
            if node:
                points[row] = mean_point([h3.cell_to_latlng(cell) for cell in _cells_of_key(int(key))])
            elif self.bbox:
                points[row] = box_center(self.bbox)
        return points[:, 0], points[:, 1]

    def square_kilometers(self, hierarchy: Numbered, nodes: IntArray) -> FloatArray:
        """Return the ellipsoidal size of the outlines."""
        return square_kilometers(self._shapes(hierarchy, nodes))

    def sizes(self, hierarchy: Numbered, nodes: IntArray) -> FloatArray:
        """Return all tiles of nodes, seen or not; the world's are those of the bbox, or of the globe if not counted."""
        key, inner = hierarchy.key[nodes], nodes != ROOT
        group = ((key >> _GROUP_SHIFT) & np.uint64(7)).astype(np.int64)
        kind = np.where(inner, 16 * resolutions(key) + 8 * is_pentagon(key & _CELL_BITS) + group, -1)
        _, first, alike = np.unique(kind, return_index=True, return_inverse=True)
        tiles = [self._tiles(int(key[row])) if inner[row] else self._tiles_of_world for row in first.tolist()]
        return np.maximum(np.array(tiles, np.float64)[alike], hierarchy.tiles[nodes])

    def settings(self) -> dict[str, Json]:
        """Return grid and hierarchy as typed."""
        typed = {"grid": f"h3:{self.resolution}", "hierarchy": "h3-binary" if self.binary else "h3"}
        return typed | self.naming.settings()

    def report(self) -> list[str]:
        """Nothing to say: the grid is the same everywhere."""
        return []

    def _name(self, key: int) -> str:
        group = (key >> 56) & 7
        if not group:
            return str(h3.int_to_str(key))
        return f"{h3.int_to_str(int(np.uint64(key) & _CELL_BITS))}:{''.join(map(str, BINARY_GROUPS[group][0]))}"

    def _tiles(self, key: int) -> int:
        return sum(h3.cell_to_children_size(cell, self.resolution) for cell in _cells_of_key(key))

    def _tiles_of_bbox(self) -> int:
        if self.bbox is None:
            return -1
        west, south, east, north = self.bbox
        if east - west >= 180:  # degrees; outlines go the short way round, which is the other one
            return -1
        size = float(square_kilometers(np.array([box_shape(self.bbox)], object))[0])
        if size / h3.average_hexagon_area(self.resolution) > _MOST_COUNTED_TILES:
            return -1
        outline = h3.LatLngPoly([(south, west), (south, east), (north, east), (north, west)])
        return max(1, len(h3.h3shape_to_cells(outline, self.resolution)))  # a bbox may lie between all centers

    @cached_property
    def _tiles_of_world(self) -> int:
        tiles = self._tiles_of_bbox()
        return h3.get_num_cells(self.resolution) if tiles < 0 else tiles

    def _shapes(self, hierarchy: Numbered, nodes: IntArray) -> npt.NDArray[np.object_]:
        shapes = np.full(len(nodes), None, object)
        inner = dict.fromkeys(key for node, key in _pairs(hierarchy, nodes) if node)
        new = [key for key in inner if key not in self._outlines]
        self._outlines.update(zip(new, self._outlines_of(np.array(new, np.uint64)), strict=True))
        for row, (node, key) in enumerate(_pairs(hierarchy, nodes)):
            if node:
                shapes[row] = self._outlines[key]
            elif self.bbox:
                shapes[row] = box_shape(self.bbox)
        return shapes

    def _outlines_of(self, keys: KeyArray) -> list[shapely.Geometry]:
        """Return the outlines of the areas with some keys."""
        outlines = Outlines()
        return [outlines.unite(_cells_of_key(key)) for key in keys.tolist()]


def _pairs(hierarchy: Numbered, nodes: IntArray) -> zip[tuple[int, int]]:
    """Return (0 for the root, key) of each node."""
    return zip((nodes != ROOT).astype(int).tolist(), hierarchy.key[nodes].tolist(), strict=True)


def _group_links(links: KeyArray) -> tuple[KeyArray, KeyArray]:
    """Return all groups on the way from `links` to the whole cells, and the key above each."""
    levels: list[KeyArray] = []
    frontier = np.unique(links)
    while len(frontier):
        levels.append(frontier)
        above = _group_above(frontier)
        frontier = np.unique(above[(above >> _GROUP_SHIFT) & np.uint64(7) != 0])
    groups = np.unique(np.concatenate(levels))
    return groups, _group_above(groups)


def _group_above(keys: KeyArray) -> KeyArray:
    above = np.array([0] + [BINARY_GROUPS[group][1] for group in range(1, 6)], np.uint64)
    group = ((keys >> _GROUP_SHIFT) & np.uint64(7)).astype(np.int64)
    return (keys & _CELL_BITS) | (above[group] << _GROUP_SHIFT)


def _cells_of_key(key: int) -> list[int]:
    """Return the one cell of a key, or the sibling cells of a group (a pentagon lacks child digit 1)."""
    group = (key >> 56) & 7
    if not group:
        return [key]
    cell = int(np.uint64(key) & _CELL_BITS)
    children = np.asarray(h3.cell_to_children(cell), np.uint64)
    wanted = np.isin(digits(children, h3.get_resolution(cell) + 1), BINARY_GROUPS[group][0])
    return [int(child) for child in np.sort(children[wanted])]


def mean_point(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return lon and lat of the mean of (lat, lon) points, taken on the sphere so that 180 degrees is no seam."""
    if len(points) == 1:
        return points[0][1], points[0][0]
    lat, lon = np.radians(np.array(points)).T
    x, y, z = (np.cos(lat) * np.cos(lon)).mean(), (np.cos(lat) * np.sin(lon)).mean(), np.sin(lat).mean()
    return float(np.degrees(np.arctan2(y, x))), float(np.degrees(np.arctan2(z, np.hypot(x, y))))


class Outlines:
    """Outlines of cells; each is made once, though many areas have it."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], shapely.Geometry] = {}
        self._rings: dict[int, FloatArray] = {}

    def unite(self, cells: Sequence[int]) -> shapely.Geometry:
        """Return the outline of cells that lie together, in one piece even where longitudes begin anew."""
        near = h3.cell_to_latlng(cells[0])[1]
        outlines = [self._near(cell, near) for cell in cells]
        return outlines[0] if len(cells) == 1 else shapely.union_all(outlines)

    def _near(self, cell: int, near: float) -> shapely.Geometry:
        """Return the outline of a cell with longitudes near `near`."""
        ring = self._rings.get(cell)
        if ring is None:
            ring = self._rings[cell] = np.array(h3.cell_to_boundary(cell))[:, ::-1]
        turns = round((near - ring[0, 0]) / 360)
        if (cell, turns) not in self._made:
            self._made[cell, turns] = shapely.Polygon(_closed(ring, turns))
        return self._made[cell, turns]


def _closed(ring: FloatArray, turns: int) -> FloatArray:
    """Return the ring of a cell, turned, so that neither 180 degrees nor a pole tears it apart."""
    lon, lat = ring.T
    if not turns and np.ptp(lon) < _HALF_A_TURN:
        return ring
    steps = np.round((np.unwrap(lon, period=360) - lon) / 360)  # whole, so that corners that cells share stay the same
    lon = lon + 360 * (steps + turns)
    around = lon[0] + 360 * np.round((lon[-1] - lon[0]) / 360)  # the first corner, met again after one turn
    if around != lon[0]:  # the ring goes round a pole: close it along the pole
        pole = 90.0 if lat.mean() > 0 else -90.0
        lon, lat = np.append(lon, [around, around, lon[0]]), np.append(lat, [lat[0], pole, pole])
    return np.column_stack([lon, lat])
