"""The claims of being finest, on thousands of small random matrices, as steps of time and groups make them.

A method of ours must not be coarser than a published one whose releases it could make itself: in mean tiles of both ends
of a published trip, at the same budget. Where the published one leaves out more than that, ours may leave out as much.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import numpy as np

from flowveil._errors import PromiseError
from flowveil._flows import Flows, People
from flowveil._methods import find_method
from flowveil._places import Family, Hierarchy
from flowveil._problem import Problem, Requirement

MATRICES = 5_000
ROUNDING = 1e-9

# The published methods with areas of a tree, each with options.
RIVALS = (
    ("oigh", {}),
    ("oigh", {"precision": "steps"}),
    *(("atg-dual", {"v_target": target}) for target in ("auto", 3, 10, 30, 100)),
    *(("atg-soft", options) for options in ({}, {"v_target": 20}, {"v_target": 10, "lam": 6}, {"lam": 12})),
    *(("knapsack", options) for options in ({}, {"v_target": 20}, {"v_target": 8, "delta": 1.0})),
    *(("odkanon", options) for options in ({}, {"reinstate": False}, {"levels": 1, "filter_budget": 0.3})),
    *(("uniform-tiles", {"steps": steps}) for steps in (1, 2, 3)),
    ("suppression", {}),
)
GRIDS = {"oigh", "uniform-tiles", "suppression", "odkanon"}  # one map for each end
OURS = {
    "mosaic": {rival for rival, _ in RIVALS} | {"nested", "crosscut"},
    "nested": {rival for rival, _ in RIVALS} | {"crosscut"},
    "crosscut": GRIDS,
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
    for several in (False, True):
        start = time.perf_counter()
        tally = Counter()
        for seed in range(MATRICES):
            check(random_problem(seed, several=several), tally)
        kind = "families of three trees" if several else "trees"
        seconds = time.perf_counter() - start
        print(f"claims on {MATRICES:,} random matrices, {kind}: {sum(tally.values()):,} comparisons, {seconds:.0f} s")
        for pair, count in sorted(tally.items()):
            print(f"  {' never coarser than '.join(pair)}: {count:,} comparisons")


def random_problem(seed, *, several=False):
    """Return a problem with 3 to 9 tiles at each end and 20 to 400 trips, with persons half of the time."""
    random = np.random.default_rng(seed)
    ends = []
    for _ in range(2):
        tiles = int(random.integers(3, 10))
        ends.append([random_tree(random, tiles) for _ in range(3 if several else 1)])
    if random.random() < 0.3:
        ends[1] = ends[0]
    leaves = [np.flatnonzero(trees[0].is_leaf) for trees in ends]
    trips = int(random.integers(20, 400))
    chance = [random.dirichlet(np.full(len(leaf), 0.7)) for leaf in leaves]
    origin, destination = (random.choice(leaf, trips, p=p) for leaf, p in zip(leaves, chance, strict=True))
    person = random.integers(0, random.integers(5, trips), trips)
    pairs, pair, counts = np.unique(np.stack([origin, destination]), axis=1, return_inverse=True, return_counts=True)
    visits = np.unique(np.stack([pair.ravel(), person]), axis=1)
    flows = Flows(
        places=Ground(ends),
        origins=ends[0][0],
        destinations=ends[1][0],
        origin=pairs[0],
        destination=pairs[1],
        trips=counts,
        edges=np.array([0, len(counts)]),
        people=People(visits[0], visits[1], None) if random.random() < 0.5 else None,
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


def check(problem, tally):
    """Compare every method of ours with the published ones that it claims not to be coarser than."""
    alone = replace(problem, several=False)
    found = {}

    def ours(name, budget):
        if (name, budget) not in found:
            asked = replace(alone if name == "crosscut" else problem, budget=budget)
            found[name, budget] = measure(asked, find_method(name).solve(asked))
        return found[name, budget]

    rivals = [(name, measure(alone, solution)) for name, solution in _solved(alone)]
    rivals += [(name, ours(name, problem.budget)) for name in ("nested", "crosscut") if _can(ours, name, problem)]
    for rival, (coarse, left_out) in rivals:
        for name, claimed in OURS.items():
            if rival in claimed:
                fine, suppressed = ours(name, max(problem.budget, left_out))
                assert suppressed <= max(problem.budget, left_out)
                assert fine <= coarse * (1 + ROUNDING), f"{name} {fine}, {rival} {coarse}"
                tally[name, rival] += 1


def _can(ours, name, problem):
    try:
        ours(name, problem.budget)
    except PromiseError:
        return False
    return True


def _solved(problem):
    for name, options in RIVALS:
        try:
            solution = find_method(name).solve(problem, **options)
        except PromiseError:
            continue
        if len(solution.origin):
            yield name, solution


def measure(problem, solution):
    """Return mean tiles of both ends over published trips, and the trips left out."""
    families = solution.families or (problem.flows.origins, problem.flows.destinations)
    tiles = families[0].tiles[solution.origin] + families[1].tiles[solution.destination]
    kept = solution.group >= 0
    trips = problem.flows.trips[kept]
    return float(np.average(tiles[solution.group[kept]], weights=trips)), int(problem.flows.total - trips.sum())


if __name__ == "__main__":
    main()
