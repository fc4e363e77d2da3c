"""The tables of a release, as exports need them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError
from flowveil._folder import AREAS, FLOWS, REMAINDER, SIDES, key_columns, most_error

if TYPE_CHECKING:
    from flowveil._folder import Files, Manifest

OFF_BY = "off_by_at_most"  # column that tells by how much numbers may differ from true ones
_NEEDED = {"lon": "a center", "geometry": "an outline"}
_COLUMNS = ("area", "name", "lon", "lat", "tiles", "members", "geometry")
_MEMBERS = ("area", "zone")
_MONDAY = datetime(2001, 1, 1, tzinfo=UTC)  # stands for every Monday where a format wants a date


@dataclass(frozen=True, eq=False)
class Tables:
    """The main table of a release: flows, boxes or samples; of flows, areas with both sides joined."""

    rows: pa.Table
    areas: pa.Table  # one row an area: area, name, lon, lat, tiles, members where there are zones, geometry
    keys: list[str]  # columns that divide flows into matrices
    manifest: Manifest
    kind: str  # what rows are: flows, cells, trajectories or (synthetic) samples
    beside: dict[str, pa.Table] = field(default_factory=dict)  # other tables than flows and areas, by name

    @property
    def flows(self) -> pa.Table:
        """The rows of a release of flows."""
        return self.rows

    @property
    def members(self) -> pa.Table | None:
        """One row for each zone of each area, None where areas are not made of zones: area, zone."""
        if "members" not in self.areas.column_names:
            return None
        pairs = [(row["area"], zone) for row in self.areas.to_pylist() for zone in row["members"] or []]
        return pa.table({name: pa.array([pair[at] for pair in pairs], pa.string()) for at, name in enumerate(_MEMBERS)})

    def named_flows(self) -> pa.Table:
        """Return the flows with the name of each end beside its id, where areas have names."""
        flows = self.flows
        name_of = dict(zip(self.areas["area"].to_pylist(), self.areas["name"].to_pylist(), strict=True))
        for side in SIDES if any(name_of.values()) else ():
            title = f"{side}_name"
            if title not in flows.column_names:
                names = pa.array([name_of.get(area) for area in flows[side].to_pylist()], pa.string())
                flows = flows.add_column(flows.column_names.index(side) + 1, title, names)
        return flows

    @property
    def marks(self) -> list[str]:
        """The columns that say how to read a flow."""
        return [name for name in (REMAINDER, OFF_BY) if name in self.flows.column_names]

    def between(self, needed: str) -> pa.Table:
        """Return the flows whose two areas both have a value in a column; raise if that leaves none of them."""
        names = pa.array([row["area"] for row in self.areas.to_pylist() if row[needed] is not None], pa.string())
        inside = [pc.is_in(self.flows[side], names) for side in SIDES]
        flows = self.flows.filter(pc.and_(*inside))
        if self.flows.num_rows and not flows.num_rows:
            raise _nowhere(f"no flow has {_NEEDED[needed]} at both ends")
        return flows

    def check_places(self) -> None:
        """Raise if nothing can be drawn."""
        columns = [self.areas[name] for name in ("lon", "geometry")]
        if self.flows.num_rows and all(column.null_count == len(column) for column in columns):
            raise _nowhere("no area has a place on the map")

    def check_groups(self, *taken: str) -> None:
        """Raise if a group is called like a column that the format has for itself; case is not told apart."""
        for name in self.keys:
            if name.lower() in taken:
                raise InputError(
                    f"the format has a column {name.lower()!r} of its own, so a group cannot be called that",
                    "rename the column of the trips, or use another format",
                )


def read_tables(files: Files) -> Tables:
    """Return the main table of a release; of flows, also each area once, sorted by id."""
    (name, *_), manifest = files.kind.tables, files.manifest
    kind, rows = name.removesuffix(".parquet"), files.tables[name]
    if name != FLOWS:
        beside = {other.removesuffix(".parquet"): table for other, table in files.tables.items() if other != name}
        return Tables(rows, pa.table({}), [], manifest, kind, beside)
    areas = files.tables[AREAS]
    keys = key_columns(rows, manifest)
    if error := most_error(manifest["promise"]):
        if OFF_BY in keys:
            raise InputError(
                f"a group is called {OFF_BY!r}, as the column that says how exact numbers are", "rename it"
            )
        rows = rows.append_column(OFF_BY, pa.array([error] * rows.num_rows, pa.int64()))
    first = {name: row for row, name in reversed(list(enumerate(areas["area"].to_pylist())))}
    if "name" not in areas.column_names:  # an older release
        areas = areas.append_column("name", pa.nulls(areas.num_rows, pa.string()))
    shown = areas.select([column for column in _COLUMNS if column in areas.column_names])
    return Tables(rows, shown.take([first[name] for name in sorted(first)]), keys, manifest, kind)


def _nowhere(what: str) -> InputError:
    return InputError(
        f"nothing would be written: {what}",
        "export to csv, excel or omx, which need no map; "
        "or make the release with zones that have shapes (a center is lon and lat)",
    )


def as_moment(value: int | datetime) -> str:
    """Return a value of the column `time` as a date and time; hours of a day or week are put into one week of 2001."""
    moment = _MONDAY + timedelta(hours=value) if isinstance(value, int) else value
    return moment.isoformat().replace("+00:00", "Z")
