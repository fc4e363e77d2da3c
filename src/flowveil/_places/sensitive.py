"""Sensitive places: clinics, shelters and the like, which the owner of the trips knows and flows must not pin down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._errors import InputError
from flowveil._places.h3index import is_point
from flowveil._places.zone_table import read_points, read_shapes

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._places.family import Numbered
    from flowveil._places.places import Places
    from flowveil._places.zone_table import ZonesLike

_WHAT = "sensitive places"


@dataclass(frozen=True, eq=False)
class Sensitive:
    """Places that no area of fewer than so many tiles may touch."""

    shape: npt.NDArray[np.object_]  # points or outlines in degrees
    tiles: int  # the fewest, seen in the data or not

    def barred(self, places: Places, areas: Numbered, numbers: IntArray) -> BoolArray:
        """Return which areas, given by number, are too small beside a sensitive place.

        It goes by tiles and outlines as they are published. It is not monotone: a small area beside the place passes,
        and one that holds both may not.
        """
        barred = np.zeros(len(numbers), bool)
        few = np.flatnonzero(areas.tiles[numbers] < self.tiles)  # those seen: never more than there are
        distinct, place = np.unique(numbers[few], return_inverse=True)
        known = places.describe(areas, distinct)
        small = np.flatnonzero((known.tiles >= 0) & (known.tiles < self.tiles))
        if any(known.geometry[area] is None for area in small.tolist()):
            raise InputError(
                f"some zones have no outline, so it is not known whether {_WHAT} lie in them",
                "give zones with outlines, or leave out --sensitive",
            )
        touched = np.zeros(len(distinct), bool)
        touched[small[shapely.STRtree(self.shape).query(known.geometry[small], predicate="intersects")[0]]] = True
        barred[few] = touched[place]
        return barred


def read_sensitive(source: ZonesLike) -> npt.NDArray[np.object_]:
    """Read sensitive places as shapes in degrees: points (lon, lat) or outlines, of a table or file like zones."""
    _, shape = read_shapes(source, _WHAT)
    if not all(one is not None for one in shape):
        _, lon, lat = read_points(source, _WHAT)
        missing = np.array([one is None for one in shape], bool)
        if not is_point(lon, lat)[missing].all():
            raise InputError(
                "a sensitive place has neither an outline nor a point on the globe", "give lon and lat, or geometry"
            )
        shape[missing] = shapely.points(np.column_stack([lon, lat])[missing])
    if not len(shape) or any(shapely.is_empty(shape)):
        raise InputError(f"there are no {_WHAT}, or one is empty", "give one row for each place")
    return shape
