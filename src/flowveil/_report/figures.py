"""Figures and distributions, as numbers that both the page and its JSON twin show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._report.scene import significant

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json

_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)  # bounds of classes within a power of ten
_WIDER = (1.0, 2.0, 5.0)
_MOST_CLASSES = 24


class Figure(NamedTuple):
    """A number and what it means; None where it does not apply."""

    name: str
    meaning: str
    value: float | None


def middle(values: FloatArray | IntArray) -> float | None:
    """Return the median; None of nothing."""
    return significant(float(np.median(values))) if len(values) else None


def weighted_mean(values: FloatArray, weight: FloatArray) -> float | None:
    """Return the mean over what has a value; None if nothing has."""
    good = np.isfinite(values) & (weight > 0)
    return significant(float((values[good] * weight[good]).sum() / weight[good].sum())) if good.any() else None


def distribution(
    name: str,
    title: str,
    axis: str,
    counted: str,
    values: FloatArray | IntArray,
    weight: IntArray | None = None,
    *,
    mark: float | None = None,
    below: bool = False,
) -> dict[str, Json]:
    """Return how many (or how much weight) of the positive values lie in classes that grow with the value.

    mark: a value to point out, such as k; the first class then starts there at the latest.
    below: values that are not positive have a class of their own, before the others and without a lower bound.
    """
    good = np.isfinite(values) & (values > 0)
    kept = values[good].astype(np.float64)
    if not len(kept):
        return {"name": name, "title": title, "axis": axis, "counted": counted, "bounds": [], "amounts": []}
    counts = bool(np.issubdtype(values.dtype, np.integer))
    bounds = _bounds(min(float(kept.min()), mark or math.inf), float(kept.max()), mark, counts=counts)
    group = np.searchsorted(bounds, kept, side="right") - 1
    amounts = np.bincount(group, None if weight is None else weight[good], len(bounds) - 1)
    chart: dict[str, Json] = {"name": name, "title": title, "axis": axis, "counted": counted}
    chart |= {"bounds": bounds, "amounts": amounts.astype(np.int64).tolist()}
    if below and (values <= 0).any():
        chart |= {"bounds": [None, *bounds], "amounts": [int((values <= 0).sum()), *chart["amounts"]]}
    return chart if mark is None else chart | {"mark": mark}


def _bounds(low: float, high: float, mark: float | None, *, counts: bool) -> list[float]:
    """Return round numbers from at most `low` to above `high`, with `mark` among them; whole ones for counts."""
    for steps in (_STEPS, _WIDER, (1.0,)):
        powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 2)
        every = [float(f"{step}e{power}") for power in powers for step in steps]
        every = [bound for bound in every if not counts or bound.is_integer()]
        above = next(number for number, bound in enumerate(every) if bound > high)
        below = max(number for number, bound in enumerate(every) if bound <= low)
        bounds = every[below : above + 1]
        if len(bounds) <= _MOST_CLASSES:
            break
    if mark is not None and mark == low:
        bounds = [float(mark), *(bound for bound in bounds if bound > mark)]
    return bounds
