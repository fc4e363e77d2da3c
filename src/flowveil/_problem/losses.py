"""What publishing a pair of areas as one flow costs in precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import UnknownNameError
from flowveil._places import meters_between

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places import Places
    from flowveil._problem.axis import Axis
    from flowveil._problem.problem import Problem

LOSSES = ("tiles", "metres", "reconstruction", "area")
LOSSES_OF_NODES = ("tiles", "area")  # need no more than nodes and trips of a cell: which tile pairs it has is all one


@dataclass(frozen=True, eq=False)
class Batch:
    """Cells to be priced, and the records of each: the records `order[begin]` to `order[end - 1]`."""

    node: IntArray  # one row an axis
    trips: IntArray
    begin: IntArray
    end: IntArray
    order: IntArray
    record_trips: IntArray
    record_rank: list[IntArray]  # by axis


Loss = Callable[[Batch], "FloatArray"]


def loss_function(problem: Problem, axes: Sequence[Axis]) -> Loss:
    """Return what prices cells under the loss of a problem; `axes` are its axes in the order of a batch's rows."""
    if problem.loss == "tiles":
        return _steps(axes, [True] * len(axes))
    over_time = _steps(axes, [not axis.is_place for axis in axes])
    if problem.loss == "metres":
        of_places = _metres(axes, problem.flows.places)
    elif problem.loss == "reconstruction":
        of_places = _reconstruction(axes)
    elif problem.loss == "area":
        of_places = _area(axes, problem.flows.places)
    else:
        raise UnknownNameError("loss", problem.loss, LOSSES)
    if all(axis.is_place for axis in axes):
        return of_places
    return lambda batch: of_places(batch) + over_time(batch)


def _steps(axes: Sequence[Axis], counted: list[bool]) -> Loss:
    """Trips times the tiles of all ends (and steps of time), each axis with its weight."""

    def price(batch: Batch) -> FloatArray:
        tiles = np.zeros(len(batch.trips))
        for axis, row, counts in zip(axes, batch.node, counted, strict=True):
            if counts and axis.weight:
                tiles += axis.weight * axis.hierarchy.tiles[row]
        return tiles * batch.trips

    return price


def _area(axes: Sequence[Axis], places: Places) -> Loss:
    """Trips times the size of both ends: tiles, seen or not, on a grid; square kilometers of zones."""
    trees = [axis.hierarchy if axis.is_place else None for axis in axes]
    sizes = [None if tree is None else places.sizes(tree, np.arange(len(tree))) for tree in trees]

    def price(batch: Batch) -> FloatArray:
        total = np.zeros(len(batch.trips))
        for row, size in zip(batch.node, sizes, strict=True):
            if size is not None:
                total += size[row]
        return total * batch.trips

    return price


def _metres(axes: Sequence[Axis], places: Places) -> Loss:
    """Distance from tile center to area center, over trips and ends, in metres; infinite where there is no center."""
    from flowveil._problem import kernels  # noqa: PLC0415 numba is slow to import

    tables = [_meters_to_ancestors(axis, places) if axis.is_place else None for axis in axes]

    def price(batch: Batch) -> FloatArray:
        total = np.zeros(len(batch.trips))
        for axis, row, rank, table in zip(axes, batch.node, batch.record_rank, tables, strict=True):
            if table is None:
                continue
            depth = axis.hierarchy.depth[row]
            spans = kernels.Spans(batch.begin, batch.end, batch.order, batch.record_trips)
            total += kernels.sum_of_meters(spans, depth, rank, table)
        return np.where(np.isnan(total), np.inf, total)

    return price


def _meters_to_ancestors(axis: Axis, places: Places) -> FloatArray:
    """Return the distance from each leaf (by rank) to its ancestor of each depth (the rows); NaN where none."""
    tree = axis.hierarchy
    lon, lat = places.centers(tree, np.arange(len(tree)))
    leaf = np.flatnonzero(tree.is_leaf)
    rank = axis.low[leaf]
    meters = np.full((int(tree.depth[-1]) + 1, len(leaf)), np.nan)
    ancestor = leaf
    while len(leaf):
        meters[tree.depth[ancestor], rank] = meters_between(lon[leaf], lat[leaf], lon[ancestor], lat[ancestor])
        above = tree.parent[ancestor]
        leaf, rank, ancestor = leaf[above >= 0], rank[above >= 0], above[above >= 0]
    return meters


def _reconstruction(axes: Sequence[Axis]) -> Loss:
    """Absolute error of tile pairs when the trips are spread evenly over all pairs of the cell.

    A cell that holds no more trips than pairs needs no look at its records: each of those is at or above the mean.
    """
    from flowveil._problem import kernels  # noqa: PLC0415 numba is slow to import

    def price(batch: Batch) -> FloatArray:
        pairs = np.ones(len(batch.trips))
        for axis, row in zip(axes, batch.node, strict=True):
            pairs *= axis.hierarchy.tiles[row]
        seen = batch.end - batch.begin
        error = 2 * batch.trips * (1 - seen / pairs)
        mean = batch.trips / pairs
        dense = np.flatnonzero(mean > 1)
        spans = kernels.Spans(batch.begin[dense], batch.end[dense], batch.order, batch.record_trips)
        spread = kernels.spread_error(spans, mean[dense])
        error[dense] = spread + (pairs - seen)[dense] * mean[dense]
        return error

    return price
