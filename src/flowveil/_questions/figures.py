"""How much two answers to the same question have in common: one definition each, for every kind of release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

_ROUNDS = 50  # of Newton's method
_FEWEST = 10  # pairs of districts; a model of fewer says nothing
_LARGE = 30.0  # exponents are kept below it while a model is fitted


def common(before: FloatArray, after: FloatArray) -> float:
    """Return the common part of two answers, 0 to 1: 1 - sum |a - b| / (sum |a| + sum |b|).

    Without negative numbers it is 2 sum min(a, b) / (sum a + sum b), the common part of commuters.
    """
    whole = float(np.abs(before).sum() + np.abs(after).sum())
    return 1 - float(np.abs(before - after).sum()) / whole if whole else 1.0


def shares(amounts: FloatArray) -> FloatArray:
    """Return amounts as shares of their sum; noise below zero counts as nothing."""
    positive = np.maximum(amounts, 0)
    return np.asarray(positive / positive.sum() if positive.any() else positive, np.float64)


def strongest(amounts: FloatArray, count: int) -> IntArray:
    """Return the places of the largest amounts above 0, largest first; of equal ones the first."""
    order = np.argsort(-amounts, kind="stable")[:count]
    return order[amounts[order] > 0]


def rank_correlation(one: FloatArray, other: FloatArray) -> float | None:
    """Return the correlation of ranks (Spearman), equal values sharing the mean of theirs; None if all are equal."""
    ranks = [_ranks(values) for values in (one, other)]
    if len(one) < 2 or any(rank.std() == 0 for rank in ranks):
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: FloatArray) -> FloatArray:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place], np.float64)


def gravity(between: FloatArray, kilometers: FloatArray) -> dict[str, float] | None:
    """Return the exponents of a gravity model of trips between different districts; None where there are too few.

    trips = c * departures^origin * arrivals^destination / kilometers^distance, fitted by Poisson regression to all
    pairs of districts that have departures and arrivals, pairs without trips among them.
    """
    trips = np.maximum(between, 0.0)
    np.fill_diagonal(trips, 0.0)
    departures, arrivals = trips.sum(axis=1), trips.sum(axis=0)
    row, column = np.nonzero((departures > 0)[:, None] & (arrivals > 0) & (kilometers > 0))
    if len(row) < _FEWEST:
        return None
    logs = [np.log(departures[row]), np.log(arrivals[column]), -np.log(kilometers[row, column])]
    factors = np.stack([np.ones(len(row)), *logs], axis=1)
    if np.linalg.matrix_rank(factors) < factors.shape[1]:
        return None
    seen = trips[row, column]
    exponents = np.array([np.log(seen.mean()), 0.0, 0.0, 0.0])
    for _ in range(_ROUNDS):
        expected = np.exp(np.clip(factors @ exponents, -_LARGE, _LARGE))
        bend = (factors * expected[:, None]).T @ factors
        exponents += np.clip(np.linalg.lstsq(bend, factors.T @ (seen - expected), rcond=None)[0], -2, 2)
    return dict(zip(("origin", "destination", "distance"), exponents[1:].tolist(), strict=True))
