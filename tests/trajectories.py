"""Trajectories for tests: from lists of points, and Hypothesis strategies."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from flowveil.trajectories import Trajectories, make_grid

BBOX = (4.40, 50.26, 4.82, 50.53)


def from_points(users, **options):
    """Return trajectories of users given as lists of (t, x, y) in steps and cells; options: of the grid."""
    distinct = [sorted(set(points)) for points in users]
    table = np.array([point for points in distinct for point in points], np.int64).T.copy()
    return Trajectories(
        grid=make_grid(BBOX, **options),
        users=tuple(f"u{rank:03d}" for rank in range(len(users))),
        start=np.cumsum([0, *map(len, distinct)]),
        t=table[0],
        x=table[1],
        y=table[2],
        rows=np.ones(table.shape[1], np.int64),
    )


@st.composite
def small_sets(draw, most_users=8):
    """Users with few samples: equal times, repeated places, and spans on both sides of the caps of 8 h and 20 km."""
    hours = draw(st.sampled_from([4, 60, 700, 3000]))
    cells = draw(st.sampled_from([1, 4, 60, 500]))
    point = st.tuples(st.integers(0, hours), st.integers(-cells, cells), st.integers(-cells, cells))
    return draw(st.lists(st.lists(point, min_size=1, max_size=7), min_size=2, max_size=most_users))


def scattered_sets():
    """Users who went to and fro between two places: a threshold on extent leaves some of them without a sample."""
    point = st.tuples(st.integers(0, 100), st.sampled_from([0, 75]), st.just(0))
    return st.lists(st.lists(point, min_size=1, max_size=3), min_size=2, max_size=6)
