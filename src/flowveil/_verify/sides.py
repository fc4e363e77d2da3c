"""The published areas of one side, which may overlap in any way: which of them hold a tile.

Tiles that the same areas hold are one spot. Spots are numbered as tiles are met, so that pairs of tiles become pairs of
spots, of which there are few where areas are large.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowveil._arrays import IntArray


class Ragged(NamedTuple):
    """Lists of numbers, one after the other: list `i` is `value[start[i]:start[i + 1]]`."""

    start: IntArray
    value: IntArray

    @classmethod
    def of(cls, lists: Sequence[IntArray]) -> Ragged:
        """Return lists as one."""
        start = np.cumsum([0, *map(len, lists)])
        return cls(start, np.concatenate([np.zeros(0, np.int64), *lists]))

    def take(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Return the numbers of the lists at some places: which of the places each comes from, and the number."""
        length = self.start[places + 1] - self.start[places]
        origin = np.repeat(np.arange(len(places)), length)
        skipped = np.repeat(self.start[places] - (np.cumsum(length) - length), length)
        return origin, self.value[np.arange(len(origin)) + skipped]


class Side:
    """The areas of one side by number."""

    def __init__(
        self, areas: Sequence[str], find_holders: Callable[[IntArray], Ragged], sizes: IntArray | None = None
    ) -> None:
        """Take ids, and a function that finds the areas that hold each of some tiles.

        sizes: tiles of each area, where all are known; otherwise the tiles that are met are counted.
        """
        self.areas = areas
        self._find_holders = find_holders
        self._sizes = sizes
        self._lock = Lock()
        self._spot: dict[int, int] = {}  # of each tile met so far
        self._number: dict[bytes, int] = {}  # of the spot that some areas hold
        self._holders: list[IntArray] = []  # by spot

    def spots(self, tiles: IntArray) -> IntArray:
        """Return the spot of each tile; notes the tiles as seen."""
        asked = tiles.tolist()
        with self._lock:
            if new := list(dict.fromkeys(tile for tile in asked if tile not in self._spot)):
                self._learn(new)
        return np.fromiter(map(self._spot.__getitem__, asked), np.int64, len(asked))

    def holders(self, spots: IntArray) -> Ragged:
        """Return the areas that hold each of some spots."""
        return Ragged.of([self._holders[spot] for spot in spots.tolist()])

    def seen(self) -> tuple[IntArray, Ragged]:
        """Return the tiles seen, ascending, and the areas that hold each."""
        tiles = np.array(sorted(self._spot), np.int64)
        return tiles, self.holders(np.array([self._spot[tile] for tile in tiles.tolist()], np.int64))

    def tiles_seen(self) -> IntArray:
        """Return for each area how many tiles it has: all of them where they are known, otherwise those seen."""
        if self._sizes is not None:
            return self._sizes
        met = np.bincount(np.fromiter(self._spot.values(), np.int64, len(self._spot)), minlength=len(self._holders))
        spot, area = self.holders(np.arange(len(self._holders))).take(np.arange(len(self._holders)))
        tiles = np.zeros(len(self.areas), np.int64)
        np.add.at(tiles, area, met[spot])
        return tiles

    def _learn(self, tiles: list[int]) -> None:
        start, area = self._find_holders(np.array(tiles, np.int64))
        for tile, low, high in zip(tiles, start[:-1].tolist(), start[1:].tolist(), strict=True):
            held = area[low:high]
            spot = self._number.setdefault(held.tobytes(), len(self._holders))
            if spot == len(self._holders):
                self._holders.append(held)
            self._spot[tile] = spot
