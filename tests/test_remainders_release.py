"""Releases with remainders: what is written down can be counted again, is verified, and is read right."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._kinds import report_numbers
from flowveil._remainders import find_above
from flowveil._verify.extents import Spans
from flowveil._verify.layers import find_depths
from flowveil._verify.tables import FlowTable
from flowveil.synthetic import CITY_BBOX
from tests.test_promise import write

K = 8
KINDS = {
    "persons": {"unit": "person_id"},
    "trips": {},
    "by": {"by": "sex", "unit": "person_id"},
    "time": {"time": "hour-of-day"},
    "weight": {"unit": "person_id", "weight": "weight"},
    "tree": {"unit": "person_id", "hierarchy": "h3"},
}

MARKED = [pytest.param(kind, marks=() if kind == "persons" else pytest.mark.slow) for kind in KINDS]


@pytest.fixture(scope="module")
def releases(city_trips, tmp_path_factory):
    """Return a function that writes a release with remainders of a kind, once, and returns its folder."""
    folder = tmp_path_factory.mktemp("remainders")

    @cache
    def made(kind):
        options = KINDS[kind]
        flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, **options)
        share = 0.0 if "unit" in options else 0.02
        release = fv.anonymize(flows, k=K, max_suppression=share, remainders=True)
        return release.write(folder / kind, report=kind == "persons")

    return made


def flows_holding(folder):
    """Return a function from two tiles and keys to the flows that hold them, the smallest first."""
    flows, areas = pq.read_table(folder / "flows.parquet"), pq.read_table(folder / "areas.parquet").to_pylist()
    shapes = {(row["area"], row["side"]): shapely.from_wkb(row["geometry"]) for row in areas}
    tiles = {(row["area"], row["side"]): row["tiles"] for row in areas}
    keys = [name for name in flows.column_names if name in ("sex", "time")]
    of_key = defaultdict(list)
    for number, row in enumerate(flows.to_pylist()):
        ends = (row["origin"], "origin"), (row["destination"], "destination")
        of_key[tuple(row[name] for name in keys)].append((tiles[ends[0]] * tiles[ends[1]], number, ends))
    inside = {}

    def holds(end, tile):
        if (end, tile) not in inside:
            lat, lon = h3.cell_to_latlng(tile)
            inside[end, tile] = shapely.contains_xy(shapes[end], lon, lat)
        return inside[end, tile]

    def find(origin, destination, key):
        return [
            number
            for _, number, (first, second) in sorted(of_key[key])
            if holds(first, origin) and holds(second, destination)
        ]

    return flows, keys, find


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [kind for kind in MARKED if kind.values != ("tree",)]
)  # H3 cells nest by number, not on the ground
def test_counted_again_by_hand(city_trips, releases, kind):
    """Every trip is in the smallest flow that holds its tiles; numbers, flags and crowds are those of the table."""
    flows, keys, find = flows_holding(releases(kind))
    names = ["start_lon", "start_lat", "end_lon", "end_lat", "person_id", "sex", "start_time"]
    trips, persons, finer, known, left_out = Counter(), defaultdict(set), set(), {}, 0
    rows = pq.read_table(city_trips, columns=names).to_pylist()
    for row in rows:
        ends = [h3.latlng_to_cell(row[f"{end}_lat"], row[f"{end}_lon"], 7) for end in ("start", "end")]
        values = {"sex": row["sex"], "time": row["start_time"].hour}
        pair = (*ends, tuple(values[name] for name in keys))
        if pair not in known:
            known[pair] = find(*pair)
        if not known[pair]:
            left_out += 1
            continue
        smallest, *others = known[pair]
        trips[smallest] += 1
        persons[smallest].add(row["person_id"])
        finer |= set(others)

    assert [trips[flow] for flow in range(len(flows))] == flows["trips"].to_pylist()
    assert {flow for flow, marked in enumerate(flows["remainder"].to_pylist()) if marked} == finer
    assert finer
    crowd = [len(persons[flow]) for flow in range(len(flows))] if "persons" in flows.column_names else trips.values()
    assert min(crowd) >= K
    if "persons" in flows.column_names:
        assert flows["persons"].to_pylist() == crowd
    assert left_out <= 0.02 * len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MARKED)
def test_verified_and_measured(city_trips, releases, kind):
    """The checker agrees, and so do metrics that were computed from the folder."""
    checked = fv.verify(releases(kind), city_trips)
    figures = fv.evaluate(releases(kind), city_trips)

    assert any("remainder" in sentence for sentence in checked.checks)
    audit = json.loads(releases(kind).with_name(f"{kind}.audit.json").read_text())["metrics"]
    assert {name: audit[name] for name in ("e", "d", "gbar", "suppressed")} == {
        name: pytest.approx(figures[name]) for name in ("e", "d", "gbar", "suppressed")
    }


@pytest.mark.slow
@pytest.mark.parametrize("hierarchy", ["many", "zone_id,district,region"])
def test_zones(city_zone_trips, tmp_path, hierarchy):
    """On zones, with many trees, or one and time as an axis, a release verifies, and readers find what holds what."""
    time = None if hierarchy == "many" else "hour-of-day<part-of-day"
    zones = city_zone_trips.with_name("zones.parquet")
    flows = fv.build_flows(city_zone_trips, zones=zones, hierarchy=hierarchy, time_hierarchy=time)
    release = fv.anonymize(flows, k=K, max_suppression=0.02, remainders=True)
    folder = release.write(tmp_path / "out")

    fv.verify(folder, city_zone_trips)
    assert release.flows["remainder"].to_pylist().count(True) > 1
    above = find_above(release.flows, release.areas, ["time", "time_end"] if time else [])
    assert np.isin(np.arange(len(above)), above).tolist() == release.flows["remainder"].to_pylist()


def change_flag(flows):
    """Say of a remainder that it is none."""
    flags = flows["remainder"].to_pylist()
    flags[flags.index(True)] = False
    return flows.set_column(flows.column_names.index("remainder"), "remainder", pa.array(flags))


def add_flag(flows):
    """Say of a flow that holds no other that it is a remainder."""
    flags = flows["remainder"].to_pylist()
    flags[flags.index(False)] = True
    return flows.set_column(flows.column_names.index("remainder"), "remainder", pa.array(flags))


def count_more(flows):
    """Count a trip more in a remainder."""
    row = flows["remainder"].to_pylist().index(True)
    trips = flows["trips"].to_numpy().copy()
    trips[row] += 1
    return flows.set_column(flows.column_names.index("trips"), "trips", pa.array(trips))


@pytest.mark.slow
@pytest.mark.parametrize("change", [change_flag, add_flag, count_more])
def test_changes_are_found(city_trips, releases, tmp_path, change):
    """A flag that is wrong, or a volume, is found."""
    folder = tmp_path / "changed"
    shutil.copytree(releases("trips"), folder)
    write(change(pq.read_table(folder / "flows.parquet")), folder / "flows.parquet")

    with pytest.raises(fv.VerificationError):
        fv.verify(folder, city_trips, columns=None)


@pytest.mark.slow
def test_finer_flow_taken_away_is_found(city_trips, releases, tmp_path):
    """Without a finer flow its trips would be in the remainder: the volume of that is then wrong."""
    folder = tmp_path / "changed"
    shutil.copytree(releases("trips"), folder)
    flows, areas = (pq.read_table(folder / name) for name in ("flows.parquet", "areas.parquet"))
    above = find_above(flows, areas, [])
    used = Counter(flows["origin"].to_pylist()), Counter(flows["destination"].to_pylist())
    row = next(
        row
        for row in np.flatnonzero(above >= 0).tolist()
        if used[0][flows["origin"][row].as_py()] > 1
        and used[1][flows["destination"][row].as_py()] > 1
        and Counter(above.tolist())[above[row]] > 1
    )
    write(flows.filter(np.arange(len(flows)) != row), folder / "flows.parquet")

    with pytest.raises(fv.VerificationError, match=r"does not have the trips of the input|overlap"):
        fv.verify(folder, city_trips)


@pytest.mark.slow
def test_spread_over_what_is_left(releases):
    """Nothing of a remainder is placed where finer flows are: a zone around each end of one has that flow only."""
    release = fv.read_release(releases("trips"))
    above = find_above(release.flows, release.areas, [])
    sums = fv.reconstruct(
        releases("trips"),
        pa.table(
            {
                "zone_id": ["all"],
                "geometry": [shapely.to_wkb(shapely.box(*CITY_BBOX).buffer(1))],
            }
        ),
    )
    shapes = {(row["area"], row["side"]): row["geometry"] for row in release.areas.to_pylist()}
    flow = next(flow for flow in np.flatnonzero(above >= 0).tolist() if flow not in above)
    row = release.flows.slice(flow, 1).to_pylist()[0]
    zones = pa.table(
        {
            "zone_id": ["from", "to"],
            "geometry": [shapes[row["origin"], "origin"], shapes[row["destination"], "destination"]],
        }
    )
    estimate = fv.reconstruct(releases("trips"), zones).flows.to_pylist()
    between = {(one["origin"], one["destination"]): one["trips"] for one in estimate}

    assert sums.flows["trips"].to_pylist() == [pytest.approx(sum(release.flows["trips"].to_pylist()))]
    assert between["from", "to"] == pytest.approx(row["trips"], rel=1e-3)
    assert min(between.values()) >= 0


@pytest.mark.slow
def test_report_and_exports_say_it(releases, tmp_path):
    """The report counts remainders, and tables for other tools have the column."""
    table = pq.read_table(releases("persons") / "flows.parquet")
    marked = table["remainder"].to_pylist()

    numbers = report_numbers(releases("persons"))
    fv.export(releases("persons"), "flowmap-blue", tmp_path / "blue")

    assert numbers["figures"]["remainders"] == marked.count(True)
    assert "--remainders" in numbers["command"]
    header = (tmp_path / "blue" / "flows.csv").read_text().splitlines()[0]
    assert header.replace('"', "").split(",")[-1] == "remainder"


@pytest.mark.slow
def test_on_the_command_line(city_trips, tmp_path, capsys):
    """--remainders writes a release with remainders, which verifies; the promise says what they are."""
    arguments = ["--grid", "h3:7", "--unit", "person_id", "-k", "8", "--max-suppression", "0", "--remainders"]
    assert run(["anonymize", str(city_trips), "-o", str(tmp_path / "out"), *arguments]) == 0
    assert "all other trips" in capsys.readouterr().out
    assert run(["verify", str(tmp_path / "out"), "--against", str(city_trips)]) == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["promise"]["remainders"] is True
    assert "in the remainder" in manifest["absence"]


REFUSED = [
    {"method": "nested"},
    {"loss": "metres"},
    {"min_tiles": 2},
    {"elsewhere": True},
    {"totals": True},
    {"areas_from": "out"},
    {"beside": "out"},
    {"loss": "area", "max_gbar": 10.0},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", REFUSED)
def test_refused_where_it_does_not_hold(city_trips, options):
    """What remainders do not go with is refused, and named."""
    flows = fv.build_flows(city_trips, "h3:7", by="sex")
    with pytest.raises(fv.InputError, match=r"remainder|areas of an earlier"):
        fv.anonymize(flows, remainders=True, **options)


@pytest.mark.slow
def test_earlier_release_with_remainders_is_refused(city_trips, releases):
    """Its areas do not tell where a trip of another month would be counted."""
    flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX)
    for option in ("areas_from", "beside"):
        with pytest.raises(fv.InputError, match="the earlier release has remainders"):
            fv.anonymize(flows, k=K, **{option: releases("trips")})


@pytest.mark.parametrize(
    "hierarchy", ["h3", *(pytest.param(name, marks=pytest.mark.slow) for name in ("h3-binary", "lattice"))]
)
def test_readers_find_what_holds_what(city_trips, hierarchy):
    """From ids alone follows which flows lie in which: those that are marked hold others."""
    flows = fv.build_flows(city_trips, "h3:8", hierarchy=hierarchy)
    release = fv.anonymize(flows, k=K, max_suppression=0.0, remainders=True)

    above = find_above(release.flows, release.areas, [])

    assert np.isin(np.arange(len(above)), above).tolist() == release.flows["remainder"].to_pylist()
    assert len(np.unique(above)) > 10


class TestDepths:
    """The checker's own view of which flow lies in which."""

    def depths(self, origins, destinations, marked):
        """Return the depths of flows between intervals."""
        number = np.arange(len(origins))
        extents = tuple(Spans(np.array(ends)[:, :1], np.array(ends)[:, 1:]) for ends in (origins, destinations))
        slots = SimpleNamespace(of_flow=0 * number, bounds=lambda: (np.array([[0, 0]]), np.array([[1, 1]])))
        flows = FlowTable([f"o{n}" for n in number], [f"d{n}" for n in number], number, None, None)
        return find_depths(replace(flows, remainder=np.array(marked)), extents, (number, number), slots).tolist()

    def test_chain(self):
        """A flow in a remainder in a remainder is two deep, and what is beside it is not."""
        origins = [(0, 8), (0, 4), (0, 2), (4, 8)]
        destinations = [(0, 8), (0, 8), (0, 2), (8, 9)]

        assert self.depths(origins, destinations, [True, True, False, False]) == [0, 1, 2, 0]

    @pytest.mark.parametrize("marked", [[True, True, False], [True, False, False]])
    def test_crossing(self, marked):
        """A remainder that shares a pair of places with a flow which is not inside is found."""
        with pytest.raises(fv.VerificationError, match="overlap"):
            self.depths([(0, 4), (2, 6), (2, 3)], [(0, 4), (2, 6), (2, 3)], marked)

    def test_holder_that_is_not_marked(self):
        """What holds a remainder must be one."""
        with pytest.raises(fv.VerificationError, match="overlap"):
            self.depths([(0, 8), (0, 4), (0, 2)], [(0, 8)] * 3, [False, True, False])

    def test_remainder_of_nothing(self):
        """A remainder without a finer flow is none."""
        with pytest.raises(fv.VerificationError, match="holds no finer flow"):
            self.depths([(0, 8), (8, 9)], [(0, 8)] * 2, [True, False])
