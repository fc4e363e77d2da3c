"""Even spreading: the trips of a flow lie in each place in proportion to its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._folder import SIDES
from flowveil._reading.shares import shares_of_areas
from flowveil._reading.told import in_order

if TYPE_CHECKING:
    from scipy import sparse

    from flowveil._arrays import ChunkedColumn, Column, FloatArray, IntArray
    from flowveil._places import ZoneTable
    from flowveil._reading.told import Told

_LEAST = 1e-9  # trips; below, an estimate is rounding
_OVERLAP = 1.01  # of an area: more than that in zones means that zones overlap, by more than careless outlines do


def spread_evenly(told: Told, zones: ZoneTable) -> tuple[pa.Table, float, bool, FloatArray]:
    """Return estimates, the trips between any zones, whether zones overlap, and what reaches each of them.

    A pair of zones gets the product of the two overlaps, of every flow; of a remainder, less of what finer flows leave.
    """
    shares = [shares_of_areas(end, zones) for end in told.ends]
    trips = _whole(told)
    inside = [np.minimum(np.asarray(share.sum(axis=1)).ravel(), 1) for share in shares]
    rectangles, matrix = told.rectangles, told.matrix[told.rectangles.flow]
    counted = told.counted[rectangles.flow]
    between = inside[0][rectangles.origin] * inside[1][rectangles.destination]
    placed = float((trips * between)[counted].sum())
    reached = sum((np.asarray(share.sum(axis=0)).ravel() for share in shares), np.zeros(len(zones.ids)))
    overlapping = any((np.asarray(share.sum(axis=1)).ravel() > _OVERLAP).any() for share in shares)
    tables = [
        _spread(told, shares, trips, np.flatnonzero(matrix == key), key, zones.ids) for key in range(told.matrices)
    ]
    table = in_order(tables, [*SIDES, *told.keys.column_names])
    return table, placed, overlapping, np.asarray(reached * float((between > 0).any()), np.float64)


def _whole(told: Told) -> FloatArray:
    """Return trips of each rectangle if they were spread over the whole of it.

    A remainder is as dense everywhere as on what finer flows leave, and what falls on these is taken out again.
    """
    sizes = [end.sizes for end in told.ends]
    rectangles = told.rectangles
    own = np.flatnonzero(rectangles.factor == 1)
    first = np.zeros(len(told.trips), np.int64)
    first[rectangles.flow[own]] = own
    of = first[rectangles.flow]  # the whole flow that each rectangle is a part of
    size = sizes[0][rectangles.origin] * sizes[1][rectangles.destination]
    part = rectangles.factor * np.where(size[of] > 0, size / np.where(size[of] > 0, size[of], 1), 1)
    left = np.bincount(rectangles.flow, weights=part, minlength=len(told.trips))
    density = np.divide(told.trips, left, out=np.zeros(len(told.trips)), where=left > 0)
    return density[rectangles.flow] * part


def _spread(
    told: Told, shares: list[sparse.csr_array], trips: FloatArray, rows: IntArray, key: int, ids: list[str]
) -> pa.Table:
    """Return one row for each pair of zones of one matrix: overlap at origins times volume times that at destinations.

    The noise of a sum of shares has the sum of squared shares times the variances of the counts as its variance. Pairs
    without trips are not listed, unless there is noise: then nobody knows that they have none.
    """
    from scipy import sparse  # noqa: PLC0415  slow to import

    first, second = shares
    ends = told.rectangles.origin[rows], told.rectangles.destination[rows]

    def between(values: FloatArray, power: int) -> sparse.csr_array:
        matrix = sparse.csr_array((values, ends), shape=(first.shape[0], second.shape[0]))
        spread: sparse.csr_array = (first.power(power).T @ matrix @ second.power(power)).tocsr()
        return spread

    sums = between(trips[rows], 1)
    noise = between(told.variance[told.rectangles.flow[rows]], 2).sqrt()
    listed = (abs(sums) + noise if told.noisy else sums).tocoo()  # what is less than nothing without noise is rounding
    kept = listed.data > _LEAST
    row, column = listed.row[kept], listed.col[kept]
    names = np.array(ids, object)
    columns: dict[str, Column | ChunkedColumn] = {
        "origin": pa.array(names[row], pa.string()),
        "destination": pa.array(names[column], pa.string()),
    }
    for name in told.keys.column_names:
        columns[name] = told.keys[name].take(np.full(len(row), key))
    for name, matrix in (("trips", sums), ("noise", noise))[: 2 if told.noisy else 1]:
        columns[name] = pa.array(matrix[row, column] if len(row) else [], pa.float64())  # no values would stay sparse
    return pa.table(columns)
