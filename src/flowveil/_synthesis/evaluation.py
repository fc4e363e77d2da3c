"""What synthetic trajectories lost, measured against the input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._folder import remembered
from flowveil._options import parse_whole
from flowveil._synthesis.clock import parse_days
from flowveil._synthesis.measure import MEANINGS, compare, make_traces
from flowveil._synthesis.neighbors import NEAREST, nearest_shares
from flowveil._synthesis.paths import paths_within
from flowveil._synthesis.release import read_synthetic
from flowveil._trajectories import read_again

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._engine import Readable
    from flowveil._synthesis.measure import Traces
    from flowveil._synthesis.paths import Paths
    from flowveil._synthesis.release import SyntheticRelease
    from flowveil._trajectories import Grid

_MICROSECONDS = 60_000_000  # of a minute


def evaluate_synthetic(
    path: str | Path,
    against: Readable,
    *,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    towers: Readable | None = None,
    seed: int = 0,
) -> dict[str, object]:
    """Return how far synthetic trajectories are from the samples they were learned from; private.

    seed: of the boxes that are asked about. columns, where, towers: of the samples, unless the audit file tells.
    """
    seed = parse_whole(seed, "seed", "a seed is a whole number, 0 or more", 0)
    release = read_synthetic(path)
    options, story = release.manifest["options"], remembered(release.audit)
    trajectories = read_again(against, options, story, columns, where, towers)
    paths, _ = paths_within(trajectories, parse_days(options["days"], options["timezone"]))
    if not len(paths.user):
        raise InputError("no sample is of these days", "give the samples that the release was learned from")
    true = traces_of(paths, trajectories.grid, options["timezone"])
    drawn = _drawn_traces(release, trajectories.grid)
    return {
        "users": len(true.weight),
        "synthetic_users": len(drawn.weight),
        "samples": len(true.user),
        "synthetic_samples": len(drawn.user),
        "measures": compare(true, drawn, seed),
        "nearest": nearest_shares(true, drawn, seed),
        "meanings": {**MEANINGS, **NEAREST},
    }


def traces_of(paths: Paths, grid: Grid, timezone: str) -> Traces:
    """Return samples on a grid for comparison, in meters."""
    x, y = (np.asarray((part + 0.5) * grid.meters, np.float64) for part in (paths.x, paths.y))
    return make_traces(paths.user, paths.minute, x, y, timezone)


def _drawn_traces(release: SyntheticRelease, grid: Grid) -> Traces:
    table = release.samples
    x, y = grid.cells(*(np.asarray(table[name].to_numpy(), np.float64) for name in ("lon", "lat")))
    minute = table["time"].cast(pa.int64()).to_numpy() // _MICROSECONDS
    user = np.asarray(table["user"].to_numpy(), np.int64)
    across, up = (np.asarray((part + 0.5) * grid.meters, np.float64) for part in (x, y))
    return make_traces(user, minute, across, up, release.manifest["options"]["timezone"])
