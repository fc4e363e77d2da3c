"""What the checker must know of places, whatever kind they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from flowveil._verify.sides import Ragged

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    import pyarrow as pa
    from shapely.geometry.base import BaseGeometry

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._verify.extents import Extents
    from flowveil._verify.sides import Side

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
        """Return the node of an area in a tree, and those above it up to the top.

        Where areas are of several trees, it is the first of them.
        """

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
        """Return the areas of one side, ready to say which hold a tile."""

    def extents(self, areas: Sequence[str]) -> Extents:
        """Return what areas cover."""

    def check_seen(self, side: Side) -> None:
        """Raise if the tiles seen in an area of a side ask for another one in its place."""

    def joined(self, other: Ground) -> Ground:
        """Return what knows the areas of both, which are areas of one tree."""


class Climber(Generic[Node]):
    """Areas that are nodes of a fixed tree: those that hold a tile are met on the way from it to the top."""

    def __init__(
        self,
        nodes: Sequence[Node],
        above: Callable[[Node], Node | None],
        node_of_tile: Callable[[int], Node],
    ) -> None:
        self._number = {node: number for number, node in enumerate(nodes)}
        self._above = above
        self._node_of_tile = node_of_tile
        self._met: dict[Node, tuple[int, ...]] = {}  # by node: the areas that hold it, the smallest first

    def holders(self, tiles: IntArray) -> Ragged:
        """Return the areas that hold each tile."""
        return Ragged.of([np.array(self._climb(self._node_of_tile(tile)), np.int64) for tile in tiles.tolist()])

    def _climb(self, node: Node) -> tuple[int, ...]:
        path: list[Node] = []
        step: Node | None = node
        while step is not None and step not in self._met:
            path.append(step)
            step = self._above(step)
        holders = () if step is None else self._met[step]
        for lower in reversed(path):
            holders = (self._number[lower], *holders) if lower in self._number else holders
            self._met[lower] = holders
        return holders


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
