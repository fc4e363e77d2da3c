"""Flows between areas that overlap: each is spread evenly over its pairs of tiles, and a pair gets the sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy import sparse

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places import Areas

_MOST_PAIRS = 4_000_000  # of tiles that are summed up at once, to bound memory


@dataclass(frozen=True, eq=False)
class Spread:
    """Where flows lie, and where trips are, as places in the lists of the tiles of both axes."""

    ends: tuple[IntArray, IntArray]  # by flow: its areas
    areas: tuple[Areas, Areas]
    pairs: tuple[IntArray, IntArray]  # by pair of tiles with trips: its tiles
    tiles: tuple[int, int]  # of the axes

    def difference(self, even: FloatArray, true: FloatArray) -> float:
        """Sum |spread - true| over all pairs of tiles; even: by flow, what it gives to each of its pairs."""
        from scipy import sparse  # noqa: PLC0415  slow to import

        if not np.isfinite(even).all():
            return float("nan")
        held = [self._held(side) for side in (0, 1)]
        truth = sparse.csr_array((true, self.pairs), shape=self.tiles)
        by_flow = (held[1] @ sparse.diags_array(even)).T.tocsr()  # flows by tiles of destinations
        step = max(1, _MOST_PAIRS // self.tiles[1])
        return float(
            sum(
                np.abs((held[0][low : low + step] @ by_flow - truth[low : low + step]).toarray()).sum()
                for low in range(0, self.tiles[0], step)
            )
        )

    def _held(self, side: int) -> sparse.csr_array:
        """Return tiles by flows: 1 where the area of a flow holds a tile."""
        from scipy import sparse  # noqa: PLC0415  slow to import

        areas = self.areas[side]
        distinct, of = np.unique(self.ends[side], return_inverse=True)
        inside = areas.inside(distinct)
        count = np.array([len(own) for own in inside], np.int64)
        rows = np.concatenate([inside[number] for number in of.tolist()])
        flow = np.repeat(np.arange(len(of)), count[of])
        return sparse.csr_array((np.ones(len(rows)), (rows, flow)), shape=(self.tiles[side], len(of)))
