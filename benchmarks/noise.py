"""Noise at full strength: our method beside others, on cabs and on a synthetic city, in 4 and 6 dimensions.

`python -m benchmarks noise` runs all; with `cabs` or `city` one of them, with `plain` what is fast: ours, a plain
PrivTree with marginals on even grids, DAF and grids. All methods of a table answer the same queries. A stop of a cab is
where it let its passengers out, and its trip ends where it next took some on; a person of the city stops where one trip
ended, on the way to where the next one did.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import CABS, CABS_BBOX
from benchmarks.matrices import SIDE, _head, _row
from flowveil import add_noise, build_matrix, build_tile_matrix
from flowveil._matrices.area_workloads import answer_leaves, lay_grid
from flowveil._matrices.marginals import PlaceBoxes, _project
from flowveil._matrices.methods import BOX_METHODS
from flowveil._matrices.points import Points, add
from flowveil._matrices.settling import non_negative
from flowveil._matrices.workloads import answer_boxes, make_workload, mre
from flowveil._noise import Ledger, variance
from flowveil.synthetic import CITY_BBOX, City

RUNS, QUERIES = 5, 300
TRIPS, SEED = 450_000, 7  # the city that shares were chosen on has seed 0
COARSE = 30  # cells a side of `identity`
FOUR = (("random", "uniform"), ("1%", "records"), ("5%", "records"), ("10%", "records"))
SIX = (("random", "uniform"), ("5%", "records"), ("10%", "records"), ("20%", "records"))
PLAIN_SHARE = 0.2  # of epsilon for marginals of the plain tree, the better of 0.2 and 0.3 on the city of seed 0
PLAIN_SIDE = {0.1: 64, 0.5: 128, 1.0: 128}  # cells a side of its marginals: the best of 32, 64 and 128 there
PLAIN = "plain PrivTree with marginals"
GRIDS = ("eug", "eug-border")  # run once in six dimensions: millions of boxes, and runs that hardly differ
FAST = ("noisy-tree", PLAIN, "daf-entropy", "eug", "eug-border")
METHODS = (*FAST, "privtree")


def chained(table, person):
    """Return trips with a stop: from a start over an end to the next place of the same person or cab."""
    table = table.sort_by([(person, "ascending"), ("start_time", "ascending")])
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    here = np.flatnonzero(columns[person][1:] == columns[person][:-1])
    last = "start" if person == "vehicle_id" else "end"
    return pa.table(
        {f"start_{axis}": columns[f"start_{axis}"][here] for axis in ("lon", "lat")}
        | {f"stop_{axis}": columns[f"end_{axis}"][here] for axis in ("lon", "lat")}
        | {f"end_{axis}": columns[f"{last}_{axis}"][here + 1] for axis in ("lon", "lat")}
    )


def coarse(points, side):
    """Return the same trips on fewer cells."""
    cells = points.cells * side // np.array(points.lengths)
    distinct, row = np.unique(cells, axis=0, return_inverse=True)
    return Points(distinct, add(row.ravel(), points.counts, len(distinct)), (side,) * len(points.lengths))


def identity(points, epsilon, asked):
    """Return errors of noise on every one of few cells; queries are those of the fine grid."""
    boxes, _ = laid(points, COARSE, epsilon)
    return [mre(workload, answer_boxes(workload, boxes))["mre"] for workload in asked]


def laid(points, side, epsilon):
    """Return boxes of noise on every one of few cells, on the fine grid, and the scales of their noise."""
    ledger = Ledger(epsilon)
    boxes = BOX_METHODS["identity"](coarse(points, side), ledger)
    low, high = (-(-corner * points.lengths[0] // side) for corner in (boxes.low, boxes.high))
    return replace(boxes, low=low, high=high), ledger.scales(boxes.charged)


def plain_tree(points, ledger):
    """Return PrivTree as published, half for its tree and half for counts, with marginals on even grids."""
    epsilon, places = ledger.epsilon, len(points.lengths) // 2
    boxes = BOX_METHODS["privtree"](points, Ledger((1 - PLAIN_SHARE) * epsilon))
    marginals = []
    for place in range(places):
        grid, scales = laid(_project(points, place), PLAIN_SIDE[epsilon], PLAIN_SHARE * epsilon / places)
        marginals.append(PlaceBoxes(grid.low, grid.high, grid.counts, scales, grid.matrix))
    return replace(boxes, marginals=tuple(marginals))


def boxes_row(name, points, epsilon, asked, runs=RUNS):
    """Print the mean over runs, and below it how far that mean may be off: one standard error."""
    method = plain_tree if name == PLAIN else BOX_METHODS[name]
    found, projected, seconds = [], [], []
    for _ in range(runs):
        start = time.process_time()
        ledger = Ledger(epsilon)
        boxes = method(points, ledger)
        seconds.append(time.process_time() - start)
        found.append([mre(workload, answer_boxes(workload, boxes))["mre"] for workload in asked])
        if name == "noisy-tree":
            counts = non_negative(boxes.counts, variance(ledger.scales(boxes.charged)))
            projected.append([mre(workload, answer_boxes(workload, boxes, counts))["mre"] for workload in asked])
    once = ", one run" if runs == 1 else ""
    _row(f"{epsilon} {name} ({len(boxes):,} boxes, {min(seconds):.1f} s{once})", np.mean(found, axis=0))
    if runs > 1:
        _row("standard error", np.std(found, axis=0, ddof=1) / runs**0.5)
    if projected:
        _row(f"{epsilon} {name}, non-negative", np.mean(projected, axis=0))


def mosaic_row(source, box, epsilon, asked):
    tiles = build_tile_matrix(source, box)
    lattice = lay_grid(tiles.grid, SIDE)
    found = []
    for _ in range(RUNS):
        leaves = add_noise(tiles, epsilon=epsilon).boxes
        found.append([mre(w, answer_leaves(w, tiles.grid, leaves, lattice))["mre"] for w in asked])
    _row(f"{epsilon} noisy-mosaic ({len(leaves):,} flows)", np.mean(found, axis=0))


def measure(title, source, box, person, methods):
    """Print both tables of a source."""
    points = build_matrix(source, box, SIDE).points
    asked = [make_workload(points, *kind, QUERIES) for kind in FOUR]
    print(f"\n### {title}, 4-D, {points.counts.sum():,} trips, mean of {RUNS} runs\n")
    _head("epsilon, method", asked)
    for epsilon in PLAIN_SIDE:
        for name in methods:
            boxes_row(name, points, epsilon, asked)
        if methods == METHODS:
            mosaic_row(source, box, epsilon, asked)
            every = [identity(points, epsilon, asked) for _ in range(RUNS)]
            _row(f"{epsilon} identity, {COARSE} cells a side", np.mean(every, axis=0))
    points = build_matrix(chained(source, person), box, SIDE, stops="stop_lon,stop_lat").points
    asked = [make_workload(points, *kind, QUERIES) for kind in SIX]
    print(f"\n### {title} with one stop, 6-D, {points.counts.sum():,} trips, mean of {RUNS} runs\n")
    _head("epsilon, method", asked)
    for name in methods:
        boxes_row(name, points, 1.0, asked, 1 if name in GRIDS else RUNS)


def main():
    methods = FAST if "plain" in sys.argv else METHODS
    if "city" not in sys.argv and CABS.is_file():
        measure("SF cabs", pq.read_table(CABS), CABS_BBOX, "vehicle_id", methods)
    if "cabs" not in sys.argv:
        city = City(seed=SEED, persons=TRIPS // 20).trips(TRIPS)
        measure("synthetic city", city, CITY_BBOX, "person_id", methods)
