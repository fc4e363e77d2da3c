"""Precision against suppression: what a method can reach at different prices of a withheld trip."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._methods.lagrange import GROWTH, price_between, usual_rate
from flowveil._options import parse_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._methods.cuts import Cut, Splits
    from flowveil._problem import Cube

POINTS = 24
GAP_OF_SHARE = 10.0  # a tenth of all trips counts as much as a factor e of precision


class FrontierPoint(NamedTuple):
    """One cut of a frontier."""

    lam: float  # what a suppressed trip costs, in units of the loss
    gbar: float  # mean tiles of both areas, over published trips; NaN if nothing is published
    suppressed: float  # share of trips
    flows: int
    origin_areas: int
    destination_areas: int


def frontier_point(cube: Cube, lam: float, published: IntArray) -> FrontierPoint:
    """Measure a cut that publishes the given cells of a cube."""
    trips = int(cube.trips[published].sum())
    gbar = float((cube.tiles[published] * cube.trips[published]).sum()) / trips if trips else float("nan")
    origin, destination = (len(np.unique(row[published])) for row in cube.node[:2])
    return FrontierPoint(lam, gbar, 1 - trips / cube.total, len(published), origin, destination)


def frontier_of(families: Sequence[Splits], points: int) -> list[FrontierPoint]:
    """Return the best cuts of all families at up to `points` prices, from the finest cut to the one that loses least.

    Between the ends, each step goes where the widest gap is, to the price at which the cuts on its two sides cost the
    same; a gap in which that finds nothing new is closed.
    """
    points = parse_points(points)
    first, last = _best(families, 0.0), _coarsest(families)
    cuts = [first] if first.suppressed == last.suppressed else [first, last][-points:]
    measured = {cut.suppressed: frontier_point(cut.cube, cut.lam, cut.published) for cut in cuts}
    open_gaps = list(pairwise(cuts))
    while open_gaps and len(measured) < points:
        fine, coarse = widest = max(open_gaps, key=lambda gap: _width(*(measured[cut.suppressed] for cut in gap)))
        open_gaps.remove(widest)
        middle = _best(families, price_between(fine, coarse))
        if coarse.suppressed < middle.suppressed < fine.suppressed:
            measured[middle.suppressed] = frontier_point(middle.cube, middle.lam, middle.published)
            open_gaps += [(fine, middle), (middle, coarse)]
    return [measured[suppressed] for suppressed in sorted(measured, reverse=True)]


def parse_points(value: object) -> int:
    """Return how many points a frontier is to have."""
    return parse_whole(value, "points", "a frontier has 1 point or more; 24 is usual")


def undominated(points: list[FrontierPoint]) -> list[FrontierPoint]:
    """Return the points that no other beats in precision at no more suppression, from the finest on."""
    best: list[FrontierPoint] = []
    for point in sorted(points, key=lambda point: (point.suppressed, point.gbar, point.lam)):
        finer = not best or not point.flows or point.gbar < best[-1].gbar
        if finer and (not best or point.suppressed > best[-1].suppressed):
            best.append(point)
    return best[::-1]


def thinned(points: list[FrontierPoint], most: int) -> list[FrontierPoint]:
    """Leave out the points that stand closest to their neighbors until no more than `most` remain."""
    kept = list(points)
    while len(kept) > most:
        gaps = [_width(before, after) for before, after in zip(kept[:-2], kept[2:], strict=True)]
        del kept[gaps.index(min(gaps)) + 1 if gaps else 0]
    return kept


def _best(families: Sequence[Splits], lam: float) -> Cut:
    return min((splits.best(lam) for splits in families), key=lambda cut: cut.value(lam))


def _coarsest(families: Sequence[Splits]) -> Cut:
    least = min(splits.least_suppressed for splits in families)
    lam = usual_rate(families[0])
    while (cut := _best(families, lam)).suppressed > least:
        lam *= GROWTH
    return cut


def _width(fine: FrontierPoint, coarse: FrontierPoint) -> float:
    """Return how far apart two points look on a chart of suppressed share by the logarithm of precision."""
    apart = abs(math.log(coarse.gbar / fine.gbar)) if fine.flows and coarse.flows else 0.0
    return apart + GAP_OF_SHARE * (fine.suppressed - coarse.suppressed)
