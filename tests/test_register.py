"""The register: what was published before, what all of it tells together, and what may still be spent."""

from __future__ import annotations

import itertools
import json
import signal
import sqlite3
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import flowveil as fv
from flowveil._cli.commands import find_app
from flowveil._difference import find_implied, find_leaks
from flowveil._register import look
from flowveil._register.periods import parse_period
from flowveil.synthetic import CITY_BBOX

ZONES = pa.table({"zone_id": list("abcd"), "lon": [0.0, 0.1, 1.0, 1.1], "lat": [0.0, 0.1, 1.0, 1.1]})
K = 5


def trips_of(counts, *, sex="f", month=1):
    """Return trips from zone to zone, so many of each pair, all at different times of a month."""
    rows = [pair for pair, count in counts.items() for _ in range(count)]
    second = itertools.count()
    times = [datetime(2024, month, 1, tzinfo=UTC).timestamp() + 61 * next(second) for _ in rows]
    return pa.table(
        {
            "origin": [pair[0] for pair in rows],
            "destination": [pair[1] for pair in rows],
            "start_time": pa.array([int(time * 1e6) for time in times]).cast(pa.timestamp("us", "UTC")),
            "sex": pa.array([sex] * len(rows), pa.string()),
        }
    )


def publish(trips, register, folder, **options):
    """Publish pairs of zones that have enough trips, and enter the release."""
    building = {name: options.pop(name) for name in ("by", "unit") if name in options}
    flows = fv.build_flows(trips, zones=ZONES, hierarchy="ward", **building)
    method = options.pop("method", "suppression")
    release = fv.anonymize(flows, method, k=K, register=register, **options)
    release.write(folder)
    return release


@pytest.fixture
def register(tmp_path):
    """Return where a register will be."""
    return tmp_path / "releases.register"


class TestMonths:
    """Months beside each other, and beside the quarter that they are parts of."""

    def test_months_need_no_check(self, register, tmp_path):
        """Two months share no trips: both are published whole, and it is said why."""
        months = [trips_of({("a", "b"): 7}, month=month) for month in (1, 2)]

        publish(months[0], register, tmp_path / "january")
        second = publish(months[1], register, tmp_path / "february")

        assert second.flows["trips"].to_pylist() == [7]
        (note,) = second.entry.notes
        assert note.startswith("1 of 1 releases in the register share no trips with this one (1 by the times of their")
        assert note.endswith(": nothing has to be checked")

    def test_quarter_less_its_months(self, register, tmp_path):
        """January and February are out; the quarter would tell of three trips in March, and is refused by name."""
        months = [trips_of({("a", "b"): count}, month=month) for month, count in ((1, 6), (2, 8), (3, 3))]
        publish(months[0], register, tmp_path / "january")
        publish(months[1], register, tmp_path / "february")

        with pytest.raises(fv.PromiseError, match=r"release 1 \(january\) and release 2 \(february\)"):
            publish(pa.concat_tables(months), register, tmp_path / "quarter")

        assert not (tmp_path / "quarter").exists()
        assert fv.register(register).releases.num_rows == 2

    def test_a_period_that_is_not_true(self, register, tmp_path):
        """A month that was typed wrongly switches no check off, also where a row has no time."""
        trips = trips_of({("a", "b"): 9})
        trips = trips.set_column(2, "start_time", pa.array([None, *trips["start_time"].to_pylist()[1:]]))
        publish(trips, register, tmp_path / "january", period="2024-01")

        with pytest.raises(fv.PromiseError, match=r"release 1 \(january\)"):
            publish(trips.slice(0, 8), register, tmp_path / "less", period="2024-07")

    @pytest.mark.slow
    def test_quarter_with_a_crowd_left(self, register, tmp_path):
        """Where March has a crowd of its own, the quarter may be published."""
        months = [trips_of({("a", "b"): count}, month=month) for month, count in ((1, 6), (2, 8), (3, 5))]
        publish(months[0], register, tmp_path / "january")
        publish(months[1], register, tmp_path / "february")

        quarter = publish(pa.concat_tables(months), register, tmp_path / "quarter")

        assert quarter.flows["trips"].to_pylist() == [19]

    def test_month_inside_a_quarter_that_is_out(self, register, tmp_path):
        """The quarter first: of the months only what leaves a crowd is published, the rest is withheld."""
        months = [trips_of({("a", "b"): 6, ("c", "d"): 6}, month=1), trips_of({("a", "b"): 6, ("c", "d"): 2}, month=2)]
        publish(pa.concat_tables(months), register, tmp_path / "quarter")

        january = publish(months[0], register, tmp_path / "january", max_suppression=0.6)

        assert january.flows["trips"].to_pylist() == [6]
        assert "1 of 2 flows are withheld because of the register" in january.entry.notes[-1]

    def test_other_rows_of_one_file(self, register, tmp_path):
        """Rows that two conditions keep apart are known to be apart though their times are not."""
        trips = pa.concat_tables([trips_of({("a", "b"): 6}, sex="f"), trips_of({("c", "d"): 6}, sex="m")])

        for sex in ("f", "m"):
            part = fv.read_trips(trips, where=f"sex = '{sex}'")
            release = publish(part, register, tmp_path / sex)

        assert release.entry.notes[0].endswith("(1 row by row): nothing has to be checked")

    @pytest.mark.slow
    def test_many_releases_in_one_message(self, register, tmp_path):
        """Of a year of months beside the year, three are named and the others numbered."""
        months = [trips_of({("a", "b"): 6}, month=month) for month in range(1, 7)]
        for number, month in enumerate(months[:5], 1):
            publish(month, register, tmp_path / f"month{number}")

        year = publish(pa.concat_tables(months), register, tmp_path / "year")

        named = "release 1 (month1), release 2 (month2), release 3 (month3) and 2 more (4, 5)"
        assert year.entry.notes == (
            f"checked together with {named}, which have trips in common with it or with each other",
        )

    def test_the_release_that_matters_is_named(self, register, tmp_path):
        """February shares trips with the quarter alone; that January is out, too, leaves three trips of March."""
        months = [trips_of({("a", "b"): count}, month=month) for month, count in ((1, 6), (2, 8), (3, 3))]
        publish(pa.concat_tables(months), register, tmp_path / "quarter")
        publish(months[0], register, tmp_path / "january")

        said = r"1 of 1 flows .* of release 1 \(quarter\) \(and of 1 more that share trips with these\) or taken"
        with pytest.raises(fv.PromiseError, match=said):
            publish(months[1], register, tmp_path / "february")


class TestJointly:
    """Three and more layers of flows."""

    @pytest.mark.slow
    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_equals_brute_force(self, data):
        """A leak is found exactly if some set of atoms has 1 to k - 1 trips in all tables that agree with all sums.

        The layers are a quarter, its months and groups; all tables of small cases are tried.
        """
        k = 3
        layers, size = _drawn(data, most=5)
        assume(not _certain(_tables(layers[1:], size), k))  # what is out already is safe

        found = find_leaks(layers, size, k)

        assert bool(found) == bool(_certain(_tables(layers, size), k))

    def test_two_by_two_is_not_enough(self):
        """Two of three layers tell nothing of a crowd smaller than k; all three give two trips away."""
        # Atoms: january a-b (10), women a-c (6), men a-c (2). Whole: all. Month: the first. Women: the second.
        size = np.array([10, 6, 2])
        whole, month, women = np.array([0, 0, 0]), np.array([0, -1, -1]), np.array([-1, 0, -1])

        assert find_leaks([whole, month], size, K) == []
        assert find_leaks([whole, women], size, K) == []
        (leak,) = find_leaks([whole, month, women], size, K)

        assert leak.flows == (0,)
        assert leak.others == ((1, 0), (2, 0))
        assert leak.size == 2

    def test_half_sums(self):
        """Three flows of which each two share a part: half of their sum less one of them is a part."""
        one, two, three = np.array([0, -1, 0]), np.array([0, 0, -1]), np.array([-1, 0, 0])

        (leak,) = find_leaks([one, two, three], np.array([2, 9, 9]), K)

        assert leak.size == 2
        assert find_leaks([one, two, three], np.array([9, 9, 9]), K) == []

    @pytest.mark.slow
    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_nobody_by_brute_force(self, data):
        """A flow is a sum of others exactly if it says that nobody is in some place where there could have been a few.

        To each small case somebody is added who is in any flow of each layer, or in none; all tables are tried.
        """
        layers, size = _drawn(data, most=4)
        assume(not _certain(_tables(layers, size), 3))  # leaks go first; one of a single trip leaves no room beside it

        implied = find_implied(layers, size, np.zeros(2, bool))

        told = [
            place
            for place in itertools.product(*(range(-1, layer.max() + 1) for layer in layers))
            if place[0] >= 0 and _is_empty(layers, size, place) and not _is_empty(layers[1:], size, place[1:])
        ]
        assert bool(implied) == bool(told)
        rest = [np.where(np.isin(layers[0], implied), -1, layers[0]), *layers[1:]]
        assert find_implied(rest, size, np.zeros(2, bool)) == []

    @pytest.mark.parametrize("seed", range(3))
    def test_sums_are_found_as_by_rank(self, seed):
        """What is left has the rank of all flows, and what goes is no more than that; what is known is left aside."""
        draw = np.random.default_rng(seed)
        layers = [draw.integers(-1, count, 40) for count in (12, 9, 4, 6)]
        size = draw.integers(1, 9, 40)

        implied = find_implied(layers, size, np.zeros(12, bool))

        def rank(left_out=()):
            first = np.where(np.isin(layers[0], left_out), -1, layers[0])
            flows = [layer == flow for layer in (first, *layers[1:]) for flow in range(layer.max() + 1)]
            return np.linalg.matrix_rank(np.array(flows, float))

        without = [flow for flow in range(12) if (layers[0] == flow).any()]
        assert rank(implied) == rank()
        assert len(without) - len(implied) == rank() - rank(without)
        assert not set(find_implied(layers, size, np.isin(range(12), implied))) & set(implied)

    @pytest.mark.slow
    @pytest.mark.parametrize("men", [0, 2, 5])
    @pytest.mark.parametrize("others", [("january",), ("women",), ("january", "women")])
    def test_planted_leak_between_three_releases(self, register, tmp_path, men, others):
        """Releases that pass two by two are refused as three if they tell of two men: named, with nothing written.

        The quarter from a to c or d, less January's from a to c, less women's from a to d, are the men from a to d.
        That there are none is not told either: else a quarter that is missing would tell of a few.
        """
        january = [trips_of({("a", "c"): 5}, sex=sex, month=month) for sex, month in (("f", 1), ("m", 2))]
        women, later = trips_of({("a", "d"): 6}, sex="f", month=3), trips_of({("a", "d"): 5}, sex="m", month=4)
        releases = {"january": pa.concat_tables(january), "women": pa.concat_tables([january[0], women])}
        for name in others:
            publish(releases[name], register, tmp_path / name)
        quarter = pa.concat_tables([*january, women, later.slice(0, men)])

        def last():
            return publish(quarter, register, tmp_path / "quarter", method="mosaic", min_tiles=2, max_suppression=0)

        if len(others) == 2 and men < K:
            with pytest.raises(fv.PromiseError, match=r"release 1 \(january\) and release 2 \(women\)"):
                last()
            assert not (tmp_path / "quarter").exists()
        else:
            assert last().flows["trips"].to_pylist() == [16 + men]

    def test_the_attacker_agrees(self, register, tmp_path):
        """What the register lets through, the exact attacker finds no certain group in; without it, it finds one."""
        women = trips_of({("a", "c"): 6, ("b", "d"): 7}, month=1)
        men = trips_of({("a", "c"): 2, ("a", "d"): 4, ("b", "d"): 9}, sex="m", month=2)
        whole = pa.concat_tables([women, men])
        publish(whole, register, tmp_path / "whole")

        publish(whole, register, tmp_path / "checked", by="sex", max_suppression=1)
        flows = fv.build_flows(whole, zones=ZONES, hierarchy="ward", by="sex")
        fv.anonymize(flows, "suppression", k=K).write(tmp_path / "free")

        verdicts = [
            fv.risk(tmp_path / name, beside=[tmp_path / "whole"], attacks="exact").findings[0].verdict
            for name in ("checked", "free")
        ]
        assert verdicts[0] != "breaks"
        assert verdicts[1] == "breaks"


def _drawn(data, most):
    """Draw up to so many atoms of three layers; all of their flows are crowds of 3."""
    count = data.draw(st.integers(1, most))
    layers = [
        np.array(data.draw(st.lists(st.integers(-1, 1), min_size=count, max_size=count)), np.int64) for _ in range(3)
    ]
    size = np.array(data.draw(st.lists(st.integers(1, 4), min_size=count, max_size=count)), np.int64)
    layers, size = _published(layers, size, 3)
    assume(len(size))
    return layers, size


def _is_empty(layers, size, place):
    """Whether nobody can be in one flow of each layer (-1 for none), and in no other, beside those that are there."""
    if max(place) < 0:
        return False
    layers = [np.append(layer, flow) for layer, flow in zip(layers, place, strict=True)]
    return all(table[-1] == 0 for table in _tables(layers, np.append(size, 0)))


def _published(layers, size, k):
    """Return atoms: trips in the same flows, of which each has a crowd; flows are numbered from 0."""
    for layer in layers:
        for flow in range(2):
            if size[layer == flow].sum() < k:
                layer[layer == flow] = -1
    keys, place = np.unique(np.column_stack(layers), axis=0, return_inverse=True)
    size = np.bincount(place.ravel(), size, len(keys)).astype(np.int64)
    kept = (keys >= 0).any(axis=1)
    keys, size = keys[kept], size[kept]
    numbered = [np.unique(np.append(column, -1), return_inverse=True)[1][:-1] - 1 for column in keys.T]
    return numbered, size


def _tables(layers, size):
    """Return all numbers of trips by atom that have the sums of all flows; atoms in no flow are left as they are."""
    most = int(size.sum())
    free = np.any([layer >= 0 for layer in layers], axis=0)
    ranges = [range(most + 1) if open_ else (None,) for open_ in free]
    sums = [(layer == flow, int(size[layer == flow].sum())) for layer in layers for flow in range(layer.max() + 1)]
    return _extend([], ranges, sums)


def _extend(table, ranges, sums):
    """Return all tables that begin like this one."""
    for inside, total in sums:
        known = sum(value or 0 for value, within in zip(table, inside, strict=False) if within)
        if known > total or (known < total and not inside[len(table) :].any()):
            return []
    if len(table) == len(ranges):
        return [tuple(table)]
    return [whole for value in ranges[len(table)] for whole in _extend([*table, value], ranges, sums)]


def _certain(tables, k):
    """Return the sets of atoms that have 1 to k - 1 trips in all tables."""
    atoms = range(len(tables[0]))
    subsets = (part for size in range(1, len(atoms) + 1) for part in itertools.combinations(atoms, size))
    told = set()
    for part in subsets:
        if all(tables[0][atom] is not None for atom in part):
            sums = [sum(table[atom] for atom in part) for table in tables]
            if min(sums) >= 1 and max(sums) < k:
                told.add(part)
    return told


class TestGroups:
    """Groups beside the whole, and other layers of one release."""

    def test_men_beside_all(self, register, tmp_path):
        """All less men are three women: the men's flow is withheld, and nothing is left to publish."""
        parts = [trips_of({("a", "b"): 8}, sex="m", month=1), trips_of({("a", "b"): 3}, sex="f", month=2)]
        publish(pa.concat_tables(parts), register, tmp_path / "all")

        with pytest.raises(fv.PromiseError, match=r"nothing may be published.*release 1 \(all\)"):
            publish(pa.concat_tables(parts), register, tmp_path / "groups", by="sex", max_suppression=1)

    def test_the_same_again(self, register, tmp_path):
        """The same release twice tells nothing new."""
        trips = trips_of({("a", "b"): 8, ("c", "d"): 5})

        first = publish(trips, register, tmp_path / "one")
        second = publish(trips, register, tmp_path / "two")

        assert second.flows.equals(first.flows)

    def test_layers_that_may_not_be_thinned(self, register, tmp_path):
        """With remainders, single flows cannot be left out: the release is refused as a whole, and it is said why."""
        months = [trips_of({("a", "b"): 6}, month=1), trips_of({("a", "b"): 2}, month=2)]
        publish(pa.concat_tables(months), register, tmp_path / "quarter")

        with pytest.raises(fv.PromiseError, match=r"fewer than a crowd.* release 1 \(quarter\)"):
            publish(months[0], register, tmp_path / "january", method="mosaic", remainders=True)

    def test_no_total_is_left(self, register, tmp_path):
        """Where all totals are withheld, groups are published beside what is out, as they are without totals."""
        trips = pa.concat_tables([trips_of({("a", "b"): 6}, sex="f"), trips_of({("c", "d"): 6}, sex="m", month=2)])

        for name, totals in (("groups", False), ("again", True)):
            release = publish(trips, register, tmp_path / name, by="sex", totals=totals, method="mosaic")

            assert sorted(release.flows["sex"].to_pylist()) == ["f", "m"]

    def test_persons_count(self, register, tmp_path):
        """What is left are six trips of one person: no crowd, though six trips would be one."""
        first, second = trips_of({("a", "b"): 6}, month=1), trips_of({("a", "b"): 6}, month=2)
        persons = [pa.array([f"p{number}" for number in range(6)]), pa.array(["q"] * 6)]
        months = [table.append_column("person", ids) for table, ids in zip((first, second), persons, strict=True)]
        publish(months[0], register, tmp_path / "january", unit="person")

        with pytest.raises(fv.PromiseError, match="nothing may be published"):
            publish(pa.concat_tables(months), register, tmp_path / "both", unit="person", max_suppression=1)


class TestRefusals:
    """What cannot be told is not guessed."""

    def test_other_columns(self, register, tmp_path):
        """Trips that are known by other columns cannot be compared."""
        trips = trips_of({("a", "b"): 6})
        publish(trips, register, tmp_path / "one")

        with pytest.raises(fv.InputError, match=r"known by origin, destination, start_time \(UTC\) in release 1"):
            publish(trips, register, tmp_path / "two", unit="sex")

    def test_other_clocks(self, register, tmp_path):
        """The same evening by a local clock and in UTC is two days: that they are apart is not concluded from it."""
        trips = trips_of({("a", "b"): 6})
        publish(trips, register, tmp_path / "one")
        moment = trips["start_time"].cast(pa.timestamp("us"))
        later = pa.array([time + timedelta(hours=5) for time in moment.to_pylist()], pa.timestamp("us"))
        local = trips.set_column(2, "start_time", later)

        with pytest.raises(fv.InputError, match=r"start_time \(local\) here"):
            publish(local, register, tmp_path / "two")

    @pytest.mark.slow
    def test_counted_tables(self, register, tmp_path):
        """Which trips two tables of counts share is not known, unless their periods are typed."""
        tables = [pa.table({"origin": ["a"], "destination": ["b"], "count": [count]}) for count in (6, 9)]
        publish(tables[0], register, tmp_path / "one", period="2024-01")

        with pytest.raises(fv.PromiseError, match="another table of counts"):
            publish(tables[1], register, tmp_path / "two", period="2024")
        other = publish(tables[1], register, tmp_path / "three", period="2024-02")

        assert "by the periods that you typed" in other.entry.notes[0]
        assert publish(tables[0], register, tmp_path / "again", period="2024-01").flows.num_rows == 1

    def test_rounded_numbers(self, register, tmp_path):
        """Numbers that are changed are no sums of trips: refused where trips are shared, not where they are not."""
        trips = trips_of({("a", "b"): 6})
        publish(trips, register, tmp_path / "one")

        with pytest.raises(fv.PromiseError, match=r"release 1 \(one\).*rounded or changed"):
            publish(trips, register, tmp_path / "two", rounding=5)
        publish(trips_of({("a", "b"): 6}, month=3), register, tmp_path / "three", rounding=5)

    def test_a_larger_k(self, register, tmp_path):
        """Flows that are out with a smaller k are no crowds of a larger one."""
        trips = trips_of({("a", "b"): 20})
        publish(trips, register, tmp_path / "one")

        with pytest.raises(fv.PromiseError, match="fewer than 10"):
            fv.anonymize(fv.build_flows(trips, zones=ZONES, hierarchy="ward"), k=10, register=register)

    def test_trips_that_look_alike(self, register, tmp_path):
        """Trips with one time and place that two releases divide in two ways: which is which cannot be told."""
        count = 12
        trips = pa.table(
            {
                "origin": ["a"] * count,
                "destination": ["b"] * count,
                "sex": ["f", "m"] * (count // 2),
                "age": ["old"] * (count // 2) + ["young"] * (count // 2),
            }
        )
        publish(trips, register, tmp_path / "sexes", by="sex")

        with pytest.raises(fv.InputError, match="look alike"):
            publish(trips, register, tmp_path / "ages", by="age")


class TestAccount:
    """Epsilons add up, and a budget is kept."""

    def test_budget(self, register, tmp_path, city):
        """Releases with noise are entered until the budget is spent; the one beyond it is refused, and not written."""
        fv.register(register, epsilon_budget=1)
        matrix = fv.build_matrix(city, CITY_BBOX, cells=4)
        for number, epsilon in enumerate((0.7, 0.3)):
            fv.add_noise(matrix, "uniform", epsilon, register=register).write(tmp_path / str(number))

        with pytest.raises(fv.PromiseError, match=r"1 of the budget of 1 is spent \(0.7 by release 1"):
            fv.add_noise(matrix, "uniform", 0.1, register=register)

        known = fv.register(register)
        assert (known.epsilon_spent, known.epsilon_budget) == (1.0, 1.0)
        assert known.releases["epsilon"].to_pylist() == [0.7, 0.3]

    def test_two_at_once(self, register, tmp_path, city):
        """Two runs that were both checked before either was written: the second is told to run again."""
        fv.register(register, epsilon_budget=1)
        matrix = fv.build_matrix(city, CITY_BBOX, cells=4)
        first, second = (fv.add_noise(matrix, "uniform", 0.6, register=register) for _ in range(2))
        first.write(tmp_path / "first")

        with pytest.raises(fv.InputError, match="since this one was checked"):
            second.write(tmp_path / "second")

        assert not (tmp_path / "second").exists()
        assert fv.register(register).epsilon_spent == 0.6

    def test_other_units(self, register, tmp_path, city):
        """Epsilons for trips and for persons are no sum."""
        fv.add_noise(fv.build_matrix(city, CITY_BBOX, cells=4), "uniform", 1, register=register).write(
            tmp_path / "trips"
        )
        persons = fv.build_matrix(city, CITY_BBOX, cells=4, unit="person_id", max_trips_per_person=2)

        with pytest.raises(fv.PromiseError, match="do not add up"):
            fv.add_noise(persons, "uniform", 1, register=register)


@pytest.fixture(scope="module")
def city():
    """Return a few trips of the synthetic city."""
    return fv.synthetic.City(persons=50).trips(300)


class TestTrajectories:
    """Paths beside paths and flows."""

    def test_of_the_same_users(self, register, tmp_path):
        """A second release of the same users and time is refused; one of others is not."""
        phones, box = fv.synthetic.phones(8), fv.synthetic.PHONES_BBOX
        release = fv.trajectories.anonymize(phones, 2, bbox=box, step="1km,30min", register=register)
        release.write(tmp_path / "paths")

        with pytest.raises(fv.PromiseError, match=r"release 1 \(paths\) is of the same time"):
            fv.trajectories.anonymize(phones, 4, bbox=box, step="1km,30min", register=register)

        named = phones.set_column(0, phones.column_names[0], pa.array([f"x{user}" for user in phones[0].to_pylist()]))
        other = fv.trajectories.anonymize(named, 2, bbox=box, step="1km,30min", register=register)
        assert other.entry.rows > 0


class TestFile:
    """The file itself: private, whole, and honest about what it does not know."""

    def test_private(self, register, tmp_path):
        """Nobody else can read it, and it names no zone, no person and no time of a trip."""
        trips = trips_of({("a", "b"): 6}).append_column("person", pa.array([f"somebody-{n}" for n in range(6)]))
        publish(trips, register, tmp_path / "one", unit="person")

        assert stat.S_IMODE(register.stat().st_mode) == 0o600
        with look(register) as opened:
            stored = opened.trips(opened.entries()[0])
        assert b"somebody" not in register.read_bytes()
        assert len(np.unique(stored.mark)) == len(np.unique(stored.owner)) == 6

    def test_marks_need_the_secret(self, tmp_path):
        """The same trips have other marks in another register."""
        marks = []
        for name in ("one", "two"):
            publish(trips_of({("a", "b"): 6}), tmp_path / f"{name}.register", tmp_path / name)
            with look(tmp_path / f"{name}.register") as opened:
                marks.append(opened.trips(opened.entries()[0]).mark)

        assert not np.isin(marks[0], marks[1]).any()

    def test_readable_by_others(self, register, tmp_path):
        """A register that others may read is not used."""
        publish(trips_of({("a", "b"): 6}), register, tmp_path / "one")
        register.chmod(0o644)

        with pytest.raises(fv.InputError, match="others may read"):
            fv.register(register)

    @pytest.mark.parametrize("content", [b"no database", b""])
    def test_not_a_register(self, tmp_path, content):
        """Another file is refused as such, whoever may read it, and left as it is; none is made by looking."""
        file = tmp_path / "notes.txt"
        file.write_bytes(content)
        if content:
            with pytest.raises(fv.InputError, match="not a register"):
                fv.register(file)
            assert file.read_bytes() == content
        with pytest.raises(fv.InputError, match="there is no register"):
            fv.register(tmp_path / "missing")
        assert not (tmp_path / "missing").exists()

    def test_another_database(self, tmp_path):
        """A database of somebody else is refused and left as it is."""
        file = tmp_path / "other.db"
        with sqlite3.connect(file) as con:
            con.execute("CREATE TABLE register (name TEXT, value)")
        file.chmod(0o600)

        with pytest.raises(fv.InputError, match="not a register of this version"):
            fv.register(file, epsilon_budget=1)

    def test_nothing_written_nothing_entered(self, register, tmp_path, monkeypatch):
        """If the folder cannot be written, the register does not know of it."""
        release = fv.anonymize(fv.build_flows(trips_of({("a", "b"): 6}), zones=ZONES), k=K, register=register)

        with pytest.raises(fv.InputError):
            release.write(tmp_path / "nowhere" / "one")
        monkeypatch.setattr("flowveil._release.release.write_folder", _fail)
        with pytest.raises(OSError, match="the disk is full"):
            release.write(tmp_path / "one")

        assert fv.register(register).releases.num_rows == 0

    @pytest.mark.slow
    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_killed(self, register, tmp_path, moment):
        """A run that is killed around its writing leaves no folder that the register does not know."""
        trips = tmp_path / "trips.parquet"
        pq.write_table(trips_of({("a", "b"): 6}), trips)
        pq.write_table(ZONES, tmp_path / "zones.parquet")
        arguments = [sys.executable, "-c", DYING, moment, str(tmp_path)]

        assert subprocess.run(arguments, check=False).returncode == -signal.SIGKILL

        folder = tmp_path / "out"
        assert folder.exists() == (moment == "after")
        releases = fv.register(register).releases
        assert releases["state"].to_pylist() == [{"before": "writing", "after": "written"}[moment]]
        fv.register(register, forget=1)
        assert fv.register(register).releases.num_rows == 0


def _fail(*_arguments, **_options):
    raise OSError("the disk is full")


DYING = """
import os, pathlib, signal, sys
import flowveil as fv
from flowveil._release import release as module
from flowveil._folder import write_folder

moment, here = sys.argv[1], pathlib.Path(sys.argv[2])

def dying(*arguments, **options):
    if moment == "after":
        write_folder(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

module.write_folder = dying
flows = fv.build_flows(str(here / "trips.parquet"), zones=str(here / "zones.parquet"))
fv.anonymize(flows, k=5, register=here / "releases.register").write(here / "out")
"""


class TestCommand:
    """flowveil register, and --register."""

    def test_lists(self, register, tmp_path, monkeypatch):
        """Releases are entered by anonymize, and listed as people read them and as JSON."""
        monkeypatch.chdir(tmp_path)
        pq.write_table(trips_of({("a", "b"): 6}), "trips.parquet")
        pq.write_table(ZONES, "zones.parquet")
        run = CliRunner().invoke
        made = ["anonymize", "trips.parquet", "--zones", "zones.parquet", "-k", "5", "--register", str(register)]

        assert run(find_app(), [*made, "-o", "out", "--period", "January 2024"]).exit_code == 0
        assert run(find_app(), ["register", str(register), "--epsilon-budget", "3"]).exit_code == 0
        listed = run(find_app(), ["register", str(register)])
        content = json.loads(run(find_app(), ["register", str(register), "--json"]).stdout)

        assert "1  out" in listed.stdout
        assert "January 2024; 2024-01-01 00:00 to 2024-01-01 00:05; 6 rows" in listed.stdout
        assert "epsilon 0 is spent, the budget is 3" in listed.stdout
        assert (content["epsilon_budget"], content["releases"][0]["rows"]) == (3.0, 6)
        forgotten = run(find_app(), ["register", str(register), "--forget", "1"])
        assert forgotten.exit_code == 0
        assert "release 1 is forgotten" in forgotten.stderr
        assert isinstance(run(find_app(), ["register", str(register), "--forget", "1"]).exception, fv.InputError)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2024", ("2024-01-01", "2024-12-31")),
        ("2024-Q1", ("2024-01-01", "2024-03-31")),
        ("2024-02", ("2024-02-01", "2024-02-29")),
        ("2024-01-15/2024-02", ("2024-01-15", "2024-02-29")),
        ("2024-02-30", None),
        ("June 2024", None),
        ("2024-03/2024-01", None),
    ],
)
def test_periods(text, days):
    """Periods that are written as dates are understood; other words are not guessed at."""
    found = parse_period(text)

    assert (None if found is None else tuple(map(str, found))) == days
