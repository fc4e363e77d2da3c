"""Methods that add noise: error of range queries on synthetic data (paper, section 6.1) and on San Francisco cabs."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np

from benchmarks.data import CABS, CABS_BBOX
from flowveil import add_noise, build_matrix, build_tile_matrix
from flowveil._matrices.area_workloads import answer_leaves, lay_grid
from flowveil._matrices.methods import BOX_METHODS
from flowveil._matrices.points import Points
from flowveil._matrices.workloads import PLACEMENTS, SIZES, answer_boxes, make_workload, mre
from flowveil._noise import Ledger
from flowveil.synthetic import CITY_BBOX, City

SIDE = 1000
TRIPS = 1_000_000
SPREAD = 0.05  # standard deviation of the Gaussian, in sides
SKEW = 2.0  # exponent of Zipf


def gaussian(d, seed=0, trips=TRIPS, side=SIDE):
    """Return one cluster around a random center, as in the paper; what falls outside is left out."""
    random = np.random.default_rng([seed, d])
    center = random.integers(0, side, d)
    return _points(np.rint(random.normal(center, SPREAD * side, (trips, d))), side)


def zipf(d, seed=0, trips=TRIPS, side=SIDE):
    """Return independent Zipf coordinates, as in the paper."""
    return _points(np.random.default_rng([seed, d]).zipf(SKEW, (trips, d)).astype(float) - 1, side)


def _points(cells, side):
    cells = cells[((cells >= 0) & (cells < side)).all(axis=1)].astype(np.int64)
    distinct, counts = np.unique(cells, axis=0, return_counts=True)
    return Points(distinct, counts, (side,) * cells.shape[1])


def workloads(points, queries):
    kinds = [(size, place) for size in SIZES for place in PLACEMENTS if size != "random" or place == "uniform"]
    return [make_workload(points, size, place, queries) for size, place in kinds]


def _row(name, figures):
    print(f"| {name} | " + " | ".join("-" if value is None else f"{value:.1f}" for value in figures) + " |", flush=True)


def _head(first, asked):
    print(f"| {first} | " + " | ".join(workload.name for workload in asked) + " |")
    print("|---|" + "---|" * len(asked))
    _row("queries without trips, %", [100 * mre(workload, workload.true)["empty"] for workload in asked])
    _row("always 0", [mre(workload, workload.true)["zero"] for workload in asked])


def _try(method, points, epsilon, asked, runs=1):
    """Return the mean over runs of the mean relative error for each workload, or why the method refuses."""
    found = []
    for _ in range(runs):
        try:
            boxes = method(points, Ledger(epsilon))
        except Exception as refused:  # noqa: BLE001  the table says so
            return str(refused).split("\n", maxsplit=1)[0]
        found.append([mre(workload, answer_boxes(workload, boxes))["mre"] for workload in asked])
    return np.mean(found, axis=0)


def synthetic(queries=200, dimensions=(2, 4, 6), epsilons=(0.1, 0.3, 0.5)):
    for make in (gaussian, zipf):
        for d in dimensions:
            points = make(d)
            asked = workloads(points, queries)
            print(f"\n### {make.__name__}, {d}-D, {points.counts.sum():,} trips\n")
            _head("epsilon, method", asked)
            for epsilon in epsilons:
                for name, method in BOX_METHODS.items():
                    result = _try(method, points, epsilon, asked)
                    if isinstance(result, str):
                        print(f"| {epsilon} {name} | {result} |" + " |" * (len(asked) - 1), flush=True)
                    else:
                        _row(f"{epsilon} {name}", result)


def check(runs=10, queries=200):
    """Check that daf-entropy beats the paper's eug and ebp on Gaussian 4-D data: mean of 10 runs, each a new cluster.

    Queries on records decide: of those placed uniformly nearly all are empty, and what is left ranks nothing.
    """
    names, epsilons = ("eug", "ebp", "eug-border", "daf-entropy"), (0.1, 0.5)
    kinds = [(size, place) for size in ("5%", "10%") for place in PLACEMENTS]
    found = {(epsilon, name): [] for epsilon in epsilons for name in names}
    for seed in range(runs):
        points = gaussian(4, seed)
        asked = [make_workload(points, *kind, queries) for kind in kinds]
        for (epsilon, name), figures in found.items():
            figures.append(_try(BOX_METHODS[name], points, epsilon, asked))
    print(
        f"\n### check: Gaussian, 4-D, mean of {runs} runs\n\n| epsilon, method | "
        + " | ".join(map(" ".join, kinds))
        + " |"
    )
    print("|---|" + "---|" * len(kinds))
    for (epsilon, name), figures in found.items():
        _row(f"{epsilon} {name}", np.mean(figures, axis=0))
    records = [at for at, kind in enumerate(kinds) if kind[1] == "records"]
    for epsilon in epsilons:
        mean = {name: np.mean(found[epsilon, name], axis=0)[records] for name in names}
        assert (mean["daf-entropy"] < mean["eug"]).all()
        assert (mean["daf-entropy"] < mean["ebp"]).all()


def cabs(queries=500, runs=3, epsilons=(0.1, 0.5, 1.0)):
    """Every method on cab trips, or on the synthetic city where they are not there."""
    source, box, name = (CABS, CABS_BBOX, "SF cabs") if CABS.is_file() else (City().trips(450_000), CITY_BBOX, "city")
    matrix, tiles = build_matrix(source, box, SIDE), build_tile_matrix(source, box)
    asked = workloads(matrix.points, queries)
    lattice = lay_grid(tiles.grid, SIDE)
    print(f"\n### {name}, 4-D, {SIDE} a side, mean of {runs} runs\n")
    _head("epsilon, method", asked)
    for epsilon in epsilons:
        for method in BOX_METHODS:
            start = time.perf_counter()
            result = _try(BOX_METHODS[method], matrix.points, epsilon, asked, runs)
            if isinstance(result, str):
                print(f"| {epsilon} {method} | {result} |" + " |" * (len(asked) - 1), flush=True)
            else:
                _row(f"{epsilon} {method}", result)
        raw, seconds = [], []
        for _ in range(runs):
            start = time.perf_counter()
            leaves = add_noise(tiles, epsilon=epsilon).boxes
            seconds.append(time.perf_counter() - start)
            raw.append([mre(w, answer_leaves(w, tiles.grid, leaves, lattice))["mre"] for w in asked])
        _row(f"{epsilon} noisy-mosaic ({len(leaves):,} flows, {min(seconds):.1f} s)", np.mean(raw, axis=0))
    for epsilon in (0.1, 0.5, 1.0):
        start = time.perf_counter()
        boxes = BOX_METHODS["daf-entropy"](matrix.points, Ledger(epsilon))
        seconds = time.perf_counter() - start
        tracemalloc.start()
        BOX_METHODS["daf-entropy"](matrix.points, Ledger(epsilon))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"daf-entropy at {epsilon}: {len(boxes):,} boxes, {seconds:.2f} s, {peak / 2**20:.0f} MB beyond the input"
        )


def main():
    check()
    cabs(queries=200, runs=1)
