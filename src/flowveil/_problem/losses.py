"""What publishing a pair of areas as one flow costs in precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from flowveil._errors import UnknownNameError
from flowveil._places import meters_between

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places import Places
    from flowveil._problem.axis import Dimension
    from flowveil._problem.kernels import Meters
    from flowveil._problem.problem import Problem

Axis = TypeVar("Axis")

LOSSES = ("tiles", "metres", "reconstruction", "area")
LOSSES_OF_NODES = ("tiles", "area")  # need no more than nodes and trips of a cell: which tile pairs it has is all one


@dataclass(frozen=True, eq=False)
class Batch:
    """Cells to be priced, and the records of each: the records `order[begin]` to `order[end - 1]`."""

    node: IntArray  # one row an axis, in the order of `in_order`
    trips: IntArray
    begin: IntArray  # not read for losses of nodes
    end: IntArray
    order: IntArray
    record_trips: IntArray
    record_rank: Sequence[IntArray]  # by axis in this order; by tree (the rows) and record


Loss = Callable[[Batch], "FloatArray"]


def in_order(axes: Sequence[Axis]) -> list[Axis]:
    """Return what is given by axis in the order in which cells are sorted: time comes before origins, destinations."""
    return [*axes[2:], *axes[:2]]


def loss_function(problem: Problem) -> Loss:
    """Return what prices cells under the loss of a problem."""
    dimensions = in_order(problem.dimensions)
    if problem.loss == "tiles":
        return _steps(dimensions, [True] * len(dimensions))
    over_time = _steps(dimensions, [not dimension.is_place for dimension in dimensions])
    if problem.loss == "metres":
        of_places = _metres(dimensions, problem.flows.places)
    elif problem.loss == "reconstruction":
        of_places = _reconstruction(dimensions)
    elif problem.loss == "area":
        of_places = _area(dimensions, problem.flows.places)
    else:
        raise UnknownNameError("loss", problem.loss, LOSSES)
    if all(dimension.is_place for dimension in dimensions):
        return of_places
    return lambda batch: of_places(batch) + over_time(batch)


def _steps(dimensions: Sequence[Dimension], counted: list[bool]) -> Loss:
    """Trips times the tiles of all ends (and steps of time), each axis with its weight."""

    def price(batch: Batch) -> FloatArray:
        tiles = np.zeros(len(batch.trips))
        for dimension, row, counts in zip(dimensions, batch.node, counted, strict=True):
            if counts and dimension.first.weight:
                tiles += dimension.first.weight * dimension.family.tiles[row]
        return tiles * batch.trips

    return price


def _area(dimensions: Sequence[Dimension], places: Places) -> Loss:
    """Trips times the size of both ends: tiles, seen or not, on a grid; square kilometers of zones."""
    families = [dimension.family if dimension.is_place else None for dimension in dimensions]
    sizes = [None if family is None else places.sizes(family, np.arange(len(family))) for family in families]

    def price(batch: Batch) -> FloatArray:
        total = np.zeros(len(batch.trips))
        for row, size in zip(batch.node, sizes, strict=True):
            if size is not None:
                total += size[row]
        return total * batch.trips

    return price


def _metres(dimensions: Sequence[Dimension], places: Places) -> Loss:
    """Distance from tile center to area center, over trips and ends, in metres; infinite where there is no center."""
    from flowveil._problem import kernels  # noqa: PLC0415 numba is slow to import

    tables = [_meters_from_tiles(dimension, places) if dimension.is_place else None for dimension in dimensions]

    def price(batch: Batch) -> FloatArray:
        total = np.zeros(len(batch.trips))
        spans = kernels.Spans(batch.begin, batch.end, batch.order, batch.record_trips)
        for row, rank, table in zip(batch.node, batch.record_rank, tables, strict=True):
            if table is not None:
                total += kernels.sum_of_meters(spans, row, rank, table)
        return np.where(np.isnan(total), np.inf, total)

    return price


def _meters_from_tiles(dimension: Dimension, places: Places) -> Meters:
    """Return the distance from each tile of each area to its center; NaN where it has none."""
    from flowveil._problem import kernels  # noqa: PLC0415 numba is slow to import

    family = dimension.family
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(family.tiles)])
    meters = np.empty(int(first[-1]))
    low = np.zeros(len(family), np.int64)
    for place, (tree, number) in enumerate(zip(family.trees, family.number, strict=True)):
        lon, lat = places.centers(tree, np.arange(len(tree)))
        own = family.first_tree[number] == place
        low[number[own]] = tree.low[own]
        leaf = ancestor = np.flatnonzero(tree.is_leaf)
        while len(leaf):
            at = first[number[ancestor]] + tree.low[leaf] - tree.low[ancestor]
            mine = own[ancestor]
            distance = meters_between(lon[leaf], lat[leaf], lon[ancestor], lat[ancestor])
            meters[at[mine]] = distance[mine]
            above = tree.parent[ancestor]
            leaf, ancestor = leaf[above >= 0], above[above >= 0]
    return kernels.Meters(family.first_tree, low, first, meters)


def _reconstruction(dimensions: Sequence[Dimension]) -> Loss:
    """Absolute error of tile pairs when the trips are spread evenly over all pairs of the cell.

    A cell that holds no more trips than pairs needs no look at its records: each of those is at or above the mean.
    """
    from flowveil._problem import kernels  # noqa: PLC0415 numba is slow to import

    def price(batch: Batch) -> FloatArray:
        pairs = np.ones(len(batch.trips))
        for dimension, row in zip(dimensions, batch.node, strict=True):
            pairs *= dimension.family.tiles[row]
        seen = batch.end - batch.begin
        error = 2 * batch.trips * (1 - seen / pairs)
        mean = batch.trips / pairs
        dense = np.flatnonzero(mean > 1)
        spans = kernels.Spans(batch.begin[dense], batch.end[dense], batch.order, batch.record_trips)
        spread = kernels.spread_error(spans, mean[dense])
        error[dense] = spread + (pairs - seen)[dense] * mean[dense]
        return error

    return price
