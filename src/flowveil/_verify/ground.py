"""What the checker must know of places, whatever kind they are."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from flowveil._verify.forest import NONE, Forest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    import pyarrow as pa
    from shapely.geometry.base import BaseGeometry

    from flowveil._arrays import BoolArray, FloatArray, IntArray

Node = TypeVar("Node", bound="Hashable")

Point = tuple[float, float]  # lon, lat


class Ground(Protocol):
    """Places as the ids of areas describe them."""

    top: str  # the id of the area that holds everything

    @property
    def tree(self) -> Hashable:
        """Which tree the areas are of: equal if it is the same."""

    def check_id(self, area: str) -> None:
        """Raise unless the id is that of an area."""

    def tiles(self, area: str) -> int:
        """Return how many tiles an area has."""

    def path(self, area: str) -> Sequence[Hashable]:
        """Return the node of an area in the tree of all areas, and those above it up to the top."""

    def is_center(self, area: str, point: Point | None) -> bool:
        """Whether this is the published center of an area; None stands for no center."""

    def is_shape(self, area: str, shape: BaseGeometry | None) -> bool:
        """Whether this is the outline of an area; None stands for no outline."""

    def most_tiles_of_bbox(self) -> int | None:
        """Return the tiles of the bbox, None where they are not counted."""

    def locate(self, batch: pa.RecordBatch, usable: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Return origin and destination tile of each row, and which rows have both; only `usable` rows are read."""

    def centers(self, tiles: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return lon and lat of the centers of tiles."""

    def bounds(self, tiles: IntArray) -> FloatArray:
        """Return west, south, east and north of the outlines of tiles, one row each, NaN where there is none."""

    def tile(self, area: str) -> int | None:
        """Return the tile that an id names, None if it names none."""

    def all_tiles(self) -> IntArray | None:
        """Return every tile where a tree holds all, seen or not; None where it holds those seen."""

    def side(self, areas: Sequence[str]) -> Side:
        """Return the areas of one side, ready to say which holds a tile."""

    def joined(self, other: Ground) -> Ground:
        """Return what knows the areas of both, which are areas of one tree."""


class Side(Protocol):
    """The published areas of one side."""

    forest: Forest

    def smallest(self, tiles: IntArray) -> IntArray:
        """Return the number of the smallest area that holds each tile, -1 for none; notes the tiles as seen."""

    def tiles_seen(self) -> IntArray:
        """Return for each area the leaves it has in the tree of this side."""


class ClimbingSide(Generic[Node]):
    """Areas of a grid: from a tile or an area, climb a fixed tree until a published area is met."""

    def __init__(
        self,
        nodes: Sequence[Node],
        above: Callable[[Node], Node | None],
        node_of_tile: Callable[[int], Node],
    ) -> None:
        self._number = {node: number for number, node in enumerate(nodes)}
        self._above = above
        self._node_of_tile = node_of_tile
        self._met: dict[Node, int] = {}
        self._lock = Lock()
        self._area: dict[int, int] = {}  # of each tile seen so far
        self.forest = Forest(np.array([self._climb(above(node)) for node in nodes], np.int64))

    def smallest(self, tiles: IntArray) -> IntArray:
        """Return the number of the smallest area that holds each tile, -1 for none; notes the tiles as seen."""
        asked = tiles.tolist()
        with self._lock:
            for tile in asked:
                if tile not in self._area:
                    self._area[tile] = self._climb(self._node_of_tile(tile))
        return np.fromiter(map(self._area.__getitem__, asked), np.int64, len(asked))

    def tiles_seen(self) -> IntArray:
        """Return how many of the tiles seen lie in each area."""
        areas = np.fromiter(self._area.values(), np.int64, len(self._area))
        inside = areas[areas != NONE]
        return self.forest.add_up(np.bincount(inside, minlength=len(self.forest)).astype(np.int64))

    def _climb(self, node: Node | None) -> int:
        path = []
        area = NONE
        while node is not None:
            if node in self._number:
                area = self._number[node]
                break
            if node in self._met:
                area = self._met[node]
                break
            path.append(node)
            node = self._above(node)
        self._met.update(dict.fromkeys(path, area))
        return area


def climb(node: Node, above: Callable[[Node], Node | None]) -> list[Node]:
    """Return a node and all above it."""
    path = [node]
    while (higher := above(path[-1])) is not None:
        path.append(higher)
    return path


def close(one: Point, other: Point, tolerance: float) -> bool:
    """Whether two points are the same but for rounding, on either side of 180 degrees."""
    east = abs(one[0] - other[0])
    return min(east, abs(360 - east)) <= tolerance and abs(one[1] - other[1]) <= tolerance
