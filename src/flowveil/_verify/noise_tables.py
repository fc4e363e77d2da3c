"""The tables and the promise of a release with noise, after checking that they are as the format says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._folder import (
    AREAS,
    CELLS,
    FLOWS,
    MANIFEST,
    MARGINALS,
    NOISE,
    REPORT,
    SIDES,
    TIMES,
    find_release,
    read_json,
)
from flowveil._verify.broken import broken, shown
from flowveil._verify.clock import VALUES_OF_CYCLE
from flowveil._verify.description import check_description
from flowveil._verify.geo import GEO, read_shapes
from flowveil._verify.json import only_keys
from flowveil._verify.manifest import KEYS, check_software
from flowveil._verify.marginals import check_columns, check_zone_columns, has_marginals
from flowveil._verify.method import LISTS_POSITIVE, NO_OPTIONS, check_noisy_method
from flowveil._verify.options import parse_box
from flowveil._verify.parquet import read_any_columns
from flowveil._verify.words import noisy_absence_in_words, noisy_promise_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json

_TABLES = {"flowveil-cells/1": (CELLS,), "flowveil-flows/1": (FLOWS, AREAS)}  # by format
_PROMISE_KEYS = ("kind", "epsilon", "delta", "unit", "protects", "neighbours", "max_trips_per_person", "budget")
_CELL_KEYS = ("bbox", "cells", "places")
_LAYER_KEYS = ("time", "time_hierarchy", "timezone", "period", "by", "groups", "persons")
_AREA_KEYS = ("grid", "hierarchy", "zone_name", "place_names", "bbox", "method_options", *_LAYER_KEYS)
_MOST_WINDOW = 100_000  # steps
_PLACE = r"[\w -]{1,40}"  # what a pair of axes is called: origin, stop 1, morning
_MOST_CELLS = 1_000_000  # along a side
_MOST_EPSILON = 100  # above, a promise protects nobody
_CONSISTENT = "consistent"  # option and column
_NOISE_COLUMNS = ("nonnegative", "scale", "persons_scale", "consistent", "drawn")


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """A release with noise as it was written."""

    folder: Path
    manifest: dict[str, Json]
    table: pa.Table  # cells or flows
    areas: pa.Table | None  # of flows
    marginals: pa.Table | None  # of boxes, or of zones

    @property
    def options(self) -> dict[str, Json]:
        """The options of the manifest."""
        options: dict[str, Json] = self.manifest["options"]
        return options

    @property
    def epsilon(self) -> float:
        """The budget for one unit."""
        return float(self.manifest["promise"]["epsilon"])

    @property
    def trips_of_a_unit(self) -> int:
        """How many trips one unit contributes at most."""
        return int(self.manifest["promise"]["max_trips_per_person"] or 1)

    @property
    def positive_only(self) -> bool:
        """Whether counts below one were left out after the noise."""
        return bool(self.manifest["method"] == LISTS_POSITIVE)

    @property
    def counts(self) -> IntArray:
        """The noisy counts."""
        return self.whole("count" if self.areas is None else "trips")

    @property
    def scales(self) -> FloatArray:
        """The scale of the noise of each count."""
        return np.asarray(self.table["scale"].to_numpy(), np.float64)

    @property
    def window(self) -> int | None:
        """How many steps in a row are protected together, None where it is no stream."""
        protects = str(self.manifest["promise"]["protects"])
        return int(protects.partition(":")[2]) if ":" in protects else None

    @property
    def counts_persons(self) -> bool:
        """Whether persons are counted beside trips."""
        return "persons" in self.options

    @property
    def axes(self) -> int:
        """The axes of boxes: two for each place."""
        return 2 * len(self.options["places"])

    def whole(self, column: str) -> IntArray:
        """Return a column of whole numbers."""
        return np.asarray(self.table[column].to_numpy(), np.int64)


def read_noisy_tables(path: str | Path) -> NoisyTables:
    """Read a release with noise; raise VerificationError where it is not as the format says."""
    folder = find_release(path)
    try:
        manifest = read_json(folder / MANIFEST)
        is_noisy = manifest["promise"]["kind"] == NOISE
    except (OSError, ValueError, KeyError, TypeError):
        is_noisy = False
    if not is_noisy:
        raise InputError(f"{str(path)!r} is not a release with noise", "name a folder made with --epsilon")
    files = _TABLES.get(str(manifest.get("format")))
    if files is None:
        raise broken(f"the format is neither {' nor '.join(_TABLES)}")
    files = (*files, MARGINALS) if has_marginals(manifest) else files
    _check_manifest(folder, manifest, files)
    tables = {name: read_any_columns(folder / name, {"geo": GEO} if name == AREAS else None) for name in files}
    areas = tables.get(AREAS)
    if areas is not None:
        if "geometry" not in areas.column_names:
            raise broken(f"{AREAS} has no column 'geometry'")
        read_shapes(areas["geometry"].to_pylist())
    release = NoisyTables(folder, manifest, tables[files[0]], areas, tables.get(MARGINALS))
    _check_columns(release)
    if release.marginals is not None:
        if release.areas is None:
            check_columns(release.marginals, release.options["places"])
        else:
            check_zone_columns(release.marginals)
    return release


def check_words(release: NoisyTables) -> None:
    """Raise unless the manifest says in words what it promises."""
    manifest, positive_only = release.manifest, release.positive_only
    label = check_description(manifest, has_unit=manifest["promise"]["unit"] != "trip")
    words = noisy_promise_in_words(
        manifest["promise"],
        label,
        positive_only=positive_only,
        divided=bool({"time", "time_hierarchy", "by"} & release.options.keys()),
        persons=release.counts_persons,
        options=release.options,
    )
    if manifest["promise_text"] != words:
        raise broken("'promise_text' of the manifest does not say what the promise says")
    if manifest["absence"] != noisy_absence_in_words(positive_only=positive_only, stream=release.window is not None):
        raise broken("'absence' of the manifest is not what the format says")


def _check_manifest(folder: Path, manifest: dict[str, Json], tables: tuple[str, ...]) -> None:
    files = {MANIFEST, *tables}
    if {entry.name for entry in folder.iterdir()} - {REPORT} != files:
        raise broken(f"the folder holds other files than {', '.join(sorted(files))}")
    only_keys(manifest, "the manifest", KEYS, ("description",))
    check_software(manifest["software"])
    if not isinstance(manifest["options"], dict):
        raise broken("the manifest has no options")
    promise = manifest["promise"]
    only_keys(promise, "the promise", _PROMISE_KEYS, ("draws",))
    epsilon, most, unit = promise["epsilon"], promise["max_trips_per_person"], promise["unit"]
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon <= _MOST_EPSILON:
        raise broken(
            f"epsilon of the promise is not a positive number up to {_MOST_EPSILON}: above, nobody is protected"
        )
    if type(promise["delta"]) is not int or promise["delta"] != 0:
        raise broken("delta of the promise is not 0")
    if not isinstance(unit, str) or not unit or (unit == "trip") != (most is None):
        raise broken("unit and max_trips_per_person of the promise do not go together")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise broken("max_trips_per_person of the promise is not a whole number, 1 or more")
    if promise["neighbours"] != _neighbors(promise["protects"], has_unit=most is not None):
        raise broken("neighbours of the promise do not fit what it protects")
    if ("draws" in promise) != str(promise["protects"]).startswith("window:"):
        raise broken("a stream has draws, and nothing else has")


def _neighbors(protects: Json, *, has_unit: bool) -> str:
    """Return what two inputs differ by, from what is protected; raise if that is nothing known."""
    if (protects != "trip") != has_unit:
        raise broken("the promise protects persons without a unit, or trips with one")
    if protects in ("trip", "person"):
        return f"one {protects} added or removed"
    period = re.fullmatch(r"person-(day|week|month)", str(protects))
    if period is not None:
        return f"all trips of one person {'on' if period[1] == 'day' else 'in'} one {period[1]} added or removed"
    steps = re.fullmatch(r"window:([1-9][0-9]{0,5})", str(protects))
    if steps is None or int(steps[1]) > _MOST_WINDOW:
        raise broken("the promise protects nothing that is known")
    return f"all trips of one person in {steps[1]} steps of time in a row added or removed"


def _check_columns(release: NoisyTables) -> None:
    if release.areas is None:
        _check_grid(release)
        edges = [f"{end}_{axis}" for axis in range(release.axes) for end in ("low", "high")]
        types: dict[str, pa.DataType] = dict.fromkeys([*edges, "count", "nonnegative"], pa.int64())
    else:
        if unknown := sorted(release.options.keys() - set(_AREA_KEYS)):
            raise broken(f"the options of a release with noise have the key {shown(unknown[0])!r}")
        types = _types_of_flows(release)
    types["scale"] = pa.float64()
    if release.counts_persons:
        types["persons_scale"] = pa.float64()
    typed = release.options.get("method_options", NO_OPTIONS)
    check_noisy_method(release.manifest["method"], typed, between_areas=release.areas is not None)
    consistent = isinstance(typed, dict) and bool(typed.get(_CONSISTENT))
    schema = release.table.schema
    if (_CONSISTENT in schema.names) != consistent:
        raise broken(f"there is a column {_CONSISTENT!r} that was not asked for, or none that was")
    if _CONSISTENT in schema.names:
        types[_CONSISTENT] = pa.float64()
    if release.window is not None:
        types["drawn"] = pa.timestamp("us", "UTC")
    if schema.names != list(types) or any(schema.field(name).type != kind for name, kind in types.items()):
        raise broken(f"the columns are not {', '.join(types)}")
    may_lack = {*release.options.get("by", ()), *(TIMES if "time_hierarchy" in release.options else ())}
    if any(release.table[name].null_count for name in types if name not in may_lack):
        raise broken("a column has nulls")


def _types_of_flows(release: NoisyTables) -> dict[str, pa.DataType]:
    """Return the columns of flows up to their scale."""
    options = release.options
    if options.get("persons", True) is not True:
        raise broken("'persons' of the manifest is not true")
    by = options.get("by", [])
    if not isinstance(by, list) or not all(isinstance(name, str) for name in by) or set(by) & set(_NOISE_COLUMNS):
        raise broken("'by' of the manifest is not a list of columns")
    cut = str(options.get("time_hierarchy", options.get("time", ""))).partition("<")[0]
    moment = pa.int64() if cut in VALUES_OF_CYCLE else pa.timestamp("us", "UTC")
    times = TIMES if "time_hierarchy" in options else TIMES[:1] if "time" in options else ()
    keys = {**dict.fromkeys(SIDES, pa.string()), **dict.fromkeys(times, moment), **dict.fromkeys(by, pa.string())}
    persons = {"persons": pa.int64()} if release.counts_persons else {}
    return {**keys, "trips": pa.int64(), **persons, "nonnegative": pa.int64()}


def _check_grid(release: NoisyTables) -> None:
    """Raise unless the options describe a grid of cells, and nothing else."""
    options = release.options
    only_keys(options, "the object 'options'", _CELL_KEYS, ("method_options", "timezone"))
    if "timezone" in options and not str(release.manifest["promise"]["protects"]).startswith("person-"):
        raise broken("boxes have a time zone, and no days or weeks of persons")
    parse_box(options["bbox"])
    places, cells = options["places"], options["cells"]
    named = isinstance(places, list) and all(isinstance(name, str) and re.fullmatch(_PLACE, name) for name in places)
    if not named or not places or len(set(places)) < len(places):
        raise broken("'places' of the manifest are not the names of pairs of axes")
    if type(cells) is not int or not 1 <= cells <= _MOST_CELLS:
        raise broken("'cells' of the manifest is not a number of cells")
