"""The columns that divide a release into matrices: steps of time and groups."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from flowveil._folder import TIMES, TOTAL, key_columns
from flowveil._report.scene import Key, Steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from flowveil._folder import Json

AMOUNTS = ("trips", "persons", "weight")
_CYCLES = {"hour-of-day": 24, "hour-of-week": 168}
_KINDS = {"weekday-weekend": ("weekdays", "weekend"), "day-type": ("weekdays", "Saturdays", "Sundays")}
_CALENDAR = {"month": "%Y-%m", "week": "week of %Y-%m-%d"}  # steps that are called by the date on which they begin
_MOST_STEPS = 1_000
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def find_keys(flows: pa.Table, manifest: Mapping[str, Json]) -> tuple[Key, ...]:
    """Return these columns as a reader chooses among them: begin and end of a time are one."""
    return tuple(_key(flows, name, manifest) for name in key_columns(flows, manifest) if name != TIMES[1])


def _key(flows: pa.Table, name: str, manifest: Mapping[str, Json]) -> Key:
    values = flows[name].to_pylist()
    step = manifest["options"].get("time") or str(manifest["options"].get("time_hierarchy", "")).partition("<")[0]
    if name == TIMES[0] and "time_hierarchy" in manifest["options"]:
        values = list(zip(values, flows[TIMES[1]].to_pylist(), strict=True))
    order = sorted(set(values), key=_rank)
    zone = str(manifest["options"].get("timezone", "UTC"))
    if name == TIMES[0]:
        order = _calendar(order, step, zone) if step in _CALENDAR else _without_gaps(order, step)
    place = {value: number for number, value in enumerate(order)}
    position = np.array([place[value] for value in values], np.int64)
    labels = [label(value, step if name == TIMES[0] else "", zone) for value in order]
    grouped = "totals" in manifest["promise"] and name in manifest["options"].get("by", ())
    total = place.get(TOTAL, -1) if grouped else -1
    if name != TIMES[0]:
        return Key(name, labels, position, total)
    hours = [_hour(value, step) for value in order]
    return Key(name, labels, position, total, time=True, hours=hours, steps=_steps(order, step))


def _steps(order: list[Any], step: str) -> Steps | None:  # as below
    """Return steps as long as the shortest span; None where values are no spans, or do not fit such steps."""
    known = [value for value in order if isinstance(value, tuple) and None not in value]
    if not known:
        return None
    length, begin = min(end - start for start, end in known), min(start for start, _ in known)
    edges = {edge for value in known for edge in value}
    if not length or any((edge - begin) % length for edge in edges):
        return None
    count = (max(edges) - begin) // length
    if count > _MOST_STEPS:
        return None
    moments = [begin + number * length for number in range(count)]
    spans = [(0, count) if None in value else [(edge - begin) // length for edge in value] for value in order]
    first, last = np.array(spans, np.int64).T
    return Steps([label(moment, step) for moment in moments], [_hour(moment, step) for moment in moments], first, last)


def _without_gaps(order: list[Any], step: str) -> list[Any]:  # whole numbers, moments, or a pair of them
    """Return all steps of time from the first to the last, so that a time bar does not hide a quiet hour."""
    if step in _KINDS and set(order) <= set(range(len(_KINDS[step]))):
        return list(range(len(_KINDS[step])))
    if step in _CYCLES and all(isinstance(value, int) for value in order):
        return list(range(_CYCLES[step])) if all(0 <= value < _CYCLES[step] for value in order) else order
    if len(order) < 2 or not all(isinstance(value, datetime) for value in order):
        return order
    gap = min(later - earlier for earlier, later in pairwise(order))
    count, over = divmod(order[-1] - order[0], gap)
    filled = [order[0] + number * gap for number in range(count + 1)] if count < _MOST_STEPS and not over else order
    return filled if set(order) <= set(filled) else order


def _calendar(order: list[Any], step: str, zone: str) -> list[Any]:  # as above
    """Return all months or weeks from the first to the last, as their clock begins them."""
    if not order or not all(isinstance(value, datetime) for value in order):
        return order
    clock = ZoneInfo(zone)
    day, last = (value.astimezone(clock).date() for value in (order[0], order[-1]))
    filled: list[datetime] = []
    while day <= last and len(filled) < _MOST_STEPS:
        filled.append(datetime.combine(day, time(), clock).astimezone(order[0].tzinfo or UTC))
        day = (day + timedelta(days=32)).replace(day=1) if step == "month" else day + timedelta(days=7)
    return filled if set(order) <= set(filled) else order


def _hour(value: object, step: str) -> int | None:
    """Return the hour of the day in which a step of time begins; None where it has none."""
    if isinstance(value, int) and step in _CYCLES:
        return value % 24
    within_a_day = not step.endswith("d") and step not in _CALENDAR
    return value.hour if isinstance(value, datetime) and within_a_day else None


def _rank(value: object) -> tuple[object, ...]:
    """Return what values are sorted by: null comes last."""
    if isinstance(value, tuple):
        return tuple(map(_rank, value))
    return value is None, 0 if value is None else value


def label(value: object, step: str, zone: str = "UTC") -> str:
    """Return a value of a key as people read it; zone: whose clock cut the calendar."""
    if value is None:
        return "not given"
    if isinstance(value, tuple):
        return "at any time" if value[0] is None else " to ".join(label(part, step, zone) for part in value)
    if isinstance(value, datetime):
        return _moment(value, step, zone)
    return _turn(value, step) if isinstance(value, int) else str(value)


def _moment(value: datetime, step: str, zone: str) -> str:
    if step in _CALENDAR:
        return value.astimezone(ZoneInfo(zone)).strftime(_CALENDAR[step])
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if value.tzinfo else f"{value:%Y-%m-%d %H:%M}"


def _turn(value: int, step: str) -> str:
    """Return an hour, or a kind of days, in words."""
    if step == "hour-of-week":
        return f"{_DAYS[value // 24 % 7]} {value % 24:02}:00"
    if step == "hour-of-day":
        return f"{value:02}:00"
    kinds = _KINDS.get(step, ())
    return kinds[value] if 0 <= value < len(kinds) else str(value)
