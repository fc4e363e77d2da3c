"""The checker on areas that may be split in several ways: rectangles of tiles, and nodes of several trees of zones."""

from __future__ import annotations

import itertools
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h3
import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil import verify
from flowveil._errors import VerificationError
from flowveil._places.dendrograms import many_trees
from flowveil._places.h3lattice import H3Lattice
from flowveil._places.squarelattice import SquareLattice as MadeSquares
from flowveil._places.zone_table import read_zones
from flowveil._verify import index as index_module
from flowveil._verify.cell_lattice import _BITS, CellLattice
from flowveil._verify.dendrograms import TREES, Dendrograms
from flowveil._verify.eisenstein import count_cells
from flowveil._verify.extents import ZoneSets
from flowveil._verify.index import FlowIndex
from flowveil._verify.sides import Ragged, Side
from flowveil._verify.square_lattice import SquareLattice
from flowveil._verify.tables import FlowTable
from tests.test_verify import (
    BBOX,
    TO_DEGREES,
    Draft,
    both,
    change,
    manifest_of,
    option,
    promise,
    reshape,
    trips_of_cells,
)

if TYPE_CHECKING:
    from tests.test_verify import Spoil

# --- drafts: two rectangles that cross, from one tile both ------------------------------------------------------------

PEOPLE = ("anna", "bob", "cid")
# By flow: where its trips start and end, as places in a square of 16 by 16 tiles, one of them a person.
TRIPS = [
    [((0, 0), (8, 8)), ((0, 0), (8, 8)), ((3, 0), (8, 8))],
    [((0, 0), (9, 8)), ((0, 3), (9, 8)), ((0, 3), (9, 8))],
    [((0, 0), (12, 4)), ((3, 0), (13, 5)), ((15, 15), (12, 4))],
]
LEFT_OUT = ((0, 3), (8, 8))
WORLD = {"area": "world", "lon": None, "lat": None, "tiles": None, "geometry": None}

BASE = 15
RESOLUTION = 9
MIDDLE = h3.cell_to_center_child(next(c for c in h3.get_res0_cells() if h3.get_base_cell_number(c) == BASE), RESOLUTION)
CORNER = (640, 320)  # of the square, in coordinates of cells: multiples of 16


def cell(place: tuple[int, int]) -> str:
    """Return the cell at a place of the square."""
    found = h3.local_ij_to_cell(MIDDLE, CORNER[0] + place[0], CORNER[1] + place[1])
    assert h3.get_base_cell_number(found) == BASE
    return str(found)


def cells_area(area: str, side: str, places: list[tuple[int, int]]) -> dict[str, Any]:
    """Return the row of areas.parquet for cells, given the places of all of them; its middle is their mean."""
    cells = [cell(place) for place in places]
    x, y, z = np.mean([point(*np.radians(h3.cell_to_latlng(c))) for c in cells], axis=0)
    outline = shapely.union_all([shapely.Polygon([p[::-1] for p in h3.cell_to_boundary(c)]) for c in cells])
    return {
        "area": area,
        "side": side,
        "lon": float(np.degrees(np.arctan2(y, x))),
        "lat": float(np.degrees(np.arctan2(z, np.hypot(x, y)))),
        "tiles": len(cells),
        "geometry": shapely.to_wkb(outline),
    }


def point(lat: float, lon: float) -> tuple[float, float, float]:
    """Return a point on the sphere."""
    return float(np.cos(lat) * np.cos(lon)), float(np.cos(lat) * np.sin(lon)), float(np.sin(lat))


def rectangle(wide: int, high: int, x: int, y: int) -> str:
    """Return the id of the rectangle of cells at a place of the square."""
    return f"l:{BASE}/{wide}/{high}/{CORNER[0] + x >> wide}/{CORNER[1] + y >> high}"


def cells_draft() -> Draft:
    """Return flows from 4 by 1 and from 1 by 4 cells that share one, and from anywhere to 2 by 2."""
    rows = [(cell(a), cell(b), p) for flow in TRIPS for (a, b), p in zip(flow, PEOPLE, strict=True)]
    rows.append((cell(LEFT_OUT[0]), cell(LEFT_OUT[1]), "evelyn"))
    flat, tall, square = rectangle(2, 0, 0, 0), rectangle(0, 2, 0, 0), rectangle(1, 1, 12, 4)
    pairs = [(flat, cell((8, 8))), (tall, cell((9, 8))), ("world", square)]
    flows = [{"origin": a, "destination": b, "trips": 3, "persons": 3} for a, b in pairs]
    areas = [
        # The mean of four cells in a row is not that of the two in the middle: rows are slightly bent.
        cells_area(flat, "origin", [(x, 0) for x in range(4)]) | middle_of([(1, 0), (2, 0)]),
        cells_area(tall, "origin", [(0, y) for y in range(4)]) | middle_of([(0, 1), (0, 2)]),
        WORLD | {"side": "origin"},
        cells_area(pairs[0][1], "destination", [(8, 8)]),
        cells_area(pairs[1][1], "destination", [(9, 8)]),
        cells_area(square, "destination", [(x, y) for x in (12, 13) for y in (4, 5)]),
    ]
    options = {"grid": f"h3:{RESOLUTION}", "hierarchy": "lattice"}
    return draft_of(flows, areas, options, trips_of_cells(rows))


def middle_of(places: list[tuple[int, int]]) -> dict[str, Any]:
    """Return the center of some cells."""
    area = cells_area("", "", places)
    return {"lon": area["lon"], "lat": area["lat"]}


def draft_of(flows: list[Any], areas: list[Any], options: dict[str, Any], trips: pa.Table) -> Draft:
    """Return a draft with its flows in order."""
    flows.sort(key=lambda flow: (flow["origin"], flow["destination"]))
    sides = ("origin", "destination")
    areas.sort(key=lambda row: (sides.index(row["side"]), row["area"]))
    stated = {"k": 3, "unit": "person_id", "max_suppression": 0.1}
    return Draft(flows, areas, manifest_of(options, **stated), trips)


SQUARE_CORNER = (2304, 25504)


def squares_area(area: str, side: str, x: int, y: int, size: tuple[int, int]) -> dict[str, Any]:
    """Return the row of areas.parquet for a rectangle of squares of 200 m."""
    parts = (0, 0.25, 0.5, 0.75)
    ring = [(i, 0) for i in parts] + [(1, i) for i in parts] + [(1 - i, 1) for i in parts] + [(0, 1 - i) for i in parts]
    west, south = (SQUARE_CORNER[0] + x) * 200, (SQUARE_CORNER[1] + y) * 200
    corners = [(west + i * 200 * size[0], south + j * 200 * size[1]) for i, j in ring]
    lon, lat = TO_DEGREES.transform(west + 100 * size[0], south + 100 * size[1])
    outline = shapely.Polygon([TO_DEGREES.transform(*corner) for corner in corners])
    tiles = size[0] * size[1]
    return {"area": area, "side": side, "lon": lon, "lat": lat, "tiles": tiles, "geometry": shapely.to_wkb(outline)}


def squares_draft() -> Draft:
    """Return the same flows between squares."""

    def name(x: int, y: int, wide: int = 0, high: int = 0) -> str:
        x, y = SQUARE_CORNER[0] + x, SQUARE_CORNER[1] + y
        return f"l:{wide}/{high}/{x >> wide}/{y >> high}" if wide + high else f"q:0/{x}/{y}"

    ends = [pair for flow in TRIPS for pair in flow] + [LEFT_OUT]
    middles = [
        [TO_DEGREES.transform(*((SQUARE_CORNER[axis] + place[axis]) * 200 + 100 for axis in (0, 1))) for place in pair]
        for pair in ends
    ]
    columns = [(*start, *end) for start, end in middles]
    names = ("start_lon", "start_lat", "end_lon", "end_lat")
    trips = pa.table(dict(zip(names, map(list, zip(*columns, strict=True)), strict=True)))
    trips = trips.append_column("person_id", pa.array([*PEOPLE * len(TRIPS), "evelyn"]))
    flat, tall, square = name(0, 0, 2, 0), name(0, 0, 0, 2), name(12, 4, 1, 1)
    pairs = [(flat, name(8, 8)), (tall, name(9, 8)), ("world", square)]
    flows = [{"origin": a, "destination": b, "trips": 3, "persons": 3} for a, b in pairs]
    west, south, east, north = BBOX
    x, y = TO_DEGREES.transform([west, west, east, east], [south, north, south, north], direction="INVERSE")
    columns_of, rows_of = (int(max(v) // 200 - min(v) // 200 + 1) for v in (x, y))
    top = {"lon": 14.5, "lat": 46.0, "tiles": columns_of * rows_of, "geometry": shapely.to_wkb(shapely.box(*BBOX))}
    areas = [
        squares_area(flat, "origin", 0, 0, (4, 1)),
        squares_area(tall, "origin", 0, 0, (1, 4)),
        {"area": "world", "side": "origin"} | top,
        squares_area(pairs[0][1], "destination", 8, 8, (1, 1)),
        squares_area(pairs[1][1], "destination", 9, 8, (1, 1)),
        squares_area(square, "destination", 12, 4, (2, 2)),
    ]
    options = {"grid": "quadtree:200", "hierarchy": "lattice", "crs": "EPSG:32633", "bbox": BBOX}
    return draft_of(flows, areas, options, trips)


# Zones a and b are near each other, and c and d; with the map stretched to the east and west, a and c, and b and d.
POINTS = {"a": (10.0, 50.0), "b": (10.01, 50.0), "c": (10.0, 50.008), "d": (10.0105, 50.008)}
ZONES = pa.table(
    {
        "zone_id": list(POINTS),
        "lon": [lon for lon, _ in POINTS.values()],
        "lat": [lat for _, lat in POINTS.values()],
    }
)
MEMBERS = {"ward:4": "ab", "ward:5": "cd", "ward-ew:4": "ac", "ward-ew:5": "bd", "ward:2": "c", "ward:3": "d"}


def zones_area(area: str, side: str) -> dict[str, Any]:
    """Return the row of areas.parquet for zones without shapes."""
    members = sorted(MEMBERS[area])
    lon, lat = (float(np.mean([POINTS[zone][axis] for zone in members])) for axis in (0, 1))
    row = {"area": area, "side": side, "lon": lon, "lat": lat, "tiles": len(members)}
    return row | {"members": members, "geometry": None}


def zones_draft() -> Draft:
    """Return flows from areas of two trees that share a zone, and from anywhere to an area of the first tree."""
    flows = {("ward:4", "ward:2"): "ac bc ac", ("ward-ew:4", "ward:3"): "ad cd ad", ("all", "ward:4"): "aa bb da"}
    pairs = [pair for trips in flows.values() for pair in trips.split()] + ["dc"]
    trips = pa.table(
        {
            "origin": [pair[0] for pair in pairs],
            "destination": [pair[1] for pair in pairs],
            "person_id": [*PEOPLE * len(flows), "evelyn"],
        }
    )
    rows = [{"origin": a, "destination": b, "trips": 3, "persons": 3} for a, b in flows]
    everything = {"area": "all", "side": "origin", "lon": None, "lat": None, "tiles": None, "members": None}
    areas = [
        zones_area(area, side)
        for pair in flows
        for area, side in zip(pair, ("origin", "destination"), strict=True)
        if area != "all"
    ]
    draft = draft_of(rows, [*areas, everything | {"geometry": None}], {"grid": None, "hierarchy": "many"}, trips)
    draft.zones = ZONES
    return draft


DRAFTS = {"cells": cells_draft, "squares": squares_draft, "zones": zones_draft}


@pytest.mark.parametrize("name", DRAFTS)
def test_areas_that_overlap_in_part_are_no_fault(name: str, tmp_path: Path) -> None:
    """Flows do not overlap, and each has the trips of its areas: written by hand, without the code of makers."""
    done = DRAFTS[name]().verify(tmp_path)

    assert (done.flows, done.trips_read >= 10) == (3, True)


# --- mutants ----------------------------------------------------------------------------------------------------------


def renamed(old: str, new: str) -> Spoil:
    """Call an area otherwise wherever it occurs; the rest of its row stays."""

    def spoil(draft: Draft) -> None:
        assert any(row["area"] == old for row in draft.areas)
        for row in (*draft.flows, *draft.areas):
            row.update(
                {key: new for key, value in row.items() if key in ("origin", "destination", "area") and value == old}
            )
        draft.flows.sort(key=lambda flow: (flow["origin"], flow["destination"]))

    return spoil


def replaced(old: str, row: dict[str, Any]) -> Spoil:
    """Put another area in place of one."""

    def spoil(draft: Draft) -> None:
        renamed(old, row["area"])(draft)
        next(area for area in draft.areas if area["area"] == row["area"] and area["side"] == row["side"]).update(row)

    return spoil


def one_more(flow: dict[str, Any], *areas: dict[str, Any]) -> Spoil:
    """Publish one more flow."""

    def spoil(draft: Draft) -> None:
        draft.flows.append(flow)
        draft.flows.sort(key=lambda flow: (flow["origin"], flow["destination"]))
        known = {(row["area"], row["side"]) for row in draft.areas}
        draft.areas += [row for row in areas if (row["area"], row["side"]) not in known]

    return spoil


def flow_of(origin: str, destination: str, trips: int) -> dict[str, Any]:
    """Return a flow."""
    return {"origin": origin, "destination": destination, "trips": trips, "persons": min(trips, 3)}


FLAT, TALL, SQUARE = rectangle(2, 0, 0, 0), rectangle(0, 2, 0, 0), rectangle(1, 1, 12, 4)
FLAT_ROW = 0
NOT_CELLS = "is not the id of a rectangle of cells"
BROKEN: dict[str, tuple[str, Spoil, str]] = {
    "flow below k": ("cells", change("flows", 0, trips=2, persons=2), "fewer than k = 3 persons"),
    "persons dropped": ("squares", both(promise(k=2), change("flows", 0, persons=2)), "the persons of the input"),
    "volume changed": ("zones", change("flows", 0, trips=4), "the trips of the input"),
    "too few tiles": ("cells", promise(min_tiles=2), "fewer than 2 tiles"),
    # ids
    "shifted rectangle": ("cells", renamed(FLAT, rectangle(2, 0, 4, 0)), "the center of the area"),
    "swapped sides": ("cells", renamed(FLAT, rectangle(0, 2, 4, 0)), "the center of the area"),
    "another base cell": ("cells", renamed(FLAT, FLAT.replace("l:15/", "l:20/")), "the center of the area"),
    "no such base cell": ("cells", renamed(FLAT, FLAT.replace("l:15/", "l:122/")), NOT_CELLS),
    "beyond the base cell": ("cells", renamed(FLAT, "l:15/2/0/900/-3900"), NOT_CELLS),
    "beyond all coordinates": ("cells", renamed(FLAT, "l:15/2/0/1024/0"), NOT_CELLS),
    "a single cell as a rectangle": (
        "cells",
        renamed(cell((8, 8)), f"l:{BASE}/0/0/{CORNER[0] + 8}/{CORNER[1] + 8}"),
        NOT_CELLS,
    ),
    "a cell of another resolution": ("cells", renamed(FLAT, h3.cell_to_parent(cell((0, 0)))), NOT_CELLS),
    "zeros before a number": ("cells", renamed(FLAT, FLAT.replace("/2/", "/02/")), NOT_CELLS),
    "minus zero": ("cells", renamed(FLAT, "l:15/2/0/-0/320"), NOT_CELLS),
    "a number too few": ("cells", renamed(FLAT, FLAT.rpartition("/")[0]), NOT_CELLS),
    "an id of squares": ("cells", renamed(FLAT, "l:2/0/160/320"), NOT_CELLS),
    "an id of cells": ("squares", renamed("l:2/0/576/25504", FLAT), "is not the id of a rectangle of squares"),
    "a square of a quadtree": (
        "squares",
        renamed("l:1/1/1158/12754", "q:1/1158/12754"),
        "is not the id of a rectangle",
    ),
    "a square as a rectangle": (
        "squares",
        renamed("q:0/2312/25512", "l:0/0/2312/25512"),
        "is not the id of a rectangle",
    ),
    "too long": ("cells", option(hierarchy="lattice:1"), NOT_CELLS),
    "squares too long": ("squares", option(hierarchy="lattice:1"), "is not the id of a rectangle of squares"),
    # options
    "the default aspect": ("cells", option(hierarchy="lattice:2"), "has no aspect"),
    "an aspect of nine": ("cells", option(hierarchy="lattice:9"), "has no aspect"),
    "an aspect of nothing": ("cells", option(hierarchy="lattice:0"), "do not go with an H3 grid"),
    "many on a grid": ("squares", option(hierarchy="many"), "do not go with a quadtree"),
    "lattice of zones": ("zones", option(hierarchy="lattice"), "neither many nor ward nor a list"),
    "one tree": ("zones", option(hierarchy="ward"), "is not the id of an area"),
    # what areas.parquet says
    "tiles": ("cells", change("areas", FLAT_ROW, tiles=3), "number of tiles"),
    "tiles of squares": ("squares", change("areas", 0, tiles=16), "number of tiles"),
    "center": ("cells", change("areas", FLAT_ROW, lon=14.0), "the center of the area"),
    "center of squares": ("squares", change("areas", 0, lon=14.0), "the center of the area"),
    "outline": (
        "cells",
        reshape(lambda shape: shapely.transform(shape, lambda p: p + 1e-6)),
        "the geometry of the area",
    ),
    "outline of squares": ("squares", reshape(shapely.envelope), "the geometry of the area"),
    "members": ("zones", change("areas", 1, members=["a", "d"]), "not the zones that its id names"),
    "fewer members": ("zones", change("areas", 1, members=["a"], tiles=1, lat=50.0), "not the zones that its id names"),
    # names of zones
    "another number": ("zones", renamed("ward-ew:4", "ward-ew:5"), "not the zones that its id names"),
    "another tree": ("zones", renamed("ward-ew:4", "ward-ns:4"), "not the zones that its id names"),
    "a later tree": ("zones", renamed("ward-ew:4", "average-ew:4"), "is one of the tree ward-ew"),
    "a later tree by medians": ("zones", renamed("ward:4", "kd:5"), "is one of the tree ward,"),
    "no such tree": ("zones", renamed("ward-ew:4", "ward-sw:4"), "is not the id of an area"),
    "no such node": ("zones", renamed("ward-ew:4", "ward-ew:6"), "is not the id of an area"),
    "no number": ("zones", renamed("ward-ew:4", "ward-ew:04"), "is not the id of an area"),
    # overlaps
    "a trip in two flows": (
        "cells",
        one_more(flow_of(TALL, cell((8, 8)), 3), cells_area(cell((8, 8)), "destination", [(8, 8)])),
        "overlap",
    ),
    "a trip in two flows of zones": ("zones", one_more(flow_of("ward-ew:4", "ward:2", 3)), "overlap"),
    "a part of an area": (
        "squares",
        one_more(
            flow_of("q:0/2304/25504", "q:0/2312/25512", 3), squares_area("q:0/2304/25504", "origin", 0, 0, (1, 1))
        ),
        "overlap",
    ),
    # the smallest area, and the top
    "a larger rectangle": (
        "cells",
        replaced(
            SQUARE,
            cells_area(rectangle(2, 1, 12, 4), "destination", [(x, y) for y in (4, 5) for x in range(12, 16)])
            | middle_of([(x, y) for x in (13, 14) for y in (4, 5)]),
        ),
        "is not the smallest around the tiles seen in it",
    ),
    "a larger rectangle of squares": (
        "squares",
        replaced("l:1/1/1158/12754", squares_area("l:1/2/1158/6377", "destination", 12, 4, (2, 4))),
        "is not the smallest around the tiles seen in it",
    ),
    "the rectangle of all squares": (
        "squares",
        replaced("world", squares_area("l:4/4/144/1594", "origin", 0, 0, (16, 16))),
        "holds all tiles seen",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_mutant_is_found(name: str, tmp_path: Path) -> None:
    """Every mutant fails for its own reason."""
    kind, spoil, reason = BROKEN[name]
    draft = DRAFTS[kind]()
    spoil(draft)

    with pytest.raises(VerificationError, match=re.escape(reason)) as caught:
        draft.verify(tmp_path)

    assert not any(person in str(caught.value) for person in PEOPLE)


def test_areas_of_an_earlier_release_need_not_be_the_smallest(tmp_path: Path) -> None:
    """With `areas_from` areas were chosen for other trips."""
    draft = cells_draft()
    BROKEN["a larger rectangle"][1](draft)
    draft.manifest["options"]["areas_from"] = True

    assert draft.verify(tmp_path).flows == 3


def test_flows_to_elsewhere_need_areas_of_one_tree(tmp_path: Path) -> None:
    """What is left of an area is counted in the next larger one: of two that cross, none is that."""
    draft = cells_draft()
    draft.manifest["promise"]["elsewhere"] = True
    draft.flows.insert(1, flow_of(FLAT, "elsewhere", 3))
    draft.flows.sort(key=lambda flow: (flow["origin"], flow["destination"]))
    draft.areas.append(WORLD | {"area": "elsewhere", "side": "destination"})

    with pytest.raises(VerificationError, match="neither nested nor apart"):
        draft.verify(tmp_path)


def test_a_release_beside_that_leaves_one_trip_is_found(tmp_path: Path) -> None:
    """All trips to a cell, less those from a rectangle of another release, is a single person."""
    draft, other = cells_draft(), cells_draft()
    other.flows = [flow_of("world", cell((8, 8)), 4) | {"persons": 4}]
    other.areas = [WORLD | {"side": "origin"}, cells_area(cell((8, 8)), "destination", [(8, 8)])]
    other.areas[0] = {"area": "world", "side": "origin", **other.areas[0]}
    other.manifest["promise"]["max_suppression"] = 0.99
    beside = other.write(tmp_path / "other")

    assert verify(beside, other.trips).flows == 1
    with pytest.raises(VerificationError, match="may leave fewer than a crowd"):
        draft.verify(tmp_path, beside=beside)


# --- which flow holds a pair of tiles ---------------------------------------------------------------------------------

TILES = 7


@st.composite
def flows_of_sets(draw: st.DrawFn) -> tuple[list[list[frozenset[int]]], list[tuple[int, int, int]]]:
    """Return areas of both sides, any sets of tiles, and flows: a slot, an origin and a destination each."""
    some = st.frozensets(st.integers(0, TILES - 1), min_size=1, max_size=4)
    areas = [draw(st.lists(some, min_size=1, max_size=8, unique=True)) for _ in range(2)]
    places = [st.integers(0, len(side) - 1) for side in areas]
    flows = draw(st.lists(st.tuples(st.integers(0, 1), *places), min_size=1, max_size=8, unique=True))
    return areas, flows


def side_of(areas: list[frozenset[int]]) -> Side:
    """Return a side whose areas are sets."""
    return Side(
        [str(place) for place in range(len(areas))],
        lambda tiles: Ragged.of(
            [np.array([n for n, area in enumerate(areas) if tile in area], np.int64) for tile in tiles.tolist()]
        ),
    )


def table_of(flows: list[tuple[int, int, int]]) -> FlowTable:
    """Return flows as a table."""
    return FlowTable(
        [str(origin) for _, origin, _ in flows],
        [str(destination) for _, _, destination in flows],
        np.ones(len(flows), np.int64),
        persons=None,
        weight=None,
    )


@pytest.mark.slow
@given(flows_of_sets(), st.sampled_from([1, 3, 1000]), st.sampled_from([1, 5, 1000]))
@settings(max_examples=200, deadline=None)
def test_flows_of_any_sets_are_those_of_brute_force(
    case: tuple[list[list[frozenset[int]]], list[tuple[int, int, int]]], marks: int, pairs: int
) -> None:
    """The flow of every pair of tiles, however few are looked at together; a pair in two flows is an error."""
    areas, flows = case
    asked = sorted(itertools.product(range(-1, 2), range(TILES), range(TILES)))
    held = [
        [n for n, (s, a, b) in enumerate(flows) if s == slot and o in areas[0][a] and d in areas[1][b]]
        for slot, o, d in asked
    ]
    sides = side_of(areas[0]), side_of(areas[1])
    slot, origin, destination = np.array(flows).T
    flow_index = FlowIndex(table_of(flows), sides, (origin, destination), slot)
    slots, *ends = np.array(asked).T
    spots = [side.spots(tiles) for side, tiles in zip(sides, ends, strict=True)]
    order = np.lexsort((spots[1], spots[0], slots))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "_MOST_MARKS", marks)
        patch.setattr(index_module, "_MOST_PAIRS", pairs)
        if max(map(len, held)) > 1:
            with pytest.raises(VerificationError, match="overlap"):
                flow_index.find(slots[order], spots[0][order], spots[1][order])
            return
        found = flow_index.find(slots[order], spots[0][order], spots[1][order])

    assert found.tolist() == [held[place][0] if held[place] else -1 for place in order.tolist()]
    assert [side.tiles_seen().tolist() for side in sides] == [list(map(len, some)) for some in areas]


@pytest.mark.slow
@given(flows_of_sets())
@settings(max_examples=200, deadline=None)
def test_sets_overlap_exactly_if_they_share_a_pair(
    case: tuple[list[list[frozenset[int]]], list[tuple[int, int, int]]],
) -> None:
    """Slot 1 holds slot 0 in time, as a day holds an hour; what is inside what is a question of sets."""
    areas, flows = case
    sets = [ZoneSets([np.array(sorted(area)) for area in side], TILES) for side in areas]
    slot, origin, destination = np.array(flows).T
    low, high = np.where(slot == 1, 0, 3)[:, None], np.where(slot == 1, 9, 4)[:, None]
    overlapping = {
        (one, other)
        for one, other in itertools.combinations(range(len(flows)), 2)
        if areas[0][flows[one][1]] & areas[0][flows[other][1]] and areas[1][flows[one][2]] & areas[1][flows[other][2]]
    }

    pair = sets[0].find_overlap(sets[1], (origin, destination), (low, high))

    assert (pair is None) == (not overlapping)
    assert pair is None or (min(pair), max(pair)) in overlapping
    for number, area in enumerate(areas[0]):
        inside, meeting = sets[0].related(number)
        assert inside.tolist() == [other <= area for other in areas[0]]
        assert meeting.tolist() == [bool(other & area) for other in areas[0]]


RECTANGLES = [
    "world",
    *(f"l:{a}/{b}/{x}/{y}" for a in range(3) for b in range(3) for x in (-1, 0) for y in (-1, 0) if a + b),
]
RECTANGLES += [f"q:0/{x}/{y}" for x in range(-2, 2) for y in range(-2, 2)]


def squares_in(area: str) -> set[tuple[int, int]]:
    """Return the squares of an area near 0,0."""
    if area == "world":
        return set(itertools.product(range(-8, 8), repeat=2))
    numbers = [int(number) for number in re.findall(r"-?\d+", area)]
    wide, high, x, y = numbers if area.startswith("l") else [0, *numbers]
    columns, rows = range(x << wide, (x + 1) << wide), range(y << high, (y + 1) << high)
    return set(itertools.product(columns, rows))


@given(st.lists(st.sampled_from(RECTANGLES), unique=True, min_size=1, max_size=8))
def test_rectangles_are_what_their_ids_say(areas: list[str]) -> None:
    """Which areas hold a tile, lie in another and meet it: by arithmetic and by sets of squares."""
    ground = SquareLattice(200, "EPSG:32633", aspect=2)
    sets = [squares_in(area) for area in areas]
    squares = sorted(squares_in("world"))
    tiles = [ground.tile(f"q:0/{x}/{y}") for x, y in squares]
    side = ground.side(areas)

    spots = side.spots(np.array(tiles, np.int64))

    holders = side.holders(spots)
    for place, square in enumerate(squares):
        held = holders.value[holders.start[place] : holders.start[place + 1]].tolist()
        assert sorted(held) == [number for number, inside in enumerate(sets) if square in inside]
    extents = ground.extents(areas)
    for number, area in enumerate(areas):
        ground.check_id(area) if area != "world" else None
        inside, meeting = extents.related(number)
        assert inside.tolist() == [other <= sets[number] for other in sets]
        assert meeting.tolist() == [bool(other & sets[number]) for other in sets]


# --- cells and trees, against other code ------------------------------------------------------------------------------

PENTAGONS = sorted(h3.get_base_cell_number(pentagon) for pentagon in h3.get_pentagons(0))


@pytest.mark.slow
@pytest.mark.parametrize("base", [BASE, 0, *PENTAGONS[:2]])
def test_cells_of_rectangles_are_counted_as_listed(base: int) -> None:
    """Rectangles within, across and beyond the edge of a base cell, and over the sixth that a pentagon lacks."""
    resolution = 4
    top = next(one for one in h3.get_res0_cells() if h3.get_base_cell_number(one) == base)
    middle = h3.cell_to_center_child(top, resolution)
    places = np.array([h3.cell_to_local_ij(middle, one) for one in h3.cell_to_children(top, resolution)])
    half = 1 << (_BITS[resolution] - 1)
    assert -half <= places.min() <= places.max() < half
    assert max(-places.min(), places.max()) >= half // 2  # no more bits than needed

    for wide, high in itertools.product((3, 5, 7), repeat=2):
        for x, y in itertools.product(range(-half, half, 1 << wide), range(-half, half, 1 << high)):
            inside = ((places >= (x, y)) & (places < (x + 2**wide, y + 2**high))).all(axis=1)
            assert count_cells(base, resolution, (x, y), (2**wide, 2**high)) == inside.sum()


def points_near(kind: str, seed: int) -> list[tuple[float, float]]:
    """Return latitudes and longitudes around a place where base cells are special, or anywhere."""
    random = np.random.default_rng(seed)
    lat, lon = {
        "pentagon": h3.cell_to_latlng(h3.get_pentagons(0)[seed % 12]),
        "border": h3.cell_to_boundary(sorted(h3.get_res0_cells())[seed % 122])[0],
        "middle": h3.cell_to_latlng(sorted(h3.get_res0_cells())[seed % 122]),
        "180 degrees": (random.uniform(-60, 60), 180.0),
        "pole": (random.choice([89.5, -89.5]), 0.0),
    }[kind]
    around = random.normal(size=(30, 2)) * 10 ** random.uniform(-2, 1)
    return [
        (float(np.clip(lat + north, -90, 90)), float((lon + east + 180) % 360 - 180)) for north, east in around.tolist()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pentagon", "border", "middle", "180 degrees", "pole"])
@given(seed=st.integers(0, 10**6), resolution=st.integers(0, 9), aspect=st.integers(1, 8))
@settings(max_examples=5, deadline=None)
@example(seed=0, resolution=3, aspect=2)
def test_rectangles_of_cells_are_described_alike(kind: str, seed: int, resolution: int, aspect: int) -> None:
    """What makers write of an area follows from its id, wherever base cells end, lack a part or are crossed."""
    cells = {h3.str_to_int(h3.latlng_to_cell(*point, resolution)) for point in points_near(kind, seed)}
    grid, ground = H3Lattice(resolution, aspect), CellLattice(resolution, aspect=aspect)
    tree, _ = grid.hierarchy(np.array(sorted(cells), np.uint64))
    family = grid.family(tree)
    areas = np.random.default_rng(seed).permutation(np.arange(1, len(family)))[:25]

    table = grid.describe(family, areas)

    rows = zip(table.area, table.tiles, table.lon, table.lat, table.geometry, strict=True)
    for area, tiles, lon, lat, shape in rows:
        ground.check_id(area)
        assert ground.tiles(area) == tiles
        assert ground.is_center(area, (lon, lat))
        assert ground.is_shape(area, shape)


@pytest.mark.slow
@given(st.integers(0, 10**6), st.sampled_from(["EPSG:32631", "EPSG:3857"]), st.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_rectangles_of_squares_are_described_alike(seed: int, crs: str, aspect: int) -> None:
    """Around 0,0 of the plane, too, where the longest sides are."""
    random = np.random.default_rng(seed)
    bbox = (2.9, -0.2, 3.1, 0.2)
    grid, ground = MadeSquares(200.0, bbox, crs, aspect), SquareLattice(200.0, crs, bbox, aspect=aspect)
    lon, lat = (pa.array(random.uniform(low, high, 30)) for low, high in ((bbox[0], bbox[2]), (bbox[1], bbox[3])))
    tree, _ = grid.hierarchy(np.unique(grid.index(lon, lat).to_numpy()))
    family = grid.family(tree)

    table = grid.describe(family, np.arange(1, len(family)))

    for row, area in enumerate(table.area):
        ground.check_id(area)
        center = None if np.isnan(table.lon[row]) else (table.lon[row], table.lat[row])
        assert ground.tiles(area) == table.tiles[row]
        assert ground.is_center(area, center)
        assert ground.is_shape(area, table.geometry[row])


@pytest.mark.slow
@given(st.integers(2, 40), st.integers(0, 10**6), st.booleans())
@settings(max_examples=15, deadline=None)
def test_trees_of_zones_are_computed_alike(count: int, seed: int, on_a_line: bool) -> None:
    """All sixteen, node by node, also where zones stand in line or in the same place."""
    random = np.random.default_rng(seed)
    lon, lat = random.integers(0, 30, (2, count)) / 100 + 10
    lat = lat * 0 + 50 if on_a_line else lat
    ids = [f"{zone:03}" for zone in range(count)]
    table = read_zones(pa.table({"zone_id": ids, "lon": lon, "lat": lat}), None, {})
    made = many_trees(table)
    dendrograms = Dendrograms(lon, lat)

    assert list(made) == list(TREES)
    for name, parent in made.items():
        held: list[set[int]] = [{zone} for zone in range(count)] + [set() for _ in range(count - 1)]
        for zone in range(count):
            node = int(parent[zone])
            while node >= 0:
                held[node].add(zone)
                node = int(parent[node])
        tree = dendrograms.tree(name)
        for node, zones in enumerate(held[:-1]):
            own = tree.zones(node)
            assert own is not None
            assert set(own.tolist()) == zones
            assert tree.has(own)
        assert tree.zones(len(held) - 1) is None
        some = {0, count - 1}
        assert tree.has(np.array(sorted(some))) == (some in held)


# --- what makers write ------------------------------------------------------------------------------------------------


def trips_around(points: list[tuple[float, float]], seed: int) -> pa.Table:
    """Return trips of a few people between some places, at some hours and of some kinds."""
    random = np.random.default_rng(seed)
    ends = np.array(points)[random.choice(len(points), (120, 2), p=random.dirichlet(np.ones(len(points))))]
    names = ("start_lat", "start_lon", "end_lat", "end_lon")
    columns: dict[str, Any] = dict(zip(names, ends.reshape(-1, 4).T, strict=True))
    columns["person_id"] = [f"p{person}" for person in random.integers(0, 25, 120)]
    columns["kind"] = random.choice(["bus", "train"], 120)
    columns["start_time"] = np.datetime64("2024-03-01T06:00", "us") + random.integers(0, 6, 120).astype(
        "timedelta64[h]"
    )
    return pa.table(columns)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"loss": "area"},
    {"max_suppression": 0},
    {"method": "nested"},
    {"method": "oigh"},
    {"elsewhere": True, "max_suppression": 0.5},
    {"totals": True, "max_suppression": 0.5},
]
MATRICES: list[dict[str, Any]] = [{}, {"by": "kind"}, {"time": "1h"}, {"time_hierarchy": "1h<day"}]
PLACES = ("pentagon", "border", "middle", "180 degrees", "squares", "zones")


def make_release(
    places: str,
    seed: int,
    aspect: int,
    unit: str | None,
    matrices: dict[str, Any],
    options: dict[str, Any],
    folder: Path,
) -> tuple[Path, dict[str, Any]] | None:
    """Write a release of random trips; return it with what it was made from, None if its promise cannot be kept."""
    random = np.random.default_rng(seed)
    lattice = "lattice" if aspect == 2 else f"lattice:{aspect}"
    known: dict[str, Any] = {}
    if places == "zones":
        count = int(random.integers(2, 30))
        lon, lat = random.integers(0, 30, (2, count)) / 100 + 10
        outlines = shapely.to_wkb(shapely.box(lon - 0.004, lat - 0.004, lon + 0.004, lat + 0.004)).tolist()
        ids = [f"{zone:03}" for zone in range(count)]
        known["zones"] = pa.table({"zone_id": ids, "lon": lon, "lat": lat, "geometry": outlines})
        trips = trips_around([(zone, zone) for zone in range(count)], seed)
        for end, column in (("origin", "start_lat"), ("destination", "end_lat")):
            trips = trips.append_column(end, pa.array([f"{int(zone):03}" for zone in trips[column].to_pylist()]))
        where = {"hierarchy": "many", "zones": known["zones"]}
    elif places == "squares":
        trips = trips_around((random.normal(size=(30, 2)) / 40 + (0.0, 3.0)).tolist(), seed)
        where = {"grid": "quadtree:200", "hierarchy": lattice, "bbox": (2.9, -0.1, 3.1, 0.1)}
    else:
        trips = trips_around(points_near(places, seed), seed)
        where = {"grid": f"h3:{random.integers(2, 11)}", "hierarchy": lattice}
    if matrices.get("time_hierarchy") and options.get("method"):
        matrices = {}
    if matrices and options.get("elsewhere"):
        options = {}
    if options.get("totals"):
        matrices = {"by": "kind"}
    flows = fv.build_flows(trips, unit=unit, **where, **matrices)
    try:
        return fv.anonymize(flows, k=3, **options).write(folder / "out"), {"trips": trips} | known
    except fv.PromiseError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("places", PLACES)
def test_a_release_by_makers_verifies(places: str, tmp_path: Path) -> None:
    """In the middle of a base cell of H3, across several, around a pentagon; squares; zones."""
    release = make_release(places, 5, 2, "person_id", {}, {"max_suppression": 0.5}, tmp_path)

    assert release is not None
    assert verify(release[0], **release[1]).flows > 1


@pytest.mark.slow
@pytest.mark.parametrize("places", PLACES)
@given(
    seed=st.integers(0, 10**6),
    aspect=st.sampled_from([1, 2, 5]),
    unit=st.sampled_from([None, "person_id"]),
    options=st.sampled_from(OPTIONS),
    matrices=st.sampled_from(MATRICES),
)
@settings(max_examples=10, deadline=None)
def test_any_release_by_makers_verifies(
    places: str, seed: int, aspect: int, unit: str | None, options: dict[str, Any], matrices: dict[str, Any]
) -> None:
    """Whatever the method, the loss, the matrices and what stands beside them."""
    with tempfile.TemporaryDirectory() as folder:
        release = make_release(places, seed, aspect, unit, matrices, options, Path(folder))
        assert release is None or verify(release[0], **release[1]).flows > 0


def test_a_lone_zone_is_an_area(tmp_path: Path) -> None:
    """Each of the trees is one zone and the root above it, which are not the same."""
    zones = pa.table({"zone_id": ["a"], "lon": [10.0], "lat": [50.0]})
    trips = pa.table({"origin": ["a"] * 12, "destination": ["a"] * 12})

    release = fv.anonymize(fv.build_flows(trips, zones=zones, hierarchy="many"), k=10)

    assert release.flows.to_pylist() == [{"origin": "ward:0", "destination": "ward:0", "trips": 12}]
    assert verify(release.write(tmp_path / "out"), trips, zones=zones).flows == 1
