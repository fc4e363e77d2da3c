"""Several matrices in one release: every step of time and group keeps the promise by itself, under one budget."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._errors import InputError, PromiseError, VerificationError
from flowveil._methods import find_method, mosaic, nested
from flowveil._methods.cuts import mosaic_splits, nested_splits, solution_of
from flowveil._places import ROOT
from flowveil._problem import Problem, Requirement, cube, sheets
from flowveil._processes import core_count
from flowveil._times import build_tree, parse_hierarchy
from tests.trees import Oracle, add_up, flows_between, hierarchies, prices, requirements

if TYPE_CHECKING:
    from flowveil._flows import Flows

TREE_METHODS = ("mosaic", "nested", "crosscut", "atg-dual", "odkanon", "oigh", "knapsack", "suppression")


def with_matrices(flows: Flows, matrix: list[int]) -> Flows:
    """Return flows whose tile pairs are spread over matrices."""
    numbers = np.unique(matrix, return_inverse=True)[1]
    order = np.lexsort((flows.destination, flows.origin, numbers))
    people = flows.people
    if people is not None:
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        pair = place[people.pair]
        by_pair = np.lexsort((people.person, pair))
        people = replace(people, pair=pair[by_pair], person=people.person[by_pair])
    return replace(
        flows,
        origin=flows.origin[order],
        destination=flows.destination[order],
        trips=flows.trips[order],
        weight=None if flows.weight is None else flows.weight[order],
        people=people,
        edges=np.append(0, np.cumsum(np.bincount(numbers))),
        matrices=pa.table({"time": np.arange(numbers.max() + 1)}),
    )


@st.composite
def many_matrices(draw):
    """Draw a problem whose tile pairs lie in up to three matrices."""
    flows = draw(flows_between(draw(hierarchies(5)), draw(hierarchies(5)), most_trips=20))
    matrix = draw(st.lists(st.integers(0, 2), min_size=len(flows), max_size=len(flows)))
    flows = with_matrices(flows, matrix)
    loss = draw(st.sampled_from(["tiles", "reconstruction"]))
    return Problem(flows, draw(requirements), draw(st.integers(0, flows.total)), loss=loss)


def oracles(problem):
    """Return the plain definitions for each matrix by itself."""
    return [Oracle(problem.part(matrix)) for matrix in range(problem.flows.matrix_count)]


def outcome(problem, solution):
    """Check every matrix of a solution by itself; return (loss, suppressed) of all."""
    parts = [oracle.outcome(solution.part(problem.flows, matrix)) for matrix, oracle in enumerate(oracles(problem))]
    return sum(cost for cost, _ in parts), sum(lost for _, lost in parts)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(problem=many_matrices(), lam=prices)
def test_mosaic_is_the_best_of_all_matrices(problem, lam):
    """At one price, every matrix has its own best cut, and nothing is joined across matrices."""
    least = sum(min(cost + lam * lost for cost, lost in oracle.mosaics(ROOT, ROOT)) for oracle in oracles(problem))

    cut = mosaic_splits(problem.cube).best(lam)

    cost, lost = outcome(problem, solution_of(problem, cut))
    assert (cut.loss, cut.suppressed) == (pytest.approx(cost), lost)
    assert cut.value(lam) == pytest.approx(least, rel=1e-9, abs=1e-3)


@settings(max_examples=60, deadline=None)
@given(problem=many_matrices(), lam=prices, first=st.sampled_from([0, 1]))
def test_nested_is_the_best_of_all_matrices(problem, lam, first):
    """The same with one map of one end for each matrix."""
    least = sum(min(cost + lam * lost for cost, lost in oracle.nested(first)) for oracle in oracles(problem))

    cut = nested_splits(problem.cube, (first, 1 - first)).best(lam)

    assert cut.value(lam) == pytest.approx(least, rel=1e-9, abs=1e-3)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(many_matrices())
def test_one_budget_for_all_matrices(problem):
    """The budget holds for all matrices together, wherever some cuts keep it."""
    outcomes = add_up([oracle.mosaics(ROOT, ROOT) for oracle in oracles(problem)])
    if not any(lost <= problem.budget for _, lost in outcomes):
        with pytest.raises(PromiseError):
            mosaic.solve(problem)
        return

    cost, lost = outcome(problem, mosaic.solve(problem))

    assert lost <= problem.budget
    assert cost >= min(cost for cost, lost in outcomes if lost <= problem.budget) - 1e-3


@settings(max_examples=30, deadline=None)
@given(many_matrices())
def test_cores_change_nothing(problem):
    """One core and many, whole and in runs, give the same cut to the last bit."""
    found = []
    for cores, run in ((1, 2**16), (2, 1), (5, 3)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(core_count, "cores", lambda cores=cores: cores)
            for module in (sheets, cube):
                patch.setattr(module, "_RUN", run)
            fresh = replace(problem)
            cut = mosaic_splits(fresh.cube).best(3.0)
            group = solution_of(fresh, cut).group.tolist()
            found.append((cut.loss, cut.suppressed, group, fresh.cube.node.tolist(), fresh.cube.parent.tolist()))

    assert found[0] == found[1] == found[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TREE_METHODS if name != "suppression"])
@settings(max_examples=30, deadline=None)
@given(problem=many_matrices())
def test_every_method_solves_matrices_by_themselves(name, problem):
    """Whatever a method finds, each flow counts all trips of its areas in one matrix, and is a crowd there."""
    if problem.loss != "tiles" and not find_method(name).losses:
        problem = replace(problem, loss="tiles")
    try:
        solution = find_method(name).run(problem, {})
    except PromiseError:
        return
    flows = problem.flows
    measures = flows.measure(solution.group, len(solution.origin))

    assert problem.requirement.is_crowd(measures).all()
    for flow in range(len(solution.origin)):
        assert set(flows.matrix[solution.group == flow].tolist()) == {int(solution.matrix[flow])}


@settings(max_examples=40, deadline=None)
@given(problem=many_matrices())
def test_budget_for_each_matrix(problem):
    """With budget=each a matrix spends its own share, or all of it where it cannot be published."""
    solution = find_method("mosaic").run(problem, {"budget": "each"})
    flows = problem.flows

    for matrix in range(flows.matrix_count):
        part = problem.part(matrix)
        rows = flows.matrix == matrix
        lost = int(flows.trips[rows & (solution.group < 0)].sum())
        assert lost <= part.budget or lost == part.flows.total or lost <= problem.budget


# Time as an axis.


@st.composite
def over_time(draw, weight=None):
    """Draw a problem in which time is a third axis: a day of 24 hours with parts."""
    flows = draw(flows_between(draw(hierarchies(4)), draw(hierarchies(4)), most_trips=16, people=False))
    hours = draw(st.lists(st.integers(0, 23), min_size=len(flows), max_size=len(flows)))
    times, node = build_tree(parse_hierarchy("hour-of-day<part-of-day<day"), np.unique(hours))
    moment = node[np.unique(hours, return_inverse=True)[1]]
    order = np.lexsort((flows.destination, flows.origin, moment))
    flows = replace(
        flows,
        origin=flows.origin[order],
        destination=flows.destination[order],
        trips=flows.trips[order],
        weight=flows.weight[order],
        time=moment[order],
        times=times,
    )
    time_weight = draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])) if weight is None else weight
    return Problem(flows, Requirement(draw(st.integers(1, 5))), flows.total, time_weight=time_weight)


class TimeOracle:
    """All guillotine cuts of origin, destination and time, by definition."""

    def __init__(self, problem):
        self.problem = problem
        flows = problem.flows
        self.trees = (flows.origins, flows.destinations, flows.times.hierarchy)
        self.leaves = (flows.origin, flows.destination, flows.time)
        self.below = [[Oracle._leaves(tree, node) for node in range(len(tree))] for tree in self.trees]
        self.best = cache(self.best)

    def trips(self, cell):
        """Return the trips of a cell."""
        rows = np.ones(len(self.problem.flows), bool)
        for leaf, below, node in zip(self.leaves, self.below, cell, strict=True):
            rows &= np.isin(leaf, list(below[node]))
        return int(self.problem.flows.trips[rows].sum())

    def best(self, cell, lam):
        """Return the least cost of a cell."""
        trips = self.trips(cell)
        if trips < self.problem.requirement.k:
            return lam * trips
        sizes = [int(tree.tiles[node]) for tree, node in zip(self.trees, cell, strict=True)]
        found = [(sizes[0] + sizes[1] + self.problem.time_weight * sizes[2]) * trips]
        for axis, tree in enumerate(self.trees):
            children = range(int(tree.first_child[cell[axis]]), int(tree.end_child[cell[axis]]))
            if children:
                parts = [(*cell[:axis], child, *cell[axis + 1 :]) for child in children]
                found.append(sum(self.best(part, lam) for part in parts))
        return min(found)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(problem=over_time(), lam=prices)
def test_time_as_an_axis_is_the_best_of_all_cuts(problem, lam):
    """The loss has a term for time, and the cut is the least of all there are."""
    cut = mosaic_splits(problem.cube).best(lam)

    assert cut.value(lam) == pytest.approx(TimeOracle(problem).best((0, 0, 0), lam), rel=1e-9, abs=1e-6)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problem=over_time(weight=1.0), lam=prices)
def test_hierarchy_of_time_is_never_above_a_fixed_step(problem, lam):
    """Hours, parts of days and whole days are cuts of the hierarchy, so none of them costs less."""
    flows = problem.flows
    free = mosaic_splits(problem.cube).best(lam).value(lam)

    for depth in range(3):
        node = flows.time
        for _ in range(2 - depth):
            node = flows.times.hierarchy.parent[node]
        steps = int(flows.times.hierarchy.tiles[node[0]])
        matrices = with_matrices(replace(flows, time=None, times=None), node.tolist())
        cut = mosaic_splits(Problem(matrices, problem.requirement, 0).cube).best(lam)
        kept = flows.total - cut.suppressed
        assert free <= cut.value(lam) + steps * kept + 1e-6


# Whole releases.


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """Write a city with times and attributes, as trips between zones."""
    from flowveil.synthetic import write_city

    folder = tmp_path_factory.mktemp("city")
    city = write_city(folder / "trips.parquet", trips=6_000, persons=600, ends="zones")
    pq.write_table(city.zones(), folder / "zones.parquet")
    return folder / "trips.parquet"


def flows_of(trips, hierarchy="ward", **options):
    """Return the flows of the city."""
    zones = trips.parent / "zones.parquet"
    return fv.build_flows(trips, zones=zones, hierarchy=hierarchy, unit="person_id", **options)


def release_of(trips, folder, method="mosaic", k=5, options=None, **keywords):
    """Write a release of the city and verify it."""
    names = ("time", "time_hierarchy", "timezone", "by", "hierarchy")
    build = {name: keywords.pop(name) for name in names if name in keywords}
    release = fv.anonymize(flows_of(trips, **build), method, k, options=options, **keywords)
    release.write(folder)
    fv.verify(folder, trips)
    return release


@pytest.mark.slow
@pytest.mark.parametrize("method", TREE_METHODS)
def test_every_tree_method_publishes_groups(method, trips, tmp_path):
    """A release by sex and time verifies, and recounting it by hand gives the same."""
    keywords = {"max_suppression": 0.6} if find_method(method).steers else {}
    release = release_of(trips, tmp_path / "out", method, k=2, by=["sex"], time="1d", **keywords)

    table = release.flows
    assert table.column_names == ["origin", "destination", "time", "sex", "trips", "persons"]
    assert min(table["persons"].to_pylist()) >= 2
    assert fv.evaluate(tmp_path / "out", trips) == release.metrics(raw=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"time": "1h", "timezone": "America/New_York"},
        {"time": "1d"},
        {"time": "hour-of-week"},
        {"time_hierarchy": "1h<part-of-day<day", "timezone": "Europe/Rome"},
        {"time_hierarchy": "hour-of-week<6h<day", "by": ["sex"]},
        {"by": ["sex", "age_group"]},
        {"time": "hour-of-day", "elsewhere": True},
    ],
    ids=str,
)
def test_ways_to_cut_time(options, trips, tmp_path):
    """All ways verify and evaluate to the metrics of the maker."""
    release = release_of(trips, tmp_path / "out", **options)

    assert fv.evaluate(tmp_path / "out", trips) == release.metrics(raw=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("mosaic", {"time_hierarchy": "1h<part-of-day<day"}),
        ("mosaic", {"time": "1d", "by": ["sex"]}),
        ("nested", {"time": "1d", "by": ["sex"]}),
    ],
    ids=str,
)
def test_ways_to_cut_time_over_many_trees(method, options, trips, tmp_path):
    """The same where zones may be joined in several ways, which is the default."""
    few = tmp_path / "trips.parquet"
    pq.write_table(pq.read_table(trips).slice(0, 1_500), few)
    shutil.copy(trips.parent / "zones.parquet", tmp_path)

    release = release_of(few, tmp_path / "out", method, hierarchy=None, **options)

    assert release.manifest["options"]["hierarchy"] == "many"
    assert fv.evaluate(tmp_path / "out", few) == release.metrics(raw=True)


@pytest.mark.slow
def test_row_order_changes_no_byte(trips, tmp_path):
    """Same input in any order, same files."""
    table = pq.read_table(trips)
    shuffled = table.take(np.random.default_rng(5).permutation(table.num_rows))
    for name, content in (("one", table), ("two", shuffled)):
        zones = trips.parent / "zones.parquet"
        flows = fv.build_flows(
            content, zones=zones, hierarchy="ward", unit="person_id", by="sex", time_hierarchy="1h<day"
        )
        fv.anonymize(flows, k=5).write(tmp_path / name)

    for file in ("flows.parquet", "areas.parquet", "manifest.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_groups_are_counted_by_hand(trips, tmp_path):
    """Tile-level flows by group are what a plain group-by gives."""
    release = release_of(trips, tmp_path / "out", "suppression", k=2, by=["sex"], time="hour-of-day")
    frame = pq.read_table(trips).to_pandas()
    frame["time"] = frame["start_time"].dt.hour
    counts = frame.groupby(["origin", "destination", "time", "sex"])["person_id"].agg(["size", "nunique"])
    expected = {key: tuple(row) for key, row in counts[counts["nunique"] >= 2].iterrows()}

    found = {
        (row["origin"].split("=")[-1], row["destination"].split("=")[-1], row["time"], row["sex"]): (
            row["trips"],
            row["persons"],
        )
        for row in _with_zone_ids(release).to_pylist()
    }

    assert found == expected


def _with_zone_ids(release):
    """Return flows with the one member of each area in place of its id."""
    member = {
        row["area"]: row["members"][0]
        for row in release.areas.to_pylist()
        if row["members"] and len(row["members"]) == 1
    }
    table = release.flows
    for place, end in enumerate(("origin", "destination")):
        table = table.set_column(place, end, pa.array([member[area] for area in table[end].to_pylist()]))
    return table


def test_null_is_a_group(trips, tmp_path):
    """Trips without a value of the group's column form a group of their own."""
    table = pq.read_table(trips)
    sex = [None if number % 3 == 0 else value for number, value in enumerate(table["sex"].to_pylist())]
    path = tmp_path / "trips.parquet"
    pq.write_table(table.set_column(table.column_names.index("sex"), "sex", pa.array(sex)), path)
    flows = fv.build_flows(path, zones=trips.parent / "zones.parquet", hierarchy="ward", by="sex")
    fv.anonymize(flows, k=5).write(tmp_path / "out")

    fv.verify(tmp_path / "out", path, zones=trips.parent / "zones.parquet")
    assert None in set(pq.read_table(tmp_path / "out" / "flows.parquet")["sex"].to_pylist())


def test_times_as_text(tmp_path):
    """CSV times are read with and without an offset; what is no time is dropped and counted."""
    path = tmp_path / "trips.csv"
    times = ["2024-05-01T08:10:00+02:00", "2024-05-01 06:20:00", "2024-05-01T06:30:00Z", "soon", "", "9999-01-01"]
    rows = [f"a,b,{time}" for time in times for _ in range(3)]
    path.write_text("origin,destination,start_time\n" + "\n".join(rows) + "\n")
    zones = pa.table({"zone_id": ["a", "b"], "lon": [1.0, 2.0], "lat": [1.0, 2.0]})

    flows = fv.build_flows(path, zones=zones, time="hour-of-day", timezone="UTC", max_unusable=1)

    assert flows.matrices["time"].to_pylist() == [6]
    assert flows.trips.tolist() == [9]
    assert flows.provenance.dropped == {"no usable time": 9}


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"by": "gender"}, "gender"),
        ({"by": "person_id"}, "unit"),
        ({"by": ["sex", "sex"]}, "twice"),
        ({"by": "origin"}, "rename"),
        ({"timezone": "Europe/Rome"}, "--time"),
        ({"time": "1h", "time_hierarchy": "1h<day"}, "both"),
        ({"time": "fortnight"}, "15min"),
    ],
)
def test_bad_options(options, word, trips):
    """Errors say what is wrong and what to do."""
    with pytest.raises(InputError) as error:
        flows_of(trips, **options)

    assert word in f"{error.value} {error.value.hint}"


@pytest.mark.slow
def test_what_does_not_go_together(trips, tmp_path):
    """Rectangles have no matrices, only mosaic generalizes time, totals need groups."""
    by_sex = flows_of(trips, by="sex")
    for flows, keywords in (
        (by_sex, {"method": "mondrian"}),
        (flows_of(trips, time_hierarchy="1h<day"), {"method": "nested"}),
        (flows_of(trips), {"totals": True}),
        (by_sex, {"totals": True, "elsewhere": True}),
        (by_sex, {"options": {"time_weight": 2}}),
        (by_sex, {"options": {"budget": "none"}}),
        (by_sex, {"areas_from": tmp_path / "nowhere"}),
    ):
        with pytest.raises(InputError):
            fv.anonymize(flows, k=5, **keywords)


# Groups and totals, and releases beside each other.


def planted(men, women):
    """Return trips between two zones: so many men and women, one trip each."""
    persons = [f"m{number}" for number in range(men)] + [f"w{number}" for number in range(women)]
    zones = pa.table({"zone_id": ["a", "b"], "lon": [1.0, 2.0], "lat": [1.0, 2.0]})
    table = pa.table(
        {
            "origin": ["a"] * len(persons),
            "destination": ["b"] * len(persons),
            "person": persons,
            "sex": ["male"] * men + ["female"] * women,
        }
    )
    return table, zones


def test_all_less_men_is_not_published(tmp_path):
    """12 men and 3 women: all less men leaves 3, so the total is withheld beside the groups, and found if it is not."""
    table, zones = planted(12, 3)
    by_sex = fv.build_flows(table, zones=zones, unit="person", by="sex")
    whole = fv.build_flows(table, zones=zones, unit="person")

    with_totals = fv.anonymize(by_sex, k=10, max_suppression=1 / 5, totals=True)

    assert with_totals.flows["sex"].to_pylist() == ["male"]
    fv.anonymize(whole, k=10).write(tmp_path / "whole")
    fv.anonymize(by_sex, k=10, max_suppression=1 / 5).write(tmp_path / "sex")
    fv.verify(tmp_path / "sex", table, zones=zones)
    with pytest.raises(VerificationError, match="crowd of 10"):
        fv.verify(tmp_path / "sex", table, zones=zones, beside=tmp_path / "whole")
    with pytest.raises(PromiseError):
        fv.anonymize(by_sex, k=10, max_suppression=1 / 5, beside=tmp_path / "whole")


def of_groups(**sizes):
    """Return trips from a to b, so many persons of each group with a trip each; GROUP_c: from a to c."""
    rows = []
    for name, size in sizes.items():
        group, _, destination = name.partition("_")
        rows += [("a", destination or "b", f"{name}{number}", group) for number in range(size)]
    table = pa.table(dict(zip(("origin", "destination", "person", "sex"), zip(*rows, strict=True), strict=True)))
    place = [1.0, 2.0, 3.0, 4.0]
    return table, pa.table({"zone_id": ["a", "b", "c", "d"], "lon": place, "lat": place})


def published(table, zones, folder, k=10, **keywords):
    """Write and verify a release of zone pairs as they are, with totals; return {(destination, group): trips}."""
    flows = fv.build_flows(table, zones=zones, unit="person", by="sex")
    release = fv.anonymize(flows, "suppression", k=k, totals=True, **keywords)
    release.write(folder, overwrite=True)
    fv.verify(folder, table, zones=zones)
    names = dict(zip(["ward:0", "ward:1", "ward:2", "ward:3"], "abcd", strict=True))
    return {(names[row["destination"]], row["sex"]): row["trips"] for row in release.flows.to_pylist()}


@pytest.mark.slow
@pytest.mark.parametrize("women", range(12))
def test_a_few_women_are_like_none(women, tmp_path):
    """Beside 15 men, no total tells whether there are no women, a few, or as many as their own flow says."""
    found = published(*of_groups(male=15, female=women, male_c=12, female_c=12), tmp_path / "out")

    assert ("b", "total") not in found
    assert (("b", "female") in found) == (women >= 10)
    assert ("c", "total") not in found


def test_totals_with_a_hidden_crowd_are_published(tmp_path):
    """Men are published, 12 others of six groups are not: the total tells of a crowd, each of which may be empty."""
    others = {f"x{number}": 2 for number in range(6)}
    elsewhere = {f"x{number}_c": 20 for number in range(6)}  # so that a reader knows of the groups

    found = published(*of_groups(male=15, **others, **elsewhere), tmp_path / "out")

    assert found["b", "total"] == 27
    assert ("b", "x0") not in found


@pytest.mark.slow
@pytest.mark.parametrize("how", ["two groups", "nobody is published"])
def test_two_hidden_groups_are_not_told_by_their_sum(how, tmp_path, monkeypatch):
    """Two groups of at most 9 that are 18 together are 9 each: such a total is withheld, and found where it is not."""
    men = {"male": 15} if how == "two groups" else {}
    table, zones = of_groups(**men, x=9, y=9, male_c=20, x_c=20, y_c=20)
    if not men:
        table = table.filter(pa.compute.not_equal(table["sex"], "male"))

    found = published(table, zones, tmp_path / "out")

    assert ("b", "total") not in found
    monkeypatch.setattr("flowveil._release.totals.find_telling", lambda *_: {})
    with pytest.raises(VerificationError, match="tells of groups"):
        published(table, zones, tmp_path / "careless")


@pytest.mark.slow
def test_a_group_that_no_flow_names_is_not_told(tmp_path, monkeypatch):
    """Women have no flow anywhere, but a reader knows that there are women: 18 are 9 men and 9 women."""
    table, zones = of_groups(male=9, female=9, male_c=12)

    found = published(table, zones, tmp_path / "out")

    assert found == {("c", "male"): 12}
    monkeypatch.setattr("flowveil._release.totals.find_telling", lambda *_: {})
    with pytest.raises(VerificationError, match="tells of groups"):
        published(table, zones, tmp_path / "careless")


def test_a_group_may_be_hidden_by_either_test(tmp_path, monkeypatch):
    """Two groups are hidden, one for its persons and one for its weight: their total would tell that both are there."""
    rows = [("b", "m", 200.0, 12), ("b", "f", 200.0, 12), ("c", "f", 250.0, 9), ("c", "m", 90.0, 10)]
    whole = [("a", end, sex, weight) for end, sex, weight, size in rows for _ in range(size)]
    table = pa.table(dict(zip(("origin", "destination", "sex", "weight"), zip(*whole, strict=True), strict=True)))
    table = table.append_column("person", pa.array([f"p{number}" for number in range(len(whole))]))
    zones = of_groups(m=1)[1]
    flows = fv.build_flows(table, zones=zones, unit="person", weight="weight", by="sex")

    def release(folder):
        made = fv.anonymize(flows, "suppression", k=10, k_weight=1000, totals=True)
        fv.verify(made.write(folder), table, zones=zones)
        return made.flows["sex"].to_pylist()

    assert sorted(release(tmp_path / "out")) == ["f", "m"]
    monkeypatch.setattr("flowveil._release.totals.find_telling", lambda *_: {})
    with pytest.raises(VerificationError, match="tells of groups"):
        release(tmp_path / "careless")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [{"by": "sex"}, {"time": "hour-of-day"}])
def test_groups_beside_a_whole_do_not_tell_others(columns, tmp_path, monkeypatch):
    """28 less 10 women are 18 of two groups that are hidden: the women's flow would tell that there are 9 of each.

    The same with hours of the day in place of groups.
    """
    table, zones = of_groups(f=10, m=9, x=9, f_c=11, m_c=12, x_c=12)
    hours = {"f": 6, "m": 7, "x": 8}
    times = [datetime(2024, 1, 2, hours[sex], tzinfo=UTC) for sex in table["sex"].to_pylist()]
    table = table.append_column("start_time", pa.array(times))
    fv.anonymize(fv.build_flows(table, zones=zones), "suppression", k=10).write(tmp_path / "whole")
    flows = fv.build_flows(table, zones=zones, **columns)

    def release(folder):
        made = fv.anonymize(flows, "suppression", k=10, beside=tmp_path / "whole")
        fv.verify(made.write(folder), table, zones=zones, beside=tmp_path / "whole")
        return made.flows["destination"].to_pylist()

    assert release(tmp_path / "out") == ["ward:2", "ward:2"]
    monkeypatch.setattr("flowveil._release.totals.find_telling", lambda *_: {})
    with pytest.raises(VerificationError, match="tells of groups"):
        release(tmp_path / "careless")


def test_nothing_to_publish_beside_a_release(tmp_path):
    """Groups that are all too small are no bug."""
    table, zones = of_groups(f=6, m=6)
    fv.anonymize(fv.build_flows(table, zones=zones), "suppression", k=10).write(tmp_path / "whole")

    with pytest.raises(PromiseError, match="no flow reaches"):
        fv.anonymize(fv.build_flows(table, zones=zones, by="sex"), "suppression", k=10, beside=tmp_path / "whole")


@pytest.mark.slow
def test_nobody_can_tell_a_few_from_none():
    """An attacker who knows the rules learns of no groups that they are one or two persons, by trying all tables.

    k is 3. The release is made of every table with a few men, women and others; an attacker cannot tell apart tables
    with the same release. In one of these, whatever groups are added up, there are none, or three or more.
    """
    seen = {}
    for sizes in itertools.product(range(5), range(4), range(4)):
        numbers = dict(zip(("male", "female", "x"), sizes, strict=True))
        if not any(numbers.values()):
            continue
        table, zones = of_groups(**numbers, male_c=9, female_c=9, x_c=9)
        flows = fv.build_flows(table, zones=zones, unit="person", by="sex")
        release = fv.anonymize(flows, "suppression", k=3, totals=True)
        seen.setdefault(str(release.flows.to_pydict()), []).append(sizes)

    chosen = [groups for size in (1, 2, 3) for groups in itertools.combinations(range(3), size)]
    for tables, groups in itertools.product(seen.values(), chosen):
        assert not {sum(table[group] for group in groups) for table in tables} <= {1, 2}


@pytest.mark.slow
def test_planted_total_is_found(trips, tmp_path):
    """A total that was withheld and is put back makes the release fail."""
    flows = flows_of(trips, by="sex", time="1d")
    honest = fv.anonymize(flows, k=5, totals=True)
    honest.write(tmp_path / "honest")
    fv.verify(tmp_path / "honest", trips)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flowveil._release.totals.withhold_exposing", lambda _, first: (first, 0))
        careless = fv.anonymize(flows, k=5, totals=True)
    careless.write(tmp_path / "careless")

    assert careless.flows.num_rows > honest.flows.num_rows
    with pytest.raises(VerificationError, match="crowd of 5"):
        fv.verify(tmp_path / "careless", trips)


def test_group_called_total():
    """The name is taken."""
    table, zones = planted(12, 11)
    table = table.set_column(3, "sex", pa.array(["total"] * 23))

    with pytest.raises(InputError, match="total"):
        fv.anonymize(fv.build_flows(table, zones=zones, unit="person", by="sex"), k=10, totals=True)


@pytest.mark.slow
def test_beside_repairs(trips, tmp_path):
    """Flows that would give people away beside an earlier release are withheld, and the two verify together."""
    fv.anonymize(flows_of(trips, hierarchy="ward"), k=5).write(tmp_path / "whole")
    by_sex = flows_of(trips, by="sex", hierarchy="ward")
    alone = fv.anonymize(by_sex, k=5)
    release = fv.anonymize(by_sex, "nested", k=5, max_suppression=0.1)

    try:
        release = fv.anonymize(by_sex, k=5, areas_from=None, beside=tmp_path / "whole", max_suppression=0.1)
    except PromiseError:
        alone.write(tmp_path / "alone")
        with pytest.raises(VerificationError):
            fv.verify(tmp_path / "alone", trips, beside=tmp_path / "whole")
        return
    release.write(tmp_path / "sex")

    fv.verify(tmp_path / "sex", trips, beside=tmp_path / "whole")


# Areas of an earlier release.


@pytest.mark.slow
def test_areas_of_an_earlier_release(trips, tmp_path):
    """New data comes on the old areas, with its own true volumes; flows that fail are withheld."""
    first = flows_of(trips, by="sex")
    fv.anonymize(first, k=5).write(tmp_path / "january")
    january = pq.read_table(tmp_path / "january" / "flows.parquet")
    table = pq.read_table(trips)
    path = tmp_path / "february.parquet"
    pq.write_table(table.slice(0, table.num_rows // 2), path)
    zones = trips.parent / "zones.parquet"
    flows = fv.build_flows(path, zones=zones, hierarchy="ward", unit="person_id", by="sex")

    release = fv.anonymize(flows, k=5, areas_from=tmp_path / "january")

    release.write(tmp_path / "february")
    fv.verify(tmp_path / "february", path, zones=trips.parent / "zones.parquet")
    names = ("origin", "destination", "sex")
    old, new = (
        set(zip(*(content[name].to_pylist() for name in names), strict=True)) for content in (january, release.flows)
    )
    assert new < old
    assert release.manifest["options"]["areas_from"] is True
    assert "max_suppression" not in release.manifest["promise"]


def test_areas_of_another_grid_are_refused(trips, tmp_path):
    """Areas are only comparable on the same places."""
    fv.anonymize(flows_of(trips), k=5).write(tmp_path / "january")
    other = fv.build_flows(
        trips, zones=trips.parent / "zones.parquet", hierarchy=["zone_id", "district"], unit="person_id"
    )

    with pytest.raises(InputError, match="another grid"):
        fv.anonymize(other, k=5, areas_from=tmp_path / "january")


# Tampering with times and groups.


def _write(folder, table, source):
    """Write a release again with other flows."""
    from tests.test_verify import write_table

    folder.mkdir()
    for name in ("areas.parquet", "manifest.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    keys = [(name, "ascending") for name in table.column_names if name not in {"trips", "persons"}]
    write_table(table.sort_by(keys), folder / "flows.parquet")


def _put(table, name, change):
    place = table.column_names.index(name)
    values = table[name].to_pylist()
    return table.set_column(place, name, pa.array(change(values), table.schema.field(name).type))


MUTANTS = {
    "another group": lambda t: _put(t, "sex", lambda v: ["male" if x == "female" else "female" for x in v]),
    "a group that nobody has": lambda t: _put(t, "sex", lambda v: ["robot", *v[1:]]),
    "no group": lambda t: _put(t, "sex", lambda v: [None, *v[1:]]),
    "another hour": lambda t: _put(t, "time", lambda v: [(v[0] + 1) % 24, *v[1:]]),
    "an hour that no day has": lambda t: _put(t, "time", lambda v: [24, *v[1:]]),
    "no hour": lambda t: _put(t, "time", lambda v: [None, *v[1:]]),
    "a longer interval": lambda t: _put(t, "time_end", lambda v: [x + 1 for x in v]),
    "all day": lambda t: _put(_put(t, "time", lambda v: [0] * len(v)), "time_end", lambda v: [24] * len(v)),
    "one trip more": lambda t: _put(t, "trips", lambda v: [v[0] + 1, *v[1:]]),
    "one person less": lambda t: _put(t, "persons", lambda v: [v[0] - 1, *v[1:]]),
    "without groups": lambda t: t.drop_columns(["sex"]),
}


@pytest.fixture(scope="module")
def honest(trips, tmp_path_factory):
    """Write a release over time and groups."""
    folder = tmp_path_factory.mktemp("honest") / "out"
    release_of(trips, folder, by=["sex"], time_hierarchy="hour-of-day<6h<day")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(name, honest, trips, tmp_path):
    """A release that says something else of times or groups does not verify."""
    table = MUTANTS[name](pq.read_table(honest / "flows.parquet"))
    _write(tmp_path / "out", table, honest)

    with pytest.raises(VerificationError):
        fv.verify(tmp_path / "out", trips, zones=trips.parent / "zones.parquet")


@pytest.mark.slow
def test_rewriting_is_no_mutation(honest, trips, tmp_path):
    """The way mutants are written does not fail by itself."""
    _write(tmp_path / "out", pq.read_table(honest / "flows.parquet"), honest)

    fv.verify(tmp_path / "out", trips, zones=trips.parent / "zones.parquet")


def test_nested_side_is_one_for_all(trips):
    """All matrices have their map at the same end."""
    solution = nested.solve(Problem(flows_of(trips, by="sex"), Requirement(5), 1_000))

    assert len(solution.areas) == 2
    assert all(
        np.isin(solution.origin if solution.first == 0 else solution.destination, np.concatenate(solution.areas))
    )


def test_frontier_over_matrices(trips):
    """The frontier is of all matrices together."""
    flows = flows_of(trips, by="sex", time="6h")
    table = fv.frontier(flows, k=5, points=8)

    shares = table["suppressed"].to_pylist()
    assert shares == sorted(shares, reverse=True)
    assert all(one <= other for one, other in itertools.pairwise(table["gbar"].to_pylist()))
