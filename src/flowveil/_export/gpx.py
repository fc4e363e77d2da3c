"""GPX 1.1: a track for each group of trajectories, a point for the middle of each of its samples."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from flowveil._export.paths import by_moment

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._export.tables import Tables
    from flowveil._folder import Json

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<gpx version="1.1" creator="flowveil" xmlns="http://www.topografix.com/GPX/1/1">\n'
)


def write(tables: Tables, path: Path) -> int:
    """Write one file; the comment of a point says when, where and by how many its sample was seen."""
    samples = by_moment(tables).to_pylist()
    about = f"<metadata><desc>{escape(tables.manifest['promise_text'])}</desc></metadata>\n"
    parts = [_HEAD, about]
    for group, own in groupby(samples, key=lambda row: row["group"]):
        points = list(own)
        title = f"group {group}: {points[0]['size']} users"
        parts.append(f"<trk><name>{title}</name><trkseg>\n")
        parts += [_point(row) for row in points]
        parts.append("</trkseg></trk>\n")
    path.write_text("".join([*parts, "</gpx>\n"]), encoding="utf-8")
    return len(samples)


def _point(row: dict[str, Json]) -> str:
    times = " to ".join(f"{row[name]:%Y-%m-%dT%H:%M:%SZ}" for name in ("t0", "t1"))
    box = ",".join(f"{row[name]:.6f}" for name in ("lon0", "lat0", "lon1", "lat1"))
    said = f"between {times}, in the box {box}; {row['support']} of {row['size']} were seen"
    place = f'lat="{row["lat"]:.7f}" lon="{row["lon"]:.7f}"'
    return f"<trkpt {place}><time>{row['moment']:%Y-%m-%dT%H:%M:%SZ}</time><cmt>{escape(said)}</cmt></trkpt>\n"
