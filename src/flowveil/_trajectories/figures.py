"""Distributions as a few numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray

_QUANTILES = {"p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9}


def quantiles(values: FloatArray) -> dict[str, float | None]:
    """Return mean and quantiles of the values that are numbers; nulls if there are none."""
    known = values[np.isfinite(values)]
    if not len(known):
        return dict.fromkeys(["mean", *_QUANTILES])
    found: dict[str, float | None] = {"mean": float(known.mean())}
    found.update(zip(_QUANTILES, np.quantile(known, list(_QUANTILES.values())).tolist(), strict=True))
    return found
