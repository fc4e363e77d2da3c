"""Where tile pairs lie, as arrays, and what is published of parts of space in place of nodes of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import Rectangles, make_frame, tile_bounds, tile_points
from flowveil._problem.solution import Solution

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._flows import Flows


class Positions:
    """Tile pairs in four dimensions, in whole `UNIT`s: longitude and latitude of origin, then of destination."""

    def __init__(self, flows: Flows) -> None:
        bbox = flows.provenance.bbox
        self.frame = make_frame(bbox)  # west, south, east, north of everything
        self._closed = bbox is not None
        self._places = flows.places
        self._ends = (flows.origins, flows.origin), (flows.destinations, flows.destination)

    def points(self) -> IntArray:
        """Return the centers of tiles inside the frame: one row a dimension, one column a tile pair."""
        return np.concatenate([tile_points(self._places, tree, leaf, self.frame) for tree, leaf in self._ends])

    def boxes(self, pairs: IntArray) -> tuple[IntArray, IntArray]:
        """Return lowest and highest values of the tiles of some pairs: one row a pair, one column a dimension."""
        around = [tile_bounds(self._places, tree, leaf[pairs], self.frame) for tree, leaf in self._ends]
        return np.hstack([box[:, :2] for box in around]), np.hstack([box[:, 2:] for box in around])

    def publish(self, region: IntArray, bounds: IntArray, *, overlapping: bool = False) -> Solution:
        """Return regions (lowest and highest values of each) as flows between numbered rectangles, sorted.

        region: by tile pair, -1 for none. Regions with the same bounds are one flow.
        """
        bounds, same = np.unique(bounds, axis=0, return_inverse=True)
        ends = np.concatenate([bounds[:, :, :2].reshape(-1, 4), bounds[:, :, 2:].reshape(-1, 4)])
        distinct, number = np.unique(ends, axis=0, return_inverse=True)
        origin, destination = number.ravel()[: len(bounds)], number.ravel()[len(bounds) :]
        order = np.lexsort((destination, origin))
        flow = np.empty(len(order), np.int64)
        flow[order] = np.arange(len(order))
        return Solution(
            origin[order],
            destination[order],
            np.append(flow[same.ravel()], -1)[region],
            np.zeros_like(origin),
            exact=not overlapping,
            rectangles=Rectangles(distinct, self.frame, self._closed),
            overlapping=overlapping,
        )
