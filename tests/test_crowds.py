"""Crowds say the same of whole pairs of areas as single persons do, and nothing of anything else."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import fields, replace
from fractions import Fraction
from itertools import chain, groupby, product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import flowveil as fv
from flowveil._cli.commands import find_app
from flowveil._engine import Aggregate, Labels, Nodes, Tree, local, node_pairs, spark_crowds
from flowveil._engine.node_pairs import walk_down
from flowveil._flows import WEIGHT_UNIT, Crowds, Measures, least_weight
from flowveil._methods import find_method
from flowveil._places import Hierarchy
from flowveil._problem import Problem
from flowveil.synthetic import CITY_BBOX, City
from tests.trees import flows_between, hierarchies, make_flows, requirements

HOURS = [7, 8, 30]
GROUPS = ["f", "m", None]  # null comes last


def ancestors(tree, node):
    """Return a node and all above it."""
    while node >= 0:
        yield node
        node = int(tree.parent[node])


@st.composite
def trips_of_persons(draw):
    """Draw two trees, and trips as (hour, group, origin, destination, person), with a weight for each person."""
    trees = draw(hierarchies(6)), draw(hierarchies(6))
    leaves = [np.flatnonzero(tree.is_leaf).tolist() for tree in trees]
    trip = st.tuples(st.sampled_from(HOURS), st.sampled_from(GROUPS), *map(st.sampled_from, leaves), st.integers(0, 4))
    trips = draw(st.lists(trip, min_size=1, max_size=40))
    return trees, trips, draw(st.lists(st.integers(0, 4), min_size=5, max_size=5))


def key_of_tile(node):
    """Return the key of a tile: some are negative where their bits are read as signed."""
    return (node * 0x9E3779B97F4A7C15) % 2**64


def tree_of(hierarchy, used):
    """Return what executors know of a tree."""
    tiles = sorted((key_of_tile(node), node) for node in used)
    keys, leaves = np.array([key for key, _ in tiles], np.uint64), np.array([node for _, node in tiles])
    return Tree(keys, leaves, hierarchy.parent, hierarchy.depth)


def visits_of(trips, weights, persons):
    """Return what an executor has: one row for each of some persons on each pair of tiles, in small batches."""
    found = Counter(sorted((trip for trip in trips if trip[-1] in persons), key=lambda trip: trip[-1]))
    if not found:
        return []
    hours, groups, origins, destinations, persons = zip(*found, strict=True)
    signed = [
        np.array([key_of_tile(node) for node in ends], np.uint64).view(np.int64) for ends in (origins, destinations)
    ]
    table = pa.table(
        {
            "time": pa.array(hours, pa.int64()),
            "by_0": pa.array(groups, pa.string()),
            "origin": signed[0],
            "destination": signed[1],
            "person": [f"person {person}" for person in persons],
            "trips": pa.array(list(found.values()), pa.int64()),
            "least": pa.array([weights[person] for person in persons], pa.int64()),
        }
    )
    return table.to_batches(max_chunksize=3)


def counted_of(trips):
    """Return the columns of an aggregate that number matrices."""
    hours, groups = zip(*(trip[:2] for trip in trips), strict=True)
    codes = np.array([GROUPS.index(group) for group in groups])
    blank = dict.fromkeys(("origin", "destination", "weight", "visit_count", "visit_person", "person_weight"))
    rest = {"rows": 0, "dropped": {}, "outside_bbox": 0, "unknown_zones": (), "swapped": False, "decimal_comma": False}
    return Aggregate(
        time=np.array(hours), by=(Labels(codes, tuple(GROUPS)),), trips=np.ones(len(trips), np.int64), **blank, **rest
    )


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 5, 2**18])
@settings(max_examples=60, deadline=None)
@given(trips_of_persons(), st.integers(1, 4), st.integers(0, 6))
def test_walk_finds_all_crowds(rows, case, least_persons, least_weight):
    """The walk down the trees finds exactly the pairs with enough people, with their trips, persons and weights."""
    trees, trips, weights = case
    used = [{trip[axis] for trip in trips} for axis in (2, 3)]
    nodes = Nodes.of(counted_of(trips), *map(tree_of, trees, used))
    parts = [visits_of(trips, weights, persons) for persons in ({0, 2}, {1, 3, 4})]
    known = []  # pairs that passed, depth by depth

    def count(emit):
        rows = [row for part in parts for batch in emit(part) for row in batch.to_pylist()]
        if known:
            matrix, origin, destination = nodes.ends(np.array([row["pair"] for row in rows], np.int64))
            above = nodes.pair(matrix, nodes.origins.parent[origin], destination)
            assert set(above.tolist()) <= known[-1], "what lies below too small a crowd was counted"
        found = Counter()
        for row in rows:
            found.update({(row["pair"], name): row[name] for name in ("trips", "persons", "weight")})
        sums = [
            [pair, *(found[pair, name] for name in ("trips", "persons", "weight"))] for pair in {p for p, _ in found}
        ]
        passing = [row for row in sums if row[2] >= least_persons and row[3] >= least_weight]
        columns = np.array(passing, np.int64).reshape(-1, 4).T
        known.append(set(columns[0].tolist()))
        return dict(zip(("pair", "trips", "persons", "weight"), columns, strict=True))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_pairs, "_CHUNK_ROWS", rows)  # how many visits an executor looks at together
        actual = walk_down(nodes, count)

    order = {hour: place for place, hour in enumerate(HOURS)}
    matrices = sorted({trip[:2] for trip in trips}, key=lambda key: (order[key[0]], GROUPS.index(key[1])))
    crowds = defaultdict(list)
    for hour, group, origin, destination, person in trips:
        for pair in product(ancestors(trees[0], origin), ancestors(trees[1], destination)):
            crowds[matrices.index((hour, group)), *pair].append(person)
    expected = [
        (*pair, len(who), len(set(who)), sum(weights[person] for person in set(who)))
        for pair, who in sorted(crowds.items())
        if len(set(who)) >= least_persons and sum(weights[person] for person in set(who)) >= least_weight
    ]
    columns = (actual.matrix, actual.origin, actual.destination, actual.trips, actual.persons, actual.weight)
    assert [tuple(map(int, row)) for row in zip(*columns, strict=True)] == expected
    assert all(known[:-1]), "nothing passed, but the walk went on"


@st.composite
def flows_of_matrices(draw):
    """Draw flows with persons, weights and up to three matrices."""
    trees = draw(hierarchies(6)), draw(hierarchies(6))
    parts = [draw(flows_between(*trees, people=True)) for _ in range(draw(st.integers(1, 3)))]
    if len(parts) == 1:
        return parts[0]
    weight = parts[0].people.weight
    start = np.cumsum([0, *(len(part) for part in parts)])
    return replace(
        parts[0],
        **{
            name: np.concatenate([getattr(part, name) for part in parts]) for name in ("origin", "destination", "trips")
        },
        weight=np.concatenate([part.weight for part in parts]),
        people=replace(
            parts[0].people,
            pair=np.concatenate([part.people.pair + first for part, first in zip(parts, start, strict=False)]),
            person=np.concatenate([part.people.person for part in parts]),
            weight=weight,
        ),
        edges=start,
        matrices=pa.table({"time": np.arange(len(parts))}),
    )


def inside(flows, matrix, origin, destination):
    """Return which tile pairs lie in a pair of nodes."""
    ends = (flows.origins, flows.origin, origin), (flows.destinations, flows.destination, destination)
    found = flows.matrix == matrix
    for tree, leaves, node in ends:
        found &= [node in ancestors(tree, leaf) for leaf in leaves.tolist()]
    return found


def with_crowds(flows, k, least_weight):
    """Return flows that know crowds in place of persons, counted by the definition."""
    nodes = product(range(flows.matrix_count), range(len(flows.origins)), range(len(flows.destinations)))
    pairs = [pair for pair in nodes if inside(flows, *pair).any()]
    each = [flows.measure(np.where(inside(flows, *pair), 0, -1), 1) for pair in pairs]
    rows = [
        (*pair, *(int(values[0]) for values in (one.trips, one.persons, one.weight)))
        for pair, one in zip(pairs, each, strict=True)
    ]
    rows = [row for row in rows if row[4] >= k and row[5] >= least_weight]
    *pairs, trips, persons, weight = np.array(rows, np.int64).reshape(-1, 6).T
    crowds = Crowds(k, least_weight, flows.people.mean_weight, *pairs, Measures(trips, persons, weight))
    return replace(flows, people=crowds)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole", "some", "any", "over matrices"])
@settings(max_examples=60, deadline=None)
@given(flows_of_matrices(), st.integers(1, 4), st.integers(0, 4), st.data())
def test_groups_are_measured_or_refused(kind, flows, k, least_people, data):
    """A group has its true persons and weight, or none if they are too few, or is refused; a whole crowd never is."""
    known = with_crowds(flows, k, least_people * WEIGHT_UNIT)
    crowds = known.people
    assume(len(crowds.origin) or kind == "any")
    some = np.array(data.draw(st.lists(st.booleans(), min_size=len(flows), max_size=len(flows))))
    if kind != "any":
        cell = data.draw(st.sampled_from(range(len(crowds.origin))))
        pair = crowds.origin[cell], crowds.destination[cell]
        matrices = range(flows.matrix_count) if kind == "over matrices" else [crowds.matrix[cell]]
        held = np.any([inside(flows, matrix, *pair) for matrix in matrices], axis=0)
        some = held & some if kind == "some" else held

    try:
        actual = known.measure(np.where(some, 0, -1), 1)
    except fv.InputError:
        assert kind != "whole"
        return

    expected = flows.measure(np.where(some, 0, -1), 1)
    assert actual.trips.tolist() == expected.trips.tolist()
    if actual.persons[0]:
        assert (actual.persons[0], actual.weight[0]) == (expected.persons[0], expected.weight[0])
    else:
        assert kind != "whole"
        assert expected.persons[0] < k or expected.weight[0] < least_people * WEIGHT_UNIT


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=5))
def test_runs_of_persons(parts):
    """Runs are counted across batches."""
    batches = [pa.record_batch({"person": pa.array(part, pa.string())}) for part in parts]

    (told,) = node_pairs.runs_of_persons(batches)

    assert told["runs"].to_pylist() == [sum(1 for _ in groupby(chain.from_iterable(parts)))]


def test_groups_of_several_matrices_are_refused():
    """A group over two matrices is not taken for a pair of the first one that happens to have as many trips."""
    one, two = (
        Hierarchy.from_parents(np.array(parent), np.arange(3, dtype=np.uint64)[: len(parent)])[0]
        for parent in ([-1, 0], [-1, 0, 0])
    )
    flows = make_flows(one, two, [(1, 1, 0), (1, 1, 1), (1, 2, 2)], np.full(3, WEIGHT_UNIT), has_people=True)
    flows = replace(
        flows,
        origin=np.array([1, 1, 1]),
        destination=np.array([1, 2, 2]),
        trips=np.array([2, 1, 1]),
        weight=np.array([2, 1, 1]) * WEIGHT_UNIT,
        people=replace(flows.people, pair=np.array([0, 0, 1, 2]), person=np.array([0, 1, 2, 0])),
        edges=np.array([0, 2, 3]),
        matrices=pa.table({"time": [0, 1]}),
    )

    with pytest.raises(fv.InputError, match="stayed on the cluster"):
        with_crowds(flows, 1, 0).measure(np.array([0, -1, 0]), 1)


def test_single_persons_are_not_known():
    """Whatever needs single persons raises: it must not take flows without persons for flows without a unit."""
    nothing = np.zeros(0, np.int64)
    crowds = Crowds(5, 0, None, nothing, nothing, nothing, Measures(nothing, nothing, None))
    for name in ("pair", "person", "weight"):
        with pytest.raises(fv.InputError, match="stayed on the cluster"):
            getattr(crowds, name)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(flows_of_matrices(), st.integers(1, 3), st.integers(0, 2), requirements)
def test_cells_are_the_same(flows, k, least_people, requirement):
    """The cube of crowds is that of persons, whatever is asked for beyond what crowds were counted for."""
    least_weight = least_people * WEIGHT_UNIT
    known = with_crowds(flows, k, least_weight)
    if requirement.k < k or requirement.least_weight < least_weight:
        with pytest.raises(fv.InputError, match="larger crowds"):
            Problem(known, requirement, 0)
        return

    actual, expected = Problem(known, requirement, 0).cube, Problem(flows, requirement, 0).cube

    pairs = {item.name: (getattr(actual, item.name), getattr(expected, item.name)) for item in fields(expected)}
    pairs |= {name: (getattr(actual.links, name), getattr(expected.links, name)) for name in actual.links._fields}
    del pairs["links"]
    for name, (one, other) in pairs.items():
        assert np.array_equal(one, other), name
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None)


class CountedHere:
    """What a cluster answers, computed here with Arrow."""

    def __init__(self, counted, weighted):
        self.mean_weight = None
        if weighted:
            total = int(counted.person_weight.sum())
            self.mean_weight = Fraction(total, len(counted.person_weight) * WEIGHT_UNIT)
        count, person = counted.visit_count, counted.visit_person
        pair = np.repeat(np.arange(len(count)), count)
        trips = np.ones(len(pair), np.int64)
        trips[np.cumsum(count) - 1] += counted.trips - count  # by visit: any, if they add up
        columns = {} if counted.time is None else {"time": counted.time[pair]}
        for number, labels in enumerate(counted.by):
            columns[f"by_{number}"] = pa.array(labels.values, pa.string()).take(pa.array(labels.code[pair]))
        columns |= {name: getattr(counted, name)[pair].view(np.int64) for name in ("origin", "destination")}
        columns |= {"person": pa.array(person).cast(pa.string()), "trips": trips}
        visits = pa.table(columns | ({"least": counted.person_weight[person]} if weighted else {}))
        self.visits = visits.sort_by("person").combine_chunks()

    def count_pairs(self, nodes, least_persons, least_weight):
        """Count as Spark does."""

        def count(emit):
            names = ["trips", "persons"] + ([] if self.mean_weight is None else ["weight"])
            schema = pa.schema([(name, pa.int64()) for name in ("pair", *names)])
            pairs = pa.Table.from_batches(emit(self.visits.to_batches(max_chunksize=999)), schema)
            whole = pairs.group_by("pair").aggregate([(name, "sum") for name in names])
            found = {name: column.to_numpy() for name, column in zip(["pair", *names], whole.columns, strict=True)}
            enough = found["persons"] >= least_persons
            if "weight" in names:
                enough &= found["weight"] >= least_weight
            return {name: values[enough] for name, values in found.items()}

        return walk_down(nodes, count)


@pytest.fixture
def cluster(monkeypatch):
    """Let trips be counted here in place of a cluster."""

    @contextmanager
    def persons_stay(request, index, _, memory, step):
        counted = local.aggregate(request, index, memory, step)
        alone = local.aggregate(replace(request, unit=None), index, memory, step)
        yield alone, CountedHere(counted, request.weight is not None)

    monkeypatch.setattr(spark_crowds, "persons_stay", persons_stay)


CITY = City(seed=5, persons=200)
TRIPS, ZONE_TRIPS = CITY.trips(3000), CITY.trips(3000, ends="zones")
TREES = {
    "h3": (TRIPS, {"grid": "h3:7", "hierarchy": "h3"}),
    "h3-binary": (TRIPS, {"grid": "h3:6", "hierarchy": "h3-binary"}),
    "quadtree": (TRIPS, {"grid": "quadtree:4000", "bbox": CITY_BBOX, "hierarchy": "quadtree"}),
    "ward": (ZONE_TRIPS, {"zones": CITY.zones(), "hierarchy": "ward"}),
    "columns": (ZONE_TRIPS, {"zones": CITY.zones(), "hierarchy": ["zone_id", "district", "region"]}),
}
DEMANDS = {
    "persons": ({}, {}),
    "people": ({"weight": "weight"}, {"k_weight": 400.0}),
    "auto": ({"weight": "weight", "by": "sex"}, {"k_weight": "auto"}),
    "times": ({"time": "hour-of-day", "by": ["sex"]}, {"min_tiles": 2}),
}


def both(trees, demand, k=5):
    """Return flows with crowds and with persons, and what is asked of them."""
    trips, options = TREES[trees]
    more, asked = DEMANDS[demand]
    keywords = {"unit": "person_id"} | options | more
    pruned = asked.get("k_weight")
    crowds = fv.build_flows(trips, **keywords, engine="spark", k=k, k_weight=None if pruned == "auto" else pruned)
    return crowds, fv.build_flows(trips, **keywords), {"k": k} | asked


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("demand", DEMANDS)
def test_same_release_on_all_trees(trees, demand):
    """A release of crowds is that of persons, with the same metrics."""
    crowds, flows, asked = both(trees, demand)

    actual, expected = (fv.anonymize(known, "mosaic", max_suppression=0.9, **asked) for known in (crowds, flows))

    assert isinstance(crowds.people, Crowds)
    assert same(actual, expected)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("method", [method.name for method in fv.methods() if method.crowds])
@pytest.mark.parametrize("demand", ["people", "auto"])
def test_same_release_of_all_methods(method, demand):
    """Every method that says that crowds are enough needs no more than these."""
    crowds, flows, asked = both("h3", demand)
    if find_method(method).steers:
        asked["max_suppression"] = 0.9

    actual, expected = (fv.anonymize(known, method, **asked) for known in (crowds, flows))

    assert same(actual, expected)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("trees", ["h3", "ward"])
def test_same_release_of_small_areas(trees):
    """How large areas are follows from public places: crowds tell this loss, too."""
    crowds, flows, asked = both(trees, "persons")

    actual, expected = (fv.anonymize(it, "nested", loss="area", max_suppression=0.9, **asked) for it in (crowds, flows))

    assert same(actual, expected)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("method", ["mosaic", "nested", "crosscut"])
def test_same_frontier(method):
    """The frontier of crowds is that of persons."""
    crowds, flows, asked = both("h3", "auto")

    actual, expected = (fv.frontier(known, method, points=5, **asked) for known in (crowds, flows))

    assert actual.table.equals(expected.table)


def same(one, other):
    """Whether two releases, and what is said of them in private, are the same."""
    return (
        one.flows.equals(other.flows)
        and one.areas.equals(other.areas, check_metadata=True)
        and one.manifest == other.manifest
        and one.metrics() == other.metrics()
        and one.notes == other.notes
    )


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("demand", ["people", "auto"])
def test_same_release_on_areas_of_an_earlier_one(demand, tmp_path):
    """Crowds tell which flows pass on areas that were made for other trips, and which do not."""
    crowds, flows, asked = both("h3", demand)
    earlier = fv.build_flows(CITY.trips(5000), **TREES["h3"][1], unit="person_id")
    fv.anonymize(earlier, "mosaic", k=5, max_suppression=0.5).write(tmp_path / "earlier")

    actual, expected = (fv.anonymize(known, areas_from=tmp_path / "earlier", **asked) for known in (crowds, flows))

    assert same(actual, expected)
    assert "0 flows" not in actual.notes[0][:7], "no flow fails, so the test tells nothing"


@pytest.mark.usefixtures("cluster")
def test_same_release_on_areas_in_common():
    """Crowds tell which areas all steps of time and groups can share."""
    crowds, flows, asked = both("h3", "auto")

    actual, expected = (fv.anonymize(it, same_areas=True, max_suppression=0.9, **asked) for it in (crowds, flows))

    assert isinstance(crowds.people, Crowds)
    assert same(actual, expected)


@pytest.mark.usefixtures("cluster")
def test_sensitive_places_need_no_persons():
    """Areas that are too small beside a place are kept out whether persons are here or on the cluster."""
    crowds, flows, _ = both("h3", "persons")
    plain = fv.anonymize(flows, k=5, max_suppression=0.9)
    place = plain.areas.select(["lon", "lat"]).slice(0, 1)

    actual, expected = (fv.anonymize(known, k=5, max_suppression=0.9, sensitive=place) for known in (crowds, flows))

    assert same(actual, expected)
    assert not expected.flows.equals(plain.flows)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_what_crowds_do_not_tell(tmp_path):
    """Methods and options that must know persons are refused: they must not count trips in their place."""
    crowds, flows, _ = both("h3", "persons")
    fv.anonymize(flows, "uniform-tiles", k=5).write(tmp_path / "earlier")
    others = [method.name for method in fv.methods() if not method.crowds and method.promise == "k-anonymity"]
    asked = [{"method": name, "max_suppression": 1.0} for name in others]
    asked += [{"elsewhere": True}, {"beside": tmp_path / "earlier"}, {"loss": "metres"}, {"k": 4}]
    asked += [{"max_share": 0.5}]

    for options in asked:
        with pytest.raises(fv.InputError, match="stayed on the cluster"):
            fv.anonymize(crowds, **({"k": 5, "max_suppression": 0.9} | options))
    by_sex, _, _ = both("h3", "auto")
    with pytest.raises(fv.InputError, match="stayed on the cluster"):
        fv.anonymize(by_sex, k=5, max_suppression=0.9, totals=True)


def test_what_a_cluster_does_not_count():
    """Crowds need a cluster, and time is no axis of them."""
    with pytest.raises(fv.InputError, match="no cluster"):
        fv.build_flows(TRIPS, "h3:7", unit="person_id", k=5)
    with pytest.raises(fv.InputError, match="time as an axis"):
        fv.build_flows(TRIPS, "h3:7", unit="person_id", k=5, time_hierarchy="1h<day")
    with pytest.raises(fv.InputError, match="k_weight is"):
        least_weight(float("nan"))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("anonymize --engine spark", (10, None)),
        ("anonymize --engine spark -k 7 --method knapsack", (7, None)),
        ("anonymize --engine spark --preset ine-15 --weight weight --k-weight 300", (15, 300.0)),
        ("anonymize --engine spark --weight weight --k-weight auto --time 1h --by sex", (10, None)),
        ("anonymize --engine spark --areas-from earlier", (10, None)),
        ("frontier --engine spark -k 7", (7, None)),
        ("anonymize", (None, None)),
        ("anonymize --engine spark --method odkanon", (None, None)),
        ("anonymize --engine spark --loss metres", (None, None)),
        ("anonymize --engine spark --loss area", (10, None)),
        ("anonymize --engine spark --time-hierarchy 1h<day", (None, None)),
        ("anonymize --engine spark --elsewhere", (None, None)),
        ("anonymize --engine spark --by sex --totals", (None, None)),
        ("anonymize --engine spark --beside earlier", (None, None)),
        ("anonymize --engine spark --max-share 0.5", (None, None)),
        ("frontier --engine spark --max-share 0.5", (None, None)),
    ],
)
def test_command_keeps_persons_on_the_cluster(typed, expected, tmp_path, monkeypatch):
    """The command lets persons stay wherever the release can be made without them, and nowhere else."""
    seen = []

    def build(*_, k=None, k_weight=None, **__):
        seen.append((k, k_weight))
        raise fv.InputError("seen", "enough")

    monkeypatch.setattr(fv, "build_flows", build)
    pq.write_table(TRIPS, tmp_path / "trips.parquet")
    command, *options = typed.split()
    output = ["-o", str(tmp_path / "out")] if command == "anonymize" else []

    CliRunner().invoke(find_app(), [command, str(tmp_path / "trips.parquet"), "--unit", "person_id", *options, *output])

    assert seen == [expected]
