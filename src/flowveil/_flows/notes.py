"""What is to be said of trips that were read: why rows were dropped, and what may be wrong with them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flowveil._engine import LESS_THAN_HALF
from flowveil._errors import InputError
from flowveil._options import shown
from flowveil._places import Zones
from flowveil._trips import IN_NO_ZONE, LOOKS_COUNTED, ZONES, ends_note

if TYPE_CHECKING:
    from flowveil._engine import Aggregate, Request
    from flowveil._places import Places
    from flowveil._trips import Trips

_DAYS = r"[1-9]\d{4}([.,]\d+)?"  # of a spreadsheet: from 1927 to 2173
_SHOWN_ZONES = 10
_LOOKED_AT = 20  # rows, to see what times look like
_FEWEST_PAIRS = 20  # of zones, from which on it is no accident that none occurs twice
_MANY = 0.1  # share of rows from which on dropping them deserves a warning


def check_counted(counted: Aggregate, places: Places, trips: Trips, most: float) -> None:
    """Raise if no trip can be used, or if more than a share `most` of the rows cannot."""
    if trips.where is not None and not counted.rows:
        raise InputError("no row fulfills the condition", "check --where, or leave it out")
    if counted.unclear_counts:
        raise InputError(
            "counts have a sign between their digits that may be of thousands or of decimals, as in 1.234 or 1,234",
            "say which sign decimals have: --decimal , reads 1.234 as a thousand and more, --decimal . reads 1,234 so;"
            " blanks and apostrophes between thousands are read with either",
        )
    if not len(counted.trips):
        why = "; ".join(_reasons(counted)) or "the input has no rows"
        raise InputError(f"no trip can be used: {why}", _hint(counted, places, trips))
    lost = _lost(counted)
    if not lost or lost <= most * counted.rows:
        return
    if most == 0:
        raise InputError(f"strict: {'; '.join(_reasons(counted))}", _hint(counted, places, trips))
    raise InputError(
        f"{lost / counted.rows:.0%} of the rows cannot be used, and at most {most:.0%} may be: "
        f"{'; '.join(_reasons(counted))}",
        f"{_hint(counted, places, trips)}; to leave them out all the same: --max-unusable {_above(lost, counted.rows)}",
    )


def _lost(counted: Aggregate) -> int:
    """Return how many rows hold trips that cannot be used: those with less than half a trip hold none."""
    return sum(rows for reason, rows in counted.dropped.items() if reason != LESS_THAN_HALF)


def _above(lost: int, rows: int) -> str:
    """Return a share of two digits that so many rows are no more than."""
    return f"{min(-(-lost * 100 // rows) / 100, 1):g}"


def dropped_text(counted: Aggregate) -> str:
    """Return in one sentence which rows were dropped."""
    return "; ".join(_reasons(counted))


def notes(trips: Trips, request: Request, counted: Aggregate, places: Places) -> tuple[str, ...]:
    """Return sentences for the user."""
    hint = _extra_hint(counted, places, trips) if counted.dropped or counted.outside_bbox else None
    return (
        *trips.notes,
        *ends_note(trips, tuple(request.columns), by_zone=isinstance(places, Zones)),
        *_count_notes(trips, request, counted),
        *places.report(),
        *_sentences(counted),
        *([hint] if hint else []),
    )


def unasked(trips: Trips, places: Places) -> tuple[str, ...]:
    """Say by which places trips are counted that have both coordinates and zones, where nobody said it."""
    if places.by_zone or any(name not in trips.columns for name in ZONES):
        return ()
    zones = " and ".join(repr(trips.columns[name]) for name in ZONES)
    return (f"trips are counted by their coordinates; they also name zones ({zones}): for these, give --zones FILE",)


def _count_notes(trips: Trips, request: Request, counted: Aggregate) -> list[str]:
    """Say how many trips a row stands for, where the names of columns or the rows leave a doubt."""
    if request.count and "count" not in trips.mapping:
        return [f"column {request.count!r} is read as the number of trips of a row (--columns count= if it is not)"]
    if request.by_zone and not request.count and not request.unit and "count" not in trips.mapping:
        for column in trips.available:
            if column.lower() in LOOKS_COUNTED:
                return [f"each row counts as one trip; if column {column!r} counts trips, say --columns count={column}"]
        if _FEWEST_PAIRS <= len(counted.trips) == counted.rows - _lost(counted):
            others = [column for column in trips.available if column not in request.columns.values()]
            named = f" ({', '.join(others[:_SHOWN_ZONES])})" if others else ""
            seen = "each row counts as one trip, but no pair of zones occurs twice, as in a table of counts"
            return [f"{seen}; if a column{named} counts trips, say --columns count=COLUMN"]
    return []


def _sentences(counted: Aggregate) -> list[str]:
    many = (lost := _lost(counted)) > _MANY * counted.rows
    said = f"WARNING: {lost / max(counted.rows, 1):.0%} of the rows cannot be used and are not in the release"
    return [*([said] if many else []), *_reasons(counted)]


def _reasons(counted: Aggregate) -> list[str]:
    sentences = [f"{rows:,} of {counted.rows:,} rows dropped: {reason}" for reason, rows in counted.dropped.items()]
    if counted.unknown_zones:
        shown = ", ".join(counted.unknown_zones[:_SHOWN_ZONES])
        more = len(counted.unknown_zones) - _SHOWN_ZONES
        sentences.append(f"unknown zones: {shown}" + (f" and {more:,} more" if more > 0 else ""))
    if counted.outside_bbox:
        sentences.append(f"{counted.outside_bbox:,} of {counted.rows:,} rows left out: an end lies outside the bbox")
    return sentences


def _extra_hint(counted: Aggregate, places: Places, trips: Trips) -> str | None:
    if counted.decimal_comma:
        return "numbers are written with a decimal comma: say --decimal ,"
    if 2 * counted.dropped.get("out of range", 0) > counted.rows and not counted.swapped:
        return "coordinates look like meters or another unit, not degrees: name their CRS with --input-crs EPSG:N"
    if counted.swapped:
        return "longitude and latitude look exchanged: exchanging them makes more rows usable (see --columns)"
    if 2 * counted.dropped.get("no usable time", 0) > counted.rows:
        return f"times are read as 2024-05-27 19:45:00, or as --time-format '%d/%m/%Y %H:%M' says{_time_seen(trips)}"
    return _zones_hint(counted, places) if isinstance(places, Zones) else None


def _zones_hint(counted: Aggregate, zones: Zones) -> str | None:
    if 2 * counted.dropped.get(IN_NO_ZONE, 0) > counted.rows:
        return "check that zones and trips lie in the same region, and that longitude is first in both"
    return zones.hint_for(counted.unknown_zones) if counted.unknown_zones else None


def _time_seen(trips: Trips) -> str:
    """Return what the times of a file look like, any digit for each of its digits: what is shown may be no time."""
    values = trips.head(_LOOKED_AT)[trips.columns["start_time"]].to_pylist()
    text = next((str(value).strip() for value in values if value is not None and str(value).strip()), "")
    if re.fullmatch(_DAYS, text):
        return "; here they look like the days that spreadsheets count: say --time-format excel"
    return f"; here they look like {shown(re.sub('[0-9]', '9', text))} (9 for any digit)" if text else ""


def _hint(counted: Aggregate, places: Places, trips: Trips) -> str:
    if extra := _extra_hint(counted, places, trips):
        return extra
    if counted.outside_bbox and not counted.dropped:
        return "check the bbox: west, south, east, north in degrees"
    return "mend these rows, filter them with --where, or check the columns"
