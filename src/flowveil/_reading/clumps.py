"""How uneven trips lie inside boxes with noise, told by how unevenly neighboring boxes share what they hold together.

If trips came one by one, independent of each other, two neighbors would share theirs as a coin does. Real trips come in
clumps: the clumping is the share of pairs of trips that stay together, 0 for single trips, 1 for one big clump.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._folder import AREAS, CELLS, FLOWS, SIDES
from flowveil._noise import variance
from flowveil._reading.marginals import read_marginals, read_zone_weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._folder import Manifest

# Neighbors tell about spaces as large as two boxes, a question is about the inside of one, which is more uneven. Chosen
# on synthetic cities of seeds 0 and 1, so that ranges hold about 95 % of true answers (docs/noise-measured.md).
_INSIDE = 3.0
_CLEAR = 4.0  # in deviations of their noise: neighbors with fewer trips tell more about noise than about trips


def clumping(tables: Mapping[str, pa.Table], manifest: Manifest) -> float:
    """Return the clumping of a release with noise, 0 to 1: post-processing of what is published."""
    of_cells = CELLS in tables
    table = tables[CELLS if of_cells else FLOWS]
    counts = table["count" if of_cells else "trips"].to_numpy().astype(np.float64)
    noise = variance(table["scale"].to_numpy())
    sizes, near = _of_boxes(tables, manifest) if of_cells else _of_flows(tables)
    first = np.flatnonzero(near)
    together = counts[first] + counts[first + 1]
    loud = noise[first] + noise[first + 1]
    room = sizes[first] + sizes[first + 1]
    kept = (together > _CLEAR * np.sqrt(loud)) & (room > 0)
    first, together, loud = first[kept], together[kept], loud[kept]
    share = sizes[first] / room[kept]
    even = share * (1 - share)
    off = (counts[first] - share * together) ** 2 - (1 - share) ** 2 * noise[first] - share**2 * noise[first + 1]
    clumped, all_pairs = (off - even * together).sum(), (even * (together**2 - loud)).sum()
    return float(np.clip(_INSIDE * clumped / all_pairs, 0, 1)) if all_pairs > 0 else 1.0


def unevenness(
    share: FloatArray,
    cut: BoolArray,
    trips: FloatArray,
    noise: FloatArray,
    clumped: float,
    places: Sequence[tuple[FloatArray, IntArray]] = (),
) -> float:
    """Return by how much an answer may be off (standard deviation) because trips lie unevenly inside boxes.

    share: of each box that lies in the question. cut: boxes that lie in it only in part. trips: how many each holds,
    none negative; noise: the variance of that. places: at each place asked about, the share of each box that lies in
    the question there, and a number of its area there, the same for boxes of the same area.
    """
    rest = 1 - share[cut]
    held = trips[cut]
    squared = held**2 + noise[cut]  # a count of none may stand for some
    # People ask where trips are, so that a small part of a box may hold a clump of it: the last term.
    uneven = float((share[cut] * rest * (held + clumped * squared) + (clumped * rest) ** 2 * squared).sum())
    for here, area in places:  # trips of all boxes of an area lie alike in it: they err together, not one by one
        partly = np.flatnonzero(cut & (here > 0) & (here < 1))
        together = np.bincount(area[partly], trips[partly] * share[partly] / here[partly])
        part = np.zeros(len(together))
        part[area[partly]] = here[partly]
        uneven += clumped * float((part * (1 - part) * together**2).sum())
    return float(np.sqrt(max(uneven, 0.0)))


def _of_boxes(tables: Mapping[str, pa.Table], manifest: Manifest) -> tuple[FloatArray, BoolArray]:
    """Return what boxes would hold if trips lay as the spread says, and which are followed by their neighbor."""
    cells, places = tables[CELLS], manifest["options"]["places"]
    low, high = (
        np.column_stack([cells[f"{end}_{axis}"].to_numpy() for axis in range(2 * len(places))])
        for end in ("low", "high")
    )
    marginals = read_marginals(tables)
    sizes = np.ones(len(low))
    for number, place in enumerate(places):
        axes = slice(2 * number, 2 * number + 2)
        start, end = low[:, axes].astype(np.float64), high[:, axes].astype(np.float64)
        area = (end - start).prod(axis=1)
        mass = marginals[place].mass(start, end) if place in marginals else area
        sizes *= mass / max(float(mass.max()), 1.0)
    same = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    touching = (low[1:, -1] == high[:-1, -1]) & same[:, :-1].all(axis=1)
    return sizes, np.append(touching, False)


def _of_flows(tables: Mapping[str, pa.Table]) -> tuple[FloatArray, BoolArray]:
    """Return the same for flows between areas: by their tiles, or zones; flows of one origin follow each other."""
    flows, areas = tables[FLOWS], tables[AREAS]
    weights = read_zone_weights(tables)
    known = zip(areas["side"].to_pylist(), areas["area"].to_pylist(), areas["tiles"].to_pylist(), strict=True)
    tiles = {(side, area): float(count or 0) for side, area, count in known}
    for side, own in weights.items():
        part = areas.filter(pc.equal(areas["side"], pa.scalar(side)))
        for area, zones in zip(part["area"].to_pylist(), part["members"].to_pylist(), strict=True):
            tiles[side, area] = float(sum(own.get(zone, 1.0) for zone in zones or own))
    ends = [flows[side].to_pylist() for side in SIDES]
    sizes = np.array([tiles[SIDES[0], start] * tiles[SIDES[1], end] for start, end in zip(*ends, strict=True)])
    names = np.array(ends[0], object)
    return sizes, np.append(names[1:] == names[:-1], False)
