"""Synthetic phone records: seeded users who live, work and go out in a small part of the city."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._options import parse_number, parse_whole
from flowveil._synthetic.plane import CITY_BBOX, HEIGHT, WIDTH, to_degrees

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

PHONES_BBOX = CITY_BBOX
_FIRST_DAY = np.datetime64("2024-03-04T00:00:00", "s")  # a Monday
_SECONDS_PER_HOUR = 3600
_HOURS_PER_WEEK = 168

# Calls and messages by hour of the day, as phone records have them: hardly any at night, two peaks.
_ACTIVITY = np.array([2, 1, 1, 1, 1, 2, 4, 7, 9, 10, 10, 11, 12, 11, 10, 10, 11, 13, 14, 13, 11, 9, 6, 4], np.float64)
_WORKPLACES = 25
_FAVORITES = 4
_HOME_SHARE_EVENING = 0.6
_ANTENNA_METERS = 300.0  # phones are seen at the nearest antenna, on a lattice


def phones(users: int, *, samples: int = 120, days: int = 14, extent: float = 6_000.0, seed: int = 0) -> pa.Table:
    """Return phone records (user_id, lon, lat, time): `samples` of each user, in a square of `extent` meters.

    users: how many. days: from Monday 2024-03-04 on. seed: the same for the same users.

    >>> phones(3, samples=10).num_rows
    30
    """
    users = parse_whole(users, "users", "give a whole number from 0 up", 0)
    samples, days = (
        parse_whole(*one, "give a whole number from 1 up") for one in ((samples, "samples"), (days, "days"))
    )
    seed = parse_whole(seed, "seed", "give a whole number from 0 up", 0)
    extent = parse_number(extent, "extent", "it is a length in meters", 1.0, 1e7)
    random = np.random.default_rng([seed, users, samples, days])
    places = _places(random, users, extent)
    seconds = _moments(random, users * samples, days)
    user = np.repeat(np.arange(users), samples)
    place = places[user, _whereabouts(random, seconds)]
    place = (np.floor(place.real / _ANTENNA_METERS) + 0.5) * _ANTENNA_METERS + 1j * (
        (np.floor(place.imag / _ANTENNA_METERS) + 0.5) * _ANTENNA_METERS
    )
    corner = (WIDTH - extent) / 2 + 1j * (HEIGHT - extent) / 2
    lon, lat = to_degrees((place + corner).astype(np.complex64))
    order = np.lexsort((seconds, user))
    time = _FIRST_DAY + seconds[order].astype("timedelta64[s]")
    return pa.table(
        {
            "user_id": pa.array([f"u{number:06d}" for number in user.tolist()]),
            "lon": lon[order],
            "lat": lat[order],
            "time": pa.array(time, pa.timestamp("s", tz="UTC")),
        }
    )


def _places(random: np.random.Generator, users: int, extent: float) -> FloatArray:
    """Return home, work and favorite places of each user as complex meters, near each other more often than not."""
    home = extent * (random.random(users) + 1j * random.random(users))
    offices = extent * (random.normal(0.5, 0.15, _WORKPLACES) + 1j * random.normal(0.5, 0.15, _WORKPLACES))
    work = offices[random.integers(_WORKPLACES, size=users)]
    reach = random.exponential(extent / 8, (users, _FAVORITES))
    favorites = home[:, None] + reach * np.exp(2j * pi * random.random((users, _FAVORITES)))
    places = np.column_stack([home, work, favorites])
    inside: FloatArray = np.clip(places.real, 0, extent - 1) + 1j * np.clip(places.imag, 0, extent - 1)
    return inside


def _moments(random: np.random.Generator, count: int, days: int) -> IntArray:
    hour = random.choice(24, size=count, p=_ACTIVITY / _ACTIVITY.sum())
    day = random.integers(days, size=count)
    moments: IntArray = (day * 24 + hour) * _SECONDS_PER_HOUR + random.integers(_SECONDS_PER_HOUR, size=count)
    return moments


def _whereabouts(random: np.random.Generator, seconds: IntArray) -> IntArray:
    """Return the column of `_places`: work in office hours, home at night, home or a favorite otherwise."""
    hour = seconds // _SECONDS_PER_HOUR
    of_day, of_week = hour % 24, hour % _HOURS_PER_WEEK
    working = (of_week < 120) & (of_day >= 9) & (of_day < 17)
    free = (of_day >= 7) & (of_day < 23) & ~working
    out = free & (random.random(len(hour)) > _HOME_SHARE_EVENING)
    favorite = 2 + random.integers(_FAVORITES, size=len(hour))
    chosen: IntArray = np.where(working, 1, np.where(out, favorite, 0))
    return chosen
