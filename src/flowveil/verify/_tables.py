"""The two tables of a release: columns, types, metadata, order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil.verify._broken import broken, flow_name, shown
from flowveil.verify._folder import AREAS, FLOWS
from flowveil.verify._geo import GEO
from flowveil.verify._parquet import read_parquet

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil.verify._manifest import Promise

SIDES = ("origin", "destination")
_LARGEST_COUNT = 2**62


@dataclass(frozen=True, eq=False)
class FlowTable:
    """flows.parquet: sorted by (origin, destination), each pair once."""

    origin: list[str]
    destination: list[str]
    trips: IntArray
    persons: IntArray | None
    weight: IntArray | None

    def __len__(self) -> int:
        return len(self.origin)

    def name(self, flow: int) -> str:
        """Return how a flow is named in messages."""
        return flow_name(self.origin[flow], self.destination[flow])

    def take(self, rows: IntArray) -> FlowTable:
        """Return some of the flows."""
        return FlowTable(
            origin=[self.origin[row] for row in rows.tolist()],
            destination=[self.destination[row] for row in rows.tolist()],
            trips=self.trips[rows],
            persons=None if self.persons is None else self.persons[rows],
            weight=None if self.weight is None else self.weight[rows],
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


def read_flows(folder: Path, promise: Promise) -> FlowTable:
    """Read flows.parquet and check all that can be seen without the input."""
    types = {"origin": pa.string(), "destination": pa.string(), "trips": pa.int64()}
    if promise.unit is not None:
        types["persons"] = pa.int64()
    if promise.weight is not None:
        types["weight"] = pa.int64()
    table = read_parquet(folder / FLOWS, pa.schema(types))
    for name in types:
        if table[name].null_count:
            raise broken(f"{name!r} of {FLOWS} has a null")
    flows = FlowTable(
        origin=table["origin"].to_pylist(),
        destination=table["destination"].to_pylist(),
        trips=_numbers(table, "trips"),
        persons=_numbers(table, "persons") if promise.unit is not None else None,
        weight=_numbers(table, "weight") if promise.weight is not None else None,
    )
    _check_order(flows)
    _check_counts(flows)
    return flows


def read_areas(folder: Path, *, by_zone: bool) -> AreasTable:
    """Read areas.parquet; its values are checked elsewhere."""
    types = {"area": pa.string(), "side": pa.string()}
    types |= {"lon": pa.float64(), "lat": pa.float64(), "tiles": pa.int64()}
    if by_zone:
        types["members"] = pa.list_(pa.field("element", pa.string()))
    types["geometry"] = pa.binary()
    table = read_parquet(folder / AREAS, pa.schema(types, metadata={"geo": GEO}))
    for name in ("area", "side"):
        if table[name].null_count:
            raise broken(f"{name!r} of {AREAS} has a null")
    columns = {name: table[name].to_pylist() for name in types}
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
    pairs = list(zip(flows.origin, flows.destination, strict=True))
    for place in range(1, len(pairs)):
        if pairs[place] == pairs[place - 1]:
            raise broken(f"the flow {flows.name(place)} occurs twice")
        if pairs[place] < pairs[place - 1]:
            twice = pairs[place] in set(pairs[:place])
            raise broken(f"the flow {flows.name(place)} " + ("occurs twice" if twice else "is not in sorted order"))


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
