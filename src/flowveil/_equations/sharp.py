"""Intervals of the cells of a block, exact where they are narrow or below k; of others it is shown that they are not.

Two tables that agree with all equations show how wide an interval is at least. Tables are sought that do so for many
cells at once; only cells that remain are looked at one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._equations.bounds import Bounds

_SEED = 17  # of the numbers that say how much cells count; any will do
_ROUNDS = 60  # of tables for many cells at once
_TURNS, _LITTLE = 4, 0.9  # where after so many tables more than so many cells remain, tables for many no longer help
_NEARLY = 1e-3
_MOST_LINKS, _LEAST_PROGRAMS = 4_000_000, 40  # of cells with equations, over all programs for single cells of a block


class Sharp(NamedTuple):
    """Intervals by cell."""

    low: IntArray
    high: IntArray
    exact: BoolArray  # or known to be narrow and below k; all others have room for many trips more, or are a crowd
    undecided: int  # or they are not known


def sharpen(bounds: Bounds, k: int, narrow: int) -> Sharp:
    """Return intervals of all cells of a block."""
    if bounds.is_tree:
        return Sharp(bounds.low, bounds.high, np.ones(bounds.count, bool), 0)
    search = _Search(bounds, k, narrow)
    search.try_many()
    return search.finish()


class _Search:
    """What tables tell of the intervals of cells."""

    def __init__(self, bounds: Bounds, k: int, narrow: int) -> None:
        self.bounds = bounds
        self.k, self.narrow = k, narrow
        self.least, self.most = np.full(bounds.count, np.inf), np.full(bounds.count, -np.inf)
        self.wide = np.zeros(bounds.count, bool)
        self.table = np.zeros(bounds.count, np.int64)

    def is_open(self) -> BoolArray:
        """Return the cells of which it must still be found out."""
        low, high = self.bounds.low, self.bounds.high
        return np.asarray(~(self.wide | (low >= self.k) | (low == high)), bool)

    def note(self, table: FloatArray) -> None:
        """Learn from a table."""
        np.minimum(self.least, table, out=self.least)
        np.maximum(self.most, table, out=self.most)
        self.wide |= (self.most - self.least > self.narrow - _NEARLY) & (self.most > self.k - _NEARLY)
        self.table = np.rint(table).astype(np.int64)
        if self.bounds.network is not None:
            self.wide |= self.bounds.network.is_wide(self.table, max(self.k, self.narrow))

    def try_many(self) -> None:
        """Look for tables with much in many of the open cells, which differ from table to table; others have little.

        Of a network one such table settles all cells but those with much: so the next one has little in them.
        """
        numbers = np.random.default_rng(_SEED)
        remaining = [np.inf] * _TURNS  # cells before each of the last tables
        for turn in range(_ROUNDS):
            waiting = self.is_open()
            if not waiting.any() or waiting.sum() > _LITTLE * remaining[-_TURNS]:
                return
            remaining.append(float(waiting.sum()))
            cost = numbers.random(self.bounds.count) * waiting
            little = self.bounds.network is not None and turn % 2 == 1
            self.note(self.bounds.table(cost if little else -cost))

    def finish(self) -> Sharp:
        """Find the intervals of the cells that remain, one by one.

        Where there are too many for that, those that are narrow and below k by what is known already come last.
        """
        low, high = self.bounds.low.copy(), self.bounds.high.copy()
        exact = low == high
        left = np.flatnonzero(self.is_open())
        if self.bounds.network is not None:
            low[left], high[left] = self.bounds.network.intervals(self.table, left)
            exact[left] = True
            return Sharp(low, high, exact, 0)
        told = (high < self.k) & (high - low < self.narrow) & (self.most > 1 - _NEARLY)
        left = left[np.argsort(told[left], kind="stable")]
        links = sum(map(len, self.bounds.block.rows))
        done = left[: max(_LEAST_PROGRAMS, _MOST_LINKS // links)]
        for cell in done.tolist():
            low[cell], high[cell] = self.bounds.interval([cell])
        exact[done] = True
        exact |= told
        return Sharp(low, high, exact, int(np.count_nonzero(~exact[left])))
