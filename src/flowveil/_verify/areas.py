"""What areas.parquet says of each area, compared with what its id says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shapely

from flowveil._verify.broken import broken, shown
from flowveil._verify.geo import TOLERANCE, is_outline, read_shapes
from flowveil._verify.ground import close

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

    from flowveil._verify.ground import Ground, Point
    from flowveil._verify.tables import AreasTable


def check_areas(areas: AreasTable, ground: Ground, bbox: tuple[float, float, float, float] | None) -> None:
    """Check ids, tiles, centers and outlines."""
    for area in dict.fromkeys(areas.area):
        if area != ground.top:
            ground.check_id(area)
    shapes = read_shapes(areas.geometry)
    checked = set()  # most areas are there as origin and as destination
    for row, area in enumerate(areas.area):
        said = (area, areas.lon[row], areas.lat[row], areas.tiles[row], areas.geometry[row])
        if said in checked:
            continue
        checked.add(said)
        point = _point(areas, row)
        if area == ground.top:
            _check_top(ground, areas.tiles[row], point, shapes[row], bbox)
            continue
        if areas.tiles[row] != ground.tiles(area):
            raise broken(f"the number of tiles of the area {shown(area)} is wrong")
        if not ground.is_center(area, point):
            raise broken(f"the center of the area {shown(area)} is wrong")
        if not ground.is_shape(area, shapes[row]):
            raise broken(f"the geometry of the area {shown(area)} is wrong")


def _point(areas: AreasTable, row: int) -> Point | None:
    lon, lat = areas.lon[row], areas.lat[row]
    if lon is None and lat is None:
        return None
    if lon is None or lat is None or not (abs(lon) <= 180 and abs(lat) <= 90):  # also when one is NaN
        raise broken(f"the center of the area {shown(areas.area[row])} is not a point on the globe")
    return lon, lat


def _check_top(
    ground: Ground,
    tiles: int | None,
    point: Point | None,
    shape: BaseGeometry | None,
    bbox: tuple[float, float, float, float] | None,
) -> None:
    """Check that the top says nothing but the bbox that the user typed."""
    if bbox is None:
        if tiles is not None or point is not None or shape is not None:
            raise broken(f"the area {ground.top} has tiles, a center or a geometry, though no bbox was given")
        return
    if tiles is not None and tiles != ground.most_tiles_of_bbox():
        raise broken(f"the number of tiles of the area {ground.top} is not that of the bbox")
    west, south, east, north = bbox
    if point is None or not close(point, ((west + east) / 2, (south + north) / 2), TOLERANCE):
        raise broken(f"the center of the area {ground.top} is not that of the bbox")
    if not is_outline(shape, shapely.box(*bbox)):
        raise broken(f"the geometry of the area {ground.top} is not the bbox")
