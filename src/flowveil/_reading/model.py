"""What a release tells beyond single flows: one model fitted to all of them (docs/reading.md).

A trip from a spot to another is expected in proportion to the mass of both and the pull between their regions: a
factor of distance times one of the pair of coarser regions. Flows are spread in that proportion over their areas, what
was left out over pairs that no flow covers, and masses and pulls are set anew: a few rounds of expectation and
maximization. Many rounds would fit accidents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._reading.parts import Pieces, Plane, Rectangles, summed
from flowveil._reading.thinning import thinned

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._reading.regions import Regions

# Chosen on synthetic cities (docs/benchmarks.md).
ROUNDS = 12
LOCAL_FROM = 2  # the round, from 0, that pairs of coarser regions are first told apart in
FLOOR = 0.02  # of the mean density: no spot has less
_SMALL = 2  # times the trips that a flow needs: less is hardly enough
PRIOR = 50.0  # trips that are taken for as expected, in each pair of coarser regions


@dataclass(frozen=True, eq=False)
class End:
    """Areas of one end as spots, cut into pieces along regions."""

    pieces: Pieces
    piece: IntArray  # (piece, spot): which spots each piece holds
    spot: IntArray

    def masses(self, mass: FloatArray) -> FloatArray:
        """Return the mass of each piece."""
        return summed(self.piece, mass[self.spot], len(self.pieces.region))

    def by_spot(self, reach: FloatArray, count: int) -> FloatArray:
        """Return the sum over the pieces that hold each spot."""
        return summed(self.spot, reach[self.piece], count)


def cut(area: IntArray, spot: IntArray, areas: int, regions: Regions) -> End:
    """Cut areas, given as pairs (area, spot), along regions."""
    keys, piece = np.unique(area * len(regions) + regions.of[spot], return_inverse=True)
    first = np.searchsorted(keys, np.arange(areas + 1) * len(regions))
    order = np.argsort(piece, kind="stable")
    return End(Pieces(first.astype(np.int64), keys % len(regions)), piece[order], spot[order])


@dataclass(frozen=True, eq=False)
class Matrices:
    """What is spread: rectangles of flows sorted by matrix, and how many trips were left out."""

    rectangles: Rectangles
    edges: IntArray  # the rectangles of matrix `n` are `edges[n]` to `edges[n + 1]`
    trips: FloatArray  # by flow
    left_out: float  # of all matrices together
    below: float  # as many trips have a flow, so that what was left out between two places is less

    def part(self, number: int) -> Rectangles:
        """Return the rectangles of one matrix."""
        inside = slice(int(self.edges[number]), int(self.edges[number + 1]))
        return self.rectangles.take(inside)

    def published(self, number: int) -> float:
        """Return the trips of one matrix."""
        rectangles = self.part(number)
        return float(self.trips[rectangles.flow[rectangles.factor == 1]].sum())


@dataclass(frozen=True, eq=False)
class Model:
    """Masses of spots as origins and destinations, and pulls between regions."""

    regions: Regions
    ends: tuple[End, End]
    mass: tuple[FloatArray, FloatArray]
    pull: FloatArray  # regions by regions

    def piece_masses(self) -> tuple[FloatArray, FloatArray]:
        """Return the masses of the pieces of areas."""
        return self.ends[0].masses(self.mass[0]), self.ends[1].masses(self.mass[1])

    def region_masses(self) -> tuple[FloatArray, FloatArray]:
        """Return the masses of regions."""
        count = len(self.regions)
        return (
            summed(self.regions.of, self.mass[0], count),
            summed(self.regions.of, self.mass[1], count),
        )

    def expected(self, matrices: Matrices) -> FloatArray:
        """Return what the model expects on each flow, in its own unit."""
        from flowveil._reading.kernels import weigh  # noqa: PLC0415  numba is slow to import

        weight = np.zeros(len(matrices.trips))
        weigh(Plane(matrices.rectangles, self.pieces, self.pull), self.piece_masses(), weight)
        return weight

    @property
    def pieces(self) -> tuple[Pieces, Pieces]:
        """The pieces of both ends."""
        return self.ends[0].pieces, self.ends[1].pieces


def fit(
    matrices: Matrices,
    ends: tuple[End, End],
    regions: Regions,
    mass: tuple[FloatArray, FloatArray],
    rounds: int = ROUNDS,
    prior: float = PRIOR,
    local_from: int = LOCAL_FROM,
) -> Model:
    """Fit a model; mass: of spots at first, by end: their sizes or other weights."""
    count = len(regions)
    model = Model(regions, ends, mass, np.ones((count, count)))
    distance, local = np.ones(int(regions.bin.max()) + 1), np.ones((int(regions.coarse.max()) + 1,) * 2)
    for number in range(rounds):
        reach, between = _allocate(model, matrices)
        model, distance, local = _learn(model, reach, between, distance, local, prior if number >= local_from else None)
        model = replace(model, mass=(_raised(model.mass[0], mass[0]), _raised(model.mass[1], mass[1])))
    return model


def _raised(learned: FloatArray, first: FloatArray) -> FloatArray:
    """Return masses of which none is so small that rounds would shrink it to nothing: trips may be left out there."""
    return np.maximum(learned, FLOOR * float(learned.sum()) / float(first.sum()) * first)


def _allocate(model: Model, matrices: Matrices) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
    """Return trips by unit of mass for each spot as origin and as destination, and trips between regions."""
    from flowveil._reading.kernels import place  # noqa: PLC0415  numba is slow to import

    count, spots = len(model.regions), len(model.mass[0])
    masses = model.piece_masses()
    scale = scales(matrices.trips, model.expected(matrices))
    reach = (np.zeros(len(masses[0])), np.zeros(len(masses[1])))
    between = np.zeros((count, count))
    place(Plane(matrices.rectangles, model.pieces, model.pull), masses, scale, reach, between)
    by_spot = [end.by_spot(part, spots) for end, part in zip(model.ends, reach, strict=True)]
    for number, left_out in left_out_by_matrix(model, matrices).items():
        free = _free(model, matrices, number, open_pull(model, matrices, number, left_out))
        for side in (0, 1):
            by_spot[side] += free.reach[side]
        between += free.between
    return (by_spot[0], by_spot[1]), between


def scales(trips: FloatArray, weight: FloatArray) -> FloatArray:
    """Return trips by expected trip; 0 where none is expected, as where finer flows fill a remainder."""
    return np.divide(trips, weight, out=np.zeros(len(trips)), where=weight > 0)


def left_out_by_matrix(model: Model, matrices: Matrices) -> dict[int, float]:
    """Return how many trips were left out of each matrix: in proportion to its trips and to what no flow covers."""
    if not matrices.left_out > 0:
        return {}
    published = np.array([matrices.published(number) for number in range(len(matrices.edges) - 1)])
    used = np.flatnonzero(published > 0).tolist()
    if len(used) == 1:
        return {used[0]: matrices.left_out}
    free = [_free(model, matrices, number, model.pull).between.sum() for number in used]
    share = published[used] * np.array(free)
    return dict(zip(used, (matrices.left_out * share / max(float(share.sum()), 1e-300)).tolist(), strict=True))


def open_pull(model: Model, matrices: Matrices, number: int, left_out: float) -> FloatArray:
    """Return the pull between regions in trips that were left out of a matrix, where no flow covers them."""
    free = uncovered(model, matrices, number, model.pull)
    first, second = model.region_masses()
    block, below = (_block(model, matrices), matrices.below) if model.regions.own else (1.0, np.inf)
    return np.asarray(
        model.pull * thinned(free, block * model.pull * first[:, None] * second, left_out, below), np.float64
    )


def uncovered(model: Model, matrices: Matrices, number: int, pull: FloatArray) -> FloatArray:
    """Return what a pull amounts to between regions where no flow of a matrix is."""
    return _free(model, matrices, number, pull).between


def _block(model: Model, matrices: Matrices) -> float:
    """Return how many pairs of regions small flows have: the median of those that are hardly more than the limit."""
    rectangles = matrices.rectangles
    small = (rectangles.factor == 1) & (matrices.trips[rectangles.flow] < _SMALL * matrices.below)
    if not small.any():
        return 1.0
    first, second = (np.diff(pieces.first) for pieces in model.pieces)
    return float(np.median((first[rectangles.origin] * second[rectangles.destination])[small]))


class _Free(NamedTuple):
    """What a model expects where no flow is: by spot and unit of its mass, at both ends, and by pair of regions."""

    reach: tuple[FloatArray, FloatArray]
    between: FloatArray


def _free(model: Model, matrices: Matrices, number: int, pull: FloatArray) -> _Free:
    """Return what masses and a pull amount to in one matrix where no flow is."""
    from flowveil._reading.kernels import place  # noqa: PLC0415  numba is slow to import

    count, spots = len(model.regions), len(model.mass[0])
    masses, (first, second) = model.piece_masses(), model.region_masses()
    reach = (np.zeros(len(masses[0])), np.zeros(len(masses[1])))
    between = np.zeros((count, count))
    plane = Plane(matrices.part(number), model.pieces, pull)
    place(plane, masses, np.ones(len(matrices.trips)), reach, between)
    totals = (pull @ second, first @ pull)
    free = [
        np.maximum(total[model.regions.of] - end.by_spot(part, spots), 0)
        for total, end, part in zip(totals, model.ends, reach, strict=True)
    ]
    return _Free((free[0], free[1]), np.maximum(pull * first[:, None] * second - between, 0))


def _learn(
    model: Model,
    reach: tuple[FloatArray, FloatArray],
    between: FloatArray,
    distance: FloatArray,
    local: FloatArray,
    prior: float | None,
) -> tuple[Model, FloatArray, FloatArray]:
    """Set masses, the factor of distance and, with a prior, that of coarser regions anew, each given the ones before.

    What each spot was allocated stays: departures and arrivals, trips by distance and trips between coarser regions.
    """
    regions = model.regions
    count, coarse = len(regions), np.ix_(regions.coarse, regions.coarse)
    _, second = model.region_masses()
    origin = _divided(model.mass[0] * reach[0], (model.pull @ second)[regions.of])
    first = summed(regions.of, origin, count)
    destination = _divided(model.mass[1] * reach[1], (first @ model.pull)[regions.of])
    second = summed(regions.of, destination, count)
    expected = first[:, None] * second * local[coarse]
    told, thought = (summed(regions.bin.ravel(), part.ravel(), len(distance)) for part in (between, expected))
    distance = np.where((thought > 0) & (told > 0), told / np.where(thought > 0, thought, 1), distance)
    if prior is not None:
        expected = first[:, None] * second * distance[regions.bin]
        told, thought = (_coarsen(part, regions) for part in (between, expected))
        thought *= told.sum() / thought.sum()
        local = (told + prior) / (thought + prior)
    pull = distance[regions.bin] * local[coarse]
    return Model(regions, model.ends, (origin, destination), pull), distance, local


def _divided(values: FloatArray, by: FloatArray) -> FloatArray:
    return np.divide(values, by, out=np.zeros(len(values)), where=by > 0)


def _coarsen(between: FloatArray, regions: Regions) -> FloatArray:
    """Return sums over pairs of coarser regions."""
    count = int(regions.coarse.max()) + 1
    rows = np.zeros((count, between.shape[1]))
    np.add.at(rows, regions.coarse, between)
    sums = np.zeros((count, count))
    np.add.at(sums.T, regions.coarse, rows.T)
    return sums
