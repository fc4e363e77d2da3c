"""The independent checker on tiny releases written by hand, without any of the code that makes releases."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyproj
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil import Verification, verify
from flowveil._engine import scan
from flowveil._errors import InputError, VerificationError
from flowveil._places.h3grid import H3Grid
from flowveil._places.h3index import cells_of_points
from flowveil._release.manifest import ABSENCE, promise_text
from flowveil._trips import read_trips
from flowveil._verify import count
from flowveil._verify.border import on_border
from flowveil._verify.cells import Cells
from flowveil._verify.forest import Forest
from flowveil._verify.manifest import parse_manifest
from flowveil._verify.squares import Squares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GEO = {
    "version": "1.1.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": []}},
}
TYPES = {
    "origin": pa.string(),
    "destination": pa.string(),
    "persons": pa.int64(),
    "trips": pa.int64(),
    "weight": pa.int64(),
    "area": pa.string(),
    "side": pa.string(),
    "lon": pa.float64(),
    "lat": pa.float64(),
    "tiles": pa.int64(),
    "members": pa.list_(pa.string()),
    "geometry": pa.binary(),
}
ORDER = (
    *("format", "software", "method", "options", "promise", "promise_text", "absence"),
    *("grid", "hierarchy", "crs", "bbox", "method_options"),
    *("kind", "k", "unit", "volumes", "areas", "weight", "k_weight", "min_tiles", "max_suppression", "elsewhere"),
)
SIDES = ("origin", "destination")
AS_PROMISED = "<the words of the promise>"


@dataclass
class Draft:
    """A release before it is written, easy to spoil."""

    flows: list[dict[str, Any]]
    areas: list[dict[str, Any]]
    manifest: dict[str, Any]
    trips: pa.Table
    zones: pa.Table | None = None
    types: dict[str, pa.DataType] = field(default_factory=lambda: dict(TYPES))
    flows_metadata: dict[str, str] = field(default_factory=dict)
    areas_metadata: dict[str, str] = field(default_factory=lambda: {"geo": json.dumps(GEO)})
    files: dict[str, bytes] = field(default_factory=dict)  # more files, or others in place of those written
    audit: dict[str, Any] | None = None
    tamper: Callable[[Path], Any] = lambda _: None  # spoils the folder after it was written

    def write(self, folder: Path) -> Path:
        """Write the folder, and the audit file if there is one."""
        folder.mkdir()
        areas = sorted(self.areas, key=lambda row: (row["side"] != "origin", str(row["area"])))
        write_table(self._table(self.flows, self.flows_metadata), folder / "flows.parquet")
        write_table(self._table(areas, self.areas_metadata), folder / "areas.parquet")
        write_manifest(self.manifest, folder)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        self.tamper(folder)
        if self.audit is not None:
            folder.with_name(folder.name + ".audit.json").write_text(json.dumps(self.audit), encoding="utf-8")
        return folder

    def _table(self, rows: list[dict[str, Any]], metadata: dict[str, str]) -> pa.Table:
        columns = {name: pa.array([row[name] for row in rows], self.types.get(name)) for name in rows[0]}
        return pa.table(columns).replace_schema_metadata(metadata or None)

    def verify(self, folder: Path, **options: Any) -> Verification:
        """Write and verify."""
        return verify(self.write(folder / "out"), self.trips, zones=self.zones, **options)


def write_table(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a table the way releases are written, unless options say otherwise."""
    with pq.ParquetWriter(path, table.schema, **{"compression": "zstd", "store_schema": False} | options) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(table.schema.metadata or {})


def write_manifest(manifest: dict[str, Any], folder: Path) -> None:
    """Write a manifest with its keys in order, and the words that its promise needs."""
    content = in_order({key: in_order(value) for key, value in manifest.items()})
    if content.get("promise_text") == AS_PROMISED:
        with contextlib.suppress(KeyError, TypeError, ValueError):
            content["promise_text"] = promise_text(content["promise"])
    (folder / "manifest.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def in_order(value: Any) -> Any:
    """Return an object with its keys in the order of the format."""
    if not isinstance(value, dict):
        return value
    return {key: value[key] for key in sorted(value, key=lambda key: ORDER.index(key) if key in ORDER else len(ORDER))}


def manifest_of(options: dict[str, Any], **promise: Any) -> dict[str, Any]:
    """Return a manifest as the format lists it."""
    return {
        "format": "flowveil-flows/1",
        "software": "flowveil 0.1.0",
        "method": "mosaic",
        "options": options,
        "promise": {"kind": "k-anonymity", "unit": "trip", "volumes": "exact", "areas": "disjoint"} | promise,
        "promise_text": AS_PROMISED,
        "absence": ABSENCE,
    }


# --- H3: one flow from a cell, one to the world -------------------------------------------------------------------

TOWN = h3.latlng_to_cell(46.05, 14.5, 7)
EAST, WEST, NORTH = sorted(h3.cell_to_children(TOWN, 8))[:3]
EAST_1, EAST_2 = sorted(h3.cell_to_children(EAST, 9))[:2]
WEST_1, NORTH_1 = (min(h3.cell_to_children(cell, 9)) for cell in (WEST, NORTH))
FAR = h3.latlng_to_cell(45.0, 13.0, 9)
WEIGHTS = {"anna": 1.5, "bob": 1.0, "cid": 1.0, "dot": 2.25, "evelyn": 1.0}
WORLD = {"area": "world", "lon": None, "lat": None, "tiles": None, "geometry": None}


def cell_area(cell: str, resolution: int, side: str) -> dict[str, Any]:
    """Return the row of areas.parquet for a cell or a group of sibling cells."""
    parent, _, digits = cell.partition(":")
    cells = [c for c in h3.cell_to_children(parent) if h3_digit(c) in digits] if digits else [cell]
    points = np.radians([h3.cell_to_latlng(c) for c in cells])
    x, y, z = np.mean([(np.cos(a) * np.cos(o), np.cos(a) * np.sin(o), np.sin(a)) for a, o in points], axis=0)
    outlines = [shapely.Polygon([p[::-1] for p in h3.cell_to_boundary(c)]) for c in cells]
    outline = shapely.union_all(outlines) if digits else outlines[0]
    return {
        "area": cell,
        "side": side,
        "lon": float(np.degrees(np.arctan2(y, x))),
        "lat": float(np.degrees(np.arctan2(z, np.hypot(x, y)))),
        "tiles": sum(h3.cell_to_children_size(c, resolution) for c in cells),
        "geometry": shapely.to_wkb(outline),
    }


def h3_digit(cell: str) -> str:
    """Return the last digit of a cell, by looking among its parent's children."""
    parent = h3.cell_to_parent(cell)
    number = (int(cell, 16) >> (3 * (15 - h3.get_resolution(cell)))) & 7
    assert cell in h3.cell_to_children(parent)
    return str(number)


def trips_of_cells(rows: list[tuple[str, str, str | None]]) -> pa.Table:
    """Return trips between the centers of cells, and rows that cannot be used."""
    ends = [(*h3.cell_to_latlng(start), *h3.cell_to_latlng(end)) for start, end, _ in rows]
    people = [person for _, _, person in rows]
    bad = [(np.nan, 14.5, 46.0, 14.5), (46.0, None, 46.0, 14.5), (46.0, 14.5, 91.0, 14.5), (46.0, np.inf, 46.0, 14.5)]
    lat, lon, end_lat, end_lon = zip(*ends, *bad, (46.0, 14.5, 46.0, 14.5), strict=True)
    units = [*people, "anna", "anna", "anna", "anna", None]
    table = {
        "start_lat": pa.array(lat, pa.float64(), from_pandas=False),
        "start_lon": pa.array(lon, pa.float64(), from_pandas=False),
        "end_lat": pa.array(end_lat, pa.float64(), from_pandas=False),
        "end_lon": pa.array(end_lon, pa.float64(), from_pandas=False),
        "person_id": pa.array(units, pa.string()),
        "w": pa.array([WEIGHTS.get(unit or "", 1.0) for unit in units], pa.float64()),
    }
    return pa.table(table)


def h3_draft() -> Draft:
    """Ten trips: five from EAST to a tile, four from WEST to anywhere, one withheld."""
    rows = [(EAST_1, WEST_1, person) for person in ("anna", "bob", "cid", "dot")]
    rows += [(EAST_2, WEST_1, "anna"), *((WEST_1, NORTH_1, person) for person in ("anna", "bob", "cid"))]
    rows += [(WEST_1, FAR, "dot"), (NORTH_1, EAST_1, "evelyn")]
    flows = [
        {"origin": EAST, "destination": WEST_1, "trips": 5, "persons": 4, "weight": 7},
        {"origin": WEST, "destination": "world", "trips": 4, "persons": 4, "weight": 6},
    ]
    areas = [cell_area(EAST, 9, "origin"), cell_area(WEST, 9, "origin"), cell_area(WEST_1, 9, "destination")]
    areas.append(WORLD | {"side": "destination"})
    promise = {"k": 4, "unit": "person_id", "weight": "w", "k_weight": 5.75, "max_suppression": 0.1}
    return Draft(flows, areas, manifest_of({"grid": "h3:9", "hierarchy": "h3"}, **promise), trips_of_cells(rows))


# --- quadtree: three squares in UTM 33N ---------------------------------------------------------------------------

BBOX = [14.0, 45.5, 15.0, 46.5]
TO_DEGREES = pyproj.Transformer.from_crs("EPSG:32633", "EPSG:4326", always_xy=True)


def square_area(area: str, meters: float, side: str) -> dict[str, Any]:
    """Return the row of areas.parquet for a square."""
    level, x, y = (int(part) for part in area.removeprefix("q:").split("/"))
    width = meters * 2**level
    parts = (0, 0.25, 0.5, 0.75)
    ring = [(i, 0) for i in parts] + [(1, i) for i in parts] + [(1 - i, 1) for i in parts] + [(0, 1 - i) for i in parts]
    corners = [((x + i) * width, (y + j) * width) for i, j in ring]
    lon, lat = TO_DEGREES.transform((x + 0.5) * width, (y + 0.5) * width)
    outline = shapely.Polygon([TO_DEGREES.transform(*corner) for corner in corners])
    return {
        "area": area,
        "side": side,
        "lon": lon,
        "lat": lat,
        "tiles": 4**level,
        "geometry": shapely.to_wkb(outline),
    }


def quadtree_draft() -> Draft:
    """Three trips from a square of level 1 to one of level 0, two back; another trip lies outside the bbox."""
    points = {
        name: TO_DEGREES.transform(x * 200 + 100, y * 200 + 100)
        for name, x, y in (("a", 2300, 25500), ("b", 2301, 25501), ("c", 2310, 25510))
    }
    pairs = [("a", "c"), ("b", "c"), ("b", "c"), ("c", "b"), ("c", "b")]
    ends = [(*points[start], *points[end]) for start, end in pairs] + [(*points["a"], 15.5, 46.0)]
    names = ("start_lon", "start_lat", "end_lon", "end_lat")
    trips = pa.table(
        {name: pa.array(values, pa.float64()) for name, values in zip(names, zip(*ends, strict=True), strict=True)}
    )
    flows = [
        {"origin": "q:0/2310/25510", "destination": "q:0/2301/25501", "trips": 2},
        {"origin": "q:1/1150/12750", "destination": "q:0/2310/25510", "trips": 3},
    ]
    areas = [square_area(flow[side], 200, side) for flow in flows for side in ("origin", "destination")]
    options = {"grid": "quadtree:200", "hierarchy": "quadtree", "crs": "EPSG:32633", "bbox": BBOX}
    return Draft(flows, areas, manifest_of(options, k=2, max_suppression=0), trips)


# --- zones: a counted table and columns of zones ------------------------------------------------------------------

ZONES = pa.table(
    {
        "zone_id": ["1", "2", "3", "4"],
        "town": ["x", "x", "y", None],
        "county": ["c", "c", "c", "d"],
        "lon": [10.0, 11.0, 12.0, 13.0],
        "lat": [50.0, 51.0, 52.0, 53.0],
    }
)
MEMBERS = {"zone_id=3": ["3"], "town=x": ["1", "2"], "county=c": ["1", "2", "3"], "county=d": ["4"], "all": None}
PLACES = {"zone_id=3": (12.0, 52.0), "town=x": (10.5, 50.5), "county=c": (11.0, 51.0), "county=d": (13.0, 53.0)}


def zone_area(area: str, side: str) -> dict[str, Any]:
    """Return the row of areas.parquet for a set of zones without shapes."""
    members = MEMBERS[area]
    lon, lat = PLACES.get(area, (None, None))
    tiles = None if members is None else len(members)
    return {"area": area, "side": side, "lon": lon, "lat": lat, "tiles": tiles, "members": members, "geometry": None}


def zones_draft() -> Draft:
    """Return flows of counts between zones; zone 9 is unknown, a count of 0 is no count."""
    trips = pa.table(
        {
            "origin": ["1", "2", "3", "4", "9", "1"],
            "destination": ["3", "3", "1", "2", "1", "2"],
            "count": [4, 3, 5, 8, 50, 0],
        }
    )
    flows = [
        {"origin": "all", "destination": "zone_id=3", "trips": 7},
        {"origin": "county=c", "destination": "town=x", "trips": 5},
        {"origin": "county=d", "destination": "town=x", "trips": 8},
    ]
    areas = [zone_area(area, "origin") for area in ("all", "county=c", "county=d")]
    areas += [zone_area(area, "destination") for area in ("town=x", "zone_id=3")]
    options = {"grid": None, "hierarchy": ["zone_id", "town", "county"]}
    return Draft(flows, areas, manifest_of(options, k=5, max_suppression=0.5), trips, ZONES)


WARD_ZONES = pa.table({"zone_id": ["1", "2", "3", "4"], "lon": [10.0, 10.1, 10.5, 20.0], "lat": [50.0] * 4})
WARD_NAMES = {"county=c": "ward:5", "county=d": "ward:3", "town=x": "ward:4", "zone_id=3": "ward:2", "all": "all"}
WARD_PLACES = {"ward:5": 10.2, "ward:3": 20.0, "ward:4": 10.05, "ward:2": 10.5}


def ward_draft() -> Draft:
    """Return the same flows by a dendrogram: 1 and 2 are joined first (ward:4), then 3 joins them (ward:5)."""
    draft = zones_draft()
    draft.manifest["options"]["hierarchy"] = "ward"
    draft.zones = WARD_ZONES
    for row in (*draft.flows, *draft.areas):
        row |= {key: WARD_NAMES[row[key]] for key in ("origin", "destination", "area") if key in row}
    for row in draft.areas[1:]:
        row |= {"lon": WARD_PLACES[row["area"]], "lat": 50.0}
    draft.flows.sort(key=lambda flow: flow["origin"])
    return draft


SQUARE_ZONES = ZONES.append_column("geometry", [[shapely.to_wkb(shapely.box(x, 50, x + 1, 51)) for x in range(4)]])


def shapes_draft() -> Draft:
    """Return the same flows between zones that are squares side by side."""
    draft = zones_draft()
    draft.zones = SQUARE_ZONES
    squares = {zone: shapely.box(place, 50, place + 1, 51) for place, zone in enumerate("1234")}
    for row in draft.areas:
        if row["members"] is not None:
            row["geometry"] = shapely.to_wkb(shapely.union_all([squares[zone] for zone in row["members"]]))
    return draft


DRAFTS = {
    "h3": h3_draft,
    "quadtree": quadtree_draft,
    "zones": zones_draft,
    "ward": ward_draft,
    "shapes": shapes_draft,
}


# --- what holds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DRAFTS)
def test_a_valid_release_passes(name: str, tmp_path: Path) -> None:
    """Each kind of places verifies, and the result counts flows and rows."""
    draft = DRAFTS[name]()

    result = draft.verify(tmp_path)

    assert (result.flows, result.trips_read) == (len(draft.flows), draft.trips.num_rows)
    assert f"every flow has at least {draft.manifest['promise']['k']}" in " ".join(result.checks)


@pytest.mark.parametrize("name", DRAFTS)
def test_rows_may_come_in_any_batches(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts do not depend on where the input is cut: here after every row."""
    draft = DRAFTS[name]()

    def row_by_row(request: Any) -> Iterator[pa.RecordBatch]:
        return (batch.slice(row, 1) for batch in scan(request) for row in range(batch.num_rows))

    monkeypatch.setattr(count, "scan", row_by_row)

    assert draft.verify(tmp_path).flows == len(draft.flows)


def test_the_world_may_be_a_smaller_area_that_holds_the_same_trips(tmp_path: Path) -> None:
    """Which area is published is the method's choice, as long as all counts are true."""
    draft = h3_draft()
    keep = [place for place in range(draft.trips.num_rows) if place != 8]  # without the trip to FAR
    draft.trips = draft.trips.take(keep)
    draft.flows[1] |= {"destination": TOWN, "persons": 3, "trips": 3, "weight": 4}
    draft.areas[3] = cell_area(TOWN, 9, "destination")
    draft.manifest["promise"] |= {"k": 3, "k_weight": 3.5, "max_suppression": 0.12}

    assert draft.verify(tmp_path).flows == 2


def test_groups_of_sibling_cells_are_areas_of_the_binary_hierarchy(tmp_path: Path) -> None:
    """PARENT:DIGITS holds the children with these digits, and lies inside its parent."""
    children = {h3_digit(cell): cell for cell in h3.cell_to_children(EAST, 9)}
    rows = [(children["1"], WEST_1, "anna"), (children["3"], WEST_1, "bob"), (children["0"], WEST_1, "cid")]
    flows = [
        {"origin": f"{EAST}:026", "destination": WEST_1, "trips": 1},
        {"origin": f"{EAST}:13", "destination": WEST_1, "trips": 2},
    ]
    areas = [cell_area(flow["origin"], 9, "origin") for flow in flows] + [cell_area(WEST_1, 9, "destination")]
    trips = trips_of_cells(rows).slice(0, 3).drop_columns(["person_id", "w"])
    draft = Draft(flows, areas, manifest_of({"grid": "h3:9", "hierarchy": "h3-binary"}, k=1, max_suppression=0), trips)

    assert draft.verify(tmp_path).flows == 2


def test_the_top_of_a_grid_may_show_the_bbox(tmp_path: Path) -> None:
    """With a bbox the world has its center, outline and tiles."""
    draft = quadtree_draft()
    draft.flows = [{"origin": "world", "destination": "world", "trips": 5}]
    box = {"lon": 14.5, "lat": 46.0, "tiles": None, "geometry": shapely.to_wkb(shapely.box(*BBOX))}
    draft.areas = [{"area": "world", "side": side} | box for side in ("origin", "destination")]

    assert draft.verify(tmp_path).flows == 1


def test_lower_bounds_may_be_below_the_input(tmp_path: Path) -> None:
    """Volumes that are lower bounds only have to reach k."""
    draft = quadtree_draft()
    draft.flows[1]["trips"] = 2
    draft.manifest |= {"method": "odkanon"}
    draft.manifest["options"]["method_options"] = {"reinstate": False}
    draft.manifest["promise"] |= {"volumes": "lower-bound", "max_suppression": 0.2}

    assert draft.verify(tmp_path).flows == 2


def test_a_plane_may_be_described_in_words_of_proj(tmp_path: Path) -> None:
    """A CRS without a name is a list of parameters."""
    draft = quadtree_draft()
    draft.manifest["options"]["crs"] = "+proj=utm +zone=33 +datum=WGS84 +units=m +no_defs +type=crs"

    assert draft.verify(tmp_path).flows == 2


def test_options_of_the_method_may_be_there(tmp_path: Path) -> None:
    """What was typed for the method is published."""
    draft = h3_draft()
    draft.manifest |= {"method": "atg-dual"}
    draft.manifest["options"]["method_options"] = {"loss": "metres", "max_gbar": 12.5, "v_target": "5000"}
    del draft.manifest["promise"]["max_suppression"]

    assert draft.verify(tmp_path).flows == 2


def test_another_version_of_pyarrow_may_have_written_the_tables(tmp_path: Path) -> None:
    """Bytes are compared only where the same version can be asked for them."""
    draft = h3_draft()
    draft.tamper = replaced("flows.parquet", pa.__version__.encode(), b"0" * len(pa.__version__))

    assert draft.verify(tmp_path).flows == 2


def test_input_options_come_from_the_audit_file(tmp_path: Path) -> None:
    """Columns, condition and zones are remembered beside the folder."""
    draft = zones_draft()
    pq.write_table(draft.trips.rename_columns(["from", "to", "count"]), tmp_path / "trips.parquet")
    pq.write_table(ZONES, tmp_path / "zones.parquet")
    draft.flows[0]["trips"] = 7
    remembered = {
        "columns": {"origin": "from", "destination": "to"},
        "where": "count < 40",
        "zones": str(tmp_path / "zones.parquet"),
    }
    draft.audit = {"format": "flowveil-audit/1", "input": remembered, "trips": 20, "suppressed_trips": 0}
    folder = draft.write(tmp_path / "out")

    result = verify(f"{folder}/", tmp_path / "trips.parquet")

    assert result.trips_read == 5


def test_trips_bring_their_own_options(tmp_path: Path) -> None:
    """What read_trips returns is used as it is."""
    draft = zones_draft()
    trips = read_trips(draft.trips.rename_columns(["from", "to", "count"]), {"origin": "from", "destination": "to"})
    folder = draft.write(tmp_path / "out")

    assert verify(folder, trips, zones=ZONES).flows == 3
    with pytest.raises(InputError, match="have their own"):
        verify(folder, trips, zones=ZONES, where="count > 1")


# --- what does not ------------------------------------------------------------------------------------------------

Spoil = Any  # a function that spoils a draft


def change(table: str, row: int, **values: Any) -> Spoil:
    """Change values of one row."""
    return lambda draft: getattr(draft, table)[row].update(values)


def promise(**values: Any) -> Spoil:
    """Change the promise."""
    return lambda draft: draft.manifest["promise"].update(values)


def option(**values: Any) -> Spoil:
    """Change the options."""
    return lambda draft: draft.manifest["options"].update(values)


def manifest(**values: Any) -> Spoil:
    """Change the manifest."""
    return lambda draft: draft.manifest.update(values)


def both(*parts: Spoil) -> Spoil:
    """Spoil in several ways."""

    def spoil(draft: Draft) -> None:
        for part in parts:
            part(draft)

    return spoil


def file(name: str, content: bytes) -> Spoil:
    """Write one more file, or another in place of one."""
    return lambda draft: draft.files.update({name: content})


def geo(**values: Any) -> Spoil:
    """Change what the GeoParquet metadata says of the geometry."""
    changed = copy.deepcopy(GEO)
    changed["columns"]["geometry"].update(values)
    return lambda draft: draft.areas_metadata.update(geo=json.dumps(changed))


def reshape(change: Callable[[shapely.Geometry], Any], row: int = 0) -> Spoil:
    """Write another geometry: a shape, or bytes."""

    def spoil(draft: Draft) -> None:
        changed = change(shapely.from_wkb(draft.areas[row]["geometry"]))
        draft.areas[row]["geometry"] = changed if isinstance(changed, bytes) else shapely.to_wkb(changed)

    return spoil


def ring(change: Callable[[list[Any]], list[Any]]) -> Callable[[shapely.Geometry], shapely.Geometry]:
    """Change the list of vertices, the last of which repeats the first."""
    return lambda shape: shapely.Polygon(change(list(shape.exterior.coords)))


def middle(points: list[Any]) -> tuple[float, float]:
    """Return the middle of the first edge."""
    (x, y), (to_x, to_y) = points[:2]
    return (x + to_x) / 2, (y + to_y) / 2


def tamper(change: Callable[[Path], Any]) -> Spoil:
    """Change the folder after it was written."""
    return lambda draft: setattr(draft, "tamper", change)


def replaced(name: str, old: bytes, new: bytes) -> Callable[[Path], None]:
    """Put bytes in place of the last that are like `old`."""

    def change(folder: Path) -> None:
        before, found, after = (folder / name).read_bytes().rpartition(old)
        assert found
        (folder / name).write_bytes(before + new + after)

    return change


def rewritten(name: str, change: Callable[[pa.Table], pa.Table] = lambda table: table, **options: Any) -> Spoil:
    """Write a table once more, in another way."""

    def spoil(folder: Path) -> None:
        write_table(change(pq.read_table(folder / name)), folder / name, **options)

    return tamper(spoil)


def write_row_by_row(folder: Path) -> None:
    """Write each flow as a row group of its own."""
    table = pq.read_table(folder / "flows.parquet")
    pq.write_table(table, folder / "flows.parquet", row_group_size=1, compression="zstd", store_schema=False)


def hide(name: str, *, in_footer: bool) -> Spoil:
    """Put bytes before the footer, or at its end."""

    def change(folder: Path) -> None:
        data = (folder / name).read_bytes()
        length = int.from_bytes(data[-8:-4], "little")
        columns, footer = data[: -8 - length], data[-8 - length : -8]
        footer, columns = (footer + b"secret", columns) if in_footer else (footer, columns + b"secret")
        (folder / name).write_bytes(columns + footer + len(footer).to_bytes(4, "little") + b"PAR1")

    return tamper(change)


def with_field(column: str, kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    """Return what casts a column."""

    def change(table: pa.Table) -> pa.Table:
        place = table.column_names.index(column)
        return table.set_column(place, column, table[column].cast(kind))

    return change


def with_unused_entry(table: pa.Table) -> pa.Table:
    """Encode the origins by a dictionary with an entry that no row uses."""
    names = sorted(set(table["origin"].to_pylist()))
    places = pa.array([names.index(name) for name in table["origin"].to_pylist()], pa.int32())
    return table.set_column(0, "origin", pa.DictionaryArray.from_arrays(places, [*names, "secret"]))


def drop_flow(draft: Draft) -> None:
    """Leave out a flow and its areas."""
    draft.flows.pop(0)
    del draft.areas[2], draft.areas[0]


def split_area(draft: Draft) -> None:
    """Publish a part of an area once more."""
    draft.flows.insert(0, draft.flows[0] | {"origin": EAST_1, "trips": 4, "persons": 4, "weight": 6})
    draft.flows.sort(key=lambda flow: (flow["origin"], flow["destination"]))
    draft.areas.insert(0, cell_area(EAST_1, 9, "origin"))


def only_the_world(draft: Draft) -> None:
    """Publish one flow, and say nothing of its area."""
    draft.flows = [{"origin": "world", "destination": "world", "trips": 5}]
    draft.areas = [{"area": "world", "side": side} | WORLD for side in SIDES]


def swap_origins(draft: Draft) -> None:
    """Exchange the origins of two flows."""
    draft.flows[0]["origin"], draft.flows[1]["origin"] = WEST, EAST
    draft.flows.reverse()


def swap_keys(part: str | None) -> Callable[[Path], None]:
    """Write the first key of the manifest, or of a part of it, last."""

    def change(folder: Path) -> None:
        content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        target = content[part] if part else content
        first = next(iter(target))
        target[first] = target.pop(first)
        (folder / "manifest.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    return change


def add_column(table: str) -> Spoil:
    """Add a column that is no part of the format."""
    return lambda draft: [row.update(secret=1) for row in getattr(draft, table)]


def remove_column(table: str, column: str) -> Spoil:
    """Remove a column."""
    return lambda draft: [row.pop(column) for row in getattr(draft, table)]


def other_type(column: str, kind: pa.DataType) -> Spoil:
    """Write a column as another type."""
    return lambda draft: draft.types.update({column: kind})


def audit(**values: Any) -> Spoil:
    """Put an audit file beside the folder."""
    return lambda draft: setattr(draft, "audit", {"format": "flowveil-audit/1", "input": {}} | values)


MOVED = shapely.to_wkb(
    shapely.transform(shapely.from_wkb(cell_area(EAST, 9, "origin")["geometry"]), lambda p: p + 1e-4)
)
BROKEN: dict[str, tuple[str, Spoil, str]] = {
    # crowds and volumes
    "flow below k": ("h3", change("flows", 0, trips=3, persons=3), "has fewer than k = 4 persons"),
    "promise raised": ("h3", promise(k=5), "has fewer than k = 5 persons"),
    "promise raised in trips": ("zones", promise(k=6), "has fewer than k = 6 trips"),
    "volume changed": ("h3", change("flows", 0, trips=6), "does not have the trips of the input"),
    "lower bound too high": (
        "h3",
        both(promise(volumes="lower-bound"), change("flows", 0, trips=6)),
        "has more trips than the input",
    ),
    "persons inflated": ("h3", change("flows", 0, persons=5), "does not have the persons of the input"),
    "more persons than trips": ("h3", change("flows", 0, persons=6), "more persons than trips"),
    "weight changed": ("h3", change("flows", 0, weight=8), "does not have the weight of the input"),
    "weight below k_weight": ("h3", change("flows", 0, weight=5), "has a weight below k_weight"),
    "k_weight raised": ("h3", promise(k_weight=5.750001), "stands for fewer people than k_weight"),
    "too few tiles": ("h3", promise(min_tiles=2), "has an area with fewer than 2 tiles"),
    "too few zones": ("zones", promise(min_tiles=2), "has an area with fewer than 2 tiles"),
    "negative trips": ("zones", change("flows", 0, trips=-7), "impossible number in 'trips'"),
    "unit in place of trips": (
        "h3",
        both(promise(unit="w"), change("flows", 0, persons=4)),
        "does not have the persons of the input",
    ),
    # which trips are left out
    "flow dropped": ("h3", drop_flow, "of the trips are left out"),
    "budget lowered": ("h3", promise(max_suppression=0.0999), "of the trips are left out"),
    "audit suppression": ("h3", audit(trips=10, suppressed_trips=0), "'suppressed_trips' of the audit file"),
    "audit of other trips": ("h3", audit(trips=11, suppressed_trips=1), "'trips' of the audit file"),
    # areas
    "area split": ("h3", split_area, "overlap"),
    "origins swapped": ("h3", swap_origins, "of the input"),
    "unused area": (
        "h3",
        lambda draft: draft.areas.append(cell_area(NORTH, 9, "origin")),
        "does not occur in any flow",
    ),
    "unused side": ("h3", change("areas", 0, side="destination"), "is missing in areas.parquet"),
    "unknown side": ("h3", change("areas", 0, side="both"), "neither origin nor destination"),
    "area listed twice": ("h3", lambda draft: draft.areas.append(dict(draft.areas[0])), "is listed twice"),
    "wrong tiles": ("h3", change("areas", 0, tiles=8), "number of tiles of the area"),
    "null tiles": ("h3", change("areas", 0, tiles=None), "number of tiles of the area"),
    "wrong tiles of a square": ("quadtree", change("areas", 2, tiles=1), "number of tiles of the area"),
    "wrong center": ("h3", change("areas", 0, lon=14.4), "center of the area"),
    "center off the globe": ("h3", change("areas", 0, lon=float("nan")), "not a point on the globe"),
    "wrong center of a square": ("quadtree", change("areas", 0, lat=46.0), "center of the area"),
    "wrong center of zones": ("zones", change("areas", 1, lon=9.0), "center of the area"),
    "moved geometry": ("h3", change("areas", 0, geometry=MOVED), "geometry of the area"),
    "no geometry": ("h3", change("areas", 0, geometry=None), "geometry of the area"),
    "moved square": ("quadtree", change("areas", 0, geometry=MOVED), "geometry of the area"),
    "geometry that no zone has": ("zones", change("areas", 1, geometry=MOVED), "geometry of the area"),
    "geometry that is no WKB": ("h3", change("areas", 0, geometry=b"secret"), "not WKB"),
    "geometry with heights": ("h3", reshape(lambda s: shapely.force_3d(s, 7.0)), "not plain WKB"),
    "geometry with an SRID": (
        "h3",
        reshape(lambda s: shapely.to_wkb(shapely.set_srid(s, 1234), include_srid=True)),
        "not plain WKB",
    ),
    "geometry with bytes after it": ("h3", reshape(lambda s: shapely.to_wkb(s) + b"secret"), "not plain WKB"),
    "geometry with big numbers first": ("h3", reshape(lambda s: shapely.to_wkb(s, byte_order=0)), "not plain WKB"),
    "geometry that is not finite": (
        "h3",
        reshape(lambda s: shapely.to_wkb(shapely.transform(s, lambda p: p * np.inf))),
        "not finite",
    ),
    "geometry of another type": ("h3", reshape(lambda s: shapely.MultiPolygon([s])), "geometry of the area"),
    "geometry as a line": ("h3", reshape(lambda s: s.exterior), "geometry of the area"),
    "vertex repeated": ("h3", reshape(ring(lambda p: [p[0], *p])), "geometry of the area"),
    "vertex added": ("h3", reshape(ring(lambda p: [p[0], middle(p), *p[1:]])), "geometry of the area"),
    "vertex nudged": ("h3", reshape(lambda s: shapely.transform(s, lambda p: p + 1e-8)), "geometry of the area"),
    "ring begins elsewhere": ("h3", reshape(ring(lambda p: [*p[1:], p[1]])), "geometry of the area"),
    "ring turned around": ("h3", reshape(shapely.reverse), "geometry of the area"),
    "vertex added to a square": (
        "quadtree",
        reshape(ring(lambda p: [p[0], middle(p), *p[1:]])),
        "geometry of the area",
    ),
    "zones without a part": (
        "shapes",
        reshape(lambda s: s.difference(shapely.box(0.4, 50.4, 0.6, 50.6)), 1),
        "geometry",
    ),
    "vertex added to zones": ("shapes", reshape(ring(lambda p: [p[0], middle(p), *p[1:]]), 1), "geometry of the area"),
    "zones without geometry": ("shapes", change("areas", 1, geometry=None), "geometry of the area"),
    "center among zones": ("zones", change("areas", 1, lon=11.000001), "center of the area"),
    "world without the bbox": ("quadtree", only_the_world, "the center of the area world is not that of the bbox"),
    "members of a dendrogram": ("ward", change("areas", 1, members=["1", "2", "4"]), "not the zones that its id names"),
    "world with tiles": ("h3", change("areas", 3, tiles=7), "though no bbox was given"),
    "all with members": ("zones", change("areas", 0, members=["1"]), "lists members"),
    "area finer than the grid": ("h3", option(grid="h3:8"), "is finer than the grid"),
    "group without binary": (
        "h3",
        both(change("flows", 0, origin=f"{EAST}:13"), change("areas", 0, area=f"{EAST}:13")),
        "not a group of cells",
    ),
    "no cell": (
        "h3",
        both(change("flows", 0, origin="\ud7ff"), lambda d: d.flows.reverse(), change("areas", 0, area="\ud7ff")),
        "not the id of an H3 area",
    ),
    "no square": (
        "quadtree",
        both(change("flows", 1, origin="q:1/01150/12750"), change("areas", 2, area="q:1/01150/12750")),
        "not the id of a square",
    ),
    "members enlarged": (
        "zones",
        change("areas", 3, members=["1", "2", "4"], tiles=3),
        "not the zones that its id names",
    ),
    "members unsorted": ("zones", change("areas", 3, members=["2", "1"]), "not sorted and distinct"),
    "member unknown": ("zones", change("areas", 3, members=["1", "9"]), "a member that is not a zone"),
    "no members": ("zones", change("areas", 3, members=None), "has no members"),
    "null member": ("zones", change("areas", 3, members=["1", None]), "a member that is not a zone"),
    # tables
    "flow duplicated": ("h3", lambda draft: draft.flows.insert(0, dict(draft.flows[0])), "occurs twice"),
    "flow duplicated far": ("h3", lambda draft: draft.flows.append(dict(draft.flows[0])), "occurs twice"),
    "unsorted": ("h3", lambda draft: draft.flows.reverse(), "not in sorted order"),
    "extra column": ("h3", add_column("flows"), "flows.parquet has the column 'secret'"),
    "extra column of areas": ("h3", add_column("areas"), "areas.parquet has the column 'secret'"),
    "persons without a unit": ("h3", promise(unit="trip"), "flows.parquet has the column 'persons'"),
    "missing column": ("h3", remove_column("flows", "weight"), "does not have one column 'weight'"),
    "members on a grid": ("h3", lambda d: [row.update(members=None) for row in d.areas], "has the column 'members'"),
    "trips as double": ("h3", other_type("trips", pa.float64()), "'trips' of flows.parquet is double"),
    "trips as int32": ("h3", other_type("trips", pa.int32()), "'trips' of flows.parquet is int32"),
    "null id": ("h3", change("flows", 1, destination=None), "'destination' of flows.parquet has a null"),
    "null trips": ("h3", change("flows", 1, trips=None), "'trips' of flows.parquet has a null"),
    "null area": ("h3", change("areas", 1, area=None), "'area' of areas.parquet has a null"),
    "metadata of flows": (
        "h3",
        lambda d: d.flows_metadata.update(host="me"),
        "flows.parquet has the metadata key 'host'",
    ),
    "geo metadata of flows": ("h3", lambda d: d.flows_metadata.update(geo="{}"), "has the metadata key 'geo'"),
    "metadata of areas": ("h3", lambda d: d.areas_metadata.update(pandas="{}"), "has the metadata key 'pandas'"),
    "no geo": ("h3", lambda d: d.areas_metadata.clear(), "metadata 'geo' of areas.parquet is not that of the format"),
    "geo not JSON": ("h3", lambda d: d.areas_metadata.update(geo="{"), "metadata 'geo' of areas.parquet"),
    "geo with spaces": ("h3", lambda d: d.areas_metadata.update(geo=json.dumps(GEO) + " "), "metadata 'geo'"),
    "geo key": ("h3", geo(creator="me"), "metadata 'geo' of areas.parquet"),
    "geo bbox": ("h3", geo(bbox=[0, 0, 1, 1]), "metadata 'geo' of areas.parquet"),
    "geo crs": ("h3", geo(crs="EPSG:3857"), "metadata 'geo' of areas.parquet"),
    "geo types": ("h3", geo(geometry_types=["Polygon"]), "metadata 'geo' of areas.parquet"),
    "Arrow schema": ("h3", rewritten("flows.parquet", store_schema=True), "the metadata key 'ARROW:schema'"),
    "creator": (
        "h3",
        tamper(replaced("flows.parquet", pa.__version__.encode(), b"x" * len(pa.__version__))),
        "does not say which version of pyarrow wrote it",
    ),
    "columns of flows in another order": (
        "h3",
        rewritten("flows.parquet", lambda t: t.select(["destination", "origin", "trips", "persons", "weight"])),
        "the columns of flows.parquet are not in the order origin, destination, trips, persons, weight",
    ),
    "columns of areas in another order": (
        "zones",
        rewritten("areas.parquet", lambda t: t.select([*t.column_names[:-2], "geometry", "members"])),
        "the columns of areas.parquet are not in the order",
    ),
    "rows of areas in another order": (
        "h3",
        rewritten("areas.parquet", lambda t: t.take([1, 0, 2, 3])),
        "not sorted by side",
    ),
    "destinations first": ("h3", rewritten("areas.parquet", lambda t: t.take([2, 3, 0, 1])), "not sorted by side"),
    "name inside a list": (
        "zones",
        rewritten(
            "areas.parquet",
            with_field("members", pa.list_(pa.field("secret", pa.string()))),
            use_compliant_nested_type=False,
        ),
        "the schema of areas.parquet is not that of the format",
    ),
    "column that is never null": (
        "h3",
        rewritten("flows.parquet", lambda t: t.cast(t.schema.set(2, t.schema.field(2).with_nullable(nullable=False)))),
        "the schema of flows.parquet is not that of the format",
    ),
    "field ids": (
        "h3",
        rewritten(
            "flows.parquet",
            lambda t: t.cast(t.schema.set(2, t.schema.field(2).with_metadata({"PARQUET:field_id": "77"}))),
        ),
        "the schema of flows.parquet is not that of the format",
    ),
    "bytes before the footer": ("h3", hide("flows.parquet", in_footer=False), "bytes that belong to no column"),
    "bytes in the footer": ("h3", hide("areas.parquet", in_footer=True), "bytes that belong to no column"),
    "bytes at the start": ("h3", tamper(replaced("flows.parquet", b"PAR1", b"PARE")), "flows.parquet cannot be read"),
    "other statistics": (
        "h3",
        tamper(replaced("flows.parquet", (5).to_bytes(8, "little"), (6).to_bytes(8, "little"))),
        "the statistics of 'trips' of flows.parquet are not those of its values",
    ),
    "row groups": ("h3", tamper(write_row_by_row), "the rows of flows.parquet are not grouped"),
    "other compression": (
        "h3",
        rewritten("flows.parquet", compression="none"),
        "'origin' of flows.parquet is not stored as the format says",
    ),
    "unused entry of a dictionary": (
        "h3",
        rewritten("flows.parquet", with_unused_entry),
        "flows.parquet is not byte for byte what",
    ),
    "broken Parquet": ("h3", file("flows.parquet", b"PAR1 no PAR1"), "flows.parquet cannot be read"),
    # folder and manifest
    "extra file": ("h3", file("notes.txt", b""), "holds 'notes.txt'"),
    "extra hidden file": ("h3", file(".DS_Store", b""), "holds '.DS_Store'"),
    "report": ("h3", file("report.html", b"<html></html>"), "report.html is not a report of flowveil"),
    "manifest key": ("h3", manifest(input="/home/me"), "the manifest has the key 'input'"),
    "promise key": ("h3", promise(suppressed=3), "the promise has the key 'suppressed'"),
    "option key": ("h3", option(path="/home"), "'options' has the key 'path'"),
    "missing key": ("h3", lambda d: d.manifest.pop("absence"), "the manifest has no key 'absence'"),
    "other format": ("h3", manifest(format="flowveil-flows/2"), "the format is not"),
    "hostile software": ("h3", manifest(software="flowveil 0.1.0 on host me"), "'software' of the manifest"),
    "software with a long tail": ("h3", manifest(software="flowveil 0.1.0" + "a" * 21), "'software' of the manifest"),
    "other text": ("h3", manifest(promise_text="Trust us."), "'promise_text' of the manifest does not say"),
    "text is null": ("h3", manifest(promise_text=None), "'promise_text' of the manifest does not say"),
    "other absence": ("h3", manifest(absence="See me at 5."), "'absence' of the manifest"),
    "method is a list": ("h3", manifest(method=["a"]), "'method' of the manifest"),
    "method unknown": ("h3", manifest(method="magic"), "'method' of the manifest"),
    "method with noise": ("h3", manifest(method="identity"), "'method' of the manifest"),
    "options is a list": ("h3", manifest(options=[]), "'options' is not an object"),
    "promise is null": ("h3", manifest(promise=None), "the promise is not an object"),
    "other kind": ("h3", promise(kind="l-diversity"), "the promise is not k-anonymity"),
    "overlapping": ("h3", promise(areas="overlapping"), "overlapping areas that are not rectangles"),
    "volumes": ("h3", promise(volumes=["exact"]), "neither exact nor lower-bound"),
    "areas": ("h3", promise(areas={}), "neither disjoint nor overlapping"),
    "k is text": ("h3", promise(k="4"), "'k' of the promise"),
    "k is true": ("h3", promise(k=True), "'k' of the promise"),
    "k is zero": ("h3", promise(k=0), "'k' of the promise"),
    "k is a fraction": ("h3", promise(k=4.0), "'k' of the promise"),
    "k is huge": ("h3", promise(k=10**30), "'k' of the promise"),
    "share above 1": ("h3", promise(max_suppression=1.5), "'max_suppression' of the promise"),
    "unit is null": ("h3", promise(unit=None), "'unit' of the promise"),
    "weight is null": ("h3", promise(weight=None), "'weight' of the promise"),
    "k_weight is zero": ("h3", promise(k_weight=0), "'k_weight' of the promise"),
    "min_tiles is text": ("h3", promise(min_tiles="2"), "'min_tiles' of the promise"),
    "k_weight without weight": ("zones", promise(k_weight=3), "k_weight without weight"),
    "grid unknown": ("h3", option(grid="s2:4"), "not a known grid"),
    "grid is a number": ("h3", option(grid=9), "not a known grid"),
    "grid too fine": ("h3", option(grid="h3:16"), "no H3 resolution"),
    "grid of Arabic digits": ("h3", option(grid="h3:٩"), "no H3 resolution"),
    "side of squares": ("quadtree", option(grid="quadtree:inf"), "no usable side"),
    "side with zeros": ("quadtree", option(grid="quadtree:200.000"), "not written in the shortest way"),
    "hierarchy": ("h3", option(hierarchy="ward"), "do not go with an H3 grid"),
    "hierarchy of zones": ("zones", option(hierarchy=[]), "neither many nor ward nor a list"),
    "hierarchy with a column twice": ("zones", option(hierarchy=["zone_id", "town", "town"]), "names a column twice"),
    "hierarchy of other zones": ("zones", option(hierarchy=["zone_id", "state"]), "have no column 'state'"),
    "crs unknown": ("quadtree", option(crs="EPSG:99999999"), "'crs' of the manifest is not known"),
    "crs with a title": (
        "quadtree",
        option(crs="+proj=utm +zone=33 +title=secret +type=crs"),
        "neither AUTHORITY:CODE nor a plain list",
    ),
    "crs in WKT": (
        "quadtree",
        option(crs=pyproj.CRS("EPSG:32633").to_wkt()),
        "neither AUTHORITY:CODE nor a plain list",
    ),
    "crs with a key twice": ("quadtree", option(crs="+proj=utm +zone=33 +zone=34"), "neither AUTHORITY:CODE"),
    "crs with zeros": ("quadtree", option(crs="EPSG:0032633"), "not written as pyproj writes it"),
    "crs in degrees": ("quadtree", option(crs="EPSG:4326"), "'crs' of the manifest is not a plane"),
    "bbox of three": ("quadtree", option(bbox=[1, 2, 3]), "not four numbers"),
    "bbox of texts": ("quadtree", option(bbox=["1", 2, 3, 4]), "not four numbers"),
    "bbox of whole numbers": ("quadtree", option(bbox=[14, 45, 15, 47]), "not four numbers"),
    "bbox empty": ("quadtree", option(bbox=[2.0, 2.0, 1.0, 4.0]), "empty or lies off the globe"),
    "bbox changed": ("quadtree", option(bbox=[14.0, 45.5, 15.6, 46.5]), "of the input|left out"),
    "bbox of zones": ("zones", option(bbox=[1.0, 2.0, 3.0, 4.0]), "has a bbox, a crs or a gazetteer"),
    "method option": ("h3", option(method_options={"file": {"a": 1}}), "method option 'file'"),
    "method option of another method": ("h3", option(method_options={"v_target": "9"}), "method option 'v_target'"),
    "method option of another type": ("h3", option(method_options={"budget": 3.0}), "method option 'budget'"),
    "method option that is true": (
        "h3",
        both(manifest(method="odkanon"), option(method_options={"levels": True})),
        "method option 'levels'",
    ),
    "method option as prose": (
        "h3",
        both(manifest(method="atg-dual"), option(method_options={"v_target": "meet me at 5"})),
        "method option 'v_target'",
    ),
    "loss of a method without": (
        "h3",
        both(manifest(method="odkanon"), option(method_options={"loss": "metres"})),
        "method option 'loss'",
    ),
    "loss unknown": (
        "h3",
        both(manifest(method="mosaic"), option(method_options={"loss": "secret"})),
        "method option 'loss'",
    ),
    "max_gbar as text": (
        "h3",
        both(manifest(method="mosaic"), option(method_options={"max_gbar": "9"})),
        "method option 'max_gbar'",
    ),
    "method options unsorted": ("h3", option(method_options={"loss": "area", "budget": "each"}), "with sorted keys"),
    "method options empty": ("h3", option(method_options={}), "with sorted keys"),
    "manifest is a list": ("h3", file("manifest.json", b"[]\n"), "the manifest is not an object"),
    "manifest with spaces": ("h3", tamper(replaced("manifest.json", b"\n", b" \n")), "not written as the format says"),
    "manifest with an escaped letter": (
        "h3",
        tamper(replaced("manifest.json", b"mosaic", b"\\u006dosaic")),
        "not written as the format says",
    ),
    "manifest with a longer number": (
        "h3",
        tamper(replaced("manifest.json", b"5.75,", b"5.750,")),
        "not written as the format says",
    ),
    "keys of the manifest": ("h3", tamper(swap_keys(None)), "the keys of the manifest are not in the order"),
    "keys of the promise": ("h3", tamper(swap_keys("promise")), "the keys of the promise are not in the order"),
    "keys of the options": (
        "h3",
        tamper(swap_keys("options")),
        "the keys of the object 'options' are not in the order",
    ),
    "manifest is empty": ("h3", file("manifest.json", b""), "manifest.json cannot be read"),
    "manifest is no UTF-8": ("h3", file("manifest.json", b"\xff\xfe"), "not UTF-8"),
    "manifest with half a letter": ("h3", file("manifest.json", b'{"\\ud800": 1}'), "not UTF-8"),
    "manifest with NaN": ("h3", file("manifest.json", b'{"k": NaN}'), "NaN is not a number"),
    "manifest with 1e999": ("h3", file("manifest.json", b'{"k": 1e999}'), "too large"),
    "manifest with a long number": ("h3", file("manifest.json", b"1" * 5000), "manifest.json cannot be read"),
    "manifest with a key twice": ("h3", file("manifest.json", b'{"k": 1, "k": 2}'), "a key occurs twice"),
    "manifest nested deeply": ("h3", file("manifest.json", b"[" * 200_000), "manifest.json cannot be read"),
    "manifest huge": ("h3", file("manifest.json", b" " * 1_000_001), "more than 1,000,000 bytes"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_is_found(name: str, tmp_path: Path) -> None:
    """Every mutant fails for its own reason, and the message gives away neither persons nor counts."""
    kind, spoil, reason = BROKEN[name]
    draft = DRAFTS[kind]()
    spoil(draft)

    with pytest.raises(VerificationError, match=reason) as caught:
        draft.verify(tmp_path)

    assert caught.value.hint
    assert not any(person in str(caught.value) for person in WEIGHTS)


def test_messages_name_the_first_offending_flow(tmp_path: Path) -> None:
    """A flow is named by its two areas; no number but k is printed."""
    draft = zones_draft()
    draft.flows[1]["trips"] = 3

    with pytest.raises(VerificationError) as caught:
        draft.verify(tmp_path)

    assert caught.value.message == "the flow county=c -> town=x has fewer than k = 5 trips"


@pytest.mark.parametrize("name", ["flows.parquet", "areas.parquet", "manifest.json"])
def test_a_missing_file_is_found(name: str, tmp_path: Path) -> None:
    """Each of the three files must be there."""
    folder = h3_draft().write(tmp_path / "out")
    (folder / name).unlink()

    with pytest.raises(VerificationError, match=f"has no {name}"):
        verify(folder, h3_draft().trips)


@pytest.mark.parametrize("name", ["more", "flows.parquet"])
def test_a_folder_inside_is_found(name: str, tmp_path: Path) -> None:
    """A release has no folders in it, whatever they are called."""
    folder = h3_draft().write(tmp_path / "out")
    (folder / name).unlink(missing_ok=True)
    (folder / name).mkdir()

    with pytest.raises(VerificationError, match=name):
        verify(folder, h3_draft().trips)


def test_a_link_is_found(tmp_path: Path) -> None:
    """A link would publish something that lies elsewhere."""
    folder = h3_draft().write(tmp_path / "out")
    (folder / "flows.parquet").rename(tmp_path / "flows.parquet")
    (folder / "flows.parquet").symlink_to(tmp_path / "flows.parquet")

    with pytest.raises(VerificationError, match="not a plain file"):
        verify(folder, h3_draft().trips)


def test_metadata_hidden_in_a_field_is_found(tmp_path: Path) -> None:
    """Parquet keeps metadata of single columns in the Arrow schema."""
    folder = h3_draft().write(tmp_path / "out")
    table = pq.read_table(folder / "flows.parquet")
    column = table.schema.field("trips").with_metadata({"note": "secret"})
    pq.write_table(
        table.cast(table.schema.set(table.schema.get_field_index("trips"), column)), folder / "flows.parquet"
    )

    with pytest.raises(VerificationError, match="metadata key 'ARROW:schema'"):
        verify(folder, h3_draft().trips)


@pytest.mark.parametrize("name", ["ward:6", "ward:7", "ward:05", "ward:-1", "ward:", "zone_id=4", "ward:4294967296"])
def test_ids_that_a_dendrogram_does_not_have_are_found(name: str, tmp_path: Path) -> None:
    """Nodes are numbered from 0; the last one is the top, which is called otherwise."""
    draft = ward_draft()
    draft.flows[1]["origin"] = draft.areas[2]["area"] = name
    draft.flows.sort(key=lambda flow: flow["origin"])

    with pytest.raises(VerificationError, match="is not the id of an area"):
        draft.verify(tmp_path)


def test_one_person_counts_once(tmp_path: Path) -> None:
    """Fifty trips of one person are a crowd of one."""
    draft = h3_draft()
    draft.trips = trips_of_cells([(EAST_1, WEST_1, "anna")] * 50).drop_columns(["w"])
    draft.flows = [{"origin": EAST_1, "destination": WEST_1, "trips": 50, "persons": 50}]
    draft.areas = [cell_area(EAST_1, 9, "origin"), cell_area(WEST_1, 9, "destination")]
    draft.manifest["promise"] = manifest_of({}, k=10, unit="person_id")["promise"]

    with pytest.raises(VerificationError, match="persons of the input"):
        draft.verify(tmp_path)


def test_lower_bounds_do_not_hide_a_small_crowd(tmp_path: Path) -> None:
    """The crowd is counted in the input, too."""
    draft = quadtree_draft()
    draft.flows[1]["trips"] = 2
    draft.manifest |= {"method": "odkanon"}
    draft.manifest["options"]["method_options"] = {"reinstate": False}
    draft.manifest["promise"] |= {"volumes": "lower-bound", "max_suppression": 0.5}
    assert draft.verify(tmp_path).flows == 2

    with pytest.raises(VerificationError, match="has more trips than the input"):
        verify(tmp_path / "out", draft.trips.slice(2))


# --- input that cannot be read ------------------------------------------------------------------------------------


def test_a_missing_folder_is_bad_input(tmp_path: Path) -> None:
    """There is nothing to verify."""
    with pytest.raises(InputError, match="no release folder"):
        verify(tmp_path / "none", h3_draft().trips)


@pytest.mark.parametrize(
    ("column", "reason"),
    [("w", "no column 'w'"), ("person_id", "no column 'person_id'"), ("end_lat", "no column for end_lat")],
)
def test_a_missing_column_is_bad_input(column: str, reason: str, tmp_path: Path) -> None:
    """The promise needs columns that the input must have."""
    draft = h3_draft()
    draft.trips = draft.trips.drop_columns([column])

    with pytest.raises(InputError, match=reason):
        draft.verify(tmp_path)


def test_several_weights_of_a_person_are_bad_input(tmp_path: Path) -> None:
    """A person has one weight."""
    draft = h3_draft()
    weights = draft.trips["w"].to_pylist()
    draft.trips = draft.trips.set_column(draft.trips.column_names.index("w"), "w", pa.array([9.0, *weights[1:]]))

    with pytest.raises(InputError, match="several weights"):
        draft.verify(tmp_path)


def test_negative_weights_are_bad_input(tmp_path: Path) -> None:
    """Weights are numbers of people."""
    draft = h3_draft()
    weights = draft.trips["w"].to_pylist()
    draft.trips = draft.trips.set_column(
        draft.trips.column_names.index("w"), "w", pa.array([*weights[:9], -1.0, *weights[10:]])
    )

    with pytest.raises(InputError, match="not numbers of people"):
        draft.verify(tmp_path)


def test_zones_must_be_given(tmp_path: Path) -> None:
    """Without the zones nobody knows which ids are known."""
    draft = zones_draft()
    draft.zones = None

    with pytest.raises(InputError, match="no zones were given"):
        draft.verify(tmp_path)


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"format": "other"}'])
def test_a_broken_audit_file_is_bad_input(content: bytes, tmp_path: Path) -> None:
    """The audit file is an input, not a part of the release."""
    folder = h3_draft().write(tmp_path / "out")
    (tmp_path / "out.audit.json").write_bytes(content)

    with pytest.raises(InputError, match=r"out\.audit\.json"):
        verify(folder, h3_draft().trips)


# --- against brute force ------------------------------------------------------------------------------------------

TREE = {
    "all": "12345", "county=c": "1234", "county=d": "5", "town=x": "12", "town=y": "34",
    "zone_id=1": "1", "zone_id=2": "2", "zone_id=3": "3", "zone_id=4": "4", "zone_id=5": "5",
}  # fmt: skip
TREE_ZONES = pa.table({"zone_id": list("12345"), "town": ["x", "x", "y", "y", None], "county": list("ccccd")})
PAIRS = sorted(itertools.product(TREE, TREE))


def brute_force(flows: list[dict[str, Any]], trips: list[tuple[str, str, str]], k: int, budget: float) -> bool:
    """Whether a release keeps its promise, from the definitions alone."""
    held: list[set[tuple[str, str]]] = []
    for flow in flows:
        held.append(set(itertools.product(TREE[flow["origin"]], TREE[flow["destination"]])))
        inside = [person for origin, destination, person in trips if (origin, destination) in held[-1]]
        if (flow["trips"], flow["persons"]) != (len(inside), len(set(inside))) or flow["persons"] < k:
            return False
    if any(one & other for one, other in itertools.combinations(held, 2)):
        return False
    return len(trips) - sum(flow["trips"] for flow in flows) <= int(budget * len(trips) + 1e-9)


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[tuple[str, str, str]], int, float]:
    """Random trips and flows between areas; the counts are true but for a rare step."""
    zone = st.sampled_from("12345")
    trips = draw(st.lists(st.tuples(zone, zone, st.sampled_from("abc")), min_size=1, max_size=25))
    flows = []
    for origin, destination in sorted(draw(st.sets(st.sampled_from(PAIRS), min_size=1, max_size=4))):
        inside = [p for o, d, p in trips if o in TREE[origin] and d in TREE[destination]]
        step = draw(st.sampled_from([0] * 15 + [1]))
        if inside:
            flows.append(
                {
                    "origin": origin,
                    "destination": destination,
                    "trips": len(inside) + step,
                    "persons": len(set(inside)) + step,
                }
            )
    return flows, trips, draw(st.integers(1, 2)), draw(st.sampled_from([1.0, 0.5]))


@pytest.mark.slow
@given(releases())
@settings(max_examples=100, deadline=None)
def test_the_verdict_is_that_of_brute_force(
    case: tuple[list[dict[str, Any]], list[tuple[str, str, str]], int, float],
) -> None:
    """On random tiny releases, verify passes exactly where the definitions hold."""
    flows, trips, k, budget = case
    if not flows:
        return
    used = sorted({(flow[side], side) for flow in flows for side in ("origin", "destination")})
    areas = [
        {
            "area": area,
            "side": side,
            "lon": None,
            "lat": None,
            "tiles": None if area == "all" else len(TREE[area]),
            "members": None if area == "all" else list(TREE[area]),
            "geometry": None,
        }
        for area, side in used
    ]
    options = {"grid": None, "hierarchy": ["zone_id", "town", "county"]}
    names = ("origin", "destination", "person")
    table = pa.table({name: list(values) for name, values in zip(names, zip(*trips, strict=True), strict=True)})
    manifest = manifest_of(options, k=k, unit="person", max_suppression=budget)
    draft = Draft(flows, areas, manifest, table, TREE_ZONES)

    with tempfile.TemporaryDirectory() as folder:
        try:
            draft.verify(Path(folder))
            verdict = True
        except VerificationError:
            verdict = False

    assert verdict == brute_force(flows, trips, k, budget)


# --- what the writer writes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [False, True])
def test_outlines_across_180_degrees_and_around_poles_are_those_that_are_written(binary: bool) -> None:
    """Every cell of the globe up to resolution 1, and every group of them, has the outline that releases have."""
    grid, ground = H3Grid(1, binary=binary), Cells(1, binary=binary)
    cells = [int(cell, 16) for base in h3.get_res0_cells() for cell in h3.cell_to_children(base, 1)]
    hierarchy, _ = grid.hierarchy(np.sort(np.array(cells, np.uint64)))

    table = grid.describe(hierarchy, np.arange(1, len(hierarchy)))

    assert all(ground.is_shape(*row) for row in zip(table.area, table.geometry, strict=True))


def test_heights_of_zones_are_not_published(tmp_path: Path) -> None:
    """Zones with a third dimension make a release without, which verifies."""
    solid = [shapely.to_wkb(shapely.force_3d(shapely.box(x, 50, x + 1, 51), 7.0)) for x in range(4)]
    zones = ZONES.append_column("geometry", [solid])
    trips = zones_draft().trips.slice(0, 5)
    release = fv.anonymize(fv.build_flows(trips, zones=zones, hierarchy=["zone_id", "town", "county"]), k=5)

    folder = release.write(tmp_path / "out")

    assert not any(shapely.has_z(shapely.from_wkb(release.areas["geometry"].to_pylist())))
    assert verify(folder, trips, zones=zones).flows == release.flows.num_rows


# --- points on borders --------------------------------------------------------------------------------------------


def snapped_points() -> np.ndarray:
    """Return lat and lon of centers of fine cells; some lie exactly on the border of two cells two steps coarser."""
    fine = h3.cell_to_children(h3.latlng_to_cell(37.77, -122.42, 7), 11)
    return np.array([h3.cell_to_latlng(cell) for cell in fine])


def test_points_on_borders_do_not_raise_a_false_alarm(tmp_path: Path) -> None:
    """Trips between snapped points, built with one H3 library and verified with another."""
    points = snapped_points()
    ends = np.column_stack([points, np.roll(points, 1, axis=0)])
    names = ("start_lat", "start_lon", "end_lat", "end_lon")
    trips = pa.table(dict(zip(names, np.repeat(ends, 3, axis=0).T, strict=True)))
    release = fv.anonymize(fv.build_flows(trips, "h3:9"), k=5)

    folder = release.write(tmp_path / "out")

    lat, lon = points.T
    cells = [int(h3.latlng_to_cell(*point, 9), 16) for point in points]
    assert (cells_of_points(lon, lat, 9) != np.array(cells, np.uint64)).any()  # else the test shows nothing
    assert verify(folder, trips).flows == release.flows.num_rows


def test_only_points_on_the_border_may_lie_in_either_cell() -> None:
    """A point beside the border has one cell, and cells that do not touch share no border."""
    cell, other = int(EAST, 16), int(next(iter(set(h3.grid_disk(EAST)) - {EAST})), 16)
    (lat, lon), (to_lat, to_lon) = h3.directed_edge_to_boundary(
        h3.cells_to_directed_edge(h3.int_to_str(cell), h3.int_to_str(other))
    )
    middle_lat, middle_lon = (lat + to_lat) / 2, (lon + to_lon) / 2
    away = (middle_lat - h3.cell_to_latlng(EAST)[0]) * 1e-3

    assert on_border(lon, lat, cell, other)
    assert on_border(lon, lat, other, cell)
    assert not on_border(middle_lon, middle_lat + away, cell, other)
    assert not on_border(lon, lat, cell, int(h3.latlng_to_cell(0, 0, 8), 16))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@given(st.sampled_from(sorted(DRAFTS)), st.sampled_from(["", "options", "promise"]), st.data())
@settings(max_examples=200, deadline=None)
def test_a_hostile_manifest_is_a_broken_promise_and_no_crash(name: str, part: str, data: st.DataObject) -> None:
    """Whatever stands in place of a value, the answer is a verdict."""
    content = DRAFTS[name]().manifest
    target = content[part] if part else content
    target[data.draw(st.sampled_from([*target, "crs", "bbox", "k_weight", "method_options"]))] = data.draw(JSON)

    with contextlib.suppress(VerificationError):
        parse_manifest(content)


def tiles_of_cell(area: str) -> set[str]:
    """Return the cells of resolution 9 in an area around TOWN."""
    if area == "world":
        return {"elsewhere", *h3.cell_to_children(TOWN, 9)}
    parent, _, digits = area.partition(":")
    cells = [cell for cell in h3.cell_to_children(parent) if h3_digit(cell) in digits] if digits else [parent]
    return {tile for cell in cells for tile in h3.cell_to_children(cell, 9)}


def tiles_of_square(area: str) -> set[tuple[int, int] | str]:
    """Return the squares of level 0 in an area."""
    if area == "world":
        return {"elsewhere", *itertools.product(range(-8, 16), repeat=2)}
    level, x, y = (int(part) for part in re.findall(r"-?\d+", area))
    size = 2**level
    return set(itertools.product(range(x * size, x * size + size), range(y * size, y * size + size)))


DIGITS = ("1345", "026", "13", "45", "26")
CELLS = [TOWN, *h3.cell_to_children(TOWN, 8), *h3.cell_to_children(EAST, 9), "world"]
GROUPS = [f"{cell}:{digits}" for cell in (TOWN, EAST, WEST) for digits in DIGITS]
SQUARES = ["world", *(f"q:{s}/{x}/{y}" for s in range(4) for x in range(-1, 2) for y in range(-1, 2))]
GRIDS = {
    "h3": (Cells(9, binary=False), CELLS, tiles_of_cell),
    "h3-binary": (Cells(9, binary=True), CELLS + GROUPS, tiles_of_cell),
    "quadtree": (Squares(200, "EPSG:32633", None), SQUARES, tiles_of_square),
}


@pytest.mark.parametrize("name", GRIDS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_one_area_holds_another_exactly_if_its_tiles_do(name: str, data: st.DataObject) -> None:
    """Numbers that areas cover, and the forest that they are, agree with sets of tiles."""
    ground, candidates, tiles_of = GRIDS[name]
    areas = data.draw(st.lists(st.sampled_from(candidates), unique=True, min_size=1, max_size=8))
    for area in areas:
        if area != "world":
            ground.check_id(area)

    extents, forest = ground.extents(areas), Forest.of(ground, areas)

    sets = [tiles_of(area) for area in areas]
    for one, other in itertools.permutations(range(len(areas)), 2):
        holds, meets = (bool(related[other]) for related in extents.related(one))
        assert (holds, meets) == (sets[one] >= sets[other], bool(sets[one] & sets[other]))
        assert holds == (forest.first[one] <= forest.first[other] < forest.end[one])
