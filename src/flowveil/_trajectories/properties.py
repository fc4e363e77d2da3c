"""Properties of single trajectories, and what they have to do with accuracy (paper, section 8.2)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from flowveil._trajectories.figures import quantiles

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._trajectories.figures import Frequency
    from flowveil._trajectories.read import Trajectories

# Figure 20: what is correlated with the stretch of a trajectory to the others of its group.
PROPERTIES = {
    "gyration": "radius of gyration, meters",
    "density": "trajectories whose circle of gyration touches this one's",
    "travel": "travel distance, meters",
    "spread": "standard deviation of the time between samples, minutes",
}
_EDGES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, np.inf)  # samples an hour, figure 19
_BLOCK = 256  # trajectories that are compared with all others at once


def measure_properties(trajectories: Trajectories) -> dict[str, FloatArray]:
    """Return the properties of figure 20 for each trajectory, and the samples an hour of figure 19 (frequency).

    NaN where a trajectory has too few samples: one for a frequency, two for a spread of the times between them.
    """
    grid, start = trajectories.grid, trajectories.start
    place = np.column_stack([trajectories.x, trajectories.y]) * float(grid.meters)
    count = np.diff(start)
    center = np.add.reduceat(place, start[:-1]) / count[:, None]
    away = ((place - np.repeat(center, count, axis=0)) ** 2).sum(axis=1)
    gyration = np.sqrt(np.add.reduceat(away, start[:-1]) / count)
    travel, spread, frequency = (np.full(len(trajectories), np.nan) for _ in range(3))
    for user in range(len(trajectories)):
        own = slice(start[user], start[user + 1])
        travel[user] = np.hypot(*np.diff(place[own], axis=0).T).sum()
        gaps = np.diff(trajectories.t[own]) * float(grid.minutes)
        if len(gaps) > 1:
            spread[user] = gaps.std()
        if gaps.sum() > 0:
            frequency[user] = count[user] / (gaps.sum() / 60)
    density = _touching(center, gyration)
    return {"gyration": gyration, "density": density, "travel": travel, "spread": spread, "frequency": frequency}


def _touching(center: FloatArray, radius: FloatArray) -> FloatArray:
    """Return for each circle how many others touch or overlap it."""
    found = np.zeros(len(radius))
    for first in range(0, len(radius), _BLOCK):
        some = slice(first, first + _BLOCK)
        apart = np.hypot(*(center[some, None, :] - center).transpose(2, 0, 1))
        found[some] = (apart <= radius[some, None] + radius).sum(axis=1) - 1
    return found


def stretch_to_others(trajectories: Trajectories, group_of: IntArray) -> FloatArray:
    """Return for each trajectory the mean stretch (Eq. 10) to the others of its group; NaN where it has none.

    For a pair that is what merging it took, as in figure 20.
    """
    from flowveil._trajectories.kernels import stretch  # noqa: PLC0415  numba is slow to import
    from flowveil._trajectories.pool import Pool  # noqa: PLC0415  with it

    groups = Pool(trajectories, 2).groups()
    total, others = np.zeros(len(trajectories)), np.zeros(len(trajectories))
    order = np.argsort(group_of, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group_of[order])) + 1):
        if group_of[members[0]] < 0:
            continue
        for at, one in enumerate(members.tolist()):
            for other in members[at + 1 :].tolist():
                value = stretch(groups, one, other, np.inf, True)  # noqa: FBT003  compiled: no keywords
                total[[one, other]] += value
                others[[one, other]] += 1
    return np.where(others > 0, total / np.maximum(others, 1), np.nan)


def correlate(properties: dict[str, FloatArray], stretch: FloatArray) -> dict[str, float | None]:
    """Return Pearson's correlation of each property with the stretch; None where one of them does not vary."""
    found: dict[str, float | None] = {}
    for name in PROPERTIES:
        known = np.isfinite(properties[name]) & np.isfinite(stretch)
        one, other = properties[name][known], stretch[known]
        varies = len(one) > 1 and one.std() > 0 and other.std() > 0
        found[name] = float(np.corrcoef(one, other)[0, 1]) if varies else None
    return found


def by_frequency(
    frequency: FloatArray, group_of: IntArray, extents: list[FloatArray], durations: list[FloatArray]
) -> dict[str, Frequency]:
    """Return extent and duration of published samples for users of each range of samples an hour (figure 19)."""
    found: dict[str, Frequency] = {}
    for low, high in pairwise(_EDGES):
        users = np.flatnonzero((group_of >= 0) & (frequency >= low) & (frequency < high))
        if len(users):
            own = group_of[users].tolist()
            found[f"{low:g} to {high:g} an hour" if high < np.inf else f"from {low:g} an hour"] = {
                "users": len(users),
                "extent": quantiles(np.concatenate([extents[group] for group in own])),
                "duration": quantiles(np.concatenate([durations[group] for group in own])),
            }
    return found
