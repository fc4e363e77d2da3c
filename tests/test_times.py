"""Steps and hierarchies of time: the maker and the verifier work them out in different ways and must agree."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flowveil._errors import InputError
from flowveil._times import build_tree, parse_hierarchy, parse_steps
from flowveil._verify.clock import HOURS_OF_CYCLE, Clock, length_of

ZONES = (None, "UTC", "America/New_York", "Europe/Rome", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu")
STEPS = ("15min", "1h", "2h", "6h", "1d", "hour-of-day", "hour-of-week")
moments = st.integers(800_000_000, 2_050_000_000).map(lambda seconds: seconds * 1_000_000 + 123_456)  # 1995 to 2034
# Nights on which clocks are put forward or back, in one of the zones above.
CHANGES = (
    "2024-03-10T06",
    "2024-11-03T05",
    "2024-03-31T00",
    "2024-10-27T00",
    "2018-11-04T02",
    "2024-04-06T14",
    "2024-10-05T15",
)
near_changes = st.builds(
    lambda text, minutes: int(np.datetime64(text, "us").astype(np.int64)) + minutes * 60_000_000,
    st.sampled_from(CHANGES),
    st.integers(-240, 240),
)


def index(steps, times, aware):
    """Return the steps of times."""
    return np.asarray(steps.index(pa.array(times, pa.int64()), pa.array(aware)).to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("name", STEPS)
@settings(max_examples=20, deadline=None)
@given(times=st.lists(st.tuples(moments | near_changes, st.booleans()), min_size=1, max_size=20))
def test_verifier_agrees(name, zone, times):
    """Arrow's time zones and Python's give the same steps, also where clocks show an hour twice or never."""
    written, aware = (np.array(values) for values in zip(*times, strict=True))
    clock = Clock(zone)
    utc = clock.read(written.astype(np.int64), aware.astype(bool))

    found = index(parse_steps(name, zone), written, aware.tolist())

    if name in HOURS_OF_CYCLE:
        assert found.tolist() == clock.turn(utc, name).tolist()
        return
    assert found.tolist() == clock.begin(utc, length_of(name)).tolist()
    ends = parse_steps(name, zone).end(found)
    assert ends.tolist() == clock.end(found, length_of(name)).tolist()
    assert ((found <= utc) & (utc < ends)).all()


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(time=moments | near_changes, zone=st.sampled_from([zone for zone in ZONES if zone]))
def test_steps_of_the_calendar(time, zone):
    """A step holds its times, begins on the local clock's hour, and all times in it have the same step."""
    steps = parse_steps("1h", zone)
    (begin,) = index(steps, [time], [True])

    local = datetime.fromtimestamp(int(begin) / 1e6, UTC).astimezone(ZoneInfo(zone))

    assert begin <= time < begin + 3_600_000_000
    assert (local.minute, local.second, local.microsecond) == (0, 0, 0) or zone == "Australia/Lord_Howe"
    assert index(steps, [int(begin)], [True]).tolist() == [begin]


def test_steps_end_where_a_clock_changes():
    """In Lord Howe clocks go back from 2 to 1:30: the half hour that comes twice is a step of its own."""
    times = [1712412000000000, 1712415600000000, 1712415600000000 + 1_800_000_000]  # 14:00, 15:00, 15:30 in UTC
    half, hour = 1_800_000_000, 3_600_000_000
    clock = Clock("Australia/Lord_Howe")

    begin = index(parse_steps("1h", "Australia/Lord_Howe"), times, [True] * 3)
    tree, node = build_tree(parse_hierarchy("1h<part-of-day<day", "Australia/Lord_Howe"), begin)

    assert begin.tolist() == times == clock.begin(np.array(times), hour).tolist()
    assert (tree.end[node] - tree.start[node]).tolist() == [hour, half, hour]
    assert (clock.end(begin, hour) - begin).tolist() == [hour, half, hour]


def test_an_interval_that_begins_where_a_clock_jumps():
    """In New York, from 2 to 3: the two hours from 2 on begin at 3, and end at 4 as on any day."""
    three = int(np.datetime64("2024-03-10T07", "us").astype(np.int64))

    begin = index(parse_steps("2h", "America/New_York"), [three, three + 3_600_000_000], [True] * 2)

    assert begin.tolist() == [three, three + 3_600_000_000]
    assert parse_steps("2h", "America/New_York").end(begin).tolist() == [
        three + 3_600_000_000,
        three + 3 * 3_600_000_000,
    ]
    assert Clock("America/New_York").end(begin, 2 * 3_600_000_000)[0] == three + 3_600_000_000


@settings(max_examples=50, deadline=None)
@given(
    zone=st.sampled_from(["Australia/Lord_Howe", "Antarctica/Troll", "America/New_York"]),
    name=st.sampled_from(["15min", "1h", "2h", "1d"]),
    times=st.lists(near_changes, min_size=2, max_size=20),
)
def test_steps_never_overlap(zone, name, times):
    """A step holds its times, and ends before the next begins, where clocks change by half an hour and by two, too."""
    assume((zone, name) != ("Antarctica/Troll", "2h"))  # the next test
    steps = parse_steps(name, zone)

    begin = index(steps, times, [True] * len(times))

    assert all(first <= time < last for first, time, last in zip(begin, times, steps.end(begin), strict=True))
    distinct = np.unique(begin)
    assert (steps.end(distinct)[:-1] <= distinct[1:]).all()
    assert steps.end(distinct).tolist() == Clock(zone).end(distinct, length_of(name)).tolist()


def test_a_clock_that_returns_to_the_step_before():
    """At Troll it is 3 and then 1 o'clock again: steps of two hours hold what the clock shows between 0 and 2."""
    hours = np.arange(
        np.datetime64("2024-10-26T22", "us"), np.datetime64("2024-10-27T04", "us"), np.timedelta64(1, "h")
    )
    times = hours.astype(np.int64)

    begin = index(parse_steps("2h", "Antarctica/Troll"), times, [True] * 6)

    midnight, two = times[0], times[2]
    assert begin.tolist() == [midnight, midnight, two, midnight, two, two]
    assert Clock("Antarctica/Troll").begin(times, length_of("2h")).tolist() == begin.tolist()


def test_days_of_23_and_25_hours():
    """Days are cut at local midnight."""
    steps = parse_steps("1d", "America/New_York")
    hours = np.arange(
        np.datetime64("2024-03-09T05", "us"), np.datetime64("2024-03-12T04", "us"), np.timedelta64(1, "h")
    )

    days = index(steps, hours.astype(np.int64), [True] * len(hours))

    assert np.unique(days, return_counts=True)[1].tolist() == [24, 23, 24]


def test_an_hour_that_a_clock_shows_twice_is_two_hours():
    """In autumn 01:30 comes twice; times with an offset tell which."""
    steps = parse_steps("1h", "America/New_York")
    twice = np.array(["2024-11-03T05:30", "2024-11-03T06:30"], "datetime64[us]").astype(np.int64)

    assert len(set(index(steps, twice, [True, True]).tolist())) == 2
    assert index(parse_steps("hour-of-day", "America/New_York"), twice, [True, True]).tolist() == [1, 1]


def test_weeks_begin_on_monday():
    """Hour 0 of the week is Monday at midnight."""
    monday = int(np.datetime64("2024-05-06T00:10", "us").astype(np.int64))

    assert index(parse_steps("hour-of-week"), [monday, monday - 3_600_000_000], [False, False]).tolist() == [0, 167]


@pytest.mark.parametrize("name", ["7min", "5h", "2d", "0h", "hour", "1w", "", "-1h", "1H"])
def test_other_steps_are_refused(name):
    """A step divides a day, or is an hour of a cycle."""
    with pytest.raises(InputError) as error:
        parse_steps(name)

    assert "15min" in error.value.hint


@pytest.mark.parametrize("text", ["1h", "1h<30min", "6h<part-of-day", "4h<part-of-day", "hour-of-day<week", "1h<x"])
def test_other_hierarchies_are_refused(text):
    """Every level holds whole intervals of the level before it."""
    with pytest.raises(InputError):
        parse_hierarchy(text)


def test_unknown_time_zone():
    """A time zone has a name of the tz database."""
    with pytest.raises(InputError, match="Rome"):
        parse_steps("1h", "Europe/Roma")


@settings(max_examples=40, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    text=st.sampled_from(["1h<part-of-day<day", "15min<1h<day<week", "1h<3h<12h<day"]),
    times=st.lists(moments | near_changes, min_size=1, max_size=30),
)
def test_tree_of_the_calendar(zone, text, times):
    """Children lie inside their parents, siblings do not overlap, and every step is a leaf."""
    levels = parse_hierarchy(text, zone)
    steps = np.unique(index(levels.steps, times, [True] * len(times)))

    tree, node = build_tree(levels, steps)

    hierarchy = tree.hierarchy
    assert hierarchy.is_leaf[node].all()
    assert tree.start[node].tolist() == steps.tolist()
    assert int(hierarchy.tiles[0]) == len(steps)
    for child in range(1, len(hierarchy)):
        above = int(hierarchy.parent[child])
        assert tree.start[child] < tree.end[child]
        if above:
            assert tree.start[above] <= tree.start[child] < tree.end[child] <= tree.end[above]
    for above in range(len(hierarchy)):
        first, end = int(hierarchy.first_child[above]), int(hierarchy.end_child[above])
        order = sorted(range(first, end), key=lambda child: tree.start[child])
        assert all(tree.end[one] <= tree.start[other] for one, other in pairwise(order))


def test_tree_of_a_cycle_holds_all_hours():
    """A day has 24 hours, seen or not, and is its own top."""
    tree, node = build_tree(parse_hierarchy("hour-of-day<part-of-day<day"), np.array([3, 22]))

    assert tree.hierarchy.tiles.tolist() == [24, 6, 6, 6, 6, *[1] * 24]
    assert [value.to_pylist() for value in tree.values(np.array([0, 1]))] == [[0, 0], [24, 6]]
    assert tree.start[node].tolist() == [3, 22]


def test_top_of_the_calendar_says_nothing():
    """The range of the data would give the first and last trip away."""
    tree, _ = build_tree(parse_hierarchy("1h<day"), np.array([0, 7_200_000_000]))

    assert [value.to_pylist() for value in tree.values(np.array([0]))] == [[None], [None]]
