"""Rectangles of 2**A by 2**B tiles, within blocks of a lattice: what `--hierarchy lattice` makes of tiles.

Tiles have a block and two coordinates, counted from 0 by their ground. A side of a rectangle begins at a multiple of
its length. Two rectangles may overlap in part; what they share is a rectangle too, but it may be too long.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._verify.broken import broken, shown
from flowveil._verify.extents import Spans
from flowveil._verify.ground import climb
from flowveil._verify.sides import Ragged, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from flowveil._arrays import IntArray
    from flowveil._verify.extents import Extents

_BLOCKS = 128  # more than there are base cells


class Rectangle(NamedTuple):
    """A rectangle: `x` and `y` are its place among the rectangles of the block that are as large."""

    block: int
    wide: int  # 2**wide tiles
    high: int
    x: int
    y: int

    @property
    def start(self) -> tuple[int, int]:
        """The coordinates of its first tile."""
        return self.x << self.wide, self.y << self.high

    @property
    def size(self) -> tuple[int, int]:
        """Its width and height in tiles."""
        return 1 << self.wide, 1 << self.high


class Lattice:
    """All rectangles over tiles whose coordinates have so many bits, none longer than 2**aspect times its width."""

    def __init__(
        self,
        bits: int,
        aspect: int,
        place: Callable[[str], Rectangle | None],
        coordinates: Callable[[IntArray], tuple[IntArray, IntArray, IntArray]],
    ) -> None:
        """Take a function from ids to rectangles, None for the top, and one from tiles to blocks and coordinates."""
        self._bits = bits
        self._aspect = aspect
        self._place = lru_cache(maxsize=1 << 16)(place)  # an id is asked for often
        self._coordinates = coordinates

    def read(self, block: int, wide: int, high: int, place: tuple[int, int]) -> Rectangle | None:
        """Return the rectangle that an id tells, None if there is none; places are counted from the middle."""
        if max(wide, high) > self._bits or abs(wide - high) > self._aspect or wide + high == 0:
            return None
        half = 1 << (self._bits - 1)
        x, y = place[0] + (half >> wide), place[1] + (half >> high)
        good = 0 <= x < 1 << (self._bits - wide) and 0 <= y < 1 << (self._bits - high)
        return Rectangle(block, wide, high, x, y) if good else None

    def tile(self, tile: int) -> Rectangle:
        """Return the rectangle of one tile."""
        block, x, y = (int(part[0]) for part in self._coordinates(np.array([tile], np.int64)))
        return Rectangle(block, 0, 0, x, y)

    def rectangle(self, area: str) -> Rectangle:
        """Return the rectangle of an area that is not the top."""
        rectangle = self._place(area)
        if rectangle is None:
            raise ValueError(f"{area!r} is not a rectangle")
        return rectangle

    def path(self, area: str) -> list[Hashable]:
        """Return the node of an area in the first tree, which halves down and across in turn, and those above it.

        A node stands for the smallest rectangle around the tiles seen in it.
        """
        rectangle, top = self._place(area), None
        if rectangle is None:
            return [top]
        block, wide, high, x, y = rectangle
        more = (0, wide - 1 - high) if wide > high else (high - wide, 0)
        lowest = Rectangle(block, wide + more[0], high + more[1], x >> more[0], y >> more[1])
        return [*climb(lowest, self._above), top]

    def _above(self, node: Rectangle) -> Rectangle | None:
        if node.wide == node.high:
            return None if node.wide == self._bits else node._replace(wide=node.wide + 1, x=node.x >> 1)
        return node._replace(high=node.high + 1, y=node.y >> 1)

    def extents(self, areas: Sequence[str]) -> Spans:
        """Return areas as boxes; blocks lie side by side."""
        width = 1 << self._bits
        low, high = [], []
        for rectangle in map(self._place, areas):
            if rectangle is None:
                low.append((0, 0))
                high.append((_BLOCKS * width, width))
                continue
            (x, y), (across, up) = rectangle.start, rectangle.size
            low.append((rectangle.block * width + x, y))
            high.append((rectangle.block * width + x + across, y + up))
        return Spans(np.array(low, np.int64).reshape(-1, 2), np.array(high, np.int64).reshape(-1, 2))

    def side(self, areas: Sequence[str]) -> Side:
        """Return the areas of one side."""
        return Side(areas, _Finder(self._bits, list(map(self._place, areas)), self._coordinates).holders)

    def check_seen(self, side: Side) -> None:
        """Raise unless each rectangle is the smallest around the tiles seen in it, and none but the top holds all.

        A larger one would tell the same trips in another way, which may say something else. One that holds all tiles
        would tell how far the farthest trip goes.
        """
        areas = side.areas
        tiles, holders = side.seen()
        tile, area = holders.take(np.arange(len(tiles)))
        _, *places = (part[tile] for part in self._coordinates(tiles))
        least = np.full((2, len(areas)), np.iinfo(np.int64).max)
        most = np.full((2, len(areas)), -1)
        for axis, place in enumerate(places):
            np.minimum.at(least[axis], area, place)
            np.maximum.at(most[axis], area, place)
        held = side.tiles_seen().tolist()
        for number, (name, rectangle) in enumerate(zip(areas, map(self._place, areas), strict=True)):
            if rectangle is None:
                continue
            wide, high = (int(least[axis, number] ^ most[axis, number]).bit_length() for axis in (0, 1))
            smallest = max(wide, high - self._aspect), max(high, wide - self._aspect)
            if smallest != (rectangle.wide, rectangle.high):
                raise broken(f"the area {shown(name)} is not the smallest around the tiles seen in it")
            if held[number] == len(tiles) > 1:
                raise broken(f"the area {shown(name)} holds all tiles seen: it is to be the top")


class OnLattice:
    """What areas of grids of all kinds take from the lattice that they are on."""

    _lattice: Lattice

    def path(self, area: str) -> Sequence[Hashable]:
        """Return the node of an area in the first tree, and those above it."""
        return self._lattice.path(area)

    def side(self, areas: Sequence[str]) -> Side:
        """Return the areas of one side."""
        return self._lattice.side(areas)

    def extents(self, areas: Sequence[str]) -> Extents:
        """Return areas as boxes of tiles, blocks side by side."""
        return self._lattice.extents(areas)

    def check_seen(self, side: Side) -> None:
        """Raise unless each area is the smallest around the tiles seen in it, and none but the top holds all."""
        self._lattice.check_seen(side)


class _Finder:
    """Finds the rectangles that hold tiles: of each size there is one at most."""

    def __init__(
        self,
        bits: int,
        rectangles: Sequence[Rectangle | None],
        coordinates: Callable[[IntArray], tuple[IntArray, IntArray, IntArray]],
    ) -> None:
        self._bits = bits
        self._coordinates = coordinates
        self._tops = [number for number, rectangle in enumerate(rectangles) if rectangle is None]
        by_size: dict[tuple[int, int], list[tuple[int, int, int, int]]] = defaultdict(list)
        for number, rectangle in enumerate(rectangles):
            if rectangle is not None:
                place = (rectangle.block, rectangle.x, rectangle.y, number)
                by_size[rectangle.wide, rectangle.high].append(place)
        self._by_size: dict[tuple[int, int], tuple[IntArray, IntArray]] = {}  # keys in order, and numbers
        for size, places in by_size.items():
            block, x, y, numbers = np.array(places, np.int64).T
            key = self._key(block, x, y)
            order = np.argsort(key)
            self._by_size[size] = key[order], numbers[order]

    def holders(self, tiles: IntArray) -> Ragged:
        """Return the areas that hold each tile."""
        block, x, y = self._coordinates(tiles)
        everywhere = np.arange(len(tiles))
        places, areas = [everywhere] * len(self._tops), [np.full(len(tiles), top) for top in self._tops]
        for (wide, high), (keys, numbers) in self._by_size.items():
            key = self._key(block, x >> wide, y >> high)
            nearest = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            hits = np.flatnonzero(keys[nearest] == key)
            places.append(hits)
            areas.append(numbers[nearest[hits]])
        place, area = (np.concatenate([np.zeros(0, np.int64), *parts]) for parts in (places, areas))
        order = np.argsort(place, kind="stable")
        return Ragged(np.searchsorted(place[order], np.arange(len(tiles) + 1)), area[order])

    def _key(self, block: IntArray, x: IntArray, y: IntArray) -> IntArray:
        return (((block << self._bits) | x) << self._bits) | y
