"""What the choice of areas tells: every statement that is called certain is true, and planted ones are found."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._risk.case import Case
from flowveil._risk.minimality import Deduction, _divisions
from flowveil.synthetic import CITY_BBOX

BOX = (7.0, 46.0, 7.2, 46.1)
SQUARES = {"grid": "quadtree:500", "bbox": BOX}


def attack(folder, trips=None):
    """Return the finding of the attack, None if it does not apply."""
    findings = fv.risk(folder, trips, attacks="minimality").findings
    return findings[0] if findings else None


def write_city(folder, seed, trips=400):
    """Write trips of a small city."""
    path = folder / f"{seed}.parquet"
    fv.synthetic.write_city(path, trips=trips, persons=trips // 6, seed=seed)
    return path


# What is counted, with which method and options, how much is left out, and which grid; none is like another.
CASES = [
    ({"hierarchy": "h3"}, {}, 0.0),
    ({"hierarchy": "h3-binary", "unit": "person_id"}, {}, 0.1),
    ({"hierarchy": "lattice"}, {}, 0.05),
    ({"hierarchy": "lattice", "by": "sex"}, {"options": {"budget": "each"}}, 0.0),
    ({"grid": "quadtree:1000", "hierarchy": "lattice"}, {"remainders": True}, 0.0),
    ({"grid": "quadtree:1000", "hierarchy": "quadtree"}, {"remainders": True}, 0.02),
    ({"hierarchy": "h3", "by": "sex"}, {"method": "nested"}, 0.2),
    ({"hierarchy": "h3-binary"}, {"loss": "area"}, 0.02),
    ({"hierarchy": "lattice"}, {"elsewhere": True}, 0.1),
    ({"hierarchy": "h3", "time_hierarchy": "hour-of-day<6h"}, {}, 0.1),
]
QUICK = (0, 2, 4, 6)


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case in QUICK else pytest.mark.slow) for case in range(len(CASES))]
)
def test_no_certain_statement_is_wrong(case, tmp_path):
    """Whatever is counted, and with whatever options, all statements are true."""
    places, options, share = CASES[case]
    path = write_city(tmp_path, case)
    flows = fv.build_flows(path, **{"grid": "h3:7", "bbox": CITY_BBOX} | places)
    folder = fv.anonymize(flows, k=4, max_suppression=share, **options).write(tmp_path / "release")

    found = attack(folder, path)

    assert found.figure > 0
    assert (found.details["wrong"], found.details["right"], found.verdict) == (0, found.figure, "tells")
    assert found.figure == attack(folder).figure  # it does not look at the trips to find them


@pytest.mark.parametrize("hierarchy", ["ward", pytest.param("many", marks=pytest.mark.slow)])
def test_trees_of_zones(hierarchy, tmp_path):
    """With zones, all ways of all trees are looked at."""
    city = fv.synthetic.City(seed=1)
    pq.write_table(city.zones(), tmp_path / "zones.parquet")
    pq.write_table(city.trips(600, ends="zones"), tmp_path / "trips.parquet")
    flows = fv.build_flows(tmp_path / "trips.parquet", zones=tmp_path / "zones.parquet", hierarchy=hierarchy)
    folder = fv.anonymize(flows, k=4, max_suppression=0.01).write(tmp_path / "release")

    found = attack(folder, tmp_path / "trips.parquet")

    assert found.figure > found.details["flows"]
    assert found.details["wrong"] == 0


def test_halves_counted_by_hand(tmp_path):
    """Brute force: halves of rectangles of squares, and children of H3 cells, counted from the trips themselves."""
    path = write_city(tmp_path, 5)
    flows = fv.build_flows(path, "quadtree:1000", hierarchy="lattice", bbox=CITY_BBOX)
    release = fv.anonymize(flows, k=4, max_suppression=0)
    case = Case(release.write(tmp_path / "release"))
    deduction = Deduction(case, _divisions(case))
    ids = [
        flows.places.ids(tree, leaf)
        for tree, leaf in ((flows.origins, flows.origin), (flows.destinations, flows.destination))
    ]
    tiles = [[tuple(map(int, name.removeprefix("q:0/").split("/"))) for name in names] for names in ids]

    def side(area, of):
        sides = area.removeprefix("l:").removeprefix("q:0/").split("/")
        wide, high, x, y = map(int, sides if len(sides) == 4 else ("0", "0", *sides))
        return ((x << wide, (x + 1) << wide), (y << high, (y + 1) << high))[of]

    def inside(area, tile):
        return area == "world" or all(side(area, of)[0] <= tile[of] < side(area, of)[1] for of in (0, 1))

    statements = deduction.statements()
    checked = 0
    for statement in statements:
        ends = [deduction.ends[end][statement.flow] for end in (0, 1)]
        rows = [row for row in range(len(flows)) if all(inside(area, tiles[end][row]) for end, area in enumerate(ends))]
        assert sum(int(flows.trips[row]) for row in rows) == deduction.table["trips"][statement.flow].as_py()
        wide, high = (int(number) for number in ends[statement.end].removeprefix("l:").split("/")[:2])
        halvable = [
            of
            for of, shape in enumerate([(wide - 1, high), (wide, high - 1)])
            if min(shape) >= 0 and abs(shape[0] - shape[1]) <= 2
        ]
        for of in halvable:
            middle = sum(side(ends[statement.end], of)) // 2
            low = sum(int(flows.trips[row]) for row in rows if tiles[statement.end][row][of] < middle)
            high_half = deduction.table["trips"][statement.flow].as_py() - low
            assert 1 <= low < 4 or 1 <= high_half < 4
            checked += 1
    assert checked == sum(map(deduction.ways, statements)) > 20


def trips_between(points, path):
    """Write trips between points (origin, destination, how many); a point is so many squares east, and north."""
    rows = [(start, end) for start, end, count in points for _ in range(count)]
    table = {
        name: [BOX[side] + 0.05 + 0.0065 * pair[end][side] for pair in rows]
        for end, names in enumerate((("start_lon", "start_lat"), ("end_lon", "end_lat")))
        for side, name in enumerate(names)
    }
    pq.write_table(pa.table(table), path)
    return path


def test_a_planted_part_is_found(tmp_path):
    """Of 13 trips 3 begin in another tile: the flow stays whole, and tells that one of its parts is small."""
    path = trips_between([((0, 0), (5, 0), 10), ((1, 0), (5, 0), 3)], tmp_path / "trips.parquet")
    flows = fv.build_flows(path, **SQUARES, hierarchy="quadtree")
    folder = fv.anonymize(flows, k=10, max_suppression=0).write(tmp_path / "release")

    found = attack(folder, path)

    assert fv.read_release(folder).flows.num_rows == 1
    assert (found.figure, found.details, found.verdict) == (1, {"flows": 1, "right": 1, "wrong": 0}, "tells")
    assert "Hide the choice" in found.advice


def test_nothing_is_claimed_of_tiles(tmp_path):
    """All flows are between single tiles: nothing could have been finer."""
    path = trips_between([((0, 0), (5, 0), 10), ((1, 0), (5, 0), 12)], tmp_path / "trips.parquet")
    flows = fv.build_flows(path, **SQUARES, hierarchy="quadtree")
    folder = fv.anonymize(flows, k=10, max_suppression=0).write(tmp_path / "release")

    found = attack(folder, path)

    assert (found.figure, found.verdict, found.advice) == (0, "holds", "")


def test_nothing_is_claimed_of_a_hidden_choice(tmp_path):
    """The planted part proves nothing where a secret draw may have kept the flow whole."""
    path = trips_between([((0, 0), (5, 0), 10), ((1, 0), (5, 0), 3)], tmp_path / "trips.parquet")
    flows = fv.build_flows(path, **SQUARES, hierarchy="quadtree")
    folder = fv.anonymize(flows, k=10, max_suppression=0, hide_choice=0.5).write(tmp_path / "release")

    assert (attack(folder, path).figure, attack(folder, path).verdict) == (0, "holds")


def test_a_nested_cut_may_stand_in_for_a_mosaic(tmp_path):
    """With a budget, flows that may be a nested cut prove nothing of the end that comes first; with none they do."""
    path = trips_between([((0, 0), (5, 0), 10), ((1, 0), (5, 0), 3)], tmp_path / "trips.parquet")
    flows = fv.build_flows(path, **SQUARES, hierarchy="quadtree")
    folder = fv.anonymize(flows, k=10, max_suppression=0.01).write(tmp_path / "release")

    assert attack(folder).figure == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"method": "crosscut"},
        {"min_tiles": 2},
        {"loss": "reconstruction"},
        {"unit": True, "remainders": True},
        {"unit": True, "max_share": 0.5},
    ],
    ids=str,
)
def test_it_does_not_apply_where_nothing_follows(options, tmp_path):
    """Other methods, losses and tests do not divide wherever each part is a crowd."""
    path = write_city(tmp_path, 1)
    unit = "person_id" if options.pop("unit", None) else None
    flows = fv.build_flows(path, "h3:6", hierarchy="h3", unit=unit, bbox=CITY_BBOX)
    folder = fv.anonymize(flows, k=5, **options).write(tmp_path / "release")

    assert attack(folder) is None


def test_parts_of_a_remainder(tmp_path):
    """A remainder of 5 is left over by parts of one way, of which each holds fewer than k = 4: so at least two do."""
    points = [((x, y), (8, 2), count) for x, y, count in [(0, 0, 9), (1, 0, 3), (0, 1, 2)]]
    path = trips_between(points, tmp_path / "trips.parquet")
    flows = fv.build_flows(path, **SQUARES, hierarchy="quadtree")
    folder = fv.anonymize(flows, k=4, max_suppression=0, remainders=True).write(tmp_path / "release")

    assert sorted(fv.read_release(folder).flows["trips"].to_pylist()) == [5, 9]
    assert (attack(folder, path).figure, attack(folder, path).details["wrong"]) == (1, 0)
