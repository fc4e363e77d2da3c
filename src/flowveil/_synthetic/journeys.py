"""Trips: who goes from which of their places to which, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._synthetic.persons import FAVORITES, HOME, WORK, Persons
from flowveil._synthetic.plane import Positions, keep_inside, scatter, scatter_radially
from flowveil._synthetic.streams import Stream, open_stream

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray

# Trips drawn at a time: arrays of this length stay in the processor's cache, and a small city costs milliseconds.
BLOCK = 1 << 14

DAYS = 14
_WEEKDAYS = (0, 1, 2, 3, 4, 7, 8, 9, 10, 11)  # the first day is a Monday
_SECONDS_A_DAY = 86_400
_SECONDS_AN_HOUR = 3_600

# Numbers up to 1 are raised to this power to pick a person: the busiest tenth makes a fifth of the trips.
_BUSYNESS = 1.4
# Standard deviation of a position, in meters: parking, stops and the receiver.
_POINT_NOISE = 20.0
# Visits end at a new place each time; their mean distance from home, in meters.
_VISIT_REACH = 2_500.0

# Door-to-door speed in meters a second along the straight line, its spread (of the logarithm), and time to get going.
_SPEED = 6.0
_SPEED_SPREAD = 0.3
_SECONDS_TO_LEAVE = 180

# Decisions are looked up by a random byte, which is several times faster than a search in cumulated shares.
_BYTES = 256

# Marks an end that is one of the three favorite places of a person.
_FAVORITE = -1


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of trip: its two anchors, its share for those who work and those who do not, its time of day."""

    start: int
    end: int
    share_working: float
    share_other: float
    hour: float
    hour_spread: float


_KINDS = (
    _Kind(HOME, WORK, 0.28, 0.00, hour=8.0, hour_spread=0.9),
    _Kind(WORK, HOME, 0.26, 0.00, hour=17.3, hour_spread=1.2),
    _Kind(HOME, _FAVORITE, 0.15, 0.40, hour=13.5, hour_spread=3.0),
    _Kind(_FAVORITE, HOME, 0.17, 0.40, hour=17.5, hour_spread=3.0),
    _Kind(WORK, _FAVORITE, 0.04, 0.00, hour=17.0, hour_spread=1.5),
    # Visits, to somewhere around home and back.
    _Kind(HOME, HOME, 0.05, 0.10, hour=16.0, hour_spread=3.0),
    _Kind(HOME, HOME, 0.05, 0.10, hour=20.0, hour_spread=2.0),
)
_VISIT_OUT, _VISIT_BACK = 5, 6

_STARTS = np.array([kind.start for kind in _KINDS])
_ENDS = np.array([kind.end for kind in _KINDS])
_HOURS = np.array([kind.hour for kind in _KINDS])
_HOUR_SPREADS = np.array([kind.hour_spread for kind in _KINDS])
_TOUCHES_WORK = np.array([WORK in (kind.start, kind.end) for kind in _KINDS]).astype(np.int64)


def _lookup(shares: list[float]) -> IntArray:
    """Return for every byte the option it stands for, each option in proportion to its share."""
    edges = np.cumsum(shares)[:-1] * _BYTES
    return np.searchsorted(edges, np.arange(_BYTES) + 0.5).astype(np.int64)


_KIND_LOOKUP = np.stack(
    [_lookup([kind.share_other for kind in _KINDS]), _lookup([kind.share_working for kind in _KINDS])]
)
_FAVORITE_LOOKUP = np.array(FAVORITES)[_lookup([0.5, 0.3, 0.2])]
_DAY_LOOKUP = np.stack(
    [
        _lookup([1 / DAYS] * DAYS),
        np.array(_WEEKDAYS)[_lookup([1 / len(_WEEKDAYS)] * len(_WEEKDAYS))],
    ]
)


@dataclass(frozen=True, slots=True)
class Journeys:
    """One row a trip: the row of the person, both ends, seconds since the first midnight."""

    person: IntArray
    start: Positions
    end: Positions
    start_second: IntArray
    end_second: IntArray


def draw_journeys(seed: int, persons: Persons, block: int) -> Journeys:
    """Return the trips of one block (all blocks have the same length)."""
    random = open_stream(seed, Stream.TRIPS, block)
    count = len(persons.works)
    # A random number just below 1 can round up to 1 in the product.
    person = np.minimum((count * random.random(BLOCK) ** _BUSYNESS).astype(np.int64), count - 1)
    kind_byte, favorite_byte, day_byte = random.integers(_BYTES, size=(3, BLOCK), dtype=np.uint8)
    kind = _KIND_LOOKUP[persons.works[person].astype(np.int64), kind_byte]
    favorite = _FAVORITE_LOOKUP[favorite_byte]

    start_anchor, end_anchor = (
        np.where(anchor == _FAVORITE, favorite, anchor) for anchor in (_STARTS[kind], _ENDS[kind])
    )
    start = _locate(random, persons.anchors[person, start_anchor], visit=kind == _VISIT_BACK)
    end = _locate(random, persons.anchors[person, end_anchor], visit=kind == _VISIT_OUT)

    hour = (_HOURS[kind] + _HOUR_SPREADS[kind] * random.standard_normal(BLOCK)) % 24
    second = np.minimum((hour * _SECONDS_AN_HOUR).astype(np.int64), _SECONDS_A_DAY - 1)
    start_second = _DAY_LOOKUP[_TOUCHES_WORK[kind], day_byte] * _SECONDS_A_DAY + second
    speed = _SPEED * np.exp(_SPEED_SPREAD * random.standard_normal(BLOCK))
    duration = _SECONDS_TO_LEAVE + (np.abs(end - start) / speed).astype(np.int64)
    return Journeys(person, start, end, start_second, start_second + duration)


def _locate(random: np.random.Generator, anchors: Positions, *, visit: BoolArray) -> Positions:
    """Return the positions of one end of trips: anchors with noise, visits somewhere around the anchor."""
    positions = anchors + scatter(random, len(anchors), _POINT_NOISE)
    positions[visit] += scatter_radially(random, int(visit.sum()), _VISIT_REACH)
    return keep_inside(positions)
