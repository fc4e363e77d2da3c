"""Reporting what is withheld: the withheld trips of one area as one flow that ends elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._release.hidden import Unreached, pins_down
from flowveil._release.rectangles_elsewhere import report_rectangles

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._flows import Measures
    from flowveil._problem import Problem, Solution


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """Flows between areas of the first axis and elsewhere; each counts trips that no other flow counts."""

    first: int  # the axis of the areas: 0 origins, 1 destinations
    area: IntArray  # nodes of that axis, ascending
    group: IntArray  # by tile pair: the flow that counts it, -1 for none
    measures: Measures
    matrix: IntArray  # by flow, ascending


def find_elsewhere(problem: Problem, solution: Solution) -> Elsewhere:
    """Return the flows to elsewhere that pass the tests, of each matrix by itself."""
    flows = problem.flows
    if flows.times is not None:
        raise InputError("elsewhere does not go with a hierarchy of time", "cut time with --time, or leave it out")
    areas, matrices, groups, count = [], [], [], 0
    for number in range(flows.matrix_count):
        area, group = _of_matrix(problem.part(number), solution.part(flows, number))
        areas.append(area)
        matrices.append(np.full(len(area), number))
        groups.append(np.where(group < 0, -1, group + count))
        count += len(area)
    group = np.concatenate(groups)
    return Elsewhere(
        solution.first, np.concatenate(areas), group, flows.measure(group, count), np.concatenate(matrices)
    )


def _of_matrix(problem: Problem, solution: Solution) -> tuple[IntArray, IntArray]:
    """Return the areas of one matrix that have a flow to elsewhere, and by tile pair which of them counts it.

    A withheld trip belongs to the smallest area of the first axis that holds its end and has such a flow. So an area
    whose withheld trips are too few, or would pin some of them down, adds them to the next area above it, where areas
    are nested.
    """
    if solution.rectangles is not None:
        return report_rectangles(problem, solution)
    if not solution.exact:
        raise InputError(
            "elsewhere needs true volumes, but filtered trips are not counted again", "leave out reinstate=false"
        )
    axis = problem.axes[solution.first]
    if solution.areas is None:
        areas = np.unique((solution.origin, solution.destination)[solution.first])
    else:
        areas = solution.areas[0]
    tree = axis.hierarchy
    holder = tree.area_of(areas)
    above = np.where(tree.parent[areas] >= 0, holder[tree.parent[areas]], -1)
    place = np.searchsorted(areas, holder)  # only read where there is a holder
    number = np.where((solution.group < 0) & (holder[axis.leaf] >= 0), place[axis.leaf], -1)
    next_number = np.where(above >= 0, place[above], -1)
    depth = tree.depth[areas]
    done = np.zeros(len(areas), bool)
    rows = _Rows(problem, solution, areas, next_number)
    for level in np.unique(depth)[::-1].tolist():
        measures = problem.measure(number, len(areas))
        passes = _passes(problem, solution.first, areas, number, measures)
        for area in np.flatnonzero(depth == level).tolist():
            done[area] = rows.settle(area, measures.take(slice(area, area + 1)), reported=bool(passes[area]))
        moves = (number >= 0) & (depth == level)[number] & ~done[number]
        number[moves] = next_number[number[moves]]
    flow = np.append(np.cumsum(done) - 1, -1)  # the last entry is for no area
    return areas[done], flow[number]


class _Rows:
    """For each area the smallest areas inside it, and where withheld trips from there may have gone.

    Only areas that a flow names count: all else a reader does not know of. Areas are settled from the smallest up.
    """

    def __init__(self, problem: Problem, solution: Solution, areas: IntArray, above: IntArray) -> None:
        first, other = (solution.origin, solution.destination)[:: -1 if solution.first else 1]
        self._requirement = problem.requirement
        self._above = above.tolist()
        order = np.argsort(first, kind="stable")
        edges = np.searchsorted(first[order], areas), np.searchsorted(first[order], areas, side="right")
        self._reached = [other[order[start:end]] for start, end in zip(*(e.tolist() for e in edges), strict=True)]
        self._unreached = Unreached(problem.axes[1 - solution.first].hierarchy, other)
        self._smallest: list[list[int]] = [[] for _ in areas]  # those whose withheld trips are the area's to report
        self._named = [False] * len(areas)  # whether a flow names an area inside

    def settle(self, area: int, rest: Measures, *, reported: bool) -> bool:
        """Return whether the rest of an area is a flow: if it passes (`reported`) and pins no part of it down."""
        rows = self._smallest[area] if self._named[area] else [area]
        reported = reported and not self._pins_down(rows, rest)
        named = reported or self._named[area] or len(self._reached[area]) > 0
        above = self._above[area]
        if named and above >= 0:
            self._named[above] = True
            self._smallest[above] += [] if reported else rows
        return reported

    def _pins_down(self, rows: list[int], rest: Measures) -> bool:
        parts = 0
        for area in rows:
            parts = max(parts, self._unreached.count(self._reached_from(area)))
            if not pins_down(self._requirement, rest, np.array([parts]))[0]:
                return False
        return True

    def _reached_from(self, area: int) -> IntArray:
        """Return the areas that flows from a place reach: from the smallest area that holds it, and all above."""
        rows = []
        while area >= 0:
            rows.append(self._reached[area])
            area = self._above[area]
        return np.concatenate(rows)


def _passes(problem: Problem, first: int, areas: IntArray, number: IntArray, measures: Measures) -> BoolArray:
    """Which areas have enough trips; at the other end the tiles that these trips reach count."""
    axes = problem.axes
    inside = number >= 0
    other = axes[1 - first]
    reached = np.unique(number[inside] * len(other.hierarchy) + other.leaf[inside]) // len(other.hierarchy)
    tiles = [axes[first].hierarchy.tiles[areas], np.bincount(reached, minlength=len(areas))]
    good = problem.requirement.passes(measures, tiles[first], tiles[1 - first])
    if problem.sensitive is not None:
        good &= ~problem.sensitive.barred(problem.flows.places, axes[first].hierarchy, areas)
    return good
