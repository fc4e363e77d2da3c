"""mosaic with remainders: a flow may count all other trips between its areas, after finer flows inside were taken out.

Every trip is in at most one flow, the smallest that holds it, and what a flow counts passes the requirement by itself.

Trips add up. So for trips the best flows are found exactly: for every cell, and for each number of trips that is too
small for a remainder, the least loss of flows inside it that leave over so many. (To leave over more than that is
looked at only where it is published at once.) With the loss at which none is left over in place of the loss of a cell,
the rest is the search of mosaic.

Distinct persons and weights do not add up. There the search is for trips, every flow is counted, those that fail are
mended, and what comes of it is taken only where it is better than without remainders.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil._methods.cuts import Splits, mosaic_splits, nested_splits, records_of, rows_of, solution_of
from flowveil._methods.mend import NONE, Layers, Price, mend
from flowveil._methods.steer import better, notes_of, steer
from flowveil._problem import Solution, check_cells
from flowveil._processes import at_once

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._methods.cuts import Cut
    from flowveil._methods.remainder_kernels import Given
    from flowveil._problem import Problem, Run

    FloatTable = npt.NDArray[np.float64]

_SHARE = 0.9  # of remainders that shall have a crowd without being mended
_MOST = 3  # times the crowd: what a remainder may need at most


def solve(problem: Problem, plain: Callable[[Problem], Cut]) -> Solution:
    """Return the flows of least mean loss within the budget (of least suppression with the precision asked for).

    plain: finds the best cut without remainders.
    """
    k = problem.requirement.k
    attempt = _attempt(problem, k)
    if attempt.mended:
        more = min(attempt.usual_need, _MOST * k)
        others = [_attempt(problem, more)] if more > k else []
        attempt = _best(problem, [attempt, *others, _without(problem, plain(problem))])
    return _solution_of(problem, attempt)


@dataclass(frozen=True, eq=False)
class _Attempt:
    """Flows that may be published."""

    layers: Layers
    trips: IntArray  # by flow
    notes: tuple[str, ...]  # for the audit file
    mended: int = 0  # flows that failed at first
    usual_need: int = 0  # trips that most remainders need to have a crowd

    @property
    def mean(self) -> float:
        """What a published trip loses on average."""
        trips = int(self.trips.sum())
        return float((self.layers.rate * self.trips).sum()) / trips if trips else np.inf

    @property
    def suppressed(self) -> int:
        return self.layers.cube.total - int(self.trips.sum())

    def excess(self, max_gbar: float) -> float:
        """Return by how much the tiles of all trips are too many for a precision."""
        return float((self.trips * (self.layers.cube.tiles[self.layers.cell] - max_gbar)).sum())


def _attempt(problem: Problem, need: int) -> _Attempt:
    """Return the best flows if remainders need so many trips, mended where these are no crowd."""
    left_over = LeftOver(problem, need)
    cut = left_over.steer()
    layers = left_over.layers(cut)
    fails = layers.fails(problem)
    left = 0 if problem.max_gbar is not None else problem.budget - cut.suppressed
    mended = mend(problem, layers, Price(left, cut.lam))
    trips = mended.trips(problem)
    if not fails.any():
        return _Attempt(layers, trips, notes_of(cut))
    notes = f"lambda {cut.lam:g}", f"{fails.sum()} flows were too small at first and were mended"
    return _Attempt(mended, trips, notes, int(fails.sum()), _usual_need(problem, layers))


def _without(problem: Problem, cut: Cut) -> _Attempt:
    """Return the flows of a cut without remainders."""
    group = solution_of(problem, cut).group
    layers = Layers(cut.cube, cut.published, np.full(len(cut.published), NONE), group)
    return _Attempt(layers, layers.trips(problem), notes_of(cut))


def _best(problem: Problem, attempts: list[_Attempt]) -> _Attempt:
    """Return the best of the attempts that keep to the budget, or the precision; the last one does."""
    if problem.max_gbar is not None:
        precision = problem.max_gbar
        good = [attempt for attempt in attempts if attempt.excess(precision) <= 0] or attempts[-1:]
        return min(good, key=lambda attempt: (attempt.suppressed, attempt.mean))
    good = [attempt for attempt in attempts if attempt.suppressed <= problem.budget]
    return min(good, key=lambda attempt: (attempt.mean, attempt.suppressed))


def _usual_need(problem: Problem, layers: Layers) -> int:
    """Return the trips with which most remainders would have had a crowd, going by the trips of each of its persons."""
    measures, requirement = problem.flows.measure(layers.group, len(layers.cell)), problem.requirement
    share = (measures.trips if measures.persons is None else measures.persons) / requirement.k
    if measures.weight is not None and requirement.least_weight:
        share = np.minimum(share, measures.weight / requirement.least_weight)
    remainder = np.unique(layers.above[layers.above != NONE])
    needed = measures.trips[remainder] / np.maximum(share[remainder], 1 / requirement.k)
    return int(np.ceil(np.quantile(needed, _SHARE)))


class _Splits(Splits):
    """Cuts into cells of which every trip is in a flow, at the least loss of such flows in place of the cell's own."""

    def excess(self, max_gbar: float) -> FloatArray:
        """Return the same as for cells that are published as they are; the loss must be that of tiles."""
        return self.loss - max_gbar * self.cube.trips


class LeftOver:
    """What flows inside cells cost that leave over so many trips."""

    def __init__(self, problem: Problem, need: int) -> None:
        """need: the fewest trips of a remainder; whatever has them is taken for a crowd."""
        check_cells(problem.flows, len(problem.cube), len(problem.cube.links.axis), need)
        self.problem = problem
        self.need = need
        self.plain = mosaic_splits(problem.cube)
        self.left = at_once(self._leave_over, problem.cube.runs)

    def _given(self, run: Run) -> Given:
        from flowveil._methods import remainder_kernels  # noqa: PLC0415 numba is slow to import

        links = self.problem.cube.links
        begin, end = links.first_split[[run.cells.start, run.cells.stop]].tolist()
        parts = remainder_kernels.Parts(links.first_part[begin : end + 1], links.part)
        return remainder_kernels.Given(run.cells.start, self.plain.cells, parts, self.need)

    def _leave_over(self, run: Run) -> FloatTable:
        from flowveil._methods import remainder_kernels  # noqa: PLC0415 numba is slow to import

        left: FloatTable = remainder_kernels.leave_over(run.cells.stop, self._given(run))
        return left

    @cached_property
    def splits(self) -> Splits:
        """All cuts into cells of which every trip is in a flow."""
        loss = np.concatenate([np.zeros(0), *(left[:, 0] for left in self.left)])
        return _Splits(self.problem.cube, self.plain.allowed, loss)

    def steer(self) -> Cut:
        """Return the best such cut, not above that of mosaic or nested, of which each is one too."""
        problem = self.problem
        cut = steer(problem, self.splits)
        if problem.max_gbar is not None or cut.gap == 0:
            return cut
        orders = [] if len(problem.axes) > 2 else [(0, 1), (1, 0)]  # without time
        for other in (self.plain, *(nested_splits(problem.cube, order) for order in orders)):
            lam = max(cut.lam, cut.worth)
            if other.best(lam).value(lam) < cut.ceiling(lam, problem.budget):
                found = steer(problem, other)
                cut = better(problem, cut, replace(self.splits.measure(found.choice, found.lam), gap=cut.gap))
        return cut

    def layers(self, cut: Cut) -> Layers:
        """Return the flows in the cells of a cut."""
        problem, cube = self.problem, self.problem.cube
        cells, above = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        cell_of = np.full(len(problem.flows), NONE, np.int64)

        def trace(part: tuple[Run, FloatTable]) -> tuple[IntArray, IntArray]:
            run, left = part
            cells, above, cell_of[rows_of(problem, run)] = self._trace(cut, run, left)
            return cells, above

        for found, holder in at_once(trace, zip(cube.runs, self.left, strict=True)):
            cells.append(found)
            above.append(holder)
        cell = np.concatenate(cells)
        number = np.full(len(cube) + 1, NONE, np.int64)  # the last entry is for no cell
        number[cell] = np.arange(len(cell))
        return Layers(cube, cell, number[np.concatenate(above)], number[cell_of])

    def _trace(self, cut: Cut, run: Run, left: FloatTable) -> tuple[IntArray, IntArray, IntArray]:
        """Return the cells that a run publishes, what holds each, and by tile pair the cell that counts it."""
        from flowveil._methods import record_kernels, remainder_kernels  # noqa: PLC0415 numba is slow to import

        problem, links, (first, stop) = self.problem, self.problem.cube.links, (run.cells.start, run.cells.stop)
        tops = cut.published[slice(*np.searchsorted(cut.published, [first, stop]).tolist())]
        given = self._given(run)
        traced = remainder_kernels.trace(tops, cut.choice[first:stop].copy(), given, left)
        followed = remainder_kernels.Followed(first, traced, given.parts)
        splitters = record_kernels.Splitters(links.first_split, links.axis, problem.cube.node)
        ways = tuple(dimension.family.ways for dimension in problem.dimensions)
        cell_of = remainder_kernels.flow_of_records(records_of(problem, problem.cube, run), followed, splitters, ways)
        published = np.flatnonzero(traced.published)
        return first + published, traced.above[published], cell_of


def _solution_of(problem: Problem, attempt: _Attempt) -> Solution:
    layers = attempt.layers
    origin, destination, *times = layers.cube.node[:, layers.cell]
    return Solution(
        origin,
        destination,
        layers.group,
        layers.cube.matrix_of(layers.cell),
        notes=attempt.notes,
        time=times[0] if times else None,
        numbered=problem.families if problem.several else None,
        above=layers.above,
    )
