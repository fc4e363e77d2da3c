"""laplace: noise on every pair of tiles, seen or not, of which those above zero are listed (ATG paper, appendix B)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._matrices.grids import DEFAULT_MAX_CELLS
from flowveil._noise import PARTS, positive_share

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._matrices.points import Points
    from flowveil._noise import Ledger

_MOST_PAIRS = 10**10  # two random bits are drawn for each: half a minute


@dataclass(frozen=True, eq=False)
class Listed:
    """Pairs of tiles whose noisy count is above zero; all others have none."""

    cells: IntArray  # one row a pair
    counts: IntArray
    charged: IntArray  # in parts of the ledger
    matrix: IntArray

    def __len__(self) -> int:
        return len(self.counts)


def laplace(points: Points, ledger: Ledger, max_cells: int = DEFAULT_MAX_CELLS) -> Listed:
    """List pairs of tiles above zero; the dense matrix is never made.

    Whether the release would be too large is decided from the number of pairs alone: the trips are private.
    """
    first, second = points.lengths
    pairs = points.matrices * first * second  # a trip is in one of them
    expected = pairs * positive_share(float(ledger.scales(np.array([PARTS]))[0]))
    if expected > max_cells or pairs > _MOST_PAIRS:
        raise InputError(
            f"about {expected:,.0f} of {pairs:,} pairs of tiles would come out above zero by noise alone, more than "
            f"max_cells = {max_cells:,}",
            "use a coarser grid or larger epsilon, or noisy-mosaic; or allow more with --option max_cells=N",
        )
    cells = (points.number * first + points.cells[:, 0]) * second + points.cells[:, 1]
    order = np.argsort(cells)
    listed, counts = ledger.publish_positive("cells", 0, points.counts[order], cells[order], pairs)
    pair = listed % (first * second)
    charged = np.full(len(listed), PARTS)
    return Listed(np.column_stack(np.divmod(pair, second)), counts, charged, listed // (first * second))
