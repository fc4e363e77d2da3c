"""What equations over non-negative whole numbers leave open: the least and the most of any set of cells."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil._equations.equations import contradiction
from flowveil._equations.network import LARGEST_FLOW, Network, kinds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._equations.equations import Block

_MOST_WHOLE = 300  # cells up to which solutions in whole numbers are asked for, where others may lie beyond them
_NEARLY = 1e-5  # what the solver may be wrong by
_MOST_ROUNDS = 60  # of propagation; those left out make intervals wider than need be, never wrong


class Bounds:
    """Intervals of cells of one block.

    propagated: where no cells and equations form a ring, going from equation to equation finds the exact intervals of
    cells, and linear programs those of sets. network: every cell is in two equations at most, and the equations fall
    into two kinds of which no cell is in two: then corners of what is possible are whole, and linear programs are
    exact. Otherwise small blocks are solved in whole numbers; of others intervals may be wider than the exact ones,
    and never narrower.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.count = len(block.cells)
        self.low, self.high = self._propagate()

    @cached_property
    def is_tree(self) -> bool:
        """Whether no ring of cells and equations is there: they hang together with as few links as can be."""
        return sum(map(len, self.block.rows)) == len(self.block.rows) + self.count - 1

    @cached_property
    def network(self) -> Network | None:
        """The block as a network; None if it is none."""
        if sum(self.block.trips) >= LARGEST_FLOW:
            return None
        kinds = kinds_of(self._holders(), len(self.block.rows))
        return None if kinds is None else Network(self, kinds)

    @property
    def whole(self) -> bool:
        """Whether whole numbers must be asked for."""
        return not self.is_tree and self.network is None and self.count <= _MOST_WHOLE

    @property
    def how(self) -> str:
        """How intervals are found; all but "linear" are exact."""
        if len(self.block.rows) == 1:
            return "single"
        if self.is_tree:
            return "propagated"
        return "network" if self.network is not None else "whole" if self.whole else "linear"

    @cached_property
    def matrix(self) -> csr_array:
        """Equations (rows) by cells."""
        from scipy.sparse import csr_array  # noqa: PLC0415  slow to import

        edges = np.cumsum([0, *(len(row) for row in self.block.rows)])
        cells = np.array([cell for row in self.block.rows for cell in row], np.int64)
        return csr_array((np.ones(len(cells)), cells, edges), shape=(len(self.block.rows), self.count))

    def interval(self, cells: Sequence[int]) -> tuple[int, int]:
        """Return the least and the most trips of some cells together."""
        weight = np.zeros(self.count)
        weight[list(cells)] = 1
        if len(cells) == 1 and self.is_tree:
            return int(self.low[cells[0]]), int(self.high[cells[0]])
        return (
            math.ceil(weight @ self.table(weight) - _NEARLY),
            math.floor(weight @ self.table(-weight) + _NEARLY),
        )

    def table(self, cost: FloatArray) -> FloatArray:
        """Return trips by cell that agree with all equations and cost least; whole numbers where these matter."""
        from scipy.optimize import Bounds as Limits  # noqa: PLC0415  slow to import
        from scipy.optimize import LinearConstraint, milp  # noqa: PLC0415  slow to import

        trips = np.array(self.block.trips, np.float64)
        agree = LinearConstraint(self.matrix, trips, trips)
        limits = Limits(np.zeros(self.count), self.high.astype(np.float64))
        result = milp(cost, constraints=agree, bounds=limits)
        if result.x is not None and self.whole and np.abs(result.x - np.rint(result.x)).max() > _NEARLY:
            result = milp(cost, constraints=agree, bounds=limits, integrality=np.ones(self.count, np.int64))
        if result.x is None:
            raise contradiction()
        return np.asarray(result.x, np.float64)

    def _holders(self) -> list[list[int]]:
        """Return by cell the equations it is in."""
        holders: list[list[int]] = [[] for _ in range(self.count)]
        for number, row in enumerate(self.block.rows):
            for cell in row:
                holders[cell].append(number)
        return holders

    def _propagate(self) -> tuple[IntArray, IntArray]:
        """Return intervals that follow from one equation at a time, again and again."""
        rows = [np.array(row, np.int64) for row in self.block.rows]
        low = np.zeros(self.count, np.int64)
        high = np.full(self.count, max(self.block.trips), np.int64)
        for _ in range(_MOST_ROUNDS if not self.is_tree else len(rows) + 1):
            before = low.copy(), high.copy()
            for row, trips in zip(rows, self.block.trips, strict=True):
                least, most = low[row], high[row]
                high[row] = np.minimum(most, trips - (least.sum() - least))
                low[row] = np.maximum(least, trips - (most.sum() - most))
            if (low > high).any():
                raise contradiction()
            if (low == before[0]).all() and (high == before[1]).all():
                break
        return low, high
