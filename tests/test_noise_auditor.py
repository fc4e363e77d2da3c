"""What methods with noise publish about a trip stays within epsilon, and planted mistakes do not.

Mistakes that a ledger catches stand beside its other tests.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import flowveil as fv
from flowveil._matrices import daf, grids
from flowveil._matrices.noisytree import noisy_tree
from flowveil._matrices.privtree import privtree
from flowveil._noise import Ledger, draws, growing, sparse
from tests.auditor import AUDITED, EPSILON, FLAT, FOUR, LINE, ONE, RUNS, TEN, THREE, TWO_PLACES, caught, small_laplace


@pytest.mark.slow
@pytest.mark.parametrize("name", AUDITED)
def test_honest_methods_pass(name):
    """What each method publishes about a trip stays within epsilon."""
    method, cells, lengths, runs = AUDITED[name]

    assert caught(method, cells, runs, lengths) == set()


def test_every_method_is_audited():
    """No method with noise is left out."""
    assert set(AUDITED) == {method.name for method in fv.methods() if method.promise == "differential privacy"}


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "lengths"), [(THREE, (4, 4)), (ONE, LINE), ([(1, 2, 3)] * 3, (16, 16, 16))])
def test_privtree_passes(cells, lengths):
    """One charge pays for all decisions of a path, and the counts are paid with the rest."""
    assert caught(privtree, cells, RUNS, lengths) == set()


@pytest.mark.slow
def test_mutant_privtree_without_decay(monkeypatch):
    """Counts that are not lowered from depth to depth are caught: each of eight decisions then costs as much as one."""
    monkeypatch.setattr(growing, "decay_of", lambda *_: 0)

    assert "structure" in caught(nearly_all_tree, ONE, RUNS, LINE)


@pytest.mark.slow
def test_mutant_privtree_scale(monkeypatch):
    """Noise for one decision alone (scale 1 / epsilon) is caught: a trip changes two of them as much."""
    monkeypatch.setattr(growing, "decision_epsilon", lambda epsilon, _: epsilon)

    assert "structure" in caught(nearly_all_tree, ONE, RUNS, LINE)


def nearly_all_tree(points, ledger):
    """Run PrivTree with almost all of epsilon on the tree, so that little else can hide a mistake there."""
    return privtree(points, ledger, tree_share=0.999)


@pytest.mark.slow
def test_mutant_tree_not_charged(monkeypatch):
    """A tree that is grown without a charge is caught, in structure and counts together."""
    monkeypatch.setattr(
        Ledger, "grow", lambda ledger, *charge: growing.Growth(ledger, ledger.roots, EPSILON, charge[-1])
    )

    assert caught(privtree, FOUR, RUNS, LINE)


def marginals_first(points, ledger):
    """Run noisy-tree with most of epsilon on marginals, half of it on their counts."""
    return noisy_tree(points, ledger, tree_share=0.1, marginal_share=0.8)


@pytest.mark.slow
def test_noisy_tree_passes_with_other_shares():
    """Marginals, tree and counts together stay within epsilon."""
    assert caught(marginals_first, TWO_PLACES, RUNS, FLAT) == set()


@pytest.mark.slow
def test_mutant_marginals_not_charged(monkeypatch):
    """Marginals that are drawn without a charge are caught: counts of boxes and of marginals tell of the same trip."""
    monkeypatch.setattr(Ledger, "part", lambda ledger, _, parts: Ledger(ledger.epsilon_of(parts), len(ledger.roots)))

    assert "marginals" in caught(mostly_counts, TWO_PLACES, RUNS, FLAT)


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
    monkeypatch.setattr(daf, "stops", lambda *_: true[0] < 3)

    assert "structure" in caught(daf.daf_entropy, THREE)


@pytest.mark.slow
def test_mutant_exact_total_in_mkm(monkeypatch):
    """Taking the exact total is caught by the auditor, in the structure: 10 trips make 3 parts a side, 9 make 2."""
    monkeypatch.setattr(grids, "noisy_total", lambda points, *_: points.totals.astype(float))

    assert "structure" in caught(grids.mkm, TEN)


@pytest.mark.slow
def test_mutant_box_from_the_data():
    """Fitting the grid to the data is caught by the auditor, in the structure: one trip alone is far out."""

    def fitted(points, ledger):
        edge = points.cells.max(axis=0) + 1
        return grids.uniform(replace(points, lengths=tuple(edge.tolist())), ledger)

    assert "structure" in caught(fitted, THREE)


@pytest.mark.slow
def test_mutant_laplace_lists_what_it_saw(monkeypatch):
    """A list of pairs that had trips, without the empty ones that noise lifts above zero, is caught."""
    monkeypatch.setattr(sparse, "count_positive", lambda *_: 0)

    assert caught(small_laplace, THREE, 2_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["identity", "eug", "eug-border", "ebp", "noisy-mosaic"])
def test_mutant_noise_halved_in_each(name, monkeypatch):
    """Noise of a third of the scale is caught in every method that shares the drawing of noise, in each by itself."""
    honest = draws.add_laplace
    monkeypatch.setattr(draws, "add_laplace", lambda values, epsilon: honest(values, 3 * epsilon))
    method, cells, lengths, _ = AUDITED[name]

    assert caught(method, cells, 2_000, lengths)
