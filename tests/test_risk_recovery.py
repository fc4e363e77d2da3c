"""Recovery of movements from step to step: a planted one that must be found, and one where there is nothing to find."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import flowveil as fv
from flowveil._risk.recovery import Step, assign

GROUPS, SIZE, STEPS = 6, 8, 4
START = datetime(2024, 5, 6, 8, tzinfo=UTC)


def trips(next_group):
    """Return trips of groups of persons along roads far apart; next_group: which road a person takes in each step."""
    rows = []
    for person in range(GROUPS * SIZE):
        for step in range(STEPS):
            road = next_group(person, step)
            lat = 50.0 + road * 0.1
            rows.append(
                (f"p{person}", 4.0 + step * 0.1, lat, 4.0 + (step + 1) * 0.1, lat, START + timedelta(hours=step))
            )
    names = ("person_id", "start_lon", "start_lat", "end_lon", "end_lat", "start_time")
    return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))


def attack(table, folder):
    """Return what the attack finds in a release by the hour."""
    flows = fv.build_flows(table, "h3:6", hierarchy="h3", unit="person_id", time="1h")
    written = fv.anonymize(flows, k=4, max_suppression=0.2).write(folder)
    (finding,) = fv.risk(written, table, attacks="recovery").findings
    return finding


def test_roads_far_apart_are_followed(tmp_path):
    """Whoever stays on a road is found again on it, all of them; chance finds a sixth."""
    finding = attack(trips(lambda person, _: person % GROUPS), tmp_path / "out")

    assert finding.verdict == "tells"
    assert finding.figure == 1
    assert finding.details["right"] == finding.details["claims"] == GROUPS * SIZE * (STEPS - 1)
    assert finding.details["by_chance"] == pytest.approx(finding.details["claims"] / GROUPS)


def test_persons_who_mix_are_not(tmp_path):
    """Where everybody takes a new road at each step, nearness tells no more than chance."""
    mixed = [np.random.default_rng(step).permutation(GROUPS * SIZE) % GROUPS for step in range(STEPS)]

    finding = attack(trips(lambda person, step: int(mixed[step][person])), tmp_path / "out")

    assert finding.verdict == "holds"
    assert finding.details["by_chance"] == pytest.approx(finding.details["claims"] / GROUPS)
    assert finding.details["right"] < 1.5 * finding.details["by_chance"]


def step_of(trips_, rng, group=0):
    """Return a step with flows of so many trips between random places."""
    places = rng.normal(size=(2, len(trips_), 3))
    start, end = places / np.linalg.norm(places, axis=2, keepdims=True)
    return Step(np.arange(len(trips_)), np.array(trips_), start, end, np.full(len(trips_), group))


@pytest.mark.parametrize("seed", range(5))
def test_all_trips_are_assigned(seed, monkeypatch):
    """Both ways assign as many trips as there can be, none twice, and the exact way is never farther."""
    rng = np.random.default_rng(seed)
    here, there = step_of([3, 1, 2], rng), step_of([2, 2], rng)
    exact = assign(here, there, rng)
    monkeypatch.setattr("flowveil._risk.recovery._MOST_EXACT", 0)
    greedy = assign(here, there, rng)
    far = np.arccos(np.clip(here.end @ there.start.T, -1, 1))

    for moved in (exact, greedy):
        assert moved.sum() == 4
        assert (moved.sum(axis=1) <= here.trips).all()
        assert (moved.sum(axis=0) <= there.trips).all()
    assert (exact * far).sum() <= (greedy * far).sum() + 1e-9


def test_hours_of_the_day_have_no_next_day(tmp_path):
    """Without steps of a calendar there is nothing to follow."""
    table = trips(lambda person, _: person % GROUPS)
    flows = fv.build_flows(table, "h3:6", hierarchy="h3", unit="person_id", time="hour-of-day")
    folder = fv.anonymize(flows, k=4, max_suppression=0.2).write(tmp_path / "out")

    assert fv.risk(folder, table, attacks="recovery").findings == ()
