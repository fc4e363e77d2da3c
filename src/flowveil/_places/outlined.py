"""Which zone a point lies in: the first, by id, whose outline holds it or passes through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray

_MOST_SHARED = 0.5  # of the smaller of two zones; above it, the file holds zones of several levels
_SLIVER = 1e-6  # of the smaller of two zones; below it, drawing was not exact
_SHOWN = 3


def has_outline(geometry: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Which shapes cover ground: points and lines do not."""
    return np.isin(shapely.get_type_id(geometry), (3, 6)) & ~shapely.is_empty(geometry)


class Outlined:
    """Zones by their outlines. A place on a border, or where zones overlap, is in the one whose id comes first.

    Inside is where a ray crosses the outline an odd number of times: so it is clear for outlines that cross themselves.
    """

    def __init__(self, ids: Sequence[str], geometry: npt.NDArray[np.object_]) -> None:
        self.zone = np.flatnonzero(has_outline(geometry))  # ranks, ascending
        self._shapes = shapely.force_2d(geometry[self.zone])
        self._without = len(geometry) - len(self.zone)
        self._shared = self._overlaps(ids)

    def find(self, lon: FloatArray, lat: FloatArray) -> IntArray:
        """Return the rank of the zone of each point, -1 for none.

        The points of a batch are the index: each zone is prepared once, and asks for the points in its box. Threads
        share no prepared shape.
        """
        placed = np.flatnonzero(np.isfinite(lon) & np.isfinite(lat))
        points = shapely.STRtree(np.asarray(shapely.points(lon[placed], lat[placed]), object))
        shape, point = points.query(self._shapes, predicate="intersects")
        first = np.full(len(lon), len(self.zone), np.int64)
        np.minimum.at(first, placed[point], shape)
        return np.append(self.zone, -1)[first]

    def report(self) -> list[str]:
        """Return what a user should know of the outlines."""
        said = [f"{self._without:,} zones have no outline: no trip is in them"] if self._without else []
        if self._shared:
            named = ", ".join(f"{one!r} and {other!r}" for one, other in self._shared[:_SHOWN])
            more = f" and {len(self._shared) - _SHOWN:,} more" if len(self._shared) > _SHOWN else ""
            said.append(f"zones overlap ({named}{more}): a place in two is in the one whose id comes first")
        return said

    def _overlaps(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return pairs of zones that share ground; raise if one of them has hardly ground of its own."""
        valid = shapely.make_valid(self._shapes)
        one, other = shapely.STRtree(valid).query(valid, predicate="intersects")
        one, other = one[one < other], other[one < other]
        size = shapely.area(valid)
        shared = shapely.area(shapely.intersection(valid[one], valid[other])) / np.minimum(size[one], size[other])
        names = [ids[zone] for zone in self.zone.tolist()]
        if len(bad := np.flatnonzero(shared > _MOST_SHARED)):
            pair = names[one[bad[0]]], names[other[bad[0]]]
            raise InputError(
                f"the zones {pair[0]!r} and {pair[1]!r} cover the same ground",
                "give zones of one level; levels above them are columns, see --hierarchy",
            )
        kept = np.flatnonzero(shared > _SLIVER)
        return [(names[first], names[second]) for first, second in zip(one[kept], other[kept], strict=True)]
