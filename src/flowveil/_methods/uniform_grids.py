"""All pairs of uniform cuts, one of each axis: a lattice.

Every publishable pair of nodes adds its trips and loss to the rectangle of lattice points that have both nodes, so that
one pass measures all points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._methods.uniform import uniform_cuts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from flowveil._methods.grids import Areas
    from flowveil._problem import Axis, Cube


class UniformGrids:
    """The grids of uniform cuts of a cube, numbered row by row of the origins' cuts."""

    def __init__(self, cube: Cube, axes: Sequence[Axis]) -> None:
        self.cuts = [uniform_cuts(axis.hierarchy) for axis in axes]
        self._available = np.isfinite(cube.loss)
        self._node = cube.node[:, self._available]
        self.kept = self.add_up(cube.trips)
        self.suppressed = cube.total - self.kept

    def add_up(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:  # Any: numbers of whatever type
        """Return by grid the sum of values over its published cells."""
        values = values[self._available]
        corners = np.zeros((self.cuts[0].count + 1, self.cuts[1].count + 1), values.dtype)
        ends = ((cut.first[row], cut.last[row] + 1) for cut, row in zip(self.cuts, self._node, strict=True))
        (low, high), (left, right) = ends
        for rows, columns, sign in ((low, left, 1), (high, left, -1), (low, right, -1), (high, right, 1)):
            np.add.at(corners, (rows, columns), sign * values)
        return np.cumsum(np.cumsum(corners, axis=0), axis=1)[:-1, :-1].ravel()

    def steps(self, number: int) -> tuple[int, int]:
        """Return how many steps up from the tiles a grid is at origins and at destinations."""
        return divmod(number, self.cuts[1].count)

    def areas(self, number: int) -> Areas:
        """Return the areas of a grid."""
        return tuple(cut.cut(step) for cut, step in zip(self.cuts, self.steps(number), strict=True))
