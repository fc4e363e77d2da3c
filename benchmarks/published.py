"""Published methods on the cabs: mondrian against a plain pandas recursion, and how long the others take."""

from __future__ import annotations

import time

import numpy as np

from benchmarks import plain_mondrian
from benchmarks.data import cab_flows
from flowveil._methods import find_method, mondrian
from flowveil._places import make_frame, tile_points
from flowveil._problem import Problem, Requirement

REPEATS = 3  # the best of these counts
LEAST_RATIO = 20


def main():
    flows, name = cab_flows()
    print(f"published methods, {name}: {len(flows):,} flows, {flows.total:,} trips, k 10, 10 % suppression")
    for method in ("oigh", "knapsack", "uniform-tiles", "mondrian"):
        solve = find_method(method).solve
        seconds = min(_seconds(lambda solve=solve: solve(_problem(flows)))[0] for _ in range(REPEATS))
        print(f"  {method:13} {seconds:6.2f} s")
    seconds, solution = min(
        (_seconds(lambda: mondrian.solve(_problem(flows))) for _ in range(REPEATS)), key=lambda entry: entry[0]
    )
    plain, regions = _seconds(lambda: _plain(flows))
    same = len(regions) == len(solution.origin) and all(
        len(set(solution.group[rows].tolist())) == 1 for rows in regions.values()
    )
    print(f"  plain pandas mondrian {plain:.1f} s: {plain / seconds:.0f} times; same {len(regions):,} regions: {same}")
    assert same
    assert plain > LEAST_RATIO * seconds


def _problem(flows):
    return Problem(flows, Requirement(10), flows.total // 10)


def _plain(flows):
    frame = make_frame(flows.provenance.bbox)
    ends = (flows.origins, flows.origin), (flows.destinations, flows.destination)
    points = np.concatenate([tile_points(flows.places, tree, leaf, frame) for tree, leaf in ends])
    trips = flows.trips
    return plain_mondrian.solve(
        points, trips, lambda rows: int(trips[rows].sum()) >= 10, [*frame[:2]] * 2, [*frame[2:]] * 2
    )


def _seconds(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
