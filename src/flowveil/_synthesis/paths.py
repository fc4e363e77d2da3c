"""Samples of users on a grid: true ones that a model is learned from, or synthetic ones that were drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._synthesis.clock import MINUTES_PER_DAY, local_minutes

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._synthesis.clock import Days
    from flowveil._trajectories import Trajectories


@dataclass(frozen=True, eq=False)
class Paths:
    """Samples by user and time, in minutes and cells of the grid."""

    user: IntArray  # 0, 1, ...; ascending
    minute: IntArray  # of UTC
    x: IntArray
    y: IntArray


def paths_within(trajectories: Trajectories, days: Days) -> tuple[Paths, int]:
    """Return the samples of some days, which may be none, and how many input rows are of others."""
    minute = trajectories.t * trajectories.grid.minutes
    day = local_minutes(minute, days.timezone) // MINUTES_PER_DAY - days.first
    inside = (day >= 0) & (day < days.many)
    _, user = np.unique(trajectories.owner[inside], return_inverse=True)
    left_out = int(trajectories.rows[~inside].sum())
    return Paths(user.ravel(), minute[inside], trajectories.x[inside], trajectories.y[inside]), left_out
