"""How many cells a base cell has in a rectangle of coordinates, counted without looking at each.

Coordinates (u, v) of cells are whole numbers u + v w of the plane, w being the third root of 1. From one resolution to
the next all are multiplied by a number of length sqrt(7), 2 - w and 3 + w in turn, and a child adds the step of its
digit. Descendants of a cell stay within a known distance of its middle: cells that are surely inside the rectangle, or
surely outside, are counted as a whole.
"""

from __future__ import annotations

from itertools import accumulate
from math import sqrt
from typing import TYPE_CHECKING

import h3.api.basic_int as h3
import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import IntArray

_FACTORS = ((3, 1), (2, -1))  # to even and to odd resolutions
_DIGITS = np.arange(7)
_STEPS = np.array([(_DIGITS >> 2 & 1) - (_DIGITS & 1), (_DIGITS >> 1 & 1) - (_DIGITS & 1)])  # u and v by digit
_PENTAGONS = frozenset(h3.get_base_cell_number(cell) for cell in h3.get_pentagons(0))
_MISSING = 1  # the child that a pentagon does not have
# Base cells are 1 apart. A cell of resolution r is sqrt(7) ** -r from its parent at most: 1 / (sqrt(7) - 1) add up over
# all resolutions. What is nearer to the middle of a base cell than the rest of 1 is thus in no other base cell.
_SURE = 1 - 1 / (sqrt(7) - 1)

Number = tuple[int, int]  # u + v w


def count_cells(base: int, resolution: int, start: Number, size: Number) -> int:
    """Return how many cells a base cell has from the coordinates `start` on, in a rectangle of that size."""
    low, high = np.array(start), np.array(start) + size
    if base not in _PENTAGONS and _is_inside(start, (int(high[0]) - 1, int(high[1]) - 1), resolution):
        return size[0] * size[1]
    factors = [_FACTORS[step % 2] for step in range(1, resolution + 1)]
    to_finest = list(accumulate(reversed(factors), _times, initial=(1, 0)))[::-1]  # by resolution
    lengths = [max(abs(u), abs(v), abs(u - v)) for u, v in to_finest]  # the farthest that a step of one leads
    place, total = np.zeros((2, 1), np.int64), 0
    pentagon = np.array([base in _PENTAGONS])
    for step in range(resolution + 1):
        middle, reach = _multiply(place, to_finest[step]), sum(lengths[step + 1 :])
        inside = ((middle - reach >= low[:, None]) & (middle + reach < high[:, None])).all(axis=0)
        outside = ((middle + reach < low[:, None]) | (middle - reach >= high[:, None])).any(axis=0)
        hexagons = 7 ** (resolution - step)
        total += int(np.where(pentagon[inside], (5 * hexagons + 1) // 6, hexagons).sum())
        place, pentagon = place[:, ~inside & ~outside], pentagon[~inside & ~outside]
        if step < resolution:
            place = (_multiply(place, factors[step])[:, :, None] + _STEPS[:, None, :]).reshape(2, -1)
            parents, digit = np.repeat(pentagon, len(_DIGITS)), np.tile(_DIGITS, len(pentagon))
            exists = ~parents | (digit != _MISSING)
            place, pentagon = place[:, exists], (parents & (digit == 0))[exists]
    return total


def _is_inside(first: Number, last: Number, resolution: int) -> bool:
    """Whether all four corners are so near to the middle that they are surely in the base cell."""
    corners = [(u, v) for u in (first[0], last[0]) for v in (first[1], last[1])]
    return max(u * u - u * v + v * v for u, v in corners) < _SURE**2 * 7.0**resolution


def _times(one: Number, other: Number) -> Number:
    (a, b), (c, d) = one, other
    return a * c - b * d, a * d + b * c - b * d


def _multiply(places: IntArray, factor: Number) -> IntArray:
    (u, v), (a, b) = places, factor
    return np.stack([a * u - b * v, b * u + a * v - b * v])
