"""Synthetic trips drawn from a release: nobody made them, and nothing but the release is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from flowveil._errors import InputError
from flowveil._folder import SIDES, TIMES, Kind, check_operation
from flowveil._options import parse_whole
from flowveil._reading.learning import learn
from flowveil._reading.spots import find_spots
from flowveil._reading.told import tell
from flowveil._times import HOUR_OF_DAY, parse_steps

if TYPE_CHECKING:
    from flowveil._arrays import ChunkedColumn, Column, FloatArray, IntArray
    from flowveil._folder import Files
    from flowveil._reading.learning import Learned
    from flowveil._reading.told import Told

_TRIES = 20  # to find a place inside an area, or a pair that no finer flow has
_MOST = 100_000_000
_COORDINATES = ("start_lon", "start_lat", "end_lon", "end_lat")
_HOUR = 3600


def sample_trips(files: Files, count: int, seed: int | None = None) -> pa.Table:
    """Draw synthetic trips: flows in proportion to their trips, and inside their areas as the model expects trips.

    Columns: `trip_id`, `origin` and `destination` (areas), the groups, `start_lon` to `end_lat` (or `origin_zone` and
    `destination_zone` where areas have no outlines), when trips start, and `synthetic`, which is always true.
    """
    check_operation(files.kind, "sample")
    count = parse_whole(count, "count", "give a whole number from 1 up", 1)
    if count > _MOST:
        raise InputError(f"{count:,} trips are too many to draw at once", f"draw at most {_MOST:,}")
    seed = None if seed is None else parse_whole(seed, "seed", "give a whole number from 0 up", 0)
    told = tell(files)
    chance = np.random.default_rng(seed)
    weight = np.where(told.counted, np.maximum(told.trips, 0), 0)
    if not weight.sum() > 0:
        raise InputError("the release has no trips that could be drawn", "name one with flows")
    learned = learn(told, find_spots(told, by_ids=False, coarse=files.kind is Kind.CELLS))
    flow = chance.permutation(np.repeat(np.arange(len(weight)), chance.multinomial(count, weight / weight.sum())))
    spots = _draw_spots(learned, flow, chance)
    columns: dict[str, Column | ChunkedColumn] = {
        "trip_id": pa.array([f"synthetic-{number}" for number in range(1, count + 1)])
    }
    for side, end, rows in zip(SIDES, told.ends, (told.origin, told.destination), strict=True):
        columns[side] = pa.array(np.array(end.ids, object)[rows[flow]], pa.string())
    for name in told.keys.column_names:
        if name not in TIMES:
            columns[name] = told.keys[name].take(told.matrix[flow])
    columns |= _places(learned, flow, spots, chance) | _moments(told, flow, chance)
    columns["synthetic"] = pa.array(np.ones(count, bool))
    return pa.table(columns)


def _draw_spots(learned: Learned, flow: IntArray, chance: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return the spots of both ends of each trip."""
    told, model = learned.told, learned.model
    masses = model.piece_masses()
    held = [_spots_of_areas(learned, side) for side in (0, 1)]
    inner = _inner(told)
    drawn = np.zeros((2, len(flow)), np.int64)
    order = np.argsort(flow, kind="stable")
    edges = np.flatnonzero(np.diff(flow[order], prepend=-1))
    for rows in np.split(order, edges[1:]):
        number = int(flow[rows[0]])
        areas = (int(told.origin[number]), int(told.destination[number]))
        pieces = [np.arange(*end.pieces.first[area : area + 2]) for end, area in zip(model.ends, areas, strict=True)]
        region = [end.pieces.region[piece] for end, piece in zip(model.ends, pieces, strict=True)]
        pull = model.pull[np.ix_(*region)] * masses[0][pieces[0]][:, None] * masses[1][pieces[1]]
        left = rows
        for attempt in range(_TRIES):
            pair = chance.choice(pull.size, len(left), p=(pull / pull.sum()).ravel())
            for side, chosen in enumerate(np.divmod(pair, pull.shape[1])):
                drawn[side, left] = _inside_pieces(learned, side, pieces[side][chosen], chance)
            taken = _in_finer(drawn[:, left], inner.get(number, []), held)
            left = left[taken]
            if not len(left) or attempt + 1 == _TRIES:
                break
    return drawn[0], drawn[1]


def _inside_pieces(learned: Learned, side: int, piece: IntArray, chance: np.random.Generator) -> IntArray:
    """Return a spot of each piece, drawn by mass; pairs of piece and spot are sorted by piece."""
    end, mass = learned.model.ends[side], learned.model.mass[side]
    heavy = np.cumsum(mass[end.spot])
    first, last = np.searchsorted(end.piece, piece), np.searchsorted(end.piece, piece, side="right")
    before = np.where(first > 0, heavy[np.maximum(first - 1, 0)], 0.0)
    at = np.searchsorted(heavy, before + chance.random(len(piece)) * (heavy[last - 1] - before), side="right")
    return end.spot[np.clip(at, first, last - 1)]


def _spots_of_areas(learned: Learned, side: int) -> dict[tuple[int, int], bool]:
    """Return which areas of finer flows inside remainders hold which spots, as a set of (area, spot)."""
    told, spots = learned.told, learned.spots
    finer = told.rectangles.factor != 1
    used = np.unique((told.rectangles.origin, told.rectangles.destination)[side][finer])
    chosen = np.isin(spots.area[side], used)
    pairs = zip(spots.area[side][chosen].tolist(), spots.spot[side][chosen].tolist(), strict=True)
    return dict.fromkeys(pairs, True)


def _inner(told: Told) -> dict[int, list[tuple[int, int]]]:
    """Return by remainder the areas of the finer flows inside it."""
    inner: dict[int, list[tuple[int, int]]] = {}
    rectangles = told.rectangles
    for at in np.flatnonzero(rectangles.factor != 1).tolist():
        areas = (int(rectangles.origin[at]), int(rectangles.destination[at]))
        inner.setdefault(int(rectangles.flow[at]), []).append(areas)
    return inner


def _in_finer(spots: IntArray, inner: list[tuple[int, int]], held: list[dict[tuple[int, int], bool]]) -> IntArray:
    """Return which trips lie in a finer flow."""
    if not inner:
        return np.zeros(0, np.int64)
    taken = [
        any((one, first) in held[0] and (two, second) in held[1] for one, two in inner)
        for first, second in spots.T.tolist()
    ]
    return np.flatnonzero(taken)


def _places(
    learned: Learned, flow: IntArray, drawn: tuple[IntArray, IntArray], chance: np.random.Generator
) -> dict[str, Column]:
    """Return where trips start and end: points in spots, or zones."""
    told, spots = learned.told, learned.spots
    if spots.zones is not None:
        names = np.array(spots.zones, object)
        return {f"{side}_zone": pa.array(names[own], pa.string()) for side, own in zip(SIDES, drawn, strict=True)}
    columns = []
    for side, rows in enumerate((told.origin, told.destination)):
        shapes, own = told.ends[side].shapes[rows[flow]], drawn[side]
        lon, lat = spots.lon[own].copy(), spots.lat[own].copy()
        left = np.arange(len(own))
        for _ in range(_TRIES):
            east, north = (chance.random(len(left)) - 0.5 for _ in range(2))
            x = spots.lon[own[left]] + east * spots.wide[own[left]]
            y = spots.lat[own[left]] + north * spots.high[own[left]]
            inside = shapely.is_missing(shapes[left]) | shapely.contains_xy(shapes[left], x, y)
            lon[left[inside]], lat[left[inside]] = x[inside], y[inside]
            left = left[~inside]
            if not len(left):
                break
        columns += [lon, lat]
    return {name: pa.array(np.round(values, 6)) for name, values in zip(_COORDINATES, columns, strict=True)}


def _moments(told: Told, flow: IntArray, chance: np.random.Generator) -> dict[str, Column]:
    """Return when trips start, evenly inside steps: `start_time` in UTC, or `depart`, seconds of a day or week."""
    if TIMES[0] not in told.keys.column_names:
        return {}
    begin, *ends = (
        told.keys[name].take(told.matrix[flow]).combine_chunks() for name in TIMES if name in told.keys.column_names
    )
    within: FloatArray = chance.random(len(flow))
    options = told.manifest["options"]
    if pa.types.is_timestamp(begin.type):
        start = _microseconds(begin)
        if ends:
            stop = _microseconds(ends[0])
        else:
            stop = parse_steps(str(options["time"]), options.get("timezone")).end(start.astype(np.int64)).astype(float)
        known = np.isfinite(start) & np.isfinite(stop)
        moment = np.where(known, start + np.floor(within * (stop - start) / 1e6) * 1e6, 0).astype(np.int64)
        return {"start_time": pa.array(moment, pa.int64(), mask=~known).cast(pa.timestamp("us", "UTC"))}
    if ends or "time" not in options:
        return {TIMES[0]: begin}
    steps = parse_steps(str(options["time"]), options.get("timezone"))
    hours = begin.to_numpy(zero_copy_only=False).astype(np.int64)
    if steps.name != HOUR_OF_DAY:
        for value in np.unique(hours).tolist():
            own = hours == value
            hours[own] = chance.choice(steps.hours_of_week(value), int(own.sum()))
    return {"depart": pa.array(np.floor((hours + within) * _HOUR).astype(np.int64))}


def _microseconds(column: Column) -> FloatArray:
    """Return moments in UTC; NaN for a time without bounds."""
    return np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False), np.float64)
