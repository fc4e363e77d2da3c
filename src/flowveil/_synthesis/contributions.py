"""What one user adds to a part of the model: never more than UNITS, whatever the samples are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._synthesis.parts import UNITS

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray


def add_up(user: IntArray, cell: IntArray, cells: int, of_all: IntArray | None = None) -> IntArray:
    """Return what users add to each cell, given a user and a cell for each thing that is counted.

    A user's UNITS are shared among the user's things and rounded down, so that they never add up to more, and depend
    on nobody else. of_all: by user, among how many things they are shared; by default as many as are given.
    """
    pairs, many = np.unique(user * cells + cell, return_counts=True)
    who = pairs // cells
    shared = np.bincount(who, many, minlength=1).astype(np.int64) if of_all is None else of_all
    amounts = UNITS * many // shared[who]
    return np.bincount(pairs % cells, amounts, minlength=cells).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Counted:
    """Samples of users, on the grid, of which each user's count alike; private."""

    user: IntArray  # ascending
    x: IntArray
    y: IntArray

    def amounts(self, cell: IntArray, cells: int, chosen: BoolArray) -> IntArray:
        """Return what the chosen samples add to cells; a user's share is that of all of the user's samples."""
        many = np.bincount(self.user)
        return add_up(self.user[chosen], cell[chosen], cells, many)
