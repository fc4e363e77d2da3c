"""Places with names: a small gazetteer of the world, or the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from flowveil._errors import InputError
from flowveil._places.h3index import is_point
from flowveil._places.zone_table import read_points

if TYPE_CHECKING:
    from flowveil._arrays import ArrowTable, FloatArray

NamedPlacesLike: TypeAlias = "str | Path | ArrowTable"  # what named places are read from

GEONAMES = "geonames-5000/1"  # what the manifest calls the gazetteer: where it is from, its edition
OWN = "own"  # what it calls the user's
_FILE = "geonames-5000.npz"
_MOST_PLACES = 2_000_000


@dataclass(frozen=True, eq=False)
class Gazetteer:
    """Places with names, no two of them at the same spot."""

    names: list[str]
    lon: FloatArray
    lat: FloatArray


@cache
def world_gazetteer() -> Gazetteer:
    """Return places of at least 5,000 people (GeoNames, CC BY 4.0), from south to north."""
    with files("flowveil._places").joinpath("assets", _FILE).open("rb") as file, np.load(file) as stored:
        unit, names = int(stored["unit"]), stored["names"].tobytes().decode().split("\n")
        return Gazetteer(names, stored["lon"] / unit, np.cumsum(stored["steps"]) / unit)


def read_gazetteer(source: NamedPlacesLike) -> Gazetteer:
    """Read places from a file or a table with the columns name, lon and lat; of several at one spot, the first."""
    texts, lon, lat = read_points(source, "places")
    column = next((name for name in texts if name.casefold() == "name"), None)
    if column is None:
        raise InputError("the places have no column 'name'", "give a table with the columns name, lon and lat")
    if len(lon) > _MOST_PLACES:
        raise InputError(f"there are {len(lon):,} places", f"give at most {_MOST_PLACES:,}")
    if not is_point(lon, lat).all():
        raise InputError(
            "a place does not lie on the globe", "longitudes go from -180 to 180 and latitudes from -90 to 90 degrees"
        )
    named = np.array([bool(name) for name in texts[column]], bool)
    _, first = np.unique(np.column_stack([lon, lat])[named], axis=0, return_index=True)
    kept = np.flatnonzero(named)[np.sort(first)]
    if not len(kept):
        raise InputError("no place has a name", "give a table with the columns name, lon and lat")
    return Gazetteer([str(texts[column][row]) for row in kept.tolist()], lon[kept], lat[kept])


def path_of(source: NamedPlacesLike | None) -> str | None:
    """Return the whole path of a file of places, None for a table, or if there is none."""
    return str(Path(source).resolve()) if isinstance(source, str | Path) and source != "" else None
