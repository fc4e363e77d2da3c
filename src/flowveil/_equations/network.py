"""Blocks that are networks: equations are nodes, a cell leads from an equation of one kind to one of the other.

A cell that is in one equation leads from or to a node more. Tables that agree with all equations then differ by flows
in a circle: more on cells that are followed, less on those that are walked backwards, which is possible as long as they
have trips. So from one table the exact interval of a cell is found by two maximum flows; and if many trips can go in
a circle through a cell, its interval is wide, which strong components tell of all cells at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._equations.bounds import Bounds

LARGEST_FLOW = 2**30  # trips; maximum flows are computed in 32 bits


def kinds_of(holders: list[list[int]], rows: int) -> list[bool] | None:
    """Return the kind of each equation, given by cell its equations, such that no cell is in two of one kind.

    None if there are no such kinds.
    """
    if any(len(own) > 2 for own in holders):
        return None
    beside: list[list[int]] = [[] for _ in range(rows)]
    for own in holders:
        if len(own) == 2:
            beside[own[0]].append(own[1])
            beside[own[1]].append(own[0])
    kind: list[bool | None] = [None] * rows
    kind[0] = True
    waiting = [0]  # a block hangs together
    while waiting:
        row = waiting.pop()
        for other in beside[row]:
            if kind[other] is None:
                kind[other] = not kind[row]
                waiting.append(other)
            elif kind[other] == kind[row]:
                return None
    return [bool(one) for one in kind]


class Network:
    """A block as a network."""

    def __init__(self, bounds: Bounds, kinds: list[bool]) -> None:
        rows = len(kinds)
        self._nodes = rows + 1  # the last one is for cells in a single equation
        self.tail = np.full(bounds.count, rows, np.int64)
        self.head = np.full(bounds.count, rows, np.int64)
        for number, row in enumerate(bounds.block.rows):
            (self.tail if kinds[number] else self.head)[list(row)] = number

    def is_wide(self, table: IntArray, width: int) -> BoolArray:
        """Return of which cells a table shows that so many trips more may be in them; there may be others.

        The circle must not use the cell itself: so nothing is said of cells that could be walked backwards.
        """
        from scipy.sparse import coo_array  # noqa: PLC0415  slow to import
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415  slow to import

        back = table >= width
        tail = np.concatenate([self.tail, self.head[back]])
        head = np.concatenate([self.head, self.tail[back]])
        links = coo_array((np.ones(len(tail), np.int8), (tail, head)), shape=(self._nodes, self._nodes))
        label = connected_components(links.tocsr(), connection="strong")[1]
        return np.asarray((label[self.tail] == label[self.head]) & ~back)

    def intervals(self, table: IntArray, cells: IntArray) -> tuple[IntArray, IntArray]:
        """Return the least and the most trips of cells, given one table."""
        from scipy.sparse import csr_array  # noqa: PLC0415  slow to import
        from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415  slow to import

        count = len(table)
        tail, head = np.concatenate([self.tail, self.head]), np.concatenate([self.head, self.tail])
        order = np.lexsort((head, tail))
        place = np.empty(2 * count, np.int64)
        place[order] = np.arange(2 * count)
        edges = np.searchsorted(tail[order], np.arange(self._nodes + 1))
        room = np.concatenate([np.full(count, LARGEST_FLOW), table])[order].astype(np.int32)
        low, high = table[cells].copy(), table[cells].copy()
        for number, cell in enumerate(cells.tolist()):
            own = place[[cell, count + cell]]
            kept = room[own]
            room[own] = 0
            graph = csr_array((room, head[order].astype(np.int32), edges.astype(np.int32)), (self._nodes, self._nodes))
            start, end = int(self.tail[cell]), int(self.head[cell])
            high[number] += maximum_flow(graph, end, start).flow_value
            low[number] -= min(int(low[number]), maximum_flow(graph, start, end).flow_value)
            room[own] = kept
        return low, high
