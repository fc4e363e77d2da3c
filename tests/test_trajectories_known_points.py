"""k^m: whoever knows m points fits no or k users. Brute force, the verifier's count, and what it refuses."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import flowveil as fv
from flowveil import InputError, PromiseError, VerificationError, trajectories
from flowveil._cli.commands import run
from flowveil._risk.fitting import count_fitting
from flowveil._trajectories import known_points
from flowveil._trajectories.hierarchy import Hierarchy
from flowveil._trajectories.known_points import keep_shared
from flowveil._trajectories.release import make_release
from flowveil._verify.shared_points import fewest_users
from flowveil.synthetic import PHONES_BBOX, phones


def visits_of(draw_sets):
    """Return cells and owners of samples, one for each entry of each user's set."""
    pairs = [(cell, user) for user, cells in enumerate(draw_sets) for cell in sorted(cells)]
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def supports(records, known):
    """Count by brute force who has each set of at most `known` cells."""
    count = Counter()
    for record in records:
        for size in range(1, known + 1):
            count.update(combinations(sorted(record), size))
    return count


def plain_rule(users, k, known):
    """Settle cells one by one, the most visited first: the largest part of its users with whom no set is rare."""
    crowd = Counter(cell for cells in users for cell in cells)
    records = [set() for _ in users]
    for cell in sorted(crowd, key=lambda one: (-crowd[one], one)):
        having = {user for user, cells in enumerate(users) if cell in cells}
        while True:
            count = supports([records[user] for user in having], known - 1)
            rare = {
                user
                for user in having
                if any(count[few] < k for size in range(1, known) for few in combinations(sorted(records[user]), size))
            }
            if not rare:
                break
            having -= rare
        if len(having) >= k:
            for user in having:
                records[user].add(cell)
    return records


user_sets = st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=5), min_size=2, max_size=9)


@settings(max_examples=100, deadline=None)
@given(user_sets, st.integers(2, 3), st.integers(1, 4))
def test_no_set_is_rare_and_as_much_as_possible_is_kept(users, k, known):
    """Every set of at most so many cells is in no or k records; and cells are settled as the plain rule says."""
    cells, owner = visits_of(users)

    kept = keep_shared(cells, owner, k, known)

    records = [set(cells[(owner == user) & kept].tolist()) for user in range(len(users))]
    assert all(many >= k for many in supports(records, known).values())
    assert records == plain_rule(users, k, known)


@settings(max_examples=60, deadline=None)
@given(user_sets, st.lists(st.integers(1, 4), min_size=9, max_size=9), st.integers(1, 4))
def test_the_verifier_counts_every_set(users, sizes, known):
    """Products of matrices find the same least support as counting all sets."""
    cells, owner = visits_of(users)
    held = sparse.csr_array((np.ones(len(cells), np.int64), (owner, cells)))
    held.sort_indices()
    count = supports([cells_of for user, cells_of in enumerate(users) for _ in range(sizes[user])], known)

    assert fewest_users(held, np.array(sizes[: len(users)]), known) == min(count.values())


@pytest.fixture(scope="module")
def records():
    """Phone records of 120 users."""
    return phones(120, samples=30, days=3)


@pytest.fixture(scope="module", params=[1, 2, 3])
def folder(request, records, tmp_path_factory):
    """Write a release in which so many known points are protected."""
    path = tmp_path_factory.mktemp("points") / "out"
    release = trajectories.anonymize(records, 3, bbox=PHONES_BBOX, method="km", known_points=request.param)
    return release.write(path, report=True)


def fitting(records, folder):
    """Return rows of each user, and a function that counts from tables who fits some points."""
    table = trajectories.read_release(folder).trajectories.to_pylist()
    rows = {}
    columns = (records[name].to_pylist() for name in ("user_id", "lon", "lat", "time"))
    for user, lon, lat, time in zip(*columns, strict=True):
        rows.setdefault(user, []).append((lon, lat, time))
    groups = {}
    for box in table:
        groups.setdefault((box["group"], box["size"]), []).append(box)

    def count(points):
        def holds(boxes, lon, lat, time):
            return any(
                box["t0"] <= time < box["t1"] and box["lon0"] <= lon < box["lon1"] and box["lat0"] <= lat < box["lat1"]
                for box in boxes
            )

        return sum(size for (_, size), boxes in groups.items() if all(holds(boxes, *point) for point in points))

    return rows, count


@pytest.mark.slow
def test_points_of_users_fit_no_or_k_users(records, folder):
    """Random points of every user, as many as are promised, never fit one or two users; more of them do."""
    known = trajectories.read_release(folder).manifest["promise"]["known_points"]
    rows, count = fitting(records, folder)
    random = np.random.default_rng(1)
    found = set()
    for own in rows.values():
        drawn = [own[place] for place in random.permutation(len(own))[:known]]
        found.add(count(drawn))
    alone = [count(own) for own in rows.values()]

    assert not found & {1, 2}
    assert max(found) >= 3
    assert 0 in alone


@pytest.mark.slow
def test_verify_and_attacks_agree(records, folder):
    """The verifier passes, says what it counted, and the attack breaks nothing; the report tells what is promised."""
    result = trajectories.verify(folder, records)
    (finding,) = fv.risk(folder, records, attacks="points").findings
    page = (folder / "report.html").read_text(encoding="utf-8")
    known = trajectories.read_release(folder).manifest["promise"]["known_points"]

    assert any(f"at most {known} samples is in the trajectories of at least 3 users" in text for text in result.checks)
    assert finding.verdict != "breaks"
    assert finding.figure == 0
    assert all(
        figures["belief_most"] <= 1 / 3 + 1e-9
        for points, figures in finding.details["by_points"].items()
        if int(points) <= known
    )
    assert "shared by at least" not in page
    assert "or none; more points may fit one alone" in page


def test_a_prior_makes_short_trajectories_likelier():
    """Of those that hold a point, one with fewer samples is likelier in proportion."""
    hour = np.arange(4.0)
    boxes = np.stack([hour, hour + 1, *([0.0] * 4, [1.0] * 4) * 2])
    samples = np.concatenate([boxes[:, :1], boxes, boxes[:, :2]], axis=1)  # of 1, 4 and 1 users
    points = np.array([[[0.5, 0.5, 0.5]], [[0.5, 0.5, 0.5]], [[3.5, 0.5, 0.5]], [[9.0, 0.5, 0.5]]])

    found = count_fitting(points, samples, np.array([0, 1, 5, 7]), np.array([1, 4, 1]), np.array([0, 2, 0, 0]))

    whole = 1 / 1 + 4 / 4 + 1 / 2
    assert found.drawn.tolist() == pytest.approx([1 / whole, 1 / 2 / whole, 0, 0])
    assert found.users[:, 1].tolist() == [6, 6, 4, 0]


@pytest.mark.slow
def test_a_prior_tells_nothing_of_groups(tmp_path):
    """Members of a group have the same samples: whoever weighs trajectories by length believes in none above 1/k."""
    records = phones(24, samples=20, days=2)
    shared = trajectories.anonymize(records, 3, bbox=PHONES_BBOX, max_extent="4km").write(tmp_path / "shared")

    figures = fv.risk(shared, records, attacks="points").findings[0].details["by_points"].values()

    assert 0 < max(one["belief_drawn_most"] for one in figures) <= 1 / 3 + 1e-9


def rewritten(folder, target, change):
    """Copy a release with another table of samples, and members that go with it."""
    release = trajectories.read_release(folder)
    table, members = change(release.trajectories.to_pylist(), release.members.to_pylist())
    copy = replace(
        release,
        trajectories=pa.Table.from_pylist(table, schema=release.trajectories.schema),
        members=pa.Table.from_pylist(members, schema=release.members.schema),
        audit={name: value for name, value in release.audit.items() if name != "files"},
    )
    return copy.write(target)


def without_a_user(table, members):
    """Take a whole trajectory away: points of others lose a user whom they fit."""
    kept = [box | {"group": box["group"] - (box["group"] > 0)} for box in table if box["group"] != 0]
    for row in members:
        if row["group"] == 0:
            row |= {"group": None, "suppressed": row["kept"] + row["suppressed"], "kept": 0}
        elif row["group"] is not None:
            row["group"] -= 1
    return kept, members


def wider(table, members):
    """Let a box of one trajectory alone grow."""
    return [table[0] | {"t1": table[0]["t1"] + timedelta(minutes=1)}, *table[1:]], members


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"), [(without_a_user, "fit the trajectories of only 2"), (wider, "different samples overlap")]
)
def test_the_verifier_refuses_rare_points(change, said, records, tmp_path):
    """A release in which a set of points fits fewer than k users, or which hides that, is refused."""
    made = trajectories.anonymize(records, 3, bbox=PHONES_BBOX, method="km", known_points=2)
    folder = made.write(tmp_path / "good")
    trajectories.verify(folder, records)

    broken = rewritten(folder, tmp_path / "bad", change)

    with pytest.raises(VerificationError, match=said):
        trajectories.verify(broken, records)


def test_a_maker_that_counts_singles_only_is_caught(records, tmp_path, monkeypatch):
    """A mutant that protects single points only, but promises two, fails the verifier and the attack."""
    honest = known_points.keep_shared
    monkeypatch.setattr(known_points, "keep_shared", lambda cell, owner, k, _: honest(cell, owner, k, 1))
    made = trajectories.anonymize(records, 3, bbox=PHONES_BBOX, method="km", known_points=2, max_suppression=0.9)
    folder = made.write(tmp_path / "out")

    with pytest.raises(VerificationError, match="fit the trajectories of only"):
        trajectories.verify(folder, records)
    assert fv.risk(folder, records, attacks="points").findings[0].verdict == "breaks"


def test_nothing_is_made_of_records_with_rare_points(records):
    """Trajectories of which two points fit fewer than k users are refused before anything is written."""
    data = trajectories.read_trajectories(records, PHONES_BBOX)
    single = known_points.protect_points(data, 3, 1, max_suppression=0.9)

    with pytest.raises(PromiseError, match="would fit fewer"):
        make_release(data, single, "km", {"known_points": 2, "max_suppression": 0.9}, 3)


def test_cut_into_days_every_day_keeps_the_promise(records, tmp_path):
    """Days of a user are trajectories of their own; points of one day fit no or k users."""
    made = trajectories.anonymize(records, 3, bbox=PHONES_BBOX, method="km", cut_into="day", max_suppression=0.7)
    folder = made.write(tmp_path / "out")

    trajectories.verify(folder, records)
    (finding,) = fv.risk(folder, records, attacks="points").findings
    assert finding.verdict != "breaks"
    assert finding.details["by_points"]["2"]["none"] < 1
    with pytest.raises(InputError, match="lies in two days"):
        trajectories.anonymize(
            records, 3, bbox=PHONES_BBOX, method="km", cut_into="day", timezone="Asia/Tokyo", step="1km,2h"
        )


def test_weights_choose_between_places_and_times():
    """A cell costs GLOVE's stretch, by weight: where places weigh most, squares are small and spans long."""
    records = phones(60, samples=20, days=3)
    means = {}
    for weights in ("1,1", "20,1", "1,20"):
        data = trajectories.read_trajectories(records, PHONES_BBOX, weights=weights)
        space, time = data.grid.weights
        hierarchy = Hierarchy(data.grid)
        paid = space * 2 * hierarchy.square / 200 + time * hierarchy.span / 480
        assert hierarchy.cost == pytest.approx(paid / (space + time))
        table = trajectories.anonymize(data, 3, method="km", max_suppression=0.7).trajectories.to_pandas()
        means[weights] = [(table["lon1"] - table["lon0"]).mean(), (table["t1"] - table["t0"]).mean()]

    assert means["20,1"][0] < means["1,1"][0] <= means["1,20"][0]
    assert means["20,1"][1] > means["1,1"][1] >= means["1,20"][1]


def test_too_much_suppression_raises(records):
    """Where no level keeps enough samples, nothing is made."""
    with pytest.raises(PromiseError, match="would be suppressed"):
        trajectories.anonymize(
            records, 100, bbox=PHONES_BBOX, method="km", known_points=3, max_suppression=0, max_duration="1h"
        )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"known_points": 2}, "known_points"),
        ({"max_suppression": 0.1}, "max_suppression"),
        ({"method": "km", "variant": "loose"}, "variant"),
        ({"method": "km", "min_support": 2}, "min_support"),
        ({"method": "km", "reshape": False}, "reshape"),
        ({"method": "km", "blocks": 2}, "blocks"),
        ({"method": "km", "engine": "spark"}, "km"),
        ({"method": "km", "known_points": 0}, "known_points"),
        ({"method": "km", "known_points": 7}, "known_points"),
        ({"method": "k^m"}, "method"),
        ({"blocks": 0}, "blocks"),
        ({"blocks": "many"}, "blocks"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, named, records):
    """What one method knows is not ignored by another."""
    with pytest.raises(InputError, match=named):
        trajectories.anonymize(records, 3, bbox=PHONES_BBOX, **options)


def test_command_line(records, tmp_path):
    """The command makes, verifies and describes the same release."""
    pq.write_table(records, tmp_path / "samples.parquet")
    box = ",".join(map(str, PHONES_BBOX))
    out = tmp_path / "out"
    typed = ["--method", "km", "--known-points", "2", "--max-suppression", "0.6", "-k", "3", f"--bbox={box}"]

    assert run(["trajectories", "anonymize", str(tmp_path / "samples.parquet"), "-o", str(out), *typed]) == 0
    assert run(["verify", str(out), "--against", str(tmp_path / "samples.parquet")]) == 0
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["method"], manifest["promise"]["kind"]) == ("km", "km-anonymity")
    assert manifest["promise"]["max_suppression"] == 0.6
