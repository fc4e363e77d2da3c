"""What a release of trajectories lost, measured against the input."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from flowveil._charts import distributions_svg, scatter_svg
from flowveil._errors import InputError
from flowveil._folder import remembered
from flowveil._options import parse_timezone, parse_whole
from flowveil._trajectories.distortion import distortion
from flowveil._trajectories.figures import EVALUATION_UNITS, quantiles
from flowveil._trajectories.grid import MICROSECONDS_PER_MINUTE
from flowveil._trajectories.properties import PROPERTIES, by_frequency, correlate, measure_properties, stretch_to_others
from flowveil._trajectories.read import Trajectories, read_again
from flowveil._trajectories.release import read_release
from flowveil._trajectories.support import find_held
from flowveil._trajectories.unicity import unicity
from flowveil._trajectories.utility import TASKS, compare_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._engine import Readable
    from flowveil._trajectories.figures import Counts, Distortion, EvaluationFigures, Frequency, Unicity
    from flowveil._trajectories.grid import Grid
    from flowveil._trajectories.release import TrajectoryRelease

_SPACE_THRESHOLDS = (500, 1_000, 2_000, 5_000)  # meters
_TIME_THRESHOLDS = (30, 60, 120, 240)  # minutes
_MINUTES_PER_HOUR = 60


@dataclass(frozen=True, eq=False)
class TrajectoryEvaluation:
    """Distributions, and a few numbers of each. Private: computed from true trajectories.

    >>> lost = fv.trajectories.evaluate("paths", "samples.parquet")
    >>> lost.counts["groups"], len(lost.tasks)
    (10, 6)
    """

    PICTURES: ClassVar = tuple(
        f"{name}.svg"
        for name in (
            *("extent", "duration", "finer-space", "finer-time"),
            *TASKS,
            *(f"stretch-{name}" for name in PROPERTIES),
            "frequency",
        )
    )
    counts: Counts
    extent: FloatArray  # longer edge of the box of each published sample, once for each user, meters
    duration: FloatArray  # minutes
    position_error: FloatArray  # kept original to the middle of its box, meters
    time_error: FloatArray  # kept original to the middle of its time span, minutes
    distortion: Distortion  # as the older methods measure it; a sample is moved to the middle of its box
    finer: dict[str, FloatArray]  # by threshold: each user's share of samples at least as fine
    tasks: dict[str, FloatArray]  # by task: one error a user
    unicity: Unicity
    frequency: dict[str, Frequency]  # figure 19: accuracy by samples an hour
    properties: dict[str, FloatArray]  # figure 20: of each released trajectory
    stretch: FloatArray  # of each, the mean to the others of its group

    def figures(self) -> EvaluationFigures:
        """Return everything as numbers.

        >>> list(fv.trajectories.evaluate("paths", "samples.parquet").figures()["tasks"])
        ['center', 'home', 'work', 'travel', 'gyration', 'hull']
        """
        return {
            **self.counts,
            "extent": quantiles(self.extent),
            "duration": quantiles(self.duration),
            "position_error": quantiles(self.position_error),
            "time_error": quantiles(self.time_error),
            "distortion": self.distortion,
            "finer": {name: quantiles(values) for name, values in self.finer.items()},
            "tasks": {name: quantiles(values) for name, values in self.tasks.items()},
            "unicity": self.unicity,
            "frequency": self.frequency,
            "correlations": correlate(self.properties, self.stretch),
            "units": EVALUATION_UNITS,
        }

    def pictures(self) -> dict[str, str]:
        """Return SVG documents by file name.

        >>> len(fv.trajectories.evaluate("paths", "samples.parquet").pictures())
        15
        """
        space = {name: values for name, values in self.finer.items() if name.endswith(" m")}
        time = {name: values for name, values in self.finer.items() if name.endswith(" min")}
        pictures = {
            "extent.svg": distributions_svg("spatial accuracy", "meters", {"samples": self.extent}, logarithmic=True),
            "duration.svg": distributions_svg(
                "temporal accuracy", "minutes", {"samples": self.duration}, logarithmic=True
            ),
            "finer-space.svg": distributions_svg("samples of a trajectory this fine", "share of samples", space),
            "finer-time.svg": distributions_svg("samples of a trajectory this short", "share of samples", time),
        }
        for name, meaning in TASKS.items():
            pictures[f"{name}.svg"] = distributions_svg(name, meaning, {"users": self.tasks[name]}, logarithmic=True)
        known = correlate(self.properties, self.stretch)
        for name, meaning in PROPERTIES.items():
            said = "correlation none" if known[name] is None else f"correlation {known[name]:.2f}"
            axes = (meaning, "stretch to others of the group")
            pictures[f"stretch-{name}.svg"] = scatter_svg(
                f"stretch by {name}", axes, self.properties[name], self.stretch, said
            )
        axes = ("samples an hour", "mean duration of samples, minutes")
        pictures["frequency.svg"] = scatter_svg(
            "duration by sampling frequency", axes, self.properties["frequency"], self.properties["duration"]
        )
        return pictures


def evaluate(
    path: str | Path,
    against: Readable,
    *,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    towers: Readable | None = None,
    timezone: str = "UTC",
    seed: int = 0,
) -> TrajectoryEvaluation:
    """Measure accuracy, utility and unicity of a release against the samples it was made from.

    timezone: where nights and working hours are; seed: of the points that are drawn for unicity.
    path: the folder. columns, where, towers: of the samples, unless the audit file beside the release tells.

    >>> fv.trajectories.evaluate("paths", "samples.parquet", timezone="Europe/Brussels").counts["released_users"]
    20
    """
    parse_timezone(timezone)
    seed = parse_whole(seed, "seed", "a seed is a whole number, 0 or more", 0)
    release = read_release(path)
    options, story = release.manifest["options"], remembered(release.audit)
    trajectories = read_again(against, options, story, columns, where, towers)
    groups = published_boxes(release, trajectories.grid)
    group_of = _groups_of(release, trajectories)
    return measure(trajectories, groups, group_of, release.manifest["promise"]["k"], timezone, seed)


def _groups_of(release: TrajectoryRelease, trajectories: Trajectories) -> IntArray:
    """Return the group of each trajectory, -1 if it was suppressed."""
    members = release.members
    days = members["period"].cast(pa.int32()).to_pylist() if "period" in members.column_names else [0] * len(members)
    keys = zip(members["user_id"].to_pylist(), days, strict=True)
    listed = dict(zip(keys, members["group"].to_pylist(), strict=True))
    periods = [0] * len(trajectories) if trajectories.periods is None else trajectories.periods.tolist()
    wanted = list(zip(trajectories.users, periods, strict=True))
    if set(listed) != set(wanted):
        raise InputError("the input does not have the users of the release", "give the input that it was made from")
    return np.array([-1 if listed[key] is None else listed[key] for key in wanted])


def published_boxes(release: TrajectoryRelease, grid: Grid) -> list[IntArray]:
    """Return the samples of each group in steps and cells: t0, t1, x0, x1, y0, y1."""
    table = release.trajectories
    step = grid.minutes * MICROSECONDS_PER_MINUTE
    times = [table[name].cast(pa.int64()).to_numpy() // step for name in ("t0", "t1")]
    # Edges are on the grid: a point just inside says which cell it is, however the edge was rounded.
    inner = [table[name].to_numpy() + shift for name, shift in _INNER.items()]
    x0, y0 = grid.cells(inner[0], inner[1])
    x1, y1 = grid.cells(inner[2], inner[3])
    boxes = np.stack([*times, x0, x1 + 1, y0, y1 + 1])
    group = table["group"].to_numpy()
    return [boxes[:, first:last] for first, last in _ranges(group)]


_INNER = {"lon0": 1e-7, "lat0": 1e-7, "lon1": -1e-7, "lat1": -1e-7}  # degrees: a centimeter


def _ranges(group: IntArray) -> list[tuple[int, int]]:
    edges = [*np.flatnonzero(np.diff(group, prepend=-1)).tolist(), len(group)]
    return list(pairwise(edges))


class LocalClock:
    """The local clock of a time zone."""

    def __init__(self, timezone: str) -> None:
        self.zone = ZoneInfo(timezone)
        self.known: dict[float, int] = {}  # minutes from UTC to local time, by hour since 1970

    def at(self, rows: FloatArray) -> FloatArray:
        """Return rows of (minutes since 1970, ...) with minutes of the local clock; it changes at full hours."""
        hours, row = np.unique(rows[:, 0] // _MINUTES_PER_HOUR, return_inverse=True)
        local = rows.copy()
        local[:, 0] += np.array([self._shift(hour) for hour in hours.tolist()])[row.ravel()]
        return local

    def _shift(self, hour: float) -> int:
        if hour not in self.known:
            shift = datetime.fromtimestamp(hour * 3600, UTC).astimezone(self.zone).utcoffset()
            self.known[hour] = 0 if shift is None else int(shift.total_seconds() // 60)
        return self.known[hour]


def measure(
    trajectories: Trajectories, groups: list[IntArray], group_of: IntArray, k: int, timezone: str = "UTC", seed: int = 0
) -> TrajectoryEvaluation:
    """Measure published samples against trajectories; `group_of` is -1 for users who were suppressed."""
    grid, clock = trajectories.grid, LocalClock(timezone)
    extents = [np.maximum(box[3] - box[2], box[5] - box[4]) * float(grid.meters) for box in groups]
    durations = [(box[1] - box[0]) * float(grid.minutes) for box in groups]
    sizes = np.bincount(group_of[group_of >= 0], minlength=len(groups))
    places, moments, tasks, kept_rows, seen = [], [], [], 0, 0
    for user in np.flatnonzero(group_of >= 0).tolist():
        box = groups[group_of[user]]
        own = slice(trajectories.start[user], trajectories.start[user + 1])
        before = _meters(grid, trajectories.t[own], trajectories.x[own], trajectories.y[own])
        after = _meters(grid, *((box[row] + box[row + 1] - 1) / 2 for row in (0, 2, 4)))
        home, supported = _home(trajectories, user, box)
        seen += supported
        kept = home >= 0
        places.append(np.hypot(*(before[kept, 1:] - after[home[kept], 1:]).T))
        moments.append(np.abs(before[kept, 0] - after[home[kept], 0]))
        tasks.append(compare_tasks(clock.at(before), clock.at(after)))
        kept_rows += int(trajectories.rows[own][kept].sum())
    fine = {f"{limit:,} m": _finer(extents, group_of, limit) for limit in _SPACE_THRESHOLDS}
    fine |= {f"{limit} min": _finer(durations, group_of, limit) for limit in _TIME_THRESHOLDS}
    properties = measure_properties(trajectories)
    properties["duration"] = np.array([np.nan if group < 0 else durations[group].mean() for group in group_of.tolist()])
    rows = int(trajectories.rows.sum())
    lengths = np.array([box.shape[1] for box in groups])
    return TrajectoryEvaluation(
        counts={
            "users": len(trajectories),
            "released_users": int((group_of >= 0).sum()),
            "groups": len(groups),
            "largest_group": int(sizes.max()),
            "rows": rows,
            "suppressed": 1 - kept_rows / rows,
            "unsupported": 1 - seen / int((sizes * lengths).sum()),
        },
        extent=np.concatenate([np.tile(part, size) for part, size in zip(extents, sizes.tolist(), strict=True)]),
        duration=np.concatenate([np.tile(part, size) for part, size in zip(durations, sizes.tolist(), strict=True)]),
        position_error=np.concatenate(places),
        time_error=np.concatenate(moments),
        distortion=distortion(
            np.concatenate(places),
            len(trajectories.t) - sum(map(len, places)),
            sizes.tolist(),
            int((group_of < 0).sum()),
        ),
        finer=fine,
        tasks={name: np.array([errors[name] for errors in tasks]) for name in TASKS},
        unicity=unicity(trajectories, groups, group_of, k, seed),
        frequency=by_frequency(properties["frequency"], group_of, extents, durations),
        properties={name: values[group_of >= 0] for name, values in properties.items()},
        stretch=stretch_to_others(trajectories, group_of)[group_of >= 0],
    )


def _meters(grid: Grid, t: FloatArray | IntArray, x: FloatArray | IntArray, y: FloatArray | IntArray) -> FloatArray:
    """Return (minutes, meters, meters) of the middles of cells and steps."""
    return np.column_stack([(t + 0.5) * grid.minutes, (x + 0.5) * grid.meters, (y + 0.5) * grid.meters])


def _home(trajectories: Trajectories, user: int, box: IntArray) -> tuple[IntArray, int]:
    """Return the published sample that each of a user's samples lies in, or -1; and in how many the user is.

    Where samples overlap and several hold one, that is the shortest of them, and the first of equally short ones.
    """
    own, spots = find_held(trajectories, user, box)
    home = np.full(int(np.diff(trajectories.start[user : user + 2])[0]), -1)
    best = np.lexsort((-spots, box[0, spots] - box[1, spots]))  # the shortest and first is put in last
    home[own[best]] = spots[best]
    return home, len(np.unique(spots))


def _finer(values: list[FloatArray], group_of: IntArray, limit: float) -> FloatArray:
    share = np.array([(part <= limit).mean() for part in values])
    of_users: FloatArray = share[group_of[group_of >= 0]]
    return of_users
