"""mondrian: flows as points of four dimensions, cut at medians as long as both halves pass (LeFevre et al.).

It publishes the regions that the cuts make, bounded by the bbox or open, never the smallest boxes around the points,
whose edges are single people's places. Nothing is suppressed. If two halves keep the share of one person, so does what
they are halves of: where the whole does not, no cut of it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import PromiseError

if TYPE_CHECKING:
    from flowveil._arrays import CountArray, IntArray
    from flowveil._problem import Problem, Solution


def solve(problem: Problem) -> Solution:
    """Return regions that no cut can part further: the widest axis first, at the median over trips."""
    from flowveil._methods import mondrian_kernels  # noqa: PLC0415 numba is slow to import

    flows, frame = problem.flows, problem.positions.frame
    records = mondrian_kernels.Records(*_records(problem), *_shares(problem))
    marks = max(len(flows.origins), len(flows.destinations), int(records.person.max(initial=-1)) + 1)
    box = np.stack([np.tile(frame[:2], 2), np.tile(frame[2:], 2)])
    region, bounds = mondrian_kernels.partition(
        problem.positions.points(), box, records, problem.requirement.least, marks
    )
    if len(bounds) == 1 and not problem.measure_pairs(*np.zeros((2, len(flows)), np.int64)).publishable.all():
        raise PromiseError("no flow reaches the requirement", "lower k or bring more data")
    return problem.positions.publish(region, bounds)


def _shares(problem: Problem) -> tuple[CountArray, int]:
    """Return the trips of visits where the share of one person is tested, else none; and the largest such share."""
    people, requirement = problem.flows.people, problem.requirement
    if requirement.max_share is None or people is None or people.trips is None:
        return np.zeros(0, np.int32), requirement.share_parts
    return people.trips, requirement.share_parts


def _records(problem: Problem) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Return trips, tiles of both ends, first visits and their persons, and weights of persons (or of records)."""
    flows, people = problem.flows, problem.flows.people
    tile = np.stack([flows.origin, flows.destination])
    visit_start, person = np.zeros(len(flows) + 1, np.int64), np.zeros(0, np.int64)
    weight, count = flows.weight, len(flows)
    if people is not None:
        visit_start, person = np.searchsorted(people.pair, np.arange(len(flows) + 1)), people.person
        weight, count = people.weight, int(person.max(initial=-1)) + 1
    return flows.trips, tile, visit_start, person, np.zeros(count, np.int64) if weight is None else weight
