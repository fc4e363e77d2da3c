"""The dendrogram of zones, computed again from their centers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyproj

from flowveil._errors import InputError

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

_MOST_ZONES = 20_000  # all distances are needed at once: 1.6 GB


class Dendrogram:
    """Zones joined by Ward's criterion, in meters; nodes are the zones, then the merges in their order."""

    def __init__(self, lon: FloatArray, lat: FloatArray) -> None:
        if len(lon) > _MOST_ZONES or not np.isfinite([lon, lat]).all():
            raise InputError(
                "these zones have no dendrogram: they are too many, or one has no center",
                "give the zones that the release was made with",
            )
        self._zones_total = len(lon)
        self._merges = np.zeros((0, 2), np.int64)
        self._above: dict[int, int] | None = None  # made when it is asked for
        if len(lon) > 1:
            from scipy.cluster.hierarchy import linkage  # noqa: PLC0415  slow to import

            self._merges = linkage(_in_meters(lon, lat), method="ward")[:, :2].astype(np.int64)

    def path(self, node: int) -> list[int]:
        """Return a node and those above it, the top left out."""
        if self._above is None:
            made = self._zones_total + np.arange(len(self._merges))
            self._above = dict(zip(self._merges.ravel().tolist(), np.repeat(made, 2).tolist(), strict=True))
        path = [node]
        while path[-1] in self._above:
            path.append(self._above[path[-1]])
        return path[:-1] if len(path) > 1 else path

    def zones(self, node: int) -> IntArray | None:
        """Return the zones under a node, ascending; None if there is no such node below the top."""
        top = self._zones_total + max(len(self._merges) - 1, 0)  # a lone zone is not the top
        if not 0 <= node < top:
            return None
        zones, waiting = [], [node]
        while waiting:
            number = waiting.pop()
            if number < self._zones_total:
                zones.append(number)
            else:
                waiting += self._merges[number - self._zones_total].tolist()
        return np.array(sorted(zones), np.int64)


def _in_meters(lon: FloatArray, lat: FloatArray) -> FloatArray:
    """Project to the equal-area plane around the middle of all points."""
    middle = [(float(values.min()) + float(values.max())) / 2 for values in (lon, lat)]
    plane = pyproj.CRS.from_dict({"proj": "laea", "lon_0": middle[0], "lat_0": middle[1], "datum": "WGS84"})
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", plane, always_xy=True)
    return np.column_stack(to_plane.transform(lon, lat))
