"""Methods for matrices: partitions, formulas, and a plain recursion beside the vectorized tree."""

from __future__ import annotations

import math
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil import InputError, PromiseError
from flowveil._matrices import daf, grids, homogeneity, settling
from flowveil._matrices.methods import BOX_METHODS
from flowveil._matrices.points import Points
from flowveil._matrices.workloads import answer_boxes, make_workload, mre
from flowveil._noise import PARTS, Ledger, draws

METHODS = list(BOX_METHODS.values())


def quiet(values, _):
    """Stand in for noise: none at all."""
    return np.asarray(values, np.int64)


def silence():
    """Turn off noise, so that results can be compared."""
    return mock.patch.multiple(draws, add_laplace=quiet, least=lambda scores, *_: int(np.argmin(scores)))


@st.composite
def matrices(draw):
    """Return a small matrix of one to four dimensions."""
    lengths = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    cell = st.tuples(*(st.integers(0, length - 1) for length in lengths))
    cells = sorted(draw(st.sets(cell, max_size=12)))
    counts = draw(st.lists(st.integers(1, 4000), min_size=len(cells), max_size=len(cells)))
    shape = (len(cells), len(lengths))
    return Points(np.array(cells, np.int64).reshape(shape), np.array(counts, np.int64), lengths)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25, deadline=None)
@given(points=matrices())
def test_boxes_are_a_partition(method, points):
    """Every cell lies in exactly one box, the counts are right but for noise, and no path spends more than epsilon."""
    ledger = Ledger(1.0)
    boxes = method(points, ledger)
    covered = np.zeros(points.lengths, int)
    for low, high in zip(boxes.low, boxes.high, strict=True):
        covered[tuple(slice(*edge) for edge in zip(low, high, strict=True))] += 1

    assert (covered == 1).all()
    assert ledger.largest_path() == 1.0
    assert (boxes.charged > 0).all()
    assert (boxes.charged <= PARTS).all()


def plain_daf(points, epsilon, cut_share=0.0):
    """Follow the pseudo-code of the design one node at a time, without noise; only equal cuts can be followed."""
    d = len(points.lengths)
    cells = [tuple(cell) for cell in points.cells.tolist()]
    count = dict(zip(cells, points.counts.tolist(), strict=True))

    def mstar(n, e, r):
        return (max(n, 0) * e / math.sqrt(2)) ** (2 / (3 * r))

    total = sum(count.values())
    e0 = epsilon / 100
    m0 = min(max(round(mstar(total, epsilon - e0, d)), 1), points.lengths[0])
    weights = [m0 ** (i / 3) for i in range(1, d + 1)]
    e = [None, *[(epsilon - e0) * w / sum(weights) for w in weights]]
    first_cut = cut_share * e[1]
    e[1] *= 1 - cut_share
    leaves = []

    def visit(low, high, spent, h):
        n = sum(c for cell, c in count.items() if all(a <= x < b for a, x, b in zip(low, cell, high, strict=True)))
        if h == d:
            leaves.append((low, high, n, epsilon - spent))
            return
        cut = first_cut
        if h:
            spent += (1 - cut_share) * e[h]
            cut = cut_share * e[h]
        ms = mstar(n, epsilon - spent - cut, d - h)
        if ms < 1.5 or all(length == 1 for length in points.lengths[h:]):
            leaves.append((low, high, n, epsilon - spent))
            return
        length = high[h] - low[h]
        m = min(max(round(ms), 1), length)
        edges = [low[h] + j * length // m for j in range(m)] + [high[h]]
        for start, end in pairwise(edges):
            visit((*low[:h], start, *low[h + 1 :]), (*high[:h], end, *high[h + 1 :]), spent, h + 1)

    visit((0,) * d, points.lengths, e0, 0)
    return sorted(leaves)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(points=matrices(), epsilon=st.sampled_from([0.1, 1.0, 5.0]))
def test_daf_entropy_is_the_plain_recursion(points, epsilon):
    """The vectorized tree has the boxes, counts and budgets of the pseudo-code."""
    with silence():
        ledger = Ledger(epsilon)
        boxes = daf.daf_entropy(points, ledger)
    budgets = [ledger.epsilon_of(charge) for charge in boxes.charged.tolist()]
    found = zip(map(tuple, boxes.low.tolist()), map(tuple, boxes.high.tolist()), boxes.counts.tolist(), strict=True)
    expected = plain_daf(points, epsilon)

    assert sorted(found) == [leaf[:3] for leaf in expected]
    assert sorted(budgets) == pytest.approx(sorted(leaf[3] for leaf in expected), rel=1e-9)


def test_homogeneity_budgets_add_up():
    """On the way to a leaf of the last depth: total, cuts and counts of every depth, and the rest, in all epsilon."""
    random = np.random.default_rng(5)
    cells, counts = np.unique(random.integers(0, 40, (4000, 2)), axis=0, return_counts=True)
    ledger = Ledger(1.0)

    boxes = daf.daf_homogeneity(Points(cells, counts, (40, 40)), ledger)

    named = {spend.name: spend.parts for spend in ledger.spends if spend.name != "cells"}
    assert set(named) == {"total", "cuts 0", "counts 1", "cuts 1"}
    assert boxes.charged.min() == PARTS - sum(named.values())
    assert named["total"] == PARTS // 100


def test_mutant_uncharged_root_split_is_caught_by_the_ledger(monkeypatch):
    """Leaving the root's cuts out of the account, as the paper does, overspends every path that has leaves below."""

    def all_but_the_cuts_of_the_root(self, name, nodes, counts):
        cuts = {spend.parts for spend in self.spends if spend.name == "cuts 0"}
        left = self.left(nodes) + sum(cuts)
        return self.count(name, nodes, counts, left), left

    monkeypatch.setattr(Ledger, "publish", all_but_the_cuts_of_the_root)
    cells = np.array([[100 * x, 100 * y] for x in range(4) for y in range(4)])

    with pytest.raises(PromiseError, match="times the epsilon"):
        daf.daf_homogeneity(Points(cells, np.full(16, 900), (400, 400)), Ledger(2.0))


@pytest.mark.slow
def test_daf_entropy_beats_the_published_grids_on_gaussians():
    """In four dimensions at 1000 a side, on queries of 5 and 10 % around trips: the mean of four random clusters.

    One cluster may favor a grid that happens to fit it. The benchmark does ten at full size.
    """
    methods = (grids.eug, grids.ebp, daf.daf_entropy)
    error = np.zeros((2, len(methods)))
    for seed in range(4):
        random = np.random.default_rng([seed, 4])
        cells = np.rint(random.normal(random.integers(0, 1000, 4), 50, (100_000, 4))).astype(np.int64)
        cells = cells[((cells >= 0) & (cells < 1000)).all(axis=1)]
        points = Points(*np.unique(cells, axis=0, return_counts=True), (1000,) * 4)
        for row, size in enumerate(("5%", "10%")):
            workload = make_workload(points, size, "records", 100)
            error[row] += [mre(workload, answer_boxes(workload, run(points, Ledger(1.0))))["mre"] for run in methods]

    assert (error[:, 2] < error[:, 0]).all()
    assert (error[:, 2] < error[:, 1]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "d", "expected"),
    [
        (grids.eug, 2, math.sqrt(1e5 * 0.99 / 10)),
        (grids.eug, 4, (1.5 * 1e5 * 0.99 / 10) ** 0.2 * 40 / 38),
        (grids.eug_border, 2, math.sqrt(1e5 * 0.99 / 10)),
        (grids.eug_border, 4, (0.5 * 1e5 * 0.99 / 10) ** (1 / 3)),
        (grids.ebp, 3, (1e5 * 0.99 / math.sqrt(2)) ** (2 / 9)),
        (grids.mkm, 4, (1e5 / math.sqrt(math.log(1e5))) ** (1 / 3)),
    ],
)
def test_parts_a_side(method, d, expected):
    """The number of parts is that of the formula."""
    points = Points(np.zeros((1, d), np.int64), np.array([100_000]), (200,) * d)
    with silence():
        boxes = method(points, Ledger(1.0))

    assert len(boxes) == round(expected) ** d


def test_mkm_variants():
    """The DAF paper leaves out the logarithm; other names are refused."""
    points = Points(np.zeros((1, 2), np.int64), np.array([100]), (50, 50))
    with silence():
        assert len(grids.mkm(points, Ledger(1.0), variant="daf")) == 10**2
    with pytest.raises(InputError, match="no variant"):
        grids.mkm(points, Ledger(1.0), variant="other")


def test_refuses_too_many_boxes():
    """A dense release beyond max_cells is refused with the number it would need."""
    points = Points(np.zeros((1, 4), np.int64), np.array([5]), (1000,) * 4)

    with pytest.raises(InputError, match="1,000,000,000,000 boxes"):
        grids.identity(points, Ledger(1.0))
    with pytest.raises(InputError, match="max_cells = 3"):
        daf.daf_entropy(Points(np.zeros((1, 2), np.int64), np.array([10**6]), (99, 99)), Ledger(1.0), max_cells=3)


@settings(max_examples=50, deadline=None)
@given(points=matrices(), seed=st.integers(0, 99))
def test_unevenness_is_the_sum_over_all_cells(points, seed):
    """The closed form equals |count - mean| summed over every cell of a slab, empty ones too."""
    dense = np.zeros(points.lengths)
    dense[tuple(points.cells.T)] = points.counts
    slabs = np.random.default_rng(seed).integers(0, 3, points.lengths[0])
    volume = np.array([max((slabs == slab).sum(), 1) * dense[0].size for slab in range(3)], float)
    score = homogeneity.unevenness(slabs[points.cells[:, 0]], points.counts, volume, 3)
    for slab in range(3):
        part = dense[slabs == slab]
        expected = abs(part - part.mean()).sum() if part.size else 0
        assert score[slab] / 2**16 == pytest.approx(expected, abs=1e-4, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(points=matrices(), data=st.data())
def test_one_trip_changes_unevenness_by_its_sensitivity(points, data):
    """Adding a trip to any cell changes the score of its slab by at most 2, and rounding by one unit."""
    cell = tuple(data.draw(st.integers(0, length - 1)) for length in points.lengths)
    before = {tuple(c): n for c, n in zip(points.cells.tolist(), points.counts.tolist(), strict=True)}
    after = before | {cell: before.get(cell, 0) + 1}
    volume = np.array([float(np.prod(points.lengths))])
    scores = [
        homogeneity.unevenness(np.zeros(len(each), np.int64), np.array(list(each.values()), np.int64), volume, 1)[0]
        for each in (before, after)
    ]

    assert abs(scores[1] - scores[0]) <= homogeneity.SENSITIVITY


@given(start=st.integers(0, 50), length=st.integers(3, 60), slabs=st.integers(2, 60), seed=st.integers(0, 9))
def test_candidate_cuts(start, length, slabs, seed):
    """Candidates are strictly increasing, begin at the start, stay inside, and hold the equal cuts."""
    slabs = min(slabs, length - 1)
    lists = homogeneity.candidates(start, start + length, slabs, 10, np.random.default_rng(seed))

    assert lists.shape == (10, slabs)
    assert (lists[:, 0] == start).all()
    assert (np.diff(lists, axis=1) > 0).all()
    assert (lists < start + length).all()
    assert lists[0].tolist() == [start + j * length // slabs for j in range(slabs)]


@given(counts=st.lists(st.integers(-50, 50), min_size=1, max_size=30), scale=st.sampled_from([0.01, 1.0, 30.0]))
def test_counts_are_settled(counts, scale):
    """No count is negative and the total stays (or is zero), for rows in any number and noise of any size."""
    raw = np.array(counts)
    settled = settling.non_negative(raw, np.full(len(raw), scale**2))

    assert (settled >= 0).all()
    assert settled.sum() == max(raw.sum(), 0)


def test_settled_counts_are_nearer_to_the_truth():
    """Many empty places and few full ones: each count, and sums of a few, are nearer than raw ones."""
    random = np.random.default_rng(0)
    true = np.where(random.random(4096) < 0.05, random.integers(20, 200, 4096), 0)
    noisy = true + np.rint(random.laplace(0, 10, 4096)).astype(np.int64)
    settled = settling.non_negative(noisy, np.full(4096, 200.0))

    for size in (1, 4):
        parts = np.arange(0, 4096 - size, size)
        raw_error, error = (np.abs(np.add.reduceat(each - true, parts)).mean() for each in (noisy, settled))
        assert error < raw_error
    assert np.array_equal(settling.non_negative(true, np.full(4096, 1e-6)), true)
