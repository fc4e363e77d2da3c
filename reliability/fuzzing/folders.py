"""Targets that read what a stranger put in the place of a release: its manifest, its tables, what is beside it."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import flowveil as fv
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, City
from reliability.fuzzing.changing import change
from reliability.fuzzing.readers import samples
from reliability.fuzzing.tables import any_table, any_value
from reliability.fuzzing.target import Broken, Target

if TYPE_CHECKING:
    from collections.abc import Callable

FORMATS = (
    "csv",
    "excel",
    "datapackage",
    "dcat",
    "geojson",
    "gpkg",
    "flowmap-blue",
    "omx",
    "skmob",
    "movingpandas",
    "gpx",
)
VALUES = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        10**30,
        0.5,
        1e308,
        -0.0,
        "",
        "a",
        "total",
        "elsewhere",
        "../x",
        "1h",
        "h3:7",
        "auto",
        [],
        {},
    ),
    *(
        [1, 2, 3, 4],
        ["a"],
        {"a": 1},
        "k-anonymity",
        "differential-privacy",
        "exact",
        "\x1b[31m",
        "é" * 200,
        [[[[]]]],
        "h3:99",
        "EPSG:1",
    ),
)


@cache
def originals() -> tuple[dict[str, Path], Path]:
    """Write a release of each kind, small ones; return their folders by name, and where their input is."""
    room = Path(mkdtemp(prefix="flowveil-fuzz-originals-"))
    city = City(seed=1, persons=60)
    trips, zone_trips, zones, path = (room / f"{name}.parquet" for name in ("trips", "zone_trips", "zones", "samples"))
    pq.write_table(city.trips(500), trips)
    pq.write_table(city.trips(500, ends="zones"), zone_trips)
    pq.write_table(city.zones(), zones)
    pq.write_table(samples(), path)
    ends = {"zones": zones, "hierarchy": "ward"}
    of_cells = fv.build_flows(trips, "h3:6", hierarchy="h3", unit="person_id", weight="weight")
    by_group = fv.build_flows(zone_trips, **ends, by="sex", time="day-type")
    boxes = fv.build_matrix(trips, CITY_BBOX, 8)
    made: dict[str, Callable[[], object]] = {
        "flows": lambda: fv.anonymize(of_cells, k=5, k_weight=50),
        "lattice": lambda: fv.anonymize(fv.build_flows(trips, "quadtree:4000", bbox=CITY_BBOX), k=4),
        "totals": lambda: fv.anonymize(by_group, "crosscut", k=4, totals=True, max_suppression=1),
        "elsewhere": lambda: fv.anonymize(fv.build_flows(zone_trips, **ends), "suppression", k=6, elsewhere=True),
        "remainders": lambda: fv.anonymize(fv.build_flows(zone_trips, **ends), k=5, remainders=True, rounding=3),
        "axis": lambda: fv.anonymize(fv.build_flows(trips, "h3:5", time_hierarchy="hour-of-day<part-of-day<day"), k=5),
        "overlapping": lambda: fv.anonymize(fv.build_flows(trips, "h3:6"), "glove-od", k=5),
        "noisy": lambda: fv.add_noise(fv.build_tile_matrix(trips, CITY_BBOX, "h3:5"), epsilon=2.0),
        "cells": lambda: fv.add_noise(boxes, "daf-entropy", 2.0),
        "tree": lambda: fv.add_noise(boxes, "noisy-tree", 2.0),
        "paths": lambda: fv.trajectories.anonymize(path, 2, bbox=PHONES_BBOX, step="2km,60min"),
        "points": lambda: fv.trajectories.anonymize(path, 2, bbox=PHONES_BBOX, step="5km,4h", method="km"),
        "synthetic": lambda: fv.trajectories.synthesize(
            path, 5.0, bbox=PHONES_BBOX, days="2024-03-04,2024-03-06", users=3, step="2km,60min"
        ),
    }
    return {name: make().write(room / name) for name, make in made.items()}, room


def source_of(name: str) -> Path:
    """Return the input of a release."""
    _, room = originals()
    kinds = {"totals": "zone_trips", "elsewhere": "zone_trips", "remainders": "zone_trips"}
    kinds |= dict.fromkeys(("paths", "points", "synthetic"), "samples")
    return room / f"{kinds.get(name, 'trips')}.parquet"


def copied(name: str, folder: Path) -> Path:
    """Copy a release with all that is beside it, and return the copy."""
    original = originals()[0][name]
    target = folder / "out"
    shutil.copytree(original, target)
    for path in original.parent.glob(f"{name}.*"):
        if path.suffix != ".parquet" or "." in path.stem:
            shutil.copy(path, folder / f"out{path.name.removeprefix(name)}")
    return target


def spoil(chance: Random, release: Path) -> bool:
    """Change one file of a release, or beside it; return whether the folder itself is another one now."""
    public = sorted(path for path in release.iterdir() if path.is_file())
    private = sorted(path for path in release.parent.iterdir() if path.is_file())
    path = chance.choice((*public, *public, *private) or (release,))
    before = path.read_bytes()
    what = chance.randrange(10)
    if what == 0:
        path.unlink()
    elif what == 1:
        path.write_bytes(change(before, chance, [before], (), 1 << 20))
    elif what == 2:
        path.write_bytes(before[: chance.randrange(len(before) + 1)])
    elif what == 3 and chance.random() < 0.5:
        path.unlink()
        path.mkdir() if chance.random() < 0.5 else path.symlink_to(chance.choice((path.name, "nowhere", "/dev/null")))
    elif path.suffix in {".json", ".parquet"}:
        with suppress(pa.ArrowException, OSError, ValueError):  # it was cut before
            (_spoil_json if path.suffix == ".json" else _spoil_table)(chance, path)
    return path in public and not (path.is_file() and not path.is_symlink() and path.read_bytes() == before)


def _spoil_json(chance: Random, path: Path) -> None:
    content = json.loads(path.read_text())
    for _ in range(chance.choice((1, 1, 2))):
        holder, key = _place(chance, content)
        what = chance.randrange(4)
        if what == 0 and isinstance(holder, dict):
            del holder[key]
        elif what == 1 and isinstance(holder, dict):
            holder[chance.choice(("new", "k", "time", "by", "rounding", "totals", "elsewhere", "remainders"))] = holder[
                key
            ]
        else:
            near = {int: holder[key] + 1, float: holder[key] / 2} if type(holder[key]) in {int, float} else {}
            holder[key] = (
                near.get(type(holder[key]), chance.choice(VALUES)) if chance.random() < 0.5 else chance.choice(VALUES)
            )
    path.write_text(json.dumps(content, indent=2, ensure_ascii=chance.random() < 0.5))


def _place(chance: Random, content: object) -> tuple:
    """Return some object or list of a JSON value, and a key in it."""
    places = []
    waiting = [content]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else []
        places += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys]
    return chance.choice(places or [({"": 0}, "")])


def _spoil_table(chance: Random, path: Path) -> None:
    table = pq.read_table(path)
    what = chance.randrange(5)
    if what == 0 and table.num_rows:
        rows = list(range(table.num_rows))
        rows = chance.choice((rows[::-1], rows[1:], [*rows, rows[0]], rows[:1], [chance.choice(rows) for _ in rows]))
        table = table.take(rows)
    elif what < 3 and table.num_rows and table.num_columns:
        place, row = chance.randrange(table.num_columns), chance.randrange(table.num_rows)
        column = table.column(place)
        values = column.to_pylist()
        values[row] = chance.choice((any_value(chance, column.type), None, values[0], values[-1]))
        if type(values[row]) is int and chance.random() < 0.6:
            values[row] = (column[row].as_py() or 0) + chance.choice((1, -1, 10, -10))
        table = table.set_column(place, table.field(place), pa.array(values, column.type))
    else:
        table = any_table(chance, table)
    with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(
            {key: value for key, value in (table.schema.metadata or {}).items() if value != b"\xff"}
        )


def run_folder(data: bytes, folder: Path) -> None:
    """Do something with a release that was changed."""
    chance = Random(data)
    name = chance.choice(sorted(originals()[0]))
    release = copied(name, folder)
    for _ in range(chance.choice((1, 1, 1, 2))):
        spoil(chance, release)
    OPERATIONS[chance.choice(sorted(OPERATIONS))](chance, release, source_of(name), folder)


def run_verify(data: bytes, folder: Path) -> None:
    """Verify a release that was changed: another folder may not pass, as the audit file has hashes."""
    chance = Random(data)
    name = chance.choice(sorted(originals()[0]))
    release = copied(name, folder)
    audit = folder / "out.audit.json"
    before = audit.read_bytes()
    changed = spoil(chance, release)
    fv.verify(release, source_of(name), **_places(name))
    if changed and audit.is_file() and audit.read_bytes() == before:
        raise Broken(f"a changed folder verifies: {name}")


def _places(name: str) -> dict[str, Path]:
    return {"zones": originals()[1] / "zones.parquet"} if name in {"totals", "elsewhere", "remainders"} else {}


def _ask(chance: Random, release: Path, _source: Path, _folder: Path) -> None:
    content = fv.read_release(release)
    repr(content), content._repr_html_()
    zones = originals()[1] / "zones.parquet"
    what = chance.choice(("between", "departures", "arrivals", "top", "to_pandas"))
    if what in {"between", "departures", "arrivals"}:
        getattr(content, what)(*([zones, zones] if what == "between" else [zones]))
    elif hasattr(content, what):
        getattr(content, what)()


def _query(chance: Random, release: Path, _source: Path, _folder: Path) -> None:
    at = chance.choice((None, None, {"time": 8}, ["sex=f"]))
    fv.query(release, origin=CITY_BBOX, destination=chance.choice((None, "4.5,50.3,4.6,50.4")), at=at)


def _export(chance: Random, release: Path, _source: Path, folder: Path) -> None:
    fv.export(release, chance.choice(FORMATS), folder / "exported")


OPERATIONS: dict[str, Callable[[Random, Path, Path, Path], object]] = {
    "ask": _ask,
    "query": _query,
    "export": _export,
    "verify": lambda _, release, source, __: fv.verify(release, source),
    "evaluate": lambda chance, release, source, _: fv.evaluate(release, source, questions=chance.random() < 0.2),
    "report": lambda _, release, __, ___: fv.report(release, overwrite=True),
    "private report": lambda chance, release, source, _: fv.report(release, source if chance.random() < 0.3 else None),
    "reconstruct": lambda chance, release, _, __: fv.reconstruct(
        release, originals()[1] / "zones.parquet", spread=chance.choice(("even", "learned"))
    ),
    "sample": lambda _, release, __, ___: fv.sample(release, 10, seed=1),
    "risk": lambda chance, release, source, _: fv.risk(release, source if chance.random() < 0.3 else None),
    "beside": lambda _, release, __, ___: fv.verify(originals()[0]["flows"], source_of("flows"), beside=release),
    "areas": lambda _, release, __, ___: fv.anonymize(
        fv.build_flows(source_of("flows"), "h3:6", hierarchy="h3", unit="person_id"), k=5, areas_from=release
    ),
    "again": lambda _, release, __, ___: fv.anonymize(
        fv.build_flows(source_of("flows"), "h3:6", hierarchy="h3", unit="person_id"),
        k=5,
        max_suppression=1,
        beside=release,
    ).write(release, overwrite=True),
}


@cache
def register() -> bytes:
    """Return the file of a register with releases of several kinds."""
    room = Path(mkdtemp(prefix="flowveil-fuzz-register-"))
    flows = fv.build_flows(source_of("flows"), "h3:5", hierarchy="h3", unit="person_id", by="sex")
    fv.anonymize(flows, k=5, register=room / "all.register", max_suppression=1).write(room / "one")
    fv.add_noise(
        source_of("flows"), "noisy-mosaic", 1.0, bbox=CITY_BBOX, grid="h3:4", register=room / "all.register"
    ).write(room / "two")
    return (room / "all.register").read_bytes()


def run_register(data: bytes, folder: Path) -> None:
    """List a register, and make a release with it."""
    import sqlite3

    chance = Random(data)
    path = folder / "all.register"
    content = register()
    if chance.random() < 0.5:
        path.write_bytes(change(content, chance, [content], (), len(content)))
    else:
        path.write_bytes(content)
        con = sqlite3.connect(path, isolation_level=None)
        table = chance.choice(("register", "releases", "trips"))
        columns = [row[1] for row in con.execute(f"PRAGMA table_info({table})")]
        value = chance.choice((*VALUES[:17], "[]", "{}", '{"epsilon": "x"}', b"", b"\x00" * 64, "1e999"))
        value = value if not isinstance(value, list | dict) and value != 10**30 else "[]"
        what = chance.randrange(4)
        if what == 0:
            con.execute(f"DELETE FROM {table}")
        elif what == 1:
            con.execute(f"ALTER TABLE {table} RENAME COLUMN {chance.choice(columns)} TO other")
        else:
            con.execute(f"UPDATE OR IGNORE {table} SET {chance.choice(columns)} = ?", (value,))
        con.close()
    path.chmod(0o600)
    if chance.random() < 0.5:
        repr(fv.register(path, forget=chance.choice((None, 1, 2))))
    else:
        flows = fv.build_flows(source_of("flows"), "h3:5", hierarchy="h3", unit="person_id")
        fv.anonymize(flows, k=5, register=path, max_suppression=1).write(folder / "new")


FOLDERS = (
    Target("release folders", run_folder, batch=400, share=3.0, begin=originals),
    Target("verify", run_verify, batch=400, share=2.0, begin=originals),
    Target("register", run_register, batch=300, begin=register),
)
