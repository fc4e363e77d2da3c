"""Who is left out: the share of trips in no flow, by hour of the day, step of time or group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._measure import cover
from flowveil._release import recount
from flowveil._report import label

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._flows import Flows
    from flowveil._folder import Json
    from flowveil._measure import Published
    from flowveil._release import Release
    from flowveil._trips import TripsLike

_HOURS = "hour-of-day"


def left_out_by_key(flows: Flows, published: Published) -> list[dict[str, Json]]:
    """Return the shares by every column that divides the release."""
    if not flows.divided:
        return []
    group = flows_of_pairs(flows, published)
    step = flows.provenance.time or ""
    return [_shares(flows, group < 0, name, step if name == "time" else "") for name in flows.matrices.column_names]


def flows_of_pairs(flows: Flows, published: Published) -> IntArray:
    """Return by pair of tiles the published flow that counts it, -1 for none."""
    if published.group is not None:
        return published.group
    return cover(flows, published.origin, published.destination, published.matrix, published.time)


def left_out_by_hour(
    folder: Path,
    release: Release,
    trips: TripsLike,
    flows: Flows,
    **options: Any,  # of the input
) -> list[dict[str, Json]]:
    """Return the shares by hour of the day, where trips have a time and the release has none; [] elsewhere.

    All trips of a pair of tiles are in the same flow, or left out together, so that the flows can be counted again by
    hour and laid under the same areas.
    """
    promise = release.manifest["promise"]
    if (
        flows.provenance.time
        or flows.times is not None
        or flows.divided
        or "shapes" in promise
        or "remainders" in promise
    ):
        return []
    try:
        hourly = recount(folder, release, trips, time=_HOURS, unit=None, weight=None, **options)
    except InputError:  # the trips have no time
        return []
    (first, origin), (second, destination) = (
        hourly.places.listed(tree, texts(release.flows[end]))
        for tree, end in ((hourly.origins, "origin"), (hourly.destinations, "destination"))
    )
    kept = (origin >= 0) & (destination >= 0)  # not to or from elsewhere
    of_all = np.zeros(len(hourly), np.int64)  # the release has one matrix
    group = cover(hourly, origin[kept], destination[kept], own=of_all, areas=(first, second))
    return [_shares(hourly, group < 0, "time", _HOURS)]


def _shares(flows: Flows, missing: BoolArray, name: str, step: str) -> dict[str, Json]:
    """Return the share of trips that is missing, by the values of one column of the matrices."""
    values = flows.matrices[name].to_pylist()
    order = list(dict.fromkeys(values))
    of_matrix = np.array([order.index(value) for value in values], np.int64)
    position = of_matrix[flows.matrix]
    every, lost = (
        np.bincount(position, weights=trips, minlength=len(order)) for trips in (flows.trips, flows.trips * missing)
    )
    return {
        "key": "hour of the day" if step == _HOURS else name,
        "values": [label(value, step, flows.provenance.timezone or "UTC") for value in order],
        "shares": (lost / np.maximum(every, 1)).tolist(),
    }
