"""Points on the border of two H3 cells, where two libraries may rightly disagree."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import h3.api.basic_int as h3
import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray

_TOLERANCE = 1e-9  # of the Earth's radius, 6 mm: what rounding shifts the borders of the finest cells by


@lru_cache(maxsize=1 << 16)  # snapped points come back often
def on_border(lon: float, lat: float, cell: int, other: int) -> bool:
    """Whether a point lies on the border that two cells share.

    Distances to the two centers would not tell: the projection of H3 bends them. Borders are arcs of great circles.
    """
    if not h3.are_neighbor_cells(cell, other):
        return False
    corners = _on_sphere(h3.directed_edge_to_boundary(h3.cells_to_directed_edge(cell, other)))
    planes = np.cross(corners[:-1], corners[1:])
    planes /= np.linalg.norm(planes, axis=1)[:, None]
    return bool(np.abs(planes @ _on_sphere([(lat, lon)])[0]).min() <= _TOLERANCE)


def _on_sphere(points: list[tuple[float, float]] | tuple[tuple[float, float], ...]) -> FloatArray:
    """Return (lat, lon) in degrees as unit vectors."""
    lat, lon = np.radians(np.array(points)).T
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
