"""What areas are called: words for people, which follow from public geometry alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from flowveil._places.gazetteer import GEONAMES, OWN, world_gazetteer
from flowveil._places.geodesy import square_kilometers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scipy.spatial import KDTree

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json
    from flowveil._places.gazetteer import Gazetteer
    from flowveil._places.places import AreaTable
    from flowveil._places.zone_table import ZoneTable

EVERYWHERE, ALL_ZONES, ELSEWHERE_NAME = "Everywhere", "All zones", "Elsewhere"
_LONGEST = 80  # characters; a name stands in tables and beside places on a map


_DIRECTIONS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
_RADIUS = 6371.0088  # kilometers: of the sphere on which distances to places are measured
_FARTHEST = 100.0  # kilometers: beyond, a place says little about where an area is


class Naming(Protocol):
    """Gives names to areas."""

    def settings(self) -> dict[str, Json]:
        """Return what names come from, for the manifest."""

    def names(self, known: AreaTable) -> list[str | None]:
        """Return the name of each area, None for one that has none."""


class Unnamed:
    """Names nothing but everything."""

    def settings(self) -> dict[str, Json]:
        """Return nothing."""
        return {}

    def names(self, known: AreaTable) -> list[str | None]:
        """Return a name for the top alone."""
        return [EVERYWHERE if area == "world" else None for area in known.area]


class ZoneNames:
    """Names of areas made of zones: a zone's own, that of the largest zone and how many others, or a column's value."""

    def __init__(self, table: ZoneTable, values: Mapping[str, str]) -> None:
        """Take zones, and by id the names of areas that are values of a column."""
        self._table = table
        self._values = values

    def settings(self) -> dict[str, Json]:
        """Return the column that names zones; without one their ids do."""
        return {} if self._table.name_column is None else {"zone_name": self._table.name_column}

    def names(self, known: AreaTable) -> list[str | None]:
        """Return the name of each area."""
        members = known.members or [None] * len(known.area)
        return [self._name(area, zones) for area, zones in zip(known.area, members, strict=True)]

    def _name(self, area: str, zones: list[str] | None) -> str | None:
        if zones is None:
            return ALL_ZONES
        if area in self._values or not zones:
            return plain(self._values.get(area, ""))
        first = min(zones, key=lambda zone: (-self._sizes[zone], zone)) if len(zones) > 1 else zones[0]
        name = plain(self._names[first] or "") or plain(first)
        return name if name is None or len(zones) == 1 else f"{name} + {len(zones) - 1}"

    @cached_property
    def _names(self) -> dict[str, str | None]:
        column = self._table.name_column
        names = self._table.ids if column is None else self._table.columns[column]
        return dict(zip(self._table.ids, names, strict=True))

    @cached_property
    def _sizes(self) -> dict[str, float]:
        """By zone: its size to three digits, so that zones alike are told apart by their ids and not by rounding."""
        sizes = np.nan_to_num(square_kilometers(self._table.geometry)).tolist()  # NaN: no outline
        return {zone: float(f"{size:.3g}") for zone, size in zip(self._table.ids, sizes, strict=True)}


@dataclass(frozen=True, eq=False)
class PlaceNames:
    """Names of areas of grids: how far and in which direction their centers lie from the nearest place."""

    own: Gazetteer | None = None  # the user's; else that of the world, which is loaded when names are asked for

    def settings(self) -> dict[str, Json]:
        """Return which gazetteer it is."""
        return {"place_names": GEONAMES if self.own is None else OWN}

    def names(self, known: AreaTable) -> list[str | None]:
        """Return the name of each area; one without a center, or with no place within 100 km, has none."""
        names = Unnamed().names(known)
        placed = np.flatnonzero(np.isfinite(known.lon) & np.isfinite(known.lat))
        gazetteer = world_gazetteer() if self.own is None else self.own
        for row, name in zip(placed.tolist(), _nearest(gazetteer, known.lon[placed], known.lat[placed]), strict=True):
            names[row] = names[row] or name
        return names


def _nearest(gazetteer: Gazetteer, lon: FloatArray, lat: FloatArray) -> list[str | None]:
    """Return how to call points after the nearest place of a gazetteer."""
    place: IntArray = np.asarray(_tree_of(gazetteer).query(_on_sphere(lon, lat))[1], np.int64)
    place_lon, place_lat, here_lon, here_lat = np.radians([gazetteer.lon[place], gazetteer.lat[place], lon, lat])
    east, north = here_lon - place_lon, here_lat - place_lat
    chord = np.sin(north / 2) ** 2 + np.cos(place_lat) * np.cos(here_lat) * np.sin(east / 2) ** 2
    kilometers = 2 * _RADIUS * np.arcsin(np.minimum(np.sqrt(chord), 1))
    bearing = np.arctan2(
        np.sin(east) * np.cos(here_lat),
        np.cos(place_lat) * np.sin(here_lat) - np.sin(place_lat) * np.cos(here_lat) * np.cos(east),
    )
    sector = np.floor(bearing / (np.pi / 4) + 0.5).astype(np.int64) % len(_DIRECTIONS)
    return [
        _away(plain(gazetteer.names[number]), far, _DIRECTIONS[direction])
        for number, far, direction in zip(place.tolist(), kilometers.tolist(), sector.tolist(), strict=True)
    ]


def kilometers_to_town(lon: FloatArray, lat: FloatArray) -> FloatArray:
    """Return how far points lie from the nearest place of at least 5,000 people."""
    chord = np.asarray(_tree_of(world_gazetteer()).query(_on_sphere(lon, lat))[0], np.float64)
    far: FloatArray = 2 * _RADIUS * np.arcsin(np.minimum(chord / 2, 1))
    return far


@lru_cache(maxsize=2)
def _tree_of(gazetteer: Gazetteer) -> KDTree:
    """Return what finds the nearest place; the last ones are remembered, as each end of each release asks."""
    from scipy.spatial import KDTree  # noqa: PLC0415  slow to import

    return KDTree(_on_sphere(gazetteer.lon, gazetteer.lat))


def _away(place: str | None, kilometers: float, direction: str) -> str | None:
    tenths = math.floor(kilometers * 10 + 0.5)
    if place is None or kilometers > _FARTHEST:
        return None
    if tenths == 0:
        return place
    if tenths < 10:
        return f"{tenths * 100} m {direction} of {place}"
    distance = f"{tenths / 10:g}" if tenths < 100 else f"{math.floor(kilometers + 0.5)}"
    return f"{distance} km {direction} of {place}"


def _on_sphere(lon: FloatArray, lat: FloatArray) -> FloatArray:
    east, north = np.radians(lon), np.radians(lat)
    return np.column_stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])


def plain(text: str) -> str | None:
    """Return a text as one short line of printable characters; None if nothing of it is left."""
    words = "".join(character if character.isprintable() else " " for character in text).split()
    line = " ".join(words)
    return (line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…") or None
