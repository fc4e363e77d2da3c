"""Which published flow between rectangles each pair of tiles lies in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import tile_points

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._places import Rectangles


def cover_boxes(flows: Flows, rectangles: Rectangles, origin: IntArray, destination: IntArray) -> IntArray:
    """For every tile pair the flow (rectangle `origin[f]` to `destination[f]`) that holds it, -1 for none.

    Flows must be disjoint. Tile pairs of one origin tile share the flows that may hold them.
    """
    frame = rectangles.frame
    tile, first_row = np.unique(flows.origin, return_index=True)
    box, point = rectangles.hold(tile_points(flows.places, flows.origins, tile, frame))
    by_origin = np.argsort(origin, kind="stable")
    start = np.searchsorted(origin[by_origin], np.arange(len(rectangles) + 1))
    by_point = np.argsort(point, kind="stable")
    begin = np.searchsorted(point[by_point], np.arange(len(tile) + 1))
    ends = tile_points(flows.places, flows.destinations, flows.destination, frame)
    low = np.where(rectangles.bounds == frame, rectangles.bounds - 1, rectangles.bounds)[destination, :2]
    high = rectangles.bounds[destination, 2:]
    group = np.full(len(flows), -1, np.int64)
    last_row = np.append(first_row[1:], len(flows))
    for number, (first, last) in enumerate(zip(first_row.tolist(), last_row.tolist(), strict=True)):
        boxes = box[by_point[begin[number] : begin[number + 1]]].tolist()
        near = np.concatenate([by_origin[start[one] : start[one + 1]] for one in boxes] or [np.zeros(0, np.int64)])
        lon, lat = ends[:, first:last, None]
        held = (lon > low[near, 0]) & (lon <= high[near, 0]) & (lat > low[near, 1]) & (lat <= high[near, 1])
        row, place = np.nonzero(held)
        group[first + row] = near[place]
    return group
