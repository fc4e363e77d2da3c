"""What kernels work on: parts of flows, and areas cut into pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray


class Rectangles(NamedTuple):
    """Parts of the plane of origins and destinations: a flow is a sum of such, each with a factor."""

    flow: IntArray  # by rectangle: the flow that it is a part of
    factor: FloatArray  # 1 for the whole of a flow, below 0 for what finer flows take out of it
    origin: IntArray  # its area
    destination: IntArray

    def take(self, chosen: IntArray | slice) -> Rectangles:
        """Return some of them."""
        return Rectangles(self.flow[chosen], self.factor[chosen], self.origin[chosen], self.destination[chosen])


class Pieces(NamedTuple):
    """Areas of one end, cut along regions: the pieces of area `n` are `first[n]` to `first[n + 1]`."""

    first: IntArray
    region: IntArray  # by piece


class Plane(NamedTuple):
    """Flows as parts of the plane, the pieces of both ends, and the pull between their regions."""

    rectangles: Rectangles
    ends: tuple[Pieces, Pieces]
    pull: FloatArray  # by region of origin, then of destination


class ZoneParts(NamedTuple):
    """Pieces of one end by zone: the parts of piece `n` are `first[n]` to `first[n + 1]`."""

    first: IntArray
    zone: IntArray
    mass: FloatArray  # of the piece inside the zone


class Sums(NamedTuple):
    """What is summed up for each pair of zones."""

    trips: FloatArray
    binomial: FloatArray  # trips * share * (1 - share), over flows
    square: FloatArray  # the squares of these
    noise: FloatArray  # variance of the noise
    covered: FloatArray  # what would be left out where flows are


def summed(of: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Return the sum of values by number, of the numbers below a count."""
    return np.asarray(np.bincount(of, weights=values, minlength=count), np.float64)
