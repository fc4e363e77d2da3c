"""Dumps of cabs as cabspotting.org wrote them: a text file for each vehicle, which no line tells the columns of."""

from __future__ import annotations

import re
from pathlib import Path

CABS = "cabs"  # the format of such files
_ENDING = ".txt"
_LINE = re.compile(rb"-?\d{1,3}\.\d+ -?\d{1,3}\.\d+ [01] \d{9,10}\s*")  # latitude longitude occupied seconds
_LONGEST = 200  # bytes of a line that can be one of these


def is_cab_file(path: str) -> bool:
    """Whether the first line of a text file reads: latitude, longitude, occupied (0 or 1), seconds since 1970."""
    if not path.lower().endswith(_ENDING):
        return False
    with Path(path).open("rb") as file:
        return _LINE.fullmatch(file.readline(_LONGEST)) is not None


def cabs_sql(names: str) -> str:
    """Return SQL for the fixes in files (a list in SQL): a vehicle is called as its file is."""
    lines = (
        f"read_csv({names}, header = false, delim = ' ', auto_detect = false, filename = true, columns = "
        "{'lat': 'DOUBLE', 'lon': 'DOUBLE', 'occupied': 'VARCHAR', 'seconds': 'BIGINT'})"
    )
    vehicle = r"regexp_extract(filename, '([^/\\]*)\.[^.]*$', 1)"
    return f"(SELECT {vehicle} AS user_id, lon, lat, occupied, to_timestamp(seconds) AS time FROM {lines})"
