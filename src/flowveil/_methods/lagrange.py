"""Search for the price of a withheld trip at which a family of cuts just keeps its promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._methods.narrow import Between, between

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import FloatArray
    from flowveil._methods.cuts import Cut, Splits

GROWTH = 8.0  # of the price until a cut suppresses little enough
SAME = 1e-12  # relative difference of costs that is rounding
_SAMPLE = 100_000  # cells
_CLOSE = 1.6  # times the lower price: what matters between two is much less than all


def bracket(splits: Splits, enough: Callable[[Cut], bool]) -> tuple[Cut, Cut]:
    """Return neighbors on the lower hull of (suppressed, loss): the first too fine for `enough`, the second not.

    `enough` is true from some price of withheld trips on. Where it is true from price 0 on, both are the finest cut;
    where it is never true, both are the one that suppresses least.
    """
    fine = splits.best(0.0)
    if enough(fine):
        return fine, fine
    coarse = fine
    lam = usual_rate(splits)
    while not enough(coarse):
        if coarse.suppressed == splits.least_suppressed:
            return coarse, coarse
        fine, coarse = coarse, splits.best(lam)
        lam *= GROWTH
    return close_in(splits, fine, coarse, enough)


def close_in(splits: Splits, fine: Cut, coarse: Cut, enough: Callable[[Cut], bool]) -> tuple[Cut, Cut]:
    """Return neighbors on the lower hull between two cuts that are best, the first too fine for `enough`.

    Each step takes the price at which the two cost the same: where the tangents of the dual meet.
    """
    near: Splits | Between = splits
    while fine.suppressed > coarse.suppressed:
        lam = price_between(fine, coarse)
        if near is splits and coarse.lam <= fine.lam * _CLOSE:
            near = between(splits, fine.lam, coarse.lam)
        middle = near.best(lam)
        if middle.value(lam) >= coarse.value(lam) * (1 - SAME):
            break
        if enough(middle):
            coarse = middle
        else:
            fine = middle
    return fine, coarse


def price_between(fine: Cut, coarse: Cut) -> float:
    """Return the price of a withheld trip at which two cuts cost the same."""
    if fine.suppressed == coarse.suppressed:
        return coarse.lam
    return (coarse.loss - fine.loss) / (fine.suppressed - coarse.suppressed)


def usual_rate(splits: Splits) -> float:
    """Return a loss by trip that is usual among the cells that may be published: the median of a sample."""
    sample = slice(None, None, len(splits.cube) // _SAMPLE + 1)
    rate: FloatArray = splits.loss[sample] / splits.cube.trips[sample]
    rate = rate[np.isfinite(rate) & (rate > 0)]
    return float(np.median(rate)) if len(rate) else 1.0
