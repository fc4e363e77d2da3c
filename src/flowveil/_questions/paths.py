"""The same questions put to paths: there a trip is a move, from one sample of a user to the next one elsewhere."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError
from flowveil._folder import SAMPLES, TRAJECTORIES, Kind, read_audit, read_files, remembered
from flowveil._options import parse_bbox, parse_timezone
from flowveil._places import choose_places, meters_between, read_districts
from flowveil._questions.compared import YOURS, Facts, Wording, compare_facts
from flowveil._questions.districts import make_squares
from flowveil._trips import open_samples

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._arrays import Column, FloatArray, IntArray
    from flowveil._engine import Readable, ReadingOptions, Samples
    from flowveil._folder import Files, Settings
    from flowveil._places import ZonesLike, ZoneTable
    from flowveil._questions.compared import Answered

_STAY = 200.0  # meters: the stop radius of `flowveil trips`; who is seen next within it did not go anywhere
_WORDING = Wording(
    "a move: from one sample of a user to the next, if that is more than 200 m away",
    "After: the moves of the published paths; in each box somebody is at a place and a moment drawn by chance. What "
    "was left out is not added.",
)
_DRAWN = 20_000  # samples at least: of small releases each path is drawn several times
_SEED = 0  # the same paths each time
_HOURS = 24
_EPOCH = date(1970, 1, 1)


class _Moves(NamedTuple):
    """Where moves start and end (longitudes, latitudes), when they start, and how many each of them stands for."""

    start: FloatArray
    end: FloatArray
    time: IntArray  # microseconds since 1970, UTC
    stands_for: FloatArray


def ask_paths(
    release: str | Path,
    trips: Readable,
    *,
    zones: ZonesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    timezone: str | None = None,
) -> Answered:
    """Return what people ask of trips, answered from the moves of samples and from those of published paths.

    trips: the samples. zones: districts of the user's own; by default squares over where moves start and end.
    timezone: whose hours, by default those of the release, else UTC.
    """
    files = read_files(release)
    options = files.manifest["options"]
    clock = parse_timezone(timezone or options.get("timezone") or "UTC")
    story = remembered(read_audit(release))
    reading = cast("ReadingOptions", story.reading)  # `remembered` knows its names
    source = open_samples(trips, columns or story.columns, where or story.where, towers=story.towers, reading=reading)
    true = _true_moves(source.read(), options)
    if not len(true.time):
        raise InputError(
            "nobody was seen at two places in the box of the release", "give the input that it was made of"
        )
    districts, rule = (read_districts(zones, {}, columns), YOURS) if zones is not None else _squares(true)
    if not districts.has_outlines:
        raise InputError("samples have coordinates, and the zones have no outlines", "give zones with outlines")
    before, outside = _facts(true, districts, clock)
    after, _ = _facts(_told_moves(files), districts, clock)
    return compare_facts(before, after, districts, rule, outside, _WORDING)


def _true_moves(samples: Samples, options: Settings) -> _Moves:
    """Return the moves of an input among the samples that a release is about: in its box, on its days if it has any."""
    west, south, east, north = parse_bbox(options["bbox"])
    inside = (samples.lon >= west) & (samples.lon <= east) & (samples.lat >= south) & (samples.lat <= north)
    if "days" in options:
        first, last = (date.fromisoformat(day.strip()) for day in options["days"].split(","))
        local = pc.call_function("local_timestamp", [_on_clock(samples.time, options["timezone"])])
        day = local.cast(pa.date32(), safe=False).cast(pa.int32()).to_numpy()
        inside &= (day >= (first - _EPOCH).days) & (day <= (last - _EPOCH).days)
    one = np.ones(int(inside.sum()))
    return _moves(samples.user[inside], samples.time[inside], samples.lon[inside], samples.lat[inside], one)


def _told_moves(files: Files) -> _Moves:
    """Return the moves that published paths tell."""
    if files.kind is Kind.SYNTHETIC:
        table = files.tables[SAMPLES]
        user, time = (np.asarray(table[name].cast(pa.int64()).to_numpy(), np.int64) for name in ("user", "time"))
        lon, lat = (np.asarray(table[name].to_numpy(), np.float64) for name in ("lon", "lat"))
        return _moves(user, time, lon, lat, np.ones(len(user)))
    table = files.tables[TRAJECTORIES]
    copies = max(1, -(-_DRAWN // max(len(table), 1)))
    random = np.random.default_rng(_SEED)

    def draw(name: str) -> FloatArray:
        form = pa.int64() if name == "t" else pa.float64()  # microseconds since 1970 are whole as floats, too
        low, high = (np.asarray(table[f"{name}{end}"].cast(form).to_numpy(), np.float64) for end in (0, 1))
        drawn: FloatArray = (low + random.random((copies, len(table))) * (high - low)).ravel()
        return drawn

    group, size = (np.asarray(table[name].to_numpy(), np.int64) for name in ("group", "size"))
    path = (np.arange(copies)[:, None] * (group.max(initial=0) + 1) + group).ravel()
    return _moves(path, draw("t").astype(np.int64), draw("lon"), draw("lat"), np.tile(size / copies, copies))


def _moves(user: IntArray, time: IntArray, lon: FloatArray, lat: FloatArray, count: FloatArray) -> _Moves:
    """Return the moves of samples in any order."""
    order = np.lexsort((lat, lon, time, user))
    user, place = user[order], np.stack([lon[order], lat[order]])
    start, end = place[:, :-1], place[:, 1:]
    moved = (user[1:] == user[:-1]) & (meters_between(start[0], start[1], end[0], end[1]) > _STAY)
    return _Moves(start[:, moved], end[:, moved], time[order][:-1][moved], count[order][:-1][moved])


def _squares(moves: _Moves) -> tuple[ZoneTable, str]:
    lon, lat = np.concatenate([moves.start, moves.end], axis=1)
    return make_squares(lon, lat, np.ones(len(lon), np.int64))


def _facts(moves: _Moves, districts: ZoneTable, clock: str) -> tuple[Facts, float]:
    """Return what is known of moves between districts, and which share of them has an end in none."""
    places, many = choose_places(None, districts.as_table(), "ward"), len(districts.ids)
    row, column = (
        places.index(pa.array(end[0]), pa.array(end[1])).fill_null(many).to_numpy().astype(np.int64)
        for end in (moves.start, moves.end)
    )
    inside = (row < many) & (column < many)
    amount, whole = moves.stands_for[inside], float(moves.stands_for.sum())
    between = _summed(row[inside] * many + column[inside], amount, many * many).reshape(many, many)
    if not len(amount):
        return Facts(between, None, None, None), 1.0
    far = meters_between(*moves.start[:, inside], *moves.end[:, inside]) / 1000
    hour = pc.call_function("hour", [_on_clock(moves.time[inside], clock)]).to_numpy()
    return Facts(between, far, amount, _summed(hour, amount, _HOURS)), 1 - float(amount.sum()) / whole


def _summed(place: IntArray, amount: FloatArray, many: int) -> FloatArray:
    return np.asarray(np.bincount(place, amount, many), np.float64)


def _on_clock(time: IntArray, clock: str) -> Column:
    """Return moments on a clock."""
    return pa.array(time, pa.timestamp("us", tz=clock))
