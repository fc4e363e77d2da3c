"""Whether true paths are among synthetic ones: how near the nearest synthetic path is to every true one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._synthesis.clock import MINUTES_PER_DAY

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray
    from flowveil._synthesis.measure import Traces

_METERS = 500  # edge of the squares
_HOURS = 6  # of the day, of the parts that are told apart
_MOST_USERS = 1_000

NEAREST = {
    "identical": "share of users who have a synthetic path with the same places at the same hours",
    "nearest_drawn": "distance of a user to the nearest synthetic path, median: 0 is the same, 1 nothing in common",
    "nearest_true": "distance of a user to the nearest other user, median",
}


def nearest_shares(true: Traces, drawn: Traces, seed: int = 0) -> dict[str, float]:
    """Return how near the nearest synthetic path is to true ones, beside how near two true ones are; 0 is the same."""
    random = np.random.default_rng(seed)
    users = random.permutation(len(true.weight))[:_MOST_USERS]
    others = random.permutation(len(true.weight))[: len(drawn.weight)]
    to_drawn = distances(true, drawn)[users].min(axis=1) if len(drawn.weight) else np.ones(len(users))
    among = distances(true, true)
    np.fill_diagonal(among, np.inf)
    to_true = among[users][:, others].min(axis=1)
    others_near = to_true[np.isfinite(to_true)]
    return {
        "identical": float((to_drawn == 0).mean()),
        "nearest_drawn": float(np.median(to_drawn)),
        "nearest_true": float(np.median(others_near)) if len(others_near) else 1.0,
    }


def distances(one: Traces, other: Traces) -> FloatArray:
    """Return the distance of every path of one set to every one of the other: 0 for the same, 1 for nothing in common.

    Half the sum of differences of the shares of samples by square and part of the day.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  slow to import

    keys = [np.stack([each.cells(_METERS), each.minute % MINUTES_PER_DAY // 60 // _HOURS]) for each in (one, other)]
    _, number = np.unique(np.concatenate(keys, axis=1), axis=1, return_inverse=True)
    parts = np.split(number.ravel(), [len(one.user)])
    width = int(number.max(initial=0)) + 1
    tables = []
    for each, cell in zip((one, other), parts, strict=True):
        many = np.bincount(each.user, minlength=len(each.weight))
        shape = (len(each.weight), width)
        tables.append(csr_array((1 / many[each.user], (each.user, cell)), shape=shape).toarray())
    shared = np.empty((len(tables[0]), len(tables[1])))
    for row, shares in enumerate(tables[0]):
        held = np.flatnonzero(shares)
        shared[row] = np.minimum(shares[held], tables[1][:, held]).sum(axis=1)
    return np.round(1 - shared, 12)
