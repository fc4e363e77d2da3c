"""The auditor of noise by step and group: neighbors in the sense of a level, thousands of runs as groups of one run.

Groups are independent: each is a run of the method. The unit in question is in every run of one input and in no run
of the other; what it changes in all its steps is looked at together.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from flowveil._matrices import bounds, flow_tables
from flowveil._matrices.flow_tables import count_flows
from flowveil._matrices.layers import parse_layers
from flowveil._matrices.points import Matrix, Points
from flowveil._matrices.tiles import make_zone_grid
from flowveil._noise import PARTS, Ledger
from flowveil._options import PERSON, Protection

EPSILON = 2.0
RUNS = 3_000
CHOICES = 8_000
GRID = make_zone_grid(pa.table({"zone_id": ["a", "b"], "lon": [4.0, 4.1], "lat": [50.0, 50.0]}), None)
LAYERS = parse_layers("weekday-weekend", None, None, None, "run", {"run": [str(run) for run in range(RUNS)]})


def clopper_pearson(seen, runs):
    """Return bounds of a probability, each missed with a chance of at most one in a million."""
    low = stats.beta.ppf(1e-6, seen, runs - seen + 1) if seen else 0.0
    return low, stats.beta.ppf(1 - 1e-6, seen + 1, runs - seen) if seen < runs else 1.0


def outcomes(trips, most, *, persons=False):
    """Return counts of runs that all have one person with a trip in each of `trips` steps: one column a step."""
    matrix = np.concatenate([np.arange(RUNS) + step * RUNS for step in range(trips)]) if trips else np.zeros(0, int)
    count = len(matrix)
    points = Points(np.zeros((count, 2), int), np.ones(count, int), GRID.lengths, matrix, LAYERS.matrices)
    visits = (np.arange(count), np.arange(count)) if persons else None
    whole = Matrix(points, GRID, "p", most, layers=LAYERS, protection=Protection(PERSON), visits=visits)
    flows = count_flows(whole, "noisy-mosaic", Ledger(EPSILON), {"max_cells": 10**9}, consistent=False).tables
    flows = flows["flows.parquet"]
    place = flows["time"].to_numpy() * RUNS + np.array(flows["run"].to_pylist(), int)
    sums = np.bincount(place, flows["trips"].to_numpy(), 2 * RUNS).reshape(2, RUNS).T
    if persons:
        of_persons = np.bincount(place, flows["persons"].to_numpy(), 2 * RUNS).reshape(2, RUNS).T
        return np.column_stack([sums[:, :1], of_persons[:, :1]])
    return sums


def seen_epsilon(one, other):
    """Return the largest epsilon seen for certain: all columns at or beyond a level, both ways."""
    found = 0.0
    for first, second in ((one, other), (other, one)):
        for level in range(-4, 8):
            for event in (lambda x, e=level: (x >= e).all(axis=1), lambda x, e=level: (x <= e).all(axis=1)):
                low = clopper_pearson(int(event(first).sum()), len(first))[0]
                high = clopper_pearson(int(event(second).sum()), len(second))[1]
                found = max(found, float(np.log(low / high)) if low > 0 else 0.0)
    return found


@pytest.mark.slow
def test_a_person_in_two_steps():
    """Two trips in two steps are within epsilon if the bound is two, and beyond if each step counts as the only one."""
    honest = seen_epsilon(outcomes(2, 2), outcomes(0, 2))
    planted = seen_epsilon(outcomes(2, 1), outcomes(0, 1))  # a bound of one for each step, where a person is promised

    assert honest <= EPSILON < planted


@pytest.mark.slow
def test_persons_are_paid_for(monkeypatch):
    """Persons beside trips are within epsilon; if they were not charged, both together would be beyond."""
    monkeypatch.setattr(flow_tables, "_PERSONS_PARTS", PARTS // 2)
    honest = seen_epsilon(outcomes(1, 1, persons=True), outcomes(0, 1, persons=True))
    monkeypatch.setattr(Ledger, "part", lambda ledger, _, __: Ledger(ledger.epsilon))
    planted = seen_epsilon(outcomes(1, 1, persons=True), outcomes(0, 1, persons=True))

    assert honest <= EPSILON < planted


def choices(persons, *, paid):
    """Return bound and count of many runs: nine persons with one trip, so many with two, of whom one is in question."""
    found = np.zeros((CHOICES, 2), np.int64)
    for run in range(CHOICES):
        ledger = Ledger(EPSILON)
        most = bounds.choose_bound(ledger, (1, 2), np.array([1, 2]), np.array([9, persons]))
        trips = (ledger if paid else Ledger(EPSILON)).single_trips(1)
        count = trips.publish("cells", trips.roots, np.array([persons]))[0][0]
        found[run] = most == 1, count
    return found


@pytest.mark.slow
def test_a_choice_of_bound_is_paid_for(monkeypatch):
    """Bound and counts together are within epsilon; a choice that is not charged would be beyond."""
    monkeypatch.setattr(bounds, "_PARTS", PARTS * 3 // 4)

    def worst(paid):
        more, fewer = choices(2, paid=paid), choices(1, paid=paid)
        both = [np.where(side[:, :1] == 0, side[:, 1:], -99) for side in (more, fewer)]
        return max(seen_epsilon(*both), seen_epsilon(more[:, 1:], fewer[:, 1:]))

    assert worst(paid=True) <= EPSILON
    monkeypatch.setattr(bounds, "_PARTS", PARTS)
    assert worst(paid=False) > EPSILON
