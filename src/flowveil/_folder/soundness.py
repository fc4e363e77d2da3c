"""Whether a release is as the format says: what all who read one rely on, whoever wrote the folder.

That the promise holds is not checked here: that is what the verifier is for, which shares none of this.
"""

from __future__ import annotations

import re
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._folder.columns import key_columns
from flowveil._folder.kinds import Kind
from flowveil._folder.manifests import Manifest
from flowveil._folder.names import (
    AREAS,
    CELLS,
    CYCLES,
    ELSEWHERE,
    FLOWS,
    MARGINALS,
    MODEL,
    NO_COLUMN,
    PLACES,
    SAMPLES,
    SIDES,
    TIMES,
    TRAJECTORIES,
)
from flowveil._folder.shapes import shapes_from_wkb
from flowveil._options import parse_bbox, parse_epsilon, parse_k, parse_protection, parse_timezone, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flowveil._arrays import ChunkedColumn, FloatArray, IntArray
    from flowveil._folder.json import Json

_MOST = 2**62  # sums of counts stay within 64 bits
_ROUND = 360  # degrees: areas may lie across the line at 180
_WIDE = 1e-9  # degrees by which outlines may pass a pole
_YEAR = 365 * 86_400 * 1_000_000 + 86_400 * 250_000  # microseconds
_MOMENTS = -1_960 * _YEAR, 7_960 * _YEAR  # years that calendars have on any clock
_INT, _FLOAT, _TEXT, _TIME = pa.int64(), pa.float64(), pa.string(), pa.timestamp("us", "UTC")

_NOISY = ("kind", "epsilon", "delta", "unit", "budget")
_OF_TRIPS = (*_NOISY, "protects", "neighbours", "max_trips_per_person")
_ON_GRID = ("bbox", "step")
# Keys of the promise and of the options that a kind of release cannot do without.
_NEEDED: dict[Kind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Kind.FLOWS: (("kind", "k", "unit", "volumes", "areas"), ()),
    Kind.NOISY_FLOWS: (_OF_TRIPS, ()),
    Kind.CELLS: (_OF_TRIPS, ("bbox", "places", "cells")),
    Kind.TRAJECTORIES: (("kind", "k", "unit"), _ON_GRID),
    Kind.SYNTHETIC: (_NOISY, (*_ON_GRID, "days", "timezone")),
}


class Values(NamedTuple):
    """What a column may hold."""

    form: pa.DataType
    least: float = -_MOST
    most: float = _MOST
    or_null: bool = False


_COUNT, _SIGNED, _SCALE = Values(_INT, 0), Values(_INT), Values(_FLOAT, 0)
_MOMENT, _NAME = Values(_TIME, *_MOMENTS), Values(_TEXT)
_LON, _LAT = Values(_FLOAT, -180, 180), Values(_FLOAT, -90, 90)


def broken(message: str) -> InputError:
    """Return the error for a release that is not what it says."""
    return InputError(f"the release is not as the format says: {message}", "flowveil verify says what is wrong")


def check_manifest(kind: Kind, manifest: Json) -> None:
    """Raise unless a manifest has all that its kind needs, and what it has is of the types that it should be of."""
    if not isinstance(manifest, dict) or manifest.get("format") != kind.format:
        raise broken("the manifest is none")
    if wrong := _unfit(manifest, Manifest, "the manifest"):
        raise broken(wrong)
    promise, options = manifest["promise"], manifest["options"]
    for part, needed in zip(("promise", "options"), _NEEDED[kind], strict=True):
        if missing := [name for name in needed if name not in manifest[part]]:
            raise broken(f"{missing[0]!r} is missing in {part} of the manifest")
    _check(parse_bbox, options.get("bbox"))
    _check(parse_timezone, options.get("timezone"))
    _check(parse_k, promise.get("k"))
    _check(parse_epsilon, promise.get("epsilon"))
    if kind in {Kind.NOISY_FLOWS, Kind.CELLS}:
        _check_noise(promise)
    if kind is Kind.CELLS and (not options["places"] or not 1 <= options["cells"] <= _MOST):
        raise broken("the manifest does not describe the grid")


def _check(parse: Callable[[Json], object], value: Json) -> None:
    """Raise if a value that is there is not one that a user could have typed."""
    try:
        if value is not None:
            parse(value)
    except InputError as error:
        raise broken(error.message) from None


def _check_noise(promise: Mapping[str, Json]) -> None:
    most = promise["max_trips_per_person"]
    if promise["delta"] != 0:
        raise broken("delta of the promise is not 0")
    if (promise["unit"] == NO_COLUMN[0]) != (most is None) or (most is not None and most < 1):
        raise broken("unit and max_trips_per_person of the promise do not go together")
    _check(lambda value: parse_protection(value, has_unit=most is not None), promise["protects"])


@cache
def _members(form: type) -> dict[str, object]:
    return get_type_hints(form)


def _unfit(value: Json, form: Any, where: str) -> str | None:  # Any: a type as it is written, which has no type
    """Return what of a value is not of the type that it should be of; None if all is. Keys beyond those pass."""
    if is_typeddict(form):
        if not isinstance(value, dict):
            return f"{where} is not an object"
        if missing := sorted(form.__required_keys__ - set(value)):
            return f"{missing[0]!r} is missing in {where}"
        known = ((name, inner) for name, inner in _members(form).items() if name in value)
        found = (_unfit(value[name], inner, f"{name!r} of {where}") for name, inner in known)
        return next((wrong for wrong in found if wrong), None)
    return None if _fits(value, form) else f"{where} is {shown(value)}"


def _fits(value: Json, form: object) -> bool:
    inner = get_args(form)
    if get_origin(form) is UnionType:
        return any(_fits(value, one) for one in inner)
    if get_origin(form) is list:
        return isinstance(value, list) and all(_unfit(one, inner[0], "") is None for one in value)
    if get_origin(form) is dict:
        return isinstance(value, dict) and all(_fits(one, inner[1]) for one in value.values())
    if form in {int, float}:
        kinds = int if form is int else int | float
        return isinstance(value, kinds) and not isinstance(value, bool) and -_MOST <= value <= _MOST
    return form is object or (isinstance(value, form) if form in {bool, str, NoneType} else False)


def check_tables(kind: Kind, tables: Mapping[str, pa.Table], manifest: Manifest) -> None:
    """Raise unless tables have the columns of their kind, with values that can be, and fit each other."""
    for name, table in tables.items():
        check_columns(table, _COLUMNS[name](kind, table, manifest), name)
    if AREAS in tables:
        _check_areas(tables[FLOWS], tables[AREAS], manifest)
    if CELLS in tables:
        _check_boxes(tables[CELLS], CELLS, 2 * len(manifest["options"]["places"]))
    if MARGINALS in tables:
        _check_marginals(kind, tables[MARGINALS], manifest)
    if TRAJECTORIES in tables:
        _check_paths(tables[TRAJECTORIES])
    if PLACES in tables:
        _check_places(tables[SAMPLES], tables[PLACES], tables[MODEL])


def check_columns(table: pa.Table, columns: Mapping[str, Values], what: str) -> None:
    """Raise unless a table has just these columns, in this order, and each holds what it may."""
    if table.schema.names != list(columns):
        raise broken(f"the columns of {what} are not {', '.join(columns)}")
    for name, values in columns.items():
        column = table[name]
        if not _is(column.type, values.form):
            raise broken(f"{name!r} of {what} is not of the type {values.form}")
        if column.null_count and not values.or_null:
            raise broken(f"{name!r} of {what} has a null")
        if not _within(column, values):
            raise broken(f"{name!r} of {what} has a number that cannot be")


def _is(found: pa.DataType, form: pa.DataType) -> bool:
    if pa.types.is_list(form):
        return pa.types.is_list(found) and found.value_type == form.value_type
    return bool(found == form)


def _within(column: ChunkedColumn, values: Values) -> bool:
    if pa.types.is_list(values.form):
        return not pc.list_flatten(column).null_count
    if not (pa.types.is_integer(values.form) or pa.types.is_floating(values.form) or values.form == _TIME):
        return True
    numbers = _numbers(column)
    if not ((numbers >= values.least) & (numbers <= values.most)).all():  # no number is not within anything
        return False
    return values.form == _TIME or bool(np.abs(numbers.astype(np.float64)).sum() <= _MOST)


def _numbers(column: ChunkedColumn) -> IntArray | FloatArray:
    """Return the numbers of a column without nulls, moments in microseconds."""
    plain = column.drop_null()
    numbers: IntArray | FloatArray = np.asarray((plain.cast(_INT) if column.type == _TIME else plain).to_numpy())
    return numbers


def _flow_columns(kind: Kind, table: pa.Table, manifest: Manifest) -> dict[str, Values]:
    options, promise = manifest["options"], manifest["promise"]
    step = str(options.get("time_hierarchy", options.get("time", ""))).partition("<")[0]
    cycle = CYCLES.get(step)
    time = Values(_TIME, *_MOMENTS, or_null=True) if cycle is None else Values(_INT, 0, cycle, or_null=True)
    columns = {"origin": _NAME, "destination": _NAME}
    for name in key_columns(table, manifest):
        columns[name] = time if name in TIMES and name not in options.get("by", []) else Values(_TEXT, or_null=True)
    if kind is Kind.NOISY_FLOWS:
        persons = options.get("persons") is True
        columns |= {"trips": _SIGNED} | ({"persons": _SIGNED} if persons else {})
        columns |= {"nonnegative": _COUNT, "scale": _SCALE} | ({"persons_scale": _SCALE} if persons else {})
        return _with_optional(columns, table, {"consistent": Values(_FLOAT), "drawn": columns.get("time", _SIGNED)})
    columns["trips"] = Values(_INT, 1)
    columns |= {"persons": Values(_INT, 1)} if promise["unit"] not in NO_COLUMN else {}
    columns |= {"weight": _COUNT} if "weight" in promise or "trip_weight" in promise else {}
    return columns | ({"remainder": Values(pa.bool_())} if "remainders" in promise else {})


def _with_optional(columns: dict[str, Values], table: pa.Table, more: Mapping[str, Values]) -> dict[str, Values]:
    return columns | {name: more[name] for name in more if name in table.schema.names and name not in columns}


def _area_columns(_kind: Kind, table: pa.Table, manifest: Manifest) -> dict[str, Values]:
    columns = {"area": _NAME} | ({"name": Values(_TEXT, or_null=True)} if "name" in table.schema.names else {})
    columns |= {"side": _NAME, "lon": Values(_FLOAT, -_ROUND, _ROUND, or_null=True), "lat": _LAT._replace(or_null=True)}
    columns["tiles"] = Values(_INT, 0, or_null=True)
    if manifest["options"].get("grid") is None:
        columns["members"] = Values(pa.list_(_TEXT), or_null=True)
    return columns | {"geometry": Values(pa.binary(), or_null=True)}


def _cell_columns(_kind: Kind, table: pa.Table, manifest: Manifest) -> dict[str, Values]:
    edge = Values(_INT, 0, manifest["options"]["cells"])
    axes = range(2 * len(manifest["options"]["places"]))
    columns = {f"{end}_{axis}": edge for axis in axes for end in ("low", "high")}
    columns |= {"count": _SIGNED, "nonnegative": _COUNT, "scale": _SCALE}
    return _with_optional(columns, table, {"consistent": Values(_FLOAT)})


def _marginal_columns(kind: Kind, _table: pa.Table, manifest: Manifest) -> dict[str, Values]:
    columns = {"place": _NAME}
    if kind is Kind.CELLS:
        edge = Values(_INT, 0, manifest["options"]["cells"])
        columns |= dict.fromkeys(("low_0", "high_0", "low_1", "high_1"), edge)
    else:
        columns["zone"] = _NAME
    return columns | {"count": _SIGNED, "nonnegative": _COUNT, "scale": _SCALE}


def _path_columns(*_: object) -> dict[str, Values]:
    columns = {"group": _COUNT, "size": Values(_INT, 1), "support": Values(_INT, 1), "t0": _MOMENT, "t1": _MOMENT}
    return columns | {"lon0": _LON, "lat0": _LAT, "lon1": _LON, "lat1": _LAT}


def _sample_columns(*_: object) -> dict[str, Values]:
    return {"user": _COUNT, "time": _MOMENT, "lon": _LON, "lat": _LAT, "place": _COUNT}


def _place_columns(*_: object) -> dict[str, Values]:
    corners = {"place": _COUNT, "lon0": _LON, "lat0": _LAT, "lon1": _LON, "lat1": _LAT}
    return corners | {"block": _COUNT, "stays": _SIGNED, "scale": _SCALE}


def _model_columns(*_: object) -> dict[str, Values]:
    return {"part": _NAME, "row": _COUNT, "column": _COUNT, "count": _SIGNED, "scale": _SCALE}


_COLUMNS: dict[str, Callable[[Kind, pa.Table, Manifest], dict[str, Values]]] = {
    FLOWS: _flow_columns,
    AREAS: _area_columns,
    CELLS: _cell_columns,
    MARGINALS: _marginal_columns,
    TRAJECTORIES: _path_columns,
    SAMPLES: _sample_columns,
    PLACES: _place_columns,
    MODEL: _model_columns,
}


def _check_areas(flows: pa.Table, areas: pa.Table, manifest: Manifest) -> None:
    """Raise unless the areas are those of the flows, side by side, each once, with outlines that can be on a globe."""
    ids, sides = (texts(areas[name]) for name in ("area", "side"))
    listed = set(zip(ids, sides, strict=True))
    used = {(area, side) for side in SIDES for area in flows[side].unique().to_pylist()}
    if len(listed) < len(ids) or listed != used:
        raise broken(f"the areas of {AREAS} are not those of {FLOWS}")
    try:
        shapes = shapes_from_wkb(areas["geometry"].to_pylist())
    except ValueError as error:
        raise broken(str(error)) from None
    lon, lat = shapely.get_coordinates(shapes).T
    if not ((np.abs(lon) <= _ROUND).all() and (np.abs(lat) <= 90 + _WIDE).all()):  # no number is not within anything
        raise broken("an outline does not lie on the globe")
    if "shapes" in manifest["promise"]:
        numbered = (re.fullmatch(r"r:[0-9]{1,15}", area) for area in ids if area != ELSEWHERE)
        if not all(numbered) or any(
            shape is None for area, shape in zip(ids, shapes, strict=True) if area != ELSEWHERE
        ):
            raise broken("an area is not a rectangle")


def _check_boxes(table: pa.Table, what: str, axes: int) -> None:
    if not all(
        pc.all(pc.less(table[f"low_{axis}"], table[f"high_{axis}"])).as_py() in {True, None} for axis in range(axes)
    ):
        raise broken(f"a box of {what} is empty")


def _check_marginals(kind: Kind, table: pa.Table, manifest: Manifest) -> None:
    places = set(table["place"].to_pylist())
    if kind is Kind.CELLS:
        if places != set(manifest["options"]["places"]):
            raise broken("the marginals are not of the places of the manifest")
        _check_boxes(table, MARGINALS, 2)
    elif not places <= set(SIDES):
        raise broken("the marginals are not of origins and destinations")


def _check_paths(table: pa.Table) -> None:
    """Raise unless groups are numbered from 0, one after the other, and their boxes have an inside."""
    group = np.asarray(table["group"].to_numpy())
    if len(group) and not (group[0] == 0 and np.isin(np.diff(group), (0, 1)).all()):
        raise broken("groups are not numbered one after the other")
    _check_rising(table, ("t0", "t1"), ("lon0", "lon1"), ("lat0", "lat1"))


def _check_rising(table: pa.Table, *pairs: tuple[str, str]) -> None:
    for low, high in pairs:
        if pc.all(pc.less_equal(table[low], table[high])).as_py() not in {True, None}:
            raise broken(f"{high!r} is less than {low!r}")


def _check_places(samples: pa.Table, places: pa.Table, model: pa.Table) -> None:
    """Raise unless places are numbered from 0, samples lie in some of them, and each part of the model is whole."""
    if not (np.asarray(places["place"].to_numpy()) == np.arange(len(places))).all():
        raise broken("places are not numbered one after the other")
    _check_rising(places, ("lon0", "lon1"), ("lat0", "lat1"))
    user = np.asarray(samples["user"].to_numpy())
    if len(user) and not (user[0] == 0 and np.isin(np.diff(user), (0, 1)).all()):
        raise broken("users are not numbered one after the other")
    if (np.asarray(samples["place"].to_numpy()) >= len(places)).any():
        raise broken("a sample is in a place that is not listed")
    names = np.array(model["part"].to_pylist(), object)
    row, column = (np.asarray(model[name].to_numpy()) for name in ("row", "column"))
    for part in dict.fromkeys(names.tolist()):
        chosen = names == part
        wide = int(column[chosen].max()) + 1
        if not (row[chosen] * wide + column[chosen] == np.arange(chosen.sum())).all():
            raise broken(f"the part {shown(part)} of the model is not whole")
