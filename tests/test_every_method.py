"""Every method that is registered has the same properties: a new one is tested here by being registered.

Each property is a function of a method's name, and the last tests plant methods that lack one property each.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import flowveil as fv
from flowveil import trajectories
from flowveil._matrices import methods
from flowveil._matrices.methods import TILE_METHODS
from flowveil._methods import find_method, mosaic, registry
from flowveil._problem import Solution, cube, sheets
from flowveil._processes import core_count
from flowveil._release import anonymization
from flowveil.synthetic import PHONES_BBOX, phones
from tests.test_matrices_methods import silence
from tests.test_spread import one_by_one, packed_one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = [method.name for method in fv.methods() if method.promise == "k-anonymity"]
SLOW = pytest.mark.slow  # it tries many targets
METHODS_AS_THEY_ARE = registry._METHODS
ZONES = pa.table(
    {
        "zone": list("abcdefgh"),
        "district": list("ppqqrrss"),
        "region": list("xxxxyyyy"),
        "lon": [4.40, 4.41, 4.43, 4.44, 4.60, 4.62, 4.65, 4.66],
        "lat": [50.30, 50.31, 50.30, 50.32, 50.40, 50.40, 50.42, 50.40],
    }
)
PLACES = {"zones": ZONES, "hierarchy": ["zone", "district", "region"]}
BEST = "no other cut of its kind is better"  # a note
BEGIN = datetime(2026, 3, 2, 7, tzinfo=UTC)


@cache
def trips(seed=0, count=90, persons=16):
    """Draw trips (origin, destination, person, time, group): a few pairs of zones have most of them."""
    draw = np.random.default_rng(seed)
    zones = [draw.permutation(list("abcdefgh")).tolist() for _ in range(2)]
    rows = []
    for _ in range(count):
        ends = [ends[min(int(draw.exponential(1.4)), 7)] for ends in zones]
        when = BEGIN + timedelta(minutes=int(draw.integers(120)))
        rows.append((*ends, int(draw.integers(persons)), when, "fm"[draw.integers(2)]))
    return tuple(rows)


def table_of(rows):
    """Return trips as a table."""
    names = ("origin", "destination", "person", "start_time", "group")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@cache
def flows_of(rows, **options):
    """Count trips between zones."""
    return fv.build_flows(table_of(rows), **PLACES, **{"unit": "person", **options})


def released(name, rows, k=3, share=None, **options):
    """Release trips by a method; what it may leave out is told only to those that can keep to it."""
    budget = {"max_suppression": share} if share is not None and find_method(name).steers else {}
    return fv.anonymize(flows_of(rows, **options), name, k=k, **budget)


def content(release):
    """Return what is published."""
    return release.flows.to_pylist(), release.areas.to_pylist(), release.manifest


def members(release, side):
    """Return the zones of each area of a side; the top has all."""
    rows = release.areas.to_pylist()
    return {row["area"]: set(row["members"] or "abcdefgh") for row in rows if row["side"] == side}


def counted(release, rows):
    """Return for each flow its trips, by their numbers, counted one by one."""
    origins, destinations = members(release, "origin"), members(release, "destination")
    flows = [(row["origin"], row["destination"]) for row in release.flows.to_pylist()]
    if release.assignment is None:
        return [
            [number for number, row in enumerate(rows) if row[0] in origins[o] and row[1] in destinations[d]]
            for o, d in flows
        ]
    tiles = ("origin_tile", "destination_tile")
    pairs = {tuple(row[tile].removeprefix("zone=") for tile in tiles): row for row in release.assignment.to_pylist()}
    found = {flow: [] for flow in flows}
    for number, row in enumerate(rows):
        if row[:2] in pairs:
            flow = tuple(pairs[row[:2]][side] for side in ("origin", "destination"))
            assert row[0] in origins[flow[0]]
            assert row[1] in destinations[flow[1]]
            found[flow].append(number)
    return [found[flow] for flow in flows]


def keeps_the_promise(name):
    """Every flow counts the true trips between its areas, of at least k persons; no trip is counted twice."""
    for seed, k in itertools.product(range(2), (2, 5)):
        rows = trips(seed)
        release = released(name, rows, k, 0.2)

        flows = counted(release, rows)
        assert [len(flow) for flow in flows] == release.flows["trips"].to_pylist()
        people = [len({rows[number][2] for number in flow}) for flow in flows]
        assert people == release.flows["persons"].to_pylist()
        assert min(people) >= k
        published = list(itertools.chain.from_iterable(flows))
        assert len(set(published)) == len(published)
        left_out = 1 - len(published) / len(rows)
        assert release.metrics()["suppressed"] == pytest.approx(left_out)
        assert not find_method(name).steers or left_out <= 0.2


def forgets_the_order_of_rows(name):
    """Rows in another order give the same release, and so do the same rows a second time."""
    rows = trips()
    shuffled = tuple(rows[number] for number in np.random.default_rng(1).permutation(len(rows)))

    expected = content(released(name, rows))
    assert content(released(name, shuffled)) == expected
    assert content(released(name, rows)) == expected


def forgets_threads(name):
    """One thread and three find the same."""
    found = []
    for count in (1, 3):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(core_count, "cores", lambda count=count: count)
            for module in (cube, sheets):
                patch.setattr(module, "_RUN", 4)
            found.append(content(released(name, trips())))
    assert found[0] == found[1]


def forgets_processes(name):
    """Matrices that are sent to other processes are solved alike; a method may refuse to solve several."""
    flows = flows_of(trips(), by="group")
    options = {"budget": "each"} if any(option.name == "budget" for option in find_method(name).options) else {}
    found = []
    for spread in (one_by_one, packed_one_by_one):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(anonymization, "choose_spread", lambda *_, spread=spread: spread)
            try:
                found.append(content(fv.anonymize(flows, name, k=2, options=options)))
            except fv.InputError as error:
                found.append(error.message)
    assert found[0] == found[1]


def mean_tiles(name, k, share):
    """Return the mean tiles of both ends of a trip where it is said that no cut has less, else None."""
    try:
        release = released(name, trips(0, 40, 8), k, share)
    except fv.PromiseError:
        return None
    return release.metrics()["gbar"] if BEST in release.notes else None


def gets_coarser_with_k_and_finer_with_the_budget(name):
    """Where it is said that no other cut is better, a larger k is no finer, and a larger budget no coarser."""
    if name in METHODS and mean_tiles(name, 3, 0.1) is None:  # it never says so
        assert name not in ("mosaic", "nested")
        return
    asked = itertools.product((2, 3, 5), (0.0, 0.1, 0.3))
    best = {(k, share): mean for k, share in asked if (mean := mean_tiles(name, k, share)) is not None}
    assert len(best) > 5
    for (k, share), (more, less) in itertools.product(best, repeat=2):
        if k <= more and share >= less:
            assert best[k, share] <= best[more, less] * (1 + 1e-9)


@cache
def written(divided):
    """Count the same trips as they are written in three ways."""
    table = table_of(trips())
    names = pa.array([f"person {number:03}" for number in table["person"].to_pylist()])
    paris = table["start_time"].cast(pa.timestamp("ns", tz="Europe/Paris"))
    clock = pa.array([moment.isoformat() for moment in paris.to_pylist()])
    steps = {"time": "1h", "timezone": "Asia/Tokyo"} if divided else {}
    ways = ((table, table["start_time"]), (table.set_column(2, "person", names), paris), (table, clock))
    return [
        fv.build_flows(given.set_column(3, "start_time", times), **PLACES, **steps, unit="person")
        for given, times in ways
    ]


def forgets_units_and_zones(name):
    """Persons as text or numbers, times as text or in nanoseconds, in any time zone: the same release."""
    expected, *others = (content(fv.anonymize(flows, name, k=2)) for flows in written(divides(name)))
    assert others == [expected] * 2


@cache
def divides(name):
    """Whether a method solves several matrices."""
    try:
        fv.anonymize(flows_of(trips(), by="group"), name, k=2)
    except fv.InputError:
        return False
    return True


def grows_with_all_counts(name):
    """All persons three times and k times three: the same areas, three times the trips."""
    for seed in range(2):
        rows = trips(seed)
        thrice = tuple((o, d, 100 * copy + person, *rest) for copy in range(3) for o, d, person, *rest in rows)

        one, three = released(name, rows, 3, 0.2), released(name, thrice, 9, 0.2)
        for column, times in (("origin", 1), ("destination", 1), ("trips", 3), ("persons", 3)):
            assert [value * times for value in one.flows[column].to_pylist()] == three.flows[column].to_pylist()


def takes_little(name):
    """Trips between one pair of zones are one flow, or none where they are too few; no trips are refused."""
    rows = tuple(("a", "b", person, BEGIN, "f") for person in range(4))

    release = released(name, rows, 4)
    assert release.flows["trips"].to_pylist() == [4]
    assert len(counted(release, rows)[0]) == 4
    with pytest.raises(fv.PromiseError) as raised:
        released(name, rows, 5)
    assert raised.value.hint
    with pytest.raises(fv.FlowveilError) as raised:
        fv.anonymize(fv.build_flows(table_of(rows).slice(0, 0), **PLACES, unit="person"), name)
    assert raised.value.hint


PROPERTIES = [
    keeps_the_promise,
    forgets_the_order_of_rows,
    forgets_threads,
    forgets_processes,
    gets_coarser_with_k_and_finer_with_the_budget,
    forgets_units_and_zones,
    grows_with_all_counts,
    takes_little,
]


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW if name == "atg-dual" else ()) for name in METHODS])
@pytest.mark.parametrize("has_property", PROPERTIES, ids=lambda has_property: has_property.__name__)
def test_every_method(has_property, name):
    """Every method has every property."""
    has_property(name)


class Planted(NamedTuple):
    """Solves like mosaic, but for one mistake; copies of it can be sent to other processes."""

    mistake: Callable[..., object]

    def __call__(self, problem):
        """Publish one flow where there is a mistake, or what it returns."""
        found = self.mistake(problem)
        if isinstance(found, Solution):
            return found
        none = np.zeros(1, np.int64)
        whole = Solution(none, none, np.zeros(len(problem.flows), np.int64), none, notes=(BEST,))
        return whole if found else mosaic.solve(problem)


def nothing(_):
    """Make no mistake."""
    return False


def mixed_up(problem):
    """Count the trips of each flow in the next one."""
    solution = mosaic.solve(problem)
    group = np.where(solution.group < 0, -1, (solution.group + 1) % len(solution.origin))
    return replace(solution, group=group)


def moody(_, asked=itertools.count()):  # noqa: B008  one count for all calls
    """Be wrong at times, never the same three times in a row."""
    return next(asked).bit_count() % 2


def alone(_):
    """Be wrong on one core."""
    return core_count.cores() == 1


def sent(problem):
    """Be wrong about what came from another process."""
    return problem.flows.places is not flows_of(trips(), by="group").places


def of_three(problem):
    """Be wrong about three persons."""
    return problem.requirement.k == 3


def of_many(problem):
    """Be wrong about many trips."""
    return problem.flows.total > 100


def of_one(problem):
    """Break down, as programs do, where there is one pair of zones."""
    return problem.flows.trips[1] < 0


MISTAKES = {
    keeps_the_promise: mixed_up,
    forgets_the_order_of_rows: moody,
    forgets_threads: alone,
    forgets_processes: sent,
    gets_coarser_with_k_and_finer_with_the_budget: of_three,
    forgets_units_and_zones: moody,
    grows_with_all_counts: of_many,
    takes_little: of_one,
}


@pytest.mark.parametrize("lacked", PROPERTIES, ids=lambda lacked: lacked.__name__)
def test_every_property_can_fail(lacked, monkeypatch):
    """A method with a mistake lacks a property; without it, the same one has it."""

    def plant(mistake):
        method = replace(find_method("mosaic"), name="planted", solve=Planted(mistake), joint=False, options=())
        monkeypatch.setattr(registry, "_METHODS", (*METHODS_AS_THEY_ARE, method))

    plant(nothing)
    lacked("planted")
    plant(MISTAKES[lacked])

    with pytest.raises((AssertionError, IndexError)):
        lacked("planted")


NOISY = [method.name for method in fv.methods() if method.promise == "differential privacy"]
BOX = (4.4, 50.2, 4.9, 50.6)


def noisy(name, count, order=None):
    """Release so many trips by a method that adds noise, without the noise."""
    ends = [np.random.default_rng(end).random(count) ** 3 * 0.3 for end in range(4)]
    names = ("start_lon", "start_lat", "end_lon", "end_lat")
    table = pa.table({name: BOX[number % 2] + end for number, (name, end) in enumerate(zip(names, ends, strict=True))})
    table = table if order is None else table.take(order)
    counted = fv.build_tile_matrix(table, BOX, "h3:5") if name in TILE_METHODS else fv.build_matrix(table, BOX, 4)
    with silence():
        return fv.add_noise(counted, name, 1.0)


@pytest.mark.parametrize("name", NOISY)
def test_every_method_with_noise(name):
    """Without noise all trips are there, in whatever order; all of epsilon is spent, however few trips there are."""
    release = noisy(name, 60)

    if name != "laplace":  # which draws the empty pairs that it lists
        assert sum(release.counts) == 60
        assert noisy(name, 60, np.random.default_rng(5).permutation(60)).table.equals(release.table)
        assert sum(noisy(name, 0).counts) == 0
    for made in (release, noisy(name, 1), noisy(name, 0)):
        assert made.ledger.largest_path() == 1.0
        assert made.manifest["promise"]["epsilon"] == 1.0


def test_epsilon_that_is_spent_twice_is_found(monkeypatch):
    """A method that draws twice from what it has is refused."""
    once = methods.BOX_METHODS["uniform"]

    def twice(points, ledger, **options):
        once(points, ledger, **options)
        return once(points, ledger, **options)

    monkeypatch.setitem(methods.BOX_METHODS, "uniform", twice)

    with pytest.raises(fv.PromiseError):
        noisy("uniform", 60)


def paths(name, table, k=3):
    """Release trajectories by a method, each of its own promise."""
    return trajectories.anonymize(table, k, bbox=PHONES_BBOX, method=name, step="5km,2h")


def is_in(row, box):
    """Whether a sample lies in a published one."""
    here = box["lon0"] <= row["lon"] < box["lon1"] and box["lat0"] <= row["lat"] < box["lat1"]
    return here and box["t0"] <= row["time"] < box["t1"]


def shares_paths(release, table, k=3):
    """Every group has k users with a sample in it, or whoever knows some samples of a user finds k users."""
    rows, boxes = table.to_pylist(), release.trajectories.to_pylist()
    group_of = {row["user_id"]: row["group"] for row in release.members.to_pylist()}
    assert boxes
    promise = release.manifest["promise"]
    if "known_points" not in promise:
        for group in {box["group"] for box in boxes}:
            own = [box for box in boxes if box["group"] == group]
            seen = [
                {row["user_id"] for row in rows if group_of[row["user_id"]] == group and is_in(row, box)} for box in own
            ]
            assert [len(users) for users in seen] == [box["support"] for box in own]
            assert len(set.union(*seen)) == own[0]["size"] >= k
        return
    places = [tuple(box[edge] for edge in ("t0", "t1", "lon0", "lat0", "lon1", "lat1")) for box in boxes]
    users = {}
    for box, place in zip(boxes, places, strict=True):
        users.setdefault(box["group"], set()).add(place)
    assert all(any(is_in(row, box) for row in rows) for box in boxes)
    for own in users.values():
        for known in itertools.combinations(own, promise["known_points"]):
            assert sum(set(known) <= other for other in users.values()) >= k


@pytest.mark.parametrize("name", trajectories.METHODS)
def test_every_method_of_trajectories(name):
    """The promise counted row by row; order, clock and fineness of times do not matter; nothing is made of too few."""
    table = phones(12, samples=8)
    release = paths(name, table)

    shares_paths(release, table)
    shuffled = table.take(np.random.default_rng(5).permutation(len(table)))
    tokyo = shuffled["time"].cast(pa.timestamp("ns", tz="Asia/Tokyo"))
    other = paths(name, shuffled.set_column(3, "time", tokyo))
    assert other.trajectories.equals(release.trajectories)
    assert other.members.equals(release.members)
    with pytest.raises(fv.FlowveilError) as raised:
        paths(name, table.filter(pc.is_in(table["user_id"], table["user_id"].unique()[:2])))
    assert raised.value.hint
    with pytest.raises(fv.FlowveilError) as raised:
        paths(name, table.slice(0, 0))
    assert raised.value.hint


def test_a_box_with_too_few_users_is_found():
    """The count by rows does not pass when a user of a group was elsewhere, nor for a larger k."""
    table = phones(12, samples=8)
    release = paths("glove", table)
    one = release.members["user_id"][0]

    with pytest.raises(AssertionError):
        shares_paths(release, table.filter(pc.not_equal(table["user_id"], one)))
    with pytest.raises(AssertionError):
        shares_paths(paths("km", table), table, k=13)
