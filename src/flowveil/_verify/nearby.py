"""Names after the nearest place, found again on the sphere with vectors."""

from __future__ import annotations

from math import atan2, floor, pi
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray
    from flowveil._places import Gazetteer

_RADIUS = 6371.0088  # kilometers
_FARTHEST = 100.0  # kilometers
_BAND = 1.0  # degrees of latitude, in which a place within that distance lies
_ROUNDING = 1e-6  # kilometers and radians: what two ways to compute may differ by
_LONGEST_NAME = 80  # characters
_COMPASS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


class Nearby:
    """Says which names a point may have after the nearest place: one, but where distances or directions just turn."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        order = np.argsort(gazetteer.lat, kind="stable")
        self._names = [gazetteer.names[row] for row in order.tolist()]
        self._lon, self._lat = gazetteer.lon[order], gazetteer.lat[order]
        self._points = _vectors(self._lon, self._lat)

    def names(self, lon: float, lat: float) -> set[str | None]:
        """Return the names that are right."""
        first, end = np.searchsorted(self._lat, [lat - _BAND, lat + _BAND])
        here = _vectors(np.array([lon]), np.array([lat]))[0]
        across = np.linalg.norm(np.cross(self._points[first:end], here), axis=1)
        far = _RADIUS * np.arctan2(across, self._points[first:end] @ here)
        nearest = float(far.min(initial=np.inf))
        found: set[str | None] = {None} if nearest > _FARTHEST - _ROUNDING else set()
        for row in np.flatnonzero((far <= nearest + _ROUNDING) & (far <= _FARTHEST + _ROUNDING)).tolist():
            place = one_line(self._names[first + row])
            bearing = self._bearing(int(first) + row, here)
            for kilometers in (far[row] - _ROUNDING, far[row] + _ROUNDING):
                for angle in (bearing - _ROUNDING, bearing + _ROUNDING):
                    found.add(place and _words(place, max(float(kilometers), 0.0), angle))
        return found

    def _bearing(self, place: int, here: FloatArray) -> float:
        """Return the direction from a place to a point, in radians from north to east."""
        east = np.radians(self._lon[place])
        to_east = np.array([-np.sin(east), np.cos(east), 0.0])
        to_north = np.cross(self._points[place], to_east)
        return atan2(float(here @ to_east), float(here @ to_north))


def _words(place: str, kilometers: float, bearing: float) -> str:
    direction = _COMPASS[floor(bearing / pi * 4 + 0.5) % 8]
    hundreds_of_meters = floor(10 * kilometers + 0.5)
    if hundreds_of_meters >= 100:
        return f"{floor(kilometers + 0.5)} km {direction} of {place}"
    whole, tenth = divmod(hundreds_of_meters, 10)
    if whole:
        return f"{whole}.{tenth} km {direction} of {place}" if tenth else f"{whole} km {direction} of {place}"
    return f"{tenth}00 m {direction} of {place}" if tenth else place


def _vectors(lon: FloatArray, lat: FloatArray) -> FloatArray:
    east, north = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(east) * np.cos(north), np.sin(east) * np.cos(north), np.sin(north)], axis=1)


def one_line(text: str) -> str | None:
    """Return a text as a name is written: printable characters, single spaces, 80 characters at most."""
    words = "".join(sign if sign.isprintable() else " " for sign in text).split()
    line = " ".join(words)
    if len(line) > _LONGEST_NAME:
        line = f"{line[: _LONGEST_NAME - 1]}…"
    return line or None
