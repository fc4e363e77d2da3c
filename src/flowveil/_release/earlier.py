"""An earlier release laid over new flows: which of its flows each pair of tiles lies in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._folder import TIMES, key_columns
from flowveil._measure import cover
from flowveil._places import ROOT, rejoin
from flowveil._release.keys import NONE, nodes_of, rows_in, times_of
from flowveil._release.read import read_flows
from flowveil._release.telling import Whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._places import Listed

_PLACES = ("grid", "hierarchy", "crs")
_TIME = ("time", "time_hierarchy", "timezone")


@dataclass(frozen=True, eq=False)
class Earlier:
    """The flows of an earlier release whose areas, times and groups occur in new flows, and where these lie in them."""

    origin: IntArray
    destination: IntArray
    time: IntArray | None
    group: IntArray  # by tile pair of the new flows: the earlier flow that holds it, -1 for none
    trips: IntArray  # as published
    complete: bool  # all flows of the earlier release are here
    slot: IntArray  # by earlier flow: its step of time and group, numbered
    slot_of_matrix: IntArray  # by matrix of the new flows: the slot that holds it, -1 for none
    divided_by: tuple[str, ...]  # what new flows are divided by and the earlier are not, a hierarchy of time aside
    method: str
    numbered: tuple[Listed, Listed] | None  # what numbers of areas mean, if not nodes of the trees

    @property
    def divided_alike(self) -> bool:
        """Whether new flows have the same steps of time and groups; a hierarchy of time is told by `time`."""
        return not self.divided_by

    @property
    def whole(self) -> Whole:
        """The flows, as what groups are parts of."""
        return Whole(self.origin, self.destination, self.time, self.slot, self.slot_of_matrix, self.divided_by)


def on_places_of(folder: str | Path, flows: Flows) -> Flows:
    """Return flows with the hierarchy of an earlier release, where theirs was left open."""
    hierarchy = read_flows(folder).manifest["options"].get("hierarchy")
    return flows.on(rejoin(flows.places, hierarchy)) if hierarchy and flows.places.open else flows


def lay_over(flows: Flows, folder: str | Path, *, listed: bool = False) -> Earlier:
    """Read an earlier release and find its flows on new ones; raise if the two cannot be compared.

    listed: its areas need not be those that trees over the new tiles have; they are numbered by themselves.
    """
    release = read_flows(folder)
    options, promise = release.manifest["options"], release.manifest["promise"]
    _check(flows, options, promise)
    keys = key_columns(release.flows, release.manifest)
    axis = [name for name in keys if flows.times is not None and name in TIMES]
    table = _columns(release.flows, flows, keys)
    ends = (flows.origins, texts(table["origin"])), (flows.destinations, texts(table["destination"]))
    numbered = None
    if listed:
        (first, origins), (second, destinations) = (flows.places.listed(tree, names) for tree, names in ends)
        nodes, numbered = (origins, destinations), (first, second)
    else:
        nodes = nodes_of(flows.places, *ends[0]), nodes_of(flows.places, *ends[1])
    time = times_of(flows, table) if axis or flows.times is None else np.full(table.num_rows, ROOT, np.int64)
    divided = [name for name in keys if name not in axis]
    matrix, slots = _matrices(flows, table, divided)
    known = (nodes[0] != NONE) & (nodes[1] != NONE)
    known &= True if time is None else time != NONE
    origin, destination = nodes[0][known], nodes[1][known]
    time = None if time is None else time[known]
    trips = np.asarray(table["trips"].to_numpy(), np.int64)[known]
    group = cover(flows, origin, destination, matrix[known], time, slots[flows.matrix], numbered)
    return Earlier(
        origin,
        destination,
        time,
        group,
        trips,
        complete=bool(known.all()),
        slot=matrix[known],
        slot_of_matrix=slots,
        divided_by=tuple(name for name in flows.matrices.column_names if name not in divided),
        method=str(release.manifest.get("method")),
        numbered=numbered,
    )


def _columns(table: pa.Table, flows: Flows, keys: list[str]) -> pa.Table:
    """Return the columns of the earlier flows that are needed, in the types that releases have."""
    steps = flows.matrices["time"].type if "time" in flows.matrices.column_names else None
    if flows.times is not None:
        steps = flows.times.values(np.zeros(0, np.int64))[0].type
    types: dict[str, pa.DataType | None] = {"origin": pa.string(), "destination": pa.string()}
    types |= {name: steps if name in TIMES else pa.string() for name in keys} | {"trips": pa.int64()}
    wrong = any(name not in table.column_names or table.schema.field(name).type != kind for name, kind in types.items())
    if wrong or any(table[name].null_count for name in ("origin", "destination", "trips")):
        raise InputError("the earlier release lacks columns that its manifest tells of", "flowveil verify says which")
    return table.select(list(types))


def _check(flows: Flows, options: Mapping[str, object], promise: Mapping[str, object]) -> None:
    if promise.get("kind") != "k-anonymity" or "shapes" in promise:
        raise InputError("the earlier release has no areas of a tree", "name one made with mosaic or a like method")
    if "elsewhere" in promise or "totals" in promise:
        raise InputError("the earlier release has flows to elsewhere, or totals", "name one without them")
    if "remainders" in promise:
        raise InputError("the earlier release has remainders", "name one made without --remainders")
    here = flows.places.settings()
    if any(options.get(name) != here.get(name) for name in _PLACES):
        raise InputError(
            "the earlier release is on another grid or hierarchy",
            "build flows with the same --grid, --zones and --hierarchy",
        )
    typed = flows.provenance
    cut = any(name in options for name in _TIME)
    if cut and any(options.get(name) != getattr(typed, name) for name in _TIME):
        raise InputError("the earlier release cuts time in another way", "give the same --time and --timezone")
    by = options.get("by", [])
    if not isinstance(by, list) or not set(by) <= set(typed.by):
        raise InputError("the earlier release is by other groups", "give its columns with --by")


def _matrices(flows: Flows, table: pa.Table, columns: list[str]) -> tuple[IntArray, IntArray]:
    """Give numbers to the times and groups of the earlier release: by its flows, and by new matrix (-1 for none)."""
    if not columns:
        return np.zeros(table.num_rows, np.int64), np.zeros(flows.matrix_count, np.int64)
    keys = table.select(columns).group_by(columns).aggregate([])
    return rows_in(keys, table), rows_in(keys, flows.matrices)
