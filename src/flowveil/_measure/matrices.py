"""Figures of a release with several matrices, or with time as an axis, beside those that pool everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._measure.losses import number

if TYPE_CHECKING:
    from flowveil._flows import Flows
    from flowveil._measure.figures import OverMatrices
    from flowveil._measure.losses import Extent
    from flowveil._measure.measures import Published


def over_matrices(flows: Flows, published: Published, extent: Extent) -> OverMatrices:
    """Return `matrices` (how many, how many withheld, means), `tbar` (mean steps of time of a trip) and `totals`."""
    figures: OverMatrices = {}
    if published.totals is not None:
        kept_in_totals = int(published.totals.sum())
        figures["totals"] = {
            "flows": len(published.totals),
            "trips": kept_in_totals,
            "suppressed": 1 - kept_in_totals / flows.total,
        }
    if extent.steps is not None:
        figures["tbar"] = number(np.average(extent.steps, weights=published.trips))
    if flows.divided:
        count = flows.matrix_count
        all_trips = np.bincount(flows.matrix, weights=flows.trips, minlength=count)
        kept = np.bincount(published.matrix, weights=published.trips, minlength=count)
        sizes = np.bincount(published.matrix, weights=published.trips * np.add(*extent.tiles), minlength=count)
        some = kept > 0
        figures["matrices"] = {
            "count": count,
            "withheld": int((~some).sum()),
            "gbar": number(np.mean(sizes[some] / kept[some])),
            "suppressed": float(np.mean(1 - kept / all_trips)),
        }
    return figures
