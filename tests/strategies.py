"""Hypothesis strategies that several tests share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from flowveil._flows import Flows, People
from flowveil._places import H3Grid, Hierarchy


@st.composite
def small_flows(draw):
    """Flows on two random uneven trees, with persons half of the time."""
    trees = []
    for _ in range(2):
        size = draw(st.integers(2, 12))
        parent = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, size)]
        trees.append(Hierarchy.from_parents(np.array(parent), np.arange(size, dtype=np.uint64))[0])
    leaves = [np.flatnonzero(tree.is_leaf).tolist() for tree in trees]
    pairs = draw(st.lists(st.tuples(*map(st.sampled_from, leaves)), min_size=1, max_size=12, unique=True).map(sorted))
    trips = draw(st.lists(st.integers(1, 6), min_size=len(pairs), max_size=len(pairs)))
    people = None
    if draw(st.booleans()):
        visits = sorted(
            {(pair, draw(st.integers(0, 5))) for pair, count in enumerate(trips) for _ in range(min(count, 3))}
        )
        people = People(np.array([v[0] for v in visits]), np.array([v[1] for v in visits]), None)
    return Flows(
        places=H3Grid(9),  # a stand-in: methods know nothing of places
        origins=trees[0],
        destinations=trees[1],
        origin=np.array([pair[0] for pair in pairs]),
        destination=np.array([pair[1] for pair in pairs]),
        trips=np.array(trips),
        edges=np.array([0, len(trips)]),
        people=people,
    )
