"""Marginals: noisy counts of where trips start, end and stop, each place by itself, finer than all together.

Of boxes they are smaller boxes, of areas of zones they are single zones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._folder import SIDES
from flowveil._matrices.grids import parts_of
from flowveil._matrices.points import Points, add
from flowveil._matrices.privtree import TREE, grow_boxes
from flowveil._matrices.settling import non_negative
from flowveil._noise import PARTS, variance
from flowveil._options import WINDOW
from flowveil._places import Zones
from flowveil._reading import Marginal

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._matrices.points import Matrix
    from flowveil._matrices.tiles import TileGrid
    from flowveil._noise import Ledger

MARGINAL = "marginal {}"  # the name of the charge, by the number of the place, from 1
_ZONES_SHARE = 0.1  # of the budget, for zones; chosen on the synthetic city (docs/decisions/0070-marginals-of-zones.md)
_HALVINGS = 10  # a marginal has at most so many, so that it has few enough edges to be asked quickly
_AXES = 2  # of a place


@dataclass(frozen=True, eq=False)
class PlaceBoxes:
    """Boxes of one place that tile the grid, with noisy counts."""

    low: IntArray
    high: IntArray
    counts: IntArray  # may be negative
    scales: FloatArray  # of the noise of each
    matrix: IntArray

    @property
    def settled(self) -> IntArray:
        """The counts without negative ones."""
        return non_negative(self.counts, variance(self.scales))

    def spread(self) -> Marginal:
        """Return how trips lie at this place."""
        return Marginal(self.low, self.high, self.settled)


def count_marginals(points: Points, ledger: Ledger, parts: int, max_cells: int) -> tuple[PlaceBoxes, ...]:
    """Charge `parts`, in equal shares to each place, and return a tree of boxes of each.

    Half of a share goes to the tree, half to its counts. A single place has no marginals: it is its own.
    """
    places = len(points.lengths) // _AXES
    if places < _AXES:
        return ()
    return tuple(_count(points, ledger, place, parts // places, max_cells) for place in range(places))


def _count(points: Points, ledger: Ledger, place: int, parts: int, max_cells: int) -> PlaceBoxes:
    own = ledger.part(MARGINAL.format(place + 1), parts)
    growth = own.grow(TREE, PARTS // 2, 1 << _AXES)
    boxes = grow_boxes(_project(points, place), own, growth, max_cells, _HALVINGS)
    return PlaceBoxes(boxes.low, boxes.high, boxes.counts, own.scales(boxes.charged), boxes.matrix)


def _project(points: Points, place: int) -> Points:
    """Return the matrix of one place: trips wherever else they go."""
    axes = slice(_AXES * place, _AXES * (place + 1))
    rows = np.column_stack([points.number, points.cells[:, axes]])
    distinct, row = np.unique(rows, axis=0, return_inverse=True)
    counts = add(row.ravel(), points.counts, len(distinct))
    return Points(distinct[:, 1:], counts, points.lengths[axes], distinct[:, 0], points.matrices)


def share_of_zones(matrix: Matrix, grid: TileGrid, typed: float | None) -> float:
    """Return which share of the budget goes to marginals of zones: as typed; by default some where there can be any."""
    if typed is not None:
        return typed
    return _ZONES_SHARE if isinstance(grid.places, Zones) and matrix.protection.name != WINDOW else 0.0


def count_zones(matrix: Matrix, grid: TileGrid, unit: Ledger, share: float) -> pa.Table:
    """Charge a share of the budget of a unit, half for each end, and return a noisy count of every zone at each end.

    All steps of time and groups are counted together. Which zones there are is public; a trip is in one at each end.
    """
    if not isinstance(grid.places, Zones):
        raise InputError(
            "marginal_share of noisy-mosaic is for zones", "leave it out, or give --method noisy-tree, which has boxes"
        )
    if matrix.protection.name == WINDOW:
        raise InputError("a stream has no marginals: they look at all steps at once", "leave out marginal_share")
    parts = parts_of(share, "marginal_share") // len(SIDES)
    if len(SIDES) * parts >= int(unit.left(unit.roots).min()):
        raise InputError(f"marginal_share is {share:g} of the budget", "leave something for the flows")
    zones = [grid.places.table.ids[int(key)] for key in grid.tree.key[grid.ladder.leaf]]
    tables = []
    for side, place in enumerate(SIDES):
        own = unit.part(MARGINAL.format(side + 1), parts).single_trips(matrix.max_trips_per_person)
        counts = add(matrix.points.cells[:, side], matrix.points.counts, len(zones))
        noisy, charged = own.publish("zones", own.children(np.zeros(len(zones), np.int64)), counts)
        scales = own.scales(charged)
        columns = {
            "place": pa.array([place] * len(zones), pa.string()),
            "zone": pa.array(zones, pa.string()),
            "count": pa.array(noisy, pa.int64()),
            "nonnegative": pa.array(non_negative(noisy, variance(scales)), pa.int64()),
            "scale": pa.array(scales, pa.float64()),
        }
        tables.append(pa.table(columns).sort_by([("zone", "ascending")]))
    return pa.concat_tables(tables)
