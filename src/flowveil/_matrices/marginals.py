"""Marginals: noisy counts of where trips start, end and stop, each place by itself, finer than all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._matrices.points import Points, add
from flowveil._matrices.privtree import TREE, grow_boxes
from flowveil._noise import PARTS
from flowveil._reading import Marginal

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._noise import Ledger

MARGINAL = "marginal {}"  # the name of the charge, by the number of the place, from 1
_HALVINGS = 10  # a marginal has at most so many, so that it has few enough edges to be asked quickly
_AXES = 2  # of a place


@dataclass(frozen=True, eq=False)
class PlaceBoxes:
    """Boxes of one place that tile the grid, with noisy counts."""

    low: IntArray
    high: IntArray
    counts: IntArray  # may be negative
    scales: FloatArray  # of the noise of each
    matrix: IntArray

    def spread(self, nonnegative: IntArray) -> Marginal:
        """Return how trips lie at this place, given the counts without negative ones."""
        return Marginal(self.low, self.high, nonnegative)


def count_marginals(points: Points, ledger: Ledger, parts: int, max_cells: int) -> tuple[PlaceBoxes, ...]:
    """Charge `parts`, in equal shares to each place, and return a tree of boxes of each.

    Half of a share goes to the tree, half to its counts. A single place has no marginals: it is its own.
    """
    places = len(points.lengths) // _AXES
    if places < _AXES:
        return ()
    return tuple(_count(points, ledger, place, parts // places, max_cells) for place in range(places))


def _count(points: Points, ledger: Ledger, place: int, parts: int, max_cells: int) -> PlaceBoxes:
    own = ledger.part(MARGINAL.format(place + 1), parts)
    growth = own.grow(TREE, PARTS // 2, 1 << _AXES)
    boxes = grow_boxes(_project(points, place), own, growth, max_cells, _HALVINGS)
    return PlaceBoxes(boxes.low, boxes.high, boxes.counts, own.scales(boxes.charged), boxes.matrix)


def _project(points: Points, place: int) -> Points:
    """Return the matrix of one place: trips wherever else they go."""
    axes = slice(_AXES * place, _AXES * (place + 1))
    rows = np.column_stack([points.number, points.cells[:, axes]])
    distinct, row = np.unique(rows, axis=0, return_inverse=True)
    counts = add(row.ravel(), points.counts, len(distinct))
    return Points(distinct[:, 1:], counts, points.lengths[axes], distinct[:, 0], points.matrices)
