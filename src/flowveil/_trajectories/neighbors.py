"""Who is nearest to whom, kept up while groups merge, on all cores.

Every row knows its nearest neighbor among larger ids (`fronts`), or a lower bound where that neighbor is gone: a row is
searched again only when its bound is the least of all. Both ways give the same answers.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from flowveil._processes import cores
from flowveil._trajectories import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._trajectories.nearest import Fronts
    from flowveil._trajectories.pool import Pool

Result = TypeVar("Result")

LIST_LENGTH = 24
_BYTES = 8
# Below this many groups a second thread costs more than it saves.
_FEW = 64
_BLOCKS = 16  # for each thread: rows differ in length, so that work is handed out in blocks


class Neighbors(Protocol):
    """Nearest neighbors of the groups of a pool."""

    fronts: Fronts

    def refresh(self, row: int) -> None:
        """Search the nearest neighbor of a row that has a bound only."""

    def replace(self, group: int, gone: int) -> None:
        """Group `gone` is no more; `group` has changed, or is no more either."""


def matrix_bytes(groups: int) -> int:
    """Return the memory of a triangle of stretches."""
    return _BYTES * groups * (groups - 1) // 2


class Workers:
    """Runs a compiled loop on every core, each with its own share of rows."""

    def __init__(self) -> None:
        self.count = cores()
        self._threads = ThreadPoolExecutor(self.count)

    def run(self, task: Callable[[int, int], Result], rows: int, blocks: int = 1) -> list[Result]:
        """Call task(first, step) for shares that make up all rows, and return what each returns."""
        if self.count == 1 or rows < _FEW:
            return [task(0, 1)]
        step = self.count * blocks
        return list(self._threads.map(lambda first: task(first, step), range(step)))

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown()


class MatrixNeighbors:
    """All stretches in memory."""

    def __init__(self, pool: Pool, workers: Workers) -> None:
        self.pool, self.workers = pool, workers
        count = len(pool)
        self.matrix = np.empty(count * (count - 1) // 2)
        self.fronts = nearest.Fronts(np.full(count, np.inf), np.full(count, -1))
        state = pool.state()
        workers.run(lambda first, step: nearest.matrix_rows(state, first, step, self.matrix), count, _BLOCKS)
        for row in range(count):
            self.refresh(row)

    def refresh(self, row: int) -> None:
        """Search a row of the matrix."""
        self.fronts.value[row], self.fronts.group[row] = nearest.matrix_front(self.pool.alive, row, self.matrix)

    def replace(self, group: int, gone: int) -> None:
        """Compare the changed group with all others."""
        value, nearest_group = self.fronts
        nearest_group[(nearest_group == group) | (nearest_group == gone)] = -1
        value[gone] = np.inf
        if not self.pool.alive[group]:
            value[group] = np.inf
            return
        state, stretches = self.pool.state(), (self.matrix, self.fronts)
        self.workers.run(
            lambda first, step: nearest.matrix_update(state, group, first, step, *stretches),
            int(self.pool.alive.sum()),
        )
        self.refresh(group)


class ListNeighbors:
    """The nearest few of every row; pairs that cannot enter a list are left as soon as that is known."""

    def __init__(self, pool: Pool, workers: Workers, length: int = LIST_LENGTH) -> None:
        self.pool, self.workers = pool, workers
        count = len(pool)
        self.lists = nearest.Lists(
            values=np.full((count, length), np.inf),
            ids=np.full((count, length), -1),
            stamps=np.zeros((count, length), np.int64),
            stamp=np.zeros(count, np.int64),
            counts=np.zeros(count, np.int64),
            cut_value=np.full(count, np.inf),
            cut_id=np.full(count, count),
        )
        self.fronts = nearest.Fronts(np.full(count, np.inf), np.full(count, -1))
        state = pool.state()
        workers.run(lambda first, step: nearest.list_rows(state, first, count, step, self.lists), count, _BLOCKS)
        self._set_fronts()

    def refresh(self, row: int) -> None:
        """Fill the list of a row again; every core takes a share of the candidates."""
        state, lists, fronts = self.pool.state(), self.lists, self.fronts
        length = lists.values.shape[1]

        def search(first: int, step: int) -> tuple[FloatArray, IntArray, int]:
            values, ids = np.full(length, np.inf), np.full(length, -1)
            count, seen = nearest.list_row(state, row, row + 1 + first, step, values, ids)
            return values[:count], ids[:count], seen

        shares = self.workers.run(search, int(self.pool.alive[row:].sum()))
        values = np.concatenate([share[0] for share in shares])
        ids = np.concatenate([share[1] for share in shares])
        order = np.lexsort((ids, values))[:length]
        count = len(order)
        lists.values[row, :count], lists.ids[row, :count] = values[order], ids[order]
        lists.stamps[row, :count] = lists.stamp[ids[order]]
        lists.counts[row] = count
        lists.cut_value[row], lists.cut_id[row] = np.inf, len(self.pool)
        if sum(share[2] for share in shares) > count:
            lists.cut_value[row], lists.cut_id[row] = lists.values[row, count - 1], lists.ids[row, count - 1]
        fronts.value[row], fronts.group[row] = np.inf, -1
        if count:
            fronts.value[row], fronts.group[row] = lists.values[row, 0], lists.ids[row, 0]

    def replace(self, group: int, gone: int) -> None:
        """Offer the changed group to all rows below it, and fill its own list."""
        self.lists.stamp[group] += 1
        self.lists.stamp[gone] += 1
        if self.pool.alive[group]:
            state = self.pool.state()
            self.workers.run(
                lambda first, step: nearest.offer(state, group, first, step, self.lists),
                int(self.pool.alive[:group].sum()),
            )
            self.refresh(group)
        self._set_fronts()

    def _set_fronts(self) -> None:
        nearest.list_fronts(self.pool.alive, self.lists, self.fronts)


def watch(pool: Pool, workers: Workers, memory: int) -> Neighbors:
    """Return neighbors of all groups: a matrix where it fits into `memory` bytes, else lists."""
    return MatrixNeighbors(pool, workers) if matrix_bytes(len(pool)) <= memory else ListNeighbors(pool, workers)
