"""Which published flow each pair of tiles lies in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil.flows import Flows
    from flowveil.places import Hierarchy

_MOST_CANDIDATES = 4_000_000  # candidate pairs looked up at once, to bound memory


def cover(flows: Flows, origin: IntArray, destination: IntArray) -> IntArray:
    """For every tile pair the flow (node `origin[f]` to `destination[f]`) that holds it, -1 for none.

    Flows must be disjoint. Each tile has few published areas above it: all combinations are looked up.
    """
    width = len(flows.destinations)
    keys = origin * width + destination
    order = np.argsort(keys)
    keys = keys[order]
    above_origin = _areas_above(flows.origins, flows.origin, origin)
    above_destination = _areas_above(flows.destinations, flows.destination, destination)
    group = np.full(len(flows), -1, np.int64)
    size = max(1, _MOST_CANDIDATES // max(1, above_origin.shape[1] * above_destination.shape[1]))
    for start in range(0, len(flows), size):
        rows = slice(start, start + size)
        first, second = above_origin[rows], above_destination[rows]
        wanted = first[:, :, None] * width + second[:, None, :]
        wanted[(first < 0)[:, :, None] | (second < 0)[:, None, :]] = -1
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hit = keys[place] == wanted
        found = np.where(hit, order[place], -1)
        group[rows] = found.reshape(len(found), -1).max(axis=1, initial=-1)
    return group


def _areas_above(hierarchy: Hierarchy, leaf: IntArray, areas: IntArray) -> IntArray:
    """Return for every tile pair the nodes of `areas` at or above its leaf, padded with -1."""
    used = np.zeros(len(hierarchy), bool)
    used[areas] = True
    distinct, position = np.unique(leaf, return_inverse=True)
    columns = []
    node = distinct.copy()
    while (node >= 0).any():
        columns.append(np.where((node >= 0) & used[node], node, -1))
        node = np.where(node >= 0, hierarchy.parent[node], -1)
    table = -np.sort(-np.column_stack(columns), axis=1)  # published ones first
    longest = max(1, int((table >= 0).sum(axis=1).max(initial=0)))
    return table[:, :longest][position]
