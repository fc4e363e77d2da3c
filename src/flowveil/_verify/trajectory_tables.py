"""The files of a release of trajectories, after checking that they are as the format says."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, radians
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._folder import AUDIT, MANIFEST, MEMBERS, REPORT, TRAJECTORIES, Kind, check_kind, find_release, read_json
from flowveil._verify.broken import broken
from flowveil._verify.description import check_description
from flowveil._verify.words import TRAJECTORIES_ABSENCE, trajectories_promise_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json

_FORMAT = "flowveil-trajectories/1"
_METHOD = "glove"
_KEYS = {"format", "software", "method", "options", "promise", "promise_text", "absence"}
_OPTIONS = {"projection", "parallel", "step", "bbox", "min_samples", "variant", "max_extent", "max_duration"}
_NEEDED_OPTIONS = {"parallel", "step", "bbox", "min_samples"}
_PROMISE = {"kind", "k", "unit", "records", "samples", "max_extent", "max_duration"}
_TIME = pa.timestamp("us", tz="UTC")
_EDGES: dict[str, pa.DataType] = {
    "t0": _TIME,
    "t1": _TIME,
    **dict.fromkeys(("lon0", "lat0", "lon1", "lat1"), pa.float64()),
}
_COLUMNS = pa.schema({"group": pa.int64(), "size": pa.int64()} | _EDGES)
_MEMBERS: dict[str, pa.DataType] = {
    "user_id": pa.string(),
    **dict.fromkeys(("group", "kept", "suppressed"), pa.int64()),
}
_MEMBER_COLUMNS = pa.schema(_MEMBERS)
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
        """The users that every group must have."""
        return int(self.manifest["promise"]["k"])

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
        """The longest side of a box in meters that is promised, None where nothing is."""
        text = self.manifest["promise"].get("max_extent", "").strip()
        return float(text.removesuffix("m").removesuffix("k")) * (1000 if text.endswith("km") else 1) if text else None

    @property
    def max_duration(self) -> float | None:
        """The longest time span in minutes that is promised, None where nothing is."""
        text = self.manifest["promise"].get("max_duration", "").strip()
        units = {"min": 1, "h": 60, "d": 1440}
        return next((float(text.removesuffix(unit)) * units[unit] for unit in units if text.endswith(unit)), None)


class Boxes:
    """The published samples as arrays."""

    def __init__(self, table: pa.Table) -> None:
        self.group: IntArray = table["group"].to_numpy()
        self.size: IntArray = table["size"].to_numpy()
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
        table, private = pq.read_table(folder / TRAJECTORIES), pq.read_table(members)
        story = read_json(audit) if audit.is_file() else {}
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"the release {str(path)!r} cannot be read: {error}", _HINT) from None
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise InputError(f"{str(path)!r} is not a release of trajectories ({_FORMAT})", _HINT)
    release = TrajectoryTables(manifest, table, private, story if isinstance(story, dict) else {})
    _check_tables(folder, release)
    try:
        _check_manifest(release)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise broken("the manifest is not complete") from None
    return release


def _check_tables(folder: Path, release: TrajectoryTables) -> None:
    if {entry.name for entry in folder.iterdir()} - {REPORT} != {MANIFEST, TRAJECTORIES}:
        raise broken(f"the folder holds other files than {TRAJECTORIES} and {MANIFEST}")
    if not release.samples.schema.equals(_COLUMNS) or pq.read_schema(folder / TRAJECTORIES).metadata:
        raise broken(f"{TRAJECTORIES} has other columns or metadata than it should")
    if any(column.null_count for column in release.samples.columns):
        raise broken(f"{TRAJECTORIES} has nulls")
    if not release.members.schema.equals(_MEMBER_COLUMNS):
        raise InputError("the members file has other columns than it should", "use the one that was written beside")


def _check_manifest(release: TrajectoryTables) -> None:
    manifest, options, promise = release.manifest, release.options, release.manifest["promise"]
    known = _NEEDED_OPTIONS <= set(options) <= _OPTIONS and set(promise) <= _PROMISE
    if set(manifest) - {"description"} != _KEYS or not known:
        raise broken("the manifest has other keys than it should")
    numbers = [*options["bbox"], options["parallel"], options["min_samples"], *release.step]
    plain = all(isinstance(number, int | float) for number in numbers)
    if len(numbers) != 8 or not plain or min(release.step) < 1:
        raise broken("the grid of the manifest cannot be read")
    for name, limit in (("max_extent", release.max_extent), ("max_duration", release.max_duration)):
        if promise.get(name) and limit is None:
            raise broken(f"{name!r} of the promise cannot be read")
    k = promise["k"]
    label = check_description(manifest, has_unit=True) or "users"
    if not isinstance(k, int) or k < 2 or manifest["promise_text"] != trajectories_promise_in_words(k, label):
        raise broken("the promise is not a promise of k-anonymity")
    if manifest["method"] != _METHOD or manifest["absence"] != TRAJECTORIES_ABSENCE:
        raise broken("'method' or 'absence' of the manifest is not what the format says")
