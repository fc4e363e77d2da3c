"""mondrian: flows as points of four dimensions, cut at medians as long as both halves pass (LeFevre et al.).

It publishes the regions that the cuts make, bounded by the bbox or open, never the smallest boxes around the points,
whose edges are single people's places. Nothing is suppressed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import PromiseError
from flowveil._methods.rectangles import as_solution
from flowveil._places import make_frame, tile_points

if TYPE_CHECKING:
    from flowveil._problem import Problem, Solution


def solve(problem: Problem) -> Solution:
    """Return regions that no cut can part further: the widest axis first, at the median over trips."""
    from flowveil._methods import mondrian_kernels  # noqa: PLC0415 numba is slow to import

    flows = problem.flows
    bbox = flows.provenance.bbox
    frame = make_frame(bbox)
    points = np.concatenate(
        [
            tile_points(flows.places, flows.origins, flows.origin, frame),
            tile_points(flows.places, flows.destinations, flows.destination, frame),
        ]
    )
    crowd, marks = _crowd(problem)
    box = np.stack([np.tile(frame[:2], 2), np.tile(frame[2:], 2)])
    region, bounds = mondrian_kernels.partition(points, box, flows.trips, crowd, marks)
    if len(bounds) == 1 and not problem.measure_pairs(*np.zeros((2, len(flows)), np.int64)).publishable.all():
        raise PromiseError("no flow reaches the requirement", "lower k or bring more data")
    return as_solution(region, bounds, frame, closed=bbox is not None)


def _crowd(problem: Problem) -> tuple[tuple[object, ...], int]:
    """Return what the kernel needs to test crowds, and how many persons or tiles there may be."""
    flows, requirement = problem.flows, problem.requirement
    people = flows.people
    weight = flows.weight if people is None else people.weight
    nobody = np.zeros(0, np.int64)
    visit_start = np.zeros(len(flows) + 1, np.int64)
    person = nobody
    marks = max(len(flows.origins), len(flows.destinations))
    if people is not None:
        visit_start = np.searchsorted(people.pair, np.arange(len(flows) + 1))
        person = people.person
        marks = max(marks, int(person.max(initial=0)) + 1)
    if weight is None:
        weight = np.zeros(max(len(flows), marks), np.int64)
    least = (requirement.k, requirement.least_weight, requirement.min_tiles)
    return (weight, visit_start, person, np.stack([flows.origin, flows.destination]), least), marks
