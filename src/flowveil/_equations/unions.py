"""A union of cells that holds somebody for certain, but fewer than a crowd, if there is one.

In a network, and where blocks are large, one program finds it. The most trips of a set are, by the duality of linear
programs, the least sum of equations that covers it; the fewest are the largest sum of equations within it. So what is
sought is a set, a covering sum below k, and a sum within the set above 0. In other blocks whole numbers may tell more:
there a set is guessed that fits some tables, and every table that it does not fit is kept for the next guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import FloatArray
    from flowveil._equations.bounds import Bounds

_MOST_TIMES = 8  # an equation is added or taken away
_ABOVE_NOBODY = 0.3  # the fewest trips of a set are whole: any number above 0 will do, and this is no error of rounding
_BELOW = 1e-3
_MOST_SECONDS, _STOPPED = 60.0, 1  # for one program, and what SciPy says of one that was stopped


def find_union(bounds: Bounds, small: list[int], k: int, known: Sequence[tuple[int, ...]]) -> list[int] | None:
    """Return some of the cells that hold 1 to k - 1 trips together and contain no known set; None if there are none.

    An empty list: it was not found out in time.
    """
    return _guess(bounds, small, k, known) if bounds.whole else _solve(bounds, small, k, known)


def _guess(bounds: Bounds, small: list[int], k: int, known: Sequence[tuple[int, ...]]) -> list[int] | None:
    """Return such a set, with intervals in whole numbers."""
    from scipy.optimize import Bounds as Limits  # noqa: PLC0415  slow to import
    from scipy.optimize import LinearConstraint, milp  # noqa: PLC0415  slow to import

    fits = [LinearConstraint(np.isin(small, cells).astype(float)[None], -np.inf, len(cells) - 1) for cells in known]
    ones = np.ones(len(small))
    fits.append(LinearConstraint(ones[None], 1, np.inf))
    while True:
        result = milp(ones, constraints=fits, integrality=np.ones(len(small), np.int64), bounds=Limits(0 * ones, ones))
        if result.x is None:
            return None
        cells = [cell for cell, value in zip(small, result.x, strict=True) if value > 0.5]
        weight = np.full(bounds.count, 0.0)
        weight[small] = 1 / (1 + len(small) * max(bounds.block.trips))  # of two tables the one with less elsewhere
        weight[cells] = 1
        tables = [np.rint(bounds.table(weight)[small]), np.rint(bounds.table(-weight)[small])]
        inside = np.isin(small, cells)
        if tables[0][inside].sum() >= 1 and tables[1][inside].sum() <= k - 1:
            return cells
        fits += [LinearConstraint(table[None], 1, k - 1) for table in tables]


def _solve(bounds: Bounds, small: list[int], k: int, known: Sequence[tuple[int, ...]]) -> list[int] | None:
    """Return such a set, with intervals of linear programs."""
    from scipy.optimize import Bounds as Limits  # noqa: PLC0415  slow to import
    from scipy.optimize import LinearConstraint, milp  # noqa: PLC0415  slow to import
    from scipy.sparse import coo_array, csr_array, hstack  # noqa: PLC0415  slow to import

    rows, size = len(bounds.block.rows), len(small)
    chosen = coo_array((np.ones(size), (small, np.arange(size))), shape=(bounds.count, size))
    sums = bounds.matrix.T
    nothing = csr_array((bounds.count, rows))
    trips: FloatArray = np.array(bounds.block.trips, np.float64)
    constraints = [
        LinearConstraint(csr_array(hstack([-chosen, sums, nothing])), 0, np.inf),
        LinearConstraint(csr_array(hstack([chosen, nothing, -sums])), 0, np.inf),
        LinearConstraint(np.concatenate([np.zeros(size), trips, np.zeros(rows)])[None], -np.inf, k - _BELOW),
        LinearConstraint(np.concatenate([np.zeros(size + rows), trips])[None], _ABOVE_NOBODY, np.inf),
    ]
    for cells in known:
        inside = np.isin(small, cells).astype(np.float64)
        constraints.append(LinearConstraint(np.append(inside, np.zeros(2 * rows))[None], -np.inf, len(cells) - 1))
    is_set = np.concatenate([np.ones(size), np.zeros(2 * rows)])
    result = milp(
        is_set,
        constraints=constraints,
        integrality=is_set.astype(np.int64),
        bounds=Limits(np.where(is_set > 0, 0, -_MOST_TIMES), np.where(is_set > 0, 1, _MOST_TIMES)),
        options={"time_limit": _MOST_SECONDS},
    )
    if result.x is None:
        return [] if result.status == _STOPPED else None
    return [cell for cell, value in zip(small, result.x[:size], strict=True) if value > 0.5]
