"""Bounding boxes in degrees."""

from __future__ import annotations

import math
from collections.abc import Iterable

from flowveil._errors import InputError
from flowveil._options.values import shown

_HINT = (
    "give --bbox W,S,E,N in degrees, e.g. --bbox=-122.55,37.6,-122.3,37.9 (boxes across 180 degrees are not supported)"
)


def parse_bbox(bbox: object) -> tuple[float, float, float, float]:
    """Return west, south, east, north, of a text with commas or of four numbers, or raise with what is wrong."""
    parts = bbox.split(",") if isinstance(bbox, str) else bbox
    try:
        numbers = [float(part) for part in parts] if isinstance(parts, Iterable) else []
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if len(numbers) != 4 or not all(math.isfinite(number) for number in numbers):
        raise InputError(f"the bbox {shown(bbox)} is not four numbers", _HINT)
    west, south, east, north = numbers
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise InputError(f"the bbox {west},{south},{east},{north} is empty or lies off the globe", _HINT)
    return west, south, east, north
