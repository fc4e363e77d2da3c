"""The best of all cuts within a budget or a precision: close the gap that the best cuts at single prices leave."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._methods.lagrange import GROWTH, price_between, usual_rate
from flowveil._methods.near import ROUNDING, Search
from flowveil._methods.spend import spend

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._methods.cuts import Cut, Splits
    from flowveil._methods.near import Near

_NARROWER = 8.0  # times, where there are too many cuts within a gap
_TRIES = 3
_NONE = 2 * ROUNDING  # a relative gap that is none


def finest(splits: Splits, fine: Cut, coarse: Cut, budget: int) -> Cut:
    """Return the cut of least mean loss that suppresses no more than the budget; its `gap` says how sure that is.

    fine, coarse: neighbors on the lower hull of (suppressed, loss), the second one within the budget.
    """
    lam, best = price_between(fine, coarse), coarse
    cut = spend(splits, coarse, budget - coarse.suppressed, lam, worth=coarse.worth)
    if not len(cut.published):
        cut = _some(splits, cut)
    # Where trips lose more on average than is gained for each one that is withheld, fewer should be than may be.
    while lam < cut.worth < np.inf:
        other = splits.best(cut.worth)
        if not other.mean < cut.mean * (1 - ROUNDING):
            lam, best = cut.worth, other
            break
        cut = other
    value = best.value(lam)
    gap = cut.ceiling(lam, budget) - value
    if not gap > _NONE * value or not cut.mean:  # NaN where nothing can be published
        return replace(cut, gap=0.0)
    near, gap = _look(splits, lam, value, gap, budget)
    if near is not None and len(near.loss):
        means = near.loss / cut.trips_of_mean(near.withheld)
        number = int(np.argmin(means))
        cut = min(cut, near.cut(number), key=lambda cut: cut.mean) if means[number] < cut.mean else cut
    left = cut.ceiling(lam, budget) - value - (gap if splits.cube.complete else 0.0)
    return replace(cut, gap=left / (cut.mean * cut.trips_of_mean(budget)) if left > _NONE * value else 0.0)


def most_complete(
    splits: Splits, fine: Cut, coarse: Cut, cut: Cut, max_gbar: float, precise: Callable[[Cut], bool]
) -> Cut:
    """Return the cut of least suppression whose mean loss is at most `max_gbar`, or `cut` where none is known.

    fine, coarse: neighbors on the lower hull of (suppressed, loss), the first one as fine as that. precise: tells
    which cuts are.
    """
    total = splits.cube.total
    most = (cut.suppressed if precise(cut) else total) - 1
    if most < splits.least_suppressed:
        return replace(cut, gap=0.0)
    lam, best = price_between(fine, coarse), coarse
    if lam < max_gbar:
        lam, best = max_gbar, splits.best(max_gbar)
    value = best.value(lam)
    gap = max_gbar * total + (lam - max_gbar) * most - value + _NONE * value
    if gap <= 0:
        return replace(cut, gap=0.0)
    near, looked = _look(splits, lam, value, gap, most)
    if near is None:
        return cut
    good = near.loss <= max_gbar * (total - near.withheld) * (1 + _NONE)
    for number in np.flatnonzero(good).tolist():
        other = near.cut(number)
        if precise(other):
            cut = other
            break
    return replace(cut, gap=0.0) if looked == gap else cut


def _look(splits: Splits, lam: float, value: float, gap: float, most: int) -> tuple[Near | None, float]:
    """Return the cuts within a gap, or within as much of it as is not too much work, and how much that is."""
    search = Search(splits, lam, value)
    for _ in range(_TRIES):
        near = search.find(gap, most)
        if near is not None:
            return near, gap
        gap /= _NARROWER
    return None, 0.0


def _some(splits: Splits, nothing: Cut) -> Cut:
    """Return a cut that publishes something, where one does."""
    cut, lam = nothing, usual_rate(splits)
    while not len(cut.published) and splits.least_suppressed < splits.cube.total:
        cut = splits.best(lam)
        lam *= GROWTH
    return cut
