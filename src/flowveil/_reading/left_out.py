"""How many trips a reader should expect to be left out: a release states the most there can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._reading.told import Told

# Chosen on synthetic cities.
_WINDOW = 50  # flows with less than so many times k trips tell how many there are with less than k
_FEWEST = 50  # flows there; of fewer nothing is concluded
_ROUNDS = 50  # of Newton's method; a dozen are enough


def expect_left_out(told: Told) -> float:
    """Return how many trips were left out by a reader's best guess; 0 where nobody says.

    Methods use up their budget as long as that makes areas smaller. Where all flows go between single tiles nothing
    could be gained: then trips were left out only where fewer than k went, and how many those are follows from how
    much more common small flows are than large ones.
    """
    most = told.left_out
    if most is None or not np.isfinite(most) or told.spans:
        return 0.0
    k = told.manifest["promise"].get("k")
    tiles = [end.tiles[areas] for end, areas in zip(told.ends, (told.origin, told.destination), strict=True)]
    if k is None or not ((tiles[0] == 1) & (tiles[1] == 1))[told.counted].all():
        return most
    below = trips_below(told.trips[told.counted], int(k))
    return most if below is None else min(most, below)


def trips_below(trips: FloatArray, k: int) -> float | None:
    """Return the trips of flows with less than k, given those with k and more; None if these are too few to tell.

    The logarithm of the number of flows with n trips is taken to be a parabola of that of n, the most likely one.
    """
    sizes = np.arange(k, _WINDOW * k)
    seen = np.bincount(trips[trips < _WINDOW * k].astype(np.int64), minlength=_WINDOW * k)[k:]
    if seen.sum() < _FEWEST:
        return None
    powers = _powers(sizes, k)
    curve = np.array([np.log(seen.sum() / k), -1.0, 0.0])
    for _ in range(_ROUNDS):
        expected = np.exp(np.clip(powers @ curve, -30, 30))
        bend = (powers * expected[:, None]).T @ powers + 1e-6 * np.eye(3)
        curve += np.clip(np.linalg.solve(bend, powers.T @ (seen - expected)), -1, 1)
    small = np.arange(1, k)
    return float(small @ np.exp(np.clip(_powers(small, k) @ curve, -30, 30)))


def _powers(sizes: IntArray, k: int) -> FloatArray:
    logs = np.log(sizes / k)
    return np.stack([np.ones(len(logs)), logs, logs**2], axis=1)
