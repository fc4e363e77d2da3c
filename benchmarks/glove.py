"""glove-od on the cabs: against a naive version with the same merges, and how its time grows.

Seconds are those of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks import plain_glove_od
from benchmarks.data import cab_flows
from flowveil._methods import glove, glove_merge
from flowveil._problem import Problem, Requirement

COMPARED = 2_000  # flows at which the naive version is run, too
SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
LEAST_RATIO = 20
LARGEST_POWER = 1.5  # of a method that compares all pairs it would be 2 or 3


def main():
    flows, name = cab_flows()
    print(f"glove-od, {name}: {len(flows):,} flows, {flows.total:,} trips, k 10, 10 % suppression")
    _solve(_sample(flows, 100))  # compiles
    _compare(_sample(flows, COMPARED))
    times = {}
    for size in [size for size in SIZES if size < len(flows)] + [len(flows)]:
        times[size], (merges, finished, left) = _solve(_sample(flows, size))
        found = f"{len(merges):,} merges, {finished.sum():,} groups, {left:,} trips left over"
        print(f"  {size:9,} flows {times[size]:7.2f} s, {found}")
    first, last = SIZES[2], len(flows)
    power = np.log(times[last] / times[first]) / np.log(last / first)
    print(f"  from {first:,} flows on, the time grows with their number to the power {power:.2f}")
    assert power < LARGEST_POWER


def _compare(problem):
    trips = problem.flows.trips
    seconds, (merges, _, _) = min((_solve(problem) for _ in range(3)), key=lambda entry: entry[0])
    start = time.process_time()
    made, _, _ = plain_glove_od.merges(
        glove.positions(problem), trips, lambda rows: int(trips[rows].sum()) >= 10, problem.budget
    )
    plain = time.process_time() - start
    same = made == [tuple(merge) for merge in merges.tolist()]
    print(
        f"  {COMPARED:,} flows {seconds:.3f} s, naive {plain:.1f} s: {plain / seconds:.0f} times; same merges: {same}"
    )
    assert same
    assert plain > LEAST_RATIO * seconds


def _sample(flows, size):
    """Return a problem of some of the flows, drawn at random."""
    rows = np.sort(np.random.default_rng(0).choice(len(flows), size, replace=False))
    group = np.full(len(flows), -1, np.int64)
    group[rows] = np.arange(size)
    part = flows.join(group, size, flows.origin[rows], flows.destination[rows])
    return Problem(part, Requirement(10), part.total // 10)


def _solve(problem):
    points, crowd = glove.positions(problem), glove.make_crowd(problem)
    start = time.process_time()
    found = glove_merge.merge_flows(
        points, problem.flows.trips.copy(), crowd, problem.requirement.least, problem.budget
    )
    return time.process_time() - start, found


if __name__ == "__main__":
    main()
