"""Flows between the reader's own zones, each published flow spread evenly over its two areas (ATG paper, 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil.places import read_zones
from flowveil.reconstruct._shares import shares_of_areas
from flowveil.release import TOTAL, Release, read_release

if TYPE_CHECKING:
    from pathlib import Path

    from scipy import sparse

    from flowveil._arrays import IntArray

_ENDS = ("origin", "destination")
_MEASURES = {*_ENDS, "trips", "persons", "weight"}
_LEAST = 1e-9  # trips; below, an estimate is rounding

Shares = tuple[dict[str, int], "sparse.csr_array"]  # row of each area, and how it lies in the zones


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Estimated flows between zones: `origin`, `destination`, the columns that divide the release, `trips`."""

    flows: pa.Table
    published: int  # trips of the release
    placed: float  # of these, how many lie between zones

    @property
    def share(self) -> float:
        """The share of published trips that lies between the zones; the rest has an end outside, or nowhere."""
        return self.placed / self.published if self.published else 0.0


def reconstruct(release: str | Path | Release, zones: Any) -> Reconstruction:
    """Estimate the flows between zones from a release alone: public data in, public data out.

    zones: a table or file of zones with shapes (or with the ids of the release's own zones). A flow's trips are spread
    evenly over both of its areas, so a pair of zones gets the product of the two overlaps. Steps of time and groups are
    kept apart, so that zones have time profiles though every step has areas of its own (ATG paper, appendix H).
    """
    content = release if isinstance(release, Release) else read_release(release)
    table = read_zones(zones)
    if not any(shape is not None for shape in table.geometry) and "members" not in content.areas.column_names:
        raise InputError("the zones have no shapes", "give zones with a geometry column")
    sides = content.areas["side"].to_pylist()
    shares: list[Shares] = []
    for end in _ENDS:
        areas = content.areas.take([row for row, side in enumerate(sides) if side == end])
        shares.append(
            ({area: row for row, area in enumerate(areas["area"].to_pylist())}, shares_of_areas(areas, table))
        )
    flows = _estimate(content.flows, shares, table.ids)
    published, placed = (_total(table, content.manifest) for table in (content.flows, flows))
    return Reconstruction(flows, int(published), float(placed))


def _total(flows: pa.Table, manifest: dict[str, Any]) -> float:
    """Return the trips of all flows; totals over groups would count them twice."""
    if "totals" in manifest.get("promise", {}):
        groups = np.array(flows[manifest["options"]["by"][0]].to_pylist(), object)
        flows = flows.filter(groups != TOTAL)
    total: float = flows["trips"].to_numpy().sum()
    return total


def _estimate(flows: pa.Table, shares: list[Shares], ids: list[str]) -> pa.Table:
    """Return the flows between zones, for each step of time and group by itself."""
    keys = [name for name in flows.column_names if name not in _MEASURES]
    tables = []
    for group, rows in _groups(flows, keys):
        found = _spread(flows.take(rows), shares, ids)
        for place, name in enumerate(keys):
            values = pa.array([group[place]] * found.num_rows, flows.schema.field(name).type)
            found = found.add_column(2 + place, name, values)
        tables.append(found)
    order = [(name, "ascending") for name in (*_ENDS, *keys)]
    return pa.concat_tables(tables or [_spread(flows, shares, ids)]).sort_by(order)


def _groups(flows: pa.Table, keys: list[str]) -> list[tuple[tuple[Any, ...], list[int]]]:
    """Return the rows of each step of time and group, in order of their first row."""
    found: dict[tuple[Any, ...], list[int]] = {}
    columns = [flows[name].to_pylist() for name in keys]
    for row in range(flows.num_rows):
        found.setdefault(tuple(column[row] for column in columns), []).append(row)
    return list(found.items())


def _spread(flows: pa.Table, shares: list[Shares], ids: list[str]) -> pa.Table:
    """Return one row for each pair of zones with trips: overlap of origins times volume times overlap of destinations.

    Ends without a row among the areas, such as elsewhere in some releases, lie nowhere.
    """
    from scipy import sparse  # noqa: PLC0415  slow to import

    ends = [_rows(number, flows[end].to_pylist()) for (number, _), end in zip(shares, _ENDS, strict=True)]
    known = (ends[0] >= 0) & (ends[1] >= 0)
    trips = flows["trips"].to_numpy().astype(np.float64)[known]
    volumes = sparse.csr_array(
        (trips, (ends[0][known], ends[1][known])), shape=(shares[0][1].shape[0], shares[1][1].shape[0])
    )
    found = (shares[0][1].T @ volumes @ shares[1][1]).tocoo()
    kept = found.data > _LEAST
    names = np.array(ids, object)
    return pa.table(
        {
            "origin": pa.array(names[found.row[kept]], pa.string()),
            "destination": pa.array(names[found.col[kept]], pa.string()),
            "trips": pa.array(found.data[kept], pa.float64()),
        }
    )


def _rows(number: dict[str, int], areas: list[str]) -> IntArray:
    return np.array([number.get(area, -1) for area in areas], np.int64)
