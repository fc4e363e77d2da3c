"""The grid of cells and minutes on which trajectories are compared, in whole numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import asin, cos, degrees, gcd, radians
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._options import parse_bbox, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowveil._arrays import FloatArray, IntArray

SPACE_LIMIT = 20_000  # meters: beyond, a place says nothing any more (paper, note 1)
TIME_LIMIT = 480  # minutes: beyond, a time says nothing any more
DEFAULT_STEP = "100m,1min"
DEFAULT_CAPS = "20km,8h"
DEFAULT_WEIGHTS = "1,1"
MICROSECONDS_PER_MINUTE = 60_000_000

_RADIUS = 6_371_007.181  # meters: the sphere with the area of the Earth
# Near the poles a cylinder has no useful shape left.
_STEEPEST_PARALLEL = 80
_STEP = re.compile(r"\s*(\d{1,9})\s*(m|km)\s*,\s*(\d{1,9})\s*(min|h|d)\s*")
_STEP_HINT = "write it like --step 100m,1min; steps divide the caps, 20 km and 8 h, without rest"
_CAPS_HINT = "write them like --caps 20km,8h: where a place and a time say nothing any more"
_LARGEST_CAP = 10**7  # meters or minutes: sums stay within 64 bits
_LARGEST_WEIGHT = 100


@dataclass(frozen=True)
class Grid:
    """Lambert's cylindrical equal-area projection, cut into squares, and time cut into steps.

    Nothing in it depends on data: the standard parallel is the whole degree nearest to the middle of a public box,
    the origin is where the equator meets Greenwich in 1970. Squares are therefore boxes of longitude and latitude.

    >>> grid = fv.trajectories.make_grid(fv.synthetic.PHONES_BBOX, "1km,30min")
    >>> grid.parallel, grid.space_limit, grid.time_limit
    (50, 20, 16)
    """

    bbox: tuple[float, float, float, float]
    meters: int = 100
    minutes: int = 1
    caps: tuple[int, int] = (SPACE_LIMIT, TIME_LIMIT)  # meters and minutes
    weights: tuple[int, int] = (1, 1)  # how much space and time weigh in Eq. 1, against each other

    @property
    def parallel(self) -> int:
        """The standard parallel, in degrees."""
        middle = round((self.bbox[1] + self.bbox[3]) / 2)
        return max(-_STEEPEST_PARALLEL, min(_STEEPEST_PARALLEL, middle))

    @property
    def space_limit(self) -> int:
        """The cap of Eq. 2, in cells."""
        return self.caps[0] // self.meters

    @property
    def time_limit(self) -> int:
        """The cap of Eq. 3, in steps of time."""
        return self.caps[1] // self.minutes

    def cells(self, lon: FloatArray, lat: FloatArray) -> tuple[IntArray, IntArray]:
        """Return column and row of the cell of each point, in degrees.

        lon, lat: in degrees.

        >>> import numpy as np
        >>> grid = fv.trajectories.make_grid(fv.synthetic.PHONES_BBOX, "1km,30min")
        >>> column, row = grid.cells(np.array([4.5]), np.array([50.3]))
        >>> column.tolist(), row.tolist()
        ([321], [7625])
        """
        narrow = cos(radians(self.parallel))
        x = np.radians(lon) * (_RADIUS * narrow / self.meters)
        y = np.sin(np.radians(lat)) * (_RADIUS / narrow / self.meters)
        return np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)

    def steps(self, time: IntArray) -> IntArray:
        """Return the step of time of each moment, in microseconds since 1970.

        >>> import numpy as np
        >>> grid = fv.trajectories.make_grid(fv.synthetic.PHONES_BBOX, "1km,30min")
        >>> grid.steps(np.array([0, 3_600_000_000])).tolist()
        [0, 2]
        """
        return np.floor_divide(time, self.minutes * MICROSECONDS_PER_MINUTE)

    def longitudes(self, column: IntArray) -> FloatArray:
        """Return the western edge of columns in degrees, at most 180 either way.

        column: as `cells` counts them.

        >>> import numpy as np
        >>> grid = fv.trajectories.make_grid(fv.synthetic.PHONES_BBOX, "1km,30min")
        >>> grid.longitudes(np.array([318, 319])).round(3).tolist()
        [4.449, 4.463]
        """
        narrow = cos(radians(self.parallel))
        edges: FloatArray = np.array([degrees(int(i) * self.meters / (_RADIUS * narrow)) for i in column], np.float64)
        return np.clip(edges, -180.0, 180.0)

    def latitudes(self, row: IntArray) -> FloatArray:
        """Return the southern edge of rows in degrees.

        row: as `cells` counts them.

        >>> import numpy as np
        >>> grid = fv.trajectories.make_grid(fv.synthetic.PHONES_BBOX, "1km,30min")
        >>> grid.latitudes(np.array([7687, 7688])).round(3).tolist()
        [50.856, 50.865]
        """
        narrow = cos(radians(self.parallel))
        sines = np.clip(np.asarray(row, np.float64) * (self.meters * narrow / _RADIUS), -1.0, 1.0)
        # The sine of libm, not of NumPy: NumPy's may differ between machines in the last bit.
        edges: FloatArray = np.array([degrees(asin(value)) for value in sines.tolist()], np.float64)
        return edges

    def settings(self) -> dict[str, object]:
        """Return what the manifest says of the grid.

        >>> grid = fv.trajectories.make_grid(fv.synthetic.PHONES_BBOX, "1km,30min")
        >>> grid.settings()["step"]
        '1000m,30min'
        """
        settings: dict[str, object] = {
            "projection": "Lambert cylindrical equal-area",
            "parallel": self.parallel,
            "step": f"{self.meters}m,{self.minutes}min",
            "bbox": list(self.bbox),
        }
        if self.caps != (SPACE_LIMIT, TIME_LIMIT):
            settings["caps"] = f"{self.caps[0]}m,{self.caps[1]}min"
        if self.weights[0] != self.weights[1]:
            settings["weights"] = f"{self.weights[0]},{self.weights[1]}"
        return settings


def make_grid(
    bbox: str | Iterable[float] | None,
    step: str = DEFAULT_STEP,
    caps: str = DEFAULT_CAPS,
    weights: str = DEFAULT_WEIGHTS,
) -> Grid:
    """Return the grid for a public bounding box (west, south, east, north) and a step like 100m,1min.

    bbox: in degrees. step: edge of a cell in m or km, and minutes or hours. caps: the stretch in space and in time at
    which a sample says nothing any more (phi max of Eq. 2 and 3). weights: of space and time in Eq. 1.

    >>> fv.trajectories.make_grid((4.40, 50.26, 4.82, 50.53), "100m,1min").meters
    100
    """
    if bbox is None:
        raise InputError(
            "the grid of trajectories needs a bounding box that is public",
            "give --bbox W,S,E,N of the city or country, never the extent of the data",
        )
    box = parse_bbox(bbox)
    meters, minutes = _parse_pair(step, "step", _STEP_HINT)
    most = _parse_pair(caps, "pair of caps", _CAPS_HINT)
    if most[0] % meters or most[1] % minutes:
        raise InputError(f"the step {step!r} does not divide {_said(most)}", _STEP_HINT)
    return Grid(box, meters, minutes, most, parse_weights(weights))


def parse_weights(value: object) -> tuple[int, int]:
    """Return how much space and time weigh against each other, as small whole numbers."""
    match = re.fullmatch(r"\s*(\d{1,3})\s*,\s*(\d{1,3})\s*", value) if isinstance(value, str) else None
    found = (int(match[1]), int(match[2])) if match else (0, 0)
    if sum(found) == 0 or max(found) > _LARGEST_WEIGHT:
        raise InputError(
            f"the weights {shown(value)} cannot be read",
            f"write whole numbers up to {_LARGEST_WEIGHT} for space and time, e.g. --weights 1,1 or --weights 7,3",
        )
    common = gcd(*found)
    return found[0] // common, found[1] // common


def _parse_pair(value: object, kind: str, hint: str) -> tuple[int, int]:
    """Return meters and minutes of a pair like 100m,1min."""
    match = _STEP.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InputError(f"the {kind} {shown(value)} cannot be read", hint)
    meters = int(match[1]) * (1000 if match[2] == "km" else 1)
    minutes = int(match[3]) * {"min": 1, "h": 60, "d": 1440}[match[4]]
    if not (0 < meters <= _LARGEST_CAP and 0 < minutes <= _LARGEST_CAP):
        raise InputError(f"the {kind} {value!r} has a length or time that cannot be used", hint)
    return meters, minutes


def _said(caps: tuple[int, int]) -> str:
    return f"{caps[0] / 1000:g} km and {caps[1] / 60:g} h"
