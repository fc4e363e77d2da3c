"""glove-od against its definition, glove-sk against scikit-learn, and what becomes of tests and budgets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import shapely
from benchmarks import plain_glove_od
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._methods import glove, glove_index, glove_merge
from flowveil._problem import Problem, Requirement
from flowveil.synthetic import CITY_BBOX
from tests.trees import flows_between, hierarchies, requirements


def crowd_passes(problem, rows):
    """Whether tile pairs pass the tests together, tiles being those they have."""
    flows = problem.flows
    group = np.full(len(flows), -1)
    group[rows] = 0
    tiles = [np.array([len(set(leaf[rows].tolist()))]) for leaf in (flows.origin, flows.destination)]
    return bool(problem.requirement.passes(flows.measure(group, 1), *tiles)[0])


def run_kernel(problem, points):
    """Return merges, finished groups and trips left over of the compiled kernel."""
    crowd, least = glove.make_crowd(problem), problem.requirement.least
    return glove_merge.merge_flows(points, problem.flows.trips.copy(), crowd, least, problem.budget)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(hierarchies(14), hierarchies(14), requirements, st.data())
def test_merges_are_those_of_the_definition(origins, destinations, requirement, data):
    """Every merge, in order, is that of a search of all pairs: persons, weights, tiles, ties and repeated places."""
    flows = data.draw(flows_between(origins, destinations, most_trips=60))
    flows.places.root_has_center = True  # a tree of one tile is its own root
    problem = Problem(flows, requirement, data.draw(st.integers(0, flows.total)))
    scale = data.draw(st.sampled_from([10**9, 50]))  # places as they are, or on so few points that most costs are equal
    points = glove.positions(problem) % scale
    expected = plain_glove_od.merges(points, flows.trips, lambda rows: crowd_passes(problem, rows), problem.budget)

    merges, finished, left = run_kernel(problem, points)

    assert [tuple(merge) for merge in merges.tolist()] == expected[0]
    assert np.flatnonzero(finished).tolist() == sorted(expected[1])
    assert left == sum(int(flows.trips[rows].sum()) for rows in expected[2].values())


@pytest.mark.slow
@pytest.mark.parametrize("unit", [None, "person_id"])
def test_merges_of_a_city_are_those_of_the_definition(city_trips, unit):
    """The same on a thousand flows of a city, where the tree is deep and is laid anew."""
    flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, unit=unit)
    rows = np.flatnonzero(np.arange(len(flows)) % 7 == 0)
    group = np.full(len(flows), -1)
    group[rows] = np.arange(len(rows))
    flows = flows.join(group, len(rows), flows.origin[rows], flows.destination[rows])
    problem = Problem(flows, Requirement(12), flows.total // 50)
    points = glove.positions(problem)

    expected = plain_glove_od.merges(points, flows.trips, lambda rows: crowd_passes(problem, rows), problem.budget)

    merges, finished, _ = run_kernel(problem, points)
    assert len(merges) > 100
    assert [tuple(merge) for merge in merges.tolist()] == expected[0]
    assert np.flatnonzero(finished).tolist() == sorted(expected[1])


@pytest.mark.slow
def test_compiled_kernels_equal_plain(city_trips):
    """The compiled loops merge as the Python functions they are made from."""
    flows = fv.build_flows(city_trips, "h3:6", bbox=CITY_BBOX, unit="person_id", weight="weight")
    problem = Problem(flows, Requirement(20, 4_000, 2), 0)
    points = glove.positions(problem)
    compiled = run_kernel(problem, points)

    with pytest.MonkeyPatch.context() as patch:
        for module in (glove_index, glove_merge):
            for name in [name for name in vars(module) if f"_{name}" in vars(module)]:
                patch.setattr(module, name, getattr(module, f"_{name}"))
        for name in ("plant", "fit", "refit", "nearest"):
            patch.setattr(glove_merge, name, getattr(glove_index, f"_{name}"))
        plain = run_kernel(problem, points)

    assert all(np.array_equal(one, other) for one, other in zip(compiled, plain, strict=True))


def test_finished_groups_rest(city_trips):
    """No group could lose a part and still pass: strict groups are not merged once they pass."""
    flows = fv.build_flows(city_trips, "h3:8", bbox=CITY_BBOX)
    problem = Problem(flows, Requirement(30), flows.total // 10)
    merges, finished, _ = run_kernel(problem, glove.positions(problem))

    trips = flows.trips.copy()
    for stays, goes in merges.tolist():
        assert max(trips[stays], trips[goes]) < 30
        trips[stays] += trips[goes]
    assert (trips[finished] >= 30).all()


def test_dendrogram_is_that_of_scikit_learn(city_trips):
    """The cut has the clusters that scikit-learn finds, and is the lowest one within the budget."""
    cluster = pytest.importorskip("sklearn.cluster")
    flows = fv.build_flows(city_trips, "h3:5", bbox=CITY_BBOX, unit="person_id")
    problem = Problem(flows, Requirement(25), flows.total // 40)
    points = glove.positions(problem).astype(float)

    solution = glove.solve_sk(problem)

    def clusters(count):
        found = cluster.AgglomerativeClustering(count, metric="manhattan", linkage="complete").fit_predict(points)
        groups = [np.flatnonzero(found == number) for number in range(count)]
        return [rows for rows in groups if crowd_passes(problem, rows)]

    def left_out(passing):
        return flows.total - sum(int(flows.trips[rows].sum()) for rows in passing)

    counts = range(len(flows), 0, -1)  # from the finest cut to the coarsest
    expected = next(found for found in map(clusters, counts) if left_out(found) <= problem.budget)
    assert 1 < len(expected) < len(flows) / 2
    actual = {tuple(np.flatnonzero(solution.group == flow).tolist()) for flow in range(len(solution.origin))}
    # Groups with the same two boxes are one flow, so that flows are unions of clusters.
    assert {row for rows in actual for row in rows} == {int(row) for rows in expected for row in rows}
    assert all(any(set(rows.tolist()) <= set(flow) for flow in actual) for rows in expected)
    assert sum(len(rows) for rows in expected) == sum(map(len, actual))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["glove-od", "glove-sk"])
def test_boxes_go_around_tiles(city_trips, method):
    """A box is the smallest around the outlines of the tiles of its flow, so it starts and ends where tiles do."""
    flows = fv.build_flows(city_trips, "quadtree:2000", bbox=CITY_BBOX, unit="person_id")
    release = fv.anonymize(flows, method, k=8)
    shapes = dict(
        zip(release.areas["area"].to_pylist(), shapely.from_wkb(release.areas["geometry"].to_pylist()), strict=True)
    )
    rows = release.assignment.to_pylist()
    tiles = flows.places.describe(flows.origins, np.unique(flows.origin))
    outline = dict(zip(tiles.area, tiles.geometry, strict=True))
    west, south, east, north = CITY_BBOX

    for flow in release.flows.to_pylist():
        mine = [row for row in rows if (row["origin"], row["destination"]) == (flow["origin"], flow["destination"])]
        bounds = shapely.union_all([outline[row["origin_tile"]] for row in mine]).bounds
        around = (max(bounds[0], west), max(bounds[1], south), min(bounds[2], east), min(bounds[3], north))
        assert shapes[flow["origin"]].bounds == pytest.approx(around, abs=3e-7)


def make_trips(rows):
    """Return trips as a table: person, origin and destination in degrees."""
    names = ("person_id", "start_lon", "start_lat", "end_lon", "end_lat")
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


@pytest.mark.parametrize("method", ["glove-od", "glove-sk"])
def test_one_person_with_every_trip_is_not_published(method):
    """Trips of one person are no crowd, however many and wherever."""
    rows = [("hermit", 4.5 + step / 100, 50.3, 4.6, 50.4 + step / 100) for step in range(10)] * 20
    flows = fv.build_flows(make_trips(rows), "h3:8", unit="person_id")

    with pytest.raises(fv.PromiseError):
        fv.anonymize(flows, method, k=2)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["glove-od", "glove-sk"])
def test_budget_of_nothing(city_trips, tmp_path, method):
    """With no budget everything is published, or the promise is refused; k beyond the data is refused."""
    flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, unit="person_id")

    if method == "glove-od":  # the last group is too small, and finished ones take nobody in
        with pytest.raises(fv.PromiseError, match=r"of the trips over, but only 0\.000% may be"):
            fv.anonymize(flows, method, k=8, max_suppression=0)
    else:
        release = fv.anonymize(flows, method, k=8, max_suppression=0)
        assert release.metrics()["suppressed"] == 0
        fv.verify(release.write(tmp_path / "out"), city_trips)
    with pytest.raises(fv.PromiseError):
        fv.anonymize(flows, method, k=501)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["glove-od", "glove-sk"])
@pytest.mark.parametrize("places", ["same", "antimeridian", "pole"])
def test_odd_places(tmp_path, method, places):
    """Identical trips, trips across 180 degrees and around a pole make boxes that verify."""
    spots = {
        "same": [(4.5, 50.3)] * 40,
        "antimeridian": [(180 - step / 50, 10.0) for step in range(20)] + [(step / 50 - 180, 10) for step in range(20)],
        "pole": [(9.0 * step - 180, 89.9) for step in range(40)],
    }[places]
    rows = [(f"p{place}", *spot, *spots[-place]) for place, spot in enumerate(spots)]
    trips = make_trips(rows)
    flows = fv.build_flows(trips, "h3:5", unit="person_id")

    release = fv.anonymize(flows, method, k=5, max_suppression=0.3)

    assert fv.verify(release.write(tmp_path / "out"), trips).flows == release.flows.num_rows
    assert fv.evaluate(tmp_path / "out", trips) == release.metrics(raw=True)


@pytest.mark.parametrize("method", ["glove-od", "glove-sk"])
def test_zones_need_places(method):
    """Zones with points are boxes as small as points; zones without any are refused with a reason."""
    trips = pa.table({"origin": ["a", "b"] * 20, "destination": ["c"] * 40})
    placed = pa.table({"zone_id": ["a", "b", "c"], "lon": [4.5, 4.6, 4.7], "lat": [50.3, 50.4, 50.5], "all": ["x"] * 3})

    release = fv.anonymize(fv.build_flows(trips, zones=placed, hierarchy=["zone_id", "all"]), method)

    assert release.metrics()["gbar"] == 2
    nowhere = placed.drop_columns(["lon", "lat"])
    with pytest.raises(fv.InputError, match="no centre"):
        fv.anonymize(fv.build_flows(trips, zones=nowhere, hierarchy=["zone_id", "all"]), method)


def test_sums_beyond_64_bits_are_refused():
    """Trips times distances that would wrap around are refused, not computed wrongly."""
    zones = pa.table({"zone_id": ["a", "b"], "lon": [-170.0, 170.0], "lat": [0.0, 1.0]})
    trips = pa.table({"origin": ["a", "b", "a"], "destination": ["b", "a", "a"], "count": [10**11, 10**11, 10**11]})
    flows = fv.build_flows(trips, zones=zones)

    with pytest.raises(fv.InputError, match="64 bits"):
        fv.anonymize(flows, "glove-od", k=10**12)


def test_too_many_flows_are_refused(city_trips):
    """glove-sk says what memory it would need before it takes it."""
    flows = fv.build_flows(city_trips, "h3:8", bbox=CITY_BBOX)

    with pytest.raises(fv.InputError, match=r"more than max_flows = 100: all their distances would need \d+ GB"):
        fv.anonymize(flows, "glove-sk", options={"max_flows": 100})


@pytest.mark.slow
@pytest.mark.parametrize("method", ["glove-od", "glove-sk"])
def test_rows_in_any_order_give_the_same_release(city_trips, method):
    """Flows and areas do not depend on the order of trips."""
    import pyarrow.parquet as pq

    trips = pq.read_table(city_trips)
    mixed = trips.take(np.random.default_rng(5).permutation(trips.num_rows))
    one, other = (
        fv.anonymize(fv.build_flows(table, "h3:7", bbox=CITY_BBOX, unit="person_id"), method, elsewhere=True)
        for table in (trips, mixed)
    )

    assert one.flows.equals(other.flows)
    assert one.areas.equals(other.areas)
    assert one.assignment.equals(other.assignment)
