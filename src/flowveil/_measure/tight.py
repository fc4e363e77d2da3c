"""Rectangles as papers measure them: the smallest box around the trips of a flow, and all tiles that it touches.

Such boxes are never published, since their sides are places of single trips: these figures are for comparing only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._measure.losses import distances, number
from flowveil._measure.sizes import centers
from flowveil._places import NodeAreas, meters_between, square_kilometers

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._flows import Flows
    from flowveil._measure.figures import Tight


def as_papers(flows: Flows, trips: IntArray, group: IntArray) -> Tight:
    """Return gbar (ATG paper, 4.3), gdm (thesis, Eq. 4.3), mao and mad of the smallest boxes around tile centers."""
    rows = np.flatnonzero(group >= 0)
    counts, sizes, meters = [], [], []
    for tree, leaf in ((flows.origins, flows.origin[rows]), (flows.destinations, flows.destination[rows])):
        areas = NodeAreas(flows.places, tree)
        lon, lat = centers(areas, leaf)
        low, high = (_ends(which, group[rows], lon, lat, len(trips)) for which in (np.minimum, np.maximum))
        boxes = np.asarray(shapely.box(low[0], low[1], high[0], high[1]), object)
        counts.append(_touched(boxes, _outlines(areas, np.flatnonzero(tree.is_leaf))))
        sizes.append(square_kilometers(boxes))
        middle = (low + high) / 2
        meters.append(meters_between(lon, lat, *middle[:, group[rows]]))
    return {
        "gbar": number(np.average(counts[0] + counts[1], weights=trips)),
        "gdm": distances(np.concatenate(meters), np.tile(flows.trips[rows], 2)),
        "mao": number(np.average(sizes[0], weights=trips)),
        "mad": number(np.average(sizes[1], weights=trips)),
    }


def _ends(which: np.ufunc, group: IntArray, lon: FloatArray, lat: FloatArray, count: int) -> FloatArray:
    """Return the lowest or highest longitude and latitude of each flow."""
    ends = np.full((2, count), np.inf if which is np.minimum else -np.inf)
    which.at(ends[0], group, lon)
    which.at(ends[1], group, lat)
    return ends


def _outlines(areas: NodeAreas, leaves: IntArray) -> npt.NDArray[np.object_]:
    """Return the outlines of tiles, their centers where they have none."""
    shapes = areas.describe(leaves).geometry
    points = np.asarray(shapely.points(*areas.centers(leaves)), object)
    return np.where(shapely.is_missing(shapes), points, shapes)


def _touched(boxes: npt.NDArray[np.object_], tiles: npt.NDArray[np.object_]) -> IntArray:
    """Return how many tiles each box touches."""
    box, _ = shapely.STRtree(tiles).query(boxes, predicate="intersects")
    return np.bincount(box, minlength=len(boxes))
