"""Months, weeks and kinds of days: as a calendar on the wall has them, in any time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._errors import InputError, VerificationError
from flowveil._report.keys import find_keys, label
from flowveil._times import parse_hierarchy, parse_steps
from flowveil._verify.clock import MONTH, Clock, length_of

ZONES = ["UTC", "America/New_York", "Europe/Rome", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu"]
KINDS = {"weekday-weekend": [0, 0, 0, 0, 0, 1, 1], "day-type": [0, 0, 0, 0, 0, 1, 2]}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

moments = st.datetimes(datetime(1980, 1, 1), datetime(2036, 12, 31)).map(lambda moment: moment.replace(tzinfo=UTC))  # noqa: DTZ001


def micros(moment: datetime) -> int:
    """Return a moment as microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def expected(moment: datetime, step: str, zone: str) -> int:
    """Return the step of a moment, by the calendar of its zone."""
    clock = moment.astimezone(ZoneInfo(zone))
    if step in KINDS:
        return KINDS[step][clock.weekday()]
    day = clock.date().replace(day=1) if step == "month" else clock.date() - timedelta(days=clock.weekday())
    # The first moment that the clock shows this date: it may skip midnight, so count on from an hour before.
    midnight = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    while midnight.astimezone(ZoneInfo(zone)).date() < day:
        midnight += timedelta(minutes=15)
    while (midnight - timedelta(minutes=15)).astimezone(ZoneInfo(zone)).date() == day:
        midnight -= timedelta(minutes=15)
    return micros(midnight)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(moments, st.sampled_from(["week", "month", *KINDS]), st.sampled_from(ZONES))
@example(datetime(2024, 3, 31, 23, 30, tzinfo=UTC), "month", "Europe/Rome")  # April there
@example(datetime(2024, 11, 3, 4, 30, tzinfo=UTC), "week", "America/New_York")  # clocks go back on that day
@example(datetime(2024, 3, 10, 4, 59, tzinfo=UTC), "day-type", "America/New_York")  # still Saturday there
def test_steps_are_those_of_the_calendar(moment, step, zone):
    """A moment is in the step that a calendar says; maker and verifier have clocks of their own, which agree."""
    steps, clock = parse_steps(step, zone), Clock(zone)
    at = np.array([micros(moment)])

    (found,) = steps.index(pa.array(at), pa.array([True])).to_pylist()

    assert found == expected(moment, step, zone)
    if step in KINDS:
        assert clock.turn(at, step).tolist() == [found]
        assert found < steps.cycle
    else:
        length = length_of(step)
        begin = clock.begin(at, length)
        assert begin.tolist() == [found]
        assert clock.end(begin, length).tolist() == steps.end(begin).tolist()
        after = EPOCH + timedelta(microseconds=int(clock.end(begin, length)[0]))
        assert expected(after, step, zone) == micros(after)
        assert expected(after - timedelta(microseconds=1), step, zone) == found


def test_kinds_of_days_are_hours_of_a_week():
    """Every hour of the week is in one kind of day."""
    for name, kinds in KINDS.items():
        steps = parse_steps(name)
        hours = [steps.hours_of_week(value) for value in range(steps.cycle)]
        assert sorted(hour for some in hours for hour in some) == list(range(168))
        assert [kinds[some[0] // 24] for some in hours] == list(range(steps.cycle))


def test_no_hierarchy_begins_with_them():
    """A hierarchy of time is of lengths that divide each other."""
    for text in ("month<day", "week<day", "day-type<week"):
        with pytest.raises(InputError, match="does not begin"):
            parse_hierarchy(text)
    assert length_of("month") == MONTH


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """Write trips around the end of two months, as a local clock shows them."""
    path = tmp_path_factory.mktemp("months") / "trips.parquet"
    random = np.random.default_rng(4)
    begin = datetime(2024, 2, 20)  # noqa: DTZ001  a clock on the wall
    times = [begin + timedelta(minutes=int(minute)) for minute in random.integers(0, 60 * 24 * 100, 1_500)]
    ends = {name: random.choice(["a", "b", "c"], 1_500) for name in ("origin", "destination")}
    pq.write_table(pa.table({**ends, "start_time": times}), path)
    zones = {"zone_id": ["a", "b", "c"], "lon": [4.0, 4.1, 4.2], "lat": [50.0, 50.1, 50.0]}
    pq.write_table(pa.table(zones), path.with_name("zones.parquet"))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("step", ["month", "week", *KINDS])
@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_release_is_verified(step, zone, trips, tmp_path):
    """A release over such steps is verified, with volumes counted by hand; one whose times are moved is not."""
    zones = trips.with_name("zones.parquet")
    flows = fv.build_flows(trips, zones=zones, hierarchy="ward", time=step, timezone=zone)
    release = fv.anonymize(flows, k=3, max_suppression=0.5)
    release.write(tmp_path / "out")
    fv.verify(tmp_path / "out", trips)
    written = [
        moment.replace(tzinfo=ZoneInfo(zone or "UTC")) for moment in pq.read_table(trips)["start_time"].to_pylist()
    ]
    true = {}
    for moment in written:
        key = expected(moment, step, zone or "UTC")
        true[key] = true.get(key, 0) + 1

    table = release.flows
    keys = table["time"].cast(pa.int64()).to_pylist()
    assert set(keys) <= set(true)
    for key in set(keys):
        assert sum(trips for at, trips in zip(keys, table["trips"].to_pylist(), strict=True) if at == key) <= true[key]
    wrong = release.flows.set_column(2, "time", pa.array([k + 1 for k in keys], pa.int64()).cast(table["time"].type))
    pq.write_table(wrong, tmp_path / "out" / "flows.parquet")
    with pytest.raises(VerificationError):
        fv.verify(tmp_path / "out", trips, zones=zones)


def test_names_of_steps():
    """Readers see months and weeks by the date on which they begin there, all of them, and days by their kind."""
    march, may = (datetime(2024, month, 1, 5 - (month > 3), tzinfo=UTC) for month in (3, 5))
    manifest = {
        "options": {"time": "month", "timezone": "America/New_York"},
        "promise": {},
        "format": "flowveil-flows/1",
    }
    (key,) = find_keys(pa.table({"origin": ["a", "a"], "destination": ["b", "b"], "time": [march, may]}), manifest)

    assert key.values == ["2024-03", "2024-04", "2024-05"]
    assert key.position.tolist() == [0, 2]
    assert label(datetime(2024, 11, 4, 5, tzinfo=UTC), "week", "America/New_York") == "week of 2024-11-04"
    assert [label(value, "day-type") for value in range(3)] == ["weekdays", "Saturdays", "Sundays"]
    assert [label(value, "weekday-weekend") for value in range(2)] == ["weekdays", "weekend"]
