"""Files of others are understood by their columns, and what is computed is what the layout says."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import flowveil as fv

FILES = Path(__file__).parent / "layouts"
ENDS = ("start_lon", "start_lat", "end_lon", "end_lat")
FIRST = {  # of each file: what its first row says, as its publisher means it
    "divvy": {"origin": "N1", "destination": "S1", "point": (4.5, 50.3, 4.6, 50.4), "hour": "2023-05-01T08"},
    "citibike": {"origin": "164", "destination": "504", "point": (4.5, 50.3, 4.6, 50.4), "hour": "2013-07-01T08"},
    "divvy-stations": {"origin": "81", "destination": "56", "hour": "2019-04-01T08"},
    "tlc-yellow": {"origin": "142", "destination": "43", "hour": "2021-01-01T08"},
    "tlc-green": {"origin": "43", "destination": "151", "hour": "2021-01-01T08"},
    "tlc-hire": {"origin": "43", "destination": "151", "hour": "2021-01-01T08"},
    "lodes": {"origin": "010010201002003", "destination": "010010201001000", "count": 3},
    "mitma": {"origin": "01001", "destination": "01009_AM", "count": 13, "hour": "2022-01-01T08"},
    "porto": {"point": (4.5, 50.3, 4.6, 50.4), "hour": "2013-07-01T08"},
    "mds": {"point": (4.5, 50.3, 4.6, 50.4), "hour": "2023-05-01T08"},
    "mds-route": {"point": (4.5, 50.3, 4.6, 50.4), "hour": "2023-05-01T08"},
    "flowmap-blue": {"origin": "n1", "destination": "s1", "count": 12},
    "skmob": {"origin": "n1", "destination": "s1", "count": 12},
    "matrix": {"origin": "n1", "destination": "s1", "count": 12},
}


def test_every_layout_has_a_file():
    """The list of layouts and the files here are of the same names."""
    names = {layout.name for layout in fv.layouts()}

    assert names == set(FIRST) == {path.stem for path in FILES.iterdir()}


@pytest.mark.parametrize("name", FIRST)
def test_layout_is_known_by_its_columns(name):
    """A file is known by itself, and has columns for all that its layout promises."""
    trips = fv.read_trips(FILES / f"{name}.csv")

    assert trips.layout.name == name
    assert set(trips.layout.columns) <= set(trips.columns)
    assert trips.layout.unit is None or trips.layout.unit in trips.available


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FIRST if "origin" in FIRST[name]])
def test_zones_and_counts(name):
    """Ends, counts and hours of the first row are those that its publisher means."""
    first = FIRST[name]
    ids = sorted({first["origin"], first["destination"]})
    zones = pa.table({"zone_id": ids, "lon": [4.5, 4.6][: len(ids)], "lat": [50.3, 50.4][: len(ids)]})
    time = "1h" if "hour" in first else None

    flows = fv.build_flows(FILES / f"{name}.csv", zones=zones, time=time, max_unusable=1)
    table = {(o, d): n for o, d, n in pairs(flows, ids)}

    assert table[first["origin"], first["destination"]] == first.get("count", 2 if name == "divvy" else 1)
    if time:
        assert flows.matrices["time"][0].as_py().isoformat().startswith(first["hour"])


def pairs(flows, ids):
    """Yield origin, destination and trips by the ids of zones, of all matrices together."""
    for origin, destination in {*zip(flows.origin.tolist(), flows.destination.tolist(), strict=True)}:
        here = (flows.origin == origin) & (flows.destination == destination)
        yield (
            ids[int(flows.origins.key[origin])],
            ids[int(flows.destinations.key[destination])],
            int(flows.trips[here].sum()),
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FIRST if "point" in FIRST[name]])
def test_points(name):
    """Coordinates of the first row are those that its publisher means, be they inside JSON."""
    trips = fv.read_trips(FILES / f"{name}.csv")
    row = trips.head(1).to_pylist()[0]
    lon, lat, end_lon, end_lat = FIRST[name]["point"]

    assert [float(row[trips.columns[end]]) for end in ENDS] == [lon, lat, end_lon, end_lat]
    flows = fv.build_flows(trips, "h3:7", time="1h", max_unusable=1)
    assert flows.matrices["time"][0].as_py().isoformat().startswith(FIRST[name]["hour"])


def test_rows_that_a_layout_cannot_use_are_counted():
    """An empty path has no ends, and less than half a trip is no trip: both are told."""
    porto = fv.build_flows(FILES / "porto.csv", "h3:7", max_unusable=1)
    zones = pa.table({"zone_id": ["n1", "s1", "w1"], "lon": [4.5, 4.6, 4.7], "lat": [50.3] * 3})
    matrix = fv.build_flows(FILES / "matrix.csv", zones=zones)

    assert porto.provenance.dropped == {"null coordinate": 1}
    assert matrix.provenance.dropped == {"less than half a trip": 1}
    assert matrix.total == 12 + 4 + 7 + 1 + 2


def test_layout_by_name():
    """A layout may be named or switched off; one that does not fit, or does not exist, is an error."""
    assert fv.read_trips(FILES / "porto.csv", layout="").layout is None
    assert fv.read_trips(FILES / "skmob.csv", layout="skmob").layout.name == "skmob"
    with pytest.raises(fv.InputError, match="no column 'fecha', which the layout mitma has"):
        fv.read_trips(FILES / "skmob.csv", layout="mitma")
    with pytest.raises(fv.UnknownNameError, match="no layout 'divy'"):
        fv.read_trips(FILES / "divvy.csv", layout="divy")


def test_columns_go_before_a_layout():
    """What the user maps counts, and '' means none."""
    trips = fv.read_trips(FILES / "lodes.csv", {"count": "SA01"})

    assert trips.columns["count"] == "SA01"
    assert "count" not in fv.read_trips(FILES / "lodes.csv", {"count": ""}).columns


def test_condition_on_computed_columns():
    """A condition may look at what a layout computes."""
    trips = fv.read_trips(FILES / "porto.csv", where="start_lon < 4.505")

    assert fv.build_flows(trips, "h3:7").total == 1
