"""Trajectories cut into days or weeks: no group counts a user twice, and the verifier finds every way to cheat."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil import InputError, PromiseError, VerificationError, trajectories
from flowveil._trajectories import first_days
from flowveil.synthetic import PHONES_BBOX, phones
from tests.test_trajectories_release import rewrite

ZONE = "America/New_York"


@pytest.fixture(scope="module")
def records():
    """Phone records of 12 users."""
    return phones(12, samples=60)


def test_days_and_weeks_begin_at_midnight():
    """Periods are those of the calendar, over changes of the clock and on both sides of 1970."""
    start = datetime(1969, 12, 20, tzinfo=UTC)
    moments = [start + timedelta(hours=5 * hour) for hour in range(40)]
    moments += [datetime(2024, 3, 9, tzinfo=UTC) + timedelta(minutes=37 * step) for step in range(100)]
    micros = np.array([round(moment.timestamp() * 10**6) for moment in moments])

    for period in ("day", "week"):
        local = [moment.astimezone(ZoneInfo(ZONE)).date() for moment in moments]
        expected = [day - timedelta(days=day.weekday() if period == "week" else 0) for day in local]
        actual = first_days(micros, period, ZONE)
        assert [datetime(1970, 1, 1, tzinfo=UTC).date() + timedelta(days=day) for day in actual.tolist()] == expected


def people_of(release, records, zone):
    """Return by group the users with a row of its period in its samples, from raw rows; and the periods of each."""
    listed = {(row["user_id"], row["period"]): row["group"] for row in release.members.to_pylist()}
    boxes = release.trajectories.to_pylist()
    people, periods = {box["group"]: set() for box in boxes}, {box["group"]: set() for box in boxes}
    for user, lon, lat, time in zip(*(records[name].to_pylist() for name in records.column_names), strict=True):
        moment = time.replace(tzinfo=UTC)
        day = moment.astimezone(ZoneInfo(zone)).date()
        if release.manifest["promise"]["cut_into"] == "week":
            day -= timedelta(days=day.weekday())
        for box in boxes:
            here = box["lon0"] <= lon < box["lon1"] and box["lat0"] <= lat < box["lat1"]
            if listed.get((user, day)) == box["group"] and box["t0"] <= moment < box["t1"] and here:
                people[box["group"]].add(user)
                periods[box["group"]].add(day)
    return people, periods


@pytest.mark.slow
@pytest.mark.parametrize(("period", "options"), [("day", {}), ("week", {"max_extent": "3km"}), ("day", {"k": 3})])
def test_every_group_has_k_different_users(records, tmp_path, period, options):
    """Counted from raw rows, each group has as many different users as it says, all of one period."""
    k = options.pop("k", 2)
    release = trajectories.anonymize(records, k, bbox=PHONES_BBOX, cut_into=period, timezone=ZONE, **options)
    folder = release.write(tmp_path / "out")

    people, periods = people_of(release, records, ZONE)
    sizes = dict(zip(*(release.trajectories[name].to_pylist() for name in ("group", "size")), strict=True))

    assert sizes == {group: len(users) for group, users in people.items()}
    assert min(sizes.values()) >= k
    assert {len(days) for days in periods.values()} == {1}
    assert f"cut into {period}s" in release.manifest["promise_text"]
    assert f"of one {period}, or twice in one" in " ".join(trajectories.verify(folder, records).checks)
    assert release.audit["trajectories"] == len(release.members)
    measured = trajectories.evaluate(folder, records)
    assert measured.counts["suppressed"] == pytest.approx(release.audit["suppressed_rows"] / release.audit["rows"])
    support = fv.risk(folder, records, attacks="support").findings[0]
    assert support.details["one"] == release.trajectories["support"].to_pylist().count(1)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5 * 1440), st.integers(0, 3)), min_size=2, max_size=40))
def test_a_user_is_never_a_crowd(rows):
    """However often one user was there on other days, that user counts once: groups have k different ones."""
    start = datetime(2024, 5, 1, tzinfo=UTC)
    table = pa.table(
        {
            "uid": [f"u{user}" for user, _, _ in rows],
            "lng": [4.5 + place / 1000 for *_, place in rows],
            "lat": [50.4] * len(rows),
            "datetime": [start + timedelta(minutes=minute) for _, minute, _ in rows],
        }
    )
    try:
        release = trajectories.anonymize(table, 2, bbox=PHONES_BBOX, cut_into="day")
    except PromiseError:
        return

    people, _ = people_of(release, table, "UTC")

    assert min(map(len, people.values())) >= 2


def test_nobody_is_told_that_days_cannot_be_linked(records):
    """Who sleeps in one place two nights in a row can be followed by it: the promise says that places may show that."""
    release = trajectories.anonymize(records, 2, bbox=PHONES_BBOX, cut_into="day")

    assert "No id goes from one day to another, but places may show" in release.manifest["promise_text"]
    assert "what several of them tell together is not promised" in release.manifest["promise_text"]
    assert "u00" not in str(release.trajectories.to_pydict())


def test_cheats_are_noticed(records, tmp_path):
    """A user twice in a group, a trajectory moved to another day, another zone or no word of it: all are refused."""
    folder = trajectories.anonymize(records, 2, bbox=PHONES_BBOX, cut_into="day").write(tmp_path / "out")
    members, manifest = folder.with_name("out.members.parquet"), folder / "manifest.json"
    written, said = members.read_bytes(), manifest.read_text(encoding="utf-8")
    groups = pq.read_table(members).to_pydict()
    twin = next(row for row, group in enumerate(groups["group"]) if group is not None)

    def same_user(columns):
        other = next(
            row for row, group in enumerate(columns["group"]) if group == columns["group"][twin] and row != twin
        )
        columns["user_id"][other] = columns["user_id"][twin]
        columns["period"][other] += timedelta(days=1000)
        return columns

    def other_day(columns):
        columns["period"][twin] += timedelta(days=1000)
        return columns

    for change, message in ((same_user, "counts a user twice"), (other_day, "not the users")):
        rewrite(members, change)
        with pytest.raises(VerificationError, match=message):
            trajectories.verify(folder, records)
        members.write_bytes(written)
    for part, name, value in (("options", "timezone", "Asia/Tokyo"), ("promise", "cut_into", "week")):
        changed = json.loads(said)
        changed[part][name] = value
        manifest.write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(VerificationError):
            trajectories.verify(folder, records)


def test_refusals(records):
    """Other periods, a zone without a period, and periods without a crowd are refused."""
    for options in ({"cut_into": "month"}, {"timezone": ZONE}, {"cut_into": "day", "timezone": "Mars"}):
        with pytest.raises(InputError):
            trajectories.read_trajectories(records, PHONES_BBOX, **options)
    with pytest.raises(PromiseError, match="no day has a group"):
        trajectories.anonymize(records, 13, bbox=PHONES_BBOX, cut_into="day")


def test_gaps_within_days(records):
    """Gaps of days are those to other users of the day: the nearest day of the same user does not count."""
    data = trajectories.read_trajectories(records, PHONES_BBOX, cut_into="day")
    one = data.periods == data.periods[0]
    day = datetime(1970, 1, 1) + timedelta(days=int(data.periods[0]))  # noqa: DTZ001  as the samples are written
    alone = records.filter(
        pa.array([day <= time.replace(tzinfo=None) < day + timedelta(days=1) for time in records["time"].to_pylist()])
    )

    expected = trajectories.gap(trajectories.read_trajectories(alone, PHONES_BBOX), [2], generalize=False)
    actual = trajectories.gap(data, [2], generalize=False)

    first = int(data.periods.min() == data.periods[0]) and int(one.sum())
    assert len(actual.gaps[2]) <= len(data)
    if first:
        assert actual.gaps[2][:first].tolist() == expected.gaps[2].tolist()
