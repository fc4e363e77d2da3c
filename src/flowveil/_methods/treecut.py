"""The best cut of a single tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray
    from flowveil._places import Hierarchy


def best_cut(tree: Hierarchy, cost: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Return by node whether it is in the cut of least total cost, and whether it lies above that cut.

    On equal cost the finer cut wins.
    """
    from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

    each = np.arange(len(tree) + 1, dtype=np.int32)  # a node has one split
    nothing = np.zeros(len(tree), np.int32)
    first_part = np.append(tree.first_child - 1, len(tree) - 1).astype(np.int32)  # children stand in this order
    cells = kernels.Cells(tree.tiles, cost, each, ~tree.is_leaf, nothing, first_part, each[1:])
    choice = kernels.choose(0.0, 0, len(tree), cells).choice
    inside = np.zeros(len(tree), bool)
    inside[kernels.publish(np.array([0, len(tree)]), choice, cells)] = True
    above = np.zeros(len(tree), bool)
    node = tree.parent[inside]
    while (node := node[node >= 0]).size:
        above[node] = True
        node = np.unique(tree.parent[node])
    return inside, above
