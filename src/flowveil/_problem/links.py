"""Which cells of a cube are parts of which: found from the ways to split the areas of each axis."""

from __future__ import annotations

from itertools import accumulate, chain
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._problem.cube import Links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._places import Ways
    from flowveil._problem.axis import Dimension
    from flowveil._problem.cube import LinkArray
    from flowveil._problem.kernels import Splitting
    from flowveil._problem.search import Cells

_NOTHING = np.zeros(0, np.int64)
_MOST_LINKS = 2**31 - 1  # links are numbers of 32 bits


def find_links(dimensions: Sequence[Dimension], cells: Cells, sheets: IntArray, total: int) -> Links:
    """Return the links of cells.

    sheets: by sheet (the columns), its matrix and its area on the third axis, where there is one. total: all trips.
    """
    from flowveil._problem import kernels  # noqa: PLC0415 numba is slow to import

    ways = [dimension.family.ways for dimension in dimensions]
    rows = [cells.origin, cells.destination, *np.repeat(sheets[1:], np.diff(cells.edges), axis=1)]
    splits = sum(int(np.diff(way.first_way)[row].sum()) for way, row in zip(ways, rows, strict=True))
    parts = sum(int(_wholes(way)[row].sum()) for way, row in zip(ways, rows, strict=True))
    _check(splits, parts)
    links = Links(
        np.empty(len(cells.trips) + 1, np.int32),
        np.empty(splits, np.int8),
        np.empty(splits, bool),
        np.empty(splits, np.int32 if total < 2**31 else np.int64),
        np.empty(splits + 1, np.int32),
        np.empty(parts, np.int32),
    )
    below = _sheets_below(ways[2], sheets) if len(ways) > 2 else kernels.Splitting(_NOTHING, _NOTHING, _NOTHING)
    origins, destinations = (kernels.Splitting(way.first_way, way.first_part, way.part) for way in ways[:2])
    desk = kernels.Desk(
        filled=np.zeros(2, np.int64),
        row=np.full((2, len(dimensions[0].family)), -1, np.int64),
        place=np.full(len(dimensions[1].family), -1, np.int64),
        next_cell=np.zeros((2, len(ways[0].part)), np.int64),
        next_in_sheet=np.zeros((2, len(below.part)), np.int64),
    )
    kernels.link(
        kernels.Cells(cells.edges, cells.origin, cells.destination, cells.trips),
        kernels.Axes(origins, destinations, below),
        desk,
        links,
    )
    return links


def _wholes(ways: Ways) -> IntArray:
    """Return by area of how many splits it is a part. Whatever holds a cell is a cell."""
    return np.bincount(ways.part, minlength=len(ways.first_way) - 1)


def _sheets_below(ways: Ways, sheets: IntArray) -> Splitting:
    """Return how sheets are split, each in one way."""
    from flowveil._problem import kernels  # noqa: PLC0415 numba is slow to import

    number = {(matrix, area): place for place, (matrix, area) in enumerate(sheets.T.tolist())}
    below = []
    for matrix, area in sheets.T.tolist():
        parts = ways.part[ways.first_part[ways.first_way[area]] : ways.first_part[ways.first_way[area + 1]]]
        below.append([number[matrix, part] for part in parts.tolist() if (matrix, part) in number])
    first = np.array([0, *accumulate(map(len, below))])
    return kernels.Splitting(np.arange(len(first)), first, np.array(list(chain.from_iterable(below)), np.int64))


def join_links(runs: list[Links]) -> Links:
    """Put the links of runs of cells one after the other; the list is empty afterwards."""
    cells = [0, *accumulate(len(run.first_split) - 1 for run in runs)]
    splits = [0, *accumulate(len(run.axis) for run in runs)]
    parts = [0, *accumulate(len(run.part) for run in runs)]
    _check(splits[-1], parts[-1])
    columns = {name: [getattr(run, name) for run in runs] for name in Links._fields}
    runs.clear()
    # Each column is freed when it is joined.
    return Links(
        _joined(columns.pop("first_split"), splits),
        np.concatenate(columns.pop("axis")),
        np.concatenate(columns.pop("splittable")),
        np.concatenate(columns.pop("withheld")),
        _joined(columns.pop("first_part"), parts),
        np.concatenate([part + np.int32(start) for part, start in zip(columns.pop("part"), cells, strict=False)]),
    )


def _check(splits: int, parts: int) -> None:
    if max(splits, parts) > _MOST_LINKS:
        raise InputError("there are too many ways to split areas", "use coarser tiles, or a hierarchy of one tree")


def _joined(firsts: Sequence[LinkArray], before: Sequence[int]) -> LinkArray:
    parts = [first[:-1] + np.int32(start) for first, start in zip(firsts, before, strict=False)]
    return np.append(np.concatenate(parts), np.int32(before[-1])).astype(np.int32)
