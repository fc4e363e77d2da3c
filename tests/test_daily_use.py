"""Files as offices have them become verified releases without being edited."""

from __future__ import annotations

import zipfile

import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely

from flowveil._cli.commands import run

DRAW = np.random.default_rng(5)


def bike_trips(path, month, encoding, end):
    """Write a month of a bike-sharing system: every tenth trip has no station."""
    names = "ride_id,started_at,start_station_name,start_station_id,end_station_id,start_lat,start_lng,end_lat,end_lng"
    lines = [names]
    for number in range(200):
        (x, y), (u, v) = DRAW.uniform(0.01, 0.19, (2, 2)).round(4)
        station = "" if number % 10 == 0 else f"S{number % 7}"
        started = f"2023-0{month}-{number % 28 + 1:02} 08:10:00"
        lines.append(f"R{month}{number},{started},Café,{station},S1,{50 + y:.4f},{4 + x:.4f},{50 + v:.4f},{4 + u:.4f}")
    path.write_bytes((end.join(lines) + end).encode(encoding))


def make_and_verify(trips, out, *asked):
    """Run anonymize and verify as a user types them, and check that both succeed."""
    assert run(["anonymize", trips, "-o", str(out), "-k", "5", "--max-suppression", "0.5", *asked]) == 0
    assert run(["verify", str(out), "--against", trips]) == 0


@pytest.mark.slow
def test_two_months_of_bike_share_in_districts_of_ones_own(tmp_path):
    """Missing stations, two encodings and line ends, and polygons in a projected CRS that know no station."""
    geopandas = pytest.importorskip("geopandas")
    bike_trips(tmp_path / "202304.csv", 4, "utf-8", "\n")
    bike_trips(tmp_path / "202305.csv", 5, "cp1252", "\r\n")
    shapes = [shapely.box(4 + x, 50 + y, 4.1 + x, 50.1 + y) for x in (0, 0.1) for y in (0, 0.1)]
    frame = geopandas.GeoDataFrame({"id": list("abcd"), "name": list("ABCD")}, geometry=shapes, crs="EPSG:4326")
    frame.to_crs(3035).to_file(tmp_path / "districts.gpkg")

    zones = ["--zones", str(tmp_path / "districts.gpkg"), "--hierarchy", "ward"]
    make_and_verify(str(tmp_path / "2023*.csv"), tmp_path / "out", *zones)


def test_wide_matrix(tmp_path):
    """Row and column names are zones, decimals have commas, and zones are points in a table."""
    names = [f"Zone {number}" for number in range(6)]
    cells = DRAW.uniform(0, 40, (6, 6)).round(1)
    lines = [";".join(["", *names])]
    lines += [
        ";".join([name, *(str(value).replace(".", ",") for value in row)])
        for name, row in zip(names, cells, strict=True)
    ]
    (tmp_path / "matrix.csv").write_text("\n".join(lines), encoding="utf-16")
    points = [f"{name};{4 + number / 10};50" for number, name in enumerate(names)]
    (tmp_path / "zones.csv").write_text("\n".join(["zone;lon;lat", *points]))

    zones = ["--zones", str(tmp_path / "zones.csv"), "--hierarchy", "ward", "--decimal", ","]
    make_and_verify(str(tmp_path / "matrix.csv"), tmp_path / "out", *zones)


def test_commuting_table_without_shapes(tmp_path):
    """Jobs by block, which a table of blocks joins to counties; nothing is on a map."""
    blocks = [f"01{county}{number}" for county in range(3) for number in range(4)]
    rows = [f"{home},{work},{DRAW.integers(1, 9)}" for home in blocks for work in blocks]
    (tmp_path / "od.csv").write_text("\n".join(["h_geocode,w_geocode,S000", *rows]))
    table = [f"{block},county {block[2]}" for block in blocks]
    (tmp_path / "blocks.csv").write_text("\n".join(["block,county", *table]))

    zones = ["--zones", str(tmp_path / "blocks.csv"), "--hierarchy", "block,county"]
    make_and_verify(str(tmp_path / "od.csv"), tmp_path / "out", *zones)


def test_zipped_hours_of_a_ministry(tmp_path):
    """Trips by district and hour, with decimals, as a series of hours, from the zip file that was downloaded."""
    head = "fecha|periodo|origen|destino|viajes"
    rows = [
        f"20220101|{hour:02}|0100{home}|0100{work}|{DRAW.uniform(3, 60):.3f}"
        for hour in (8, 9)
        for home in range(4)
        for work in range(4)
    ]
    with zipfile.ZipFile(tmp_path / "viajes.zip", "w") as file:
        file.writestr("202201_viajes.csv", "\n".join([head, *rows]))
    points = [f"0100{number},{4 + number / 10},50" for number in range(4)]
    (tmp_path / "zones.csv").write_text("\n".join(["id,lon,lat", *points]))

    zones = ["--zones", str(tmp_path / "zones.csv"), "--hierarchy", "ward", "--time", "1h"]
    make_and_verify(str(tmp_path / "viajes.zip"), tmp_path / "out", *zones)


@pytest.mark.slow
def test_months_of_taxis_on_areas_in_common(tmp_path):
    """24 monthly files, one with CRLF but for its last line, unknown zones and clock errors: one comparable series."""
    for month in range(24):
        year, number = 2021 + month // 12, month % 12 + 1
        lines = ["VendorID,lpep_pickup_datetime,lpep_dropoff_datetime,PULocationID,DOLocationID,trip_distance"]
        for row in range(60):
            start, end = DRAW.integers(1, 4, 2)
            day = f"{year}-{number:02}-{row % 28 + 1:02}" if row else "2041-01-01"
            lines.append(f"2,{day} 08:00:{row:02},{day} 09:00:00,{265 if row == 1 else start},{end},1.5")
        end = "\r\n" if month == 7 else "\n"
        (tmp_path / f"green_{year}-{number:02}.csv").write_bytes((end.join(lines) + "\n").encode())
    zones = [f"{number},Zone {number},{-74 + number / 20},40.7" for number in range(1, 5)]
    (tmp_path / "zones.csv").write_text("\n".join(["LocationID,zone,lon,lat", *zones]))

    asked = ["--zones", str(tmp_path / "zones.csv"), "--hierarchy", "ward", "--time", "month", "--same-areas"]
    make_and_verify(str(tmp_path / "green_*.csv"), tmp_path / "out", *asked)

    flows = pq.read_table(tmp_path / "out" / "flows.parquet").to_pylist()
    assert len({flow["time"] for flow in flows}) == 24
    areas = {name for flow in flows for name in (flow["origin"], flow["destination"])}
    assert len(areas) <= 4


def test_raw_fixes_of_cabs(tmp_path):
    """A folder of fixes, one file a cab, becomes trips and a release by persons."""
    (tmp_path / "cabs").mkdir()
    for cab in range(8):
        moment, lines = 1_211_018_404 + cab, []
        for ride in range(6):
            for place, occupied in ((ride % 2, 1), (1 - ride % 2, 1), (1 - ride % 2, 0)):
                lines.append(f"{37.7 + place / 20:.4f} -122.4000 {occupied} {moment}")
                moment += 600
        (tmp_path / "cabs" / f"new_{cab}.txt").write_text("\n".join(reversed(lines)) + "\n")

    trips = str(tmp_path / "trips.parquet")
    assert run(["trips", str(tmp_path / "cabs"), "-o", trips]) == 0
    make_and_verify(trips, tmp_path / "out", "--unit", "user_id", "--grid", "h3:6", "--hierarchy", "h3")

    flows = pq.read_table(tmp_path / "out" / "flows.parquet")
    assert sorted(flows["trips"].to_pylist()) == [24, 24]
    assert flows["persons"].to_pylist() == [8, 8]
