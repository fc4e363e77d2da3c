"""What was left out between two places: less than a flow needs, however much a model expects there.

Places around each other could have been joined into one flow: so the limit holds for all pairs of a block that is as
large as small flows are. A model that knows little of single pairs expects many trips where there are few, and these
pairs are the ones that were left out: so numbers are taken to be spread widely around what is expected (geometric).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray

_NEAR = 1 / 8  # of the limit: what is expected to be less is hardly ever more than the limit
_ROUNDS, _CLOSE = 60, 1e-6
_MOST = 1e3  # times the limit: more changes nothing


def thinned(expected: FloatArray, dense: FloatArray, total: float, below: float) -> FloatArray:
    """Return factors that turn expected trips into trips that were left out, which add up to the total.

    dense: what is expected on a whole block, of which less than a limit was left out.
    """
    every = float(expected.sum())
    if not every > 0:
        return np.zeros(expected.shape)
    scale = total / every
    for _ in range(_ROUNDS if np.isfinite(below) else 0):
        near = (dense * scale > _NEAR * below) & (expected > 0)
        kept = _kept(scale * dense[near], below)
        trips = scale * (every - float(((1 - kept) * expected[near]).sum()))
        if abs(trips - total) < _CLOSE * total or (near.any() and scale * dense[near].min() > _MOST * below):
            break
        scale *= total / trips
    near = (dense * scale > _NEAR * below) & (expected > 0)
    factors = np.full(expected.shape, scale)
    factors[near] *= _kept(scale * dense[near], below)
    return np.asarray(factors * (total / float((factors * expected).sum())), np.float64)


def _kept(mean: FloatArray, below: float) -> FloatArray:
    return np.asarray(mean_below(mean, below) / mean, np.float64)


def mean_below(mean: FloatArray, below: float) -> FloatArray:
    """Return the mean of those numbers of a geometric distribution that are below a limit."""
    mean = np.minimum(mean, _MOST * below)
    over = np.exp(below * np.log(mean / (1 + mean)))  # the chance of the limit and more
    return np.asarray(mean - below * over / (1 - over), np.float64)


def median(mean: FloatArray, square: FloatArray) -> FloatArray:
    """Return the numbers that sums are as likely above as below.

    mean: of each sum. square: the squares of the means of its parts, added up; parts are geometric, so that this is
    what the variance of the sum is more than its mean.
    """
    from scipy.special import betainc  # noqa: PLC0415  slow to import

    found = np.zeros(mean.shape)
    some = mean >= 0.5  # else nothing is more likely than not
    mean, shape = mean[some], mean[some] ** 2 / np.maximum(square[some], 1e-300)
    shape = np.minimum(shape, 1e6)  # beyond, chance is that of Poisson
    low, high = np.full(len(mean), -1.0), np.ceil(mean)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        enough = betainc(shape, middle + 1, shape / (shape + mean)) >= 0.5
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    found[some] = high
    return found
