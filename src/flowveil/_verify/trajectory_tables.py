"""The files of a release of trajectories, after checking that they are as the format says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import cos, radians
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._folder import AUDIT, MANIFEST, MEMBERS, REPORT, TRAJECTORIES, Kind, check_kind, find_release, read_json
from flowveil._verify.broken import broken
from flowveil._verify.complete_support import METERS, MINUTES, STEERING_OPTIONS, check_steering, read_amount
from flowveil._verify.description import check_description
from flowveil._verify.json import only_keys
from flowveil._verify.manifest import KEYS, check_software
from flowveil._verify.options import parse_box
from flowveil._verify.parquet import read_parquet
from flowveil._verify.words import TRAJECTORIES_ABSENCE, trajectories_promise_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json

_FORMAT = "flowveil-trajectories/1"
_METHODS = {"k-anonymity": ("glove", "gather"), "km-anonymity": ("km",)}  # by kind of promise
_OPTIONS = ("projection", "parallel", "step", "bbox", "min_samples")
_THRESHOLDS = ("max_extent", "max_duration", "min_support")
_POINTS = ("known_points", "max_suppression")
_GRID = ("caps", "weights", "cut_into", "timezone")
_MORE_OPTIONS = ("variant", *_THRESHOLDS, "reshape", "blocks", *_POINTS, *STEERING_OPTIONS, *_GRID)
_OF_GLOVE = {"variant", "min_support", "reshape", "blocks"}
_PROMISE = ("kind", "k", "unit", "records", "samples")
_MORE_PROMISE = (*_THRESHOLDS, *_POINTS, "spans", "support", "cut_into")
_MOST_KNOWN_POINTS = 6
_SAID = {"unit": "user", "records": "trajectories", "samples": "generalized"}
_PROJECTION = "Lambert cylindrical equal-area"
_VARIANTS = ("strict", "absorb", "loose")
_STEEPEST_PARALLEL = 80  # degrees
_STEP = r"([1-9][0-9]{0,8})m,([1-9][0-9]{0,8})min"
_CAPS, _WEIGHTS = "20000m,480min", r"[0-9]{1,3},[0-9]{1,3}"
_LARGEST_WHOLE = 2**62
_TIME = pa.timestamp("us", tz="UTC")
_EDGES: dict[str, pa.DataType] = {
    "t0": _TIME,
    "t1": _TIME,
    **dict.fromkeys(("lon0", "lat0", "lon1", "lat1"), pa.float64()),
}
_COLUMNS = pa.schema({"group": pa.int64(), "size": pa.int64(), "support": pa.int64()} | _EDGES)
_MEMBERS: dict[str, pa.DataType] = {
    "user_id": pa.string(),
    **dict.fromkeys(("group", "kept", "suppressed"), pa.int64()),
}
_MEMBER_COLUMNS = pa.schema(_MEMBERS)
_MEMBERS_CUT = _MEMBER_COLUMNS.insert(1, pa.field("period", pa.date32()))
_HINT = "name a folder that flowveil trajectories anonymize wrote, with its .members.parquet beside it"


@dataclass(frozen=True, eq=False)
class TrajectoryTables:
    """A release of trajectories as it was written, and the private files beside it."""

    manifest: dict[str, Json]
    samples: pa.Table  # published boxes and time spans, by group
    members: pa.Table
    audit: dict[str, Json]

    @property
    def k(self) -> int:
        """The users who must share a trajectory, or fit known points."""
        return int(self.manifest["promise"]["k"])

    @property
    def min_support(self) -> int:
        """The members that must have been seen in every sample."""
        return int(self.manifest["promise"].get("min_support", 1))

    @property
    def known_points(self) -> int | None:
        """The points of a user that an attacker may know, None where whole trajectories are shared."""
        points = self.manifest["promise"].get("known_points")
        return None if points is None else int(points)

    @property
    def least_users(self) -> int:
        """The users that every group must have."""
        return self.k if self.known_points is None else 1

    @property
    def max_suppression(self) -> float:
        """The largest share of rows that may be left out."""
        return float(self.manifest["promise"].get("max_suppression", 1.0))

    @property
    def complete(self) -> bool:
        """Whether every member must have been seen in every sample."""
        return bool(self.manifest["promise"].get("support") == "complete")

    @property
    def overlapping(self) -> bool:
        """Whether samples of a group may share time."""
        return bool(self.manifest["promise"].get("spans") == "overlapping")

    @property
    def period(self) -> str | None:
        """What trajectories are cut into: days, weeks or nothing."""
        period: str | None = self.manifest["promise"].get("cut_into")
        return period

    @property
    def options(self) -> dict[str, Json]:
        """The options of the manifest."""
        options: dict[str, Json] = self.manifest["options"]
        return options

    @property
    def step(self) -> tuple[int, int]:
        """The step of the grid in meters and minutes."""
        space, _, time = str(self.options["step"]).partition(",")
        return int(space.removesuffix("m")), int(time.removesuffix("min"))

    @property
    def narrow(self) -> float:
        """How much shorter a degree of longitude is than at the equator, on the parallel of the grid."""
        return cos(radians(self.options["parallel"]))

    @property
    def max_extent(self) -> float | None:
        """The longest side of a box in meters that is promised, None where nothing is that can be read."""
        return read_amount(self.manifest["promise"].get("max_extent"), METERS)

    @property
    def max_duration(self) -> float | None:
        """The longest time span in minutes that is promised, None where nothing is that can be read."""
        return read_amount(self.manifest["promise"].get("max_duration"), MINUTES)


class Boxes:
    """The published samples as arrays."""

    def __init__(self, table: pa.Table) -> None:
        self.group: IntArray = table["group"].to_numpy()
        self.size: IntArray = table["size"].to_numpy()
        self.support: IntArray = table["support"].to_numpy()
        self.t0: IntArray = table["t0"].cast(pa.int64()).to_numpy()
        self.t1: IntArray = table["t1"].cast(pa.int64()).to_numpy()
        self.lon: tuple[FloatArray, FloatArray] = (table["lon0"].to_numpy(), table["lon1"].to_numpy())
        self.lat: tuple[FloatArray, FloatArray] = (table["lat0"].to_numpy(), table["lat1"].to_numpy())
        steps = np.diff(self.group)
        if not len(self.group) or self.group[0] != 0 or (steps < 0).any() or (steps > 1).any():
            raise broken("groups are not numbered from 0 and sorted")
        self.first: IntArray = np.flatnonzero(np.diff(self.group, prepend=-1))  # by group: its first sample
        self.sizes: IntArray = self.size[self.first]  # by group


def read_trajectory_tables(path: str | Path) -> TrajectoryTables:
    """Read a release and its private files; raise VerificationError where the folder is not as the format says."""
    check_kind(path, {Kind.TRAJECTORIES}, "a release of trajectories", _HINT)
    folder = find_release(path)
    members, audit = (folder.with_name(folder.name + ending) for ending in (MEMBERS, AUDIT))
    if missing := [file.name for file in (folder / MANIFEST, folder / TRAJECTORIES, members) if not file.is_file()]:
        raise InputError(f"{str(path)!r} is not a complete release: there is no file {missing[0]}", _HINT)
    try:
        manifest = read_json(folder / MANIFEST)
        private = pq.read_table(members)
        story = read_json(audit) if audit.is_file() else {}
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"the release {str(path)!r} cannot be read: {error}", _HINT) from None
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise InputError(f"{str(path)!r} is not a release of trajectories ({_FORMAT})", _HINT)
    if {entry.name for entry in folder.iterdir()} - {REPORT} != {MANIFEST, TRAJECTORIES}:
        raise broken(f"the folder holds other files than {TRAJECTORIES} and {MANIFEST}")
    table = read_parquet(folder / TRAJECTORIES, _COLUMNS)
    release = TrajectoryTables(manifest, table, private, story if isinstance(story, dict) else {})
    try:
        _check_manifest(release)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise broken("the manifest is not complete") from None
    _check_tables(release)
    return release


def _check_tables(release: TrajectoryTables) -> None:
    if any(column.null_count for column in release.samples.columns):
        raise broken(f"{TRAJECTORIES} has nulls")
    if not release.members.schema.equals(_MEMBERS_CUT if release.period else _MEMBER_COLUMNS):
        raise InputError("the members file has other columns than it should", "use the one that was written beside")


def _check_manifest(release: TrajectoryTables) -> None:
    """Check every key and value of the manifest."""
    manifest, options, promise = release.manifest, release.options, release.manifest["promise"]
    only_keys(manifest, "the manifest", KEYS, ("description",))
    check_software(manifest["software"])
    only_keys(options, "the object 'options'", _OPTIONS, _MORE_OPTIONS)
    only_keys(promise, "the promise", _PROMISE, _MORE_PROMISE)
    _check_grid(options)
    for name, limit in (("max_extent", release.max_extent), ("max_duration", release.max_duration)):
        if promise.get(name) != options.get(name) or ((name in promise) != (limit is not None)):
            raise broken(f"{name!r} of the promise cannot be read, or the options have another")
    asked = promise.get("min_support", 2)
    if promise.get("min_support") != options.get("min_support") or not _is_whole(asked, 2):
        raise broken("'min_support' of the promise is not a number of users, 2 or more, or the options have another")
    _check_kind(release)
    _check_spans(release)
    label = check_description(manifest, has_unit=True) or "users"
    if manifest["promise_text"] != trajectories_promise_in_words(promise, label):
        raise broken("'promise_text' of the manifest does not say what the promise says")
    if manifest["method"] not in _METHODS[promise["kind"]] or manifest["absence"] != TRAJECTORIES_ABSENCE:
        raise broken("'method' or 'absence' of the manifest is not what the format says")


def _check_kind(release: TrajectoryTables) -> None:
    """Check what kind of promise it is, and that options say the same."""
    options, promise = release.options, release.manifest["promise"]
    if not _is_whole(promise["k"], 2) or {name: promise[name] for name in _SAID} != _SAID:
        raise broken("the promise is not one about users and their trajectories")
    of_points = promise["kind"] == "km-anonymity"
    if promise["kind"] not in _METHODS or ("known_points" in promise) != of_points:
        raise broken("the promise is neither one of k-anonymity nor of km-anonymity")
    if of_points and _OF_GLOVE & set(options):
        raise broken("the manifest has options of another method")
    check_steering(release.manifest)
    for name in _POINTS:
        allowed = of_points or (release.complete and name == "max_suppression" and name in promise)
        if (name in promise) != allowed or promise.get(name) != options.get(name):
            raise broken(f"{name!r} of the promise is missing, or the options have another")
    if of_points and not (_is_whole(promise["known_points"], 1) and promise["known_points"] <= _MOST_KNOWN_POINTS):
        raise broken("'known_points' of the promise is not a number of points")
    share = promise.get("max_suppression", 1)
    if not (type(share) in {int, float} and 0 <= share <= 1):
        raise broken("'max_suppression' of the promise is not a share")


def _check_spans(release: TrajectoryTables) -> None:
    """Check what the manifest says of overlapping samples, and of the days or weeks that trajectories are cut into."""
    options, promise = release.options, release.manifest["promise"]
    overlapping = "reshape" in options or "known_points" in promise
    if ("spans" in promise) != release.overlapping or overlapping != release.overlapping:
        raise broken("'spans' of the promise and 'reshape' of the options do not say the same")
    if release.period != options.get("cut_into") or release.period not in {None, "day", "week"}:
        raise broken("'cut_into' of the promise is not a period, or the options have another")
    if (release.period is None) != ("timezone" not in options):
        raise broken("'timezone' of the manifest does not go with 'cut_into'")
    if release.period is not None and options["timezone"] not in available_timezones():
        raise broken("'timezone' of the manifest is not a time zone")
    if options.get("reshape", False) is not False or not _is_whole(options.get("blocks", 1), 1):
        raise broken("'reshape' or 'blocks' of the manifest is not what may be typed")


def _check_grid(options: dict[str, Json]) -> None:
    """Check what the grid of the manifest is made of: of a public box, and of what was typed."""
    _, south, _, north = parse_box(options["bbox"])
    parallel = max(-_STEEPEST_PARALLEL, min(_STEEPEST_PARALLEL, round((south + north) / 2)))
    if options["projection"] != _PROJECTION or not re.fullmatch(_STEP, options["step"]):
        raise broken("the grid of the manifest cannot be read")
    if type(options["parallel"]) is not int or options["parallel"] != parallel:
        raise broken("'parallel' of the manifest is not the one of its bbox")
    if not re.fullmatch(_STEP, options.get("caps", _CAPS)) or not re.fullmatch(_WEIGHTS, options.get("weights", "1,1")):
        raise broken("'caps' or 'weights' of the manifest cannot be read")
    if not _is_whole(options["min_samples"], 1) or options.get("variant", _VARIANTS[0]) not in _VARIANTS:
        raise broken("'min_samples' or 'variant' of the manifest is not what may be typed")


def _is_whole(value: Json, least: int) -> bool:
    return type(value) is int and least <= value <= _LARGEST_WHOLE
