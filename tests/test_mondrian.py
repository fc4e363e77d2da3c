"""mondrian against a plain recursion, and rectangles from method to verifier."""

from __future__ import annotations

import shutil

import h3.api.basic_str as h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from benchmarks import plain_mondrian
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._methods import mondrian, mondrian_kernels
from flowveil._places import make_frame, tile_points
from flowveil._problem import Problem, Requirement
from flowveil.synthetic import CITY_BBOX
from tests.test_promise import set_value, write
from tests.trees import flows_between, hierarchies, requirements


def plain_regions(problem):
    """Return the regions of the plain recursion."""
    flows, requirement = problem.flows, problem.requirement
    frame = make_frame(flows.provenance.bbox)
    ends = (flows.origins, flows.origin), (flows.destinations, flows.destination)
    points = np.concatenate([tile_points(flows.places, tree, leaf, frame) for tree, leaf in ends])

    def passes(rows):
        group = np.full(len(flows), -1)
        group[rows] = 0
        tiles = [np.array([len(set(leaf[rows].tolist()))]) for _, leaf in ends]
        return bool(requirement.passes(flows.measure(group, 1), *tiles)[0])

    return plain_mondrian.solve(points, flows.trips, passes, [*frame[:2]] * 2, [*frame[2:]] * 2)


def regions_of(solution):
    """Return the regions of a solution in the same form."""
    low, high = solution.rectangles.bounds[:, :2], solution.rectangles.bounds[:, 2:]
    found = {}
    for flow, (origin, destination) in enumerate(zip(solution.origin, solution.destination, strict=True)):
        bounds = tuple((*side[origin].tolist(), *side[destination].tolist()) for side in (low, high))
        found[bounds] = np.flatnonzero(solution.group == flow)
    return found


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(hierarchies(12), hierarchies(12), requirements, st.data())
def test_equals_plain_recursion(origins, destinations, requirement, data):
    """Bounds and tile pairs of every region are those of the recursion; ties and repeated places are no exception."""
    flows = data.draw(flows_between(origins, destinations, most_trips=50))
    flows.places.root_has_center = True  # a tree of one tile is its own root
    problem = Problem(flows, requirement, flows.total)
    expected = plain_regions(problem)

    try:
        solution = mondrian.solve(problem)
    except fv.PromiseError:
        assert len(expected) == 1
        return

    actual = regions_of(solution)
    assert actual.keys() == expected.keys()
    assert all(actual[key].tolist() == sorted(expected[key].tolist()) for key in expected)


def test_compiled_kernel_equals_plain(city_trips):
    """The compiled loops cut as the Python functions they are made from."""
    flows = fv.build_flows(city_trips, "h3:6", bbox=CITY_BBOX, unit="person_id")
    problem = Problem(flows, Requirement(20), flows.total)
    compiled = mondrian.solve(problem)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("crowd_passes", "cut_values", "best_cut", "partition"):
            patch.setattr(mondrian_kernels, name, getattr(mondrian_kernels, f"_{name}"))
        plain = mondrian.solve(problem)

    assert plain.group.tolist() == compiled.group.tolist()
    assert plain.rectangles.bounds.tolist() == compiled.rectangles.bounds.tolist()


def test_nothing_is_left_out_and_areas_fill_the_box(city_trips):
    """Every trip is published, and the regions fill the square of the bbox exactly once."""
    flows = fv.build_flows(city_trips, "h3:8", bbox=CITY_BBOX, unit="person_id")

    release = fv.anonymize(flows, "mondrian")

    assert release.metrics()["suppressed"] == 0
    shape = dict(
        zip(release.areas["area"].to_pylist(), shapely.from_wkb(release.areas["geometry"].to_pylist()), strict=True)
    )
    size = sum(shape[row["origin"]].area * shape[row["destination"]].area for row in release.flows.to_pylist())
    assert size == pytest.approx(shapely.box(*CITY_BBOX).area ** 2)


def test_open_sides_have_no_center(city_trips):
    """Without a bbox outer regions reach to the ends of the globe, and have no center."""
    release = fv.anonymize(fv.build_flows(city_trips, "h3:6", unit="person_id"), "mondrian")

    rows = release.areas.to_pylist()
    is_open = [
        -180 in shapely.from_wkb(row["geometry"]).bounds or 90 in shapely.from_wkb(row["geometry"]).bounds
        for row in rows
    ]
    assert any(is_open)
    assert all(row["lon"] is None for row, outer in zip(rows, is_open, strict=True) if outer)
    assert release.metrics()["gdm"] is None


@pytest.fixture(scope="module", params=["grid", "zones"])
def written(request, city_trips, city_zone_trips, tmp_path_factory):
    """Return a verified release between rectangles, and its trips."""
    trips, places = city_trips, {"grid": "h3:7", "bbox": CITY_BBOX}
    if request.param == "zones":
        trips, places = city_zone_trips, {"zones": city_zone_trips.with_name("zones.parquet")}
    folder = tmp_path_factory.mktemp("rectangles") / "out"
    fv.anonymize(fv.build_flows(trips, unit="person_id", **places), "mondrian", k=8).write(folder)
    fv.verify(folder, trips)
    return folder, trips


def moved_center(flows, areas):
    """One center is not the middle."""
    row = next(row for row, lon in enumerate(areas["lon"].to_pylist()) if lon is not None)
    return flows, set_value(areas, "lon", row, areas["lon"][row].as_py() + 1e-6)


def triangle(flows, areas):
    """One rectangle loses a corner."""
    corners = shapely.get_coordinates(shapely.from_wkb(areas["geometry"][0].as_py()))
    return flows, set_value(areas, "geometry", 0, shapely.to_wkb(shapely.Polygon(corners[[0, 1, 2, 0]])))


def counted(flows, areas):
    """One number of tiles is wrong."""
    return flows, set_value(areas, "tiles", 0, (areas["tiles"][0].as_py() or 0) + 1)


def one_more(flows, areas):
    """One trip more."""
    return set_value(flows, "trips", 0, flows["trips"][0].as_py() + 1), areas


def lowered(flows, areas):
    """One crowd below k."""
    return set_value(flows, "persons", 0, 7), areas


def taken(flows, areas):
    """One rectangle takes over a strip of its neighbor's, so that flows overlap; numbers still follow bounds."""
    shapes = {
        name: shapely.from_wkb(shape).bounds
        for name, shape in zip(areas["area"].to_pylist(), areas["geometry"].to_pylist(), strict=True)
    }
    bounds = {name: tuple(round(edge * 1e7) for edge in box) for name, box in shapes.items()}
    east = max(box[2] for box in bounds.values())
    name = next(name for name in sorted(bounds) if bounds[name][2] < east and bounds[name][0] > -180 * 10**7)
    wider = (*bounds[name][:2], bounds[name][2] + 1, bounds[name][3])
    bounds[name] = wider
    assert len(set(bounds.values())) == len(bounds)
    new = shapely.to_wkb(shapely.box(*(edge / 1e7 for edge in wider)))
    for row, area in enumerate(areas["area"].to_pylist()):
        if area == name:
            areas = set_value(areas, "geometry", row, new)
            middle = (wider[0] + wider[2]) / 2e7
            areas = areas if areas["lon"][row].as_py() is None else set_value(areas, "lon", row, middle)
    return flows, areas


MUTANTS = [
    (taken, "overlap"),
    (moved_center, "the center of the area r:"),
    (triangle, "is not a rectangle of the release"),
    (counted, "the number of tiles of the area r:"),
    (one_more, "does not have the trips of the input"),
    (lowered, "has fewer than k = 8 persons"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mutate", "reason"), MUTANTS)
def test_mutants_are_caught(written, tmp_path, mutate, reason):
    """A release between rectangles that was tampered with does not verify, for the reason that is wrong with it."""
    folder, trips = written
    flows, areas = mutate(pq.read_table(folder / "flows.parquet"), pq.read_table(folder / "areas.parquet"))
    (tmp_path / "out").mkdir()
    write(flows, tmp_path / "out" / "flows.parquet")
    write(areas, tmp_path / "out" / "areas.parquet")
    shutil.copy(folder / "manifest.json", tmp_path / "out" / "manifest.json")

    zones = trips.with_name("zones.parquet")
    with pytest.raises(fv.VerificationError, match=reason):
        fv.verify(tmp_path / "out", trips, zones=zones if zones.exists() else None)


def test_a_budget_is_refused_only_if_broken(city_trips):
    """Nothing is left out, so any budget holds; too few trips for one flow cannot be published."""
    flows = fv.build_flows(city_trips, "h3:6", bbox=CITY_BBOX)

    assert fv.anonymize(flows, "mondrian", max_suppression=0).metrics()["suppressed"] == 0
    with pytest.raises(fv.PromiseError):
        fv.anonymize(flows, "mondrian", k=10**6)


def test_cells_across_the_edge_of_the_bbox(tmp_path):
    """Cells whose centers lie west and south of the bbox get a rectangle that has a width."""
    west, south, *_ = CITY_BBOX
    place = np.repeat([0.0, 0.1], 20)
    ends = {"start_lon": west + place, "start_lat": south + place, "end_lon": west + place, "end_lat": south + place}
    cells = {h3.latlng_to_cell(south, west, resolution) for resolution in (6, 7, 8)}
    grids = [f"h3:{h3.get_resolution(cell)}" for cell in cells if h3.cell_to_latlng(cell)[1] < west]
    assert grids

    for grid in grids:
        release = fv.anonymize(fv.build_flows(pa.table(ends), grid, bbox=CITY_BBOX), "mondrian")
        assert release.flows.num_rows == 2
        fv.verify(release.write(tmp_path / grid[3:]), pa.table(ends))
