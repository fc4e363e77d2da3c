"""Regions of four dimensions as flows between numbered rectangles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import Rectangles
from flowveil._problem import Solution

if TYPE_CHECKING:
    from flowveil._arrays import IntArray


def as_solution(
    region: IntArray, bounds: IntArray, frame: IntArray, *, closed: bool, overlapping: bool = False
) -> Solution:
    """Return regions (low and high of four axes) as flows between numbered rectangles, sorted.

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
        exact=not overlapping,
        rectangles=Rectangles(distinct, frame, closed),
        overlapping=overlapping,
    )
