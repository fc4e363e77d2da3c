"""From trajectories to a matrix: where a person was in each frame of a day, e.g. morning, noon and evening."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._engine import without_errors
from flowveil._errors import InputError
from flowveil._matrices.build import DEFAULT_CELLS, public_box
from flowveil._matrices.points import CellGrid, Matrix, Points, Provenance
from flowveil._noise import public_random
from flowveil._options import PERSON, Protection, parse_bound, parse_cells, parse_memory, parse_text, parse_timezone
from flowveil._trips import open_samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._engine import Readable, Samples

DEFAULT_FRAMES = "morning=6-10,noon=11-14,evening=17-21"
_HOUR = 3_600_000_000  # in microseconds
_FRAME = re.compile(r"(?:(?P<name>[\w -]{1,40})=)?(?P<start>\d{1,2})-(?P<end>\d{1,2})")


def build_frame_matrix(
    samples: Readable,
    bbox: str | Iterable[float] | None,
    cells: int = DEFAULT_CELLS,
    *,
    frames: str = DEFAULT_FRAMES,
    max_trips_per_person: int | None = None,
    timezone: str = "UTC",
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    memory: str | int | None = None,
) -> Matrix:
    """Count days of persons by the cells they were first seen in during each frame; two axes for each frame.

    samples: rows of person, lon, lat and time, as for `read_trajectories`. frames: NAME=HOUR-HOUR,... of a day, the end
    excluded. A day on which a person was not seen in every frame does not count. The unit is a person, of whom at most
    `max_trips_per_person` days count, drawn uniformly.
    bbox, cells, memory: as for `build_matrix`. timezone: whose clock cuts days, e.g. "Europe/Rome". columns, where: as
    for `read_trajectories`.

    >>> box = fv.synthetic.PHONES_BBOX
    >>> fv.build_frame_matrix("samples.parquet", box, cells=10, max_trips_per_person=3).grid.places
    ('morning', 'noon', 'evening')
    """
    named = parse_frames(frames)
    grid = CellGrid(public_box(bbox), parse_cells(cells), tuple(named))
    if max_trips_per_person is None:
        raise InputError(
            "the days that count of each person must be bounded", "give --max-trips-per-person N: days of one person"
        )
    most, timezone = parse_bound(max_trips_per_person), parse_timezone(timezone)
    if not isinstance(most, int):
        raise InputError("auto is for trips, not for days", "give --max-trips-per-person N: days of one person")
    memory = None if memory is None else parse_memory(memory)
    source = open_samples(samples, columns, where)
    read = replace(source, where=without_errors(source.where)).read(memory)
    user, places, seen = _days(read, list(named.values()), timezone)
    inside = _inside(places, grid.bbox)
    kept = _bounded(user[inside], most)
    distinct, counts = np.unique(_cells(places[inside][kept], grid), axis=0, return_counts=True)
    provenance = Provenance(
        source=source.source,
        columns=source.mapping,
        where=source.where,
        rows=len(read.user) + sum(read.dropped.values()),
        dropped=read.dropped | {"days not seen in every frame": seen - len(user)},
        outside_bbox=int((~inside).sum()),
        beyond_bound=int(inside.sum() - kept.sum()),
    )
    points = Points(distinct.reshape(-1, 2 * len(named)), counts.astype(np.int64), grid.lengths)
    return Matrix(points, grid, source.columns["user"], most, provenance, protection=Protection(PERSON))


def parse_frames(text: str) -> dict[str, tuple[int, int]]:
    """Return first and last hour (excluded) of each frame by name."""
    frames: dict[str, tuple[int, int]] = {}
    for part in parse_text(text, "frames", DEFAULT_FRAMES).split(","):
        match = _FRAME.fullmatch(part.strip())
        start, end = (int(match["start"]), int(match["end"])) if match else (0, 0)
        name = (match["name"] if match else None) or f"{start}-{end}"
        if not 0 <= start < end <= 24 or name in frames:
            raise InputError(f"{part!r} is not a frame of a day", f"write frames like {DEFAULT_FRAMES}")
        frames[name] = (start, end)
    return frames


def _days(samples: Samples, frames: list[tuple[int, int]], timezone: str) -> tuple[IntArray, FloatArray, int]:
    """Return person and places (one row a day, lon and lat of each frame in turn), and how many days had a sample."""
    local = pc.local_timestamp(cast("pa.TimestampArray", pa.array(samples.time, pa.timestamp("us", tz=timezone))))
    moment = np.asarray(local.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)
    day, hour = moment // (24 * _HOUR), moment % (24 * _HOUR) // _HOUR
    order = np.lexsort((samples.lat, samples.lon, samples.time, day, samples.user))
    key = np.column_stack([samples.user, day])[order]
    days, number = np.unique(key, axis=0, return_inverse=True)
    number = number.ravel()
    places = np.full((len(days), len(frames), 2), np.nan)
    for at, (start, end) in enumerate(frames):
        rows = np.flatnonzero((hour[order] >= start) & (hour[order] < end))[::-1]  # backwards: the first sample stays
        places[number[rows], at] = np.column_stack([samples.lon, samples.lat])[order][rows]
    whole = ~np.isnan(places).any(axis=(1, 2))
    return days[whole, 0], places[whole].reshape(-1, 2 * len(frames)), len(days)


def _inside(places: FloatArray, bbox: tuple[float, float, float, float]) -> BoolArray:
    west, south, east, north = bbox
    lon, lat = places[:, ::2], places[:, 1::2]
    return np.asarray(((lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)).all(axis=1), bool)


def _bounded(user: IntArray, most: int) -> BoolArray:
    """Return which days count: of each person a uniform sample, which depends on no other person."""
    lot = public_random().random(len(user))
    order = np.lexsort((lot, user))
    ranked = user[order]
    first = np.searchsorted(ranked, ranked)
    kept = np.zeros(len(user), bool)
    kept[order] = np.arange(len(user)) - first < most
    return kept


def _cells(places: FloatArray, grid: CellGrid) -> IntArray:
    west, south, east, north = grid.bbox
    low = np.tile([west, south], len(grid.places))
    size = np.tile([east - west, north - south], len(grid.places))
    cells: IntArray = np.minimum(np.floor((places - low) / size * grid.cells), grid.cells - 1).astype(np.int64)
    return cells
