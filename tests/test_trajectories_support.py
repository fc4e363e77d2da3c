"""Samples in which enough members were seen: brute force, recounts from rows, and what the verifier refuses."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil import PromiseError, VerificationError, trajectories
from flowveil._cli.commands import run
from flowveil._trajectories.glove import Group, Grouping
from flowveil._trajectories.release import make_release
from flowveil._trajectories.support import keep_supported
from flowveil.synthetic import PHONES_BBOX, phones
from tests.test_trajectories_release import rewrite
from tests.trajectories import from_points, small_sets


@pytest.fixture(scope="module")
def records():
    """Phone records of 40 users."""
    return phones(40, samples=25)


def seen_in(points, box):
    """Whether one of some points (t, x, y) lies in a sample."""
    t0, t1, x0, x1, y0, y1 = box
    return any(t0 <= t < t1 and x0 <= x < x1 and y0 <= y < y1 for t, x, y in points)


@settings(max_examples=60, deadline=None)
@given(small_sets(), st.integers(1, 4), st.integers(2, 3), st.data())
def test_kept_samples_are_those_that_enough_support(users, least, k, data):
    """Samples, members and groups are those of the plain rule, whatever the boxes."""
    paths = from_points(users)
    edges = sorted({t for own in users for t, _, _ in own} | {-1, 3_001})
    spans = list(pairwise(edges))[: data.draw(st.integers(1, 6))]
    wide = data.draw(st.sampled_from([1, 30, 600]))
    boxes = np.array([(first, last, -wide, wide, -wide, wide) for first, last in spans], np.int64).T
    everyone = np.arange(len(users))

    good = [box for box in boxes.T.tolist() if sum(seen_in(own, box) for own in users) >= least]
    members = [user for user in range(len(users)) if any(seen_in(users[user], box) for box in good)]
    try:
        kept = keep_supported(paths, Grouping([Group(everyone, boxes)]), k, least)
    except PromiseError:
        assert len(members) < k
        return

    (group,) = kept.groups
    assert kept.suppressed_users == sorted(set(everyone.tolist()) - set(members))
    assert group.samples.T.tolist() == good
    assert group.members.tolist() == members
    assert len(members) >= k


def recount(release, records):
    """Return by published sample how many members have a row in it, from the rows themselves."""
    group_of = dict(zip(release.members["user_id"].to_pylist(), release.members["group"].to_pylist(), strict=True))
    rows = list(zip(*(records[name].to_pylist() for name in ("user_id", "lon", "lat", "time")), strict=True))
    support = []
    for box in release.trajectories.to_pylist():
        naive = [box[name].replace(tzinfo=None) for name in ("t0", "t1")]
        there = {
            user
            for user, lon, lat, time in rows
            if group_of[user] == box["group"]
            and naive[0] <= time.replace(tzinfo=None) < naive[1]
            and box["lon0"] <= lon < box["lon1"]
            and box["lat0"] <= lat < box["lat1"]
        }
        support.append(len(there))
    return support


@pytest.mark.slow
@pytest.mark.parametrize(("k", "least"), [(2, 2), (3, 3), (4, 2)])
def test_every_sample_has_its_support(k, least, records, tmp_path):
    """A recount from rows finds at least so many members in every sample, in the order of the table."""
    plain = trajectories.anonymize(records, k, bbox=PHONES_BBOX)
    release = trajectories.anonymize(records, k, bbox=PHONES_BBOX, min_support=least)
    folder = release.write(tmp_path / "out")

    assert min(recount(plain, records)) == 1
    assert recount(plain, records) == plain.trajectories["support"].to_pylist()
    assert recount(release, records) == release.trajectories["support"].to_pylist()
    assert min(recount(release, records)) >= least
    assert release.trajectories.num_rows <= plain.trajectories.num_rows
    assert f"at least {least} of its users were seen" in release.manifest["promise_text"]
    assert f"at least {least} members" in " ".join(trajectories.verify(folder, records).checks)


def test_a_release_without_it_is_as_before(records):
    """One member is enough by default, and then nothing is said of it."""
    plain = trajectories.anonymize(records, 2, bbox=PHONES_BBOX)
    same = trajectories.anonymize(records, 2, bbox=PHONES_BBOX, min_support=1)

    assert plain.trajectories.equals(same.trajectories)
    assert plain.manifest == same.manifest
    assert "min_support" not in plain.manifest["promise"]


def test_the_verifier_counts_again(records, tmp_path):
    """A promise of more support than there is is refused, and so is one that only the options have."""
    folder = trajectories.anonymize(records, 3, bbox=PHONES_BBOX, min_support=2).write(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for least, where, message in ((3, ("promise", "options"), "fewer than 3 users"), (3, ("options",), "min_support")):
        changed = json.loads(json.dumps(manifest))
        for part in where:
            changed[part]["min_support"] = least
        if "promise" in where:
            changed["promise_text"] = changed["promise_text"].replace("at least 2", "at least 3")
        (folder / "manifest.json").write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(VerificationError, match=message):
            trajectories.verify(folder, records)


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_wrong_support_is_refused(records, tmp_path, shift):
    """A sample that says that one more or one fewer was seen in it does not verify."""
    folder = trajectories.anonymize(records, 3, bbox=PHONES_BBOX).write(tmp_path / "out")

    def change(columns):
        row = next(row for row, support in enumerate(columns["support"]) if support == 2)
        columns["support"][row] += shift
        return columns

    rewrite(folder / "trajectories.parquet", change)

    with pytest.raises(VerificationError, match="support of a sample"):
        trajectories.verify(folder, records)


def test_samples_as_they_were_merged(records, tmp_path):
    """Without reshape samples overlap, the manifest says so, and support is that of the rows."""
    cut = trajectories.anonymize(records, 3, bbox=PHONES_BBOX)
    plain = trajectories.anonymize(records, 3, bbox=PHONES_BBOX, reshape=False, caps="10km,1d", weights="2,1")
    folder = plain.write(tmp_path / "out")

    def overlaps(release):
        rows = release.trajectories.to_pylist()
        return sum(one["group"] == other["group"] and other["t0"] < one["t1"] for one, other in pairwise(rows))

    assert (overlaps(cut), overlaps(plain) > 0) == (0, True)
    assert recount(plain, records) == plain.trajectories["support"].to_pylist()
    assert plain.manifest["promise"]["spans"] == "overlapping"
    assert "may overlap" in plain.manifest["promise_text"]
    assert "disjoint" not in " ".join(trajectories.verify(folder, records).checks)
    suppressed = plain.audit["suppressed_rows"] / plain.audit["rows"]
    assert trajectories.evaluate(folder, records).counts["suppressed"] == pytest.approx(suppressed)
    for part, name in (("promise", "spans"), ("options", "reshape")):
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        del manifest[part][name]
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        with pytest.raises(VerificationError):
            trajectories.verify(folder, records)


@pytest.mark.slow
def test_command_and_attack(records, tmp_path, capsys):
    """The option of the command gives a release that the attack on support cannot break; one with a lie it breaks."""
    samples = tmp_path / "samples.parquet"
    pa.parquet.write_table(records, samples)
    box = "--bbox=" + ",".join(map(str, PHONES_BBOX))
    common = ["trajectories", "anonymize", str(samples), box, "-k", "3", "-o"]
    assert run([*common, str(tmp_path / "plain")]) == 0
    assert run([*common, str(tmp_path / "safe"), "--min-support", "3"]) == 0
    assert run([*common, str(tmp_path / "none"), "--min-support", "30"]) == 1
    assert "no group of 3 users has a sample in which 30" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()

    plain, safe = (fv.risk(tmp_path / name, samples, attacks="support").findings[0] for name in ("plain", "safe"))
    expected = recount(trajectories.read_release(tmp_path / "plain"), records)
    manifest = json.loads((tmp_path / "plain" / "manifest.json").read_text(encoding="utf-8"))
    manifest["promise"]["min_support"] = 3
    (tmp_path / "plain" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    assert (plain.verdict, safe.verdict) == ("tells", "holds")
    assert plain.figure == expected.count(1)
    assert plain.details["fewer_than_k"] == sum(count < 3 for count in expected)
    assert safe.details["fewer_than_k"] == 0
    assert fv.risk(tmp_path / "plain", samples).worst == "breaks"
    assert "support" in fv.risk(tmp_path / "plain").skipped


def test_order_of_groups_does_not_tell_ids():
    """Groups with the same boxes are told apart by their support; whose ids come first changes nothing published."""
    boxes = np.array([[0, 1, 0, 1, 0, 1], [5, 6, 0, 1, 0, 1]]).T
    often, once = [(0, 0, 0), (5, 0, 0)], [(0, 0, 0)]
    tables = []
    for users in ([often, once, often, often], [often, often, often, once]):
        data = from_points(users)
        groups = [Group(np.array(members), boxes) for members in ([0, 1], [2, 3])]
        tables.append(make_release(data, Grouping(groups), "glove", {}, 2).trajectories)

    assert tables[0]["support"].to_pylist() == [2, 1, 2, 2]
    assert tables[0].equals(tables[1])
