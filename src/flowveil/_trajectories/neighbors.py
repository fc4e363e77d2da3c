"""Who is nearest to whom, kept up while groups merge, on all cores.

Every row knows its nearest neighbor among larger ids (`front_value`, `front_id`), or a lower bound (-1) where that
neighbor is gone: a row is searched again only when its bound is the least of all. Both ways give the same answers.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from flowveil._trajectories import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._trajectories.pool import Pool

LIST_LENGTH = 24
_BYTES = 8
# Below this many groups a second thread costs more than it saves.
_FEW = 64
_BLOCKS = 16  # for each thread: rows differ in length, so that work is handed out in blocks


class Neighbors(Protocol):
    """Nearest neighbors of the groups of a pool."""

    front_value: FloatArray
    front_id: IntArray

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
        self.count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._threads = ThreadPoolExecutor(self.count)

    def run(self, task: Callable[[int, int], Any], rows: int, blocks: int = 1) -> list[Any]:
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
        self.front_value, self.front_id = np.full(count, np.inf), np.full(count, -1)
        args = pool.samples, pool.place, pool.boxes, pool.limits, pool.sweep
        workers.run(lambda first, step: nearest.matrix_rows(*args, first, step, self.matrix), count, _BLOCKS)
        for row in range(count):
            self.refresh(row)

    def refresh(self, row: int) -> None:
        """Search a row of the matrix."""
        self.front_value[row], self.front_id[row] = nearest.matrix_front(self.pool.alive, row, self.matrix)

    def replace(self, group: int, gone: int) -> None:
        """Compare the changed group with all others."""
        pool = self.pool
        self.front_id[(self.front_id == group) | (self.front_id == gone)] = -1
        self.front_value[gone] = np.inf
        if not pool.alive[group]:
            self.front_value[group] = np.inf
            return
        args = pool.samples, pool.place, pool.boxes, pool.limits, pool.sweep, pool.alive, pool.done, group
        fronts = self.matrix, self.front_value, self.front_id
        self.workers.run(lambda first, step: nearest.matrix_update(*args, first, step, *fronts), int(pool.alive.sum()))
        self.refresh(group)


class ListNeighbors:
    """The nearest few of every row; pairs that cannot enter a list are left as soon as that is known."""

    def __init__(self, pool: Pool, workers: Workers, length: int = LIST_LENGTH) -> None:
        self.pool, self.workers = pool, workers
        count = len(pool)
        self.values, self.ids = np.full((count, length), np.inf), np.full((count, length), -1)
        self.stamps, self.stamp = np.zeros((count, length), np.int64), np.zeros(count, np.int64)
        self.counts = np.zeros(count, np.int64)
        self.cut_value, self.cut_id = np.full(count, np.inf), np.full(count, count)
        self.front_value, self.front_id = np.full(count, np.inf), np.full(count, -1)
        lists = self.values, self.ids, self.counts, self.cut_value, self.cut_id
        workers.run(lambda first, step: nearest.list_rows(*self._state(), first, count, step, *lists), count, _BLOCKS)
        self._fronts()

    def refresh(self, row: int) -> None:
        """Fill the list of a row again; every core takes a share of the candidates."""
        length = self.values.shape[1]

        def search(first: int, step: int) -> tuple[FloatArray, IntArray, int]:
            values, ids = np.full(length, np.inf), np.full(length, -1)
            count, seen = nearest.list_row(*self._state(), row, row + 1 + first, step, values, ids)
            return values[:count], ids[:count], seen

        found = self.workers.run(search, int(self.pool.alive[row:].sum()))
        values = np.concatenate([part[0] for part in found])
        ids = np.concatenate([part[1] for part in found])
        order = np.lexsort((ids, values))[:length]
        count = len(order)
        self.values[row, :count], self.ids[row, :count] = values[order], ids[order]
        self.stamps[row, :count] = self.stamp[ids[order]]
        self.counts[row] = count
        self.cut_value[row], self.cut_id[row] = np.inf, len(self.pool)
        if sum(part[2] for part in found) > count:
            self.cut_value[row], self.cut_id[row] = self.values[row, count - 1], self.ids[row, count - 1]
        self.front_value[row], self.front_id[row] = np.inf, -1
        if count:
            self.front_value[row], self.front_id[row] = self.values[row, 0], self.ids[row, 0]

    def replace(self, group: int, gone: int) -> None:
        """Offer the changed group to all rows below it, and fill its own list."""
        self.stamp[group] += 1
        self.stamp[gone] += 1
        if self.pool.alive[group]:
            lists = self.values, self.ids, self.stamps, self.stamp, self.counts, self.cut_value, self.cut_id
            self.workers.run(
                lambda first, step: nearest.offer(*self._state(), group, first, step, *lists),
                int(self.pool.alive[:group].sum()),
            )
            self.refresh(group)
        self._fronts()

    def _state(self) -> Any:
        pool = self.pool
        return pool.samples, pool.place, pool.boxes, pool.limits, pool.sweep, pool.alive, pool.done

    def _fronts(self) -> None:
        nearest.list_fronts(
            self.pool.alive,
            self.values,
            self.ids,
            self.stamps,
            self.stamp,
            self.counts,
            self.cut_value,
            self.front_value,
            self.front_id,
        )


def watch(pool: Pool, workers: Workers, memory: int) -> Neighbors:
    """Return neighbors of all groups: a matrix where it fits into `memory` bytes, else lists."""
    return MatrixNeighbors(pool, workers) if matrix_bytes(len(pool)) <= memory else ListNeighbors(pool, workers)
