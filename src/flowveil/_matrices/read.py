"""Reading a release with noise back, with suspicion: it may come from anyone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError
from flowveil._folder import MARGINALS, Kind, read_files
from flowveil._matrices.release import NoisyRelease
from flowveil._options import parse_bbox

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._folder import Files, Json

_KINDS = {Kind.NOISY_FLOWS, Kind.CELLS}
_HINT = "name a folder made with --epsilon (see flowveil methods)"


def read_noisy(path: str | Path) -> NoisyRelease:
    """Read a release with noise; raise InputError for one of another kind, or that is not as the format says."""
    files = read_files(path, _KINDS, "a release with noise", _HINT)
    _check_promise(files.manifest["promise"])
    _check_columns(files)
    return NoisyRelease(files.tables, files.manifest)


def _broken(message: str) -> InputError:
    """Return the error for a release that is not what it says."""
    return InputError(f"the release is not as the format says: {message}", "flowveil verify says what is wrong")


def _check_promise(promise: Mapping[str, Json]) -> None:
    keys = {"kind", "epsilon", "delta", "unit", "neighbours", "max_trips_per_person", "budget"}
    if set(promise) != keys:
        raise _broken(f"the promise has other keys than {', '.join(sorted(keys))}")
    epsilon, most, unit = promise["epsilon"], promise["max_trips_per_person"], promise["unit"]
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < math.inf:
        raise _broken("epsilon of the promise is not a positive number")
    if promise["delta"] != 0:
        raise _broken("delta of the promise is not 0")
    if not isinstance(unit, str) or not unit or (unit == "trip") != (most is None):
        raise _broken("unit and max_trips_per_person of the promise do not go together")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise _broken("max_trips_per_person of the promise is not a whole number, 1 or more")
    if promise["neighbours"] != f"one {'trip' if most is None else 'person'} added or removed":
        raise _broken("neighbours of the promise do not fit its unit")


def _check_columns(files: Files) -> None:
    options, of_cells = files.manifest["options"], files.kind is Kind.CELLS
    table = files.tables[files.kind.tables[0]]
    if of_cells or options.get("grid", "") is not None:  # zones have no bbox
        try:
            parse_bbox(options.get("bbox", ""))
        except InputError:
            raise _broken("the manifest has no bbox") from None
    if of_cells:
        if not isinstance(options.get("places"), list) or not isinstance(options.get("cells"), int):
            raise _broken("the manifest does not describe the grid")
        axes = range(2 * len(options["places"]))
        names = [f"{end}_{axis}" for axis in axes for end in ("low", "high")]
        kinds: dict[str, pa.DataType] = dict.fromkeys([*names, "count", "nonnegative"], pa.int64())
    else:
        kinds = {"origin": pa.string(), "destination": pa.string(), "trips": pa.int64(), "nonnegative": pa.int64()}
    kinds["scale"] = pa.float64()
    if MARGINALS in files.tables:
        _check_marginals(files.tables[MARGINALS], options["places"])
    if "consistent" in table.schema.names:
        kinds["consistent"] = pa.float64()
    _check_types(table, kinds)


def _check_marginals(table: pa.Table, places: list[str]) -> None:
    """Raise unless a table can be read as marginals: every place has boxes, none of them empty."""
    edges = ["low_0", "high_0", "low_1", "high_1"]
    numbers: dict[str, pa.DataType] = dict.fromkeys([*edges, "count", "nonnegative"], pa.int64())
    _check_types(table, {"place": pa.string(), **numbers, "scale": pa.float64()})
    if set(table["place"].to_pylist()) != set(places):
        raise _broken("the marginals are not of the places of the manifest")
    if not all(pc.all(pc.less(table[f"low_{axis}"], table[f"high_{axis}"])).as_py() for axis in (0, 1)):
        raise _broken("a box of the marginals is empty")


def _check_types(table: pa.Table, kinds: Mapping[str, pa.DataType]) -> None:
    if table.schema.names != list(kinds) or any(table.schema.field(name).type != kind for name, kind in kinds.items()):
        raise _broken(f"the columns are not {', '.join(kinds)}")
    if any(column.null_count for column in table.columns):
        raise _broken("a column has nulls")
