"""Membership by shadow releases: one that must be told, and one that must not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import flowveil as fv
from flowveil._risk import membership
from flowveil._verify import manifest

NAMES = ("person_id", "start_lon", "start_lat", "end_lon", "end_lat")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Make few shadow releases."""
    monkeypatch.setattr(membership, "_SHADOWS", 3)
    monkeypatch.setattr(membership, "_TARGETS", 2)


def attack(rows, folder, method, k):
    """Return what the attack finds."""
    table = pa.table(dict(zip(NAMES, zip(*rows, strict=True), strict=True)))
    flows = fv.build_flows(table, "h3:7", hierarchy="h3", unit="person_id")
    written = fv.anonymize(flows, method, k=k, max_suppression=1).write(folder)
    (finding,) = fv.risk(written, table, attacks="membership").findings
    return finding


@pytest.mark.slow
def test_raw_counts_tell_who_is_there(tmp_path):
    """Where every pair of tiles is told and nobody shares one, presence is plain."""
    rows = [(f"p{person}", 4.0 + person * 0.1, 50.0, 4.0 + person * 0.1, 50.1) for person in range(12)]

    finding = attack(rows, tmp_path / "out", "suppression", 1)

    assert finding.verdict == "tells"
    assert finding.figure == finding.details["advantage"] == 1
    assert finding.parameters["shadows"] == 3


@pytest.mark.slow
def test_a_crowd_hides_who_is_there(tmp_path):
    """Where all make the same trip, it makes no difference who is among them."""
    rows = [(f"p{person}", 4.0, 50.0, 4.0, 50.1) for person in range(30)]

    finding = attack(rows, tmp_path / "out", "mosaic", 5)

    assert finding.verdict == "holds"
    assert finding.figure == 0.5
    assert finding.details["advantage"] == 0


@pytest.mark.slow
def test_what_cannot_be_published_tells_nothing(tmp_path):
    """Few persons make a crowd only now and then; a shadow that cannot be published counts as empty."""
    rows = [(f"p{person}", 4.0, 50.0, 4.0, 50.1) for person in range(6)]

    finding = attack(rows, tmp_path / "out", "mosaic", 6)

    assert (finding.verdict, finding.figure) == ("holds", 0.5)


def test_shadows_are_made_with_all_that_was_asked():
    """Every key of a promise is asked of shadow releases too, but for what follows from the trips and the method."""
    given = {"kind", "k", "unit", "volumes", "areas", "weight", "trip_weight", "shapes"}

    assert {*manifest._PROMISE_KEYS, *manifest._MORE_PROMISE_KEYS} - given == set(membership._PROMISED)


def test_curve_and_threshold():
    """The area is the share of pairs in which presence scores higher, ties half; the threshold is the best one."""
    scores = np.array([[[3.0, 2.0], [1.0, 2.0]]])

    assert membership.area_under_curve(scores)[0] == (1 + 1 + 1 + 0.5) / 4
    assert membership.advantage(scores) == 0.5
    assert membership.area_under_curve(np.zeros((3, 2, 4)))[0] == 0.5
    assert membership.advantage(np.zeros((3, 2, 4))) == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_spread_is_that_of_chance(seed):
    """Of scores that nothing tells apart, nearly all areas are within two spreads of one half."""
    rng = np.random.default_rng(seed)
    areas = [membership.area_under_curve(rng.normal(size=(5, 2, 8))) for _ in range(300)]

    outside = np.mean([abs(area - 0.5) > 2 * spread for area, spread in areas])

    assert 0.01 < outside < 0.1
