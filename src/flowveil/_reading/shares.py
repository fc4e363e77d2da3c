"""How much of each published area lies in each zone of the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyproj
import shapely

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    import pyarrow as pa
    from scipy import sparse

    from flowveil._arrays import FloatArray
    from flowveil._places import ZoneTable


def shares_of_areas(areas: pa.Table, zones: ZoneTable) -> sparse.csr_array:
    """Return a matrix of areas (rows, as in the table) by zones: the share of an area's size that lies in a zone.

    An area without an outline is placed by its member zones, all alike, where the zones have the same ids; so is every
    area where no zone has an outline. One that has neither lies nowhere. What of an area lies outside all zones is
    missing in the sum of its row.
    """
    from scipy import sparse  # noqa: PLC0415  slow to import

    shapes = shapely.from_wkb(np.array(areas["geometry"].to_pylist(), object))
    members = areas["members"].to_pylist() if "members" in areas.column_names else [None] * len(shapes)
    known = np.array([shape is not None for shape in shapes], bool) & outlined(zones).any()
    row, column, share = _by_overlap(shapes, known, zones)
    number = {zone: place for place, zone in enumerate(zones.ids)}
    for area in np.flatnonzero(~known).tolist():
        zones_of_area = members[area] or []
        inside = [number[zone] for zone in zones_of_area if zone in number]
        row += [area] * len(inside)
        column += inside
        share += [1 / len(zones_of_area)] * len(inside) if inside else []
    return sparse.csr_array((share, (row, column)), shape=(len(shapes), len(zones.ids)))


def outlined(zones: ZoneTable) -> npt.NDArray[np.bool_]:
    """Return which zones have an outline; a point has none."""
    return np.asarray(shapely.area(zones.geometry) > 0, bool)


def _by_overlap(
    shapes: npt.NDArray[np.object_], known: npt.NDArray[np.bool_], zones: ZoneTable
) -> tuple[list[int], list[int], list[float]]:
    """Return (area, zone, share) where outlines overlap, as three lists."""
    placed = outlined(zones)
    if not known.any():
        return [], [], []
    flat = _equal_area(zones.geometry[placed])
    around = shapely.box(*shapely.total_bounds(zones.geometry[placed]))
    near = np.flatnonzero(known)[shapely.intersects(shapes[known], around)]
    own, theirs = (
        np.asarray(shapely.make_valid(shapely.transform(np.asarray(shapely.make_valid(part), object), flat)), object)
        for part in (zones.geometry[placed], shapes[near])
    )
    area, zone = shapely.STRtree(own).query(theirs)
    size = shapely.area(theirs[area])
    share = shapely.area(shapely.intersection(theirs[area], own[zone])) / np.where(size > 0, size, np.inf)
    touched = share > 0
    return near[area[touched]].tolist(), np.flatnonzero(placed)[zone[touched]].tolist(), share[touched].tolist()


def _equal_area(shapes: npt.NDArray[np.object_]) -> Callable[[FloatArray], FloatArray]:
    """Return a function from degrees to an equal-area plane around the shapes."""
    west, south, east, north = shapely.total_bounds(shapes)
    plane = {"proj": "laea", "lon_0": float(west + east) / 2, "lat_0": float(south + north) / 2, "datum": "WGS84"}
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", pyproj.CRS.from_dict(plane), always_xy=True)
    return lambda points: np.column_stack(to_plane.transform(points[:, 0], points[:, 1]))
