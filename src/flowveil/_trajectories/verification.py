"""The verifier: reads a written release and the input again, and shares no code with what merged them.

It compares raw longitudes, latitudes and moments with the published boxes, without the grid that glove works on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import asin, cos, degrees, radians
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._arrays import filled
from flowveil._errors import InputError, VerificationError
from flowveil._folder import MANIFEST, REPORT, TRAJECTORIES, remembered
from flowveil._report import CHECKED_REPORT, check_report, trajectories_content
from flowveil._trajectories import describe
from flowveil._trajectories.release import COLUMNS, MEMBER_COLUMNS, promise_text, read_release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._engine import Readable, Samples
    from flowveil._trajectories.release import TrajectoryRelease

_MANIFEST_KEYS = {"format", "software", "method", "options", "promise", "promise_text", "absence"}
_OPTIONS = {"projection", "parallel", "step", "bbox", "min_samples", "variant", "max_extent", "max_duration"}
_NEEDED = {"parallel", "step", "bbox", "min_samples"}
_PROMISE = {"kind", "k", "unit", "records", "samples", "max_extent", "max_duration"}
_HINT = "do not publish this folder; make it again"
_FUZZ = 1e-9  # degrees, a tenth of a millimeter: points on an edge may be rounded to either side
_RADIUS = 6_371_007.181


@dataclass(frozen=True)
class TrajectoryVerification:
    """What was checked; everything holds."""

    checks: tuple[str, ...]
    groups: int
    users: int
    unsupported: float
    where: str | None = None  # the condition on the samples: no others were looked at
    columns: dict[str, str] = field(default_factory=dict)  # which columns were taken for what, as somebody said


def verify(
    path: str | Path, against: Readable, *, columns: Mapping[str, str] | None = None, where: str | None = None
) -> TrajectoryVerification:
    """Check every promise of a release on the samples it was made from, or raise VerificationError.

    columns and where are taken from the private audit file unless they are given.
    """
    release = read_release(path)
    try:
        _check_folder(Path(path).resolve(), release)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise VerificationError("the release does not hold: the manifest is not complete", _HINT) from None
    story = remembered(release.audit)
    source = describe(against, columns or story.columns, where or story.where)
    table = _Boxes(release)
    _check_groups(release, table)
    _check_edges(release, table)
    _check_thresholds(release, table)
    unsupported = _check_samples(release, table, source.read())
    return TrajectoryVerification(
        checks=(
            "the folder holds the listed files, columns and keys, and nothing else",
            f"every group has rows of at least {release.manifest['promise']['k']} users, and nobody is in two groups",
            "the samples of a group are disjoint, in order, and on the edges of the grid",
            "every input row of a member is kept in one sample or counted as suppressed",
            "every sample holds a kept row of a member",
            "no sample is over a threshold",
            *((CHECKED_REPORT,) if check_report(path, trajectories_content) else ()),
        ),
        groups=len(table.sizes),
        users=int(table.sizes.sum()),
        unsupported=unsupported,
        where=source.where,
        columns=source.mapping,
    )


class _Boxes:
    """The published samples as arrays."""

    def __init__(self, release: TrajectoryRelease) -> None:
        table = release.trajectories
        self.group: IntArray = table["group"].to_numpy()
        self.t0: IntArray = table["t0"].cast(pa.int64()).to_numpy()
        self.t1: IntArray = table["t1"].cast(pa.int64()).to_numpy()
        self.lon: tuple[FloatArray, FloatArray] = (table["lon0"].to_numpy(), table["lon1"].to_numpy())
        self.lat: tuple[FloatArray, FloatArray] = (table["lat0"].to_numpy(), table["lat1"].to_numpy())
        self.size: IntArray = table["size"].to_numpy()
        if (
            not len(self.group)
            or (np.diff(self.group) < 0).any()
            or self.group[0] != 0
            or (np.diff(self.group) > 1).any()
        ):
            _fail("groups are not numbered from 0 and sorted")
        self.first: IntArray = np.flatnonzero(np.diff(self.group, prepend=-1))
        self.sizes: IntArray = self.size[self.first]


def _fail(what: str) -> None:
    raise VerificationError(f"the release does not hold: {what}", _HINT)


def _check_folder(folder: Path, release: TrajectoryRelease) -> None:
    names = {item.name for item in folder.iterdir()}
    if names - {REPORT} != {MANIFEST, TRAJECTORIES}:
        _fail(f"the folder holds other files than {TRAJECTORIES} and {MANIFEST}")
    if not release.trajectories.schema.equals(COLUMNS) or pq.read_schema(folder / TRAJECTORIES).metadata:
        _fail(f"{TRAJECTORIES} has other columns or metadata than it should")
    if release.trajectories.num_rows and any(column.null_count for column in release.trajectories.columns):
        _fail(f"{TRAJECTORIES} has nulls")
    if not release.members.schema.equals(MEMBER_COLUMNS):
        raise InputError("the members file has other columns than it should", "use the one that was written beside")
    manifest = release.manifest
    keys, options = set(manifest["options"]), manifest["options"]
    if set(manifest) != _MANIFEST_KEYS or not _NEEDED <= keys <= _OPTIONS or not set(manifest["promise"]) <= _PROMISE:
        _fail("the manifest has other keys than it should")
    _step(release)
    numbers = [*options["bbox"], options["parallel"], options["min_samples"]]
    if len(numbers) != 6 or not all(isinstance(number, int | float) for number in numbers):
        _fail("the grid of the manifest cannot be read")
    k = manifest["promise"]["k"]
    if not isinstance(k, int) or k < 2 or manifest["promise_text"] != promise_text(k):
        _fail("the promise is not a promise of k-anonymity")


def _check_groups(release: TrajectoryRelease, table: _Boxes) -> None:
    k = release.manifest["promise"]["k"]
    if (table.size != table.sizes[table.group]).any():
        _fail("a group has several sizes")
    if (table.sizes < k).any():
        _fail(f"a group has fewer than {k} users")
    users = release.members["user_id"].to_pylist()
    if None in users or len(set(users)) != len(users):
        _fail("a user is listed twice")
    groups = release.members["group"].drop_null().to_numpy()
    if len(groups) and not (groups.min() >= 0 and groups.max() < len(table.sizes)):
        _fail("a user is in a group that was not published")
    if (np.bincount(groups, minlength=len(table.sizes)) != table.sizes).any():
        _fail("a group does not have as many members as it says")


def _check_edges(release: TrajectoryRelease, table: _Boxes) -> None:
    later = np.diff(table.group) == 0
    if (table.t1 <= table.t0).any() or (table.t0[1:][later] < table.t1[:-1][later]).any():
        _fail("samples of a group overlap in time or are not in order")
    if (table.lon[0] >= table.lon[1]).any() or (table.lat[0] >= table.lat[1]).any():
        _fail("a box is empty")
    meters, minutes = _step(release)
    step = minutes * 60_000_000
    if (table.t0 % step).any() or (table.t1 % step).any():
        _fail("a time is not on the grid")
    narrow = cos(radians(release.manifest["options"]["parallel"]))
    for edges in table.lon:
        exact = [
            degrees(round(radians(edge) * _RADIUS * narrow / meters) * meters / (_RADIUS * narrow)) for edge in edges
        ]
        if not (np.isclose(edges, exact, rtol=0, atol=_FUZZ) | (np.abs(edges) == 180)).all():
            _fail("a longitude is not on the grid")
    for edges in table.lat:
        rows = np.round(np.sin(np.radians(edges)) * _RADIUS / narrow / meters)
        exact = [degrees(asin(max(-1, min(1, row * meters * narrow / _RADIUS)))) for row in rows.tolist()]
        if not np.isclose(edges, exact, rtol=0, atol=_FUZZ).all():
            _fail("a latitude is not on the grid")


def _step(release: TrajectoryRelease) -> tuple[int, int]:
    space, _, time = str(release.manifest["options"].get("step")).partition(",")
    return int(space.removesuffix("m")), int(time.removesuffix("min"))


def _check_thresholds(release: TrajectoryRelease, table: _Boxes) -> None:
    promise = release.manifest["promise"]
    if text := promise.get("max_duration"):
        unit = {"min": 1, "h": 60, "d": 1440}
        name = next(name for name in unit if text.strip().endswith(name))
        if ((table.t1 - table.t0) / 60_000_000 > float(text.strip().removesuffix(name)) * unit[name]).any():
            _fail("a sample lasts longer than promised")
    if text := promise.get("max_extent"):
        most = float(text.strip().removesuffix("m").removesuffix("k")) * (1000 if text.strip().endswith("km") else 1)
        narrow = cos(radians(release.manifest["options"]["parallel"]))
        wide = np.radians(table.lon[1] - table.lon[0]) * _RADIUS * narrow
        tall = (np.sin(np.radians(table.lat[1])) - np.sin(np.radians(table.lat[0]))) * _RADIUS / narrow
        if (np.maximum(wide, tall) > most + 1e-3).any():
            _fail("a box is larger than promised")


def _check_samples(release: TrajectoryRelease, table: _Boxes, samples: Samples) -> float:
    """Check input rows against boxes; return the share of (member, sample) pairs in which the member was not seen."""
    west, south, east, north = release.manifest["options"]["bbox"]
    usable = (west <= samples.lon) & (samples.lon <= east) & (south <= samples.lat) & (samples.lat <= north)
    count = np.bincount(samples.user[usable], minlength=len(samples.users))
    enough = count >= release.manifest["options"]["min_samples"]
    listed = {user: row for row, user in enumerate(release.members["user_id"].to_pylist())}
    expected = {user for user, long in zip(samples.users, enough.tolist(), strict=True) if long}
    if expected != set(listed):
        _fail("the listed users are not the users of the input")
    row = np.array([listed.get(user, -1) for user in samples.users], np.int64)[samples.user]
    usable &= row >= 0
    groups = filled(release.members["group"], -1)
    user, group = row[usable], groups[row[usable]]
    spot = _find(table, group, samples.time[usable])
    inside, surely = spot >= 0, spot >= 0
    for edges, values in ((table.lon, samples.lon[usable]), (table.lat, samples.lat[usable])):
        low, high = values - edges[0][spot], edges[1][spot] - values
        inside &= (low >= -_FUZZ) & (high > -_FUZZ)
        surely &= (low > _FUZZ) & (high > _FUZZ)
    rows = np.bincount(user, minlength=len(listed))
    kept = release.members["kept"].to_numpy()
    least, most = (np.bincount(user[held], minlength=len(listed)) for held in (surely, inside))
    if (kept < least).any() or (kept > most).any():
        _fail("a member's rows lie outside of the samples that should hold them")
    if (kept + release.members["suppressed"].to_numpy() != rows).any():
        _fail("kept and suppressed rows of a user do not add up to the input")
    if not _limits_given(release) and (kept[groups >= 0] != rows[groups >= 0]).any():
        _fail("rows of a member are missing though no threshold was promised")
    _check_people(release, table, user[inside], group[inside])
    if (np.bincount(spot[inside], minlength=len(table.group)) == 0).any():
        _fail("nobody of its group was seen in a sample")
    seen = len(np.unique(np.stack([user[inside], spot[inside]]), axis=1).T)
    pairs = int(table.size.sum())
    return 1 - seen / pairs


def _check_people(release: TrajectoryRelease, table: _Boxes, user: IntArray, group: IntArray) -> None:
    """Count the users who are really there: user and group of each input row that lies in a sample of its group."""
    k = release.manifest["promise"]["k"]
    people = np.bincount(np.unique(np.stack([user, group]), axis=1)[1], minlength=len(table.sizes))
    if (people < k).any():
        _fail(f"fewer than {k} users have a row in the samples of a group")
    if (people != table.sizes).any():
        _fail("a group counts users who have no row in its samples")


def _limits_given(release: TrajectoryRelease) -> bool:
    return any(name in release.manifest["promise"] for name in ("max_extent", "max_duration"))


def _find(table: _Boxes, group: IntArray, time: IntArray) -> IntArray:
    """Return for each row the sample of its group whose time span holds it, or -1."""
    spot = np.full(len(group), -1)
    order = np.lexsort((time, group))
    last = np.append(table.first[1:], len(table.group))
    begin = np.searchsorted(group[order], np.arange(len(table.first)))
    end = np.searchsorted(group[order], np.arange(len(table.first)), side="right")
    for number, (first, stop) in enumerate(zip(table.first.tolist(), last.tolist(), strict=True)):
        own = order[begin[number] : end[number]]
        place = first + np.searchsorted(table.t0[first:stop], time[own], side="right") - 1
        held: BoolArray = (place >= first) & (time[own] < table.t1[np.maximum(place, first)])
        spot[own] = np.where(held, place, -1)
    return spot
