"""odkanon: filter hopeless pairs, then merge sibling areas until every flow passes (thesis, chapter 3).

The order of merges depends on tree counts and shape only, never on single flows. So the two sequences of merges are
laid out first, and the step at which all flows pass is found by bisection in place of stepping.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._places import ROOT
from flowveil._problem import Solution

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._places import Hierarchy
    from flowveil._problem import NodePairs, Problem


def solve(
    problem: Problem,
    levels: int = 3,
    filter_budget: float = 0.10,
    balance: float = 0.03,
    reinstate: bool = True,
) -> Solution:
    """Return one cut per axis.

    levels: steps up within which a tile pair must reach the requirement, or it is filtered.
    filter_budget: the most tile pairs that may be filtered, as a share of all.
    balance: how far origins per destination may stray from their first ratio before one axis is forced.
    reinstate: count filtered trips again in flows that are published anyway.
    """
    _check(levels, filter_budget, balance)
    kept = _filter(problem, levels, filter_budget)
    merges = _lay_out(problem, kept, balance)
    step = _stopping_step(problem, kept, merges)
    flows = problem.flows
    published = _group(problem, kept, merges, step)
    solution = Solution(
        published.origin,
        published.destination,
        published.group,
        np.zeros_like(published.origin),
        exact=False,
        notes=_notes(step, kept),
    )
    if not reinstate:
        return solution
    origin = flows.origins.area_of(np.unique(published.origin))[flows.origin]
    destination = flows.destinations.area_of(np.unique(published.destination))[flows.destination]
    width = len(flows.destinations)
    keys = published.origin * width + published.destination  # sorted
    wanted = np.where((origin >= 0) & (destination >= 0), origin * width + destination, -1)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    group = np.where(keys[place] == wanted, place, -1)
    return _without_dominated(problem, replace(solution, group=group, exact=True))


def _without_dominated(problem: Problem, solution: Solution) -> Solution:
    """Return a solution less the flows in which filtered trips that were counted again are too many of one person."""
    shared = problem.requirement.is_shared(problem.measure(solution.group, len(solution.origin)))
    if shared.all():
        return solution
    number = np.append(np.where(shared, np.cumsum(shared) - 1, -1), -1)  # the last entry is for no flow
    return replace(
        solution,
        origin=solution.origin[shared],
        destination=solution.destination[shared],
        group=number[solution.group],
        matrix=solution.matrix[shared],
    )


@dataclass(frozen=True, eq=False)
class Merges:
    """The whole sequence of merges: which axis each step is on, and when each node is merged on its own axis."""

    axis: IntArray  # by step: 0 origins, 1 destinations
    rank: tuple[IntArray, IntArray]  # by axis and node: position among the merges of its axis, -1 for a tile


def _check(levels: int, filter_budget: float, balance: float) -> None:
    if levels < 0:
        raise InputError(f"levels is {levels}", "levels is 0 or more; 3 is the authors' choice")
    if not 0 <= filter_budget <= 1:
        raise InputError(f"filter_budget is {filter_budget}", "filter_budget is a share of tile pairs, from 0 to 1")
    if not 0 <= balance < 1:
        raise InputError(f"balance is {balance}", "balance is a share from 0 to below 1; 0.03 is the authors' choice")


def _filter(problem: Problem, levels: int, filter_budget: float) -> BoolArray:
    """Which tile pairs to keep: those that reach the requirement within `levels` steps up at both ends.

    The others go as far as the budget allows, smallest first; the merges must then make the rest safe.
    """
    flows = problem.flows
    good = np.zeros(len(flows), bool)
    height = int(max(flows.origins.depth[-1], flows.destinations.depth[-1]))
    for step in range(min(levels, height) + 1):
        pairs = problem.measure_pairs(
            flows.origins.up(flows.origin, step), flows.destinations.up(flows.destination, step)
        )
        good |= pairs.publishable[pairs.group]
    hopeless = np.flatnonzero(~good)
    most = int(len(flows) * filter_budget)
    by_size = hopeless[np.argsort(flows.trips[hopeless], kind="stable")]
    kept = np.ones(len(flows), bool)
    kept[by_size[:most]] = False
    if not kept.any():
        raise PromiseError("every tile pair would be filtered", "lower k, raise levels, or use a coarser grid")
    return kept


def _lay_out(problem: Problem, kept: BoolArray, balance: float) -> Merges:
    flows = problem.flows
    trips = flows.trips[kept]
    origins, origin_rank = _sequence(flows.origins, flows.origin[kept], trips)
    destinations, destination_rank = _sequence(flows.destinations, flows.destination[kept], trips)
    counts = len(np.unique(flows.origin[kept])), len(np.unique(flows.destination[kept]))
    return Merges(_schedule(counts, (origins, destinations), balance), (origin_rank, destination_rank))


def _sequence(hierarchy: Hierarchy, leaf: IntArray, trips: IntArray) -> tuple[list[int], IntArray]:
    """Order the merges of one axis: always the parent with the fewest trips whose seen children are all there.

    Returns how many areas each merge joins, and the position of each node's merge.
    """
    total = np.zeros(len(hierarchy), np.int64)
    np.add.at(total, leaf, trips)
    hierarchy.add_up(total)
    waiting = np.zeros(len(hierarchy), np.int64)
    seen = np.flatnonzero(total[1:]) + 1
    np.add.at(waiting, hierarchy.parent[seen], 1)
    joins = waiting.copy()
    sizes: list[int] = []
    rank = np.full(len(hierarchy), -1, np.int64)
    present = seen[waiting[seen] == 0]  # tiles
    np.subtract.at(waiting, hierarchy.parent[present], 1)
    ready = np.flatnonzero((joins > 0) & (waiting == 0))
    # Node numbers follow keys level by level; ties go to the smaller key, which is the cell id on a grid.
    heap = [(int(total[node]), int(hierarchy.key[node]), int(node)) for node in ready]
    heapq.heapify(heap)
    while heap:
        _, _, node = heapq.heappop(heap)
        rank[node] = len(sizes)
        sizes.append(int(joins[node]))
        above = int(hierarchy.parent[node])
        if node != ROOT:
            waiting[above] -= 1
            if waiting[above] == 0:
                heapq.heappush(heap, (int(total[above]), int(hierarchy.key[above]), above))
    return sizes, rank


def _schedule(counts: tuple[int, int], sizes: tuple[list[int], list[int]], balance: float) -> IntArray:
    """Decide the axis of each step: keep origins per destination near its first value, else take turns."""
    areas, done = list(counts), [0, 0]
    first, turn = counts[0] / counts[1], 0
    steps = []
    while done[0] < len(sizes[0]) or done[1] < len(sizes[1]):
        ratio = areas[0] / areas[1]
        forced = 0 if ratio > first * (1 + balance) else 1 if ratio < first * (1 - balance) else None
        axis = turn if forced is None else forced
        if done[axis] == len(sizes[axis]):
            axis = 1 - axis
        if forced is None:
            turn = 1 - axis
        areas[axis] -= sizes[axis][done[axis]] - 1
        done[axis] += 1
        steps.append(axis)
    return np.array(steps, np.int64)


def _group(problem: Problem, kept: BoolArray, merges: Merges, step: int) -> NodePairs:
    """Return the pairs of areas after `step` merges, over the tile pairs kept."""
    flows = problem.flows
    on_destinations = int(merges.axis[:step].sum())
    areas = []
    for hierarchy, leaf, rank, done in (
        (flows.origins, flows.origin, merges.rank[0], step - on_destinations),
        (flows.destinations, flows.destination, merges.rank[1], on_destinations),
    ):
        merged = (rank >= 0) & (rank < done)
        areas.append(np.where(kept, _highest(hierarchy, merged)[leaf], -1))
    return problem.measure_pairs(areas[0], areas[1])


def _highest(hierarchy: Hierarchy, merged: BoolArray) -> IntArray:
    """For every node the highest merged node above it, itself where there is none."""
    area = np.arange(len(hierarchy))
    inside = merged.copy()
    for level in hierarchy.levels():
        if level.start > ROOT:
            parent = hierarchy.parent[level]
            area[level] = np.where(inside[parent], area[parent], area[level])
            inside[level] |= inside[parent]
    return area


def _stopping_step(problem: Problem, kept: BoolArray, merges: Merges) -> int:
    """Return the first step after which every flow passes: once all pass, merging more keeps it so, shares included.

    After a step that is too early, its areas stand for the tiles: what comes later only joins them further.
    """
    low, high = 0, len(merges.axis)
    if not _group(problem, kept, merges, high).publishable.all():
        raise PromiseError(
            "even one flow from everywhere to everywhere would fail the requirement",
            "lower k or bring more data: there are not enough travelers",
        )
    while low < high:
        middle = (low + high) // 2
        pairs = _group(problem, kept, merges, middle)
        if pairs.publishable.all():
            high = middle
        else:
            low = middle + 1
            problem = problem.coarsen(pairs)
            kept = np.ones(len(problem.flows), bool)
    return low


def _notes(step: int, kept: BoolArray) -> tuple[str, ...]:
    return (f"odkanon stopped after {step:,} merges; {int((~kept).sum()):,} tile pairs were filtered before them",)
