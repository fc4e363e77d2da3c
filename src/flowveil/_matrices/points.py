"""Frequency matrices as points: the cells that are not empty, whatever the number of dimensions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from flowveil._engine import Reading
from flowveil._matrices.layers import Layers
from flowveil._options import TRIP, Protection

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._engine import Source
    from flowveil._folder import Json
    from flowveil._matrices.tiles import TileGrid
    from flowveil._places import BoundingBox

LON, LAT = 0, 1


_EXACT = 1 << 53  # up to here doubles, which are quicker to sum, hold whole numbers


@dataclass(frozen=True, eq=False)
class Points:
    """Non-empty cells of a matrix and their counts.

    Several matrices of one shape may be held at once, numbered from 0 in `matrix`: the auditor runs a method on
    thousands of copies in one go.
    """

    cells: IntArray  # one row a cell, one column an axis
    counts: IntArray
    lengths: tuple[int, ...]  # cells along each axis
    matrix: IntArray | None = None
    matrices: int = 1

    @property
    def number(self) -> IntArray:
        """The matrix of each cell."""
        return np.zeros(len(self.counts), np.int64) if self.matrix is None else self.matrix

    @property
    def totals(self) -> IntArray:
        """The count of each matrix."""
        return add(self.number, self.counts, self.matrices)


@dataclass(frozen=True)
class CellGrid:
    """A grid laid over a public box: as many cells along every side, two axes (lon, lat) for each place of a trip."""

    bbox: BoundingBox
    cells: int
    places: tuple[str, ...]  # what each pair of axes is: origin, destination, stop 1, ...

    @property
    def lengths(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return (self.cells,) * (2 * len(self.places))

    def settings(self) -> dict[str, Json]:
        """Return the grid for the manifest."""
        return {"bbox": list(self.bbox), "cells": self.cells, "places": list(self.places)}


@dataclass(frozen=True, eq=False)
class Provenance:
    """What a matrix was made from. Private."""

    source: Source | None = None
    zones: str | None = None  # path of the zones file
    columns: dict[str, str] = field(default_factory=dict)
    where: str | None = None
    reading: Reading = field(default_factory=Reading)
    rows: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    outside_bbox: int = 0
    beyond_bound: int = 0
    places: str | None = None  # path of the file of places that areas are called after


@dataclass(frozen=True, eq=False, repr=False)
class Matrix:
    """A sparse frequency matrix of trips over a public grid, with how much one unit can contribute.

    `points` and `provenance` are private, the total number of trips included.

    >>> matrix = fv.build_matrix("trips.parquet", fv.synthetic.CITY_BBOX, cells=20)
    >>> matrix.grid.places, matrix.max_trips_per_person
    (('origin', 'destination'), 1)
    """

    points: Points
    grid: CellGrid | TileGrid
    unit: str | None = None  # column of persons; None: one trip is protected
    max_trips_per_person: int = 1  # in each span that `protection` is about
    provenance: Provenance = field(default_factory=Provenance)
    layers: Layers = field(default_factory=Layers)
    protection: Protection = field(default_factory=lambda: Protection(TRIP))
    timezone: str | None = None  # whose clock cuts time, as typed
    visits: tuple[IntArray, IntArray] | None = None  # each person of each point once: the point, a number; private

    def __repr__(self) -> str:
        return f"<Matrix of {' by '.join(map(str, self.grid.lengths))} cells>"


def add(group: IntArray, values: IntArray, count: int) -> IntArray:
    """Sum counts by group, exactly: noise is scaled for a change of one."""
    if int(np.abs(values).sum()) < _EXACT:
        return np.bincount(group, weights=values, minlength=count).astype(np.int64)
    sums = np.zeros(count, np.int64)
    np.add.at(sums, group, values)
    return sums
