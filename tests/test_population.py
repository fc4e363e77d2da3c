"""What is lost and who is exposed, measured on trips and on the people that they stand for."""

from __future__ import annotations

import json
from dataclasses import replace

import h3.api.basic_str as h3
import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks.study import WHOLE, study
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._flows import WEIGHT_UNIT
from flowveil._measure import metrics
from flowveil._measure.closeness import t_closeness
from flowveil._places import NodeAreas
from flowveil.synthetic import CITY_BBOX
from tests.test_metrics import below, published_flows
from tests.test_people import build, make_trips


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(published_flows(), st.data())
def test_population_equals_loops(case, data):
    """Metrics on people are those of single tile pairs that each hold some people, where trips stand for any number."""
    flows, published = case
    people = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(flows), max_size=len(flows))))
    flows = replace(flows, weight=people * WEIGHT_UNIT, people=None)
    true = {(int(o), int(d)): int(w) for o, d, w in zip(flows.origin, flows.destination, people, strict=True)}
    trips = {(int(o), int(d)): int(t) for o, d, t in zip(flows.origin, flows.destination, flows.trips, strict=True)}
    spread, sizes, volumes = {}, [], []
    for origin, destination, some in zip(published.origin, published.destination, published.trips, strict=True):
        tiles = [(o, d) for o in below(flows.origins, origin) for d in below(flows.destinations, destination)]
        part = some / sum(trips.get(tile, 0) for tile in tiles)
        volumes.append(part * sum(true.get(tile, 0) for tile in tiles))
        sizes.append(len(below(flows.origins, origin)) + len(below(flows.destinations, destination)))
        spread |= {tile: volumes[-1] / len(tiles) for tile in tiles}
    total, kept = sum(true.values()), sum(volumes)

    actual = metrics(flows, published, 3)

    if not kept:
        assert actual["population"] is None
        return
    found = actual["population"]
    keys = true.keys() | spread.keys()
    mean = total / flows.total
    close = {"rel": 1e-4, "abs": 1e-4}  # people are counted in millionths
    assert actual["k_weight"] == pytest.approx(3 * mean)
    assert found["e"] == pytest.approx(sum(abs(spread.get(p, 0) - true.get(p, 0)) for p in keys) / total, **close)
    assert found["gbar"] == pytest.approx(np.average(sizes, weights=volumes), **close)
    assert found["suppressed"] == pytest.approx(1 - kept / total, **close)
    assert found["c_dm"] == pytest.approx(sum(v**2 for v in volumes) + total * (total - kept), **close)
    assert found["c_avg"] == pytest.approx(kept / len(volumes) / (3 * mean), **close)
    assert found.keys() <= actual.keys()


def ancestors(lon, lat, resolution):
    """Return the ids of all areas of cells that hold a point."""
    cell = h3.latlng_to_cell(lat, lon, resolution)
    return [h3.cell_to_parent(cell, coarser) for coarser in range(resolution, -1, -1)] + ["world"]


def persons_by_flow(release, trips, resolution):
    """Return for each published flow the weights of its persons, found from single trips with h3."""
    pairs = zip(release.flows["origin"].to_pylist(), release.flows["destination"].to_pylist(), strict=True)
    found = {pair: {} for pair in pairs}
    west, south, east, north = CITY_BBOX
    for trip in trips.to_pylist():
        ends = [(trip["start_lon"], trip["start_lat"]), (trip["end_lon"], trip["end_lat"])]
        if all(west <= lon <= east and south <= lat <= north for lon, lat in ends):
            origins, destinations = (ancestors(*end, resolution) for end in ends)
            for flow in {(o, d) for o in origins for d in destinations} & found.keys():
                found[flow][trip["person_id"]] = trip["weight"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mosaic", "odkanon"])
def test_a_release_is_measured_from_both_sides(city_trips, tmp_path, capsys, method):
    """A release by trips is held against persons and people that it knows nothing of; flows below are counted."""
    flows = fv.build_flows(city_trips, "h3:7", hierarchy="h3", bbox=CITY_BBOX)
    folder = fv.anonymize(flows, method, k=10).write(tmp_path / "out")
    asked = ["--unit", "person_id", "--weight", "weight", "-k", "8", "--k-weight", "700", "--json"]
    found = persons_by_flow(fv.read_release(folder), pq.read_table(city_trips), 7)

    assert run(["evaluate", str(folder), "--against", str(city_trips), *asked]) == 0

    actual = json.loads(capsys.readouterr().out)
    persons = [len(weights) for weights in found.values()]
    people = [sum(weights.values()) for weights in found.values()]
    assert actual["min_persons"] == min(persons)
    assert actual["below_k"] == sum(count < 8 for count in persons) > 0
    assert actual["min_weight"] == pytest.approx(min(people))
    assert actual["below_k_weight"] == sum(count < 700 for count in people) > 0
    assert actual["population"].keys() <= actual.keys()


def test_text_shows_both_sides(city_trips, tmp_path, capsys):
    """Without --json the figures on people follow those on trips."""
    flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, unit="person_id", weight="weight")
    folder = fv.anonymize(flows, k=10, elsewhere=True).write(tmp_path / "out")

    assert run(["evaluate", str(folder), "--against", str(city_trips)]) == 0

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert sum(line[:1] == ["gbar"] for line in lines) == 2
    assert ["The", "same", "on", "the", "people", "that", "trips", "stand", "for:"] in lines


class TestCloseness:
    """t-closeness of the destinations of an origin area against those of all."""

    @pytest.mark.slow
    @settings(max_examples=60, deadline=None)
    @given(published_flows())
    def test_equals_plain_sums(self, case):
        """Half the sum of differences over tiles, each flow spread evenly over those of its destination."""
        flows, published = case
        leaves = np.flatnonzero(flows.destinations.is_leaf).tolist()
        rows = []
        for origin, destination, trips in zip(published.origin, published.destination, published.trips, strict=True):
            inside = below(flows.destinations, destination)
            rows += [(origin, tile, trips / len(inside)) for tile in inside]

        def shares(chosen):
            total = sum(volume for _, _, volume in chosen)
            return [sum(volume for _, tile, volume in chosen if tile == leaf) / total for leaf in leaves]

        whole = shares(rows)
        expected = [
            sum(abs(a - b) for a, b in zip(shares([row for row in rows if row[0] == origin]), whole, strict=True)) / 2
            for origin in np.unique(published.origin)
        ]

        actual = metrics(flows, published, 2)["t_closeness"]

        assert actual["max"] == pytest.approx(max(expected), abs=1e-12)
        assert actual["mean"] == pytest.approx(np.mean(expected), abs=1e-12)

    def test_is_an_earth_movers_distance(self):
        """SciPy's linear program moves the same amount of earth where all tiles are one step apart."""
        optimize = pytest.importorskip("scipy.optimize")
        random = np.random.default_rng(4)
        one, all_ = random.dirichlet(np.ones(6), 2)
        cost = 1 - np.eye(6)
        moved = np.vstack([np.kron(np.eye(6), np.ones(6)), np.kron(np.ones(6), np.eye(6))])

        answer = optimize.linprog(cost.ravel(), A_eq=moved, b_eq=np.concatenate([one, all_]))

        assert answer.fun == pytest.approx(np.abs(one - all_).sum() / 2)

    @pytest.mark.filterwarnings("ignore:In a future version, the keys of `groups`")  # how pycanon uses pandas
    def test_pycanon_agrees(self, city_trips):
        """On areas that are one map, another team's package finds the same t for destinations given origins."""
        anonymity = pytest.importorskip("pycanon.anonymity", reason="pycanon has no wheels for this Python")
        flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, unit="person_id")
        release = fv.anonymize(flows, "crosscut", k=20)
        frame = release.flows.to_pandas()
        records = frame.loc[frame.index.repeat(frame["trips"]), ["origin", "destination"]].reset_index(drop=True)

        expected = anonymity.t_closeness(records, ["origin"], ["destination"])

        assert release.metrics()["t_closeness"]["max"] == pytest.approx(expected)

    def test_one_origin_is_like_the_whole(self):
        """Where all trips begin in one area there is nothing to learn from it."""
        flows = build(make_trips([(f"p{person}", 1.0, 0, person % 3) for person in range(30)]))
        release = fv.anonymize(flows, k=2)
        areas = NodeAreas(flows.places, flows.destinations)
        volume = release.published.trips.astype(float)

        found = t_closeness(release.published.origin, release.published.destination, areas, volume)

        assert found == {"max": pytest.approx(0), "mean": pytest.approx(0)}
        assert t_closeness(release.published.origin, release.published.destination, areas, 0 * volume) is None


@pytest.mark.slow
def test_protecting_one_side_exposes_the_other(city_trips):
    """The finding of the thesis: each protection leaves flows below the threshold of the other side; both, none."""
    rows = study(city_trips, {WHOLE: None, "female": "sex = 'female'", "male": "sex = 'male'"}, grid="h3:7")

    found = {(row["part"], row["protected"]): (row["below_k"], row["below_k_weight"]) for row in rows}
    assert found[WHOLE, "participants"][1] > 0
    assert found[WHOLE, "population"][0] > 0
    for (_, protected), (persons, people) in found.items():
        assert persons == 0 or protected == "population"
        assert people == 0 or protected == "participants"
