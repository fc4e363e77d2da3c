"""How much of each published area lies in each zone of the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyproj
import shapely

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from scipy import sparse

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places import ZoneTable
    from flowveil._reading.told import Areas


def shares_of_areas(areas: Areas, zones: ZoneTable) -> sparse.csr_array:
    """Return a matrix of areas by zones: the share of an area's size that lies in a zone.

    An area without an outline is placed by its member zones, all alike, where the zones have the same ids; so is every
    area where no zone has an outline. One that has neither lies nowhere. What of an area lies outside all zones is
    missing in the sum of its row.
    """
    from scipy import sparse  # noqa: PLC0415  slow to import

    known = np.array([shape is not None for shape in areas.shapes], bool) & outlined(zones).any()
    row, column, share = (part.tolist() for part in overlaps(only(areas.shapes, known), zones.geometry))
    number = {zone: place for place, zone in enumerate(zones.ids)}
    for area in np.flatnonzero(~known).tolist():
        members = areas.members[area] or []
        inside = [number[zone] for zone in members if zone in number]
        row += [area] * len(inside)
        column += inside
        share += [1 / len(members)] * len(inside) if inside else []
    return sparse.csr_array((share, (row, column)), shape=(len(areas.ids), len(zones.ids)))


def outlined(zones: ZoneTable) -> npt.NDArray[np.bool_]:
    """Return which zones have an outline; a point has none."""
    return np.asarray(shapely.area(zones.geometry) > 0, bool)


def only(shapes: npt.NDArray[np.object_], known: npt.NDArray[np.bool_]) -> npt.NDArray[np.object_]:
    """Return shapes, None where they are not to be known."""
    kept = np.full(len(shapes), None, object)
    kept[known] = shapes[known]
    return kept


def overlaps(shapes: npt.NDArray[np.object_], zones: npt.NDArray[np.object_]) -> tuple[IntArray, IntArray, FloatArray]:
    """Return (shape, zone, share): which share of the size of each shape lies in each zone; points lie in it or not."""
    placed = np.flatnonzero(shapely.area(zones) > 0)
    if not len(placed):
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, np.zeros(0)
    flat = to_plane(zones[placed])
    near = np.flatnonzero(shapely.intersects(shapes, shapely.box(*shapely.total_bounds(zones[placed]))))
    own, theirs = valid(zones[placed], flat), valid(shapes[near], flat)
    shape, zone = shapely.STRtree(own).query(theirs, predicate="intersects")
    size = shapely.area(theirs[shape])
    share = np.ones(len(shape))
    cut = (size > 0) & ~shapely.covers(own[zone], theirs[shape])
    share[cut] = shapely.area(shapely.intersection(theirs[shape[cut]], own[zone[cut]])) / size[cut]
    touched = share > 0
    return near[shape[touched]], placed[zone[touched]], share[touched]


def valid(shapes: npt.NDArray[np.object_], flat: Callable[[FloatArray], FloatArray]) -> npt.NDArray[np.object_]:
    """Return shapes in the plane, valid."""
    sound = np.asarray(shapely.make_valid(shapes), np.object_)
    return np.asarray(shapely.make_valid(shapely.transform(sound, flat)), np.object_)


def to_plane(shapes: npt.NDArray[np.object_]) -> Callable[[FloatArray], FloatArray]:
    """Return a function from degrees to an equal-area plane around the shapes."""
    west, south, east, north = shapely.total_bounds(shapes)
    plane = {"proj": "laea", "lon_0": float(west + east) / 2, "lat_0": float(south + north) / 2, "datum": "WGS84"}
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", pyproj.CRS.from_dict(plane), always_xy=True)
    return lambda points: np.column_stack(to_plane.transform(points[:, 0], points[:, 1]))
