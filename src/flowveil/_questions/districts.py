"""Districts that questions are about: zones of a user's own, or squares by a public rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from flowveil._places import read_zones

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places import ZoneTable

_SIDES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # kilometers
_MOST = 150  # squares
_TAIL = 0.01  # of the ends of trips at each side: single ones far away would make squares large
_KILOMETERS = 111.195  # of a degree of latitude


def make_squares(lon: FloatArray, lat: FloatArray, trips: IntArray) -> tuple[ZoneTable, str]:
    """Return squares over where trips start and end, and the rule by which they were made.

    The smallest round side with which at most 150 squares cover all but the outermost hundredth of ends at each side.
    Squares begin at longitude and latitude 0, so that other releases of the same trips are asked about the same ones.
    """
    (west, east), (south, north) = (_span(values, trips) for values in (lon, lat))
    stretch = max(float(np.cos(np.radians(np.round((south + north) / 2)))), 0.01)  # of a whole degree: the same for all
    for side in _SIDES:
        high, wide = side / _KILOMETERS, side / _KILOMETERS / stretch
        first, last = np.floor(west / wide), np.floor(east / wide)
        low, top = np.floor(south / high), np.floor(north / high)
        if (last - first + 1) * (top - low + 1) <= _MOST:
            break
    columns, rows = np.arange(first, last + 1), np.arange(low, top + 1)
    x, y = (axis.ravel() for axis in np.meshgrid(columns, rows))
    boxes = shapely.box(x * wide, y * high, (x + 1) * wide, (y + 1) * high)
    names = [f"{int(a - first) + 1} east, {int(b - low) + 1} north" for a, b in zip(x, y, strict=True)]
    table = pa.table({"zone_id": names, "geometry": pa.array(shapely.to_wkb(boxes).tolist(), pa.binary())})
    return read_zones(table), f"{len(names)} squares of {side:g} km, counted from the southwest"


def _span(values: FloatArray, trips: IntArray) -> tuple[float, float]:
    """Return from where to where values reach, but for the outermost of them."""
    order = np.argsort(values)
    reached = np.cumsum(trips[order])
    low, high = np.searchsorted(reached, [_TAIL * reached[-1], (1 - _TAIL) * reached[-1]])
    return float(values[order[low]]), float(values[order[min(high, len(order) - 1)]])
