"""What a map of a report shows: areas, and movements between them, whatever kind of release they come from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import square_kilometers
from flowveil._report.outlines import draw, draw_rings
from flowveil._report.shores import WORLD_GROUND, Ground

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._folder import Json

MOST_MOVEMENTS = 40_000  # listed in a page, the strongest first: more would not fit into three megabytes
NOWHERE = -1  # the other end of a movement that has only one
_HIGHEST_LATITUDE = 85.0  # where Web Mercator ends
_TAIL = 0.01  # share of the movements at each edge that the first view may cut off


@dataclass(frozen=True, eq=False)
class Key:
    """A column that divides a release into matrices: an hour, a group."""

    name: str
    values: list[str]  # in order
    position: IntArray  # by movement: which value
    total: int = -1  # the value that stands for all others together, if there is one


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
        )

    def strongest(self) -> IntArray:
        """Return the movements that a page lists, in their own order."""
        order = np.argsort(-self.volume, kind="stable")[:MOST_MOVEMENTS]
        return np.sort(order)

    def as_json(self) -> dict[str, Json]:
        """Return what the page draws from."""
        shown = self.strongest()
        ends = np.concatenate([self.origin[shown], self.destination[shown]])
        used = np.unique(ends[ends != NOWHERE])
        place = np.full(len(self.names) + 1, NOWHERE, np.int64)  # the last entry stands for NOWHERE
        place[used] = np.arange(len(used))
        whole, view = self._extent(used), self._view()
        step, outlines, number = draw(self.shapes[used], max(view[2] - view[0], view[3] - view[1]))
        tiles = None if self.tiles is None else [None if count < 0 else count for count in self.tiles[used].tolist()]
        return {
            "sides": list(self.sides),
            "view": view,
            "step": step,
            "land": draw_rings(self.ground.around(_wide(whole, view), view), step),
            "context": self._context(whole, view, step),
            "outlines": outlines,
            "areas": {
                "id": [self.names[area] for area in used.tolist()],
                "side": self.side[used].tolist(),
                "lon": _plain(self.lon[used], 6),
                "lat": _plain(self.lat[used], 6),
                "tiles": tiles,
                "km2": [significant(size) for size in self.sizes[used].tolist()],
                "outline": number,
            },
            "movements": len(self.origin),
            "origin": place[self.origin[shown]].tolist(),
            "destination": place[self.destination[shown]].tolist(),
            "amounts": {name: values[shown].tolist() for name, values in self.amounts.items()},
            "keys": [
                {"name": key.name, "values": key.values, "position": key.position[shown].tolist(), "total": key.total}
                for key in self.keys
            ],
            "remainder": None if self.remainder is None else self.remainder[shown].tolist(),
        }

    def _context(self, whole: list[float], view: list[float], step: float) -> list[dict[str, Json]]:
        context = self.ground.context
        return [] if context is None else context.around(_wide(whole, view), view, step)

    def _extent(self, used: IntArray) -> list[float]:
        """Return the bounds of all areas that can be drawn; the whole world if there are none."""
        seen = [shape.bounds for shape in self.shapes[used] if shape is not None]
        known = used[np.isfinite(self.lon[used])]
        seen += [(lon, lat, lon, lat) for lon, lat in zip(self.lon[known], self.lat[known], strict=True)]
        if not seen:
            return [-180.0, -60.0, 180.0, 75.0]
        bounds = np.array(seen)
        low, high = bounds[:, :2].min(axis=0), bounds[:, 2:].max(axis=0)
        return _widened([*low.tolist(), *high.tolist()], 0.02)

    def _view(self) -> list[float]:
        """Return a box that holds nearly all movements: one far-away area must not make the map a dot."""
        amount = np.maximum(self.volume, 0).astype(np.float64)
        weight = np.zeros(len(self.names))
        np.add.at(weight, self.origin, amount)
        reached = self.destination != NOWHERE
        np.add.at(weight, self.destination[reached], amount[reached])
        good = np.isfinite(self.lon) & (weight > 0)
        if not good.any():
            return self._extent(np.arange(len(self.names)))
        west, east = _range(self.lon, weight, good)
        south, north = _range(self.lat, weight, good)
        return _widened([west, south, east, north], 0.15)


def significant(value: float | None, digits: int = 4) -> float | None:
    """Return a number with a few digits, None where there is none: so it does not depend on a library's last bit."""
    if value is None or not np.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _plain(values: FloatArray, digits: int) -> list[float | None]:
    return [None if np.isnan(value) else round(value, digits) for value in values.tolist()]


def _range(values: FloatArray, weight: FloatArray, good: BoolArray) -> tuple[float, float]:
    order = np.argsort(values[good], kind="stable")
    ordered, below = values[good][order], np.cumsum(weight[good][order])
    tails = np.searchsorted(below, [_TAIL * below[-1], (1 - _TAIL) * below[-1]])
    return float(ordered[tails[0]]), float(ordered[tails[1]])


def _widened(box: list[float], share: float) -> list[float]:
    west, south, east, north = box
    margin = max(share * max(east - west, north - south), 0.005)  # half a kilometer around a single place
    return [
        round(max(west - margin, -180.0), 5),
        round(max(south - margin, -_HIGHEST_LATITUDE), 5),
        round(min(east + margin, 180.0), 5),
        round(min(north + margin, _HIGHEST_LATITUDE), 5),
    ]


def _wide(whole: list[float], view: list[float]) -> list[float]:
    """Return a box around what can be seen."""
    far = [max(whole[2], view[2]), max(whole[3], view[3])]
    return _widened(_widened([min(whole[0], view[0]), min(whole[1], view[1]), *far], 0.5), 0.5)
