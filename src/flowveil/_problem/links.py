"""Which cells of a cube are parts of which: found from the ways to split the areas of each axis."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._problem.cube import Links
from flowveil._processes import at_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._places import Ways
    from flowveil._problem.axis import Dimension
    from flowveil._problem.cube import LinkArray

_MOST_LINKS = 2**31 - 1  # links are numbers of 32 bits


def find_links(
    dimensions: Sequence[Dimension], node: IntArray, trips: IntArray, key: IntArray, strides: Sequence[int]
) -> Links:
    """Return the links of cells that are sorted by `key`: the numbers of their areas, the rows of `node`, as one.

    strides: by axis, what a step of its area is worth in the key.
    """
    from flowveil._problem import kernels  # noqa: PLC0415 numba is slow to import

    ways = [dimension.family.ways for dimension in dimensions]
    split, first_split = _places([np.diff(way.first_way) for way in ways], node)
    entry, first_above = _places([np.diff(way.first_above) for way in ways], node)
    above = np.empty(first_above[-1], np.int32)
    withheld = np.repeat(trips.astype(np.float64), np.diff(first_split))

    def link(axis: int) -> None:
        stride, way = strides[axis], ways[axis]
        run = key // stride
        start = np.flatnonzero(np.append(True, run[1:] != run[:-1])) if len(key) else np.zeros(0, np.int64)
        runs = kernels.Runs(np.append(start, len(key)), node[axis][start], key % stride)
        places = kernels.Places(split[axis], entry[axis])
        kernels.link(runs, kernels.Above(way.first_above, way.above, way.above_way), places, trips, above, withheld)

    at_once(link, range(len(ways)))
    axis, splittable = _splits(ways, node, split, int(first_split[-1]))
    return Links(first_split, axis, splittable, withheld, first_above, above)


def _places(counts: Sequence[IntArray], node: IntArray) -> tuple[list[LinkArray], LinkArray]:
    """Return by axis where the entries of each cell begin, and where those of all axes do; counts: by axis and area."""
    of_cells = [count[row] for count, row in zip(counts, node, strict=True)]
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.sum(of_cells, axis=0))])
    if first[-1] > _MOST_LINKS:
        raise InputError("there are too many ways to split areas", "use coarser tiles, or a hierarchy of one tree")
    first = first.astype(np.int32)
    starts, start = [], first[:-1]
    for count in of_cells:
        starts.append(start)
        start = (start + count).astype(np.int32)
    return starts, first


def _splits(
    ways: Sequence[Ways], node: IntArray, split: Sequence[LinkArray], count: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int8]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return by split its axis, and whether it is possible: a tile has one that is not."""
    axes = np.zeros(count, np.int8)
    splittable = np.ones(count, bool)
    for axis, (way, row, start) in enumerate(zip(ways, node, split, strict=True)):
        if axis:
            sizes = np.diff(way.first_way)[row]
            first = np.repeat(start, sizes)
            axes[first + np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = axis
        is_tile = way.way[way.first_way[:-1]] < 0
        splittable[start[is_tile[row]]] = False
    return axes, splittable


def join_links(runs: Sequence[Links]) -> Links:
    """Put the links of runs of cells one after the other."""
    before = [0, *accumulate(int(run.first_split[-1]) for run in runs)]
    entries = [0, *accumulate(int(run.first_above[-1]) for run in runs)]
    if max(before[-1], entries[-1]) > _MOST_LINKS:
        raise InputError("there are too many ways to split areas", "use coarser tiles, or a hierarchy of one tree")
    return Links(
        _joined([run.first_split for run in runs], before),
        np.concatenate([run.axis for run in runs]),
        np.concatenate([run.splittable for run in runs]),
        np.concatenate([run.withheld for run in runs]),
        _joined([run.first_above for run in runs], entries),
        np.concatenate(
            [np.where(run.above < 0, -1, run.above + np.int32(start)) for run, start in zip(runs, before, strict=False)]
        ),
    )


def _joined(firsts: Sequence[LinkArray], before: Sequence[int]) -> LinkArray:
    parts = [first[:-1] + np.int32(start) for first, start in zip(firsts, before, strict=False)]
    return np.append(np.concatenate(parts), np.int32(before[-1])).astype(np.int32)
