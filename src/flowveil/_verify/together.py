"""Two layers of flows over the same trips: what their differences would single out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._engine import scan
from flowveil._verify.broken import broken
from flowveil._verify.crowds import Crowds
from flowveil._verify.exposed import Atoms, exposed_flows
from flowveil._verify.forest import NONE
from flowveil._verify.rows import usable_rows

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._engine import Request
    from flowveil._verify.elsewhere import ElsewhereIndex
    from flowveil._verify.ground import Ground
    from flowveil._verify.slots import Slots
    from flowveil._verify.tables import FlowTable

_MOST_RELATED = 1024  # areas of which it is kept which others they hold


@dataclass(frozen=True, eq=False)
class Layer:
    """Flows that can tell which of them holds a trip."""

    flows: FlowTable
    ground: Ground
    slots: Slots
    index: ElsewhereIndex
    bbox: tuple[float, float, float, float] | None
    totals: bool = False  # of groups of the same release

    def locate(self, batch: pa.RecordBatch, request: Request) -> tuple[IntArray, BoolArray]:
        """Return the flow that counts each row, -1 for none, and which rows have places that are known."""
        origin, destination, known = self.ground.locate(batch, usable_rows(batch, request, self.bbox))
        flow = np.full(batch.num_rows, NONE, np.int64)
        flow[known] = self.index.locate(origin[known], destination[known], self.slots.locate(batch, known))
        return flow, known


def check_together(request: Request, first: Layer, second: Layer, k: int, least_weight: int) -> None:
    """Raise if flows of one layer less flows of the other leave fewer than a crowd, or nobody.

    Both must have the volumes of the same rows: of rows that only one layer can use, differences would not be seen.
    """
    atoms, crowds = _count(request, first, second, k, least_weight)
    for groups, whole, here in ((first, second, atoms), (second, first, atoms.turned())):
        if whole.slots.divided < groups.slots.divided:
            _check_whole(groups, whole, here, crowds, [k - 1, least_weight - 1])
    for here, layer in ((atoms, first), (atoms.turned(), second)):
        exposed = next(exposed_flows(here), None)
        if exposed is not None:
            raise broken(
                f"the flow {layer.flows.name(exposed)}, less flows of the other groups or release inside it, "
                f"may leave fewer than a crowd of {k}",
                "do not publish the two together; write the release again with --beside or without --totals",
            )


def _count(request: Request, first: Layer, second: Layer, k: int, least_weight: int) -> tuple[Atoms, Crowds]:
    """Count the crowds of all atoms, row by row."""
    width = len(second.flows) + 1
    crowds = Crowds(k, least_weight)
    apart = first.slots.divided ^ second.slots.divided
    columns = sorted(apart - {"time"})
    timed = next((layer for layer in (first, second) if "time" in apart & layer.slots.divided), None)
    trips = [np.zeros(len(layer.flows) + 1, np.int64) for layer in (first, second)]  # the last entry is for no flow
    for batch in scan(request):
        (one, known), (other, _) = first.locate(batch, request), second.locate(batch, request)
        flows = one, other
        for total, flow in zip(trips, flows, strict=True):
            np.add.at(total, flow, _trips(batch, request))
        rows = np.flatnonzero((flows[0] != NONE) | (flows[1] != NONE))
        key = (flows[0][rows] + 1) * width + flows[1][rows] + 1
        crowds.add(batch, request, rows, key)
        if apart:
            seen = {name: batch.column(f"by_{request.by.index(name)}").filter(known) for name in columns}
            seen |= {} if timed is None else {"time": pa.array(timed.slots.steps(batch, known))}
            distinct = pa.table(seen).group_by(list(seen)).aggregate([])
            crowds.groups.update(zip(*(column.to_pylist() for column in distinct.columns), strict=True))
    for layer, total in zip((first, second), trips, strict=True):
        if (bad := np.flatnonzero(total[:-1] != layer.flows.trips)).size:
            raise broken(
                f"the flow {layer.flows.name(int(bad[0]))} does not have the trips of the rows that both releases use",
                "compare releases of the same rows: those without a person or time must be in neither of them",
            )
    keys, size = crowds.gather()
    one, other = keys // width - 1, keys % width - 1
    return Atoms(one, other, size, _same(first, second, one, other), crowds.is_crowd), crowds


def _check_whole(groups: Layer, whole: Layer, atoms: Atoms, crowds: Crowds, largest: Sequence[int]) -> None:
    """Raise if a flow of the whole, less flows of groups inside it, tells that a group without one is not empty.

    Such a group is below a crowd, or it would be published: `largest` are the most persons and weight it may have, 0
    where that is not tested. A reader may know of all groups that there are, and think of one more. Flows of a release
    that was out before cannot be withheld: where no flow of a group is inside, nothing is asked of them. Of areas of
    different trees it cannot be told which lie inside which.
    """
    if groups.ground.tree != whole.ground.tree:
        return
    overlaps = _Overlaps(groups, whole)
    group, own, others = _groups(groups, whole)
    there = len(crowds.groups)
    known = max(there, len(set(group)) + 1)
    caps = [cap for cap in largest if cap > 0]
    for flow in range(len(whole.flows)):
        inside, meets, is_same = overlaps.of(flow)
        meeting = np.flatnonzero(meets & (own == others[flow]))
        if not inside[meeting].all() or not (len(meeting) or whole.totals):
            continue
        rest = [
            atom
            for atom in np.flatnonzero(atoms.second == flow).tolist()
            if atoms.first[atom] == NONE or not inside[atoms.first[atom]]
        ]
        same = meeting[is_same[meeting]]
        fewest = there - len({group[other] for other in meeting.tolist()})
        most = known - len({group[other] for other in same.tolist()})
        for size, cap in zip(crowds.count(rest), largest, strict=True):
            # A group is hidden if it fails one test: where there are two, no sum is too large for it.
            if most > 1 and cap > 0 and max(fewest - 1, 0) * cap < size and (len(caps) > 1 or size <= most * cap):
                raise broken(f"the flow {whole.flows.name(flow)} tells of groups that have no flow there")


def _groups(groups: Layer, whole: Layer) -> tuple[list[Hashable], IntArray, IntArray]:
    """Return by flow of a group what tells it from others of the same whole, and what both layers are divided by.

    The latter by flow of a group and by flow of the whole, numbered: a flow of a group goes with those of its number.
    """
    timed = "time" in groups.slots.divided - whole.slots.divided
    number: dict[Hashable, int] = {}
    own: list[Hashable] = []
    shared = []
    for layer in (groups, whole):
        names = layer.slots.names()
        parts = [_part(values, whole.slots.divided) for _, values in names]
        places = [number.setdefault(common, len(number)) for common, _ in parts]
        shared.append(np.array(places, np.int64)[layer.slots.of_flow])
        if layer is groups:
            groups_of_slot = [(part[1], name[0] if timed else None) for part, name in zip(parts, names, strict=True)]
            own = [groups_of_slot[slot] for slot in layer.slots.of_flow.tolist()]
    return own, shared[0], shared[1]


def _part(values: frozenset[tuple[str, Hashable]], columns: frozenset[str]) -> tuple[Hashable, Hashable]:
    """Return the values of some columns, and the others."""
    common = frozenset(item for item in values if item[0] in columns)
    return common, values - common


class _Overlaps:
    """Which flows of groups lie in a flow of the whole, share a part with it, or are between the same areas."""

    def __init__(self, groups: Layer, whole: Layer) -> None:
        ground = groups.ground.joined(whole.ground)
        self._areas: list[tuple[IntArray, IntArray]] = []  # by axis: the areas of flows of groups, and of the whole
        self._related = []
        for axis in ("origin", "destination"):
            ids = [getattr(layer.flows, axis) for layer in (groups, whole)]
            areas = sorted({*ids[0], *ids[1]})
            number = {area: place for place, area in enumerate(areas)}
            here, there = (np.array([number[name] for name in names], np.int64) for names in ids)
            self._areas.append((here, there))
            self._related.append(lru_cache(maxsize=_MOST_RELATED)(ground.extents(areas).related))
        self._time = [
            tuple(bounds[layer.slots.of_flow, 0] for bounds in layer.slots.bounds()) for layer in (groups, whole)
        ]
        self._steps_are_groups = "time" in groups.slots.divided - whole.slots.divided

    def of(self, flow: int) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Return by flow of a group whether it lies in a flow of the whole, meets it, and has the same areas and time.

        Where steps of time are what groups are, they may differ.
        """
        (first, end), (low, high) = self._time[0], (bound[flow] for bound in self._time[1])
        inside, meets = (low <= first) & (end <= high), (first < high) & (low < end)
        same = np.ones(len(first), bool) if self._steps_are_groups else (first == low) & (end == high)
        for (here, there), related in zip(self._areas, self._related, strict=True):
            lies_in, shares = related(int(there[flow]))
            inside, meets, same = inside & lies_in[here], meets & shares[here], same & (here == there[flow])
        return inside, meets, same


def _same(first: Layer, second: Layer, one: IntArray, other: IntArray) -> BoolArray:
    """Return for pairs of flows, -1 for none, whether they have the same areas, time and groups."""
    names = []
    for layer in (first, second):
        slots = layer.slots.names()
        names.append(
            [
                (origin, destination, slots[slot])
                for origin, destination, slot in zip(
                    layer.flows.origin, layer.flows.destination, layer.slots.of_flow.tolist(), strict=True
                )
            ]
        )
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    return np.array([NONE not in pair and names[0][pair[0]] == names[1][pair[1]] for pair in pairs], bool)


def _trips(batch: pa.RecordBatch, request: Request) -> IntArray:
    """Return the trips of each row, 0 where it is no number: such rows are in no flow."""
    if not request.count:
        return np.ones(batch.num_rows, np.int64)
    count = np.asarray(batch.column("count").to_numpy(zero_copy_only=False), np.float64)
    return np.nan_to_num(count, posinf=0, neginf=0).astype(np.int64)
