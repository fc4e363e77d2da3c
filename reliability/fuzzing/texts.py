"""Targets that take text: options, conditions, time formats, shapes. Most executions take microseconds."""

from __future__ import annotations

import inspect
import struct
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import pyarrow as pa
import shapely

import flowveil
import flowveil as fv
from flowveil._engine import check_condition
from flowveil._engine.reading import parse_reading
from flowveil._engine.source import TableSource
from flowveil._errors import InputError
from flowveil._folder import parse_json, shape_from_geojson, shapes_from_wkb, shapes_from_wkt
from flowveil._places import choose_places
from flowveil._places.lattice import parse_rectangle
from flowveil._places.map_files import shapes_from_text
from reliability.fuzzing.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OTHERS = {"parse_json", "parse_rectangle", "parse_rules", "parse_reading"}  # raise ValueError, or take mappings
BOX = (4.4, 50.2, 4.9, 50.6)


BY_HAND: dict[str, Callable[[str], object]] = {
    "grid": partial(choose_places, bbox=BOX),
    "hierarchy": lambda text: choose_places("h3:5", hierarchy=text),
    "hierarchy-of-squares": lambda text: choose_places("quadtree:5000", hierarchy=text, bbox=BOX),
    "crs": lambda text: choose_places("quadtree:5000", crs=text, bbox=BOX),
    **{
        name: lambda text, name=name: parse_reading({name: text})
        for name in ("encoding", "decimal", "time_format", "input_crs", "matrices", "layout")
    },
    "options": fv.methods()[0].parse_options,
    "time-zone-and-steps": lambda text: _steps(*text.partition("@")[::2]),
    "levels": lambda text: _levels(*text.partition("@")[::2]),
}
GOOD = {
    "parse_bbox": ["4.4,50.2,4.9,50.6", "-180,-90,180,90"],
    "parse_steps": ["15min", "1h", "week", "month", "hour-of-day", "day-type", "90min"],
    "parse_hierarchy": ["1h<part-of-day<day", "hour-of-day<2h<day", "15min<1h<week"],
    "parse_memory": ["2GB", "512MiB", "1.5TB"],
    "parse_k_weight": ["auto", "10x", "500", "0.5x"],
    "parse_max_suppression": ["10%", "0.1"],
    "parse_frames": ["morning=6-10,noon=11-14", "0-6,12-24"],
    "parse_days": ["2024-03-04,2024-03-17"],
    "parse_period": ["2024-05", "2024-05-01/2024-05-14", "2024-Q3", "2024"],
    "parse_timezone": ["Europe/Rome", "UTC"],
    "parse_bound": ["auto", "auto:1,2,5", "3"],
    "parse_groups": ["sex=f,m", "age=1,2,"],
    "parse_columns": ["start_lon=x1,end_lon=x2", "count="],
    "parse_pairs": ["budget=each"],
    "parse_names": ["sex,age"],
    "parse_epsilons": ["0.1,0.5,1"],
    "parse_step": ["100m,1min", "2km,30min"],
    "parse_caps": ["20km,8h"],
    "parse_description": ["title=Bikes"],
    "grid": ["h3:7", "quadtree:500", "h3:15"],
    "hierarchy": ["lattice", "lattice:3", "h3", "h3-binary"],
    "hierarchy-of-squares": ["quadtree", "lattice"],
    "crs": ["EPSG:32631", "+proj=utm +zone=31", "ESRI:54009"],
    "encoding": ["cp1252", "utf-16", "latin-1"],
    "time_format": ["%d/%m/%Y %H:%M", "unix-ms", "excel", "%Y-%m-%dT%H:%M:%S%z"],
    "input_crs": ["EPSG:2154", "OGC:CRS84", '{"type": "name"}', "PROJCRS[]"],
    "options": ["budget=each", "levels=3"],
    "time-zone-and-steps": ["1h@Europe/Rome", "month@America/New_York"],
    "levels": ["1h<part-of-day<day@Europe/Rome"],
}
ANY = ["1", "0.5", "10%", "auto", "text"]


def _steps(text: str, zone: str) -> object:
    from flowveil._times import parse_steps

    return parse_steps(text, zone or None)


def _levels(text: str, zone: str) -> object:
    from flowveil._times import parse_hierarchy

    return parse_hierarchy(text, zone or None)


@cache
def parsers() -> dict[str, Callable[[str], object]]:
    """Return every function of flowveil that is called parse_ something and takes one text, and some more."""
    found: dict[str, Callable[[str], object]] = {}
    for room in iter_modules(flowveil.__path__):
        if room.name in {"__main__", "_verify", "_app"}:
            continue
        module = import_module(f"flowveil.{room.name}")
        files = [
            import_module(f"flowveil.{room.name}.{file.name}") for file in iter_modules(getattr(module, "__path__", []))
        ]
        named = (item for file in (module, *files) for item in vars(file).items() if item[0].startswith("parse_"))
        found |= {name: function for name, function in named if name not in OTHERS and _takes_one(function)}
    return found | BY_HAND


def _takes_one(function: object) -> bool:
    if not inspect.isfunction(function):
        return False
    needed = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    return len(needed) == 1 and needed[0].kind in {needed[0].POSITIONAL_ONLY, needed[0].POSITIONAL_OR_KEYWORD}


# What these look up takes milliseconds: coordinate systems, time zones, formats that DuckDB tries.
SLOW = {
    *(
        "crs",
        "input_crs",
        "time_format",
        "encoding",
        "grid",
        "hierarchy",
        "hierarchy-of-squares",
        "layout",
        "decimal",
        "matrices",
    ),
    *("parse_timezone", "parse_days", "time-zone-and-steps", "levels"),
}


@cache
def names_of(*, slow: bool) -> list[str]:
    """Return the names of parsers that take long, or of all others."""
    return sorted(name for name in parsers() if (name in SLOW) == slow)


def run_option(data: bytes, _folder: Path, *, slow: bool = False) -> None:
    """Parse `NAME:TEXT` by the parser of that name; bytes are read as a shell hands them over."""
    name, _, text = data.decode("utf-8", "surrogateescape").partition(":")
    names = names_of(slow=slow)
    parsers()[name if name in names else names[sum(map(ord, name)) % len(names)]](text)


def option_seeds(*, slow: bool = False) -> list[bytes]:
    """Return good texts of every parser."""
    return [f"{name}:{text}".encode() for name in names_of(slow=slow) for text in GOOD.get(name, ANY)]


TRIPS = pa.table(
    {
        "person_id": ["p1", None],
        "start_lon": [4.5, 4.6],
        "n": pa.array([1, None], pa.int64()),
        "start_time": pa.array([0, 1], pa.timestamp("us", "UTC")),
        "tags": [["a"], []],
        "day": pa.array([0, None], pa.date32()),
        "select": [True, None],
        "it's": [{"x": 1}, None],
    }
)
CONDITIONS = (
    *("person_id = 'p1'", "n > 0 AND start_lon BETWEEN 4 AND 5", "start_time >= '2024-01-01'", "n IN (1, 2, 3)"),
    *('CASE WHEN n > 1 THEN true ELSE "select" END', "lower(person_id) LIKE 'p%'", 'n IS NOT NULL OR NOT "select"'),
    *("CAST(n AS VARCHAR) = '1'", "regexp_matches(person_id, '^p[0-9]+$')", '"it\'s".x = 1', "tags[1] = 'a'"),
    *("date_part('hour', start_time) < 5", "strftime(start_time, '%H') = '08'", "list_contains(tags, 'b')"),
    *("json_extract_string(person_id, '$.a') = 'x'", "round(start_lon, 2) * 2 // 1 = 9", "day = DATE '2024-01-01'"),
    *("try_strptime(person_id, '%d') IS NULL", "start_time + to_days(1) > '2024-01-01'", "n % 2 = 0 -- all"),
)
SQL = (
    *(
        b"SELECT",
        b" FROM ",
        b"WHERE",
        b"(",
        b")",
        b";",
        b"--",
        b"/*",
        b"*/",
        b"'",
        b'"',
        b" OR ",
        b" AND ",
        b" NOT ",
        b" IN (",
    ),
    *(
        b"CASE WHEN",
        b"END",
        b"CAST(",
        b"::",
        b"INTERVAL 1 DAY",
        b"COLUMNS(*)",
        b"read_csv('/etc/passwd')",
        b"random()",
        b"now()",
    ),
    *(
        b"count(*)",
        b" OVER ()",
        b"(SELECT 1)",
        b"$1",
        b"?",
        b"*",
        b"EXCLUDE",
        b"struct_pack(a := 1)",
        b"lambda x: x",
        b"x -> x",
    ),
    *(
        b"unnest([1])",
        b"getvariable('a')",
        b"current_setting('a')",
        b"1/0",
        b"repeat('a', 1000000000)",
        b"COLLATE nocase",
    ),
    *(
        b"printf('%d', n)",
        b"format('{}', n)",
        b"regexp_extract(person_id, '(')",
        b"lpad('a', 2147483647, 'b')",
        b"!",
        b"[]",
        b"{}",
    ),
    *(
        b"2 ** 10000",
        b"factorial(99)",
        b"1e400",
        b"rpad('x', 100000000000, 'y')",
        b"list_slice(tags, -9, 9)",
        b"POSITIONAL",
    ),
)


def run_condition(data: bytes, _folder: Path) -> None:
    """Check a condition on the rows of a small table."""
    check_condition(TableSource(TRIPS), data.decode("utf-8", "surrogateescape"))


TIMES = (
    *("2024-05-01T08:30:00+02:00", "2024-05-01 08:30", "5/1/24 8:30 AM", "1714545000", "1714545000000", "45413.354"),
    *("01/05/2024 08:30", "1970-01-01", "2037-12-31 23:59:59.999999", "2024-02-30", "2024-W18-3", "20240501T083000Z"),
    *("2024-10-27 02:30:00", "2024-03-31T02:30:00", "24:00", "-1", "1e18", "NaN"),
)
STEPS = ("1h", "hour-of-week", "month", "week", "1d", "day-type", "15min")
ZONES = (None, "Europe/Rome", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC", "Pacific/Apia")


def run_times(data: bytes, _folder: Path) -> None:
    """Count trips by steps of times that are written somehow: a format (or nothing) and then a time, a line each."""
    form, *texts = data.decode("utf-8", "replace").split("\n")
    rows = len(texts) or 1
    ends = {"origin": ["a"] * rows, "destination": ["b"] * rows}
    table = pa.table(ends | {"start_time": texts or [""]})
    zones = pa.table({"zone_id": ["a", "b"], "lon": [0.0, 1.0], "lat": [0.0, 1.0]})
    number = sum(data)
    trips = fv.read_trips(table, time_format=form or None)
    time = {"time": STEPS[number % len(STEPS)]} if number % 3 else {"time_hierarchy": "1h<part-of-day<day<week"}
    fv.build_flows(trips, zones=zones, **time, timezone=ZONES[number % len(ZONES)], max_unusable=1.0)


def time_seeds() -> list[bytes]:
    """Return times, one by one and together, with formats that are theirs and that are not."""
    forms = (
        "",
        "%d/%m/%Y %H:%M",
        "unix",
        "unix-ms",
        "unix-ns",
        "excel",
        "%Y-%m-%dT%H:%M:%S%z",
        "%s",
        "%j %U",
        "%-d.%-m.%y",
    )
    return [f"{form}\n{text}".encode() for form in forms for text in TIMES] + ["\n".join(["", *TIMES]).encode()]


POLYGON = shapely.Polygon([(4, 50), (5, 50), (5, 51), (4, 50)])
SHAPES = (
    *(shapely.Point(4, 50), POLYGON, shapely.MultiPolygon([POLYGON]), shapely.LineString([(0, 0), (1, 1)])),
    *(shapely.GeometryCollection([POLYGON, shapely.Point(1, 2)]), shapely.Point(1, 2, 3), shapely.Polygon()),
)


def run_shape(data: bytes, _folder: Path) -> None:
    """Read a shape as WKB, hexadecimal WKB, WKT or GeoJSON, by the first letter; ValueError is how these refuse."""
    kind, text = data[:1], data[1:]
    try:
        if kind == b"b":
            shapes_from_wkb([text])
        elif kind == b"j":
            shape_from_geojson(parse_json(text))
        elif kind == b"t":
            shapes_from_wkt([text.decode("utf-8", "replace")])
        elif kind == b"r":
            parse_rectangle(text.decode("utf-8", "replace"), 4 + text.startswith(b"l:2"))
        else:
            shapes_from_text(text.decode("utf-8", "replace").split("\n"))
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        if kind == b"b" and not isinstance(error, ValueError):
            raise
        raise InputError(f"refused: {type(error).__name__}", "as whoever reads it says") from None


def shape_seeds() -> list[bytes]:
    """Return shapes in every way of writing them."""
    ways: list[Callable[[shapely.Geometry], bytes]] = [
        lambda shape: b"b" + shapely.to_wkb(shape),
        lambda shape: b"b" + shapely.to_wkb(shapely.set_srid(shape, 4326), include_srid=True, byte_order=0),
        lambda shape: b"b" + shapely.to_wkb(shape, flavor="iso", output_dimension=3),
        lambda shape: b"x" + shapely.to_wkb(shape, hex=True).encode(),
        lambda shape: b"t" + shapely.to_wkt(shape).encode(),
        lambda shape: b"x" + b"SRID=31370;" + shapely.to_wkt(shape).encode(),
        lambda shape: b"j" + shapely.to_geojson(shape).encode(),
    ]
    deep = b"b" + b"".join(struct.pack("<BII", 1, 7, 1) for _ in range(40)) + shapely.to_wkb(shapely.Point(0, 0))
    return [way(shape) for way in ways for shape in SHAPES] + [deep, b"rl:20/3/1/90/362", b"rl:3/1/90/362"]


TEXTS = (
    Target("options", run_option, option_seeds, batch=100_000, seconds=10, largest=2_000, files=False),
    Target(
        "options that are looked up",
        partial(run_option, slow=True),
        partial(option_seeds, slow=True),
        batch=3_000,
        seconds=10,
        largest=2_000,
    ),
    Target(
        "shapes",
        run_shape,
        shape_seeds,
        files=False,
        words=(
            b"POLYGON",
            b"EMPTY",
            b"Z",
            b"MULTI",
            b"GEOMETRYCOLLECTION",
            b"\x01\x07\x00\x00\x00",
            b"\x01\x03\x00\x00\x00",
            b"coordinates",
        ),
        batch=100_000,
        largest=4_000,
    ),
    Target(
        "conditions",
        run_condition,
        lambda: [text.encode() for text in CONDITIONS],
        words=SQL,
        batch=3_000,
        largest=3_000,
    ),
    Target(
        "times",
        run_times,
        time_seeds,
        words=(b"%", b"%d", b"%Y", b"%z", b"%f", b"%Z", b"T", b"+14:00", b"AM"),
        batch=1_500,
        largest=400,
    ),
)
