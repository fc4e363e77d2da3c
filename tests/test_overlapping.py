"""Releases whose areas overlap: the private assignment, what the verifier makes of it, and where it must not stay."""

from __future__ import annotations

import json
import shutil
import stat
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import shapely

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._folder import files as folder_files
from flowveil._methods import find_method
from flowveil._places import tile_points
from flowveil._problem import Problem, Requirement
from flowveil._release.elsewhere import find_elsewhere
from flowveil.synthetic import CITY_BBOX
from tests.test_promise import set_value, write

ORDER = [("origin_tile", "ascending"), ("destination_tile", "ascending")]
TILES = ("origin_tile", "destination_tile")
KINDS = ["h3", "quadtree", "ward", "columns"]


@pytest.fixture(scope="module", params=KINDS)
def written(request, city_trips, city_zone_trips, tmp_path_factory):
    """Return a verified release with flows to elsewhere, and its trips."""
    zones = city_zone_trips.with_name("zones.parquet")
    trips, places = {
        "h3": (city_trips, {"grid": "h3:7", "bbox": CITY_BBOX}),
        "quadtree": (city_trips, {"grid": "quadtree:2000", "bbox": CITY_BBOX}),
        "ward": (city_zone_trips, {"zones": zones}),
        "columns": (city_zone_trips, {"zones": zones, "hierarchy": ["zone_id", "district", "region"]}),
    }[request.param]
    folder = tmp_path_factory.mktemp("overlapping") / "out"
    flows = fv.build_flows(trips, unit="person_id", **places)
    fv.anonymize(flows, "glove-od", k=8, elsewhere=True).write(folder)
    fv.verify(folder, trips)
    return folder, trips


@pytest.mark.slow
def test_what_is_written(written):
    """The manifest says that areas overlap; the assignment is private, sorted, and covers what is published."""
    folder, _ = written
    manifest = json.loads((folder / "manifest.json").read_text())
    path = folder.with_name("out.assignment.parquet")
    table = pq.read_table(path)

    assert manifest["promise"]["areas"] == "overlapping"
    assert manifest["promise"]["volumes"] == "lower-bound"
    assert manifest["promise"]["shapes"] == "rectangles"
    assert "may overlap" in manifest["promise_text"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert table.column_names == ["origin_tile", "destination_tile", "origin", "destination"]
    assert table.equals(table.sort_by(ORDER))
    flows = pq.read_table(folder / "flows.parquet")
    named = set(zip(table["origin"].to_pylist(), table["destination"].to_pylist(), strict=True))
    assert named == set(zip(flows["origin"].to_pylist(), flows["destination"].to_pylist(), strict=True))
    assert {item.name for item in folder.iterdir()} == {"flows.parquet", "areas.parquet", "manifest.json"}


@pytest.mark.slow
def test_areas_do_overlap(written):
    """The promise is not empty: some areas of one end overlap and none holds the other."""
    folder, _ = written
    areas = pq.read_table(folder / "areas.parquet").filter(pc.equal(pc.field("side"), "origin"))
    shapes = [shape for shape in shapely.from_wkb(areas["geometry"].to_pylist()) if shape is not None]

    assert any(one.overlaps(other) for one in shapes for other in shapes)


def flow_ends(table):
    """Return the flow of each row of an assignment."""
    return list(zip(table["origin"].to_pylist(), table["destination"].to_pylist(), strict=True))


def counted_twice(table, flows, areas):
    """One pair of tiles is counted in two flows."""
    other = next(row for row, ends in enumerate(flow_ends(table)) if ends != flow_ends(table)[0])
    again = table.slice(0, 1)
    for name in ("origin", "destination"):
        again = set_value(again, name, 0, table[name][other].as_py())
    return pa.concat_tables([table.slice(0, 1), again, table.slice(1)]), flows, areas


def left_out(table, flows, areas):
    """One pair of tiles is counted in no flow, of a flow that has both tiles in other pairs."""
    rows = [row for row in table.to_pylist() if row["destination"] != "elsewhere"]
    times = Counter((row["origin"], row["destination"], tile, row[tile]) for row in rows for tile in TILES)
    row = next(
        number
        for number, row in enumerate(table.to_pylist())
        if all(times[row["origin"], row["destination"], tile, row[tile]] > 1 for tile in TILES)
    )
    return pa.concat_tables([table.slice(0, row), table.slice(row + 1)]), flows, areas


def invented(table, flows, areas):
    """One pair of tiles that nobody traveled is counted in a flow whose areas hold it."""
    known = set(zip(table["origin_tile"].to_pylist(), table["destination_tile"].to_pylist(), strict=True))
    by_flow = {}
    for row in table.to_pylist():
        by_flow.setdefault((row["origin"], row["destination"]), []).append(row)
    new = next(
        {**one, "destination_tile": other["destination_tile"]}
        for rows in by_flow.values()
        for one in rows
        for other in rows
        if (one["origin_tile"], other["destination_tile"]) not in known
    )
    return pa.concat_tables([table, pa.Table.from_pylist([new], table.schema)]).sort_by(ORDER), flows, areas


def moved(table, flows, areas):
    """One pair of tiles is counted in a flow whose areas do not hold it."""
    ends, tiles = flow_ends(table), table["origin_tile"].to_pylist()
    origins = {end: {tile for tile, other in zip(tiles, ends, strict=True) if other == end} for end in set(ends)}
    row = next(row for row, end in enumerate(ends) if len(origins[end]) > 1)
    shape = dict(zip(areas["area"].to_pylist(), areas["geometry"].to_pylist(), strict=True))
    here = shapely.from_wkb(shape[ends[row][0]])
    there = next(end for end in ends if end[1] != "elsewhere" and not shapely.from_wkb(shape[end[0]]).intersects(here))
    for place, name in enumerate(("origin", "destination")):
        table = set_value(table, name, row, there[place])
    return table, flows, areas


def unknown_flow(table, flows, areas):
    """One row names a flow that there is not."""
    return set_value(table, "origin", 0, "r:999999"), flows, areas


def unknown_tile(table, flows, areas):
    """One row names a tile that there is not."""
    row = table.num_rows - 1
    return set_value(table, "origin_tile", row, "zzz"), flows, areas


def unsorted(table, flows, areas):
    """Rows are in another order."""
    return table.sort_by([(name, "descending") for name, _ in ORDER]), flows, areas


def one_more(table, flows, areas):
    """One flow has a trip more than the assignment gives it."""
    return table, set_value(flows, "trips", 0, flows["trips"][0].as_py() + 1), areas


def one_less(table, flows, areas):
    """One flow has a trip less: a lower bound of what its areas hold, but not what was counted."""
    row = int(np.argmax(flows["trips"].to_numpy()))
    return table, set_value(flows, "trips", row, flows["trips"][row].as_py() - 1), areas


def below(table, flows, areas):
    """One flow says that it has fewer persons than k."""
    return table, set_value(flows, "persons", 0, 7), areas


def grown(table, flows, areas):
    """One area reaches a little further, so that numbers and centers do not follow from it."""
    box = shapely.from_wkb(areas["geometry"][0].as_py()).bounds
    wider = shapely.to_wkb(shapely.box(box[0], box[1], box[2] - 1e-7, box[3]))
    return table, flows, set_value(areas, "geometry", 0, wider)


def loosened(table, flows, areas):
    """One area reaches a meter further than the tiles of its flow, at both sides, with its center moved."""
    names = areas["area"].to_pylist()
    edges = [
        tuple(round(edge * 1e7) for edge in shapely.from_wkb(wkb).bounds) if wkb else None
        for wkb in areas["geometry"].to_pylist()
    ]
    box = dict(zip(names, edges, strict=True))
    box.pop("elsewhere", None)
    east = max(edge[2] for edge in box.values())
    order = sorted(box, key=box.get)
    for name in order:
        west, south, old, north = box[name]
        wider = {**box, name: (west, south, old + 100, north)}
        if old + 100 < east and sorted(wider, key=wider.get) == order and len(set(wider.values())) == len(wider):
            break
    for row in [row for row, area in enumerate(names) if area == name]:
        shape = shapely.to_wkb(shapely.box(*(edge / 1e7 for edge in wider[name])))
        areas = set_value(areas, "geometry", row, shape)
        areas = set_value(areas, "lon", row, (wider[name][0] + wider[name][2]) / 2e7)
    return table, flows, areas


MUTANTS = [
    (counted_twice, "counts a pair of tiles twice"),
    (left_out, "does not have the trips of the input|is left out, though an area that holds it"),
    (invented, "a pair of tiles without trips"),
    (moved, "counts trips outside its areas"),
    (unknown_flow, "names a flow that the release does not have"),
    (unknown_tile, "which is no tile"),
    (unsorted, "is not sorted"),
    (one_more, "does not have the trips of the input"),
    (one_less, "does not have the trips of the input"),
    (below, "has fewer than k = 8 persons"),
    (loosened, "are not the smallest around its tiles"),
    (grown, "has another geometry as origin|the center of the area|not numbered by their bounds"),
]


def copy(folder, place):
    """Copy a release and what lies beside it."""
    shutil.copytree(folder, place / "out")
    for ending in (".audit.json", ".assignment.parquet"):
        shutil.copy(f"{folder}{ending}", place / f"out{ending}")
    return place / "out"


@pytest.mark.slow
@pytest.mark.parametrize(("mutate", "reason"), MUTANTS)
def test_mutants_are_caught(written, tmp_path, mutate, reason):
    """A release or an assignment that was tampered with does not verify, for the reason that is wrong with it."""
    folder, trips = written
    out = copy(folder, tmp_path)
    assignment = tmp_path / "out.assignment.parquet"
    table, flows, areas = mutate(
        pq.read_table(assignment), pq.read_table(out / "flows.parquet"), pq.read_table(out / "areas.parquet")
    )
    write(table, assignment)
    write(flows, out / "flows.parquet")
    write(areas, out / "areas.parquet")

    with pytest.raises(fv.VerificationError, match=reason):
        fv.verify(out, trips)


@pytest.mark.slow
def test_elsewhere_leaves_nothing_of_its_area_out(written, tmp_path):
    """A trip that an area with a flow to elsewhere holds, counted in no flow, is found even if all numbers fit."""
    folder, trips = written
    out = copy(folder, tmp_path)
    table, flows = pq.read_table(tmp_path / "out.assignment.parquet"), pq.read_table(out / "flows.parquet")
    ends = flow_ends(table)
    row = next(row for row, end in enumerate(ends) if end[1] == "elsewhere")
    write(pa.concat_tables([table.slice(0, row), table.slice(row + 1)]), tmp_path / "out.assignment.parquet")

    with pytest.raises(fv.VerificationError, match="is left out, though an area that holds it has a flow"):
        fv.verify(out, trips)
    assert flows.num_rows


@pytest.mark.slow
@pytest.mark.parametrize("change", ["missing", "junk", "empty"])
def test_without_an_assignment(written, tmp_path, change, capsys):
    """A missing or broken assignment is refused by verify and evaluate."""
    folder, trips = written
    out = copy(folder, tmp_path)
    path = tmp_path / "out.assignment.parquet"
    if change == "missing":
        path.unlink()
    elif change == "junk":
        path.write_bytes(b"PAR1junk")
    else:
        write(pq.read_table(path).slice(0, 0), path)

    assert run(["verify", str(out), "--against", str(trips)]) == 1
    assert "assignment" in capsys.readouterr().err
    if change != "empty":
        with pytest.raises(fv.InputError, match="assignment"):
            fv.evaluate(out, trips)


@pytest.mark.slow
def test_promises_that_do_not_fit(written, tmp_path):
    """Overlapping areas are rectangles, and their volumes are lower bounds."""
    folder, trips = written
    for key, value in (("volumes", "exact"), ("shapes", None)):
        place = tmp_path / key
        place.mkdir()
        out = copy(folder, place)
        manifest = json.loads((out / "manifest.json").read_text())
        if value is None:
            del manifest["promise"][key]
        else:
            manifest["promise"][key] = value
        (out / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")

        with pytest.raises(fv.VerificationError, match="overlapping areas that are not rectangles, or volumes"):
            fv.verify(out, trips)


@pytest.mark.slow
def test_a_disjoint_release_that_says_so_but_overlaps(written, tmp_path):
    """Calling overlapping areas disjoint is found."""
    from flowveil._release.manifest import promise_text

    folder, trips = written
    wrong = r"the flows r:\d+.* -> r:\d+.* and .* overlap"
    for elsewhere, reason in ((True, "starts or ends elsewhere"), (False, wrong)):
        place = tmp_path / str(elsewhere)
        place.mkdir()
        out = copy(folder, place)
        manifest = json.loads((out / "manifest.json").read_text())
        manifest["promise"]["areas"] = "disjoint"
        if not elsewhere:
            del manifest["promise"]["elsewhere"]
            for name, column in (("flows.parquet", "destination"), ("areas.parquet", "area")):
                table = pq.read_table(out / name)
                write(table.filter(pc.not_equal(table[column], "elsewhere")), out / name)
        manifest["promise_text"] = promise_text(manifest["promise"])
        (out / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")

        with pytest.raises(fv.VerificationError, match=reason):
            fv.verify(out, trips)


@pytest.mark.parametrize("requirement", [Requirement(8), Requirement(5, 900, 2)])
def test_elsewhere_is_the_plain_rule(city_trips, requirement):
    """The smallest box goes first, and takes what is left of the withheld trips that start in it, if they pass."""
    flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, unit="person_id", weight="weight")
    problem = Problem(flows, requirement, flows.total // 10)
    solution = find_method("glove-od").solve(problem)
    boxes = solution.rectangles.bounds
    lon, lat = tile_points(flows.places, flows.origins, flows.origin, solution.rectangles.frame)
    tiles = flows.origins.is_leaf.nonzero()[0]
    everywhere = tile_points(flows.places, flows.origins, tiles, solution.rectangles.frame)

    def inside(box, x, y):
        west, south, east, north = box
        frame = solution.rectangles.frame
        return ((x > west) | (west == frame[0])) & (x <= east) & ((y > south) | (south == frame[1])) & (y <= north)

    expected, left = {}, solution.group < 0
    numbers = sorted(set(solution.origin.tolist()), key=lambda n: (np.prod(boxes[n, 2:] - boxes[n, :2]), n))
    for number in numbers:
        mine = left & inside(boxes[number], lon, lat)
        measures = flows.measure(np.where(mine, 0, -1), 1)
        held = np.array([inside(boxes[number], *everywhere).sum()])
        reached = np.array([len(set(flows.destination[mine].tolist()))])
        if requirement.passes(measures, held, reached)[0]:
            expected[number] = np.flatnonzero(mine).tolist()
            left &= ~mine

    rest = find_elsewhere(problem, solution)

    assert len(expected) > 3
    assert rest.area.tolist() == sorted(expected)
    assert {a: np.flatnonzero(rest.group == flow).tolist() for flow, a in enumerate(rest.area.tolist())} == expected


@pytest.fixture
def two(city_trips):
    """Return a release with overlapping areas and one without."""
    flows = fv.build_flows(city_trips, "h3:6", bbox=CITY_BBOX, unit="person_id")
    return fv.anonymize(flows, "glove-od", k=8), fv.anonymize(flows, "mosaic", k=8)


def test_no_assignment_stays_beside_another_release(two, tmp_path):
    """Overwriting a release takes its assignment away, or replaces it."""
    overlapping, disjoint = two
    path = tmp_path / "out.assignment.parquet"
    overlapping.write(tmp_path / "out")
    before = path.read_bytes()

    disjoint.write(tmp_path / "out", overwrite=True)
    assert not path.exists()

    overlapping.write(tmp_path / "out", overwrite=True)
    assert path.read_bytes() == before


def test_a_failure_leaves_nothing_half_written(two, tmp_path, monkeypatch):
    """If writing fails there is neither a folder nor a part of a private file; the next run finds a clean place."""
    overlapping, _ = two

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr(folder_files, "_sync", fail)
    with pytest.raises(OSError, match="disk full"):
        overlapping.write(tmp_path / "out")

    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    overlapping.write(tmp_path / "out")
    assert {item.name for item in tmp_path.iterdir()} == {"out", "out.audit.json", "out.assignment.parquet"}


def test_no_time_steps_or_groups(city_trips):
    """An assignment knows one matrix: steps of time and groups are refused, not mixed."""
    flows = fv.build_flows(city_trips, "h3:6", bbox=CITY_BBOX, time="hour-of-day")

    with pytest.raises(fv.InputError):
        fv.anonymize(flows, "glove-od")
