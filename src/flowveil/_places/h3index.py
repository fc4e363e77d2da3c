"""H3 indexes as uint64 arrays: the one module of makers that calls h3ronpy, with h3 in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h3.api.numpy_int as h3
import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray, KeyArray

try:
    from h3ronpy.vector import coordinates_to_cells
except ImportError:
    coordinates_to_cells = None

MAX_RESOLUTION = 15
_RESOLUTION_SHIFT = np.uint64(52)
_RESOLUTION_MASK = np.uint64(15)


def is_point(lon: FloatArray, lat: FloatArray) -> BoolArray:
    """Which coordinates lie on the globe. H3 gives a cell for lat 91 without complaint, so ask before."""
    with np.errstate(invalid="ignore"):
        on_globe: BoolArray = (np.abs(lat) <= 90) & (np.abs(lon) <= 180)
    return on_globe


def cells_of_points(lon: FloatArray, lat: FloatArray, resolution: int) -> KeyArray:
    """Return the cell of each point, 0 (no cell) for coordinates that are not on the globe."""
    good = is_point(lon, lat)
    cells = np.zeros(len(lon), np.uint64)
    if coordinates_to_cells is not None:
        cells[good] = np.asarray(coordinates_to_cells(lat[good], lon[good], resolution), np.uint64)
    else:
        cells[good] = cells_of_points_reference(lon[good], lat[good], resolution)
    return cells


def cells_of_points_reference(lon: FloatArray, lat: FloatArray, resolution: int) -> KeyArray:
    """Return the same as `cells_of_points`, point by point with the h3 package."""
    pairs = zip(lat.tolist(), lon.tolist(), strict=True)
    return np.fromiter((h3.latlng_to_cell(y, x, resolution) for y, x in pairs), np.uint64, len(lat))


def resolutions(cells: KeyArray) -> IntArray:
    """Return the resolution of each cell."""
    return ((cells >> _RESOLUTION_SHIFT) & _RESOLUTION_MASK).astype(np.int64)


def parents(cells: KeyArray, resolution: int) -> KeyArray:
    """Return the ancestors at `resolution`: set the resolution, and all finer digits to 7 (unused)."""
    unused = np.uint64((1 << (3 * (MAX_RESOLUTION - resolution))) - 1)
    cleared = cells & ~(_RESOLUTION_MASK << _RESOLUTION_SHIFT)
    return cleared | (np.uint64(resolution) << _RESOLUTION_SHIFT) | unused


def digits(cells: KeyArray, resolution: int) -> IntArray:
    """Return the child digit (0 to 6) that leads from the ancestor above `resolution` to the one at it."""
    return ((cells >> np.uint64(3 * (MAX_RESOLUTION - resolution))) & np.uint64(7)).astype(np.int64)
