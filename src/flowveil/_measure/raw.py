"""Distances from where trips really start and end, in place of the centers of their tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._flows import locate_trips
from flowveil._measure.losses import distances
from flowveil._measure.sizes import centers
from flowveil._places import meters_between

if TYPE_CHECKING:
    from flowveil._flows import Flows
    from flowveil._measure.losses import Extent


def raw_distances(flows: Flows, extent: Extent) -> dict[str, float] | None:
    """Return mean, median and standard deviation of meters to the centers of areas; None without coordinates."""
    located = locate_trips(flows)
    if located is None:
        return None
    group = extent.group[located.pair]
    inside = group >= 0
    meters = []
    for (lon, lat), areas, ends in zip((located.start, located.end), extent.areas, extent.ends, strict=True):
        meters.append(meters_between(lon[inside], lat[inside], *centers(areas, ends[group[inside]])))
    return distances(np.concatenate(meters), np.tile(located.trips[inside], 2))
