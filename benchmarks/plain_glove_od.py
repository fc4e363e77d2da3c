"""GLOVE on flows as its definition reads: a table of all costs, searched whole at every step. Slow on purpose."""

from __future__ import annotations

import numpy as np


def merges(points, trips, passes, budget):
    """Return the merges in order, the rows of each finished group, and the rows left over.

    points: one row a flow, four columns, whole numbers. passes: whether rows may be published. budget: trips that may
    be left over. A group is called by its smallest row; of equal costs the smallest names merge first.
    """
    low, high, trips = points.copy(), points.copy(), trips.copy()
    rows = {group: [group] for group in range(len(points))}
    finished = {group: rows.pop(group) for group in range(len(points)) if passes([group])}
    costs = np.full((len(points), len(points)), np.inf)
    for group in rows:
        _note(costs, group, rows, low, high, trips)
    made = []
    while sum(trips[list(rows)]) > budget and len(rows) > 1:
        one, other = divmod(int(np.argmin(costs)), len(points))  # the first of equals: rows hold the smaller name
        made.append((one, other))
        low[one], high[one] = np.minimum(low[one], low[other]), np.maximum(high[one], high[other])
        trips[one] += trips[other]
        rows[one] += rows.pop(other)
        for name in (one, other):
            costs[name, :] = costs[:, name] = np.inf
        if passes(rows[one]):
            finished[one] = rows.pop(one)
        else:
            _note(costs, one, rows, low, high, trips)
    return made, finished, rows


def _note(costs, group, rows, low, high, trips):
    """Write the costs of merging a group with every other, into the row of the smaller name."""
    others = np.array([other for other in rows if other != group], int)
    union = np.maximum(high[group], high[others]) - np.minimum(low[group], low[others])
    mine = (union - (high[group] - low[group])).sum(axis=1)
    theirs = (union - (high[others] - low[others])).sum(axis=1)
    cost = (trips[group] * mine + trips[others] * theirs) / (trips[group] + trips[others])
    costs[np.minimum(group, others), np.maximum(group, others)] = cost
