"""The two tables of a release: columns, types, metadata, order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flowveil._arrays import texts
from flowveil._folder import AREAS, FLOWS, SIDES, TOTAL
from flowveil._verify.broken import broken, flow_name, shown
from flowveil._verify.clock import VALUES_OF_CYCLE
from flowveil._verify.geo import GEO
from flowveil._verify.parquet import has_column, read_parquet

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import BoolArray, ChunkedColumn, IntArray
    from flowveil._verify.manifest import Promise
    from flowveil._verify.options import Options

_LARGEST_COUNT = 2**62


@dataclass(frozen=True, eq=False)
class FlowTable:
    """flows.parquet: sorted by (origin, destination), each pair once."""

    origin: list[str]
    destination: list[str]
    trips: IntArray
    persons: IntArray | None
    weight: IntArray | None
    keys: dict[str, ChunkedColumn] = field(default_factory=dict)  # times and groups
    remainder: BoolArray | None = None  # finer flows inside it are taken out; None where none is
    called: dict[str, str] = field(default_factory=dict)  # by area: what people call it, for messages

    def __len__(self) -> int:
        return len(self.origin)

    def name(self, flow: int) -> str:
        """Return how a flow is named in messages."""
        return flow_name(self.origin[flow], self.destination[flow], self.called)

    def take(self, rows: IntArray) -> FlowTable:
        """Return some of the flows."""
        return FlowTable(
            origin=[self.origin[row] for row in rows.tolist()],
            destination=[self.destination[row] for row in rows.tolist()],
            trips=self.trips[rows],
            persons=None if self.persons is None else self.persons[rows],
            weight=None if self.weight is None else self.weight[rows],
            keys={name: column.take(pa.array(rows, pa.int64())) for name, column in self.keys.items()},
            remainder=None if self.remainder is None else self.remainder[rows],
            called=self.called,
        )


@dataclass(frozen=True, eq=False)
class AreasTable:
    """areas.parquet, row by row."""

    area: list[str]
    side: list[str]
    lon: list[float | None]
    lat: list[float | None]
    tiles: list[int | None]
    members: list[list[str | None] | None] | None
    geometry: list[bytes | None]
    name: list[str | None] | None = None  # None where the release, an older one, has no names

    def called(self) -> dict[str, str]:
        """Return what people call the areas, where their ids do not say so anyway, as town=Berne does."""
        names = zip(self.area, self.name or [], strict=False)
        return {area: name for area, name in names if name is not None and name not in (area, area.split("=")[-1])}


def read_flows(folder: Path, promise: Promise, options: Options) -> FlowTable:
    """Read flows.parquet and check all that can be seen without the input."""
    types: dict[str, pa.DataType] = {"origin": pa.string(), "destination": pa.string()}
    keys = _key_types(options)
    types |= keys | {"trips": pa.int64()}
    if promise.unit is not None:
        types["persons"] = pa.int64()
    if promise.weight is not None:
        types["weight"] = pa.int64()
    if promise.remainders:
        types["remainder"] = pa.bool_()
    table = read_parquet(folder / FLOWS, pa.schema(types))
    for name in types:
        if name not in keys and table[name].null_count:
            raise broken(f"{name!r} of {FLOWS} has a null")
    flows = FlowTable(
        origin=texts(table["origin"]),
        destination=texts(table["destination"]),
        trips=_numbers(table, "trips"),
        persons=_numbers(table, "persons") if promise.unit is not None else None,
        weight=_numbers(table, "weight") if promise.weight is not None else None,
        keys={name: table[name] for name in keys},
        remainder=np.array(table["remainder"].to_pylist(), bool) if promise.remainders else None,
    )
    _check_order(flows)
    _check_counts(flows)
    return flows


def split_totals(flows: FlowTable, options: Options, promise: Promise) -> tuple[FlowTable, FlowTable | None]:
    """Return the flows of groups, and those of all groups together where the promise has them."""
    if not promise.totals:
        return flows, None
    if not options.by or promise.elsewhere or promise.rectangles or not promise.exact:
        raise broken("the promise has totals, which need groups on areas of a tree")
    columns = [np.array(flows.keys[name].to_pylist(), object) == TOTAL for name in options.by]
    whole = np.all(columns, axis=0)
    if (np.any(columns, axis=0) != whole).any():
        raise broken("a flow is a total for some of its groups only")
    totals = flows.take(np.flatnonzero(whole))
    keys = {name: column for name, column in totals.keys.items() if name not in options.by}
    return flows.take(np.flatnonzero(~whole)), replace(totals, keys=keys)


def _key_types(options: Options) -> dict[str, pa.DataType]:
    """Return the columns that tell the matrices of a release apart."""
    types: dict[str, pa.DataType] = {}
    if options.time_levels:
        is_cycle = options.time_levels[0] in VALUES_OF_CYCLE
        types["time"] = pa.int64() if is_cycle else pa.timestamp("us", "UTC")
    if options.is_hierarchy:
        types["time_end"] = types["time"]
    return types | {column: pa.string() for column in options.by}


def read_areas(folder: Path, *, by_zone: bool) -> AreasTable:
    """Read areas.parquet; its values are checked elsewhere."""
    types = _area_types(by_zone=by_zone, named=has_column(folder / AREAS, "name"))
    return _areas(read_parquet(folder / AREAS, pa.schema(types, metadata={"geo": GEO})))


def areas_of(table: pa.Table, *, by_zone: bool) -> AreasTable:
    """Return areas that were read, after checking that their columns are those of the format."""
    types = _area_types(by_zone=by_zone, named="name" in table.column_names)
    if table.schema.names != list(types):
        raise broken(f"the columns of {AREAS} are not {', '.join(types)}")
    try:
        return _areas(table.cast(pa.schema(types)))
    except pa.ArrowException:
        raise broken(f"a column of {AREAS} is not of its type") from None


def _area_types(*, by_zone: bool, named: bool) -> dict[str, pa.DataType]:
    types: dict[str, pa.DataType] = {"area": pa.string()}
    types |= {"name": pa.string()} if named else {}
    types |= {"side": pa.string(), "lon": pa.float64(), "lat": pa.float64(), "tiles": pa.int64()}
    if by_zone:
        types["members"] = pa.list_(pa.field("element", pa.string()))
    return types | {"geometry": pa.binary()}


def _areas(table: pa.Table) -> AreasTable:
    for name in ("area", "side"):
        if table[name].null_count:
            raise broken(f"{name!r} of {AREAS} has a null")
    # Any: the schema, which was checked, says what the values are.
    columns: dict[str, Any] = {name: table[name].to_pylist() for name in table.column_names}
    return AreasTable(**{"members": None} | columns)


def check_use(flows: FlowTable, areas: AreasTable) -> None:
    """Raise unless the areas are exactly those that occur in flows, side by side."""
    rows = list(zip(areas.area, areas.side, strict=True))
    listed = set(rows)
    for area, side in rows:
        if side not in SIDES:
            raise broken(f"the area {shown(area)} has a side that is neither origin nor destination")
    if len(listed) < len(rows):
        twice = next(row for place, row in enumerate(rows) if row in set(rows[:place]))
        raise broken(f"the {twice[1]} area {shown(twice[0])} is listed twice")
    used = {(area, side) for side, ids in zip(SIDES, (flows.origin, flows.destination), strict=True) for area in ids}
    for area, side in sorted(used - listed):
        raise broken(f"the {side} area {shown(area)} is missing in {AREAS}")
    for area, side in sorted(listed - used):
        raise broken(f"the {side} area {shown(area)} does not occur in any flow")
    if rows != sorted(rows, key=lambda row: (SIDES.index(row[1]), row[0])):
        raise broken(f"the rows of {AREAS} are not sorted by side, origin first, and area")


def _numbers(table: pa.Table, name: str) -> IntArray:
    return np.asarray(table[name].to_numpy(), np.int64)


def _check_order(flows: FlowTable) -> None:
    keys = [_order(column) for column in flows.keys.values()]
    pairs = list(zip(flows.origin, flows.destination, *keys, strict=True))
    for place in range(1, len(pairs)):
        if pairs[place] == pairs[place - 1]:
            raise broken(f"the flow {flows.name(place)} occurs twice")
        if pairs[place] < pairs[place - 1]:
            twice = pairs[place] in set(pairs[:place])
            raise broken(f"the flow {flows.name(place)} " + ("occurs twice" if twice else "is not in sorted order"))


def _order(column: ChunkedColumn) -> list[tuple[bool, Any]]:  # Any: text, or whole numbers
    """Return values so that they can be compared, null last."""
    values = column.to_pylist() if pa.types.is_string(column.type) else column.cast(pa.int64()).to_pylist()
    nothing: str | int = "" if pa.types.is_string(column.type) else 0
    return [(value is None, nothing if value is None else value) for value in values]


def _check_counts(flows: FlowTable) -> None:
    for name, values, least in (("trips", flows.trips, 1), ("persons", flows.persons, 1), ("weight", flows.weight, 0)):
        if values is None:
            continue
        if len(bad := np.flatnonzero((values < least) | (values > _LARGEST_COUNT))):
            raise broken(f"the flow {flows.name(int(bad[0]))} has an impossible number in {name!r}")
    if flows.persons is not None and len(bad := np.flatnonzero(flows.persons > flows.trips)):
        raise broken(f"the flow {flows.name(int(bad[0]))} has more persons than trips")
    if sum(flows.trips.tolist()) > _LARGEST_COUNT:
        raise broken("the trips of all flows pass 64 bits")
