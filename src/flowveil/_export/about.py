"""What a release says of itself, as descriptions for people and portals need it."""

from __future__ import annotations

import calendar
import re
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc
import shapely

if TYPE_CHECKING:
    from flowveil._export.tables import Tables
    from flowveil._folder import Manifest

_MONTHS = {name.casefold(): number for number, name in enumerate(calendar.month_name) if name}
_CREATIVE = re.compile(r"CC[ -]BY((?:[ -](?:NC|ND|SA))*)[ -]([1-4]\.0)", re.IGNORECASE)
_URL = re.compile(r"https?://\S+")
_OTHER_LICENSES = {
    "cc0": ("CC0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "odbl": ("ODbL-1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
    "odc by": ("ODC-By-1.0", "https://opendatacommons.org/licenses/by/1-0/"),
    "pddl": ("PDDL-1.0", "https://opendatacommons.org/licenses/pddl/1-0/"),
}


class License(NamedTuple):
    """A license as it was typed, and what is known of it."""

    title: str
    name: str  # a short id: of SPDX if it is known
    url: str | None


def describe(manifest: Manifest) -> dict[str, str]:
    """Return what the publisher says and what is promised, by name, as text."""
    said: dict[str, str] = {name: str(value) for name, value in manifest.get("description", {}).items()}
    told = {"promise": manifest["promise_text"], "missing pairs": manifest["absence"]}
    settings = {name: str(value) for name, value in manifest["options"].items() if name in ("time", "timezone", "by")}
    made = {"method": manifest["method"], "software": manifest["software"], "moments": "in UTC"}
    return said | told | settings | made


def find_license(text: str) -> License:
    """Return what is known of a license: its id and address, where it is one that portals know."""
    if match := _CREATIVE.search(text):
        parts = "-".join(["by", *match[1].replace("-", " ").lower().split()])
        return License(
            text, f"CC-{parts.upper()}-{match[2]}", f"https://creativecommons.org/licenses/{parts}/{match[2]}/"
        )
    for start, (name, url) in _OTHER_LICENSES.items():
        if text.casefold().replace("-", " ").startswith(start):
            return License(text, name, url)
    found = _URL.search(text)
    return License(text, re.sub(r"[^0-9A-Za-z._-]+", "-", text).strip("-") or "other", found[0] if found else None)


def find_period(text: str) -> tuple[date, date] | None:
    """Return the first and last day of a period such as 2024, 2024-06, June 2024 or 2024-06-01/2024-06-30."""
    days = [_days(part.strip()) for part in re.split(r"\s*/\s*|\s+(?:to|until)\s+|\s+[-\u2013]\s+", text.strip())]
    if not 1 <= len(days) <= 2 or any(span is None for span in days):
        return None
    first, last = days[0], days[-1]
    return (first[0], last[1]) if first and last and first[0] <= last[1] else None


def _days(text: str) -> tuple[date, date] | None:
    """Return the first and last day of a year, month or day."""
    match = re.fullmatch(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", text)
    if match:
        year, month, day = (int(part) if part else None for part in match.groups())
    else:
        word, _, number = text.partition(" ")
        month, year, day = _MONTHS.get(word.casefold()), int(number) if re.fullmatch(r"\d{4}", number) else None, None
        if month is None:
            return None
    try:
        if year is None:
            return None
        last = calendar.monthrange(year, month or 12)[1]
        return date(year, month or 1, day or 1), date(year, month or 12, day or last)
    except (ValueError, calendar.IllegalMonthError):
        return None


def find_bounds(tables: Tables) -> tuple[float, float, float, float] | None:
    """Return west, south, east, north of what is published, None where it has no place."""
    if tables.kind == "trajectories":
        corners = [(pc.min, "lon0"), (pc.min, "lat0"), (pc.max, "lon1"), (pc.max, "lat1")]
        edges = [function(tables.rows[name]).as_py() for function, name in corners]
    elif tables.areas.num_rows:
        shapes = shapely.from_wkb(np.array(tables.areas["geometry"].to_pylist(), object))
        points = np.asarray(shapely.points(*(tables.areas[name].to_numpy() for name in ("lon", "lat"))), object)
        edges = shapely.total_bounds([*shapes, *points[~shapely.is_missing(points)]]).tolist()
    else:
        edges = list(tables.manifest["options"].get("bbox", []))
    known = len(edges) == 4 and all(edge is not None and np.isfinite(edge) for edge in edges)
    return (float(edges[0]), float(edges[1]), float(edges[2]), float(edges[3])) if known else None
