"""Dumps of cabs as others wrote them: a text file for each vehicle, which no line tells the columns of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_ENDING = ".txt"
_LONGEST = 200  # bytes of a line that can be one of these
_VEHICLE = r"regexp_extract(filename, '([^/\\]*)\.[^.]*$', 1)"


class _Layout(NamedTuple):
    line: re.Pattern[bytes]
    delimiter: str
    columns: str  # of a line, in SQL
    chosen: str  # of these, in SQL


_LAYOUTS = {
    # cabspotting, San Francisco: latitude, longitude, occupied, seconds since 1970; the vehicle is the file
    "cabs": _Layout(
        re.compile(rb"-?\d{1,3}\.\d+ -?\d{1,3}\.\d+ [01] \d{9,10}\s*"),
        " ",
        "{'lat': 'DOUBLE', 'lon': 'DOUBLE', 'occupied': 'VARCHAR', 'seconds': 'BIGINT'}",
        f"{_VEHICLE} AS user_id, lon, lat, occupied, to_timestamp(seconds) AS time",
    ),
    # T-Drive, Beijing: vehicle, local time, longitude, latitude
    "t-drive": _Layout(
        re.compile(rb"\w{1,32},\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,-?\d{1,3}\.\d+,-?\d{1,3}\.\d+\s*"),
        ",",
        "{'vehicle': 'VARCHAR', 'time': 'TIMESTAMP', 'lon': 'DOUBLE', 'lat': 'DOUBLE'}",
        "vehicle AS user_id, lon, lat, time",
    ),
}
CAB_FORMATS = tuple(_LAYOUTS)


def cab_format(path: str) -> str | None:
    """Return how a text file of a vehicle is written, by its first line; None if it is none."""
    if not path.lower().endswith(_ENDING):
        return None
    with Path(path).open("rb") as file:
        first = file.readline(_LONGEST)
    return next((name for name, layout in _LAYOUTS.items() if layout.line.fullmatch(first)), None)


def cabs_sql(written: str, names: str) -> str:
    """Return SQL for the fixes in files (a list in SQL) of one format."""
    layout = _LAYOUTS[written]
    lines = (
        f"read_csv({names}, header = false, delim = '{layout.delimiter}', auto_detect = false, filename = true, "
        f"columns = {layout.columns})"
    )
    return f"(SELECT {layout.chosen} FROM {lines})"
