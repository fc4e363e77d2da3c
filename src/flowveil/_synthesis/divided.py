"""How the box is divided: squares of the grid, quartered where many samples are, at one charge for all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._noise import PARTS

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._noise import Ledger
    from flowveil._synthesis.contributions import Counted
    from flowveil._trajectories import Grid

_FAN_OUT = 4
_NEVER = -1
MOST_PLACES = 2_000  # tables of places by places then fit in memory


@dataclass(frozen=True, eq=False)
class Places:
    """Squares of the grid that cover the box and do not overlap: the first column and row, and the edge, in cells."""

    x: IntArray
    y: IntArray
    edge: IntArray

    def __len__(self) -> int:
        return len(self.x)

    def middles(self) -> FloatArray:
        """Return the middle of each, in cells."""
        return np.column_stack([self.x + self.edge / 2, self.y + self.edge / 2])

    def distances(self) -> FloatArray:
        """Return the distance between the middles of every two, in cells."""
        middle = self.middles()
        across, up = (middle[:, None, axis] - middle[None, :, axis] for axis in (0, 1))
        return np.asarray(np.hypot(across, up))


def root_square(grid: Grid) -> tuple[int, int, int]:
    """Return first column, first row and edge of the least square, a power of two, that covers the box."""
    west, south, east, north = grid.bbox
    (x0, x1), (y0, y1) = grid.cells(np.array([west, east]), np.array([south, north]))
    edge = 1
    while edge <= max(x1 - x0, y1 - y0):
        edge *= 2
    return int(x0), int(y0), edge


def box_cells(grid: Grid) -> tuple[int, int, int, int]:
    """Return the first and last column, the first and last row of the box."""
    west, south, east, north = grid.bbox
    (x0, x1), (y0, y1) = grid.cells(np.array([west, east]), np.array([south, north]))
    return int(x0), int(x1), int(y0), int(y1)


def divide(ledger: Ledger, grid: Grid, counted: Counted) -> tuple[Places, IntArray]:
    """Return the places, ordered by row and column, and the place of each sample; charges all of the ledger.

    Squares without a cell in the box are left out: nobody can be there, whoever is in the data.
    """
    x0, y0, size = root_square(grid)
    growth = ledger.grow("grid", PARTS, _FAN_OUT)
    x, y, edge, nodes = np.array([x0]), np.array([y0]), size, ledger.roots
    _, right, _, top = box_cells(grid)
    of_sample = np.zeros(len(counted.x), np.int64)
    done: list[IntArray] = []
    while len(nodes):
        amounts = counted.amounts(of_sample, len(nodes), of_sample != _NEVER)
        many = len(nodes) + sum(part.shape[1] for part in done)
        further = edge > 1 and many + (_FAN_OUT - 1) * len(nodes) <= MOST_PLACES
        split = growth.splits(nodes, amounts) if further else np.zeros(len(nodes), bool)
        done.append(np.stack([x[~split], y[~split], np.full(int((~split).sum()), edge)]))
        edge //= 2
        parents = np.flatnonzero(split)
        child_x = (x[parents, None] + np.array([0, edge, 0, edge])).ravel()
        child_y = (y[parents, None] + np.array([0, 0, edge, edge])).ravel()
        inside = (child_x <= right) & (child_y <= top)  # the square starts at the corner of the box
        rank = np.full((len(nodes), _FAN_OUT), _NEVER, np.int64)
        rank[parents] = np.where(inside, np.cumsum(inside) - 1, _NEVER).reshape(-1, _FAN_OUT)
        here = np.flatnonzero(of_sample != _NEVER)
        node = of_sample[here]
        quarter = (counted.x[here] >= x[node] + edge) + 2 * (counted.y[here] >= y[node] + edge)
        of_sample[here] = np.where(split[node], rank[node, quarter], _NEVER)
        nodes = ledger.children(np.repeat(nodes[parents], _FAN_OUT)[inside])
        x, y = child_x[inside], child_y[inside]
    squares = np.concatenate(done, axis=1)
    squares = squares[:, np.lexsort((squares[0], squares[1]))]
    places = Places(*squares)
    return places, find_places(places, (x0, y0, size), counted.x, counted.y)


def find_places(places: Places, root: tuple[int, int, int], x: IntArray, y: IntArray) -> IntArray:
    """Return the place of each cell, by the order of squares along a curve that visits quarters one after the other."""
    x0, y0, _ = root
    first = interleave(places.x - x0, places.y - y0)
    order = np.argsort(first)
    holder: IntArray = order[np.searchsorted(first[order], interleave(x - x0, y - y0), side="right") - 1]
    return holder


def interleave(x: IntArray, y: IntArray) -> IntArray:
    """Return the bits of two numbers below 2^31 in turns."""
    code = np.zeros(len(x), np.int64)
    for bit in range(31):
        code |= ((x >> bit) & 1) << (2 * bit)
        code |= ((y >> bit) & 1) << (2 * bit + 1)
    return code
