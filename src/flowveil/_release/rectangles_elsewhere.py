"""Reporting what is withheld where areas are rectangles, which may overlap without one lying in the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._flows import Measures
from flowveil._places import ROOT, RectangleAreas, tile_points
from flowveil._release.hidden import pins_down

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._places import Rectangles
    from flowveil._problem import Problem, Solution


def report_rectangles(problem: Problem, solution: Solution) -> tuple[IntArray, IntArray]:
    """Return the rectangles of the first axis with a flow to elsewhere, and by tile pair which of them counts it.

    The smallest rectangle goes first, the lowest number of equals. Each takes what is left of the withheld trips whose
    tile it holds, if these pass the tests and pin none of them down.
    """
    flows, first, rectangles = problem.flows, solution.first, solution.rectangles
    rest = np.flatnonzero(solution.group < 0)
    group = np.full(len(flows), -1, np.int64)
    if rectangles is None or not len(rest):
        return np.zeros(0, np.int64), group
    areas = _smallest_first(rectangles, np.unique((solution.origin, solution.destination)[first]))
    axis = problem.axes[first]
    tiles, tile = np.unique(axis.leaf[rest], return_inverse=True)
    rows = np.split(rest[np.argsort(tile, kind="stable")], np.searchsorted(np.sort(tile), np.arange(1, len(tiles))))
    points = tile_points(flows.places, axis.hierarchy, tiles, rectangles.frame)
    box, point = rectangles.part(areas).hold(points)
    size, parts = _tiles_and_parts(problem, solution, rectangles, areas)
    passing: list[int] = []
    for start, end in zip(*_runs(box), strict=True):
        held = np.concatenate([rows[place] for place in point[start:end].tolist()])
        held = held[group[held] < 0]
        area = box[start]
        if _passes(problem, first, int(size[area]), parts[area : area + 1], held):
            group[held] = areas[area]
            passing.append(int(areas[area]))
    reported = np.array(sorted(passing), np.int64)
    inside = group >= 0
    group[inside] = np.searchsorted(reported, group[inside])
    return reported, group


def _tiles_and_parts(
    problem: Problem, solution: Solution, rectangles: Rectangles, areas: IntArray
) -> tuple[IntArray, IntArray]:
    """Return by rectangle of the first axis its tiles, and in how many pairs of one of them hidden trips may be.

    Rectangles overlap, so a reader can be sure of a pair of tiles only where it is a flow by itself.
    """
    flows, first = problem.flows, solution.first
    trees = [axis.hierarchy for axis in problem.axes]
    ends = [
        RectangleAreas(rectangles, flows.places, tree).inside(number)
        for tree, number in zip(trees, (solution.origin, solution.destination), strict=True)
    ]
    alone = [len(one) == len(other) == 1 for one, other in zip(*ends, strict=True)]
    sure = [int(tiles[0]) for tiles, single in zip(ends[first], alone, strict=True) if single]
    counted = np.bincount(np.array(sure, np.int64), minlength=int(trees[first].tiles[ROOT]))
    inside = RectangleAreas(rectangles, flows.places, trees[first]).inside(areas)
    parts = [int(trees[1 - first].tiles[ROOT] - counted[tiles].min(initial=len(alone))) for tiles in inside]
    return np.array([len(tiles) for tiles in inside], np.int64), np.array(parts, np.int64)


def _smallest_first(rectangles: Rectangles, numbers: IntArray) -> IntArray:
    west, south, east, north = rectangles.bounds[numbers].T
    ordered: IntArray = numbers[np.lexsort((numbers, (east - west) * (north - south)))]
    return ordered


def _runs(values: IntArray) -> tuple[list[int], list[int]]:
    """Return where each run of equal values starts and ends."""
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.zeros(0, np.int64)
    return starts.tolist(), [*starts[1:].tolist(), len(values)][: len(starts)]


def _passes(problem: Problem, first: int, tiles: int, parts: IntArray, rows: IntArray) -> bool:
    """Whether some tile pairs are enough together; at the other end the tiles that their trips reach count.

    parts: in how many pairs of tiles they may be, at least.
    """
    flows = problem.flows
    trips = flows.trips[rows].sum()
    if trips < problem.requirement.k:  # spares the work below: persons are never more than trips
        return False
    reached = len(np.unique(problem.axes[1 - first].leaf[rows]))
    persons, weight, people = None, flows.weight, flows.people
    total = None if weight is None else np.array([weight[rows].sum()])
    if people is not None:
        spans = (np.searchsorted(people.pair, rows, side).tolist() for side in ("left", "right"))
        who = np.unique(np.concatenate([people.person[start:end] for start, end in zip(*spans, strict=True)]))
        persons = np.array([len(who)])
        total = None if people.weight is None else np.array([people.weight[who].sum()])
    ends = (tiles, reached) if first == 0 else (reached, tiles)
    measures = Measures(np.array([trips]), persons, total)
    enough = problem.requirement.passes(measures, *(np.array([end]) for end in ends))
    return bool((enough & ~pins_down(problem.requirement, measures, parts))[0])
