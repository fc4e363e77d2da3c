"""The grid of cells and minutes on which trajectories are compared, in whole numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import asin, cos, degrees, radians
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
MICROSECONDS_PER_MINUTE = 60_000_000

_RADIUS = 6_371_007.181  # meters: the sphere with the area of the Earth
# Near the poles a cylinder has no useful shape left.
_STEEPEST_PARALLEL = 80
_STEP = re.compile(r"\s*(\d{1,9})\s*(m|km)\s*,\s*(\d{1,9})\s*(min|h)\s*")
_STEP_HINT = "write it like --step 100m,1min; steps divide 20 km and 8 h without rest"


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

    @property
    def parallel(self) -> int:
        """The standard parallel, in degrees."""
        middle = round((self.bbox[1] + self.bbox[3]) / 2)
        return max(-_STEEPEST_PARALLEL, min(_STEEPEST_PARALLEL, middle))

    @property
    def space_limit(self) -> int:
        """The cap of Eq. 2, in cells."""
        return SPACE_LIMIT // self.meters

    @property
    def time_limit(self) -> int:
        """The cap of Eq. 3, in steps of time."""
        return TIME_LIMIT // self.minutes

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
        return {
            "projection": "Lambert cylindrical equal-area",
            "parallel": self.parallel,
            "step": f"{self.meters}m,{self.minutes}min",
            "bbox": list(self.bbox),
        }


def make_grid(bbox: str | Iterable[float] | None, step: str = DEFAULT_STEP) -> Grid:
    """Return the grid for a public bounding box (west, south, east, north) and a step like 100m,1min.

    bbox: in degrees. step: edge of a cell in m or km, and minutes or hours.

    >>> fv.trajectories.make_grid((4.40, 50.26, 4.82, 50.53), "100m,1min").meters
    100
    """
    if bbox is None:
        raise InputError(
            "the grid of trajectories needs a bounding box that is public",
            "give --bbox W,S,E,N of the city or country, never the extent of the data",
        )
    box = parse_bbox(bbox)
    match = _STEP.fullmatch(step) if isinstance(step, str) else None
    if match is None:
        raise InputError(f"the step {shown(step)} cannot be read", _STEP_HINT)
    meters = int(match[1]) * (1000 if match[2] == "km" else 1)
    minutes = int(match[3]) * (60 if match[4] == "h" else 1)
    if not meters or not minutes or SPACE_LIMIT % meters or TIME_LIMIT % minutes:
        raise InputError(f"the step {step!r} does not divide 20 km and 8 h", _STEP_HINT)
    return Grid(box, meters, minutes)
