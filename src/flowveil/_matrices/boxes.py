"""Boxes that cover a matrix, each with a noisy count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._matrices.marginals import PlaceBoxes


@dataclass(frozen=True, eq=False)
class Boxes:
    """A partition of each matrix into boxes: cells `low` (included) to `high` (excluded) along every axis."""

    low: IntArray  # one row a box, one column an axis
    high: IntArray
    counts: IntArray  # noisy, may be negative
    charged: IntArray  # what the count was drawn with, in parts of the ledger
    matrix: IntArray  # which matrix the box is of
    node: IntArray  # in the ledger
    marginals: tuple[PlaceBoxes, ...] = ()  # by place: how trips lie inside boxes; none: evenly

    def __len__(self) -> int:
        return len(self.counts)


def join(parts: list[Boxes]) -> Boxes:
    """Return boxes found one after the other, ordered by matrix and place."""
    low, matrix = (np.concatenate([getattr(part, name) for part in parts]) for name in ("low", "matrix"))
    order = np.lexsort((*low.T[::-1], matrix))

    def column(name: str) -> IntArray:
        return np.concatenate([getattr(part, name) for part in parts])[order]

    return Boxes(low[order], column("high"), column("counts"), column("charged"), matrix[order], column("node"))


def non_negative(counts: IntArray) -> IntArray:
    """Return the nearest counts that are not negative and keep the total (zero if the total is negative).

    Nearest by sum of squares: all counts are lowered by the same amount, and those that would pass zero stay there.
    Whole numbers: what rounding leaves goes to the counts that lost most by it, first ones first.
    """
    total = int(counts.sum())
    if total <= 0:
        return np.zeros(len(counts), np.int64)
    falling = np.sort(counts)[::-1].astype(np.float64)
    lowered = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    kept = int(np.flatnonzero(falling > lowered)[-1])
    exact = np.maximum(counts - lowered[kept], 0)
    whole: IntArray = np.floor(exact).astype(np.int64)
    missing = total - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole
