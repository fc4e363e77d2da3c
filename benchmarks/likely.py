"""How often the likely range of an answer holds the truth, and how wide it is: cities that it was not chosen on."""

from __future__ import annotations

import sys

import numpy as np

from flowveil import add_noise, build_matrix, build_tile_matrix
from flowveil._matrices import query_noisy
from flowveil._matrices.workloads import make_workload
from flowveil.synthetic import CITY_BBOX, City

SEEDS = (5, 6)  # the factor was chosen on 0 and 1
TRIPS, SIDE, QUERIES = 200_000, 1000, 40
KINDS = (("random", "uniform"), ("1%", "records"), ("5%", "records"), ("10%", "records"), ("10%", "uniform"))
METHODS = ("noisy-tree", "privtree", "eug-border", "noisy-mosaic")


def degrees(workload, query, place):
    """Return one box of a query, west, south, east, north."""
    west, south, east, north = CITY_BBOX
    axes = slice(2 * place, 2 * place + 2)
    size = np.array([east - west, north - south]) / SIDE
    corners = [np.array([west, south]) + edge[query, axes] * size for edge in (workload.low, workload.high)]
    return (*corners[0], *corners[1])


def main():
    print(f"\n### likely ranges: % of true answers inside, synthetic cities of seeds {SEEDS}, {QUERIES} queries each\n")
    print("| epsilon, method | " + " | ".join(" ".join(kind) for kind in KINDS) + " |\n|---|" + "---:|" * len(KINDS))
    held = {}
    for seed in SEEDS[:1] if "quick" in sys.argv else SEEDS:
        trips = City(seed=seed, persons=TRIPS // 20).trips(TRIPS)
        cells, tiles = build_matrix(trips, CITY_BBOX, SIDE), build_tile_matrix(trips, CITY_BBOX)
        asked = [make_workload(cells.points, *kind, QUERIES) for kind in KINDS]
        for epsilon in (0.1, 1.0):
            for method in METHODS:
                release = add_noise(tiles if method == "noisy-mosaic" else cells, method, epsilon)
                for workload in asked:
                    for query in range(QUERIES):
                        answer = query_noisy(
                            release, origin=degrees(workload, query, 0), destination=degrees(workload, query, 1)
                        )
                        inside = answer.likely_low <= workload.true[query] <= answer.likely_high
                        held.setdefault((epsilon, method, workload.name), []).append(inside)
    for epsilon in (0.1, 1.0):
        for method in METHODS:
            shares = [100 * np.mean(held[epsilon, method, workload.name]) for workload in asked]
            print(f"| {epsilon} {method} | " + " | ".join(f"{share:.0f}" for share in shares) + " |", flush=True)
