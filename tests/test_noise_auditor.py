"""An auditor that runs methods many times on neighboring inputs and looks for events that epsilon does not allow.

It looks at the count of the box that holds the trip in question, at all counts together, and at the structure of the
partition. Planted mutants show that it can fail; those that a ledger catches stand beside its other tests.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from flowveil._matrices import daf, grids
from flowveil._matrices.boxes import Boxes
from flowveil._matrices.ladder import make_ladder
from flowveil._matrices.mosaic import noisy_mosaic
from flowveil._matrices.points import Points
from flowveil._noise import Ledger, draws
from flowveil._places import Hierarchy

EPSILON = 2.0
RUNS = 40_000
FEWER_RUNS = 10_000  # for honest methods, which have more to draw
ALPHA = 1e-6


def bounds(seen, runs):
    """Return the Clopper-Pearson bounds of a probability, each missed with a chance of at most ALPHA."""
    low = stats.beta.ppf(ALPHA, seen, runs - seen + 1) if seen else 0.0
    high = stats.beta.ppf(1 - ALPHA, seen + 1, runs - seen) if seen < runs else 1.0
    return low, high


def copies(cells, runs):
    """Return a 4 x 4 matrix with one trip in each of `cells` (which may repeat), `runs` times."""
    distinct, counts = np.unique(np.array(cells, np.int64).reshape(-1, 2), axis=0, return_counts=True)
    number = np.repeat(np.arange(runs), len(distinct))
    return Points(np.tile(distinct, (runs, 1)), np.tile(counts, runs), (4, 4), number, runs)


def observe(boxes, runs, cell):
    """Return what an attacker sees of each run: the structure, the count of the box of `cell`, and the total."""
    code = np.column_stack([boxes.low, boxes.high]) @ np.array([1, 5, 25, 125])
    hashes = np.random.default_rng(1).integers(0, 2**62, 625, np.uint64)
    structure = np.zeros(runs, np.uint64)
    np.add.at(structure, boxes.matrix, hashes[code])
    holds = ((boxes.low <= cell) & (cell < boxes.high)).all(axis=1)
    count = np.zeros(runs, np.int64)
    count[boxes.matrix[holds]] = boxes.counts[holds]
    total = np.bincount(boxes.matrix, boxes.counts, runs).astype(np.int64)
    return structure, count, total


def events(seen):
    """Yield tests of what is seen, made from the first input alone."""
    structure, count, total = seen
    kinds, often = np.unique(structure, return_counts=True)
    common = kinds[np.argsort(-often)][:20]
    for kind in common:
        yield "structure", lambda other, kind=kind: other[0] == kind
    yield "structure", lambda other: ~np.isin(other[0], common)
    for place, values in ((1, count), (2, total)):
        for edge in np.unique(np.quantile(values, np.linspace(0, 1, 15)).astype(int)):
            yield "output", lambda other, place=place, edge=edge: other[place] >= edge
            yield "output", lambda other, place=place, edge=edge: other[place] <= edge
    for kind in common[:3]:
        for edge in np.unique(np.quantile(count[structure == kind], [0.1, 0.5, 0.9]).astype(int)):
            yield "both", lambda other, kind=kind, edge=edge: (other[0] == kind) & (other[1] >= edge)
            yield "both", lambda other, kind=kind, edge=edge: (other[0] == kind) & (other[1] <= edge)


def audit(method, cells, runs=RUNS):
    """Return the kinds of events that are more than exp(epsilon) times as likely with a trip as without, or reversed.

    `cells` are the trips of the larger input; the last one is missing from its neighbor.
    """
    cell = np.array(cells[-1])
    sides = [observe(method(copies(each, runs), Ledger(EPSILON, runs)), runs, cell) for each in (cells, cells[:-1])]
    found = set()
    for first, second in (sides, sides[::-1]):
        for kind, event in events(first):
            likely, unlikely = (int(event(side).sum()) for side in (first, second))
            if bounds(likely, runs)[0] > np.exp(EPSILON) * bounds(unlikely, runs)[1]:
                found.add(kind)
    return found


TEN = [(at % 4, at // 4 % 4) for at in range(10)]
THREE = [(0, 0), (0, 0), (3, 2)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "cells"),
    [(grids.uniform, TEN), (grids.mkm, TEN), (daf.daf_entropy, TEN), (daf.daf_entropy, THREE)],
)
def test_honest_methods_pass(method, cells):
    """What the methods publish about a trip stays within epsilon."""
    assert audit(method, cells, FEWER_RUNS) == set()


@pytest.mark.slow
def test_homogeneity_passes():
    """The same for chosen cuts, with fewer runs: OpenDP picks one minimum at a time."""
    assert audit(daf.daf_homogeneity, TEN, runs=2_000) == set()


def small_mosaic(points, ledger):
    """Run noisy-mosaic on a tree of two pairs of tiles at both ends, and return boxes."""
    tree, _ = Hierarchy.from_parents(np.array([-1, 0, 0, 1, 1, 2, 2]), np.arange(7, dtype=np.uint64))
    ladder = make_ladder(tree)
    leaves = noisy_mosaic(points, ledger, ladder)
    start, end = ladder.tiles(leaves.pairs.level, leaves.pairs.area)
    return Boxes(start, end, leaves.counts, leaves.charged, leaves.pairs.matrix, leaves.pairs.node)


@pytest.mark.slow
def test_noisy_mosaic_passes():
    """Our own method stays within epsilon, structure included."""
    assert audit(small_mosaic, TEN, FEWER_RUNS) == set()


@pytest.mark.slow
def test_mutant_noise_halved(monkeypatch):
    """Noise of half the scale is caught by the auditor, in what is published."""
    honest = draws.add_laplace
    monkeypatch.setattr(draws, "add_laplace", lambda values, epsilon: honest(values, 2 * epsilon))

    assert "output" in audit(grids.uniform, TEN)


@pytest.mark.slow
def test_mutant_stop_on_a_true_count(monkeypatch):
    """Stopping by the true count of a node is caught by the auditor, in the structure."""
    true = []
    honest = daf._counts

    def remember(points, level):
        true[:] = [honest(points, level)]
        return true[0]

    monkeypatch.setattr(daf, "_counts", remember)
    monkeypatch.setattr(daf, "stops", lambda _: true[0] < 3)

    assert "structure" in audit(daf.daf_entropy, THREE)


@pytest.mark.slow
def test_mutant_exact_total_in_mkm(monkeypatch):
    """Taking the exact total is caught by the auditor, in the structure: 10 trips make 3 parts a side, 9 make 2."""
    monkeypatch.setattr(grids, "noisy_total", lambda points, _: points.totals.astype(float))

    assert "structure" in audit(grids.mkm, TEN)


@pytest.mark.slow
def test_mutant_box_from_the_data():
    """Fitting the grid to the data is caught by the auditor, in the structure: one trip alone is far out."""

    def fitted(points, ledger):
        edge = points.cells.max(axis=0) + 1
        return grids.uniform(replace(points, lengths=tuple(edge.tolist())), ledger)

    assert "structure" in audit(fitted, THREE)
