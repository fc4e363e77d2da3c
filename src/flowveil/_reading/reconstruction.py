"""Flows between the reader's own zones: spread as a model learned from the release, or evenly (ATG paper, 4.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._folder import SIDES, Kind, check_operation
from flowveil._options import parse_choice
from flowveil._places import read_zones
from flowveil._reading.estimates import estimate
from flowveil._reading.even import spread_evenly
from flowveil._reading.learning import learn
from flowveil._reading.questions import guessed_ids, names_of, nothing_between
from flowveil._reading.shares import outlined
from flowveil._reading.spots import find_spots
from flowveil._reading.told import in_order, tell
from flowveil._reading.weights import read_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scipy import sparse

    from flowveil._arrays import ChunkedColumn, Column, FloatArray
    from flowveil._folder import Files
    from flowveil._places import ZonesLike, ZoneTable
    from flowveil._reading.learning import Learned
    from flowveil._reading.told import Told

SPREADS = ("learned", "even")
_LEAST = 1e-9  # trips of flows; below, an estimate is rounding
_LEFT = 0.01  # trips that were left out: of fewer a pair is not listed
_OVERLAP = 1.01  # of a spot: more than that in zones means that zones overlap, by more than careless outlines do


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Estimated flows between zones: `origin`, `destination`, the columns that divide the release, `trips`, `left_out`.

    `trips` are published ones, spread over zones; `left_out` is an estimate of trips that were left out, placed where
    no flow is, as likely too high as too low: add it for the best guess of a pair. Where these trips are spread thinly
    it is 0, so it does not add up to all that was left out. Of a release with noise, `trips` may be negative, and
    `noise` is the standard deviation of the noise in it.

    >>> estimate = fv.reconstruct("release", "zones.parquet")
    >>> estimate.flows.column_names, 0 < estimate.share < 1
    (['origin', 'destination', 'trips', 'left_out'], True)
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


def reconstruct_flows(
    files: Files, zones: ZonesLike, *, spread: str = SPREADS[0], weights: ZonesLike | None = None
) -> Reconstruction:
    """Estimate the flows between zones from a release alone: public data in, public data out.

    zones: a table or file of zones with outlines (or with the ids of the release's own zones). Steps of time and groups
    are kept apart, so that zones have time profiles though every step has areas of its own (ATG paper, appendix H).
    Noisy counts are added up as they are, negative ones too: only then do their errors cancel.
    """
    check_operation(files.kind, "reconstruct")
    parse_choice(spread, "spread", SPREADS)
    table = read_zones(zones, any_id=True)
    told = tell(files)
    if spread == "even":
        if weights is not None:
            raise InputError("weights were given with an even spread", "leave out --spread even, or --weights")
        flows, placed, overlapping, reached = spread_evenly(told, table)
    else:
        flows, placed, overlapping, reached = _learned(told, table, weights, of_boxes=files.kind is Kind.CELLS)
    if told.counted.any() and not reached.any():
        raise nothing_between(table)
    notes = (*guessed_ids([table]), *_notes(table, told, overlapping, reached))
    return Reconstruction(flows, round(float(told.trips[told.published].sum())), placed, notes, names_of([table]))


def _learned(
    told: Told, zones: ZoneTable, weights: ZonesLike | None, *, of_boxes: bool
) -> tuple[pa.Table, float, bool, FloatArray]:
    """Return estimates by a model, the trips between any zones, whether zones overlap, and what reaches each."""
    by_ids = not outlined(zones).any() or (weights is None and told.has_weights_of(zones.ids))
    spots = find_spots(told, by_ids=by_ids, coarse=of_boxes)
    learned = learn(told, spots, None if weights is None else read_weights(weights, spots))
    shares = spots.shares(zones)
    reached = np.asarray(shares.sum(axis=0)).ravel()
    inside = _anywhere(shares)
    placed = sum(
        float(block.trips.sum()) for block in estimate(learned, (inside, inside)) if not told.total[block.matrix]
    )
    overlapping = bool((np.asarray(shares.sum(axis=1)).ravel() > _OVERLAP).any())
    return _table(learned, shares, zones.ids), placed, overlapping, reached.astype(np.float64) * float(placed != 0)


def _anywhere(shares: sparse.csr_array) -> sparse.csr_array:
    """Return the share of each spot that lies in any zone, as if all were one."""
    from scipy import sparse  # noqa: PLC0415  slow to import

    return sparse.csr_array(np.minimum(np.asarray(shares.sum(axis=1)).reshape(-1, 1), 1))


def _table(learned: Learned, shares: sparse.csr_array, ids: list[str]) -> pa.Table:
    """Return one row for each pair of zones with trips, or with noise, for each step of time and group by itself."""
    told, names = learned.told, np.array(ids, object)
    left_out = learned.counted.left_out > 0
    tables = []
    for block in estimate(learned, (shares, shares)):
        listed = (np.abs(block.trips) + block.noise > _LEAST) | (block.left_out >= _LEFT)
        row, column = np.nonzero(listed)
        columns: dict[str, Column | ChunkedColumn] = {
            "origin": pa.array(names[row + block.first], pa.string()),
            "destination": pa.array(names[column], pa.string()),
        }
        for name in told.keys.column_names:
            columns[name] = told.keys[name].take(np.full(len(row), block.matrix))
        columns["trips"] = pa.array(block.trips[row, column], pa.float64())
        if left_out:
            columns["left_out"] = pa.array(block.left_out[row, column], pa.float64())
        if told.noisy:
            columns["noise"] = pa.array(block.noise[row, column], pa.float64())
        tables.append(pa.table(columns))
    if not tables:
        return pa.table({"origin": pa.array([], pa.string()), "destination": [], "trips": pa.array([], pa.float64())})
    return in_order(tables, [*SIDES, *told.keys.column_names])


def _notes(zones: ZoneTable, told: Told, overlapping: bool, reached: FloatArray) -> tuple[str, ...]:
    """Return what a reader of the estimates must know."""
    notes = []
    lost = int((~outlined(zones) & ~(reached > 0)).sum())
    if lost:
        notes.append(f"{lost:,} of {len(zones.ids):,} zones have no outline, so nothing is placed there")
    if overlapping:
        notes.append("zones overlap: what lies in several of them is in the estimates of each")
    if told.noisy:
        notes.append("estimates are sums of noisy counts and may be negative; noise is the standard deviation of each")
    if most := told.manifest["promise"].get("cell_key"):
        notes.append(f"published numbers were changed by up to {most}, so estimates are of changed numbers")
    if base := told.manifest["promise"].get("rounding"):
        notes.append(f"published numbers are rounded to multiples of {base}, so estimates are of rounded numbers")
    return tuple(notes)
