"""The plane the city lies in: a position is the complex number `east + 1j * north`, in meters from its southwest."""

from __future__ import annotations

from math import cos, pi, radians
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray

# West, south, east, north in degrees: 30 km by 30 km, well within one UTM zone (31 north) and far from H3's pentagons.
CITY_BBOX = (4.40, 50.26, 4.82, 50.53)

# Six decimals are 0.1 m, finer than any receiver, and what most trip files have.
DECIMALS = 6

_WEST, _SOUTH, _EAST, _NORTH = CITY_BBOX
# The mean over a meridian. At this size the city may be flat: the error is below 0.5 percent of any distance.
_METERS_NORTH = 111_195.0
_METERS_EAST = _METERS_NORTH * cos(radians((_SOUTH + _NORTH) / 2))

METERS_PER_DEGREE = (_METERS_EAST, _METERS_NORTH)
WIDTH = (_EAST - _WEST) * _METERS_EAST
HEIGHT = (_NORTH - _SOUTH) * _METERS_NORTH

# Single precision is 2 mm at 30 km, and halves the memory of millions of persons.
Positions = npt.NDArray[np.complex64]


def scatter(random: np.random.Generator, count: int, deviation: float | npt.NDArray[np.float32]) -> Positions:
    """Return Gaussian displacements with this standard deviation, in meters, on each axis."""
    pairs = random.standard_normal(2 * count, dtype=np.float32)
    displacements: Positions = pairs.view(np.complex64) * np.float32(deviation)
    return displacements


def scatter_radially(random: np.random.Generator, count: int, mean: float) -> Positions:
    """Return displacements in all directions whose lengths are exponential with this mean, in meters."""
    lengths = mean * random.standard_exponential(count)
    displacements: Positions = (lengths * np.exp(2j * pi * random.random(count))).astype(np.complex64)
    return displacements


def keep_inside(positions: Positions) -> Positions:
    """Mirror positions outside of the city at its border, so that no crowd builds up on the border itself."""
    inside = np.empty_like(positions)
    inside.real = _mirror(positions.real, WIDTH)
    inside.imag = _mirror(positions.imag, HEIGHT)
    return inside


def to_degrees(positions: Positions) -> tuple[FloatArray, FloatArray]:
    """Return longitudes and latitudes, rounded as in a file of trips."""
    lon = np.round(_WEST + positions.real.astype(np.float64) / _METERS_EAST, DECIMALS)
    lat = np.round(_SOUTH + positions.imag.astype(np.float64) / _METERS_NORTH, DECIMALS)
    return lon, lat


def _mirror(values: npt.NDArray[np.float32], length: float) -> npt.NDArray[np.float32]:
    # Clipping after one reflection: a displacement longer than the whole city is possible but not worth a loop.
    reflected = np.float32(length) - np.abs(np.float32(length) - np.abs(values))
    inside: npt.NDArray[np.float32] = np.clip(reflected, np.float32(0), np.float32(length))
    return inside
