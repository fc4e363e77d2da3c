"""What makes a trip of fixes: the settings, with their units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._options import parse_choice, parse_meters, parse_minutes, parse_speed, parse_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

AUTO = "auto"
STOPS, OCCUPIED, RUNS, SIGHTINGS = "stops", "occupied", "runs", "sightings"
RULES = {
    STOPS: "from a stop to the next one",
    OCCUPIED: "fixes of a cab while it is occupied",
    RUNS: "all fixes between two gaps",
    SIGHTINGS: "from a fix to the next one at another place",
}
_MOST_STOPS = 8  # columns of a matrix: two for each stop, beside the ends
_MINUTE = 60_000_000  # in microseconds


@dataclass(frozen=True)
class Rules:
    """How fixes become trips; lengths in meters, times in microseconds, speeds in meters a second."""

    rule: str
    stop_radius: float
    stop_time: int
    max_gap: int
    max_speed: float
    min_length: float
    short_stops: int
    short_stop_time: int


def parse_rules(settings: Mapping[str, str | int]) -> Rules:
    """Return the settings as numbers, or raise if one is none."""
    rules = Rules(
        parse_choice(settings["rule"], "rule", RULES),
        parse_meters(settings["stop_radius"]),
        _microseconds(settings["stop_time"]),
        _microseconds(settings["max_gap"]),
        parse_speed(settings["max_speed"]),
        parse_meters(settings["min_length"]),
        parse_whole(settings["short_stops"], "short_stops", f"give a number from 0 to {_MOST_STOPS}", 0, _MOST_STOPS),
        _microseconds(settings["short_stop_time"]),
    )
    if rules.short_stops and rules.rule == SIGHTINGS:
        raise InputError(
            "between two sightings nobody knows of a stop", "leave out --short-stops, or use --rule stops or occupied"
        )
    if rules.short_stops and rules.rule == STOPS and rules.short_stop_time >= rules.stop_time:
        raise InputError(
            f"a short stop ({settings['short_stop_time']}) is not shorter than a stop ({settings['stop_time']})",
            "at a stop a trip ends: give a smaller --short-stop-time",
        )
    return rules


def check_settings(settings: Mapping[str, str | int]) -> None:
    """Raise if a setting cannot be used, whatever the fixes are."""
    parse_choice(settings["rule"], "rule", [AUTO, *RULES])
    parse_rules({**settings, "rule": RUNS} if settings["rule"] == AUTO else settings)


def _microseconds(value: object) -> int:
    return round(parse_minutes(value) * _MINUTE)
