"""H3 indexes as uint64 arrays: the one module of makers that calls h3ronpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h3.api.numpy_int as h3
import numpy as np
from h3ronpy import change_resolution
from h3ronpy.vector import coordinates_to_cells

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray, KeyArray

MAX_RESOLUTION = 15


def is_point(lon: FloatArray, lat: FloatArray) -> BoolArray:
    """Which coordinates lie on the globe. H3 gives a cell for lat 91 without complaint, so ask before."""
    with np.errstate(invalid="ignore"):
        on_globe: BoolArray = (np.abs(lat) <= 90) & (np.abs(lon) <= 180)
    return on_globe


def cells_of_points(lon: FloatArray, lat: FloatArray, resolution: int) -> KeyArray:
    """Return the cell of each point, 0 (no cell) for coordinates that are not on the globe."""
    good = is_point(lon, lat)
    cells = np.zeros(len(lon), np.uint64)
    cells[good] = np.asarray(coordinates_to_cells(lat[good], lon[good], resolution), np.uint64)
    return cells


def cells_of_points_reference(lon: FloatArray, lat: FloatArray, resolution: int) -> KeyArray:
    """Return the same as `cells_of_points`, point by point with the h3 package."""
    pairs = zip(lat.tolist(), lon.tolist(), strict=True)
    return np.fromiter((h3.latlng_to_cell(y, x, resolution) for y, x in pairs), np.uint64, len(lat))


def parents(cells: KeyArray, resolution: int) -> KeyArray:
    """Return the ancestors at `resolution`."""
    return np.asarray(change_resolution(cells, resolution), np.uint64)


def resolutions(cells: KeyArray) -> IntArray:
    """Return the resolutions of cells."""
    return ((cells >> np.uint64(52)) & np.uint64(15)).astype(np.int64)


def is_pentagon(cells: KeyArray) -> BoolArray:
    """Which cells are pentagons: the center of the center, and so on, of a pentagon of resolution 0."""
    unused = 3 * (MAX_RESOLUTION - resolutions(cells))  # bits of finer digits
    path = (cells & np.uint64((1 << 3 * MAX_RESOLUTION) - 1)) >> unused.astype(np.uint64)
    base = (cells >> np.uint64(3 * MAX_RESOLUTION)) & np.uint64(127)
    found: BoolArray = np.isin(base, [h3.get_base_cell_number(cell) for cell in h3.get_pentagons(0)]) & (path == 0)
    return found


def digits(cells: KeyArray, resolution: int) -> IntArray:
    """Return the child digit (0 to 6) that leads from the ancestor above `resolution` to the one at it."""
    return ((cells >> np.uint64(3 * (MAX_RESOLUTION - resolution))) & np.uint64(7)).astype(np.int64)
