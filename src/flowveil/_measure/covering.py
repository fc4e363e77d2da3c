"""Which published flow each pair of tiles lies in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._places import Hierarchy

_MOST_CANDIDATES = 4_000_000  # candidates looked up at once, to bound memory


def cover(
    flows: Flows,
    origin: IntArray,
    destination: IntArray,
    matrix: IntArray | int = 0,
    time: IntArray | None = None,
    own: IntArray | None = None,
) -> IntArray:
    """For every tile pair the flow (node `origin[f]` to `destination[f]`) that holds it, -1 for none.

    Flows must be disjoint. Each tile has few published areas above it: all combinations are looked up. The flow must be
    of the same matrix (`matrix[f]`, or one number for all), with a hierarchy of time its node (`time[f]`) above.
    own: by tile pair its matrix, if not that of the flows.
    """
    axes = [(flows.origins, flows.origin, origin), (flows.destinations, flows.destination, destination)]
    if flows.times is not None and flows.time is not None and time is not None:
        axes.append((flows.times.hierarchy, flows.time, time))
    key = np.full(len(origin), matrix)
    own = flows.matrix if own is None else own
    for tree, _, node in axes:
        key = key * len(tree) + node
    if not len(key):
        return np.full(len(flows), -1, np.int64)
    order = np.argsort(key)
    key = key[order]
    above = [_areas_above(tree, leaf, node) for tree, leaf, node in axes]
    group = np.full(len(flows), -1, np.int64)
    size = max(1, _MOST_CANDIDATES // int(np.prod([columns.shape[1] for columns in above])))
    for start in range(0, len(flows), size):
        rows = slice(start, start + size)
        wanted, known = own[rows, None], np.ones((len(own[rows]), 1), bool)
        for (tree, _, _), columns in zip(axes, above, strict=True):
            nodes = columns[rows]
            wanted = (wanted[:, :, None] * len(tree) + nodes[:, None, :]).reshape(len(nodes), -1)
            known = (known[:, :, None] & (nodes >= 0)[:, None, :]).reshape(len(nodes), -1)
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        hit = known & (key[place] == wanted)
        if int(hit.sum(axis=1).max(initial=0)) > 1:
            raise InputError("two flows of the release hold the same trips", "flowveil verify says which")
        group[rows] = np.where(hit, order[place], -1).max(axis=1, initial=-1)
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
