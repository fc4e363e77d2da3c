"""Checking synthetic trajectories: budget, places, noisy counts and samples go together. Noise cannot be checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._folder import MODEL, PLACES, SAMPLES
from flowveil._report import CHECKED_REPORT, check_report, synthetic_content
from flowveil._verify.apart import find_overlap
from flowveil._verify.broken import broken
from flowveil._verify.folder import load_audit
from flowveil._verify.results import Verification
from flowveil._verify.synthetic_tables import read_synthetic_tables
from flowveil._verify.written import check_written

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json
    from flowveil._places import ZonesLike
    from flowveil._verify.synthetic_tables import SyntheticTables

_RADIUS = 6_371_007.181  # of the sphere with the area of the Earth, in meters
_MINUTE, _DAY = 60_000_000, 86_400_000_000  # microseconds
_FUZZ = 1e-9  # degrees
_ROUNDING = 1e-9  # relative; budgets and scales are published as floats
_USER = 10_000  # units of a user
_STAY = 2_500  # units of a user who stays at a place
# Rows and columns of each part, in the order of the budget; P: places, B: blocks, D: days, A: classes of active days.
_PARTS: dict[str, tuple[int | str, int | str]] = {
    "users": (1, 1),
    "sizes": (48, 1),
    "active": (13, "A"),
    "days": ("D", 1),
    "hours": (2, 24),
    "homes": ("P", 1),
    "works": ("P+1", 1),
    "visits": ("P", 1),
    "stays": ("P", 1),
    "distinct": (13, 10),
    "ranks": (8, 1),
    "roles": (16, 4),
    "steps": (12, 5),
    "commutes": (14, 1),
    "reach": (14, 1),
    "jumps": (14, 1),
    "pairs": ("B", "B"),
    "moves": ("B", "B"),
}
_CANNOT = "not checked: that the counts carry the noise they should; nobody can tell that from a release"


def verify_synthetic(path: str | Path, *, context: ZonesLike | None = None) -> Verification:
    """Check structure and budget of synthetic trajectories; raise VerificationError at the first that does not hold.

    context: what the report shows beside the release.
    """
    release = read_synthetic_tables(path)
    budget = _check_budget(release)
    _check_places(release)
    _check_model(release, budget)
    users = _check_samples(release)
    report = (CHECKED_REPORT,) if check_report(release.folder, synthetic_content, context) else ()
    checks = (
        "the folder and the manifest hold nothing but what the format lists",
        f"the parts of the budget add up to at most epsilon = {release.epsilon:g} for one user",
        "the places cover the whole box, and no two overlap",
        "every cell of every part is listed, with the scale that its part of the budget buys",
        f"every sample is of one of {users:,} numbered users, in order, within the days and in its place",
        *report,
        *check_written(release.folder, load_audit(release.folder)),
        _CANNOT,
    )
    return Verification(checks, flows=release.tables[SAMPLES].num_rows, trips_read=0)


def _check_budget(release: SyntheticTables) -> dict[str, float]:
    """Return what each part costs a user."""
    listed: Json = release.manifest["promise"]["budget"]
    try:
        spends = [(str(each["spend"]), float(each["epsilon"])) for each in listed]
        plain = all(set(each) == {"spend", "epsilon"} for each in listed)
    except (TypeError, KeyError, ValueError):
        raise broken("the budget is not a list of spends") from None
    if not plain or [name for name, _ in spends] != ["grid", *_PARTS]:
        raise broken("the spends of the budget are not those of the method, in order")
    if not all(math.isfinite(value) and value > 0 for _, value in spends):
        raise broken("a spend of the budget is not a positive number")
    if math.fsum(value for _, value in spends) > release.epsilon * (1 + _ROUNDING):
        raise broken("the parts of the budget add up to more than epsilon")
    return dict(spends)


def _cells(release: SyntheticTables, lon: FloatArray, lat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where points are on the grid, in cells."""
    narrow, meters = math.cos(math.radians(release.options["parallel"])), release.step[0]
    return np.radians(lon) * _RADIUS * narrow / meters, np.sin(np.radians(lat)) * _RADIUS / narrow / meters


def _check_places(release: SyntheticTables) -> None:
    """Check that places are numbered, on the edges of cells, and tile the cells of the box."""
    low, high = (
        np.column_stack(_cells(release, *(release.floats(PLACES, f"{name}{end}") for name in ("lon", "lat"))))
        for end in (0, 1)
    )
    edges = np.rint(np.stack([low, high])).astype(np.int64)
    if not np.allclose(edges, [low, high], rtol=0, atol=1e-4):
        raise broken("an edge of a place is not on the grid")
    west, south, east, north = release.options["bbox"]
    corners = np.column_stack(_cells(release, np.array([west, east]), np.array([south, north])))
    first, last = np.floor(corners).astype(np.int64)
    if (edges[1] <= edges[0]).any() or (edges[0] < first).any() or (edges[1] > last + 1).any():
        raise broken("a place is empty or lies outside of the box")
    volume = sum((edges[1] - edges[0]).astype(object).prod(axis=1).tolist())
    if volume != int((last + 1 - first).astype(object).prod()) or find_overlap(edges[0], edges[1]) is not None:
        raise broken("the places leave a gap or overlap")
    if (release.whole(PLACES, "place") != np.arange(len(low))).any():
        raise broken("places are not numbered from 0")
    blocks = np.unique(release.whole(PLACES, "block"))
    if (blocks != np.arange(len(blocks))).any():
        raise broken("blocks are not numbered from 0")


def _check_model(release: SyntheticTables, budget: dict[str, float]) -> None:
    """Check that every part has all of its rows and columns, and the noise that was paid for."""
    places = release.tables[PLACES].num_rows
    sizes: dict[int | str, int] = {"P": places, "P+1": places + 1, "D": release.days[1]}
    sizes |= {"B": int(release.whole(PLACES, "block").max()) + 1, "A": min(release.days[1].bit_length(), 13)}
    expected, names, scales = [], [], []
    for part, (rows, columns) in _PARTS.items():
        many, wide = sizes.get(rows, rows), sizes.get(columns, columns)
        expected.append(np.stack(np.divmod(np.arange(int(many) * int(wide)), int(wide))))
        names += [part] * expected[-1].shape[1]
        scales += [_USER / budget[part]] * expected[-1].shape[1]
    listed = np.stack([release.whole(MODEL, name) for name in ("row", "column")])
    if release.tables[MODEL]["part"].to_pylist() != names or (listed != np.concatenate(expected, axis=1)).any():
        raise broken("the model does not list every row and column of every part once, in order")
    if not np.allclose(release.floats(MODEL, "scale"), scales, rtol=_ROUNDING, atol=0):
        raise broken("the scale of a noisy count is not the one that its part of the budget buys")
    stays = release.whole(MODEL, "count")[np.array(names) == "stays"]
    if (np.abs(release.whole(PLACES, "stays") - stays / _STAY) > 0.5 + _ROUNDING).any():
        raise broken("the users who stay at a place are not those of the model")
    if not np.allclose(release.floats(PLACES, "scale"), _USER / budget["stays"] / _STAY, rtol=_ROUNDING, atol=0):
        raise broken("the scale of the users who stay at a place is not that of the model")


def _check_samples(release: SyntheticTables) -> int:
    """Check that samples are in order, within the days and in their places; return how many users there are."""
    user, time, place = (release.whole(SAMPLES, name) for name in ("user", "time", "place"))
    steps = np.diff(user)
    if not len(user) or user[0] != 0 or (steps < 0).any() or (steps > 1).any():
        raise broken("users are not numbered from 0 and sorted")
    if (np.diff(time)[steps == 0] < 0).any() or (time % (release.step[1] * _MINUTE)).any():
        raise broken("samples of a user are not in the order of time, or not on the grid")
    wanted = release.options.get("users", round(max(0.0, int(release.whole(MODEL, "count")[0]) / _USER)))
    if int(user[-1]) + 1 != wanted:
        raise broken("there are not as many users as were asked for, or as the noisy count of users says")
    day = _local_days(time, release.options["timezone"]) - release.days[0]
    if (day < 0).any() or (day >= release.days[1]).any():
        raise broken("a sample is not of the days of the manifest")
    if (place < 0).any() or (place >= release.tables[PLACES].num_rows).any():
        raise broken("a sample is in a place that is not listed")
    west, south, east, north = release.options["bbox"]
    lon, lat = release.floats(SAMPLES, "lon"), release.floats(SAMPLES, "lat")
    if (lon < west).any() or (lon > east).any() or (lat < south).any() or (lat > north).any():
        raise broken("a sample lies outside of the box")
    for name, values in (("lon", lon), ("lat", lat)):
        low, high = (release.floats(PLACES, f"{name}{end}")[place] for end in (0, 1))
        if (values < low - _FUZZ).any() or (values > high + _FUZZ).any():
            raise broken("a sample lies outside of its place")
    return int(user[-1]) + 1


def _local_days(time: IntArray, timezone: str) -> IntArray:
    """Return the local day of moments, in days since 1970."""
    moments = pa.array(time, pa.timestamp("us", tz="UTC")).cast(pa.timestamp("us", tz=timezone))
    local = pc.call_function("local_timestamp", [moments]).cast(pa.int64()).to_numpy()
    return np.asarray(local // _DAY, np.int64)
