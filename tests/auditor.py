"""An auditor that runs methods many times on neighboring inputs and looks for events that epsilon does not allow.

It looks at the count of the box that holds the trip in question, at all counts together, and at the structure of the
partition. It calls each method by itself, as the library does, and judges by what comes out alone.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from flowveil._matrices import daf, grids
from flowveil._matrices.boxes import Boxes
from flowveil._matrices.ladder import Ladders, make_ladder
from flowveil._matrices.laplace import laplace
from flowveil._matrices.mosaic import noisy_mosaic
from flowveil._matrices.noisytree import noisy_tree
from flowveil._matrices.points import Points
from flowveil._matrices.privtree import privtree
from flowveil._noise import Ledger
from flowveil._places import Hierarchy

EPSILON = 2.0
RUNS = 10_000
FEWER_RUNS = 4_000  # where mistakes are plain: twice what finds noise of half the scale
ALPHA = 1e-6


def bounds(seen, runs):
    """Return the Clopper-Pearson bounds of a probability, each missed with a chance of at most ALPHA."""
    low = stats.beta.ppf(ALPHA, seen, runs - seen + 1) if seen else 0.0
    high = stats.beta.ppf(1 - ALPHA, seen + 1, runs - seen) if seen < runs else 1.0
    return low, high


def copies(cells, runs, lengths=(4, 4)):
    """Return a matrix with one trip in each of `cells` (which may repeat), `runs` times."""
    cells = np.array(cells, np.int64).reshape(-1, len(lengths))
    distinct, counts = np.unique(cells, axis=0, return_counts=True)
    number = np.repeat(np.arange(runs), len(distinct))
    return Points(np.tile(distinct, (runs, 1)), np.tile(counts, runs), lengths, number, runs)


def observe(boxes, runs, cell):
    """Return what an attacker sees of each run: structure, count of the box of `cell`, total, size of that box."""
    edges = np.column_stack([boxes.low, boxes.high])
    odd = np.random.default_rng(1).integers(0, 2**62, edges.shape[1], np.uint64) | np.uint64(1)
    mixed = edges.astype(np.uint64) @ odd
    mixed ^= mixed >> np.uint64(29)
    mixed *= odd[0]
    structure = np.zeros(runs, np.uint64)
    np.add.at(structure, boxes.matrix, mixed ^ (mixed >> np.uint64(31)))
    for place, marginal in enumerate(boxes.marginals):
        edges = np.column_stack([marginal.low, marginal.high]).astype(np.uint64) @ odd[:4] * np.uint64(2 * place + 3)
        np.add.at(structure, marginal.matrix, edges ^ (edges >> np.uint64(31)))
    holds = ((boxes.low <= cell) & (cell < boxes.high)).all(axis=1)
    count = np.zeros(runs, np.int64)
    count[boxes.matrix[holds]] = boxes.counts[holds]
    total = np.bincount(boxes.matrix, boxes.counts, runs).astype(np.int64)
    size = np.zeros(runs, np.int64)
    size[boxes.matrix[holds]] = (boxes.high - boxes.low).prod(axis=1)[holds]
    return structure, count, total, size, [at_place(*pair, cell, runs) for pair in enumerate(boxes.marginals)]


def at_place(place, marginal, cell, runs):
    """Return what an attacker sees of a marginal in each run: the count of the box of `cell`."""
    own = cell[2 * place : 2 * place + 2]
    holds = ((marginal.low <= own) & (own < marginal.high)).all(axis=1)
    count = np.zeros(runs, np.int64)
    count[marginal.matrix[holds]] = marginal.counts[holds]
    return count


def events(seen):
    """Yield tests of what is seen, made from the first input alone."""
    structure, count, total, size, marginals = seen
    kinds, often = np.unique(structure, return_counts=True)
    common = kinds[np.argsort(-often)][:20]
    for kind in common:
        yield "structure", lambda other, kind=kind: other[0] == kind
    yield "structure", lambda other: ~np.isin(other[0], common)
    for edge in np.unique(size):
        yield "structure", lambda other, edge=edge: other[3] <= edge
    for place, values in ((1, count), (2, total)):
        for edge in np.unique(np.quantile(values, np.linspace(0, 1, 15)).astype(int)):
            yield "output", lambda other, place=place, edge=edge: other[place] >= edge
            yield "output", lambda other, place=place, edge=edge: other[place] <= edge
    middle = [int(np.median(values)) for values in (count, *marginals)]
    for away in (-1, 0, 1, 2) if marginals else ():
        yield "marginals", lambda other, away=away: all_beyond(other, middle, away)
        yield "marginals", lambda other, away=away: ~all_beyond(other, middle, away)
    for kind in common[:3]:
        for edge in np.unique(np.quantile(count[structure == kind], [0.1, 0.5, 0.9]).astype(int)):
            yield "both", lambda other, kind=kind, edge=edge: (other[0] == kind) & (other[1] >= edge)
            yield "both", lambda other, kind=kind, edge=edge: (other[0] == kind) & (other[1] <= edge)


def all_beyond(seen, middle, away):
    """Return in which runs the box of the trip and all marginals have counts above their middle by so much."""
    return np.all([values >= edge + away for values, edge in zip((seen[1], *seen[4]), middle, strict=True)], axis=0)


def audit(method, cells, runs=RUNS, lengths=(4, 4)):
    """Return by kind of event the largest epsilon that was seen for certain, a lower bound of the true one.

    It is the logarithm of how much more likely an event is with a trip than without, or reversed, at least.
    `cells` are the trips of the larger input; the last one is missing from its neighbor.
    """
    cell = np.array(cells[-1])
    sides = [
        observe(method(copies(each, runs, lengths), Ledger(EPSILON, runs)), runs, cell) for each in (cells, cells[:-1])
    ]
    found = {}
    for first, second in (sides, sides[::-1]):
        for kind, event in events(first):
            likely, unlikely = (int(event(side).sum()) for side in (first, second))
            low = bounds(likely, runs)[0]
            if low > 0:
                found[kind] = max(found.get(kind, 0.0), float(np.log(low / bounds(unlikely, runs)[1])))
    return found


def caught(method, cells, runs=RUNS, lengths=(4, 4)):
    """Return the kinds of events that epsilon does not allow."""
    return {kind for kind, seen in audit(method, cells, runs, lengths).items() if seen > EPSILON}


TEN = [(at % 4, at // 4 % 4) for at in range(10)]
THREE = [(0, 0), (0, 0), (3, 2)]
LINE = (256,)  # so long that a path has eight decisions
ONE, FOUR = [(77,)], [(77,)] * 4
FLAT = (2, 2, 2, 2)
TWO_PLACES = [(0, 1, 1, 0)] * 3
FEW_RUNS = 2_000  # where one run takes long


def small_mosaic(points, ledger):
    """Run noisy-mosaic on a tree of two pairs of tiles at both ends, and return boxes."""
    tree, _ = Hierarchy.from_parents(np.array([-1, 0, 0, 1, 1, 2, 2]), np.arange(7, dtype=np.uint64))
    ladder = make_ladder(tree)
    leaves = noisy_mosaic(points, ledger, Ladders((ladder, ladder)))
    start, end = Ladders((ladder, ladder)).tiles(leaves.pairs.level, leaves.pairs.area)
    return Boxes(start, end, leaves.counts, leaves.charged, leaves.pairs.matrix, leaves.pairs.node)


def small_laplace(points, ledger):
    """Run laplace on each copy by itself, as it takes one matrix; return every pair as a box, listed or not."""
    del ledger  # of all copies: here each has its own
    every = np.stack(np.meshgrid(*map(np.arange, points.lengths), indexing="ij"), axis=-1).reshape(-1, 2)
    counts = np.zeros((points.matrices, *points.lengths), np.int64)
    for number in range(points.matrices):
        own = points.number == number
        listed = laplace(Points(points.cells[own], points.counts[own], points.lengths), Ledger(EPSILON))
        counts[number][tuple(listed.cells.T)] = listed.counts
    low, matrix = np.tile(every, (points.matrices, 1)), np.repeat(np.arange(points.matrices), len(every))
    return Boxes(low, low + 1, counts.ravel(), np.ones(len(low), np.int64), matrix, np.arange(len(low)))


# Every method with noise: how it is called, the trips of the larger input, sides of the matrix, and runs.
AUDITED = {
    "identity": (grids.identity, THREE, (4, 4), FEWER_RUNS),
    "uniform": (grids.uniform, TEN, (4, 4), FEWER_RUNS),
    "eug": (grids.eug, [(0, 0)] * 30, (4, 4), FEWER_RUNS),
    "eug-border": (grids.eug_border, [(0, 0)] * 30, (4, 4), FEWER_RUNS),
    "ebp": (grids.ebp, TEN, (4, 4), FEWER_RUNS),
    "mkm": (grids.mkm, TEN, (4, 4), FEWER_RUNS),
    "daf-entropy": (daf.daf_entropy, TEN, (4, 4), FEWER_RUNS),
    "daf-homogeneity": (daf.daf_homogeneity, TEN, (4, 4), FEW_RUNS),
    "privtree": (privtree, FOUR, LINE, RUNS),
    "noisy-tree": (noisy_tree, TWO_PLACES, FLAT, RUNS),
    "laplace": (small_laplace, THREE, (4, 4), FEW_RUNS),
    "noisy-mosaic": (small_mosaic, TEN, (4, 4), FEWER_RUNS),
}
