"""oigh and uniform cuts against plain definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil import InputError, PromiseError, anonymize, build_flows
from flowveil._methods import oigh
from flowveil._methods.uniform import uniform_cuts
from flowveil._places import ROOT
from flowveil.synthetic import CITY_BBOX
from tests.trees import Oracle, hierarchies, problems


def plain_cuts(tree):
    """Return every uniform cut as a set of nodes, from the tiles up, one join at a time."""
    leaves = {node for node in range(len(tree)) if tree.is_leaf[node]}
    depths = {int(tree.depth[leaf]) for leaf in leaves}
    if len(depths) == 1:
        return [set(np.flatnonzero(tree.depth == depth).tolist()) for depth in range(max(depths), -1, -1)]
    cuts = [leaves]
    while cuts[-1] != {ROOT}:
        cut = cuts[-1]
        children = {
            node: set(range(int(tree.first_child[node]), int(tree.end_child[node])))
            for node in range(len(tree))
            if not tree.is_leaf[node]
        }
        ready = [node for node, below in children.items() if below <= cut]
        fewest = min(tree.tiles[node] for node in ready)
        joined = [node for node in ready if tree.tiles[node] == fewest]
        cuts.append((cut - set().union(*(children[node] for node in joined))) | set(joined))
    return cuts


@settings(max_examples=100, deadline=None)
@given(hierarchies(12))
def test_uniform_cuts_equal_joining_one_step_at_a_time(tree):
    """Every cut is the one that plain steps reach, so it covers each tile once."""
    cuts = uniform_cuts(tree)

    actual = [set(np.flatnonzero(cuts.cut(number)).tolist()) for number in range(cuts.count)]

    assert actual == plain_cuts(tree)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems(loss="tiles"), st.sampled_from(["tiles", "steps"]))
def test_equals_exhaustive_search(problem, precision):
    """The answer is the best of all pairs of uniform cuts within the budget, or there is none."""
    oracle = Oracle(problem)
    tried = []
    cuts = [list(enumerate(plain_cuts(tree))) for tree in oracle.trees]
    for (first, one), (second, other) in itertools.product(*cuts):
        loss, suppressed = oracle.grid(one, other)
        kept = problem.flows.total - suppressed
        if kept and suppressed <= problem.budget:
            height = first + second if precision == "steps" else 0
            tried.append((height, loss / kept, suppressed))

    try:
        solution = oigh.solve(problem, precision)
    except PromiseError:
        solution = None

    if solution is None:
        assert not tried
    else:
        loss, suppressed = oracle.outcome(solution)
        assert (loss / (problem.flows.total - suppressed), suppressed) == min(tried)[1:]


def test_no_suppression_on_the_city(city_trips):
    """Without a budget every trip is published, as in the thesis."""
    flows = build_flows(city_trips, "h3:8", bbox=CITY_BBOX, unit="person_id")

    release = anonymize(flows, "oigh", k=5, max_suppression=0)

    assert release.metrics()["suppressed"] == 0
    assert release.flows["persons"].to_numpy().min() >= 5


def test_unknown_precision_is_refused(city_trips):
    """A precision that does not exist is named, with those that do."""
    flows = build_flows(city_trips, "h3:6", bbox=CITY_BBOX)

    with pytest.raises(InputError, match="precision"):
        anonymize(flows, "oigh", options={"precision": "depth"})
