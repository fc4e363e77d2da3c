"""What is lost where flows to elsewhere count as published."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from flowveil._measure.losses import number, total_error
from flowveil._measure.sizes import count_tiles, leaf_places, sizes
from flowveil._places import ROOT, NodeAreas

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._flows import Flows
    from flowveil._measure.losses import Extent
    from flowveil._measure.measures import Published, Rest
    from flowveil._places import Areas


def with_rest(flows: Flows, published: Published, extent: Extent, tiles: str) -> dict[str, float | None]:
    """Return flows to elsewhere, their trips, and what is lost with them.

    The far end is a whole axis, which is all that a reader knows of it. With `_reached` it is the tiles that the trips
    of the flow really reach.
    """
    rest = published.elsewhere
    if rest is None:
        return {}
    near, other = extent.areas[rest.first], 1 - rest.first
    axis = NodeAreas(flows.places, (flows.origins, flows.destinations)[other])
    whole = np.full(len(rest.area), ROOT)
    known = (count_tiles(near, rest.area, tiles), sizes(near, rest.area))
    far = (count_tiles(axis, whole, tiles), sizes(axis, whole))
    kept, reported = int(published.trips.sum()), int(rest.trips.sum())
    left = flows.total - kept - reported
    figures: dict[str, float | None] = {
        "flows": len(rest.trips),
        "trips": reported,
        "suppressed": left / flows.total,
    }
    for suffix, reached in (("", far), ("_reached", _reached(flows, rest, near, axis, extent.group))):
        for_tiles, for_sizes = (
            (own, others) if rest.first == 0 else (others, own) for own, others in zip(known, reached, strict=True)
        )
        trips = np.append(published.trips, rest.trips)
        counted = [np.append(extent.tiles[side], for_tiles[side]) for side in (0, 1)]
        squares = [np.append(extent.square_kilometers[side], for_sizes[side]) for side in (0, 1)]
        figures |= {
            f"gbar{suffix}": number(np.average(counted[0] + counted[1], weights=trips)),
            f"mao{suffix}": number(fsum(squares[0] * trips) / trips.sum()),  # whatever the order of flows
            f"mad{suffix}": number(fsum(squares[1] * trips) / trips.sum()),
            f"g_delta{suffix}": number(total_error(trips, (counted[0], counted[1]), extent.whole, left)),
        }
    return figures


def _reached(flows: Flows, rest: Rest, near: Areas, axis: NodeAreas, group: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return tiles and square kilometers of the tiles that the trips of each flow to elsewhere reach."""
    far = (flows.origin, flows.destination)[1 - rest.first]
    own = np.where(group < 0, _holders(flows, rest, near), -1)
    rows = np.flatnonzero(own >= 0)
    width = int(far.max(initial=0)) + 1
    flow, tile = np.divmod(np.unique(own[rows] * width + far[rows]), width)
    count = np.bincount(flow, minlength=len(rest.area)).astype(np.float64)
    return count, np.bincount(flow, weights=sizes(axis, tile), minlength=len(rest.area)).astype(np.float64)


def _holders(flows: Flows, rest: Rest, near: Areas) -> IntArray:
    """Return for each pair of tiles the flow to elsewhere of the smallest area that holds its near end, -1 for none."""
    tree = (flows.origins, flows.destinations)[rest.first]
    leaf = leaf_places(tree, (flows.origin, flows.destination)[rest.first])
    distinct, of = np.unique(rest.area, return_inverse=True)
    inside = near.inside(distinct)
    count = np.array([len(own) for own in inside], np.int64)[of]
    flow = np.repeat(np.arange(len(of)), count)
    place = np.concatenate([inside[area] for area in of.tolist()] or [np.zeros(0, np.int64)])
    width = int(tree.is_leaf.sum())
    key = rest.matrix[flow] * width + place
    order = np.lexsort((count[flow], key))
    known, first = np.unique(key[order], return_index=True)
    holder = np.append(flow[order][first], -1)
    wanted = flows.matrix * width + leaf
    at = np.searchsorted(known, wanted)
    return np.asarray(np.where(np.append(known, -1)[at] == wanted, holder[at], -1), np.int64)
