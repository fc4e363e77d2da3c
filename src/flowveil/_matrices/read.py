"""Reading a release with noise back, with suspicion: it may come from anyone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError
from flowveil._folder import FLOWS, MARGINALS, SIDES, TIMES, Kind, key_columns, read_files
from flowveil._matrices.manifest import neighbors
from flowveil._matrices.release import NoisyRelease
from flowveil._options import parse_bbox, parse_protection
from flowveil._times import CYCLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
    keys = {"kind", "epsilon", "delta", "unit", "protects", "neighbours", "max_trips_per_person", "budget"}
    if set(promise) - {"draws"} != keys:
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
    try:
        protection = parse_protection(promise["protects"], has_unit=most is not None)
    except InputError:
        raise _broken("the promise does not say what it protects") from None
    if promise["neighbours"] != neighbors(protection):
        raise _broken("neighbours of the promise do not fit what it protects")


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
        kinds["scale"] = pa.float64()
    else:
        kinds = _kinds_of_flows(files)
    if MARGINALS in files.tables:
        _check_marginals(files.tables[MARGINALS], options["places"] if of_cells else None)
    if "consistent" in table.schema.names and "consistent" not in kinds:
        kinds["consistent"] = pa.float64()
    if "drawn" in table.schema.names and "drawn" not in kinds:
        kinds["drawn"] = kinds.get("time", pa.int64())
    keys = [] if of_cells else key_columns(table, files.manifest)
    _check_types(table, kinds, keys)


def _kinds_of_flows(files: Files) -> dict[str, pa.DataType]:
    """Return the types of the columns that flows have in any case."""
    options, table = files.manifest["options"], files.tables[FLOWS]
    kinds: dict[str, pa.DataType] = {"origin": pa.string(), "destination": pa.string()}
    cyclic = str(options.get("time_hierarchy", options.get("time", ""))).partition("<")[0] in CYCLES
    for name in key_columns(table, files.manifest):
        of_time = pa.int64() if cyclic else pa.timestamp("us", "UTC")
        kinds[name] = of_time if name in TIMES else pa.string()
    persons = options.get("persons") is True
    kinds |= {"trips": pa.int64()} | ({"persons": pa.int64()} if persons else {})
    kinds |= {"nonnegative": pa.int64(), "scale": pa.float64()}
    return kinds | ({"persons_scale": pa.float64()} if persons else {})


def _check_marginals(table: pa.Table, places: list[str] | None) -> None:
    """Raise unless a table can be read as marginals: every place has boxes, none of them empty, or (None) zones."""
    if places is None:
        counts = dict.fromkeys(["count", "nonnegative"], pa.int64())
        _check_types(table, {"place": pa.string(), "zone": pa.string(), **counts, "scale": pa.float64()})
        if not set(table["place"].to_pylist()) <= set(SIDES):
            raise _broken("the marginals are not of origins and destinations")
        return
    edges = ["low_0", "high_0", "low_1", "high_1"]
    numbers: dict[str, pa.DataType] = dict.fromkeys([*edges, "count", "nonnegative"], pa.int64())
    _check_types(table, {"place": pa.string(), **numbers, "scale": pa.float64()})
    if set(table["place"].to_pylist()) != set(places):
        raise _broken("the marginals are not of the places of the manifest")
    if not all(pc.all(pc.less(table[f"low_{axis}"], table[f"high_{axis}"])).as_py() for axis in (0, 1)):
        raise _broken("a box of the marginals is empty")


def _check_types(table: pa.Table, kinds: Mapping[str, pa.DataType], may_lack: Sequence[str] = ()) -> None:
    if table.schema.names != list(kinds) or any(table.schema.field(name).type != kind for name, kind in kinds.items()):
        raise _broken(f"the columns are not {', '.join(kinds)}")
    if any(table[name].null_count for name in kinds if name not in may_lack):
        raise _broken("a column has nulls")
