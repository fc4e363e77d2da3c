"""The spots of a release: ground under the outlines of its areas, or the zones that these are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._errors import InputError
from flowveil._reading.ground import holding_cells, holding_shapes, lay_ground
from flowveil._reading.shares import outlined

if TYPE_CHECKING:
    import numpy.typing as npt
    from scipy import sparse

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places import ZoneTable
    from flowveil._reading.ground import Holding
    from flowveil._reading.told import Told

_MOST = 150_000  # squares: what memory and time grow with
_POINTS = 4  # along each side of a spot that the outline of a zone runs through
_FEWER = 10_000  # where there are as many areas as there are boxes with noise
KILOMETERS = 111.195  # of a degree of latitude


@dataclass(frozen=True, eq=False)
class Spots:
    """Small places with a size, and which of them each area holds, by end."""

    lon: FloatArray  # NaN where not known
    lat: FloatArray
    wide: FloatArray  # degrees; 0 for a point
    high: FloatArray
    size: FloatArray
    area: tuple[IntArray, IntArray]  # (area, spot) pairs, by end
    spot: tuple[IntArray, IntArray]
    zones: list[str] | None  # ids of zones, where spots are zones
    holding: Holding | None  # tells which areas hold points; None where spots are zones

    def __len__(self) -> int:
        return len(self.size)

    def plane(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates in kilometers; spots without a place are put together at one."""
        lon, lat = np.nan_to_num(self.lon), np.nan_to_num(self.lat)
        middle = float(np.average(lat, weights=self.size)) if len(lat) else 0.0
        return lon * KILOMETERS * np.cos(np.radians(middle)), lat * KILOMETERS

    def alike(self) -> IntArray:
        """Return numbers from 0 up, the same for spots that lie in the same areas at both ends."""
        signature = np.zeros(len(self), np.int64)
        hashes = np.random.default_rng(0)
        for area, spot in zip(self.area, self.spot, strict=True):
            np.bitwise_xor.at(signature, spot, hashes.integers(0, 1 << 62, int(area.max(initial=0)) + 1)[area])
        return np.asarray(np.unique(signature, return_inverse=True)[1], np.int64)

    def shares(self, zones: ZoneTable) -> sparse.csr_array:
        """Return spots by zones: the share of each spot in each zone, by outlines, or by ids where spots are zones."""
        from scipy import sparse  # noqa: PLC0415  slow to import

        count = len(zones.ids)
        if self.zones is not None:
            number = {zone: place for place, zone in enumerate(zones.ids)}
            row = [at for at, zone in enumerate(self.zones) if zone in number]
            column = [number[self.zones[at]] for at in row]
            return sparse.csr_array((np.ones(len(row)), (row, column)), shape=(len(self), count))
        own, zone, share = self._inside(zones)
        return sparse.csr_array((share, (own, zone)), shape=(len(self), count))

    def _inside(self, zones: ZoneTable) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (spot, zone, share): a spot lies in the zone that holds its middle, or in several by points inside it.

        Of these points those count that lie in the same areas as the middle: where zones end with areas, nothing of one
        area falls into the zone of another.
        """
        placed = np.flatnonzero(outlined(zones))
        shapes = np.asarray(shapely.make_valid(zones.geometry[placed]), object)
        lines = shapely.STRtree(shapely.boundary(shapes))
        cut = np.unique(lines.query(self.shapes(), predicate="intersects")[0])
        cut = cut[self.wide[cut] > 0]
        whole = np.setdiff1d(np.arange(len(self)), cut)
        spot, zone = _points_in(shapes, self.lon[whole], self.lat[whole])
        steps = (np.arange(_POINTS) + 0.5) / _POINTS - 0.5
        east, north = (axis.ravel() for axis in np.meshgrid(steps, steps))
        lon = (self.lon[cut, None] + self.wide[cut, None] * east).ravel()
        lat = (self.lat[cut, None] + self.high[cut, None] * north).ravel()
        of = np.repeat(np.arange(len(cut)), len(east))
        alike = self._signatures(lon, lat) == self._signatures(self.lon[cut], self.lat[cut])[of]
        alike |= (np.bincount(of, weights=alike, minlength=len(cut)) == 0)[of]
        point, part = _points_in(shapes, lon, lat)
        counts = np.bincount(of, weights=alike, minlength=len(cut))
        kept = alike[point]
        key, number = np.unique(of[point[kept]] * len(zones.ids) + placed[part[kept]], return_counts=True)
        at = key // len(zones.ids)
        return (
            np.append(whole[spot], cut[at]),
            np.append(placed[zone], key % len(zones.ids)),
            np.append(np.ones(len(spot)), number / counts[at]),
        )

    def _signatures(self, lon: FloatArray, lat: FloatArray) -> IntArray:
        """Return for each point a number that tells by which areas it is held."""
        if self.holding is None or not len(lon):
            return np.zeros(len(lon), np.int64)
        area, point = self.holding(lon, lat)
        hashes = np.random.default_rng(0).integers(0, 1 << 62, int(area.max(initial=0)) + 1)
        signature = np.zeros(len(lon), np.int64)
        np.bitwise_xor.at(signature, point, hashes[area])
        return signature

    def shapes(self) -> npt.NDArray[np.object_]:
        """Return the squares, points where they have no size."""
        low = self.lon - self.wide / 2, self.lat - self.high / 2
        boxes = np.asarray(shapely.box(*low, self.lon + self.wide / 2, self.lat + self.high / 2), object)
        points = np.asarray(shapely.points(self.lon, self.lat), object)
        return np.where(self.wide > 0, boxes, points)


def _points_in(shapes: npt.NDArray[np.object_], lon: FloatArray, lat: FloatArray) -> tuple[IntArray, IntArray]:
    """Return (point, shape): which shapes hold which points."""
    points = np.asarray(shapely.points(lon, lat), object)
    shape, point = shapely.STRtree(points).query(shapes, predicate="intersects")
    return point.astype(np.int64), shape.astype(np.int64)


def find_spots(told: Told, *, by_ids: bool, coarse: bool = False) -> Spots:
    """Return the spots of a release; raise InputError if it tells nothing of where its areas are.

    by_ids: zones that are asked about have no outlines, so that only ids tell where they are. coarse: areas are many.
    """
    outlined = any(shape is not None for end in told.ends for shape in end.shapes)
    made_of_zones = any(zones is not None for end in told.ends for zones in end.members)
    if outlined and not (by_ids and made_of_zones):
        return _on_the_ground(told, _FEWER if coarse else _MOST)
    if made_of_zones:
        return _in_zones(told)
    raise InputError("the areas of this release have neither outlines nor zones", "nothing can be placed")


def _on_the_ground(told: Told, most: int) -> Spots:
    """Return squares under the outlines of all areas, inside the bbox if there is one."""
    number: dict[bytes, int] = {}
    names: list[str] = []
    shapes: list[object] = []
    of_end = []
    for end in told.ends:
        own = np.full(len(end.ids), -1, np.int64)
        for row, shape in enumerate(end.shapes):
            if shape is not None:
                key = shapely.to_wkb(shape)
                if key not in number:
                    number[key] = len(names)
                    names.append(end.ids[row])
                    shapes.append(shape)
                own[row] = number[key]
        of_end.append(own)
    every = np.array(shapes, object)
    holding = _holding(told, names, every)
    ground = lay_ground(every, holding, most)
    pairs = [_of_areas(own, ground.shape, ground.spot, len(names), len(ground.lon)) for own in of_end]
    (first, one), (second, two) = pairs
    squares = (ground.lon, ground.lat, ground.wide, ground.high, ground.size)
    return Spots(*squares, area=(first, second), spot=(one, two), zones=None, holding=holding)


def _holding(told: Told, names: list[str], shapes: npt.NDArray[np.object_]) -> Holding:
    """Return what tells which areas hold points: by cells on H3 grids, else by outlines."""
    grid = str(told.manifest["options"].get("grid") or "")
    if grid.startswith("h3:") and "shapes" not in told.manifest["promise"]:
        return holding_cells(names, int(grid.partition(":")[2]))
    return holding_shapes(shapes)


def _of_areas(own: IntArray, shape: IntArray, spot: IntArray, shapes: int, spots: int) -> tuple[IntArray, IntArray]:
    """Return (area, spot) pairs of one end, given which shape each area has; the top has all spots."""
    order = np.argsort(shape, kind="stable")
    first = np.searchsorted(shape[order], np.arange(shapes + 1))
    areas, parts = [], []
    for area, number in enumerate(own.tolist()):
        inside = np.arange(spots) if number < 0 else spot[order[first[number] : first[number + 1]]]
        areas.append(np.full(len(inside), area, np.int64))
        parts.append(inside)
    return np.concatenate(areas), np.concatenate(parts)


def _in_zones(told: Told) -> Spots:
    """Return one spot for each zone of an area; it lies where the smallest area around it has its center."""
    zones = sorted({zone for end in told.ends for names in end.members for zone in names or []})
    number = {zone: place for place, zone in enumerate(zones)}
    lon, lat = np.full(len(zones), np.nan), np.full(len(zones), np.nan)
    fewest = np.full(len(zones), np.inf)
    pairs = []
    for end in told.ends:
        areas, spots = [], []
        for row, names in enumerate(end.members):
            inside = np.arange(len(zones)) if names is None else np.array([number[zone] for zone in names], np.int64)
            areas.append(np.full(len(inside), row, np.int64))
            spots.append(inside)
            if names is not None and np.isfinite(end.lon[row]):
                nearer = inside[fewest[inside] > len(inside)]
                lon[nearer], lat[nearer], fewest[nearer] = end.lon[row], end.lat[row], len(inside)
        pairs.append((np.concatenate(areas), np.concatenate(spots)))
    (first, one), (second, two) = pairs
    nothing = np.zeros(len(zones))
    return Spots(lon, lat, nothing, nothing, np.ones(len(zones)), (first, second), (one, two), zones, None)
