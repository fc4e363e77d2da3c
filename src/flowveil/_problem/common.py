"""The cube of areas that all matrices have in common.

A pair of areas that all matrices share is published in those in which it passes, and withheld in the others. Let its
trips be those of the matrices in which it passes, and its loss the sum of theirs. A part passes only where the whole
does, so of these trips a split withholds what its parts do not have: the cells are those of a cube, with the sums over
matrices in place of the numbers of one, and every search among cuts of a cube finds the best areas in common.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._problem.builder import find_cells, link_cells
from flowveil._problem.search import Cells

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._problem.cube import Cube
    from flowveil._problem.problem import Problem

_FIRST = np.zeros((1, 1), np.int64)  # the only matrix


def join_matrices(problem: Problem) -> tuple[Problem, IntArray]:
    """Return all matrices as one, to look up areas in, and by tile pair the entry there that holds it."""
    flows = problem.flows
    key = flows.origin * len(flows.destinations) + flows.destination
    distinct, entry = np.unique(key, return_inverse=True)
    origin, destination = np.divmod(distinct, len(flows.destinations))
    joined = replace(flows, people=None, weight=None).join(entry, len(distinct), origin, destination)
    return replace(problem, flows=joined), entry


def common_cube(problem: Problem, whole: Problem) -> Cube:
    """Return the cells that pass in any matrix, each with its trips and loss in those in which it does.

    whole: the problem with all matrices as one.
    """
    width = len(problem.families[1])
    key: IntArray = np.zeros(0, np.int64)
    trips: IntArray = np.zeros(0, np.int64)
    loss: FloatArray = np.zeros(0)
    for cells in find_cells(problem):
        more = np.concatenate([key, cells.origin.astype(np.int64) * width + cells.destination])
        key, place = np.unique(more, return_inverse=True)
        trips = _sum(place, np.concatenate([trips, cells.trips]), len(key))
        loss = np.bincount(place, np.concatenate([loss, cells.loss]), len(key)).astype(np.float64)
    origin, destination = (part.astype(np.int32) for part in np.divmod(key, width))
    return link_cells(whole, _FIRST, Cells(np.array([0, len(key)]), origin, destination, trips, loss))


def _sum(place: IntArray, values: IntArray, count: int) -> IntArray:
    """Add up whole numbers by place, exactly."""
    total = np.zeros(count, np.int64)
    np.add.at(total, place, values)
    return total
