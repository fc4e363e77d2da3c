"""mosaic against a plain NumPy version, and frontiers against single answers, on the same flows in one run."""

from __future__ import annotations

import time

from benchmarks import plain_mosaic
from benchmarks.data import cab_flows
from flowveil._methods import atg, crosscut, mosaic, nested
from flowveil._methods.cuts import mosaic_splits
from flowveil._methods.lagrange import bracket
from flowveil._problem import Problem, Requirement

REPEATS = 3  # the best of these counts


def main():
    flows, name = cab_flows()
    budget = flows.total // 10
    print(f"tree methods, {name}: {len(flows):,} flows, {flows.total:,} trips, k 10, 10 % suppression")

    def problem():
        return Problem(flows, Requirement(10), budget)

    answers = {}
    methods = {"mosaic": mosaic, "nested": nested, "crosscut": crosscut, "atg-dual": atg}
    print(f"  {'method':10} {'answer':>8} {'frontier':>9} {'ratio':>6}")
    for method, module in methods.items():
        solve = getattr(module, "solve", None) or module.solve_dual
        solve(problem())  # compiles
        answers[method] = _seconds(lambda solve=solve: solve(problem()))
        frontier = _seconds(lambda module=module: module.frontier(problem()))
        print(f"  {method:10} {answers[method]:6.2f} s {frontier:7.2f} s {frontier / answers[method]:6.2f}")
        assert frontier < 3 * answers[method]

    plain = _seconds(lambda: plain_mosaic.Mosaic(flows, 10).solve(budget), repeats=1)
    _, ours = bracket(mosaic_splits(problem().cube), lambda cut: cut.suppressed <= budget)
    loss, suppressed = plain_mosaic.Mosaic(flows, 10).solve(budget)
    same = ours.suppressed == suppressed and abs(ours.loss - loss) < 1e-3
    print(f"  plain NumPy mosaic {plain:.2f} s: {plain / answers['mosaic']:.1f} times; same cut: {same}")
    assert same
    assert plain > 1.5 * answers["mosaic"]


def _seconds(work, repeats=REPEATS):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
