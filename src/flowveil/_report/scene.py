"""What a map of a report shows: areas, and movements between them, whatever kind of release they come from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._places import square_kilometers
from flowveil._report.shores import WORLD_GROUND, Ground

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray

NOWHERE = -1  # the other end of a movement that has only one
_HIGHEST_LATITUDE = 85.0  # where Web Mercator ends
_TAIL = 0.01  # share of the movements at each edge that the first view may cut off


class Steps(NamedTuple):
    """Steps of time of one length, which the longer ones of a key are spread over evenly."""

    labels: list[str]
    hours: list[int | None]
    first: IntArray  # by value of the key: the first step of it
    last: IntArray  # the first one after it


@dataclass(frozen=True, eq=False)
class Key:
    """A column that divides a release into matrices: an hour, a group."""

    name: str
    values: list[str]  # in order
    position: IntArray  # by movement: which value
    total: int = -1  # the value that stands for all others together, if there is one
    time: bool = False  # whether the values are steps of time
    hours: list[int | None] | None = None  # by value: its hour of the day
    steps: Steps | None = None  # where values differ in length


class Spans(NamedTuple):
    """Whose samples movements are, and when these begin and end: microseconds since 1970."""

    group: IntArray
    start: IntArray
    end: IntArray


class Spread(NamedTuple):
    """What is added to and taken from movements when all are spread evenly over the whole of their areas.

    A movement from which finer ones were taken out lies on the rest of its areas only.
    """

    of: IntArray  # a movement: when it is, is when this is
    origin: IntArray  # an area
    destination: IntArray
    amount: FloatArray


@dataclass(frozen=True, eq=False)
class Scene:
    """Areas and movements between them; arrays of the same length, one entry an area or a movement."""

    sides: tuple[str, ...]  # names of the ends, e.g. origin and destination
    names: list[str]
    side: IntArray  # by area: which of the sides
    lon: FloatArray  # NaN where an area has no center
    lat: FloatArray
    tiles: IntArray | None  # -1 where unknown
    shapes: npt.NDArray[np.object_]  # None where an area has no outline
    origin: IntArray  # by movement: an area
    destination: IntArray  # an area, or NOWHERE
    amounts: dict[str, IntArray]  # by movement; the first is the one that is drawn
    keys: tuple[Key, ...] = ()
    remainder: BoolArray | None = None  # by movement: finer ones inside it were taken out; None where there are none
    spread: Spread | None = None  # where there are remainders
    labels: list[str] | None = None  # what people call the areas, where that is not the same as their names
    deviation: FloatArray | None = None  # by movement: standard deviation of its noise; None where there is none
    spans: Spans | None = None  # by movement: when, of samples of trajectories
    ground: Ground = WORLD_GROUND  # what it is drawn on
    sizes: FloatArray = field(init=False)  # km2, NaN where an area has no outline

    def __post_init__(self) -> None:
        sizes = square_kilometers(self.shapes)
        object.__setattr__(self, "sizes", sizes)

    @property
    def volume(self) -> IntArray:
        """The amount that is drawn."""
        return next(iter(self.amounts.values()))

    def without_totals(self) -> Scene:
        """Return the scene with movements that add up: without those that count others again."""
        adds = np.ones(len(self.origin), bool)
        for key in self.keys:
            adds &= key.position != key.total
        if adds.all():
            return self
        return replace(
            self,
            origin=self.origin[adds],
            destination=self.destination[adds],
            amounts={name: values[adds] for name, values in self.amounts.items()},
            keys=tuple(replace(key, position=key.position[adds]) for key in self.keys),
            remainder=None if self.remainder is None else self.remainder[adds],
            deviation=None if self.deviation is None else self.deviation[adds],
        )

    @property
    def matrices(self) -> tuple[IntArray, IntArray]:
        """The values of all keys of each matrix, one row a matrix, and by movement the number of its matrix."""
        if not self.keys:
            return np.zeros((1, 0), np.int64), np.zeros(len(self.origin), np.int64)
        positions = np.column_stack([key.position for key in self.keys])
        distinct, number = np.unique(positions, axis=0, return_inverse=True)
        return distinct, number.ravel()

    def extent(self) -> list[float]:
        """Return the bounds of all areas that can be drawn; the whole world if there are none."""
        seen = [shape.bounds for shape in self.shapes if shape is not None]
        known = np.flatnonzero(np.isfinite(self.lon))
        seen += [(lon, lat, lon, lat) for lon, lat in zip(self.lon[known], self.lat[known], strict=True)]
        if not seen:
            return [-180.0, -60.0, 180.0, 75.0]
        bounds = np.array(seen)
        low, high = bounds[:, :2].min(axis=0), bounds[:, 2:].max(axis=0)
        return widened([*low.tolist(), *high.tolist()], 0.02)

    def view(self) -> list[float]:
        """Return a box that holds nearly all movements: one far-away area must not make the map a dot."""
        amount = np.maximum(self.volume, 0).astype(np.float64)
        weight = np.zeros(len(self.names))
        np.add.at(weight, self.origin, amount)
        reached = self.destination != NOWHERE
        np.add.at(weight, self.destination[reached], amount[reached])
        good = np.isfinite(self.lon) & (weight > 0)
        if not good.any():
            return self.extent()
        west, east = _range(self.lon, weight, good)
        south, north = _range(self.lat, weight, good)
        return widened([west, south, east, north], 0.15)


def significant(value: float | None, digits: int = 4) -> float | None:
    """Return a number with a few digits, None where there is none: so it does not depend on a library's last bit."""
    if value is None or not np.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _range(values: FloatArray, weight: FloatArray, good: BoolArray) -> tuple[float, float]:
    order = np.argsort(values[good], kind="stable")
    ordered, below = values[good][order], np.cumsum(weight[good][order])
    tails = np.searchsorted(below, [_TAIL * below[-1], (1 - _TAIL) * below[-1]])
    return float(ordered[tails[0]]), float(ordered[tails[1]])


def widened(box: list[float], share: float) -> list[float]:
    west, south, east, north = box
    margin = max(share * max(east - west, north - south), 0.005)  # half a kilometer around a single place
    return [
        round(max(west - margin, -180.0), 5),
        round(max(south - margin, -_HIGHEST_LATITUDE), 5),
        round(min(east + margin, 180.0), 5),
        round(min(north + margin, _HIGHEST_LATITUDE), 5),
    ]
