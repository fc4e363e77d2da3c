"""Precision against suppression: what a method can reach at different prices of a withheld trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._errors import InputError
from flowveil.methods._lagrange import prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil.methods._cuts import Splits
    from flowveil.problem import Problem

POINTS = 24


class FrontierPoint(NamedTuple):
    """One cut of a frontier."""

    lam: float  # what a suppressed trip costs, in units of the loss
    gbar: float  # mean tiles of both areas, over published trips; NaN if nothing is published
    suppressed: float  # share of trips
    flows: int
    origin_areas: int
    destination_areas: int


def frontier_point(problem: Problem, lam: float, published: IntArray) -> FrontierPoint:
    """Measure a cut that publishes the given cells of the cube."""
    cube = problem.cube
    trips = int(cube.trips[published].sum())
    gbar = float((cube.tiles * cube.trips)[published].sum()) / trips if trips else float("nan")
    origin, destination = (len(np.unique(row[published])) for row in cube.node)
    return FrontierPoint(lam, gbar, 1 - trips / cube.total, len(published), origin, destination)


def frontier_of(problem: Problem, families: Sequence[Splits], points: int) -> list[FrontierPoint]:
    """Return the best cut of all families at each of a rising sequence of prices."""
    if points < 1:
        raise InputError(f"points is {points}", "a frontier has 1 point or more; 24 is usual")
    found = []
    for lam in prices(families[0], points).tolist():
        cuts = [splits.best(lam) for splits in families]
        cut = min(cuts, key=lambda cut: cut.value(lam))
        found.append(frontier_point(problem, lam, cut.published))
    return found
