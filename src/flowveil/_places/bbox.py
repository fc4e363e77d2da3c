"""Bounding boxes in degrees."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import shapely

from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowveil._places.places import BoundingBox

_HINT = (
    "give --bbox W,S,E,N in degrees, e.g. --bbox=-122.55,37.6,-122.3,37.9 (boxes across 180 degrees are not supported)"
)


def parse_bbox(bbox: str | Iterable[float]) -> BoundingBox:
    """Return west, south, east, north, or raise with what is wrong."""
    parts = bbox.split(",") if isinstance(bbox, str) else list(bbox)
    try:
        numbers = [float(part) for part in parts]
    except (TypeError, ValueError):
        raise InputError(f"the bbox {bbox!r} is not four numbers", _HINT) from None
    if len(numbers) != 4 or not all(math.isfinite(number) for number in numbers):
        raise InputError(f"the bbox {bbox!r} is not four numbers", _HINT)
    west, south, east, north = numbers
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise InputError(f"the bbox {west},{south},{east},{north} is empty or lies off the globe", _HINT)
    return west, south, east, north


def box_center(bbox: BoundingBox) -> tuple[float, float]:
    """Return lon and lat of the middle."""
    west, south, east, north = bbox
    return (west + east) / 2, (south + north) / 2


def box_shape(bbox: BoundingBox) -> shapely.Geometry:
    """Return the box as a polygon."""
    return shapely.box(*bbox)
