"""Bounding boxes in degrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shapely

if TYPE_CHECKING:
    from flowveil._places.places import BoundingBox


def box_center(bbox: BoundingBox) -> tuple[float, float]:
    """Return lon and lat of the middle."""
    west, south, east, north = bbox
    return (west + east) / 2, (south + north) / 2


def box_shape(bbox: BoundingBox) -> shapely.Geometry:
    """Return the box as a polygon."""
    return shapely.box(*bbox)
