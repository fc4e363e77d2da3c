"""Which published flow each pair of tiles lies in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._places import Family

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._places import Listed

_MOST_CANDIDATES = 4_000_000  # candidates looked up at once, to bound memory


def cover(
    flows: Flows,
    origin: IntArray,
    destination: IntArray,
    matrix: IntArray | int = 0,
    time: IntArray | None = None,
    own: IntArray | None = None,
    areas: tuple[Listed, Listed] | None = None,
) -> IntArray:
    """For every tile pair the flow (area `origin[f]` to `destination[f]`) that holds it, -1 for none.

    Flows must be disjoint. Each tile has few published areas above it: all combinations are looked up. The flow must be
    of the same matrix (`matrix[f]`, or one number for all), with a hierarchy of time its node (`time[f]`) above.
    own: by tile pair its matrix, if not that of the flows. areas: what numbers of areas mean, if not nodes of trees.
    """
    first, second = areas or (Family.of(flows.origins), Family.of(flows.destinations))
    axes: list[tuple[Family | Listed, IntArray, IntArray]] = [
        (first, flows.origin, origin),
        (second, flows.destination, destination),
    ]
    if flows.times is not None and flows.time is not None and time is not None:
        axes.append((Family.of(flows.times.hierarchy), flows.time, time))
    key = np.full(len(origin), matrix)
    own = flows.matrix if own is None else own
    for family, _, area in axes:
        key = key * len(family) + area
    if not len(key):
        return np.full(len(flows), -1, np.int64)
    order = np.argsort(key)
    key = key[order]
    above = [_areas_above(*axis) for axis in axes]
    group = np.full(len(flows), -1, np.int64)
    size = max(1, _MOST_CANDIDATES // int(np.prod([columns.shape[1] for columns in above])))
    for start in range(0, len(flows), size):
        rows = slice(start, start + size)
        wanted, known = own[rows, None], np.ones((len(own[rows]), 1), bool)
        for (family, _, _), columns in zip(axes, above, strict=True):
            nodes = columns[rows]
            wanted = (wanted[:, :, None] * len(family) + nodes[:, None, :]).reshape(len(nodes), -1)
            known = (known[:, :, None] & (nodes >= 0)[:, None, :]).reshape(len(nodes), -1)
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        hit = known & (key[place] == wanted)
        if int(hit.sum(axis=1).max(initial=0)) > 1:
            raise InputError("two flows of the release hold the same trips", "flowveil verify says which")
        group[rows] = np.where(hit, order[place], -1).max(axis=1, initial=-1)
    return group


def _areas_above(family: Family | Listed, leaf: IntArray, areas: IntArray) -> IntArray:
    """Return for every tile pair the areas among `areas` that hold its leaf, padded with -1."""
    published = np.unique(areas)
    place, held = family.inside(published)
    order = np.argsort(held, kind="stable")
    held, area = held[order], published[place[order]]
    distinct, position = np.unique(leaf, return_inverse=True)
    start, end = (np.searchsorted(held, distinct, side) for side in ("left", "right"))
    column = np.arange(max(1, int((end - start).max(initial=0))))
    entry = start[:, None] + column
    table = np.where(entry < end[:, None], np.append(area, -1)[np.minimum(entry, len(area))], -1)
    return table[position]
