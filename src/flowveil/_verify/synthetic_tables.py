"""The tables and the promise of synthetic trajectories, after checking that they are as the format says."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

import numpy as np
import pyarrow as pa

from flowveil._folder import MANIFEST, MODEL, NOISE, PLACES, REPORT, SAMPLES, find_release
from flowveil._verify.broken import broken
from flowveil._verify.description import check_description
from flowveil._verify.json import only_keys
from flowveil._verify.manifest import KEYS, check_software
from flowveil._verify.options import parse_box
from flowveil._verify.parquet import read_parquet
from flowveil._verify.words import SYNTHETIC_ABSENCE, synthetic_promise_in_words
from flowveil._verify.written import load_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json

FORMAT = "flowveil-synthetic/1"
_PROMISE = {
    "kind": NOISE,
    "delta": 0,
    "unit": "user",
    "neighbours": "one user added or removed",
    "records": "trajectories",
    "samples": "synthetic",
}
_PROMISE_KEYS = ("kind", "epsilon", "delta", "unit", "neighbours", "records", "samples", "budget")
_OPTIONS = ("projection", "parallel", "step", "bbox", "days", "timezone", "min_samples")
_MORE_OPTIONS = ("users", "seed")
_PROJECTION = "Lambert cylindrical equal-area"
_STEP = r"([1-9]\d{0,8})m,([1-9]\d{0,8})min"
_STEEPEST_PARALLEL = 80
_MOST_EPSILON = 100
_MOST_DAYS = 3_660
_LARGEST_WHOLE = 2**63 - 1
_EPOCH = date(1970, 1, 1).toordinal()
_INT, _FLOAT, _TIME = pa.int64(), pa.float64(), pa.timestamp("us", tz="UTC")
_SCHEMAS: dict[str, dict[str, pa.DataType]] = {
    SAMPLES: {"user": _INT, "time": _TIME, "lon": _FLOAT, "lat": _FLOAT, "place": _INT},
    PLACES: {
        "place": _INT,
        "lon0": _FLOAT,
        "lat0": _FLOAT,
        "lon1": _FLOAT,
        "lat1": _FLOAT,
        "block": _INT,
        "stays": _INT,
        "scale": _FLOAT,
    },
    MODEL: {"part": pa.string(), "row": _INT, "column": _INT, "count": _INT, "scale": _FLOAT},
}


@dataclass(frozen=True, eq=False)
class SyntheticTables:
    """A release of synthetic trajectories as it was written."""

    folder: Path
    manifest: dict[str, Json]
    tables: dict[str, pa.Table]
    step: tuple[int, int]  # meters and minutes
    days: tuple[int, int]  # the first one, since 1970, and how many

    @property
    def epsilon(self) -> float:
        """The budget for one user."""
        return float(self.manifest["promise"]["epsilon"])

    @property
    def options(self) -> dict[str, Json]:
        """The options of the manifest."""
        options: dict[str, Json] = self.manifest["options"]
        return options

    def whole(self, table: str, column: str) -> IntArray:
        """Return a column of whole numbers or moments."""
        return np.asarray(self.tables[table][column].cast(_INT).to_numpy(), np.int64)

    def floats(self, table: str, column: str) -> FloatArray:
        """Return a column of numbers."""
        return np.asarray(self.tables[table][column].to_numpy(), np.float64)


def read_synthetic_tables(path: str | Path) -> SyntheticTables:
    """Read a release; raise VerificationError where it is not as the format says."""
    folder = find_release(path)
    manifest = load_manifest(folder)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise broken(f"the format is not {FORMAT}")
    if {entry.name for entry in folder.iterdir()} - {REPORT} != {MANIFEST, *_SCHEMAS}:
        raise broken(f"the folder holds other files than {MANIFEST}, {', '.join(_SCHEMAS)}")
    step, days = _check_manifest(manifest)
    tables = {name: read_parquet(folder / name, pa.schema(columns)) for name, columns in _SCHEMAS.items()}
    release = SyntheticTables(folder, manifest, tables, step, days)
    for name, table in tables.items():
        if any(column.null_count for column in table.columns):
            raise broken(f"{name} has nulls")
        floats = [column for column, kind in _SCHEMAS[name].items() if kind == _FLOAT]
        if not all(np.isfinite(release.floats(name, column)).all() for column in floats):
            raise broken(f"{name} has numbers that are not finite")
    return release


def _check_manifest(manifest: dict[str, Json]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Check every key and value; return the step of the grid and the days."""
    only_keys(manifest, "the manifest", KEYS, ("description",))
    check_software(manifest["software"])
    promise, options = manifest["promise"], manifest["options"]
    only_keys(promise, "the promise", _PROMISE_KEYS)
    only_keys(options, "the object 'options'", _OPTIONS, _MORE_OPTIONS)
    if {name: promise[name] for name in _PROMISE} != _PROMISE or type(promise["delta"]) is not int:
        raise broken("the promise is not one of noise about users and synthetic trajectories")
    epsilon = promise["epsilon"]
    if type(epsilon) not in {int, float} or not (math.isfinite(epsilon) and 0 < epsilon <= _MOST_EPSILON):
        raise broken(f"epsilon of the promise is not a positive number up to {_MOST_EPSILON}")
    label = check_description(manifest, has_unit=True)
    if manifest["promise_text"] != synthetic_promise_in_words(promise, label):
        raise broken("'promise_text' of the manifest does not say what the promise says")
    if manifest["method"] != "routines" or manifest["absence"] != SYNTHETIC_ABSENCE:
        raise broken("'method' or 'absence' of the manifest is not what the format says")
    return _check_options(options)


def _check_options(options: dict[str, Json]) -> tuple[tuple[int, int], tuple[int, int]]:
    _, south, _, north = parse_box(options["bbox"])
    parallel = max(-_STEEPEST_PARALLEL, min(_STEEPEST_PARALLEL, round((south + north) / 2)))
    step = re.fullmatch(_STEP, options["step"]) if isinstance(options["step"], str) else None
    if options["projection"] != _PROJECTION or type(options["parallel"]) is not int or step is None:
        raise broken("the grid of the manifest cannot be read")
    if options["parallel"] != parallel:
        raise broken("'parallel' of the manifest is not the one of its bbox")
    if options["timezone"] not in available_timezones():
        raise broken("'timezone' of the manifest is not a time zone")
    for name, least in (("min_samples", 1), ("users", 1), ("seed", 0)):
        value = options.get(name, least)
        if type(value) is not int or not least <= value <= _LARGEST_WHOLE:
            raise broken(f"{name!r} of the manifest is not what may be typed")
    try:
        first, last = (date.fromisoformat(part).toordinal() - _EPOCH for part in options["days"].split(","))
    except (ValueError, AttributeError):
        raise broken("'days' of the manifest cannot be read") from None
    if not 0 <= last - first < _MOST_DAYS:
        raise broken("'days' of the manifest are none, or too many")
    return (int(step[1]), int(step[2])), (first, last - first + 1)
