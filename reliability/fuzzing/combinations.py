"""Options of a release in all combinations: what is written must verify, and be what a recount by other means says."""

from __future__ import annotations

import json
import math
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import flowveil as fv
from flowveil.synthetic import CITY_BBOX, City
from reliability.fuzzing.recount import recount
from reliability.fuzzing.target import Broken, Target

if TYPE_CHECKING:
    from pathlib import Path

BOX = ",".join(map(str, CITY_BBOX))
BUILDING = (
    "grid",
    "zones",
    "hierarchy",
    "bbox",
    "unit",
    "weight",
    "trip_weight",
    "counts",
    "time",
    "time_hierarchy",
    "timezone",
    "by",
)


@cache
def methods() -> list[str]:
    """Return the names of all methods of crowds."""
    return [method.name for method in fv.methods() if method.promise == "k-anonymity"]


@cache
def city(seed: int, persons: int) -> City:
    """Return one of a few cities."""
    return City(seed=seed, persons=persons)


def draw_trips(chance: Random) -> tuple[pa.Table, pa.Table | None]:
    """Return trips of a small city, between points or zones, or of a small made-up world; and its zones."""
    here = city(chance.randrange(4), chance.choice((12, 30, 80)))
    rows = chance.choice((60, 150, 400, 900))
    kind = chance.randrange(5)
    if kind < 2:
        return _spoiled(chance, here.trips(rows)), None
    if kind == 2:
        return _spoiled(chance, here.trips(rows, ends="zones")), here.zones()
    return _world(chance, counted=chance.random() < 0.3)


def _spoiled(chance: Random, trips: pa.Table) -> pa.Table:
    """Return trips of which some rows cannot be used."""
    for name, value in (
        ("person_id", None),
        ("start_lon", None),
        ("end_lat", float("nan")),
        ("origin", "nowhere"),
        ("end_lon", 999.0),
    ):
        if chance.random() < 0.15 and name in trips.column_names:
            place = trips.column_names.index(name)
            values = trips[name].to_pylist()
            for _ in range(3):
                values[chance.randrange(len(values))] = value
            trips = trips.set_column(place, name, pa.array(values, trips.schema.field(name).type))
    return trips


def _world(chance: Random, *, counted: bool) -> tuple[pa.Table, pa.Table]:
    """Return trips between a few zones, most of which have about a crowd or just none."""
    names = [f"z{number}" for number in range(chance.choice((2, 3, 5, 9)))]
    zones = pa.table(
        {
            "zone_id": names,
            "district": [chance.choice("ABC") for _ in names],
            "region": [chance.choice("XY") for _ in names],
            "lon": [chance.uniform(4, 5) for _ in names],
            "lat": [chance.uniform(50, 51) for _ in names],
        }
    )
    pairs = [(one, other) for one in names for other in names if chance.random() < 0.7] or [(names[0], names[-1])]
    sizes = [chance.choice((1, 2, 4, 5, 6, 9, 10, 11, 30)) for _ in pairs]
    if counted:
        table = {"origin": [pair[0] for pair in pairs], "destination": [pair[1] for pair in pairs], "count": sizes}
        if chance.random() < 0.5:
            table["sex"] = [chance.choice("fm") for _ in pairs]
        return pa.table(table), zones
    rows = [pair for pair, size in zip(pairs, sizes, strict=True) for _ in range(size)]
    persons = chance.choice((5, 20, 200))
    owners = [f"p{chance.randrange(persons)}" for _ in rows]
    table = {
        "person_id": owners,
        "sex": [chance.choice("fm") for _ in rows],
        "age_group": [chance.choice("abcd") for _ in rows],
        "weight": [1.25 + (hash_of(owner) % 40) / 4 for owner in owners],
        "start_time": pa.array([1_710_000_000 + chance.randrange(14 * 86_400) for _ in rows], pa.timestamp("s", "UTC")),
        "origin": [pair[0] for pair in rows],
        "destination": [pair[1] for pair in rows],
    }
    return pa.table(table), zones


def hash_of(text: str) -> int:
    """Return a number of a text that is the same in every process."""
    return sum(31**place % 1009 * ord(letter) for place, letter in enumerate(text))


def draw_options(chance: Random, trips: pa.Table, zones: pa.Table | None) -> dict[str, object]:
    """Return options that mostly go together."""

    def maybe(share: float, *values: object) -> object:
        return chance.choice(values) if chance.random() < share else None

    points, counted = "start_lon" in trips.column_names, "count" in trips.column_names
    asked: dict[str, object] = {
        "method": chance.choice(("mosaic", "mosaic", "mosaic", "nested", "crosscut", *methods()))
    }
    if points:
        asked["grid"] = chance.choice(("h3:4", "h3:5", "h3:6", "h3:7", "quadtree:8000", "quadtree:2500"))
        quad = asked["grid"].startswith("quad")
        asked["bbox"] = BOX if quad else maybe(0.4, BOX, "4.5,50.3,4.75,50.5")
        asked["hierarchy"] = maybe(
            0.7, *(("quadtree", "lattice", "lattice:1") if quad else ("h3", "h3-binary", "lattice", "lattice:3"))
        )
    else:
        asked["zones"] = zones
        asked["hierarchy"] = maybe(0.8, "ward", "many", ["zone_id", "district", "region"], ["zone_id", "region"])
    if counted:
        asked["counts"] = maybe(0.5, "persons", "trips")
    else:
        asked["unit"] = maybe(0.6, "person_id")
        asked["weight"] = maybe(0.3, "weight")
        asked["trip_weight"] = maybe(0.15, "weight") if asked["unit"] and not asked["weight"] else None
        asked["time"] = maybe(
            0.4, "1d", "6h", "2h", "1h", "week", "month", "hour-of-day", "hour-of-week", "weekday-weekend", "day-type"
        )
        if asked["method"] == "mosaic" and not asked["time"]:
            asked["time_hierarchy"] = maybe(
                0.2, "1h<part-of-day<day", "hour-of-day<part-of-day<day", "6h<day<week", "hour-of-week<day<week"
            )
        asked["timezone"] = (
            maybe(0.5, "Europe/Rome", "America/New_York", "Asia/Kolkata")
            if asked["time"] or asked.get("time_hierarchy")
            else None
        )
    asked["by"] = maybe(
        0.35,
        *([["sex"]] if "sex" in trips.column_names else [None]),
        *([["sex", "age_group"], ["age_group"]] if "age_group" in trips.column_names else [None]),
    )
    asked["k"] = chance.choice((2, 3, 5, 5, 10))
    asked["max_suppression"] = maybe(0.7, 0.0, 0.05, 0.3, 1.0, 1.0)
    asked["k_weight"] = maybe(0.5, "auto", "3x", 40.0) if asked.get("weight") else None
    asked["min_tiles"] = maybe(0.1, 2, 3)
    asked["max_share"] = maybe(0.15, 0.5, 0.8, 0.3) if asked.get("unit") else None
    one = maybe(
        0.75,
        "elsewhere",
        "totals",
        "remainders",
        "protect_margins",
        "same_areas",
        "rounding",
        "cell_key",
        "hide_choice",
        "max_gbar",
        "loss",
    )
    if one == "totals" and not asked["by"]:
        one = None
    if one == "same_areas" and not (asked["by"] or asked.get("time")):
        one = "remainders"
    if one in {"same_areas", "remainders", "hide_choice"}:
        asked["method"] = "mosaic"
    values = {
        "rounding": min(chance.choice((2, 3, 5)), asked["k"]),
        "cell_key": chance.randrange(1, asked["k"]),
        "hide_choice": 0.5,
        "max_gbar": 8.0,
        "loss": chance.choice(("area", "metres", "reconstruction")),
    }
    if one:
        asked[one] = values.get(one, True)
    if one in {"remainders", "elsewhere", "totals"}:
        asked["rounding"] = maybe(0.2, min(3, asked["k"]))
    if one == "max_gbar":
        asked["max_suppression"] = None
    if asked["method"] == "mosaic" and one != "same_areas":
        asked["options"] = maybe(0.3, {"keep_safe": True}, {"budget": "each"}, {"keep_safe": True})
    return {name: value for name, value in asked.items() if value is not None}


def run_combination(data: bytes, folder: Path) -> None:
    """Make a release of trips and options drawn by chance, write it, verify it, and count it again."""
    chance = Random(data)
    trips, zones = draw_trips(chance)
    asked = draw_options(chance, trips, zones)
    building = {name: asked[name] for name in BUILDING if name in asked}
    making = {name: value for name, value in asked.items() if name not in BUILDING}
    source = folder / "trips.parquet"
    pq.write_table(trips, source)
    flows = fv.build_flows(source, **building, max_unusable=1.0)
    release = fv.anonymize(flows, **making)
    release.write(folder / "out")
    shown = {name: value if name != "zones" else "..." for name, value in asked.items()}
    try:
        fv.verify(folder / "out", source, **({} if zones is None else {"zones": zones}))
    except fv.FlowveilError as error:
        raise Broken(f"what was written does not verify: {error} {shown}") from None
    how = asked | {"count": "count" if "count" in trips.column_names else None}
    how["zones"] = [] if zones is None else set(zones["zone_id"].to_pylist())
    try:
        recount(folder / "out", trips.to_pandas(), how)
    except Broken as error:
        raise Broken(f"{error} of {shown}") from None
    if chance.random() < 0.15 and not making.get("rounding") and not making.get("cell_key"):
        figures = fv.evaluate(folder / "out", source, **({} if zones is None else {"zones": zones}))
        if not alike(figures, release.metrics(raw=True)):
            raise Broken(f"evaluate and metrics differ: {shown}")


def alike(one: object, other: object) -> bool:
    """Return whether figures agree but for the last digits, which the order of a sum decides."""
    if isinstance(one, dict) and isinstance(other, dict):
        return set(one) == set(other) and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    return one == other


def run_noise(data: bytes, folder: Path) -> None:
    """Make a release with noise of options drawn by chance; its structure must verify, and its sums agree."""
    chance = Random(data)
    here = city(chance.randrange(4), chance.choice((12, 30)))
    trips = here.trips(chance.choice((0, 1, 60, 300)), ends=chance.choice(("points", "zones")))
    points = "start_lon" in trips.column_names
    method = chance.choice([each.name for each in fv.methods() if each.promise != "k-anonymity"])
    of_tiles = method in {"noisy-mosaic", "laplace"}
    unit = "person_id" if chance.random() < 0.6 else None
    asked: dict[str, object] = {"unit": unit, "max_trips_per_person": chance.choice((1, 3, "auto")) if unit else None}
    if of_tiles and not points:
        asked |= {"zones": here.zones(), "hierarchy": chance.choice(("ward", ["zone_id", "district"]))}
    else:
        asked |= {"bbox": BOX} | (
            {"grid": chance.choice(("h3:4", "h3:5"))} if of_tiles else {"cells": chance.choice((1, 4, 16))}
        )
    if of_tiles and chance.random() < 0.5:
        asked["time"] = chance.choice(("1d", "hour-of-day", "day-type", "week"))
        asked["period"] = "2024-03-04/2024-03-17" if asked["time"] in {"1d", "week"} else None
    if of_tiles and chance.random() < 0.4:
        asked |= {"by": "sex", "groups": chance.choice((["sex=female,male"], ["sex=female"], ["sex=a,"]))}
    if unit and chance.random() < 0.3:
        asked["protect"] = chance.choice(("person", "person-day", "person-week", "window:2"))
    if unit and of_tiles and chance.random() < 0.3:
        asked["persons"] = True
    asked = {name: value for name, value in asked.items() if value is not None}
    epsilon = chance.choice((0.1, 1.0, 5.0))
    release = fv.add_noise(trips, method, epsilon, **asked)
    release.write(folder / "out", report=chance.random() < 0.1)
    fv.verify(folder / "out", **({"zones": asked["zones"]} if "zones" in asked else {}))
    table = release.table.to_pandas()
    counts = table["trips" if "trips" in table else "count"].to_numpy()
    keys = [name for name in ("time", "sex") if name in table and (name != "time" or "time" in asked)]
    whole = (
        np.maximum(table.assign(count=counts).groupby(keys)["count"].sum(), 0) if keys else max(int(counts.sum()), 0)
    )
    settled = table.groupby(keys)["nonnegative"].sum() if keys else int(table["nonnegative"].sum())
    if not np.array_equal(np.asarray(whole), np.asarray(settled)) or (table["nonnegative"] < 0).any():
        raise Broken(f"nonnegative counts do not keep the noisy total: {method} {asked | {'zones': '...'}}")
    audit = json.loads((folder / "out.audit.json").read_text())
    if sum(float(line.get("epsilon", 0)) for line in release.manifest["promise"]["budget"]) > epsilon * (1 + 1e-9):
        raise Broken(f"more is spent than epsilon: {method} {audit['ledger']}")


COMBINATIONS = (
    Target("combinations", run_combination, batch=150, seconds=300.0, share=8.0),
    Target("noise", run_noise, batch=150, seconds=120.0, share=1.5),
)
