"""Targets that read files of strangers: trips and zones in every format, as bytes and as tables of any shape."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import shapely

import flowveil as fv
from reliability.fuzzing.tables import any_table
from reliability.fuzzing.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = Path(__file__).parents[1] / "corpus"
ROWS = 24
BOX = "4.4,50.2,4.9,50.6"
IDS = ("a", "b", "07")
TRIPS = pa.table(
    {
        "person_id": [f"p{row % 6}" for row in range(ROWS)],
        "start_lon": [4.5 if row % 2 else 4.7 for row in range(ROWS)],
        "start_lat": [50.3] * ROWS,
        "end_lon": [4.7 if row % 3 else 4.5 for row in range(ROWS)],
        "end_lat": [50.4] * ROWS,
        "start_time": pa.array([1_714_545_000 + 977 * row for row in range(ROWS)], pa.timestamp("s", "UTC")),
        "sex": ["f" if row % 5 else "m" for row in range(ROWS)],
    }
)
ZONE_TRIPS = pa.table({"origin": ["a", "b", "07"] * 8, "destination": ["b", "07", "a", "a"] * 6, "count": [20, 3] * 12})
SQUARES = [shapely.box(4 + step / 5, 50, 4.2 + step / 5, 50.5) for step in range(3)]
ZONES = pa.table(
    {
        "zone_id": list(IDS),
        "name": ["North", "South", "Süd"],
        "town": ["X", "X", "Y"],
        "lon": [4.1, 4.3, 4.5],
        "lat": [50.2] * 3,
        "geometry": [shapely.to_wkb(shape) for shape in SQUARES],
    }
)
POINTS_TABLE = ZONES.drop_columns(["geometry"])


def text_of(table: pa.Table, separator: str = ",") -> bytes:
    """Return a table as CSV."""
    rows = [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]
    return "".join(separator.join("" if value is None else str(value) for value in row) + "\n" for row in rows).encode()


def read_as(name: str, data: bytes, folder: Path) -> None:
    """Count the trips of a file of this name, between cells of a grid or, if it has zones, between zones."""
    path = folder / name
    path.write_bytes(data)
    trips = fv.read_trips(path)
    zones = POINTS_TABLE if {"origin", "destination"} <= set(trips.columns) else None
    places = {"grid": "h3:6", "hierarchy": "h3"} if zones is None else {"zones": zones}
    unit = "person_id" if "person_id" in trips.available else None
    time = {"time": "hour-of-day"} if "start_time" in trips.columns else {}
    fv.build_flows(trips, **places, unit=unit, **time, max_unusable=1.0)
    trips.head(3)


def read_zones_as(name: str, data: bytes, folder: Path) -> None:
    """Count trips between the zones of a file of this name."""
    path = folder / name
    path.write_bytes(data)
    fv.build_flows(ZONE_TRIPS, zones=path, max_unusable=1.0)


def zipped(names: dict[str, bytes]) -> bytes:
    """Return a zip file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in names.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return content.getvalue()


def as_file(write: Callable[[Path], object], name: str) -> bytes:
    """Return the bytes of a file that a function writes."""
    with TemporaryDirectory() as folder:
        write(Path(folder) / name)
        return (Path(folder) / name).read_bytes()


def parquet(table: pa.Table, **options: object) -> bytes:
    """Return a table as Parquet."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def arrow(table: pa.Table, **options: object) -> bytes:
    """Return a table as a Feather file."""
    sink = io.BytesIO()
    pyarrow.feather.write_feather(table, sink, **options)
    return sink.getvalue()


def corpus(*endings: str) -> list[bytes]:
    """Return files of the corpus with these endings."""
    return [path.read_bytes() for path in sorted(CORPUS.iterdir()) if path.name.endswith(endings)]


@cache
def csv_seeds() -> list[bytes]:
    """Return CSV as many write it."""
    quoted = b'"id;x";"start_lon";"start_lat";"end_lon";"end_lat"\r\n"a ""b""";"4,5";"50,3";"4,7";"50,4"\r\n'
    wide = b"zone;a;b;07\na;0;12;3.6\nb;7;;0.2\n07;1;2;0\n"
    return [
        *(text_of(TRIPS), text_of(TRIPS.slice(0, 3), ";"), text_of(ZONE_TRIPS), text_of(ZONE_TRIPS.slice(0, 5), "\t")),
        *(quoted, wide, text_of(TRIPS.slice(0, 5)).replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + text_of(ZONE_TRIPS)),
        *(text_of(TRIPS.slice(0, 4)).decode().encode("utf-16"), b"origin,destination\n\xe9,b\na,b\n"),
        *corpus(".csv"),
    ]


def omx() -> bytes:
    """Return an Open Matrix file."""
    import openmatrix

    def write(path: Path) -> None:
        with openmatrix.open_file(str(path), "w") as file:
            file["cars"] = np.array([[0.0, 12, 3], [7, 0, 2], [1, 2, 0]])
            file.create_mapping("zone_id", [1, 2, 3])

    return as_file(write, "trips.omx")


def map_file(ending: str) -> bytes:
    """Return the zones as GDAL writes them; a Shapefile is zipped, as it is several files."""
    import pyogrio

    table = ZONES.drop_columns(["lon", "lat"])
    options = {"geometry_name": "geometry", "geometry_type": "Polygon", "crs": "EPSG:4326"}
    if ending != "shp":
        return as_file(lambda path: pyogrio.write_arrow(table, path, **options), f"zones.{ending}")
    with TemporaryDirectory() as folder:
        pyogrio.write_arrow(table, Path(folder) / "zones.shp", **options)
        return zipped({path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())})


def geojson() -> bytes:
    """Return the zones as GeoJSON."""
    features = [
        {"type": "Feature", "properties": {"zone_id": zone, "town": town}, "geometry": shapely.geometry.mapping(shape)}
        for zone, town, shape in zip(IDS, "XXY", SQUARES, strict=True)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def zone_csv_seeds() -> list[bytes]:
    """Return zones as CSV, with points, with WKT and with WKB."""
    wkt = b"zone_id|town|the_geom\n" + b"".join(
        f"{zone}|X|SRID=4326;{shape.wkt}\n".encode() for zone, shape in zip(IDS, SQUARES, strict=True)
    )
    wkb = b"id;wkb\n" + b"".join(f"{zone};{shape.wkb_hex}\n".encode() for zone, shape in zip(IDS, SQUARES, strict=True))
    return [text_of(POINTS_TABLE), text_of(POINTS_TABLE, ";").decode().encode("cp1252"), wkt, wkb]


GEO_WORDS = (
    *(
        b'"features"',
        b'"geometry"',
        b'"properties"',
        b'"crs"',
        b'"coordinates"',
        b'"type"',
        b'"Polygon"',
        b'"MultiPolygon"',
    ),
    *(
        b'"data"',
        b'"stations"',
        b'{"station_id": 1, "lon": 1, "lat": 2}',
        b"null",
        b"[]",
        b"{}",
        b"1e999",
        b"NaN",
        b'"EPSG:31370"',
    ),
)
CSV_WORDS = (
    *(
        b"start_lon",
        b"origin",
        b"destination",
        b"count",
        b"trips",
        b"lat",
        b"lng",
        b"start_time",
        b"pickup_datetime",
        b"zone_id",
    ),
    *(
        b"2024-05-01 08:00:00",
        b"POINT (4 50)",
        b"[[4.5,50.3],[4.6,50.4]]",
        b"\\N",
        b"N/A",
        b"4,5",
        b"4.5.6",
        b"1 000",
        b'"""',
        b"#",
    ),
)


def run_table(data: bytes, _folder: Path) -> None:
    """Count the trips of a table whose columns have any type and hold anything."""
    chance = Random(data)
    table = any_table(chance, TRIPS if chance.random() < 0.6 else ZONE_TRIPS)
    columns = set(table.column_names)
    zones = any_table(chance, ZONES) if chance.random() < 0.3 else POINTS_TABLE
    places = {"zones": zones} if {"origin", "destination"} & columns else {"grid": chance.choice(("h3:5", "h3:9"))}
    options = {
        "unit": chance.choice((None, *columns)),
        "weight": chance.choice((None, None, None, *columns)),
        "time": chance.choice((None, "1h", "month", "hour-of-day")),
        "by": chance.choice(((), (), *columns)),
    }
    mapped = {"start_time": chance.choice(sorted(columns) or ["x"])} if chance.random() < 0.3 else None
    flows = fv.build_flows(fv.read_trips(table, mapped), **places, **options, max_unusable=1.0)
    fv.anonymize(flows, k=chance.choice((1, 2, 5)))


def run_samples(data: bytes, folder: Path) -> None:
    """Read samples of a table of any shape, publish them, and make trips of them."""
    chance = Random(data)
    table = any_table(chance, samples())
    if chance.random() < 0.5:
        path = folder / "trips.parquet"
        fv.make_trips(table, path, rule=chance.choice(("auto", "stops", "runs", "sightings")), max_unusable=1.0)
        return
    box = chance.choice((None, fv.synthetic.PHONES_BBOX))
    step = chance.choice(("1km,30min", "100m,1min", "5km,4h"))
    method = chance.choice(("glove", "gather", "km"))
    release = fv.trajectories.anonymize(table, chance.choice((2, 3)), bbox=box, step=step, method=method)
    release.write(folder / "out")


@cache
def samples() -> pa.Table:
    """Return samples of some phones, few of each."""
    table = fv.synthetic.phones(4)
    return table.take(np.arange(0, table.num_rows, max(table.num_rows // 60, 1)))


def _of(
    name: str, read: Callable[[str, bytes, Path], None], file: str, seeds: Callable[[], list[bytes]], **more: object
) -> Target:
    return Target(name, partial(read, file), seeds, **{"batch": 500, **more})


READERS = (
    _of("trips.csv", read_as, "trips.csv", csv_seeds, words=CSV_WORDS, batch=1_000, largest=6_000, share=2.0),
    _of("trips.csv.gz", read_as, "trips.csv.gz", lambda: [gzip.compress(text, mtime=0) for text in csv_seeds()[:4]]),
    _of(
        "trips.zip",
        read_as,
        "trips.zip",
        lambda: [
            zipped({"trips.csv": csv_seeds()[0]}),
            zipped({"a/b.csv": csv_seeds()[2], "__MACOSX/b.csv": b"x", "c/": b""}),
            zipped({"trips.parquet": parquet(TRIPS)}),
        ],
    ),
    _of("trips.parquet", read_as, "trips.parquet", lambda: [parquet(TRIPS), parquet(ZONE_TRIPS, compression="none")]),
    _of("trips.arrow", read_as, "trips.arrow", lambda: [arrow(TRIPS), arrow(ZONE_TRIPS, compression="uncompressed")]),
    _of("trips.omx", read_as, "trips.omx", lambda: [omx()], largest=1 << 16, batch=300, share=0.5),
    _of("zones.csv", read_zones_as, "zones.csv", zone_csv_seeds, words=CSV_WORDS, batch=1_500),
    _of(
        "zones.geojson",
        read_zones_as,
        "zones.geojson",
        lambda: [geojson(), *corpus(".geojson")],
        words=GEO_WORDS,
        batch=1_500,
    ),
    _of(
        "zones.parquet",
        read_zones_as,
        "zones.parquet",
        lambda: [parquet(ZONES), parquet(POINTS_TABLE, compression="none")],
    ),
    _of("zones.gpkg", read_zones_as, "zones.gpkg", lambda: [map_file("gpkg")], largest=1 << 18, batch=300, share=0.5),
    _of("zones.fgb", read_zones_as, "zones.fgb", lambda: [map_file("fgb")], batch=1_000),
    _of("zones.shp.zip", read_zones_as, "zones.zip", lambda: [map_file("shp")]),
    Target("tables", run_table, batch=400),
    Target("samples", run_samples, batch=200),
)
