"""The tables and the promise of a release with noise, after checking that they are as the format says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._folder import AREAS, CELLS, FLOWS, MANIFEST, MARGINALS, NOISE, REPORT, SIDES, find_release, read_json
from flowveil._verify.broken import broken, shown
from flowveil._verify.description import check_description
from flowveil._verify.geo import read_shapes
from flowveil._verify.json import only_keys
from flowveil._verify.manifest import KEYS, check_software
from flowveil._verify.marginals import check_columns, has_marginals
from flowveil._verify.method import LISTS_POSITIVE, NO_OPTIONS, check_noisy_method
from flowveil._verify.options import parse_box
from flowveil._verify.words import noisy_absence_in_words, noisy_promise_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json

_TABLES = {"flowveil-cells/1": (CELLS,), "flowveil-flows/1": (FLOWS, AREAS)}  # by format
_PROMISE_KEYS = ("kind", "epsilon", "delta", "unit", "neighbours", "max_trips_per_person", "budget")
_CELL_KEYS = ("bbox", "cells", "places")
_AREA_KEYS = ("grid", "hierarchy", "zone_name", "place_names", "bbox", "method_options")
_PLACE = r"[\w -]{1,40}"  # what a pair of axes is called: origin, stop 1, morning
_MOST_CELLS = 1_000_000  # along a side
_MOST_EPSILON = 100  # above, a promise protects nobody
_CONSISTENT = "consistent"  # option and column


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """A release with noise as it was written."""

    folder: Path
    manifest: dict[str, Json]
    table: pa.Table  # cells or flows
    areas: pa.Table | None  # of flows
    marginals: pa.Table | None  # of boxes

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
    try:
        tables = {name: pq.read_table(folder / name) for name in files}
        areas = tables.get(AREAS)
        geometry = [] if areas is None else areas["geometry"].to_pylist()
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise broken(f"a table cannot be read: {type(error).__name__}") from None
    read_shapes(geometry)
    release = NoisyTables(folder, manifest, tables[files[0]], areas, tables.get(MARGINALS))
    _check_columns(release)
    if release.marginals is not None:
        check_columns(release.marginals, release.options["places"])
    return release


def check_words(release: NoisyTables) -> None:
    """Raise unless the manifest says in words what it promises."""
    manifest, positive_only = release.manifest, release.positive_only
    label = check_description(manifest, has_unit=manifest["promise"]["unit"] != "trip")
    if manifest["promise_text"] != noisy_promise_in_words(manifest["promise"], label, positive_only=positive_only):
        raise broken("'promise_text' of the manifest does not say what the promise says")
    if manifest["absence"] != noisy_absence_in_words(positive_only=positive_only):
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
    only_keys(promise, "the promise", _PROMISE_KEYS)
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
    if promise["neighbours"] != f"one {'trip' if most is None else 'person'} added or removed":
        raise broken("neighbours of the promise do not fit its unit")


def _check_columns(release: NoisyTables) -> None:
    if release.areas is None:
        _check_grid(release)
        edges = [f"{end}_{axis}" for axis in range(release.axes) for end in ("low", "high")]
        types: dict[str, pa.DataType] = dict.fromkeys([*edges, "count", "nonnegative"], pa.int64())
    else:
        if unknown := sorted(release.options.keys() - set(_AREA_KEYS)):
            raise broken(f"the options of a release with noise have the key {shown(unknown[0])!r}")
        types = {**dict.fromkeys(SIDES, pa.string()), "trips": pa.int64(), "nonnegative": pa.int64()}
    types["scale"] = pa.float64()
    typed = release.options.get("method_options", NO_OPTIONS)
    check_noisy_method(release.manifest["method"], typed, between_areas=release.areas is not None)
    consistent = isinstance(typed, dict) and bool(typed.get(_CONSISTENT))
    schema = release.table.schema
    if (_CONSISTENT in schema.names) != consistent:
        raise broken(f"there is a column {_CONSISTENT!r} that was not asked for, or none that was")
    if _CONSISTENT in schema.names:
        types[_CONSISTENT] = pa.float64()
    if schema.names != list(types) or any(schema.field(name).type != kind for name, kind in types.items()):
        raise broken(f"the columns are not {', '.join(types)}")
    if any(column.null_count for column in release.table.columns):
        raise broken("a column has nulls")


def _check_grid(release: NoisyTables) -> None:
    """Raise unless the options describe a grid of cells, and nothing else."""
    options = release.options
    only_keys(options, "the object 'options'", _CELL_KEYS, ("method_options",))
    parse_box(options["bbox"])
    places, cells = options["places"], options["cells"]
    named = isinstance(places, list) and all(isinstance(name, str) and re.fullmatch(_PLACE, name) for name in places)
    if not named or not places or len(set(places)) < len(places):
        raise broken("'places' of the manifest are not the names of pairs of axes")
    if type(cells) is not int or not 1 <= cells <= _MOST_CELLS:
        raise broken("'cells' of the manifest is not a number of cells")
