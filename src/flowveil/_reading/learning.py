"""A release and the model that was fitted to it: what estimates and samples are made with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._folder import SIDES
from flowveil._reading.left_out import expect_left_out
from flowveil._reading.model import Matrices, Model, cut, fit
from flowveil._reading.parts import ZoneParts
from flowveil._reading.regions import divide

if TYPE_CHECKING:
    from scipy import sparse

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._reading.marginals import Marginal
    from flowveil._reading.spots import Spots
    from flowveil._reading.told import Told

# Chosen on synthetic cities (docs/benchmarks.md): more of either changes little, and takes longer.
_HALVINGS, _COARSE = 9, 6  # into 512 regions, inside 64 coarser ones
_SINGLE = 0.5  # of all trips: if so many go between single tiles, these are the regions where they are not too many
_FAINT = 1e-9  # of the mean mass of spots: none has less, so that every flow has a place


@dataclass(frozen=True, eq=False)
class Learned:
    """A model, and the flows that it spreads: those that add up, and totals over groups."""

    told: Told
    spots: Spots
    model: Model
    counted: Matrices
    totals: Matrices

    def parts_of(self, side: int, shares: sparse.csr_array) -> ZoneParts:
        """Return the pieces of one end by zone, given spots by zones."""
        from scipy import sparse  # noqa: PLC0415  slow to import

        end, mass = self.model.ends[side], self.model.mass[side]
        pieces = len(end.pieces.region)
        own = sparse.csr_array((mass[end.spot], (end.piece, end.spot)), shape=(pieces, len(mass)))
        parts = (own @ shares).tocsr()
        return ZoneParts(parts.indptr.astype(np.int64), parts.indices.astype(np.int64), parts.data)


def learn(told: Told, spots: Spots, mass: FloatArray | None = None, rounds: int | None = None) -> Learned:
    """Fit a model to a release. mass: of spots at first; by default what marginals say of each end, or their sizes."""
    first = (_at_first(told, spots, SIDES[0], mass), _at_first(told, spots, SIDES[1], mass))
    x, y = spots.plane()
    places = spots.alike() if told.single_tiles >= _SINGLE else None
    regions = divide(x, y, _even_trips(told, spots, first), _HALVINGS, _COARSE, places)
    ends = [cut(spots.area[side], spots.spot[side], len(told.ends[side].ids), regions) for side in (0, 1)]
    counted, totals = matrices_of(told)
    options = {} if rounds is None else {"rounds": rounds}
    model = fit(_for_fitting(told, counted), (ends[0], ends[1]), regions, first, **options)
    return Learned(told, spots, model, counted, totals)


def _at_first(told: Told, spots: Spots, side: str, mass: FloatArray | None) -> FloatArray:
    """Return the mass of spots at one end that a model starts with; none is empty."""
    marginal = told.marginals.get(side)
    if mass is None and marginal is not None and spots.zones is None:
        mass = _by_marginal(told, spots, marginal)
    weights = told.zone_weights.get(side)
    if mass is None and weights is not None and spots.zones is not None:
        mass = np.array([weights.get(zone, 1.0) for zone in spots.zones])
    mass = spots.size if mass is None else mass
    return np.maximum(mass, _FAINT * max(float(mass.mean()), 1e-300))


def _by_marginal(told: Told, spots: Spots, marginal: Marginal) -> FloatArray:
    """Return the mass of squares of the ground by a marginal over the cells of the grid."""
    options = told.manifest["options"]
    west, south, east, north = options["bbox"]
    corner, size = np.array([west, south]), np.array([east - west, north - south]) / options["cells"]
    center, half = np.column_stack([spots.lon, spots.lat]), np.column_stack([spots.wide, spots.high]) / 2
    low, high = ((edge - corner) / size for edge in (center - half, center + half))
    return marginal.mass(low, high)


def matrices_of(told: Told) -> tuple[Matrices, Matrices]:
    """Return flows that add up, and totals over groups; neither has flows to elsewhere."""
    left_out = expect_left_out(told)
    published = float(told.trips[told.counted].sum())
    over_groups = told.total[told.matrix] & ~told.elsewhere
    missing = max(published + left_out - float(told.trips[over_groups].sum()), 0.0)
    return (
        _matrices(told, told.counted, left_out),
        _matrices(told, over_groups, missing if left_out > 0 and over_groups.any() else 0.0),
    )


def _matrices(told: Told, kept: BoolArray, left_out: float) -> Matrices:
    """Return the rectangles of some flows, sorted by matrix and flow."""
    rectangles = told.rectangles
    matrix = told.matrix[rectangles.flow]
    order: IntArray = np.lexsort((rectangles.flow, matrix))
    order = order[kept[rectangles.flow[order]]]
    edges = np.searchsorted(matrix[order], np.arange(told.matrices + 1))
    parts = rectangles.take(order)
    return Matrices(parts, edges.astype(np.int64), told.trips, left_out, told.below)


def _for_fitting(told: Told, matrices: Matrices) -> Matrices:
    """Return the same flows with counts that a model can be fitted to: none below zero."""
    return replace(matrices, trips=np.maximum(told.trips, 0)) if told.noisy else matrices


def _even_trips(told: Told, spots: Spots, masses: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the trips of each spot, at both ends, if flows were spread by mass alone; a little everywhere."""
    total = np.zeros(len(spots))
    for side, ends in enumerate((told.origin, told.destination)):
        kept, mass = told.counted, masses[side]
        count = len(told.ends[side].ids)
        trips = np.bincount(ends[kept], weights=np.maximum(told.trips[kept], 0), minlength=count)
        area, spot = spots.area[side], spots.spot[side]
        inside = np.bincount(area, weights=mass[spot], minlength=count)
        density = np.divide(trips, inside, out=np.zeros(count), where=inside > 0)
        total += mass * np.bincount(spot, weights=density[area], minlength=len(spots))
    return total + max(float(total.mean()), 1e-300) * 1e-9
