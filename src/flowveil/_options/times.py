"""Clocks and lengths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from flowveil._errors import InputError
from flowveil._options.values import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

_METERS = {"m": 1, "km": 1000}
_MINUTES = {"min": 1, "h": 60, "d": 1440}
_METERS_A_SECOND = {"m/s": 1, "km/h": 1 / 3.6}


def parse_timezone(value: object) -> str:
    """Return the name of a time zone, or raise if there is none of that name."""
    if not isinstance(value, str) or value not in available_timezones():
        raise InputError(f"there is no time zone {shown(value)}", "name one like Europe/Rome or UTC")
    return value


def parse_meters(value: object) -> float:
    """Return a length like 15km in meters."""
    return _amount(value, _METERS, "length", "write it like 500m or 15km")


def parse_minutes(value: object) -> float:
    """Return a duration like 6h in minutes."""
    return _amount(value, _MINUTES, "duration", "write it like 30min, 6h or 1d")


def parse_speed(value: object) -> float:
    """Return a speed like 200km/h in meters a second."""
    return _amount(value, _METERS_A_SECOND, "speed", "write it like 200km/h or 50m/s")


def _amount(value: object, units: Mapping[str, float], kind: str, hint: str) -> float:
    text = value if isinstance(value, str) else ""
    written = re.fullmatch(rf"\s*(\d{{1,9}}(?:\.\d{{1,9}})?)\s*({'|'.join(units)})\s*", text)
    if written is None:
        raise InputError(f"{shown(value)} is not a {kind}", hint)
    return float(written[1]) * units[written[2]]
