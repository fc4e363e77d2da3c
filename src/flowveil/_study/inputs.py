"""Inputs of presets: public data where a folder of it is given, else what is made up in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from flowveil._flows import build_flows
from flowveil._matrices import CellGrid, Matrix, Points, build_matrix
from flowveil._synthetic import CITY_BBOX, PHONES_BBOX, City, fold_days, phones, split_zones
from flowveil._trajectories import read_trajectories
from flowveil._trips import read_trips

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from flowveil._arrays import FloatArray
    from flowveil._processes import Message
    from flowveil._study.presets import Section

_PLACES = ("origin", "destination", "stop 1", "stop 2")
_FLOW_COLUMNS = ("person_id", "sex", "age_group", "category", "weight", "start_time")
_ENDS = {"points": ("start_lon", "start_lat", "end_lon", "end_lat"), "zones": ("origin", "destination")}


class Samples(NamedTuple):
    """Samples of trajectories, and how they are read."""

    table: pa.Table
    bbox: tuple[float, float, float, float]
    reading: dict[str, Any]  # Any: keywords of read_trajectories

    def read(self) -> Message:
        """Return them as trajectories."""
        return read_trajectories(self.table, self.bbox, **self.reading)


def choose_source(entry: Section, folder: Path | None, *, small: bool) -> tuple[str, Section]:
    """Return what an input is taken from, in words, and how: real data where all its files are there."""
    if small:
        return "made up, small", entry["made"] | entry.get("small", {})
    real = entry.get("real")
    if real is not None and folder is not None and all((folder / name).is_file() for name in files_of(real)):
        return str(real["called"]), real
    return str(entry["made"]["called"]), entry["made"]


def files_of(source: Section) -> list[str]:
    """Return the names of the files that a source needs."""
    return [source[name] for name in ("file", "zones") if name in source]


def load(kind: str, entry: Section, source: Section, folder: Path | None) -> Message:
    """Return an input: flows, a matrix, or samples of trajectories."""
    return _LOADERS[kind](entry, source, folder)


def _load_flows(entry: Section, source: Section, folder: Path | None) -> Message:
    build = entry.get("build", {}) | source.get("build", {})
    if "file" in source and folder is not None:
        trips = read_trips(folder / source["file"], source.get("columns"), source.get("where"))
        zones = {"zones": folder / source["zones"]} if "zones" in source else {}
        return build_flows(trips, **zones, **build)
    city = City(seed=source.get("seed", 0), persons=source["persons"])
    ends: Literal["points", "zones"] = "zones" if source.get("ends") == "zones" else "points"
    table = city.trips(source["trips"], ends=ends).select([*_FLOW_COLUMNS, *_ENDS[ends]])
    zones_table = city.zones()
    if "fold_days" in source:
        table = fold_days(table, source["fold_days"])
    if source.get("split"):
        table, zones_table = split_zones(table, zones_table)
    where: dict[str, Any] = {"zones": zones_table} if ends == "zones" else {"bbox": CITY_BBOX}  # Any: of build_flows
    return build_flows(table, **(where | build))


def _load_matrix(_: Section, source: Section, folder: Path | None) -> Message:
    if "file" in source and folder is not None:
        return build_matrix(folder / source["file"], source["bbox"], source["cells"], ends=source["ends"])
    d, trips = source["dimensions"], source["trips"]
    side = source.get("cells") or round(trips ** (1 / d))
    random = np.random.default_rng([source.get("seed", 0), d])
    if source["shape"] == "gaussian":
        cells = np.rint(random.normal(random.integers(0, side, d), source["spread"] * side, (trips, d)))
    elif source["shape"] == "zipf":
        cells = random.zipf(source["skew"], (trips, d)).astype(float) - 1
    else:
        cells = _city_cells(source, side)
    cells = cells[((cells >= 0) & (cells < side)).all(axis=1)].astype(np.int64)
    distinct, counts = np.unique(cells, axis=0, return_counts=True)
    points = Points(distinct, counts, (side,) * d)
    return Matrix(points, CellGrid((0.0, 0.0, 1.0, 1.0), side, _PLACES[: d // 2]))


def _city_cells(source: Section, side: int) -> FloatArray:
    table = City(persons=source["persons"]).trips(source["trips"])
    names = _ENDS["points"][: source["dimensions"]]
    low, high = (np.array([*CITY_BBOX[at : at + 2]] * 2)[: len(names)] for at in (0, 2))
    places = np.column_stack([table[name].to_numpy() for name in names])
    cells: FloatArray = np.floor((places - low) / (high - low) * side)
    return cells


def _load_samples(_: Section, source: Section, folder: Path | None) -> Message:
    if "file" in source and folder is not None:
        table = pq.read_table(folder / source["file"])
        if "users" in source:  # the first of them, in the order of their names
            names = sorted({str(name) for name in table["user_id"].to_pylist()})
            # Users with few samples are left out when they are read.
            counted = table.group_by("user_id").aggregate([("user_id", "count")]).to_pylist()
            often = {str(row["user_id"]) for row in counted if row["user_id_count"] >= source.get("min_samples", 1)}
            kept = set([name for name in names if name in often][: source["users"]])
            table = table.filter(np.array([str(name) in kept for name in table["user_id"].to_pylist()]))
        return Samples(table, tuple(source["bbox"]), {"min_samples": source.get("min_samples", 1)})
    return Samples(phones(source["users"], samples=source["samples"]), PHONES_BBOX, source.get("reading", {}))


_LOADERS: dict[str, Callable[[Section, Section, Path | None], Message]] = {
    "flows": _load_flows,
    "profile": _load_flows,
    "noise": _load_matrix,
    "paths": _load_samples,
    "gap": _load_samples,
}
