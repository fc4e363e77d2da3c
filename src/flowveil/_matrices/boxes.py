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
