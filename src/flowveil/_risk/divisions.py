"""How areas of a grid can be divided, read off their ids: what anyone knows who knows the grid."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import h3.api.numpy_int as h3
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flowveil._folder import Json

_TOP = "world"
_ASPECT = 2  # of a lattice whose hierarchy names none
_LATTICE = "lattice"
_RECTANGLE = re.compile(r"l:(?:([0-9]+)/)?([0-9]+)/([0-9]+)/(-?[0-9]+)/(-?[0-9]+)")
_ANY = ""  # the block of squares, which are all on one lattice
_SQUARE = re.compile(r"q:([0-9]+)/(-?[0-9]+)/(-?[0-9]+)")
# Groups of child digits of the fixed binary tree of h3-binary, each with the group above it ("" for the whole cell).
_GROUPS = {"1345": "", "026": "", "13": "1345", "45": "1345", "26": "026"}


class Divisions(Protocol):
    """The areas that may be published, with the ways to divide each into parts."""

    top: str  # the area of everything
    strict: bool  # whether any division leaves parts with fewer tiles, of those that are counted

    def ways(self, area: str) -> int:
        """Return in how many ways an area can be divided, 0 for a tile; for the top only if they are known."""

    def separates(self, area: str, way: int, inner: str) -> bool | None:
        """Return whether an area inside another lies in one part of a way to divide it; None if that is not known."""

    def holds(self, area: str, inner: str) -> bool | None:
        """Return whether an area is or lies in another; None if that is not known."""

    def overlap(self, areas: Iterable[str]) -> bool:
        """Return whether two different ones of some areas surely have places in common."""


class Steps:
    """Areas of one tree: each is a part of one other."""

    top = _TOP
    strict = False  # all tiles seen may be in one part

    def __init__(self, kind: str, finest: int) -> None:
        """kind: h3, h3-binary or quadtree. finest: the resolution of tiles on an H3 grid."""
        self.finest = finest
        self._up = {"h3": self._up_a_cell, "h3-binary": self._up_a_group, "quadtree": _up_a_square}[kind]
        self.above = cache(self._above)

    def ways(self, area: str) -> int:
        return 0 if self._is_tile(area) else 1

    def separates(self, area: str, way: int, inner: str) -> bool | None:  # noqa: ARG002  there is one way
        return inner != area

    def holds(self, area: str, inner: str) -> bool | None:
        return area == inner or area in self.above(inner)

    def overlap(self, areas: Iterable[str]) -> bool:
        every = set(areas)
        return any(every.intersection(self.above(area)) for area in every)

    def _above(self, area: str) -> frozenset[str]:
        """Return all areas that hold an area."""
        found = []
        while area != self.top:
            area = self._up(area)
            found.append(area)
        return frozenset(found)

    def _is_tile(self, area: str) -> bool:
        if area == self.top or ":" in area:
            square = _SQUARE.fullmatch(area)
            return square is not None and int(square[1]) == 0
        return bool(h3.get_resolution(int(area, 16)) == self.finest)

    def _up_a_cell(self, area: str) -> str:
        cell = int(area, 16)
        resolution = h3.get_resolution(cell)
        return str(h3.int_to_str(h3.cell_to_parent(cell, resolution - 1))) if resolution else _TOP

    def _up_a_group(self, area: str) -> str:
        cell, _, digits = area.partition(":")
        above = self._up_a_cell(cell) if not digits else cell
        if above == _TOP:
            return _TOP
        if not digits:
            own = h3.get_resolution(int(cell, 16))
            digit = str(int(cell, 16) >> 3 * (15 - own) & 7)
            group = min((name for name in _GROUPS if digit in name), key=len)
        else:
            group = _GROUPS[digits]
        return f"{above}:{group}" if group else above


def _up_a_square(area: str) -> str:
    """Return the square above; the highest are not told from the world, which is above all of them anyway."""
    level, x, y = (int(number) for number in _SQUARE.fullmatch(area).groups())  # type: ignore[union-attr]
    return _TOP if level >= _HIGHEST_SQUARE else f"q:{level + 1}/{x >> 1}/{y >> 1}"


_HIGHEST_SQUARE = 30  # a square of so many halvings is larger than the Earth, whatever its tiles are


class Rectangle(NamedTuple):
    """A rectangle of tiles: powers of two of its sides, and where these begin, in sides."""

    block: str
    powers: tuple[int, int]
    place: tuple[int, int]

    def bounds(self, side: int) -> tuple[int, int]:
        """Return where a side begins and ends, in tiles."""
        return self.place[side] << self.powers[side], (self.place[side] + 1) << self.powers[side]


class Rectangles:
    """Areas of a lattice: rectangles that can be halved along either side, as long as they do not become too long."""

    top = _TOP
    strict = True  # a rectangle is the smallest around the tiles seen

    def __init__(self, aspect: int) -> None:
        self.aspect = aspect

    def ways(self, area: str) -> int:
        rectangle = _rectangle(area)
        return 0 if rectangle is None else len(self._sides(rectangle))

    def separates(self, area: str, way: int, inner: str) -> bool | None:  # noqa: ARG002
        return None  # ids of H3 tiles tell no coordinates

    def holds(self, area: str, inner: str) -> bool | None:
        return True if area in (inner, self.top) else None

    def overlap(self, areas: Iterable[str]) -> bool:
        every = set(areas)
        return (self.top in every and len(every) > 1) or _some_meet(every, nested=True)

    def _sides(self, rectangle: Rectangle) -> list[int]:
        """Return the sides that can be halved."""
        wide, high = rectangle.powers
        halves = {0: (wide - 1, high), 1: (wide, high - 1)}
        return [side for side, (w, h) in halves.items() if min(w, h) >= 0 and abs(w - h) <= self.aspect]


class FirstTree(Rectangles):
    """Areas of the first tree of a lattice: each is halved across its length, a square across its height."""

    def _sides(self, rectangle: Rectangle) -> list[int]:
        wide, high = rectangle.powers
        return [] if wide == high == 0 else [0 if wide > high else 1]


@cache
def _rectangle(area: str) -> Rectangle | None:
    """Return the rectangle of an id; None for a tile of an H3 grid, whose id tells no coordinates, and for the top."""
    if (square := _SQUARE.fullmatch(area)) is not None:
        return Rectangle(_ANY, (0, 0), (int(square[2]), int(square[3])))
    if (numbers := _RECTANGLE.fullmatch(area)) is None:
        return None
    wide, high, x, y = (int(number) for number in numbers.groups()[1:])
    return Rectangle(numbers[1] or _ANY, (wide, high), (x, y))


def _some_meet(areas: Iterable[str], *, nested: bool) -> bool:
    """Return whether two different rectangles have tiles in common; nested: also if one holds the other."""
    known = [rectangle for rectangle in map(_rectangle, sorted(set(areas))) if rectangle is not None]
    if not known:
        return False
    block = np.unique([rectangle.block for rectangle in known], return_inverse=True)[1]
    low, high = (np.array([[one.bounds(side)[end] for one in known] for side in (0, 1)]) for end in (0, 1))
    for row in range(len(known) - 1):
        others = slice(row + 1, None)
        meets = block[others] == block[row]
        inside, around = meets.copy(), meets.copy()
        for side in (0, 1):
            meets &= (low[side, others] < high[side, row]) & (low[side, row] < high[side, others])
            inside &= (low[side, others] >= low[side, row]) & (high[side, others] <= high[side, row])
            around &= (low[side, others] <= low[side, row]) & (high[side, others] >= high[side, row])
        if (meets if nested else meets & ~inside & ~around).any():
            return True
    return False


def grid_divisions(options: Mapping[str, Json], areas: Iterable[str], *, one_tree: bool | None) -> Divisions:
    """Return how the areas of a release on a grid can be divided.

    one_tree: whether only the first of the trees of a lattice was used. Where that is not known (None), it is told by
    rectangles that cross: in one tree there are none. Ways of the first tree there are in any case.
    """
    name, _, number = str(options["grid"]).partition(":")
    hierarchy = str(options["hierarchy"])
    lattice, _, aspect = hierarchy.partition(":")
    if lattice != _LATTICE:
        return Steps(hierarchy, int(number) if name == "h3" else 0)
    single = not _some_meet(areas, nested=False) if one_tree is None else one_tree
    return (FirstTree if single else Rectangles)(int(aspect) if aspect else _ASPECT)
