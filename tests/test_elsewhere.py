"""Flows to elsewhere: every method, both ends, and what the verifier catches."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._methods import find_method
from flowveil._release.elsewhere import find_elsewhere
from flowveil._release.manifest import promise_text
from flowveil.synthetic import CITY_BBOX
from tests.test_promise import METHODS, set_value, write
from tests.trees import Oracle, problems

TREE_METHODS = [name for name in METHODS if find_method(name).promise == "k-anonymity"]


def plain_elsewhere(problem, solution):
    """Return {area: tile pairs}, giving what is too little, or too telling, to the next area above, one at a time."""
    oracle = Oracle(problem)
    first = solution.first
    leaf = (problem.flows.origin, problem.flows.destination)[first]
    areas = np.unique((solution.origin, solution.destination)[first]) if solution.areas is None else solution.areas[0]
    left = set(np.flatnonzero(solution.group < 0).tolist())
    tree = oracle.trees[first]
    found = {}
    for area in sorted(areas.tolist(), key=lambda node: -tree.depth[node]):
        rows = sorted(row for row in left if leaf[row] in oracle.leaves[first][area])
        if rows and _passes(problem, rows, area, first) and _may_be_empty(problem, solution, rows, area, found):
            found[area] = rows
            left -= set(rows)
    return found


def _above(tree, node):
    """Return a node and all above it."""
    path = [int(node)]
    while tree.parent[path[-1]] >= 0:
        path.append(int(tree.parent[path[-1]]))
    return path


def _may_be_empty(problem, solution, rows, area, found):
    """Whether every hidden part of an area may be empty, for the place in it with the most parts."""
    first = solution.first
    trees = (problem.flows.origins, problem.flows.destinations)
    tree, other = trees[first], trees[1 - first]
    ends = (solution.origin.tolist(), solution.destination.tolist())
    reached = list(zip(ends[first], ends[1 - first], strict=True))
    named = {start for start, _ in reached} | set(found) | {area}
    places = []
    for place in named:
        path = _above(tree, place)
        within = area in path and not any(node in found for node in path[: path.index(area)])
        if within and not any(place in _above(tree, inside)[1:] for inside in named):
            places.append(place)
    parts = [
        _parts(other, [end for start, end in reached if start in _above(tree, place)], reached) for place in places
    ]
    crowd, weight = _crowd(problem, rows)
    room = max(parts, default=0) - 1
    caps = [(crowd, problem.requirement.k - 1), (weight, problem.requirement.least_weight - 1)]
    return all(size <= room * most for size, most in caps if most > 0)


def _parts(tree, own, reached):
    """Count the largest nodes with an area that some flow reaches, and with nothing in common with those in `own`."""
    known = {node for _, end in reached for node in _above(tree, end)}
    free = {node for node in known if not any(node in _above(tree, end) or end in _above(tree, node) for end in own)}
    return len([node for node in free if int(tree.parent[node]) not in free])


def _crowd(problem, rows):
    """Return the persons, or trips, of tile pairs, and their weight."""
    flows = problem.flows
    if flows.people is None:
        return int(flows.trips[rows].sum()), int(flows.weight[rows].sum())
    persons = {int(p) for r, p in zip(flows.people.pair, flows.people.person, strict=True) if r in rows}
    return len(persons), int(sum(flows.people.weight[p] for p in persons))


def _passes(problem, rows, area, first):
    flows, requirement = problem.flows, problem.requirement
    trips, weight = _crowd(problem, rows)
    ends = (flows.origin, flows.destination)
    tiles = int((flows.origins, flows.destinations)[first].tiles[area]), len(set(ends[1 - first][rows].tolist()))
    enough = requirement.k_weight is None or weight >= requirement.least_weight
    return trips >= requirement.k and min(tiles) >= requirement.min_tiles and enough


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems(loss="tiles"), st.sampled_from(["mosaic", "nested", "crosscut", "suppression"]))
def test_equals_the_plain_rule(problem, method):
    """Areas and tile pairs are those of the rule as the documents state it; no tile pair is in two flows."""
    problem = replace(problem, budget=problem.flows.total)
    solution = find_method(method).solve(problem)

    rest = find_elsewhere(problem, solution)

    actual = {int(area): np.flatnonzero(rest.group == flow).tolist() for flow, area in enumerate(rest.area)}
    assert actual == plain_elsewhere(problem, solution)
    assert not ((rest.group >= 0) & (solution.group >= 0)).any()


@pytest.mark.slow
@pytest.mark.parametrize("method", TREE_METHODS)
def test_every_method_reports_and_verifies(city_trips, city_zone_trips, tmp_path, method):
    """With elsewhere the release verifies on grid and zones, and evaluate agrees with its metrics."""
    zones = city_zone_trips.with_name("zones.parquet")
    kinds = [
        (city_trips, {"grid": "h3:6", "hierarchy": "h3", "bbox": CITY_BBOX}),
        (city_zone_trips, {"zones": zones, "hierarchy": "ward"}),
    ]
    for number, (trips, places) in enumerate(kinds):
        flows = fv.build_flows(trips, unit="person_id", **places)
        plain = fv.anonymize(flows, method, k=8).metrics()

        release = fv.anonymize(flows, method, k=8, elsewhere=True)
        folder = release.write(tmp_path / f"out{number}")

        figures = release.metrics()
        rest = figures.pop("elsewhere")
        assert figures == plain
        assert release.flows.num_rows == figures["flows"] + rest["flows"]
        assert rest["trips"] + figures["trips"] <= flows.total
        assert release.flows["persons"].to_numpy().min() >= 8
        assert fv.verify(folder, trips).flows == release.flows.num_rows
        assert fv.evaluate(folder, trips) == release.metrics(raw=True)


def test_other_end_and_tiles(city_trips, tmp_path):
    """With one map of destinations trips come from elsewhere; the tests of weight and tiles hold there too."""
    flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, unit="person_id", weight="weight")

    demand = {"k": 5, "k_weight": 800, "min_tiles": 2, "options": {"side": "destination"}}
    release = fv.anonymize(flows, "nested", elsewhere=True, **demand)

    assert "elsewhere" in release.flows["origin"].to_pylist()
    assert "elsewhere" not in release.flows["destination"].to_pylist()
    fv.verify(release.write(tmp_path / "out"), city_trips)


def test_lower_bounds_are_refused(city_trips):
    """Filtered trips lie inside published flows, so they are not elsewhere."""
    flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX)

    with pytest.raises(fv.InputError, match="true volumes"):
        fv.anonymize(flows, "odkanon", elsewhere=True, options={"reinstate": False})


@pytest.fixture(scope="module")
def reported(city_trips, tmp_path_factory):
    """Return a verified release with flows to elsewhere."""
    folder = tmp_path_factory.mktemp("elsewhere") / "out"
    flows = fv.build_flows(city_trips, "h3:8", bbox=CITY_BBOX, unit="person_id")
    fv.anonymize(flows, "nested", k=8, elsewhere=True, options={"side": "origin"}).write(folder)
    fv.verify(folder, city_trips)
    return folder


def one_more(flows, areas, manifest):
    """One trip more goes elsewhere."""
    row = flows["destination"].to_pylist().index("elsewhere")
    return set_value(flows, "trips", row, flows["trips"][row].as_py() + 1), areas, manifest


def swapped(flows, areas, manifest):
    """Two volumes to elsewhere are exchanged."""
    rows = [row for row, name in enumerate(flows["destination"].to_pylist()) if name == "elsewhere"]
    trips = flows["trips"].to_pylist()
    other = next(row for row in rows if trips[row] != trips[rows[0]])
    flows = set_value(set_value(flows, "trips", rows[0], trips[other]), "trips", other, trips[rows[0]])
    return flows, areas, manifest


def unpromised(flows, areas, manifest):
    """Promise nothing about elsewhere."""
    del manifest["promise"]["elsewhere"]
    return flows, areas, manifest


def half_promised(flows, areas, manifest):
    """Promise that there is no elsewhere."""
    manifest["promise"]["elsewhere"] = False
    return flows, areas, manifest


def placed(flows, areas, manifest):
    """Elsewhere has a center."""
    row = areas["area"].to_pylist().index("elsewhere")
    return flows, set_value(set_value(areas, "lon", row, 4.5), "lat", row, 50.3), manifest


def both_ends(flows, areas, manifest):
    """One flow goes from elsewhere to elsewhere."""
    row = flows["destination"].to_pylist().index("elsewhere")
    flows = set_value(flows, "origin", row, "elsewhere").sort_by(
        [("origin", "ascending"), ("destination", "ascending")]
    )
    new = areas.filter(pa.array([name == "elsewhere" for name in areas["area"].to_pylist()]))
    areas = pa.concat_tables([areas, set_value(new, "side", 0, "origin")])
    areas = areas.sort_by([("side", "descending"), ("area", "ascending")])
    return flows, areas.replace_schema_metadata(new.schema.metadata), manifest


MUTANTS = [
    (one_more, "does not have the trips of the input"),
    (swapped, "does not have the trips of the input"),
    (unpromised, "which the manifest does not promise"),
    (half_promised, "'elsewhere' of the promise is not true"),
    (placed, "the area elsewhere has a center"),
    (both_ends, "some flows start elsewhere and some end there"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mutate", "reason"), MUTANTS)
def test_mutants_are_caught(reported, city_trips, tmp_path, mutate, reason):
    """A release whose flows to elsewhere were tampered with does not verify."""
    flows, areas = pq.read_table(reported / "flows.parquet"), pq.read_table(reported / "areas.parquet")
    manifest = json.loads((reported / "manifest.json").read_text())

    flows, areas, manifest = mutate(flows, areas, manifest)
    (tmp_path / "out").mkdir()
    write(flows, tmp_path / "out" / "flows.parquet")
    write(areas, tmp_path / "out" / "areas.parquet")
    manifest["promise_text"] = promise_text(manifest["promise"])
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")

    with pytest.raises(fv.VerificationError, match=reason):
        fv.verify(tmp_path / "out", city_trips)


def test_command_line(city_trips, tmp_path, capsys):
    """The flag writes such flows and the summary tells how many trips they hold."""
    arguments = ["--grid", "h3:7", "--unit", "person_id", "--elsewhere", "-o", str(tmp_path / "out")]

    assert run(["anonymize", str(city_trips), *arguments]) == 0

    assert "reported as going elsewhere" in capsys.readouterr().out
    assert "elsewhere" in pq.read_table(tmp_path / "out" / "flows.parquet")["destination"].to_pylist()
    assert run(["verify", str(tmp_path / "out"), "--against", str(city_trips)]) == 0


ZONES = "abcdefghij"


def counted(hidden, usual=40):
    """Return trips between ten zones in a row, so many for each pair but for those in `hidden`, and the zones."""
    pairs = list(itertools.product(ZONES, ZONES))
    counts = [hidden.get(pair, usual) for pair in pairs]
    rows = [(one, other, count) for (one, other), count in zip(pairs, counts, strict=True) if count]
    table = pa.table(dict(zip(("origin", "destination", "count"), zip(*rows, strict=True), strict=True)))
    place = [float(number) for number in range(len(ZONES))]
    return table, pa.table({"zone_id": list(ZONES), "lon": place, "lat": [0.0] * len(ZONES)})


def elsewhere_of(release):
    """Return the flows to elsewhere: trips by the area at the other end."""
    rows = release.flows.to_pylist()
    return {row["origin"]: row["trips"] for row in rows if row["destination"] == "elsewhere"}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["suppression", "mosaic", "crosscut", "glove-od"])
def test_a_sum_of_two_hidden_flows_is_not_told(tmp_path, method, monkeypatch):
    """Two flows of 9 are missing: their sum of 18 would tell both. It is withheld, and found where it is not."""
    table, zones = counted({("a", "c"): 9, ("a", "h"): 9})
    flows = fv.build_flows(table, zones=zones)
    keywords = {} if method == "suppression" else {"max_suppression": 18 / flows.total}

    release = fv.anonymize(flows, method, k=10, elsewhere=True, **keywords)
    fv.verify(release.write(tmp_path / "out"), table, zones=zones)

    assert release.metrics()["suppressed"] == pytest.approx(18 / flows.total)
    assert elsewhere_of(release) == {}
    for module in ("elsewhere", "rectangles_elsewhere"):
        monkeypatch.setattr(f"flowveil._release.{module}.pins_down", lambda *_: np.array([False]))
    careless = fv.anonymize(flows, method, k=10, elsewhere=True, **keywords)
    assert list(elsewhere_of(careless).values()) == [18]
    careless.write(tmp_path / "careless")
    with pytest.raises(fv.VerificationError, match="tells of single ones"):
        fv.verify(tmp_path / "careless", table, zones=zones)


def test_a_sum_of_many_hidden_flows_is_told(tmp_path):
    """Four flows of 5 are missing, no two of them next to each other: each may be anything from 0 to 9."""
    table, zones = counted(dict.fromkeys([("a", "c"), ("a", "e"), ("a", "g"), ("a", "i")], 5))

    release = fv.anonymize(fv.build_flows(table, zones=zones), "suppression", k=10, elsewhere=True)

    fv.verify(release.write(tmp_path / "out"), table, zones=zones)
    assert list(elsewhere_of(release).values()) == [20]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_hidden_flows_may_be_anything(data):
    """Whatever is hidden: given the sum, each hidden flow may still have any volume below k."""
    k = data.draw(st.integers(2, 4))
    pairs = [("a", other) for other in ZONES]
    hidden = {pair: data.draw(st.integers(0, 2 * k), label=pair[1]) for pair in pairs}
    table, zones = counted(hidden)
    flows = fv.build_flows(table, zones=zones)
    release = fv.anonymize(flows, "suppression", k=k, elsewhere=True)
    told = elsewhere_of(release)
    missing = [volume for volume in hidden.values() if volume < k]

    if told:
        assert sum(missing) == sum(told.values())
        sums = {0}  # that all hidden flows but one may have
        for _ in missing[1:]:
            sums = {volume + more for volume in sums for more in range(k)}
        assert all(sum(missing) - volume in sums for volume in range(k))
