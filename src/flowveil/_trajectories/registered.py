"""Trajectories in a register: of which users, and from when to when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._register import PATHS, NewEntry, StoredTrips, check_paths, look, mark_of
from flowveil._trajectories.grid import MICROSECONDS_PER_MINUTE

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._trajectories.read import Trajectories


def check_register(path: str | Path, trajectories: Trajectories, period: str | None) -> NewEntry:
    """Raise if a release of the same users and time is in a register; return what will be entered."""
    step = trajectories.grid.minutes * MICROSECONDS_PER_MINUTE
    with look(path) as register:
        marks = np.sort(np.array([mark_of(register.secret, user) for user in trajectories.users], np.uint64))
        ones = np.ones(len(marks), np.int64)
        new = NewEntry(
            register=register.path,
            seen=register.last,
            kind=PATHS,
            promise={},
            period=period,
            rows=int(trajectories.rows.sum()),
            first=int(trajectories.t.min()) * step,
            last=(int(trajectories.t.max()) + 1) * step - 1,
            known_by=("user",),
            trips=StoredTrips(marks, None, ones, None, ()),
        )
        check_paths(register, new, marks)
    return new
