"""Estimates between zones, with bounds: what is sure, what is likely, and the most there can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._reading.model import left_out_by_matrix, open_pull, uncovered
from flowveil._reading.parts import Plane, Sums
from flowveil._reading.thinning import median

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy import sparse

    from flowveil._arrays import FloatArray
    from flowveil._reading.bounds import Certain
    from flowveil._reading.learning import Learned

_MOST_PAIRS = 2_000_000  # of zones that are summed up at once: 100 MB
_CONFIDENCE = 1.96  # standard deviations: 95 %, for noise
# The likely range holds the truth in about nine of ten cases on synthetic cities (docs/reading.md): variance of pure
# chance, and how far shares of single flows, of all flows together and of what was left out are off beside it.
_WIDTH = 2.0
_SHARES, _TOGETHER, _LEFT = 0.3, 0.1, 4.0


class Block(NamedTuple):
    """Estimates of one matrix for some zones of origins, each an array of these by zones of destinations."""

    matrix: int
    first: int  # the first zone of origins
    trips: FloatArray  # of flows
    left_out: FloatArray  # what was left out: as likely too high as too low
    low: FloatArray  # of the likely range
    high: FloatArray
    noise: FloatArray  # standard deviation


def estimate(learned: Learned, shares: tuple[sparse.csr_array, sparse.csr_array]) -> Iterator[Block]:
    """Yield estimates between zones, given spots by zones for both ends; matrix by matrix, in bounded memory."""
    from flowveil._reading.kernels import ask  # noqa: PLC0415  numba is slow to import

    told, model = learned.told, learned.model
    parts = (learned.parts_of(0, shares[0]), learned.parts_of(1, shares[1]))
    count, wide = shares[0].shape[1], shares[1].shape[1]
    step = max(_MOST_PAIRS // max(wide, 1), 1)
    no_pull = np.zeros(model.pull.shape)
    masses = [_by_region(learned, side, shares[side]) for side in (0, 1)]
    squares = [(own / total[:, None]) ** 2 for own, total in zip(masses, model.region_masses(), strict=True)]
    for matrices in (learned.counted, learned.totals):
        expected = model.expected(matrices)
        left_out = left_out_by_matrix(model, matrices)
        for number in range(len(matrices.edges) - 1):
            rectangles = matrices.part(number)
            if not len(rectangles.flow):
                continue
            free = open_pull(model, matrices, number, left_out[number]) if number in left_out else no_pull
            hidden = uncovered(model, matrices, number, free) ** 2
            for low in range(0, count, step):
                high = min(low + step, count)
                sums = Sums(*(np.zeros((high - low, wide)) for _ in Sums._fields))
                of_flows = (told.trips, told.variance, expected)
                ask(Plane(rectangles, model.pieces, model.pull), free, parts, of_flows, (low, high), sums)
                left = np.maximum(masses[0][:, low:high].T @ free @ masses[1] - sums.covered, 0)
                yield _block(number, low, sums, left, squares[0][:, low:high].T @ hidden @ squares[1])


def _block(matrix: int, first: int, sums: Sums, left: FloatArray, square: FloatArray) -> Block:
    """Return estimates with their likely range; left: what was left out, on average."""
    middle = sums.trips + left
    flows = sums.binomial + _SHARES * sums.square + _TOGETHER * sums.binomial**2
    spread = _WIDTH * np.sqrt(flows + left + _LEFT * left**2 + sums.noise)
    low, high = np.floor(middle - spread), np.ceil(middle + spread)
    return Block(matrix, first, sums.trips, median(left, square), low, high, np.sqrt(sums.noise))


def _by_region(learned: Learned, side: int, shares: sparse.csr_array) -> FloatArray:
    """Return regions by zones: their mass."""
    from scipy import sparse  # noqa: PLC0415  slow to import

    regions, mass = learned.model.regions, learned.model.mass[side]
    own = sparse.csr_array((mass, (regions.of, np.arange(len(mass)))), shape=(len(regions), len(mass)))
    return np.asarray((own @ shares).toarray())


def bounds(learned: Learned, certain: tuple[Certain, Certain], matrix: int) -> tuple[FloatArray, FloatArray | None]:
    """Return what lies between zones for certain and at most, zones by zones; None where nobody says how much at most.

    Flows wholly inside count for certain. At most there are all flows that touch both zones and all that was left out.
    With noise both hold in 95 of 100 cases.
    """
    from scipy import sparse  # noqa: PLC0415  slow to import

    told = learned.told
    own = np.flatnonzero(told.matrix == matrix)
    shape = (len(told.ends[0].ids), len(told.ends[1].ids))

    def between(values: FloatArray, lay: str) -> FloatArray:
        flows = sparse.csr_array((values[own], (told.origin[own], told.destination[own])), shape=shape)
        first, second = (getattr(end, lay) for end in certain)
        return np.asarray((first.T @ flows @ second).toarray())

    off = float(told.off_by)
    least, most = between(told.trips - off, "inside"), between(told.trips + off, "touched")
    if told.noisy:
        least -= _CONFIDENCE * np.sqrt(between(told.variance, "inside"))
        most += _CONFIDENCE * np.sqrt(between(told.variance, "touched"))
        return least, most
    rest = told.rest(matrix)
    return np.maximum(least, 0), None if rest is None else np.floor(most + rest + 1e-6)
