"""Rectangles of the squares of a quadtree, read from their ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken, shown
from flowveil._verify.lattice import Lattice, OnLattice
from flowveil._verify.squares import BITS, FARTHEST, NUMBER, Squares

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._verify.lattice import Rectangle

_AXIS_BITS = 29  # of a coordinate: squares are counted from -2**28 on


class SquareLattice(OnLattice, Squares):
    """Areas are squares of level 0, and rectangles of 2**A by 2**B of them."""

    def __init__(
        self, side: float, crs: str, bbox: tuple[float, float, float, float] | None = None, *, aspect: int
    ) -> None:
        super().__init__(side, crs, bbox)
        self._lattice = Lattice(_AXIS_BITS, aspect, self._place, _coordinates)
        self.tree = ("lattice", side, crs)

    def check_id(self, area: str) -> None:
        """Raise unless the id is `l:A/B/X/Y` of a rectangle, or `q:0/x/y` of a single square."""
        self._place(area)

    def _box(self, area: str) -> tuple[int, int, int, int]:
        rectangle = self._lattice.rectangle(area)
        (x, y), (width, height) = rectangle.start, rectangle.size
        return x - FARTHEST, y - FARTHEST, width, height

    def _place(self, area: str) -> Rectangle | None:
        """Return where an area lies, None for the top; raise if the id is that of no area."""
        if area == self.top:
            return None
        tile = self.tile(area)
        rectangle = self._rectangle(area) if tile is None else self._lattice.tile(tile)
        if rectangle is None:
            raise broken(f"{shown(area)!r} is not the id of a rectangle of squares")
        return rectangle

    def _rectangle(self, area: str) -> Rectangle | None:
        """Return the rectangle that an id names, None if it names none."""
        parts = re.fullmatch(rf"l:(0|[1-9][0-9]?)/(0|[1-9][0-9]?)/{NUMBER}/{NUMBER}", area)
        if parts is None:
            return None
        wide, high, x, y = map(int, parts.groups())
        return self._lattice.read(0, wide, high, (x, y))


def _coordinates(tiles: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    return np.zeros_like(tiles), tiles >> BITS, tiles & ((1 << BITS) - 1)
