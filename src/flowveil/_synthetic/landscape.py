"""Where people live and where they go: neighborhoods, workplaces and hot spots, before anybody moves in."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING

import numpy as np

from flowveil._synthetic.plane import HEIGHT, WIDTH, Positions, keep_inside, scatter
from flowveil._synthetic.streams import Stream, open_stream

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

_CENTER = complex(WIDTH, HEIGHT) / 2

_URBAN_NEIGHBORHOODS = 90
_SUBURBS = 40
# Two thirds of the people live in the dense part, as in most European cities of this size.
_URBAN_SHARE = 2 / 3
# Distances in meters, of neighborhoods from the center and of homes from the middle of a neighborhood.
_URBAN_REACH = 3_500.0
_SUBURB_RING = (7_000.0, 13_500.0)
_URBAN_RADIUS = 350.0
_SUBURB_RADIUS = 800.0
# Spread of the logarithm of neighborhood sizes: the largest has about a hundred times the people of the smallest.
_SIZE_SPREAD = 1.0

_WORKPLACES = 400
# Tail exponents of attraction: near 1, the sizes of firms and of destinations follow Zipf's law.
_WORKPLACE_TAIL = 1.1
_HOT_SPOTS = 60
_HOT_SPOT_EXPONENT = 1.1
# The largest hot spots stand in fixed places: center, airport (far out), mall, main station and university.
_LANDMARKS = _CENTER + np.array([0, 8_500 - 6_000j, -4_200 + 3_100j, 700 + 900j, -1_500 - 2_400j])


@dataclass(frozen=True, slots=True)
class Sites:
    """Places to go to: positions, and the attraction of each (sums to 1)."""

    positions: Positions
    attraction: FloatArray

    def choose(
        self, random: np.random.Generator, neighborhoods: Positions, living_in: IntArray, reach: float
    ) -> IntArray:
        """Choose a site for each person by gravity: attraction * exp(-distance / reach), reach in meters.

        Distance is taken from the middle of the neighborhood each person is living in.
        """
        distances = np.abs(neighborhoods[:, None] - self.positions[None, :]).astype(np.float64)
        pull = np.cumsum(self.attraction * np.exp(-distances / reach), axis=1)
        # One sorted array for all neighborhoods, the row number being the whole part: one search draws for everybody.
        rows = np.arange(len(neighborhoods))[:, None] + pull / pull[:, -1:]
        place = np.searchsorted(rows.ravel(), living_in + random.random(len(living_in)), side="right")
        return np.asarray(np.clip(place - living_in * len(self.positions), 0, len(self.positions) - 1), np.int64)


@dataclass(frozen=True, slots=True)
class Landscape:
    """Neighborhoods (middle, share of the people, radius in meters), workplaces and hot spots."""

    neighborhoods: Positions
    shares: FloatArray
    radii: FloatArray
    workplaces: Sites
    hot_spots: Sites

    def settle(self, random: np.random.Generator, count: int) -> tuple[IntArray, Positions]:
        """Return the neighborhood and the home of each of `count` new persons."""
        living_in = random.choice(len(self.shares), size=count, p=self.shares)
        homes = self.neighborhoods[living_in] + scatter(random, count, self.radii[living_in].astype(np.float32))
        return living_in.astype(np.int64), keep_inside(homes)


def draw_landscape(seed: int) -> Landscape:
    """Return the landscape of the city with this seed; it does not depend on the number of persons."""
    random = open_stream(seed, Stream.LANDSCAPE)
    urban = _CENTER + scatter(random, _URBAN_NEIGHBORHOODS, _URBAN_REACH)
    ring = random.uniform(*_SUBURB_RING, _SUBURBS) * np.exp(2j * pi * random.random(_SUBURBS))
    neighborhoods = keep_inside(np.concatenate([urban, _CENTER + ring]).astype(np.complex64))
    shares = np.concatenate(
        [
            _URBAN_SHARE * _normalize(random.lognormal(0, _SIZE_SPREAD, _URBAN_NEIGHBORHOODS)),
            (1 - _URBAN_SHARE) * _normalize(random.lognormal(0, _SIZE_SPREAD, _SUBURBS)),
        ]
    )
    radii = np.repeat([_URBAN_RADIUS, _SUBURB_RADIUS], [_URBAN_NEIGHBORHOODS, _SUBURBS])
    return Landscape(neighborhoods, shares, radii, _draw_workplaces(random, neighborhoods), _draw_hot_spots(random))


def _draw_workplaces(random: np.random.Generator, neighborhoods: Positions) -> Sites:
    # Each stands within a kilometer or two of some neighborhood, suburbs as often as the center.
    near = neighborhoods[random.integers(len(neighborhoods), size=_WORKPLACES)]
    attraction = _normalize(1 + random.pareto(_WORKPLACE_TAIL, _WORKPLACES))
    return Sites(keep_inside(near + scatter(random, _WORKPLACES, 1_000.0)), attraction)


def _draw_hot_spots(random: np.random.Generator) -> Sites:
    others = _CENTER + scatter(random, _HOT_SPOTS - len(_LANDMARKS), _URBAN_REACH)
    positions = keep_inside(np.concatenate([_LANDMARKS, others]).astype(np.complex64))
    return Sites(positions, _normalize(np.arange(1.0, _HOT_SPOTS + 1) ** -_HOT_SPOT_EXPONENT))


def _normalize(values: FloatArray) -> FloatArray:
    shares: FloatArray = values / values.sum()
    return shares
