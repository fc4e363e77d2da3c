"""Answers of flows between areas to the queries of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._matrices.mosaic import Leaves
    from flowveil._matrices.tiles import TileGrid
    from flowveil._matrices.workloads import Workload


def lay_grid(grid: TileGrid, cells: int) -> IntArray:
    """Return the tile in which the center of each cell of a grid lies, one row for each step east; -1 for none."""
    if grid.bbox is None:
        raise InputError("no grid can be laid over zones", "count tiles of a bbox")
    west, south, east, north = grid.bbox
    middle = (np.arange(cells) + 0.5) / cells
    lon, lat = np.meshgrid(west + middle * (east - west), south + middle * (north - south), indexing="ij")
    tiles = grid.places.index(pa.array(lon.ravel()), pa.array(lat.ravel()))
    return grid.positions(np.asarray(tiles.to_numpy(zero_copy_only=False), np.uint64)).reshape(cells, cells)


def answer_leaves(
    workload: Workload,
    grid: TileGrid,
    leaves: Leaves,
    tile_of_cell: IntArray,
    counts: IntArray | FloatArray | None = None,
) -> FloatArray:
    """Return what flows between areas answer: trips are taken to be spread evenly over the cells of both areas."""
    ends = [grid.ladder.tiles(leaves.pairs.level[:, side], leaves.pairs.area[:, side]) for side in (0, 1)]
    return answer_runs(workload, ends, leaves.counts if counts is None else counts, tile_of_cell, len(grid.ladder.leaf))


def answer_runs(
    workload: Workload,
    ends: list[tuple[IntArray, IntArray]],
    counts: IntArray | FloatArray,
    tile_of_cell: IntArray,
    tiles: int,
) -> FloatArray:
    """Return the same for areas given as runs of tiles: the first and the one after the last, at both ends."""
    whole = _running(tile_of_cell, tiles)
    values = counts.astype(np.float64)
    for start, end in ends:
        values = values / np.maximum(whole[end] - whole[start], 1)
    answers = np.empty(len(workload.low))
    for number, (low, high) in enumerate(zip(workload.low.tolist(), workload.high.tolist(), strict=True)):
        total = values
        for (start, end), axis in zip(ends, (0, 2), strict=True):
            block = tile_of_cell[low[axis] : high[axis], low[axis + 1] : high[axis + 1]]
            inside = _running(block, tiles)
            total = total * (inside[end] - inside[start])
        answers[number] = total.sum()
    return answers


def _running(tile_of_cell: IntArray, tiles: int) -> FloatArray:
    """Return how many cells lie in the tiles before each tile."""
    owner = tile_of_cell.ravel()
    return np.append(0.0, np.cumsum(np.bincount(owner[owner >= 0], minlength=tiles)))
