"""What counting persons costs: cube and solution with a unit against counting trips, on the same cabs in one run."""

from __future__ import annotations

import time

import flowveil as fv
from benchmarks.data import cab_flows
from flowveil._methods import find_method
from flowveil._problem import Problem, Requirement

METHODS = ("mosaic", "nested", "crosscut")
REPEATS = 3  # the best of these counts
MOST = 5.0  # times as long as counting trips


def main():
    by_trip, name = cab_flows()
    by_vehicle, _ = cab_flows(unit="vehicle_id")
    visits = len(by_vehicle.people.pair)
    print(f"persons against trips, {name}: {by_trip.total:,} trips, {visits:,} distinct (tile pair, vehicle), k 10")
    print(f"  {'method':10} {'trips':>8} {'vehicles':>9} {'ratio':>6} {'peak':>8} {'peak':>9}")
    memory = [_memory(by_trip), _memory(by_vehicle)]
    for method, trips_peak, vehicles_peak in zip(METHODS, *memory, strict=True):
        trips, vehicles = (_seconds(flows, method) for flows in (by_trip, by_vehicle))
        peaks = f"{trips_peak:5.0f} MB {vehicles_peak:6.0f} MB"
        print(f"  {method:10} {trips:6.2f} s {vehicles:7.2f} s {vehicles / trips:6.2f} {peaks}")
        assert vehicles < MOST * trips


def _seconds(flows, method):
    times = []
    for _ in range(1 + REPEATS):  # the first compiles
        start = time.perf_counter()
        find_method(method).solve(Problem(flows, Requirement(10), flows.total // 10))
        times.append(time.perf_counter() - start)
    return min(times[1:])


def _memory(flows):
    """Return the peak of each method in a process of its own, with Python and the flows."""
    return fv.compare(flows, METHODS)["memory_mb"].to_pylist()


if __name__ == "__main__":
    main()
