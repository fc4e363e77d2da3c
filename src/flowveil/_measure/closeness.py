"""t-closeness: how far the destinations of one origin area are from those of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places import Areas


def t_closeness(origin: IntArray, destination: IntArray, areas: Areas, volume: FloatArray) -> dict[str, float] | None:
    """Return the largest and the mean distance over origin areas; None if the flows have no volume.

    All tiles are equally far from each other, so that the earth mover's distance is the total variation: the share
    of an area's trips that would have to end elsewhere for it to be like the whole. Destination areas may overlap, so
    distributions are compared on the tiles of the axis, over which each flow is spread evenly.
    """
    distinct, place = np.unique(destination, return_inverse=True)
    spread = _Spread(areas.inside(distinct), areas.hierarchy.tiles[0])
    total = volume.sum()
    if not total:
        return None
    whole = spread(np.arange(len(distinct)), np.bincount(place, volume, len(distinct)) / total)
    order = np.argsort(origin, kind="stable")
    runs = np.split(order, np.flatnonzero(np.diff(origin[order])) + 1)
    distances = [
        float(np.abs(spread(place[run], volume[run] / volume[run].sum()) - whole).sum() / 2)
        for run in runs
        if volume[run].any()
    ]
    return {"max": max(distances), "mean": sum(distances) / len(distances)}


class _Spread:
    """Shares of areas as shares of tiles."""

    def __init__(self, inside: list[IntArray], tiles: int) -> None:
        self.size = np.array([len(leaves) for leaves in inside], np.int64)
        self.start = np.cumsum(self.size) - self.size
        self.inside = np.concatenate(inside)
        self.tiles = int(tiles)

    def __call__(self, area: IntArray, share: FloatArray) -> FloatArray:
        count = self.size[area]
        first = self.start[area] - (np.cumsum(count) - count)
        tile = self.inside[np.repeat(first, count) + np.arange(count.sum())]
        return np.bincount(tile, np.repeat(share / count, count), self.tiles).astype(np.float64)
