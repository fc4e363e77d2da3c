"""The promise, end to end: every method's release verifies, and a release that was tampered with does not."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._release.manifest import promise_text
from flowveil.synthetic import CITY_BBOX, City

METHODS = [method.name for method in fv.methods() if method.promise == "k-anonymity"]


def write(table, path):
    """Write a table the way releases are written."""
    with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(table.schema.metadata or {})


KINDS = {
    "h3": {"grid": "h3:7", "hierarchy": "h3", "bbox": CITY_BBOX},
    "h3-binary": {"grid": "h3:7", "hierarchy": "h3-binary"},
    "quadtree": {"grid": "quadtree:2000", "hierarchy": "quadtree", "bbox": CITY_BBOX},
    "ward": {"hierarchy": "ward"},
    "columns": {"hierarchy": ["zone_id", "district", "region"]},
}


@pytest.fixture(scope="module", params=KINDS)
def counted(request, city_trips, city_zone_trips):
    """Return trips and their flows by person, on each kind of places."""
    options = KINDS[request.param]
    trips = city_trips if "grid" in options else city_zone_trips
    zones = {} if "grid" in options else {"zones": city_zone_trips.with_name("zones.parquet")}
    return trips, fv.build_flows(trips, unit="person_id", **options, **zones)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_every_kind_of_places(counted, tmp_path, method):
    """A release by persons verifies against the trips, and evaluate agrees with the release's own metrics."""
    trips, flows = counted

    release = fv.anonymize(flows, method, k=8)
    folder = release.write(tmp_path / "out")

    assert fv.verify(folder, trips).flows == release.flows.num_rows
    assert release.flows["persons"].to_numpy().min() >= 8
    assert fv.evaluate(folder, trips) == release.metrics(raw=True)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mosaic", "nested"])
@pytest.mark.parametrize("grid", ["h3:7", "quadtree:2000", None])
def test_areas_that_are_split_in_several_ways(city_trips, city_zone_trips, tmp_path, method, grid):
    """The same on the default: a lattice of tiles, many trees of zones."""
    zones, bbox = city_zone_trips.with_name("zones.parquet"), None if grid is None else CITY_BBOX
    trips, places = (city_trips, {"grid": grid}) if grid else (city_zone_trips, {"zones": zones})
    table = pq.read_table(trips)
    few = tmp_path / "trips.parquet"
    pq.write_table(table.slice(0, 5_000), few)
    flows = fv.build_flows(few, unit="person_id", bbox=bbox, **places)

    release = fv.anonymize(flows, method, k=8)
    folder = release.write(tmp_path / "out")

    assert release.manifest["options"]["hierarchy"] == ("lattice" if grid else "many")
    assert fv.verify(folder, few, zones=None if grid else zones).flows == release.flows.num_rows
    assert release.flows["persons"].to_numpy().min() >= 8
    assert fv.evaluate(folder, few, zones=None if grid else zones) == release.metrics(raw=True)


@pytest.fixture(scope="module")
def weighed(city_trips):
    """Return flows with persons and weights on two grids."""
    options = {"hierarchy": "h3", "bbox": CITY_BBOX, "unit": "person_id", "weight": "weight"}
    return {grid: fv.build_flows(city_trips, grid, **options) for grid in ("h3:5", "h3:7")}


@pytest.mark.parametrize("method", METHODS)
def test_weights_and_tiles_are_protected_too(weighed, city_trips, tmp_path, method):
    """Persons, people represented and tiles: every flow passes all three tests."""
    tiles_only = method == "suppression"
    grid, min_tiles = ("h3:5", 1) if tiles_only else ("h3:7", 2)

    # The targets that these choose by themselves make origins of one tile.
    options = {"v_target": 5_000} if method in ("atg-dual", "knapsack") else {}
    release = fv.anonymize(weighed[grid], method, k=5, k_weight=1_000, min_tiles=min_tiles, options=options)
    folder = release.write(tmp_path / "out")

    fv.verify(folder, city_trips)
    assert release.metrics()["min_weight"] >= 1_000
    assert release.manifest["promise"]["k_weight"] == 1_000


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_one_heavy_traveler_is_never_published(tmp_path, method):
    """One person who makes 50 identical trips, with a weight of 5,000, is in no flow of fewer than 10 persons."""
    city = City(seed=3, persons=200).trips(4_000)
    lonely = city.slice(0, 1).take([0] * 50)
    columns = {
        "person_id": ["hermit"] * 50,
        "weight": [5_000.0] * 50,
        "start_lon": [4.405] * 50,
        "start_lat": [50.265] * 50,
        "end_lon": [4.815] * 50,
        "end_lat": [50.525] * 50,
    }
    for name, values in columns.items():
        lonely = lonely.set_column(lonely.column_names.index(name), name, pa.array(values))
    pq.write_table(pa.concat_tables([city, lonely]), tmp_path / "trips.parquet")
    grid = "h3:6" if method == "suppression" else "h3:9"
    flows = fv.build_flows(
        tmp_path / "trips.parquet", grid, hierarchy="h3", bbox=CITY_BBOX, unit="person_id", weight="weight"
    )

    release = fv.anonymize(flows, method, k=10, k_weight=10)

    fv.verify(release.write(tmp_path / "out"), tmp_path / "trips.parquet")
    assert release.flows["persons"].to_numpy().min() >= 10


def test_pycanon_agrees(city_trips):
    """Another team's package finds the records behind a release at least k-anonymous."""
    pytest.importorskip("pycanon", reason="pycanon has no wheels for this Python")
    from pycanon import anonymity

    flows = fv.build_flows(city_trips, "h3:8", hierarchy="h3", bbox=CITY_BBOX)
    release = fv.anonymize(flows, "mosaic", k=12)
    frame = release.flows.to_pandas()
    records = frame.loc[frame.index.repeat(frame["trips"]), ["origin", "destination"]].reset_index(drop=True)

    assert anonymity.k_anonymity(records, ["origin", "destination"]) == release.metrics()["min_trips"] >= 12


@pytest.fixture(scope="module", params=["mosaic", "odkanon"])
def written(request, city_trips, tmp_path_factory):
    """Return a verified release whose smallest flow has exactly k persons, and its k."""
    flows = fv.build_flows(city_trips, "h3:8", hierarchy="h3", bbox=CITY_BBOX, unit="person_id")
    k = fv.anonymize(flows, request.param, k=6).metrics()["min_persons"]
    folder = fv.anonymize(flows, request.param, k=k).write(tmp_path_factory.mktemp("mutants") / "out")
    fv.verify(folder, city_trips)
    return folder, k


def set_value(table, column, row, value):
    """Return a table with one value changed."""
    values = table[column].to_pylist()
    values[row] = value
    place = table.column_names.index(column)
    return table.set_column(place, table.schema.field(column), pa.array(values, table.schema.field(column).type))


def lowered(flows, areas, manifest, k):
    """One flow lowered below k."""
    row = int(np.argmin(flows["persons"].to_numpy()))
    return set_value(flows, "persons", row, k - 1), areas, manifest


def split(flows, areas, manifest, _):
    """One area split: a child of a published origin is published beside it, so that two areas overlap."""
    import h3.api.basic_str as h3

    origin, destination = next(
        (o, d)
        for o, d in zip(flows["origin"].to_pylist(), flows["destination"].to_pylist(), strict=True)
        if h3.get_resolution(o) < 8
    )
    row = flows.filter(pc.and_(pc.equal(flows["origin"], origin), pc.equal(flows["destination"], destination)))
    child = h3.cell_to_children(origin)[0]
    flows = pa.concat_tables([flows, set_value(row, "origin", 0, child)])
    flows = flows.sort_by([("origin", "ascending"), ("destination", "ascending")])
    old = areas.filter(pc.and_(pc.equal(areas["area"], origin), pc.equal(areas["side"], "origin")))
    new = set_value(set_value(old, "area", 0, child), "tiles", 0, h3.cell_to_children_size(child, 8))
    lat, lon = h3.cell_to_latlng(child)
    new = set_value(set_value(new, "lon", 0, lon), "lat", 0, lat)
    areas = pa.concat_tables([areas, new]).sort_by([("side", "descending"), ("area", "ascending")])
    return flows, areas.replace_schema_metadata(old.schema.metadata), manifest


def changed_volume(flows, areas, manifest, _):
    """One volume raised by one trip."""
    return set_value(flows, "trips", 0, flows["trips"][0].as_py() + 1), areas, manifest


def dropped(flows, areas, manifest, _):
    """One flow dropped, its areas staying in use elsewhere or going with it; the audit file knows better."""
    counts = {name: flows["origin"].to_pylist().count(name) for name in set(flows["origin"].to_pylist())}
    ends = {name: flows["destination"].to_pylist().count(name) for name in set(flows["destination"].to_pylist())}
    row = next(
        number
        for number, (o, d) in enumerate(zip(flows["origin"].to_pylist(), flows["destination"].to_pylist(), strict=True))
        if counts[o] > 1 and ends[d] > 1
    )
    return flows.take([number for number in range(flows.num_rows) if number != row]), areas, manifest


def swapped(flows, areas, manifest, _):
    """Two origins swapped."""
    names = flows["origin"].to_pylist()
    other = next(row for row, name in enumerate(names) if name != names[0])
    flows = set_value(set_value(flows, "origin", 0, names[other]), "origin", other, names[0])
    return flows.sort_by([("origin", "ascending"), ("destination", "ascending")]), areas, manifest


def raised_promise(flows, areas, manifest, k):
    """Promise one person more."""
    return flows, areas, {**manifest, "promise": {**manifest["promise"], "k": k + 1}}


def duplicated(flows, areas, manifest, _):
    """One flow listed twice."""
    return pa.concat_tables([flows.slice(0, 1), flows]), areas, manifest


def extra_column(flows, areas, manifest, _):
    """One column more."""
    return flows.append_column("note", pa.array([""] * flows.num_rows)), areas, manifest


def unused_area(flows, areas, manifest, _):
    """One area that no flow uses."""
    flows = flows.filter(pc.not_equal(flows["origin"], flows["origin"][0]))
    return flows, areas, manifest


def lower_budget(flows, areas, manifest, _):
    """Promise that a trip fewer was left out than was."""
    total, kept = 20_000, int(flows["trips"].to_numpy().sum())
    left_out = max(total - kept - 1, -1) / total
    return flows, areas, {**manifest, "promise": {**manifest["promise"], "max_suppression": left_out}}


MUTANTS = [lowered, split, changed_volume, dropped, swapped, raised_promise, duplicated, extra_column, unused_area]
MUTANTS += [lower_budget]


@pytest.mark.parametrize("mutate", MUTANTS)
def test_mutants_are_caught(written, city_trips, tmp_path, capsys, mutate):
    """`flowveil verify` exits 1 on a release that was tampered with, and prints no count below k."""
    folder, k = written
    flows, areas = pq.read_table(folder / "flows.parquet"), pq.read_table(folder / "areas.parquet")
    manifest = json.loads((folder / "manifest.json").read_text())
    shutil.copytree(folder, tmp_path / "out")
    shutil.copy(f"{folder}.audit.json", tmp_path / "out.audit.json")

    flows, areas, manifest = mutate(flows, areas, manifest, k)
    write(flows, tmp_path / "out" / "flows.parquet")
    write(areas, tmp_path / "out" / "areas.parquet")
    manifest["promise_text"] = promise_text(manifest["promise"])
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")

    assert run(["verify", str(tmp_path / "out"), "--against", str(city_trips)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "\nhint: " in error
