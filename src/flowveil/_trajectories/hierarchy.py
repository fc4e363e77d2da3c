"""Squares and spans of time that nest: the public hierarchy on which single points are generalized."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._trajectories.grid import Grid
    from flowveil._trajectories.read import Trajectories

# Minutes: each a multiple of those before, up to a day, a week, four weeks and 52 weeks.
_SPANS = (5, 15, 30, 60, 120, 240, 480, 1_440, 10_080, 40_320, 524_160)
_MONDAY = 4 * 1_440  # minutes: weeks begin on Mondays, and 1970 began on a Thursday
_LARGEST_SQUARE = 25_600  # meters
_LARGEST_KEY = 2**62


class Hierarchy:
    """Every pair of a square's edge and a span of time is a level, whose cells are made of those of finer levels.

    Nothing in it depends on data: edges are the step of the grid times a power of two, spans are the usual ones that
    its step divides, and both begin at constant origins. Level n has edge n // len(spans) and span n % len(spans).
    """

    def __init__(self, grid: Grid, max_extent: int | None = None, max_duration: int | None = None) -> None:
        """Take levels up to the largest edge in cells and the longest span in steps of time."""
        squares, spans = [1], [1]
        while squares[-1] * 2 * grid.meters <= _LARGEST_SQUARE:
            squares.append(squares[-1] * 2)
        for minutes in _SPANS:
            if minutes % grid.minutes == 0 and minutes // grid.minutes % spans[-1] == 0:
                spans += [minutes // grid.minutes] if minutes > grid.minutes else []
        self.squares: IntArray = np.array([edge for edge in squares if max_extent is None or edge <= max_extent])
        self.spans: IntArray = np.array([span for span in spans if max_duration is None or span <= max_duration])
        self.origin = _MONDAY // grid.minutes
        self.square: IntArray = np.repeat(self.squares, len(self.spans))  # by level, in cells
        self.span: IntArray = np.tile(self.spans, len(self.squares))  # by level, in steps of time
        # The stretch of a box in GLOVE, without its caps: width and height, and duration, by their weights.
        space, time = grid.weights
        paid = 2 * space * self.square / grid.space_limit + time * self.span / grid.time_limit
        self.cost: FloatArray = paid / (space + time)

    def __len__(self) -> int:
        return len(self.cost)

    def finer(self, level: IntArray, *, in_time: bool) -> IntArray:
        """Return the next finer level in space or in time, -1 where there is none."""
        spans = len(self.spans)
        if in_time:
            return np.where(level % spans > 0, level - 1, -1)
        return np.where(level >= spans, level - spans, -1)

    def cells(self, trajectories: Trajectories, level: IntArray) -> IntArray:
        """Return the number of the cell of each sample, given its level: the same for samples of one cell.

        Where trajectories are cut into days or weeks, each of these has cells of its own.
        """
        edge, span = self.square[level], self.span[level]
        columns = [trajectories.x // edge, trajectories.y // edge, (trajectories.t - self.origin) // span]
        if trajectories.periods is not None:
            columns.append(np.repeat(trajectories.periods, np.diff(trajectories.start)))
        number = level.astype(np.int64)
        for column in columns:
            width = int(np.ptp(column)) + 1
            if int(number.max()) >= _LARGEST_KEY // width:
                number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            number = number * width + (column - column.min())
        cells: IntArray = np.unique(number, return_inverse=True)[1].astype(np.int64)
        return cells
