"""Points on the border of two H3 cells, where two libraries may rightly disagree."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import h3.api.basic_int as h3
import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray

TOLERANCE = 1e-9  # of the Earth's radius, 6 mm: what rounding shifts the borders of the finest cells by


@lru_cache(maxsize=1 << 16)  # snapped points come back often
def on_border(lon: float, lat: float, cell: int, other: int) -> bool:
    """Whether a point lies on the border that two cells share.

    Distances to the two centers would not tell: the projection of H3 bends them. Borders are arcs of great circles.
    """
    if other <= 0 or not h3.is_valid_cell(other) or h3.get_resolution(cell) != h3.get_resolution(other):
        return False  # what a broken index may say
    if not h3.are_neighbor_cells(cell, other):
        return False
    lats, lons = np.array(h3.directed_edge_to_boundary(h3.cells_to_directed_edge(cell, other))).T
    corners = on_sphere(lons, lats)
    planes = planes_between(corners[:, :-1], corners[:, 1:])
    return bool(np.abs(on_sphere(np.array(lon), np.array(lat)) @ planes).min() <= TOLERANCE)


def on_sphere(lon: FloatArray, lat: FloatArray) -> FloatArray:
    """Return points in degrees as unit vectors: x, y and z, each in the shape of the points."""
    across, up = np.radians(lon), np.radians(lat)
    level = np.cos(up)
    return np.stack([level * np.cos(across), level * np.sin(across), np.sin(up)])


def planes_between(corners: FloatArray, others: FloatArray) -> FloatArray:
    """Return the planes through the middle of the Earth and two corners each, as unit vectors to their left."""
    planes = np.cross(corners, others, axis=0)
    planes /= np.linalg.norm(planes, axis=0)
    return planes
