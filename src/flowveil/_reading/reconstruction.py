"""Flows between the reader's own zones, each published flow spread evenly over its two areas (ATG paper, 4.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._folder import NOISE, SIDES, TOTAL, check_sums, key_columns
from flowveil._noise import variance
from flowveil._places import read_zones
from flowveil._reading.shares import outlined, shares_of_areas
from flowveil._remainders import evened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scipy import sparse

    from flowveil._arrays import Column, FloatArray, IntArray
    from flowveil._folder import Manifest
    from flowveil._matrices import NoisyRelease
    from flowveil._places import ZonesLike, ZoneTable
    from flowveil._release import Release

_LEAST = 1e-9  # trips; below, an estimate is rounding
_OVERLAP = 1.01  # of an area: more than that in zones means that zones overlap, by more than careless outlines do


@dataclass(frozen=True, eq=False)
class _Side:
    """The areas of one end of flows, and how they lie in the zones."""

    row: dict[str, int]  # of each area
    share: sparse.csr_array  # areas by zones

    def rows(self, areas: list[str]) -> IntArray:
        """Return the row of each area, -1 for one that has none, such as elsewhere in some releases."""
        return np.array([self.row.get(area, -1) for area in areas], np.int64)

    def inside(self, areas: list[str]) -> FloatArray:
        """Return the share of each area that lies in any zone."""
        return np.append(np.minimum(self.share.sum(axis=1), 1), 0)[self.rows(areas)]


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Estimated flows between zones: `origin`, `destination`, the columns that divide the release, `trips`.

    Of a release with noise, `trips` may be negative, and `noise` is the standard deviation of the noise in it.

    >>> estimate = fv.reconstruct("release", "zones.parquet")
    >>> estimate.flows.column_names, 0 < estimate.share < 1
    (['origin', 'destination', 'trips'], True)
    """

    flows: pa.Table
    published: int  # trips of the release, with their noise if it has any
    placed: float  # of these, how many lie between zones
    notes: tuple[str, ...] = ()  # what a reader of the estimates must know
    names: Mapping[str, str] = field(default_factory=dict)  # by zone: what people call it, where the zones say so

    @property
    def share(self) -> float:
        """The share of published trips that lies between the zones; the rest has an end outside, or nowhere.

        With noise it is an estimate, which may come out below 0 or above 1 where few trips were published.
        """
        return self.placed / self.published if self.published > 0 else 0.0


def reconstruct_flows(content: Release | NoisyRelease, zones: ZonesLike) -> Reconstruction:
    """Estimate the flows between zones from a release alone: public data in, public data out.

    zones: a table or file of zones with outlines (or with the ids of the release's own zones). A flow's trips are
    spread evenly over both of its areas, so a pair of zones gets the product of the two overlaps; those of a remainder
    over what finer flows leave of them. Steps of time and
    groups are kept apart, so that zones have time profiles though every step has areas of its own (ATG paper,
    appendix H). Noisy counts are added up as they are, negative ones too: only then do their errors cancel.
    """
    check_sums(content.manifest)
    table = read_zones(zones)
    sides = [_lay(content.areas, end, table) for end in SIDES]
    keys = key_columns(content.flows, content.manifest)
    layers = "remainders" in content.manifest["promise"]
    published = evened(content.flows, content.areas, keys) if layers else content.flows
    counted = _without_totals(published, content.manifest)
    inside = np.prod([side.inside(texts(counted[end])) for side, end in zip(sides, SIDES, strict=True)], axis=0)
    if len(inside) and not inside.any():
        raise _nothing(table)
    trips = counted["trips"].to_numpy()
    noisy = content.manifest["promise"]["kind"] == NOISE
    flows = _estimate(published, keys, sides, table.ids, noisy=noisy)
    notes = _notes(table, sides, noisy=noisy)
    if most := content.manifest["promise"].get("cell_key"):
        notes = (*notes, f"published numbers were changed by up to {most}, so estimates are of changed numbers")
    if base := content.manifest["promise"].get("rounding"):
        notes = (*notes, f"published numbers are rounded to multiples of {base}, so estimates are of rounded numbers")
    return Reconstruction(flows, round(trips.sum()), float(trips @ inside), notes, _names(table))


def _names(zones: ZoneTable) -> dict[str, str]:
    """Return what the zones call themselves."""
    called = [] if zones.name_column is None else zones.columns[zones.name_column]
    return {zone: name for zone, name in zip(zones.ids, called, strict=False) if name}


def _lay(areas: pa.Table, end: str, zones: ZoneTable) -> _Side:
    """Lay the areas of one end over the zones."""
    areas = areas.filter(np.array([side == end for side in areas["side"].to_pylist()], bool))
    return _Side(
        {area: row for row, area in enumerate(texts(areas["area"]))},
        shares_of_areas(areas, zones),
    )


def _without_totals(flows: pa.Table, manifest: Manifest) -> pa.Table:
    """Return flows that add up: totals over groups would count trips twice."""
    if "totals" not in manifest["promise"]:
        return flows
    groups = np.array(flows[manifest["options"]["by"][0]].to_pylist(), object)
    return flows.filter(groups != TOTAL)


def _nothing(zones: ZoneTable) -> InputError:
    """Return the error for zones in which nothing lies."""
    if not outlined(zones).any():
        return InputError(
            "the zones have no outlines, and a point has no area that trips could lie in",
            "give zones with polygons, or with the ids of the release's own zones",
        )
    return InputError(
        "no published flow lies between the zones: no area overlaps them at both ends",
        "areas.parquet has the outlines of the areas (longitude first), or the ids of their zones as members",
    )


def _notes(zones: ZoneTable, sides: list[_Side], *, noisy: bool) -> tuple[str, ...]:
    """Return what a reader of the estimates must know."""
    notes = []
    reached = np.any([side.share.sum(axis=0) > 0 for side in sides], axis=0)
    lost = int((~outlined(zones) & ~reached).sum())
    if lost:
        notes.append(f"{lost:,} of {len(zones.ids):,} zones have no outline, so nothing is placed there")
    if any((side.share.sum(axis=1) > _OVERLAP).any() for side in sides):
        notes.append("zones overlap: what lies in several of them is in the estimates of each")
    if noisy:
        notes.append("estimates are sums of noisy counts and may be negative; noise is the standard deviation of each")
    return tuple(notes)


def _estimate(flows: pa.Table, keys: list[str], sides: list[_Side], ids: list[str], *, noisy: bool) -> pa.Table:
    """Return the flows between zones, for each step of time and group by itself."""
    tables = []
    for group, rows in _groups(flows, keys):
        estimates = _spread(flows.take(rows), sides, ids, noisy=noisy)
        for place, name in enumerate(keys):
            values = pa.array([group[place]] * estimates.num_rows, flows.schema.field(name).type)
            estimates = estimates.add_column(2 + place, name, values)
        tables.append(estimates)
    order: list[tuple[str, Literal["ascending", "descending"]]] = [(name, "ascending") for name in (*SIDES, *keys)]
    return pa.concat_tables(tables or [_spread(flows, sides, ids, noisy=noisy)]).sort_by(order)


def _groups(flows: pa.Table, keys: list[str]) -> list[tuple[tuple[object, ...], list[int]]]:
    """Return the rows of each step of time and group, in order of their first row."""
    rows_of: dict[tuple[object, ...], list[int]] = {}
    columns = [flows[name].to_pylist() for name in keys]
    for row in range(flows.num_rows):
        rows_of.setdefault(tuple(column[row] for column in columns), []).append(row)
    return list(rows_of.items())


def _spread(flows: pa.Table, sides: list[_Side], ids: list[str], *, noisy: bool) -> pa.Table:
    """Return one row for each pair of zones: overlap of origins times volume times overlap of destinations.

    The noise of a sum of shares has the sum of squared shares times the variances of the counts as its variance. Pairs
    without trips are not listed, unless there is noise: then nobody knows that they have none.
    """
    from scipy import sparse  # noqa: PLC0415  slow to import

    first, second = sides
    ends = first.rows(texts(flows["origin"])), second.rows(texts(flows["destination"]))
    known = (ends[0] >= 0) & (ends[1] >= 0)

    def between(values: FloatArray, power: int) -> sparse.csr_array:
        shape = (first.share.shape[0], second.share.shape[0])
        matrix = sparse.csr_array((values[known], (ends[0][known], ends[1][known])), shape=shape)
        spread: sparse.csr_array = (first.share.power(power).T @ matrix @ second.share.power(power)).tocsr()
        return spread

    trips = between(flows["trips"].to_numpy().astype(np.float64), 1)
    noise = between(variance(flows["scale"].to_numpy()) if noisy else np.zeros(len(known)), 2).sqrt()
    listed = (abs(trips) + noise if noisy else trips).tocoo()  # what is less than nothing without noise is rounding
    kept = listed.data > _LEAST
    row, column = listed.row[kept], listed.col[kept]
    names = np.array(ids, object)
    columns: dict[str, Column] = {
        "origin": pa.array(names[row], pa.string()),
        "destination": pa.array(names[column], pa.string()),
    }
    for name, matrix in (("trips", trips), ("noise", noise))[: 2 if noisy else 1]:
        columns[name] = pa.array(matrix[row, column] if len(row) else [], pa.float64())  # no values would stay sparse
    return pa.table(columns)
