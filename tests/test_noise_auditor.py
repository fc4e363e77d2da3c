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
from flowveil._matrices.noisytree import noisy_tree
from flowveil._matrices.points import Points
from flowveil._matrices.privtree import privtree
from flowveil._noise import Ledger, draws, growing
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "cells"),
    [(grids.uniform, TEN), (grids.mkm, TEN), (daf.daf_entropy, TEN), (daf.daf_entropy, THREE)],
)
def test_honest_methods_pass(method, cells):
    """What the methods publish about a trip stays within epsilon."""
    assert caught(method, cells, FEWER_RUNS) == set()


@pytest.mark.slow
def test_homogeneity_passes():
    """The same for chosen cuts, with fewer runs: OpenDP picks one minimum at a time."""
    assert caught(daf.daf_homogeneity, TEN, runs=2_000) == set()


LINE = (256,)  # so long that a path has eight decisions
ONE, FOUR = [(77,)], [(77,)] * 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "lengths"), [(TEN, (4, 4)), (THREE, (4, 4)), (ONE, LINE), (FOUR, LINE), ([(1, 2, 3)] * 3, (16, 16, 16))]
)
def test_privtree_passes(cells, lengths):
    """One charge pays for all decisions of a path, and the counts are paid with the rest."""
    assert caught(privtree, cells, FEWER_RUNS, lengths) == set()


@pytest.mark.slow
def test_mutant_privtree_without_decay(monkeypatch):
    """Counts that are not lowered from depth to depth are caught: each of eight decisions then costs as much as one."""
    monkeypatch.setattr(growing, "decay_of", lambda *_: 0)

    assert "structure" in caught(nearly_all_tree, ONE, FEWER_RUNS, LINE)


@pytest.mark.slow
def test_mutant_privtree_scale(monkeypatch):
    """Noise for one decision alone (scale 1 / epsilon) is caught: a trip changes two of them as much."""
    monkeypatch.setattr(growing, "decision_epsilon", lambda epsilon, _: epsilon)

    assert "structure" in caught(nearly_all_tree, ONE, FEWER_RUNS, LINE)


def nearly_all_tree(points, ledger):
    """Run PrivTree with almost all of epsilon on the tree, so that little else can hide a mistake there."""
    return privtree(points, ledger, tree_share=0.999)


@pytest.mark.slow
def test_mutant_tree_not_charged(monkeypatch):
    """A tree that is grown without a charge is caught, in structure and counts together."""
    monkeypatch.setattr(
        Ledger, "grow", lambda ledger, *charge: growing.Growth(ledger, ledger.roots, EPSILON, charge[-1])
    )

    assert caught(privtree, FOUR, FEWER_RUNS, LINE)


FLAT = (2, 2, 2, 2)
TWO_PLACES = [(0, 1, 1, 0)] * 3


def marginals_first(points, ledger):
    """Run noisy-tree with most of epsilon on marginals, half of it on their counts."""
    return noisy_tree(points, ledger, tree_share=0.1, marginal_share=0.8)


@pytest.mark.slow
@pytest.mark.parametrize("method", [noisy_tree, marginals_first])
def test_noisy_tree_passes(method):
    """Marginals, tree and counts together stay within epsilon."""
    assert caught(method, TWO_PLACES, FEWER_RUNS, FLAT) == set()


@pytest.mark.slow
def test_mutant_marginals_not_charged(monkeypatch):
    """Marginals that are drawn without a charge are caught: counts of boxes and of marginals tell of the same trip."""
    monkeypatch.setattr(Ledger, "part", lambda ledger, _, parts: Ledger(ledger.epsilon_of(parts), len(ledger.roots)))

    assert "marginals" in caught(mostly_counts, TWO_PLACES, FEWER_RUNS, FLAT)


def mostly_counts(points, ledger):
    """Run noisy-tree with almost nothing on the tree, and marginals that would leave little for counts."""
    return noisy_tree(points, ledger, tree_share=0.001, marginal_share=0.99)


@pytest.mark.slow
def test_mutant_noisy_tree_without_decay(monkeypatch):
    """PrivTree's bias is missing: caught in noisy-tree by itself, in the depth of its tree."""
    monkeypatch.setattr(growing, "decay_of", lambda *_: 0)

    assert "structure" in caught(only_tree, [(33, 47)], 4_000, (64, 64))


def only_tree(points, ledger):
    """Run noisy-tree with almost all of epsilon on the tree of boxes."""
    return noisy_tree(points, ledger, tree_share=0.998, marginal_share=0.001)


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
    assert caught(small_mosaic, TEN, FEWER_RUNS) == set()


@pytest.mark.slow
def test_mutant_noise_halved(monkeypatch):
    """Noise of half the scale is caught by the auditor, in what is published."""
    honest = draws.add_laplace
    monkeypatch.setattr(draws, "add_laplace", lambda values, epsilon: honest(values, 2 * epsilon))

    assert "output" in caught(grids.uniform, TEN)


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

    assert "structure" in caught(daf.daf_entropy, THREE)


@pytest.mark.slow
def test_mutant_exact_total_in_mkm(monkeypatch):
    """Taking the exact total is caught by the auditor, in the structure: 10 trips make 3 parts a side, 9 make 2."""
    monkeypatch.setattr(grids, "noisy_total", lambda points, _: points.totals.astype(float))

    assert "structure" in caught(grids.mkm, TEN)


@pytest.mark.slow
def test_mutant_box_from_the_data():
    """Fitting the grid to the data is caught by the auditor, in the structure: one trip alone is far out."""

    def fitted(points, ledger):
        edge = points.cells.max(axis=0) + 1
        return grids.uniform(replace(points, lengths=tuple(edge.tolist())), ledger)

    assert "structure" in caught(fitted, THREE)
