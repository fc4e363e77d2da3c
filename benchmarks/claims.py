"""The claims of being finest, on thousands of small random matrices, as steps of time and groups make them.

A method of ours must not be coarser than a published one whose releases it could make itself, in mean tiles of both
ends of a published trip, at the same budget. Where the published one leaves out more, ours may leave out as much.
"""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa

from flowveil._errors import PromiseError
from flowveil._flows import Flows, People
from flowveil._methods import find_method
from flowveil._places import Family, Hierarchy
from flowveil._problem import Problem, Requirement

PROBLEMS = 5_000
ROUNDING = 1e-9

# The published methods with areas of a tree, each with options. Without `reinstate` odkanon does not count all trips.
RIVALS = (
    ("oigh", {}),
    ("oigh", {"precision": "steps"}),
    *(("atg-dual", {"v_target": target}) for target in ("auto", 3, 10, 30, 100)),
    *(("atg-soft", options) for options in ({}, {"v_target": 20}, {"v_target": 10, "lam": 6})),
    *(("knapsack", options) for options in ({}, {"v_target": 20}, {"v_target": 8, "delta": 1.0})),
    *(("odkanon", options) for options in ({}, {"levels": 1, "filter_budget": 0.3})),
    *(("uniform-tiles", {"steps": steps}) for steps in (1, 2, 3)),
    ("suppression", {}),
)
NESTED = {"oigh", "atg-dual", "atg-soft", "knapsack", "uniform-tiles", "suppression", "crosscut"}
CLAIMS = {
    "mosaic": NESTED | {"odkanon", "nested"},
    "nested": NESTED,
    "crosscut": {"oigh", "uniform-tiles", "suppression"},  # of one matrix
}


class Ground:
    """Places of numbered tiles; an area is known by its tiles, the bits of its key."""

    top = "all"
    by_zone = True

    def __init__(self, trees):
        self.trees = trees

    def family(self, tree):
        """Return the trees of the end that a tree is of."""
        return Family.join(next(trees for trees in self.trees if trees[0] is tree))


def main():
    start = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        tally = sum(pool.map(compare, range(PROBLEMS), chunksize=50), Counter())
    seconds = time.perf_counter() - start
    print(f"claims on {PROBLEMS:,} small random problems, {sum(tally.values()):,} comparisons, {seconds:.0f} s:")
    for (name, rival), count in sorted(tally.items()):
        print(f"  {name} never coarser than {rival}: {count:,}")


def compare(seed):
    """Return how often methods were compared on a random problem: trees, families, or several matrices."""
    return check(random_problem(seed, several=seed % 5 == 0, matrices=1 + seed % 3 if seed % 5 == 1 else 1))


def random_problem(seed, *, several=False, matrices=1, most_tiles=9, most_trips=400):
    """Return a problem with 3 or more tiles at each end and 20 or more trips, with persons half of the time.

    several: with three trees for each end. matrices: the trips are in so many.
    """
    random = np.random.default_rng(seed)
    ends = []
    for _ in range(2):
        tiles = int(random.integers(3, most_tiles + 1))
        ends.append([random_tree(random, tiles) for _ in range(3 if several else 1)])
    if random.random() < 0.3:
        ends[1] = ends[0]
    leaves = [np.flatnonzero(trees[0].is_leaf) for trees in ends]
    trips = int(random.integers(20, most_trips))
    chance = [random.dirichlet(np.full(len(leaf), 0.7)) for leaf in leaves]
    origin, destination = (random.choice(leaf, trips, p=p) for leaf, p in zip(leaves, chance, strict=True))
    matrix = random.permutation(np.arange(trips) % matrices)
    person = random.integers(0, random.integers(5, trips), trips)
    keys = np.stack([matrix, origin, destination])
    pairs, pair, counts = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    visits = np.unique(np.stack([pair.ravel(), person]), axis=1)
    flows = Flows(
        places=Ground(ends),
        origins=ends[0][0],
        destinations=ends[1][0],
        origin=pairs[1],
        destination=pairs[2],
        trips=counts,
        edges=np.searchsorted(pairs[0], np.arange(matrices + 1)),
        people=People(visits[0], visits[1], None) if random.random() < 0.5 else None,
        matrices=pa.table({"group": list(range(matrices))} if matrices > 1 else {}),
    )
    budget = int(trips * random.choice([0, 0.01, 0.05, 0.1, 0.2]))
    return Problem(flows, Requirement(int(random.integers(2, 11))), budget, several=several)


def random_tree(random, tiles):
    """Return a tree: binary, of the nearest of random points first, or uneven, with up to five parts."""
    place = list(random.random((tiles, 2)))
    key, parent = [1 << tile for tile in range(tiles)], [-1] * tiles
    top = list(range(tiles))
    binary = random.random() < 0.6
    while len(top) > 1:
        if binary:
            pairs = [(a, b) for a in top for b in top if a < b]
            joined = min(pairs, key=lambda pair: float(((place[pair[0]] - place[pair[1]]) ** 2).sum()))
        else:
            size = min(len(top), int(random.integers(2, 6)))
            joined = random.choice(top, size, replace=False).tolist()
        node = len(key)
        for part in joined:
            parent[part] = node
        parent.append(-1)
        key.append(sum(key[part] for part in joined))
        place.append(np.mean([place[part] for part in joined], axis=0))
        top = [other for other in top if other not in joined] + [node]
    return Hierarchy.from_parents(np.array(parent), np.array(key, np.uint64))[0]


def check(problem):
    """Compare every method of ours with those that it claims not to be coarser than; return how often."""
    alone = replace(problem, several=False)
    found, tally = {}, Counter()

    def ours(name, budget):
        if (name, budget) not in found:
            asked = alone if name == "crosscut" else problem
            cube = asked.cube
            asked = replace(asked, budget=budget)
            vars(asked)["cube"] = cube  # which no budget changes
            found[name, budget] = _solve(name, asked)
        return found[name, budget]

    rivals = [(name, options, _solve(name, alone, options)) for name, options in RIVALS]
    rivals += [(name, {}, ours(name, problem.budget)) for name in ("nested", "crosscut")]
    for rival, options, result in rivals:
        for name in CLAIMS:
            if result is not None and _is_claimed(name, rival, options, problem):
                coarse, left_out = result
                most = max(problem.budget, left_out)
                fine, suppressed = ours(name, most)
                assert suppressed <= most
                assert fine <= coarse * (1 + ROUNDING), f"{name} {fine}, {rival} {options} {coarse}"
                tally[name, rival] += 1
    return tally


def _is_claimed(name, rival, options, problem):
    if name == "crosscut" and problem.flows.matrix_count > 1:
        return rival == "oigh" and not options
    return rival in CLAIMS[name]


def _solve(name, problem, options=None):
    """Return what a method reaches, None where it finds nothing to publish."""
    try:
        solution = find_method(name).run(problem, options or {}, lambda work, parts, _: [work(part) for part in parts])
    except PromiseError:
        return None
    return measure(problem, solution) if len(solution.origin) else None


def measure(problem, solution):
    """Return mean tiles of both ends over published trips, and the trips left out."""
    families = solution.numbered or (problem.flows.origins, problem.flows.destinations)
    tiles = families[0].tiles[solution.origin] + families[1].tiles[solution.destination]
    kept = solution.group >= 0
    trips = problem.flows.trips[kept]
    return float(np.average(tiles[solution.group[kept]], weights=trips)), int(problem.flows.total - trips.sum())


if __name__ == "__main__":
    main()
