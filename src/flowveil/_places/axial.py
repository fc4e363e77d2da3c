"""Coordinates of H3 cells on the lattice of their base cell, and back.

Every step from a cell to its children turns and stretches the lattice by a fixed matrix, and adds a unit vector for the
child's digit. So coordinates follow from the digits of an index alone: nothing is measured on the globe, and no place
is special. In the twelve base cells around a pentagon one sixth of the plane is empty: what lies on its two sides are
neighbors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._places.h3index import MAX_RESOLUTION, digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import BoolArray, IntArray, KeyArray

PENTAGONS = np.array([4, 14, 24, 38, 49, 58, 63, 72, 83, 97, 107, 117])  # base cells
UNITS = np.array([(0, 0), (-1, -1), (0, 1), (-1, 0), (1, 0), (0, -1), (1, 1)])  # by digit
_DOWN = (np.array([(3, -1), (1, 2)]), np.array([(2, 1), (-1, 3)]))  # to even and to odd resolutions; columns are axes
_UP = (np.array([(2, 1), (-1, 3)]), np.array([(3, -1), (1, 2)]))  # seven times the inverse
_INNER_RADIUS = 0.3  # cells nearer to the middle are in the base cell, which is one wide; its edge is a fractal
_CELL_MODE = np.uint64(1 << 59)
_BASE_SHIFT, _RESOLUTION_SHIFT = np.uint64(45), np.uint64(52)


def coordinates(cells: KeyArray, resolution: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return base cell and two coordinates of cells."""
    place = np.zeros((2, len(cells)), np.int64)
    for step in range(1, resolution + 1):
        place = _DOWN[step % 2] @ place + UNITS[digits(cells, step)].T
    return ((cells >> _BASE_SHIFT) & np.uint64(127)).astype(np.int64), place[0], place[1]


def cells_at(base: IntArray, u: IntArray, v: IntArray, resolution: int) -> KeyArray:
    """Return the cells at coordinates, 0 where the base cell has none there."""
    place = np.stack([u, v])
    key = _CELL_MODE | (np.uint64(resolution) << _RESOLUTION_SHIFT) | (base.astype(np.uint64) << _BASE_SHIFT)
    leading = np.zeros(len(u), np.int64)  # the first digit that is not 0
    for step in range(resolution, 0, -1):
        up = np.floor_divide(2 * (_UP[step % 2] @ place) + 7, 14)  # rounded
        digit = _digit_of(place - _DOWN[step % 2] @ up)
        key = key | (digit.astype(np.uint64) << np.uint64(3 * (MAX_RESOLUTION - step)))
        leading = np.where(digit > 0, digit, leading)
        place = up
    for step in range(resolution + 1, MAX_RESOLUTION + 1):
        key = key | np.uint64(7 << (3 * (MAX_RESOLUTION - step)))
    missing = (place != 0).any(axis=0) | ((leading == 1) & np.isin(base, PENTAGONS))
    return np.where(missing, np.uint64(0), key)


def _digit_of(step: IntArray) -> IntArray:
    """Return the digit of unit vectors."""
    table = np.zeros((3, 3), np.int64)
    table[UNITS[:, 0] + 1, UNITS[:, 1] + 1] = np.arange(7)
    digit: IntArray = table[step[0] + 1, step[1] + 1]
    return digit


def surely_inside(low: Sequence[IntArray], high: Sequence[IntArray], resolution: int) -> BoolArray:
    """Return which rectangles, from the coordinates `low` to before `high`, lie well inside a hexagonal base cell.

    The farthest from its middle are corners. The axes stand at 120 degrees.
    """
    most = _INNER_RADIUS**2 * 7.0**resolution
    inside = np.ones(len(low[0]), bool)
    for u in (low[0], high[0] - 1):
        for v in (low[1], high[1] - 1):
            inside &= u * u + v * v - u * v < most
    return inside


def coordinate_bits(resolution: int) -> int:
    """Return N such that all coordinates of cells are from -2**(N - 1) to before 2**(N - 1), the least N of all."""
    _, reach = _descents(resolution)
    return int(reach[0].max()).bit_length() + 1


def _descents(resolution: int) -> tuple[list[IntArray], list[IntArray]]:
    """Return by resolution up to a finest one what turns coordinates into those there, and how far descendants reach.

    The latter by coordinate, from the center at most.
    """
    matrices = [np.eye(2, dtype=np.int64)]
    reach = [np.zeros(2, np.int64)]
    for step in range(resolution, 0, -1):
        reach.append(reach[-1] + np.abs(matrices[-1] @ UNITS.T).max(axis=1))
        matrices.append(matrices[-1] @ _DOWN[step % 2])
    return matrices[::-1], reach[::-1]


def count_cells(base: int, resolution: int, low: tuple[int, int], high: tuple[int, int]) -> int:
    """Return how many cells a base cell has from the coordinates `low` to before `high`.

    Cells of coarser resolutions are taken or left as a whole where their descendants are all inside or all outside.
    """
    matrices, reach = _descents(resolution)
    least, most = np.array(low)[:, None], np.array(high)[:, None]
    place, total, special = np.zeros((2, 1), np.int64), 0, np.array([base in PENTAGONS])
    for step in range(resolution + 1):
        center, around = matrices[step] @ place, reach[step][:, None]
        outside = np.any((center + around < least) | (center - around >= most), axis=0)
        inside = np.all((center - around >= least) & (center + around < most), axis=0)
        below = 7 ** (resolution - step)
        total += int(np.where(special[inside], 1 + 5 * (below - 1) // 6, below).sum())
        place, special = place[:, ~(outside | inside)], special[~(outside | inside)]
        if step < resolution:
            place = (_DOWN[(step + 1) % 2] @ place)[:, :, None] + UNITS.T[:, None, :]
            exists = np.ones((len(special), 7), bool)
            exists[special, 1] = False
            special = special[:, None] & (np.arange(7) == 0)
            place, special = place[:, exists], special[exists]
    return total
