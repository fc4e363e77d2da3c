"""glove-od and glove-sk: flows as trajectories of two points, merged until groups pass (GLOVE; ATG paper, app. B).

Both publish the boxes around the tiles of each group. Boxes of different groups may overlap, so it does not follow
from a release which flow counts a trip: the assignment is kept privately for the verifier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._places import UNIT

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._methods.glove_merge import Crowd
    from flowveil._problem import Problem, Solution

# A decimeter along a meridian is 8.983 ten-millionths of a degree; east-west it is stretched by the cosine of the
# middle latitude, in thousandths. Whole numbers throughout: distances do not depend on the machine.
_PARTS_A_DECIMETER = 8983
_THOUSAND = 1000
_LARGEST_SUM = 2**62  # of what trips are stretched by
MOST_FLOWS = 20_000
_BYTES_A_PAIR = 8  # SciPy holds half of all distances twice


def solve_od(problem: Problem) -> Solution:
    """Return groups made by merging the two that are cheapest to merge, until what is left is within the budget.

    A group that passes the tests is finished and takes no more part.
    """
    from flowveil._methods import glove_merge  # noqa: PLC0415 numba is slow to import

    flows = problem.flows
    points = positions(problem)
    if flows.total * int(np.ptp(points, axis=0).sum()) > _LARGEST_SUM:
        raise InputError(
            "the trips times their distances pass 64 bits", "give a --bbox, or a method that does not measure distances"
        )
    merges, finished, left = glove_merge.merge_flows(
        points, flows.trips.copy(), make_crowd(problem), problem.requirement.least, problem.budget
    )
    if left > problem.budget:
        raise _too_much(left, problem)
    name = _names(merges, len(flows))
    return _publish(problem, np.where(finished[name], name, -1))


def solve_sk(problem: Problem, max_flows: int = MOST_FLOWS) -> Solution:
    """Return the lowest cut of a dendrogram (complete linkage, sum of distances) that is within the budget.

    max_flows: the most tile pairs; all distances are held at once.
    """
    flows = problem.flows
    if len(flows) > max_flows:
        raise InputError(
            f"{len(flows):,} tile pairs are more than max_flows = {max_flows:,}: all their distances would need "
            f"{_BYTES_A_PAIR * len(flows) ** 2 / 1e9:,.0f} GB",
            "use glove-od or a coarser grid, or allow it with --option max_flows=N",
        )
    merges = np.zeros((0, 2), np.int64)
    if len(flows) > 1:
        from scipy.cluster.hierarchy import linkage  # noqa: PLC0415  slow to import

        tree = linkage(positions(problem).astype(np.float64), "complete", "cityblock")
        merges = _by_smallest(tree[:, :2].astype(np.int64), len(flows))
    fewest, most = 0, len(merges)  # merging never makes a group fail: the trips left out can only fall
    if (left := _left(problem, _names(merges, len(flows)))) > problem.budget:
        raise _too_much(left, problem)
    while fewest < most:
        middle = (fewest + most) // 2
        if _left(problem, _names(merges[:middle], len(flows))) > problem.budget:
            fewest = middle + 1
        else:
            most = middle
    name = _names(merges[:fewest], len(flows))
    return _publish(problem, np.where(_passing(problem, name)[name], name, -1))


def positions(problem: Problem) -> IntArray:
    """Return x and y of origins and destinations in decimeters, one row a tile pair."""
    points = problem.positions.points()
    latitudes = points[[1, 3]]
    middle = (int(latitudes.min()) + int(latitudes.max())) // 2 / UNIT
    squeeze = np.array([round(_THOUSAND * np.cos(np.radians(middle))), _THOUSAND] * 2)
    decimeters: IntArray = points.T * squeeze // _PARTS_A_DECIMETER
    return np.ascontiguousarray(decimeters)


def make_crowd(problem: Problem) -> Crowd:
    """Return who and which tiles are in each flow, as lists that can be merged."""
    from flowveil._methods.glove_merge import Crowd, Lists  # noqa: PLC0415 numba is slow to import

    flows, people = problem.flows, problem.flows.people
    visits = Lists(*[np.zeros(0, np.int64)] * 3)
    weight = flows.weight if people is None else people.weight
    if people is not None:
        order = np.lexsort((people.person, people.pair))
        pair = people.pair[order]
        after = np.arange(1, len(pair) + 1)
        after[np.append(pair[1:] != pair[:-1], True)] = -1
        visits = Lists(people.person[order], after, np.searchsorted(pair, np.arange(len(flows))))
    if weight is None:
        weight = np.zeros(len(flows) if people is None else int(people.person.max(initial=0)) + 1, np.int64)
    ends = [
        Lists(leaf, np.full(len(flows), -1, np.int64), np.arange(len(flows)))
        for leaf in (flows.origin, flows.destination)
    ]
    return Crowd(visits, ends[0], ends[1], weight.copy())


def _by_smallest(tree: IntArray, count: int) -> IntArray:
    """Return the merges of a dendrogram as names that stay and go; a group is called by its smallest tile pair."""
    name = np.append(np.arange(count), np.zeros(len(tree), np.int64))
    merges = np.empty_like(tree)
    for step, (one, other) in enumerate(tree.tolist()):
        merges[step] = sorted((name[one], name[other]))
        name[count + step] = merges[step, 0]
    return merges


def _names(merges: IntArray, count: int) -> IntArray:
    """Return the group of each tile pair after some merges, called by its smallest tile pair."""
    name = np.arange(count)
    name[merges[:, 1]] = merges[:, 0]
    while not np.array_equal(up := name[name], name):
        name = up
    return name


def _passing(problem: Problem, name: IntArray) -> BoolArray:
    """Which groups pass the tests, by name; tiles are those that the trips of a group have."""
    flows = problem.flows
    tiles = [
        np.bincount(np.unique(name * len(tree) + leaf) // len(tree), minlength=len(flows))
        for tree, leaf in ((flows.origins, flows.origin), (flows.destinations, flows.destination))
    ]
    return problem.requirement.passes(flows.measure(name, len(flows)), tiles[0], tiles[1])


def _left(problem: Problem, name: IntArray) -> int:
    return int(problem.flows.trips[~_passing(problem, name)[name]].sum())


def _publish(problem: Problem, name: IntArray) -> Solution:
    """Return groups (-1: left out) as flows between the boxes around their tiles."""
    inside = np.flatnonzero(name >= 0)
    names, group = np.unique(name[inside], return_inverse=True)
    low, high = np.full((2, len(names), 4), np.iinfo(np.int64).max)
    high = -high
    lowest, highest = problem.positions.boxes(inside)
    np.minimum.at(low, group, lowest)
    np.maximum.at(high, group, highest)
    region = np.full(len(name), -1, np.int64)
    region[inside] = group
    return problem.positions.publish(region, np.stack([low, high], axis=1), overlapping=True)


def _too_much(left: int, problem: Problem) -> PromiseError:
    total = problem.flows.total
    return PromiseError(
        f"groups that pass leave {left / total:.3%} of the trips over, but only {problem.budget / total:.3%} may be",
        "raise max_suppression or lower k; mosaic and mondrian may leave out less",
    )
