"""What was lost, each figure in closed form, on trips or on the people that they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsFloat

import numpy as np

from flowveil._flows import add_by_group
from flowveil._measure.closeness import t_closeness

if TYPE_CHECKING:
    from fractions import Fraction

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._measure.figures import Losses
    from flowveil._measure.overlapping import Spread
    from flowveil._places import Areas

DELTA = 0.01  # of the quadtree paper: what a suppressed trip costs, beside one whose ends are the whole axis


@dataclass(frozen=True, eq=False)
class Volumes:
    """How much is on every tile pair and on every published flow: trips, or people in small parts."""

    pairs: IntArray  # the truth
    flows: IntArray  # as published
    least: float | Fraction  # what a flow must have, in whole trips or people
    parts: int = 1  # of one trip or of one of the people


@dataclass(frozen=True, eq=False)
class Extent:
    """Where the flows are and how large: the same whatever is measured on them."""

    group: IntArray  # by tile pair: the flow that holds it, -1 for none
    ends: tuple[IntArray, IntArray]  # by flow: number of its areas
    areas: tuple[Areas, Areas]  # what these numbers mean
    tiles: tuple[FloatArray, FloatArray]  # by flow
    whole: tuple[float, float]  # tiles of each axis; NaN where not known
    square_kilometers: tuple[FloatArray, FloatArray]  # by flow
    meters: FloatArray  # from tile center to area center: origins of all tile pairs in flows, then destinations
    spread: Spread | None = None  # where a tile pair may lie in several flows, though one counts it
    steps: FloatArray | None = None  # by flow: steps of time, where time is an axis
    above: IntArray | None = None  # by flow, with remainders: the smallest flow that holds it, -1 for none

    @property
    def cells(self) -> FloatArray:
        """By flow: the pairs of tiles (and steps of time) that its trips may be on; NaN where that is not known.

        A reader can take the finer flows out of a remainder, so it is spread over what is left.
        """
        cells = np.multiply(*self.tiles)
        if self.steps is not None:
            cells = cells * self.steps
        if self.above is not None:
            inner = np.flatnonzero(self.above >= 0)
            taken = np.bincount(self.above[inner], weights=cells[inner], minlength=len(cells))
            cells = cells - taken
        return cells


def losses(volumes: Volumes, extent: Extent) -> Losses:
    """Return the metrics that weigh flows by their volume; some of it must be published."""
    total, kept = int(volumes.pairs.sum()), int(volumes.flows.sum())
    sizes, cells = np.add(*extent.tiles), extent.cells
    squares = int((volumes.flows.astype(object) ** 2).sum()) + total * (total - kept)
    return {
        "gbar": number((sizes * volumes.flows).sum() / kept),
        "e": number(_difference(volumes, extent, cells, 1.0, 1.0) / total),
        "d": number(_difference(volumes, extent, cells, 1 / kept, 1 / total)),
        "suppressed": (total - kept) / total,
        "c_dm": squares if volumes.parts == 1 else squares / volumes.parts**2,
        "c_avg": float(kept / len(volumes.flows) / volumes.parts / volumes.least),
        "gdm": distances(extent.meters, np.tile(volumes.pairs[extent.group >= 0], 2)),
        "mao": number(np.average(extent.square_kilometers[0], weights=volumes.flows)),
        "mad": number(np.average(extent.square_kilometers[1], weights=volumes.flows)),
        "g_delta": number(total_error(volumes.flows, extent.tiles, extent.whole, total - kept) / volumes.parts),
        "t_closeness": t_closeness(*extent.ends, extent.areas[1], volumes.flows.astype(np.float64)),
    }


def number(value: SupportsFloat) -> float | None:
    """Return a float, None for NaN: a metric that does not apply is null."""
    return None if np.isnan(float(value)) else float(value)


def total_error(
    flows: IntArray, tiles: tuple[FloatArray, FloatArray], whole: tuple[float, float], suppressed: int
) -> float:
    """Return the total generalization error of the quadtree paper (Eq. 2 and 4), in trips whose end is a whole axis."""
    ends = (float((tiles[side] * flows).sum()) / whole[side] for side in (0, 1))  # whole numbers, in any order
    return sum(ends) + 2 * DELTA * suppressed


def _difference(volumes: Volumes, extent: Extent, cells: FloatArray, scale: float, true_scale: float) -> float:
    """Sum |spread volume - true volume| over all tile pairs: those seen one by one, the empty ones at once.

    A flow's volume is spread evenly over its `cells` tile pairs; a pair outside every flow is estimated as 0.
    """
    group, even = extent.group, volumes.flows / cells
    if extent.spread is not None:
        return extent.spread.difference(even * scale, (volumes.pairs * true_scale).astype(np.float64))
    inside = group >= 0
    spread = np.where(inside, even[np.maximum(group, 0)], 0.0)
    seen = np.abs(spread * scale - volumes.pairs * true_scale).sum()
    seen_pairs = add_by_group(group, np.ones(len(group), np.int64), len(even))
    return float(seen + ((cells - seen_pairs) * even * scale).sum())


def distances(meters: FloatArray, weights: IntArray) -> dict[str, float] | None:
    """Return mean, median and standard deviation of distances, each as often as its weight says; None if one is NaN.

    The last is an area without a center: leaving it out would flatter the release.
    """
    if np.isnan(meters).any() or not weights.any():
        return None
    mean = np.average(meters, weights=weights)
    deviation = np.sqrt(np.average((meters - mean) ** 2, weights=weights))
    order = np.argsort(meters)
    reached = weights[order].astype(np.float64)
    np.cumsum(reached, out=reached)  # in place: there is a number for each end of each pair of tiles
    median = meters[order[np.searchsorted(reached, reached[-1] / 2)]]
    return {"mean": float(mean), "median": float(median), "sd": float(deviation)}
