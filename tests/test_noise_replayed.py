"""What noise is added to, seen from outside: draws are written down in advance, and inputs are neighbors.

With the same outcome of every draw, what is published must be the same, and the draws must be of the same budgets: all
else would come from the trips without noise. What they were added to may differ by no more than epsilon pays for: each
draw costs its epsilon times how far its true counts are apart, and the costs of all draws add up.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import flowveil as fv
from flowveil._matrices import release
from flowveil._matrices.bounds import choose_bound
from flowveil._noise import PARTS, Ledger, WindowLedger, draws

ZONES = pa.table({"zone_id": list("abcd"), "lon": [4.0, 4.1, 4.3, 4.6], "lat": [50.0, 50.0, 50.2, 50.1]})
MONDAY = datetime(2024, 3, 4)  # noqa: DTZ001  as written
EPSILON = 2.0
STREAM = {"time": "1d", "period": "2024-03-04/2024-03-10"}
GROUPS = {"by": "sex", "groups": ["sex=f,m"]}
WEEK = {"protect": "person-week", "time": "hour-of-day", "persons": True, **GROUPS}


def trips_of(person, hours):
    """Return one trip of a person at each hour after Monday, each in another group and between other zones."""
    return [
        (person, MONDAY + timedelta(hours=hour), "fm"[at % 2], "abcd"[at % 4], "dbca"[at // 2 % 4])
        for at, hour in enumerate(hours)
    ]


OTHERS = [trip for number in range(30) for trip in trips_of(f"p{number}", [7 * number % 168])]
ONE_WEEK = trips_of("q", range(0, 168, 9))
ONE_DAY = trips_of("q", range(24, 48, 3))
THREE_DAYS = trips_of("q", range(24, 96, 5))
CASES = {
    "trip": (ONE_DAY[:1], {"time": "hour-of-day", **GROUPS}),
    "person": (ONE_WEEK, {"max_trips_per_person": 4, "time": "1d", "period": "2024-03-04/2024-03-10"}),
    "person-day": (ONE_DAY, {"max_trips_per_person": 3, "time_hierarchy": "hour-of-day<part-of-day"}),
    "person-week": (ONE_WEEK, {**WEEK, "max_trips_per_person": "auto:1,2,5"}),
    "window:3": (THREE_DAYS, {"max_trips_per_person": 2, **STREAM, **GROUPS}),
}


def replayed(monkeypatch, rows, options, seed):
    """Return a release whose draws are written in advance, and for each draw its budget and what it was added to."""
    seen = []

    def drawn(size):
        random = np.random.default_rng([seed, len(seen)])
        large = 10**6 * random.integers(0, 2)  # a stream notices a change at about half of its steps
        return np.rint(random.laplace(0, 20, size)).astype(np.int64) + (large if size == 1 else 10)

    def add(values, epsilon):
        outcome = drawn(len(values))
        seen.append((epsilon, values.copy()))
        return outcome

    def least(scores, sensitivity, epsilon):
        outcome = int(drawn(1)[0]) % len(scores)
        seen.append((epsilon / sensitivity, np.array([np.nan, *scores])))  # all scores may differ by that much
        return outcome

    monkeypatch.setattr(draws, "add_laplace", add)
    monkeypatch.setattr(draws, "least", least)
    names = ("person", "start_time", "sex", "origin", "destination")
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)})
    return fv.add_noise(table, "noisy-mosaic", EPSILON, zones=ZONES, **options), seen


def cost(monkeypatch, protect, seed):
    """Return what two inputs cost that differ by what is protected; raise where more than counts differs."""
    mine, options = CASES[protect]
    options = options if protect == "trip" else {"unit": "person", "protect": protect, **options}
    (one, more), (other, fewer) = (replayed(monkeypatch, rows, options, seed) for rows in (OTHERS[::-1] + mine, OTHERS))
    assert one.tables == other.tables
    assert one.manifest == other.manifest
    assert [(epsilon, len(values)) for epsilon, values in more] == [(epsilon, len(values)) for epsilon, values in fewer]
    away = [np.abs(a - b) for (_, a), (_, b) in zip(more, fewer, strict=True)]
    apart = [each[1:].max() if np.isnan(each[0]) else each.sum() for each in away]
    return sum(epsilon * far for (epsilon, _), far in zip(more, apart, strict=True))


@pytest.mark.parametrize("protect", CASES)
def test_neighbors_cost_no_more_than_epsilon(protect, monkeypatch):
    """Whatever comes out, one trip, person, week or window more or less costs at most epsilon, and hardly less."""
    assert EPSILON / 4 < cost(monkeypatch, protect, 0) <= EPSILON * (1 + 1e-9)


def bound_for_each_step(monkeypatch):
    """Let a person make one trip, where several of theirs count."""
    honest = Ledger.single_trips
    monkeypatch.setattr(Ledger, "single_trips", lambda ledger, _, roots=1: honest(ledger, 1, roots))
    monkeypatch.setattr(release, "_check_spent", lambda *_: None)


def persons_for_nothing(monkeypatch):
    """Draw persons and marginals from a ledger that nobody paid for."""
    monkeypatch.setattr(Ledger, "part", lambda ledger, *_: Ledger(ledger.epsilon, len(ledger.roots)))


def choice_for_nothing(monkeypatch):
    """Choose the bound from a ledger that nobody paid for."""
    monkeypatch.setattr(release, "choose_bound", lambda ledger, *rest: choose_bound(Ledger(ledger.epsilon), *rest))
    monkeypatch.setattr("flowveil._matrices.bounds._PARTS", PARTS)


def window_twice(monkeypatch):
    """Give each step of a stream twice its share, past the ledger of windows."""
    monkeypatch.setattr(
        WindowLedger,
        "part",
        lambda window, _, __, parts, roots=1: Ledger(window.epsilon * 2 * parts / PARTS, roots),
    )
    monkeypatch.setattr(release, "make_manifest", lambda *_: {"promise": {}})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "protect"),
    [
        (bound_for_each_step, "person"),
        (persons_for_nothing, "person-week"),
        (choice_for_nothing, "person-week"),
        (window_twice, "window:3"),
    ],
)
def test_planted_mistakes_cost_more(plant, protect, monkeypatch):
    """What is charged wrongly costs more than epsilon, and is seen from outside."""
    plant(monkeypatch)

    assert max(cost(monkeypatch, protect, seed) for seed in range(3)) > EPSILON * 1.01
