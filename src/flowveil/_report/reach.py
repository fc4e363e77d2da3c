"""How far places in an area are from its middle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import FloatArray

_SIDE = 16  # points a side of the box around an area: a few percent off for one odd shape, far less for a mean of many
_RADIUS = 6_371_009.0  # meters; the mean one of the earth


def mean_reach(shapes: npt.NDArray[np.object_], lon: FloatArray, lat: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return by area the mean distance in meters from its middle to its places, NaN where it has no outline.

    It is measured at points of a regular grid. An area so thin that none of them is in it counts as round.
    sizes: in square kilometers.
    """
    reach = 1000 * 2 / 3 * np.sqrt(sizes / np.pi)
    rows = np.flatnonzero(np.isfinite(lon) & np.isfinite(sizes))
    if not len(rows):
        return reach
    known = shapes[rows]
    shapely.prepare(known)
    west, south, east, north = (bound[:, None] for bound in shapely.bounds(known).T)
    share = (np.arange(_SIDE) + 0.5) / _SIDE
    across, up = (steps.ravel() for steps in np.meshgrid(share, share))
    x, y = west + (east - west) * across, south + (north - south) * up
    inside = shapely.contains_xy(known[:, None], x, y)
    meters = _meters(lon[rows, None], lat[rows, None], x, y)
    counts = inside.sum(axis=1)
    mean = (meters * inside).sum(axis=1) / np.maximum(counts, 1)
    reach[rows] = np.where(counts > 0, mean, reach[rows])
    return reach


def _meters(lon: FloatArray, lat: FloatArray, other_lon: FloatArray, other_lat: FloatArray) -> FloatArray:
    """Return distances on a sphere."""
    lon, lat, other_lon, other_lat = (np.radians(values) for values in (lon, lat, other_lon, other_lat))
    half = np.sin((other_lat - lat) / 2) ** 2 + np.cos(lat) * np.cos(other_lat) * np.sin((other_lon - lon) / 2) ** 2
    distance: FloatArray = 2 * _RADIUS * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
    return distance
