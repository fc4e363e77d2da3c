"""Whether boxes tile a grid: every cell is in one of them, and in no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.apart import find_overlap
from flowveil._verify.broken import broken

if TYPE_CHECKING:
    from flowveil._arrays import IntArray


def check_tiling(low: IntArray, high: IntArray, cells: int) -> None:
    """Raise unless boxes (rows of edges in cells, one column an axis, the upper ones excluded) tile a cube of cells.

    Those that were cut one axis after the other are seen to by sorting alone. Of others no two may overlap, and their
    volumes add up to that of the cube.
    """
    if not len(low) or (low < 0).any() or (high > cells).any() or (low >= high).any():
        raise broken("a box is empty or lies outside the grid")
    if _follow(low, high, cells):
        return
    volume = sum((high - low).astype(object).prod(axis=1).tolist())
    if volume != cells ** low.shape[1] or find_overlap(low, high) is not None:
        raise broken("the boxes leave a gap or overlap")


def _follow(low: IntArray, high: IntArray, cells: int) -> bool:
    """Whether along each axis, within boxes alike on earlier ones, intervals follow each other from end to end."""
    group = np.zeros(len(low), np.int64)
    for axis in range(low.shape[1]):
        rows = np.column_stack([group, low[:, axis], high[:, axis]])
        distinct, group = np.unique(rows, axis=0, return_inverse=True)
        group = group.ravel()
        first = np.append(True, distinct[1:, 0] != distinct[:-1, 0])
        last = np.append(first[1:], True)
        whole = (distinct[first, 1] == 0).all() and (distinct[last, 2] == cells).all()
        if not whole or (distinct[1:][~first[1:], 1] != distinct[:-1][~last[:-1], 2]).any():
            return False
    return len(np.unique(group)) == len(group)
