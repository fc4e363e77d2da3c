"""odkanon by bisection against the plain step-by-step version, on the same flows in one run."""

from __future__ import annotations

import time

from benchmarks import plain_odkanon
from benchmarks.data import cab_flows
from flowveil._flows import add_by_group
from flowveil._methods import odkanon
from flowveil._problem import Problem, Requirement

REPEATS = 3  # the best of these counts


def main():
    flows, name = cab_flows()
    fast = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        solution = odkanon.solve(Problem(flows, Requirement(10), flows.total), reinstate=False)
        fast = min(fast, time.perf_counter() - start)
    start = time.perf_counter()
    expected, steps = plain_odkanon.solve(flows, 10)
    plain = time.perf_counter() - start
    trips = add_by_group(solution.group, flows.trips, len(solution.origin)).tolist()
    ends = zip(solution.origin.tolist(), solution.destination.tolist(), strict=True)
    same = dict(zip(ends, trips, strict=True)) == expected
    print(f"odkanon, {name}: {len(flows):,} flows, {steps:,} steps")
    print(f"  by bisection {fast:.2f} s, step by step {plain:.1f} s: {plain / fast:.0f} times; same output: {same}")
    assert same
